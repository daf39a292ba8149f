//! The reels of a session: that they belong together, and which wire they bring.

use std::collections::BTreeMap;
use std::sync::Arc;

use netreel_reel::{CutWhy, Ending, EventNumber, Header, Reel};
use netreel_wire::Wire;

use super::grown::Look;
use super::scan::{RawHole, Scan};
use crate::figures::{counted, hex, listed};
use crate::session::SessionError;
use crate::session::facts::asking::Answers;
use crate::session::who::cast::utc_ns;

/// A reel, and what messages call it.
pub struct ReelInput {
    /// The file's name.
    pub name: String,
    /// The reel.
    pub reel: Arc<Reel>,
}

/// A reel that takes part.
pub(crate) struct Source {
    /// The file's name.
    pub file: String,
    /// The node's name.
    pub node: String,
    pub reel: Arc<Reel>,
    pub scan: Scan,
    /// Whether the reel is a proxy's, and this is what it tells of one end.
    pub proxied: bool,
    /// What the wire says of its ends, as far as that is known already.
    pub answers: Option<Answers>,
    /// See [`Look::firm`].
    pub firm: Option<EventNumber>,
}

/// Takes what was read of all reels, and says what is wrong with each.
pub(crate) fn sources(reels: Vec<(ReelInput, Look)>, warnings: &mut Vec<String>) -> Vec<Source> {
    let mut sources = Vec::new();
    for (ReelInput { name, reel }, look) in reels {
        let Look {
            scan,
            answers,
            firm,
        } = look;
        let node = match reel.header().node.as_str() {
            "" => name.strip_suffix(".reel").unwrap_or(&name).to_owned(),
            node => node.to_owned(),
        };
        if scan.events == 0 {
            warnings.push(format!("{name} holds no event"));
        }
        let window = window(&reel, &scan);
        if window.is_none() {
            parts(&name, &reel, warnings);
        }
        let part = reel.parts().last().map(|last| last.part.number);
        let part = match part {
            Some(number) if number > 0 => format!(" of part {number}"),
            _ => String::new(),
        };
        if is_closed(&reel) {
            if let Ending::Cut { at_byte, why } = reel.ending() {
                warnings.push(format!(
                    "{name} is damaged from byte {at_byte}{part} on: {why}; no event is lost with \
                     it"
                ));
            }
        } else if let Some(window) = &window {
            warnings.push(format!(
                "{name} is {window}: what {node} shows at its end is not an outcome"
            ));
        } else if let Ending::Cut { at_byte, why } = reel.ending()
            && !reel.ending().is_still_recorded()
        {
            warnings.push(format!(
                "{name} was cut at byte {at_byte}{part} ({why}): what {node} shows at its end is \
                 not an outcome"
            ));
        }
        if let Some(redacted) = &reel.header().redacted {
            let removed = redacted
                .removed
                .iter()
                .map(|(what, _)| what.as_str())
                .collect::<Vec<_>>()
                .join(", ");
            warnings.push(format!("{name} is a redacted copy, changed in: {removed}"));
        }
        warnings.extend(skipped(&name, reel.unknown()));
        // What lacks at the start was told above.
        let at_start = |hole: &&RawHole| scan.begins_later && hole.from.is_none();
        for hole in scan.holes.iter().filter(|hole| !at_start(hole)) {
            warnings.push(format!(
                "{name} has a hole before event {}: {}",
                hole.before, hole.why
            ));
        }
        sources.push(Source {
            file: name,
            node,
            reel,
            scan,
            proxied: false,
            answers,
            firm,
        });
    }
    sources
}

/// In words, that a reel is the window that a trigger kept of a recording which went on.
pub(crate) fn window(reel: &Reel, scan: &Scan) -> Option<String> {
    let Ending::Cut {
        why: CutWhy::NextPartMissing,
        ..
    } = reel.ending()
    else {
        return None;
    };
    let mut kept = scan.triggers.iter();
    let (_, trigger, text) = kept.find(|(_, trigger, _)| trigger.before_ms > 0)?;
    let first = reel.first_number();
    let cause = trigger.cause.name();
    let before = match first.0 {
        0 => String::new(),
        _ => format!("began before event {first} and "),
    };
    Some(format!(
        "a window that a trigger kept ({cause}: {text}); its recording {before}went on after it"
    ))
}

/// Says what the parts of a recording lack that later parts do not show.
fn parts(name: &str, reel: &Reel, warnings: &mut Vec<String>) {
    if let Some(missing) = reel.missing_parts().first()
        && missing.parts.start == 0
    {
        let first = missing.events.end;
        let was = match missing.parts.end {
            1 => "part 0 of the recording is".to_owned(),
            end => format!("parts 0 to {} of the recording are", end - 1),
        };
        warnings.push(format!(
            "{name} begins with event {first}: {was} not there, deleted while it was recorded or \
             since"
        ));
    }
    let [before @ .., _] = reel.parts() else {
        return;
    };
    for opened in before {
        let number = opened.part.number;
        match &opened.ending {
            // Killed between two parts: the next one has the rest.
            Ending::Clean
            | Ending::Cut {
                why: CutWhy::NoFooter,
                ..
            } => {}
            Ending::Cut { at_byte, why } => warnings.push(format!(
                "{name} is damaged from byte {at_byte} of part {number} on: {why}"
            )),
        }
    }
}

/// Whether the recording was ended in order: only then is there an index, be it whole or damaged.
pub(crate) fn is_closed(reel: &Reel) -> bool {
    match reel.ending() {
        Ending::Clean => true,
        Ending::Cut { why, .. } => *why == CutWhy::BrokenIndex,
    }
}

/// Says how many events of which kinds, by their numbers, were skipped; `None` if none was.
fn skipped(file: &str, unknown: &BTreeMap<u8, u64>) -> Option<String> {
    let counts: Vec<String> = unknown
        .iter()
        .map(|(kind, &many)| format!("{} of kind {kind}", counted(many, "event")))
        .collect();
    if counts.is_empty() {
        return None;
    }
    let list = listed(&counts);
    let were = if unknown.values().sum::<u64>() == 1 {
        "was"
    } else {
        "were"
    };
    Some(format!(
        "{file} was made by a newer recorder: {list}, which this version does not know, {were} \
         skipped"
    ))
}

/// All reels that name a session name the same one. Those of unmodified programs name their
/// recording: what ties two of these are their packets, which is looked at later.
pub(crate) fn one_session(sources: &[Source]) -> Result<(), SessionError> {
    let mut named = sources
        .iter()
        .filter(|each| each.reel.header().session != [0; 16])
        .filter(|each| each.reel.header().engine != Header::UNMODIFIED);
    let Some(first) = named.next() else {
        return Ok(());
    };
    let id = first.reel.header().session;
    match named.find(|each| each.reel.header().session != id) {
        None => Ok(()),
        Some(second) => Err(SessionError::DifferentSessions {
            first: first.file.clone(),
            first_id: hex(&id),
            second: second.file.clone(),
            second_id: hex(&second.reel.header().session),
        }),
    }
}

/// The first wire inside a reel that compiles.
pub(crate) fn wire_inside(reels: &[ReelInput], warnings: &mut Vec<String>) -> Option<Arc<Wire>> {
    let texts = wires_inside(reels);
    if texts.is_empty() {
        warnings.push(
            "no reel holds a wire and none was given: packets are shown as bytes; give one with \
             --wire FILE"
                .to_owned(),
        );
    }
    for (place, (reel, name, text)) in texts.iter().enumerate() {
        match Wire::compile(name, text) {
            Ok(wire) => {
                if texts.len() > 1 {
                    warnings.push(format!(
                        "the reels hold {} different wires: all packets are read by {name} of {}",
                        texts.len(),
                        reel.name,
                    ));
                }
                return Some(Arc::new(wire));
            }
            Err(error) => {
                let what_now = if place + 1 == texts.len() {
                    "packets are shown as bytes"
                } else {
                    "the next is tried"
                };
                let mistake = error.reports().first().map_or_else(String::new, |first| {
                    format!(
                        " (line {}, column {}: {})",
                        first.line, first.column, first.message
                    )
                });
                warnings.push(format!(
                    "the wire {name} inside {} has a mistake{mistake}: {what_now}",
                    reel.name
                ));
            }
        }
    }
    None
}

/// The wires inside reels, each once: the reel, the wire's name, its text.
pub(crate) fn wires_inside(reels: &[ReelInput]) -> Vec<(&ReelInput, &str, &str)> {
    let mut texts: Vec<(&ReelInput, &str, &str)> = Vec::new();
    for reel in reels {
        if let Some(wire) = reel.reel.header().wires.first()
            && !texts.iter().any(|(_, _, text)| *text == wire.text)
        {
            texts.push((reel, &wire.name, &wire.text));
        }
    }
    texts
}

/// Of two reels of the same run of the same node, keeps the longer.
pub(crate) fn drop_copies(sources: &mut Vec<Source>, warnings: &mut Vec<String>) {
    let mut place = 0;
    while place < sources.len() {
        let same = |other: &Source| {
            let this = &sources[place];
            let shared = this
                .scan
                .sockets
                .values()
                .any(|endpoint| other.scan.sockets.values().any(|theirs| theirs == endpoint));
            other.node == this.node && shared && overlap(this, other)
        };
        let Some(other) = (place + 1..sources.len()).find(|&other| same(&sources[other])) else {
            place += 1;
            continue;
        };
        let (kept, dropped) = if sources[other].scan.events > sources[place].scan.events {
            (other, place)
        } else {
            (place, other)
        };
        warnings.push(format!(
            "{} was recorded twice: {} is used, {} is left out",
            sources[kept].node, sources[kept].file, sources[dropped].file,
        ));
        sources.remove(dropped);
    }
}

/// Whether two reels ran at the same time, by the calendar.
fn overlap(one: &Source, other: &Source) -> bool {
    let span = |source: &Source| {
        let header = source.reel.header();
        source
            .scan
            .span
            .map(|(first, last)| (utc_ns(header, first), utc_ns(header, last)))
    };
    match (span(one), span(other)) {
        (Some(one), Some(other)) => one.0 <= other.1 && other.0 <= one.1,
        _ => true,
    }
}
