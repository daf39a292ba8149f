//! Climbs and circles: uses of a file that declares the user, and files that use each other in a
//! round. Rooms stand on floors: each may use those below it alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use crate::lexer;
use crate::modules::{self, Arrow, Modules};
use crate::plan::Plan;
use crate::sources::Source;

/// What a wall is there to keep out.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Breach {
    /// Files that can each be reached from each, and how many uses there are among them.
    Circle {
        files: BTreeSet<PathBuf>,
        arrows: usize,
    },
    /// A file uses what the file declares that declares it.
    Climb { from: PathBuf, to: PathBuf },
    /// A room uses one above it, reads a file of another package, or names what it must not know.
    Above { from: String, to: String },
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Circle { files, arrows } => {
                write!(f, "circle {arrows}")?;
                files
                    .iter()
                    .try_for_each(|it| write!(f, " {}", it.display()))
            }
            Self::Climb { from, to } => write!(f, "climb {} {}", from.display(), to.display()),
            Self::Above { from, to } => write!(f, "above {from} {to}"),
        }
    }
}

impl Breach {
    /// A line of the list of exceptions.
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let breach = match words.next()? {
            "circle" => Self::Circle {
                arrows: words.next()?.parse().ok()?,
                files: words.by_ref().map(PathBuf::from).collect(),
            },
            "climb" => Self::Climb {
                from: words.next()?.into(),
                to: words.next()?.into(),
            },
            "above" => Self::Above {
                from: words.next()?.to_owned(),
                to: words.next()?.to_owned(),
            },
            _ => return None,
        };
        words.next().is_none().then_some(breach)
    }
}

/// What breaks the walls today, each with the lines of code that do.
pub fn breaches(sources: &[Source], plan: &Plan) -> BTreeMap<Breach, Vec<String>> {
    let rooms: BTreeSet<&str> = sources.iter().map(|it| it.room.as_str()).collect();
    let mut found = BTreeMap::new();
    for room in rooms {
        let arrows = Modules::of(sources, room).arrows();
        for arrow in arrows.iter().filter(|it| it.climbs) {
            let (from, to) = (arrow.from.clone(), arrow.to.clone());
            found.insert(Breach::Climb { from, to }, vec![said(arrow)]);
        }
        for files in circles(&arrows) {
            let inside = arrows
                .iter()
                .filter(|it| files.contains(&it.from) && files.contains(&it.to));
            let lines: Vec<String> = inside.map(said).collect();
            let arrows = lines.len();
            found.insert(Breach::Circle { files, arrows }, lines);
        }
    }
    for (breach, line) in above(sources, plan) {
        found.entry(breach).or_insert_with(Vec::new).push(line);
    }
    found
}

fn said(arrow: &Arrow) -> String {
    let Arrow {
        from,
        to,
        line,
        said,
        ..
    } = arrow;
    format!("{}:{line} uses {said} of {}", from.display(), to.display())
}

/// Sets of files that can each be reached from each of the others.
fn circles(arrows: &[Arrow]) -> Vec<BTreeSet<PathBuf>> {
    let (mut there, mut back) = (Graph::new(), Graph::new());
    for arrow in arrows {
        there.entry(&arrow.from).or_default().insert(&arrow.to);
        back.entry(&arrow.to).or_default().insert(&arrow.from);
    }
    let mut done: BTreeSet<&Path> = BTreeSet::new();
    let mut circles = Vec::new();
    for start in there.keys().copied() {
        if done.contains(start) {
            continue;
        }
        let (ahead, behind) = (reached(&there, start), reached(&back, start));
        let both: BTreeSet<&Path> = ahead.intersection(&behind).copied().collect();
        done.extend(&both);
        if both.len() > 1 {
            circles.push(both.into_iter().map(Path::to_owned).collect());
        }
    }
    circles
}

type Graph<'a> = BTreeMap<&'a Path, BTreeSet<&'a Path>>;

fn reached<'a>(graph: &Graph<'a>, start: &'a Path) -> BTreeSet<&'a Path> {
    let mut found = BTreeSet::from([start]);
    let mut open = vec![start];
    while let Some(at) = open.pop() {
        for next in graph.get(at).into_iter().flatten() {
            if found.insert(next) {
                open.push(next);
            }
        }
    }
    found
}

/// Uses of packages that stand no lower, modules of other packages read as files, and what a room must
/// not know.
fn above(sources: &[Source], plan: &Plan) -> Vec<(Breach, String)> {
    let names: Vec<String> = plan
        .rooms
        .iter()
        .map(|(room, _)| package_of(room))
        .collect();
    let mut found = Vec::new();
    // Examples may use what tests use.
    let is_example = |it: &Source| it.path.iter().any(|it| it == "examples");
    for source in sources.iter().filter(|it| !it.is_test && !is_example(it)) {
        found.extend(files_of_others(source));
        let own = plan.rooms.iter().position(|(room, _)| *room == source.room);
        let never = plan.never.get(&source.room);
        let Some(own) = own else {
            continue;
        };
        for (line, path) in modules::paths(&source.product) {
            let other = names
                .iter()
                .position(|it| *it == path[0])
                .filter(|it| *it > own);
            let other = other.map(|it| plan.rooms[it].0.clone());
            let path = path.join("::");
            let unwanted = never
                .into_iter()
                .flatten()
                .find(|it| begins_with(&path, it));
            for to in other.into_iter().chain(unwanted.cloned()) {
                let line = format!("{}:{line} uses {path}", source.path.display());
                let from = source.room.clone();
                found.push((Breach::Above { from, to }, line));
            }
        }
    }
    found
}

fn begins_with(path: &str, what: &str) -> bool {
    let rest = path.strip_prefix(what);
    rest.is_some_and(|it| it.is_empty() || it.starts_with("::"))
}

/// The name in code of the package in a folder.
fn package_of(room: &str) -> String {
    let name = match room {
        "src" => return "netreel".to_owned(),
        "samples/engine" => "sample_engine",
        "inspector/model" => "inspector_model",
        room => room.rsplit('/').next().unwrap_or(room),
    };
    format!("netreel_{}", name.replace('-', "_"))
}

/// Each `#[path]` that leads out of the package.
fn files_of_others(source: &Source) -> Vec<(Breach, String)> {
    let mut found = Vec::new();
    let said = |it: &[lexer::Token<'_>]| it[0].text == "#" && it[2].text == "path";
    for tokens in source.product.windows(5).filter(|it| said(it)) {
        let path = tokens[4].text.trim_matches('"');
        // Folders between the file and its package.
        let inside = source
            .path
            .strip_prefix(source.room.as_str())
            .unwrap_or(&source.path);
        let up = path.split('/').filter(|it| *it == "..").count();
        if up >= inside.components().count() {
            let to = path.trim_start_matches("../").to_owned();
            let line = format!("{}:{} reads {path}", source.path.display(), tokens[4].line);
            let from = source.room.clone();
            found.push((Breach::Above { from, to }, line));
        }
    }
    found
}
