//! What nodes do themselves, before and behind what they receive; and ways by chance.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use netreel_reel::{Event, Reel};
use netreel_replay::explore::{
    ByChance, Change, ChangeKind, Ground, MakeNode, Told, Wrong, explore,
};
use netreel_sample_engine::{
    Call, Mode, NetLayer, ObjectId, Peer, Script, SimWorldStart, Start, Topology, cube,
};
use netreel_transport::{InputError, Layer, ObjectBelief, Transport};

use crate::explore::{assert_played_as_recorded, explored, ground, healthy, limits, written};
use crate::recorded::{record_played, replay, wire};
use crate::together::errors;

/// A makes an object, B asks for it, and half a second later A destroys it.
fn asked_for_and_destroyed() -> Vec<Vec<u8>> {
    let start = SimWorldStart::new(1, Mode::Owner, Topology::PeerToPeer, Script::Idle);
    record_played(&start, None, |world| {
        world.run(30);
        let object = world.layer(Peer(1)).expect("it runs").next_object();
        world.call(Peer(1), &cube([1.0, 2.0, 3.0], 7));
        world.run(20);
        world.call(Peer(2), &Call::Request { object });
        world.run(30);
        world.call(Peer(1), &Call::Destroy { object });
        world.run(30);
    })
}

const GONE: &str = "it asks for what is gone";
const UNSEEN: &str = "it asks for what it has not seen";

/// A layer whose game must not ask for what it has not seen, or has seen go.
#[derive(Clone)]
struct Minding {
    layer: NetLayer,
    seen: BTreeSet<ObjectId>,
}

impl Layer for Minding {
    fn tick(&mut self, io: &mut dyn Transport) {
        self.layer.tick(io);
        self.seen.extend(self.layer.objects().map(|it| it.0));
    }

    fn input(&mut self, call: &[u8], io: &mut dyn Transport) -> Result<(), InputError> {
        if let Ok(Call::Request { object }) = Call::decode(call)
            && self.layer.object(object).is_none()
        {
            let was_there = self.seen.contains(&object);
            let words = if was_there { GONE } else { UNSEEN };
            io.note(&format!("broken: {words}"));
        }
        self.layer.input(call, io)
    }

    fn beliefs(&self, say: &mut dyn FnMut(ObjectBelief)) -> bool {
        self.layer.beliefs(say)
    }

    fn fork(&self) -> Option<Box<dyn Layer>> {
        Some(Box::new(self.clone()))
    }
}

fn minding(ground: &Arc<Ground>) -> Box<MakeNode<'static, Infallible>> {
    let ground = Arc::clone(ground);
    Box::new(move |node, _| {
        let reel = ground.reel(node).expect("all are recorded");
        let start = Start::decode(&reel.header().start).expect("start conditions");
        let layer = NetLayer::new(start).expect("good conditions");
        let seen = BTreeSet::new();
        Ok(Box::new(Minding { layer, seen }) as Box<dyn Layer>)
    })
}

/// The first run with one change in which a layer says these words.
fn said(ground: &Arc<Ground>, ticks: bool, words: &str) -> Option<Wrong> {
    let mut limits = limits(20_000);
    limits.changes_max = 1;
    limits.tries.hold_max_ns = 700_000_000;
    limits.tries.ticks = ticks;
    let mut found = None;
    let makers = || minding(ground);
    let explored = explore(ground, &makers, Some(&wire()), &limits, &mut |told| {
        if let Told::Wrong(wrong, _) = told
            && wrong.ran.broken.iter().any(|it| it.words == words)
        {
            found = Some(wrong.clone());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    let explored = explored.unwrap_or_else(|never| match never {});
    assert!(found.is_some() || explored.whole, "{explored:?}");
    found
}

/// The places of the game's calls among all that a node was given, as `C`, and of what it was given, as `.`.
fn given(reel: &[u8]) -> String {
    let mut given = String::new();
    let reel = Reel::from_bytes(reel.to_vec()).expect("a reel");
    reel.for_each(|record| match record.event {
        Event::Input { .. } => given.push('C'),
        Event::Received { .. } => given.push('.'),
        _ => {}
    });
    given
}

#[test]
fn a_call_behind_what_came_later_takes_a_node_that_stands_still() {
    let reels = asked_for_and_destroyed();
    assert_eq!(errors(&reels), [""; 0]);
    let ground = ground(&reels);
    assert_eq!(said(&ground, false, GONE), None);
    let found = said(&ground, true, GONE).expect("a run");
    assert!(
        matches!(
            found.changes[..],
            [Change {
                kind: ChangeKind::Pause,
                to: 2,
                ..
            }]
        ),
        "{:?}",
        found.changes
    );
    // What it does then is a session like any other.
    let paused = written(&ground, &found.changes);
    let before = |reel: &[u8]| given(reel).find('C');
    assert!(before(&paused[2]) > before(&reels[2]));
    assert_eq!(given(&paused[1]).find('C'), given(&reels[1]).find('C'));
    assert_played_as_recorded(&paused);
    for reel in paused {
        assert_eq!(replay(reel, |_| ()).divergence(), None);
    }
}

#[test]
fn a_call_before_what_came_earlier_takes_a_hold() {
    let reels = asked_for_and_destroyed();
    let ground = ground(&reels);
    assert_eq!(said(&ground, false, UNSEEN), None);
    let found = said(&ground, true, UNSEEN).expect("a run");
    assert!(
        matches!(
            found.changes[..],
            [Change {
                kind: ChangeKind::Hold,
                from: 1,
                to: 2,
                ..
            }]
        ),
        "{:?}",
        found.changes
    );
}

#[test]
fn ways_by_chance_are_the_same_for_any_number_of_threads_and_find_the_zombie() {
    let ground = ground(&healthy(0, Mode::Host, 240));
    for by in [
        ByChance::Priorities { seed: 3, depth: 2 },
        ByChance::Delays { seed: 3 },
    ] {
        let with = |jobs: usize| {
            let mut limits = limits(64);
            limits.by_chance = Some(by);
            limits.jobs = jobs;
            explored(&ground, &limits, usize::MAX)
        };
        let (explored, wrong) = with(1);
        assert!(!wrong.is_empty(), "{by:?}: {explored:?}");
        assert_eq!(with(3), (explored, wrong), "{by:?}");
    }
}
