//! `netreel run`: matches that a script drives, again and again.

mod debuggers;
mod emit;
mod html;
mod judge;
mod report;
mod watch;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use netreel_capture::Signals;
use netreel_scenario::{
    Loop, Match, Outcome, Recovered, Scenario, Share, Sums, Told, Waiting, repeat,
};
use netreel_system::process::HAS_GROUPS;
use serde_json::json;

use crate::arguments::Run;
use crate::outcome::{Answer, Failure};
use debuggers::Debuggers;
use netreel_protocol::history::RULES;

use crate::{export, open, text};

/// Between two looks at whether somebody wants the run to end.
const LOOK: Duration = Duration::from_millis(20);

pub fn run(arguments: &Run, out: &mut dyn Write) -> Result<Answer, Failure> {
    if let Some(folder) = &arguments.recover {
        return recover(folder, arguments.json, out);
    }
    let fail_on = arguments.until_finding.unwrap_or(arguments.fail_on);
    let level = fail_on.level().name();
    if !arguments.gather.is_empty() {
        return gather(arguments, level, out);
    }
    if arguments.watch {
        return watch::watch(arguments, out);
    }
    match play(arguments, level, out)? {
        Played::Whole(answer) => Ok(answer),
        Played::Ended(why) => Err(Failure::new(why)),
    }
}

/// What came of a loop.
enum Played {
    /// All of it was played, or as much as was to be.
    Whole(Answer),
    /// Somebody ended it; how it goes on.
    Ended(String),
}

fn play(arguments: &Run, level: &str, out: &mut dyn Write) -> Result<Played, Failure> {
    let file = arguments.file.as_deref().unwrap_or(Path::new(""));
    let scenario = Scenario::read(file, &arguments.set).map_err(Failure::new)?;
    let default = || PathBuf::from(format!("netreel-run-{}", scenario.name));
    let wire = scenario.wire.as_deref().map(open::wire).transpose()?;
    let folder = arguments.out.clone().unwrap_or_else(default);
    if let Some(emit) = arguments.emit {
        return emit::write(emit, (arguments, file), &scenario.name, out).map(Played::Whole);
    }
    if !HAS_GROUPS {
        return Err(Failure::new(
            "matches are played on Linux alone, where all that a node has started can be ended with it; play \
             them there, and read what came of them here",
        ));
    }
    let jobs = arguments.jobs.map_or_else(processors, usize::from);
    let netreel = std::env::current_exe()
        .map_err(|error| Failure::new(format!("cannot find the program itself: {error}")))?;
    if !arguments.json {
        let matches = matches(arguments.repeat);
        let (seed, folder) = (arguments.seed, folder.display());
        let name = &scenario.name;
        writeln!(
            out,
            "{name}: {matches}, {jobs} at once, seed {seed}, in {folder}"
        )?;
        out.flush()?;
    }
    if let Some(folder) = &arguments.against {
        // Before a night is played.
        netreel_scenario::played(folder)
            .map_err(|error| Failure::new(format!("--against {}: {error}", folder.display())))?;
    }
    let dataset = arguments.dataset.as_deref();
    if dataset.is_some() {
        export::can_write_datasets()?;
    }
    let debuggers = Debuggers::new(arguments.vscode.as_deref(), &scenario.folder);
    let hears = |waiting: &Waiting| debuggers.hear(waiting);
    let is_cancelled = Arc::new(AtomicBool::new(false));
    let (lines, said) = channel();
    let tell = |told: Told<'_>| {
        if let (Told::Over(played, Some(kept)), Some(dataset)) = (&told, dataset)
            && let Err(why) = judge::add_kept(kept, wire.as_ref(), dataset)
        {
            anstream::eprintln!("netreel: match {}: {why}", played.number);
        }
        // Who has stopped printing has stopped the run.
        let _ = lines.send(words(told, (level, arguments.json)));
    };
    let wants = Loop {
        scenario: &scenario,
        folder: &folder,
        matches: arguments.repeat,
        part: arguments.part.unwrap_or((1, 1)),
        jobs: jobs.min(usize::try_from(arguments.repeat).unwrap_or(jobs)),
        seed: arguments.seed,
        level,
        ends_at_bad: arguments.until_finding.is_some(),
        keeps_good: arguments.keep_all,
        netreel: &netreel,
        debugs: arguments.gdb.then_some(&hears),
        is_cancelled: &is_cancelled,
        tell: &tell,
        notes: &judge::notes,
        judge: &|folder, asked| judge::judge(folder, asked, (wire.as_ref(), dataset)),
        rules: &RULES,
    };
    let matches = printed(&is_cancelled, &said, out, || repeat(&wants))?;
    let matches = matches.map_err(Failure::new)?;
    let kept = netreel_scenario::kept(&folder, &matches);
    let over = Over {
        name: &scenario.name,
        matches: &matches,
        level,
        kept: &kept,
    };
    let answer = over.tell(arguments, out)?;
    let (part, parts) = wants.part;
    let wanted = (arguments.repeat + parts - part) / parts;
    let is_over = matches.len() as u64 >= wanted || wants.ends_at_bad && answer == Answer::Wrong;
    if !is_over {
        let played = matches.len();
        return Ok(Played::Ended(format!(
            "ended after {played} of {wanted} matches; the same command goes on with the others"
        )));
    }
    Ok(Played::Whole(answer))
}

/// What runs in several folders come to together: jobs of one loop, each with its part.
fn gather(arguments: &Run, level: &str, out: &mut dyn Write) -> Result<Answer, Failure> {
    let (mut matches, mut kept, mut wanted) = (Vec::new(), BTreeMap::new(), 0);
    for folder in &arguments.gather {
        let played = netreel_scenario::played(folder).map_err(|error| {
            Failure::new(format!("{}: there is no run: {error}", folder.display()))
        })?;
        wanted = wanted.max(netreel_scenario::planned(folder).unwrap_or(0));
        kept.extend(netreel_scenario::kept(folder, &played));
        matches.extend(played);
    }
    matches.sort_by_key(|played| played.number);
    let mut pairs = matches.windows(2);
    if let Some(twice) = pairs.find(|pair| pair[0].number == pair[1].number) {
        return Err(Failure::new(format!(
            "match {} is in two of the folders: they are not parts of one loop",
            twice[0].number
        )));
    }
    let over = Over {
        name: "gathered",
        matches: &matches,
        level,
        kept: &kept,
    };
    let answer = over.tell(arguments, out)?;
    let missing = wanted.saturating_sub(matches.len() as u64);
    if missing > 0 || matches.is_empty() {
        return Err(Failure::new(format!(
            "{missing} of {wanted} matches are missing: a part was not played, or not to its end"
        )));
    }
    Ok(answer)
}

/// Matches that were played.
struct Over<'a> {
    name: &'a str,
    matches: &'a [Match],
    level: &'a str,
    /// The folders of those that were kept, by number.
    kept: &'a BTreeMap<u64, PathBuf>,
}

impl Over<'_> {
    /// Prints what they come to, and writes the reports that are wanted.
    fn tell(&self, arguments: &Run, out: &mut dyn Write) -> Result<Answer, Failure> {
        let sums = Sums::of(self.matches, self.level);
        if let Some(file) = &arguments.junit {
            report::junit(file, self.name, (self.matches, self.level))?;
        }
        if let Some(file) = &arguments.html {
            html::write(file, self, &sums)?;
        }
        let against = arguments.against.as_deref().map(|folder| {
            let matches = netreel_scenario::played(folder).map_err(|error| {
                Failure::new(format!("--against {}: {error}", folder.display()))
            })?;
            let other = Sums::of(&matches, self.level).bad;
            Ok::<_, Failure>((other, netreel_scenario::chance(sums.bad, other)))
        });
        let against: Option<(Share, f64)> = against.transpose()?;
        if arguments.json {
            let against = against.map(|(bad, chance)| json!({ "bad": bad, "chance": chance }));
            writeln!(out, "{}", json!({ "run": sums, "against": against }))?;
        } else {
            self.print(&sums, out)?;
            if let Some((other, chance)) = against {
                writeln!(out, "  {}", compared(sums.bad, other, chance))?;
            }
        }
        Ok(match sums.bad.count {
            0 => Answer::Clean,
            _ => Answer::Wrong,
        })
    }

    fn print(&self, sums: &Sums, out: &mut dyn Write) -> Result<(), Failure> {
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
            let folder = folder.display();
            writeln!(
                out,
                "  netreel check {folder}      what went wrong in the first of them"
            )?;
            writeln!(out, "  netreel inspect {folder}    all of it in a window")?;
        }
        Ok(())
    }
}

/// Whether a run is better or worse than another one.
fn compared(bad: Share, other: Share, chance: f64) -> String {
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

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Does something that says lines and ends when it is told to; prints them, and tells it when somebody
/// asks this program to stop, or reads no more.
fn printed<T: Send>(
    is_cancelled: &AtomicBool,
    lines: &Receiver<String>,
    out: &mut dyn Write,
    act: impl FnOnce() -> T + Send,
) -> Result<T, Failure> {
    let signals = Signals::catch();
    let mut printed = Ok(());
    let is_done = AtomicBool::new(false);
    let done = std::thread::scope(|scope| {
        let acts = scope.spawn(act);
        // Apart from who prints, whom a full pipe may hold up.
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                if signals.asked() > 0 {
                    is_cancelled.store(true, Ordering::Relaxed);
                }
                std::thread::sleep(LOOK);
            }
        });
        loop {
            // Whatever was said before the end is there after it.
            let is_over = acts.is_finished();
            if printed.is_err() {
                is_cancelled.store(true, Ordering::Relaxed);
            }
            match lines.recv_timeout(LOOK) {
                Ok(line) if printed.is_ok() => {
                    printed = out.write_all(line.as_bytes()).and_then(|()| out.flush());
                }
                Err(_) if is_over => break,
                _ => {}
            }
        }
        is_done.store(true, Ordering::Relaxed);
        acts.join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    printed?;
    Ok(done)
}

fn recover(folder: &Path, is_json: bool, out: &mut dyn Write) -> Result<Answer, Failure> {
    let recovered = netreel_scenario::recover(folder).map_err(Failure::new)?;
    if is_json {
        let Recovered {
            processes,
            folders,
            commands,
            left,
        } = &recovered;
        let object = json!({ "processes": processes, "folders": folders, "commands": commands, "left": left });
        writeln!(out, "{object}")?;
    } else {
        writeln!(out, "{}", recovered_words(&recovered))?;
    }
    match recovered.left.as_slice() {
        [] => Ok(Answer::Clean),
        left => Err(Failure::new(format!("could not undo {}", left.join("; ")))),
    }
}

fn recovered_words(recovered: &Recovered) -> String {
    let processes = match recovered.processes {
        1 => "1 process".to_owned(),
        many => format!("{many} processes"),
    };
    let folders = text::counted(recovered.folders as u64, "folder");
    format!("undone what an earlier runner left behind: {processes}, {folders}")
}

/// What happens, in lines.
fn words(told: Told<'_>, (level, is_json): (&str, bool)) -> String {
    match told {
        Told::Over(played, kept) if is_json => {
            let kept = kept.map(|folder| folder.display().to_string());
            format!("{}\n", json!({ "match": played, "kept": kept }))
        }
        Told::Line(number, line) if is_json => {
            // What a person has to do is not for whoever reads the objects.
            anstream::eprintln!("match {number}: {line}");
            String::new()
        }
        _ if is_json => String::new(),
        Told::GoesOn(played) => format!("goes on: {} played before\n", matches(played)),
        Told::Recovered(recovered) => format!("{}\n", recovered_words(recovered)),
        Told::Line(number, line) => format!("match {number}: {line}\n"),
        Told::Over(played, kept) => over(played, kept, level),
    }
}

fn over(played: &Match, kept: Option<&Path>, level: &str) -> String {
    let (number, took, seed) = (played.number, played.took, played.seed);
    if !played.is_bad(level) {
        return format!("match {number}: good, {took:.1} s\n");
    }
    let word = match played.outcome {
        Outcome::Failed(_) => "failed",
        _ => "bad",
    };
    let kept = kept.map_or(String::new(), |folder| {
        format!(", kept in {}", folder.display())
    });
    let mut lines = format!("match {number}: {word}, {took:.1} s, seed {seed}{kept}\n");
    for reason in report::reasons(played, level) {
        lines.push_str(&format!("    {reason}\n"));
    }
    lines
}

/// `1 match`, `2 matches`.
fn matches(count: u64) -> String {
    match count {
        1 => "1 match".to_owned(),
        many => format!("{many} matches"),
    }
}

/// `0.6 % (95 %: 0.2 to 1.7 %)`.
fn percent(share: Share) -> String {
    let part = share.count as f64 / share.of.max(1) as f64;
    let [part, least, most] = [part, share.least, share.most].map(|it| it * 100.0);
    format!("{part:.1} % (with a confidence of 95 %: {least:.1} to {most:.1} %)")
}
