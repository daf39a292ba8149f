//! `netreel play`: the sample game, played by hand, or by a script in place of one.

mod commanded;
mod gather;
#[cfg(feature = "gui")]
mod window;

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use netreel_play::{LiveStage, Progress, Script, ZOMBIE};
use netreel_reel::Header;
use netreel_sample_engine::{Peer, Start, node_name};

use crate::arguments::Play;
use crate::outcome::{Answer, Failure, Result};
use crate::{boxes, demo, text};
use gather::gather;

/// A script that is not over by then has failed.
const LIMIT: Duration = Duration::from_secs(300);

/// Between two looks of a script at what it waits for.
const LOOK: Duration = Duration::from_millis(5);

pub fn run(arguments: &Play, out: &mut dyn Write) -> Result<Answer> {
    let names: Vec<String> = (0..arguments.nodes).map(Peer).map(node_name).collect();
    let script = script(arguments, &names)?;
    #[cfg(feature = "gui")]
    if let Some(file) = &arguments.screenshot {
        let zombie = || Script::parse(ZOMBIE, &names).map_err(Failure::new);
        let script = script.map_or_else(zombie, Ok)?;
        window::draw(arguments, script, file)?;
        writeln!(out, "{}", file.display())?;
        return Ok(Answer::Clean);
    }
    if let Some(address) = arguments.console {
        return commanded::run(arguments, address, out);
    }
    let folder = demo::prepare(arguments.out.as_deref(), "play")?;
    let played = play(arguments, script, &folder, out);
    let events = played.map_err(|failure| match std::fs::remove_dir(&folder) {
        Ok(()) => failure,
        Err(_) => Failure::new(format!(
            "{failure}; what was recorded is in {}",
            folder.display()
        )),
    })?;
    let (events, folder) = (text::counted(events, "event"), folder.display());
    writeln!(out, "recorded {events} in {folder}")?;
    writeln!(out, "  netreel check {folder}      what went wrong")?;
    writeln!(out, "  netreel inspect {folder}    all of it in a window")?;
    Ok(Answer::Clean)
}

fn script(arguments: &Play, names: &[String]) -> Result<Option<Script>> {
    if let Some(seconds) = arguments.free {
        let text = netreel_play::free(arguments.seed, names, seconds.into());
        let script = Script::parse(&text, names).map_err(Failure::new)?;
        return Ok(Some(script));
    }
    let Some(file) = &arguments.script else {
        return Ok(None);
    };
    let text = if file.as_os_str() == "-" {
        ZOMBIE.to_owned()
    } else {
        std::fs::read_to_string(file).map_err(|error| {
            Failure::new(format!(
                "cannot read the script {}: {error}",
                file.display()
            ))
        })?
    };
    let script = Script::parse(&text, names)
        .map_err(|why| Failure::new(format!("{}, {why}", file.display())))?;
    Ok(Some(script))
}

/// Plays until the window is closed or the script is over; how many events were recorded.
fn play(
    arguments: &Play,
    script: Option<Script>,
    folder: &Path,
    out: &mut dyn Write,
) -> Result<u64> {
    let (setup, sockets) = gather(arguments, out)?;
    let seed = ("play", setup.seed);
    let header =
        |name: &str, start: &Start| -> Header { boxes::header(name, setup.session, seed, start) };
    #[cfg(feature = "gui")]
    let here = sockets.iter().map(|(peer, _)| *peer).collect();
    let mut stage = LiveStage::start(&setup, sockets, folder, &header).map_err(Failure::new)?;
    let Some(script) = script else {
        #[cfg(feature = "gui")]
        return window::play(stage, (&setup, here), folder, arguments.inspect);
        #[cfg(not(feature = "gui"))]
        return Err(Failure::new(
            "this netreel was built without its window: give it a --script",
        ));
    };
    let mut reader = script.play();
    let until = Instant::now() + LIMIT;
    while let Progress::Waits(line) = reader.go_on(&mut stage) {
        if Instant::now() > until {
            return Err(Failure::new(format!(
                "the script has waited in line {line} for too long; it may take {} s",
                LIMIT.as_secs()
            )));
        }
        std::thread::sleep(LOOK);
    }
    stage.finish().map_err(Failure::new)
}
