//! The calls in which a thread may be cancelled (`pthread_cancel`), by number.

/// The calls in which a thread may be cancelled, of those that have a hook and may wait.
const POINTS: &[&str] = &[
    "__poll_chk",
    "__ppoll_chk",
    "__read_chk",
    "__recv_chk",
    "__recvfrom_chk",
    "accept",
    "accept4",
    "clock_nanosleep",
    "cnd_timedwait",
    "cnd_wait",
    "connect",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "eventfd_read",
    "eventfd_write",
    "nanosleep",
    "poll",
    "ppoll",
    "pselect",
    "pthread_clockjoin_np",
    "pthread_cond_clockwait",
    "pthread_cond_timedwait",
    "pthread_cond_wait",
    "pthread_join",
    "pthread_timedjoin_np",
    "read",
    "readv",
    "recv",
    "recvfrom",
    "recvmmsg",
    "recvmsg",
    "select",
    "sem_clockwait",
    "sem_timedwait",
    "sem_wait",
    "send",
    "sendmmsg",
    "sendmsg",
    "sendto",
    "sigtimedwait",
    "sigwait",
    "sigwaitinfo",
    "sleep",
    "system",
    "thrd_join",
    "thrd_sleep",
    "usleep",
    "wait",
    "wait3",
    "wait4",
    "waitid",
    "waitpid",
    "write",
    "writev",
];

/// A call in which a thread may be cancelled: its place in the list above, plus 1; 0 for others.
pub const fn point(name: &str) -> u32 {
    let mut at = 0;
    while at < POINTS.len() {
        if is_same(POINTS[at].as_bytes(), name.as_bytes()) {
            return at as u32 + 1;
        }
        at += 1;
    }
    0
}

/// The name of one.
pub fn name(point: u32) -> &'static [u8] {
    let name = (point as usize)
        .checked_sub(1)
        .and_then(|at| POINTS.get(at));
    name.map_or(&[], |name| name.as_bytes())
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}
