//! `netreel shrink`: the smallest session that still fails.

mod as_c;
mod as_test;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use netreel_capture::Signals;
use netreel_protocol::history::{Finding, History, Level};
use netreel_protocol::session::Session;
use netreel_replay::explore::{
    Change, Cut, Ground, GroundOptions, Runner, Shrunk, Tries, cure, shrink,
};
use netreel_replay::together::StoryNode;
use serde_json::json;

use crate::arguments::{Shrink, longest};
use crate::explore::anew::{Anew, CheckedError, Written, evidence};
use crate::explore::{in_a_process, maker, same_again, swapped, watch};
use crate::outcome::{Answer, Failure, Result, fail};
use crate::progress::Progress;
use crate::replay::boxes::Changes;
use crate::replay::engine::Engine;
use crate::replay::together;
use crate::{open, text};

/// A link is held for no longer than this when the order is looked for that cures a session.
const HOLD_MAX_NS: i64 = 60_000_000_000;

/// How long the nodes play on in a test, as the template for Rust has it.
const TEST_REST: Duration = Duration::from_secs(3);

/// Why a session fails: what stays when it is made smaller.
#[derive(Clone)]
struct Reason {
    rule: &'static str,
    node: String,
    sentence: String,
    evidence: Vec<(String, String)>,
    /// The finding of the recording, where this one shows in its place when the nodes play on until all has
    /// arrived.
    recorded: Option<String>,
}

impl Reason {
    /// One that shows in the place of what was recorded.
    fn in_place_of(recorded: &Reason, told: &CheckedError) -> Reason {
        Reason {
            rule: told.rule,
            node: told.key.node.clone(),
            sentence: told.sentence.clone(),
            evidence: told.evidence.clone(),
            recorded: Some(recorded.sentence.clone()),
        }
    }

    fn is_in(&self, told: &[CheckedError]) -> bool {
        self.found(told).is_some()
    }

    /// The finding of the same rule at the same node, with the same proof.
    fn found<'a>(&self, told: &'a [CheckedError]) -> Option<&'a CheckedError> {
        let mut told = told.iter().filter(|it| it.rule == self.rule);
        told.find(|it| it.key.node == self.node && it.evidence == self.evidence)
    }
}

/// A small session.
struct Small {
    shrunk: Shrunk,
    reels: Written,
    packets: u64,
    delivered: u64,
    ticks: usize,
    calls: usize,
    told: CheckedError,
    /// What cures it, in words, and the session with it.
    cure: Option<(String, Written)>,
}

pub fn run(arguments: &Shrink, out: &mut dyn Write) -> Result<Answer> {
    in_a_process(arguments.layer.as_deref(), || shrunk(arguments, out))
}

fn shrunk(arguments: &Shrink, out: &mut dyn Write) -> Result<Answer> {
    let story = open::story(&arguments.read.source)?;
    let session = &story.session;
    let reasons = reasons(session, story.history(), arguments.finding)?;
    together::prepare(&arguments.out)?;
    let ground = ground(arguments, session)?;
    let layer = arguments.layer.as_deref();
    let make = maker(layer, Changes::default(), Arc::clone(&ground));
    let (mut runner, _) = Runner::new(Arc::clone(&ground), make)?;
    same_again(&mut runner)?;
    let anew = Anew::new(&ground, session, "shrink");
    let (whole, ..) = anew.written(&mut runner, &[], &Cut::nothing(&ground))?;
    let shown = anew.findings(&whole)?;
    let reason = staying(&reasons, &shown, arguments.finding.is_some())?;
    let begun = Instant::now();
    let signals = Signals::catch();
    watch(&ground);
    let progress = Progress::new("shrinking");
    let mut tries = 0;
    let shrunk = shrink(&ground, &mut |cut| {
        if begun.elapsed() >= longest(arguments.seconds) || signals.asked() > 0 {
            return Ok(None);
        }
        tries += 1;
        let (reels, _, packets) = anew.written(&mut runner, &[], cut)?;
        progress.say(format!(
            "shrinking: {tries} tries, {} packets",
            packets.len()
        ));
        let fails = reason.is_in(&anew.findings(&reels)?);
        Ok::<_, Failure>(Some((fails, packets)))
    })?;
    drop(progress);
    let small = small(&anew, &mut runner, &reason, shrunk)?;
    small.reels.write(&arguments.out.join("failing"))?;
    if let Some((_, healthy)) = &small.cure {
        healthy.write(&arguments.out.join("healthy"))?;
    }
    let test = arguments.as_test.as_deref();
    let test = test.map(|path| written_test(&anew, &small, (path, arguments)));
    let test = test.transpose()?;
    if arguments.read.json {
        let mut answer = as_json(&small, session, &reason, arguments);
        answer["test_fails"] = json!(test);
        writeln!(out, "{answer}")?;
    } else {
        print(&small, session, &reason, arguments, out)?;
        if test == Some(false) {
            writeln!(
                out,
                "the test does not fail: in what is wrong nodes do not part; keep {}/failing, and `netreel check`",
                arguments.out.display()
            )?;
        }
    }
    Ok(Answer::Wrong)
}

/// Writes a test, and plays it: whether it fails as the engine is.
fn written_test(anew: &Anew, small: &Small, (path, arguments): (&Path, &Shrink)) -> Result<bool> {
    let session = anew.session(&small.reels)?;
    let nodes = session
        .nodes
        .iter()
        .zip(&session.reels)
        .map(|(node, reel)| StoryNode {
            name: node.name.clone(),
            reel: reel.clone(),
            endpoints: node.endpoints.clone(),
        });
    let plan = together::plan(&session, nodes.collect());
    let ground = Arc::new(Ground::healing(plan, TEST_REST));
    let sentence = &small.told.sentence;
    let text = if path.extension().is_some_and(|it| it == "c") {
        Ok(as_c::text(&ground, sentence))
    } else {
        as_test::text(path, &arguments.out.join("failing"), &session, sentence)
    };
    let written = text.and_then(|text| std::fs::write(path, text));
    written.map_err(|error| format!("--as-test {}: {error}", path.display()))?;
    let make = maker(
        arguments.layer.as_deref(),
        Changes::default(),
        Arc::clone(&ground),
    );
    Ok(Runner::new(ground, make)?.1.is_wrong())
}

/// Why the session fails: the finding that was asked for, or every error, the first first.
fn reasons(session: &Session, history: &History, asked: Option<usize>) -> Result<Vec<Reason>> {
    let findings = history.findings.iter();
    let meant = |(place, finding): &(usize, &Finding)| match asked {
        Some(number) => place + 1 == number,
        None => finding.level == Level::Error,
    };
    let reasons: Vec<Reason> = findings
        .enumerate()
        .filter(meant)
        .map(|(_, it)| Reason {
            rule: it.rule,
            node: session.name(it.node),
            sentence: it.sentence.clone(),
            evidence: evidence(session, it),
            recorded: None,
        })
        .collect();
    if !reasons.is_empty() {
        return Ok(reasons);
    }
    let there = text::counted(history.findings.len(), "finding");
    fail(match asked {
        Some(number) => format!("there is no finding {number}: the session has {there}"),
        None => format!(
            "the session has no error among its {there}: name another finding with --finding N, by its number in \
             `netreel check`"
        ),
    })
}

/// The reason that stays when the nodes play on until all has arrived: one of those that were recorded; one
/// of the same rule at the same node with more to prove it; or, unless one was asked for, another error.
fn staying(reasons: &[Reason], shown: &[CheckedError], is_asked: bool) -> Result<Reason> {
    if let Some(reason) = reasons.iter().find(|it| it.is_in(shown)) {
        return Ok(reason.clone());
    }
    for reason in reasons {
        let alike = |it: &&CheckedError| it.rule == reason.rule && it.key.node == reason.node;
        if let Some(told) = shown.iter().find(alike) {
            return Ok(Reason::in_place_of(reason, told));
        }
    }
    match (reasons, shown) {
        ([reason, ..], [told, ..]) if !is_asked => Ok(Reason::in_place_of(reason, told)),
        ([reason, ..], _) => Err(not_shown(reason, shown)),
        _ => fail("the session has no error"),
    }
}

fn not_shown(reason: &Reason, shown: &[CheckedError]) -> Failure {
    let shown = shown
        .iter()
        .map(|it| format!("{} at {}", it.rule, it.key.node));
    let shown = text::joined(shown, ", ");
    let shows = match shown.as_str() {
        "" => "nothing".to_owned(),
        shown => shown.to_owned(),
    };
    Failure::new(format!(
        "played anew, until all has arrived, the session does not show {} at {}, but {shows}: it comes right when \
         what was under way arrives, the layers do not do what they did (`netreel replay` says where they part), or \
         the finding is not theirs",
        reason.rule, reason.node
    ))
}

fn ground(arguments: &Shrink, session: &Session) -> Result<Arc<Ground>> {
    let engine = Engine::asked(arguments.layer.as_deref(), Changes::default())?;
    let (nodes, left_out) = together::nodes(session, &engine)?;
    if let Some(why) = left_out.first() {
        return fail(format!("{why}; all nodes are needed to shrink a session"));
    }
    let options = GroundOptions {
        rest: Duration::from_millis(arguments.rest),
        alone: None,
    };
    Ok(Arc::new(Ground::new(
        together::plan(session, nodes),
        options,
    )))
}

fn small(
    anew: &Anew,
    runner: &mut Runner<'_, Failure>,
    reason: &Reason,
    shrunk: Shrunk,
) -> Result<Small> {
    let (reels, _, delivered) = anew.written(runner, &[], &shrunk.cut)?;
    let session = anew.session(&reels)?;
    let told = anew.findings(&reels)?;
    let told = reason
        .found(&told)
        .cloned()
        .ok_or("the small session does not fail any more")?;
    let (calls, ticks) = shrunk.cut.counts(&anew.ground);
    // In what is large still the search for it has no end.
    let cure = if shrunk.minimal {
        cured(anew, runner, reason, &shrunk.cut)?
    } else {
        None
    };
    Ok(Small {
        packets: session.packet_count() as u64,
        delivered: delivered.len() as u64,
        ticks,
        calls,
        told,
        cure,
        reels,
        shrunk,
    })
}

/// The one order that cures the small session.
fn cured(
    anew: &Anew,
    runner: &mut Runner<'_, Failure>,
    reason: &Reason,
    cut: &Cut,
) -> Result<Option<(String, Written)>> {
    let tries = Tries {
        hold_max_ns: HOLD_MAX_NS,
        ..Tries::default()
    };
    let mut healthy = None;
    let mut try_it = |runner: &mut Runner<'_, Failure>, change: &[Change]| {
        let (reels, ..) = anew.written(runner, change, cut)?;
        let fails = reason.is_in(&anew.findings(&reels)?);
        healthy = (!fails).then_some(reels);
        Ok::<_, Failure>(!fails)
    };
    let wire = anew.wire.as_deref();
    let Some((change, swaps)) = cure(runner, &anew.ground, wire, (cut, &tries), &mut try_it)?
    else {
        return Ok(None);
    };
    let name = |node: usize| anew.ground.name(node).to_owned();
    let words = match swaps.first() {
        Some(swap) => swapped(swap, &anew.ground),
        None => change.words(&name),
    };
    Ok(healthy.map(|reels| (words, reels)))
}

fn print(
    small: &Small,
    session: &Session,
    reason: &Reason,
    arguments: &Shrink,
    out: &mut dyn Write,
) -> Result {
    let before = text::counted(session.packet_count(), "packet");
    writeln!(out, "{}: {}", reason.rule, reason.sentence)?;
    if let Some(recorded) = &reason.recorded {
        writeln!(
            out,
            "   when the nodes play on until all has arrived, in place of what was recorded: {recorded}"
        )?;
    }
    writeln!(
        out,
        "of {before} {} are left, of which {} arrive; {} and {}, {} in all",
        small.packets,
        small.delivered,
        text::counted(small.calls, "call"),
        text::counted(small.ticks, "tick"),
        text::bytes(small.reels.bytes())
    )?;
    writeln!(out, "   {}", small.told.sentence)?;
    match &small.cure {
        Some((words, _)) => writeln!(out, "it is healthy where {words}")?,
        None if !small.shrunk.minimal => {}
        None => writeln!(out, "no one order of two packets cures it")?,
    }
    let tries = match small.shrunk.tries {
        1 => "1 try".to_owned(),
        tries => format!("{tries} tries"),
    };
    if small.shrunk.minimal {
        writeln!(
            out,
            "{tries}: without any one tick, call or packet more it is cured"
        )?
    } else {
        writeln!(
            out,
            "{tries}; the time was over before it was as small as it can be: --seconds"
        )?
    }
    let folder = arguments.out.display();
    match &small.cure {
        Some(_) => writeln!(
            out,
            "netreel inspect {folder}/failing --compare {folder}/healthy; netreel diff {folder}/healthy {folder}/failing"
        )?,
        None => writeln!(out, "netreel inspect {folder}/failing")?,
    }
    Ok(())
}

fn as_json(
    small: &Small,
    session: &Session,
    reason: &Reason,
    arguments: &Shrink,
) -> serde_json::Value {
    json!({
        "rule": small.told.rule,
        "sentence": small.told.sentence,
        "recorded": reason.recorded,
        "packets_before": session.packet_count(),
        "packets": small.packets,
        "delivered": small.delivered,
        "calls": small.calls,
        "ticks": small.ticks,
        "bytes": small.reels.bytes(),
        "tries": small.shrunk.tries,
        "minimal": small.shrunk.minimal,
        "cure": small.cure.as_ref().map(|it| &it.0),
        "failing": arguments.out.join("failing"),
        "healthy": small.cure.as_ref().map(|_| arguments.out.join("healthy")),
        "test": arguments.as_test,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use netreel_protocol::diff::Same;

    /// An error, with what proves it.
    fn told(rule: &'static str, node: &str, proof: &[&str]) -> CheckedError {
        CheckedError {
            key: Same {
                rule,
                node: node.to_owned(),
                objects: vec![41],
            },
            rule,
            sentence: format!("{rule} at {node}"),
            evidence: evidence_of(proof),
            json: json!(null),
        }
    }

    fn evidence_of(proof: &[&str]) -> Vec<(String, String)> {
        let each = proof.iter();
        each.map(|it| ((*it).to_owned(), "X".to_owned())).collect()
    }

    fn recorded(rule: &'static str, proof: &[&str]) -> Reason {
        Reason {
            rule,
            node: "X".to_owned(),
            sentence: format!("recorded {rule}"),
            evidence: evidence_of(proof),
            recorded: None,
        }
    }

    /// Which error stays, and in the place of which.
    #[track_caller]
    fn check(reasons: &[Reason], shown: &[CheckedError], expected: (&str, Option<&str>)) {
        let reason = staying(reasons, shown, false).unwrap();
        let in_place_of = reason.recorded.as_deref();
        assert_eq!((reason.sentence.as_str(), in_place_of), expected);
    }

    #[test]
    fn an_error_stays_that_was_recorded_with_the_same_proof() {
        let reasons = [
            recorded("early", &["DROPPED"]),
            recorded("zombie", &["LIVES"]),
        ];
        let shown = [
            told("early", "X", &["DROPPED", "CAME"]),
            told("zombie", "X", &["LIVES"]),
        ];
        check(&reasons, &shown, ("recorded zombie", None));
    }

    #[test]
    fn an_error_that_has_more_to_prove_it_when_all_has_arrived_stays() {
        let shown = [
            told("zombie", "X", &["LIVES"]),
            told("early", "X", &["DROPPED", "CAME"]),
        ];
        let reasons = [recorded("early", &["DROPPED"])];
        check(&reasons, &shown, ("early at X", Some("recorded early")));
    }

    #[test]
    fn another_error_stays_where_none_of_the_recorded_shows_unless_one_was_asked_for() {
        let shown = [told("early", "B", &["DROPPED"])];
        let reasons = [recorded("early", &["DROPPED"])];
        check(&reasons, &shown, ("early at B", Some("recorded early")));
        let refused = staying(&reasons, &shown, true).err().unwrap().to_string();
        assert!(
            refused.contains("does not show early at X, but early at B"),
            "{refused}"
        );
    }

    #[test]
    fn a_session_that_comes_right_is_refused() {
        let refused = staying(&[recorded("early", &["DROPPED"])], &[], false).err();
        let refused = refused.unwrap().to_string();
        assert!(refused.contains("but nothing: it comes right"), "{refused}");
    }
}
