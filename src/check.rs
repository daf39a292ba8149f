//! `netreel check`: what went wrong, with the packets that prove it.

mod follow;

use std::io::Write;

use netreel_protocol::export;
use netreel_protocol::history::{Evidence, Finding, Level};
use netreel_protocol::session::Session;
use netreel_protocol::verdict::{Judgement, Verdict};

use crate::arguments::Check;
use crate::misfits;
use crate::open;
use crate::outcome::{Answer, Failure};
use crate::packets::json;
use crate::text;

pub fn run(arguments: &Check, out: &mut dyn Write) -> Result<Answer, Failure> {
    if arguments.follow {
        return follow::run(arguments, out);
    }
    let story = open::story(&arguments.filtered.read.source)?;
    let unread = story.unread.clone();
    let (session, mut history) = story.into_parts();
    misfits::say(&session);
    if let Some(filter) = arguments.filtered.filter.as_deref() {
        let query = open::query(Some(filter), &session)?;
        let findings = history.findings.iter();
        let fitting = findings.filter(|finding| query.finding(&session, &history, finding));
        history.findings = fitting.cloned().collect();
    }
    let judgement = Judgement::new(&session, &history, arguments.fail_on.level(), &unread);
    if arguments.filtered.read.json {
        json(&export::check(&session, &history, &judgement), out)?;
    } else {
        report(&session, &history.findings, out)?;
        verdict(&judgement, out)?;
    }
    Ok(answer(arguments, &judgement))
}

fn answer(arguments: &Check, judgement: &Judgement) -> Answer {
    match judgement.verdict {
        Verdict::Clean => Answer::Clean,
        Verdict::Wrong => Answer::Wrong,
        Verdict::Unknown if arguments.partial => Answer::Clean,
        Verdict::Unknown => Answer::Unknown,
    }
}

/// Prints the verdict for people, and what could not be judged, a line each.
pub fn verdict(judgement: &Judgement, out: &mut dyn Write) -> Result<(), Failure> {
    use anstyle::AnsiColor;
    let color = match judgement.verdict {
        Verdict::Clean => AnsiColor::Green,
        Verdict::Wrong => AnsiColor::Red,
        Verdict::Unknown => AnsiColor::Yellow,
    };
    let style = text::style(color.on_default().bold());
    let headline = judgement.headline();
    let word = judgement.verdict.name();
    let rest = headline.strip_prefix(word).unwrap_or(&headline);
    let colon = match judgement.reasons.is_empty() {
        true => "",
        false => ":",
    };
    writeln!(out, "{style}{word}{style:#}{rest}{colon}")?;
    for reason in &judgement.reasons {
        writeln!(out, "    {}  ({})", reason.sentence, reason.id)?;
    }
    Ok(())
}

/// Prints the findings for people.
pub fn report(session: &Session, findings: &[Finding], out: &mut dyn Write) -> Result<(), Failure> {
    for finding in findings {
        one(session, finding, out)?;
    }
    counts(findings, out)
}

/// Prints a finding for people.
fn one(session: &Session, finding: &Finding, out: &mut dyn Write) -> Result<(), Failure> {
    let style = style(finding.level);
    writeln!(
        out,
        "{style}{}{style:#}  {}  at {} s  {}",
        level(finding.level),
        finding.rule,
        text::time(finding.time),
        text::node(session, finding.node),
    )?;
    writeln!(out, "    {}", finding.sentence)?;
    for evidence in &finding.evidence {
        piece(session, evidence, out)?;
    }
    Ok(())
}

/// Prints how many findings there are of each level.
fn counts(findings: &[Finding], out: &mut dyn Write) -> Result<(), Failure> {
    let levels = [
        (Level::Error, "error"),
        (Level::Warning, "warning"),
        (Level::Info, "info"),
    ];
    let counts = levels.map(|(level, word)| {
        let number = findings
            .iter()
            .filter(|finding| finding.level == level)
            .count();
        if level == Level::Info {
            format!("{number} info")
        } else {
            text::count(number as u64, word)
        }
    });
    writeln!(out, "{}", counts.join(", "))?;
    Ok(())
}

fn piece(session: &Session, evidence: &Evidence, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(
        out,
        "      {} s  {:<5} packet {:<6} {}",
        text::time(evidence.time),
        text::node(session, evidence.node),
        evidence.packet.0,
        evidence.what,
    )?;
    Ok(())
}

/// The word for a level, as wide as the others.
pub fn level(level: Level) -> &'static str {
    match level {
        Level::Error => "error  ",
        Level::Warning => "warning",
        Level::Info => "info   ",
    }
}

/// The colour of a level.
pub fn style(level: Level) -> anstyle::Style {
    use anstyle::AnsiColor;
    let color = match level {
        Level::Error => AnsiColor::Red,
        Level::Warning => AnsiColor::Yellow,
        Level::Info => AnsiColor::Cyan,
    };
    text::style(color.on_default().bold())
}
