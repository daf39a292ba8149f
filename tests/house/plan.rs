//! The plan of the house, `rooms.txt`, and the list of what breaks its walls still, `exceptions.txt`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::walls::Breach;

/// What stands in `rooms.txt`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Plan {
    /// What all rooms may weigh together.
    pub all: usize,
    /// The rooms, the ground floor first, with what each may weigh.
    pub rooms: Vec<(String, usize)>,
    /// What code of a room must not name: the first words of paths.
    pub never: BTreeMap<String, Vec<String>>,
    /// The lines at the head, which say how the file is read.
    head: Vec<String>,
}

const FOLDER: &str = "tests/house";

impl Plan {
    /// Reads the plan of the repository in `root`.
    pub fn read(root: &Path) -> Self {
        let (path, text) = file(root, "rooms.txt");
        let mut plan = Self::default();
        for (at, line) in text.lines().enumerate() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                [] => {}
                [first, ..] if first.starts_with('#') => plan.head.push(line.to_owned()),
                ["all", number] if number.parse::<usize>().is_ok() => {
                    plan.all = number.parse().unwrap_or_default();
                }
                ["not", room, unwanted @ ..] => {
                    let unwanted = unwanted.iter().map(|it| (*it).to_owned()).collect();
                    plan.never.insert((*room).to_owned(), unwanted);
                }
                [room, number] if number.parse::<usize>().is_ok() => {
                    let number = number.parse().unwrap_or_default();
                    plan.rooms.push(((*room).to_owned(), number));
                }
                _ => panic!("{}:{}: no line of the plan: {line}", path.display(), at + 1),
            }
        }
        plan
    }

    /// Puts the plan back into its file.
    pub fn write(&self, root: &Path) {
        let mut text = self.head.join("\n");
        let _ = write!(text, "\n\nall {}\n\n", self.all);
        for (room, may) in &self.rooms {
            let _ = writeln!(text, "{room:32}{may:>8}");
        }
        text.push('\n');
        for (room, unwanted) in &self.never {
            let _ = writeln!(text, "not {room} {}", unwanted.join(" "));
        }
        save(root, "rooms.txt", &text);
    }
}

const HEAD: &str = "\
# What breaks the walls still (tests/house): this list only gets shorter. `./dev weight --write` takes
# out what is no longer needed.
#   circle USES FILE...  files that can each be reached from each other, and the uses among them
#   climb FILE PARENT    a file that uses what the file declares that declares it
#   above ROOM WHAT      a room that uses one above it, another's file, or what it must not know
";

/// The list of exceptions of the repository in `root`.
pub fn exceptions(root: &Path) -> BTreeSet<Breach> {
    let (path, text) = file(root, "exceptions.txt");
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, it)| !it.is_empty() && !it.starts_with('#'));
    let parsed = lines.map(|(at, line)| {
        let breach = Breach::parse(line);
        breach.unwrap_or_else(|| panic!("{}:{}: no exception: {line}", path.display(), at + 1))
    });
    parsed.collect()
}

/// Writes the list of exceptions anew.
pub fn write_exceptions<'a>(root: &Path, list: impl IntoIterator<Item = &'a Breach>) {
    let lines: Vec<String> = list.into_iter().map(Breach::to_string).collect();
    save(
        root,
        "exceptions.txt",
        &format!("{HEAD}\n{}\n", lines.join("\n")),
    );
}

fn file(root: &Path, name: &str) -> (PathBuf, String) {
    let path = Path::new(FOLDER).join(name);
    let text = fs::read_to_string(root.join(&path));
    let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    (path, text)
}

fn save(root: &Path, name: &str, text: &str) {
    let path = root.join(FOLDER).join(name);
    fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
