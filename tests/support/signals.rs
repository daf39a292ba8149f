//! Puts the signals of a test's process in order, before any test begins.
//!
//! Who starts tests may ignore some signals, as `nohup` and some CI runners do. Programs that a test
//! starts would ignore them too, and not end when they are told to.

#[used]
#[unsafe(link_section = ".init_array")]
static PUT_IN_ORDER: extern "C" fn() = put_in_order;

extern "C" fn put_in_order() {
    let signals = [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP, libc::SIGTERM];
    let others = [libc::SIGUSR1, libc::SIGUSR2, libc::SIGCHLD];
    for signal in signals.into_iter().chain(others) {
        // SAFETY: the default is no handler, and nothing else runs yet.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    // SAFETY: a set of plain bits; no signal is held back.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}
