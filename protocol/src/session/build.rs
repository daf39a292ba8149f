//! From reels to a session.

mod nodes;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use netreel_reel::{Header, Time};
use netreel_wire::{Keys, PacketFacts, Wire};

use super::cast::{Cast, utc_ns};
use super::clock::{Alignment, align};
use super::connections::{Checkpoints, context, follow};
use super::cut::trim;
use super::groups::Listeners;
use super::holders::Holders;
use super::matching::{End, Matched, Side, assign, groups, samples, sight, sort};
use super::meeting::{met, one_meeting, proxied};
use super::proxied::{is_dropped, take_apart};
use super::scan::Scan;
use super::source::{ReelInput, Source, drop_copies, one_session, sources, wire_inside};
use super::{
    Crossing, Fate, Hole, Message, MessageId, Node, NodeId, Packet, PacketId, Session,
    SessionError, SessionTime, Sighting, Stamp, Way, fate, watched,
};

impl Session {
    /// Reads the reels of one play-through. The wire is the one inside the reels unless one is
    /// given.
    ///
    /// # Errors
    /// There is no reel, the reels belong to different sessions or never met, or there is more in
    /// them than ids can number. All else that is wrong is in [`Session::warnings`].
    pub fn build(reels: Vec<ReelInput>, wire: Option<Arc<Wire>>) -> Result<Session, SessionError> {
        Session::build_with_keys(reels, wire, Keys::default())
    }

    /// The same, with keys for the wire's encrypted layers.
    ///
    /// # Errors
    /// As for [`Session::build`].
    pub fn build_with_keys(
        reels: Vec<ReelInput>,
        wire: Option<Arc<Wire>>,
        keys: Keys,
    ) -> Result<Session, SessionError> {
        let mut warnings = Vec::new();
        let mut sources = sources(reels, &mut warnings);
        if sources.is_empty() {
            return Err(SessionError::NoReels);
        }
        one_session(&sources)?;
        let wire = wire.or_else(|| wire_inside(&sources, &mut warnings));
        let wire = match keys == Keys::default() {
            true => wire,
            false => wire.map(|wire| Arc::new(Arc::unwrap_or_clone(wire).with_keys(keys))),
        };
        drop_copies(&mut sources, &mut warnings);
        let proxies = take_apart(&mut sources, &mut warnings)?;
        let scans: Vec<Scan> = sources
            .iter_mut()
            .map(|each| std::mem::take(&mut each.scan))
            .collect();
        let headers: Vec<&Header> = sources.iter().map(|each| each.reel.header()).collect();
        let names: Vec<String> = sources.iter().map(|each| each.node.clone()).collect();
        let cast = Cast::new(&names, &headers, &scans, &mut warnings);
        let mut ends = ends(&cast, &headers, &scans)?;
        trim(&mut ends, &scans);
        sort(&mut ends, &scans);
        let anchors: Vec<_> = headers.iter().map(|header| &header.clock).collect();
        let clocks = align(&anchors, &samples(&ends, &scans));
        let mut met = met(&ends, &scans);
        met.extend(proxied(&sources));
        one_meeting(&sources, &scans, &met, &mut warnings)?;

        let mut builder = Builder::new(&sources, scans, cast, clocks, wire, warnings);
        builder.session.proxies = proxies;
        builder.nodes();
        builder.packets(&ends)?;
        builder.connections();
        watched::note_seen(&mut builder.session);
        builder.crossings();
        let from_start = builder.recorded_from_start();
        fate::decide(
            &mut builder.session.packets,
            &builder.session.nodes,
            &from_start,
        );
        builder.doubts();
        Ok(builder.session)
    }
}

/// Both ends of every packet, with the members that they belong to.
fn ends(cast: &Cast, headers: &[&Header], scans: &[Scan]) -> Result<Vec<End>, SessionError> {
    let limit = |what: &str, count: usize, max: u64| SessionError::TooLarge {
        what: format!("{count} {what}, and ids go up to {max}"),
    };
    if cast.members.len() > usize::from(u16::MAX) {
        return Err(limit(
            "nodes and endpoints",
            cast.members.len(),
            u64::from(u16::MAX),
        ));
    }
    let mut ends = Vec::new();
    let holders = Holders::new(cast, headers, scans);
    let listeners = Listeners::new(cast, headers, scans, &holders);
    for (reel, (scan, header)) in scans.iter().zip(headers).enumerate() {
        for side in [Side::Send, Side::Receive, Side::Seen] {
            let packets = scan.side(side);
            if u32::try_from(packets.len()).is_err() {
                return Err(limit(
                    "packets in one reel",
                    packets.len(),
                    u64::from(u32::MAX),
                ));
            }
            for (place, raw) in packets.iter().enumerate() {
                let utc = utc_ns(header, raw.time);
                let member = |endpoint| cast.member_at(endpoint, utc).unwrap_or(reel);
                let end = |from, to| End::new(from, to, side, reel as u16, place as u32, raw);
                let (sender, receiver) = match (holders.of(reel, side, place), side) {
                    (Some(ends), _) => ends,
                    (None, Side::Send) => (reel, member(raw.peer)),
                    (None, Side::Receive) => (member(raw.peer), reel),
                    (None, Side::Seen) => (scan.source(raw).map_or(reel, member), member(raw.peer)),
                };
                if side == Side::Receive {
                    ends.push(end(sender as u16, receiver as u16));
                    continue;
                }
                let reached = listeners.of(cast, (sender, raw), utc);
                ends.extend(reached.iter().map(|&to| end(sender as u16, to as u16)));
                if reached.is_empty() {
                    ends.push(end(sender as u16, receiver as u16));
                }
            }
        }
    }
    Ok(ends)
}

/// A session under way.
struct Builder<'a> {
    sources: &'a [Source],
    scans: Vec<Scan>,
    cast: Cast,
    clocks: Vec<Alignment>,
    /// The session's zero on the clock of the first reel.
    zero_ns: i128,
    /// For each member its node.
    node_of: Vec<NodeId>,
    session: Session,
}

impl<'a> Builder<'a> {
    fn new(
        sources: &'a [Source],
        scans: Vec<Scan>,
        cast: Cast,
        clocks: Vec<Alignment>,
        wire: Option<Arc<Wire>>,
        warnings: Vec<String>,
    ) -> Builder<'a> {
        let first = scans.iter().zip(&clocks).filter_map(|(scan, clock)| {
            scan.span
                .map(|(first, _)| i128::from(first.0) + clock.offset_ns)
        });
        let zero_ns = first.min().unwrap_or(0);
        let mut warnings = warnings;
        let spans = sources.iter().zip(&scans);
        let latest = spans.filter_map(|(source, scan)| {
            let (_, last) = scan.span?;
            Some(utc_ns(source.reel.header(), last))
        });
        if latest.max().is_some_and(|latest| latest > i64::MAX.into()) {
            warnings.push(
                "there are times beyond the year 2262, which stand here as the latest that can be \
                 told"
                    .to_owned(),
            );
        }
        let anchor = sources.first().map(|source| &source.reel.header().clock);
        let start_utc_ns = anchor.map_or(0, |anchor| {
            let utc_ns = i128::from(anchor.utc_ns) + zero_ns - i128::from(anchor.monotonic.0);
            utc_ns.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
        });
        let session = Session {
            wire,
            start_utc_ns,
            warnings,
            ..Session::default()
        };
        Builder {
            sources,
            scans,
            cast,
            clocks,
            zero_ns,
            node_of: Vec::new(),
            session,
        }
    }

    fn time(&self, reel: usize, time: Time) -> SessionTime {
        let offset_ns = self.clocks.get(reel).map_or(0, |clock| clock.offset_ns);
        let nanos = i128::from(time.0) + offset_ns - self.zero_ns;
        let max = i128::from(SessionTime::MAX.0);
        SessionTime(nanos.clamp(-max, max) as i64)
    }

    /// Whether a receipt that comes before every send was of a send that is not there: the
    /// sender's reel lacks its first events, and the receiver's has the same clock.
    fn lacks_sends(&self, from: u16, to: u16) -> bool {
        let reel = |member: u16| self.cast.members.get(usize::from(member))?.reel;
        let source = |reel: usize| self.sources.get(reel).map(|source| &source.reel);
        let (Some(from), Some(to)) = (reel(from), reel(to)) else {
            return false;
        };
        let (Some(sender), Some(receiver)) = (source(from), source(to)) else {
            return false;
        };
        let boot = &sender.header().clock.boot_id;
        let one_clock =
            from == to || (!boot.is_empty() && *boot == receiver.header().clock.boot_id);
        one_clock && sender.gaps().first().is_some_and(|gap| gap.first.0 == 0)
    }

    /// Matches, orders and decodes all packets.
    fn packets(&mut self, ends: &[End]) -> Result<(), SessionError> {
        let mut matched: Vec<Matched> = Vec::new();
        for group in groups(ends, &self.scans) {
            let Some(first) = group.first() else { continue };
            let error_ns = |member: u16| {
                let node = self.node_of.get(usize::from(member))?;
                self.session
                    .nodes
                    .get(usize::from(node.0))
                    .map(|node| node.clock_error_ns)
            };
            let (crossed, seen) =
                group.split_at(group.partition_point(|end| end.side != Side::Seen));
            let watched = seen
                .iter()
                .map(|end| self.clocks[usize::from(end.reel)].error_ns);
            let tolerance = error_ns(first.from)
                .unwrap_or(0)
                .saturating_add(error_ns(first.to).unwrap_or(0))
                .saturating_add(watched.max().unwrap_or(0));
            let tolerance_ns = i64::try_from(tolerance).unwrap_or(i64::MAX);
            let time = |end: &End| {
                end.raw(&self.scans)
                    .map_or(0, |raw| self.time(usize::from(end.reel), raw.time).0)
            };
            let first_new = matched.len();
            let lacks_sends = self.lacks_sends(first.from, first.to);
            let dropped = |end: &End| {
                let scan = self.scans.get(usize::from(end.reel));
                let faults = scan
                    .zip(end.raw(&self.scans))
                    .and_then(|(scan, raw)| scan.faults.get(&raw.number));
                faults.is_some_and(|faults| is_dropped(faults))
            };
            assign(
                crossed,
                tolerance_ns,
                lacks_sends,
                time,
                dropped,
                &mut matched,
            );
            let equal = |end: &End| end.payload(&self.scans) == first.payload(&self.scans);
            if first.side == Side::Receive && crossed.len() > 1 && crossed.iter().all(equal) {
                self.join_strays(first_new, &mut matched);
            }
            let interface = |end: &End| end.raw(&self.scans).map_or(0, |raw| raw.connection);
            let told = |end: &End| end.is_told(&self.scans);
            sight(
                seen,
                first_new,
                tolerance_ns,
                time,
                told,
                interface,
                &mut matched,
            );
        }
        self.unheard(&mut matched);
        let mut ordered: Vec<(SessionTime, NodeId, Packet, End)> = matched
            .iter()
            .filter_map(|each| self.packet(each))
            .collect();
        drop(matched);
        ordered.sort_unstable_by_key(|(time, node, packet, _)| {
            let stamp = packet.first().unwrap_or_default();
            (*time, *node, stamp.number, packet.to)
        });
        let too_many = |what: &str, count: usize| SessionError::TooLarge {
            what: format!("{count} {what}, and ids go up to {}", u32::MAX),
        };
        if u32::try_from(ordered.len()).is_err() {
            return Err(too_many("packets", ordered.len()));
        }
        self.session.packets.reserve_exact(ordered.len());
        let mut in_order = self.facts_in_order(&ordered);
        let mut facts = PacketFacts::default();
        for (place, (_, _, mut packet, end)) in ordered.into_iter().enumerate() {
            let payload = end.payload(&self.scans);
            match (&self.session.wire, in_order.get_mut(place)) {
                (_, Some(known)) => facts = std::mem::take(known),
                (Some(wire), None) => {
                    let context = context(&end, &self.scans);
                    wire.facts_in(&context, &mut wire.new_state(), payload, &mut facts);
                }
                (None, None) => {}
            }
            note(&mut self.session, &mut packet, payload, &mut facts);
            self.session.packets.push(packet);
            if u32::try_from(self.session.messages.len()).is_err() {
                return Err(too_many("messages", self.session.messages.len()));
            }
        }
        Ok(())
    }

    /// Of what was sent to a group there is a packet for each node that heard it. What nobody heard
    /// is one packet, to the group.
    fn unheard(&self, matched: &mut Vec<Matched>) {
        let group = |end: &End| {
            let utc = utc_ns(
                self.sources.get(usize::from(end.reel))?.reel.header(),
                end.raw(&self.scans)?.time,
            );
            self.cast.group_at(end.raw(&self.scans)?.peer, utc)
        };
        let key = |end: &End| (end.reel, end.side, end.place);
        let heard = matched.iter().filter(|each| !each.received.is_empty());
        let mut told: BTreeSet<(u16, Side, u32)> = heard
            .flat_map(|each| each.sent.iter().chain(&each.seen))
            .filter(|end| group(end).is_some())
            .map(key)
            .collect();
        matched.retain_mut(|each| {
            let outward = each.sent.iter().chain(&each.seen);
            let Some(first) = outward.clone().next().filter(|_| each.received.is_empty()) else {
                return true;
            };
            let Some(group) = group(first) else {
                return true;
            };
            let is_new = told.insert(key(first));
            told.extend(outward.map(key));
            for end in each.sent.iter_mut().chain(&mut each.seen) {
                end.to = group as u16;
            }
            is_new
        });
    }

    /// The facts of all packets, where the wire keeps state, so that each node's packets have to be
    /// looked at in the order of its reel; else nothing.
    fn facts_in_order(
        &mut self,
        ordered: &[(SessionTime, NodeId, Packet, End)],
    ) -> Vec<PacketFacts> {
        let Some(wire) = self.session.wire.clone().filter(|wire| wire.has_state()) else {
            return Vec::new();
        };
        // Several packets have one end where a group heard what was sent.
        let mut wanted: BTreeMap<(usize, Side, usize), Vec<usize>> = BTreeMap::new();
        for (place, (_, _, _, end)) in ordered.iter().enumerate() {
            let end = (usize::from(end.reel), end.side, end.place as usize);
            wanted.entry(end).or_default().push(place);
        }
        let mut all = Vec::new();
        all.resize_with(ordered.len(), PacketFacts::default);
        for (reel, scan) in self.scans.iter_mut().enumerate() {
            follow(scan, &wire, Checkpoints::default(), |side, place, facts| {
                let found = wanted
                    .get(&(reel, side, place))
                    .map_or(&[][..], Vec::as_slice);
                let Some((last, others)) = found.split_last() else {
                    return;
                };
                for &other in others {
                    if let Some(slot) = all.get_mut(other) {
                        slot.clone_from(facts);
                    }
                }
                if let Some(slot) = all.get_mut(*last) {
                    *slot = std::mem::take(facts);
                }
            });
        }
        all
    }

    /// Hands the connections of each reel to its node, or to who watched.
    fn connections(&mut self) {
        let observes = self.scans.iter_mut().filter(|scan| scan.observer);
        for (observer, scan) in self.session.observers.iter_mut().zip(observes) {
            observer.connections = std::mem::take(&mut scan.connections);
        }
        let session = &mut self.session;
        session
            .connections
            .resize_with(session.nodes.len(), Vec::new);
        let members = self.cast.members.iter().zip(&self.node_of);
        for (member, node) in members.filter(|(member, _)| !member.observer) {
            let scan = member.reel.and_then(|reel| self.scans.get_mut(reel));
            let place = session.connections.get_mut(usize::from(node.0));
            if let (Some(scan), Some(place)) = (scan, place) {
                *place = std::mem::take(&mut scan.connections);
            }
        }
    }

    /// Equal payloads that nobody is known to have sent: with a sequence number in them they are
    /// one packet that was received several times.
    fn join_strays(&self, first: usize, matched: &mut Vec<Matched>) {
        let Some(wire) = &self.session.wire else {
            return;
        };
        let end = matched.get(first).and_then(|stray| stray.received.first());
        let mut facts = PacketFacts::default();
        if let Some(end) = end {
            let (context, payload) = (context(end, &self.scans), end.payload(&self.scans));
            wire.facts_in(&context, &mut wire.new_state(), payload, &mut facts);
        }
        if facts.sequence.is_some() {
            let receipts = matched
                .drain(first..)
                .flat_map(|stray| stray.received)
                .collect();
            matched.push(Matched {
                received: receipts,
                ..Matched::default()
            });
        }
    }

    fn stamp(&self, end: &End) -> Option<Stamp> {
        let raw = end.raw(&self.scans)?;
        Some(Stamp {
            number: raw.number,
            time: self.time(usize::from(end.reel), raw.time),
        })
    }

    /// A packet without what the wire says of it; when it was first seen and by whom; and the end
    /// that holds its bytes.
    fn packet(&self, matched: &Matched) -> Option<(SessionTime, NodeId, Packet, End)> {
        let source = matched.source()?;
        let raw = source.raw(&self.scans)?;
        let node = |member: u16| self.node_of.get(usize::from(member)).copied();
        let (from, to) = (node(source.from)?, node(source.to)?);
        let sent = matched.sent.as_ref().and_then(|end| self.stamp(end));
        let mut receipts = matched.received.iter().filter_map(|end| self.stamp(end));
        let received = receipts.next();
        let seen = matched.seen.iter().filter_map(|end| {
            Some(Sighting {
                observer: watched::observer(&self.scans, usize::from(end.reel))?,
                stamp: self.stamp(end)?,
            })
        });
        let seen: Vec<Sighting> = seen.collect();
        let fate = match (received, sent.is_some() && raw.failed) {
            (Some(_), _) if self.one_sighting(matched) => Fate::Unknown,
            (Some(_), _) => Fate::Received,
            (None, true) => Fate::SendFailed,
            (None, false) => Fate::Unknown,
        };
        let scan = matched
            .sent
            .and_then(|end| self.scans.get(usize::from(end.reel)));
        let faults = scan.and_then(|scan| scan.faults.get(&raw.number));
        let packet = Packet {
            from,
            to,
            sent,
            received,
            duplicates: receipts.collect(),
            fate,
            faults: faults.cloned().unwrap_or_default(),
            length: raw.whole,
            cut: (raw.length < raw.whole).then_some(raw.length),
            seen,
            ..Packet::default()
        };
        // What an observer saw at one time stays in the order of its reel.
        let told_by = match source.side {
            Side::Send => from,
            Side::Receive => to,
            Side::Seen => NodeId(u16::MAX),
        };
        Some((packet.first()?.time, told_by, packet, source))
    }

    /// Whether a packet's send and its receipt are what one capture, of which both reels were made,
    /// saw once.
    fn one_sighting(&self, matched: &Matched) -> bool {
        let (Some(sent), Some(received)) = (matched.sent, matched.received.first()) else {
            return false;
        };
        let told = |end: &End| {
            let header = self.sources.get(usize::from(end.reel))?.reel.header();
            let captured = header.engine == Header::CAPTURED && !header.clock.boot_id.is_empty();
            captured.then_some((&header.clock.boot_id, end.raw(&self.scans)?.time))
        };
        told(&sent).is_some_and(|sent| told(received) == Some(sent))
    }

    /// Lists for each node what it sent and received, in the order of its reel.
    fn crossings(&mut self) {
        let session = &mut self.session;
        session.crossings = vec![Vec::new(); session.nodes.len()];
        for (place, packet) in session.packets.iter().enumerate() {
            let id = PacketId(place as u32);
            let watched = |node: NodeId| {
                let node = session.nodes.get(usize::from(node.0));
                !node.is_some_and(|node| node.recorded)
            };
            let departed = match watched(packet.from) {
                true => packet.departed(),
                false => packet.sent,
            };
            let out = departed.map(|stamp| (packet.from, stamp, Way::Out));
            let passing = packet.seen.last().filter(|_| watched(packet.to));
            let first = match packet.received {
                Some(stamp) => Some((packet.to, stamp, Way::In)),
                None => passing.map(|seen| (packet.to, seen.stamp, Way::Passing)),
            };
            let again = packet
                .duplicates
                .iter()
                .map(|&stamp| (packet.to, stamp, Way::Again));
            for (node, stamp, way) in out.into_iter().chain(first).chain(again) {
                if let Some(crossings) = session.crossings.get_mut(usize::from(node.0)) {
                    crossings.push(Crossing {
                        number: stamp.number,
                        packet: id,
                        way,
                    });
                }
            }
        }
        for (crossings, node) in session.crossings.iter_mut().zip(&session.nodes) {
            // Several observers number their events each for itself; packets are in the order of
            // time.
            if node.recorded {
                crossings.sort_unstable_by_key(|crossing| crossing.number);
            }
        }
    }

    /// For each node whether nothing can have reached it before its reel began.
    fn recorded_from_start(&self) -> Vec<bool> {
        let mut from_start = vec![false; self.node_of.len()];
        let members = self.cast.members.iter().zip(&self.node_of);
        for (member, node) in members.filter(|(member, _)| !member.observer) {
            if let Some(scan) = member.reel.and_then(|reel| self.scans.get(reel)) {
                from_start[usize::from(node.0)] = scan.from_start;
            }
        }
        from_start
    }

    /// Says what the packets leave in doubt.
    fn doubts(&mut self) {
        let session = &mut self.session;
        for node in &session.nodes {
            if node.recorded && node.clock_error_ns == u64::MAX {
                session.warnings.push(format!(
                    "no packets both ways tie the clock of {} to the others: it is placed by the \
                     calendar and may be far off",
                    node.name
                ));
            }
        }
        session
            .warnings
            .extend(watched::missing(&session.observers));
        session.warnings.extend(watched::captured(&session.nodes));
        let unfit = session
            .packets
            .iter()
            .filter(|each| each.diagnostics > 0)
            .count();
        if unfit > 0 {
            let wire = session.wire.as_ref().map_or("", |wire| wire.name());
            session.warnings.push(format!(
                "{unfit} of {} not fit the wire {wire}: what is said of them may be wrong",
                match session.packets.len() {
                    1 => "1 packet does".to_owned(),
                    count => format!("{count} packets do"),
                },
            ));
        }
        for packet in &session.packets {
            // Nothing comes from a group.
            if let Some(from) = session.nodes.get_mut(usize::from(packet.from.0)) {
                from.group = false;
            }
        }
        let mut to_groups = BTreeSet::new();
        for packet in &session.packets {
            let to = session.nodes.get(usize::from(packet.to.0));
            if to.is_some_and(|to| to.group) {
                to_groups.insert(packet.from);
            }
        }
        let mut strays = BTreeMap::new();
        let mut early = BTreeMap::new();
        for packet in &session.packets {
            let link = (packet.from, packet.to);
            let from = session.nodes.get(usize::from(packet.from.0));
            // What went to a group may have been received by anybody.
            let sender = from.filter(|node| node.recorded && !to_groups.contains(&packet.from));
            match (packet.sent, packet.received) {
                (None, Some(at)) if sender.is_some_and(|node| covers(node, at.time)) => {
                    *strays.entry(link).or_insert(0u64) += 1;
                }
                (Some(sent), Some(received)) if received.time < sent.time => {
                    let (count, worst_ns) = early.entry(link).or_insert((0u64, 0i64));
                    *count += 1;
                    *worst_ns = (sent.time.0 - received.time.0).max(*worst_ns);
                }
                _ => {}
            }
        }
        for ((from, to), count) in strays {
            let (from, to) = (session.name(from), session.name(to));
            session.warnings.push(format!(
                "{to} received {} from {from} that the reel of {from} does not hold",
                packets(count),
            ));
        }
        for ((from, to), (count, worst_ns)) in early {
            let (from, to) = (session.name(from), session.name(to));
            session.warnings.push(format!(
                "{} from {from} to {to} seem to arrive before they were sent, by up \
                 to {worst_ns} ns: the clocks disagree",
                packets(count),
            ));
        }
    }
}

/// Fills in what the wire says of the next packet, and appends its messages.
fn note(session: &mut Session, packet: &mut Packet, payload: &[u8], facts: &mut PacketFacts) {
    let first = session.messages.len() as u32;
    packet.messages = first..first;
    let Some(wire) = &session.wire else { return };
    packet.protocol = facts.protocol;
    packet.sequence = facts.sequence;
    packet.ack = facts.ack;
    packet.ack_bits = facts.ack_bits;
    packet.ack_ranges.clone_from(&facts.ack_ranges);
    packet.range_bits = facts.range_bits;
    packet.nacks.clone_from(&facts.nack_ranges);
    packet
        .nacks
        .extend(facts.nack.map(|nack| (nack.value, nack.value)));
    packet.tick = facts.tick;
    packet.host = facts.host;
    packet.diagnostics = facts.diagnostics;
    let id = PacketId(session.packets.len() as u32);
    let mut messages = std::mem::take(&mut facts.messages);
    for message in messages.drain(..) {
        if let Some(place) = &message.fragment_data {
            let fragment = MessageId(session.messages.len() as u32);
            let data = wire.bytes_at(facts, payload, place);
            session.fragments.insert(fragment, data);
        }
        session.messages.push(Message {
            packet: id,
            facts: message,
        });
    }
    facts.messages = messages;
    packet.messages.end = session.messages.len() as u32;
}

/// Whether the node recorded without a hole around this time and for as long before it as a packet
/// may be on its way: what was sent in a hole may come after it.
fn covers(node: &Node, time: SessionTime) -> bool {
    let within = |span: &Range<SessionTime>| span.start <= time && time <= span.end;
    let after = |hole: &Hole| {
        let until = hole.time.end.0.saturating_add(fate::WAIT_NS_MIN);
        hole.time.start..SessionTime(until)
    };
    within(&node.span) && !node.holes.iter().any(|hole| within(&after(hole)))
}

/// `1 packet`, `2 packets`.
pub(crate) fn packets(count: u64) -> String {
    if count == 1 {
        "1 packet".to_owned()
    } else {
        format!("{count} packets")
    }
}
