//! What preload costs an unmodified program: rounds of send and receive on loopback, clock reads,
//! locks beside a second thread, and lines that are printed, bare and recorded in turns, next to
//! tcpdump capturing the same rounds where it may. The rounds also with what stands around a
//! program's calls: the guard of calls in which a thread may be cancelled, which is there once a
//! program has several, and the filter that watches for calls past the hooks.
//!
//! `cargo bench -p netreel-benches --bench preload`; with `-- --check` it fails where the target
//! is missed.

use std::cell::Cell;
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
    /// The same, so that it is watched for calls past the hooks.
    straight: PathBuf,
    /// Events that the recorder had no room for: who locks or prints and does nothing else is faster
    /// than what writes.
    dropped: Cell<u64>,
}

/// How a program is recorded.
#[derive(Clone, Copy)]
struct How {
    one_thread: bool,
    tripwire: bool,
}

const USUAL: How = How {
    one_thread: false,
    tripwire: true,
};

impl Bench {
    fn new() -> Bench {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/rounds.c");
        let compiled = |name: &str, more: &[&str]| {
            let program = folder.path().join(name);
            let mut command = Command::new("cc");
            command.args(["-O2", "-pthread"]).args(more).arg("-o");
            let status = command.args([&program, &source]).status();
            assert!(status.is_ok_and(|status| status.success()), "cc compiles");
            program
        };
        Bench {
            program: compiled("rounds", &[]),
            straight: compiled("straight", &["-DSTRAIGHT"]),
            dropped: Cell::default(),
            folder,
        }
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

    fn bare(&self, program: &Path, what: &str, count: &str) -> f64 {
        let mut command = Command::new(program);
        let status = command.args(self.arguments(what, count)).status();
        assert!(status.expect("it starts").success());
        self.result()
    }

    fn recorded(&self, program: &Path, (what, count): (&str, &str), how: How) -> f64 {
        let out = self.folder.path().join("out");
        let mut command = vec![program.as_os_str().to_owned()];
        command.extend(self.arguments(what, count).map(PathBuf::into_os_string));
        let wanted = Wanted {
            command,
            out: out.clone(),
            children: true,
            options: Options::default(),
            random_addresses: false,
            one_thread: how.one_thread,
            log: true,
            tripwire: how.tripwire,
            name: None,
        };
        let outcome = record(&wanted, &mut |_| {}).expect("it is recorded");
        assert!(matches!(what, "lock" | "text") || outcome.gaps == 0);
        self.dropped.set(self.dropped.get() + outcome.live.dropped);
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
        let nanos = (!gone).then(|| self.bare(&self.program, what, count));
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
            bare.push(bench.bare(&bench.program, what, count));
            recorded.push(bench.recorded(&bench.program, (what, count), USUAL));
            if what == "lock" {
                let one_thread = true;
                let how = How {
                    one_thread,
                    ..USUAL
                };
                by_turns.push(bench.recorded(&bench.program, (what, count), how));
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
        match bench.dropped.take() {
            0 => {}
            dropped => println!("  {dropped} events did not fit into the buffer and were dropped"),
        }
    }
    guarded(&bench);
    watched(&bench);
    ExitCode::from(u8::from(check && missed))
}

/// Rounds beside a second thread: each call in which a thread may be cancelled has a guard then.
fn guarded(bench: &Bench) {
    let mut ways = [const { Vec::new() }; 4];
    for _ in 0..PACKET_TURNS {
        for (what, at) in [("packet", 0), ("beside", 2)] {
            ways[at].push(bench.bare(&bench.program, what, PACKETS));
            ways[at + 1].push(bench.recorded(&bench.program, (what, PACKETS), USUAL));
        }
    }
    let [Some(alone), Some(recorded), Some(beside), Some(guarded)] = ways.map(quiet) else {
        return;
    };
    println!(
        "a round beside another thread: bare {beside:.0} ns, recorded {guarded:.0} ns, {:+.1} %; the \
         guards of its two calls take {:+.0} ns",
        (guarded / beside - 1.0) * 100.0,
        (guarded - beside) - (recorded - alone)
    );
}

/// Rounds of a program that is watched for calls past the hooks.
fn watched(bench: &Bench) {
    let tripwire = false;
    let unwatched = How { tripwire, ..USUAL };
    let mut ways = [const { Vec::new() }; 3];
    for _ in 0..PACKET_TURNS {
        ways[0].push(bench.bare(&bench.straight, "packet", PACKETS));
        ways[1].push(bench.recorded(&bench.straight, ("packet", PACKETS), unwatched));
        ways[2].push(bench.recorded(&bench.straight, ("packet", PACKETS), USUAL));
    }
    let [Some(bare), Some(recorded), Some(watched)] = ways.map(quiet) else {
        return;
    };
    println!(
        "a round watched for calls past the hooks: bare {bare:.0} ns, recorded {watched:.0} ns, \
         {:+.1} %; the filter of its two calls takes {:+.0} ns",
        (watched / bare - 1.0) * 100.0,
        watched - recorded
    );
}
