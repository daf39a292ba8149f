//! What 200 hostile clients of a console cost a game's ticks: a loop of 60 ticks a second, each with some
//! work of a game, first alone, then with a console and nobody at it, then with clients that send garbage,
//! half frames and lines without an end, give wrong tokens, and connect again and again.
//!
//! The node has one processor and the clients have another, so that what is measured is what the console
//! takes of the game's, and not what 200 threads take by themselves. On a machine with one processor they
//! share it.
//!
//! `cargo bench -p netreel-benches --bench console`; with `-- --check` it fails where the target is missed.

use std::hint::black_box;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use netreel_console::{Commands, Console};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

const TICK: Duration = Duration::from_micros(16_667);
const TICKS: u32 = 600;
const TURNS: usize = 3;
/// Steps of a tick's work: some 2 ms.
const WORK: u64 = 1_000_000;
const CLIENTS: usize = 200;
const CONNECTIONS: u64 = 10_000;
/// The 99th percentile of a tick may be this much longer.
const TARGET: f64 = 0.05;

/// A tick's work, and what it asks of the console: nanoseconds of both.
fn tick(console: Option<&Console>) -> u64 {
    let begun = Instant::now();
    let mut sum = 1u64;
    for step in 0..WORK {
        sum = black_box(
            sum.wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(step),
        );
    }
    while let Some(request) = console.and_then(Console::take) {
        request.done("");
    }
    begun.elapsed().as_nanos() as u64
}

/// All ticks' times, sorted.
fn ticks(console: Option<&Console>) -> Vec<u64> {
    let begun = Instant::now();
    let mut times = Vec::new();
    for number in 1..=TICKS {
        times.push(tick(console));
        std::thread::sleep((TICK * number).saturating_sub(begun.elapsed()));
    }
    times
}

fn hostile(address: SocketAddr, kind: usize, quit: &AtomicBool, connections: &AtomicU64) {
    let garbage: Vec<u8> = (0..4096u32)
        .map(|it| (it.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let said: &[u8] = match kind % 5 {
        0 => &garbage,
        1 => &[0, 0, 0, 0, 0, 0, 0, 200, b'{'],
        2 => &[b'a'; 4096],
        3 => b"token wrong\n",
        _ => b"help\nhelp\nhelp\nhelp\nhelp\nhelp\n",
    };
    while !quit.load(Ordering::Relaxed) {
        let Ok(mut stream) = TcpStream::connect(address) else {
            continue;
        };
        connections.fetch_add(1, Ordering::Relaxed);
        let _ = stream.set_write_timeout(Some(Duration::from_millis(100)));
        for _ in 0..20 {
            if quit.load(Ordering::Relaxed) || stream.write_all(said).is_err() {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Lets the calling thread, and those that it starts, run on one processor alone: the first of those that
/// there are, or the last.
fn stay_on(last: bool) {
    let Ok(all) = sched_getaffinity(None) else {
        return;
    };
    let mut there = (0..CpuSet::MAX_CPU).filter(|&processor| all.is_set(processor));
    let own = if last {
        there.next_back()
    } else {
        there.next()
    };
    if let Some(own) = own {
        let mut set = CpuSet::new();
        set.set(own);
        let _ = sched_setaffinity(None, &set);
    }
}

/// What the console's thread has taken of a processor so far, in ns.
fn console_ns() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let taken = tasks.flatten().filter_map(|task| {
        let name = std::fs::read_to_string(task.path().join("comm")).ok()?;
        let stat = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        let taken = stat.split_whitespace().next()?.parse::<u64>().ok()?;
        (name == "console\n").then_some(taken)
    });
    taken.sum()
}

fn percentile(times: &mut [u64], part: f64) -> f64 {
    times.sort_unstable();
    let at = (times.len() as f64 * part) as usize;
    times[at.min(times.len() - 1)] as f64 / 1e6
}

fn main() -> ExitCode {
    let listen = || {
        let here = SocketAddr::from(([127, 0, 0, 1], 0));
        let commands = Commands::new().with("spawn", (&[], &[]), "A new box");
        Console::listen(here, Some("right".to_owned()), commands).expect("a console")
    };
    let mut all: [Vec<u64>; 3] = Default::default();
    let connections = Arc::new(AtomicU64::new(0));
    let (mut taken_ns, mut passed) = (0, Duration::ZERO);
    let all_processors = sched_getaffinity(None).ok();
    stay_on(false);
    for _ in 0..TURNS {
        all[0].extend(ticks(None));
        let console = listen();
        all[1].extend(ticks(Some(&console)));
        let quit = Arc::new(AtomicBool::new(false));
        let address = console.local();
        let clients: Vec<_> = (0..CLIENTS)
            .map(|kind| {
                let (quit, connections) = (Arc::clone(&quit), Arc::clone(&connections));
                std::thread::spawn(move || {
                    if let Some(all) = all_processors {
                        let _ = sched_setaffinity(None, &all);
                        stay_on(true);
                    }
                    hostile(address, kind, &quit, &connections)
                })
            })
            .collect();
        let (begun, before_ns) = (Instant::now(), console_ns());
        all[2].extend(ticks(Some(&console)));
        taken_ns += console_ns() - before_ns;
        passed += begun.elapsed();
        quit.store(true, Ordering::Relaxed);
        for client in clients {
            let _ = client.join();
        }
    }
    let names = ["no console", "nobody at it", "200 hostile clients"];
    println!(
        "a tick's work and its look at the console, ms, of {} ticks each",
        TICKS * TURNS as u32
    );
    println!("{:<22} {:>8} {:>8} {:>8}", "", "p50", "p99", "most");
    for (name, times) in names.iter().zip(&mut all) {
        let [p50, p99, most] = [0.5, 0.99, 1.0].map(|part| percentile(times, part));
        println!("{name:<22} {p50:>8.3} {p99:>8.3} {most:>8.3}");
    }
    let connections = connections.load(Ordering::Relaxed);
    println!("{connections} connections were made");
    let share = taken_ns as f64 / passed.as_nanos() as f64 * 100.0;
    println!("with clients the console's thread took {share:.2} % of its processor's time");
    let more = percentile(&mut all[2], 0.99) / percentile(&mut all[1], 0.99) - 1.0;
    println!(
        "p99 with hostile clients: {:+.1} % (target: at most {:.0} %)",
        more * 100.0,
        TARGET * 100.0
    );
    let is_checked = std::env::args().any(|it| it == "--check");
    match is_checked && (more > TARGET || connections < CONNECTIONS) {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}
