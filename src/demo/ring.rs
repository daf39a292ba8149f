//! `netreel demo --ring SECS`: the sample game goes on until it is told to end, its nodes keep
//! their last seconds, and a key keeps the same seconds at all of them. Keys are single ones, from a terminal
//! or from whatever the input is.

use std::collections::BTreeSet;
use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use netreel_system::terminal::SingleKeys;

use super::processes::{Processes, Said};
use crate::outcome::{Answer, Result};
use crate::{check, open, text};

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
            text::counted(story.session.packet_count(), "packet"),
            text::counted(story.session.nodes.len(), "node")
        )?;
        check::report(&story.session, story.history(), false, out)?;
    }
    Ok(Answer::Clean)
}

/// What was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A key with a letter, a digit or a sign.
    Byte(u8),
    /// The end of the input, or Ctrl-C.
    End,
}

/// The keys of the standard input, as they are pressed. A terminal gives each at once and does
/// not show it, until this is dropped.
pub struct Keys {
    keys: Receiver<Key>,
    // Until it is dropped.
    _single: Option<SingleKeys>,
}

const CTRL_C: u8 = 3;
const CTRL_D: u8 = 4;

impl Keys {
    /// Takes over the standard input.
    pub fn read() -> Keys {
        let single = std::io::stdin()
            .is_terminal()
            .then(SingleKeys::begin)
            .flatten();
        let (sender, keys) = channel();
        // It ends with the input, or with the process.
        std::thread::spawn(move || {
            let mut byte = [0];
            let mut input = std::io::stdin().lock();
            loop {
                let key = match input.read(&mut byte) {
                    Ok(1) if byte[0] != CTRL_C && byte[0] != CTRL_D => Key::Byte(byte[0]),
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                    _ => Key::End,
                };
                if sender.send(key).is_err() || key == Key::End {
                    return;
                }
            }
        });
        Keys {
            keys,
            _single: single,
        }
    }

    /// The next key, if one is pressed within `patience`.
    pub fn next(&self, patience: Duration) -> Option<Key> {
        match self.keys.recv_timeout(patience) {
            Ok(key) => Some(key),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Key::End),
        }
    }
}
