//! `loss-pattern`: what is lost of a link follows something: the size of packets, their number, time, the
//! direction, or the place.
//!
//! Every packet above a size: a tunnel or a router on the way takes smaller ones than the sender thinks, and
//! says nothing. Every 64th: something on the way, or one of the two programs, counts. Both are warnings,
//! because resending cures neither. In bursts, one way far more than the other, and at one node or between
//! two far more than elsewhere: infos, that tell a wireless link or a full queue from losses by chance. What
//! chance alone explains is not told, and `loss_tests.rs` says how seldom it passes for a pattern. What
//! `silent-link` tells is not counted, nor what was lost before the first packet of a link that arrived and
//! after the last.

use super::loss_tests::{
    Passed, Pattern, Share, by_direction, by_place, by_time, explained, in_rows,
};
use super::prelude::*;
use crate::figures::{moment, ordinal, seconds};

/// Packets are looked at in pieces of this many.
const PIECE: usize = 4096;

/// How many packets of a link are looked at: the first.
const LOOKED_MAX: usize = 1 << 15;

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let session = case.session;
    let bounds = &session.bounds.loss_pattern;
    let traffic = session.traffic();
    let is_meant = |&(from, to): &Link| {
        let loses = |link| {
            traffic
                .get(&link)
                .is_some_and(|it| it.fate(Fate::Lost) >= bounds.lost)
        };
        (loses((from, to)) || loses((to, from)))
            && super::silent_link::is_known(session, (from, to))
    };
    let links = session.links().iter().copied().filter(is_meant);
    let mut passed: BTreeMap<Link, Passing> = links.map(|it| (it, Passing::default())).collect();
    if passed.is_empty() {
        return Vec::new();
    }
    for first in (0..session.packet_count()).step_by(PIECE) {
        let some = session.some(first, PIECE);
        for place in 0..some.len() {
            let link = some.links().get(some.link(place));
            let Some(passing) = link.and_then(|link| passed.get_mut(link)) else {
                continue;
            };
            let fate = some.fate(place);
            if fate == Fate::SendFailed || passing.known.len() == LOOKED_MAX {
                continue;
            }
            let nth = passing.count;
            passing.count += 1;
            if matches!(fate, Fate::Lost | Fate::Received) && !some.is_doubtful(place) {
                passing.known.push(Passed {
                    packet: some.number(place) as u32,
                    place: nth,
                    time_ns: some.time(place).0,
                    bytes: some.length(place),
                    is_lost: fate == Fate::Lost,
                });
            }
        }
    }
    let silent = &session.bounds.silent_link;
    let passed: BTreeMap<Link, Vec<Passed>> = passed
        .into_iter()
        .map(|(link, passing)| {
            let is_silence = |run: &[Passed]| {
                let ends = run.first().zip(run.last());
                let lasted = ends.map_or(0, |(first, last)| {
                    last.time_ns.saturating_sub(first.time_ns)
                });
                run.len() as u64 >= silent.packets && lasted >= silent.longest.0
            };
            (link, without_silence(&passing.known, is_silence))
        })
        .collect();
    let mut found = Vec::new();
    let mut rests = BTreeMap::new();
    for (&link, known) in &passed {
        let back = passed.get(&(link.1, link.0));
        let (of_it, rest) = of_link(session, link, known, back);
        found.extend(of_it);
        rests.insert(link, rest);
    }
    found.extend(of_places(session, &rests));
    // More may be lost, and it is counted.
    found
}

/// The packets of a link whose fate is known.
#[derive(Default)]
struct Passing {
    known: Vec<Passed>,
    /// How many were sent.
    count: u64,
}

/// The packets from the first that arrived to the last, without silences.
fn without_silence(all: &[Passed], is_silence: impl Fn(&[Passed]) -> bool) -> Vec<Passed> {
    let runs: Vec<&[Passed]> = all
        .chunk_by(|one, next| one.is_lost == next.is_lost)
        .collect();
    let last = runs.len().saturating_sub(1);
    let kept = runs.into_iter().enumerate().filter(|(place, run)| {
        let is_lost = run.first().is_some_and(|it| it.is_lost);
        !is_lost || *place != 0 && *place != last && !is_silence(run)
    });
    kept.flat_map(|(_, run)| run.iter().copied()).collect()
}

/// What is found of one link, and the packets that neither size nor number explains.
fn of_link(
    session: &Session,
    link: Link,
    all: &[Passed],
    back: Option<&Vec<Passed>>,
) -> (Vec<Found>, Vec<Passed>) {
    let bounds = &session.bounds.loss_pattern;
    let losses = |of: &[Passed]| of.iter().filter(|it| it.is_lost).count() as u64;
    let mut found = Vec::new();
    let mut rest = all.to_vec();
    while losses(&rest) >= bounds.lost
        && rest.len() as u64 >= bounds.packets
        && let Some((pattern, meant, others)) = explained(&rest)
    {
        found.extend(of_pattern(session, link, &pattern, &meant));
        rest = others;
    }
    if losses(&rest) < bounds.lost || (rest.len() as u64) < bounds.packets {
        return (found, rest);
    }
    if let Some((pattern, places)) = by_time(&rest) {
        let burst = rest.get(places).unwrap_or_default();
        found.extend(of_pattern(session, link, &pattern, burst));
    }
    if found.is_empty()
        && let Some(back) = back.filter(|it| it.len() as u64 >= bounds.packets)
        && by_direction(&rest[..], &back[..])
    {
        found.extend(one_way(session, link, (&rest[..], &back[..])));
    }
    (found, rest)
}

/// What is found of nodes at which far more is lost than between all others, and of two between which it is.
fn of_places(session: &Session, rests: &BTreeMap<Link, Vec<Passed>>) -> Vec<Found> {
    // Of each two nodes; of links that lose little, what was lost does not count by rows.
    let mut pairs: BTreeMap<Link, Share> = BTreeMap::new();
    for (&(from, to), traffic) in session.traffic() {
        if from == to || !super::silent_link::is_known(session, (from, to)) {
            continue;
        }
        let lost = traffic.fate(Fate::Lost);
        let all = Share {
            lost,
            all: lost + traffic.fate(Fate::Received),
        };
        let share = rests.get(&(from, to)).map_or(all, |it| in_rows(it));
        let pair = (from.min(to), from.max(to));
        pairs.entry(pair).or_default().add(share);
    }
    let nodes: BTreeSet<NodeId> = pairs.keys().flat_map(|it| [it.0, it.1]).collect();
    let single = nodes.iter().map(|&node| vec![node]);
    let places = single.chain(pairs.keys().map(|it| vec![it.0, it.1]));
    let mut told: BTreeSet<NodeId> = BTreeSet::new();
    let mut found = Vec::new();
    for place in places {
        let is_there = |pair: &Link| match place[..] {
            [node] => pair.0 == node || pair.1 == node,
            _ => place == [pair.0, pair.1],
        };
        let (mut there, mut others) = (Share::default(), Share::default());
        pairs.iter().for_each(|(pair, share)| {
            if is_there(pair) {
                there.add(*share)
            } else {
                others.add(*share)
            }
        });
        let own = || pairs.iter().filter(|(pair, _)| is_there(pair));
        // A node of one link is told of with the other end.
        let is_meant = place.len() == 2 || own().count() > 1;
        let are_all = own().all(|(_, share)| share.rate() * 2.0 >= there.rate());
        if is_meant
            && are_all
            && others.all > 0
            && place.iter().all(|it| !told.contains(it))
            && by_place(there, others, nodes.len() + pairs.len())
        {
            told.extend(&place);
            found.extend(at_place(session, &place, rests, (there, others)));
        }
    }
    found
}

fn of_pattern(
    session: &Session,
    (from, to): Link,
    pattern: &Pattern,
    meant: &[Passed],
) -> Option<Found> {
    let (name, other) = (session.name(from), session.name(to));
    let of = |share: &Share| format!("{} of {}", share.lost, share.all);
    let (level, sentence) = match pattern {
        Pattern::Size {
            bytes,
            large,
            small,
            within,
        } => {
            let passed = meant.iter().filter(|it| !it.is_lost);
            let largest = passed.map(|it| it.bytes).max();
            let largest = largest.map(|bytes| format!("; the largest that arrived has {bytes}"));
            let when = within.map(|(since, until)| {
                let [since, until] = [since, until].map(SessionTime);
                format!(" from {} to {}", seconds(since), moment(until))
            });
            let (largest, when) = (largest.unwrap_or_default(), when.unwrap_or_default());
            (
                Level::Warning,
                format!(
                    "the size: of what {name} sent to {other}{when}, {} packets of \
                     {bytes} bytes and more were lost, and {} smaller ones{largest}",
                    of(large),
                    of(small)
                ),
            )
        }
        Pattern::Number {
            every,
            meant,
            others,
            ..
        } => (
            Level::Warning,
            format!(
                "a number: of what {name} sent to {other}, every {} packet was lost \
                 ({}), and {} others",
                ordinal(*every),
                of(meant),
                of(others)
            ),
        ),
        Pattern::Bursts {
            count,
            lost,
            longest: (most, since, lasted),
        } => (
            Level::Info,
            format!(
                "time: {} packets that {name} sent to {other} in vain were lost in {}, \
                 the longest of {} within {} from {} on",
                of(lost),
                match count {
                    1 => "one burst".to_owned(),
                    count => format!("{count} bursts"),
                },
                packets(*most),
                duration(*lasted),
                moment(SessionTime(*since))
            ),
        ),
    };
    of_packets(session, (from, to), (level, sentence), meant)
}

/// That far more is lost one way.
fn one_way(
    session: &Session,
    (from, to): Link,
    (there, back): (&[Passed], &[Passed]),
) -> Option<Found> {
    let share = |of: &[Passed]| {
        let lost = of.iter().filter(|it| it.is_lost).count();
        let percent = lost as f64 * 100.0 / of.len().max(1) as f64;
        format!("{lost} of {} ({percent:.1} %)", packets(of.len() as u64))
    };
    let (name, other) = (session.name(from), session.name(to));
    let sentence = format!(
        "the direction: {} that {name} sent to {other} were lost, and {} the other \
         way",
        share(there),
        share(back)
    );
    of_packets(session, (from, to), (Level::Info, sentence), there)
}

/// That far more is lost at a node, or between two.
fn at_place(
    session: &Session,
    place: &[NodeId],
    rests: &BTreeMap<Link, Vec<Passed>>,
    (there, others): (Share, Share),
) -> Option<Found> {
    let share = |of: Share| {
        let percent = of.rate() * 100.0;
        format!("{} of {} ({percent:.1} %)", of.lost, packets(of.all))
    };
    let is_there = |&(from, to): &Link| match *place {
        [one, other] => [(one, other), (other, one)].contains(&(from, to)),
        _ => place.contains(&from) || place.contains(&to),
    };
    let names: Vec<String> = place.iter().map(|&it| session.name(it)).collect();
    let what = match &names[..] {
        [one, other] => format!("what {one} and {other} sent each other"),
        _ => format!("what {} sent and was sent", names.concat()),
    };
    let sentence = format!(
        "the place: of {what}, {} were lost, and {} between all others; packets that were \
         lost in a row count as one",
        share(there),
        share(others)
    );
    let mut all: Vec<Passed> = rests
        .iter()
        .filter(|(link, _)| is_there(link))
        .flat_map(|(_, passed)| passed.iter().copied())
        .collect();
    all.sort_unstable_by_key(|it| it.packet);
    let node = *place.last()?;
    of_packets(session, (node, node), (Level::Info, sentence), &all)
}

/// That what is lost follows something, with the first and the last loss of these packets.
fn of_packets(
    session: &Session,
    (_, to): Link,
    (level, sentence): (Level, String),
    packets: &[Passed],
) -> Option<Found> {
    let lost = || packets.iter().filter(|it| it.is_lost);
    let (first, last) = (lost().next()?, lost().next_back()?);
    let sent = |it: &Passed, what| sent(session, PacketId(it.packet), what);
    let pieces = [
        sent(first, "the first of them that was lost sent"),
        sent(last, "the last sent"),
    ];
    let sentence = format!("what is lost follows {sentence}");
    Some(Found::new(
        level,
        to,
        SessionTime(last.time_ns),
        pieces,
        sentence,
    ))
}
