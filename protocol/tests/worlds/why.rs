//! What led to what in simulated worlds, judged by the packets alone.

use std::collections::BTreeMap;

use netreel_protocol::history::Effect;
use netreel_protocol::session::{Fate, MessageId, NodeId, PacketId, SessionTime};
use netreel_protocol::why::{Certainty, Fact, Step, Why};
use netreel_reel::EventNumber;
use netreel_sample_engine::{Fault, Mode, Peer, Script, SimWorldStart, Topology};

use crate::played::{Played, WAYS, boxes};

/// All that is told of a world: of each finding, and of each packet that a message of it waited in.
fn of_findings(played: &Played) -> Vec<Why> {
    let places = 0..played.history.findings.len();
    let whys = places.filter_map(|it| Why::of_finding(&played.session, &played.history, it));
    whys.collect()
}

fn steps(played: &Played, why: &Why) -> Vec<String> {
    let sentence = |step: &Step| step.fact.sentence(&played.session, &played.history);
    why.steps.iter().map(sentence).collect()
}

#[test]
fn the_zombie_of_the_demonstration_comes_of_a_create_that_was_held() {
    for seed in 0..8 {
        let start = SimWorldStart::new(
            seed,
            Mode::Host,
            Topology::PeerToPeer,
            Script::Demonstration,
        );
        let played = Played::to_rest(&start);
        let findings = &played.history.findings;
        let place = findings.iter().position(|it| it.rule == "zombie-object");
        let place = place.expect("the race");
        let why = Why::of_finding(&played.session, &played.history, place).expect("a finding");
        // From the finding down: dropped, CREATE came later, its way took long, its link held it.
        let mut chain = vec![why.roots[0]];
        for kind in ["did", "later", "reached", "late", "held"] {
            let last = why.step(*chain.last().expect("a step")).expect("a step");
            let next = last
                .because
                .iter()
                .copied()
                .find(|&id| why.step(id).is_some_and(|step| step.fact.kind() == kind));
            let told = steps(&played, &why);
            chain.push(next.unwrap_or_else(|| panic!("no {kind}: {told:#?}")));
        }
        let would = why
            .steps
            .iter()
            .find(|it| it.certainty == Certainty::WouldHave);
        let Some(Fact::Would { effect, .. }) = would.map(|step| &step.fact) else {
            panic!("{:#?}", steps(&played, &why))
        };
        assert_eq!(*effect, Effect::Destroyed, "seed {seed}");
    }
}

/// When each message of a stream first arrived, by its place: the event, and which packet brought it.
type Arrivals = BTreeMap<u64, (EventNumber, SessionTime, PacketId)>;

/// The reliable messages of each link of a world whose numbers do not wrap.
fn arrivals(played: &Played) -> BTreeMap<(NodeId, NodeId), Arrivals> {
    let mut links: BTreeMap<(NodeId, NodeId), Arrivals> = BTreeMap::new();
    for (id, packet) in (0..).map(PacketId).zip(played.session.packets()) {
        let Some(received) = packet.received else {
            continue;
        };
        for (_, facts) in played.session.messages_of(id) {
            let Some(place) = facts.reliable_sequence else {
                continue;
            };
            let link = links.entry((packet.from, packet.to)).or_default();
            let arrival = (received.number, received.time, id);
            let first = link.entry(place.value).or_insert(arrival);
            *first = arrival.min(*first);
        }
    }
    links
}

/// What waited, in how many messages, is what the arrivals of its stream say: the packet that closes
/// the last gap is the last to arrive of all places up to its own.
#[test]
fn what_a_message_waited_for_is_the_last_to_arrive_of_what_stands_before_it() {
    let mut waited = 0;
    for seed in 0..12 {
        for (mode, topology) in WAYS {
            let mut start = boxes(seed, mode, topology);
            start.faults.loss = 0.2;
            let played = Played::to_rest(&start);
            let arrivals = arrivals(&played);
            for packet in (0..played.session.packet_count() as u32).map(PacketId) {
                let why = Why::of_packet(&played.session, &played.history, packet);
                for step in why.expect("a packet").steps {
                    if let Fact::Waited {
                        delivery,
                        closed_by,
                        waited_ns,
                        ..
                    } = step.fact
                    {
                        let delivery = played.history.deliveries.get(delivery as usize);
                        let message = delivery.expect("a delivery").message;
                        check(&played, &arrivals, message, (closed_by, waited_ns));
                        waited += 1;
                    }
                }
            }
        }
    }
    assert!(waited > 500, "{waited} waited");
}

fn check(
    played: &Played,
    arrivals: &BTreeMap<(NodeId, NodeId), Arrivals>,
    message: MessageId,
    (closed_by, waited_ns): (PacketId, i64),
) {
    let known = played.session.message(message).expect("a message");
    let link = played.session.link(known.packet).expect("a link");
    let place = known.facts.reliable_sequence.expect("in a stream").value;
    if known.facts.fragment.is_some() {
        return; // arrives with the last of its parts
    }
    let stream = &arrivals[&link];
    let before = stream.range(..=place).map(|(_, &arrival)| arrival);
    let (_, closed, packet) = before.max().expect("itself");
    let (_, came, _) = stream[&place];
    assert_eq!(
        (packet, closed.0 - came.0),
        (closed_by, waited_ns),
        "{known:?}"
    );
}

#[test]
fn every_finding_of_planted_faults_has_a_cause_or_says_that_none_is_known() {
    let faults = [
        Fault::AckUnreceived,
        Fault::ForgetAck,
        Fault::SequenceTwice,
        Fault::NeverResend,
        Fault::ResendEveryTick,
        Fault::ForgetCreate,
        Fault::ForgetDestroy,
        Fault::ForgetAnnounce,
        Fault::UpdateBeforeCreate,
        Fault::CounterNotRaised,
        Fault::DeliverTwice,
        Fault::NeverDeliver,
        Fault::AckUnsent,
        Fault::UpdateAfterDestroy,
        Fault::SkipPlace,
    ];
    let mut rules = std::collections::BTreeSet::new();
    let mut kinds = std::collections::BTreeSet::new();
    for (seed, fault) in (0..).zip(faults) {
        for (mode, topology) in WAYS {
            let mut start = boxes(seed, mode, topology);
            start.nodes = 4;
            start.faults.loss = start.faults.loss.max(0.05);
            start.planted.insert(Peer(1), fault);
            let played = Played::new(&start, |world| world.run(480));
            for (why, finding) in of_findings(&played).iter().zip(&played.history.findings) {
                rules.insert(finding.rule);
                kinds.extend(why.steps.iter().map(|step| step.fact.kind()));
                let root = why.step(why.roots[0]).expect("a root");
                let told = steps(&played, why);
                assert!(!root.because.is_empty(), "{} {told:#?}", finding.rule);
                assert!(told.iter().all(|it| !it.is_empty()), "{told:#?}");
            }
        }
    }
    let of_acks = [
        "ack-of-unreceived",
        "ack-of-unsent",
        "duplicate-sequence",
        "never-acked",
        "resend-storm",
        "stream-gap",
    ];
    let of_objects = [
        "objects-differ-at-rest",
        "told-twice",
        "two-owners",
        "update-after-destroy",
        "update-before-create",
    ];
    for rule in of_acks.into_iter().chain(of_objects) {
        assert!(rules.contains(rule), "{rule} in {rules:?}");
    }
    for kind in ["still-waits", "would", "acked", "eager", "ack-gap"] {
        assert!(kinds.contains(kind), "{kind} in {kinds:?}");
    }
}

/// A cause comes before what it led to, as far as both have a time and one node has both.
#[test]
fn no_step_comes_after_what_it_led_to() {
    for seed in 0..6 {
        for (mode, topology) in WAYS {
            let played = Played::to_rest(&boxes(seed, mode, topology));
            for packet in (0..played.session.packet_count() as u32).map(PacketId) {
                let why = Why::of_packet(&played.session, &played.history, packet);
                no_later_cause(&played, &why.expect("a packet"));
            }
        }
    }
}

fn no_later_cause(played: &Played, why: &Why) {
    let (session, history) = (&played.session, &played.history);
    for step in &why.steps {
        // What lacked something says when that came.
        if !matches!(step.fact, Fact::SentAgain { .. } | Fact::Did { .. }) {
            continue;
        }
        let (_, Some(time)) = step.fact.at(session, history) else {
            continue;
        };
        for cause in step.because.iter().filter_map(|&id| why.step(id)) {
            if let Fact::Did { .. }
            | Fact::Acked { .. }
            | Fact::Nacked { .. }
            | Fact::AckGap { .. } = cause.fact
            {
                let (_, at) = cause.fact.at(session, history);
                let told = steps(played, why);
                assert!(at.is_none_or(|at| at <= time), "{told:#?}");
            }
        }
    }
}

#[test]
fn what_would_have_been_is_what_the_rules_do_in_that_order() {
    // The order that would have made the difference is that of a node that heard CREATE first.
    let start = SimWorldStart::new(7, Mode::Host, Topology::PeerToPeer, Script::Demonstration);
    let played = Played::to_rest(&start);
    let mut found = 0;
    for why in of_findings(&played) {
        for step in &why.steps {
            let Fact::Would {
                delivery,
                first,
                second,
                effect,
            } = step.fact
            else {
                continue;
            };
            let handed_over = |place: u32| played.history.deliveries.get(place as usize);
            let packet = played
                .session
                .carrier(handed_over(first).expect("one").message);
            let packet = packet.and_then(|packet| played.session.packet(packet));
            let sent = packet.and_then(|packet| packet.sent).expect("its send");
            assert!(sent.time < handed_over(second).expect("one").at.time);
            let delivery = played.history.deliveries.get(delivery as usize);
            let message = delivery.expect("a delivery").message;
            let facts = played.history.facts(&played.session, message);
            let role = played.session.role(&facts.expect("facts"));
            // A heard CREATE in time: what happened there is the judge.
            let object = &played.history.objects[&42];
            let at_a = object.deliveries.iter().filter_map(|&place| {
                let other = played.history.deliveries.get(place as usize)?;
                let facts = played.history.facts(&played.session, other.message)?;
                let is_it = other.node == played.node(Peer(1)) && !other.local;
                (is_it && played.session.role(&facts) == role).then_some(other.effect)
            });
            let at_a: Vec<Effect> = at_a.collect();
            assert!(at_a.contains(&effect), "{role:?}: {effect:?} and {at_a:?}");
            found += 1;
        }
    }
    assert!(found >= 2, "{found}");
}

/// A reliable message whose first copies were lost, by the reels' packets alone: the packet that was lost
/// first, the one that brought it, and how long after the first send it came there.
fn mended(played: &Played) -> Vec<(PacketId, PacketId, i64)> {
    let session = &played.session;
    let mut copies: BTreeMap<(NodeId, NodeId, u64), Vec<PacketId>> = BTreeMap::new();
    for packet in (0..session.packet_count() as u32).map(PacketId) {
        let known = session.packet(packet).expect("a packet");
        for (_, facts) in session.messages_of(packet) {
            // Of a fragment the whole is told.
            if let Some(place) = facts.reliable_sequence.filter(|_| facts.fragment.is_none()) {
                let key = (known.from, known.to, place.value);
                copies.entry(key).or_default().push(packet);
            }
        }
    }
    let mended = copies.into_values().filter_map(|copies| {
        let came = |&packet: &PacketId| session.packet(packet).and_then(|it| it.received);
        let first_to_come = copies
            .iter()
            .filter_map(|it| Some((came(it)?.time, *it)))
            .min();
        let (at, again) = first_to_come?;
        let before = copies.iter().take_while(|&&it| it != again);
        let before: Vec<&PacketId> = before.collect();
        let is_lost = |&&it: &&PacketId| session.packet(it).is_some_and(|it| it.fate == Fate::Lost);
        let sent = session.packet(copies[0])?.sent?;
        let is_mended = !before.is_empty() && before.iter().all(is_lost);
        is_mended.then(|| (copies[0], again, at.0 - sent.time.0))
    });
    mended.collect()
}

#[test]
fn what_came_late_because_a_packet_was_lost_says_so() {
    let mut told = 0;
    for seed in 0..6 {
        for (mode, topology) in WAYS {
            let played = Played::to_rest(&boxes(seed, mode, topology));
            let (session, history) = (&played.session, &played.history);
            for (lost, again, late_ns) in mended(&played) {
                let why = Why::of_packet(session, history, again).expect("a packet");
                let found = why.steps.iter().find_map(|step| match step.fact {
                    Fact::HandedOverLate {
                        behind: None,
                        lost: own,
                        again: by,
                        late_ns,
                        ..
                    } if (own, by) == (lost, again) => Some((late_ns, &step.fact)),
                    _ => None,
                });
                // Of a packet with more than eight messages the first ones are told.
                let Some((found_ns, fact)) = found else {
                    assert!(session.messages_of(again).count() > 8, "{lost:?} {again:?}");
                    continue;
                };
                assert!(found_ns >= late_ns, "{found_ns} {late_ns}");
                let sentence = fact.sentence(session, history);
                let because = format!("because packet {} was lost", lost.0);
                assert!(sentence.contains(&because), "{sentence}");
                told += 1;
            }
        }
    }
    assert!(told > 100, "{told}");
}
