//! What is read as it grows is what is read at once.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use netreel_capture::{Limits, Openings, Options, Pusher, Recorder, open_session_again};

use netreel_protocol::history::{Certain, Finding, History};
use netreel_protocol::session::{PacketId, ReelInput, Session, SessionError};
use netreel_reel::{Ending, OwnedRecord, Reel, ReelWriter};
use netreel_sample_engine::{Fault, Peer, Script, SimWorldStart};
use netreel_wire::Wire;

use crate::index::through_index;
use crate::played::{Played, WAYS, boxes};
use crate::story::{Out, RECORDINGS, imported, story, story_of, wire_of};
use crate::tape::{Tape, again};

/// Numbers that look as if they were drawn (xorshift64).
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}

/// The bytes of the same reel in blocks of this many events at most.
fn in_blocks(reel: &Reel, events: usize, draw: &mut Draw) -> Vec<u8> {
    let mut writer = ReelWriter::create(Vec::new(), reel.header()).expect("a reel");
    let mut left = 1;
    reel.for_each(|record| {
        left -= 1;
        if left == 0 {
            writer.seal().expect("a block");
            left = 1 + draw.below(events);
        }
        writer.push(record).expect("an event");
    });
    writer.finish().expect("its bytes")
}

fn told(session: Result<Session, SessionError>) -> Vec<String> {
    match session {
        Ok(session) => story(&session),
        Err(error) => vec![error.to_string()],
    }
}

/// The same of a session that goes on; and how many packets stayed what they were at the look before,
/// which is `known`.
fn told_on(
    session: Result<Session, SessionError>,
    known: &mut Option<(Session, History)>,
) -> (Vec<String>, u32) {
    match session {
        Ok(session) => {
            let history = History::build(&session);
            let before = known.take();
            let stayed = before.map_or(0, |before| check_early(before, &session, &history));
            let told = story_of(&session, &history);
            *known = Some((session, history));
            (told, stayed)
        }
        Err(error) => (vec![error.to_string()], 0),
    }
}

/// What was known of packets at an earlier look is so of the same packets now. How many there are.
#[track_caller]
fn check_early((before, known): (Session, History), now: &Session, history: &History) -> u32 {
    let (first, _) = now.in_common(&before);
    let early = known.before(&before, PacketId(first));
    for id in (0..first).map(PacketId) {
        let told = |session: &Session| {
            let packet = session.packet(id).expect("a packet");
            let messages: Vec<_> = session.messages_of(id).collect();
            (
                packet.first(),
                packet.from,
                packet.to,
                packet.length,
                messages,
            )
        };
        assert_eq!(told(&before), told(now), "{id:?}");
        if let Some(acked) = early.acked(now, id) {
            assert_eq!(history.acked(now, id), Some(acked), "{id:?}");
        }
    }
    let is_before = |message| now.carrier(message) < Some(PacketId(first));
    assert!(early.deliveries.iter().all(|it| is_before(it.message)));
    assert!(early.resends().all(|(copy, _)| is_before(copy)));
    let findings = early.findings.iter();
    let mut evidence = findings.flat_map(|finding| &finding.evidence);
    assert!(evidence.all(|piece| piece.packet.0 < first));
    first
}

/// Looks at reels while they grow, each by as much as is drawn; at each look the story is that of
/// the same reels read at once. At how many looks packets of the look before stayed what they were.
#[track_caller]
fn check(reels: &[ReelInput], wire: Option<&Arc<Wire>>, looks: usize, draw: &mut Draw) -> usize {
    let bytes = reels.iter().map(|input| in_blocks(&input.reel, 60, draw));
    let bytes: Vec<Vec<u8>> = bytes.collect();
    let mut lengths = vec![0; bytes.len()];
    let mut growing = Session::builder().wire(wire.cloned()).growing();
    let (mut known, mut alike) = (None, 0);
    for look in 0..=looks {
        for (length, bytes) in lengths.iter_mut().zip(&bytes) {
            let rest = bytes.len() - *length;
            *length += match look == looks {
                true => rest,
                false => draw.below(1 + 2 * rest / (looks - look)).min(rest),
            };
        }
        let now = || {
            let cut = reels.iter().zip(&bytes).zip(&lengths);
            let opened = cut.filter_map(|((input, bytes), &length)| {
                let reel = Reel::from_bytes(bytes[..length].to_vec()).ok()?;
                let (name, reel) = (input.name.clone(), Arc::new(reel));
                Some(ReelInput { name, reel })
            });
            opened.collect::<Vec<_>>()
        };
        let (grown, stayed) = told_on(growing.look(now()), &mut known);
        alike += usize::from(stayed > 0);
        let at_once = told(Session::builder().wire(wire.cloned()).build(now()));
        let both = at_once.iter().zip(&grown);
        let different = both.clone().find(|(one, other)| one != other);
        assert_eq!(different, None, "look {look} at {lengths:?}");
        assert_eq!(at_once.len(), grown.len(), "look {look}");
    }
    alike
}

#[test]
fn packets_stay_what_they_were_while_reels_grow() {
    let mut alike = 0;
    for (mode, topology) in WAYS {
        let mut start = boxes(9, mode, topology);
        start.script = Script::Boxes { ticks: 600 };
        let played = Played::to_rest(&start);
        let reels = played.reels.iter().map(|(name, bytes)| ReelInput {
            name: format!("{name}.reel"),
            reel: Arc::new(Reel::from_bytes(bytes.clone()).expect("a good reel")),
        });
        alike += check(&reels.collect::<Vec<_>>(), None, 30, &mut Draw(5));
    }
    assert!(alike > 30, "{alike}");
}

/// A world whose games say what they believe, of which one forgets what ended.
fn said() -> Vec<ReelInput> {
    let mut start = boxes(3, WAYS[2].0, WAYS[2].1);
    start.nodes = 4;
    start.says_beliefs = true;
    start.planted.insert(Peer(3), Fault::ForgetTombstones);
    let played = Played::to_rest(&start);
    let reels = played.reels.iter().map(|(name, bytes)| ReelInput {
        name: format!("{name}.reel"),
        reel: Arc::new(Reel::from_bytes(bytes.clone()).expect("a good reel")),
    });
    reels.collect()
}

#[test]
fn what_games_say_grows_as_well() {
    check(&said(), None, 12, &mut Draw(11));
}

#[test]
fn an_index_keeps_what_games_said() {
    let reels = said();
    let session = Session::builder()
        .build(again(&reels))
        .expect("one session");
    let history = History::build(&session);
    let at_once = story_of(&session, &history);
    assert!(at_once.iter().any(|line| line.contains("\"said\"")));
    for history in [Some(&history), None] {
        let kept = through_index(&session, history, &reels, None);
        let rest = kept_story(&kept, &at_once);
        assert_eq!(rest, None);
    }
}

/// The first line that is another one in a story.
fn kept_story(kept: &Session, expected: &[String]) -> Option<(String, String)> {
    let kept = story(kept);
    assert_eq!(kept.len(), expected.len());
    let mut both = kept.into_iter().zip(expected);
    let (came, was) = both.find(|(came, was)| came != *was)?;
    Some((came, was.clone()))
}

const SPLIT: &str = "wire w { byte_order = little; bit_order = lsb; root = P; }
enum Kind : u8 { part = 1 @fragment, talk = 2 }
struct P @message { kind: Kind @message_kind;
    switch (kind) { Kind.part => part: Part; default => number: u16 @reliable_sequence; }
}
struct Part {
    id: u8 @fragment_id;
    count: u8 @fragment_count;
    index: u8 @fragment_index;
    data: bytes(rest) @fragment_data;
}";

/// A minute in which A talks to B, and sends the first of two fragments after a second; the other
/// after this many tenths of a second, if at all.
fn split(second: Option<u64>) -> Vec<ReelInput> {
    let (mut a, mut b) = (Tape::node("A", 1, SPLIT), Tape::node("B", 2, ""));
    let mut say = |tenth: u64, payload: &[u8]| {
        let time = tenth * 100_000_000;
        a.sent(time, 2, payload);
        b.received(time + 1_000_000, 1, payload);
    };
    for tenth in 1..600 {
        say(tenth, &[2, tenth as u8, (tenth >> 8) as u8]);
        match tenth {
            10 => say(tenth, &[1, 7, 2, 0, 2, 9]),
            _ if second == Some(tenth) => say(tenth, &[1, 7, 2, 1, 9]),
            _ => {}
        }
    }
    vec![a.end(60_000_000_000), b.end(60_000_000_000)]
}

#[test]
fn fragments_are_told_as_they_come_as_they_are_told_at_once() {
    for second in [Some(12), Some(400), None] {
        check(&split(second), None, 30, &mut Draw(4));
    }
}

#[test]
fn a_copy_that_comes_much_later_is_still_a_copy() {
    let (mut a, mut b) = (Tape::node("A", 1, ""), Tape::node("B", 2, ""));
    for tenth in 1..600u64 {
        let (time, payload) = (tenth * 100_000_000, tenth.to_le_bytes());
        a.sent(time, 2, &payload);
        b.received(time + 1_000_000, 1, &payload);
        // What came thirty seconds before comes once more.
        if tenth == 400 {
            b.received(time + 2_000_000, 1, &100u64.to_le_bytes());
        }
    }
    let reels = [a.end(60_000_000_000), b.end(60_000_000_000)];
    check(&reels, None, 30, &mut Draw(3));
}

/// A minute in which A says something to B ten times a second, and B answers; `change` says of each what
/// it says, and when that arrives, if at all: by itself a tenth of a millisecond later.
#[track_caller]
fn check_talk(seed: u64, change: impl Fn(u64, &mut Vec<u8>, &mut Vec<u64>)) {
    let (mut a, mut b) = (Tape::node("A", 1, ""), Tape::node("B", 2, ""));
    // What A says, and what B hears.
    let mut events: Vec<(u64, bool, Vec<u8>)> = Vec::new();
    for tenth in 1..600u64 {
        let sent = tenth * 100_000_000;
        let (mut payload, mut arrives) = (tenth.to_le_bytes().to_vec(), vec![sent + 100_000]);
        change(tenth, &mut payload, &mut arrives);
        events.extend(arrives.into_iter().map(|at| (at, false, payload.clone())));
        events.push((sent, true, payload));
    }
    events.sort_by_key(|(time, ..)| *time);
    for (time, is_said, payload) in events {
        if !is_said {
            b.received(time, 1, &payload);
            continue;
        }
        a.sent(time, 2, &payload);
        let answer = time.to_be_bytes();
        b.sent(time + 10, 1, &answer);
        a.received(time + 20, 2, &answer);
    }
    let reels = [a.end(60_000_000_000), b.end(60_000_000_000)];
    let alike = check(&reels, None, 30, &mut Draw(seed));
    assert!(alike > 15, "{alike}");
}

#[test]
fn what_was_lost_and_arrives_very_late_is_lost_no_more() {
    check_talk(4, |tenth, _, arrives| match tenth {
        _ if tenth % 17 == 0 => arrives.clear(),
        150 | 151 => *arrives = vec![45_000_000_000],
        _ => {}
    });
}

#[test]
fn what_comes_several_times_stays_one_packet() {
    check_talk(5, |tenth, _, arrives| {
        if tenth % 11 == 0 {
            arrives.push(arrives[0] + 300_000);
        }
        if tenth == 220 {
            arrives.extend([arrives[0] + 3_000_000_000, 50_000_000_000]);
        }
    });
}

#[test]
fn what_two_machines_recorded_grows_as_well() {
    let (mut a, mut b) = (Tape::node("A", 1, ""), Tape::elsewhere("B", 2));
    // The other clock is three seconds ahead, and a little faster.
    let there = |time: u64| 3_000_000_000 + time + time / 20_000;
    for tenth in 1..600u64 {
        let (sent, took) = (tenth * 100_000_000, 200_000 + tenth * 7919 % 90_000);
        let (says, answers) = (tenth.to_le_bytes(), tenth.to_be_bytes());
        a.sent(sent, 2, &says);
        b.received(there(sent + took), 1, &says);
        b.sent(there(sent + took + 50), 1, &answers);
        a.received(sent + 2 * took, 2, &answers);
    }
    let reels = [a.end(60_000_000_000), b.end(there(60_000_000_000))];
    let alike = check(&reels, None, 30, &mut Draw(6));
    assert!(alike > 15, "{alike}");
}

#[test]
fn equal_payloads_are_told_apart_by_what_came_since() {
    for seed in 1..=6 {
        check_talk(seed, |tenth, payload, arrives| {
            if tenth % 7 < 2 {
                *payload = b"the same".to_vec();
            }
            if tenth % 13 == 0 {
                arrives.clear();
            }
            if tenth % 29 == 0 {
                *arrives = vec![tenth * 100_000_000 + 450_000_000];
            }
        });
    }
}

#[test]
fn a_world_is_told_as_it_grows_as_it_is_told_at_once() {
    for seed in 1..=6 {
        for (mode, topology) in WAYS {
            let played = Played::to_rest(&boxes(seed, mode, topology));
            let reels = played.reels.iter().map(|(name, bytes)| ReelInput {
                name: format!("{name}.reel"),
                reel: Arc::new(Reel::from_bytes(bytes.clone()).expect("a good reel")),
            });
            check(&reels.collect::<Vec<_>>(), None, 5, &mut Draw(seed));
        }
    }
}

#[test]
fn a_capture_is_told_as_it_grows_as_it_is_told_at_once() {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    for (capture, wire) in RECORDINGS {
        let wire = wire_of(wire);
        let capture = here.join("wire/tests/recordings").join(capture);
        let observed = imported(&capture, &[]);
        check(&observed, Some(&wire), 4, &mut Draw(7));
        let session = Session::builder().build(observed).expect("one session");
        let nodes = session.nodes.iter().map(|node| node.name.clone());
        let nodes: Vec<String> = nodes.collect();
        check(&imported(&capture, &nodes), Some(&wire), 4, &mut Draw(8));
    }
}

/// Reels that are recorded once more, a little of each at a time.
struct Again {
    nodes: Vec<(Recorder, Pusher)>,
    left: Vec<Vec<OwnedRecord>>,
}

impl Again {
    fn new(reels: &[ReelInput], folder: &std::path::Path, options: &Options) -> Again {
        let (mut nodes, mut left) = (Vec::new(), Vec::new());
        for ReelInput { name, reel } in reels {
            let path = folder.join(name);
            let recorder = Recorder::create(&path, reel.header(), options.clone());
            let recorder = recorder.expect("a recorder");
            let pusher = recorder.pusher().expect("a pusher");
            nodes.push((recorder, pusher));
            let mut records = Vec::new();
            reel.for_each(|record| records.push(OwnedRecord::copy_of(record)));
            records.reverse();
            left.push(records);
        }
        Again { nodes, left }
    }

    /// Goes on until nothing is left.
    fn play(mut self, mut draw: Draw) {
        while self.left.iter().any(|left| !left.is_empty()) {
            for ((_, pusher), left) in self.nodes.iter_mut().zip(&mut self.left) {
                let start = left.len() - draw.below(30).min(left.len());
                for record in left.drain(start..).rev() {
                    let record = record.as_record();
                    pusher.push(record.time, record.event);
                }
            }
            std::thread::sleep(Duration::from_millis(8));
        }
        for (recorder, pusher) in self.nodes {
            drop(pusher);
            recorder.finish().expect("an end");
        }
    }
}

/// Follows a world while it is recorded: each look tells what is told at once of what was there.
fn check_followed(options: &Options) {
    let (mode, topology) = WAYS[0];
    let played = Played::to_rest(&boxes(7, mode, topology));
    let reels = played.reels.iter().map(|(name, bytes)| ReelInput {
        name: format!("{name}.reel"),
        reel: Arc::new(Reel::from_bytes(bytes.clone()).expect("a good reel")),
    });
    let reels: Vec<ReelInput> = reels.collect();
    let folder = tempfile::tempdir().expect("a folder");
    let again = Again::new(&reels, folder.path(), options);
    let recorded = std::thread::spawn(move || again.play(Draw(3)));
    let mut openings = Openings::default();
    let mut growing = Session::builder().growing();
    let (mut looks, mut known) = (0, None);
    loop {
        let is_last = recorded.is_finished();
        if let Ok(opened) = open_session_again(&[folder.path()], &mut openings) {
            let inputs = || {
                let reels = opened.reels.iter().map(|opened| ReelInput {
                    name: opened.path.display().to_string(),
                    reel: opened.reel.clone(),
                });
                reels.collect()
            };
            let (grown, _) = told_on(growing.look(inputs()), &mut known);
            assert_eq!(
                grown,
                told(Session::builder().build(inputs())),
                "look {looks}"
            );
            looks += 1;
        }
        if is_last {
            break;
        }
    }
    recorded.join().expect("a recording");
    assert!(looks > 3, "{looks}");
}

#[test]
fn a_recording_is_told_as_it_is_written_as_it_is_told_at_once() {
    check_followed(&Options::default());
}

#[test]
fn a_recording_in_several_files_is_told_as_it_is_written() {
    let bytes = |bytes| Limits {
        bytes: Some(bytes),
        time: None,
    };
    let rotate = bytes(8_000);
    let options = Options::default();
    check_followed(&Options { rotate, ..options });
    // The first files are deleted while it goes on.
    let keep = bytes(30_000);
    let options = Options::default();
    check_followed(&Options {
        rotate,
        keep,
        ..options
    });
}

/// The same reel as it stood at a moment, which was later than `until` by a little.
fn stood(reel: &Reel, until: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ReelWriter::create(Out(&mut bytes), reel.header()).expect("a reel");
    reel.for_each(|record| {
        if record.time.0 <= until {
            writer.push(record).expect("an event");
        }
    });
    writer.seal().expect("a block");
    drop(writer);
    bytes
}

/// A finding as people read it.
fn words(session: &Session, finding: &Finding) -> String {
    let evidence = finding.evidence.iter().map(|it| {
        let node = session.name(it.node);
        format!("{} {} {:?} {:?}", it.what, node, it.packet, it.time)
    });
    let Finding {
        rule,
        level,
        time,
        sentence,
        ..
    } = finding;
    let evidence: Vec<String> = evidence.collect();
    format!("{level:?} {rule} {time:?} {sentence} {evidence:?}")
}

/// Looks at a world while it is played; how many findings were certain before its end.
fn check_certain(start: &SimWorldStart, draw: &mut Draw) -> usize {
    let played = Played::to_rest(start);
    let reels = played.reels.iter().map(|(name, bytes)| {
        let reel = Reel::from_bytes(bytes.clone()).expect("a good reel");
        (format!("{name}.reel"), Arc::new(reel))
    });
    let reels: Vec<_> = reels.collect();
    let spans = reels.iter().filter_map(|(_, reel)| reel.span());
    let end = spans.map(|(_, last)| last.0).max().expect("events");
    let mut growing = Session::builder().growing();
    let (mut certain, mut told) = (Certain::default(), Vec::new());
    let mut moment = 0;
    while moment < end {
        moment += 1 + draw.below(300_000_000) as u64;
        let now = reels.iter().map(|(name, reel)| {
            let until = moment + draw.below(150_000_000) as u64;
            let bytes = stood(reel, until);
            let reel = Arc::new(Reel::from_bytes(bytes).expect("a reel"));
            let name = name.clone();
            ReelInput { name, reel }
        });
        let Ok(session) = growing.look(now.collect()) else {
            continue;
        };
        let is_over = |reel: &Reel| *reel.ending() == Ending::Clean;
        let history = History::build(&session);
        let fresh = certain.fresh(&session, &history, is_over).into_iter();
        told.extend(fresh.map(|finding| (words(&session, finding), moment)));
    }
    let (session, history) = (&played.session, &played.history);
    let last = history.findings.iter();
    let last: Vec<String> = last.map(|finding| words(session, finding)).collect();
    for (finding, moment) in &told {
        let place = last.iter().position(|it| it == finding);
        assert!(
            place.is_some(),
            "{finding} at {moment} of {end}; in the end: {last:#?}"
        );
    }
    let rest = certain.rest(session, history);
    assert_eq!(told.len() + rest.len(), last.len(), "each is told once");
    told.len()
}

#[test]
fn what_was_called_certain_is_found_in_the_end() {
    let mut certain = 0;
    for seed in 1..=12 {
        for (mode, topology) in WAYS {
            certain += check_certain(&boxes(seed, mode, topology), &mut Draw(seed));
        }
    }
    for seed in 1..=4 {
        for (mode, topology) in WAYS {
            let start = SimWorldStart::new(seed, mode, topology, Script::Demonstration);
            certain += check_certain(&start, &mut Draw(seed));
        }
    }
    assert!(certain > 30, "{certain}");
}
