//! What went wrong, and what proves it.

use netreel_protocol::export;

use super::moment;
use crate::column::{Column, cells, text, unsigned, utc, whole};
use crate::rows::Rows;
use crate::{FleetError, Recording};

pub(super) const FINDINGS: &[Column] = &[
    whole(
        "finding",
        "its number in the session, from 1, as `check` prints it",
    ),
    text("rule", "the rule's id"),
    text("level", "`error`, `warning`, `info`"),
    text("node", "the node that saw it"),
    unsigned(
        "object",
        "the object, where it is about one, or the first of several",
    )
    .or_null(),
    utc("utc", "when the last piece of its proof was seen"),
    whole("time_ns", "the same on the session's clock"),
    text("sentence", "for people"),
    whole("objects", "how many objects it is about"),
];

pub(super) const EVIDENCE: &[Column] = &[
    whole("finding", "the finding's number"),
    whole("place", "from 0, in the order of the story"),
    text("what", "what it is: `CREATE delivered`"),
    whole("packet", "the packet"),
    whole("message", "the message"),
    text("node", "where it is seen"),
    unsigned("event", "the event of that node's reel"),
    utc("utc", "when"),
    whole("time_ns", "the same on the session's clock"),
    unsigned(
        "object",
        "the object that it tells of, where it is about one",
    )
    .or_null(),
];

pub(super) fn findings(recording: &Recording<'_>, rows: &mut Rows) -> Result<(), FleetError> {
    let Recording {
        session, history, ..
    } = *recording;
    for (place, finding) in history.findings.iter().enumerate() {
        let number = history.finding_number(place);
        let told = export::finding(session, finding);
        rows.row(cells![
            number,
            told.rule,
            told.level,
            &told.node,
            told.object,
            moment(recording, told.time_ns),
            told.time_ns,
            &told.sentence,
            finding.objects.len(),
        ])?;
    }
    Ok(())
}

pub(super) fn evidence(recording: &Recording<'_>, rows: &mut Rows) -> Result<(), FleetError> {
    let Recording {
        session, history, ..
    } = *recording;
    for (place, finding) in history.findings.iter().enumerate() {
        let number = history.finding_number(place);
        let told = finding.told().flat_map(|(_, object, evidence)| {
            let pieces = export::evidence(session, evidence).into_iter();
            pieces.map(move |piece| (object, piece))
        });
        for (place, (object, piece)) in told.enumerate() {
            rows.row(cells![
                number,
                place,
                &piece.what,
                piece.packet,
                piece.message,
                &piece.node,
                piece.event,
                moment(recording, piece.time_ns),
                piece.time_ns,
                object,
            ])?;
        }
    }
    Ok(())
}
