//! Every place of a story that can say "unknown" is gone through: where one does, no verdict is clean to the
//! end.

use std::collections::BTreeMap;

use netreel_protocol::history::state::{Known, States};
use netreel_protocol::history::{Belief, History, Level};
use netreel_protocol::session::{Fate, PacketId, Session, SessionTime};
use netreel_protocol::verdict::{Judgement, Verdict};
use netreel_sample_engine::{Mode, SimWorldStart, Topology};
use netreel_transport::Draw;

use crate::planted::table;
use crate::played::{Played, WAYS, boxes, read, read_with};

/// What of a story is not known, by the place that says so.
fn unknown(session: &Session, history: &History) -> BTreeMap<&'static str, u64> {
    let mut found: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut count = |place, number: usize| {
        if number > 0 {
            *found.entry(place).or_default() += number as u64;
        }
    };
    let states = States::build(session, history);
    let rest = states.at_rest(session, history);
    count("values at rest", rest.open as usize);
    let existence = history.existence_at_rest(session);
    count("existence at rest", existence.open.len());
    count("objects at some nodes alone", existence.differ.len());
    for object in history.objects.values() {
        let lasts = object.lanes.values().filter_map(|lane| lane.last());
        let unknown = lasts.filter(|last| last.belief == Belief::Unknown);
        count("beliefs", unknown.count());
    }
    let recorded: Vec<_> = (0u16..)
        .map(netreel_protocol::session::NodeId)
        .zip(&session.nodes)
        .filter(|(_, node)| node.recorded)
        .map(|(id, _)| id)
        .collect();
    for (object, properties) in states.objects() {
        for property in properties {
            let lasts = recorded.iter().filter_map(|&node| {
                let held = states.at(object, property, node, SessionTime::MAX)?;
                Some(held.value)
            });
            count("values", lasts.filter(|it| *it == Known::Unknown).count());
        }
    }
    let mut understood: BTreeMap<_, (u64, u64)> = BTreeMap::new();
    for packet in (0..session.packet_count()).map(|place| PacketId(place as u32)) {
        let (Some(link), Some(said)) = (session.link(packet), session.said(packet)) else {
            continue;
        };
        let (all, fit) = understood.entry(link).or_default();
        *all += 1;
        *fit += u64::from(said.diagnostics == 0 && said.protocol.is_some());
        let fate = session.packet(packet).map(|packet| packet.fate);
        let mut messages = session.messages_of(packet);
        let tells = messages.any(|(_, facts)| facts.object.is_some());
        count("fates", usize::from(tells && fate == Some(Fate::Unknown)));
    }
    let blind = understood.values().filter(|(_, fit)| *fit == 0);
    count("links", blind.count());
    found
}

/// Demands that what is not known reaches the verdict; what was met is counted.
fn demand(
    what: &str,
    (session, history): (&Session, &History),
    met: &mut BTreeMap<&'static str, u64>,
) {
    let judged = Judgement::new(session, history, Level::Error, &[]);
    let unknown = unknown(session, history);
    for (place, count) in &unknown {
        *met.entry(place).or_default() += count;
    }
    let is_all_clean = judged.verdict == Verdict::Clean && judged.judged_until.is_none();
    assert!(
        unknown.is_empty() || !is_all_clean,
        "{what}: {unknown:?}, and {}",
        judged.line()
    );
}

fn start(seed: u64, (mode, topology): (Mode, Topology)) -> SimWorldStart {
    let mut start = boxes(seed, mode, topology);
    start.nodes = 4;
    start
}

#[test]
fn what_any_place_calls_unknown_reaches_the_verdict() {
    let mut met = BTreeMap::new();
    for seed in 0..4 {
        for way in WAYS {
            let what = |how: &str| format!("{how}, seed {seed}, {way:?}");
            let mut draw = Draw::named(seed, "when it ends");
            let cut = Played::new(&start(seed, way), |world| world.run(5 + draw.below(300)));
            demand(&what("amid"), (&cut.session, &cut.history), &mut met);
            let rest = Played::new(&start(seed, way), |world| world.run(480));
            demand(&what("at rest"), (&rest.session, &rest.history), &mut met);
            let mut reels = cut.reels.clone();
            reels.remove(1);
            let (session, history) = read(&reels);
            demand(&what("without a reel"), (&session, &history), &mut met);
            let mut reels = cut.reels.clone();
            let bytes = &mut reels[2].1;
            bytes.truncate(bytes.len() * 3 / 5);
            let (session, history) = read(&reels);
            demand(&what("a reel cut"), (&session, &history), &mut met);
        }
    }
    for planted in table::TABLE {
        let mut start = start(1, (planted.mode, planted.topology));
        start.planted.extend([(planted.at, planted.fault)]);
        let played = Played::new(&start, |world| world.run(300));
        let what = format!("{:?}", planted.fault);
        demand(&what, (&played.session, &played.history), &mut met);
    }
    println!("{met:?}");
    let places = [
        "values at rest",
        "existence at rest",
        "objects at some nodes alone",
        "values",
        "fates",
    ];
    for place in places {
        assert!(met.contains_key(place), "{place} was never met: {met:?}");
    }
}

/// What a wire cannot decode of one link's packets, and of one node's rules, nobody can tell.
#[test]
fn what_a_wire_does_not_say_reaches_the_verdict() {
    let wire = include_str!("../../../samples/wires/boxes.wire");
    let played = Played::new(&start(1, WAYS[2]), |world| world.run(480));
    let mut met = BTreeMap::new();
    // A rule of which the wire says nothing.
    let bare = wire.replace(" @rules(counted)", "");
    let (session, history) = read_with(&played.reels, &bare);
    demand("without a rule", (&session, &history), &mut met);
    assert!(met.contains_key("beliefs"), "{met:?}");
    let older = wire.replace("180.0, 12)", "180.0, 11)");
    let (session, history) = read_with(&played.reels, &older);
    demand("an older wire", (&session, &history), &mut met);
}
