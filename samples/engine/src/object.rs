//! A replicated object as one node knows it, and what a node knows of its copies.

use std::collections::BTreeMap;

use crate::message::{Body, Counter, Migration, ObjectId, Peer, State};
use crate::types::Value;

/// An object that lives at this node.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Who owns it, as far as this node knows.
    pub owner: Peer,
    /// How often it has migrated, as far as this node knows. Stays 0 in mode `host`.
    pub counter: Counter,
    /// Its type and the values of its fields.
    pub state: State,
    /// Of each field: the version of its value. Grows with every change of any field.
    pub(crate) versions: Vec<u64>,
    /// The stretch of ownership; acks of an earlier one no longer count.
    pub(crate) epoch: u64,
    /// Of each peer that this node has a link to: the newest packet whose UPDATE was taken.
    pub(crate) updated_by: BTreeMap<Peer, u64>,
}

impl Object {
    /// Everything that a MIGRATE that creates says, and an order.
    pub(crate) fn migration(&self, object: ObjectId) -> Migration {
        let full = Some((self.counter, self.state.clone()));
        Migration {
            object,
            new_owner: self.owner,
            full,
        }
    }

    /// An UPDATE of some fields; with its counter where UPDATEs are counted.
    pub(crate) fn update(
        &self,
        object: ObjectId,
        counts: bool,
        changes: Vec<Option<Value>>,
    ) -> Body {
        Body::Update {
            object,
            counter: counts.then_some(self.counter),
            kind: self.state.kind,
            changes,
        }
    }

    /// An UPDATE of all fields.
    pub(crate) fn whole_update(&self, object: ObjectId, counts: bool) -> Body {
        let changes = self.state.values.iter().cloned().map(Some);
        self.update(object, counts, changes.collect())
    }

    /// Takes a change of the last field for one of the field before it, as a fault does.
    pub(crate) fn misplace_change(&mut self, version: u64) {
        if let [.., before, last] = &mut self.versions[..]
            && *last == version
        {
            (*before, *last) = (version, 0);
        }
    }

    /// Takes new values for some fields.
    pub(crate) fn change(&mut self, changes: Vec<Option<Value>>, version: u64) {
        let fields = self.state.values.iter_mut().zip(&mut self.versions);
        for ((value, field_version), change) in fields.zip(changes) {
            if let Some(new) = change
                && *value != new
            {
                *value = new;
                *field_version = version;
            }
        }
    }
}

/// What a node has heard of an object id, kept after its end as a tombstone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    /// The highest counter.
    pub counter: Counter,
    /// Who destroyed it at that counter; `None` while it lives.
    pub destroyed_by: Option<Peer>,
}

impl Heard {
    /// It lives, at this counter.
    pub fn alive(counter: Counter) -> Heard {
        Heard {
            counter,
            destroyed_by: None,
        }
    }
}

/// What this node knows of the copy of an object at a peer that it keeps up to date.
#[derive(Clone, Debug)]
pub(crate) struct Copy {
    pub epoch: u64,
    pub announced: Announced,
    pub fields: Vec<CopyField>,
}

/// How a peer was told of an object (and of its owner).
#[derive(Clone, std::marker::Copy, Debug, PartialEq, Eq)]
pub(crate) enum Announced {
    /// By the reliable message at this place: UPDATEs wait until it is acked.
    At(u64),
    /// UPDATEs need not wait.
    Ready,
    /// By HOST, in this node's name: UPDATEs wait until the peer confirms the object at its counter.
    ByHost,
}

/// A field of a copy.
#[derive(Clone, std::marker::Copy, Debug, Default)]
pub(crate) struct CopyField {
    /// The newest version that the peer is known to have.
    pub acked: u64,
    /// The newest version under way, and the last packet that carries it.
    pub flying: Option<(u64, u64)>,
}

impl CopyField {
    /// Whether a value of this version is neither acked nor under way.
    pub fn is_due(&self, version: u64) -> bool {
        version > self.acked && self.flying.is_none_or(|(flying, _)| version > flying)
    }
}

impl Copy {
    /// A copy that has (`versions`) or has not (`None`) the values of now.
    pub fn new(epoch: u64, announced: Announced, fields: usize, versions: Option<&[u64]>) -> Copy {
        let field = |place| CopyField {
            acked: versions
                .and_then(|all| all.get(place).copied())
                .unwrap_or(0),
            flying: None,
        };
        Copy {
            epoch,
            announced,
            fields: (0..fields).map(field).collect(),
        }
    }

    /// Whether a value must be sent: one that is neither acked nor under way.
    pub fn is_due(&self, versions: &[u64]) -> bool {
        let mut fields = self.fields.iter().zip(versions);
        fields.any(|(field, &version)| field.is_due(version))
    }

    /// Whether a value is under way, where acks say so ([`Copy::ack_all`]).
    pub fn is_flying(&self) -> bool {
        self.fields.iter().any(|field| field.flying.is_some())
    }

    /// Takes all values of now for acked, as a fault does.
    pub fn ack_all(&mut self, versions: &[u64]) {
        for (field, &acked) in self.fields.iter_mut().zip(versions) {
            let flying = None;
            *field = CopyField { acked, flying };
        }
    }

    /// Takes all values up to a version for acked, as a fault does.
    pub fn ack_up_to(&mut self, version: u64) {
        let fields = self.fields.iter_mut();
        fields.for_each(|field| field.acked = field.acked.max(version));
    }

    /// Whether a value is not acked.
    pub fn is_behind(&self, versions: &[u64]) -> bool {
        self.fields
            .iter()
            .zip(versions)
            .any(|(field, &version)| version > field.acked)
    }
}
