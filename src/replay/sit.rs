//! `netreel replay --step`, `--until` and `--from`: a replay that one sits in. Commands come from a
//! prompt, or from whatever the standard input is.

use std::io::{BufRead, IsTerminal, Write};
use std::sync::Arc;

use netreel_protocol::session::SessionReel;
use netreel_reel::Reel;
use netreel_replay::Stop;
use netreel_replay::program::Walk;

use super::breaks::Condition;
use super::engine::Engine;
use super::program::asked::refuse;
use super::program::{self, Meant, Prepared, Stepped};
use super::reels::one;
use super::sitting::{Going, Played, Sitting};
use super::time_outs::NO_SWITCH;
use crate::arguments::Replay;
use crate::open::{self, Story};
use crate::outcome::{Answer, Result, fail};

/// A line of a script that is longer is refused.
const LINE_BYTES_MAX: usize = 1 << 16;

pub fn run(arguments: &Replay, out: &mut dyn Write) -> Result<Answer> {
    let source = &arguments.read.source;
    let story = open::story(source)?;
    let reels = story.session.session_reels();
    let is_program = arguments.program.is_asked();
    let fits = if is_program {
        program::can_start
    } else {
        |_: &Reel| true
    };
    let reel = one(&reels, arguments.node.as_deref(), ("stepped", fits))?;
    let played: Played = if is_program {
        let program = program(arguments, &story, (reel, &reels))?;
        (Box::new(program), None)
    } else {
        layer(arguments, reel)?
    };
    let path = source.paths.first().cloned().unwrap_or_default();
    let mut sitting = Sitting::new(&story, reel, played, &path, arguments.read.json);
    let asked = &arguments.sit;
    if asked.without_time_outs() && !is_program {
        sitting.throw_time_outs(false)?;
        if sitting.time_outs_word().is_none() {
            anstream::eprintln!("netreel: {NO_SWITCH}");
        }
    }
    if let Some(from) = &asked.from {
        sitting.start_at(open::time(from)?, out)?;
        if sitting.is_parted() && !asked.step {
            return Ok(sitting.answer());
        }
    }
    if let Some(until) = &asked.until {
        let until = Condition::parse(until, &story, reel)
            .map_err(|why| format!("--until {until}: {why}"))?;
        let from = sitting.player.position();
        let stop = sitting.until(&until, out)?;
        if stop == Stop::End && !asked.step {
            let (node, until) = (&reel.name, asked.until.as_deref().unwrap_or_default());
            return fail(format!(
                "--until {until}: nothing of {node} from event {from} on fits; \
                 `netreel events` lists its events"
            ));
        }
        if !asked.step {
            sitting.show(out)?;
            return Ok(sitting.answer());
        }
    } else if !asked.step {
        sitting.play_out(out)?;
        return Ok(sitting.answer());
    }
    if let Some(process) = sitting.player.process() {
        anstream::eprintln!(
            "netreel: process {process} stands still at each stop: {} looks into it, from another terminal",
            program::told::debugger(process)
        );
    }
    if asked.until.is_none() {
        sitting.here(out)?;
    }
    out.flush()?;
    if std::io::stdin().is_terminal() {
        prompt(&mut sitting, out)?
    } else {
        script(&mut sitting, out)?
    }
    Ok(sitting.answer())
}

/// The layer that was asked for, before the first event of a reel.
fn layer(arguments: &Replay, reel: &SessionReel<'_>) -> Result<Played> {
    refuse(reel.reel, &arguments.read.source.paths)?;
    let engine = Engine::of(arguments)?;
    let plays = engine.plays(reel.reel);
    let tell = Arc::new(|why: String| anstream::eprintln!("netreel: {why}"));
    let stepper = engine.stepper(reel.reel, tell)?;
    Ok((Box::new(stepper), Some(plays)))
}

/// The program of a reel, started again and stopped before its first event.
fn program(
    arguments: &Replay,
    story: &Story,
    (reel, reels): (&SessionReel<'_>, &[SessionReel<'_>]),
) -> Result<Walk<Stepped>> {
    let meant = Meant::of(reel, reels, story.session.wire.clone())?;
    let prepared = Prepared::new(meant, arguments)?;
    Ok(Walk::new(reel.reel, Stepped::new(prepared))?)
}

/// Reads commands at a terminal.
fn prompt(sitting: &mut Sitting<'_>, out: &mut dyn Write) -> Result {
    let mut editor = rustyline::DefaultEditor::new()?;
    let mut latest = String::new();
    loop {
        out.flush()?;
        let line = match editor.readline(&sitting.prompt()) {
            Ok(line) => line,
            Err(rustyline::error::ReadlineError::Interrupted) => continue,
            Err(rustyline::error::ReadlineError::Eof) => return Ok(()),
            Err(error) => return fail(error),
        };
        // An empty line does the same again, as debuggers do.
        if !line.trim().is_empty() {
            latest = line;
            let _ = editor.add_history_entry(latest.as_str());
        }
        if sitting.command(&latest, out)? == Going::Away {
            return Ok(());
        }
    }
}

/// Reads commands from a script, and shows each before its answer.
fn script(sitting: &mut Sitting<'_>, out: &mut dyn Write) -> Result {
    let mut input = std::io::stdin().lock();
    let mut line = Vec::new();
    loop {
        out.flush()?;
        line.clear();
        let mut limited = std::io::Read::take(&mut input, LINE_BYTES_MAX as u64);
        if limited.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if line.len() >= LINE_BYTES_MAX {
            return fail(format!(
                "a line of the script has more than {LINE_BYTES_MAX} bytes"
            ));
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        if !sitting.json {
            writeln!(out, "{}{text}", sitting.prompt())?;
        }
        if sitting.command(text, out)? == Going::Away {
            return Ok(());
        }
    }
}
