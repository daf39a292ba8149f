//! The names of what an unmodified program asks its operating system for.
//!
//! `docs/reel-format.md` has the layout of each call's details.

/// Which clock was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClockId(pub u8);

impl ClockId {
    /// `CLOCK_REALTIME`; numbers below 0x80 are Linux's own.
    pub const REALTIME: ClockId = ClockId(0);
    /// `CLOCK_MONOTONIC`: the clock of the reel itself.
    pub const MONOTONIC: ClockId = ClockId(1);
    /// `gettimeofday`: the calendar's time in whole microseconds.
    pub const GETTIMEOFDAY: ClockId = ClockId(0x80);
    /// `time`: the calendar's time in whole seconds.
    pub const TIME: ClockId = ClockId(0x81);

    /// The clock tells no finer steps than this, in nanoseconds.
    pub const fn step_ns(self) -> u64 {
        match self {
            ClockId::GETTIMEOFDAY => 1_000,
            ClockId::TIME => 1_000_000_000,
            _ => 1,
        }
    }
}

/// Which call it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u8);

macro_rules! calls {
    ($($number:literal $constant:ident $name:literal $holds:ident $what:literal;)*) => {
        impl CallId {
            $(#[doc = $what] pub const $constant: CallId = CallId($number);)*

            /// The call's name, as programmers know it; `"call"` for one that is not known here.
            pub const fn name(self) -> &'static str {
                match self.0 {
                    $($number => $name,)*
                    _ => "call",
                }
            }

            /// Whether its details hold numbers alone: nothing that people wrote, and nothing that names
            /// them. What other details hold is known to `protocol/redact/src/calls.rs`.
            pub const fn holds_numbers(self) -> bool {
                match self.0 {
                    $($number => calls!(@ $holds),)*
                    _ => false,
                }
            }
        }
    };
    (@ numbers) => { true };
    (@ more) => { false };
}

calls! {
    1 SOCKET "socket" numbers "A UDP socket was made.";
    2 BIND "bind" numbers "A UDP socket was bound, or that failed.";
    3 CONNECT "connect" more "A UDP socket was given a peer.";
    4 CLOSE "close" numbers "A descriptor of a UDP socket was closed.";
    5 DUP "dup" numbers "A descriptor of a UDP socket was duplicated.";
    6 POLL "poll" numbers "Waited for descriptors.";
    7 PPOLL "ppoll" numbers "Waited for descriptors.";
    8 SELECT "select" numbers "Waited for descriptors.";
    9 PSELECT "pselect" numbers "Waited for descriptors.";
    10 EPOLL_WAIT "epoll_wait" numbers "Waited for descriptors.";
    11 EPOLL_PWAIT "epoll_pwait" numbers "Waited for descriptors.";
    12 EPOLL_CTL "epoll_ctl" numbers "Changed what an epoll descriptor waits for.";
    13 SLEEP "sleep" numbers "Slept.";
    14 RANDOM "random" more "Was given random bytes.";
    15 FORK "fork" numbers "Forked.";
    16 EXEC "exec" more "Is about to become another program.";
    17 SPAWN "spawn" more "Started another program.";
    18 RECEIVE_QUEUE "receive queue" numbers "What a socket's receive buffer came to at the end.";
    19 PEEK "peek" more "Looked at a packet without taking it.";
    20 SET_OPTION "setsockopt" more "Changed an option of a UDP socket.";
    21 IOCTL "ioctl" numbers "Asked a UDP socket for something.";
    22 ERROR_QUEUE "error queue" numbers "Read a UDP socket's error queue.";
    23 SHUTDOWN "shutdown" numbers "Shut a UDP socket down.";
    24 VDSO "vdso" numbers "Asked where the kernel's own library lies, to call it past the C library.";
    25 PAST "past" numbers "Does something that no hook sees.";
    26 JOINED "joined" numbers "One call passed the packets that follow in this thread.";
    27 START "start" more "Something that the program was started with.";
    28 THREAD "thread" numbers "Which of the program's threads this one is.";
    29 OWN_NAME "getsockname" more "Asked for the address of a UDP socket.";
    30 PEER_NAME "getpeername" more "Asked for the peer of a UDP socket.";
    31 GET_OPTION "getsockopt" more "Asked for an option of a UDP socket.";
    32 LOOKS_UP "looks up" numbers "Begins to look a name up; what this thread does until it has it is the C library's.";
    33 LOOKED_UP "looked up" more "Was told the addresses of a name.";
    34 INPUT "input" more "Read from the standard input.";
    35 END "end" numbers "Ended by itself.";
    36 SIGNAL "signal" numbers "A handler of the program's begins.";
    37 BATCH "batch" numbers "One call was given the packets that follow in this thread.";
    38 LOCK "lock" numbers "Took a lock that another thread had last, or was not given one.";
    39 CONDITION "condition" numbers "Waited for a condition.";
    40 SEMAPHORE "semaphore" numbers "Waited for a semaphore.";
    41 POST "post" numbers "Raised a semaphore.";
    42 FILE "file" more "Opened a file, or was told that there is none.";
    43 TURN "turn" numbers "Goes on after another thread, of which one runs at a time.";
    44 PRINTED "prints" more "Printed a line, or a part of one.";
    45 PART "part" numbers "Handed over a part of a packet that leaves with another one.";
    46 CANCEL "cancel" numbers "Cancelled a thread.";
    47 CANCELLED "cancelled" numbers "Was cancelled, inside a call that it waited in.";
    48 BARRIER "barrier" numbers "Waited at a barrier.";
    49 ONCE "once" numbers "Begins what is to run once (`pthread_once`).";
    50 JOIN "join" numbers "Asked whether a thread has ended, or waited for that up to a time.";
    51 LEVEL "level" numbers "Asked how high a semaphore stands.";
    52 EVENTFD "eventfd" numbers "Read an eventfd, or raises it.";
    53 TIMERFD "timerfd" numbers "Read a timerfd, set it, or asked for it.";
    54 STATUS "status" numbers "The process has ended, and how.";
    55 TCP "tcp" more "Made a TCP connection, or took one; what goes over it is not recorded.";
    56 WAIT "wait" numbers "Waited for a child, or asked whether it has ended.";
    57 PIPE "pipe" more "Read what a child wrote into a pipe.";
    58 FOUND "found" more "Is about to change a file or a folder, which is so before that.";
}

/// What of a program's start an event tells: the first byte of its details.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StartId(pub u8);

impl StartId {
    /// u32 process id, u32 the parent's, u32 rings, u32 length of each ring's data, u8 1 where
    /// addresses are random.
    pub const NUMBERS: StartId = StartId(1);
    /// The working directory's path.
    pub const FOLDER: StartId = StartId(2);
    /// A variable of the environment: `NAME=value`.
    pub const VARIABLE: StartId = StartId(3);
    /// One whose value is kept back: u32 its CRC-32, u32 its length, `NAME`.
    pub const SECRET: StartId = StartId(4);
    /// A file in memory: u64 address, u32 CRC-32 of the file, its path.
    pub const FILE: StartId = StartId(5);
    /// An open descriptor: i32 its number, what it leads to.
    pub const DESCRIPTOR: StartId = StartId(6);
    /// The path by which the program was started.
    pub const PROGRAM: StartId = StartId(7);
    /// u64 the signals that were ignored, u64 those that were blocked: signal n is bit n - 1.
    pub const SIGNALS: StartId = StartId(8);
    /// What the recorder was asked to start, where that is another program or has other arguments:
    /// u32 CRC-32 of its file, its name and each argument with a zero byte behind it.
    pub const LAUNCHED: StartId = StartId(9);
    /// More of an open descriptor that leads to a file or to nothing (`/dev/null`): i32 its number, u32 the
    /// flags it was opened with, u64 how far it has been read, u64 the file's length, i64 when it was last
    /// changed, in nanoseconds since 1970.
    pub const HELD: StartId = StartId(10);
    /// More of an open descriptor that leads to a terminal: i32 its number, u16 how many rows and u16 how
    /// many columns it has.
    pub const TERMINAL: StartId = StartId(11);
}

/// Whether what a descriptor leads to, as [`StartId::DESCRIPTOR`] has it, is a terminal.
pub fn is_terminal(target: &str) -> bool {
    let kinds = ["/dev/pts/", "/dev/tty", "/dev/console"];
    kinds.iter().any(|it| target.starts_with(it))
}

/// What a program does that no hook sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PastId(pub u8);

macro_rules! pasts {
    ($($(#[$what:meta])* $number:literal $constant:ident $sentence:literal;)*) => {
        impl PastId {
            $($(#[$what])* pub const $constant: PastId = PastId($number);)*

            /// The end of a sentence that begins with the program's name.
            pub const fn sentence(self) -> &'static str {
                match self.0 {
                    $($number => $sentence,)*
                    _ => "it does something that is not recorded",
                }
            }
        }
    };
}

pasts! {
    /// Reads or writes a UDP socket through the C library's streams.
    1 STREAM "it uses a UDP socket as a stream of the C library (fdopen, printf, dprintf); what goes that way is not recorded";
    /// Receives packets that the kernel has joined (`UDP_GRO`) with too little room to be told how
    /// long each was.
    2 SEGMENTS "it lets the kernel join packets and leaves too little room to be told how long each was (UDP_GRO); those are recorded as one packet";
    /// Has bytes moved between a UDP socket and a file, a pipe or a request (`aio`).
    3 MOVED "it has bytes moved into or out of a UDP socket (sendfile, splice, aio_read, aio_write); those packets are not recorded";
    /// Has a UDP socket for which there is no number left, or whose descriptor is too large.
    4 UNNUMBERED "it has had more than 65535 UDP sockets, or descriptors above 65535; what goes through those is not recorded";
    /// Looks a function of the C library up past the recorder's.
    5 LOOKED_UP "a library that it loads looks functions of the C library up past the recorder (dlsym with RTLD_NEXT); what is called that way is not recorded";
    /// Loads a library that finds the C library's functions first (`RTLD_DEEPBIND`).
    6 DEEP "it loads a library that goes past the recorder to the C library (RTLD_DEEPBIND); what that library does is not recorded";
    /// Loads a library with a C library of its own (`dlmopen`).
    7 NAMESPACE "it loads a library with a C library of its own (dlmopen); what that library does is not recorded";
    /// Makes an `io_uring`.
    8 IO_URING "it uses io_uring; what it sends and receives that way is not recorded";
    /// Has a seccomp filter that forbids calls of the recorder's. Behind it stand their numbers, as
    /// u16.
    9 SANDBOX "its own seccomp filter forbids calls that the recorder makes in it; the recorder does without";
    /// Has more locks than there are places for.
    10 LOCKS "it has had more than some 65000 locks; the order in which threads take the others is not recorded";
    /// Runs one thread at a time, and one went on without its turn.
    11 TURN "one of its threads computed for a second of its processor's time without a call that lets others run; from there on two threads ran at a time, in an order that is not recorded";
    /// Has more threads at a time than there are places for.
    13 THREADS "it has more than 1024 threads at a time; which the others are, and the order in which they take locks, is not recorded";
    /// Sends parts of one packet from two processes, or packets in parts on more sockets at a time
    /// than there are places for.
    14 PARTS "it sends parts of one packet from two processes, or of packets on more than 64 sockets at a time (MSG_MORE, UDP_CORK); each of those parts is recorded as a packet";
}
