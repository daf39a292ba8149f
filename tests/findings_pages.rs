//! docs/findings: a page for each rule, and a rule for each page.

mod support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use netreel_protocol::history::RULES;
use support::netreel;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/findings")
}

fn page(rule: &str) -> String {
    let path = folder().join(format!("{rule}.md"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_rule_has_a_page_and_every_page_a_rule() {
    let entries = std::fs::read_dir(folder()).expect("the folder");
    let pages = entries.filter_map(|entry| {
        let path = entry.expect("an entry").path();
        let is_page = path.extension().is_some_and(|it| it == "md");
        let name = path.file_stem()?.to_str()?.to_owned();
        is_page.then_some(name)
    });
    let pages: BTreeSet<String> = pages.collect();
    let rules: BTreeSet<String> = RULES.iter().map(|rule| (*rule).to_owned()).collect();
    assert_eq!(pages, rules);
}

#[test]
fn every_page_has_the_same_parts_and_says_what_is_not_meant() {
    for rule in RULES {
        let page = page(rule);
        assert!(page.starts_with(&format!("# {rule}\n")), "{rule}");
        for part in ["level", "cause", "proof", "cure", "not meant"] {
            let row = page
                .lines()
                .find(|line| line.starts_with(&format!("| {part} | ")));
            let row = row.unwrap_or_else(|| panic!("{rule} has no {part}"));
            assert!(row.len() > part.len() + 10, "{rule}: {row}");
        }
        assert!(page.contains("```sh\n"), "{rule} shows no session");
    }
}

/// Clocks that disagree in more than a few packets are brought together, and then nothing is found.
const WITHOUT_PICTURE: [&str; 1] = ["clock-disagreement"];

#[test]
fn every_page_shows_what_its_rule_found() {
    for rule in RULES.iter().filter(|it| !WITHOUT_PICTURE.contains(it)) {
        let picture = format!("](pictures/{rule}.png)");
        assert!(page(rule).contains(&picture), "{rule} has no picture");
    }
}

#[test]
fn every_picture_of_a_page_is_there_and_every_picture_is_shown() {
    let mut shown = BTreeSet::new();
    for rule in RULES {
        let page = page(rule);
        let pictures = page.split("](").skip(1).filter_map(|rest| {
            let (path, _) = rest.split_once(')')?;
            path.ends_with(".png").then_some(path)
        });
        for path in pictures {
            let bytes = std::fs::read(folder().join(path));
            let bytes = bytes.unwrap_or_else(|error| panic!("{rule}: {path}: {error}"));
            assert!(bytes.starts_with(b"\x89PNG"), "{path}");
            shown.insert(path.trim_start_matches("pictures/").to_owned());
        }
    }
    let entries = std::fs::read_dir(folder().join("pictures")).expect("pictures");
    for entry in entries {
        let name = entry.expect("an entry").file_name();
        let name = name.to_str().expect("UTF-8").to_owned();
        assert!(shown.contains(&name), "no page shows {name}");
    }
}

fn doc(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs")
        .join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_table_of_bugs_has_a_row_for_each_rule_with_its_page_s_levels_and_what_the_wire_must_declare()
{
    let check = doc("check.md");
    let heading = "\n### Which bug is found by which rule\n";
    let (_, table) = check.split_once(heading).expect("the table");
    let (table, _) = table.split_once("\n#").expect("what comes next");
    let language = doc("wire-language.md");
    for rule in RULES {
        let link = format!("[{rule}](findings/{rule}.md)");
        let row = table.lines().find(|line| line.contains(&link));
        let row = row.unwrap_or_else(|| panic!("docs/check.md: no row of the table has {link}"));
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 5, "{row}");
        assert!(cells.iter().all(|cell| !cell.is_empty()), "{row}");
        let level = format!("| level | {} |", cells[3]);
        assert!(
            page(rule).contains(&level),
            "{rule}: its page lacks {level}"
        );
        for word in cells[4].split('`').filter(|word| word.starts_with('@')) {
            assert!(
                language.contains(word),
                "{rule}: docs/wire-language.md has no {word}"
            );
        }
    }
}

#[test]
fn check_names_the_pages_of_the_rules_that_found_something() {
    let session = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/sessions/host");
    let ran = netreel(&["check", session, "--no-index"]).expect(1);
    let line = "what they mean (docs/findings): migrate-before-create.md, zombie-object.md\n";
    assert!(ran.out.contains(line), "{}", ran.out);
}

#[test]
fn check_names_no_page_where_nothing_was_found() {
    let session = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/sessions/host");
    let filter = ["--filter", "rule == two-owners"];
    let ran = netreel(&[&["check", session, "--no-index"], &filter[..]].concat());
    assert!(!ran.out.contains("docs/findings"), "{}", ran.out);
}
