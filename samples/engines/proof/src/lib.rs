//! What the tests of all engines ask of a recorded session.

use std::path::Path;
use std::sync::Arc;

use netreel_protocol::history::{Finding, History, Level};
use netreel_protocol::session::{Fate, NodeId, Packet, PacketId, ReelInput, Session};
use netreel_record::{OpenedReel, open_session};
use netreel_reel::{Ending, EventKind, OwnedRecord, Reel};
use netreel_replay::{Explanation, Report, explain};
use netreel_wire::{Keys, Wire};

/// A recorded session with its story.
pub struct Proof {
    /// The reels, by file name.
    pub reels: Vec<OpenedReel>,
    /// The packets of all nodes.
    pub session: Session,
    /// What followed from them.
    pub history: History,
}

/// Opens the session in `folder`, with the keys in its `keys.log` where there is one; every reel must open,
/// whole, without a warning.
pub fn open(folder: &Path) -> Proof {
    let opened = open_session(&[folder]).expect("the session opens");
    assert!(opened.failed.is_empty(), "{:?}", opened.failed);
    let inputs = opened.reels.iter().map(|opened| ReelInput {
        name: opened.path.display().to_string(),
        reel: Arc::clone(&opened.reel),
    });
    let keys = std::fs::read_to_string(folder.join("keys.log")).unwrap_or_default();
    let keys = Keys::parse(&keys).expect("a key log");
    let session = Session::builder().keys(keys).build(inputs.collect());
    let session = session.expect("the reels make a session");
    assert_eq!(session.warnings(), Vec::<String>::new());
    for opened in &opened.reels {
        assert_eq!(*opened.reel.ending(), Ending::Clean);
    }
    let history = History::build(&session);
    Proof {
        reels: opened.reels,
        session,
        history,
    }
}

impl Proof {
    /// The reel of a node.
    pub fn reel(&self, node: &str) -> Arc<Reel> {
        let mut reels = self.reels.iter().map(|opened| &opened.reel);
        let found = reels.find(|reel| reel.header().node == node);
        Arc::clone(found.unwrap_or_else(|| panic!("no reel of {node}")))
    }

    /// The node with this name.
    pub fn node(&self, name: &str) -> NodeId {
        let place = self.session.nodes.iter().position(|node| node.name == name);
        NodeId(place.unwrap_or_else(|| panic!("no node {name}")) as u16)
    }

    /// The packets from one node to another, in the order of the session.
    pub fn link(&self, from: &str, to: &str) -> Vec<Packet> {
        let (from, to) = (self.node(from), self.node(to));
        let packets = self.session.packets();
        packets
            .filter(|packet| packet.from == from && packet.to == to)
            .collect()
    }

    /// The events of a node, in order.
    pub fn events(&self, node: &str) -> Vec<OwnedRecord> {
        let mut records = Vec::new();
        let reel = self.reel(node);
        let walk = reel.for_each(|record| records.push(OwnedRecord::copy_of(record)));
        assert_eq!(walk.events, reel.len());
        records
    }

    /// How many packets were sent and how many of them were lost. Every packet of the session was
    /// sent by a recorded node and either received or lost; none came from nowhere. What was sent
    /// just before its receiver stopped recording may be unknown, and is counted as lost.
    pub fn sent_and_lost(&self) -> (usize, usize) {
        let count = |kind| -> u64 {
            let counts = self.reels.iter().map(|opened| opened.reel.counts());
            counts.filter_map(|counts| counts.get(&kind).copied()).sum()
        };
        let fate = |fate| {
            let packets = self.session.packets();
            packets.filter(|packet| packet.fate == fate).count()
        };
        let (sent, received) = (count(EventKind::Sent), count(EventKind::Received));
        let (arrived, lost) = (fate(Fate::Received), fate(Fate::Lost) + self.unknown());
        let copies: usize = self
            .session
            .packets()
            .map(|each| each.duplicates.len())
            .sum();
        assert_eq!(
            sent,
            self.session.packet_count() as u64,
            "each send is a packet"
        );
        assert_eq!(
            received,
            (arrived + copies) as u64,
            "each receipt is of a packet"
        );
        assert_eq!(
            sent,
            (arrived + lost) as u64,
            "each packet was received or lost"
        );
        for packet in self.session.packets() {
            if let (Some(sent), Some(received)) = (packet.sent, packet.received) {
                assert!(sent.time <= received.time, "{packet:?}");
            }
        }
        (sent as usize, lost)
    }

    /// How many packets are neither known to be received nor lost. The rule is the session's own:
    /// twice the longest latency of the link and at least 100 ms.
    fn unknown(&self) -> usize {
        let packets = self.session.packets();
        let unknown = packets.filter(|packet| packet.fate == Fate::Unknown);
        let links = self.history.links(&self.session);
        let late = unknown.filter(|packet| {
            let link = links.get(&(packet.from, packet.to));
            let latency = link.and_then(|link| link.latency_ns).map_or(0, |it| it.2);
            let end = self.session.nodes[usize::from(packet.to.0)].span.end;
            let sent = packet.sent.expect("a send").time;
            assert!(
                end.0 - sent.0 <= (2 * latency).max(100_000_000),
                "{packet:?}"
            );
            true
        });
        late.count()
    }

    /// The packets arrived in the order in which they were sent, on every link.
    pub fn in_order(&self) {
        let links = self.history.links(&self.session).values();
        assert_eq!(links.map(|link| link.reordered).sum::<u64>(), 0);
    }

    /// The wire inside the reels claims every packet and has nothing to say against one.
    pub fn decodes(&self) {
        assert!(self.session.wire.is_some(), "a reel brings a wire");
        for number in 0..self.session.packet_count() {
            let said = self.session.said(PacketId(number as u32));
            let said = said.unwrap_or_else(|| panic!("no packet {number}"));
            assert!(said.protocol.is_some(), "packet {number}: {said:?}");
            assert_eq!(said.diagnostics, 0, "packet {number}: {said:?}");
        }
    }

    /// What `netreel check` would end with 1 for, or warn of.
    pub fn faults(&self) -> Vec<&Finding> {
        let findings = self.history.findings.iter();
        findings.filter(|each| each.level != Level::Info).collect()
    }

    /// The first divergence of a replay, in words, down to the field.
    pub fn explained(&self, report: &Report) -> Explanation {
        let divergence = report.divergence().expect("a divergence");
        let wire: Option<&Wire> = self.session.wire.as_deref();
        explain(divergence, (wire, None), &|_| None)
    }
}
