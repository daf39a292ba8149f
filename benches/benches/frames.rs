//! What a frame of the inspector costs: processor time of the thread that the window has (model,
//! culling, layout, tessellation; no graphics card), in each workspace, at five zooms, while somebody
//! pans. Sessions of 100 000 and of a million packets show whether it is flat.
//!
//! `./dev bench --bench frames`; `-- --packets N` takes one session of that many packets alone, a
//! folder one that is there (`./dev bench --bench story` makes some). `--only links` takes one
//! workspace, `--zoom minute` one zoom. With `--check` the exit code is 1 where a target is missed.
//! `--hour` pans for an hour of 60 frames a second instead, and says how much memory that leaves behind.
//!
//! Sessions are made once, into `target/frames-bench`: boxes of the sample engine, four nodes.
//! What panes work out beside the window has been worked out before it is measured. Compare holds the
//! session against itself; Replay shows a place among 200 events, without a layer behind it.

// Both are the bench `story`'s, which has other uses for them too.
#[path = "story/boxes.rs"]
mod boxes;
#[allow(dead_code)]
#[path = "story/reels.rs"]
mod reels;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use egui::{Event, pos2};
use netreel_inspector::{
    Answer, Command, Event as Played, Inspector, Model, Stage, Standing, Workspace,
};
use netreel_protocol::history::History;
use netreel_protocol::session::{PacketId, ReelInput, Session, SessionTime};
use rustix::time::{ClockId, clock_gettime};

const SIZE: (u32, u32) = (1600, 1000);
/// Of these the slowest hundredth is three.
const FRAMES: usize = 300;
/// Before them, so that letters that are new have been drawn once.
const WARM: usize = 12;
/// Pixels that the visible time moves in a frame.
const STEP: f32 = 6.0;
const MEDIAN_MAX: Duration = Duration::from_millis(4);
const P99_MAX: Duration = Duration::from_millis(12);
const USUAL: [u64; 2] = [100_000, 1_000_000];

/// The visible time in ns; none is all of it.
const ZOOMS: [(&str, Option<i64>); 5] = [
    ("all", None),
    ("minute", Some(60_000_000_000)),
    ("second", Some(1_000_000_000)),
    ("millisecond", Some(1_000_000)),
    ("microsecond", Some(1_000)),
];

/// What was made.
struct Made {
    packets: u64,
    events: u64,
}

/// What is measured.
#[derive(Default)]
struct Arguments {
    packets: Vec<u64>,
    folder: Option<PathBuf>,
    only: String,
    zoom: String,
    check: bool,
    hour: bool,
}

fn main() -> ExitCode {
    let arguments = match Arguments::read(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(why) => {
            eprintln!(
                "{why}\nframes [--packets N | FOLDER] [--only WORKSPACE] [--zoom ZOOM] [--check] [--hour]"
            );
            return ExitCode::from(2);
        }
    };
    let folders = match &arguments.folder {
        Some(folder) => vec![folder.clone()],
        None => arguments.packets.iter().map(|&it| session(it)).collect(),
    };
    let mut missed = false;
    for folder in folders {
        missed |= measure(&folder, &arguments);
    }
    match arguments.check && missed {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

impl Arguments {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
        let mut arguments = Arguments::default();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            match word.as_str() {
                "--packets" => {
                    let number = value()?.replace('_', "");
                    let number = number.parse().ok().filter(|number| *number > 0);
                    let number = number.ok_or("--packets needs a number above 0")?;
                    arguments.packets.push(number);
                }
                "--only" => arguments.only = value()?,
                "--zoom" => arguments.zoom = value()?,
                "--check" => arguments.check = true,
                "--hour" => arguments.hour = true,
                // cargo says so to every bench.
                "--bench" => {}
                _ if word.starts_with("--") => return Err(format!("`{word}` is not known")),
                _ => arguments.folder = Some(PathBuf::from(word)),
            }
        }
        if arguments.packets.is_empty() {
            arguments.packets.extend(USUAL);
        }
        Ok(arguments)
    }
}

/// The folder of a session of boxes, which is made where it is not there.
fn session(packets: u64) -> PathBuf {
    let bench = std::env::current_exe().expect("this program's file");
    // The bench is target/release/deps/frames-...
    let target = bench.ancestors().nth(3).expect("a target folder");
    let folder = target.join("frames-bench").join(packets.to_string());
    let done = folder.join("made.txt");
    if !done.is_file() {
        fs::create_dir_all(&folder).expect("room in the target folder");
        let made = boxes::make(4, packets, &folder);
        let text = format!("{} packets, {} events\n", made.packets, made.events);
        fs::write(done, text).expect("room in the target folder");
    }
    folder
}

/// Measures every workspace at every zoom; whether a target is missed.
fn measure(folder: &Path, arguments: &Arguments) -> bool {
    let opened = netreel_capture::open_session(&[folder]).expect("the reels");
    let reels = opened.reels.into_iter().map(|opened| ReelInput {
        name: opened.path.display().to_string(),
        reel: opened.reel,
    });
    let session = Arc::new(
        Session::builder()
            .build(reels.collect())
            .expect("a session"),
    );
    let history = Arc::new(History::build(&session));
    let length = (session.span.end.0 - session.span.start.0) as f64 / 1e9;
    let (packets, findings) = (session.packet_count(), history.findings.len());
    println!("{packets} packets in {length:.0} s, {findings} findings: ms of processor time");
    println!(
        "{:<10} {:<12} {:>8} {:>8} {:>8}",
        "workspace", "zoom", "median", "p99", "most"
    );
    let mut missed = false;
    for (name, workspace) in Workspace::ALL {
        if !name.starts_with(&arguments.only) {
            continue;
        }
        let model = Model::new(session.clone(), history.clone());
        let mut inspector = Inspector::new(model, workspace);
        prepare(&mut inspector, workspace, &session, &history);
        for (zoom, ns) in ZOOMS {
            if !zoom.starts_with(&arguments.zoom) {
                continue;
            }
            if arguments.hour {
                hour(&mut inspector, (name, zoom), ns);
                continue;
            }
            let times = pan(&mut inspector, &mut Stage::new(SIZE.0, SIZE.1), ns);
            let at = |part: usize| times[(times.len() - 1) * part / 100];
            let is_missed = at(50) > MEDIAN_MAX || at(99) > P99_MAX;
            missed |= is_missed;
            println!(
                "{name:<10} {zoom:<12} {:>8.2} {:>8.2} {:>8.2}{}",
                millis(at(50)),
                millis(at(99)),
                millis(at(100)),
                if is_missed { "  missed" } else { "" }
            );
        }
    }
    missed
}

/// What workspaces need to show something, and a packet in the middle.
fn prepare(
    inspector: &mut Inspector,
    workspace: Workspace,
    session: &Arc<Session>,
    history: &Arc<History>,
) {
    let middle = PacketId(session.packet_count() as u32 / 2);
    inspector.model_mut().apply(Command::SelectPacket(middle));
    match workspace {
        Workspace::Compare => inspector.hear(Answer::Compared {
            model: Box::new(Model::new(session.clone(), history.clone())),
            title: "the same".to_owned(),
        }),
        Workspace::Replay => {
            let event = |number| Played {
                number,
                time: SessionTime(session.span.start.0 + number as i64 * 1_000_000),
                kind: "received".to_owned(),
                words: "A -> B, 64 bytes".to_owned(),
                packet: None,
            };
            inspector.hear(Answer::Stands(Box::new(Standing {
                node: "A".to_owned(),
                position: 100,
                packet: Some(middle),
                events: (0..200).map(event).collect(),
                last: 200,
                layer: (0..40)
                    .map(|it| (format!("field {it}"), "1".to_owned()))
                    .collect(),
                ..Standing::default()
            })));
        }
        _ => {}
    }
}

/// An hour of panning, and what it leaves behind.
fn hour(inspector: &mut Inspector, (workspace, zoom): (&str, &str), ns: Option<i64>) {
    let mut resident = Vec::new();
    let mut stage = Stage::new(SIZE.0, SIZE.1);
    for minute in 0..=60 {
        for _ in 0..60 * 60 / (WARM + FRAMES) {
            pan(inspector, &mut stage, ns);
        }
        if minute % 20 == 0 {
            resident.push(resident_mb());
        }
    }
    println!("{workspace:<10} {zoom:<12} after 1, 21, 41 and 61 minutes: {resident:.1?} MB");
}

/// How much memory this process has, in MB.
fn resident_mb() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1e3
}

/// Processor times of frames between which the visible time moves, in order of length.
fn pan(inspector: &mut Inspector, stage: &mut Stage, ns: Option<i64>) -> Vec<Duration> {
    let model = inspector.model_mut();
    let whole = model.whole();
    let range = match ns {
        None => whole,
        Some(ns) => {
            let selected = model.selection().packet.and_then(|id| model.arrow(id));
            let at = selected.map_or(whole.start, |arrow| arrow.start);
            SessionTime(at.0 - ns / 2)..SessionTime(at.0 + ns - ns / 2)
        }
    };
    model.apply(Command::Show(range));
    let mut times = Vec::new();
    for frame in 0..WARM + FRAMES {
        // The pointer lies over the timeline and moves a little, as a hand does.
        let at = pos2(700.0 + (frame % 5) as f32, 260.0);
        let before = now();
        // There and back.
        let step = if frame / 100 % 2 == 0 { STEP } else { -STEP };
        let model = inspector.model_mut();
        let step = model.scale(SIZE.0 as f32).ns(step);
        model.apply(Command::Pan(step));
        let mut staged = stage.frame(vec![Event::PointerMoved(at)], &mut |ui| inspector.show(ui));
        let took = now() - before;
        std::hint::black_box(staged.primitives.len());
        staged.textures.clear();
        inspector.model_mut().finish_beside();
        if frame >= WARM {
            times.push(took);
        }
    }
    times.sort_unstable();
    times
}

/// Processor time of this thread.
fn now() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
