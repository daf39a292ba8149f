//! The same match again and again, several at once, until enough was seen: its nodes are started, its script
//! drives them, they end, and what they recorded is judged.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use netreel_system::process::in_own_group;
use netreel_system::{Cancel, locked};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::file::Scenario;
use crate::journal::{Journal, MARK, MATCH, Recovered, end_marked, hex, json_line};
use crate::judged::{Expected, Judged};
use crate::mistake::about;
use crate::played::{Loop, Match, Outcome, PlayError, RunNews, Wants};
use crate::reach::{Reach, command_of};
use crate::secrets::Secrets;
use crate::stage::Stage;
use crate::waits::LOOK;
use crate::{kept, script};

/// The file of a run that says what it is.
const RUN: &str = "run.json";

/// The file of a run that has a line a match.
const MATCHES: &str = "matches.jsonl";

/// What a run is, in its folder: another one does not go on with it.
#[derive(PartialEq, Serialize, Deserialize)]
struct Plan {
    scenario: String,
    /// The digest of the scenario's file, its script and its values.
    digest: String,
    seed: u64,
    /// How many matches the loop has, with those of its other parts.
    matches: u64,
}

/// Plays the matches of a run that are not played yet; all of them, by number, those that an earlier
/// runner played with them.
///
/// # Errors
/// The runner cannot go on: a folder that cannot be written, a run of another scenario in it.
pub fn repeat(wants: &Loop<'_>) -> Result<Vec<Match>, PlayError> {
    let begun = || -> Result<_, Box<dyn Error>> {
        fs::create_dir_all(wants.folder)?;
        let (journal, recovered) = Journal::open(wants.folder)?;
        if recovered != Recovered::default() {
            (wants.tell)(RunNews::Recovered(&recovered));
        }
        is_same(wants)?;
        let over = over(wants.folder)?;
        if !over.1.is_empty() {
            (wants.tell)(RunNews::GoesOn(over.1.len() as u64));
        }
        Ok((journal, over, std::path::absolute(wants.folder)?))
    };
    let (journal, (file, played), folder) = begun().map_err(|error| {
        PlayError::Runner(format!("the run in {}: {error}", wants.folder.display()))
    })?;
    let ready = Secrets::read(&wants.scenario.secrets, &journal).and_then(|secrets| {
        prepare(wants, &folder, &journal)?;
        Ok((secrets, bring(wants, &folder, &journal)?))
    });
    let (secrets, brought) = match ready {
        Ok((secrets, brought)) => (Arc::new(secrets), brought),
        Err(why) => {
            journal.over();
            return Err(PlayError::Runner(why));
        }
    };
    let ends = Cancel::default();
    if wants.ends_at_bad && played.values().any(|it| it.is_bad(wants.level)) {
        ends.cancel();
    }
    let run = Run {
        wants,
        run: folder,
        brought,
        secrets,
        journal,
        next: AtomicU64::new(1),
        ends,
        over: Mutex::new((file, played)),
        error: Mutex::new(None),
    };
    std::thread::scope(|scope| {
        for _ in 0..wants.jobs.max(1) {
            scope.spawn(|| run.work());
        }
    });
    run.secrets.forget(&run.journal);
    let left = run.journal.over();
    if !left.is_empty() {
        let why = format!(
            "could not undo {}; `netreel run --recover` tries again",
            left.join("; ")
        );
        return Err(PlayError::Runner(why));
    }
    if let Some(error) = run
        .error
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
    {
        return Err(error);
    }
    let (_, played) = run
        .over
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    Ok(played.into_values().collect())
}

struct Run<'a> {
    wants: &'a Loop<'a>,
    run: PathBuf,
    /// The digests of what was brought to the nodes, by node and file.
    brought: Vec<(String, String)>,
    secrets: Arc<Secrets>,
    journal: Journal,
    next: AtomicU64,
    ends: Cancel,
    over: Mutex<(File, BTreeMap<u64, Match>)>,
    error: Mutex<Option<PlayError>>,
}

impl Run<'_> {
    fn work(&self) {
        loop {
            if !self.wants.cancel.goes_on() || !self.ends.goes_on() {
                return;
            }
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number > self.wants.matches {
                return;
            }
            let (part, parts) = self.wants.part;
            let is_elsewhere = (number - 1) % parts.max(1) != part - 1;
            if is_elsewhere || self.played().1.contains_key(&number) {
                continue;
            }
            match self.once(number) {
                Ok(()) => {}
                Err(PlayError::Cancelled) => return,
                Err(error) => {
                    *locked(&self.error) = Some(error);
                    self.ends.cancel();
                    return;
                }
            }
        }
    }

    fn played(&self) -> std::sync::MutexGuard<'_, (File, BTreeMap<u64, Match>)> {
        locked(&self.over)
    }

    fn once(&self, number: u64) -> Result<(), PlayError> {
        let folder = self.wants.folder.join(kept::folder_of(number));
        let failed = |error: io::Error| PlayError::Runner(format!("{}: {error}", folder.display()));
        let begun = self.journal.folder(&folder).map_err(failed)?;
        let tell = |line: &str| (self.wants.tell)(RunNews::Line(number, &self.secrets.hide(line)));
        let wants = Wants {
            number,
            seed: seed(self.wants.seed, number),
            folder: folder.clone(),
            run: &self.run,
            brought: &self.brought,
            secrets: &self.secrets,
            tell: &tell,
            asked: self.wants,
        };
        let played = play_with(self.wants.scenario, &wants, &self.journal);
        let is_kept = played
            .as_ref()
            .is_ok_and(|it| self.wants.keeps_good || it.bad == Some(true));
        if let Ok(played) = &played {
            (self.wants.tell)(RunNews::Judged(played, &folder, is_kept));
        }
        if !is_kept {
            fs::remove_dir_all(&folder).map_err(failed)?;
        }
        let played = played.inspect_err(|_| self.journal.undone(begun))?;
        let line = json_line(&played).map_err(failed)?;
        if is_kept {
            fs::write(folder.join(MATCH), &line).map_err(failed)?;
        }
        let is_bad = played.bad == Some(true);
        let mut over = self.played();
        over.0
            .write_all(&line)
            .and_then(|()| over.0.sync_data())
            .map_err(failed)?;
        // From here on the match counts, and its folder stays.
        self.journal.undone(begun);
        (self.wants.tell)(RunNews::Over(&played, is_kept.then_some(&folder)));
        over.1.insert(number, played);
        kept::list(&self.run, over.1.values()).map_err(failed)?;
        if is_bad && self.wants.ends_at_bad {
            self.ends.cancel();
        }
        Ok(())
    }
}

/// Runs what makes the programs of the nodes.
fn prepare(wants: &Loop<'_>, run: &Path, journal: &Journal) -> Result<(), String> {
    let scenario = wants.scenario;
    for command in &scenario.prepare {
        let words = scenario.of_a_run(command, (run, wants.netreel))?;
        let what = format!("prepare: {}", words.join(" "));
        let said = run.join("prepare.log");
        let failed = about::<io::Error>(&what);
        let log = File::create(&said).map_err(&failed)?;
        let mut child = in_own_group(&mut command_of(&words))
            .current_dir(&scenario.folder)
            .env(MARK, journal.run_mark())
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(&failed)?)
            .stderr(log)
            .spawn()
            .map_err(&failed)?;
        let ended = loop {
            if let Some(ended) = child.try_wait().map_err(&failed)? {
                break ended;
            }
            if !wants.cancel.goes_on() {
                // What it started is ended with all of the run.
                let _ = child.kill();
                let _ = child.wait();
                return Err("the run was ended".to_owned());
            }
            std::thread::sleep(LOOK);
        };
        if !ended.success() {
            let said = fs::read_to_string(said).unwrap_or_default();
            return Err(format!("{what}: {ended}\n{}", said.trim()));
        }
    }
    Ok(())
}

/// Brings to each machine what its nodes need: the digests, by node and file. Sees to it that nothing of the
/// run lives on there.
fn bring(wants: &Loop<'_>, run: &Path, journal: &Journal) -> Result<Vec<(String, String)>, String> {
    let scenario = wants.scenario;
    let mut reached = BTreeSet::new();
    let mut digests = Vec::new();
    for plan in &scenario.nodes {
        let told = about(format!("node {}", plan.name));
        let reach = Reach(scenario.of_a_run(&plan.reach, (run, wants.netreel))?);
        if !plan.reach.is_empty() && reached.insert(reach.clone()) {
            let line = Reach::end_line(journal.run_mark());
            journal.undo(reach.command(&line)).map_err(&told)?;
        }
        if let Some(fetch) = &plan.fetch {
            let folder = scenario.of_a_run(std::slice::from_ref(fetch), (run, wants.netreel));
            // One that is another in each match its nodes make.
            if let Ok([folder]) = folder.as_deref() {
                reach.make(folder, journal).map_err(&told)?;
            }
        }
        let keeps = scenario.keeps_brought;
        let brought = reach
            .bring(&plan.bring, (!keeps).then_some(journal))
            .map_err(told)?;
        let named = brought
            .into_iter()
            .map(|(file, digest)| (format!("{} {file}", plan.name), digest));
        digests.extend(named);
    }
    Ok(digests)
}

/// The matches of a run that was played, or is being played, by number.
///
/// # Errors
/// There is none in this folder, or it cannot be read.
pub fn played(folder: &Path) -> io::Result<Vec<Match>> {
    let text = fs::read_to_string(folder.join(MATCHES))?;
    Ok(matches(&text).into_values().collect())
}

/// The matches of a file of them, a line each. A line that was cut is none.
fn matches(text: &str) -> BTreeMap<u64, Match> {
    let lines = text.lines();
    let all = lines.filter_map(|line| serde_json::from_str(line).ok());
    all.map(|it: Match| (it.number, it)).collect()
}

/// How many matches the loop has that a folder has a part of, or all.
///
/// # Errors
/// There is no run in this folder, or it cannot be read.
pub fn planned(folder: &Path) -> io::Result<u64> {
    let text = fs::read(folder.join(RUN))?;
    let plan: Plan = serde_json::from_slice(&text)?;
    Ok(plan.matches)
}

/// Whether the folder has a run of this scenario, or none.
fn is_same(wants: &Loop<'_>) -> Result<(), Box<dyn Error>> {
    let scenario = wants.scenario;
    let mut sum = Sha256::new();
    for text in [&scenario.text, &scenario.script.text] {
        sum.update(text);
        sum.update([0]);
    }
    for (name, value) in &scenario.values {
        sum.update(format!("{name}={value}\0"));
    }
    let mut plan = Plan {
        scenario: scenario.name.clone(),
        digest: hex(&sum.finalize()),
        seed: wants.seed,
        matches: wants.matches,
    };
    let path = wants.folder.join(RUN);
    if let Ok(known) = fs::read(&path) {
        let known = serde_json::from_slice::<Plan>(&known).ok();
        let is_it = |it: &Plan| {
            (&it.scenario, &it.digest, it.seed) == (&plan.scenario, &plan.digest, plan.seed)
        };
        let known = known.filter(is_it).ok_or(ANOTHER)?;
        plan.matches = plan.matches.max(known.matches);
    }
    Ok(fs::write(&path, json_line(&plan)?)?)
}

const ANOTHER: &str = "it holds a run of another scenario (or of this one as it was), of other values or of another \
                       seed; name another folder with --out";

/// What was played before, by number, and the file to go on with.
fn over(folder: &Path) -> io::Result<(File, BTreeMap<u64, Match>)> {
    let path = folder.join(MATCHES);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    if !text.is_empty() && !text.ends_with('\n') {
        // A line that was cut is no match; the match is played again.
        file.write_all(b"\n")?;
    }
    let mut played = matches(&text);
    // A runner that was killed may have kept a match that it had no time to write down here.
    for entry in fs::read_dir(folder)?.flatten() {
        let kept = kept::match_in(&entry.path());
        if let Some(kept) = kept.filter(|it| !played.contains_key(&it.number)) {
            file.write_all(&json_line(&kept)?)?;
            played.insert(kept.number, kept);
        }
    }
    Ok((file, played))
}

/// The seed of a match: 32 bits, so that it can be typed (SplitMix64, G. Steele et al., 2014).
fn seed(run: u64, number: u64) -> u64 {
    let mut bits = run.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (bits ^ (bits >> 31)) >> 32
}

/// Plays a match of a scenario.
///
/// # Errors
/// [`PlayError`]. A node that cannot be started or that dies, or a script that fails, is a match that
/// [failed](Outcome::Failed), not an error.
pub(crate) fn play_with(
    scenario: &Scenario,
    wants: &Wants<'_>,
    journal: &Journal,
) -> Result<Match, PlayError> {
    let runner = |what: &str, error: &dyn std::fmt::Display| {
        PlayError::Runner(format!("{what} {}: {error}", wants.folder.display()))
    };
    let logs = wants.folder.join("logs");
    fs::create_dir_all(&logs).map_err(|error| runner("cannot make the folder", &error))?;
    let folder = std::path::absolute(&wants.folder)
        .map_err(|error| runner("cannot find the folder", &error))?;
    let notes = (wants.asked.notes)(&folder.join("RUNNER.reel"), wants.seed, wants.brought)
        .map_err(|error| runner("cannot record what is done in", &error))?;
    let network = scenario.has_own_network.then(|| {
        if wants.asked.debugs.is_some() {
            let why = "--gdb reaches nodes on this machine's network alone: take network = \"own\" out of the file";
            return Err(why.to_owned());
        }
        let names: Vec<String> = scenario.nodes.iter().map(|node| node.name.clone()).collect();
        (wants.asked.network)(&names, wants.seed, &folder.join("network.reel"))
    }).transpose().map_err(PlayError::Runner)?;
    let begun = Instant::now();
    let mark = journal.mark(wants.number);
    let what = (scenario, wants);
    let mut stage = Stage::new(what, (folder, mark), (network, notes), begun);
    for (what, digest) in wants.brought {
        stage.note(&format!("brought {what}, sha256 {digest}"));
    }
    let played = script::run(&mut stage).and_then(|()| stage.go_on());
    let ended = stage.end();
    let played = played.and(ended);
    let mark = stage.mark.clone();
    let expected = std::mem::take(&mut stage.expected);
    let asked = std::mem::take(&mut stage.asked);
    let (is_hopeless, is_missed) = (stage.is_hopeless, stage.is_missed);
    drop(stage);
    end_marked(&mark);
    if let (Err(why), true) = (&played, is_hopeless) {
        return Err(PlayError::Runner(why.clone()));
    }
    if !wants.asked.cancel.goes_on() {
        return Err(PlayError::Cancelled);
    }
    let took = begun.elapsed().as_secs_f64();
    let judged = (wants.asked.judge)(&wants.folder, &asked);
    let judged = judged.map(|judged| hidden(judged, wants.secrets));
    let (outcome, judged) = came_to(played, is_missed, judged, &expected);
    let hide = |text: &String| wants.secrets.hide(text);
    let outcome = match outcome {
        Outcome::Played => Outcome::Played,
        Outcome::Unexpected(all) => Outcome::Unexpected(all.iter().map(hide).collect()),
        Outcome::Failed(why) => Outcome::Failed(hide(&why)),
    };
    let mut played = Match {
        number: wants.number,
        seed: wants.seed,
        outcome,
        judged,
        took,
        bad: None,
    };
    played.bad = Some(played.is_bad(wants.asked.level));
    Ok(played)
}

/// What a match came to, as it was played and as its recordings are judged.
fn came_to(
    played: Result<(), String>,
    is_missed: bool,
    judged: Result<Judged, String>,
    expected: &[Expected],
) -> (Outcome, Judged) {
    match (played, judged) {
        (Err(why), judged) if is_missed => {
            (Outcome::Unexpected(vec![why]), judged.unwrap_or_default())
        }
        (Err(why), judged) => (Outcome::Failed(why), judged.unwrap_or_default()),
        (Ok(()), Err(why)) => {
            let why = format!("what was recorded cannot be read: {why}");
            (Outcome::Failed(why), Judged::default())
        }
        (Ok(()), Ok(judged)) => {
            let missed: Vec<String> = expected
                .iter()
                .filter_map(|it| it.missed(&judged))
                .collect();
            if missed.is_empty() {
                (Outcome::Played, judged)
            } else {
                (Outcome::Unexpected(missed), judged)
            }
        }
    }
}

/// What was judged, with no secret in it.
fn hidden(mut judged: Judged, secrets: &Secrets) -> Judged {
    for found in &mut judged.findings {
        found.text = secrets.hide(&found.text);
    }
    judged
}
