//! The session itself, and who took part.

use netreel_protocol::export;
use netreel_protocol::history::Level;
use netreel_protocol::verdict::{Counts, Judgement};

use super::moment;
use crate::column::{Column, Kind};
use crate::rows::Rows;
use crate::{FleetError, Recording};

pub(super) const NODES: &[Column] = &[
    Column::of("node", Kind::Text, "its name"),
    Column::of("peer", Kind::Unsigned, "its number in the protocol").or_null(),
    Column::of("recorded", Kind::Truth, "whether its reel is there"),
    Column::of("complete", Kind::Truth, "whether that reached its end"),
    Column::of("engine", Kind::Text, "the network layer that was recorded").or_null(),
    Column::of(
        "build",
        Kind::Text,
        "the recorded program's build, as its recorder was told",
    )
    .or_null(),
    Column::of(
        "seeds",
        Kind::Text,
        "what its randomness came from: `name=value`, with commas between; of what ran the nodes of a \
         scripted match, the seed of the match",
    )
    .or_null(),
    Column::of(
        "rules",
        Kind::Text,
        "the wire's name of the rules that it goes by",
    )
    .or_null(),
    Column::of(
        "endpoints",
        Kind::Text,
        "addresses and ports, with commas between",
    ),
    Column::of("start_ns", Kind::Whole, "its first event").or_null(),
    Column::of("end_ns", Kind::Whole, "its last event").or_null(),
    Column::of(
        "clock_error_ns",
        Kind::Unsigned,
        "how far its clock may be off; null where nothing tells",
    )
    .or_null(),
    Column::of("sent", Kind::Unsigned, "packets that its reel says it sent").or_null(),
    Column::of(
        "received",
        Kind::Unsigned,
        "packets that its reel says it received, each once",
    )
    .or_null(),
    Column::of(
        "holes",
        Kind::Whole,
        "how many stretches its reel does not hold",
    ),
];

pub(super) const SESSIONS: &[Column] = &[
    Column::of("path", Kind::Text, "where it was read"),
    Column::of("utc", Kind::Moment, "when it began"),
    Column::of(
        "duration_ns",
        Kind::Whole,
        "from the first event to the last",
    ),
    Column::of("wire", Kind::Text, "what the wire calls the protocol").or_null(),
    Column::of("nodes", Kind::Whole, "how many nodes there are"),
    Column::of("packets", Kind::Whole, "how many packets"),
    Column::of("messages", Kind::Whole, "how many messages"),
    Column::of(
        "verdict",
        Kind::Text,
        "of `netreel check`: `clean`, `wrong`, `unknown`",
    ),
    Column::of(
        "reasons",
        Kind::Text,
        "what could not be judged, by the ids of docs/check.md, with commas between",
    ),
    Column::of(
        "judged_until_ns",
        Kind::Whole,
        "what was said from then on is not judged, as the recording ends before it could come to rest",
    )
    .or_null(),
    Column::of("errors", Kind::Unsigned, "how many findings are errors"),
    Column::of("warnings", Kind::Unsigned, "how many are warnings"),
    Column::of("infos", Kind::Unsigned, "how many are neither"),
    Column::of(
        "outcome",
        Kind::Text,
        "of a [scripted match](scenarios.md): `good`; `bad`, by its findings or where something was not as the \
         script expects; `failed`, where it could not be played to its end. Null for a session that no script drove, \
         and where it was not written down when the match was played",
    )
    .or_null(),
    Column::of(
        "why",
        Kind::Text,
        "what was not as the script expects, a line each, or why the match could not be played to its end; null \
         where its findings alone make it bad",
    )
    .or_null(),
    Column::of("match_number", Kind::Unsigned, "which match of its run it is, from 1").or_null(),
    Column::of(
        "match_seed",
        Kind::Unsigned,
        "what all that was drawn in the match came from",
    )
    .or_null(),
    Column::of("netreel", Kind::Text, "the version that wrote this"),
];

pub(super) fn nodes(recording: &Recording<'_>, rows: &mut Rows) -> Result<(), FleetError> {
    let Recording {
        session, history, ..
    } = *recording;
    let info = export::info_of_packets(session);
    let _ = history;
    for (place, node) in info.nodes.iter().enumerate() {
        let reel = session.reels.get(place).and_then(Option::as_ref);
        let header = reel.map(|reel| reel.header());
        let seeds = header.filter(|it| !it.seeds.is_empty()).map(|it| {
            let seeds = it
                .seeds
                .iter()
                .map(|(name, value)| format!("{name}={value}"));
            seeds.collect::<Vec<_>>().join(",")
        });
        rows.row([
            (&node.name).into(),
            node.peer.into(),
            node.recorded.into(),
            node.complete.into(),
            header.map(|it| &it.engine).into(),
            header.map(|it| &it.build).into(),
            seeds.as_ref().into(),
            (&node.rules).into(),
            (&node.endpoints.join(",")).into(),
            node.start_ns.into(),
            node.end_ns.into(),
            node.clock_error_ns.into(),
            node.sent.into(),
            node.received.into(),
            node.holes.len().into(),
        ])?;
    }
    Ok(())
}

pub(super) fn session(recording: &Recording<'_>, rows: &mut Rows) -> Result<(), FleetError> {
    let Recording {
        session,
        history,
        played,
        ..
    } = *recording;
    let info = export::info_of_packets(session);
    let judgement = Judgement::new(session, history, Level::Error, recording.unread);
    let reasons: Vec<&str> = judgement.reasons.iter().map(|it| it.id).collect();
    let counts = Counts::of(&history.findings);
    rows.row([
        recording.path.into(),
        moment(recording, session.span.start.0),
        info.duration_ns.into(),
        (&info.wire).into(),
        session.nodes.len().into(),
        session.packet_count().into(),
        session.message_count().into(),
        judgement.verdict.name().into(),
        (&reasons.join(",")).into(),
        judgement.judged_until.map(|until| until.0).into(),
        counts.error.into(),
        counts.warning.into(),
        counts.info.into(),
        played.and_then(|it| it.outcome).into(),
        played.and_then(|it| it.why).into(),
        played.map(|it| it.number).into(),
        played.map(|it| it.seed).into(),
        env!("CARGO_PKG_VERSION").into(),
    ])
}
