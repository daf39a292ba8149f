//! What nearly every rule goes by.

pub(super) use std::collections::{BTreeMap, BTreeSet};

pub(super) use netreel_wire::Role;

pub(super) use super::case::{Case, Firsts, Found, Link, note, of_each};
pub(super) use super::words::{
    EVIDENCE_MAX, Told, and_more, at_event, came, crossing, held_by, names, owner, seen_at, sent,
    sent_or_came, told_of, word,
};
pub(super) use crate::figures::{counted, duration};
pub(super) use crate::history::claims::is_whole;
pub(super) use crate::history::settled::{Settled, Settlement};
pub(super) use crate::history::{Belief, Effect, Evidence, Level, Object};
pub(super) use crate::session::{
    Fate, MessageId, NodeId, PacketId, Session, SessionTime, Stamp, packets,
};
