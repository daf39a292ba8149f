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
    ([$($word:ident),*] $(
        $number:ident $($x86_64:literal $aarch64:literal)? => $file:ident::$hook:ident($($argument:ident),*);
    )*) => {
        mod own {
            pub use crate::nr::*;
            crate::nr::numbers! { $($($number $x86_64 $aarch64;)?)* }
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
                    $(own::$number => $file::$hook($($argument as _),*) as isize,)*
                    _ => return None,
                }
            };
            Some(answer)
        }
    };
}

hooks! {
    [a, b, c, d, e, f]
    SENDTO => send::sendto(a, b, c, d, e, f);
    SENDMSG => send::sendmsg(a, b, c);
    SENDMMSG => send::sendmmsg(a, b, c, d);
    WRITE => send::write(a, b, c);
    WRITEV => send::writev(a, b, c);
    RECVFROM => receive::recvfrom(a, b, c, d, e, f);
    RECVMSG => receive::recvmsg(a, b, c);
    RECVMMSG => receive::recvmmsg(a, b, c, d, e);
    READ => receive::read(a, b, c);
    READV => receive::readv(a, b, c);
    PWRITEV2 328 287 => send::pwritev2(a, b, c, d, f);
    PREADV2 327 286 => receive::preadv2(a, b, c, d, f);
    SENDFILE 40 71 => descriptors::sendfile(a, b, c, d);
    SPLICE 275 76 => descriptors::splice(a, b, c, d, e, f);
    SOCKET => descriptors::socket(a, b, c);
    ACCEPT 43 202 => others::accept(a, b, c);
    ACCEPT4 288 242 => others::accept4(a, b, c, d);
    BIND 49 200 => descriptors::bind(a, b, c);
    CONNECT => descriptors::connect(a, b, c);
    SHUTDOWN 48 210 => descriptors::shutdown(a, b);
    SETSOCKOPT 54 208 => descriptors::setsockopt(a, b, c, d, e);
    IOCTL 16 29 => descriptors::ioctl(a, b, c);
    CLOSE => descriptors::close(a);
    CLOSE_RANGE 436 436 => descriptors::close_range(a, b, c);
    DUP 32 23 => descriptors::dup(a);
    DUP2 => descriptors::dup2(a, b);
    DUP3 => descriptors::dup3(a, b, c);
    FCNTL => descriptors::fcntl(a, b, c);
    SELECT => waits::select(a, b, c, d, e);
    POLL => waits::poll(a, b, c);
    EPOLL_WAIT => waits::epoll_wait(a, b, c, d);
    NANOSLEEP => waits::nanosleep(a, b);
    EVENTFD2 => counters::eventfd(a, b);
    TIMERFD_CREATE 283 85 => counters::timerfd_create(a, b);
    TIMERFD_SETTIME 286 86 => counters::timerfd_settime(a, b, c, d);
    TIMERFD_GETTIME 287 87 => counters::timerfd_gettime(a, b);
    EPOLL_CTL 233 21 => waits::epoll_ctl(a, b, c, d);
    EXECVE 59 221 => processes::execve(a, b, c);
    PRCTL => sandbox::prctl(a, b, c, d, e);
    GETRANDOM => randomness::getrandom(a, b, c);
    PREAD => randomness::pread64(a, b, c, d);
    PREADV 295 69 => randomness::preadv64(a, b, c, d);
    GETSOCKNAME => names::getsockname(a, b, c);
    GETPEERNAME => names::getpeername(a, b, c);
    GETSOCKOPT => names::getsockopt(a, b, c, d, e);
    GETTID => own_number::gettid();
    GETPID => processes::getpid();
    GETPPID 110 173 => processes::getppid();
    KILL 62 129 => processes::kill(a, b);
    CLOCK_GETTIME => clocks::clock_gettime(a, b);
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
