//! One match: its nodes are started, its script drives them, they end, and what they recorded is judged.

use std::time::Instant;

use crate::file::Scenario;
use crate::journal::{Journal, end_marked};
use crate::judged::{Expected, Judged};
use crate::played::{Match, Outcome, PlayError, Wants};
use crate::script;
use crate::secrets::Secrets;
use crate::stage::Stage;

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
    std::fs::create_dir_all(&logs).map_err(|error| runner("cannot make the folder", &error))?;
    let folder = std::path::absolute(&wants.folder)
        .map_err(|error| runner("cannot find the folder", &error))?;
    let notes = (wants.notes)(&folder.join("RUNNER.reel"), wants.seed, wants.brought)
        .map_err(|error| runner("cannot record what is done in", &error))?;
    let network = scenario.has_own_network.then(|| {
        if wants.debugs.is_some() {
            let why = "--gdb reaches nodes on this machine's network alone: take network = \"own\" out of the file";
            return Err(why.to_owned());
        }
        let names: Vec<String> = scenario.nodes.iter().map(|node| node.name.clone()).collect();
        (wants.network)(&names, wants.seed, &folder.join("network.reel"))
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
    if !wants.cancel.goes_on() {
        return Err(PlayError::Cancelled);
    }
    let took = begun.elapsed().as_secs_f64();
    let judged = (wants.judge)(&wants.folder, &asked);
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
    played.bad = Some(played.is_bad(wants.level));
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
