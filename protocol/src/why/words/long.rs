//! The sentences that take more than a line to make.

use netreel_wire::Role;

use super::phrases::{effect_words, rule_words, would_words};
use super::{Words, moment, seconds};
use crate::figures::{duration, length, ordinal};
use crate::history::{Ambiguity, Belief, Effect, Told, rules_of, told, word};
use crate::session::{MessageId, NodeId, PacketId, SessionTime, packets};
use crate::why::{Cause, Fact, Link, NotKnown, RuleWord};

impl Words<'_> {
    pub(super) fn handed_over_late(&self, fact: &Fact) -> String {
        let &Fact::HandedOverLate {
            delivery,
            late_ns,
            behind,
            lost,
            more,
            again,
            after_ns,
            cause,
        } = fact
        else {
            return String::new();
        };
        let (message, node) = self.handed(delivery);
        let (from, _) = self.link(again);
        let waited = match behind {
            Some(behind) => format!("it waited for {}: ", self.message(behind)),
            None => String::new(),
        };
        format!(
            "{message} was handed to {node} {} after {from} first sent it, because {waited}{}",
            duration(late_ns),
            mended(lost, more, again, after_ns, cause)
        )
    }

    pub(super) fn held(&self, fact: &Fact) -> String {
        let Fact::Held {
            link: (from, to),
            packets: (first, last),
            count,
            of,
            sent,
            at,
            others,
        } = fact
        else {
            return String::new();
        };
        let (from, to) = (self.name(*from), self.name(*to));
        let others = match others {
            0 => format!("; {to} received nothing from anybody else in that time"),
            _ => format!(
                "; from others {to} received {} in that time",
                packets((*others).into())
            ),
        };
        let which = format!("({first} to {last})");
        let (since, until, at) = (seconds(sent.0), moment(sent.1), moment(*at));
        if of == count {
            format!(
                "{from} -> {to} held everything that was sent from {since} to {until}: {count} \
                 packets {which} arrived together at {at}{others}"
            )
        } else {
            format!(
                "of {of} packets that {from} sent to {to} from {since} to {until}, {count} {which} \
                 arrived together at {at}{others}"
            )
        }
    }

    pub(super) fn fault(&self, id: PacketId, fault: u32) -> String {
        use netreel_reel::FaultVerdict::{Corrupted, Delayed, Duplicated, Lost, QueueFull, Queued};
        use netreel_reel::FaultVerdict::{Refused, Reordered};
        let packet = self.session.packet(id).unwrap_or_default();
        let Some(fault) = packet.faults.get(fault as usize) else {
            return String::new();
        };
        let proxy = self.session.proxies.get(usize::from(fault.proxy.0));
        let proxy = proxy.map_or("a proxy", String::as_str);
        match fault.verdict {
            Lost => format!("{proxy} dropped packet {id} by chance, as it was told to"),
            Delayed { nanos } | Reordered { nanos } => {
                format!("{proxy} held packet {id} back for {}", length(nanos))
            }
            Duplicated { nanos } => {
                format!("{proxy} sent packet {id} twice, {} apart", length(nanos))
            }
            Queued { nanos } => format!(
                "packet {id} waited {} at {proxy} for a link of limited bandwidth",
                length(nanos)
            ),
            QueueFull { .. } => {
                format!("{proxy} dropped packet {id}: too much waited there already")
            }
            Refused => format!("{proxy} could not pass packet {id} on"),
            Corrupted { bit } => {
                format!("{proxy} turned bit {bit} of packet {id}, as it was told to")
            }
        }
    }

    pub(super) fn lost(&self, id: PacketId, next: Option<PacketId>) -> String {
        let (_, to) = self.link(id);
        let next = next.and_then(|next| {
            let apart = self.session.left(next)?.time;
            let apart = apart.since(self.session.left(id)?.time);
            Some(format!(
                "; packet {next}, sent {} later, arrived",
                duration(apart)
            ))
        });
        format!(
            "packet {id} was lost: {to} recorded on and has no receipt of it{}",
            next.unwrap_or_default()
        )
    }

    pub(super) fn reached(&self, message: MessageId, packet: PacketId, sent: u32) -> String {
        let first = self.carrier(message);
        let (from, to) = self.link(packet);
        let came = self.received(packet);
        let ends = self.session.left(first).zip(came);
        let took = ends.map(|(sent, came)| {
            let took_ns = came.since(sent.time);
            format!(", {} after {from} first sent it", duration(took_ns))
        });
        let copy = match sent {
            1 => String::new(),
            sent => format!(", the {} time that it was sent", ordinal(sent.into())),
        };
        format!(
            "{} arrived at {to} at {} in packet {packet}{copy}{}",
            self.message(message),
            came.map(moment).unwrap_or_default(),
            took.unwrap_or_default()
        )
    }

    pub(super) fn did(&self, place: u32) -> String {
        let Some(told) = told(self.session, self.history, place) else {
            return String::new();
        };
        let (delivery, packet) = (told.delivery, told.packet);
        let node = self.name(delivery.node);
        let what = self.message(delivery.message);
        let at = moment(delivery.at.time);
        if delivery.local {
            let own = self.own(&told);
            return format!("{node} {own} itself at {at}, and first told of it in packet {packet}");
        }
        let (from, _) = self.link(packet);
        let speaker = told.speaker.and_then(|it| self.session.node_of_peer(it));
        let said = match speaker {
            Some(speaker) if self.name(speaker) != from => {
                format!("{what} by {}, told by {from}", self.name(speaker))
            }
            _ => format!("{what} from {from}"),
        };
        let head = format!("{node} was handed {said} (packet {packet}) at {at}");
        match delivery.effect {
            Effect::Plain => head,
            effect => format!("{head} and {}", effect_words(effect)),
        }
    }

    /// What a node did of its own: `created object 42`.
    fn own(&self, told: &Told) -> String {
        let facts = self.history.facts(self.session, told.delivery.message);
        let object = facts.and_then(|facts| facts.object);
        let object = object.map_or("an object".to_owned(), |object| format!("object {object}"));
        let owner = told.owner.map(|peer| self.session.peer_name(peer));
        let owner = owner.unwrap_or("somebody".to_owned());
        let counter = told.counter.map(|counter| format!(" at counter {counter}"));
        let done = match told.role {
            Role::Create => format!("created {object}"),
            Role::Destroy => format!("destroyed {object}"),
            Role::Migrate
                if self.session.node_of_peer(told.owner.unwrap_or(u64::MAX))
                    == Some(told.delivery.node) =>
            {
                format!("took over {object}")
            }
            Role::Migrate => format!("gave {object} to {owner}"),
            Role::MigrateOrder => format!("ordered {owner} to take over {object}"),
            _ => format!("did {}", self.message(told.delivery.message)),
        };
        done + &counter.unwrap_or_default()
    }

    pub(super) fn rule(&self, node: NodeId, rule: RuleWord) -> String {
        let known = self.session.node(node);
        let Some(rules) = known.and_then(|it| rules_of(self.session, it)) else {
            return String::new();
        };
        let (word, value) = rule_words(rules, rule);
        format!(
            "{} goes by the rules `{}` of the wire: {word} = {value}",
            self.name(node),
            rules.name
        )
    }

    pub(super) fn believed(&self, node: NodeId, object: u64, at: SessionTime) -> String {
        let node_name = self.name(node);
        let span = self.history.belief_at(object, node, at);
        let since = span.map(|span| span.time.start);
        if self.session.lacks(node, since, at) {
            let at = moment(at);
            return format!(
                "what {node_name} believed of object {object} at {at} is unknown: not all that it \
                 was told until then was recorded"
            );
        }
        let Some(span) = span else {
            return format!("at {} {node_name} did not know object {object}", moment(at));
        };
        let belief = match span.belief {
            Belief::Owned(peer) if self.session.node_of_peer(peer) == Some(node) => {
                format!("{node_name} believed that it owns object {object} itself")
            }
            Belief::Owned(peer) => format!(
                "{node_name} believed that {} owns object {object}",
                self.session.peer_name(peer)
            ),
            Belief::Orphaned(peer) => format!(
                "{node_name} believed that {} owns object {object}, who will never end it",
                self.session.peer_name(peer)
            ),
            Belief::Destroyed => format!("{node_name} held object {object} for destroyed"),
            Belief::Unknown => format!("what {node_name} believed of object {object} is unknown"),
        };
        let said = match span.said {
            Some(_) => ", as its game said",
            None => "",
        };
        format!(
            "at {} {belief}, since {}{said}",
            moment(at),
            moment(span.time.start)
        )
    }

    pub(super) fn would(
        &self,
        (delivery, first, second): (u32, u32, u32),
        effect: Effect,
    ) -> String {
        let Some(known) = self.delivery(delivery) else {
            return String::new();
        };
        let role = told(self.session, self.history, delivery).map(|told| told.role);
        format!(
            "had {} (packet {}) come before {} (packet {}), {} would have {}, by its rules",
            self.delivered(first),
            self.packet_of(first),
            self.delivered(second),
            self.packet_of(second),
            self.name(known.node),
            would_words(effect, role.map_or("it", word))
        )
    }

    pub(super) fn ambiguous(&self, message: MessageId, other: MessageId, why: Ambiguity) -> String {
        let (packet, with) = (self.carrier(message), self.carrier(other));
        let (from, to) = self.link(packet);
        let facts = self.session.message(message).map(|it| it.facts);
        let facts = facts.unwrap_or_default();
        let place = facts.reliable_sequence.map_or(0, |it| it.value);
        match why {
            Ambiguity::Numbers => format!(
                "number {place} in packet {packet} is ambiguous: packet {with} was not acked, and half of all numbers or \
                 more lie between the two, so that {to} cannot tell a copy from a new message"
            ),
            Ambiguity::FragmentId => format!(
                "fragment id {} in packet {packet} is ambiguous: {from} uses it for two messages at once, of \
                 which packet {with} has a part, so that they are joined with nothing",
                facts.fragment_id.unwrap_or_default()
            ),
            Ambiguity::Content => format!(
                "number {place} in packet {packet} is ambiguous: packet {with} has it as well and says something else, so \
                 that it is a copy that was changed, or another message"
            ),
        }
    }

    pub(super) fn unfit(&self, id: PacketId) -> String {
        let decoded = self.session.decode(id);
        let first = decoded.and_then(|it| it.diagnostics.into_iter().next());
        match first {
            Some(it) => format!(
                "packet {id} does not fit the wire: {}: {} (bit {})",
                it.path, it.message, it.bit
            ),
            None => format!("packet {id} does not fit the wire"),
        }
    }

    pub(super) fn clocks(&self, (from, to): Link) -> String {
        let bound = |node: NodeId| {
            let known = self.session.node(node);
            match known.map_or(u64::MAX, |it| it.clock_error_ns) {
                u64::MAX => format!("how far the clock of {} is off is unknown", self.name(node)),
                error => format!(
                    "the clock of {} is off by at most {}",
                    self.name(node),
                    length(error)
                ),
            }
        };
        format!("{}; {}", bound(from), bound(to))
    }

    pub(super) fn nothing(&self, about: NotKnown) -> String {
        match about {
            NotKnown::Program(node) => format!(
                "why {} did so its reel does not tell: nothing further is known",
                self.name(node)
            ),
            NotKnown::Kernel(node) => {
                let (name, dropped) = (self.name(node), self.session.kernel_drops(node));
                let packets = if dropped == 1 { "packet" } else { "packets" };
                format!(
                    "the kernel of {name} dropped {dropped} {packets}, because a receive buffer was full: \
                     whether this is one of them nothing tells"
                )
            }
            NotKnown::OnTheWay((from, to)) => format!(
                "what {} -> {} did to it no reel shows: nothing further is known",
                self.name(from),
                self.name(to)
            ),
            NotKnown::Acks((from, to)) => format!(
                "no ack of what {} sends to {} is known: why it was sent again is not either",
                self.name(from),
                self.name(to)
            ),
            NotKnown::Reel(node) => format!(
                "what {} did then no reel tells: nothing further is known",
                self.name(node)
            ),
            NotKnown::Wire => {
                "whether the packet is wrong or the wire cannot be told: nothing further is known"
                    .to_owned()
            }
            NotKnown::Clock => {
                "which of the clocks is wrong cannot be told: nothing further is known".to_owned()
            }
        }
    }
}

/// What was lost, and what its resend waited for.
fn mended(lost: PacketId, more: u32, again: PacketId, after_ns: i64, cause: Cause) -> String {
    let (was, resend) = match more {
        0 => (" was lost", "its resend"),
        1 => (" was lost, and a copy after it", "the next"),
        _ => (" was lost, and copies after it", "the next"),
    };
    let after = duration(after_ns);
    let waited = match cause {
        Cause::Silence => format!("waited {after} for a time-out"),
        Cause::AckGap => format!("waited {after}, for acks to pass over it or for a time-out"),
        Cause::Nacked => format!("waited {after} for the word that it was lacking"),
        Cause::Eager | Cause::Acked | Cause::Unknown => format!("came {after} later"),
    };
    format!("packet {lost}{was} and {resend} in packet {again} {waited}")
}
