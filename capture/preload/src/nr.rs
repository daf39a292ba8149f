//! The numbers of system calls, and what else differs from machine to machine in them.

/// Each with its number on x86-64, and on 64-bit ARM.
macro_rules! numbers {
    ($($name:ident $x86_64:literal $aarch64:literal;)*) => {
        $(pub const $name: usize = if cfg!(target_arch = "aarch64") { $aarch64 } else { $x86_64 };)*
    };
}
pub(crate) use numbers;

numbers! {
    READ 0 63;
    WRITE 1 64;
    CLOSE 3 57;
    READV 19 65;
    WRITEV 20 66;
    DUP3 292 24;
    FCNTL 72 25;
    EVENTFD2 290 19;
    MMAP 9 222;
    MPROTECT 10 226;
    NANOSLEEP 35 101;
    FUTEX 202 98;
    SCHED_YIELD 24 124;
    GETPID 39 172;
    GETTID 186 178;
    TGKILL 234 131;
    EXIT_GROUP 231 94;
    GETCWD 79 17;
    SOCKET 41 198;
    PIDFD_GETFD 438 438;
    CONNECT 42 203;
    SENDTO 44 206;
    RECVFROM 45 207;
    SENDMSG 46 211;
    RECVMSG 47 212;
    GETSOCKNAME 51 204;
    GETPEERNAME 52 205;
    GETSOCKOPT 55 209;
    MADVISE 28 233;
    CLOCK_GETTIME 228 113;
    RECVMMSG 299 243;
    SENDMMSG 307 269;
    GETRANDOM 318 278;
    OPENAT 257 56;
    READLINKAT 267 78;
    NEWFSTATAT 262 79;
    UNLINKAT 263 35;
    FSTAT 5 80;
    FSTATFS 138 44;
    PREAD 17 67;
    GETTIMEOFDAY 96 169;
    CLOCK_NANOSLEEP 230 115;
    PSELECT 270 72;
    PPOLL 271 73;
    EPOLL_PWAIT 281 22;
    EPOLL_PWAIT2 441 441;
    CLONE 56 220;
    CLONE3 435 435;
    WAITID 247 95;
    IO_URING_SETUP 425 425;
    SECCOMP 317 277;
    IO_SUBMIT 209 2;
    PRCTL 157 167;
    SCHED_GETAFFINITY 204 123;
    SCHED_SETAFFINITY 203 122;
    SCHED_GETSCHEDULER 145 120;
    SCHED_SETSCHEDULER 144 119;
    SCHED_GETPARAM 143 121;
    SCHED_SETPARAM 142 118;
    SCHED_GETATTR 315 275;
    SCHED_SETATTR 314 274;
    PRLIMIT 302 261;
    TKILL 200 130;
    PIDFD_OPEN 434 434;
    // What 64-bit ARM never had, by numbers that no program can ask for: those are signed.
    DUP2 33 0xffff_ffff_0000_0000;
    POLL 7 0xffff_ffff_0000_0001;
    EPOLL_WAIT 232 0xffff_ffff_0000_0002;
    EVENTFD 284 0xffff_ffff_0000_0003;
    TIME 201 0xffff_ffff_0000_0004;
    SELECT 23 0xffff_ffff_0000_0005;
}

/// As seccomp names this machine.
pub const AUDIT_ARCH: u32 = if cfg!(target_arch = "aarch64") {
    0xc000_00b7
} else {
    0xc000_003e
};
