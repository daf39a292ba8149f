//! What a session is asked by those who show it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use netreel_reel::{EventNumber, OwnedRecord, Reel};
use netreel_wire::{Kind, KindId, MessageFacts, PacketFacts, Role};

use super::traffic::{self, Traffic};
use crate::session::clock::map::ClockMap;
use crate::session::facts::parts::Shape;
use crate::session::facts::reader::Reader;
use crate::session::facts::said::Said;
use crate::session::facts::shape::Messages;
use crate::session::facts::told::Told;
use crate::session::facts::values::Values;
use crate::session::read::connections::Connection;
use crate::session::read::ends::{Ends, Side};
use crate::session::weave::rows::Track;
use crate::session::{
    Crossing, Interface, Look, Measured, Message, MessageId, Node, NodeId, ObjectFact, ObserverId,
    Packet, PacketId, Session, SessionTime, Stamp, Turn,
};

impl Session {
    /// What the times of packets between two nodes are the times of.
    pub fn measured(&self, from: NodeId, to: NodeId) -> Measured {
        let at_proxy = |node: NodeId| self.node(node).is_some_and(|node| node.proxied);
        match (at_proxy(from), at_proxy(to)) {
            (false, false) => Measured::Whole,
            (false, true) => Measured::ToProxy,
            (true, false) => Measured::FromProxy,
            (true, true) => Measured::InProxy,
        }
    }

    /// Where a node was captured; nothing where it was not.
    pub(crate) fn captured_at(&self, node: NodeId) -> &[Interface] {
        self.node(node).map_or(&[], |node| &node.interfaces)
    }

    /// A session of nodes that sent nothing.
    pub fn without_packets(nodes: Vec<Node>, span: Range<SessionTime>) -> Session {
        Session {
            nodes,
            span,
            ..Session::default()
        }
    }

    /// How many packets there are.
    pub fn packet_count(&self) -> usize {
        self.rows.len()
    }

    /// All packets, in order.
    pub fn packets(&self) -> impl ExactSizeIterator<Item = Packet> + '_ {
        self.packets_from(PacketId(0))
    }

    /// The packet with this number.
    pub fn packet(&self, packet: PacketId) -> Option<Packet> {
        self.rows.get(packet)
    }

    /// The numbers of all packets, in order.
    pub(crate) fn packet_ids(&self) -> impl DoubleEndedIterator<Item = PacketId> + use<> {
        (0..self.packet_count() as u32).map(PacketId)
    }

    /// The packets from the last one back to one that was sent, or else first seen, before a moment: they
    /// are in the order of time, as far as no node's clock was set back.
    pub(crate) fn packets_since(&self, time: SessionTime) -> impl Iterator<Item = PacketId> + '_ {
        let packets = (0..self.rows.len()).rev();
        let packets = packets.map(|row| PacketId(row as u32));
        packets.take_while(move |&packet| {
            let told = self.rows.teller(packet);
            told.is_none_or(|(track, side, place)| track.time(side, place) >= time)
        })
    }

    /// What passed on each link that had packets. Worked out when it is first asked for.
    pub fn traffic(&self) -> &BTreeMap<(NodeId, NodeId), Traffic> {
        let traffic = || traffic::traffic(&self.rows, self.workers());
        self.traffic.get_or_init(traffic)
    }

    /// Of each link on which a packet arrived that has both a send and a receipt, how long the
    /// shortest way took and how long the longest, in ns.
    pub(crate) fn ways(&self) -> &BTreeMap<(NodeId, NodeId), (i64, i64)> {
        &self.ways
    }

    /// How long the longest way of all took, in ns; 0 where no packet is known to have arrived.
    pub fn longest_way_ns(&self) -> i64 {
        self.ways
            .values()
            .map(|(_, longest)| *longest)
            .max()
            .unwrap_or(0)
    }

    /// How many packets a node's reel says that it sent, and how many that it received, each once.
    /// `None` where it was not recorded.
    pub fn counts(&self, node: NodeId) -> Option<(u64, u64)> {
        let track = self.track(node)?;
        let known = self.rows.tracks.get(track)?;
        let odd = self.rows.odd.values();
        let again = odd.flat_map(|odd| odd.received.iter().skip(1));
        let again = again.filter(|&&end| self.rows.places.find(end).0 == track);
        let receives = known.side(Side::Receive).len();
        let received = receives.saturating_sub(again.count());
        Some((known.side(Side::Send).len() as u64, received as u64))
    }

    /// The pairs of nodes between which packets went, from whom to whom, each once.
    pub fn links(&self) -> &[(NodeId, NodeId)] {
        &self.rows.links
    }

    /// For each packet the place of its link among these.
    pub(crate) fn link_numbers(&self) -> impl Iterator<Item = usize> + '_ {
        self.rows.link.iter().map(|link| link as usize)
    }

    /// For each packet how many messages it has; behind the last one none.
    pub(crate) fn message_counts(&self) -> impl Iterator<Item = u32> + '_ {
        self.told().counts().chain(std::iter::repeat(0))
    }

    /// Who sent a packet, and to whom.
    pub fn link(&self, packet: PacketId) -> Option<(NodeId, NodeId)> {
        let row = packet.0 as usize;
        let link = (row < self.rows.len()).then(|| self.rows.link.get(row))?;
        self.rows.links.get(link as usize).copied()
    }

    /// When a packet left its sender, and whether that is its send, or else when it was first seen.
    pub(crate) fn departed(&self, packet: PacketId) -> Option<(bool, Stamp)> {
        let (track, side, place) = self.rows.teller(packet)?;
        let stamp = track.stamp(side, place);
        match side {
            Side::Send => Some((true, stamp)),
            Side::Seen => Some((false, stamp)),
            Side::Receive => None,
        }
    }

    /// When a packet was sent, where its sender's reel tells.
    pub(crate) fn send_of(&self, packet: PacketId) -> Option<Stamp> {
        let (is_sent, at) = self.departed(packet)?;
        is_sent.then_some(at)
    }

    /// When a packet was sent, or else first seen on its way.
    pub(crate) fn left(&self, packet: PacketId) -> Option<Stamp> {
        self.departed(packet).map(|(_, at)| at)
    }

    /// What makes the session's times of those in a node's reel.
    pub(crate) fn clock(&self, node: NodeId) -> Option<&ClockMap> {
        Some(&self.track_of(node)?.clock)
    }

    /// The clock of an observer's reel.
    pub(crate) fn clock_of_observer(&self, observer: ObserverId) -> Option<&ClockMap> {
        let mut tracks = self.rows.tracks.iter();
        let track = tracks.find(|track| track.observer == Some(observer))?;
        Some(&track.clock)
    }

    /// How far a node's clock may be off the session's when it sent or received with an event;
    /// [`u64::MAX`] where nothing tells. `None` where the event is none of these.
    ///
    /// [`Node::clock_error_ns`] is the most that this is, but around a moment when the clock was
    /// set.
    pub fn clock_error_at(&self, node: NodeId, number: EventNumber) -> Option<u64> {
        let track = self.track_of(node)?;
        [Side::Send, Side::Receive].into_iter().find_map(|side| {
            let ends = track.side(side);
            let time = ends.time(ends.find(number)?);
            Some(track.clock_error_ns(number, time))
        })
    }

    /// When a node last sent something, and the longest time between two of its sends; `None` where it
    /// sent nothing.
    pub(crate) fn sent(&self, node: NodeId) -> Option<(SessionTime, i64)> {
        let track = self.track_of(node)?;
        let rhythm = track.side(Side::Send).rhythm();
        let [first, latest] =
            [rhythm.first, rhythm.latest].map(|time| track.clock.time_alone(time));
        let is_told = |time: SessionTime| time.0.saturating_abs() < SessionTime::MAX.0;
        if matches!(track.clock, ClockMap::Shift(_)) && is_told(first) && is_told(latest) {
            let is_any = !track.side(Side::Send).is_empty();
            let longest = i64::try_from(rhythm.longest_ns).unwrap_or(i64::MAX);
            return is_any.then_some((latest, longest));
        }
        let mut sent: Option<(SessionTime, i64)> = None;
        for time in track.times(Side::Send) {
            let (last, longest) = sent.unwrap_or((time, 0));
            let since = time.0.saturating_sub(last.0);
            sent = Some((last.max(time), longest.max(since)));
        }
        sent
    }

    /// When a node first sent something after a moment.
    pub(crate) fn sends_after(&self, node: NodeId, time: SessionTime) -> Option<SessionTime> {
        let track = self.track_of(node)?;
        let sends = track.side(Side::Send);
        // Times are in order but for a moment here and there.
        let place = track.clock.place_of(sends, time);
        let mut times = (place..sends.len()).map(|place| track.time(Side::Send, place));
        times.find(|&at| at > time)
    }

    /// When the game made its last call before the last tick of a node, or that tick began, or a
    /// little earlier; `None` where its reel has no ticks.
    pub(crate) fn last_asked(&self, node: NodeId) -> Option<SessionTime> {
        let turn = self.turn_at(node, EventNumber(u64::MAX))?;
        let track = self.track_of(node)?;
        let before = [Side::Send, Side::Receive].into_iter().filter_map(|side| {
            let place = track.side(side).lower_bound(turn.begins).checked_sub(1)?;
            Some(track.time(side, place))
        });
        let asked = turn.asked.map(|asked| asked.time);
        asked.or(before.max()).or(Some(SessionTime(i64::MIN)))
    }

    /// How long a packet may be on its way, as far as all that arrived shows; `None` where what was
    /// read may still be told otherwise.
    pub(crate) fn wait_ns(&self) -> Option<i64> {
        self.wait_ns
    }

    /// Up to when all reels were read, but for those that no more will come of; `None` where that
    /// is so of all.
    pub fn read_until(&self, is_over: impl Fn(&Reel) -> bool) -> Option<SessionTime> {
        let nodes = self.nodes.iter().zip(&self.reels);
        let nodes = nodes.filter_map(|(node, reel)| Some((reel.as_ref()?, node.span.end)));
        let observers = self.observers.iter().map(|it| (&it.reel, it.span.end));
        let going_on = nodes.chain(observers).filter(|(reel, _)| !is_over(reel));
        going_on.map(|(_, end)| end).min()
    }

    /// Whether packets seem to arrive before they were sent.
    pub(crate) fn has_early_packets(&self) -> bool {
        self.early
    }

    /// The packets that do not fit the wire, in order.
    pub fn unfit_packets(&self) -> impl Iterator<Item = PacketId> + '_ {
        self.told().unfit().iter().map(|&packet| PacketId(packet))
    }

    /// Whether the wire has messages that do this.
    pub(crate) fn has_role(&self, role: Role) -> bool {
        let kinds = self.kinds();
        kinds.iter().any(|kind| kind.role == role)
    }

    /// How many processors work on it.
    pub(crate) fn workers(&self) -> usize {
        self.workers.max(1)
    }

    /// What the wire says of all packets. The first call reads the reels again.
    pub(crate) fn told(&self) -> &Told {
        self.told.get_or_init(|| match &self.wire {
            Some(wire) => Told::new(&self.rows, wire, self.workers, Vec::new()),
            None => Told::default(),
        })
    }

    /// Reads what is known of packets one after the other.
    pub(crate) fn reader(&self) -> Reader<'_> {
        self.told().reader(&self.rows)
    }

    /// Hands over what messages tell of properties and snapshots: the packet, the message's number, and what;
    /// in the order of packets. Values get numbers among `values`.
    pub(crate) fn properties(
        &self,
        values: &mut Values,
        take: impl FnMut(PacketId, u32, ObjectFact),
    ) {
        self.told().properties(&self.rows, values, take);
    }

    /// How many messages there are.
    pub fn message_count(&self) -> usize {
        self.told().messages() as usize
    }

    /// What the wire says of a packet, without its messages. `None` where there is no such packet.
    pub fn said(&self, packet: PacketId) -> Option<Said> {
        self.rows.told(packet)?;
        let mut said = Said::default();
        self.read_said(packet, &mut said);
        Some(said)
    }

    /// What the wire says of a packet, for who looks at a few of very many: where the wire keeps no
    /// state, and nobody has asked yet what it says of all of them, this packet alone is read.
    pub fn look(&self, packet: PacketId) -> Look {
        let wire = self.wire.as_ref().filter(|wire| !wire.has_state());
        if let Some(wire) = wire
            && self.told.get().is_none()
            && !self.is_small()
        {
            let mut facts = PacketFacts::default();
            if let Some((context, mut state)) = self.surroundings(packet)
                && let Some(payload) = self.payload(packet)
            {
                wire.facts_in(&context, &mut state, &payload, &mut facts);
            }
            return Look {
                protocol: facts.protocol,
                sequence: facts.sequence,
                messages: facts.messages,
            };
        }
        let said = self.said(packet).unwrap_or_default();
        let messages = self.messages_of(packet).map(|(_, facts)| facts);
        Look {
            protocol: said.protocol,
            sequence: said.sequence,
            messages: messages.collect(),
        }
    }

    /// Whether [`Session::look`] and [`Session::decode`] answer without working out what the wire
    /// says of all of very many packets.
    pub fn looks_at_once(&self) -> bool {
        let has_state = self.wire.as_ref().is_some_and(|wire| wire.has_state());
        !has_state || self.is_small() || self.told.get().is_some()
    }

    /// How many bytes the longest packet has.
    pub fn longest(&self) -> u32 {
        let sides = self.rows.tracks.iter().flat_map(|track| &track.sides);
        sides.map(Ends::longest).max().unwrap_or(0)
    }

    /// The numbers of a packet's messages.
    pub(crate) fn message_numbers(&self, packet: PacketId) -> Range<u32> {
        let told = self.told();
        let next = PacketId(packet.0.saturating_add(1));
        told.messages_before(packet)..told.messages_before(next)
    }

    /// The messages of a packet, in wire order.
    pub fn messages_of(
        &self,
        packet: PacketId,
    ) -> impl Iterator<Item = (MessageId, MessageFacts)> + '_ {
        let known = self.told().messages_of(&self.rows, packet);
        known.into_iter().flat_map(|(numbers, messages)| {
            let ids = (numbers.start..).map(MessageId);
            ids.zip(messages)
        })
    }

    /// The messages of a packet; what the wire says of it is written over what stands in `said`.
    pub(crate) fn read_said(&self, packet: PacketId, said: &mut Said) -> Option<Messages<'_>> {
        let end = self.rows.told(packet);
        let messages = end.and_then(|end| self.told().read(&self.rows, packet, end, said));
        if messages.is_none() {
            *said = Said::default();
        }
        messages
    }

    /// Those of a packet's messages whose shapes fit, in wire order.
    pub(crate) fn messages_that(
        &self,
        packet: PacketId,
        fits: impl Fn(&Shape) -> bool,
    ) -> impl Iterator<Item = (MessageId, MessageFacts)> {
        let known = self.told().messages_of(&self.rows, packet);
        let those = known.map(|(numbers, messages)| {
            let those = messages.those(fits);
            those.map(move |(nth, facts)| (MessageId(numbers.start + nth), facts))
        });
        those.into_iter().flatten()
    }

    /// All messages, in order.
    pub fn messages(&self) -> impl Iterator<Item = Message> + '_ {
        let packets = (0..self.rows.len()).map(|place| PacketId(place as u32));
        packets.flat_map(|packet| {
            let messages = self.messages_of(packet);
            messages.map(move |(_, facts)| Message { packet, facts })
        })
    }

    /// The message with this number.
    pub fn message(&self, message: MessageId) -> Option<Message> {
        let (packet, facts) = self.told().message(&self.rows, message)?;
        Some(Message { packet, facts })
    }

    /// The packet that carries a message.
    pub fn carrier(&self, message: MessageId) -> Option<PacketId> {
        self.told().carrier(message)
    }

    /// What could not be read or is not certain, each a sentence for people. What is said of packets
    /// that do not fit the wire is there once somebody has asked what the wire says, and always of
    /// a session that is [small](Session::is_small).
    pub fn warnings(&self) -> Vec<String> {
        let told = match self.is_small() {
            true => Some(self.told()),
            false => self.told.get(),
        };
        let mut warnings = self.warnings.before.clone();
        warnings.extend(told.and_then(|told| self.unfit(told.unfit().len() as u64)));
        warnings.extend(told.map(Told::spent).unwrap_or_default());
        warnings.extend(self.warnings.after.iter().cloned());
        warnings.extend(self.warnings.added.iter().cloned());
        warnings
    }

    /// Whether it has so few packets that nobody waits for what the wire says of them: up to
    /// 100 000.
    pub fn is_small(&self) -> bool {
        self.rows.len() <= SMALL
    }

    /// Adds to [`Session::warnings`].
    pub fn warn(&mut self, sentences: impl IntoIterator<Item = String>) {
        self.warnings.added.extend(sentences);
    }

    fn unfit(&self, unfit: u64) -> Option<String> {
        let wire = self.wire.as_ref()?;
        (unfit > 0).then(|| {
            format!(
                "{unfit} of {} not fit {}: what is said of them may be wrong",
                match self.rows.len() {
                    1 => "1 packet does".to_owned(),
                    count => format!("{count} packets do"),
                },
                match wire.protocols().len() {
                    1 => format!("the wire {}", wire.name()),
                    _ => "any protocol of the wire".to_owned(),
                },
            )
        })
    }

    /// How many bytes of memory the packets take, and what the wire says of them as far as that was
    /// asked for, by what they are for.
    pub fn memory(&self) -> Vec<(&'static str, usize)> {
        let mut memory = self.rows.memory();
        memory.extend(self.told.get().map(Told::memory).unwrap_or_default());
        memory
    }

    /// The reel that tells of a node.
    pub(crate) fn reel(&self, node: NodeId) -> Option<&Arc<Reel>> {
        node.of(&self.reels)?.as_ref()
    }

    /// The recorded nodes, each reel once: a proxy's tells of several, and lacks what it lacks once.
    pub(crate) fn recorded_nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.numbered_nodes().filter(|(id, node)| {
            let mut before = self.reels.iter().take(usize::from(id.0)).flatten();
            let is_its = |reel| before.any(|other| Arc::ptr_eq(other, reel));
            node.recorded && !self.reel(*id).is_some_and(is_its)
        })
    }

    /// One event of a node's reel.
    pub fn record(&self, node: NodeId, number: EventNumber) -> Option<OwnedRecord> {
        self.reel(node)?.record(number)
    }

    /// A node; `None` where there is no such one.
    pub fn node(&self, node: NodeId) -> Option<&Node> {
        node.of(&self.nodes)
    }

    /// All nodes, each with its number.
    pub(crate) fn numbered_nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        (0u16..).map(NodeId).zip(&self.nodes)
    }

    /// A node's name; its number where there is no such node.
    pub fn name(&self, node: NodeId) -> String {
        match self.node(node) {
            Some(node) => node.name.clone(),
            None => format!("node {}", node.0),
        }
    }

    /// What people call an observer.
    pub fn observer_name(&self, observer: ObserverId) -> String {
        match self.observers.get(usize::from(observer.0)) {
            Some(observer) => observer.name.clone(),
            None => format!("observer {}", observer.0),
        }
    }

    /// What people call the peer with this protocol number.
    pub fn peer_name(&self, peer: u64) -> String {
        match self.node_of_peer(peer) {
            Some(node) => self.name(node),
            None => format!("peer {peer}"),
        }
    }

    /// The first node that says it has this protocol number.
    pub fn node_of_peer(&self, peer: u64) -> Option<NodeId> {
        let place = self.nodes.iter().position(|node| node.peer == Some(peer))?;
        u16::try_from(place).ok().map(NodeId)
    }

    /// The packet that an event of a node's reel sent or received; of a node that was not recorded,
    /// the one that passed an observer as this event of its reel.
    pub fn packet_at(&self, node: NodeId, number: EventNumber) -> Option<Crossing> {
        match self.track(node) {
            Some(track) => self.rows.at(track, number),
            None => self.seen_at(node, number),
        }
    }

    pub(super) fn track(&self, node: NodeId) -> Option<usize> {
        node.of(&self.tracks).copied().flatten()
    }

    pub(super) fn track_of(&self, node: NodeId) -> Option<&Track> {
        self.rows.tracks.get(self.track(node)?)
    }

    /// Each connection of a node, in the order of their first packets; none where the node was not
    /// recorded.
    pub fn connections(&self, node: NodeId) -> &[Connection] {
        self.track_of(node).map_or(&[], |track| &track.connections)
    }

    /// The tick of a node in which an event lies.
    pub fn turn_at(&self, node: NodeId, number: EventNumber) -> Option<Turn> {
        let track = self.track_of(node)?;
        let (begins, asked) = track.ticks.at(number)?;
        let asked = asked.map(|(number, time)| Stamp {
            number,
            time: track.time_of(number, time),
        });
        Some(Turn { begins, asked })
    }

    /// The kind of a message.
    pub fn kind(&self, message: MessageId) -> Option<&Kind> {
        self.kind_of(&self.message(message)?.facts)
    }

    /// The kinds of messages that the wire has.
    pub fn kinds(&self) -> &[Kind] {
        self.wire.as_ref().map_or(&[], |wire| wire.kinds())
    }

    /// The kind that facts say.
    pub fn kind_of(&self, facts: &MessageFacts) -> Option<&Kind> {
        let kind = facts.kind?;
        self.wire.as_ref()?.kinds().get(usize::from(kind.0))
    }

    /// What a message does.
    pub fn role(&self, facts: &MessageFacts) -> Role {
        self.role_of(facts.kind)
    }

    /// What messages of a kind do.
    pub(crate) fn role_of(&self, kind: Option<KindId>) -> Role {
        let kinds = self.kinds();
        let kind = kind.and_then(|kind| kinds.get(usize::from(kind.0)));
        kind.map_or(Role::Other, |kind| kind.role)
    }
}

/// See [`Session::is_small`].
const SMALL: usize = 100_000;
