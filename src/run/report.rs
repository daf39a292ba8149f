//! What a loop came to: in words, as JSON, for CI, as a page; also of several jobs together.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use netreel_scenario::{Match, Outcome, Share, Sums};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use serde_json::json;

use super::after;
use super::emit::DATASET;
use crate::arguments::Run;
use crate::outcome::{Answer, Failure, Result, fail};
use crate::{export, text};

/// Why a match is bad, a line each.
pub fn reasons(played: &Match, level: &str) -> Vec<String> {
    let mut lines = match &played.outcome {
        Outcome::Played => Vec::new(),
        Outcome::Unexpected(what) => what.iter().map(|it| format!("unexpected: {it}")).collect(),
        Outcome::Failed(why) => vec![why.clone()],
    };
    let words = ["info", "warning", "error"];
    let grave: Vec<&str> = words
        .into_iter()
        .skip_while(|word| *word != level)
        .collect();
    let findings = played.judged.findings.iter();
    for found in findings.filter(|found| grave.contains(&found.level.as_str())) {
        let node = match found.node.as_str() {
            "" => String::new(),
            node => format!(" {node}"),
        };
        let line = format!("{} {}{node}: {}", found.level, found.rule, found.text);
        if !lines.iter().any(|known| known.ends_with(&line)) {
            lines.push(line);
        }
    }
    lines
}

/// Writes a report for CI: a test case a match.
pub fn junit(file: &Path, name: &str, (matches, level): (&[Match], &str)) -> Result {
    let mut suite = TestSuite::new(name);
    for played in matches {
        let mut status = TestCaseStatus::success();
        let reasons = reasons(played, level);
        if played.is_bad(level) {
            let kind = match played.outcome {
                Outcome::Failed(_) => NonSuccessKind::Error,
                _ => NonSuccessKind::Failure,
            };
            status = TestCaseStatus::non_success(kind);
            status.set_message(reasons.first().cloned().unwrap_or_default());
            status.set_description(reasons.join("\n"));
        }
        let called = format!("match {} (seed {})", played.number, played.seed);
        let mut case = TestCase::new(called, status);
        case.set_time(Duration::from_secs_f64(played.took.max(0.0)));
        suite.add_test_case(case);
    }
    let mut report = Report::new("netreel run");
    report.add_test_suite(suite);
    let text = report.to_string()?;
    write(file, &text)
}

/// What came of a loop.
pub enum Played {
    /// All of it was played, or as much as was to be.
    Whole(Answer),
    /// Somebody ended it; how it goes on.
    Ended(String),
}

/// Matches that were played.
pub struct Over<'a> {
    pub name: &'a str,
    pub matches: &'a [Match],
    pub level: &'a str,
    /// The folders of those that were kept, by number.
    pub kept: &'a BTreeMap<u64, PathBuf>,
}

impl Over<'_> {
    /// Prints what they come to.
    pub fn print(&self, sums: &Sums, out: &mut dyn Write) -> Result {
        writeln!(out)?;
        if sums.bad.of == 0 {
            writeln!(out, "no match was played")?;
            return Ok(());
        }
        let [least, mean, most] = sums.took;
        writeln!(
            out,
            "{}: {} bad, {}; {mean:.1} s each ({least:.1} to {most:.1})",
            matches(sums.bad.of),
            sums.bad.count,
            percent(sums.bad)
        )?;
        if sums.failed > 0 {
            writeln!(out, "  {} could not be played to the end", sums.failed)?;
        }
        for (rule, share) in &sums.rules {
            let (count, of) = (share.count, share.of);
            writeln!(out, "  {rule}: {count} of {of}, {}", percent(*share))?;
        }
        let bad = self.matches.iter().find(|it| it.is_bad(self.level));
        if let Some(folder) = bad.and_then(|it| self.kept.get(&it.number)) {
            let (is_found, folder) = (bad.is_some_and(after::has_error), folder.display());
            // What was not as the script expects stands above; what nodes made of it they may have printed.
            if is_found {
                writeln!(
                    out,
                    "  netreel check {folder}      what went wrong in the first of them"
                )?
            } else {
                writeln!(
                    out,
                    "  {folder}/logs    what the nodes of the first of them printed"
                )?
            }
            writeln!(out, "  netreel inspect {folder}    all of it in a window")?;
        }
        Ok(())
    }
}

/// Whether a run is better or worse than another one.
pub fn compared(bad: Share, other: Share, chance: f64) -> String {
    let rate = |share: Share| share.count as f64 / share.of.max(1) as f64;
    let word = match (chance < 0.05, rate(bad) < rate(other)) {
        (true, true) => "better",
        (true, false) => "worse",
        (false, _) => "neither better nor worse",
    };
    format!(
        "{word} than the other run, with {} of {} bad: chance alone sets two runs so far apart in {:.2} % of cases",
        other.count,
        other.of,
        chance * 100.0
    )
}

/// `1 match`, `2 matches`.
pub fn matches(count: u64) -> String {
    match count {
        1 => "1 match".to_owned(),
        many => format!("{many} matches"),
    }
}

/// `0.6 % (95 %: 0.2 to 1.7 %)`.
pub fn percent(share: Share) -> String {
    let part = share.count as f64 / share.of.max(1) as f64;
    let [part, least, most] = [part, share.least, share.most].map(|it| it * 100.0);
    format!("{part:.1} % (with a confidence of 95 %: {least:.1} to {most:.1} %)")
}

/// Prints what matches come to, and writes the reports that are wanted.
pub fn tell(over: &Over<'_>, arguments: &Run, out: &mut dyn Write) -> Result<Answer> {
    let sums = Sums::of(over.matches, over.level);
    if let Some(file) = &arguments.junit {
        junit(file, over.name, (over.matches, over.level))?;
    }
    if let Some(file) = &arguments.html {
        write_html(file, over, &sums)?;
    }
    let against: Option<(Share, f64)> = arguments
        .against
        .as_deref()
        .map(|folder| {
            let matches = netreel_scenario::played(folder)
                .map_err(|error| format!("--against {}: {error}", folder.display()))?;
            let other = Sums::of(&matches, over.level).bad;
            Ok::<_, Failure>((other, netreel_scenario::chance(sums.bad, other)))
        })
        .transpose()?;
    if arguments.json {
        let against = against.map(|(bad, chance)| json!({ "bad": bad, "chance": chance }));
        writeln!(out, "{}", json!({ "run": sums, "against": against }))?;
    } else {
        over.print(&sums, out)?;
        if let Some((other, chance)) = against {
            writeln!(out, "  {}", compared(sums.bad, other, chance))?;
        }
    }
    Ok(Answer::clean_if(sums.bad.count == 0))
}

/// What runs in several folders come to together: jobs of one loop, each with its part.
pub fn gather(arguments: &Run, level: &str, out: &mut dyn Write) -> Result<Answer> {
    let (mut matches, mut kept, mut wanted) = (Vec::new(), BTreeMap::new(), 0);
    for folder in &arguments.gather {
        let played = netreel_scenario::played(folder)
            .map_err(|error| format!("{}: there is no run: {error}", folder.display()))?;
        wanted = wanted.max(netreel_scenario::planned(folder).unwrap_or(0));
        kept.extend(netreel_scenario::kept(folder, &played));
        matches.extend(played);
    }
    matches.sort_by_key(|played| played.number);
    let mut pairs = matches.windows(2);
    if let Some(twice) = pairs.find(|pair| pair[0].number == pair[1].number) {
        return fail(format!(
            "match {} is in two of the folders: they are not parts of one loop",
            twice[0].number
        ));
    }
    let over = Over {
        name: "gathered",
        matches: &matches,
        level,
        kept: &kept,
    };
    let answer = tell(&over, arguments, out)?;
    if let Some(dataset) = &arguments.dataset {
        let parts = arguments.gather.iter().map(|part| part.join(DATASET));
        let added: u64 = parts
            .map(|part| export::add_all(&part, dataset))
            .sum::<Result<u64>>()?;
        if !arguments.json {
            let sessions = text::counted(added, "session");
            writeln!(out, "  {sessions} in the dataset {}", dataset.display())?;
        }
    }
    let missing = wanted.saturating_sub(matches.len() as u64);
    if missing > 0 || matches.is_empty() {
        return fail(format!(
            "{missing} of {wanted} matches are missing: a part was not played, or not to its end"
        ));
    }
    Ok(answer)
}

/// So many bad matches have a picture: a page is to be read.
#[cfg(feature = "gui")]
const PICTURES_MAX: usize = 20;

const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;\
    color:#222}table{border-collapse:collapse}td,th{text-align:left;padding:.15rem 1.2rem .15rem 0;\
    vertical-align:top}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}\
    img{max-width:100%;border:1px solid #ccc}code{background:#f2f2f2;padding:.1rem .3rem}\
    h2{margin-top:2.2rem}.bad{color:#b00020}";

/// Writes it.
pub fn write_html(file: &Path, over: &Over<'_>, sums: &Sums) -> Result {
    let name = escaped(over.name);
    let word = if sums.bad.count > 0 { "bad" } else { "good" };
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{name}</title>\
         <style>{STYLE}</style>\n<h1>{name}</h1>\n<p>{}: <b class=\"{word}\">{} bad</b>, {}; {:.1} s \
         each.</p>\n",
        matches(sums.bad.of),
        sums.bad.count,
        percent(sums.bad),
        sums.took[1],
    );
    if !sums.rules.is_empty() {
        page.push_str("<table><tr><th>finding<th class=n>matches<th>share\n");
        for (rule, share) in &sums.rules {
            page.push_str(&row(rule, *share));
        }
        page.push_str("</table>\n");
    }
    let bad = over.matches.iter().filter(|it| it.is_bad(over.level));
    for (at, played) in bad.enumerate() {
        let (number, seed, took) = (played.number, played.seed, played.took);
        let _ = writeln!(
            page,
            "<h2>Match {number}</h2>\n<p>Seed {seed}, {took:.1} s.</p>\n<ul>"
        );
        for reason in reasons(played, over.level) {
            let _ = writeln!(page, "<li>{}", escaped(&reason));
        }
        page.push_str("</ul>\n");
        if let Some(folder) = over.kept.get(&number) {
            let shown = escaped(&folder.display().to_string());
            let _ = writeln!(page, "<p><code>netreel inspect {shown}</code></p>");
            page.push_str(&picture(folder, at));
        }
    }
    write(file, &page)
}

fn write(file: &Path, text: &str) -> Result {
    std::fs::write(file, text)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", file.display())))
}

fn row(rule: &str, share: Share) -> String {
    let (rule, count) = (escaped(rule), share.count);
    format!("<tr><td>{rule}<td class=n>{count}<td>{}\n", percent(share))
}

/// The timeline of the `at`th bad match, in the page itself; nothing where it cannot be drawn.
#[cfg(feature = "gui")]
fn picture(folder: &Path, at: usize) -> String {
    use base64::Engine;

    use crate::inspect::drawn::{draw, model};

    if at >= PICTURES_MAX {
        return String::new();
    }
    let file = folder.join("timeline.png");
    let drawn = super::judge::story(folder, None).and_then(|mut story| {
        let drawn = draw(model(&mut story, ""), (1400, 760), &file);
        drawn.map_err(|failure| failure.to_string())
    });
    let bytes = drawn.ok().and_then(|()| std::fs::read(&file).ok());
    bytes.map_or(String::new(), |bytes| {
        let text = base64::engine::general_purpose::STANDARD.encode(bytes);
        format!("<img alt=\"the timeline\" src=\"data:image/png;base64,{text}\">\n")
    })
}

#[cfg(not(feature = "gui"))]
fn picture(_: &Path, _: usize) -> String {
    String::new()
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}
