//! What is found in healthy worlds by trying other orders.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use netreel_protocol::session::PacketId;
use netreel_reel::{EventNumber, Reel};
use netreel_replay::explore::{
    ByChance, Change, ChangeKind, Cut, Explored, Ground, GroundOptions, Limits, MakeNode, Moment,
    Outcome, PacketId as PlayedPacket, Parting, Runner, Told, Tries, Wrong, explore, in_order,
    legal_orders, shrink, tighten,
};
use netreel_replay::together::Reels;
use netreel_sample_engine::{
    Event, Fault, IgnoreReason, Mode, NetLayer, ObjectMessage, Script, SimWorldStart, Start,
    Topology,
};
use netreel_transport::{
    Draw, InputError, Layer, LinkFaults, ObjectBelief, RestoreError, Transport,
};
use netreel_wire::Role;

use crate::recorded::{record, replay, seeds_or, wire};
use crate::story::{plan, session};
use crate::together::{errors, events};

/// A world in which boxes are played with little delay, and nothing goes wrong.
pub fn healthy(seed: u64, mode: Mode, ticks: u64) -> Vec<Vec<u8>> {
    let mut start = SimWorldStart::new(seed, mode, Topology::PeerToPeer, Script::Boxes { ticks });
    start.faults = LinkFaults {
        jitter: Duration::from_millis(2),
        ..LinkFaults::default()
    };
    record(&start, ticks + 60)
}

pub fn ground(reels: &[Vec<u8>]) -> Arc<Ground> {
    let options = GroundOptions {
        rest: Duration::from_secs(3),
        alone: None,
    };
    Arc::new(Ground::new(plan(&session(reels)), options))
}

pub fn maker(ground: &Arc<Ground>) -> Box<MakeNode<'static, Infallible>> {
    faulty(ground, None)
}

/// Layers that do something wrong on purpose.
fn faulty(ground: &Arc<Ground>, fault: Option<Fault>) -> Box<MakeNode<'static, Infallible>> {
    let ground = Arc::clone(ground);
    Box::new(move |node, _| {
        let reel = ground.reel(node).expect("all are recorded");
        let mut start = Start::decode(&reel.header().start).expect("start conditions");
        start.fault = fault;
        Ok(Box::new(NetLayer::new(start).expect("good conditions")) as Box<dyn Layer>)
    })
}

pub fn limits(runs_max: u64) -> Limits {
    Limits {
        tries: Tries {
            hold_max_ns: 1_000_000_000,
            ..Tries::default()
        },
        changes_max: 2,
        runs_max,
        jobs: 2,
        by_chance: None,
    }
}

pub fn explored(ground: &Arc<Ground>, limits: &Limits, until: usize) -> (Explored, Vec<Wrong>) {
    let mut found = Vec::new();
    let wire = wire();
    let explored = explore(
        ground,
        &|| maker(ground),
        Some(&wire),
        limits,
        &mut |told| {
            if let Told::Wrong(wrong, _) = told {
                found.push(wrong.clone());
            }
            match found.len() >= until {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        },
    );
    (explored.unwrap_or_else(|never| match never {}), found)
}

pub fn written(ground: &Arc<Ground>, changes: &[Change]) -> Vec<Vec<u8>> {
    let mut runner = runner(ground);
    let headers = (0..ground.names().count()).map(|node| {
        let header = ground.reel(node)?.header().clone();
        Some((header, Vec::new()))
    });
    let reels = Reels::create(headers.collect()).expect("small headers");
    let ran = runner.write(changes, &Cut::nothing(ground), Box::new(reels.clone()));
    ran.unwrap_or_else(|it| match it {});
    let written = reels.finish("played on", |_| false).expect("memory");
    written.into_iter().flatten().collect()
}

#[track_caller]
pub fn assert_played_as_recorded(reels: &[Vec<u8>]) {
    let written = written(&ground(reels), &[]);
    for (before, after) in reels.iter().zip(&written) {
        let (before, after) = (events(before), events(after));
        // Behind its end the nodes go on.
        assert!(after.len() > before.len());
        for (at, event) in before.iter().enumerate() {
            assert_eq!(event, &after[at], "event {at}");
        }
    }
}

#[test]
fn without_changes_a_run_is_the_recording_to_the_event() {
    for seed in 0..seeds_or(8) {
        let mode = [Mode::Host, Mode::Owner][seed as usize % 2];
        let reels = healthy(seed, mode, 120);
        assert_played_as_recorded(&reels);
    }
}

#[test]
fn the_zombie_is_found_in_healthy_recordings_and_replays() {
    let mut found = 0;
    for seed in 0..seeds_or(4) {
        let reels = healthy(seed, Mode::Host, 240);
        if !errors(&reels).is_empty() {
            continue;
        }
        let ground = ground(&reels);
        let (explored, wrong) = explored(&ground, &limits(4000), 1);
        eprintln!("seed {seed}: {explored:?} {wrong:?}");
        let Some(wrong) = wrong.first() else { continue };
        found += 1;
        let mut runner = runner(&ground);
        let outcome = Outcome::of(&wrong.ran);
        let changes =
            tighten(&mut runner, &wrong.changes, &outcome).unwrap_or_else(|it| match it {});
        let name = |node: usize| ground.name(node).to_owned();
        for change in &changes {
            eprintln!("   {}", change.words(&name));
        }
        let reels = written(&ground, &changes);
        eprintln!("   {:?}", errors(&reels));
        assert!(!errors(&reels).is_empty(), "seed {seed}");
        assert_played_as_recorded(&reels);
        for reel in reels {
            assert_eq!(replay(reel, |_| ()).divergence(), None);
        }
    }
    assert!(found > 0);
}

#[test]
fn the_cure_holds_in_whatever_order() {
    for seed in 0..seeds_or(2) {
        let reels = healthy(seed, Mode::Owner, 240);
        let (explored, wrong) = explored(&ground(&reels), &limits(2000), 1);
        eprintln!("seed {seed}: {explored:?} {wrong:?}");
        assert_eq!(wrong, [], "seed {seed}");
    }
}

#[test]
fn what_is_found_is_the_same_for_any_number_of_threads() {
    let ground = ground(&healthy(1, Mode::Counter, 120));
    let with = |jobs: usize| {
        let mut limits = limits(400);
        limits.tries.hold_max_ns = 100_000_000;
        limits.jobs = jobs;
        explored(&ground, &limits, usize::MAX)
    };
    assert_eq!(with(1), with(3));
}

/// Holds of links by chance, each from a packet's coming to that of one behind it.
fn holds(reels: &[Vec<u8>], ground: &Ground, seed: u64, count: usize) -> Vec<Change> {
    let mut comings: Vec<(usize, usize, Moment)> = Vec::new();
    for packet in session(reels).packets() {
        let (from, to) = (packet.from.0.into(), packet.to.0.into());
        let receipt = packet.received.and_then(|it| ground.came(to, it.number));
        comings.extend(receipt.map(|at| (from, to, at)));
    }
    comings.sort_by_key(|it| it.2.ns);
    let mut draw = Draw::new(seed);
    let mut hold = || {
        let first = draw.below(comings.len() as u64 * 3 / 4) as usize;
        let (from, to, since) = comings[first];
        let mut behind = comings[first..].iter().filter(|it| it.1 == to);
        let until = behind.nth(draw.below(60) as usize)?.2;
        (until > since).then_some(Change {
            kind: ChangeKind::Hold,
            from,
            to,
            since,
            until,
        })
    };
    std::iter::repeat_with(&mut hold)
        .flatten()
        .take(count)
        .collect()
}

#[test]
fn what_is_left_before_its_end_would_not_have_come_to_anything() {
    let (mut left, mut wrong) = (0, 0);
    for seed in 0..seeds_or(3) {
        let mode = [Mode::Host, Mode::Owner, Mode::Counter][seed as usize % 3];
        let reels = healthy(seed, mode, 240);
        let ground = ground(&reels);
        let mut runner = runner(&ground);
        for hold in holds(&reels, &ground, seed, 60) {
            let ran = runner.ran(&[hold]).unwrap_or_else(|never| match never {});
            let cut = Cut::nothing(&ground);
            let whole = runner.write(&[hold], &cut, Box::new(()));
            let whole = whole.unwrap_or_else(|never| match never {}).0;
            assert_eq!(ran.is_wrong(), whole.is_wrong(), "seed {seed}: {hold:?}");
            left += usize::from(ran.left && ran.turns < whole.turns);
            wrong += usize::from(ran.is_wrong());
        }
    }
    eprintln!("{left} were left, {wrong} were wrong");
    assert!(left > 100);
}

/// The packets that a node received from its first peer: their events and bytes.
fn received(reel: &[u8]) -> Vec<(EventNumber, Vec<u8>)> {
    let mut found = Vec::new();
    let mut first = None;
    let reel = Reel::from_bytes(reel.to_vec()).expect("a reel");
    reel.for_each(|record| {
        if let netreel_reel::Event::Received { from, payload, .. } = record.event
            && *first.get_or_insert(from) == from
        {
            found.push((record.number, payload.to_vec()));
        }
    });
    found
}

#[test]
fn a_packet_that_is_delayed_is_overtaken_on_its_link() {
    let reels = healthy(0, Mode::Owner, 120);
    let ground = ground(&reels);
    let recorded = received(&reels[3]);
    let (one, next) = (&recorded[40], &recorded[41]);
    let at = |number| ground.came(3, number).expect("it was given to the layer");
    let from = (0..3).find(|&from| {
        let change = |from| Change {
            kind: ChangeKind::Delay,
            from,
            to: 3,
            since: at(one.0),
            until: at(next.0).behind(1),
        };
        let changed = received(&written(&ground, &[change(from)])[3]);
        let place = |packet: &[u8]| changed.iter().position(|it| it.1 == packet);
        place(&one.1) > place(&next.1)
    });
    assert!(from.is_some(), "nobody overtakes");
}

/// The messages of an object that reach a node, UPDATEs left out, each once: sender and moment.
fn heard(reels: &[Vec<u8>], ground: &Ground, node: usize, object: u64) -> Vec<(usize, Moment)> {
    let session = session(reels);
    let wire = wire();
    let mut found: Vec<(usize, Moment)> = Vec::new();
    let mut known = BTreeSet::new();
    for (place, packet) in session.packets().enumerate() {
        let Some(receipt) = packet.received.filter(|_| usize::from(packet.to.0) == node) else {
            continue;
        };
        let id = PacketId(u32::try_from(place).expect("few packets"));
        for message in &session.look(id).messages {
            let role = message
                .kind
                .map(|kind| wire.kinds()[usize::from(kind.0)].role);
            let key = (
                packet.from.0,
                role,
                message.reliable_sequence.map(|it| it.value),
            );
            let tells = message.object == Some(object) && role != Some(Role::Update);
            if tells && known.insert(key) {
                let at = ground
                    .came(node, receipt.number)
                    .expect("it was given to the layer");
                found.push((packet.from.0.into(), at));
            }
        }
    }
    found.sort_by_key(|it| it.1);
    found
}

/// What comes of every order of these messages at a node, tried one by one.
fn brute_force(
    ground: &Arc<Ground>,
    node: usize,
    messages: &[(usize, Moment)],
) -> BTreeSet<Outcome> {
    let mut runner = runner(ground);
    let mut outcomes = BTreeSet::new();
    for order in legal_orders(messages) {
        let changes = in_order(&order, messages, node);
        let ran = runner.write(&changes, &Cut::nothing(ground), Box::new(()));
        let (ran, _) = ran.unwrap_or_else(|it| match it {});
        outcomes.insert(Outcome::of(&ran));
    }
    outcomes
}

#[test]
fn the_reduction_reaches_whatever_brute_force_reaches() {
    let mut compared = 0;
    for seed in 0..seeds_or(6) {
        let reels = healthy(seed, Mode::Host, 240);
        let options = GroundOptions {
            rest: Duration::from_secs(3),
            alone: Some(3),
        };
        let ground = Arc::new(Ground::new(plan(&session(&reels)), options));
        for object in (0..40).chain(40..46).chain(80..86) {
            let messages = heard(&reels, &ground, 3, object);
            let senders: BTreeSet<usize> = messages.iter().map(|it| it.0).collect();
            if !(3..=5).contains(&messages.len()) || senders.len() < 2 {
                continue;
            }
            let of_object = |outcome: &Outcome| {
                let mut partings = outcome.partings.iter().filter(|it| it.0 == object);
                partings.next().map(|it| it.1)
            };
            let brute = brute_force(&ground, 3, &messages);
            let brute: BTreeSet<_> = brute.iter().filter_map(of_object).collect();
            let mut limits = limits(100_000);
            limits.tries.hold_max_ns = i64::MAX;
            limits.tries.only = Some(3);
            limits.tries.object = Some(object);
            limits.changes_max = 3;
            let (explored, wrong) = explored(&ground, &limits, usize::MAX);
            assert!(explored.whole, "{explored:?}");
            let found = wrong
                .iter()
                .filter_map(|it| of_object(&Outcome::of(&it.ran)));
            let found: BTreeSet<_> = found.collect();
            let missed: Vec<_> = brute.difference(&found).collect();
            assert_eq!(
                missed,
                [] as [&Parting; 0],
                "seed {seed}, object {object}: {found:?}"
            );
            println!(
                "seed {seed}, object {object}: {} of brute force, {:?}",
                brute.len(),
                explored.counts
            );
            compared += 1;
        }
    }
    assert!(compared >= 3, "{compared}");
}

pub fn runner(ground: &Arc<Ground>) -> Runner<'static, Infallible> {
    let made = Runner::new(Arc::clone(ground), maker(ground));
    made.unwrap_or_else(|never| match never {}).0
}

/// Whether a session without what is cut has a zombie, and the packets that arrive in it.
fn zombie_in(runner: &mut Runner<'_, Infallible>, cut: &Cut) -> (bool, Vec<PlayedPacket>) {
    let ground = Arc::clone(runner.ground());
    let headers = (0..ground.names().count()).map(|node| {
        let header = ground.reel(node)?.header().clone();
        Some((header, Vec::new()))
    });
    let reels = Reels::create(headers.collect()).expect("small headers");
    let ran = runner.write(&[], cut, Box::new(reels.clone()));
    let (_, packets) = ran.unwrap_or_else(|it| match it {});
    let written = reels.finish("played on", |_| false).expect("memory");
    let written: Vec<Vec<u8>> = written.into_iter().flatten().collect();
    (errors(&written).contains(&"zombie-object"), packets)
}

#[test]
fn what_was_shrunk_is_minimal() {
    let start = SimWorldStart::new(5, Mode::Host, Topology::PeerToPeer, Script::Demonstration);
    let ground = ground(&record(&start, 400));
    let mut runner = runner(&ground);
    let shrunk = shrink(&ground, &mut |cut| {
        Ok::<_, Infallible>(Some(zombie_in(&mut runner, cut)))
    });
    let shrunk = shrunk.unwrap_or_else(|it| match it {});
    assert!(shrunk.minimal);
    let (fails, packets) = zombie_in(&mut runner, &shrunk.cut);
    assert!(fails);
    let turns = shrunk.cut.turns(&ground);
    println!(
        "{} turns and {} packets are left after {} tries",
        turns.len(),
        packets.len(),
        shrunk.tries
    );
    assert!(packets.len() <= 12, "{packets:?}");
    for turn in turns {
        let fewer = shrunk.cut.without([turn], &ground);
        assert!(!zombie_in(&mut runner, &fewer).0, "{turn:?} is not needed");
    }
    for packet in packets {
        assert!(
            !zombie_in(&mut runner, &shrunk.cut.losing([packet])).0,
            "{packet:?} is not needed"
        );
    }
}

/// Faults of which one healthy recording of the cured engine shows nothing by itself, or little.
const PLANTED: &[Fault] = &[
    Fault::ForgetAck,
    Fault::DeliverTwice,
    Fault::NeverDeliver,
    Fault::NeverResend,
    Fault::ForgetCreate,
    Fault::ForgetDestroy,
    Fault::ForgetAnnounce,
    Fault::ForgetTombstones,
    Fault::CounterNotRaised,
    Fault::CounterFalls,
    Fault::UpdateBeforeCreate,
    Fault::ForgetLostUpdate,
    Fault::SwallowUpdates,
    Fault::AckAhead,
    Fault::NeverAck,
    Fault::IgnoreAcks,
    Fault::ForgetField,
    Fault::MisnameOwner,
    Fault::MisnameHeir,
    Fault::UpdateAfterDestroy,
    Fault::SkipPlace,
    Fault::TakeUnasked,
    Fault::AcksStand,
    Fault::DropEarly,
    Fault::StreamWrapsEarly,
    Fault::DropAtFullQueue,
    Fault::DeliverAsTheyCome,
    Fault::CreateToJoined,
    Fault::AckOfNewest,
    Fault::AckOfAllBefore,
    Fault::WrongDirtyField,
    Fault::FirstObjectsOnly,
];

/// After how many runs something wrong is found; 0: the session without changes shows it.
fn found_after(
    ground: &Arc<Ground>,
    fault: Fault,
    runs: u64,
    by_chance: Option<ByChance>,
) -> Option<u64> {
    let wire = wire();
    let (_, unchanged) = Runner::new(Arc::clone(ground), faulty(ground, Some(fault)))
        .unwrap_or_else(|it| match it {});
    if unchanged.is_wrong() {
        return Some(0);
    }
    let mut limits = limits(runs);
    limits.tries.losses = 1;
    limits.tries.deaths = true;
    limits.tries.repeats = true;
    limits.by_chance = by_chance;
    let mut found = None;
    let makers = || faulty(ground, Some(fault));
    let explored = explore(
        ground,
        &makers,
        Some(&wire),
        &limits,
        &mut |told| match told {
            Told::Wrong(wrong, _) => {
                found = Some(wrong.run);
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        },
    );
    explored.unwrap_or_else(|it| match it {});
    found
}

/// `NETREEL_EXPLORE_FAULTS=2000 cargo test -p netreel-replay --test worlds planted_faults -- --nocapture`
/// goes through all of them with this many runs each, beside priorities and delays by chance; without it a
/// few are tried. `NETREEL_EXPLORE_ONLY=DropEarly,AckAhead` names some.
#[test]
fn planted_faults_are_found_from_one_healthy_recording() {
    let asked = std::env::var("NETREEL_EXPLORE_FAULTS").ok();
    let runs: u64 = asked
        .as_deref()
        .map_or(400, |it| it.parse().expect("a number of runs"));
    let few = [
        Fault::ForgetTombstones,
        Fault::ForgetLostUpdate,
        Fault::MisnameHeir,
    ];
    let only = std::env::var("NETREEL_EXPLORE_ONLY").ok();
    let is_asked = |fault: &&Fault| {
        let mut names = only.as_deref().map(|it| it.split(','));
        names
            .as_mut()
            .is_none_or(|it| it.any(|name| name == format!("{fault:?}")))
    };
    let faults = if asked.is_some() { PLANTED } else { &few };
    let faults: Vec<Fault> = faults.iter().filter(is_asked).copied().collect();
    let reels = healthy(3, Mode::Owner, 240);
    assert_eq!(errors(&reels), [""; 0]);
    let ground = ground(&reels);
    let (mut explored, mut by_chance, mut by_priorities) = (0, 0, 0);
    let ways = [
        ByChance::Priorities { seed: 7, depth: 3 },
        ByChance::Delays { seed: 7 },
    ];
    let words = |found: Option<u64>| found.map_or("-".to_owned(), |run| run.to_string());
    println!("| fault | found in run | by priorities | by chance |\n|---|---|---|---|");
    for &fault in &faults {
        let found = found_after(&ground, fault, runs, None);
        let [priorities, chance] = ways.map(|by| {
            let asked = asked.as_ref();
            asked.and_then(|_| found_after(&ground, fault, runs, Some(by)))
        });
        explored += usize::from(found.is_some());
        by_priorities += usize::from(priorities.is_some());
        by_chance += usize::from(chance.is_some());
        let [found, priorities, chance] = [found, priorities, chance].map(words);
        println!("| {fault:?} | {found} | {priorities} | {chance} |");
    }
    println!(
        "{explored} of {} found, {by_priorities} by priorities, {by_chance} by chance",
        faults.len()
    );
    let most = faults.len() * 3 / 4;
    assert!(
        asked.is_none() || only.is_some() || explored > most,
        "{explored} of {}",
        faults.len()
    );
    assert!(
        only.is_some() || explored >= 2,
        "{explored} of {}",
        faults.len()
    );
}

/// A layer that minds what its peers say of objects that it does not know: it says so, or it panics.
struct Fussy {
    layer: NetLayer,
    panics: bool,
}

impl Layer for Fussy {
    fn tick(&mut self, io: &mut dyn Transport) {
        self.layer.tick(io);
        while let Some(event) = self.layer.poll_event() {
            if let Event::Ignored {
                message: ObjectMessage::Destroy,
                because: IgnoreReason::Unknown,
                ..
            } = event
            {
                assert!(!self.panics, "a DESTROY of what nobody knows");
                io.note("broken: a DESTROY of what nobody knows");
            }
        }
    }

    fn input(&mut self, call: &[u8], io: &mut dyn Transport) -> Result<(), InputError> {
        self.layer.input(call, io)
    }

    fn beliefs(&self, say: &mut dyn FnMut(ObjectBelief)) -> bool {
        self.layer.beliefs(say)
    }

    fn save(&self) -> Option<Vec<u8>> {
        self.layer.save()
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), RestoreError> {
        self.layer.restore(state)
    }
}

#[test]
fn what_a_layer_says_is_broken_and_where_it_panics_is_found() {
    let ground = ground(&healthy(0, Mode::Host, 240));
    let fussy = |panics: bool| -> Box<MakeNode<'static, Infallible>> {
        let ground = Arc::clone(&ground);
        Box::new(move |node, _| {
            let reel = ground.reel(node).expect("all are recorded");
            let start = Start::decode(&reel.header().start).expect("start conditions");
            let layer = NetLayer::new(start).expect("good conditions");
            Ok(Box::new(Fussy { layer, panics }) as Box<dyn Layer>)
        })
    };
    let words = "a DESTROY of what nobody knows";
    for panics in [false, true] {
        let mut said = None;
        let limits = limits(2000);
        let makers = || fussy(panics);
        let explored = explore(&ground, &makers, Some(&wire()), &limits, &mut |told| {
            if let Told::Wrong(wrong, _) = told {
                let broken = wrong.ran.broken.first().map(|it| it.words.clone());
                let panicked = wrong.ran.panicked.as_ref().map(|it| it.1.clone());
                said = if panics { panicked } else { broken };
            }
            match said {
                Some(_) => ControlFlow::Break(()),
                None => ControlFlow::Continue(()),
            }
        });
        explored.unwrap_or_else(|it| match it {});
        assert_eq!(said.as_deref(), Some(words), "panics: {panics}");
    }
}
