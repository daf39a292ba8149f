//! `checksums-differ`: nodes told different checksums of one tick.
//!
//! Where every node works the game out for itself, their states have parted by then. The first tick counts:
//! all later ones follow from it. An error; a warning where they agree again at the end, and where nodes
//! that tell their checksums to a third one alone never told the same, as they may be of two games. A tick's
//! checksums are compared with those that were told within ten seconds of them, so that a game which
//! begins to count anew is not held against the one before.

use super::given::{self, Part};
use super::prelude::*;
use crate::history::ticks::{self, Checksum, Summed};

/// Words about one tick that are farther apart, in ns, are of two games.
const APART_NS: i64 = 10_000_000_000;

/// What one node told of one thing, by tick.
#[derive(Default)]
struct Teller {
    /// Each value once to each node, as it was told first.
    ticks: BTreeMap<i64, Vec<Checksum>>,
    to: BTreeSet<NodeId>,
}

/// Where two nodes part.
#[derive(Clone, Copy)]
struct Parting {
    /// Of the first tick of which they told different checksums.
    first: (Checksum, Checksum),
    /// Of the last one before it of which they told the same.
    before: Option<(Checksum, Checksum)>,
    /// Of how many ticks they told the same before it.
    same: u64,
    /// Of how many later ticks their checksums differ, and of how many both told one.
    differ_later: u64,
    later: u64,
    /// Whether they tell the same at the end.
    is_over: bool,
    /// Whether one of them told the other.
    is_direct: bool,
}

impl Parting {
    fn at(&self) -> SessionTime {
        let (one, other) = self.first;
        one.at.max(other.at)
    }
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let mut things: BTreeMap<Summed, BTreeMap<NodeId, Teller>> = BTreeMap::new();
    for word in ticks::checksums(case.session, case.streams) {
        let tellers = things.entry(word.of).or_default();
        tellers.entry(word.by).or_default().take(word);
    }
    let found = things.values().flat_map(|tellers| of_thing(case, tellers));
    // More may come, and they are counted.
    found.collect()
}

impl Teller {
    fn take(&mut self, word: Checksum) {
        self.to.insert(word.to);
        let told = self.ticks.entry(word.tick).or_default();
        let is_known = |known: &Checksum| known.value == word.value && known.to == word.to;
        // What is sent again is no new word.
        let mut near = told.iter().rev();
        if !near.any(|known| is_known(known) && word.at.0 - known.at.0 <= APART_NS) {
            told.push(word);
        }
    }

    /// What it told a node of a tick; where it tells that node nothing, what it told anybody.
    fn told(&self, tick: i64, to: NodeId) -> impl Iterator<Item = &Checksum> {
        let is_told = self.to.contains(&to);
        let told = self.ticks.get(&tick).into_iter().flatten();
        told.filter(move |word| !is_told || word.to == to)
    }
}

/// The findings about one thing: who parts from the others first, then who else.
fn of_thing(case: &Case<'_>, tellers: &BTreeMap<NodeId, Teller>) -> Vec<Found> {
    let mut partings: Vec<Parting> = Vec::new();
    for (&one, of_one) in tellers {
        for (&other, of_other) in tellers.range(one..).skip(1) {
            let is_direct = of_one.to.contains(&other) || of_other.to.contains(&one);
            let mut both = of_one.to.intersection(&of_other.to);
            // Who tells all others its own may lead several games.
            let has_judge = both.any(|third| !tellers.contains_key(third));
            if is_direct || has_judge {
                partings.extend(parting((one, of_one), (other, of_other), is_direct));
            }
        }
    }
    partings.sort_by_key(|parting| (parting.at(), parting.first.0.by, parting.first.1.by));
    let mut parted: BTreeSet<NodeId> = BTreeSet::new();
    let mut found = Vec::new();
    for it in &partings {
        let (one, other) = it.first;
        if parted.contains(&one.by) || parted.contains(&other.by) {
            continue;
        }
        let pairs = partings
            .iter()
            .map(|near| [near.first.0.by, near.first.1.by]);
        let near = pairs.filter(|pair| {
            let is_of_them = pair.contains(&one.by) || pair.contains(&other.by);
            is_of_them && !pair.iter().any(|by| parted.contains(by))
        });
        // Whom the two are compared with.
        let mut with: BTreeSet<NodeId> = near.flatten().collect();
        with.extend(agreeing(tellers, it, &parted));
        let groups = groups(tellers, it, &with);
        let odd = odd_of(&groups, it);
        parted.extend(groups.get(&odd).into_iter().flatten());
        found.push(finding(case, it, &groups, odd));
    }
    found
}

/// The nodes that told the same of the tick as one of the two, and speak with it.
fn agreeing(
    tellers: &BTreeMap<NodeId, Teller>,
    parting: &Parting,
    parted: &BTreeSet<NodeId>,
) -> Vec<NodeId> {
    let (one, other) = parting.first;
    let speak = |a: NodeId, b: NodeId| {
        let to = |a: NodeId| tellers.get(&a).map(|it| &it.to);
        let is_told = |a: NodeId, b: NodeId| to(a).is_some_and(|to| to.contains(&b));
        let both = || Some(to(a)?.intersection(to(b)?).next().is_some());
        is_told(a, b) || is_told(b, a) || both() == Some(true)
    };
    let nodes = tellers
        .keys()
        .copied()
        .filter(|node| !parted.contains(node));
    let agrees = |node: NodeId| {
        [one.by, other.by]
            .iter()
            .any(|&by| by == node || speak(by, node))
    };
    nodes.filter(|&node| agrees(node)).collect()
}

/// The nodes by what they told of the tick at which two part.
fn groups(
    tellers: &BTreeMap<NodeId, Teller>,
    parting: &Parting,
    with: &BTreeSet<NodeId>,
) -> BTreeMap<u64, Vec<NodeId>> {
    let (one, other) = parting.first;
    let mut groups: BTreeMap<u64, Vec<NodeId>> = BTreeMap::new();
    for &node in with {
        let value = match node {
            node if node == one.by => Some(one.value),
            node if node == other.by => Some(other.value),
            node => tellers.get(&node).and_then(|teller| {
                let told = teller.ticks.get(&one.tick)?.iter();
                let mut near = told.filter(|word| are_near(word, &one));
                near.next().map(|word| word.value)
            }),
        };
        if let Some(value) = value {
            groups.entry(value).or_default().push(node);
        }
    }
    groups
}

/// Which value is the odd one: of fewer nodes, or of who told it last.
fn odd_of(groups: &BTreeMap<u64, Vec<NodeId>>, parting: &Parting) -> u64 {
    let (one, other) = parting.first;
    let count = |value: u64| groups.get(&value).map_or(0, Vec::len);
    if count(one.value) < count(other.value) {
        one.value
    } else {
        other.value
    }
}

fn are_near(one: &Checksum, other: &Checksum) -> bool {
    one.at.0.abs_diff(other.at.0) <= APART_NS as u64
}

/// Where two nodes part, if they do.
fn parting(
    (one, of_one): (NodeId, &Teller),
    (other, of_other): (NodeId, &Teller),
    is_direct: bool,
) -> Option<Parting> {
    // Of each tick of which both told something: the two words, and whether they are the same.
    let mut told: Vec<(Checksum, Checksum, bool)> = Vec::new();
    let ticks = of_one.ticks.keys();
    for &tick in ticks.filter(|tick| of_other.ticks.contains_key(tick)) {
        let mut pairs: Vec<(&Checksum, &Checksum)> = Vec::new();
        for own in of_one.told(tick, other) {
            let words = of_other.told(tick, one);
            pairs.extend(words.filter(|it| are_near(own, it)).map(|it| (own, it)));
        }
        let same = pairs.iter().find(|(own, it)| own.value == it.value);
        if let Some(&(own, it)) = same.or(pairs.first()) {
            told.push((*own, *it, same.is_some()));
        }
    }
    told.sort_by_key(|(own, it, _)| (own.at.max(it.at), own.tick));
    let place = told.iter().position(|&(_, _, is_same)| !is_same)?;
    let (own, it, _) = told[place];
    let before = told[..place].last().map(|&(own, it, _)| (own, it));
    let later = &told[place + 1..];
    Some(Parting {
        first: (own, it),
        before,
        same: place as u64,
        differ_later: later.iter().filter(|told| !told.2).count() as u64,
        later: later.len() as u64,
        is_over: later.last().is_some_and(|told| told.2),
        is_direct,
    })
}

fn finding(
    case: &Case<'_>,
    parting: &Parting,
    groups: &BTreeMap<u64, Vec<NodeId>>,
    odd: u64,
) -> Found {
    let session = case.session;
    let (one, other) = parting.first;
    let (odd, rest) = if one.value == odd {
        (one, other)
    } else {
        (other, one)
    };
    let of = |word: &Checksum| groups.get(&word.value).cloned().unwrap_or(vec![word.by]);
    let part = Part {
        odd,
        rest,
        before: parting.before.map(|(one, _)| one),
    };
    let given = given::until(case, &part);
    let may_be_of_two = parting.same == 0 && !parting.is_direct;
    let level = if parting.is_over || may_be_of_two {
        Level::Warning
    } else {
        Level::Error
    };
    let before = parting.before.map(|(one, other)| [one, other]);
    let words = before.into_iter().flatten().chain([rest, odd]);
    let told = words.filter_map(|word| told(session, &word));
    let mut evidence: Vec<Evidence> = told.chain(given.evidence).collect();
    evidence.sort_by_key(|it| (it.time, it.node, it.number));
    let sentence = format!(
        "{} told another checksum of tick {} than {}: {:#x} (packet {}) and {:#x} (packet \
         {}){}; {}",
        names(session, &of(&odd)),
        odd.tick,
        names(session, &of(&rest)),
        odd.value,
        odd.packet,
        rest.value,
        rest.packet,
        around(parting, may_be_of_two),
        given.words
    );
    Found::new(level, odd.by, parting.at(), evidence, sentence).about(odd.of.object)
}

/// What was told before and later.
fn around(parting: &Parting, may_be_of_two: bool) -> String {
    let before = match (parting.before, may_be_of_two) {
        (Some((word, _)), _) => format!("; until tick {} they told the same", word.tick),
        (None, true) => "; they never told the same, and may be of two games".to_owned(),
        (None, false) => "; they never told the same before".to_owned(),
    };
    let later = match (parting.differ_later, parting.later) {
        (_, 0) => String::new(),
        (differ, later) => format!(", {differ} of {later} later ticks differ"),
    };
    let over = if parting.is_over {
        ", and at the end they tell the same again"
    } else {
        ""
    };
    format!("{before}{later}{over}")
}

fn told(session: &Session, word: &Checksum) -> Option<Evidence> {
    let what = format!("checksum {:#x} of tick {} told", word.value, word.tick);
    sent_or_came(session, word.packet, &what)
}
