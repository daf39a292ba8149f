//! A link to one peer: packets out and in, acks, loss, and the reliable stream both ways.

mod saved;

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use netreel_transport::{Transport, mix};

use crate::bits::BitWriter;
use crate::fault::Fault;
use crate::message::{Body, Message, ObjectId, Peer};
use crate::mode::Mode;
use crate::packet::{FRAME_BITS_MAX, MESSAGES_MAX, PacketHeader, write_packet};
use crate::sequence::{FIRST, Received, unwrap_near};
use crate::start::Tuning;
use crate::stream::{StreamIn, StreamOut};
use crate::types::Types;

/// How many sent packets are remembered at most.
const SENT_MAX: usize = 1024;

/// How far the acks of a header reach.
const ACK_REACH: u64 = 32;

/// One peer's link.
#[derive(Clone, Debug)]
pub struct Link {
    /// Who is at the other end.
    pub peer: Peer,
    /// Where the other end is.
    pub endpoint: SocketAddr,
    /// What is known of the other end.
    pub state: LinkState,
    /// The reliable stream to the peer.
    pub out: StreamOut,
    /// The reliable stream from the peer.
    pub incoming: StreamIn,
    /// HOST alone: the peer was dropped for its silence. If it speaks again it must be told.
    pub is_expelled: bool,
    /// Unreliable messages for the next packet, with the ticket of each.
    pub unreliable: VecDeque<(u64, BitWriter)>,
    /// When the last packet of the peer came.
    pub heard_at: Option<u64>,
    fault: Option<Fault>,
    next_packet: Option<u64>,
    /// The number of the last packet.
    last_packet: Option<u64>,
    sent: BTreeMap<u64, SentPacket>,
    /// The newest packet that the peer has acked.
    acked_newest: Option<u64>,
    received: Received,
    owes_ack: bool,
    sent_at: Option<u64>,
    round_trip_ns: Option<u64>,
    /// The ack that a fault lets stand still; no part of a saved state.
    highest_ack: Option<(u16, u32)>,
    /// The packet in which each reliable message was lost that a fault sends again under its number;
    /// no part of a saved state.
    lost_in: BTreeMap<u64, u64>,
    /// In how many of 32 packets UPDATEs travel: all, but where a fault takes some away. No part of a
    /// saved state.
    throttle: u64,
}

/// What is known of the other end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// It has not said its name yet.
    Silent,
    /// It has.
    Up,
    /// It has left the session, or was dropped.
    Gone,
}

/// What a packet carries besides the frame.
#[derive(Clone, Debug, Default)]
pub struct Cargo {
    /// Places in the reliable stream.
    pub reliable: Vec<u64>,
    /// Tickets of unreliable calls.
    pub tickets: Vec<u64>,
    /// The fields that its UPDATEs carry.
    pub updates: Vec<SentUpdate>,
}

/// The fields that one UPDATE carried.
#[derive(Clone, Debug)]
pub struct SentUpdate {
    /// Of which object.
    pub object: ObjectId,
    /// In which stretch of ownership.
    pub epoch: u64,
    /// Place and version of each field.
    pub fields: Vec<(u8, u64)>,
}

#[derive(Clone, Debug)]
struct SentPacket {
    at_ns: u64,
    judged_lost: bool,
    cargo: Cargo,
}

/// What became of the cargo of a packet.
#[derive(Debug)]
pub enum CargoFate {
    /// The peer has received the packet.
    Arrived { cargo: Cargo },
    /// Packet `packet` was judged lost. It may still arrive.
    Lost {
        packet: u64,
        tickets: Vec<u64>,
        updates: Vec<SentUpdate>,
    },
}

impl Link {
    /// A link on which nothing has happened.
    pub fn new(peer: Peer, endpoint: SocketAddr, tuning: &Tuning) -> Link {
        Link {
            peer,
            endpoint,
            state: LinkState::Silent,
            out: StreamOut::new(tuning.packet_bytes as usize),
            incoming: StreamIn::default(),
            is_expelled: false,
            unreliable: VecDeque::new(),
            heard_at: None,
            fault: None,
            next_packet: None,
            last_packet: None,
            sent: BTreeMap::new(),
            acked_newest: None,
            received: Received::default(),
            owes_ack: false,
            sent_at: None,
            round_trip_ns: None,
            highest_ack: None,
            lost_in: BTreeMap::new(),
            throttle: 32,
        }
    }

    /// What this end does wrong on purpose.
    pub fn set_fault(&mut self, fault: Option<Fault>) {
        self.fault = fault;
        self.out.first_fragment = u8::from(fault == Some(Fault::FragmentIndexOff));
        self.out.wraps_early = fault == Some(Fault::StreamWrapsEarly);
        self.out.rewrites = fault == Some(Fault::RewriteResend);
    }

    /// Draws the number of the link's first packet. Wrapping around is then nothing special.
    pub fn draw_first_packet(&mut self, random: u64) {
        self.next_packet = Some(FIRST | mix(&[random]) & 0xFFFF);
    }

    /// The full number of a received packet; `None` where it was received before or is too old.
    pub fn packet_number(&self, sequence: u16) -> Option<u64> {
        self.received.number(sequence)
    }

    /// Takes note of a packet that was read and is not refused.
    pub fn take_packet(&mut self, number: u64, now_ns: u64, carries_messages: bool) {
        if self.fault != Some(Fault::ForgetAck) || number % 8 != 3 {
            self.received.insert(number);
        }
        self.heard_at = Some(now_ns);
        self.owes_ack |= carries_messages || self.is_expelled;
    }

    /// Takes the acks of a received header.
    pub fn take_acks(&mut self, ack: u16, ack_bits: u32, now_ns: u64) -> Vec<CargoFate> {
        let Some(next) = self.next_packet else {
            return Vec::new();
        };
        let newest = unwrap_near(ack, next);
        if newest >= next {
            return Vec::new(); // acks what was never sent
        }
        let before = (0..ACK_REACH).filter(|i| ack_bits >> i & 1 == 1);
        let acked = std::iter::once(newest).chain(before.filter_map(|i| newest.checked_sub(i + 1)));
        let mut fates = Vec::new();
        let oldest = self.sent.first_key_value().map_or(u64::MAX, |it| *it.0);
        for packet in acked.take_while(|&packet| packet >= oldest) {
            let Some(sent) = self.sent.remove(&packet) else {
                continue;
            };
            if packet == newest {
                let sample = now_ns.saturating_sub(sent.at_ns);
                let smooth = self.round_trip_ns.unwrap_or(sample);
                if self.fault == Some(Fault::ThrottleFalls) && sample > smooth {
                    self.throttle /= 4;
                }
                self.round_trip_ns = Some(smooth - smooth / 8 + sample / 8);
            }
            for &place in &sent.cargo.reliable {
                match self.fault {
                    Some(Fault::IgnoreAcks) => self.out.lost(place, packet),
                    _ => self.out.acked(place),
                }
            }
            fates.push(CargoFate::Arrived { cargo: sent.cargo });
        }
        let newest = self.acked_newest.unwrap_or(newest).max(newest);
        self.acked_newest = Some(newest);
        // What the acks cannot reach any more will never be acked.
        let beyond = newest.saturating_sub(ACK_REACH);
        while let Some(entry) = self.sent.first_entry() {
            if *entry.key() >= beyond {
                break;
            }
            let (packet, sent) = entry.remove_entry();
            fates.extend(self.lose(packet, sent).0);
        }
        fates
    }

    /// Judges packets lost that have not been acked for too long.
    pub fn judge(&mut self, now_ns: u64, tuning: &Tuning) -> Vec<CargoFate> {
        let round_trips = 2 * self.round_trip_ns.unwrap_or(0);
        let patience = match self.fault {
            Some(Fault::ResendEveryTick) => 1,
            Some(Fault::ResendLate) => 2_000_000_000,
            Some(Fault::ResendTimerShort) => 20_000_000,
            _ => tuning.resend_delay_ns.saturating_add(round_trips),
        };
        let late: Vec<u64> = self
            .sent
            .iter()
            .filter(|(_, sent)| !sent.judged_lost && now_ns.saturating_sub(sent.at_ns) >= patience)
            .map(|(&packet, _)| packet)
            .collect();
        let mut fates = Vec::new();
        for packet in late {
            if let Some(sent) = self.sent.remove(&packet) {
                let (fate, sent) = self.lose(packet, sent);
                fates.extend(fate);
                if self.fault != Some(Fault::IgnoreLateAcks) {
                    self.sent.insert(packet, sent);
                }
            }
        }
        while self.sent.len() > SENT_MAX {
            if let Some((packet, sent)) = self.sent.pop_first() {
                fates.extend(self.lose(packet, sent).0);
            }
        }
        fates
    }

    /// Whether a packet is due though there is nothing to say.
    pub fn owes_packet(&self, now_ns: u64, tuning: &Tuning) -> bool {
        let quiet = match self.sent_at {
            Some(at) => now_ns.saturating_sub(at) >= tuning.keep_alive_ns,
            None => true,
        };
        let is_due = quiet && self.fault != Some(Fault::NoKeepAlive);
        self.owes_ack || (is_due && self.state != LinkState::Gone)
    }

    /// The number of the next packet, which carries these places of the reliable stream.
    pub fn next_packet(&self, reliable: &[u64]) -> u64 {
        let lost_in = reliable.iter().find_map(|place| self.lost_in.get(place));
        lost_in
            .or(self.next_packet.as_ref())
            .copied()
            .unwrap_or(FIRST)
    }

    /// Whether UPDATEs may travel in this packet.
    pub fn takes_updates(&self, packet: u64) -> bool {
        packet % 32 < self.throttle
    }

    /// Sends one packet.
    pub fn send(
        &mut self,
        mode: Mode,
        sender: Peer,
        messages: &[BitWriter],
        cargo: Cargo,
        now_ns: u64,
        io: &mut dyn Transport,
    ) {
        let packet = self.next_packet(&cargo.reliable);
        let ack = match (self.received.ack(), self.fault) {
            (Some((newest, _)), Some(Fault::AckUnreceived)) => Some((newest, u32::MAX)),
            (Some((newest, bits)), Some(Fault::AckAhead)) => Some((newest.wrapping_add(3), bits)),
            (Some((newest, bits)), Some(Fault::AckUnsent)) => {
                Some((newest.wrapping_add(5000), bits))
            }
            (_, Some(Fault::NeverAck)) => None,
            (Some(ack), Some(Fault::HoldAcks)) if now_ns / 1_000_000_000 % 2 == 1 => held(ack),
            (Some(ack), Some(Fault::AcksStand)) => Some(self.standing(ack)),
            (ack, _) => ack,
        };
        let header = PacketHeader {
            mode,
            sender,
            sequence: packet as u16,
            ack,
        };
        let mut bytes = write_packet(&header, messages.iter());
        match self.fault {
            Some(Fault::TailByte) if packet % 16 == 7 => bytes.push(0xA5),
            Some(Fault::CutPacket) if packet % 16 == 7 => bytes.truncate(bytes.len() - 1),
            // The last byte is the count.
            Some(Fault::EmptyCount) if messages.is_empty() => {
                bytes.last_mut().into_iter().for_each(|count| *count = 1);
            }
            _ => {}
        }
        // A send that fails is a packet that is lost: the acks will tell.
        let _ = io.send(self.endpoint, &bytes);
        cargo.reliable.iter().for_each(|&place| {
            self.out.sent(place, packet);
            self.lost_in.remove(&place);
        });
        self.sent.insert(
            packet,
            SentPacket {
                at_ns: now_ns,
                judged_lost: false,
                cargo,
            },
        );
        let is_second = self.last_packet.replace(packet) == Some(packet);
        let repeats = self.fault == Some(Fault::SequenceTwice) && packet % 16 == 7 && !is_second;
        let falls_back = self.fault == Some(Fault::SequenceBack) && packet % 64 == 63;
        self.next_packet = Some(match (repeats, falls_back) {
            (true, _) => packet,
            _ if self.next_packet.is_some_and(|next| packet < next) => self.next_packet(&[]),
            // Another time from here on, so that it does not fall back again.
            (_, true) if self.acked_newest.is_some_and(|newest| newest < packet) => packet - 19,
            _ => packet + 1,
        });
        self.owes_ack = false;
        self.sent_at = Some(now_ns);
    }

    /// Stops sending anything but acks.
    pub fn close(&mut self) {
        self.state = LinkState::Gone;
        self.out.clear();
        self.unreliable.clear();
        self.sent.clear();
    }

    /// Whether everything reliable is acked.
    pub fn is_acked(&self) -> bool {
        self.out.is_empty()
    }

    /// The ack that was the highest by the lowest seven bits of its number.
    fn standing(&mut self, ack: (u16, u32)) -> (u16, u32) {
        let low = |ack: (u16, u32)| ack.0 & 0x7F;
        let highest = self.highest_ack.filter(|&highest| low(highest) > low(ack));
        *self.highest_ack.insert(highest.unwrap_or(ack))
    }

    fn lose(&mut self, packet: u64, mut sent: SentPacket) -> (Option<CargoFate>, SentPacket) {
        if sent.judged_lost {
            return (None, sent);
        }
        sent.judged_lost = true;
        if self.fault != Some(Fault::NeverResend) {
            let reliable = sent.cargo.reliable.iter();
            reliable.for_each(|&place| self.out.lost(place, packet));
            if self.fault == Some(Fault::ResendOldNumber) {
                let places = sent.cargo.reliable.iter().copied();
                self.lost_in.extend(places.map(|place| (place, packet)));
            }
        }
        let tickets = std::mem::take(&mut sent.cargo.tickets);
        let updates = sent.cargo.updates.clone();
        (
            Some(CargoFate::Lost {
                packet,
                tickets,
                updates,
            }),
            sent,
        )
    }
}

/// Acks that name nothing after a number that 32 divides.
fn held((newest, bits): (u16, u32)) -> Option<(u16, u32)> {
    let before = u32::from(newest % 32);
    if before == 0 {
        return Some((newest, bits));
    }
    let received = (before..=32).find(|back| bits >> (back - 1) & 1 == 1)?;
    let rest = bits.checked_shr(received).unwrap_or(0);
    Some((newest.wrapping_sub(received as u16), rest))
}

/// The messages of a packet as they are gathered, up to its size.
#[derive(Debug)]
pub struct Room {
    bits_left: usize,
    messages_left: usize,
}

impl Room {
    /// The room of an empty packet.
    pub fn new(tuning: &Tuning) -> Room {
        Room {
            bits_left: (tuning.packet_bytes as usize * 8).saturating_sub(FRAME_BITS_MAX),
            messages_left: MESSAGES_MAX,
        }
    }

    /// Takes room for a message, if there is enough.
    pub fn take(&mut self, message: &BitWriter) -> bool {
        let fits = self.messages_left > 0 && message.len() <= self.bits_left;
        if fits {
            self.bits_left -= message.len();
            self.messages_left -= 1;
        }
        fits
    }
}

/// Writes an unreliable message.
pub fn write_unreliable(origin: Peer, body: Body, types: &Types) -> BitWriter {
    let mut bits = BitWriter::new();
    Message::new(origin, body).write(types, &mut bits);
    bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::tests::stage::StageIo;
    use crate::types::BOXES;

    const MS: u64 = 1_000_000;

    /// A link that has sent packets 0 to `count - 1`, one a millisecond; packet `n` carries
    /// reliable message `n`.
    fn sent(count: u64) -> Link {
        let types = Types::parse(BOXES).expect("the declaration of the game");
        let endpoint = SocketAddr::from(([127, 0, 0, 1], 4000));
        let mut link = Link::new(Peer(1), endpoint, &Tuning::default());
        link.next_packet = Some(FIRST);
        let mut io = StageIo::default();
        for n in 0..count {
            let message = Message {
                origin: Peer(0),
                reliable: None,
                body: Body::Leave,
            };
            let place = link.out.push(message, &types).expect("not too large");
            let cargo = Cargo {
                reliable: vec![place],
                ..Cargo::default()
            };
            link.send(Mode::Owner, Peer(0), &[], cargo, n * MS, &mut io);
        }
        link
    }

    /// The numbers of the arrived and of the lost packets, by what they carried.
    fn numbers(fates: Vec<CargoFate>) -> (Vec<u64>, Vec<u64>) {
        let (mut arrived, mut lost) = (Vec::new(), Vec::new());
        for fate in fates {
            match fate {
                CargoFate::Arrived { cargo } => arrived.extend(cargo.reliable),
                CargoFate::Lost { packet, .. } => lost.push(packet - FIRST),
            }
        }
        arrived.sort_unstable();
        (arrived, lost)
    }

    #[test]
    fn acks_tell_what_arrived_and_what_is_lost() {
        let check = |ack: u16, bits: u32, arrived: &[u64], lost: &[u64]| {
            let told = numbers(sent(40).take_acks(ack, bits, 50 * MS));
            assert_eq!(
                told,
                (arrived.to_vec(), lost.to_vec()),
                "ack {ack}, bits {bits:b}"
            );
        };
        check(0, 0, &[0], &[]);
        check(3, 0, &[3], &[]);
        check(3, 0b101, &[0, 2, 3], &[]);
        check(3, u32::MAX, &[0, 1, 2, 3], &[]);
        check(32, 0, &[32], &[]);
        check(33, 0, &[33], &[0]);
        check(35, 1 << 31, &[3, 35], &[0, 1, 2]);
        check(39, 1 << 31, &[7, 39], &[0, 1, 2, 3, 4, 5, 6]);
        check(40, u32::MAX, &[], &[]);
        check(u16::MAX, u32::MAX, &[], &[]);
    }

    #[test]
    fn an_ack_counts_once() {
        let mut link = sent(4);
        assert_eq!(numbers(link.take_acks(1, 1, 50 * MS)), (vec![0, 1], vec![]));
        assert_eq!(numbers(link.take_acks(1, 1, 51 * MS)), (vec![], vec![]));
        assert!(link.out.is_acked(1) && !link.out.is_acked(2));
    }

    #[test]
    fn an_old_ack_loses_nothing() {
        let mut link = sent(80);
        link.take_acks(79, 0, 90 * MS);
        assert_eq!(
            numbers(link.take_acks(50, 0, 91 * MS)),
            (vec![50], vec![]),
            "late, and welcome"
        );
    }

    #[test]
    fn a_packet_without_ack_is_judged_lost_after_the_resend_delay() {
        let tuning = Tuning::default();
        let delay = tuning.resend_delay_ns;
        let mut link = sent(3);
        assert_eq!(numbers(link.judge(delay - 1, &tuning)), (vec![], vec![]));
        assert_eq!(
            numbers(link.judge(delay + MS, &tuning)),
            (vec![], vec![0, 1])
        );
        assert_eq!(
            numbers(link.judge(delay + MS, &tuning)),
            (vec![], vec![]),
            "once"
        );
        assert_eq!(
            link.out.due().map(|(place, _)| place).collect::<Vec<_>>(),
            [0, 1]
        );
    }

    #[test]
    fn a_packet_that_was_judged_lost_may_still_arrive() {
        let tuning = Tuning::default();
        let mut link = sent(1);
        link.judge(tuning.resend_delay_ns, &tuning);
        assert_eq!(
            numbers(link.take_acks(0, 0, tuning.resend_delay_ns + MS)).0,
            [0]
        );
        assert!(link.is_acked());
    }

    #[test]
    fn patience_grows_with_the_round_trip() {
        let tuning = Tuning::default();
        let mut link = sent(2);
        link.take_acks(0, 0, 500 * MS); // a round trip of half a second
        assert_eq!(
            numbers(link.judge(tuning.resend_delay_ns + 900 * MS, &tuning)).1,
            []
        );
        assert_eq!(
            numbers(link.judge(tuning.resend_delay_ns + 1001 * MS, &tuning)).1,
            [1]
        );
    }

    #[test]
    fn what_is_remembered_of_a_silent_peer_is_bounded() {
        let mut link = sent(2000);
        let lost = numbers(link.judge(0, &Tuning::default())).1;
        assert_eq!((lost.len(), link.sent.len()), (2000 - SENT_MAX, SENT_MAX));
    }

    #[test]
    fn a_packet_is_owed_for_messages_but_not_for_acks() {
        let tuning = Tuning::default();
        let mut link = sent(1);
        let owes = |link: &Link| link.owes_packet(MS, &tuning);
        assert!(!owes(&link));
        link.take_packet(FIRST, MS, false);
        assert!(
            !owes(&link),
            "two peers that ack each other's acks would never stop"
        );
        link.take_packet(FIRST + 1, MS, true);
        assert!(owes(&link));
        assert!(
            sent(1).owes_packet(tuning.keep_alive_ns, &tuning),
            "keep-alive"
        );
    }
}
