//! What a look at a recording costs that has come to 100 000 or a million packets, of which 1000 are
//! new: with `Growing`, which reads what is new (the median of five looks), and with all of it read anew
//! (once, behind the last look). What follows from the packets is worked out anew in both.
//!
//! `./dev bench --bench growing`; with `-- PACKETS` that many alone.

use std::path::Path;
use std::time::{Duration, Instant};

use netreel_benches::claim;
use netreel_capture::{OpenedSession, Openings, Options, Pusher, Recorder};
use netreel_capture::{open_session, open_session_again};
use netreel_protocol::history::History;
use netreel_protocol::session::{ReelInput, Session};
use netreel_reel::{ClockAnchor, Header, OwnedRecord, Reel, Time, WireText};
use netreel_sample_engine::{Mode, Script, SimWorld, SimWorldStart, Topology};
use netreel_transport::{LinkFaults, MemoryRecorder, Recorded};

const WIRE: &str = include_str!("../../samples/wires/boxes.wire");
/// How many packets are new at a look.
const NEW: usize = 1000;
const LOOKS: usize = 5;

fn main() {
    let only = std::env::args().skip(1).find_map(|it| it.parse().ok());
    let sizes: &[usize] = only
        .as_ref()
        .map_or(&[100_000, 1_000_000], std::slice::from_ref);
    for &packets in sizes {
        measure(packets);
    }
}

fn measure(packets: usize) {
    let (reels, mut records) = play(packets + NEW * LOOKS);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut nodes: Vec<(Recorder, Pusher)> = reels
        .iter()
        .map(|(name, header)| recorder(&folder.path().join(name), header))
        .collect();
    let new = records.split_off(records.len() - records.len() / (packets / NEW + LOOKS) * LOOKS);
    push(&mut nodes, &records);
    let mut openings = Openings::default();
    let mut growing = Session::builder().growing();
    // The first look reads all.
    let opened = open_session_again(&[folder.path()], &mut openings).expect("reels");
    let session = growing.look(inputs(opened)).expect("a session");
    session.message_count();
    drop(session);
    let mut times: [Vec<Duration>; 4] = Default::default();
    let mut both: [Vec<Duration>; 3] = Default::default();
    let chunks: Vec<_> = new.chunks(new.len().div_ceil(LOOKS)).collect();
    for (look, new) in chunks.iter().enumerate() {
        push(&mut nodes, new);
        let begin = Instant::now();
        let opened = open_session_again(&[folder.path()], &mut openings).expect("reels");
        times[0].push(begin.elapsed());
        let begin = Instant::now();
        let session = growing.look(inputs(opened)).expect("a session");
        times[1].push(begin.elapsed());
        let begin = Instant::now();
        let history = History::build(&session);
        times[2].push(begin.elapsed());
        times[3].push(*times[0].last().unwrap() + *times[1].last().unwrap() + begin.elapsed());
        if look + 1 < chunks.len() {
            continue;
        }
        let begin = Instant::now();
        let opened = open_session(&[folder.path()]).expect("reels");
        both[0].push(begin.elapsed());
        let session = Session::builder().build(inputs(opened)).expect("a session");
        both[1].push(begin.elapsed());
        let anew = History::build(&session);
        both[2].push(begin.elapsed());
        assert_eq!(anew.findings, history.findings);
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort();
        times[times.len() / 2].as_secs_f64() * 1e3
    };
    let [open, look, history, all] = times.each_mut().map(median);
    let [opened, built, anew] = both.each_mut().map(median);
    println!("{packets} packets, {NEW} of them new");
    println!(
        "growing: {all:.0} ms; open {open:.1}, look with facts {look:.1}, history {history:.1}"
    );
    let what = match packets {
        100_000 => {
            "a look at 100 000 packets of boxes, 1000 of them new: its packets, their facts, their order"
        }
        1_000_000 => "the same at a million",
        _ => "",
    };
    if !what.is_empty() {
        claim(
            what,
            ("0.3 s", Some(open + look > 300.0)),
            format_args!("{:.0} ms", open + look),
            format_args!("all read anew {built:.0} ms, without facts"),
        );
    }
    if packets == 1_000_000 {
        claim(
            "what follows from a million packets, which is worked out anew beside each look",
            ("none", None),
            format_args!("{:.1} s", history / 1e3),
            "never",
        );
    }
    println!(
        "anew:    {anew:.0} ms; open {opened:.1}, session {:.1}, facts and history {:.1}",
        built - opened,
        anew - built
    );
}

fn inputs(opened: OpenedSession) -> Vec<ReelInput> {
    let reels = opened.reels.into_iter().map(|opened| ReelInput {
        name: opened.path.display().to_string(),
        reel: opened.reel,
    });
    reels.collect()
}

fn recorder(path: &Path, header: &Header) -> (Recorder, Pusher) {
    let recorder = Recorder::create(path, header, Options::default()).expect("a recorder");
    let pusher = recorder.pusher().expect("a pusher");
    (recorder, pusher)
}

/// Pushes events, and waits until they are in blocks.
fn push(nodes: &mut [(Recorder, Pusher)], records: &[(usize, OwnedRecord)]) {
    for (n, (node, record)) in records.iter().enumerate() {
        let record = record.as_record();
        nodes[*node]
            .1
            .push(record.time, record.event)
            .expect("taken");
        if n % 10_000 == 0 {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    std::thread::sleep(Duration::from_secs(1));
}

/// The nodes with their reels' headers, and all events in the order in which they happened, each
/// with the place of its node.
type Played = (Vec<(String, Header)>, Vec<(usize, OwnedRecord)>);

/// Plays a simulated world until it has sent enough: its reels' names and headers, and all events
/// in the order of time, each with its reel.
fn play(packets: usize) -> Played {
    let script = Script::Boxes { ticks: u64::MAX };
    let mut start = SimWorldStart::new(1, Mode::Owner, Topology::PeerToPeer, script);
    start.faults = LinkFaults {
        loss: 0.02,
        duplicate: 0.01,
        ..LinkFaults::default()
    };
    let mut recorders: Vec<(Header, MemoryRecorder)> = Vec::new();
    let mut world = SimWorld::wrapped(&start, |node, faults| {
        let header = Header {
            node: node.name.clone(),
            session: [1; 16],
            clock: ClockAnchor {
                boot_id: "one machine".to_owned(),
                ..ClockAnchor::default()
            },
            engine: "boxes".to_owned(),
            start: node.start.clone(),
            wires: vec![WireText {
                name: "boxes.wire".to_owned(),
                text: WIRE.to_owned(),
            }],
            ..Header::default()
        };
        let recorder = MemoryRecorder::create(&header).expect("a small header");
        recorders.push((header, recorder.clone()));
        Box::new(Recorded::new(faults, recorder.pusher(), node.local))
    })
    .expect("good conditions");
    // Four nodes send a little more than eleven packets a tick between them.
    world.run(packets as u64 / 11);
    let (mut reels, mut records) = (Vec::new(), Vec::new());
    for (place, (header, recorder)) in recorders.into_iter().enumerate() {
        let reel = Reel::from_bytes(recorder.finish()).expect("a good reel");
        let mut latest = Time::ZERO;
        reel.for_each(|record| {
            latest = latest.max(record.time);
            records.push((latest, place, OwnedRecord::copy_of(record)));
        });
        reels.push((format!("{}.reel", header.node), header));
    }
    // The events of each node stay in their order.
    records.sort_by_key(|&(time, place, _)| (time, place));
    let records = records.into_iter();
    let records = records.map(|(_, place, record)| (place, record)).collect();
    (reels, records)
}
