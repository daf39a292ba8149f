//! A change of what a node holds of a property, in a lane.

use std::collections::BTreeMap;

use crate::session::{MessageId, SessionTime};

pub(super) const UNKNOWN: u32 = 0;
pub(super) const NOTHING: u32 = 1;
/// And the number of a value.
pub(super) const VALUE: u32 = 2;

/// A change of a lane: when, to what, and the message that told it.
pub(super) type Change = (SessionTime, u32, Option<MessageId>);

/// Lanes, by object and property.
pub(super) type Changes = BTreeMap<(u64, u16), Vec<Change>>;

/// Whether a lane has a value, whose number is behind [`VALUE`].
pub(super) fn is_value(code: u32) -> bool {
    code >= VALUE
}

/// Adds a change to all lanes of an object, where it is one.
pub(super) fn put_all(lanes: &mut Changes, object: u64, change: Change) {
    for (_, lane) in lanes.range_mut((object, 0)..=(object, u16::MAX)) {
        put(lane, change);
    }
}

/// Adds a change to a lane, where it is one. Of several at one moment the last counts.
pub(super) fn put(lane: &mut Vec<Change>, change: Change) {
    let (time, value, _) = change;
    if let Some(&(last, ..)) = lane.last()
        && last == time
    {
        lane.pop();
    }
    if lane.last().is_none_or(|&(_, last, _)| last != value) {
        lane.push(change);
    }
}
