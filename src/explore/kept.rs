//! Explorations that go on where they ended: what is kept of one beside what it found.

use std::path::Path;

use netreel_replay::explore::{Ground, Kept, number_of};
use serde::{Deserialize, Serialize};

use super::anew::{Found, Known};
use crate::arguments::Explore;
use crate::outcome::{Failure, Result};

/// The file in the folder of what was found.
const FILE: &str = "exploration";

/// What an exploration is of: whoever goes on with it must ask for the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Of {
    netreel: String,
    session: String,
    options: Vec<(String, String)>,
}

/// Counts up where the library's bytes are written in another way.
const FORM: u32 = 2;

/// The first line of the file; behind it are the library's bytes.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    #[serde(default)]
    form: u32,
    of: Of,
    found: Vec<Known>,
}

/// Where an exploration goes on.
pub struct From {
    pub kept: Kept,
    pub found: Vec<Known>,
}

/// Reads where the exploration of a folder ended.
///
/// # Errors
/// There is none, or it is of something else: which.
pub fn read(folder: &Path, arguments: &Explore, ground: &Ground) -> Result<From> {
    let told = |why: String| {
        Failure::new(format!(
            "--continue: {why}; begin anew, without --continue, in another folder"
        ))
    };
    let path = folder.join(FILE);
    let bytes = std::fs::read(&path).map_err(|error| {
        told(format!(
            "{}: {error} (an exploration with --out leaves it there when it ends)",
            path.display()
        ))
    })?;
    let damaged = || told(format!("{} is damaged", path.display()));
    let (bytes, of_all) = bytes.split_last_chunk().ok_or_else(damaged)?;
    if number_of(bytes).to_le_bytes() != *of_all {
        return Err(damaged());
    }
    let line = bytes.iter().position(|byte| *byte == b'\n');
    let (head, kept) = bytes.split_at(line.ok_or_else(damaged)?);
    let head: Head = serde_json::from_slice(head).map_err(|_| damaged())?;
    if head.form != FORM {
        let why = "was explored by another netreel";
        return Err(told(format!("{} {why}", folder.display())));
    }
    let now = of(arguments, ground)?;
    if let Some(why) = differs(&head.of, &now) {
        return Err(told(format!("{} {why}", folder.display())));
    }
    Ok(From {
        kept: Kept::from_bytes(&kept[1..]).ok_or_else(damaged)?,
        found: head.found,
    })
}

/// Writes where an exploration ended.
pub fn write(
    folder: &Path,
    arguments: &Explore,
    ground: &Ground,
    (kept, found): (&Kept, Vec<Known>),
) -> Result {
    let of = of(arguments, ground)?;
    let mut bytes = serde_json::to_vec(&Head {
        form: FORM,
        of,
        found,
    })?;
    bytes.push(b'\n');
    bytes.extend(kept.to_bytes());
    bytes.extend(number_of(&bytes).to_le_bytes());
    let path = folder.join(FILE);
    std::fs::write(&path, bytes).map_err(|error| Failure::at(&path, error))
}

/// What is not as it was, in words behind the folder's name; `None`: nothing.
fn differs(before: &Of, now: &Of) -> Option<String> {
    if before.netreel != now.netreel {
        let netreel = &before.netreel;
        return Some(format!(
            "was explored by netreel {netreel}, and this is {}",
            now.netreel
        ));
    }
    if before.session != now.session {
        return Some("was explored from another session".to_owned());
    }
    if before.options.len() != now.options.len() {
        return Some("was explored with other options".to_owned());
    }
    let pairs = before.options.iter().zip(&now.options);
    let mut others = pairs.filter(|(before, now)| before != now);
    let (before, now) = others.next()?;
    let words = |(name, value): &(String, String)| match value.as_str() {
        "" => format!("without {name}"),
        "yes" => format!("with {name}"),
        value => format!("with {name} {value}"),
    };
    Some(format!(
        "was explored {}, and this command asks for it {}",
        words(before),
        words(now)
    ))
}

fn maybe(value: Option<impl ToString>) -> String {
    value.map(|it| it.to_string()).unwrap_or_default()
}

fn of(arguments: &Explore, ground: &Ground) -> Result<Of> {
    let read = &arguments.read.source;
    let yes = |is_so: bool| if is_so { "yes" } else { "" }.to_owned();
    let file = |path: Option<&Path>| -> Result<String> {
        let Some(path) = path else {
            return Ok(String::new());
        };
        let bytes = std::fs::read(path).map_err(|error| Failure::at(path, error))?;
        Ok(format!("{} ({:016x})", path.display(), number_of(&bytes)))
    };
    let options = [
        ("--changes", arguments.changes.to_string()),
        ("--hold", arguments.hold.to_string()),
        ("--rest", arguments.rest.to_string()),
        ("--losses", maybe(arguments.losses)),
        ("--repeats", yes(arguments.repeats)),
        ("--overtakes", yes(arguments.overtakes)),
        ("--deaths", yes(arguments.deaths)),
        ("--ticks", yes(arguments.ticks)),
        ("--object", maybe(arguments.object)),
        ("--by-chance", maybe(arguments.by_chance)),
        (
            "--by-priorities",
            maybe(
                arguments
                    .by_priorities
                    .map(|(seed, depth)| format!("{seed},{depth}")),
            ),
        ),
        ("--layer", file(arguments.layer.as_deref())?),
        ("--wire", file(read.wire.as_deref())?),
        ("--tune", arguments.tune.join(" ")),
        ("--set", arguments.set.join(" ")),
    ]
    .map(|(name, value)| (name.to_owned(), value));
    Ok(Of {
        netreel: env!("CARGO_PKG_VERSION").to_owned(),
        session: format!("{:016x}", ground.number()),
        options: options.into(),
    })
}

/// What was found in this command and before it, without what differs from time to time.
pub fn known(before: &[Known], found: &[Found]) -> Vec<Known> {
    let found = found.iter().map(Known::of);
    before.iter().cloned().chain(found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(options: &[(&str, &str)]) -> Of {
        let options = options.iter().map(|it| (it.0.to_owned(), it.1.to_owned()));
        Of {
            netreel: "1".to_owned(),
            session: "7".to_owned(),
            options: options.collect(),
        }
    }

    #[test]
    fn the_first_option_that_is_another_is_named() {
        let before = of(&[("--hold", "3000"), ("--ticks", "yes")]);
        assert_eq!(differs(&before, &before), None);
        let now = of(&[("--hold", "3000"), ("--ticks", "")]);
        let words = differs(&before, &now).expect("it differs");
        assert_eq!(
            words,
            "was explored with --ticks, and this command asks for it without --ticks"
        );
        let now = of(&[("--hold", "100"), ("--ticks", "")]);
        let words = differs(&before, &now).expect("it differs");
        assert!(words.contains("with --hold 3000, and"), "{words}");
    }
}
