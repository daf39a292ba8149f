//! `netreel wire check --watch`: says it again whenever a file changes.

use std::io::Write;
use std::time::Duration;

use super::check::print;
use super::source::Source;
use crate::arguments::WireCheck;
use crate::outcome::{Answer, Result};

/// How often files are looked at. Short enough to seem at once to somebody who saves a file.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// An editor empties a file before it fills it: what changed a moment ago may change again.
const SETTLES_AFTER: Duration = Duration::from_millis(50);

/// Goes on until somebody ends the process or nobody reads the output any more.
pub fn run(arguments: &WireCheck, out: &mut dyn Write) -> Result<Answer> {
    let read = || -> Vec<Source> {
        let files = arguments.files.iter();
        files.map(|path| Source::read(path)).collect()
    };
    let have_changed = |sources: &[Source]| sources.iter().any(Source::has_changed);
    let mut sources = read();
    loop {
        print(&sources, arguments.json, out)?;
        out.flush()?;
        for source in &sources {
            if let Err(why) = &source.wire {
                anstream::eprintln!("netreel: {}: {why}", source.path.display());
            }
        }
        while !have_changed(&sources) {
            std::thread::sleep(LOOK_EVERY);
        }
        while have_changed(&sources) {
            sources = read();
            std::thread::sleep(SETTLES_AFTER);
        }
        if !arguments.json {
            writeln!(out, "\n--- changed ---\n")?;
        }
    }
}
