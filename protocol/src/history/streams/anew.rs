//! Who begins anew with whom, and which packets are still of the connection before.
//!
//! Who connects anew counts anew, and has forgotten what came before. So a new connection shows in numbers
//! that are the first ones again: of packets, of reliable messages, or of those that an ack says came.
//! What of these a packet carries by a wire's word is held against what is known of its way.

use netreel_wire::{MessageFacts, Role, Sequence};

use super::stream::{ANEW_MIN, AckedSoFar, FOLLOWS_MAX, NumberedLink, Numbers, Spoken, is_fall};
use super::{Streams, reliable};
use crate::history::finding::says_the_same;
use crate::history::meetings;
use crate::history::meetings::passed;
use crate::history::sequence::unwrap;
use crate::session::{MessageId, NodeId, PacketId, Said, Session};

/// A packet whose send nobody recorded is of the connection before where its number is, and the new one is
/// no older than this, in ns; where its sender has said nothing in the new one, than this.
const LATE_NS: i64 = 1_000_000_000;
const LATE_UNHEARD_NS: i64 = 250_000_000;

/// How many numbers back a packet may be late.
const LATE_MAX: i64 = 64;

/// What tells that somebody begins anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::history) enum Sign {
    /// Its packets count from one of the first numbers again.
    Packets,
    /// Its reliable messages do, and what they say is new.
    Messages,
    /// It acks the first messages alone, though it had acked later ones.
    Acks,
}

/// A node begins anew with one that it had not parted from.
#[derive(Clone, Copy, Debug)]
pub(in crate::history) struct Restart {
    /// The packet with which it does.
    pub packet: PacketId,
    /// The one that had the newest number before.
    pub last: PacketId,
    pub sign: Sign,
    /// The newest number before, and the one that it begins with.
    pub numbers: (u64, u64),
}

impl Streams {
    /// Whether a packet's number goes on where its way's numbers are. Who connects anew begins to
    /// count anew.
    pub(super) fn follows(&self, way: NumberedLink, sequence: Option<Sequence>) -> bool {
        let newest = self.ways.get(way).and_then(|it| it.newest).zip(sequence);
        newest.is_some_and(|(newest, sequence)| {
            let ahead = unwrap(sequence, newest).saturating_sub(newest);
            (1..=FOLLOWS_MAX).contains(&ahead)
        })
    }

    /// Whether a packet takes back by its acks what earlier ones of its way acked, and counts from the
    /// first number, where it has one: its sender has forgotten what came, and begins anew.
    pub(super) fn forgets(&mut self, session: &Session, spoken: Spoken, said: &Said) -> bool {
        if spoken.follows {
            return false;
        }
        let anew = self.counts_anew(spoken);
        let may_be_late = || !self.has_number_of_another(session, spoken);
        if spoken.sequence.is_some() && (anew.is_none() || may_be_late()) {
            return false;
        }
        let facts = MessageFacts::default();
        let taken_back = self.takes_back(spoken, &facts, said.acknowledges_before);
        let restart = match anew {
            Some(anew) => match taken_back {
                Some(_) => Some(anew),
                None => self.had_acked(session, spoken, said, anew),
            },
            None => taken_back,
        };
        let is_anew = restart.is_some();
        if is_anew {
            self.meet_again(spoken, restart);
        }
        is_anew
    }

    /// Whether it is certain that a packet is no late one of its way: its send is known, or another packet
    /// has its number.
    fn has_number_of_another(&self, session: &Session, spoken: Spoken) -> bool {
        if matches!(session.departed(spoken.packet), Some((true, _))) {
            return true;
        }
        let other = || {
            let line = self.packets(spoken.way())?;
            let place = unwrap(spoken.sequence?, line.start()?);
            let other = line.first(place).map(PacketId)?;
            Some(session.payload(other)? != session.payload(spoken.packet)?)
        };
        other() == Some(true)
    }

    /// What the last packet of a way had acked, where one that counts from the first number takes it back.
    fn had_acked(
        &self,
        session: &Session,
        spoken: Spoken,
        said: &Said,
        anew: Restart,
    ) -> Option<Restart> {
        let row = (spoken.link.1, spoken.link.0, spoken.at);
        let row = self.ways.get(row)?;
        let (near, start) = (row.newest?, row.line.start()?);
        let had = unwrap(session.said(anew.last)?.ack?, near);
        let has = unwrap(said.ack?, had);
        is_fall(start, had, has).then_some(anew)
    }

    /// Where a packet takes back what earlier ones had acked of a channel.
    fn takes_back(
        &self,
        spoken: Spoken,
        facts: &MessageFacts,
        before: Option<Sequence>,
    ) -> Option<Restart> {
        let before = before?;
        let stream = reliable((spoken.link.1, spoken.link.0), spoken.at, facts);
        let stream = self.streams.get(stream)?;
        let (known, start) = (stream.acked?, stream.numbers.line.start()?);
        known.falls(start, before, spoken.time).then_some(Restart {
            packet: spoken.packet,
            last: known.packet,
            sign: Sign::Acks,
            numbers: (known.number, before.value),
        })
    }

    /// Notes that all messages of a channel before one came. An ack of what was not sent is of another
    /// connection.
    pub(super) fn note_acks_before(
        &mut self,
        spoken: Spoken,
        facts: &MessageFacts,
        before: Option<Sequence>,
    ) {
        let Some(before) = before else { return };
        let stream = reliable((spoken.link.1, spoken.link.0), spoken.at, facts);
        let Some(own) = self.streams.get_mut(stream) else {
            return;
        };
        let Some((sent, start)) = own.numbers.newest.zip(own.numbers.line.start()) else {
            return;
        };
        let known = own.acked.get_or_insert(AckedSoFar {
            newest: start,
            packet: spoken.packet,
            number: before.value,
            left: None,
        });
        let place = unwrap(before, known.newest);
        // It names the next one.
        if place > sent.saturating_add(1) || place < known.newest {
            return;
        }
        (known.newest, known.packet, known.number) = (place, spoken.packet, before.value);
        if place.saturating_sub(start) > FOLLOWS_MAX && known.left.is_none() {
            known.left = Some(spoken.time);
        }
    }

    /// Notes who parts, and whether two nodes that had parted connect anew with this packet: what it
    /// says in the first place would be a copy of what was said before they parted. It is a copy
    /// where the packet's number follows: its sender has not heard of the parting yet. Who was started
    /// anew says no goodbye: then the packet's number is one of the first again, and the message is a
    /// handshake, or says something else than the one that had its place. Where packets have no numbers, the
    /// messages' places tell it, or the acks.
    pub(super) fn restart(
        &mut self,
        session: &Session,
        spoken: Spoken,
        (message, facts): (MessageId, &MessageFacts),
    ) -> bool {
        let role = session.role(facts);
        let is_greeting = matches!(role, Role::Connect | Role::Disconnect);
        let tells = facts.reliable_sequence.is_some() || facts.acknowledges_before.is_some();
        if !is_greeting && (spoken.follows || !tells) {
            return false;
        }
        let pair = meetings::pair(spoken.link);
        let peer = |node: NodeId| session.node(node)?.peer;
        let of_them = [peer(spoken.link.0), peer(spoken.link.1)];
        if facts.origin.is_some() && !of_them.contains(&facts.origin) {
            // They speak of somebody else.
            return false;
        }
        if role == Role::Disconnect {
            self.anew.parted.insert(pair);
            return false;
        }
        if spoken.follows {
            return false;
        }
        let has_parted = self.anew.parted.contains(&pair);
        let anew = self.counts_anew(spoken);
        let is_anew = match (role, has_parted) {
            (Role::Connect, true) => self.has_place(spoken, facts).is_some(),
            (Role::Connect, false) => anew.is_some(),
            _ => {
                let before = facts.acknowledges_before;
                let is_new = || {
                    let takes_back = self.takes_back(spoken, facts, before).is_some();
                    takes_back || self.says_another(session, spoken, (message, facts))
                };
                anew.is_some() && is_new()
            }
        };
        let restart = match is_anew {
            true => anew,
            false => self.begins_again(session, spoken, (message, facts)),
        };
        if !is_anew && restart.is_none() {
            return false;
        }
        self.meet_again(spoken, restart);
        true
    }

    /// Two nodes meet anew with a packet. Where they had not parted, its sender was started again.
    fn meet_again(&mut self, spoken: Spoken, restart: Option<Restart>) {
        self.meetings.again(spoken.packet, spoken.link);
        let had_parted = self.anew.parted.remove(&meetings::pair(spoken.link));
        self.restarts.extend(restart.filter(|_| !had_parted));
    }

    /// The message that has the place of one.
    fn has_place(&self, spoken: Spoken, facts: &MessageFacts) -> Option<MessageId> {
        let stream = reliable(spoken.link, spoken.at, facts);
        let numbers = &self.streams.get(stream)?.numbers;
        let place = unwrap(facts.reliable_sequence?, numbers.newest?);
        numbers.line.first(place).map(MessageId)
    }

    fn says_another(
        &self,
        session: &Session,
        spoken: Spoken,
        (message, facts): (MessageId, &MessageFacts),
    ) -> bool {
        let earlier = self.has_place(spoken, facts);
        earlier.is_some_and(|it| !says_the_same(session, message, it))
    }

    /// Whether a packet's number is one of the first of its way again though many were used since.
    fn counts_anew(&self, spoken: Spoken) -> Option<Restart> {
        let Numbers { newest, line } = self.ways.get(spoken.way())?;
        let (sequence, newest) = spoken.sequence.zip(*newest)?;
        let first = line.start()?;
        let again = unwrap(sequence, first).saturating_sub(first);
        let is_first = (0..=FOLLOWS_MAX).contains(&again);
        let is_anew = is_first && newest.saturating_sub(first) >= ANEW_MIN;
        Some(Restart {
            packet: spoken.packet,
            last: PacketId(line.first(newest).filter(|_| is_anew)?),
            sign: Sign::Packets,
            numbers: (raw(newest, sequence.bits), sequence.value),
        })
    }

    /// Of packets without numbers: whether a message has one of the first places again, which were acked
    /// long ago, and is no copy; or takes back what was acked.
    fn begins_again(
        &self,
        session: &Session,
        spoken: Spoken,
        (message, facts): (MessageId, &MessageFacts),
    ) -> Option<Restart> {
        if spoken.sequence.is_some() {
            return None;
        }
        let taken_back = self.takes_back(spoken, facts, facts.acknowledges_before);
        if taken_back.is_some() {
            return taken_back;
        }
        let sequence = facts.reliable_sequence?;
        let stream = reliable(spoken.link, spoken.at, facts);
        let own = self.streams.get(stream)?;
        let (newest, line) = (own.numbers.newest?, &own.numbers.line);
        let start = line.start()?;
        let place = unwrap(sequence, newest);
        let is_first = (0..=FOLLOWS_MAX).contains(&place.saturating_sub(start));
        let is_settled = || {
            let known = own.acked;
            known.is_some_and(|known| known.is_settled(spoken.time))
        };
        let is_far = is_first && newest.saturating_sub(place) >= ANEW_MIN;
        let is_new = || {
            let is_greeting = session.role(facts) == Role::Connect;
            is_greeting || self.says_another(session, spoken, (message, facts))
        };
        let is_again = is_far && is_settled() && is_new();
        Some(Restart {
            packet: spoken.packet,
            last: session.carrier(MessageId(line.first(newest).filter(|_| is_again)?))?,
            sign: Sign::Messages,
            numbers: (raw(newest, sequence.bits), sequence.value),
        })
    }

    /// Notes that somebody hears of the meeting that a packet is of.
    pub(super) fn note_heard(
        &mut self,
        session: &Session,
        packet: PacketId,
        link: (NodeId, NodeId),
        at: u16,
    ) {
        let Some((began, _)) = self.meetings.before(packet, link) else {
            return;
        };
        let is_beginner = session.link(began).is_some_and(|it| it.0 == link.0);
        let received = session.packet(packet).and_then(|it| it.received);
        if let Some(received) = received.filter(|_| is_beginner) {
            let meeting = (meetings::pair(link), at);
            let first = self.anew.heard.entry(meeting).or_insert(received.number);
            *first = received.number.min(*first);
        }
    }

    /// The meeting before, where a packet is still of that one: whoever sent it had yet to hear of the
    /// new one; or nobody knows when it was sent, and its number is one of those before.
    pub(super) fn still_of(&self, session: &Session, spoken: Spoken) -> Option<u16> {
        let Spoken {
            packet, link, at, ..
        } = spoken;
        let (began, before) = self.meetings.before(packet, link)?;
        let (beginner, _) = session.link(began)?;
        let way = (link.0, link.1, before);
        if let Some((true, sent)) = session.departed(packet) {
            let heard = self.anew.heard.get(&(meetings::pair(link), at));
            let had_heard = heard.is_some_and(|&first| first < sent.number);
            let node = session.node(link.0)?;
            let is_certain = beginner != link.0 && !had_heard && node.holes.is_empty();
            let fits = || match spoken.sequence {
                Some(sequence) => self.is_due(way, sequence),
                None => true,
            };
            return (is_certain && fits()).then_some(before);
        }
        let sequence = spoken.sequence?;
        let newest = self.ways.get(spoken.way()).and_then(|it| it.newest);
        let is_apart = newest.is_none_or(|newest| {
            let ahead = unwrap(sequence, newest).saturating_sub(newest);
            !(-LATE_MAX..=FOLLOWS_MAX).contains(&ahead)
        });
        let late_ns = match newest {
            Some(_) => LATE_NS,
            None => LATE_UNHEARD_NS,
        };
        let since_ns = spoken.time.0.saturating_sub(passed(session, began)?.0);
        let is_late = is_apart && since_ns <= late_ns && self.is_due(way, sequence);
        is_late.then_some(before)
    }

    /// Whether a number goes on where those of a way ended, or is of a packet that did not come.
    fn is_due(&self, way: NumberedLink, sequence: Sequence) -> bool {
        let known = self
            .ways
            .get(way)
            .and_then(|it| Some((it.newest?, &it.line)));
        known.is_some_and(|(newest, line)| {
            let place = unwrap(sequence, newest);
            let ahead = place.saturating_sub(newest);
            let is_late = (-LATE_MAX..=0).contains(&ahead) && line.first(place).is_none();
            (1..=FOLLOWS_MAX).contains(&ahead) || is_late
        })
    }
}

/// A place as the wire numbers it.
fn raw(place: i64, bits: u8) -> u64 {
    place as u64 & u64::MAX >> (64 - u32::from(bits.clamp(1, 64)))
}
