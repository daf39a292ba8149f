//! How long it takes from a push to the screen while a recording is followed: packets are pushed at a
//! steady rate into two reels, which are looked at as `netreel inspect --follow` does it; each look is
//! handed to the inspector, which lays out a frame. Beside it how long each stage of a look takes, how
//! far what followed from the packets (findings, beliefs, acks) lags behind them, and the processor
//! time of a frame when little was recorded and when all of it was: a frame is to cost the same, however
//! long the recording.
//!
//! `./dev bench --bench following`; `-- --rate N` packets a second (20 000), `--seconds S` (20),
//! `--before N` packets that are there already (0).

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use netreel_capture::{Openings, Options, Pusher, Recorder, open_session_again};
use netreel_inspector::{Answer, Follower, Inspector, Look, Model, Rhythm, Stage, Workspace};
use netreel_protocol::session::{ReelInput, Session};
use netreel_reel::{ClockAnchor, Endpoint, Event, Header, SocketId, Time};
use rustix::time::{ClockId, clock_gettime};

/// Packets that are pushed at once.
const SOME: u64 = 20;
const LENGTH: usize = 60;

/// How many packets there were, and when the last of them was pushed.
type Pushed = Arc<Mutex<VecDeque<(u64, Instant)>>>;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (mut rate, mut seconds, mut before) = (20_000_u64, 20_u64, 0_u64);
    while let Some(word) = arguments.next() {
        let mut number = || arguments.next().and_then(|it| it.parse::<u64>().ok());
        match word.as_str() {
            "--rate" => rate = number().filter(|it| *it > 0).expect("--rate N"),
            "--seconds" => seconds = number().filter(|it| *it > 0).expect("--seconds S"),
            "--before" => before = number().expect("--before N"),
            _ => {}
        }
    }
    measure(rate, seconds, before);
}

fn measure(rate: u64, seconds: u64, before: u64) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut nodes =
        [("A", 7_000), ("B", 7_001)].map(|(name, port)| node(folder.path(), name, port));
    let mut count = 0;
    while count < before {
        push(&mut nodes, &mut count, rate);
    }
    let (pushed, over) = (Pushed::default(), Arc::<AtomicBool>::default());
    let (said, heard) = mpsc::channel();
    let looking = {
        let (path, over) = (folder.path().to_owned(), Arc::clone(&over));
        std::thread::spawn(move || look(&path, &over, &said))
    };
    let pushing = {
        let (pushed, over) = (Arc::clone(&pushed), Arc::clone(&over));
        std::thread::spawn(move || {
            let begun = Instant::now();
            let first = count;
            let all = first + rate * seconds;
            while count < all {
                let due = first + (begun.elapsed().as_secs_f64() * rate as f64) as u64;
                while count < due.min(all) {
                    push(&mut nodes, &mut count, rate);
                    let now = (count, Instant::now());
                    pushed.lock().expect("nobody panicked").push_back(now);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            over.store(true, Ordering::Relaxed);
            for (recorder, pusher) in nodes {
                drop(pusher);
                recorder.finish().expect("an end");
            }
        })
    };
    let mut stage = Stage::new(1600, 1000);
    let mut inspector = Inspector::new(Model::of_session(Arc::default(), &[]), Workspace::Why);
    let (mut waited, mut arranged, mut frames) = (Vec::new(), Vec::new(), Vec::new());
    let mut behind = Vec::new();
    while let Ok(answer) = heard.recv() {
        let is_further = matches!(answer, Answer::Grown { .. });
        let begun = Instant::now();
        inspector.hear(answer);
        arranged.push(begun.elapsed());
        let begun = processor();
        let mut staged = stage.frame(Vec::new(), &mut |ui| inspector.show(ui));
        // No graphics card takes them.
        staged.textures.clear();
        frames.push(processor() - begun);
        let model = inspector.model();
        let (shown, now) = (model.session().packet_count() as u64, Instant::now());
        if is_further && let Some(ns) = model.behind_ns() {
            behind.push(Duration::from_nanos(ns as u64));
        }
        let mut pushed = pushed.lock().expect("nobody panicked");
        while let Some((_, at)) = pushed.front().filter(|(count, _)| *count <= shown).copied() {
            waited.push(now - at);
            pushed.pop_front();
        }
    }
    pushing.join().expect("all was pushed");
    let stages = looking.join().expect("all was looked at");
    let packets = inspector.model().session().packet_count();
    println!("{rate} packets a second for {seconds} s behind {before}: {packets} packets");
    println!("{:<40} {:>8} {:>8} {:>8}  ms", "", "median", "p99", "most");
    print("from push to screen; target 250", &mut waited);
    print("opening the reels again", &mut stages.opening());
    print("what is new of them: a session", &mut stages.session());
    print("what the window shows of it", &mut stages.model());
    print("from the end of a look to the next", &mut stages.pause());
    print("the window takes it in", &mut arranged);
    print("what followed lags behind", &mut behind);
    let (first, last) = (frames.first().copied(), frames.last().copied());
    if let (Some(first), Some(last)) = (first, last) {
        let (looks, count) = (stages.0.len(), frames.len());
        println!(
            "{looks} looks, {count} frames: the first {:.1} ms of processor time, the last {:.1}",
            ms(first),
            ms(last)
        );
    }
}

/// Times of each look: opening, session, model, and the pause before it.
#[derive(Default)]
struct Stages(Vec<[Duration; 4]>);

impl Stages {
    fn column(&self, place: usize) -> Vec<Duration> {
        self.0.iter().map(|it| it[place]).collect()
    }

    fn opening(&self) -> Vec<Duration> {
        self.column(0)
    }

    fn session(&self) -> Vec<Duration> {
        self.column(1)
    }

    fn model(&self) -> Vec<Duration> {
        self.column(2)
    }

    fn pause(&self) -> Vec<Duration> {
        self.column(3)
    }
}

fn print(what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let at = |part: usize| {
        let last = times.len().saturating_sub(1);
        times.get(last * part / 100).copied().map_or(0.0, ms)
    };
    println!(
        "{what:<40} {:>8.1} {:>8.1} {:>8.1}",
        at(50),
        at(99),
        at(100)
    );
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Processor time of this thread.
fn processor() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Looks at what is there until all of it was pushed and shown.
fn look(path: &Path, over: &AtomicBool, said: &mpsc::Sender<Answer>) -> Stages {
    let mut openings = Openings::default();
    let mut growing = Session::builder().growing();
    let say = said.clone();
    let mut follower = Follower::new(move |answer| drop(say.send(answer)));
    let mut stages = Stages::default();
    let mut ended = Instant::now();
    let mut rhythm = Rhythm::default();
    loop {
        std::thread::sleep(rhythm.pause());
        rhythm.begin();
        let is_last = over.load(Ordering::Relaxed);
        let begun = Instant::now();
        let opened = open_session_again(&[path], &mut openings).expect("reels");
        let inputs = opened.reels.into_iter().map(|opened| ReelInput {
            name: opened.path.display().to_string(),
            reel: opened.reel,
        });
        let opening = begun.elapsed();
        growing.work_on(rhythm.workers(!is_last));
        // Two that have not met yet may meet.
        if let Ok(session) = growing.look(inputs.collect()) {
            let read = begun.elapsed();
            follower.look(Look {
                session: Arc::new(session),
                unread: Vec::new(),
                live: !is_last,
            });
            let all = begun.elapsed();
            stages
                .0
                .push([opening, read - opening, all - read, begun - ended]);
        }
        ended = Instant::now();
        if is_last {
            follower.finish();
            return stages;
        }
        rhythm.end();
    }
}

fn node(folder: &Path, name: &str, port: u16) -> (Recorder, Pusher) {
    let header = Header {
        node: name.to_owned(),
        session: [1; 16],
        clock: ClockAnchor {
            boot_id: "one machine".to_owned(),
            ..ClockAnchor::default()
        },
        ..Header::default()
    };
    let path = folder.join(format!("{name}.reel"));
    let recorder = Recorder::create(&path, &header, Options::default()).expect("a recorder");
    let mut pusher = recorder.pusher().expect("a pusher");
    let (socket, local) = (SocketId(0), Endpoint::from(([127, 0, 0, 1], port)));
    let opened = Event::SocketOpened { socket, local };
    pusher.push(Time(0), opened).expect("taken");
    (recorder, pusher)
}

/// Some packets from A to B, each received a millisecond after it was sent.
fn push(nodes: &mut [(Recorder, Pusher); 2], count: &mut u64, rate: u64) {
    let [(_, a), (_, b)] = nodes;
    let socket = SocketId(0);
    for _ in 0..SOME {
        *count += 1;
        let mut payload = [0; LENGTH];
        payload[..8].copy_from_slice(&count.to_le_bytes());
        let at = *count * 1_000_000_000 / rate;
        let sent = Event::Sent {
            socket,
            to: Endpoint::from(([127, 0, 0, 1], 7_001)),
            payload: &payload,
        };
        a.push(Time(at), sent).expect("taken");
        let received = Event::Received {
            socket,
            from: Endpoint::from(([127, 0, 0, 1], 7_000)),
            payload: &payload,
        };
        b.push(Time(at + 1_000_000), received).expect("taken");
    }
}
