//! Runs the command as a person would.

#[allow(dead_code)]
pub mod answers;
#[allow(dead_code)]
pub mod beside;
#[allow(dead_code)]
pub mod net;
#[allow(dead_code)]
pub mod plugins;
#[allow(dead_code)]
pub mod programs;
mod signals;
mod skipped;
#[allow(dead_code)]
pub mod terminals;
#[allow(dead_code)]
pub mod windows;

use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

#[allow(unused_imports)]
pub use skipped::{judged, no_namespace, reasons, skipped};

/// What the command printed, and its exit code.
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// The command that is tested: the one that was built with the tests, or `netreel.exe` (`./dev windows`).
pub fn command() -> Command {
    let ours = || Command::new(env!("CARGO_BIN_EXE_netreel"));
    windows::folder().map_or_else(ours, |folder| windows::command(&folder.join("netreel.exe")))
}

/// Runs `netreel` with `arguments`.
pub fn netreel<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Ran {
    let output = windows::output(
        command()
            .args(arguments)
            .env_remove("DISPLAY")
            .env_remove("WAYLAND_DISPLAY"),
    );
    Ran {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

impl Ran {
    /// The output, which must be one JSON object.
    #[allow(dead_code)]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|error| panic!("{error} in {:?}; stderr: {}", self.out, self.err))
    }

    /// Fails unless the exit code is `code`.
    #[track_caller]
    #[allow(dead_code)]
    pub fn expect(self, code: i32) -> Ran {
        assert_eq!(
            self.code,
            Some(code),
            "stdout: {}\nstderr: {}",
            self.out,
            self.err
        );
        self
    }
}

/// Sends `signal` to a process that the test started, itself or through another one. Whether it was
/// there.
#[allow(dead_code)]
pub fn signal(process: u32, signal: libc::c_int) -> bool {
    let process = libc::pid_t::try_from(process).expect("a process");
    // SAFETY: it takes plain numbers.
    unsafe { libc::kill(process, signal) == 0 }
}

/// How `child` ended. One that hangs is killed after three minutes, and fails the test.
#[allow(dead_code)]
pub fn ended(child: &mut Child) -> ExitStatus {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(180) {
        if let Some(status) = child.try_wait().expect("a child of this process") {
            return status;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    let _ = child.wait();
    panic!("process {} has not ended in three minutes", child.id());
}

/// A UDP port of this machine that nobody has. Nobody gets it before the test's program does: it is none of
/// those that the system gives, as it is set up, to who asks for any, and a process is given each once.
#[allow(dead_code)]
pub fn free_port() -> u16 {
    const GIVEN: std::ops::Range<u32> = 10_000..30_000;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let is_free = |port: &u16| std::net::UdpSocket::bind(("127.0.0.1", *port)).is_ok();
    let ports = std::iter::repeat_with(|| {
        let first = std::process::id().wrapping_mul(100);
        let nth = first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        (GIVEN.start + nth % GIVEN.len() as u32) as u16
    });
    let some = &mut ports.take(GIVEN.len());
    some.find(is_free).expect("a port that nobody has")
}

/// Plays the demonstration into `out`.
#[allow(dead_code)]
pub fn demo(migration: &str, seed: u64, out: &Path) -> Ran {
    let seed = seed.to_string();
    let out = out.to_str().expect("a path in UTF-8");
    netreel(&[
        "demo",
        "--headless",
        "--migration",
        migration,
        "--seed",
        &seed,
        "--out",
        out,
    ])
}
