//! `netreel check`: what went wrong, with the packets that prove it.

use std::io::Write;

use netreel_protocol::export;
use netreel_protocol::history::{Evidence, Finding, Level};
use netreel_protocol::session::Session;

use crate::arguments::{Check, FailOn};
use crate::open::{self, Story};
use crate::outcome::{Answer, Failure};
use crate::packets::json;
use crate::text;

pub fn run(arguments: &Check, out: &mut dyn Write) -> Result<Answer, Failure> {
    let Story {
        session,
        mut history,
        unread,
    } = open::story(&arguments.filtered.read.source)?;
    let fail_on = match arguments.fail_on {
        FailOn::Info => Level::Info,
        FailOn::Warning => Level::Warning,
        FailOn::Error => Level::Error,
    };
    if let Some(filter) = arguments.filtered.filter.as_deref() {
        let query = open::query(Some(filter), &session)?;
        let findings = history.findings.iter();
        let fitting = findings.filter(|finding| query.finding(&session, &history, finding));
        history.findings = fitting.cloned().collect();
    }
    if arguments.filtered.read.json {
        json(&export::check(&session, &history, fail_on), out)?;
    } else {
        report(&session, &history.findings, out)?;
    }
    let findings = &history.findings;
    if findings.iter().any(|finding| finding.level >= fail_on) {
        return Ok(Answer::Wrong);
    }
    // Without all its reels a session cannot be called clean.
    match unread.first() {
        Some(why) => Err(Failure::new(format!("the answer is incomplete: {why}"))),
        None => Ok(Answer::Clean),
    }
}

/// Prints the findings for people.
pub fn report(session: &Session, findings: &[Finding], out: &mut dyn Write) -> Result<(), Failure> {
    for finding in findings {
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
    }
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

fn level(level: Level) -> &'static str {
    match level {
        Level::Error => "error  ",
        Level::Warning => "warning",
        Level::Info => "info   ",
    }
}

fn style(level: Level) -> anstyle::Style {
    use anstyle::AnsiColor;
    let color = match level {
        Level::Error => AnsiColor::Red,
        Level::Warning => AnsiColor::Yellow,
        Level::Info => AnsiColor::Cyan,
    };
    color.on_default().bold()
}
