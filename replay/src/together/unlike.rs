//! Whether what comes to a node is what came in the recording.

use netreel_reel::{Event, Record, SocketId};

use super::inbox::{Place, Waiting};
use super::lane::NodePlayed;
use super::report::Why;

/// How a receive is not the recorded one.
pub(super) enum Unlike {
    /// The layer's step is another one.
    Step,
    /// What came is.
    Came(Why),
}

/// Compares what comes with what the recording has at this step; `None` where they are equal.
pub(super) fn unlike(
    lane: &NodePlayed,
    record: &Record<'_>,
    socket: Option<SocketId>,
    place: Option<Place>,
) -> Option<Unlike> {
    let on = match record.event {
        Event::Received { socket, .. }
        | Event::PollEmpty { socket }
        | Event::ReceiveFailed { socket, .. } => socket,
        _ => return Some(Unlike::Step),
    };
    if socket.is_some_and(|socket| socket != on) {
        return Some(Unlike::Step);
    }
    let came = place
        .and_then(|place| lane.inbox.get(&place))
        .map(|it| &it.what);
    match (&record.event, came) {
        (Event::PollEmpty { .. }, None) => None,
        (Event::ReceiveFailed { code, .. }, Some(Waiting::Failed(came))) if code == came => None,
        (
            Event::Received { from, payload, .. },
            Some(Waiting::Packet {
                from: by,
                payload: it,
            }),
        ) if (from, *payload) == (by, &**it) => None,
        (event, Some(Waiting::Packet { from, .. })) => Some(Unlike::Came(Why::OtherCame {
            from: *from,
            instead: matches!(event, Event::Received { .. }),
        })),
        (Event::Received { from, .. }, _) => Some(Unlike::Came(Why::NothingCame { from: *from })),
        _ => Some(Unlike::Step),
    }
}
