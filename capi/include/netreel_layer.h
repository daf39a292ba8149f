/*
 * netreel_layer.h - a network layer as a plugin that `netreel replay --layer FILE.so` loads.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The plugin exports one function, netreel_layer. It returns a table of functions. netreel makes a
 * layer from the start conditions of a recording, gives it the recorded ticks and calls of the
 * game, and answers it through a netreel_world: where the live layer calls recvfrom, its clock or
 * its random source, this one calls receive, clock or random; where it would send, send. It must
 * not wait, and must reach nothing else. docs/c-api.md has an example.
 *
 * One table may make several layers, one for each node. All calls come from one thread.
 *
 * POINTERS are read, or written, during the call only. The netreel_world that create is given
 * stays until destroy, and a layer may keep it; it is to be used only inside calls into the layer.
 *
 * CRASHES. The plugin runs in a process of its own. If it dies there, netreel says at which node
 * and event.
 *
 * VERSIONS. Structs begin with `size` and grow at their end. Set size to sizeof the struct.
 * What is beyond the size of a struct is not there.
 */
#ifndef NETREEL_LAYER_H
#define NETREEL_LAYER_H

#include <netreel.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NETREEL_LAYER_VERSION 1u

/* The world, as a layer sees it. Functions return NETREEL_OK or an error: NETREEL_E_HANDLE for a
 * world that is not this one, NETREEL_E_ARGUMENT for a NULL or a length that makes no sense. */
typedef struct netreel_world {
    uint32_t size;
    uint32_t version; /* NETREEL_LAYER_VERSION */
    void *world;      /* the first argument of each; a number, it points nowhere */

    /* Takes the next packet. packet->size is set by you. */
    int32_t (*receive)(void *world, uint32_t socket, void *buffer, uint64_t capacity,
                       netreel_packet *packet);

    /* Sends one. *result: what the send returned, bytes taken or -errno; may be NULL. */
    int32_t (*send)(void *world, uint32_t socket, const netreel_endpoint *to, const void *bytes,
                    uint64_t length, int64_t *result);

    /* Reads the clock. */
    int32_t (*clock)(void *world, uint64_t *value);

    /* Draws 64 random bits. */
    int32_t (*random)(void *world, uint64_t *value);

    /* Leaves a note for people. UTF-8. */
    int32_t (*note)(void *world, const char *text, uint64_t length);

    /* Says what the game believes of an object, in the words of a log line without `netreel: `:
     * "created 42 owner 3", "destroyed 42", "owner 42 3", "value 42 position 1.5 2 3". A replay
     * compares it with what was recorded, and tells the first that differs. NETREEL_E_ARGUMENT for
     * other words. Not there where `size` ends before it. */
    int32_t (*believes)(void *world, const char *words, uint64_t length);
} netreel_world;

/* What a layer starts from: what stands in the reel. */
typedef struct netreel_layer_start {
    uint32_t size;
    uint32_t sockets_count;          /* sockets have the numbers 0, 1 and so on in the order in */
    const netreel_endpoint *sockets; /* which they were opened; here is where each was bound */
    const char *node;                /* UTF-8 */
    const char *engine;
    const char *build;
    const void *start; /* the start conditions, as they were recorded */
    uint64_t start_length;
} netreel_layer_start;

/* What a layer believes of an object that lives there. */
typedef struct netreel_belief {
    uint64_t object; /* the protocol's number of it */
    uint64_t owner;  /* the protocol's number of the peer that owns it; UINT64_MAX: nobody does */
    uint64_t values; /* a hash of its values: equal where the values are */
} netreel_belief;

/* The layer's functions. Name the members where you fill the table (`.create = create`): members
 * that are added later are at its end, and NULL where you do not know them. Functions that return a
 * code return 0, or below 0 if they failed: create then makes no layer, input has refused the call,
 * and a tick that fails ends the layer. */
typedef struct netreel_layer_api {
    uint32_t size;    /* sizeof(netreel_layer_api) */
    uint32_t version; /* NETREEL_LAYER_VERSION */
    const char *name; /* whose network layer this is: the engine that is named in the reels. */

    /* Makes a layer before its first tick; what it reads and draws here is answered. */
    int32_t (*create)(const netreel_layer_start *start, const netreel_world *world, void **layer);

    /* A tick of the layer; time is the game's own. */
    int32_t (*tick)(void *layer, const netreel_world *world, uint64_t tick, uint64_t time);

    /* A call of the game, as it was given to netreel's input when it was recorded. */
    int32_t (*input)(void *layer, const netreel_world *world, const void *call, uint64_t length);

    /* Ends it. */
    void (*destroy)(void *layer);

    /* May be NULL: why the last call failed, a sentence in UTF-8 that stays until the next call
     * into the plugin. layer is NULL after a create that failed. */
    const char *(*error)(void *layer);

    /* May be NULL, both or none: the layer's state between two calls, in your own encoding; the same
     * state gives the same bytes. save is called with a room of 0 to ask for the length; it writes
     * *length bytes if they fit into `room`, and returns below 0 where there is no state to be had.
     * A replay compares it with the snapshots of the recording. restore makes the layer what the
     * saved one was. */
    int32_t (*save)(void *layer, void *state, uint64_t room, uint64_t *length);
    int32_t (*restore)(void *layer, const netreel_world *world, const void *state, uint64_t length);

    /* May be NULL: what this build calls itself, as `build` of netreel_options when it records. Where
     * a replay diverges and the reel names another build, that is said. */
    const char *build;

    /* May be NULL: throws the one switch of all time-outs of the layer. Where `on` is 0, it gives up
     * nothing and nobody for having taken too long, whatever any clock says, until it is called with
     * another number; a layer begins with time-outs on, as its start conditions have them. Called
     * between two calls, for whoever looks at the layer in a debugger. The switch is no part of what
     * `save` writes. Below 0: this layer has none. */
    int32_t (*time_outs)(void *layer, int32_t on);

    /* May be NULL: what the layer believes now of each of its objects, in the order of their numbers.
     * It writes *count beliefs if `room` has place for them, and is called with a room of 0 to ask how
     * many there are. Exploring and the tests that `netreel shrink` writes compare what nodes believe
     * when all is delivered. Below 0: there is nothing to be had. */
    int32_t (*beliefs)(void *layer, netreel_belief *beliefs, uint64_t room, uint64_t *count);
} netreel_layer_api;

#ifdef _WIN32
#define NETREEL_LAYER_EXPORT __declspec(dllexport)
#else
#define NETREEL_LAYER_EXPORT NETREEL_EXPORT
#endif

/*
 * What a plugin exports. `version` is what netreel asks for; return NULL if you do not serve it.
 * The table stays as long as the plugin is loaded.
 */
NETREEL_LAYER_EXPORT const netreel_layer_api *netreel_layer(uint32_t version);

#ifdef __cplusplus
}
#endif

#endif
