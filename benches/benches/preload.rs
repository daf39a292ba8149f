//! What preload costs an unmodified program: rounds of send and receive on loopback, clock reads,
//! locks beside a second thread, and lines that are printed, bare and recorded in turns, next to
//! tcpdump capturing the same rounds where it may.
//!
//! `cargo bench -p netreel-benches --bench preload`; with `-- --check` it fails where the target
//! is missed.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use netreel_capture::Options;
use netreel_capture::preload::{Wanted, record};

/// In turns, so that what else the machine does falls on all alike: of packets, whose target is
/// the nearest, the most.
const TURNS: usize = 15;
const PACKET_TURNS: usize = 45;
const PACKETS: &str = "100000";
const READS: &str = "1000000";
/// Of a round of send and receive.
const TARGET_PERCENT: f64 = 8.0;

struct Bench {
    folder: tempfile::TempDir,
    program: PathBuf,
}

impl Bench {
    fn new() -> Bench {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/rounds.c");
        let program = folder.path().join("rounds");
        let compiled = Command::new("cc")
            .args(["-O2", "-pthread", "-o"])
            .args([&program, &source])
            .status();
        assert!(compiled.is_ok_and(|status| status.success()), "cc compiles");
        Bench { folder, program }
    }

    fn arguments(&self, what: &str, count: &str) -> [PathBuf; 3] {
        [what.into(), count.into(), self.folder.path().join("nanos")]
    }

    fn result(&self) -> f64 {
        let text = std::fs::read_to_string(self.folder.path().join("nanos"));
        text.expect("the program wrote")
            .trim()
            .parse()
            .expect("a number")
    }

    fn bare(&self, what: &str, count: &str) -> f64 {
        let mut command = Command::new(&self.program);
        let status = command.args(self.arguments(what, count)).status();
        assert!(status.expect("it starts").success());
        self.result()
    }

    fn recorded(&self, what: &str, count: &str, one_thread: bool) -> f64 {
        let out = self.folder.path().join("out");
        let mut command = vec![self.program.clone().into_os_string()];
        command.extend(self.arguments(what, count).map(PathBuf::into_os_string));
        let wanted = Wanted {
            command,
            out: out.clone(),
            children: true,
            options: Options::default(),
            random_addresses: false,
            one_thread,
            log: true,
            tripwire: true,
            name: None,
        };
        let outcome = record(&wanted, &mut |_| {}).expect("it is recorded");
        assert!(outcome.live.dropped == 0 && outcome.gaps == 0);
        std::fs::remove_dir_all(out).expect("the reels go");
        self.result()
    }

    /// While tcpdump writes all of loopback into a file; `None` where it may not.
    fn captured(&self, what: &str, count: &str) -> Option<f64> {
        let file = self.folder.path().join("capture.pcap");
        let mut tcpdump = Command::new("tcpdump")
            .args(["-i", "lo", "-Z", "root", "-w"])
            .arg(&file)
            .arg("udp")
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        std::thread::sleep(Duration::from_millis(400));
        let gone = tcpdump.try_wait().ok()?.is_some();
        let nanos = (!gone).then(|| self.bare(what, count));
        let _ = tcpdump.kill();
        let _ = tcpdump.wait();
        nanos
    }
}

/// The first quartile: a program that is not disturbed, without trusting one lucky turn.
fn quiet(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 4).copied()
}

fn main() -> ExitCode {
    let bench = Bench::new();
    let check = std::env::args().any(|argument| argument == "--check");
    let mut missed = false;
    for (what, count) in [
        ("packet", PACKETS),
        ("clock", READS),
        ("day", READS),
        ("lock", READS),
        ("text", READS),
    ] {
        let (mut bare, mut recorded, mut captured) = (Vec::new(), Vec::new(), Vec::new());
        let mut by_turns = Vec::new();
        let turns = match what {
            "packet" => PACKET_TURNS,
            _ => TURNS,
        };
        for _ in 0..turns {
            bare.push(bench.bare(what, count));
            recorded.push(bench.recorded(what, count, false));
            if what == "lock" {
                by_turns.push(bench.recorded(what, count, true));
            }
            if what == "packet" {
                captured.extend(bench.captured(what, count));
            }
        }
        let (Some(bare), Some(recorded)) = (quiet(bare), quiet(recorded)) else {
            continue;
        };
        let percent = (recorded / bare - 1.0) * 100.0;
        match what {
            "packet" => {
                println!("a round of sendto and recvfrom: bare {bare:.0} ns");
                println!(
                    "  recorded by preload: {recorded:.0} ns, {percent:+.1} % (target {TARGET_PERCENT} %)"
                );
                match quiet(captured) {
                    Some(with) => {
                        let percent = (with / bare - 1.0) * 100.0;
                        println!("  beside tcpdump: {with:.0} ns, {percent:+.1} %");
                    }
                    None => println!("  tcpdump may not capture here"),
                }
                missed |= percent > TARGET_PERCENT;
            }
            "clock" => println!(
                "clock_gettime: bare {bare:.0} ns, recorded {:+.0} ns a read",
                recorded - bare
            ),
            "lock" => println!(
                "a lock and its unlocking: bare {bare:.0} ns, recorded {recorded:.0} ns, one thread \
                 at a time {:.0} ns",
                quiet(by_turns).unwrap_or_default()
            ),
            "text" => println!(
                "a line of some 70 bytes by printf: bare {bare:.0} ns, recorded {:+.0} ns",
                recorded - bare
            ),
            _ => println!(
                "gettimeofday: bare {bare:.0} ns, recorded {:+.0} ns a read",
                recorded - bare
            ),
        }
    }
    ExitCode::from(u8::from(check && missed))
}
