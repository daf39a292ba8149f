//! What is printed: a row for each run, and beside it what it should have been.

use std::time::Duration;

use netreel_benches::claim;

use crate::child::Usage;

const MILLION: u64 = 1_000_000;
const OPENING_TARGET: Duration = Duration::from_secs(4);
const INDEX_TARGET: Duration = Duration::from_millis(300);
const FILTER_TARGET: Duration = Duration::from_millis(500);
const PEAK_TARGET: u64 = 600_000_000;
const STORY_PEAK_TARGET: u64 = 150_000_000;
const SOAK_PEAK_TARGET: u64 = 2_000_000_000;

/// What a program is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    Info,
    Check,
    Soak,
    Filter,
    Objects,
    Picture,
    CheckCapture,
    Tshark,
}

/// Whether an earlier run may have left something to profit from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Run {
    First,
    Again,
}

/// A run.
pub struct Row {
    asked: Asked,
    run: Run,
    packets: u64,
    usage: Usage,
}

/// How a run compares with one target.
struct Verdict {
    words: String,
    missed: bool,
}

impl Asked {
    fn words(self) -> &'static str {
        match self {
            Asked::Info => "info",
            Asked::Check | Asked::Soak => "check",
            Asked::Filter => "packets --filter",
            Asked::Objects => "objects",
            Asked::Picture => "inspect --screenshot",
            Asked::CheckCapture => "check, of the capture",
            Asked::Tshark => "tshark -T fields, four",
        }
    }
}

impl Row {
    pub fn new(asked: Asked, run: Run, packets: u64, usage: Usage) -> Row {
        Row {
            asked,
            run,
            packets,
            usage,
        }
    }

    /// What is compared: where other programs keep this one waiting its processor seconds, and its
    /// seconds where it has several threads.
    fn time(&self) -> Duration {
        self.usage.wall.min(self.usage.processor)
    }

    /// Seconds by the clock and of processors, and its peak.
    fn took(&self) -> String {
        format!(
            "{:.1} s, {:.1} s of processors, {:.0} MB",
            self.usage.wall.as_secs_f64(),
            self.usage.processor.as_secs_f64(),
            self.usage.peak as f64 / 1e6
        )
    }

    /// Whether the program did what it was asked: `check` exits with 1 where it found something, and
    /// with 2 where not all could be judged.
    fn is_answered(&self) -> bool {
        match self.asked {
            Asked::Check | Asked::Soak | Asked::CheckCapture => {
                matches!(self.usage.code, Some(0..=2))
            }
            _ => self.usage.code == Some(0),
        }
    }

    pub fn is_missed(&self) -> bool {
        !self.is_answered() || self.verdicts().iter().any(|verdict| verdict.missed)
    }

    /// The targets that this run has. One that is about ten million packets is judged from ten
    /// million on.
    fn verdicts(&self) -> Vec<Verdict> {
        let ten = 10 * MILLION;
        match (self.asked, self.run) {
            (Asked::Info, Run::First) => vec![
                self.within(OPENING_TARGET, ten),
                self.at_most(PEAK_TARGET, ten),
            ],
            (Asked::Info, Run::Again) => vec![
                self.within(INDEX_TARGET, ten),
                self.at_most(PEAK_TARGET, ten),
            ],
            (Asked::Filter, Run::Again) => vec![self.within(FILTER_TARGET, ten)],
            (Asked::Soak, _) => vec![self.at_most(SOAK_PEAK_TARGET, 100 * MILLION)],
            // A million packets may take this much; more of them may take more.
            (Asked::Check, _) if self.packets < 2 * MILLION => {
                vec![self.at_most(STORY_PEAK_TARGET, MILLION)]
            }
            _ => Vec::new(),
        }
    }

    fn within(&self, limit: Duration, from: u64) -> Verdict {
        let words = format!("{} s", limit.as_secs_f64());
        self.judge(words, self.time() <= limit, from)
    }

    fn at_most(&self, limit: u64, from: u64) -> Verdict {
        let words = format!("{} MB", limit / MILLION);
        self.judge(words, self.usage.peak <= limit, from)
    }

    fn judge(&self, limit: String, met: bool, from: u64) -> Verdict {
        let judged = self.packets >= from;
        let words = match (judged, met) {
            (false, _) => format!("{limit} at {} M", from / MILLION),
            (true, true) => format!("{limit}: met"),
            (true, false) => format!("{limit}: MISSED"),
        };
        Verdict {
            words,
            missed: judged && !met,
        }
    }
}

/// Hands over what a million packets of boxes took, which tshark does not know.
pub fn claim_boxes(rows: &[Row]) {
    let row = rows
        .iter()
        .find(|it| (it.asked, it.run, it.packets) == (Asked::Check, Run::First, MILLION));
    if let Some(row) = row {
        claim(
            "`check` of boxes",
            ("150 MB", Some(row.is_missed())),
            row.took(),
            "tshark does not know it",
        );
    }
}

/// The first line of a session.
pub fn title(name: &str, (packets, events): (u64, u64), bytes: u64, making: &str) {
    println!(
        "{name}: {packets} packets, {events} events, reels of {:.1} MB, {:.1} B a packet; {making}",
        bytes as f64 / 1e6,
        bytes as f64 / packets as f64,
    );
}

/// How a session was made, in words.
pub fn making(packets: u64, usage: &Usage) -> String {
    let seconds = usage.processor.as_secs_f64();
    format!(
        "made in {:.1} s, {seconds:.1} s of a processor, {:.0} packets a second of it, peak {:.0} MB",
        usage.wall.as_secs_f64(),
        packets as f64 / seconds,
        usage.peak as f64 / 1e6,
    )
}

pub fn heads() {
    println!(
        "{:<23} {:<5} {:>9} {:>9} {:>11} {:>8} {:>10}  target",
        "", "run", "packets", "seconds", "processor s", "peak MB", "B a packet"
    );
}

pub fn print(row: &Row) {
    let Row {
        asked,
        run,
        packets,
        usage,
    } = row;
    let run = match (asked, run) {
        (Asked::Tshark, _) => "",
        (_, Run::First) => "first",
        (_, Run::Again) => "again",
    };
    let mut verdicts: Vec<String> = row.verdicts().into_iter().map(|it| it.words).collect();
    if !row.is_answered() {
        let code = match usage.code {
            Some(code) => format!("FAILED with exit code {code}"),
            None => "FAILED: a signal ended it".to_owned(),
        };
        let said = usage.said.lines().last().unwrap_or_default();
        verdicts.push(format!("{code}: {said}"));
    }
    println!(
        "{:<23} {run:<5} {packets:>9} {:>9.3} {:>11.3} {:>8.1} {:>10.1}  {}",
        asked.words(),
        usage.wall.as_secs_f64(),
        usage.processor.as_secs_f64(),
        usage.peak as f64 / 1e6,
        usage.peak as f64 / *packets as f64,
        verdicts.join(", "),
    );
}

/// `check` beside tshark.
pub struct Beside {
    factors: Vec<Factor>,
    /// How many times as fast it has to be.
    target: f64,
}

struct Factor {
    of: &'static str,
    run: Run,
    times: f64,
    /// Where it has a target.
    missed: Option<bool>,
}

impl Beside {
    pub fn new(tshark: &Row, rows: &[Row], target: f64) -> Beside {
        let checks = rows.iter().filter(|row| {
            let whole = matches!(row.asked, Asked::Check | Asked::CheckCapture);
            whole && row.is_answered() && tshark.is_answered()
        });
        let factors = checks.map(|row| {
            let times = tshark.time().as_secs_f64() / row.time().as_secs_f64().max(1e-9);
            let judged = (row.asked, row.run) == (Asked::Check, Run::First);
            Factor {
                of: row.asked.words(),
                run: row.run,
                times,
                missed: (judged && row.packets >= MILLION).then_some(times < target),
            }
        });
        Beside {
            factors: factors.collect(),
            target,
        }
    }

    /// Hands over what a million packets of an engine took, for the page.
    pub fn claim(&self, title: &str, tshark: &Row, rows: &[Row]) {
        let first = |it: &&Row| (it.asked, it.run) == (Asked::Check, Run::First);
        let factor = self.factors.iter().find(|it| it.missed.is_some());
        let (Some(row), Some(factor)) = (rows.iter().find(first), factor) else {
            return;
        };
        let missed = factor.missed == Some(true) || row.is_missed();
        claim(
            &format!("`check` of {title}"),
            (
                &format!("{:.0} times tshark, 150 MB", self.target),
                Some(missed),
            ),
            format_args!("{}: {:.1} times", row.took(), factor.times),
            format_args!("tshark {:.1} s", tshark.time().as_secs_f64()),
        );
    }

    pub fn print(&self) {
        for it in &self.factors {
            let run = match it.run {
                Run::First => "first",
                Run::Again => "again",
            };
            let target = match it.missed {
                Some(true) => format!("  target {:.0}: MISSED", self.target),
                Some(false) => format!("  target {:.0}: met", self.target),
                None => String::new(),
            };
            println!(
                "{:<23} {run:<5} {:.1} times as fast as tshark{target}",
                it.of, it.times,
            );
        }
    }

    pub fn is_missed(&self) -> bool {
        self.factors.iter().any(|it| it.missed == Some(true))
    }
}
