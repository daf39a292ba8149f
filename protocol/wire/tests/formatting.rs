//! Formatting: all wires that lie in the repository, and the same with their blanks disturbed.

use std::path::{Path, PathBuf};

use netreel_wire::{LexemeKind, Wire, format, lexemes};
use proptest::prelude::*;

fn wires() -> Vec<(PathBuf, String)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(here.join("../../samples/wires")).expect("the samples") {
        let path = entry.expect("an entry").path();
        if path
            .extension()
            .is_some_and(|extension| extension == "wire")
        {
            let text = std::fs::read_to_string(&path).expect("a wire");
            found.push((path, text));
        }
    }
    found.sort();
    assert!(found.len() >= 8, "the wires are there");
    found
}

fn pieces(text: &str) -> Vec<&str> {
    let lexemes = lexemes(text).into_iter();
    lexemes
        .filter_map(|it| text.get(it.range))
        .collect::<Vec<_>>()
}

/// Formats a text and holds what has to hold of every one.
fn formatted(name: &str, text: &str) -> String {
    let once = format(name, text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(pieces(&once), pieces(text), "{name}: only blanks change");
    let twice = format(name, &once).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(twice, once, "{name}: formatted twice");
    once
}

#[test]
fn the_samples_are_formatted() {
    for (path, text) in wires() {
        let name = path.display().to_string();
        let formatted = formatted(&name, &text);
        let lines = formatted.lines().zip(text.lines());
        for (line, (formatted, text)) in (1..).zip(lines) {
            assert_eq!(formatted, text, "{name}, line {line}");
        }
        assert!(formatted == text, "{name}");
    }
}

#[test]
fn a_formatted_wire_is_the_same_protocol() {
    for (path, text) in wires() {
        let name = path.display().to_string();
        let folder = path.parent().expect("a folder");
        let compile = |text: &str| {
            Wire::compile_with(&name, text, &mut |import| {
                std::fs::read_to_string(folder.join(import))
            })
        };
        let Ok(before) = compile(&text) else { continue };
        let squeezed = squeezed(&text);
        let after = compile(&formatted(&name, &squeezed)).unwrap_or_else(|error| panic!("{error}"));
        let of = |wire: &Wire| -> Vec<(String, Option<u32>)> {
            let protocols = wire.protocols();
            protocols
                .map(|(name, version)| (name.to_owned(), version))
                .collect()
        };
        assert_eq!(of(&after), of(&before), "{name}");
        assert_eq!(after.kinds(), before.kinds(), "{name}");
        let outcomes = |wire: &Wire| -> Vec<(String, bool)> {
            let results = wire.run_tests().into_iter();
            results
                .map(|test| (test.name.clone(), test.passed()))
                .collect()
        };
        assert_eq!(outcomes(&after), outcomes(&before), "{name}");
        for packet in packets() {
            let read = |wire: &Wire| {
                let decoded = wire.decode(&packet);
                // Lua tells the line of the wire.
                let places = decoded.diagnostics.into_iter().map(|it| (it.path, it.bit));
                (decoded.facts, places.collect::<Vec<_>>())
            };
            assert_eq!(read(&after), read(&before), "{name}");
        }
    }
}

/// Bytes that say something in one protocol or another.
fn packets() -> Vec<Vec<u8>> {
    let mut packets = vec![Vec::new(), vec![0xff; 40], vec![0x47, 1, 0, 1, 1, 42, 0]];
    let mut seed = 1u32;
    for length in [5, 17, 64, 300] {
        let byte = |_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 24) as u8
        };
        packets.push((0..length).map(byte).collect());
    }
    packets
}

/// The text without blanks but where two pieces would become one.
fn squeezed(text: &str) -> String {
    let mut out = String::new();
    for lexeme in lexemes(text) {
        out.push_str(lexeme.text(text));
        // A function of Lua in a call is a text; a view of what comes is named as it is spelled.
        out.push(match lexeme.kind {
            LexemeKind::LineComment => '\n',
            _ => ' ',
        });
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn blanks_do_not_matter(place in 0usize..100, gaps in prop::collection::vec(0usize..8, 200)) {
        let wires = wires();
        let (path, text) = &wires[place % wires.len()];
        let mut disturbed = String::new();
        let lexemes = lexemes(text);
        for (lexeme, gap) in lexemes.iter().zip(gaps.iter().cycle()) {
            disturbed.push_str(lexeme.text(text));
            let line_ends = lexeme.kind == LexemeKind::LineComment;
            disturbed.push_str(match gap {
                0..=2 if !line_ends => " ",
                3 if !line_ends => "   ",
                4 if !line_ends => "\t",
                5 => "\n",
                6 => "\n\n\n  ",
                _ => "\n            ",
            });
        }
        // Items are found again at the start of a line alone, after a mistake; there is none here.
        formatted(&path.display().to_string(), &disturbed);
    }
}
