//! Two sessions held against each other: where they first part, what was found in the one and not in
//! the other, and what became of objects.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use netreel_protocol::history::{Belief, History, Level};
use netreel_protocol::session::{NodeId, PacketId, Session, SessionTime};

use crate::Model;

/// Two sessions, held against each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// What is added to a time of the other session to get one of this: their first packets that
    /// differ lie above each other, or their begins where none does.
    pub offset_ns: i64,
    /// Where they part first.
    pub first: Option<PartingLink>,
    /// Each link of either.
    pub links: Vec<PartingLink>,
    /// Each finding of either.
    pub findings: Vec<ComparedFinding>,
    /// Objects that end otherwise, with what each node of both believed in the end.
    pub objects: Vec<ComparedObject>,
}

/// How a link of the one session goes on as in the other, and from where on not.
#[derive(Clone, Debug, PartialEq)]
pub struct PartingLink {
    /// From whom to whom.
    pub name: String,
    /// How many packets, from the first on, have the same bytes.
    pub equal: u64,
    /// How many packets it has, here and in the other one.
    pub packets: [u64; 2],
    /// The first packet that the other one has otherwise or not at all, here and there.
    pub at: [Option<PacketId>; 2],
    /// When those left.
    pub time: [Option<SessionTime>; 2],
}

/// A finding of one of them, or of both.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedFinding {
    /// Its sentence, of this session where both have it.
    pub sentence: String,
    /// How bad it is.
    pub level: Level,
    /// Its place in the history, here and in the other one.
    pub at: [Option<usize>; 2],
}

/// An object that ends otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedObject {
    /// Its number.
    pub object: u64,
    /// What was believed in the end, here and in the other one.
    pub end: [String; 2],
}

/// A session with what followed from it.
pub(crate) type Side = (Arc<Session>, Arc<History>);

impl PartingLink {
    /// Whether both have the same packets.
    pub fn is_same(&self) -> bool {
        self.at == [None, None]
    }
}

impl Comparison {
    pub(crate) fn new(one: &Side, other: &Side) -> Comparison {
        let (mine, theirs) = (by_link(&one.0), by_link(&other.0));
        let names: BTreeSet<&String> = mine.keys().chain(theirs.keys()).collect();
        let none = Vec::new();
        let links = names.into_iter().map(|name| {
            let packets = [&mine, &theirs].map(|links| links.get(name).unwrap_or(&none));
            link(name, [&one.0, &other.0], packets)
        });
        let links: Vec<PartingLink> = links.collect();
        let when = |link: &&PartingLink| link.time[0].or(link.time[1]);
        let parted = links.iter().filter(|link| !link.is_same());
        let first = parted.min_by_key(when).cloned();
        let both = first.as_ref().and_then(|it| it.time[0].zip(it.time[1]));
        let begins = (one.0.span.start, other.0.span.start);
        let (here, there) = both.unwrap_or(begins);
        Comparison {
            offset_ns: here.0.saturating_sub(there.0),
            first,
            links,
            findings: findings(one, other),
            objects: objects(one, other),
        }
    }
}

/// The packets of each link, by the names of its ends.
fn by_link(session: &Session) -> BTreeMap<String, Vec<PacketId>> {
    let mut links: BTreeMap<String, Vec<PacketId>> = BTreeMap::new();
    for id in (0..session.packet_count()).map(|id| PacketId(id as u32)) {
        if let Some((from, to)) = session.link(id) {
            let name = format!("{} → {}", session.name(from), session.name(to));
            links.entry(name).or_default().push(id);
        }
    }
    links
}

fn link(name: &str, sessions: [&Session; 2], packets: [&Vec<PacketId>; 2]) -> PartingLink {
    let [mine, theirs] = packets;
    let payload = |side: usize, id: &PacketId| sessions[side].payload(*id);
    let pairs = mine.iter().zip(theirs);
    let equal = pairs
        .take_while(|(one, other)| payload(0, one) == payload(1, other))
        .count();
    let at = packets.map(|packets| packets.get(equal).copied());
    let time = |side: usize| {
        let first = sessions[side].packet(at[side]?)?.first()?;
        Some(first.time)
    };
    PartingLink {
        name: name.to_owned(),
        equal: equal as u64,
        packets: packets.map(|packets| packets.len() as u64),
        time: [time(0), time(1)],
        at,
    }
}

fn findings(one: &Side, other: &Side) -> Vec<ComparedFinding> {
    type Key = (&'static str, String, Option<u64>, Level, usize);
    let keyed = |(session, history): &Side| {
        // Of several that are alike the first is the other's first.
        let mut seen: BTreeMap<Key, usize> = BTreeMap::new();
        let findings = history.findings.iter().enumerate().map(|(place, finding)| {
            let node = session.name(finding.node);
            let key = (finding.rule, node, finding.object, finding.level, 0);
            let count = seen.entry(key.clone()).or_default();
            *count += 1;
            ((key.0, key.1, key.2, key.3, *count), place)
        });
        findings.collect::<Vec<(Key, usize)>>()
    };
    let (mine, theirs) = (keyed(one), keyed(other));
    let there: BTreeMap<&Key, usize> = theirs.iter().map(|(key, place)| (key, *place)).collect();
    let here: BTreeSet<&Key> = mine.iter().map(|(key, _)| key).collect();
    let told = |side: &Side, place: usize, at: [Option<usize>; 2]| {
        let finding = side.1.findings.get(place)?;
        Some(ComparedFinding {
            sentence: finding.sentence.clone(),
            level: finding.level,
            at,
        })
    };
    let first = mine
        .iter()
        .filter_map(|(key, place)| told(one, *place, [Some(*place), there.get(key).copied()]));
    let second = theirs.iter().filter(|(key, _)| !here.contains(key));
    let second = second.filter_map(|(_, place)| told(other, *place, [None, Some(*place)]));
    let mut all: Vec<ComparedFinding> = first.chain(second).collect();
    // What only one of them has comes first, then the worst.
    all.sort_by_key(|it| {
        let is_both = it.at[0].is_some() && it.at[1].is_some();
        (is_both, std::cmp::Reverse(it.level))
    });
    all
}

fn objects(one: &Side, other: &Side) -> Vec<ComparedObject> {
    let objects: BTreeSet<&u64> = one.1.objects.keys().chain(other.1.objects.keys()).collect();
    let ends = objects.into_iter().map(|&object| ComparedObject {
        object,
        end: [end(one, object), end(other, object)],
    });
    ends.filter(|it| it.end[0] != it.end[1]).collect()
}

/// What was believed of an object in the end: `HOST, A, B: destroyed; X: orphan of A`.
fn end((session, history): &Side, object: u64) -> String {
    let Some(known) = history.objects.get(&object) else {
        return "never heard of".to_owned();
    };
    let name = |peer: u64| {
        let mut nodes = session.nodes.iter();
        let node = nodes.find(|node| node.peer == Some(peer));
        node.map_or_else(|| format!("peer {peer}"), |node| node.name.clone())
    };
    let mut said: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (&node, spans) in &known.lanes {
        let Some(last) = spans.last() else { continue };
        let belief = match last.belief {
            Belief::Owned(peer) => format!("{} owns it", name(peer)),
            Belief::Orphaned(peer) => format!("orphan of {}", name(peer)),
            Belief::Destroyed => "destroyed".to_owned(),
            Belief::Unknown => "unknown".to_owned(),
        };
        said.entry(belief).or_default().push(session.name(node));
    }
    let parts = said
        .into_iter()
        .map(|(belief, nodes)| format!("{}: {belief}", nodes.join(", ")));
    parts.collect::<Vec<String>>().join("; ")
}

impl Model {
    /// This session held against another one; `None` until it is worked out, which this begins.
    pub fn compared(&self, other: &Model) -> Option<Arc<Comparison>> {
        if self.lacks_history() || other.lacks_history() {
            return None;
        }
        let side = |model: &Model| {
            (
                Arc::clone(&model.session),
                Arc::clone(&model.judged.history),
            )
        };
        let (one, two) = (side(self), side(other));
        let key = (self.grown, Arc::as_ptr(&other.session) as usize);
        let work = move || Comparison::new(&one, &two);
        let is_quick = self.is_quick() && other.is_quick();
        let compared = &self.beside.compared;
        let (compared, is_it) = compared.get(&key, is_quick, &self.coming.wake, work)?;
        is_it.then_some(compared)
    }

    /// Shows this stretch of time and this moment, of a session that is shown below another one: no
    /// step back leads here.
    pub fn follow(&mut self, visible: Range<SessionTime>, cursor: Option<SessionTime>) {
        self.visible = visible;
        self.cursor = cursor;
    }

    /// A node by its name.
    pub fn node_named(&self, name: &str) -> Option<NodeId> {
        let nodes = self.session().nodes.iter();
        let place = nodes.into_iter().position(|node| node.name == name);
        place.map(|place| NodeId(place as u16))
    }
}
