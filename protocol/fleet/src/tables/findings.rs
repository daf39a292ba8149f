//! What went wrong, and what proves it.

use netreel_protocol::export;

use super::moment;
use crate::column::{Column, Kind};
use crate::rows::Rows;
use crate::{FleetError, Recording};

pub(super) const FINDINGS: &[Column] = &[
    Column::of(
        "finding",
        Kind::Whole,
        "its number in the session, from 1, as `check` prints it",
    ),
    Column::of("rule", Kind::Text, "the rule's id"),
    Column::of("level", Kind::Text, "`error`, `warning`, `info`"),
    Column::of("node", Kind::Text, "the node that saw it"),
    Column::of(
        "object",
        Kind::Unsigned,
        "the object, where it is about one, or the first of several",
    )
    .or_null(),
    Column::of(
        "utc",
        Kind::Moment,
        "when the last piece of its proof was seen",
    ),
    Column::of("time_ns", Kind::Whole, "the same on the session's clock"),
    Column::of("sentence", Kind::Text, "for people"),
    Column::of("objects", Kind::Whole, "how many objects it is about"),
];

pub(super) const EVIDENCE: &[Column] = &[
    Column::of("finding", Kind::Whole, "the finding's number"),
    Column::of("place", Kind::Whole, "from 0, in the order of the story"),
    Column::of("what", Kind::Text, "what it is: `CREATE delivered`"),
    Column::of("packet", Kind::Whole, "the packet"),
    Column::of("message", Kind::Whole, "the message"),
    Column::of("node", Kind::Text, "where it is seen"),
    Column::of("event", Kind::Unsigned, "the event of that node's reel"),
    Column::of("utc", Kind::Moment, "when"),
    Column::of("time_ns", Kind::Whole, "the same on the session's clock"),
    Column::of(
        "object",
        Kind::Unsigned,
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
        let finding = export::finding(session, finding);
        rows.row([
            number.into(),
            finding.rule.into(),
            finding.level.into(),
            (&finding.node).into(),
            finding.object.into(),
            moment(recording, finding.time_ns),
            finding.time_ns.into(),
            (&finding.sentence).into(),
            history
                .findings
                .get(place)
                .map_or(0, |it| it.objects.len())
                .into(),
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
            rows.row([
                number.into(),
                place.into(),
                (&piece.what).into(),
                piece.packet.into(),
                piece.message.into(),
                (&piece.node).into(),
                piece.event.into(),
                moment(recording, piece.time_ns),
                piece.time_ns.into(),
                object.into(),
            ])?;
        }
    }
    Ok(())
}
