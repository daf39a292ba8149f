//! What the recordings of a match say, the recording of what the runner did, and the network between nodes.

use std::path::Path;
use std::sync::Arc;

use netreel_capture::proxy;
use netreel_capture::{Options, Recorder, clock_anchor};
use netreel_protocol::history::{Belief, History, Level};
use netreel_protocol::session::{NodeId, Session};
use netreel_protocol::verdict::Judgement;
use netreel_reel::{EventNumber, Header, Time};
use netreel_scenario::{AskedState, Believed, Between, Found, Judged, Match, Notes};
use netreel_wire::Wire;

use crate::arguments::Source;
use crate::export::Rows;
use crate::open::Story;
use crate::{boxes, export, open, text};

/// The name of the runner in a session.
const RUNNER: &str = "RUNNER";

/// Reads the reels in a folder.
pub fn story(folder: &Path, wire: Option<&Arc<Wire>>) -> Result<Story, String> {
    let source = Source::alone(folder);
    let wire = wire.cloned();
    let story = open::in_silence(&source, &source.paths, wire, Session::builder());
    story.map_err(|failure| failure.to_string())
}

/// Reads the reels in a folder, and judges them.
pub fn judge(
    folder: &Path,
    asked: &[AskedState],
    wire: Option<&Arc<Wire>>,
) -> Result<Judged, String> {
    let story = story(folder, wire)?;
    let (session, history) = (&story.session, story.history());
    let judgement = Judgement::new(session, history, Level::Error, &story.unread);
    let findings = history.findings.iter().map(|finding| Found {
        rule: finding.rule.to_owned(),
        level: finding.level.name().to_owned(),
        node: text::node(session, finding.node).to_owned(),
        text: finding.sentence.clone(),
    });
    Ok(Judged {
        verdict: judgement.verdict.name().to_owned(),
        findings: findings.collect(),
        packets: session.packet_count() as u64,
        lasted_ns: session.span.end.0.abs_diff(session.span.start.0),
        believed: asked
            .iter()
            .map(|asked| believed(session, history, asked).unwrap_or_default())
            .collect(),
    })
}

/// Adds a match to a dataset: all of one that is kept, and what another one came to.
pub fn add(
    (folder, is_kept): (&Path, bool),
    wire: Option<&Arc<Wire>>,
    (dataset, played): (&Path, &Match),
) -> Result<(), String> {
    let (story, path) = (story(folder, wire)?, folder.display().to_string());
    let rows = if is_kept { Rows::All } else { Rows::Sums };
    let added = export::add((&story, &path), dataset, (rows, played));
    added.map_err(|failure| failure.to_string())
}

/// What a node believed of an object when the runner asked; `None` where nobody can tell.
fn believed(session: &Session, history: &History, asked: &AskedState) -> Option<Believed> {
    let node = |name: &str| {
        let place = session.nodes.iter().position(|it| it.name == name)?;
        u16::try_from(place).ok().map(NodeId)
    };
    let at = session.time_of(node(RUNNER)?, Time(asked.at_ns), EventNumber(u64::MAX))?;
    let believer = node(&asked.node)?;
    let known = session.node(believer)?;
    if !known.recorded || !(known.span.start..=known.span.end).contains(&at) {
        return None;
    }
    let belief = history
        .belief_at(asked.object, believer, at)
        .map_or(Belief::Destroyed, |span| span.belief);
    Some(Believed {
        exists: match belief {
            Belief::Owned(_) | Belief::Orphaned(_) => Some(true),
            Belief::Destroyed => Some(false),
            Belief::Unknown => None,
        },
        owner: match belief {
            Belief::Owned(peer) => Some(session.peer_name(peer)),
            _ => None,
        },
    })
}

/// Begins a reel of what the runner does: its notes stand on the timeline beside the packets.
pub fn notes(path: &Path, seed: u64, brought: &[(String, String)]) -> Result<Notes, String> {
    let header = Header {
        node: RUNNER.to_owned(),
        engine: "netreel run".to_owned(),
        build: boxes::build(),
        clock: clock_anchor(),
        args: std::env::args().skip(1).collect(),
        seeds: vec![("match".to_owned(), seed)],
        hashes: brought.to_vec(),
        ..Header::default()
    };
    let recorder = Recorder::create(path.to_owned(), &header, Options::default())
        .map_err(|error| error.to_string())?;
    let pusher = recorder.pusher().map_err(|error| error.to_string())?;
    let journal = netreel_capture::Journal::new(pusher);
    Ok(Box::new(move |text| {
        // The recorder ends with whoever writes.
        let _recorder = &recorder;
        journal.note(text);
    }))
}

/// Makes a network for the nodes of a match.
pub fn network(nodes: &[String], seed: u64, reel: &Path) -> Result<Between, String> {
    let between = proxy::Between::new(nodes, seed, reel).map_err(|error| error.to_string())?;
    Ok(Between {
        networks: between.networks().to_vec(),
        faults: Box::new(move |link: (usize, usize), words: &str| {
            between.set(link, words).map_err(|error| error.to_string())
        }),
    })
}
