//! What nodes believed of objects.

use netreel_protocol::export;

use super::moment;
use crate::column::{Column, cells, text, unsigned, utc, whole};
use crate::rows::Rows;
use crate::{FleetError, Recording};

pub(super) const COLUMNS: &[Column] = &[
    unsigned("object", "its number"),
    unsigned("object_type", "the protocol's number of its type").or_null(),
    text("node", "who believed it"),
    utc("utc", "from when on"),
    whole("from_ns", "the same on the session's clock"),
    whole(
        "to_ns",
        "until when; the last stretch ends where the node's reel ends",
    ),
    text("belief", "`owned`, `orphaned`, `destroyed`, `unknown`"),
    text("owner", "the believed owner").or_null(),
    unsigned(
        "counter",
        "the highest migration counter that the node had heard",
    )
    .or_null(),
    whole("packet", "the packet that began it").or_null(),
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
                rows.row(cells![
                    id,
                    object.object_type,
                    &node,
                    moment(recording, span.from_ns),
                    span.from_ns,
                    span.to_ns,
                    span.belief,
                    &span.owner,
                    span.counter,
                    span.packet,
                ])?;
            }
        }
    }
    Ok(())
}
