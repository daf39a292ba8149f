//! What nodes believed of objects.

use netreel_protocol::export;

use super::moment;
use crate::column::{Column, Kind};
use crate::rows::Rows;
use crate::{FleetError, Recording};

pub(super) const COLUMNS: &[Column] = &[
    Column::of("object", Kind::Unsigned, "its number"),
    Column::of(
        "object_type",
        Kind::Unsigned,
        "the protocol's number of its type",
    )
    .or_null(),
    Column::of("node", Kind::Text, "who believed it"),
    Column::of("utc", Kind::Moment, "from when on"),
    Column::of("from_ns", Kind::Whole, "the same on the session's clock"),
    Column::of(
        "to_ns",
        Kind::Whole,
        "until when; the last stretch ends where the node's reel ends",
    ),
    Column::of(
        "belief",
        Kind::Text,
        "`owned`, `orphaned`, `destroyed`, `unknown`",
    ),
    Column::of("owner", Kind::Text, "the believed owner").or_null(),
    Column::of(
        "counter",
        Kind::Unsigned,
        "the highest migration counter that the node had heard",
    )
    .or_null(),
    Column::of("packet", Kind::Whole, "the packet that began it").or_null(),
];

pub(super) fn write(recording: &Recording<'_>, rows: &mut Rows) -> Result<(), FleetError> {
    let Recording {
        session, history, ..
    } = *recording;
    // One object at a time: a session may have millions.
    for (&id, object) in &history.objects {
        for (&node, spans) in &object.lanes {
            let node = session.name(node);
            for span in spans {
                let span = export::span(session, history, span);
                rows.row([
                    id.into(),
                    object.object_type.into(),
                    (&node).into(),
                    moment(recording, span.from_ns),
                    span.from_ns.into(),
                    span.to_ns.into(),
                    span.belief.into(),
                    (&span.owner).into(),
                    span.counter.into(),
                    span.packet.into(),
                ])?;
            }
        }
    }
    Ok(())
}
