//! How heavy the house is, and whether its walls hold: `./dev weight`, and tests.
//!
//! A room is a package. `rooms.txt` says what each may weigh, the ground floor first, and what it must
//! not know; `exceptions.txt` lists the climbs and circles that are there still, and only gets shorter.
//! All of it needs the standard library alone: `./dev weight` compiles it by itself in a few seconds.

#[cfg(test)]
mod hooks;
mod lexer;
mod modules;
mod plan;
mod sources;
mod walls;
mod weight;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use plan::Plan;
use sources::Source;
use walls::Breach;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let root = Path::new(".");
    let sources = sources::read(root);
    match words.as_slice() {
        [] => show(&sources, &Plan::read(root)),
        ["--write"] => write(root, &sources, false),
        ["--write", "--anew"] => write(root, &sources, true),
        ["--walls"] => show_walls(&sources, &Plan::read(root)),
        [room] if sources.iter().any(|it| it.room == *room) => {
            let table = weight::table(&sources, Some(room));
            println!("{}", weight::printed(&table, &BTreeMap::new()));
        }
        _ => {
            eprintln!(
                "usage: ./dev weight [ROOM | --walls | --write [--anew]]; a room is the folder of a package"
            );
            std::process::exit(2);
        }
    }
}

fn show(sources: &[Source], plan: &Plan) {
    let limits = plan.rooms.iter().cloned().collect();
    println!(
        "{}",
        weight::printed(&weight::table(sources, None), &limits)
    );
}

/// Every exception with the lines of code that need it.
fn show_walls(sources: &[Source], plan: &Plan) {
    for (breach, lines) in walls::breaches(sources, plan) {
        println!("{breach}\n    {}", lines.join("\n    "));
    }
}

/// Lowers what rooms may weigh to what they weigh, and takes exceptions out that nothing needs; with
/// `anew` both are as the code is today, be it more.
fn write(root: &Path, sources: &[Source], anew: bool) {
    let mut plan = Plan::read(root);
    let known = plan::exceptions(root);
    let found = walls::breaches(sources, &plan);
    let found: BTreeSet<Breach> = found.into_keys().collect();
    if !anew && !is_no_longer(&found, &known) {
        eprintln!(
            "The list of exceptions would get longer: `cargo test --test house` says by what."
        );
        std::process::exit(1);
    }
    let table = weight::table(sources, None);
    for (room, may) in &mut plan.rooms {
        let weighs = table.get(room).map_or(0, |it| it.product);
        *may = if anew { weighs } else { weighs.min(*may) };
    }
    for (room, weight) in table.iter().filter(|(_, it)| it.product > 0) {
        if plan.rooms.iter().all(|(it, _)| it != room) {
            plan.rooms.push((room.clone(), weight.product));
        }
    }
    plan.all = plan.rooms.iter().map(|(_, it)| it).sum();
    plan.write(root);
    plan::write_exceptions(root, &found);
}

/// Whether a list is no longer than another: in entries of each kind, and in what circles hold. So a
/// file may be renamed.
fn is_no_longer(found: &BTreeSet<Breach>, known: &BTreeSet<Breach>) -> bool {
    let sizes = |list: &BTreeSet<Breach>| {
        let mut sizes = [0; 4];
        for breach in list {
            match breach {
                Breach::Circle { files, arrows } => {
                    sizes[0] += files.len();
                    sizes[1] += arrows;
                }
                Breach::Climb { .. } => sizes[2] += 1,
                Breach::Above { .. } => sizes[3] += 1,
            }
        }
        sizes
    };
    let (found, known) = (sizes(found), sizes(known));
    found
        .iter()
        .zip(known)
        .all(|(found, known)| *found <= known)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::OnceLock;

    use super::*;

    fn root() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR"))
    }

    fn here() -> &'static [Source] {
        static HERE: OnceLock<Vec<Source>> = OnceLock::new();
        HERE.get_or_init(|| sources::read(root()))
    }

    #[test]
    fn no_room_weighs_more_than_it_may() {
        let (sources, plan) = (here(), Plan::read(root()));
        let limits: BTreeMap<&str, usize> = plan
            .rooms
            .iter()
            .map(|(room, may)| (room.as_str(), *may))
            .collect();
        let mut wrong = Vec::new();
        for (room, weight) in weight::table(sources, None) {
            match limits.get(room.as_str()) {
                None if weight.product == 0 => {}
                None => wrong.push(format!("{room} stands on no floor: give it a line")),
                Some(may) if weight.product > *may => wrong.push(format!(
                    "{room} weighs {} tokens and may weigh {may}: look for what the change makes \
                     unnecessary (`./dev weight {room}` shows its folders), or raise its number and \
                     lower another room's by as much",
                    weight.product
                )),
                Some(_) => {}
            }
        }
        let sum: usize = limits.values().sum();
        if sum > plan.all {
            wrong.push(format!(
                "the rooms may weigh {sum} tokens together and the house {}: lower a number by what \
                 another was raised",
                plan.all
            ));
        }
        assert!(
            wrong.is_empty(),
            "tests/house/rooms.txt:\n{}",
            wrong.join("\n")
        );
    }

    #[test]
    fn nothing_climbs_and_nothing_goes_round_but_what_is_listed() {
        let (sources, plan) = (here(), Plan::read(root()));
        let known = plan::exceptions(root());
        let found = walls::breaches(sources, &plan);
        let mut wrong = Vec::new();
        for (breach, lines) in &found {
            if !known.iter().any(|it| is_within(breach, it)) {
                wrong.push(explained(breach, lines, &known));
            }
        }
        // A new circle takes the place of the smaller one that was known: one sentence is enough.
        let unneeded = known.iter().filter(|it| {
            match it {
            Breach::Circle { files, .. } => !found.keys().any(|found| {
                matches!(found, Breach::Circle { files: now, .. } if now.is_superset(files))
            }),
            it => !found.contains_key(it),
        }
        });
        for breach in unneeded {
            wrong.push(format!(
                "no longer needed, `./dev weight --write` takes it out: {breach}"
            ));
        }
        assert!(
            wrong.is_empty(),
            "tests/house/exceptions.txt:\n{}",
            wrong.join("\n")
        );
    }

    /// How many lines outside of the room `system` may say for which operating system they are.
    const SYSTEMS_MAX: usize = 40;

    #[test]
    fn what_differs_between_systems_stands_in_one_room() {
        let mut lines = Vec::new();
        for source in here().iter().filter(|it| it.room != "system") {
            for (at, token) in source.product.iter().enumerate() {
                let says = |it: &lexer::Token| ["unix", "windows", "target_os"].contains(&it.text);
                let behind = source.product.iter().skip(at).take(8);
                if ["cfg", "cfg_attr"].contains(&token.text) && behind.clone().any(says) {
                    lines.push(format!("{}:{}", source.path.display(), token.line));
                }
            }
        }
        assert!(
            lines.len() <= SYSTEMS_MAX,
            "{} lines say for which system they are, and {SYSTEMS_MAX} may: let a function of the room \
             `system` answer instead:\n    {}",
            lines.len(),
            lines.join("\n    ")
        );
    }

    /// Whether an exception for `known` is one for `found` as well: the same, or less of it.
    fn is_within(found: &Breach, known: &Breach) -> bool {
        match (found, known) {
            (
                Breach::Circle { files, arrows },
                Breach::Circle {
                    files: known,
                    arrows: may,
                },
            ) => files.is_subset(known) && arrows <= may,
            _ => found == known,
        }
    }

    /// What is wrong, the lines that are at fault, and what to do.
    fn explained(breach: &Breach, lines: &[String], known: &BTreeSet<Breach>) -> String {
        let (what, cure) = match breach {
            Breach::Circle { files, arrows } => {
                let old = known.iter().filter_map(|it| match it {
                    Breach::Circle { files, .. } => Some(files),
                    _ => None,
                });
                let old: BTreeSet<&Path> = old.flatten().map(PathBuf::as_path).collect();
                let new: Vec<_> = files
                    .iter()
                    .filter(|it| !old.contains(it.as_path()))
                    .collect();
                let what = match new.as_slice() {
                    [] => format!(
                        "{arrows} uses among {} files that use each other are more than the list has",
                        files.len()
                    ),
                    new => format!("files that use each other in a round, new among them: {new:?}"),
                };
                (
                    what,
                    "move what both need into a file below them, or hand it over as an argument",
                )
            }
            Breach::Climb { from, to } => (
                format!(
                    "{} uses what {} declares, which declares it",
                    from.display(),
                    to.display()
                ),
                "move it into a file of its own beside the user, or hand it over as an argument",
            ),
            Breach::Above { from, to } => (
                format!("{from} must not know {to}"),
                "move what it needs into a room below both (docs/ARCHITECTURE.md), or hand it over",
            ),
        };
        let shown: Vec<_> = lines.iter().take(12).cloned().collect();
        format!("{what}. {cure}:\n    {}", shown.join("\n    "))
    }

    /// A room of files, each a name and its text.
    fn room(files: &[(&str, &str)]) -> Vec<Source> {
        let source = |(path, text): &(&str, &str)| {
            let path = format!("room/src/{path}").into();
            Source::new(path, "room", (*text).to_owned())
        };
        files.iter().map(source).collect()
    }

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let found = walls::breaches(&room(files), &Plan::default());
        let found: Vec<String> = found.into_keys().map(|it| it.to_string()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_goes_down_is_no_breach() {
        check(
            &[
                (
                    "lib.rs",
                    "mod a; mod b; use a::A; pub use b::B; fn all() { A; b::B; }",
                ),
                ("a.rs", "use crate::b::B; pub struct A;"),
                (
                    "b.rs",
                    "use std::fmt; pub struct B; #[cfg(test)] mod tests { use crate::a::A; }",
                ),
            ],
            &[],
        );
    }

    #[test]
    fn a_circle_is_found_through_what_another_hands_on() {
        check(
            &[
                ("lib.rs", "mod a; mod b; pub use a::{A, C as D};"),
                ("a.rs", "use crate::b::B; pub struct A; pub struct C;"),
                ("b.rs", "fn f() -> crate::D { 1 } pub struct B;"),
            ],
            &["circle 2 room/src/a.rs room/src/b.rs"],
        );
    }

    #[test]
    fn a_climb_is_found_and_a_comment_or_a_text_is_none() {
        check(
            &[
                ("lib.rs", "mod a; pub struct Whole;"),
                (
                    "a/mod.rs",
                    "mod b; fn f() {}\n// crate::Whole\nconst X: &str = \"crate::Whole\";",
                ),
                ("a/b.rs", "use super::super::Whole; fn g() { super::f() }"),
            ],
            &[
                "climb room/src/a/b.rs room/src/a/mod.rs",
                "climb room/src/a/b.rs room/src/lib.rs",
            ],
        );
    }

    #[test]
    fn a_room_uses_none_above_it_and_nothing_that_it_must_not_know() {
        let mut plan = Plan::default();
        plan.rooms = vec![("room".to_owned(), 0), ("capture/reel".to_owned(), 0)];
        plan.never
            .insert("room".to_owned(), vec!["std::fs".to_owned()]);
        let files = [(
            "lib.rs",
            "use netreel_reel::Reel; use std::{fmt, fs::File};",
        )];
        let found = walls::breaches(&room(&files), &plan);
        let found: Vec<String> = found.into_keys().map(|it| it.to_string()).collect();
        assert_eq!(found, ["above room capture/reel", "above room std::fs"]);
    }

    #[test]
    fn comments_and_tests_weigh_nothing() {
        let text = "fn f() { g(\"a \\\" b\", r#\"c\"d\"#, 'x', '\\'', 1.5) } // no\n/* no */ /// no\n\
                    #[cfg(test)]\nmod tests { fn t() {} }\n#[cfg(test)]\nuse a::{b, c};\nfn h<'a>() {}";
        let all = lexer::tokens(text);
        let kept: Vec<&str> = lexer::without_tests(&all)
            .iter()
            .map(|it| it.text)
            .collect();
        let expected = "fn f ( ) { g ( \"a|\\\"|b\" , r#\"c\"d\"# , 'x' , '\\'' , 1.5 ) } fn h < ' a > ( ) { }";
        let expected: Vec<String> = expected.split(' ').map(|it| it.replace('|', " ")).collect();
        assert_eq!(kept, expected);
    }

    fn page(name: &str) -> String {
        let text = std::fs::read_to_string(root().join(name));
        text.unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    #[test]
    fn the_map_is_short_and_has_every_room() {
        let map = page("docs/ARCHITECTURE.md");
        let words = map.split_whitespace().count();
        assert!(
            words <= 1800,
            "docs/ARCHITECTURE.md has {words} words and may have 1800: decisions go to docs/decisions"
        );
        for (room, _) in Plan::read(root()).rooms {
            let is_there = map.contains(&format!("| `{room}` |"));
            let is_sample = room.starts_with("samples/engines/");
            assert!(
                is_there || is_sample,
                "docs/ARCHITECTURE.md has no row of {room}"
            );
        }
    }

    #[test]
    fn every_file_that_the_map_and_the_decisions_name_is_there() {
        let decisions = std::fs::read_dir(root().join("docs/decisions")).expect("the folder");
        let decisions = decisions
            .flatten()
            .map(|it| it.file_name().into_string().expect("a name"));
        let mut pages: Vec<String> = decisions.map(|it| format!("docs/decisions/{it}")).collect();
        pages.extend(["docs/ARCHITECTURE.md", "docs/how-a-session-is-made.md"].map(str::to_owned));
        pages.sort();
        let mut missing = Vec::new();
        for name in pages {
            let text = page(&name);
            let quoted = text.split('`').skip(1).step_by(2);
            for path in quoted.filter(|it| it.ends_with(".rs") && !it.contains(' ')) {
                if !here().iter().any(|it| it.path.ends_with(path)) {
                    missing.push(format!("{name}: `{path}`"));
                }
            }
        }
        assert!(
            missing.is_empty(),
            "no such file, or it has another name now:\n{}",
            missing.join("\n")
        );
    }

    /// All texts of the product's code, with what is filled in as `…`.
    fn texts() -> String {
        let mut all = String::new();
        for token in here().iter().flat_map(|it| &it.product) {
            if !token.text.starts_with('"') {
                continue;
            }
            for (at, line) in token.text.split("\\\n").enumerate() {
                let line = if at == 0 { line } else { line.trim_start() };
                let (mut depth, mut filled) = (0, String::new());
                for letter in line.chars() {
                    match letter {
                        '{' => depth += 1,
                        '}' => depth -= 1,
                        _ if depth > 0 => continue,
                        letter => filled.push(letter),
                    }
                    if letter == '}' {
                        filled.push('…');
                    }
                }
                all += &filled;
            }
            all.push('\n');
        }
        all
    }

    #[test]
    fn every_message_of_the_page_on_trouble_is_one_of_the_code() {
        let texts = texts();
        let page = page("docs/troubleshooting.md");
        let (mut count, mut missing) = (0, Vec::new());
        for row in page.lines().filter(|it| it.starts_with("| `")) {
            let cell = row.split(" | ").next().unwrap_or("");
            for message in cell.split('`').skip(1).step_by(2) {
                let parts = message
                    .split('…')
                    .map(|it| it.trim_matches([' ', ':', ';', '`']));
                for part in parts.filter(|it| it.len() > 5) {
                    count += 1;
                    if !texts.contains(part) {
                        missing.push(part.to_owned());
                    }
                }
            }
        }
        assert!(count > 30, "{count} messages");
        assert!(missing.is_empty(), "no code says so: {missing:#?}");
    }

    #[test]
    fn every_page_links_to_what_is_there() {
        let mut missing = Vec::new();
        for name in pages() {
            let text = page(&name);
            let folder = Path::new(&name).parent().unwrap_or(Path::new(""));
            for link in text
                .split("](")
                .skip(1)
                .filter_map(|it| it.split(')').next())
            {
                let file = link.split('#').next().unwrap_or("");
                let is_elsewhere = link.contains("://") || file.is_empty() || file.contains(' ');
                if !is_elsewhere && !root().join(folder).join(file).exists() {
                    missing.push(format!("{name}: {link}"));
                }
            }
        }
        assert!(
            missing.is_empty(),
            "links that lead nowhere:\n{}",
            missing.join("\n")
        );
    }

    /// All pages of the repository's docs.
    fn pages() -> Vec<String> {
        let mut pages = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"]
            .map(str::to_owned)
            .to_vec();
        for folder in ["docs", "docs/decisions", "docs/findings", "docs/guides"] {
            let entries = std::fs::read_dir(root().join(folder)).expect("a folder of docs");
            let names = entries
                .flatten()
                .map(|it| it.file_name().to_string_lossy().into_owned());
            pages.extend(
                names
                    .filter(|it| it.ends_with(".md"))
                    .map(|it| format!("{folder}/{it}")),
            );
        }
        pages.sort();
        pages
    }

    #[test]
    fn comments_are_no_wider_than_110_letters() {
        let is_wide = |line: &str| {
            let words = line.trim_start();
            // A row of a table is one line, and what `netreel shrink` made stays as it made it.
            let is_free = ["//! |", "/// |", "//! Made by `netreel shrink`"];
            line.chars().count() > 110
                && words.starts_with("//")
                && !is_free.iter().any(|it| words.starts_with(it))
        };
        let mut wide = Vec::new();
        for path in here().iter().map(|source| &source.path) {
            let text = std::fs::read_to_string(root().join(path)).unwrap_or_default();
            let lines = text.lines().zip(1..).filter(|(line, _)| is_wide(line));
            wide.extend(lines.map(|(_, number)| format!("{}:{number}", path.display())));
        }
        assert!(wide.is_empty(), "wider:\n{}", wide.join("\n"));
    }

    #[test]
    fn samples_of_output_have_moments_to_the_microsecond() {
        let mut wrong = Vec::new();
        for name in pages() {
            let text = page(&name);
            let blocks = text.split("```").skip(1).step_by(2);
            let is_printed = |it: &&str| it.starts_with('\n') || it.starts_with("text\n");
            for line in blocks.filter(is_printed).flat_map(str::lines) {
                let words: Vec<&str> = line.split_whitespace().collect();
                let first = words.first().filter(|_| words.get(1) == Some(&"s"));
                let behind = words.windows(3).filter(|it| it[0] == "at" && it[2] == "s");
                let moments = behind.map(|it| it[1]).chain(first.copied());
                let short = |it: &str| it.split_once('.').is_some_and(|(_, part)| part.len() != 6);
                wrong.extend(
                    moments
                        .filter(|it| short(it))
                        .map(|_| format!("{name}: {line}")),
                );
            }
        }
        assert!(
            wrong.is_empty(),
            "netreel prints six decimals:\n{}",
            wrong.join("\n")
        );
    }
}
