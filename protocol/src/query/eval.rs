//! Whether a packet, or one of its messages, passes a filter.

use std::cell::OnceCell;

use netreel_wire::MessageFacts;

use super::expr::{Comparison, Constant, Expr, Field, Literal, Path, Word};
use super::parse::nearest_of;
use super::path::Opened;
use crate::history::{Finding, History, Level, RULES};
use crate::packet_fields::{FieldType, FieldValue, PacketAt, PacketField};
use crate::session::{MessageId, Node, NodeId, Packet, PacketId, Said, Session};

/// What a filter is asked about.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a, 'h> {
    pub session: &'a Session,
    /// What followed from the packets, worked out when it is first asked for.
    pub history: &'a dyn Fn() -> &'h History,
    pub id: PacketId,
    /// `None` for a finding without evidence.
    pub packet: Option<&'a Packet>,
    pub message: Option<(MessageId, &'a MessageFacts)>,
    /// The finding that is asked about; the packet and the message are of its evidence.
    pub finding: Option<&'a Finding>,
    /// Of a finding about several objects the one that is asked about.
    pub object: Option<u64>,
    /// What was asked for of the packet.
    pub asked: &'a Asked,
}

/// What a wire says of a packet, once it was asked for.
#[derive(Default)]
pub(super) struct Asked {
    said: OnceCell<Option<Said>>,
    /// All fields.
    opened: OnceCell<Option<Opened>>,
}

impl<'a, 'h> Subject<'a, 'h> {
    /// A packet, without any of its messages.
    pub fn of(
        session: &'a Session,
        history: &'a dyn Fn() -> &'h History,
        (id, packet): (PacketId, &'a Packet),
        asked: &'a Asked,
    ) -> Subject<'a, 'h> {
        Subject {
            session,
            history,
            id,
            packet: Some(packet),
            message: None,
            finding: None,
            object: None,
            asked,
        }
    }

    pub fn passes(&self, expr: &Expr) -> bool {
        self.truth(expr) == Some(true)
    }

    /// Whether it is so; `None` where nobody knows.
    fn truth(&self, expr: &Expr) -> Option<bool> {
        let joined = |left: &Expr, right: &Expr, decides: bool| match self.truth(left) {
            Some(left) if left == decides => Some(decides),
            left => match self.truth(right) {
                Some(right) if right == decides => Some(decides),
                right => left.and(right),
            },
        };
        Some(match expr {
            Expr::Truth(truth) => return *truth,
            Expr::Belief(_) => return None,
            Expr::Not(inner) => return self.truth(inner).map(|truth| !truth),
            Expr::And(left, right) => return joined(left, right, false),
            Expr::Or(left, right) => return joined(left, right, true),
            Expr::Word(word) => self.word(*word),
            Expr::Present(field) => self.present(*field),
            Expr::Compare(field, comparison, literal) => self.compare(*field, *comparison, literal),
            Expr::Wire(path, compared) => self.wire(path, compared.as_ref()),
        })
    }

    fn wire(&self, path: &Path, compared: Option<&(Comparison, Constant)>) -> bool {
        let open = || {
            self.packet?;
            Opened::new(self.session, self.id)
        };
        let opened = self.asked.opened.get_or_init(open).as_ref();
        let message = self.message.map(|(message, _)| message);
        let compared = compared.map(|(comparison, constant)| (*comparison, constant));
        opened.is_some_and(|opened| opened.fits(path, message, compared))
    }

    fn word(&self, word: Word) -> bool {
        match word {
            Word::Lost | Word::Received | Word::Unknown | Word::Failed | Word::Unread => {
                self.packet.map(|packet| packet.fate) == word.fate()
            }
            Word::Duplicated => self
                .packet
                .is_some_and(|packet| !packet.duplicates.is_empty()),
            Word::Doubtful => self.packet.is_some_and(|packet| packet.doubtful),
            Word::Acked => self.at().is_some_and(|it| it.acked().is_some()),
            Word::Reliable => self.is_reliable() == Some(true),
            Word::Unreliable => self.is_reliable() == Some(false),
            Word::Resent => self
                .message
                .is_some_and(|(message, _)| (self.history)().resend_of(message).is_some()),
            Word::Undecodable => self.value(PacketField::Diagnostics).number() > Some(0),
            Word::Finding => self.has_finding(|_| true),
        }
    }

    fn present(&self, field: Field) -> bool {
        match field {
            Field::Node => self.packet.is_some() || self.finding.is_some(),
            Field::Kind => self.kind().is_some(),
            Field::Channel => self.message.is_some(),
            Field::Rule | Field::Level => self.has_finding(|_| true),
            Field::Effect => !self.effects().is_empty(),
            Field::Of(field) => match self.value(field) {
                FieldValue::Truth(truth) => truth,
                FieldValue::Nothing | FieldValue::LeftOut => {
                    self.number(Field::Of(field)).is_some()
                }
                value => value.length() != Some(0),
            },
            _ => self.number(field).is_some(),
        }
    }

    /// What the packet has in a field.
    fn value(&self, field: PacketField) -> FieldValue {
        let value = self.at().map(|it| field.value(&it));
        value.unwrap_or(FieldValue::Nothing)
    }

    fn at(&self) -> Option<PacketAt<'a, 'h>> {
        Some(PacketAt {
            session: self.session,
            history: self.history,
            id: self.id,
            packet: self.packet?,
            look: None,
            said: &self.asked.said,
        })
    }

    fn compare(&self, field: Field, comparison: Comparison, literal: &Literal) -> bool {
        let equal = match (field, literal) {
            (Field::Of(field), Literal::Name(name)) => match self.value(field) {
                FieldValue::Node(node) => Some(self.is_named(node, name)),
                FieldValue::Text(text) => Some(text == *name),
                _ => None,
            },
            (Field::Of(field), Literal::Link(from, to)) => match self.value(field) {
                FieldValue::Link(one, other) => {
                    Some(self.is_named(one, from) && self.is_named(other, to))
                }
                _ => None,
            },
            (Field::Node, Literal::Name(name)) => match (self.finding, self.packet) {
                (Some(finding), _) => Some(self.is_named(finding.node, name)),
                (None, Some(packet)) => {
                    Some(self.is_named(packet.from, name) || self.is_named(packet.to, name))
                }
                (None, None) => None,
            },
            (Field::Kind, Literal::Name(name)) => {
                self.kind().map(|kind| kind.eq_ignore_ascii_case(name))
            }
            (Field::Channel, Literal::Name(name)) => self
                .is_reliable()
                .map(|reliable| reliable == (name == "reliable")),
            (Field::Rule, Literal::Name(name)) => {
                any_equal(self.findings().iter().map(|finding| finding.rule), name)
            }
            (Field::Level, Literal::Level(level)) => return self.has_level(comparison, *level),
            (Field::Effect, Literal::Name(name)) => any_equal(self.effects().into_iter(), name),
            (Field::Owner | Field::Origin, Literal::Name(name)) => self
                .number(field)
                .and_then(|peer| u64::try_from(peer).ok())
                .map(|peer| self.session.peer_name(peer) == *name),
            (_, Literal::Number(number)) => {
                return self.ordered(field, comparison, i128::from(*number));
            }
            (_, Literal::Nanos(nanos)) => {
                return self.ordered(field, comparison, i128::from(*nanos));
            }
            _ => None,
        };
        equal.is_some_and(|equal| comparison.of_texts(equal))
    }

    fn ordered(&self, field: Field, comparison: Comparison, value: i128) -> bool {
        let Some(found) = self.number(field) else {
            return false;
        };
        comparison.holds(found.cmp(&value))
    }

    /// Of several findings one is enough; for `!=` there must be some, and none of this level.
    fn has_level(&self, comparison: Comparison, level: Level) -> bool {
        let findings = self.findings();
        let mut levels = findings.iter().map(|finding| finding.level);
        match comparison {
            Comparison::NotEqual => {
                let mut levels = levels.peekable();
                levels.peek().is_some() && levels.all(|each| each != level)
            }
            _ => levels.any(|each| comparison.holds(each.cmp(&level))),
        }
    }

    fn is_reliable(&self) -> Option<bool> {
        let (_, known) = self.message?;
        let joined = || self.facts(|facts| facts.reliable.then_some(1)).is_some();
        Some(known.reliable || joined())
    }

    /// The value of a field that is a number or a time in nanoseconds.
    fn number(&self, field: Field) -> Option<i128> {
        match (self.finding, field) {
            (Some(_), Field::Object) => return self.object.map(i128::from),
            (Some(finding), Field::Of(PacketField::Time)) => {
                return Some(i128::from(finding.time.0));
            }
            _ => {}
        }
        let facts = |get: fn(&MessageFacts) -> Option<u64>| self.facts(get).map(i128::from);
        match field {
            Field::Of(field) => self.value(field).number(),
            Field::Object => facts(|facts| facts.object),
            Field::Owner => facts(|facts| facts.owner.or(facts.new_owner)),
            Field::Counter => facts(|facts| facts.migration_counter),
            Field::Origin => facts(|facts| facts.origin),
            _ => None,
        }
    }

    fn facts(&self, get: impl Fn(&MessageFacts) -> Option<u64>) -> Option<u64> {
        let (message, own) = self.message?;
        if let Some(own) = get(own) {
            return Some(own);
        }
        // Of a fragment, the whole may say it.
        own.fragment?;
        let whole = (self.history)().facts(self.session, message)?;
        get(&whole)
    }

    fn kind(&self) -> Option<&str> {
        let (_, facts) = self.message?;
        self.session.kind_of(facts).map(|kind| kind.name.as_str())
    }

    /// The finding that is asked about, or those of which the packet is evidence.
    fn findings(&self) -> Vec<&Finding> {
        match (self.finding, self.packet) {
            (Some(finding), _) => vec![finding],
            (None, Some(_)) => (self.history)().findings_of(self.id).collect(),
            (None, None) => Vec::new(),
        }
    }

    fn has_finding(&self, fits: impl Fn(&Finding) -> bool) -> bool {
        self.findings().into_iter().any(fits)
    }

    fn effects(&self) -> Vec<&'static str> {
        let Some((message, _)) = self.message else {
            return Vec::new();
        };
        let history = (self.history)();
        let places = history.deliveries_of(message);
        let deliveries = places.filter_map(|place| history.deliveries.get(place as usize));
        deliveries.map(|delivery| delivery.effect.name()).collect()
    }

    fn is_named(&self, node: NodeId, name: &str) -> bool {
        let node = self.session.node(node);
        node.is_some_and(|node| is_named(node, name))
    }
}

/// Whether a filter may call a node so: by its name, or by an endpoint of it.
pub(super) fn is_named(node: &Node, name: &str) -> bool {
    let mut endpoints = node.endpoints.iter();
    node.name == name || endpoints.any(|endpoint| endpoint.to_string() == name)
}

/// See [`super::Query::unknown_names_beside`].
pub(super) fn unknown_names(
    expr: &Expr,
    session: &Session,
    own_rules: &[&str],
    sentences: &mut Vec<String>,
) {
    let mut check_node = |name: &str| {
        if !session.nodes.iter().any(|node| is_named(node, name)) {
            let nodes = session.nodes.iter().map(|node| node.name.as_str());
            sentences.push(unknown("node", name, nodes));
        }
    };
    match expr {
        Expr::Not(inner) => unknown_names(inner, session, own_rules, sentences),
        Expr::And(left, right) | Expr::Or(left, right) => {
            unknown_names(left, session, own_rules, sentences);
            unknown_names(right, session, own_rules, sentences);
        }
        Expr::Compare(Field::Of(field), _, Literal::Name(name))
            if field.declared().of == FieldType::Node =>
        {
            check_node(name);
        }
        Expr::Compare(Field::Node | Field::Owner | Field::Origin, _, Literal::Name(name)) => {
            check_node(name);
        }
        Expr::Compare(_, _, Literal::Link(from, to)) => {
            check_node(from);
            check_node(to);
        }
        Expr::Compare(Field::Kind, _, Literal::Name(name)) => {
            let Some(wire) = &session.wire else { return };
            let kinds: Vec<&str> = wire.kinds().iter().map(|kind| kind.name.as_str()).collect();
            if !kinds.iter().any(|kind| kind.eq_ignore_ascii_case(name)) {
                sentences.push(unknown("kind", name, kinds.into_iter()));
            }
        }
        Expr::Compare(Field::Rule, _, Literal::Name(name)) => {
            let rules = RULES.iter().chain(own_rules).copied();
            if !rules.clone().any(|rule| rule == name) {
                sentences.push(unknown("rule", name, rules));
            }
        }
        Expr::Wire(path, _) => {
            let Some(wire) = &session.wire else {
                sentences.push(format!(
                    "`{}` is a field of a wire, and there is none; name one with --wire FILE",
                    path.names.join(".")
                ));
                return;
            };
            for name in &path.names {
                if !wire.has_field(Some(name), None) {
                    let meant = did_you_mean(name, wire.field_names().into_iter());
                    sentences.push(format!(
                        "the wire {} has no field that is called {name}{meant}",
                        wire.name()
                    ));
                }
            }
        }
        _ => {}
    }
}

/// That nothing is called so, and what there is.
fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    let meant = did_you_mean(name, known.iter().copied());
    format!(
        "no {what} is called {name}{meant}; there are {}",
        known.join(", ")
    )
}

fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let meant = nearest_of(name, known);
    meant.map_or(String::new(), |meant| format!(" (did you mean {meant}?)"))
}

fn any_equal<'a>(names: impl Iterator<Item = &'a str>, name: &str) -> Option<bool> {
    let mut found = None;
    for each in names {
        found = Some(found.unwrap_or(false) || each == name);
    }
    found
}
