//! A filter over very many packets: what their columns decide is not asked of each.

use std::cmp::Ordering;

use super::eval::is_named;
use super::expr::Field::{self, Of};
use super::expr::{Comparison, Expr, Literal, Query, Word};
use crate::history::History;
use crate::packet_fields::PacketField as It;
use crate::session::Packets;
use crate::session::{Fate, NodeId, PacketId, Session, parallel};

/// How many packets are looked at together.
const SOME: usize = 1 << 12;
/// And this many by one processor at a time.
const PORTION: usize = 1 << 16;

/// A bit for each of the packets.
type Bits = [u64; SOME / 64];

const NONE: Bits = [0; SOME / 64];
const ALL: Bits = [u64::MAX; SOME / 64];

/// What is known without asking each packet: which may pass, and which do.
#[derive(Clone, Copy)]
struct Known {
    may: Bits,
    must: Bits,
}

impl Query {
    /// The packets from `first` on, so many, that pass; in order. `history` is asked for only where
    /// the filter speaks of it. Several processors look at once.
    pub fn packets<'a>(
        &self,
        session: &'a Session,
        history: &dyn Fn() -> &'a History,
        (first, count): (usize, usize),
    ) -> Vec<PacketId> {
        let none = History::default();
        let known = if self.needs_history() {
            history()
        } else {
            &none
        };
        let until = first.saturating_add(count).min(session.packet_count());
        let starts: Vec<usize> = (first..until).step_by(PORTION).collect();
        let passing = parallel::map(starts, session.workers(), |start| {
            let mut passing = Vec::new();
            for from in (start..until.min(start + PORTION)).step_by(SOME) {
                self.some(session, known, (from, until.min(from + SOME)), &mut passing);
            }
            passing
        });
        passing.into_iter().flatten().collect()
    }

    fn some(
        &self,
        session: &Session,
        history: &History,
        (from, until): (usize, usize),
        passing: &mut Vec<PacketId>,
    ) {
        let some = session.some(from, until - from);
        let known = self.root.known(session, &some);
        for (word, (may, must)) in known.may.iter().zip(known.must).enumerate() {
            let mut left = *may;
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                let place = word * 64 + bit as usize;
                let id = PacketId((from + place) as u32);
                let passes = place < some.len()
                    && (must >> bit & 1 == 1 || self.packet(session, history, id));
                passing.extend(passes.then_some(id));
            }
        }
    }
}

impl Known {
    fn exactly(bits: Bits) -> Known {
        Known {
            may: bits,
            must: bits,
        }
    }

    fn of(holds: bool) -> Known {
        Known::exactly(if holds { ALL } else { NONE })
    }

    fn each(some: &Packets<'_>, holds: impl Fn(usize) -> bool) -> Known {
        let mut bits = NONE;
        for place in 0..some.len() {
            if let Some(word) = bits.get_mut(place / 64) {
                *word |= u64::from(holds(place)) << (place % 64);
            }
        }
        Known::exactly(bits)
    }

    fn with(self, other: Known, both: impl Fn(u64, u64) -> u64) -> Known {
        let join = |one: Bits, other: Bits| {
            let mut bits = one;
            let words = bits.iter_mut().zip(other);
            words.for_each(|(word, other)| *word = both(*word, other));
            bits
        };
        Known {
            may: join(self.may, other.may),
            must: join(self.must, other.must),
        }
    }
}

/// Nothing is known: each packet is to be asked.
const OPEN: Known = Known {
    may: ALL,
    must: NONE,
};

impl Expr {
    pub(super) fn is_about_channels(&self) -> bool {
        self.has(
            &|word| matches!(word, Word::Reliable | Word::Unreliable),
            &|field| field == Field::Channel,
        )
    }

    fn known(&self, session: &Session, some: &Packets<'_>) -> Known {
        match self {
            Expr::Truth(Some(truth)) => Known::of(*truth),
            Expr::Not(inner) => {
                let Known { may, must } = inner.known(session, some);
                Known {
                    may: must.map(|word| !word),
                    must: may.map(|word| !word),
                }
            }
            Expr::And(left, right) => {
                let left = left.known(session, some);
                left.with(right.known(session, some), |one, other| one & other)
            }
            Expr::Or(left, right) => {
                let left = left.known(session, some);
                left.with(right.known(session, some), |one, other| one | other)
            }
            Expr::Word(word) => match (word, word.fate()) {
                (_, Some(fate)) => Known::each(some, |place| some.fate(place) == fate),
                (Word::Duplicated, _) => Known::each(some, |place| some.is_duplicated(place)),
                (Word::Doubtful, _) => Known::each(some, |place| some.is_doubtful(place)),
                _ => OPEN,
            },
            Expr::Present(field) => match field {
                Field::Node | Of(It::From | It::To | It::Link) => Known::of(true),
                Of(It::Packet | It::Length | It::Time) => Known::of(true),
                Of(It::Received) => Known::each(some, |place| some.received(place).is_some()),
                Of(It::Late) => Known::each(some, |place| late(some, place).is_some()),
                _ => OPEN,
            },
            Expr::Compare(field, comparison, literal) => {
                compared(session, some, (*field, *comparison, literal))
            }
            Expr::Truth(None) | Expr::Wire(..) | Expr::Belief(_) => OPEN,
        }
    }
}

/// From its send to its receipt, in nanoseconds, where it was received.
fn late(some: &Packets<'_>, place: usize) -> Option<i128> {
    if some.fate(place) != Fate::Received {
        return None;
    }
    let (sent, received) = (some.sent(place)?, some.received(place)?);
    Some(i128::from(received.0) - i128::from(sent.0))
}

fn compared(
    session: &Session,
    some: &Packets<'_>,
    (field, comparison, literal): (Field, Comparison, &Literal),
) -> Known {
    let value = match literal {
        Literal::Number(number) => i128::from(*number),
        Literal::Nanos(nanos) => i128::from(*nanos),
        _ => return named(session, some, (field, comparison, literal)),
    };
    let fits = |found: i128| comparison.holds(found.cmp(&value));
    match field {
        Of(It::Packet) => Known::each(some, |place| fits(some.number(place) as i128)),
        Of(It::Length) => Known::each(some, |place| fits(i128::from(some.length(place)))),
        Of(It::Time) => {
            let order = |place: usize| i128::from(some.time(place).0).cmp(&value);
            match (order(0), order(some.len().saturating_sub(1))) {
                // All are before the time, or all after it.
                (first, last) if first == last && first != Ordering::Equal => {
                    Known::of(comparison.holds(first))
                }
                _ => Known::each(some, |place| comparison.holds(order(place))),
            }
        }
        Of(It::Received) => Known::each(some, |place| {
            some.received(place).is_some_and(|it| fits(it.0.into()))
        }),
        Of(It::Late) => Known::each(some, |place| late(some, place).is_some_and(fits)),
        _ => OPEN,
    }
}

/// Compares who sent a packet, and to whom, with a name.
fn named(
    session: &Session,
    some: &Packets<'_>,
    (field, comparison, literal): (Field, Comparison, &Literal),
) -> Known {
    let is = |node: NodeId, name: &str| {
        let node = session.node(node);
        node.is_some_and(|node| is_named(node, name))
    };
    let equal: &dyn Fn(NodeId, NodeId) -> bool = match (field, literal) {
        (Of(It::From), Literal::Name(name)) => &|from, _| is(from, name),
        (Of(It::To), Literal::Name(name)) => &|_, to| is(to, name),
        (Field::Node, Literal::Name(name)) => &|from, to| is(from, name) || is(to, name),
        (Of(It::Link), Literal::Link(one, other)) => &|from, to| is(from, one) && is(to, other),
        _ => return OPEN,
    };
    let expected = comparison == Comparison::Equal;
    let links = some.links().iter();
    let fits: Vec<bool> = links
        .map(|&(from, to)| equal(from, to) == expected)
        .collect();
    Known::each(some, |place| {
        fits.get(some.link(place)).copied().unwrap_or(false)
    })
}
