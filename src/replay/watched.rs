//! A plugin runs in a process of its own: when it dies, this one says where.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use netreel_system::file::write_all_at;
use netreel_system::locked;
use netreel_system::process::{DEBUGGER, crash_without_asking, death_of};

use crate::outcome::{Answer, Failure, Result, fail};

/// The file in which the process that runs the plugin says where it is.
const PLACE: &str = "NETREEL_PLUGIN_PLACE";

/// The place, in the process that runs the plugin.
static OWN: Mutex<Option<fs::File>> = Mutex::new(None);

/// Whether this is the process that is to run the plugin.
pub fn is_child() -> bool {
    let Some(path) = env::var_os(PLACE) else {
        return false;
    };
    crash_without_asking();
    let file = fs::File::options().write(true).open(path);
    *locked(&OWN) = file.ok();
    true
}

/// Runs this command once more, in a process that may die of `plugin`.
pub fn run(plugin: &Path) -> Result<Answer> {
    let place = env::temp_dir().join(format!("netreel-plugin-{}", std::process::id()));
    let told = |why: std::io::Error| {
        let path = place.display();
        Failure::new(format!(
            "a process for the plugin cannot be started ({path}): {why}"
        ))
    };
    let made = fs::File::create_new(&place).map_err(told);
    let own = env::current_exe().map_err(told);
    let ended = made.and(own).and_then(|own| {
        let mut child = Command::new(own);
        child.args(env::args_os().skip(1)).env(PLACE, &place);
        child.status().map_err(told)
    });
    let said = fs::read_to_string(&place).unwrap_or_default();
    let _ = fs::remove_file(&place);
    answer(plugin, ended?, said.trim_end())
}

fn answer(plugin: &Path, ended: ExitStatus, said: &str) -> Result<Answer> {
    let dead = |how: String| {
        let at = match said {
            "" => "when it was loaded",
            said => said,
        };
        fail(format!(
            "--layer {}: {how} {at}; a debugger stops there: {DEBUGGER} netreel {} ...",
            plugin.display(),
            env::args().nth(1).unwrap_or_default()
        ))
    };
    match (death_of(ended), ended.code()) {
        (Some(death), _) => dead(format!("it died of {death}")),
        (None, Some(code)) if said == DONE || said == NO_PLUGIN => {
            Ok(Answer::Code(u8::try_from(code).unwrap_or(2)))
        }
        (None, Some(STANDS_STILL)) => dead("its call did not return".to_owned()),
        (None, code) => {
            let code = code.map_or_else(|| "?".to_owned(), |code| code.to_string());
            dead(format!("it ended the process with exit code {code}"))
        }
    }
}

/// The exit code of a process whose plugin did not return; a program of ours has no such code.
const STANDS_STILL: i32 = 124;

/// What the place says when nothing more can happen.
const DONE: &str = "done";
/// ... and when it was not yet the plugin's turn.
const NO_PLUGIN: &str = "no plugin";

/// How often something was said, and whether the plugin may be in a call.
static SAID: AtomicU64 = AtomicU64::new(0);
static IS_IN: AtomicBool = AtomicBool::new(false);

/// Ends this process where a call into the plugin has not returned for this long.
pub fn end_where_it_stands_still(patience: Duration) {
    std::thread::spawn(move || {
        let mut last = (SAID.load(Ordering::Relaxed), Instant::now());
        loop {
            std::thread::sleep(patience / 10);
            let said = SAID.load(Ordering::Relaxed);
            if said != last.0 || !IS_IN.load(Ordering::Relaxed) {
                last = (said, Instant::now());
            } else if last.1.elapsed() >= patience {
                // The process that waits for this one says where.
                std::process::exit(STANDS_STILL);
            }
        }
    });
}

/// Says that the plugin has returned from what was said last.
pub fn returned() {
    IS_IN.store(false, Ordering::Relaxed);
}

/// Says where the plugin is: `at node X, in the tick of event 12`.
pub fn say(place: &str) {
    SAID.fetch_add(1, Ordering::Relaxed);
    IS_IN.store(true, Ordering::Relaxed);
    let own = locked(&OWN);
    if let Some(file) = own.as_ref() {
        // Of one length, so that nothing is left of what stood there before.
        let _ = write_all_at(file, format!("{place:<120}").as_bytes(), 0);
    }
}

/// Says that the plugin is not there yet, or is needed no more. Behind that nothing is said: a thread
/// that still plays is about to end with the process.
pub fn say_safe(is_done: bool) {
    say(if is_done { DONE } else { NO_PLUGIN });
    returned();
    if is_done {
        *locked(&OWN) = None;
    }
}
