//! `netreel demo --ring SECS`: the sample game goes on until it is told to end, its nodes keep
//! their last seconds, and a key keeps the same seconds at all of them.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::keys::{Key, Keys};
use super::processes::{Processes, Said};
use crate::check;
use crate::open;
use crate::outcome::{Answer, Result};
use crate::text;

/// How long a key is waited for before the nodes are listened to.
const PATIENCE: Duration = Duration::from_millis(20);

/// Plays until `q` is pressed; gives the windows that were kept.
pub fn play(
    processes: &mut Processes,
    names: &[String],
    mut time_outs: bool,
    out: &mut dyn Write,
) -> Result<Vec<PathBuf>> {
    let last = names.len();
    writeln!(
        out,
        "t: {} keeps the last seconds and asks the others for the same; 1 to {last}: so does that \
         node; o: time-outs on or off (now {}); q: end",
        names.first().map_or("", String::as_str),
        word(time_outs)
    )?;
    out.flush()?;
    let keys = Keys::read();
    let mut windows = BTreeSet::new();
    loop {
        for said in processes.said()? {
            hear(said, names, &mut windows, out)?;
        }
        let node = match keys.next(PATIENCE) {
            Some(Key::Byte(b't' | b'T')) => 0,
            Some(Key::Byte(digit @ b'1'..=b'9')) => usize::from(digit - b'1'),
            Some(Key::Byte(b'o' | b'O')) => {
                time_outs = !time_outs;
                for node in 0..last {
                    processes.tell(node, &format!("time-outs {}", word(time_outs)))?;
                }
                writeln!(out, "time-outs are {} at all nodes", word(time_outs))?;
                out.flush()?;
                continue;
            }
            Some(Key::Byte(b'q' | b'Q') | Key::End) => break,
            _ => continue,
        };
        if node < last {
            processes.tell(node, "key t")?;
        }
    }
    drop(keys);
    for said in processes.end()? {
        hear(said, names, &mut windows, out)?;
    }
    Ok(windows.into_iter().collect())
}

fn word(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn hear(
    (node, said): (usize, Said),
    names: &[String],
    windows: &mut BTreeSet<PathBuf>,
    out: &mut dyn Write,
) -> Result {
    let name = names.get(node).map_or("", String::as_str);
    match said {
        Said::Kept(folder) => {
            writeln!(out, "{name} kept {}", folder.display())?;
            windows.insert(folder);
        }
        Said::Told(sentence) => writeln!(out, "{name}: {sentence}")?,
    }
    Ok(out.flush()?)
}

/// Checks each window as the session that it is.
pub fn report(windows: &[PathBuf], folder: &Path, out: &mut dyn Write) -> Result<Answer> {
    if windows.is_empty() {
        writeln!(
            out,
            "no window was kept; the last seconds are in {}",
            folder.display()
        )?;
    }
    for window in windows {
        let story = open::build(open::reels(&[window])?, None)?;
        writeln!(
            out,
            "\n{}: {} between {}",
            window.display(),
            text::counted(story.session.packet_count() as u64, "packet"),
            text::counted(story.session.nodes.len() as u64, "node")
        )?;
        check::report(&story.session, story.history(), false, out)?;
    }
    Ok(Answer::Clean)
}
