//! What followed from the packets, arranged to be shown: all of a model that the session alone
//! cannot tell.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use netreel_protocol::history::{Finding, History, Level};
use netreel_protocol::session::{PacketId, Session};
use netreel_protocol::verdict::Judgement;

use crate::latest::Latest;
use crate::summary::{Summary, summaries};
use crate::why_rows::Led;

/// Some of the findings, as a filter takes them.
#[derive(Debug, Default)]
pub struct Findings {
    /// In the order of their list.
    pub order: Vec<usize>,
    /// Where each stands in it.
    places: BTreeMap<usize, usize>,
}

impl Findings {
    /// These, in this order.
    pub fn of(order: impl Iterator<Item = usize>) -> Findings {
        let order: Vec<usize> = order.collect();
        let places = order.iter().enumerate().map(|(row, &place)| (place, row));
        Findings {
            places: places.collect(),
            order,
        }
    }

    /// Where a finding stands among them.
    pub fn place(&self, finding: usize) -> Option<usize> {
        self.places.get(&finding).copied()
    }
}

/// A history, and what is computed of it once. By default that of a session of which nothing is
/// known yet.
#[derive(Default)]
pub struct Judged {
    pub history: Arc<History>,
    /// What `netreel check` says; `None` until the history is known.
    pub judgement: Option<Judgement>,
    pub summaries: Vec<Summary>,
    /// Where an object's summary is.
    pub summary_places: BTreeMap<u64, usize>,
    /// The findings in the order of their list.
    pub findings: Findings,
    pub finding_counts: [usize; 3],
    /// How many findings each rule has.
    pub rule_counts: BTreeMap<&'static str, usize>,
    /// Of all findings.
    pub marks: Marks,
    /// What led to the finding that was asked for last.
    pub why: Latest<usize, Arc<Led>>,
}

/// What findings leave on lanes and packets.
#[derive(Default)]
pub struct Marks {
    /// The worst finding that a packet proves, by packet.
    worst: Vec<(PacketId, Level)>,
    /// For each node, from the worst level down: the times of its flags and the findings.
    pub flags: Flags,
}

type Flags = Vec<[Vec<(i64, u32)>; 3]>;

impl Judged {
    /// Arranges a history. `unread` has a sentence for each reel that could not be read.
    pub fn new(session: &Session, history: Arc<History>, unread: &[String]) -> Judged {
        let summaries = summaries(&history);
        let (mut finding_counts, mut rule_counts) = ([0; 3], BTreeMap::new());
        for finding in &history.findings {
            finding_counts[rank(finding.level)] += 1;
            *rule_counts.entry(finding.rule).or_insert(0) += 1;
        }
        let objects = summaries.iter().map(|summary| summary.object);
        Judged {
            judgement: Some(Judgement::new(session, &history, Level::Error, unread)),
            summary_places: objects.zip(0..).collect(),
            summaries,
            findings: Findings::of(order(&history).into_iter()),
            finding_counts,
            rule_counts,
            marks: Marks::of(session, &history, &|_| true),
            why: Latest::default(),
            history,
        }
    }

    /// How many bytes of memory it takes beside the history, as far as that grows with the findings.
    pub fn memory(&self) -> usize {
        self.marks.memory()
    }
}

impl Marks {
    /// Of the findings of a history that `is_shown` takes.
    pub fn of(session: &Session, history: &History, is_shown: &dyn Fn(&Finding) -> bool) -> Marks {
        let mut worst = Vec::new();
        let mut flags: Flags = vec![Default::default(); session.nodes.len()];
        let all = history.findings.iter().enumerate();
        for (place, finding) in all.filter(|(_, it)| is_shown(it)) {
            worst.extend(finding.proof().map(|piece| (piece.packet, finding.level)));
            if let Some(lane) = flags.get_mut(usize::from(finding.node.0)) {
                lane[rank(finding.level)].push((finding.time.0, place as u32));
            }
        }
        worst.sort_unstable_by_key(|&(packet, level)| (packet, Reverse(level)));
        worst.dedup_by_key(|(packet, _)| *packet);
        worst.shrink_to_fit();
        for level in flags.iter_mut().flatten() {
            level.sort_unstable();
            level.shrink_to_fit();
        }
        Marks { worst, flags }
    }

    /// The worst finding that a packet proves.
    pub fn worst(&self, packet: PacketId) -> Option<Level> {
        let place = self
            .worst
            .binary_search_by_key(&packet, |&(proof, _)| proof);
        self.worst.get(place.ok()?).map(|&(_, level)| level)
    }

    /// How many bytes of memory they take.
    pub fn memory(&self) -> usize {
        self.flags
            .iter()
            .flatten()
            .map(|times| times.capacity() * size_of::<(i64, u32)>())
            .sum::<usize>()
            + self.worst.capacity() * size_of::<(PacketId, Level)>()
    }
}

/// The places of the findings, the worst first, then by time.
pub fn order(history: &History) -> Vec<usize> {
    let mut order: Vec<usize> = (0..history.findings.len()).collect();
    order.sort_by_key(|&place| {
        let finding = history.findings.get(place);
        Reverse(finding.map(|finding| finding.level))
    });
    order
}

/// Where a level stands in an entry of [`Judged::flags`].
pub fn rank(level: Level) -> usize {
    match level {
        Level::Error => 0,
        Level::Warning => 1,
        Level::Info => 2,
    }
}
