//! `netreel check --each`: many sessions, a line each, and what they come to together.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use netreel_protocol::export;
use netreel_protocol::history::Level;
use netreel_protocol::session::Session;
use netreel_protocol::verdict::Verdict;
use netreel_wire::Wire;
use serde_json::json;

use super::report::{self, SessionReport};
use crate::arguments::Check;
use crate::outcome::{Answer, Failure, Result};
use crate::rules::Tested;
use crate::{each, open, text};

/// A rule and how bad what it found is.
type Rule = (Reverse<Level>, &'static str);

/// What was found of one session.
struct Checked {
    verdict: Verdict,
    answer: Answer,
    /// How many findings there are of each rule, the worst first.
    rules: BTreeMap<Rule, u64>,
    /// What keeps the verdict from being clean, by its ids; why the session cannot be read.
    reasons: Vec<String>,
    /// The line of `--json`.
    json: serde_json::Value,
    /// What `--format` tells.
    told: SessionReport,
}

pub fn run(arguments: &Check, out: &mut dyn Write) -> Result<Answer> {
    let source = &arguments.filtered.read.source;
    let folders = each::folders(&source.paths)?;
    let wire = open::wire_given(&source.wire)?;
    let rules = Tested::named(arguments.rules.as_deref())?;
    let (mut total, mut all) = (Total::default(), Vec::new());
    each::each(
        &folders,
        |folder, processors| {
            let asked = (folder, rules.as_ref());
            one(arguments, asked, wire.clone(), processors)
        },
        |folder, checked| {
            match (arguments.format, arguments.filtered.read.json) {
                (Some(_), _) => {}
                (None, true) => crate::packets::json(&checked.json, out)?,
                (None, false) => line(folder, &checked, out)?,
            }
            out.flush()?;
            all.push(total.add(folder, checked));
            Ok(())
        },
    )?;
    match (arguments.format, arguments.filtered.read.json) {
        (Some(format), _) => report::print(format, &all, arguments.partial, out)?,
        (None, true) => crate::packets::json(&total.json(), out)?,
        (None, false) => total.print(out)?,
    }
    Ok(total.answer())
}

/// Checks one session with this many processors.
fn one(
    arguments: &Check,
    (folder, rules): (&Path, Option<&Tested>),
    wire: Option<Arc<Wire>>,
    processors: usize,
) -> Result<Checked> {
    let source = &arguments.filtered.read.source;
    let name = folder.display().to_string();
    let how = Session::builder().workers(processors).with_facts();
    let story = open::in_silence(source, &[folder], wire, how);
    let found = story.and_then(|story| super::judged(arguments, rules, story));
    let (session, history, judgement) = match found {
        Ok(found) => found,
        // One that cannot be read, or not be asked that, does not keep the others from an answer.
        Err(Failure::Told(why)) => {
            return Ok(Checked {
                verdict: Verdict::Unknown,
                answer: Answer::Unknown,
                rules: BTreeMap::new(),
                json: json!({ "verdict": "unknown", "error": why, "session": name }),
                told: SessionReport::unread(name, &why, arguments.fail_on.into()),
                reasons: vec![why],
            });
        }
        Err(other) => return Err(other),
    };
    let mut rules = BTreeMap::new();
    for finding in &history.findings {
        let rule = (Reverse(finding.level), finding.rule);
        *rules.entry(rule).or_default() += 1;
    }
    let all = export::check(&session, &history, &judgement);
    let mut json = serde_json::to_value(all).map_err(std::io::Error::from)?;
    let told = SessionReport::new(name.clone(), &session, &history, &judgement);
    json["session"] = name.into();
    let mut reasons: Vec<String> = judgement
        .reasons
        .iter()
        .map(|it| it.id.to_owned())
        .collect();
    reasons.dedup();
    Ok(Checked {
        verdict: judgement.verdict,
        answer: super::answer(arguments, &judgement),
        rules,
        reasons,
        json,
        told,
    })
}

/// Prints what was found of one session.
fn line(folder: &Path, checked: &Checked, out: &mut dyn Write) -> Result {
    let style = super::verdict_style(checked.verdict);
    let word = checked.verdict.name();
    let (mut said, mut odd) = (Vec::new(), 0);
    for (&(Reverse(level), rule), &count) in &checked.rules {
        match count {
            _ if level == Level::Info => odd += count,
            1 => said.push(rule.to_owned()),
            _ => said.push(format!("{count} {rule}")),
        }
    }
    said.extend((odd > 0).then(|| format!("{odd} info")));
    if checked.verdict == Verdict::Unknown {
        said.extend(checked.reasons.iter().cloned());
    }
    let line = format!(
        "{style}{word:<7}{style:#}  {}  {}",
        folder.display(),
        said.join(", ")
    );
    writeln!(out, "{}", line.trim_end())?;
    Ok(())
}

/// What all sessions come to.
#[derive(Default)]
struct Total {
    /// How many sessions got each verdict: clean, wrong, unknown.
    verdicts: [u64; 3],
    /// For each rule how many findings there are, in how many sessions, and the first of these.
    rules: BTreeMap<Rule, (u64, u64, PathBuf)>,
    is_wrong: bool,
    is_unknown: bool,
}

impl Total {
    /// Counts a session, and hands on what is told of it.
    fn add(&mut self, folder: &Path, checked: Checked) -> SessionReport {
        let place = match checked.verdict {
            Verdict::Clean => 0,
            Verdict::Wrong => 1,
            Verdict::Unknown => 2,
        };
        self.verdicts[place] += 1;
        self.is_wrong |= checked.answer == Answer::Wrong;
        self.is_unknown |= checked.answer == Answer::Unknown;
        for (rule, count) in checked.rules {
            let first = || (0, 0, folder.to_owned());
            let (findings, sessions, _) = self.rules.entry(rule).or_insert_with(first);
            *findings += count;
            *sessions += 1;
        }
        checked.told
    }

    fn answer(&self) -> Answer {
        match (self.is_wrong, self.is_unknown) {
            (true, _) => Answer::Wrong,
            (false, true) => Answer::Unknown,
            (false, false) => Answer::Clean,
        }
    }

    fn print(&self, out: &mut dyn Write) -> Result {
        let [clean, wrong, unknown] = self.verdicts;
        let all = text::counted(clean + wrong + unknown, "session");
        writeln!(
            out,
            "{all}: {clean} clean, {wrong} wrong, {unknown} unknown"
        )?;
        let width = self.rules.keys().map(|(_, rule)| rule.len()).max();
        for ((level, rule), (findings, sessions, first)) in &self.rules {
            let (level, width) = (level.0.name(), width.unwrap_or(0));
            let sessions = text::counted(*sessions, "session");
            let first = first.display();
            writeln!(
                out,
                "    {level:<7}  {rule:<width$}  {findings} in {sessions}, first in {first}"
            )?;
        }
        Ok(())
    }

    fn json(&self) -> serde_json::Value {
        let [clean, wrong, unknown] = self.verdicts;
        let rules = self
            .rules
            .iter()
            .map(|((level, rule), (findings, sessions, first))| {
                json!({
                    "rule": rule,
                    "level": level.0.name(),
                    "findings": findings,
                    "sessions": sessions,
                    "first": first.display().to_string(),
                })
            });
        json!({
            "sessions": clean + wrong + unknown,
            "clean": clean,
            "wrong": wrong,
            "unknown": unknown,
            "rules": rules.collect::<Vec<_>>(),
        })
    }
}
