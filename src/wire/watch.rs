//! `netreel wire check --watch`: says it again whenever a file changes.

use std::io::Write;
use std::time::Duration;

use super::check::print;
use super::source::Source;
use crate::arguments::WireCheck;
use crate::outcome::{Answer, Failure};

/// How often files are looked at. Short enough to seem at once to somebody who saves a file.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Goes on until somebody ends the process or nobody reads the output any more.
pub fn run(arguments: &WireCheck, out: &mut dyn Write) -> Result<Answer, Failure> {
    loop {
        let sources: Vec<Source> = arguments
            .files
            .iter()
            .map(|path| Source::read(path))
            .collect();
        print(&sources, arguments.json, out)?;
        for source in &sources {
            if let Err(why) = &source.wire {
                anstream::eprintln!("netreel: {}: {why}", source.path.display());
            }
        }
        out.flush()?;
        while !sources.iter().any(Source::has_changed) {
            std::thread::sleep(LOOK_EVERY);
        }
        if !arguments.json {
            writeln!(out, "\n--- changed ---\n")?;
        }
    }
}
