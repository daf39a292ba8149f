//! A change of what a node holds of a property, in a lane.

use crate::session::{MessageId, SessionTime};

pub(super) const UNKNOWN: u32 = 0;
pub(super) const NOTHING: u32 = 1;
/// And the number of a value.
pub(super) const VALUE: u32 = 2;

/// A change of a lane: when, to what, and the message that told it.
pub(super) type Change = (SessionTime, u32, Option<MessageId>);

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
