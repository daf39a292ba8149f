//! What an answer costs once a session is open, in processor time of the one thread that answers: the
//! state of one object and of all objects at a moment, and what led to packets, findings and beliefs.
//! What is worked out at the first question is told apart.
//!
//! `./dev bench --bench asking -- FOLDER`, a folder with the reels of a session, such as one that
//! `./dev bench --bench story` made in `target/story-bench`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use netreel_capture::open_session;
use netreel_protocol::history::History;
use netreel_protocol::history::state::States;
use netreel_protocol::session::{Fate, NodeId, PacketId, ReelInput, Session, SessionTime};
use netreel_protocol::why::Why;
use netreel_wire::PropertyId;

/// How many of each are asked, evenly over the session.
const ASKED: usize = 1000;

fn main() {
    let folder = std::env::args().skip(1).find(|it| !it.starts_with('-'));
    let Some(folder) = folder.map(PathBuf::from) else {
        println!("no folder is named: nothing is measured");
        return;
    };
    let begin = Instant::now();
    let opened = open_session(&[folder]).expect("reels");
    let inputs = opened.reels.into_iter().map(|reel| ReelInput {
        name: reel.path.display().to_string(),
        reel: reel.reel,
    });
    let session = Session::builder()
        .build(inputs.collect())
        .expect("a session");
    session.said(PacketId(0));
    println!(
        "{} packets: opened in {:.1} s",
        session.packet_count(),
        begin.elapsed().as_secs_f64()
    );
    let history = History::build(&session);
    let states = States::build(&session, &history);
    println!(
        "with the history and states in {:.1} s",
        begin.elapsed().as_secs_f64()
    );
    state(&session, &states);
    why(&session, &history);
}

/// What all nodes believe of all objects at a moment.
fn state(session: &Session, states: &States) {
    let objects = states.objects();
    let nodes: Vec<NodeId> = (0..session.nodes.len() as u16).map(NodeId).collect();
    let at = |object: u64, properties: &BTreeSet<PropertyId>, time: SessionTime| {
        let pairs = properties
            .iter()
            .flat_map(|&it| nodes.iter().map(move |&node| (it, node)));
        let held = pairs.filter_map(|(it, node)| states.at(object, it, node, time));
        held.count()
    };
    let one = objects.iter().cycle().zip(moments(session));
    timed(
        "the state of an object",
        one.take(ASKED),
        |((&id, its), time)| at(id, its, time) > 0,
    );
    let sizes = format!("the state of all {} objects", objects.len());
    timed(&sizes, moments(session).step_by(ASKED / 100), |time| {
        objects
            .iter()
            .map(|(&id, its)| at(id, its, time))
            .sum::<usize>()
            > 0
    });
}

fn why(session: &Session, history: &History) {
    let count = session.packet_count();
    let packets = (0..ASKED).map(|place| PacketId((place * count / ASKED) as u32));
    let of_packet = |packet: PacketId| Why::of_packet(session, history, packet).is_some();
    timed("why, of a packet", packets, of_packet);
    let lost = (0..count as u32).map(PacketId).filter(|&packet| {
        let fate = session.packet(packet).map(|packet| packet.fate);
        fate == Some(Fate::Lost)
    });
    timed(
        "why, of a packet that was lost",
        spread(lost.collect()),
        of_packet,
    );
    let findings = spread((0..history.findings.len()).collect());
    timed("why, of a finding", findings, |place| {
        Why::of_finding(session, history, place).is_some()
    });
    let ids = spread(history.objects.keys().copied().collect());
    let nodes = (0..session.nodes.len() as u16).map(NodeId).cycle();
    let asked = ids.into_iter().cycle().zip(nodes).zip(moments(session));
    timed(
        "why, of what a node believed",
        asked.take(ASKED),
        |((id, node), at)| {
            !Why::of_object(session, history, id, node, at)
                .steps
                .is_empty()
        },
    );
}

/// Moments evenly over the session.
fn moments(session: &Session) -> impl Iterator<Item = SessionTime> {
    let (start, end) = (session.span.start.0, session.span.end.0);
    let step = (end - start) / ASKED as i64;
    (0..ASKED as i64).map(move |place| SessionTime(start + place * step))
}

/// As many as are asked, evenly.
fn spread<T: Copy>(all: Vec<T>) -> Vec<T> {
    let step = all.len().div_ceil(ASKED).max(1);
    all.into_iter().step_by(step).collect()
}

fn timed<T>(what: &str, asked: impl IntoIterator<Item = T>, answer: impl Fn(T) -> bool) {
    let mut times: Vec<f64> = Vec::new();
    for each in asked {
        let begin = processor_time();
        std::hint::black_box(answer(each));
        let took = processor_time().saturating_sub(begin);
        times.push(took.as_secs_f64() * 1e3);
    }
    let first = times.first().copied().unwrap_or(0.0);
    times.sort_unstable_by(f64::total_cmp);
    let at = |part: usize| {
        let place = (times.len() * part / 100).min(times.len().max(1) - 1);
        times.get(place).copied().unwrap_or(0.0)
    };
    println!(
        "{what}: p50 {:.3} ms, p99 {:.3} ms, most {:.3} ms, the first {first:.3} ms, of {}",
        at(50),
        at(99),
        at(100),
        times.len()
    );
}

/// Of this thread.
fn processor_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the place can be written, and outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}
