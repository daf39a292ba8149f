//! How what two nodes believed of a property differed, over time.

use netreel_wire::PropertyId;

use super::value::apart;
use super::{Apart, Known, Lanes, NOTHING, States, VALUE, is_value};
use crate::session::{NodeId, SessionTime};

/// The stretches of time in which what two nodes believed of a property of an object differed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Differences {
    /// In the order of time; the last one may end where the first of the two reels ends.
    pub stretches: Vec<Parting>,
}

/// A stretch in which two nodes believed in different values.
#[derive(Clone, Debug, PartialEq)]
pub struct Parting {
    /// When they parted.
    pub from: SessionTime,
    /// When they agreed again, or one of them knew nothing more; the end of what was asked for
    /// otherwise.
    pub to: SessionTime,
    /// Whether they differed until the end of what was asked for.
    pub lasts: bool,
    /// The farthest that they were apart.
    pub most: Apart,
}

impl Parting {
    /// In ns.
    pub fn length_ns(&self) -> i64 {
        self.to.0.saturating_sub(self.from.0)
    }
}

impl Differences {
    /// The longest stretch, the earliest of equal ones.
    pub fn longest(&self) -> Option<&Parting> {
        let stretches = self.stretches.iter().rev();
        stretches.max_by_key(|it| it.length_ns())
    }

    /// How long the values differed in all, in ns.
    pub fn total_ns(&self) -> i64 {
        let lengths = self.stretches.iter().map(Parting::length_ns);
        lengths.fold(0, i64::saturating_add)
    }
}

impl States {
    /// How far what two nodes believed of a property was apart at a moment; `None` where one of them did
    /// not know the object, or nobody can say what it believed.
    pub fn apart(
        &self,
        object: u64,
        property: PropertyId,
        (one, other): (NodeId, NodeId),
        time: SessionTime,
    ) -> Option<Apart> {
        let code = |node| {
            let lanes = self.nodes.get(&node)?;
            let row = lanes.row_at(object, property.0, time)?;
            Some(lanes.values.get(row) as u32)
        };
        self.apart_by_code(property, code(one)?, code(other)?)
    }

    pub(super) fn apart_by_code(
        &self,
        property: PropertyId,
        one: u32,
        other: u32,
    ) -> Option<Apart> {
        if !is_value(one) || !is_value(other) {
            return None;
        }
        if one == other {
            return Some(Apart::Same);
        }
        let known = self.property(property)?;
        let value = |code: u32| self.values.get(code - VALUE);
        Some(apart(known, &value(one), &value(other)))
    }

    /// How far two values of a property are apart; `None` where one of them is not known.
    pub fn apart_of(&self, property: PropertyId, one: &Known, other: &Known) -> Option<Apart> {
        match (one, other) {
            (Known::Value(one), Known::Value(other)) => {
                Some(apart(self.property(property)?, one, other))
            }
            _ => None,
        }
    }

    /// When what two nodes believed of a property of an object differed, up to a moment.
    pub fn differences(
        &self,
        object: u64,
        property: PropertyId,
        (one, other): (NodeId, NodeId),
        until: SessionTime,
    ) -> Differences {
        let mut found = Differences::default();
        let lanes = |node| {
            let lanes: &Lanes = self.nodes.get(&node)?;
            let rows = lanes.rows(object, property.0)?;
            Some(rows.map(move |row| (lanes.time(row), lanes.values.get(row) as u32)))
        };
        let (Some(one), Some(other)) = (lanes(one), lanes(other)) else {
            return found;
        };
        let (mut one, mut other) = (one.peekable(), other.peekable());
        let mut codes = (NOTHING, NOTHING);
        let mut open: Option<Parting> = None;
        loop {
            let next = [one.peek(), other.peek()].into_iter().flatten();
            let Some(time) = next.map(|&(time, _)| time).min() else {
                break;
            };
            if time > until {
                break;
            }
            if let Some((_, code)) = one.next_if(|&(at, _)| at == time) {
                codes.0 = code;
            }
            if let Some((_, code)) = other.next_if(|&(at, _)| at == time) {
                codes.1 = code;
            }
            let apart = self.apart_by_code(property, codes.0, codes.1);
            match (apart.filter(|it| *it != Apart::Same), &mut open) {
                (Some(apart), Some(parting)) => parting.most = parting.most.farther(apart),
                (Some(apart), None) => {
                    open = Some(Parting {
                        from: time,
                        to: time,
                        lasts: false,
                        most: apart,
                    });
                }
                (None, _) => {
                    if let Some(mut parting) = open.take() {
                        parting.to = time;
                        found.stretches.push(parting);
                    }
                }
            }
        }
        if let Some(mut parting) = open {
            parting.to = until.max(parting.from);
            parting.lasts = true;
            found.stretches.push(parting);
        }
        found
    }
}

impl Apart {
    /// The farther of two.
    pub fn farther(self, other: Apart) -> Apart {
        match (self, other) {
            (Apart::By(one), Apart::By(other)) => Apart::By(one.max(other)),
            (Apart::Other, _) | (_, Apart::Other) => Apart::Other,
            (Apart::Same, other) => other,
            (one, Apart::Same) => one,
        }
    }
}
