//! Whether a reel can lead to an exact replay at all.

use std::collections::BTreeMap;

use netreel_reel::{Ending, EventKind, EventNumber, Header, Reel};

/// Why a reel cannot be replayed: what it lacks, each a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the reel of {node} is not replayable: {}", missing.join("; "))]
pub struct NotReplayable {
    /// The reel's node.
    pub node: String,
    /// What is missing.
    pub missing: Vec<String>,
}

/// Refuses a reel in which something is missing between its first event and its last.
///
/// A reel that was merely cut is replayable: it is exact as far as it goes.
pub fn check_replayable(reel: &Reel) -> Result<(), NotReplayable> {
    check(reel, false)
}

/// The same for a layer that says on which socket it sends and receives: its reel may have several.
pub fn check_replayable_with_sockets(reel: &Reel) -> Result<(), NotReplayable> {
    check(reel, true)
}

/// `says_socket`: the layer says on which socket it sends and receives.
pub(crate) fn check(reel: &Reel, says_socket: bool) -> Result<(), NotReplayable> {
    let mut missing = Vec::new();
    let header = reel.header();
    if let Some(redacted) = header.redacted.as_ref().filter(|it| !it.replayable) {
        let removed = redacted.removed.iter().map(|(what, _)| what.as_str());
        missing.push(format!(
            "it is a redacted copy, without what was recorded of its {}",
            removed.collect::<Vec<_>>().join(", ")
        ));
    }
    let captured = [Header::OBSERVER, Header::CAPTURED].contains(&header.engine.as_str());
    if captured {
        missing.push(
            "it was made of captured packets, without the game's calls, the clock reads and the \
             random draws of the layer"
                .to_owned(),
        );
    } else if header.start.is_empty() {
        missing.push("it has no start conditions: it was not recorded at an engine".to_owned());
    }
    let count = |kind: EventKind| reel.counts().get(&kind).copied().unwrap_or(0);
    if count(EventKind::Tick) == 0 && count(EventKind::Input) == 0 && !reel.is_empty() && !captured
    {
        missing.push("it has neither ticks nor calls of the game".to_owned());
    }
    if count(EventKind::Dropped) > 0 {
        missing.push("events were dropped because the disk could not keep up".to_owned());
    }
    if count(EventKind::Switched) > 0 {
        missing.push("recording was switched off and on while it ran".to_owned());
    }
    if count(EventKind::SocketOpened) > 1 && !says_socket {
        missing.push("it has several sockets, which its layer does not tell apart".to_owned());
    }
    missing.extend(holes(reel));
    if missing.is_empty() {
        return Ok(());
    }
    Err(NotReplayable {
        node: header.node.clone(),
        missing,
    })
}

/// What is missing between the first event and the last, a sentence each. Reads every block,
/// because an index does not tell that a block is damaged.
fn holes(reel: &Reel) -> Vec<String> {
    let mut last = EventNumber(0);
    let walk = reel.for_each(|record| last = record.number);
    let mut gaps = BTreeMap::new();
    for gap in reel.gaps().iter().chain(&walk.gaps) {
        gaps.insert(gap.first, gap);
    }
    // What is missing behind the last event of a cut reel is the cut.
    let cut = *reel.ending() != Ending::Clean;
    let inner = gaps.into_values().filter(|gap| !cut || gap.first < last);
    inner
        .map(|gap| {
            let count = gap.count;
            let plural = if count == 1 { " is" } else { "s are" };
            format!("{count} event{plural} missing from number {} on", gap.first)
        })
        .collect()
}
