//! Steps in sentences, and what they cite.

mod cites;
mod long;
mod phrases;

use netreel_wire::Role;

use super::fact::{Fact, Unseen};
use crate::figures::{duration, moment, seconds, times};
use crate::history::{Delivery, Evidence, History, is_about_object, word};
use crate::session::{Fate, MessageId, NodeId, PacketId, Session, SessionTime, packets};

impl Fact {
    /// One sentence for people, without the full stop.
    pub fn sentence(&self, session: &Session, history: &History) -> String {
        let words = Words { session, history };
        words.sentence(self)
    }
}

/// What sentences are made of.
struct Words<'a> {
    session: &'a Session,
    history: &'a History,
}

impl Words<'_> {
    fn sentence(&self, fact: &Fact) -> String {
        let packet = fact.packet().unwrap_or_default();
        let (from, to) = self.link(packet);
        match *fact {
            Fact::Found { finding } => {
                let finding = self.history.findings.get(finding as usize);
                finding.map_or(String::new(), |it| it.sentence.clone())
            }
            Fact::Evidence { .. } => {
                let piece = fact.piece(self.history);
                piece.map_or(String::new(), |piece| self.piece(piece))
            }
            Fact::Sent { .. } => self.sent(packet),
            Fact::InTime { took_ns, .. } => match took_ns {
                Some(took_ns) => format!(
                    "packet {packet} took {} from {from} to {to}, which is nothing unusual there",
                    duration(took_ns)
                ),
                None => {
                    format!("packet {packet} arrived at {to}; when {from} sent it was not recorded")
                }
            },
            Fact::Late {
                took_ns,
                fastest_ns,
                ..
            } => {
                let link = self.session.link(packet).unwrap_or_default();
                let measured = self.session.measured(link.0, link.1).words();
                let measured = measured.map(|words| format!(" ({words})"));
                format!(
                    "packet {packet} took {} from {from} to {to}{}, where the fastest took {}",
                    duration(took_ns),
                    measured.unwrap_or_default(),
                    duration(fastest_ns)
                )
            }
            Fact::Held { .. } => self.held(fact),
            Fact::NotRead { since, until, .. } => format!(
                "{to} asked for no packet from {} to {}, for {}: before that it could not read \
                 packet {packet}",
                seconds(since),
                moment(until),
                duration(until.since(since))
            ),
            Fact::Fault { fault, .. } => self.fault(packet, fault),
            Fact::Lost { next, .. } => self.lost(packet, next),
            Fact::SendFailed { .. } => {
                format!("packet {packet} never left {from}: the send call failed")
            }
            Fact::Unread { .. } => {
                let node = self.session.packet(packet).map(|packet| packet.to);
                let came = match node.map_or(0, |node| self.session.kernel_drops(node)) {
                    0 => format!("lay in the receive buffer of {to} when that closed its socket"),
                    _ => format!(
                        "lay in the receive buffer of {to} when that closed its socket, or found it full"
                    ),
                };
                format!("packet {packet} {came}: its program had not read it")
            }
            Fact::FateUnknown { why, .. } => match why {
                Unseen::NoReel => format!(
                    "whether packet {packet} arrived is not known: what {to} received was not \
                     recorded"
                ),
                Unseen::TooLittle => format!(
                    "whether packet {packet} arrived is not known: the reel of {to} ends too early \
                     or has a hole there"
                ),
                Unseen::OnlySeen => format!(
                    "one capture saw packet {packet} pass, and stands for both ends: whether {to} \
                     got it is not known"
                ),
            },
            Fact::Reached { message, sent, .. } => self.reached(message, packet, sent),
            Fact::NeverReached { message, sent } => {
                let first = self.session.carrier(message);
                let to = first.map_or(String::new(), |first| self.link(first).1);
                let fate = first.and_then(|it| self.session.packet(it));
                let arrived = match fate.map(|it| it.fate) {
                    Some(Fate::Unknown) => "is not known to have arrived",
                    _ => "did not arrive",
                };
                format!(
                    "{}, sent {}, first in {}, {arrived} at {to}",
                    self.message(message),
                    times(sent as usize),
                    first.map_or(String::new(), |first| format!("packet {first}"))
                )
            }
            Fact::SentAgain {
                copy,
                before,
                after_ns,
            } => {
                let (packet, earlier) = (self.carrier(copy), self.carrier(before));
                let (from, _) = self.link(packet);
                format!(
                    "{from} sent it again {} after packet {earlier}, in packet {packet}",
                    duration(after_ns)
                )
            }
            Fact::Ambiguous {
                message,
                other,
                why,
            } => self.ambiguous(message, other, why),
            Fact::MoreCopies { count, .. } => match count {
                1 => "one more copy is not told".to_owned(),
                count => format!("{count} more copies are not told"),
            },
            Fact::Nacked { nack, at, .. } => format!(
                "{to} had said that it lacked packet {packet} (packet {nack}): {from} received \
                 that at {}",
                moment(at)
            ),
            Fact::AckGap {
                later,
                at,
                after_ns,
                ..
            } => format!(
                "{from} had been told at {} that packet {later}, sent later, had arrived, and \
                 nothing of packet {packet}; it sent again {} after that, for this gap or after a \
                 time-out",
                moment(at),
                duration(after_ns)
            ),
            Fact::Silence { after_ns, .. } => format!(
                "{from} had not been told of the arrival of packet {packet} for {}, nor of any \
                 that it sent {to} later: a time-out, as far as the packets tell",
                duration(after_ns)
            ),
            Fact::Eager {
                after_ns, round_ns, ..
            } => format!(
                "no answer to packet {packet} could have come within {}: the fastest around it \
                 took {}; such a sender says it again without waiting",
                duration(after_ns),
                duration(round_ns)
            ),
            Fact::AcksAway {
                answers: (count, lost),
                ..
            } => {
                let what = match (count, lost) {
                    (0, _) => "nothing since".to_owned(),
                    (_, 0) => format!("{} since", packets(count.into())),
                    _ => format!("{} since, {lost} of them lost", packets(count.into())),
                };
                let came = self.received(packet).map(moment).unwrap_or_default();
                format!(
                    "packet {packet} had arrived at {came}; {to} had sent {from} {what}, and \
                     no ack of it had come"
                )
            }
            Fact::Acked { at, .. } => {
                let fate = self.session.packet(packet).map(|packet| packet.fate);
                let arrived = match fate {
                    Some(Fate::Lost) => "had arrived, which it never did",
                    _ => "had arrived",
                };
                format!(
                    "{from} was told at {} that packet {packet} {arrived}",
                    moment(at)
                )
            }
            Fact::HandedOverLate { .. } => self.handed_over_late(fact),
            Fact::Waited {
                delivery,
                at,
                arrived,
                behind,
                closed_by,
                waited_ns,
            } => {
                let (message, node) = self.handed(delivery);
                format!(
                    "{message} was at {node} at {} (packet {arrived}) and waited {} for {}, \
                     which stands before it in the stream and came in packet {closed_by}",
                    moment(at),
                    duration(waited_ns),
                    self.message(behind)
                )
            }
            Fact::StillWaits { message, behind } => format!(
                "{} was not handed over: it waits for {}, which stands before it in the stream",
                self.message(message),
                self.message(behind)
            ),
            Fact::Did { delivery } => self.did(delivery),
            Fact::Later { delivery, later } => {
                let (one, other) = (self.delivery_time(delivery), self.delivery_time(later));
                let after_ns = other.since(one);
                let (message, node) = self.handed(later);
                format!(
                    "{message} (packet {}) was delivered to {node} at {}, {} after that",
                    self.packet_of(later),
                    moment(other),
                    duration(after_ns)
                )
            }
            Fact::Asked {
                message,
                at,
                before_ns,
                ..
            } => format!(
                "{to} had got {} from {from} at {} (packet {packet}), {} before it told of this: \
                 it may be the answer",
                self.message(message),
                moment(at),
                duration(before_ns)
            ),
            Fact::Rule { node, rule } => self.rule(node, rule),
            Fact::Believed { node, object, at } => self.believed(node, object, at),
            Fact::NeverTold { node, object } => format!(
                "nothing that tells {} of object {object} was delivered to it, and no reliable \
                 message that does is under way",
                self.name(node)
            ),
            Fact::Would {
                delivery,
                first,
                second,
                effect,
            } => self.would((delivery, first, second), effect),
            Fact::Unfit { .. } => self.unfit(packet),
            Fact::Hole { node, hole } => {
                let known = self.session.node(node);
                match known.and_then(|it| it.holes.get(hole as usize)) {
                    Some(hole) => format!(
                        "the reel of {} lacks what happened from {} to {}: {}",
                        self.name(node),
                        moment(hole.time.start),
                        moment(hole.time.end),
                        hole.why
                    ),
                    None => String::new(),
                }
            }
            Fact::CutShort { node } => format!(
                "the reel of {} ends before its recording was closed: the program or the machine \
                 ended, or the file was cut",
                self.name(node)
            ),
            Fact::Clocks { link } => self.clocks(link),
            Fact::NoRules { node } => format!(
                "the wire declares no rules (`rules`) that {} goes by: what it does with a message \
                 about an object cannot be told",
                self.name(node)
            ),
            Fact::Nothing { about } => self.nothing(about),
        }
    }

    fn name(&self, node: NodeId) -> String {
        self.session.name(node)
    }

    fn link(&self, packet: PacketId) -> (String, String) {
        let (from, to) = self.session.link(packet).unwrap_or_default();
        (self.name(from), self.name(to))
    }

    fn delivery(&self, place: u32) -> Option<Delivery> {
        self.history.deliveries.get(place as usize)
    }

    /// Of a delivery, what it was, and to whom.
    fn handed(&self, place: u32) -> (String, String) {
        let delivery = self.delivery(place);
        let node = delivery.map(|it| self.name(it.node));
        (self.delivered(place), node.unwrap_or_default())
    }

    fn carrier(&self, message: MessageId) -> PacketId {
        self.session.carrier(message).unwrap_or_default()
    }

    /// The packet that carried what was delivered.
    fn packet_of(&self, place: u32) -> PacketId {
        let delivery = self.delivery(place);
        delivery.map_or(PacketId::default(), |it| self.carrier(it.message))
    }

    fn received(&self, packet: PacketId) -> Option<SessionTime> {
        Some(self.session.packet(packet)?.received?.time)
    }

    fn delivery_time(&self, place: u32) -> SessionTime {
        let delivery = self.delivery(place);
        delivery.map_or(SessionTime::default(), |it| it.at.time)
    }

    /// `CREATE of object 42`, `MIGRATE of object 42 to B at counter 1`, `rpc`.
    fn message(&self, message: MessageId) -> String {
        let whole = self.history.facts(self.session, message);
        // A fragment of what the wire knows no more of is a fragment.
        let whole = whole.filter(|facts| facts.kind.is_some());
        let own = || self.session.message(message).map(|message| message.facts);
        let Some(facts) = whole.or_else(own) else {
            return "a message".to_owned();
        };
        let role = self.session.role(&facts);
        let kind = self.session.kind_of(&facts);
        let mut words = match (is_about_object(role), kind) {
            (true, _) => word(role).to_owned(),
            (false, Some(kind)) => format!("`{}`", kind.name),
            (false, None) => "a message".to_owned(),
        };
        if let Some(object) = facts.object {
            let of = match role {
                Role::MigrateOrder => "",
                role if is_about_object(role) => "of ",
                _ => "about ",
            };
            words += &format!(" {of}object {object}");
        }
        if let Some(owner) = facts.new_owner {
            words += &format!(" to {}", self.session.peer_name(owner));
        }
        if let Some(counter) = facts.migration_counter {
            words += &format!(" at counter {counter}");
        }
        words
    }

    /// The same of a delivery.
    fn delivered(&self, place: u32) -> String {
        let delivery = self.delivery(place);
        delivery.map_or(String::new(), |it| self.message(it.message))
    }

    fn piece(&self, piece: &Evidence) -> String {
        format!(
            "{} at {} at {} (packet {})",
            piece.what,
            self.name(piece.node),
            moment(piece.time),
            piece.packet
        )
    }

    fn sent(&self, id: PacketId) -> String {
        let (from, to) = self.link(id);
        let messages = self.session.messages_of(id).take(4);
        let messages: Vec<String> = messages.map(|(it, _)| self.message(it)).collect();
        let count = self.session.messages_of(id).count();
        let carries = match (messages.is_empty(), count.saturating_sub(messages.len())) {
            (true, _) => String::new(),
            (_, 0) => format!(" with {}", messages.join(", ")),
            (_, more) => format!(" with {} and {more} more", messages.join(", ")),
        };
        match self.session.departed(id) {
            Some((true, at)) => format!(
                "{from} sent packet {id} to {to} at {}{carries}",
                moment(at.time)
            ),
            Some((false, at)) => format!(
                "packet {id} from {from} to {to} was seen at {}{carries}",
                moment(at.time)
            ),
            None => {
                format!("packet {id} from {from} to {to}, whose send was not recorded{carries}")
            }
        }
    }
}
