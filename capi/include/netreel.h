/*
 * netreel.h - record a network layer written in C or C++, and replay it; a console for the engine.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The library has one function, netreel_load. It fills a table of functions; the rest of this
 * header says what they do. docs/c-api.md shows a whole integration.
 *
 * CODES. Functions return an int32_t: 0 and above is no error, below 0 is one. error_text tells
 * the last error of the calling thread in a sentence that says what to do. No function ever
 * throws, unwinds, aborts or changes what your program does; errno is left alone. On Windows errno
 * means here what GetLastError and WSAGetLastError return.
 *
 * HANDLES are numbers dressed as pointers, and never point anywhere. NULL, a handle that was
 * closed, and one of another kind give an error code.
 *
 * THREADS. A netreel_thread, and a netreel_replay, is for one thread at a time: a call while
 * another one is inside gives NETREEL_E_BUSY and records nothing. Open a netreel_thread for each
 * thread that reaches the network layer. A netreel_recorder, and a netreel_console, may be used by
 * all threads at once.
 * A packet_sent and its send_result may come from two threads.
 *
 * POINTERS are read, or written, during the call only, unless it says otherwise. A pointer with a
 * length of 0 may be NULL.
 *
 * FORK. A forked child records nothing: its calls give NETREEL_E_FORKED, its parent goes on.
 * UNLOAD. The library stays in memory when it is unloaded with dlclose; close what you opened.
 * DEATH. When the process dies in any way, all events whose calls had returned can be read: keep
 * NAME.reel and NAME.reel.ring together.
 *
 * VERSIONS. Structs that begin with `size` grow at their end. Set size to sizeof the struct: a
 * library of any age then takes and fills what both know. Fields that a library does not know must
 * be 0; functions that it does not have are NULL in the table.
 */
#ifndef NETREEL_H
#define NETREEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the table. Goes up only if a function is to mean something else; the library
 * then still serves version 1 to those who ask for it. */
#define NETREEL_API_VERSION 1u

/* Codes that are not errors. */
#define NETREEL_OK 0
#define NETREEL_OFF 1     /* recording is switched off, or has ended at max_bytes or max_ms: nothing
                             was recorded */
#define NETREEL_DROPPED 2 /* the event was not recorded: no room, or larger than half the buffer;
                             the reel counts it */
#define NETREEL_END 3     /* replay: the reel was cut, and ended before this call */

/* Errors. */
#define NETREEL_E_ARGUMENT (-1)       /* an argument is NULL or makes no sense */
#define NETREEL_E_HANDLE (-2)         /* NULL, or never was a handle */
#define NETREEL_E_CLOSED (-3)         /* the handle, or the recorder of this thread, was closed */
#define NETREEL_E_KIND (-4)           /* a handle of another kind */
#define NETREEL_E_BUSY (-5)           /* another thread is using this handle right now */
#define NETREEL_E_EXISTS (-6)         /* there is a file of this name already */
#define NETREEL_E_IO (-7)             /* the operating system refused a file, or an address */
#define NETREEL_E_STOPPED (-8)        /* recording stopped: a write failed. close tells which */
#define NETREEL_E_FORKED (-9)         /* a forked child cannot record */
#define NETREEL_E_LIMIT (-10)         /* too many handles, threads, sockets or open requests */
#define NETREEL_E_VERSION (-11)       /* the library does not serve this version of the table */
#define NETREEL_E_UNSUPPORTED (-12)   /* an option that this library does not know */
#define NETREEL_E_REEL (-13)          /* the file cannot be read as a reel */
#define NETREEL_E_NOT_REPLAYABLE (-14) /* the reel lacks something that a replay needs */
#define NETREEL_E_DIVERGED (-15)      /* replay: this call, or one before it, is not what the reel
                                         has. The first one counts; report has its text */
#define NETREEL_E_NO_RING (-16)       /* trigger: the recorder is not in ring mode */
#define NETREEL_E_INTERNAL (-17)      /* a fault of the library. The handle can only be closed */

typedef struct netreel_recorder netreel_recorder;
typedef struct netreel_thread netreel_thread;
typedef struct netreel_replay netreel_replay;
typedef struct netreel_console netreel_console;

/* An address and port. For IPv4 the address is in the first 4 bytes; flow and scope are 0. */
typedef struct netreel_endpoint {
    uint16_t family; /* 4 or 6 */
    uint16_t port;   /* in the order of the host: 7000 is 7000 */
    uint32_t flow;   /* IPv6 only: sin6_flowinfo */
    uint32_t scope;  /* IPv6 only: sin6_scope_id */
    uint8_t address[16];
} netreel_endpoint;

/* A name with a text; a name with a number. Strings are UTF-8 and end with a zero byte. */
typedef struct netreel_text {
    const char *name;
    const char *text;
} netreel_text;

typedef struct netreel_seed {
    const char *name;
    uint64_t value;
} netreel_seed;

/* The owner of an object of which the game does not know one. */
#define NETREEL_NO_OWNER UINT64_MAX

/* netreel_options.flags */
#define NETREEL_REPLACE 1u         /* replace a reel of this name; else NETREEL_E_EXISTS */
#define NETREEL_DROP_WHEN_FULL 2u  /* drop events when the disk cannot keep up; else calls wait */
#define NETREEL_CLOCK_MONOTONIC 4u /* clock_read is given CLOCK_MONOTONIC in ns, just read: saves
                                      a second clock read and most of the bytes of each */
#define NETREEL_ZSTD 8u            /* compress blocks */

/* How to record. Fill with zeros, then set size, path, and what you want: 0 and NULL are the
 * defaults. */
typedef struct netreel_options {
    uint32_t size;  /* sizeof(netreel_options) */
    uint32_t flags; /* NETREEL_REPLACE and so on */

    const char *path;   /* the reel: NAME.reel. NAME.reel.ring beside it is removed by close */
    const char *node;   /* the node's name, as people say it: "server", "A". Default: NAME */
    const char *engine; /* whose network layer this is */
    const char *build;  /* whatever tells two builds apart */

    const void *start;     /* what your layer starts from (settings, ids), in a coding of yours: */
    uint64_t start_length; /* a replay reads it back. At least a byte, or there is no replay */

    const char *const *args;     /* the program's arguments */
    const netreel_text *wires;   /* protocol definitions; the first is the default */
    const netreel_seed *seeds;   /* seeds, by name: for people who read the reel */
    const netreel_text *hashes;  /* hashes of configuration and data files, by name */
    uint32_t args_count;
    uint32_t wires_count;
    uint32_t seeds_count;
    uint32_t hashes_count;

    uint8_t session[16]; /* the same in all reels of a session, if you have such an id */

    uint64_t buffer_bytes; /* room for what is not written yet, a thread; default 4 MiB, at least
                              256 KiB. It is in memory and in NAME.reel.ring. The largest event is
                              a little below half of it */
    uint32_t threads_max;  /* netreel_threads open at a time; default 16, at most 1024 */
    uint32_t reserved;     /* 0 */

    uint64_t ring_ms;      /* ring mode: keep only the last so many ms until trigger; 0: keep all */
    uint64_t rotate_bytes; /* go on in a new file, NAME.0001.reel and so on, after so many bytes. */
    uint64_t rotate_ms;    /* ... after so many ms. NAME.reel opens, and replays, as one */
    uint64_t keep_bytes;   /* delete the oldest files beyond so many bytes. Without rotate_bytes, */
    uint64_t keep_ms;      /* ... beyond so many ms. files are an eighth of this */
    uint64_t max_bytes;    /* end the recording, in order, at so many bytes */
    uint64_t max_ms;       /* ... after so many ms */
} netreel_options;

/* What a finished recording came to. */
typedef struct netreel_summary {
    uint32_t size;          /* set by you: sizeof(netreel_summary) */
    uint32_t files;         /* the reel has, at least 1 */
    uint64_t events;        /* written, also into files that were deleted since */
    uint64_t dropped;       /* not written */
    uint64_t bytes;         /* of all files */
    uint32_t files_deleted; /* to stay within keep_bytes and keep_ms */
    int32_t rotation_failed; /* errno of the latest new file that could not be made, or 0. Nothing
                                is lost for it: the file before grew beyond its limit */
} netreel_summary;

/* Ties a send_result to its packet_sent. Yours to keep, not to look into. */
typedef struct netreel_sent {
    uint64_t number;
    uint64_t time_ns;
    uint64_t length;
} netreel_sent;

/* netreel_step.kind */
#define NETREEL_STEP_END 0u   /* nothing is left, or the replay has diverged */
#define NETREEL_STEP_TICK 1u
#define NETREEL_STEP_INPUT 2u

/* What your layer is to do next in a replay. */
typedef struct netreel_step {
    uint32_t size;       /* set by you: sizeof(netreel_step) */
    uint32_t kind;       /* NETREEL_STEP_... */
    uint64_t number;     /* of its event in the reel */
    uint64_t moment_ns;  /* when it was recorded, on the node's CLOCK_MONOTONIC */
    uint64_t tick;       /* TICK: as given to tick */
    uint64_t tick_time;  /* TICK: as given to tick */
    const void *call;    /* INPUT: the bytes that were given to input; stay until the next */
    uint64_t call_length; /* replay_next or replay_close of this handle */
} netreel_step;

/* netreel_packet.kind */
#define NETREEL_RECEIVED 0u /* a packet: its bytes are in the buffer */
#define NETREEL_EMPTY 1u    /* there was none */
#define NETREEL_FAILED 2u   /* the call failed with os_error */

/* What a receive came to in the recording. */
typedef struct netreel_packet {
    uint32_t size;     /* set by you: sizeof(netreel_packet) */
    uint32_t kind;     /* NETREEL_RECEIVED and so on */
    uint64_t length;   /* RECEIVED: bytes in the buffer; a longer packet was cut */
    int32_t os_error;  /* FAILED: errno */
    netreel_endpoint from;
} netreel_packet;

/* netreel_report.outcome */
#define NETREEL_EXACT 0u    /* every step was as recorded, up to here */
#define NETREEL_DIVERGED 1u /* one was not: event and text say which */

/* What a replay has come to so far. */
typedef struct netreel_report {
    uint32_t size;     /* set by you: sizeof(netreel_report) */
    uint32_t outcome;  /* NETREEL_EXACT or NETREEL_DIVERGED */
    uint64_t ticks;    /* played */
    uint64_t inputs;   /* played */
    uint64_t sends;    /* equal to the reel, byte for byte */
    uint64_t bytes;    /* of those */
    uint64_t event;    /* DIVERGED: the event that the reel has there */
    uint32_t finished; /* 1: the reel was played to its last step */
    uint32_t cut;      /* 1: the reel was cut (a crash): it says nothing of what came after */
    const char *text;  /* DIVERGED: what was expected and what came, to the field if the reel has a
                          wire; else "". Stays until replay_close */
} netreel_report;

/* netreel_parameter.kind, netreel_value.kind */
#define NETREEL_ARGUMENT_INTEGER 0u /* a whole number */
#define NETREEL_ARGUMENT_NUMBER 1u  /* a number, never infinite, never not a number */
#define NETREEL_ARGUMENT_TEXT 2u    /* a word, or what stands in double quotes */
#define NETREEL_ARGUMENT_REST 3u    /* all that is left of the line; the last parameter alone */
#define NETREEL_ARGUMENT_ONE_OF 4u  /* one of `words` */

/* An argument that a command takes. */
typedef struct netreel_parameter {
    const char *name;  /* without blanks: "BOX" */
    const char *words; /* ONE_OF: the words, with blanks between them; else NULL */
    uint32_t kind;     /* NETREEL_ARGUMENT_... */
    uint32_t optional; /* 1: may be left out, and so may all behind it; else 0 */
} netreel_parameter;

/* A command of the engine. */
typedef struct netreel_command {
    const char *name;  /* a word, or several with a blank between them: "pick up" */
    const char *about; /* what it does, in a line, for `help`; may be NULL */
    const netreel_parameter *parameters;
    uint32_t parameters_count;
    uint32_t reserved; /* 0 */
} netreel_command;

/* A console. Fill with zeros, then set size and what you want. All is copied. */
typedef struct netreel_console_options {
    uint32_t size; /* sizeof(netreel_console_options) */
    uint32_t commands_count;
    const char *address; /* "127.0.0.1:7100", "[::1]:7100"; port 0 is a free one. NULL: a free port of
                            loopback. One that other machines reach needs a token */
    const char *token;   /* who connects must give it before anything else; NULL: none is needed */
    const netreel_command *commands; /* `help` is the console's own */
} netreel_console_options;

/* An argument that was given. */
typedef struct netreel_value {
    uint32_t kind;     /* INTEGER, NUMBER, or TEXT for all other kinds */
    uint32_t reserved;
    int64_t integer;   /* INTEGER */
    double number;     /* NUMBER, INTEGER */
    const char *text;  /* TEXT: UTF-8, ends with a zero byte and has none in it; else "" */
    uint64_t text_length;
} netreel_value;

/* netreel_request.kind */
#define NETREEL_REQUEST_NONE 0u    /* nobody wants anything */
#define NETREEL_REQUEST_COMMAND 1u /* one of the commands, with arguments of the right kinds */
#define NETREEL_REQUEST_SCRIPT 2u  /* a script, where the engine has a language */

/* What somebody asks of the engine. Pointers stay until it is answered. */
typedef struct netreel_request {
    uint32_t size;            /* set by you: sizeof(netreel_request) */
    uint32_t kind;            /* NETREEL_REQUEST_... */
    uint64_t id;              /* for console_answer */
    uint32_t command;         /* COMMAND: its place in the list of commands, from 0 */
    uint32_t arguments_count; /* COMMAND: those that were given */
    const netreel_value *arguments;
    const char *line;         /* COMMAND: as it was written; SCRIPT: its text. UTF-8, ends with a
                                 zero byte and has none in it */
    uint64_t line_length;
    const void *binary;       /* the bytes that came with it; NULL where there are none */
    uint64_t binary_length;
} netreel_request;

/*
 * The table. Fill it with netreel_load; keep it as long as you like, share it between threads.
 */
typedef struct netreel_api {
    uint32_t size;    /* bytes of the table that this library knows */
    uint32_t version; /* as asked for */

    /* ---- Errors ---- */

    /* The last error of this thread, a sentence in UTF-8; "" if there was none. Stays until the
     * next error of this thread. Never NULL. */
    const char *(*error_text)(void);

    /* The name of a code: "NETREEL_E_BUSY". Never NULL. */
    const char *(*code_name)(int32_t code);

    /* ---- Addresses ---- */

    /* Reads a struct sockaddr_in or sockaddr_in6 of so many bytes.
     * E_ARGUMENT: another family, or too short. */
    int32_t (*endpoint_from_sockaddr)(const void *sockaddr, uint32_t length,
                                      netreel_endpoint *endpoint);

    /* Writes one. *length: the room, and then the bytes written. */
    int32_t (*endpoint_to_sockaddr)(const netreel_endpoint *endpoint, void *sockaddr,
                                    uint32_t *length);

    /* ---- Recording ---- */

    /* Makes the reel, and starts the thread that writes it. *recorder is NULL on errors.
     * E_ARGUMENT, E_EXISTS, E_IO, E_LIMIT, E_UNSUPPORTED. */
    int32_t (*open)(const netreel_options *options, netreel_recorder **recorder);

    /* Ends the recording: writes what is left, the index and the end mark. Threads of it that are
     * still open record nothing any more, and are to be closed as well. summary may be NULL.
     * E_STOPPED: a write failed; the reel opens, and says the same. */
    int32_t (*close)(netreel_recorder *recorder, netreel_summary *summary);

    /* In ring mode: keeps the window that ends now, and says why in the reel. why may be NULL.
     * E_NO_RING: the recorder is not in ring mode. */
    int32_t (*trigger)(netreel_recorder *recorder, const char *why);

    /* A handle for one thread: its events carry the thread's number, in one order with those of
     * all others. *thread is NULL on errors. Keep it open as long as the thread lives: opening
     * allocates buffer_bytes, and right after a close it may wait half a second for a buffer to
     * be written. E_LIMIT: see threads_max. */
    int32_t (*thread_open)(netreel_recorder *recorder, netreel_thread **thread);

    /* Gives it back. What it recorded stays. */
    int32_t (*thread_close)(netreel_thread *thread);

    /* Switches recording on (not 0) or off for the whole reel. It begins switched on. A reel with
     * a pause in it cannot be replayed. */
    int32_t (*switch_on)(netreel_thread *thread, int32_t on);

    /*
     * The events. Each returns NETREEL_OK, _OFF, _DROPPED, or an error; you need not look. They
     * are stamped with CLOCK_MONOTONIC by the library. None allocates or makes a system call
     * other than to wait for room (two seconds at most without progress of the writing thread; see
     * NETREEL_DROP_WHEN_FULL).
     */

    /* A socket was opened and bound to `local` (the unspecified address if that is all you know).
     * *socket is its number in the reel from now on, UINT32_MAX on errors, whose sentence is allocated.
     * E_LIMIT: 65536 were opened. */
    int32_t (*socket_opened)(netreel_thread *thread, const netreel_endpoint *local,
                             uint32_t *socket);

    /* It was closed. */
    int32_t (*socket_closed)(netreel_thread *thread, uint32_t socket);

    /* A packet is about to be sent: call it before sendto, so that no answer to the packet can be
     * numbered before it. sent is for send_result; it may be NULL if you never know the result. */
    int32_t (*packet_sent)(netreel_thread *thread, uint32_t socket, const netreel_endpoint *to,
                           const void *bytes, uint64_t length, netreel_sent *sent);

    /* What sending it returned: the bytes taken, or -errno. Call it before anything else. */
    int32_t (*send_result)(netreel_thread *thread, const netreel_sent *sent, int64_t result);

    /* A packet was received: call it after recvfrom. */
    int32_t (*packet_received)(netreel_thread *thread, uint32_t socket,
                               const netreel_endpoint *from, const void *bytes, uint64_t length);

    /* A receive found nothing (EAGAIN). */
    int32_t (*poll_empty)(netreel_thread *thread, uint32_t socket);

    /* A receive failed with this errno. */
    int32_t (*receive_failed)(netreel_thread *thread, uint32_t socket, int32_t os_error);

    /* The game is about to call into the network layer; the bytes say which call with which
     * arguments, in a coding of yours. A replay gives them back. */
    int32_t (*input)(netreel_thread *thread, const void *call, uint64_t length);

    /* A tick of the network layer is about to begin. time is the game's own. */
    int32_t (*tick)(netreel_thread *thread, uint64_t tick, uint64_t time);

    /* The layer read its clock and was told this: in ns where it can be, so that people can read
     * it. */
    int32_t (*clock_read)(netreel_thread *thread, uint64_t value);

    /* The layer drew a random number and was given this; or any other answer of the world in 64
     * bits that its behaviour follows from, such as what a wait returned. */
    int32_t (*random_drawn)(netreel_thread *thread, uint64_t value);

    /* A note for people. UTF-8. */
    int32_t (*note)(netreel_thread *thread, const char *text, uint64_t length);

    /* The state of the layer, in a coding of yours. */
    int32_t (*snapshot)(netreel_thread *thread, const void *state, uint64_t length);

    /*
     * ---- Replay ----
     *
     * The same layer, with its events answered by a reel. Where the live layer calls recvfrom, its
     * clock or its random source, the replayed one calls replay_receive, replay_clock or
     * replay_random; where it would send, replay_send. It must not wait, and must not send.
     *
     * The first call that the reel does not have at its place is the divergence. From then on each
     * call returns NETREEL_E_DIVERGED and says nothing (the last clock, 0, no packet, a send of
     * all bytes), so that the layer comes to an end in peace.
     */

    /* Opens a reel. *replay is NULL on errors. E_REEL, E_NOT_REPLAYABLE, E_LIMIT. */
    int32_t (*replay_open)(const char *path, netreel_replay **replay);

    /* Ends it; pointers that it gave out are gone. */
    int32_t (*replay_close)(netreel_replay *replay);

    /* The start conditions from the options of the recording. They stay until replay_close. */
    int32_t (*replay_start)(netreel_replay *replay, const void **start, uint64_t *length);

    /* The local endpoint of a socket. Sockets have the numbers of the recording: 0, 1 and so on in
     * the order of socket_opened. E_ARGUMENT: there is none. */
    int32_t (*replay_socket)(netreel_replay *replay, uint32_t socket, netreel_endpoint *local);

    /* The tick or the call of the game that comes next. If the layer has not yet done what the
     * reel has before that, this is the divergence. NETREEL_STEP_END at the end. */
    int32_t (*replay_next)(netreel_replay *replay, netreel_step *step);

    /* Instead of replay_next, for a program that runs its own loop and game once more: the tick
     * or call that the reel must have next. */
    int32_t (*replay_tick)(netreel_replay *replay, uint64_t tick);
    int32_t (*replay_input)(netreel_replay *replay, const void *call, uint64_t length);

    /* What the layer's receive came to. */
    int32_t (*replay_receive)(netreel_replay *replay, uint32_t socket, void *buffer,
                              uint64_t capacity, netreel_packet *packet);

    /* Compares a send: the bytes, where they go, and the socket. *result: what the send returned, bytes taken
     * or -errno; may be NULL. */
    int32_t (*replay_send)(netreel_replay *replay, uint32_t socket, const netreel_endpoint *to,
                           const void *bytes, uint64_t length, int64_t *result);

    /* What the clock said. */
    int32_t (*replay_clock)(netreel_replay *replay, uint64_t *value);

    /* What the random source said. */
    int32_t (*replay_random)(netreel_replay *replay, uint64_t *value);

    /* What the replay has come to so far. */
    int32_t (*replay_report)(netreel_replay *replay, netreel_report *report);

    /*
     * ---- What the game believes ----
     *
     * May be left out. A reader concludes from the packets, and from the rules that a wire declares,
     * what each node believes of each object: that it lives, who owns it, which values it has. Where
     * the game says it, the reader takes the game's word, and tells where the rules and the game part.
     *
     * Call these where the game changes its own table, after it has: an object and an owner are the
     * numbers that the protocol has for them. Say either of all objects what happens to them, or of
     * none. They are no part of a replay.
     */

    /* The object lives, and this peer owns it, or NETREEL_NO_OWNER. */
    int32_t (*believes_created)(netreel_thread *thread, uint64_t object, uint64_t owner);

    /* The object lives no more. */
    int32_t (*believes_destroyed)(netreel_thread *thread, uint64_t object);

    /* Another peer owns the object. */
    int32_t (*believes_owner)(netreel_thread *thread, uint64_t object, uint64_t owner);

    /* A property of the object has this value: a name without blanks, that of the wire's property
     * where it declares one, and its numbers, at most 65536. */
    int32_t (*believes_value)(netreel_thread *thread, uint64_t object, const char *property,
                              const double *numbers, uint32_t count);

    /* The same of a value that is a text, or the name of an enum's member. UTF-8. */
    int32_t (*believes_text)(netreel_thread *thread, uint64_t object, const char *property,
                             const char *text, uint64_t length);

    /*
     * ---- A console ----
     *
     * May be left out. A TCP server in a thread of the library: people and scripts (`netreel console`,
     * `netreel run`, nc) speak to the engine by commands with typed arguments. Wrong ones never reach
     * it. docs/scenarios.md describes what is spoken. It needs no recorder; to have in a reel what was
     * said, record it as a note, and what the network layer is called for by it as an input.
     */

    /* Begins to listen. *console is NULL on errors.
     * E_ARGUMENT: an address that other machines reach, without a token; a command that cannot be,
     * which and why. E_IO: the address cannot be had. E_LIMIT, E_UNSUPPORTED. */
    int32_t (*console_open)(const netreel_console_options *options, netreel_console **console);

    /* Ends it. Requests that were not answered are refused. */
    int32_t (*console_close)(netreel_console *console);

    /* Where it listens. */
    int32_t (*console_local)(netreel_console *console, netreel_endpoint *local);

    /* The next request: call it in each tick until its kind is NETREEL_REQUEST_NONE. Never waits for
     * the network or for the console's thread. E_LIMIT: 1024 requests wait for their answers. */
    int32_t (*console_take)(netreel_console *console, netreel_request *request);

    /* Answers a request, now or in a later tick, from any thread: done (not 0) with what came of it,
     * or not done (0) with why. UTF-8, at most 64 KiB, the rest is cut.
     * E_ARGUMENT: no request with this id waits. */
    int32_t (*console_answer)(netreel_console *console, uint64_t id, int32_t done,
                              const char *text, uint64_t length);
} netreel_api;

#if defined(__GNUC__)
#define NETREEL_EXPORT __attribute__((visibility("default")))
#else
#define NETREEL_EXPORT
#endif

/*
 * Fills the table, `size` being sizeof(netreel_api) and `version` NETREEL_API_VERSION. May be
 * called any number of times, from any thread. Functions that the library does not have are NULL
 * in it: that can only be those that your header has at the end and an older library lacks.
 * E_ARGUMENT: api is NULL or size is no size. E_VERSION: the version is not served.
 */
NETREEL_EXPORT int32_t netreel_load(netreel_api *api, uint32_t size, uint32_t version);

/* Its type, for dlsym(library, "netreel_load"). */
typedef int32_t (*netreel_load_fn)(netreel_api *api, uint32_t size, uint32_t version);

#ifdef __cplusplus
}
#endif

#endif
