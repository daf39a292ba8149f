//! Steps in sentences, and what they cite.

mod cites;
mod phrases;

use netreel_wire::Role;

use super::fact::{Fact, Link, NotKnown, RuleWord, Unseen};
use crate::history::{
    Belief, Effect, Evidence, History, Told, is_about_object, length, rules_of, told, word,
};
use crate::session::{Fate, MessageId, NodeId, PacketId, Session, SessionTime, packets};
use phrases::{effect_words, rule_words, would_words};

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

/// `0.985880 s`
fn moment(time: SessionTime) -> String {
    format!("{} s", seconds(time))
}

fn seconds(time: SessionTime) -> String {
    let micros = time.0.div_euclid(1_000);
    let sign = if micros < 0 { "-" } else { "" };
    let micros = micros.unsigned_abs();
    format!("{sign}{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

impl Words<'_> {
    fn sentence(&self, fact: &Fact) -> String {
        match *fact {
            Fact::Found { finding } => {
                let finding = self.history.findings.get(finding as usize);
                finding.map_or(String::new(), |it| it.sentence.clone())
            }
            Fact::Evidence { finding, piece } => {
                let finding = self.history.findings.get(finding as usize);
                let piece = finding.and_then(|it| it.evidence.get(piece as usize));
                piece.map_or(String::new(), |piece| self.piece(piece))
            }
            Fact::Sent { packet } => self.sent(packet),
            Fact::InTime { packet, took_ns } => {
                let (from, to) = self.link(packet);
                match took_ns {
                    Some(took_ns) => format!(
                        "{} took {} from {from} to {to}, which is nothing unusual there",
                        number(packet),
                        length(took_ns)
                    ),
                    None => format!(
                        "{} arrived at {to}; when {from} sent it was not recorded",
                        number(packet)
                    ),
                }
            }
            Fact::Late {
                packet,
                took_ns,
                fastest_ns,
            } => {
                let (from, to) = self.link(packet);
                let link = self.session.link(packet).unwrap_or_default();
                let measured = self.session.measured(link.0, link.1).words();
                let measured = measured.map(|words| format!(" ({words})"));
                format!(
                    "{} took {} from {from} to {to}{}, where the fastest took {}",
                    number(packet),
                    length(took_ns),
                    measured.unwrap_or_default(),
                    length(fastest_ns)
                )
            }
            Fact::Held { .. } => self.held(fact),
            Fact::Fault { packet, fault } => self.fault(packet, fault),
            Fact::Lost { packet, next } => self.lost(packet, next),
            Fact::SendFailed { packet } => {
                let (from, _) = self.link(packet);
                format!("{} never left {from}: the send call failed", number(packet))
            }
            Fact::Unread { packet } => {
                let (_, to) = self.link(packet);
                format!(
                    "{} lay in the receive buffer of {to} when that closed its socket: its program \
                     had not read it",
                    number(packet)
                )
            }
            Fact::FateUnknown { packet, why } => {
                let (_, to) = self.link(packet);
                let packet = number(packet);
                match why {
                    Unseen::NoReel => format!(
                        "whether {packet} arrived is not known: what {to} received was not recorded"
                    ),
                    Unseen::TooLittle => format!(
                        "whether {packet} arrived is not known: the reel of {to} ends too early or \
                         has a hole there"
                    ),
                    Unseen::OnlySeen => format!(
                        "one capture saw {packet} pass, and stands for both ends: whether {to} got \
                         it is not known"
                    ),
                }
            }
            Fact::Reached {
                message,
                packet,
                sent,
            } => self.reached(message, packet, sent),
            Fact::NeverReached { message, sent } => {
                let packet = self.session.carrier(message);
                let to = packet.map_or(String::new(), |packet| self.link(packet).1);
                let times = match sent {
                    1 => "once".to_owned(),
                    times => format!("{times} times"),
                };
                format!(
                    "{}, sent {times}, first in {}, did not arrive at {to}",
                    self.message(message),
                    packet.map_or(String::new(), number)
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
                    "{from} sent it again {} after {}, in {}",
                    length(after_ns),
                    number(earlier),
                    number(packet)
                )
            }
            Fact::MoreCopies { count, .. } => match count {
                1 => "one more copy is not told".to_owned(),
                count => format!("{count} more copies are not told"),
            },
            Fact::Nacked { packet, nack, at } => {
                let (from, to) = self.link(packet);
                format!(
                    "{to} had said that it lacked {} ({}): {from} received that at {}",
                    number(packet),
                    number(nack),
                    moment(at)
                )
            }
            Fact::AckGap {
                packet,
                later,
                at,
                after_ns,
            } => {
                let (from, _) = self.link(packet);
                format!(
                    "{from} had been told at {} that {}, sent later, had arrived, and nothing of \
                     {}; it sent again {} after that, for this gap or after a time-out",
                    moment(at),
                    number(later),
                    number(packet),
                    length(after_ns)
                )
            }
            Fact::Silence { packet, after_ns } => {
                let (from, to) = self.link(packet);
                format!(
                    "{from} had not been told of the arrival of {} for {}, nor of any that it sent \
                     {to} later: a time-out, as far as the packets tell",
                    number(packet),
                    length(after_ns)
                )
            }
            Fact::Eager {
                packet,
                after_ns,
                round_ns,
            } => format!(
                "no answer to {} could have come within {}: the fastest of that link took {}; such \
                 a sender says it again without waiting",
                number(packet),
                length(after_ns),
                length(round_ns)
            ),
            Fact::AcksAway {
                packet,
                answers: (count, lost),
            } => {
                let (from, to) = self.link(packet);
                let sent = match count {
                    0 => format!("{to} had sent {from} nothing since"),
                    _ => {
                        let lost = match lost {
                            0 => String::new(),
                            lost => format!(", {lost} of them lost"),
                        };
                        format!("{to} had sent {from} {} since{lost}", packets(count.into()))
                    }
                };
                let came = self.received(packet).map(moment).unwrap_or_default();
                format!(
                    "{} had arrived at {came}; {sent}, and no ack of it had come",
                    number(packet)
                )
            }
            Fact::Acked { packet, at } => {
                let (from, _) = self.link(packet);
                let fate = self.session.packet(packet).map(|packet| packet.fate);
                let arrived = match fate {
                    Some(Fate::Lost) => "had arrived, which it never did",
                    _ => "had arrived",
                };
                format!(
                    "{from} was told at {} that {} {arrived}",
                    moment(at),
                    number(packet)
                )
            }
            Fact::Waited {
                delivery,
                at,
                arrived,
                behind,
                closed_by,
                waited_ns,
            } => {
                let delivery = self.history.deliveries.get(delivery as usize);
                let node = delivery.map(|it| self.name(it.node)).unwrap_or_default();
                let message = delivery.map(|it| self.message(it.message));
                format!(
                    "{} was at {node} at {} ({}) and waited {} for {}, which stands before it in \
                     the stream and came in {}",
                    message.unwrap_or_default(),
                    moment(at),
                    number(arrived),
                    length(waited_ns),
                    self.message(behind),
                    number(closed_by)
                )
            }
            Fact::Did { delivery } => self.did(delivery),
            Fact::Later { delivery, later } => {
                let (one, other) = (self.delivery_time(delivery), self.delivery_time(later));
                let after_ns = other.0.saturating_sub(one.0);
                let known = self.history.deliveries.get(later as usize);
                let node = known.map(|it| self.name(it.node)).unwrap_or_default();
                format!(
                    "{} ({}) was delivered to {node} at {}, {} after that",
                    self.delivered(later),
                    known.map_or(String::new(), |it| number(self.carrier(it.message))),
                    moment(other),
                    length(after_ns)
                )
            }
            Fact::Asked {
                message,
                packet,
                at,
                before_ns,
            } => {
                let (from, to) = self.link(packet);
                format!(
                    "{to} had got {} from {from} at {} ({}), {} before it told of this: it may be the \
                     answer",
                    self.message(message),
                    moment(at),
                    number(packet),
                    length(before_ns)
                )
            }
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
            Fact::Unfit { packet } => self.unfit(packet),
            Fact::Hole { node, hole } => {
                let known = self.session.nodes.get(usize::from(node.0));
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

    fn carrier(&self, message: MessageId) -> PacketId {
        self.session.carrier(message).unwrap_or_default()
    }

    fn received(&self, packet: PacketId) -> Option<SessionTime> {
        Some(self.session.packet(packet)?.received?.time)
    }

    fn delivery_time(&self, place: u32) -> SessionTime {
        let delivery = self.history.deliveries.get(place as usize);
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
        let delivery = self.history.deliveries.get(place as usize);
        delivery.map_or(String::new(), |it| self.message(it.message))
    }

    fn piece(&self, piece: &Evidence) -> String {
        format!(
            "{} at {} at {} ({})",
            piece.what,
            self.name(piece.node),
            moment(piece.time),
            number(piece.packet)
        )
    }

    fn sent(&self, id: PacketId) -> String {
        let (from, to) = self.link(id);
        let messages: Vec<String> = self
            .session
            .messages_of(id)
            .take(4)
            .map(|(message, _)| self.message(message))
            .collect();
        let count = self.session.messages_of(id).count();
        let carries = match (messages.is_empty(), count.saturating_sub(messages.len())) {
            (true, _) => String::new(),
            (_, 0) => format!(" with {}", messages.join(", ")),
            (_, more) => format!(" with {} and {more} more", messages.join(", ")),
        };
        let packet = number(id);
        match self.session.departed(id) {
            Some((true, at)) => format!(
                "{from} sent {packet} to {to} at {}{carries}",
                moment(at.time)
            ),
            Some((false, at)) => format!(
                "{packet} from {from} to {to} was seen at {}{carries}",
                moment(at.time)
            ),
            None => format!("{packet} from {from} to {to}, whose send was not recorded{carries}"),
        }
    }

    fn held(&self, fact: &Fact) -> String {
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
        let which = format!("({} to {})", first.0, last.0);
        let (since, until, at) = (seconds(sent.0), moment(sent.1), moment(*at));
        match of == count {
            true => format!(
                "{from} -> {to} held everything that was sent from {since} to {until}: {count} \
                 packets {which} arrived together at {at}{others}"
            ),
            false => format!(
                "of {of} packets that {from} sent to {to} from {since} to {until}, {count} {which} \
                 arrived together at {at}{others}"
            ),
        }
    }

    fn fault(&self, id: PacketId, fault: u32) -> String {
        use netreel_reel::FaultVerdict::{Delayed, Duplicated, Lost, QueueFull, Queued};
        use netreel_reel::FaultVerdict::{Refused, Reordered};
        let packet = self.session.packet(id).unwrap_or_default();
        let Some(fault) = packet.faults.get(fault as usize) else {
            return String::new();
        };
        let proxy = self.session.proxies.get(usize::from(fault.proxy.0));
        let proxy = proxy.map_or("a proxy", String::as_str);
        let long = |nanos: u64| length(i64::try_from(nanos).unwrap_or(i64::MAX));
        let packet = number(id);
        match fault.verdict {
            Lost => format!("{proxy} dropped {packet} by chance, as it was told to"),
            Delayed { nanos } | Reordered { nanos } => {
                format!("{proxy} held {packet} back for {}", long(nanos))
            }
            Duplicated { nanos } => format!("{proxy} sent {packet} twice, {} apart", long(nanos)),
            Queued { nanos } => format!(
                "{packet} waited {} at {proxy} for a link of limited bandwidth",
                long(nanos)
            ),
            QueueFull { .. } => format!("{proxy} dropped {packet}: too much waited there already"),
            Refused => format!("{proxy} could not pass {packet} on"),
        }
    }

    fn lost(&self, id: PacketId, next: Option<PacketId>) -> String {
        let (_, to) = self.link(id);
        let next = next.and_then(|next| {
            let apart = self.session.departed(next)?.1.time.0;
            let apart = apart.saturating_sub(self.session.departed(id)?.1.time.0);
            Some(format!(
                "; {}, sent {} later, arrived",
                number(next),
                length(apart)
            ))
        });
        format!(
            "{} was lost: {to} recorded on and has no receipt of it{}",
            number(id),
            next.unwrap_or_default()
        )
    }

    fn reached(&self, message: MessageId, packet: PacketId, sent: u32) -> String {
        let first = self.carrier(message);
        let (from, to) = self.link(packet);
        let departed = self.session.departed(first).map(|(_, at)| at.time);
        let came = self.received(packet);
        let took = departed
            .zip(came)
            .map(|(sent, came)| came.0.saturating_sub(sent.0));
        let took = took.map(|took| format!(", {} after {from} first sent it", length(took)));
        let copy = match sent {
            1 => String::new(),
            sent => format!(", the {} time that it was sent", ordinal(sent)),
        };
        format!(
            "{} arrived at {to} at {} in {}{copy}{}",
            self.message(message),
            came.map(moment).unwrap_or_default(),
            number(packet),
            took.unwrap_or_default()
        )
    }

    fn did(&self, place: u32) -> String {
        let Some(told) = told(self.session, self.history, place) else {
            return String::new();
        };
        let delivery = told.delivery;
        let node = self.name(delivery.node);
        let what = self.message(delivery.message);
        let packet = told.packet_words();
        let at = moment(delivery.at.time);
        if delivery.local {
            let own = self.own(&told);
            return format!("{node} {own} itself at {at}, and first told of it in {packet}");
        }
        let (from, _) = self.link(told.packet);
        let said = match told
            .speaker
            .and_then(|peer| self.session.node_of_peer(peer))
        {
            Some(speaker) if self.name(speaker) != from => {
                format!("{what} by {}, told by {from}", self.name(speaker))
            }
            _ => format!("{what} from {from}"),
        };
        let head = format!("{node} was handed {said} ({packet}) at {at}");
        let done = match delivery.effect {
            Effect::Plain => return head,
            effect => effect_words(effect),
        };
        format!("{head} and {done}")
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

    fn rule(&self, node: NodeId, rule: RuleWord) -> String {
        let known = self.session.nodes.get(usize::from(node.0));
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

    fn believed(&self, node: NodeId, object: u64, at: SessionTime) -> String {
        let node_name = self.name(node);
        let Some(span) = self.history.belief_at(object, node, at) else {
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
        format!(
            "at {} {belief}, since {}",
            moment(at),
            moment(span.time.start)
        )
    }

    fn would(&self, (delivery, first, second): (u32, u32, u32), effect: Effect) -> String {
        let known = self.history.deliveries.get(delivery as usize);
        let Some(known) = known else {
            return String::new();
        };
        let packet = |place: u32| {
            let delivery = self.history.deliveries.get(place as usize);
            number(delivery.map_or(PacketId::default(), |it| self.carrier(it.message)))
        };
        let role = told(self.session, self.history, delivery).map(|told| told.role);
        format!(
            "had {} ({}) come before {} ({}), {} would have {}, by its rules",
            self.delivered(first),
            packet(first),
            self.delivered(second),
            packet(second),
            self.name(known.node),
            would_words(effect, role.map_or("it", word))
        )
    }

    fn unfit(&self, id: PacketId) -> String {
        let decoded = self.session.decode(id);
        let first = decoded.and_then(|it| it.diagnostics.into_iter().next());
        match first {
            Some(it) => format!(
                "{} does not fit the wire: {}: {} (bit {})",
                number(id),
                it.path,
                it.message,
                it.bit
            ),
            None => format!("{} does not fit the wire", number(id)),
        }
    }

    fn clocks(&self, (from, to): Link) -> String {
        let bound = |node: NodeId| {
            let known = self.session.nodes.get(usize::from(node.0));
            match known.map_or(u64::MAX, |it| it.clock_error_ns) {
                u64::MAX => format!("how far the clock of {} is off is unknown", self.name(node)),
                error => format!(
                    "the clock of {} is off by at most {}",
                    self.name(node),
                    length(i64::try_from(error).unwrap_or(i64::MAX))
                ),
            }
        };
        format!("{}; {}", bound(from), bound(to))
    }

    fn nothing(&self, about: NotKnown) -> String {
        match about {
            NotKnown::Program(node) => format!(
                "why {} did so its reel does not tell: nothing further is known",
                self.name(node)
            ),
            NotKnown::OnTheWay((from, to)) => format!(
                "what {} -> {} did to it no reel shows: nothing further is known",
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

fn number(packet: PacketId) -> String {
    format!("packet {}", packet.0)
}

/// `2nd`
fn ordinal(number: u32) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}
