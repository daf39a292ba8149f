//! Calls by number, through `syscall`: each is the hook of its name.

use netreel_shared::call::CallId;

use crate::hook::hook;
use crate::sys::{TimeSpec, TimeVal, nr, or_code, with_errno};
use crate::{
    attach, children, clocks, counters, descriptors, names, others, own_number, processes,
    randomness, receive, sandbox, send, sockets, waits,
};

/// Declares what answers calls by number that do nothing else than the hook of their name. Numbers that
/// nothing else needs stand here, on x86-64 and on 64-bit ARM.
macro_rules! hooks {
    ([$($word:ident),*] $($file:ident {$(
        $number:ident $($x86_64:literal $aarch64:literal)? => $hook:ident($($argument:ident),*);
    )*})*) => {
        mod own {
            pub use crate::nr::*;
            crate::nr::numbers! { $($($($number $x86_64 $aarch64;)?)*)* }
        }

        /// What the hook of this number answers; `None`: there is none.
        ///
        /// # Safety
        /// The arguments are as the call of this number wants them.
        #[inline(always)]
        #[allow(clippy::unnecessary_cast)]
        unsafe fn hooked(number: usize, [$($word),*]: [usize; 6]) -> Option<isize> {
            // SAFETY: each is the C library's function for that system call.
            let answer = unsafe {
                match number {
                    $($(own::$number => $file::$hook($($argument as _),*) as isize,)*)*
                    _ => return None,
                }
            };
            Some(answer)
        }
    };
}

hooks! {
    [a, b, c, d, e, f]
    send {
        SENDTO => sendto(a, b, c, d, e, f);
        SENDMSG => sendmsg(a, b, c);
        SENDMMSG => sendmmsg(a, b, c, d);
        WRITE => write(a, b, c);
        WRITEV => writev(a, b, c);
        PWRITEV2 328 287 => pwritev2(a, b, c, d, f);
    }
    receive {
        RECVFROM => recvfrom(a, b, c, d, e, f);
        RECVMSG => recvmsg(a, b, c);
        RECVMMSG => recvmmsg(a, b, c, d, e);
        READ => read(a, b, c);
        READV => readv(a, b, c);
        PREADV2 327 286 => preadv2(a, b, c, d, f);
    }
    descriptors {
        SENDFILE 40 71 => sendfile(a, b, c, d);
        SPLICE 275 76 => splice(a, b, c, d, e, f);
        SOCKET => socket(a, b, c);
        BIND 49 200 => bind(a, b, c);
        CONNECT => connect(a, b, c);
        SHUTDOWN 48 210 => shutdown(a, b);
        SETSOCKOPT 54 208 => setsockopt(a, b, c, d, e);
        IOCTL 16 29 => ioctl(a, b, c);
        CLOSE => close(a);
        CLOSE_RANGE 436 436 => close_range(a, b, c);
        DUP 32 23 => dup(a);
        DUP2 => dup2(a, b);
        DUP3 => dup3(a, b, c);
        FCNTL => fcntl(a, b, c);
    }
    others {
        ACCEPT 43 202 => accept(a, b, c);
        ACCEPT4 288 242 => accept4(a, b, c, d);
    }
    waits {
        SELECT => select(a, b, c, d, e);
        POLL => poll(a, b, c);
        EPOLL_WAIT => epoll_wait(a, b, c, d);
        NANOSLEEP => nanosleep(a, b);
        EPOLL_CTL 233 21 => epoll_ctl(a, b, c, d);
    }
    counters {
        EVENTFD2 => eventfd(a, b);
        TIMERFD_CREATE 283 85 => timerfd_create(a, b);
        TIMERFD_SETTIME 286 86 => timerfd_settime(a, b, c, d);
        TIMERFD_GETTIME 287 87 => timerfd_gettime(a, b);
    }
    processes {
        EXECVE 59 221 => execve(a, b, c);
        GETPID => getpid();
        GETPPID 110 173 => getppid();
        KILL 62 129 => kill(a, b);
    }
    sandbox {
        PRCTL => prctl(a, b, c, d, e);
    }
    randomness {
        GETRANDOM => getrandom(a, b, c);
        PREAD => pread64(a, b, c, d);
        PREADV 295 69 => preadv64(a, b, c, d);
    }
    names {
        GETSOCKNAME => getsockname(a, b, c);
        GETPEERNAME => getpeername(a, b, c);
        GETSOCKOPT => getsockopt(a, b, c, d, e);
    }
    own_number {
        GETTID => gettid();
    }
    clocks {
        CLOCK_GETTIME => clock_gettime(a, b);
    }
}

hook! {
    fn syscall[real](number: isize, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize {
        // What the program was started with is looked at before it opens anything, be it the first call of a
        // library that makes itself ready before this one (jemalloc).
        let _ = attach::generation();
        let (fd, all) = (a as i32, || real(number, a, b, c, d, e, f));
        match usize::try_from(number).unwrap_or(usize::MAX) {
            nr::IO_SUBMIT => {
                descriptors::submitted(c as *const *const descriptors::Block, b);
                all()
            }
            nr::IO_URING_SETUP => descriptors::set_up(all()),
            nr::PIDFD_GETFD => {
                let arrived = all();
                sockets::arrived(arrived as i32);
                arrived
            }
            nr::PPOLL => waits::polls(CallId::PPOLL, a as *mut _, b, || all() as i32) as isize,
            nr::PSELECT => {
                let (sets, nowhere) = ([b as *mut _, c as *mut _, d as *mut _], core::ptr::null_mut());
                waits::selects(CallId::PSELECT, fd, sets, nowhere, || all() as i32) as isize
            }
            nr::EPOLL_PWAIT | nr::EPOLL_PWAIT2 => {
                waits::epolls(CallId::EPOLL_PWAIT, b as *mut _, c as i32, || all() as i32) as isize
            }
            nr::CLOCK_NANOSLEEP => {
                let left = waits::left_of(b as i32, d as *mut TimeSpec);
                let asked = || waits::nanos(c as *const TimeSpec);
                with_errno(waits::sleeps(asked, left, || or_code(all() as i32))) as isize
            }
            nr::EVENTFD => counters::eventfd(a as u32, 0) as isize,
            nr::CLONE => processes::clone(a, c as *mut i32, all),
            nr::CLONE3 => {
                let wanted = a as *const [usize; 2];
                let [flags, place] = if b < size_of::<[usize; 2]>() { [0; 2] } else { *wanted };
                processes::clone(flags, place as *mut i32, all)
            }
            // Who asks what a child has used gets that as well.
            nr::WAITID if e == 0 => children::waitid(fd, b as u32, c as *mut _, d as i32) as isize,
            nr::SECCOMP => sandbox::seccomp(a, c, all),
            nr::GETTIMEOFDAY => {
                let result = all();
                clocks::after_gettimeofday(result, a as *mut TimeVal);
                result
            }
            nr::TIME => {
                let result = all();
                clocks::after_time(result as i64, a as *mut i64) as isize
            }
            other => hooked(other, [a, b, c, d, e, f]).unwrap_or_else(|| {
                let (a, b) = own_number::by_call(other, a, b);
                real(number, a, b, c, d, e, f)
            }),
        }
    }
}
