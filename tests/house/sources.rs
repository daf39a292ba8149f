//! The sources of the house: files of Rust and C, each in the room whose package it belongs to.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use crate::lexer::{self, Token};

/// One file.
pub struct Source {
    /// Its path in the repository.
    pub path: PathBuf,
    /// The folder of its package; `src` for the command's own.
    pub room: String,
    /// Whether it is there for tests and benches alone.
    pub is_test: bool,
    /// Its tokens, and those of them that are not there for tests alone.
    pub tokens: Vec<Token<'static>>,
    pub product: Vec<Token<'static>>,
}

impl Source {
    /// A file of a room, with its text, which is kept as long as the program runs.
    pub fn new(path: PathBuf, room: &str, text: String) -> Self {
        let tokens = lexer::tokens(text.leak());
        let is_test = is_test_path(&path);
        let product = if is_test {
            Vec::new()
        } else {
            lexer::without_tests(&tokens)
        };
        Self {
            path,
            room: room.to_owned(),
            is_test,
            tokens,
            product,
        }
    }
}

/// All sources below `root`, in the order of their paths.
pub fn read(root: &Path) -> Vec<Source> {
    let mut files = Vec::new();
    walk(root, Path::new(""), "src", &mut files);
    files.sort();
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let parts = files.chunks(files.len().div_ceil(processors).max(1));
    let mut found: Vec<Source> = thread::scope(|scope| {
        let parts: Vec<_> = parts
            .map(|part| scope.spawn(|| read_all(root, part)))
            .collect();
        parts
            .into_iter()
            .flat_map(|it| it.join().expect("no panic"))
            .collect()
    });
    mark_tests(&mut found);
    found
}

fn read_all(root: &Path, files: &[(PathBuf, String)]) -> Vec<Source> {
    let read = |(path, room): &(PathBuf, String)| {
        let bytes = fs::read(root.join(path)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Source::new(path.clone(), room, without_links(root, path, text))
    };
    files.iter().map(read).collect()
}

/// The text with each `#[path]` that goes through a link leading to the file itself: a link makes a file no
/// part of another room.
fn without_links(root: &Path, file: &Path, text: String) -> String {
    let folder = root.join(file.parent().unwrap_or(Path::new("")));
    let said = text.split("#[path = \"").skip(1);
    let said: Vec<String> = said
        .filter_map(|it| Some(it.split_once('"')?.0.to_owned()))
        .collect();
    said.into_iter().fold(text, |text, said| {
        let through = folder.join(&said);
        let real = through
            .ancestors()
            .any(Path::is_symlink)
            .then(|| between(&folder, &through));
        match real.flatten() {
            Some(real) => text.replace(&format!("\"{said}\""), &format!("\"{real}\"")),
            None => text,
        }
    })
}

/// The way from a folder to a file, links followed.
fn between(folder: &Path, file: &Path) -> Option<String> {
    let (folder, file) = (folder.canonicalize().ok()?, file.canonicalize().ok()?);
    let shared = folder
        .iter()
        .zip(file.iter())
        .take_while(|(a, b)| a == b)
        .count();
    let up = folder.iter().skip(shared).map(|_| "..");
    let down = file.iter().skip(shared).filter_map(|it| it.to_str());
    Some(up.chain(down).collect::<Vec<_>>().join("/"))
}

fn walk(root: &Path, folder: &Path, room: &str, found: &mut Vec<(PathBuf, String)>) {
    let whole = root.join(folder);
    let is_package = folder != Path::new("") && whole.join("Cargo.toml").is_file();
    let own = folder.to_string_lossy().into_owned();
    let room = if is_package { own.as_str() } else { room };
    let entries = fs::read_dir(&whole).unwrap_or_else(|error| panic!("{whole:?}: {error}"));
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = folder.join(&name);
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let is_ours = !name.starts_with('.') && name != "target" && name != "node_modules";
        if kind.is_dir() && is_ours {
            walk(root, &path, room, found);
        } else if kind.is_file() && ["rs", "c", "h"].iter().any(|it| has_end(&name, it)) {
            found.push((path, room.to_owned()));
        }
    }
}

fn has_end(name: &str, end: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, it)| it == end)
}

fn is_test_path(path: &Path) -> bool {
    let parts: Vec<_> = path.iter().filter_map(|it| it.to_str()).collect();
    let last = parts.last().copied().unwrap_or("");
    parts.contains(&"tests")
        || ["tests.rs", "test.rs"].contains(&last)
        || ["benches", "fuzz"].contains(&parts[0])
}

/// Files that another one declares for tests alone are tests as well.
fn mark_tests(all: &mut [Source]) {
    let places: BTreeMap<PathBuf, usize> = all
        .iter()
        .enumerate()
        .map(|(at, it)| (it.path.clone(), at))
        .collect();
    for at in 0..all.len() {
        let Source { path, tokens, .. } = &all[at];
        let declared = tokens.windows(3).enumerate().filter(|(index, it)| {
            let begin = index.checked_sub(7);
            let is_marked = begin.is_some_and(|from| lexer::is_test_attribute(&tokens[from..]));
            it[0].text == "mod" && it[2].text == ";" && is_marked
        });
        let of_tests: Vec<PathBuf> = declared
            .flat_map(|(_, it)| places_of(path, it[1].text))
            .collect();
        for place in of_tests.iter().filter_map(|it| places.get(it)) {
            all[*place].is_test = true;
            all[*place].product.clear();
        }
    }
}

/// Where the module `name`, declared in the file `parent`, may stand.
pub fn places_of(parent: &Path, name: &str) -> Vec<PathBuf> {
    let folder = folder_of(parent);
    vec![
        folder.join(format!("{name}.rs")),
        folder.join(name).join("mod.rs"),
    ]
}

/// The folder in which the modules of a file stand.
fn folder_of(file: &Path) -> PathBuf {
    let stem = file.file_stem().and_then(|it| it.to_str()).unwrap_or("");
    let folder = file.parent().unwrap_or(Path::new(""));
    match stem {
        "mod" | "lib" | "main" => folder.to_owned(),
        _ => folder.join(stem),
    }
}
