//! Checks a recording while it runs: what is found pulls a trigger, and what cannot be judged is
//! said, in the words of `netreel check`.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use netreel_capture::ring_mode::Triggers;
use netreel_protocol::history::{Finding, Level};
use netreel_protocol::session::Session;
use netreel_protocol::verdict::Judgement;
use netreel_reel::{EventNumber, TriggerCause};
use netreel_wire::Wire;

use crate::arguments::FailOn;
use crate::watch::{Pace, Watch};

/// Looks into the reels of a folder now and then, on a thread of its own, until it is dropped.
pub struct Findings {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    doubts: Receiver<String>,
}

/// Between two looks, at least.
const EVERY: Duration = Duration::from_secs(1);

impl Findings {
    /// Pulls `triggers` for each thing of this level or a worse one that is found.
    pub fn watch(
        folder: &Path,
        level: FailOn,
        wire: Option<Arc<Wire>>,
        triggers: &Triggers,
    ) -> std::io::Result<Findings> {
        let (doubt, doubts) = channel();
        let mut look = Look {
            watch: Watch::new(vec![folder.to_owned()], Session::builder().wire(wire)),
            level: level.into(),
            last: None,
            known: BTreeSet::new(),
            reasons: Vec::new(),
            told: Vec::new(),
            doubt,
        };
        let triggers = triggers.clone();
        let (stop, stopped) = channel::<()>();
        let run = move || {
            let mut pace = Pace::new(EVERY);
            pace.looked(Instant::now());
            while stopped.recv_timeout(pace.pause()) == Err(RecvTimeoutError::Timeout) {
                let begun = Instant::now();
                if let Some(sentence) = look.again() {
                    triggers.pull(TriggerCause::FINDING, &sentence);
                }
                pace.looked(begun);
            }
        };
        let thread = std::thread::Builder::new().name("netreel findings".to_owned());
        Ok(Findings {
            thread: Some(thread.spawn(run)?),
            stop: Some(stop),
            doubts,
        })
    }

    /// What could not be judged, a sentence each, since the last time.
    pub fn doubts(&self) -> impl Iterator<Item = String> {
        self.doubts.try_iter()
    }
}

impl Drop for Findings {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Look {
    watch: Watch,
    level: Level,
    /// What the last look came to.
    last: Option<Judgement>,
    known: BTreeSet<Known>,
    /// What the last look could not judge, and what was told of that.
    reasons: Vec<&'static str>,
    told: Vec<&'static str>,
    doubt: Sender<String>,
}

/// What stays the same of a finding when it is found again in a window that has moved on: the rule,
/// the node, the objects, and the event that proves it.
type Known = (&'static str, String, Vec<u64>, Option<EventNumber>);

impl Look {
    /// A sentence about what is new. Reels that cannot be read now are read the next time.
    fn again(&mut self) -> Option<String> {
        let now = self.watch.open().ok()?;
        if !now.is_new
            && let Some(last) = self.last.take()
        {
            self.doubt(last);
            return None;
        }
        let (session, mut history) = self.watch.look(&now).ok()?;
        // A finding that is not certain yet is a trigger as well: a window that is kept in vain
        // costs less than one that is gone.
        // A recording under way is always incomplete.
        history
            .findings
            .retain(|finding| finding.rule != "incomplete-reel");
        self.doubt(Judgement::new(&session, &history, self.level, &[]).under_way());
        let mut fresh = Vec::new();
        for finding in &history.findings {
            if finding.level < self.level {
                continue;
            }
            if self.known.insert(known(&session, finding)) {
                fresh.push(finding);
            }
        }
        let first = fresh.first()?;
        let more = match fresh.len() - 1 {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        Some(format!("{}: {}{more}", first.rule, first.sentence))
    }

    /// Tells what cannot be judged, once for the same reasons. What only one look says is not told:
    /// a node's reel may be a moment behind the others.
    fn doubt(&mut self, judgement: Judgement) {
        let reasons: Vec<&'static str> = judgement.reasons.iter().map(|each| each.id).collect();
        let lasts = reasons == self.reasons;
        if lasts && !reasons.is_empty() && reasons != self.told {
            // Nobody listens once the recording has ended.
            let _ = self.doubt.send(format!("so far {}", judgement.line()));
            self.told.clone_from(&reasons);
        }
        self.reasons = reasons;
        self.last = Some(judgement);
    }
}

fn known(session: &Session, finding: &Finding) -> Known {
    let node = session.node(finding.node);
    (
        finding.rule,
        node.map(|node| node.name.clone()).unwrap_or_default(),
        finding.objects.clone(),
        finding.proof().last().map(|piece| piece.number),
    )
}
