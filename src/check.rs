//! `netreel check`: what went wrong, with the packets that prove it; with `--follow`, while it is recorded.

pub mod each;
mod report;

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use netreel_protocol::export;
use netreel_protocol::history::{Certain, Evidence, Finding, History, Level, RULES};
use netreel_protocol::session::Session;
use netreel_protocol::verdict::{Judgement, Verdict};

use crate::arguments::Check;
use crate::open::Story;
use crate::outcome::{Answer, Result};
use crate::packets::json;
use crate::rules::Tested;
use crate::watch::{Now, Pace, Watch};
use crate::{open, text, tree};
use report::SessionReport;

pub fn run(arguments: &Check, out: &mut dyn Write) -> Result<Answer> {
    let rules = Tested::named(arguments.rules.as_deref())?;
    let story = open::story_with_facts(&arguments.filtered.read.source)?;
    story.history();
    tree::say_misfits(&story.session);
    let (session, history, judgement) = judged(arguments, rules.as_ref(), story)?;
    if let Some(format) = arguments.format {
        let name = text::paths(&arguments.filtered.read.source.paths);
        let told = SessionReport::new(name, &session, &history, &judgement);
        report::print(format, &[told], arguments.partial, out)?;
    } else if arguments.filtered.read.json {
        json(&export::check(&session, &history, &judgement), out)?;
    } else {
        report(&session, &history, arguments.verbose, out)?;
        pages(&history.findings, out)?;
        verdict(&judgement, out)?;
    }
    Ok(answer(arguments, &judgement))
}

/// A session, what was found of it that fits the filter, and what that comes to.
type Judged = (Arc<Session>, History, Judgement);

/// Judges a session, by the rules of a file as well, which the filter may name.
fn judged(arguments: &Check, rules: Option<&Tested>, story: Story) -> Result<Judged> {
    let unread = story.unread.clone();
    let (session, mut history) = story.into_parts();
    if let Some(rules) = rules {
        rules.add(&session, &mut history)?;
    }
    if let Some(filter) = arguments.filtered.filter.as_deref() {
        let own_rules = rules.map_or(&[][..], |it| &it.file.rules);
        let query = open::query_beside(Some(filter), &session, own_rules)?;
        let fits = |finding: &Finding| query.finding(&session, &history, finding);
        let fitting: Vec<bool> = history.findings.iter().map(fits).collect();
        let mut fitting = fitting.into_iter();
        history.keep_findings(|_| fitting.next().unwrap_or(false));
    }
    let judgement = Judgement::new(&session, &history, arguments.fail_on.into(), &unread);
    Ok((session, history, judgement))
}

fn answer(arguments: &Check, judgement: &Judgement) -> Answer {
    match judgement.verdict {
        Verdict::Unknown if arguments.partial => Answer::Clean,
        verdict => verdict.into(),
    }
}

/// Prints the verdict for people, and what could not be judged, a line each.
pub fn verdict(judgement: &Judgement, out: &mut dyn Write) -> Result {
    let style = verdict_style(judgement.verdict);
    let headline = judgement.headline();
    let word = judgement.verdict.name();
    let rest = headline.strip_prefix(word).unwrap_or(&headline);
    let colon = if judgement.reasons.is_empty() {
        ""
    } else {
        ":"
    };
    writeln!(out, "{style}{word}{style:#}{rest}{colon}")?;
    for reason in &judgement.reasons {
        writeln!(out, "    {}  ({})", reason.sentence, reason.id)?;
    }
    // A clean one says it in its first line.
    let until = judgement
        .until()
        .filter(|_| judgement.verdict != Verdict::Clean);
    if let Some(until) = until {
        writeln!(out, "{until}")?;
    }
    Ok(())
}

fn verdict_style(verdict: Verdict) -> anstyle::Style {
    use anstyle::AnsiColor;
    let color = match verdict {
        Verdict::Clean => AnsiColor::Green,
        Verdict::Wrong => AnsiColor::Red,
        Verdict::Unknown => AnsiColor::Yellow,
    };
    text::style(color.on_default().bold())
}

/// Prints the findings for people.
pub fn report(session: &Session, history: &History, verbose: bool, out: &mut dyn Write) -> Result {
    for (place, finding) in history.findings.iter().enumerate() {
        let number = Some(history.finding_number(place));
        one(session, finding, (number, verbose), out)?;
    }
    counts(&history.findings, out)
}

/// Names the pages that say what the findings mean.
fn pages(findings: &[Finding], out: &mut dyn Write) -> Result {
    let rules: BTreeSet<&str> = findings
        .iter()
        .map(|finding| finding.rule)
        .filter(|rule| RULES.contains(rule))
        .collect();
    if rules.is_empty() {
        return Ok(());
    }
    let pages = text::joined(rules.iter().map(|rule| format!("{rule}.md")), ", ");
    writeln!(out, "what they mean (docs/findings): {pages}")?;
    Ok(())
}

/// Prints a finding for people, with its number where all findings are known; `verbose`: each of the
/// things that it tells of.
fn one(
    session: &Session,
    finding: &Finding,
    (number, verbose): (Option<u32>, bool),
    out: &mut dyn Write,
) -> Result {
    let style = style(finding.level);
    let number = number.map(|number| format!("  finding {number}"));
    writeln!(
        out,
        "{style}{:<7}{style:#}  {}  at {} s  {}{}",
        finding.level.name(),
        finding.rule,
        text::seconds(finding.time),
        text::node(session, finding.node),
        number.unwrap_or_default(),
    )?;
    writeln!(out, "    {}", finding.sentence)?;
    let told = if verbose {
        finding.each.len()
    } else {
        finding.each.len().min(1)
    };
    for each in finding.each.iter().take(told) {
        writeln!(out, "      {}", each.sentence)?;
        pieces(session, &each.evidence, out)?;
    }
    match finding.each.len() - told {
        _ if finding.each.is_empty() => pieces(session, &finding.evidence, out)?,
        0 => {}
        more => writeln!(out, "      and {more} more: --verbose prints them")?,
    }
    Ok(())
}

/// Prints how many findings there are of each level.
fn counts(findings: &[Finding], out: &mut dyn Write) -> Result {
    let counts = [Level::Error, Level::Warning, Level::Info].map(|level| {
        let number = findings
            .iter()
            .filter(|finding| finding.level == level)
            .count();
        if level == Level::Info {
            format!("{number} info")
        } else {
            text::counted(number, level.name())
        }
    });
    writeln!(out, "{}", counts.join(", "))?;
    Ok(())
}

fn pieces(session: &Session, evidence: &[Evidence], out: &mut dyn Write) -> Result {
    for evidence in evidence {
        writeln!(
            out,
            "      {} s  {:<5} packet {:<6} {}",
            text::seconds(evidence.time),
            text::node(session, evidence.node),
            evidence.packet.0,
            evidence.what,
        )?;
    }
    Ok(())
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

/// The pause after a look that found something.
const PAUSE: Duration = Duration::from_millis(200);

pub fn follow(arguments: &Check, out: &mut dyn Write) -> Result<Answer> {
    let source = &arguments.filtered.read.source;
    let mut watch = Watch::new(source.paths.clone(), open::how(source)?);
    // Nothing is waited for that cannot be judged.
    let rules = Tested::named(arguments.rules.as_deref())?;
    let mut certain = Certain::default();
    let mut pace = Pace::new(PAUSE);
    let as_json = arguments.filtered.read.json;
    // What a look read is certain with the next one at the earliest.
    let mut looks = 0;
    loop {
        let now = watch.open_in_time()?;
        if now.as_ref().is_some_and(|now| now.is_new) {
            looks = 2;
        }
        match now {
            Some(now) if now.all_over() => {
                let asked = (arguments, rules.as_ref());
                return end(asked, now, &mut watch, &mut certain, out);
            }
            Some(now) if looks > 0 && pace.is_due() => {
                looks -= 1;
                let begun = Instant::now();
                // Two that have not met yet may meet.
                if let Ok((session, history)) = watch.look(&now) {
                    let fresh = certain.fresh(&session, &history, |reel| now.is_over(reel));
                    print(&session, &fresh, (as_json, arguments.verbose), out)?;
                    out.flush()?;
                }
                pace.looked(begun);
            }
            _ => {}
        }
        std::thread::sleep(PAUSE);
    }
}

/// Says of the whole session what was not said before, and judges it.
fn end(
    (arguments, rules): (&Check, Option<&Tested>),
    now: Now,
    watch: &mut Watch,
    certain: &mut Certain,
    out: &mut dyn Write,
) -> Result<Answer> {
    let story = open::build_by(now.reels, |inputs| watch.growing().look(inputs))?;
    let (session, history, judgement) = judged(arguments, rules, story)?;
    let as_json = arguments.filtered.read.json;
    let verbose = arguments.verbose;
    print(
        &session,
        &certain.rest(&session, &history),
        (as_json, verbose),
        out,
    )?;
    if as_json {
        json(&export::conclusion(&session, &history, &judgement), out)?;
    } else {
        counts(&history.findings, out)?;
        pages(&history.findings, out)?;
        verdict(&judgement, out)?;
    }
    Ok(answer(arguments, &judgement))
}

fn print(
    session: &Session,
    findings: &[&Finding],
    (as_json, verbose): (bool, bool),
    out: &mut dyn Write,
) -> Result {
    findings.iter().try_for_each(|finding| {
        if as_json {
            json(&export::finding(session, finding), out)
        } else {
            one(session, finding, (None, verbose), out)
        }
    })
}
