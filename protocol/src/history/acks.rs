//! When each packet's sender learnt that it had arrived.

use std::collections::BTreeMap;

use netreel_wire::Sequence;

use super::sequence::{span, unwrap};
use super::streams::Stream;
use super::streams::{Streams, reliable};
use crate::session::{MessageId, NodeId, Packet, PacketId, Session, Stamp, Way};

/// The packets of each directed link by their place on the line of sequence numbers.
pub(super) struct Acks {
    /// See [`super::History::acked`].
    pub acked: Vec<Option<Stamp>>,
    /// For each packet its place on its link's line; `None` where it has no sequence.
    pub places: Vec<Option<i64>>,
}

impl Acks {
    pub fn new(session: &Session, streams: &Streams) -> Acks {
        let (places, lines) = lines(session);
        let mut acked = vec![None; session.packets.len()];
        for node in (0..session.nodes.len()).map(|place| NodeId(place as u16)) {
            let mut newest: BTreeMap<NodeId, i64> = BTreeMap::new();
            let mut newest_messages: BTreeMap<Stream, i64> = BTreeMap::new();
            for (crossing, stamp) in session.crossings(node) {
                // A node that was not recorded learns what it is seen being told.
                if !matches!(crossing.way, Way::In | Way::Passing) {
                    continue;
                }
                let Some(packet) = session.packet(crossing.packet) else {
                    continue;
                };
                learn_messages(
                    session,
                    streams,
                    packet,
                    stamp,
                    &mut newest_messages,
                    &mut acked,
                );
                if packet.ack.is_none() && packet.ack_ranges.is_empty() {
                    continue;
                }
                let Some(line) = lines.get(&(node, packet.from)) else {
                    continue;
                };
                let first = line.first().map_or(0, |&(place, _)| place);
                let near = newest.entry(packet.from).or_insert(first);
                if let Some(ack) = packet.ack {
                    let ack = unwrap(ack, *near);
                    *near = ack.max(*near);
                    let bits = packet.ack_bits;
                    learn(&session.packets, line, ack, bits, stamp, &mut acked);
                }
                for &(first, value) in &packet.ack_ranges {
                    let bits = packet.range_bits;
                    let last = unwrap(Sequence { value, bits }, *near);
                    *near = last.max(*near);
                    let before = span(first, value, bits);
                    learn_range(&session.packets, line, last, before, stamp, &mut acked);
                }
            }
        }
        Acks { acked, places }
    }
}

/// Marks the packets that carried the messages that messages of this packet acknowledge.
fn learn_messages(
    session: &Session,
    streams: &Streams,
    packet: &Packet,
    stamp: Stamp,
    newest: &mut BTreeMap<Stream, i64>,
    acked: &mut [Option<Stamp>],
) {
    for message in packet.messages.clone().map(MessageId) {
        let Some(message) = session.message(message) else {
            continue;
        };
        let Some(sequence) = message.facts.acknowledges else {
            continue;
        };
        let stream = reliable(packet.to, packet.from, &message.facts);
        let Some(copies) = streams.copies.get(&stream) else {
            continue;
        };
        let first = copies.first().map_or(0, |&(place, _)| place);
        let near = newest.entry(stream).or_insert(first);
        let place = unwrap(sequence, *near);
        *near = place.max(*near);
        learn(&session.packets, copies, place, None, stamp, acked);
    }
}

/// Marks the packets of a range, which ends with `last` and has `before` more: of packets with the
/// same number, the latest that had been sent.
fn learn_range(
    packets: &[Packet],
    line: &[(i64, PacketId)],
    last: i64,
    before: u64,
    stamp: Stamp,
    acked: &mut [Option<Stamp>],
) {
    let first = last.saturating_sub_unsigned(before);
    let from = line.partition_point(|&(place, _)| place < first);
    let to = line.partition_point(|&(place, _)| place <= last);
    let mut place = None;
    for &(each, _) in line.get(from..to).unwrap_or_default() {
        if place.replace(each) != Some(each) {
            learn(packets, line, each, None, stamp, acked);
        }
    }
}

/// Marks what one ack names: of packets with the same number, the latest that had been sent.
fn learn(
    packets: &[Packet],
    line: &[(i64, PacketId)],
    ack: i64,
    bits: Option<(u64, u8)>,
    stamp: Stamp,
    acked: &mut [Option<Stamp>],
) {
    let (bits, count) = bits.unwrap_or((0, 0));
    let oldest = ack.saturating_sub(i64::from(count));
    let had_been_sent = |packet: PacketId| {
        let Some(packet) = packets.get(packet.0 as usize) else {
            return true;
        };
        match (packet.sent, packet.departed()) {
            (Some(sent), _) => sent.number < stamp.number,
            (None, Some(seen)) => seen.time <= stamp.time,
            (None, None) => true,
        }
    };
    let (mut rest, _) = line.split_at(line.partition_point(|&(place, _)| place <= ack));
    while let Some(&(place, _)) = rest.last().filter(|&&(place, _)| place >= oldest) {
        let (before, same) = rest.split_at(rest.partition_point(|&(each, _)| each < place));
        rest = before;
        let named = match ack.saturating_sub(place).checked_sub(1) {
            Some(-1) => true,
            Some(bit) => {
                u32::try_from(bit).is_ok_and(|bit| bits.checked_shr(bit).unwrap_or(0) & 1 == 1)
            }
            None => false,
        };
        let sent = same.partition_point(|&(_, packet)| had_been_sent(packet));
        let latest = same.get(..sent).and_then(<[_]>::last);
        if let (true, Some(&(_, packet))) = (named, latest)
            && let Some(known) = acked.get_mut(packet.0 as usize)
        {
            *known = known.or(Some(stamp));
        }
    }
}

type Lines = BTreeMap<(NodeId, NodeId), Vec<(i64, PacketId)>>;

fn lines(session: &Session) -> (Vec<Option<i64>>, Lines) {
    let mut places = vec![None; session.packets.len()];
    let mut lines: Lines = BTreeMap::new();
    let mut newest: BTreeMap<(NodeId, NodeId), i64> = BTreeMap::new();
    for (index, packet) in session.packets.iter().enumerate() {
        let Some(sequence) = packet.sequence else {
            continue;
        };
        let link = (packet.from, packet.to);
        let first = i64::try_from(sequence.value).unwrap_or(i64::MAX);
        let near = newest.entry(link).or_insert(first);
        let place = unwrap(sequence, *near);
        *near = place.max(*near);
        places[index] = Some(place);
        lines
            .entry(link)
            .or_default()
            .push((place, PacketId(index as u32)));
    }
    for line in lines.values_mut() {
        line.sort_unstable();
    }
    (places, lines)
}

#[cfg(test)]
mod tests {
    use netreel_reel::EventNumber;
    use netreel_wire::Sequence;

    use super::*;
    use crate::session::{Crossing, Node, SessionTime};

    fn sequence(value: u64) -> Option<Sequence> {
        Some(Sequence {
            value: value & 0xffff,
            bits: 16,
        })
    }

    fn stamp(number: u64) -> Option<Stamp> {
        Some(Stamp {
            number: EventNumber(number),
            time: SessionTime(number as i64),
        })
    }

    /// A node sends packets with these sequences and then gets one ack; which of them are acked?
    fn check(sent: &[u64], ack: u64, bits: u64, expected: &[u64]) {
        let mut session = Session {
            nodes: vec![Node::default(); 2],
            ..Session::default()
        };
        let (me, peer) = (NodeId(0), NodeId(1));
        let mut crossings = Vec::new();
        for (place, &value) in sent.iter().enumerate() {
            let (id, number) = (PacketId(place as u32), EventNumber(place as u64));
            session.packets.push(Packet {
                from: me,
                to: peer,
                sent: stamp(number.0),
                sequence: sequence(value),
                ..Packet::default()
            });
            crossings.push(Crossing {
                number,
                packet: id,
                way: Way::Out,
            });
        }
        session.packets.push(Packet {
            from: peer,
            to: me,
            received: stamp(1000),
            sequence: sequence(0),
            ack: sequence(ack),
            ack_bits: Some((bits, 32)),
            ..Packet::default()
        });
        let packet = PacketId(sent.len() as u32);
        crossings.push(Crossing {
            number: EventNumber(1000),
            packet,
            way: Way::In,
        });
        session.crossings = vec![crossings, Vec::new()];
        let acks = Acks::new(&session, &Streams::new(&session));
        let found: Vec<u64> = sent
            .iter()
            .zip(&acks.acked)
            .filter(|(_, acked)| acked.is_some())
            .map(|(&value, _)| value)
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_ack_names_the_newest_packet() {
        check(&[1, 2, 3], 3, 0, &[3]);
    }

    #[test]
    fn bit_i_names_the_packet_i_plus_one_before() {
        check(&[1, 2, 3, 4], 4, 0b101, &[1, 3, 4]);
    }

    #[test]
    fn acks_reach_over_the_wrap() {
        check(
            &[65_534, 65_535, 65_536, 65_537],
            65_537,
            0b110,
            &[65_534, 65_535, 65_537],
        );
    }

    #[test]
    fn of_packets_with_the_same_number_an_ack_names_one() {
        check(&[1, 2, 3, 1, 2], 2, 0, &[2]);
    }

    #[test]
    fn an_ack_of_what_was_never_sent_names_nothing() {
        check(&[1, 2], 9, 0, &[]);
    }
}
