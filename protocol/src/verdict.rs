//! What a check comes to: clean, wrong, or unknown, and why.
//!
//! *Wrong* is a session with a finding at or above a level. It is *clean* only where nothing was
//! missing that could have been wrong: every node that took part has a whole reel, and there are a
//! wire and rules to judge by. All else is *unknown*, with the reasons. What is found is wrong
//! whatever is missing; the reasons are told then as well.
//!
//! Every recording ends amid something. What was said just before its end is judged by no verdict, and a
//! verdict says from when on that is so.

mod fit;
mod gaps;
mod gathered;
mod reason;
mod rest;
mod who;

pub use reason::{REASONS, Reason};

use serde::Serialize;

use crate::figures::{duration, seconds};
use crate::history::{Finding, History, Level, unjudged};
use crate::session::{Session, SessionTime};

/// How many findings there are of each level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)] // the variants of `Level`
pub struct Counts {
    pub error: u64,
    pub warning: u64,
    pub info: u64,
}

impl Counts {
    /// Counts findings.
    pub fn of(findings: &[Finding]) -> Counts {
        let count = |level| findings.iter().filter(|each| each.level == level).count() as u64;
        Counts {
            error: count(Level::Error),
            warning: count(Level::Warning),
            info: count(Level::Info),
        }
    }
}

named! {
    /// What a check comes to.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Verdict {
        /// Nothing was found, and nothing is missing.
        "clean" Clean,
        /// Something was found at or above the level.
        "wrong" Wrong,
        /// Nothing was found, and not all could be judged.
        "unknown" Unknown,
    }
}

/// A verdict with what it rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// What it comes to.
    pub verdict: Verdict,
    /// From this level on a finding makes it wrong.
    pub fail_on: Level,
    /// What could not be judged, the gravest first; none where the verdict is clean.
    pub reasons: Vec<Reason>,
    /// What was said from this moment on is not judged, as the recording ends before it could come to
    /// rest; `None` where all came to rest.
    pub judged_until: Option<SessionTime>,
    /// How long before the end of the reels that is, in ns.
    unjudged_ns: i64,
    counts: Counts,
}

impl Judgement {
    /// Judges a session by its findings. `unread` has a sentence for each reel that could not be
    /// read: what it holds is in no session.
    pub fn new(
        session: &Session,
        history: &History,
        fail_on: Level,
        unread: &[String],
    ) -> Judgement {
        let rest = history.existence_at_rest(session);
        let unjudged = unjudged(session, history, &rest);
        let reasons = gathered::all(session, history, unread, (&rest, unjudged.as_ref()));
        let mut findings = history.findings.iter();
        let verdict = if findings.any(|finding| finding.level >= fail_on) {
            Verdict::Wrong
        } else {
            of_reasons(&reasons)
        };
        Judgement {
            verdict,
            fail_on,
            reasons,
            judged_until: unjudged.as_ref().map(|it| it.since),
            unjudged_ns: unjudged.map_or(0, |it| it.length_ns()),
            counts: Counts::of(&history.findings),
        }
    }

    /// The same of a recording that goes on: without what each of those has, an end amid something and
    /// the reasons that come of it.
    pub fn under_way(mut self) -> Judgement {
        let mut reasons = std::mem::take(&mut self.reasons);
        reasons.retain(|reason| !reason::UNDER_WAY.contains(&reason.id));
        if self.verdict != Verdict::Wrong {
            self.verdict = of_reasons(&reasons);
        }
        Judgement {
            reasons,
            judged_until: None,
            ..self
        }
    }

    /// The verdict in a line, without the reasons: `unknown: no errors, but not all could be judged`,
    /// `clean until 1.320000 s: no errors; what was said in the last 180.0 ms is not judged`.
    pub fn headline(&self) -> String {
        let counts = [
            (Level::Error, self.counts.error, "error", "errors"),
            (Level::Warning, self.counts.warning, "warning", "warnings"),
            (Level::Info, self.counts.info, "info", "info"),
        ];
        let counts = counts.iter().filter(|(level, ..)| *level >= self.fail_on);
        let words: Vec<String> = match (self.verdict, self.fail_on) {
            (Verdict::Wrong, _) => counts
                .filter(|(_, count, ..)| *count > 0)
                .map(|(_, count, one, many)| match count {
                    1 => format!("1 {one}"),
                    _ => format!("{count} {many}"),
                })
                .collect(),
            (_, Level::Info) => vec!["no findings".to_owned()],
            _ => counts.map(|(.., many)| format!("no {many}")).collect(),
        };
        let judged = match (self.verdict, self.reasons.is_empty()) {
            (Verdict::Clean, _) => ", and all could be judged",
            (Verdict::Wrong, true) => "",
            (Verdict::Wrong, false) => ", and not all could be judged",
            (Verdict::Unknown, _) => ", but not all could be judged",
        };
        let name = self.verdict.name();
        let said = words.join(", ");
        match (self.verdict, self.judged_until) {
            (Verdict::Clean, Some(until)) => {
                let rest = self.unjudged_words();
                format!("{name} until {} s: {said}; {rest}", seconds(until))
            }
            _ => format!("{name}: {said}{judged}"),
        }
    }

    /// `judged until 1.320000 s: what was said in the last 180.0 ms is not judged`; `None` where all was.
    pub fn until(&self) -> Option<String> {
        let until = self.judged_until?;
        Some(format!(
            "judged until {} s: {}",
            seconds(until),
            self.unjudged_words()
        ))
    }

    fn unjudged_words(&self) -> String {
        let last = duration(self.unjudged_ns);
        format!("what was said in the last {last} is not judged")
    }

    /// The verdict and its reasons in a line.
    pub fn line(&self) -> String {
        let mut line = self.headline();
        for (place, reason) in self.reasons.iter().enumerate() {
            line.push_str(if place == 0 { ": " } else { "; " });
            line.push_str(&reason.sentence);
        }
        line
    }
}

fn of_reasons(reasons: &[Reason]) -> Verdict {
    if reasons.is_empty() {
        Verdict::Clean
    } else {
        Verdict::Unknown
    }
}
