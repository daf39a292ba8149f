//! Bookmarks: a small file beside what was recorded, written by the window, told by `netreel info`.

use std::fs;
use std::io::{ErrorKind, Write};
#[cfg(feature = "gui")]
use std::path::Path;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use netreel_protocol::export::readable;

use crate::outcome::Result;
use crate::whole;

/// A longer file is none of ours.
const BYTES_MAX: u64 = 4 << 20;
/// How many a person can find again; all of them are looked up when a session is opened.
const COUNT_MAX: usize = 10_000;
/// How many characters of a path name its file in the state folder.
const NAME_MAX: usize = 180;

/// A file of bookmarks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bookmarks {
    /// In the order in which they were made.
    pub bookmarks: Vec<Entry>,
}

/// A bookmark as it stands in the file: on the packet of an event, or on a stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Entry {
    /// Whose reel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reel: Option<String>,
    /// The number of the event there that sent, received or saw the packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<u64>,
    /// The first moment, on the session's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_ns: Option<i64>,
    /// The last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_ns: Option<i64>,
    /// What there is to say of it.
    pub note: String,
}

impl Bookmarks {
    fn from_json(text: &str) -> Result<Bookmarks, String> {
        let found: Bookmarks = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if found.bookmarks.len() > COUNT_MAX {
            return Err(format!("it has more than {COUNT_MAX} bookmarks"));
        }
        for (number, entry) in (1..).zip(&found.bookmarks) {
            let is_known = match entry {
                Entry {
                    reel: Some(_),
                    event: Some(_),
                    from_ns: None,
                    to_ns: None,
                    ..
                } => true,
                Entry {
                    reel: None,
                    event: None,
                    from_ns: Some(from),
                    to_ns: Some(to),
                    ..
                } => from <= to,
                _ => false,
            };
            if !is_known {
                return Err(format!(
                    "bookmark {number} is neither on `reel` and `event` nor from `from_ns` to a \
                     later `to_ns`"
                ));
            }
        }
        Ok(found)
    }
}

/// Where the bookmarks of what is recorded at these paths lie: in a folder of reels, beside anything
/// else.
fn beside(paths: &[PathBuf]) -> Option<PathBuf> {
    let first = paths.first()?;
    if first.is_dir() {
        return Some(first.join("bookmarks.json"));
    }
    let mut name = first.file_name()?.to_owned();
    name.push(".bookmarks.json");
    Some(first.with_file_name(name))
}

/// Where netreel keeps what nobody gave a place: below `XDG_STATE_HOME`, else `~/.local/state`.
pub fn state_folder() -> Option<PathBuf> {
    own_folder("XDG_STATE_HOME", ".local/state")
}

/// The own folder in the one that a variable names, else in one of the home folder.
pub fn own_folder(variable: &str, in_home: &str) -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|it| !it.is_empty());
    let folder = match named(variable) {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(named("HOME")?).join(in_home),
    };
    Some(folder.join("netreel"))
}

/// Where they lie if nothing can be written there: in the state folder, under the path of what was
/// recorded.
fn in_state_folder(paths: &[PathBuf]) -> Option<PathBuf> {
    let path = fs::canonicalize(paths.first()?).ok()?;
    let name: Vec<char> = path.to_string_lossy().replace('/', "%").chars().collect();
    let name: String = name[name.len().saturating_sub(NAME_MAX)..].iter().collect();
    Some(state_folder()?.join("bookmarks").join(name + ".json"))
}

/// The bookmarks of what is recorded at these paths, and their file; none where there is no file.
/// Those in the user's state folder are the later ones: they lie there because those beside the reels
/// could not be written over.
///
/// # Errors
/// A sentence: there is a file that cannot be read, or is none.
pub fn read(paths: &[PathBuf]) -> Result<(Bookmarks, Option<PathBuf>), String> {
    for file in [in_state_folder(paths), beside(paths)]
        .into_iter()
        .flatten()
    {
        match whole::read(&file, BYTES_MAX) {
            Ok(text) => {
                let told = |why| format!("{}: {why}; its bookmarks are not shown", file.display());
                let found = Bookmarks::from_json(&text).map_err(told)?;
                return Ok((found, Some(file)));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            // What lies beside a file that is none: there can be no such file.
            Err(error) if error.kind() == ErrorKind::NotADirectory => {}
            Err(error) => {
                let file = file.display();
                return Err(format!("{file}: {error}; its bookmarks are not shown"));
            }
        }
    }
    Ok((Bookmarks::default(), None))
}

/// Keeps them where they were, else beside what is recorded, else in the user's state folder. None
/// leave no file, but where others would come back that cannot be removed.
///
/// # Errors
/// A sentence: they can be written nowhere, or what is there is no file of bookmarks and is left alone.
#[cfg(feature = "gui")]
pub fn keep(paths: &[PathBuf], kept: &Bookmarks) -> Result<(), String> {
    let (_, known) = read(paths).map_err(|why| format!("{why}, and nothing is written over it"))?;
    let (near, own) = (beside(paths), in_state_folder(paths));
    let Some(near) = near else {
        return Err("bookmarks are not kept: nothing is open that they belong to".to_owned());
    };
    let told = |error| format!("{}: {error}; bookmarks are not kept", near.display());
    let written = if known.is_some() && known == own {
        Err(ErrorKind::AlreadyExists.into())
    } else {
        write(&near, kept)
    };
    match (written, own) {
        (Ok(()), _) => Ok(()),
        (Err(error), None) => Err(told(error)),
        (Err(error), Some(own)) => {
            let is_last = kept.bookmarks.is_empty() && !near.exists();
            let kept = if is_last {
                write(&own, kept)
            } else {
                put(&own, kept)
            };
            kept.map_err(|_| told(error))
        }
    }
}

#[cfg(feature = "gui")]
fn write(file: &Path, kept: &Bookmarks) -> std::io::Result<()> {
    if kept.bookmarks.is_empty() {
        return match fs::remove_file(file) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            other => other,
        };
    }
    put(file, kept)
}

#[cfg(feature = "gui")]
fn put(file: &Path, kept: &Bookmarks) -> std::io::Result<()> {
    if let Some(folder) = file.parent().filter(|it| !it.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    let mut text = serde_json::to_string_pretty(kept)?;
    text.push('\n');
    whole::write(file, &text)
}

/// Prints them: what they are on, and their notes. A file that cannot be read is said.
///
/// # Errors
/// They cannot be printed.
pub fn print(paths: &[PathBuf], out: &mut dyn Write) -> Result {
    let (found, file) = match read(paths) {
        Ok((found, Some(file))) if !found.bookmarks.is_empty() => (found, file),
        Ok(_) => return Ok(()),
        Err(why) => {
            anstream::eprintln!("netreel: {why}");
            return Ok(());
        }
    };
    writeln!(out, "\nbookmarks, in {}", file.display())?;
    for entry in &found.bookmarks {
        let at = match entry {
            Entry {
                reel: Some(reel),
                event: Some(event),
                ..
            } => format!("event {event} of {}", readable(reel)),
            Entry {
                from_ns: Some(from),
                to_ns: Some(to),
                ..
            } => {
                let seconds =
                    |ns: i64| crate::text::seconds(netreel_protocol::session::SessionTime(ns));
                if from == to {
                    format!("{} s", seconds(*from))
                } else {
                    format!("{} to {} s", seconds(*from), seconds(*to))
                }
            }
            _ => continue,
        };
        writeln!(out, "  {at}  {}", readable(&entry.note))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_packet() -> Entry {
        Entry {
            reel: Some("X".to_owned()),
            event: Some(71),
            note: "here it comes back".to_owned(),
            ..Entry::default()
        }
    }

    #[test]
    fn what_is_no_file_of_bookmarks_is_said() {
        for (text, why) in [
            ("", "EOF"),
            ("{}", "missing field"),
            (
                "{\"bookmarks\": [{\"reel\": \"X\"}]}",
                "bookmark 1 is neither",
            ),
            (
                "{\"bookmarks\": [{\"from_ns\": 7, \"to_ns\": 3}]}",
                "bookmark 1 is neither",
            ),
            ("{\"bookmarks\": [{\"packet\": 3}]}", "unknown field"),
        ] {
            let said = Bookmarks::from_json(text).expect_err(text);
            assert!(said.contains(why), "{text}: {said}");
        }
    }

    #[cfg(feature = "gui")]
    #[test]
    fn bookmarks_lie_beside_the_reels_and_leave_no_file_when_they_are_gone() {
        let folder = tempfile::tempdir().expect("a folder");
        let paths = [folder.path().to_owned()];
        let kept = Bookmarks {
            bookmarks: vec![on_packet()],
        };
        keep(&paths, &kept).expect("kept");
        let file = folder.path().join("bookmarks.json");
        assert_eq!(read(&paths), Ok((kept, Some(file.clone()))));
        keep(&paths, &Bookmarks::default()).expect("kept");
        assert!(!file.exists());
    }

    #[test]
    fn a_strangers_note_cannot_write_over_the_terminal() {
        let folder = tempfile::tempdir().expect("a folder");
        let note = "\u{1b}[2J\nerror \u{202e}";
        let text = serde_json::json!({"bookmarks": [{"from_ns": 1, "to_ns": 1, "note": note}]});
        fs::write(folder.path().join("bookmarks.json"), text.to_string()).expect("a file");
        let mut out = Vec::new();
        assert!(print(&[folder.path().to_owned()], &mut out).is_ok());
        let said = String::from_utf8(out).expect("text");
        assert!(said.ends_with("\\u{1b}[2J\\nerror \\u{202e}\n"), "{said}");
    }

    #[cfg(feature = "gui")]
    #[test]
    fn a_file_that_is_none_of_bookmarks_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("bookmarks.json");
        fs::write(&file, "my own notes").expect("a file");
        let kept = Bookmarks {
            bookmarks: vec![on_packet()],
        };
        let why = keep(&[folder.path().to_owned()], &kept).expect_err("not kept");
        assert!(why.contains("nothing is written over it"), "{why}");
        assert_eq!(fs::read_to_string(&file).expect("a file"), "my own notes");
    }
}
