//! Calls by number, through `syscall`: each is the hook of its name.

use core::ffi::c_void;

use netreel_shared::call::CallId;

use crate::attach;
use crate::hook::hook;
use crate::sys::{IoVec, MMsgHdr, MsgHdr, TimeSpec, TimeVal, nr, or_code, with_errno};
use crate::{
    children, clocks, counters, descriptors, names, others, own_number, processes, randomness,
    receive, sandbox, send, sockets, uring, waits,
};

hook! {
    fn syscall[real](number: isize, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize {
        // What the program was started with is looked at before it opens anything, be it the first call of a
        // library that makes itself ready before this one (jemalloc).
        let _ = attach::generation();
        // Each is the C library's function for that system call.
        let (fd, all) = (a as i32, || real(number, a, b, c, d, e, f));
        match usize::try_from(number).unwrap_or(usize::MAX) {
            nr::SENDTO => send::sendto(fd, b as *const u8, c, d as i32, e as *const u8, f as u32),
            nr::SENDMSG => send::sendmsg(fd, b as *const MsgHdr, c as i32),
            nr::SENDMMSG => send::sendmmsg(fd, b as *mut MMsgHdr, c as u32, d as i32) as isize,
            nr::WRITE => send::write(fd, b as *const u8, c),
            nr::WRITEV => send::writev(fd, b as *const IoVec, c as i32),
            nr::RECVFROM => receive::recvfrom(fd, b as *mut u8, c, d as i32, e as *mut u8, f as *mut u32),
            nr::RECVMSG => receive::recvmsg(fd, b as *mut MsgHdr, c as i32),
            nr::RECVMMSG => receive::recvmmsg(fd, b as *mut MMsgHdr, c as u32, d as i32, e as *mut TimeSpec) as isize,
            nr::READ => receive::read(fd, b as *mut u8, c),
            nr::READV => receive::readv(fd, b as *const IoVec, c as i32),
            nr::PWRITEV2 => send::pwritev2(fd, b as *const IoVec, c as i32, d as i64, f as i32),
            nr::PREADV2 => receive::preadv2(fd, b as *const IoVec, c as i32, d as i64, f as i32),
            nr::SENDFILE => descriptors::sendfile(fd, b as i32, c as *mut i64, d),
            nr::SPLICE => descriptors::splice(fd, b as *mut i64, c as i32, d as *mut i64, e, f as u32),
            nr::IO_SUBMIT => {
                descriptors::submitted(c as *const *const descriptors::Block, b);
                all()
            }
            nr::SOCKET => descriptors::socket(fd, b as i32, c as i32) as isize,
            nr::ACCEPT => others::accept(fd, b as *mut u8, c as *mut u32) as isize,
            nr::ACCEPT4 => others::accept4(fd, b as *mut u8, c as *mut u32, d as i32) as isize,
            nr::IO_URING_SETUP => uring::set_up(all()),
            nr::PIDFD_GETFD => {
                let arrived = all();
                sockets::arrived(arrived as i32);
                arrived
            }
            nr::BIND => descriptors::bind(fd, b as *const u8, c as u32) as isize,
            nr::CONNECT => descriptors::connect(fd, b as *const u8, c as u32) as isize,
            nr::SHUTDOWN => descriptors::shutdown(fd, b as i32) as isize,
            nr::SETSOCKOPT => descriptors::setsockopt(fd, b as i32, c as i32, d as *const u8, e as u32) as isize,
            nr::IOCTL => descriptors::ioctl(fd, b as u64, c as *mut i32) as isize,
            nr::CLOSE => descriptors::close(fd) as isize,
            nr::CLOSE_RANGE => descriptors::close_range(a as u32, b as u32, c as i32) as isize,
            nr::DUP => descriptors::dup(fd) as isize,
            #[cfg(target_arch = "x86_64")]
            nr::DUP2 => descriptors::dup2(fd, b as i32) as isize,
            nr::DUP3 => descriptors::dup3(fd, b as i32, c as i32) as isize,
            nr::FCNTL => descriptors::fcntl(fd, b as i32, c) as isize,
            #[cfg(target_arch = "x86_64")]
            nr::SELECT => waits::select(fd, b as *mut _, c as *mut _, d as *mut _, e as *mut _) as isize,
            #[cfg(target_arch = "x86_64")]
            nr::POLL => waits::poll(a as *mut _, b as u64, c as i32) as isize,
            #[cfg(target_arch = "x86_64")]
            nr::EPOLL_WAIT => waits::epoll_wait(fd, b as *mut _, c as i32, d as i32) as isize,
            nr::PPOLL => waits::polls(CallId::PPOLL, a as *mut _, b, || all() as i32) as isize,
            nr::PSELECT => {
                let (sets, nowhere) = ([b as *mut _, c as *mut _, d as *mut _], core::ptr::null_mut());
                waits::selects(CallId::PSELECT, fd, sets, nowhere, || all() as i32) as isize
            }
            nr::EPOLL_PWAIT | nr::EPOLL_PWAIT2 => {
                waits::epolls(CallId::EPOLL_PWAIT, b as *mut _, c as i32, || all() as i32) as isize
            }
            nr::NANOSLEEP => waits::nanosleep(a as *const TimeSpec, b as *mut TimeSpec) as isize,
            nr::CLOCK_NANOSLEEP => {
                let (asked, left) = (waits::nanos(c as *const TimeSpec), waits::left_of(b as i32, d as *mut TimeSpec));
                with_errno(waits::sleeps(asked, left, || or_code(all() as i32))) as isize
            }
            #[cfg(target_arch = "x86_64")]
            nr::EVENTFD => counters::eventfd(a as u32, 0) as isize,
            nr::EVENTFD2 => counters::eventfd(a as u32, b as i32) as isize,
            nr::TIMERFD_CREATE => counters::timerfd_create(fd, b as i32) as isize,
            nr::TIMERFD_SETTIME => counters::timerfd_settime(fd, b as i32, c as *const _, d as *mut _) as isize,
            nr::TIMERFD_GETTIME => counters::timerfd_gettime(fd, b as *mut _) as isize,
            nr::EPOLL_CTL => waits::epoll_ctl(fd, b as i32, c as i32, d as *mut _) as isize,
            nr::CLONE => processes::clone(a, c as *mut i32, all),
            nr::CLONE3 => {
                let wanted = a as *const [usize; 2];
                let [flags, place] = if b < size_of::<[usize; 2]>() { [0; 2] } else { *wanted };
                processes::clone(flags, place as *mut i32, all)
            }
            // Who asks what a child has used gets that as well.
            nr::WAITID if e == 0 => children::waitid(fd, b as u32, c as *mut _, d as i32) as isize,
            nr::EXECVE => processes::execve(a as *const _, b as *const _, c as *const _) as isize,
            nr::SECCOMP => sandbox::seccomp(a, c, all),
            nr::PRCTL => sandbox::prctl(fd, b, c, d, e) as isize,
            nr::GETRANDOM => randomness::getrandom(a as *mut c_void, b, c as u32),
            nr::PREAD => randomness::pread64(fd, b as *mut u8, c, d as i64),
            nr::PREADV => randomness::preadv64(fd, b as *const IoVec, c as i32, d as i64),
            nr::GETTIMEOFDAY => {
                let result = all();
                clocks::after_gettimeofday(result, a as *mut TimeVal);
                result
            }
            #[cfg(target_arch = "x86_64")]
            nr::TIME => {
                let result = all();
                clocks::after_time(result as i64, a as *mut i64) as isize
            }
            nr::GETSOCKNAME => names::getsockname(fd, b as *mut u8, c as *mut u32) as isize,
            nr::GETPEERNAME => names::getpeername(fd, b as *mut u8, c as *mut u32) as isize,
            nr::GETSOCKOPT => names::getsockopt(fd, b as i32, c as i32, d as *mut u8, e as *mut u32) as isize,
            nr::GETTID => own_number::gettid() as isize,
            nr::GETPID => processes::getpid() as isize,
            nr::GETPPID => processes::getppid() as isize,
            nr::KILL => processes::kill(fd, b as i32) as isize,
            nr::CLOCK_GETTIME => clocks::clock_gettime(fd, b as *mut TimeSpec) as isize,
            other => {
                let (a, b) = own_number::by_call(other, a, b);
                real(number, a, b, c, d, e, f)
            }
        }
    }
}
