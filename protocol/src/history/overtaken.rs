//! UPDATEs that were taken though a later one of the same sender had been taken before.

use super::{Effect, History};
use crate::session::{MessageId, NodeId, Session, SessionTime};

/// The newest UPDATE which a node had taken, of those that its sender sent after this one: a place in
/// [`History::deliveries`], as is `place`. None where this one came in its turn, or was not taken.
pub(crate) fn had_newer(session: &Session, history: &History, place: u32) -> Option<u32> {
    let delivery = history.deliveries.get(place as usize)?;
    if delivery.effect != Effect::Updated || delivery.local {
        return None;
    }
    let (from, sent) = speaker(session, delivery.message)?;
    let object = history.facts(session, delivery.message)?.object?;
    let before = history
        .objects
        .get(&object)?
        .deliveries
        .iter()
        .copied()
        .take_while(|&it| it < place);
    let newer = before.filter_map(|it| {
        let earlier = history.deliveries.get(it as usize)?;
        let is_taken = earlier.node == delivery.node && earlier.effect == Effect::Updated;
        let (by, at) = speaker(session, earlier.message).filter(|_| is_taken)?;
        (by == from && at > sent).then_some((at, it))
    });
    newer.max().map(|(_, it)| it)
}

/// The delivery of a message to a node, as [`had_newer`] wants it.
pub(crate) fn taken_at(
    history: &History,
    node: NodeId,
    object: u64,
    message: MessageId,
) -> Option<u32> {
    let all = &history.objects.get(&object)?.deliveries;
    let mut all = all.iter().rev().copied();
    all.find(|&it| {
        let delivery = history.deliveries.get(it as usize);
        delivery.is_some_and(|it| it.node == node && it.message == message)
    })
}

/// Who sent a message, and when by that node's own clock.
fn speaker(session: &Session, message: MessageId) -> Option<(NodeId, SessionTime)> {
    let packet = session.carrier(message)?;
    let (is_sent, at) = session.departed(packet)?;
    let (from, _) = session.link(packet)?;
    is_sent.then_some((from, at.time))
}
