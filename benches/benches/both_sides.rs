//! What a user pays for a recorded program on both sides: the processor time of the program, bare
//! and recorded, and that of the recorder beside it, with the recorder's wake-ups and memory. In the first
//! seconds the program meets each page of its ring for the first time; what that costs is told apart.
//!
//! `cargo bench -p netreel-benches --bench both_sides`; with `-- --check` it fails where a target
//! is missed.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use netreel_capture::Options;
use netreel_capture::preload::{Wanted, record};

/// In so many seconds a game has written its ring full once, and the recorder looks around more often.
const FIRST: u64 = 16;
/// So many behind them are measured.
const SECONDS: u64 = 12;
/// A recorder's milliseconds a second for an idle program, its share of a game at work, and that of both
/// sides.
const IDLE_MS: f64 = 1.0;
const SHARE: f64 = 0.1;
const BOTH: f64 = 0.25;

/// Ticks a second, packets a tick, processes.
const PROGRAMS: [(&str, u64, u64, u64); 4] = [
    ("an idle program", 0, 0, 1),
    ("21 idle programs", 0, 0, 21),
    ("a game, 60 ticks of 16 packets a second", 60, 16, 1),
    ("a server, 60 ticks of 500 packets a second", 60, 500, 1),
];

/// What this process has used.
#[derive(Clone, Copy)]
struct Used {
    at: Instant,
    millis: f64,
    woken: i64,
}

impl Used {
    fn now() -> Used {
        // SAFETY: a structure of plain numbers to write to.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
            usage
        };
        let millis = |time: libc::timeval| time.tv_sec as f64 * 1e3 + time.tv_usec as f64 / 1e3;
        Used {
            at: Instant::now(),
            millis: millis(usage.ru_utime) + millis(usage.ru_stime),
            woken: usage.ru_nvcsw,
        }
    }
}

/// The memory of this process, in MB.
fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.unwrap_or(0.0) / 1024.0
}

fn compile(folder: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/games.c");
    let program = folder.join("games");
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-o"]).args([&program, &source]);
    assert!(compiler.status().is_ok_and(|status| status.success()));
    program
}

fn main() -> ExitCode {
    let check = std::env::args().any(|argument| argument == "--check");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = compile(folder.path());
    let told = folder.path().join("told");
    let took = || -> (f64, f64) {
        let text = std::fs::read_to_string(&told).expect("the program wrote");
        let numbers = text
            .split_whitespace()
            .map(|it| it.parse().expect("a number"));
        let numbers: Vec<f64> = numbers.collect();
        (numbers[0], numbers[1])
    };
    let mut missed = false;
    for (name, ticks, packets, processes) in PROGRAMS {
        let mut command = vec![program.clone().into_os_string()];
        for number in [FIRST, SECONDS, ticks, packets, processes] {
            command.push(number.to_string().into());
        }
        command.push(told.clone().into_os_string());
        let bare = Command::new(&command[0]).args(&command[1..]).status();
        assert!(bare.is_ok_and(|status| status.success()));
        let (_, bare) = took();
        let out = folder.path().join("out");
        let wanted = Wanted {
            command,
            out: out.clone(),
            children: true,
            options: Options::default(),
            random_addresses: false,
            one_thread: false,
            tripwire: true,
            log: true,
            name: None,
        };
        let measured = std::thread::spawn(|| {
            std::thread::sleep(Duration::from_secs(FIRST));
            let before = Used::now();
            std::thread::sleep(Duration::from_secs(SECONDS - 1));
            (before, Used::now(), resident())
        });
        let outcome = record(&wanted, &mut |_| {}).expect("it is recorded");
        assert!(outcome.live.dropped == 0 && outcome.gaps == 0);
        let (before, after, megabytes) = measured.join().expect("it is measured");
        std::fs::remove_dir_all(out).expect("the reels go");
        let seconds = (after.at - before.at).as_secs_f64();
        let recorder = (after.millis - before.millis) / seconds;
        let woken = (after.woken - before.woken) as f64 / seconds;
        let (at_first, recorded) = took();
        let more = recorded - bare + recorder;
        println!(
            "{name}: bare {bare:.2} ms/s, recorded {recorded:.2} ms/s (first {at_first:.2}); the recorder \
             {recorder:.2} ms/s, {woken:.0} wake-ups/s, {megabytes:.1} MB"
        );
        // An idle program takes nothing that a share could be of.
        if ticks > 0 {
            println!("    both sides {:.0} % more", 100.0 * more / bare);
        }
        missed |= match ticks {
            0 => recorder > IDLE_MS * processes as f64,
            _ => recorder > bare * SHARE || more > bare * BOTH,
        };
    }
    ExitCode::from(u8::from(check && missed))
}
