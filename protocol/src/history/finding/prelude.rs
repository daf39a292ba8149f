//! What nearly every rule goes by.

pub(super) use std::collections::{BTreeMap, BTreeSet};

pub(super) use netreel_wire::Role;

pub(super) use super::case::{Case, Firsts, Found, Link, note, of_each};
pub(super) use super::words::{
    Told, and_more, at_event, came, crossing, names, owner, seen_at, sent, sent_or_came,
};
pub(super) use crate::figures::duration;
pub(super) use crate::history::claims::is_whole;
pub(super) use crate::history::{Belief, Effect, Evidence, Level};
pub(super) use crate::session::{
    Fate, MessageId, NodeId, PacketId, Session, SessionTime, Stamp, packets,
};
