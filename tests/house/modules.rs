//! Which file of a room uses which: the modules of a package, and the paths in their code. A path is
//! followed through what other modules import, to the file in which the thing is declared.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use crate::lexer::Token;
use crate::sources::{self, Source};

/// One module with a file of its own.
struct Module<'a> {
    parent: Option<usize>,
    path: PathBuf,
    tokens: &'a [Token<'a>],
    children: BTreeMap<&'a str, usize>,
    /// What is in scope by `use`: the name, and the path that it stands for.
    imports: BTreeMap<&'a str, Vec<&'a str>>,
    globs: Vec<Vec<&'a str>>,
    declared: BTreeSet<&'a str>,
}

/// A use of one file by another.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Arrow {
    pub from: PathBuf,
    pub to: PathBuf,
    /// Where `from` says so first, and what it says.
    pub line: u32,
    pub said: String,
    /// Whether `to` is the file that declares `from`, or one above that.
    pub climbs: bool,
}

type Files<'a> = BTreeMap<&'a Path, &'a [Token<'a>]>;

/// What a path stands for.
enum Meant {
    Module(usize),
    Item(usize),
}

/// The modules of one room.
pub struct Modules<'a> {
    all: Vec<Module<'a>>,
    /// Where each macro is declared.
    macros: BTreeMap<&'a str, usize>,
}

impl<'a> Modules<'a> {
    /// The modules that the roots of a package declare, without those of tests.
    pub fn of(sources: &'a [Source], room: &str) -> Self {
        let files: Files<'a> = sources
            .iter()
            .map(|it| (it.path.as_path(), it.product.as_slice()))
            .collect();
        let mut modules = Self {
            all: Vec::new(),
            macros: BTreeMap::new(),
        };
        for source in sources.iter().filter(|it| it.room == room && !it.is_test) {
            if is_root(&source.path) {
                modules.add(&files, None, source.path.clone());
            }
        }
        modules
    }

    fn add(&mut self, files: &Files<'a>, parent: Option<usize>, path: PathBuf) -> Option<usize> {
        let tokens = *files.get(path.as_path())?;
        let at = self.all.len();
        let (imports, globs) = imports(tokens);
        let below = submodules(tokens);
        let macros = tokens.windows(3).filter(|it| it[0].text == "macro_rules");
        self.macros.extend(macros.map(|it| (it[2].text, at)));
        self.all.push(Module {
            parent,
            declared: declared(tokens),
            path: path.clone(),
            children: BTreeMap::new(),
            tokens,
            imports,
            globs,
        });
        for (name, other) in below {
            let places = match other {
                Some(other) => vec![plain(&path.parent().unwrap_or(Path::new("")).join(other))],
                None => sources::places_of(&path, name),
            };
            let child = places
                .into_iter()
                .find_map(|place| self.add(files, Some(at), place));
            if let Some(child) = child {
                self.all[at].children.insert(name, child);
            }
        }
        Some(at)
    }

    /// Each use of a file by another, once for each two files.
    pub fn arrows(&self) -> Vec<Arrow> {
        let mut found: BTreeMap<(usize, usize), (u32, String)> = BTreeMap::new();
        for (at, module) in self.all.iter().enumerate() {
            for (line, path) in paths(module.tokens) {
                let Some(Meant::Item(to)) = self.meant(at, &path, 0) else {
                    continue;
                };
                if self.all[to].path != module.path {
                    found
                        .entry((at, to))
                        .or_insert_with(|| (line, path.join("::")));
                }
            }
        }
        let arrow = |((from, to), (line, said)): ((usize, usize), (u32, String))| Arrow {
            from: self.all[from].path.clone(),
            to: self.all[to].path.clone(),
            climbs: self.is_above(to, from),
            line,
            said,
        };
        let mut arrows: Vec<Arrow> = found.into_iter().map(arrow).collect();
        arrows.sort();
        arrows
    }

    fn is_above(&self, above: usize, below: usize) -> bool {
        let mut at = self.all[below].parent;
        while let Some(parent) = at {
            if parent == above {
                return true;
            }
            at = self.all[parent].parent;
        }
        false
    }

    /// What a path stands for in a module; none where it leads out of the package.
    fn meant(&self, at: usize, path: &[&str], depth: usize) -> Option<Meant> {
        let (first, mut rest) = path.split_first()?;
        let mut here = match *first {
            "crate" => self.root_of(at),
            "self" => at,
            "super" => self.all[at].parent?,
            name => {
                return match self.looked_up(at, name, depth)? {
                    Meant::Module(next) => self.within(next, rest, depth),
                    Meant::Item(item) => Some(Meant::Item(item)),
                };
            }
        };
        while let Some((&"super", behind)) = rest.split_first() {
            here = self.all[here].parent?;
            rest = behind;
        }
        self.within(here, rest, depth)
    }

    fn within(&self, here: usize, rest: &[&str], depth: usize) -> Option<Meant> {
        let Some((name, rest)) = rest.split_first() else {
            return Some(Meant::Module(here));
        };
        if *name == "*" {
            return Some(Meant::Item(here));
        }
        match self.looked_up(here, name, depth) {
            Some(Meant::Module(next)) => self.within(next, rest, depth),
            Some(item) => Some(item),
            // What a macro declares, or a macro itself.
            None => Some(Meant::Item(self.macros.get(name).copied().unwrap_or(here))),
        }
    }

    /// What a name stands for in a module.
    fn looked_up(&self, at: usize, name: &str, depth: usize) -> Option<Meant> {
        let module = &self.all[at];
        if depth > 12 {
            return None;
        }
        if let Some(child) = module.children.get(name) {
            return Some(Meant::Module(*child));
        }
        if module.declared.contains(name) {
            return Some(Meant::Item(at));
        }
        if let Some(path) = module.imports.get(name) {
            return match path.first() == Some(&name) && path.len() == 1 {
                true => None,
                false => self.meant(at, path, depth + 1),
            };
        }
        module.globs.iter().find_map(|path| {
            let Meant::Module(from) = self.meant(at, path, depth + 1)? else {
                return None;
            };
            self.looked_up(from, name, depth + 1)
        })
    }

    fn root_of(&self, mut at: usize) -> usize {
        while let Some(parent) = self.all[at].parent {
            at = parent;
        }
        at
    }
}

/// All paths that code names, with their lines, but for those that it only hands on (`pub use`).
pub fn paths<'a>(tokens: &[Token<'a>]) -> Vec<(u32, Vec<&'a str>)> {
    let mut found = Vec::new();
    let mut index = 0;
    while index < tokens.len() {
        let token = tokens[index];
        if token.text == "use" {
            let end = index
                + tokens[index..]
                    .iter()
                    .take_while(|it| it.text != ";")
                    .count();
            if !is_handed_on(tokens, index) {
                let paths = use_paths(&tokens[index + 1..end]).into_iter();
                found.extend(paths.map(|it| (token.line, it.path)));
            }
            index = end;
        } else if token.is_word() && !is_within_path(tokens, index) {
            let path = path_at(tokens, index);
            index += 3 * (path.len() - 1);
            if path.len() > 1 {
                found.push((token.line, path));
            }
        }
        index += 1;
    }
    found
}

fn is_root(path: &Path) -> bool {
    let parts: Vec<_> = path.iter().filter_map(|it| it.to_str()).collect();
    match parts.as_slice() {
        [.., "src", name] => ["lib.rs", "main.rs"].contains(name),
        [.., "src", "bin", _] => true,
        _ => false,
    }
}

/// A path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// The modules that a file declares, with the path that an attribute says.
fn submodules<'a>(tokens: &[Token<'a>]) -> Vec<(&'a str, Option<&'a str>)> {
    let mut found = Vec::new();
    for (at, it) in tokens.windows(3).enumerate() {
        if it[0].text != "mod" || it[2].text != ";" {
            continue;
        }
        // `#[path = "…"]`, and perhaps `pub` or `pub(crate)` between.
        let before = &tokens[at.saturating_sub(10)..at];
        let said = before.iter().rposition(|it| it.text == "path");
        let ended = before
            .iter()
            .rposition(|it| it.text == ";" || it.text == "}");
        let path = said.filter(|said| ended.is_none_or(|it| it < *said));
        let other = path.and_then(|said| Some(before.get(said + 2)?.text.trim_matches('"')));
        // `#[cfg_attr(…, path = "…")]`: on other systems another file, beside the usual one.
        let is_also =
            path.is_some_and(|said| before.get(said + 3).is_some_and(|it| it.text == ")"));
        found.push((it[1].text, other));
        found.extend(is_also.then_some((it[1].text, None)));
    }
    found
}

fn declared<'a>(tokens: &[Token<'a>]) -> BTreeSet<&'a str> {
    let kinds = [
        "fn", "struct", "enum", "trait", "type", "const", "static", "union", "mod",
    ];
    let items = tokens
        .windows(2)
        .filter(|it| kinds.contains(&it[0].text) && it[1].is_word());
    let macros = tokens.windows(3).filter(|it| it[0].text == "macro_rules");
    items
        .map(|it| it[1].text)
        .chain(macros.map(|it| it[2].text))
        .collect()
}

type Imports<'a> = (BTreeMap<&'a str, Vec<&'a str>>, Vec<Vec<&'a str>>);

fn imports<'a>(tokens: &[Token<'a>]) -> Imports<'a> {
    let (mut named, mut globs) = (BTreeMap::new(), Vec::new());
    for (at, token) in tokens.iter().enumerate() {
        if token.text != "use" {
            continue;
        }
        let end = at + tokens[at..].iter().take_while(|it| it.text != ";").count();
        for mut used in use_paths(&tokens[at + 1..end]) {
            if used.path.last() == Some(&"*") {
                used.path.pop();
                globs.push(used.path);
            } else {
                named.insert(used.name, used.path);
            }
        }
    }
    (named, globs)
}

/// `pub use`, `pub(crate) use`, `pub(in …) use`.
fn is_handed_on(tokens: &[Token<'_>], at: usize) -> bool {
    at > 0 && (tokens[at - 1].text == "pub" || tokens[at - 1].text == ")")
}

struct Used<'a> {
    name: &'a str,
    path: Vec<&'a str>,
}

/// The paths of a `use`, each whole: `a::{b, c as d}` is `a::b` and `a::c`, named `d`.
fn use_paths<'a>(tokens: &[Token<'a>]) -> Vec<Used<'a>> {
    let mut found = Vec::new();
    let mut before: Vec<Vec<&'a str>> = Vec::new();
    let mut path: Vec<&'a str> = Vec::new();
    let mut name = None;
    let mut at = 0;
    while at <= tokens.len() {
        let text = tokens.get(at).map_or(",", |it| it.text);
        match text {
            "{" => {
                before.push(path.clone());
            }
            "," | "}" => {
                let outer = before.last().map_or(0, Vec::len);
                if path.len() > outer {
                    let mut path = path.clone();
                    let own = path.len() > 1 && path.last() == Some(&"self");
                    if own {
                        path.pop();
                    }
                    let last = path.last().copied().unwrap_or("");
                    found.push(Used {
                        name: name.unwrap_or(last),
                        path,
                    });
                }
                name = None;
                if text == "}" {
                    before.pop();
                }
                path = before.last().cloned().unwrap_or_default();
            }
            "as" => {
                name = tokens.get(at + 1).map(|it| it.text);
                at += 1;
            }
            ":" => {}
            word => path.push(word),
        }
        at += 1;
    }
    found
}

/// Whether a word is the later part of a path, or what a dot stands before.
fn is_within_path(tokens: &[Token<'_>], at: usize) -> bool {
    at > 0 && [":", "."].contains(&tokens[at - 1].text) && {
        let is_range = at > 1 && tokens[at - 1].text == "." && tokens[at - 2].text == ".";
        let is_type = tokens[at - 1].text == ":" && (at < 2 || tokens[at - 2].text != ":");
        !is_range && !is_type
    }
}

/// The path that begins with a word: it and each `::word` behind it.
fn path_at<'a>(tokens: &[Token<'a>], at: usize) -> Vec<&'a str> {
    let mut path = vec![tokens[at].text];
    let mut next = at + 1;
    while let [first, second, word, ..] = &tokens[next.min(tokens.len())..] {
        if first.text != ":" || second.text != ":" || !word.is_word() {
            break;
        }
        path.push(word.text);
        next += 3;
    }
    path
}
