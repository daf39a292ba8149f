//! The TextMate grammar `docs/vscode/netreel.tmLanguage.json` is made from the language's own tables, so
//! that an editor colours what the compiler knows.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value as Json, json};

use crate::check::vocabulary;
use crate::syntax::{ITEMS, RESERVED};
use crate::words::{HelpKind, words_of};

const FILE: &str = "docs/vscode/netreel.tmLanguage.json";

/// Words with a meaning inside an item: those that the parser compares with.
fn words_of_the_parser() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/syntax");
    let mut words = BTreeSet::new();
    for entry in std::fs::read_dir(folder).expect("the parser's folder") {
        let path = entry.expect("an entry").path();
        let source = std::fs::read_to_string(path).expect("a source file");
        for after in source.split("_word(\"").skip(1) {
            words.extend(after.split('"').next().map(str::to_owned));
        }
        for line in source.lines().map(str::trim_start) {
            let word = line.strip_prefix('"').and_then(|rest| rest.split_once('"'));
            let Some((word, rest)) = word else { continue };
            let is_arm = rest.starts_with(" =>") || rest.starts_with(" if ");
            let is_word = word
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_');
            if is_arm && is_word && !word.is_empty() {
                words.insert(word.to_owned());
            }
        }
    }
    words
}

fn annotations() -> Vec<&'static str> {
    vocabulary().map(|known| known.spelled()).collect()
}

fn settings() -> Vec<&'static str> {
    let kinds = [HelpKind::OfWire, HelpKind::OfRules, HelpKind::OfTest];
    kinds.into_iter().flat_map(words_of).collect()
}

/// One of these words.
fn any_of<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    let sorted: BTreeSet<&str> = words.into_iter().collect();
    let sorted: Vec<&str> = sorted.into_iter().collect();
    format!("\\b(?:{})\\b", sorted.join("|"))
}

fn grammar() -> Json {
    let parser = words_of_the_parser();
    let items: BTreeSet<&str> = ITEMS.into_iter().collect();
    let reserved: BTreeSet<&str> = RESERVED.into_iter().collect();
    let inside = parser
        .iter()
        .map(String::as_str)
        .filter(|word| !items.contains(word) && !reserved.contains(word));
    let control = RESERVED
        .into_iter()
        .filter(|word| !["true", "false"].contains(word));
    let pattern = |name: &str, pattern: String| json!({ "name": format!("{name}.netreel"), "match": pattern });
    let declaration = format!("^\\s*({})\\s+([A-Za-z_]\\w*)", any_of(ITEMS));
    json!({
        "name": "netreel wire",
        "scopeName": "source.netreel",
        "fileTypes": ["wire"],
        "patterns": [
            { "include": "#comments" },
            { "include": "#texts" },
            { "include": "#annotations" },
            { "include": "#declarations" },
            { "include": "#words" },
            { "include": "#types" },
            { "include": "#numbers" },
            { "include": "#names" },
        ],
        "repository": {
            "comments": { "patterns": [
                pattern("comment.line.double-slash", "//.*$".to_owned()),
                { "name": "comment.block.netreel", "begin": "/\\*", "end": "\\*/" },
            ] },
            "texts": { "patterns": [
                { "begin": "\\b(lua)\\s*\"\"\"", "end": "\"\"\"",
                  "beginCaptures": { "1": { "name": "keyword.declaration.netreel" } },
                  "contentName": "meta.embedded.block.lua source.lua",
                  "patterns": [{ "include": "source.lua" }] },
                pattern("constant.other.bytes", "\\bx\"[^\"\\n]*\"?".to_owned()),
                { "name": "string.quoted.double.netreel", "begin": "\"", "end": "\"|$",
                  "patterns": [
                      pattern("constant.character.escape", "\\\\(?:[nrt0\"\\\\]|x[0-7][0-9a-fA-F]|u\\{[0-9a-fA-F]{1,6}\\})".to_owned()),
                      pattern("invalid.illegal.escape", "\\\\.".to_owned()),
                  ] },
            ] },
            "annotations": { "patterns": [
                pattern("storage.modifier.annotation", format!("@{}", any_of(annotations()))),
                pattern("invalid.illegal.annotation", "@\\w*".to_owned()),
            ] },
            "declarations": { "patterns": [
                { "match": declaration, "captures": {
                    "1": { "name": "keyword.declaration.netreel" },
                    "2": { "name": "entity.name.type.netreel" },
                } },
                pattern("keyword.declaration", format!("^\\s*{}(?=\\s*\")", any_of(ITEMS))),
            ] },
            "words": { "patterns": [
                pattern("keyword.control", any_of(control)),
                pattern("constant.language", any_of(["true", "false"])),
                pattern("variable.other.property", format!("{}(?=\\s*=[^=>])", any_of(settings()))),
                pattern("keyword.other", format!("(?<![.@]){}(?!\\s*[:.])", any_of(inside))),
            ] },
            "types": { "patterns": [
                pattern("support.type", "\\b[ui](?:[1-9]|[1-5][0-9]|6[0-4])(?:le|be)?\\b".to_owned()),
                pattern("support.type", format!("(?<!\\.){}", any_of(words_of(HelpKind::Type)))),
            ] },
            "numbers": { "patterns": [
                pattern(
                    "constant.numeric",
                    "\\b(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|[0-9][0-9_]*(?:\\.[0-9][0-9_]*)?)\\b".to_owned(),
                ),
            ] },
            "names": { "patterns": [
                pattern("entity.name.function", "\\b[A-Za-z_]\\w*(?=\\s*\\()".to_owned()),
                pattern("variable.other.member", "\\b[A-Za-z_]\\w*(?=\\s*:[^:])".to_owned()),
            ] },
        },
    })
}

#[test]
fn the_grammar_for_editors_has_the_words_of_the_language() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(FILE);
    let mut expected = serde_json::to_string_pretty(&grammar()).expect("JSON");
    expected.push('\n');
    if std::env::var_os("NETREEL_WRITE").is_some() {
        std::fs::write(&path, &expected).expect("the grammar is written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "{FILE} does not have the words of the language; write it anew with \
         `NETREEL_WRITE=1 cargo test -p netreel-wire highlighting`"
    );
}

#[test]
fn the_parsers_own_words_are_found() {
    let words = words_of_the_parser();
    for word in ["struct", "if", "else", "until", "end", "derived", "test"] {
        assert!(words.contains(word), "{word} is missing in {words:?}");
    }
}

#[test]
fn no_word_has_a_meaning_that_a_pattern_would_change() {
    let types = words_of(HelpKind::Type).collect();
    let all = [annotations(), types, settings()].concat();
    for word in all {
        let plain = word
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        assert!(plain, "{word}");
    }
}
