//! `netreel replay --together`: all nodes play on, and a new session says whether it is cured.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use netreel_capture::FileAppend;
use netreel_protocol::history::Level;
use netreel_protocol::session::{Fate, NodeId, Session, SessionError, SessionTime};
use netreel_protocol::verdict::Judgement;
use netreel_reel::{Ending, Header, Reel};
use netreel_replay::together::{
    Plan, Played, Reels, Sink, Story, StoryNode, StoryPacket, play_while,
};
use netreel_replay::{check_replayable, check_replayable_whole};
use netreel_system::Cancel;
use netreel_transport::mix;

use super::boxes::Changes;
use super::compared::{Before, Compared, PlayedOn};
use super::engine::Engine;
use crate::arguments::Replay;
use crate::outcome::{Answer, Failure, Result, fail};
use crate::{open, text, whole};

pub fn run(arguments: &Replay, out: &mut dyn Write) -> Result<Answer> {
    run_while(arguments, out, &Cancel::default())
}

/// The same as long as somebody wants it; where nobody does any more it fails, and nothing is left
/// of it.
pub fn run_while(arguments: &Replay, out: &mut dyn Write, cancel: &Cancel) -> Result<Answer> {
    let Some(folder) = &arguments.together.out else {
        return fail("--together writes new reels: name a new folder for them with --out");
    };
    let engine = Engine::of(arguments)?;
    let words = engine.words();
    let story = open::story_while(&arguments.read.source, cancel)?;
    let before = Before::new(&story);
    let session = &story.session;
    let (nodes, left_out) = nodes(session, &engine)?;
    text::warn(&left_out);
    let plan = plan(session, nodes.clone());
    let seed = arguments.together.seed;
    let unchanged = if words.is_empty() {
        None
    } else {
        unchanged((&plan, &nodes), seed, cancel)?
    };

    // Before the folder is made: a change that makes no sense leaves nothing behind.
    let headers = headers(&nodes, &engine, &words, seed)?;
    prepare(folder)?;
    let (reels, paths) = create(folder, headers)?;
    // Half a session helps nobody, and keeps the next one from its folder.
    let removed = |failure: Failure| {
        remove(folder);
        failure
    };
    let sink = Box::new(reels.clone());
    let played = run_layers(&plan, &nodes, (&engine, seed), sink, cancel).map_err(removed)?;
    let is_cut = |node: usize| {
        let reel = nodes.get(node).and_then(|node| node.reel.as_ref());
        reel.is_some_and(|reel| *reel.ending() != Ending::Clean)
    };
    let finished = reels.finish(&note(&words, seed), is_cut);
    finished.map_err(|error| format!("the reels in {}: {error}", folder.display()))?;
    engine.check_alive().map_err(removed)?;
    drop(plan);

    let found = open::reels(&paths)?;
    let after = open::build(found, open::wire_given(&arguments.read.source.wire)?)?;
    let judgement = Judgement::new(&after.session, after.history(), Level::Error, &after.unread);
    let changed = nodes.iter().filter_map(|node| {
        let changed = engine.changed(node.reel.as_ref()?);
        Some((node.name.clone(), changed))
    });
    let played_on = PlayedOn {
        session,
        folder,
        changed: changed.collect(),
        changes: words,
        seed,
        left_out,
        unchanged,
        played,
    };
    let compared = Compared::new(&played_on, &before, &after, &judgement);
    if arguments.read.json {
        writeln!(out, "{}", compared.json())?
    } else {
        compared.print(out)?
    }
    Ok(judgement.verdict.into())
}

/// The session with nothing changed, where it can be played so: where it was recorded with the sample
/// engine.
fn unchanged(
    (plan, nodes): (&Arc<Plan>, &[StoryNode]),
    seed: u64,
    cancel: &Cancel,
) -> Result<Option<Played>> {
    let recorded = Engine::Boxes(Changes::default());
    let mut reels = nodes.iter().filter_map(|node| node.reel.as_ref());
    let is_known = reels.all(|reel| recorded.cannot_play(reel).is_none());
    is_known
        .then(|| run_layers(plan, nodes, (&recorded, seed), Box::new(()), cancel))
        .transpose()
}

/// The nodes of a session, those that can be played with their reels; and why others cannot.
pub fn nodes(session: &Session, engine: &Engine<'_>) -> Result<(Vec<StoryNode>, Vec<String>)> {
    let mut left_out = Vec::new();
    let mut nodes = Vec::new();
    for (node, reel) in session.nodes.iter().zip(&session.reels) {
        // Who took no part in the packets is not missed: the runner of a script.
        let is_beside = node.endpoints.is_empty();
        let why = match reel {
            _ if is_beside => None,
            None => Some(format!("{} has no reel", node.name)),
            // All nodes play from their first event to their last.
            Some(reel) => match check_replayable_whole(reel) {
                Err(_) if check_replayable(reel).is_ok() => Some(format!(
                    "the reel of {} begins in the middle, at a snapshot: nodes are played together \
                     from their first events on (`netreel replay --node {}` plays it alone)",
                    node.name, node.name
                )),
                Err(why) => Some(why.to_string()),
                Ok(()) => engine.cannot_play(reel),
            },
        };
        let is_played = why.is_none() && !is_beside;
        left_out.extend(why);
        nodes.push(StoryNode {
            name: node.name.clone(),
            reel: reel.clone().filter(|_| is_played),
            endpoints: node.endpoints.clone(),
        });
    }
    if nodes.iter().all(|node| node.reel.is_none()) {
        return fail(format!("no node can be played on: {}", left_out.join("; ")));
    }
    let told = left_out
        .into_iter()
        .map(|why| format!("{why}; what it sent arrives as it did"));
    Ok((nodes, told.collect()))
}

/// What the library has to know of the session.
pub fn plan(session: &Session, nodes: Vec<StoryNode>) -> Arc<Plan> {
    let packets = session
        .packets()
        .map(|packet| {
            let receipts = packet.received.iter().chain(&packet.duplicates);
            StoryPacket {
                from: packet.from.0.into(),
                to: packet.to.0.into(),
                sent: packet.sent.map(|sent| sent.number),
                receipts: receipts.map(|receipt| receipt.number).collect(),
                lost: packet.fate == Fate::Lost,
            }
        })
        .collect();
    let clock = |node, time, number| {
        let node = u16::try_from(node).unwrap_or(u16::MAX);
        let time = session.time_of(NodeId(node), time, number);
        time.unwrap_or(SessionTime(0)).0
    };
    Arc::new(Plan::new(&Story { nodes, packets }, &clock))
}

fn run_layers(
    plan: &Arc<Plan>,
    nodes: &[StoryNode],
    (engine, seed): (&Engine<'_>, u64),
    sink: Box<dyn Sink>,
    cancel: &Cancel,
) -> Result<Played> {
    let mut layer = |node: usize, io| {
        let reel = nodes
            .get(node)
            .and_then(|node: &StoryNode| node.reel.as_ref())
            .ok_or("a node without a reel has no layer")?;
        engine.layer(reel, io)
    };
    let played = play_while(plan, seed, sink, &mut layer, cancel)?;
    played.ok_or_else(|| Failure::new(SessionError::GivenUp))
}

/// The headers of the new reels: those of the recorded ones, with what was changed.
fn headers(
    nodes: &[StoryNode],
    engine: &Engine<'_>,
    changes: &str,
    seed: u64,
) -> Result<Vec<Option<Header>>> {
    let header = |reel: &Arc<Reel>| {
        let recorded = reel.header();
        Ok(Header {
            start: engine.start(reel)?,
            session: session_id(recorded.session, changes, seed),
            redacted: None,
            ..recorded.clone()
        })
    };
    let headers = nodes
        .iter()
        .map(|node| node.reel.as_ref().map(header).transpose());
    headers.collect()
}

/// Another session than the recorded one, and the same for the same question.
pub fn session_id(recorded: [u8; 16], changes: &str, seed: u64) -> [u8; 16] {
    let halves = u128::from_be_bytes(recorded);
    let mut words = vec![seed, (halves >> 64) as u64, halves as u64];
    words.extend(changes.bytes().map(u64::from));
    let (first, second) = (mix(&words), mix(&[mix(&words), 1]));
    ((u128::from(first) << 64) | u128::from(second)).to_be_bytes()
}

fn note(changes: &str, seed: u64) -> String {
    let changes = match changes {
        "" => "with nothing changed",
        changes => &format!("with {changes}"),
    };
    format!("played on from a recording (netreel replay --together), {changes}, seed {seed}")
}

pub fn prepare(folder: &Path) -> Result {
    let why = match whole::make_empty(folder) {
        Ok(true) => return Ok(()),
        Ok(false) => "it is not empty; name a new folder".to_owned(),
        Err(error) => error.to_string(),
    };
    fail(format!("--out {}: {why}", folder.display()))
}

/// Whether a folder is not there yet, or is empty.
pub fn is_new(folder: &Path) -> bool {
    match fs::read_dir(folder) {
        Ok(mut files) => files.next().is_none(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// Takes a folder away into which reels of half a session were written, and nothing else.
pub fn remove(folder: &Path) {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = files.map(|file| file.path());
    for path in paths.filter(|path| path.extension().is_some_and(|it| it == "reel")) {
        let _ = fs::remove_file(path);
    }
    let _ = fs::remove_dir(folder);
}

type Written = (Reels<FileAppend>, Vec<PathBuf>);

fn create(folder: &Path, headers: Vec<Option<Header>>) -> Result<Written> {
    let (mut paths, mut names) = (Vec::new(), Names::default());
    let mut slot = |header: Header| -> Result<_> {
        let path = names.file(folder, &header.node);
        let made = File::create_new(&path).map_err(|error| Failure::at(&path, error))?;
        paths.push(path);
        Ok((header, FileAppend::new(made)))
    };
    let slots = headers
        .into_iter()
        .map(|header| header.map(&mut slot).transpose());
    let reels = Reels::create(slots.collect::<Result<_>>()?)
        .map_err(|error| format!("the reels in {}: {error}", folder.display()))?;
    Ok((reels, paths))
}

/// The names of files, and how often each was asked for.
#[derive(Default)]
pub struct Names {
    taken: BTreeSet<String>,
    asked: BTreeMap<String, u64>,
}

impl Names {
    /// A file for the reel of a node, that no other has.
    pub fn file(&mut self, folder: &Path, node: &str) -> PathBuf {
        let plain = |letter: char| match letter {
            letter if letter.is_alphanumeric() || "-_ ".contains(letter) => letter,
            _ => '_',
        };
        let name: String = node.chars().take(100).map(plain).collect();
        let asked = self.asked.entry(name.clone()).or_default();
        loop {
            *asked += 1;
            let free = match *asked {
                1 => name.clone(),
                number => format!("{name}-{number}"),
            };
            if self.taken.insert(free.clone()) {
                return folder.join(format!("{free}.reel"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_that_are_named_alike_have_a_file_each() {
        let mut names = Names::default();
        let nodes = ["A", "A-2", "A", "A/2", "A:2", "A"];
        let files = nodes.map(|node| names.file(Path::new(""), node));
        let expected = ["A", "A-2", "A-3", "A_2", "A_2-2", "A-4"];
        assert_eq!(
            files,
            expected.map(|it| PathBuf::from(format!("{it}.reel")))
        );
    }
}
