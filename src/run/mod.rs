//! `netreel run`: matches that a script drives, again and again; with `--watch`, whenever the scenario is
//! saved.

mod after;
mod emit;
mod judge;
mod report;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, SystemTime};

use netreel_capture::Signals;
use netreel_protocol::history::{Level, RULES};
use netreel_scenario::{Loop, Match, Outcome, Recovered, RunNews, Scenario, Waiting, repeat};
use netreel_system::Cancel;
use netreel_system::process::HAS_GROUPS;
use serde_json::json;

use crate::arguments::Run;
use crate::outcome::{self, Answer, Failure, Result, fail};
use crate::{each, export, open, text};
use after::{After, Debuggers};
use report::{Over, Played, matches};

/// Between two looks at whether somebody wants the run to end.
const LOOK: Duration = Duration::from_millis(20);

pub fn run(arguments: &Run, out: &mut dyn Write) -> Result<Answer> {
    if let Some(folder) = &arguments.recover {
        return recover(folder, arguments.json, out);
    }
    let fail_on = arguments.until_finding.unwrap_or(arguments.fail_on);
    let level = Level::from(fail_on).name();
    if !arguments.gather.is_empty() {
        return report::gather(arguments, level, out);
    }
    if arguments.watch {
        return watch(arguments, (level, play), out);
    }
    match play(arguments, level, out)? {
        Played::Whole(answer) => Ok(answer),
        Played::Ended(why) => fail(why),
    }
}

fn play(arguments: &Run, level: &str, out: &mut dyn Write) -> Result<Played> {
    let file = arguments.file.as_deref().unwrap_or(Path::new(""));
    let scenario = Scenario::read(file, &arguments.set)?;
    let default = || PathBuf::from(format!("netreel-run-{}", scenario.name));
    let wire = open::wire_given(&scenario.wire)?;
    let folder = arguments.out.clone().unwrap_or_else(default);
    if let Some(emit) = arguments.emit {
        return emit::write(emit, (arguments, file), &scenario.name, out).map(Played::Whole);
    }
    if !HAS_GROUPS {
        return fail(
            "netreel plays matches on Linux alone, where it can end all that a node has started; play the \
             matches there, and read their folders here",
        );
    }
    let jobs = arguments.jobs.map_or_else(each::processors, usize::from);
    let netreel = outcome::own_program()?;
    begin(arguments, &scenario.name, (jobs, &folder), out)?;
    let debuggers = Debuggers::new(arguments.vscode.as_deref(), &scenario.folder);
    let hears = |waiting: &Waiting| debuggers.hear(waiting);
    let cancel = Cancel::default();
    let (lines, said) = channel();
    let after = After {
        arguments,
        scenario: &scenario,
        wire: wire.as_ref(),
        netreel: &netreel,
        not_added: AtomicU64::new(0),
    };
    let tell = |told: RunNews<'_>| {
        if let RunNews::Judged(played, folder, is_kept) = told {
            let _ = lines.send(after.hear(played, folder, is_kept));
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
        cancel: &cancel,
        tell: &tell,
        notes: &judge::notes,
        network: &judge::network,
        judge: &|folder, asked| judge::judge(folder, asked, wire.as_ref()),
        rules: &RULES,
    };
    let matches = printed(&cancel, &said, out, || repeat(&wants))??;
    let kept = netreel_scenario::kept(&folder, &matches);
    let over = Over {
        name: &scenario.name,
        matches: &matches,
        level,
        kept: &kept,
    };
    let answer = report::tell(&over, arguments, out)?;
    after.is_whole()?;
    let wanted = here(arguments);
    let is_over = matches.len() as u64 >= wanted || wants.ends_at_bad && answer == Answer::Wrong;
    if !is_over {
        let played = matches.len();
        return Ok(Played::Ended(format!(
            "ended after {played} of {wanted} matches; the same command goes on with the others"
        )));
    }
    Ok(Played::Whole(answer))
}

/// Says what is played, and fails where something lacks that is needed when it is over.
fn begin(
    arguments: &Run,
    name: &str,
    (jobs, folder): (usize, &Path),
    out: &mut dyn Write,
) -> Result {
    if !arguments.json {
        let here = here(arguments);
        let (jobs, folder) = (here.min(jobs as u64), folder.display());
        let (name, seed) = (name, arguments.seed);
        let matches = matches(here);
        writeln!(
            out,
            "{name}: {matches}, {jobs} at once, seed {seed}, in {folder}"
        )?;
        out.flush()?;
    }
    if let Some(folder) = &arguments.against {
        // Before a night is played.
        netreel_scenario::played(folder)
            .map_err(|error| format!("--against {}: {error}", folder.display()))?;
    }
    if arguments.dataset.is_some() {
        export::can_write_datasets()?;
    }
    Ok(())
}

/// How many matches are played here: all of them, or those of a part.
fn here(arguments: &Run) -> u64 {
    let (part, parts) = arguments.part.unwrap_or((1, 1));
    (arguments.repeat + parts - part) / parts
}

/// Does something that says lines and ends when it is told to; prints them, and tells it when somebody
/// asks this program to stop, or reads no more.
fn printed<T: Send>(
    cancel: &Cancel,
    lines: &Receiver<String>,
    out: &mut dyn Write,
    act: impl FnOnce() -> T + Send,
) -> Result<T> {
    let signals = Signals::catch();
    let mut printed = Ok(());
    let is_done = Cancel::default();
    let done = thread::scope(|scope| {
        let acts = scope.spawn(act);
        // Apart from who prints, whom a full pipe may hold up.
        scope.spawn(|| {
            while is_done.goes_on() {
                if signals.asked() > 0 {
                    cancel.cancel();
                }
                thread::sleep(LOOK);
            }
        });
        loop {
            // Whatever was said before the end is there after it.
            let is_over = acts.is_finished();
            if printed.is_err() {
                cancel.cancel();
            }
            match lines.recv_timeout(LOOK) {
                Ok(line) if printed.is_ok() => {
                    printed = out.write_all(line.as_bytes()).and_then(|()| out.flush());
                }
                Err(_) if is_over => break,
                _ => {}
            }
        }
        is_done.cancel();
        acts.join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    printed?;
    Ok(done)
}

fn recover(folder: &Path, is_json: bool, out: &mut dyn Write) -> Result<Answer> {
    let recovered = netreel_scenario::recover(folder)?;
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
        left => fail(format!("could not undo {}", left.join("; "))),
    }
}

fn recovered_words(recovered: &Recovered) -> String {
    let processes = match recovered.processes {
        1 => "1 process".to_owned(),
        many => format!("{many} processes"),
    };
    let folders = text::counted(recovered.folders, "folder");
    format!("undone what an earlier runner left behind: {processes}, {folders}")
}

/// What happens, in lines.
fn words(told: RunNews<'_>, (level, is_json): (&str, bool)) -> String {
    match told {
        RunNews::Over(played, kept) if is_json => {
            let kept = kept.map(|folder| folder.display().to_string());
            format!("{}\n", json!({ "match": played, "kept": kept }))
        }
        RunNews::Line(number, line) if is_json => {
            // What a person has to do is not for whoever reads the objects.
            anstream::eprintln!("match {number}: {line}");
            String::new()
        }
        _ if is_json => String::new(),
        RunNews::Judged(..) => String::new(),
        RunNews::GoesOn(played) => format!("goes on: {} played before\n", matches(played)),
        RunNews::Recovered(recovered) => format!("{}\n", recovered_words(recovered)),
        RunNews::Line(number, line) => format!("match {number}: {line}\n"),
        RunNews::Over(played, kept) => over(played, kept, level),
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

/// Between two looks at whether something was saved.
const SAVED_LOOK: Duration = Duration::from_millis(200);

/// Plays a loop once.
type Play = fn(&Run, &str, &mut dyn Write) -> Result<Played>;

/// Plays until somebody ends it. A mistake in the file, or a match that went wrong, is told and waits for the
/// next time that something is saved.
///
/// # Errors
/// Somebody ended a match, or reads no more.
pub fn watch(arguments: &Run, (level, play): (&str, Play), out: &mut dyn Write) -> Result<Answer> {
    let file = arguments.file.as_deref().unwrap_or(Path::new(""));
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let default = || PathBuf::from(format!("netreel-run-{stem}"));
    let folder = arguments.out.clone().unwrap_or_else(default);
    loop {
        let seen = saved(file);
        let once = Run {
            out: Some(fresh(&folder)),
            ..arguments.clone()
        };
        match play(&once, level, out) {
            Ok(Played::Whole(_)) => {}
            Ok(Played::Ended(_)) => return fail("ended"),
            Err(Failure::Told(why)) => anstream::eprintln!("netreel: {why}"),
            Err(other) => return Err(other),
        }
        writeln!(out, "plays once more when {} is saved", file.display())?;
        out.flush()?;
        wait_for_another(file, &seen);
    }
}

/// Waits until something was saved, and whole: what is being written changes from look to look.
fn wait_for_another(file: &Path, seen: &Saved) {
    let mut latest = seen.clone();
    loop {
        thread::sleep(SAVED_LOOK);
        let now = saved(file);
        if now == latest && now != *seen {
            return;
        }
        latest = now;
    }
}

/// A folder of its own for each time: what was saved meanwhile is another scenario.
fn fresh(folder: &Path) -> PathBuf {
    let numbers = (1..).map(|number: u64| folder.join(format!("saved-{number}")));
    let mut free = numbers.filter(|it| !it.exists());
    free.next().unwrap_or_else(|| folder.to_owned())
}

/// When files were saved, and how many bytes they have.
type Saved = BTreeMap<PathBuf, (SystemTime, u64)>;

/// When the file, and scripts beside it, were saved last.
fn saved(file: &Path) -> Saved {
    let folder = file.parent().filter(|it| !it.as_os_str().is_empty());
    let entries = std::fs::read_dir(folder.unwrap_or(Path::new(".")));
    let paths = entries.into_iter().flatten().flatten().map(|it| it.path());
    let scripts = paths.filter(|it| it.extension().is_some_and(|it| it == "lua"));
    let all = scripts.chain([file.to_owned()]);
    all.filter_map(|path| {
        let known = path.metadata().ok()?;
        Some((path, (known.modified().ok()?, known.len())))
    })
    .collect()
}
