//! What filters and conditions are made of.

use std::cmp::Ordering;

use crate::history::Level;
use crate::packet_fields::{FieldType, PacketField};
use crate::session::Fate;

/// A filter that was understood.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    pub(super) root: Expr,
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expr {
    /// What is known already; `None`: what nobody knows.
    Truth(Option<bool>),
    Not(Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Word(Word),
    Present(Field),
    Compare(Field, Comparison, Literal),
    /// Fields of the wire: they are there, or compare so.
    Wire(Path, Option<(Comparison, Constant)>),
    Belief(Belief),
}

impl Expr {
    /// Whether a part of it is one of these words or fields.
    pub fn has(&self, word: &impl Fn(Word) -> bool, field: &impl Fn(Field) -> bool) -> bool {
        self.any(&mut |leaf| match leaf {
            Expr::Word(own) => word(*own),
            Expr::Present(own) | Expr::Compare(own, ..) => field(*own),
            _ => false,
        })
    }

    /// Whether one of its leaves fits: of what does not join and negate others.
    pub fn any<'e>(&'e self, fits: &mut impl FnMut(&'e Expr) -> bool) -> bool {
        match self {
            Expr::Not(inner) => inner.any(fits),
            Expr::And(left, right) | Expr::Or(left, right) => left.any(fits) || right.any(fits),
            leaf => fits(leaf),
        }
    }

    /// What is left of it where beliefs are true, false, or nobody knows.
    pub fn given(&self, known: &impl Fn(&Belief) -> Option<bool>) -> Expr {
        let pair = |left: &Expr, right: &Expr| (left.given(known), right.given(known));
        // One that decides alone, and one that leaves it to the other.
        let joined = |(left, right), decides: bool, join: fn(Box<Expr>, Box<Expr>) -> Expr| match (
            left, right,
        ) {
            (Expr::Truth(Some(it)), other) | (other, Expr::Truth(Some(it))) => {
                if it == decides {
                    Expr::Truth(Some(decides))
                } else {
                    other
                }
            }
            (Expr::Truth(None), Expr::Truth(None)) => Expr::Truth(None),
            (left, right) => join(Box::new(left), Box::new(right)),
        };
        match self {
            Expr::Belief(belief) => Expr::Truth(known(belief)),
            Expr::Not(inner) => match inner.given(known) {
                Expr::Truth(truth) => Expr::Truth(truth.map(|it| !it)),
                inner => Expr::Not(Box::new(inner)),
            },
            Expr::And(left, right) => joined(pair(left, right), false, Expr::And),
            Expr::Or(left, right) => joined(pair(left, right), true, Expr::Or),
            leaf => leaf.clone(),
        }
    }

    /// Whether what it says may be true of one message of a packet and not of another.
    pub fn is_about_messages(&self) -> bool {
        use Field::{Channel, Counter, Effect, Kind, Object, Origin, Owner};
        self.any(&mut |leaf| matches!(leaf, Expr::Wire(..)))
            || self.has(
                &|word| matches!(word, Word::Reliable | Word::Unreliable | Word::Resent),
                &|field| {
                    matches!(
                        field,
                        Kind | Channel | Object | Owner | Counter | Origin | Effect
                    )
                },
            )
    }

    pub fn is_about_history(&self) -> bool {
        use Field::{Effect, Level, Of, Rule};
        // What a message in fragments says is known once it was joined.
        use Field::{Counter, Object, Origin, Owner};
        self.has(
            &|word| matches!(word, Word::Acked | Word::Resent | Word::Finding),
            &|field| match field {
                Of(field) => field.declared().of_history,
                _ => matches!(
                    field,
                    Rule | Level | Effect | Object | Owner | Counter | Origin
                ),
            },
        )
    }
}

named! {
    /// A word that stands alone.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum Word {
        "lost" Lost,
        "received" Received,
        "unknown" Unknown,
        "failed" Failed,
        "unread" Unread,
        "duplicated" Duplicated,
        "doubtful" Doubtful,
        "acked" Acked,
        "reliable" Reliable,
        "unreliable" Unreliable,
        "resent" Resent,
        "undecodable" Undecodable,
        "finding" Finding,
    }
}

impl Word {
    /// The fate that it asks for.
    pub fn fate(self) -> Option<Fate> {
        match self {
            Word::Lost => Some(Fate::Lost),
            Word::Received => Some(Fate::Received),
            Word::Unknown => Some(Fate::Unknown),
            Word::Failed => Some(Fate::SendFailed),
            Word::Unread => Some(Fate::Unread),
            _ => None,
        }
    }
}

/// A field that can be compared: a packet's, or of a message, of a finding, of either node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Of(PacketField),
    Node,
    Kind,
    Channel,
    Object,
    Owner,
    Counter,
    Origin,
    Rule,
    Level,
    Effect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    pub fn holds(self, ordering: Ordering) -> bool {
        match self {
            Comparison::Equal => ordering == Ordering::Equal,
            Comparison::NotEqual => ordering != Ordering::Equal,
            Comparison::Less => ordering == Ordering::Less,
            Comparison::LessOrEqual => ordering != Ordering::Greater,
            Comparison::Greater => ordering == Ordering::Greater,
            Comparison::GreaterOrEqual => ordering != Ordering::Less,
        }
    }

    /// Of texts, which are equal or not.
    pub fn of_texts(self, is_equal: bool) -> bool {
        match self {
            Comparison::Equal => is_equal,
            Comparison::NotEqual => !is_equal,
            _ => false,
        }
    }

    /// Whether it asks for more than being equal or not.
    pub fn is_of_order(self) -> bool {
        !matches!(self, Comparison::Equal | Comparison::NotEqual)
    }
}

/// What a node believes of an object: `objects[42]`, that it lives, or `objects[42].position[0] < 1.5`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Belief {
    pub object: u64,
    pub asked: Option<BeliefValue>,
    /// As it was typed.
    pub text: String,
}

/// What is asked of an object, and what that is compared with.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BeliefValue {
    /// The name of a property, `owner` or `counter`.
    pub name: String,
    /// Which part of a property that has several.
    pub part: Option<usize>,
    pub comparison: Comparison,
    pub constant: Constant,
    /// The same as it was typed.
    pub typed: String,
}

/// What a field is compared with.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    Name(String),
    Link(String, String),
    Number(u64),
    /// Nanoseconds.
    Nanos(i64),
    Level(Level),
}

/// What a field can be compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    Name,
    Link,
    Number,
    NumberOrName,
    Time,
    Level,
}

impl Field {
    pub const OTHERS: [(&'static str, Field); 10] = [
        ("node", Field::Node),
        ("kind", Field::Kind),
        ("channel", Field::Channel),
        ("object", Field::Object),
        ("owner", Field::Owner),
        ("counter", Field::Counter),
        ("origin", Field::Origin),
        ("rule", Field::Rule),
        ("level", Field::Level),
        ("effect", Field::Effect),
    ];

    /// All of them, by their names.
    pub fn all() -> impl Iterator<Item = (&'static str, Field)> {
        let named = PacketField::on(|it| it.filter).map(|(name, it)| (name, Field::Of(it)));
        named.chain(Field::OTHERS)
    }

    pub fn named(name: &str) -> Option<Field> {
        let found = Field::all().find(|(known, _)| *known == name);
        found.map(|(_, field)| field)
    }

    pub fn takes(self) -> Takes {
        match self {
            Field::Node | Field::Kind | Field::Channel | Field::Rule | Field::Effect => Takes::Name,
            Field::Level => Takes::Level,
            Field::Owner | Field::Origin => Takes::NumberOrName,
            Field::Object | Field::Counter => Takes::Number,
            Field::Of(field) => match field.declared().of {
                FieldType::Node | FieldType::Text => Takes::Name,
                FieldType::Link => Takes::Link,
                FieldType::Moment | FieldType::Utc | FieldType::Duration => Takes::Time,
                FieldType::Count | FieldType::Bytes | FieldType::Number => Takes::Number,
                FieldType::Truth | FieldType::List => Takes::Number,
            },
        }
    }
}

/// Which fields of the wire are meant, and how many of them must fit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Path {
    /// From the outside in; the last is the field itself.
    pub names: Vec<String>,
    pub each: Each,
}

/// How many of the fields that a path finds must fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Each {
    /// One.
    Any,
    /// All, and there must be one.
    All,
}

/// What a field of the wire is compared with.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Constant {
    Whole(i128),
    /// A whole number that is larger.
    Wide(u128),
    Decimal(f64),
    Text(String),
}

impl Constant {
    /// A number as it is written, without a unit.
    pub fn number(text: &str) -> Option<Constant> {
        let whole = text
            .parse()
            .map(Constant::Whole)
            .or_else(|_| text.parse().map(Constant::Wide));
        whole.or_else(|_| text.parse().map(Constant::Decimal)).ok()
    }

    /// How it stands to another; texts have no order.
    pub fn order(&self, other: &Constant) -> Option<Ordering> {
        match (self, other) {
            (Constant::Whole(one), Constant::Whole(other)) => Some(one.cmp(other)),
            (Constant::Wide(one), Constant::Wide(other)) => Some(one.cmp(other)),
            (Constant::Wide(_), Constant::Whole(_)) => Some(Ordering::Greater),
            (Constant::Whole(_), Constant::Wide(_)) => Some(Ordering::Less),
            (one, other) => one.decimal()?.partial_cmp(&other.decimal()?),
        }
    }

    pub fn decimal(&self) -> Option<f64> {
        match self {
            Constant::Whole(number) => Some(*number as f64),
            Constant::Wide(number) => Some(*number as f64),
            Constant::Decimal(number) => Some(*number),
            Constant::Text(_) => None,
        }
    }
}
