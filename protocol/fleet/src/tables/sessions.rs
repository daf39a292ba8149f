//! The session itself, and who took part.

use netreel_protocol::export;
use netreel_protocol::history::Level;
use netreel_protocol::verdict::{Counts, Judgement};

use super::moment;
use crate::column::{Column, cells, text, truth, unsigned, utc, whole};
use crate::rows::Rows;
use crate::{FleetError, Recording};

pub(super) const NODES: &[Column] = &[
    text("node", "its name"),
    unsigned("peer", "its number in the protocol").or_null(),
    truth("recorded", "whether its reel is there"),
    truth("complete", "whether that reached its end"),
    text("engine", "the network layer that was recorded").or_null(),
    text("build",
        "the recorded program's build, as its recorder was told",
    )
    .or_null(),
    text("seeds",
        "what its randomness came from: `name=value`, with commas between; of what ran the nodes of a \
         scripted match, the seed of the match",
    )
    .or_null(),
    text("rules",
        "the wire's name of the rules that it goes by",
    )
    .or_null(),
    text("endpoints",
        "addresses and ports, with commas between",
    ),
    whole("start_ns", "its first event").or_null(),
    whole("end_ns", "its last event").or_null(),
    unsigned("clock_error_ns",
        "how far its clock may be off; null where nothing tells",
    )
    .or_null(),
    unsigned("sent", "packets that its reel says it sent").or_null(),
    unsigned("received",
        "packets that its reel says it received, each once",
    )
    .or_null(),
    whole("holes",
        "how many stretches its reel does not hold",
    ),
];

pub(super) const SESSIONS: &[Column] = &[
    text("path", "where it was read"),
    utc("utc", "when it began"),
    whole("duration_ns",
        "from the first event to the last",
    ),
    text("wire", "what the wire calls the protocol").or_null(),
    whole("nodes", "how many nodes there are"),
    whole("packets", "how many packets"),
    whole("messages", "how many messages"),
    text("verdict",
        "of `netreel check`: `clean`, `wrong`, `unknown`",
    ),
    text("reasons",
        "what could not be judged, by the ids of docs/check.md, with commas between",
    ),
    whole("judged_until_ns",
        "what was said from then on is not judged, as the recording ends before it could come to rest",
    )
    .or_null(),
    unsigned("errors", "how many findings are errors"),
    unsigned("warnings", "how many are warnings"),
    unsigned("infos", "how many are neither"),
    text("outcome",
        "of a [scripted match](scenarios.md): `good`; `bad`, by its findings or where something was not as the \
         script expects; `failed`, where it could not be played to its end. Null for a session that no script drove, \
         and where it was not written down when the match was played",
    )
    .or_null(),
    text("why",
        "what was not as the script expects, a line each, or why the match could not be played to its end; null \
         where its findings alone make it bad",
    )
    .or_null(),
    unsigned("match_number", "which match of its run it is, from 1").or_null(),
    unsigned("match_seed",
        "what all that was drawn in the match came from",
    )
    .or_null(),
    text("netreel", "the version that wrote this"),
];

pub(super) fn nodes(recording: &Recording<'_>, rows: &mut Rows) -> Result<(), FleetError> {
    let session = recording.session;
    let info = export::info_of_packets(session);
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
        rows.row(cells![
            &node.name,
            node.peer,
            node.recorded,
            node.complete,
            header.map(|it| &it.engine),
            header.map(|it| &it.build),
            seeds.as_ref(),
            &node.rules,
            &node.endpoints.join(","),
            node.start_ns,
            node.end_ns,
            node.clock_error_ns,
            node.sent,
            node.received,
            node.holes.len(),
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
    rows.row(cells![
        recording.path,
        moment(recording, session.span.start.0),
        info.duration_ns,
        &info.wire,
        session.nodes.len(),
        session.packet_count(),
        session.message_count(),
        judgement.verdict.name(),
        &reasons.join(","),
        judgement.judged_until.map(|until| until.0),
        counts.error,
        counts.warning,
        counts.info,
        played.and_then(|it| it.outcome),
        played.and_then(|it| it.why),
        played.map(|it| it.number),
        played.map(|it| it.seed),
        env!("CARGO_PKG_VERSION"),
    ])
}
