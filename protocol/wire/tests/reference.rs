//! The examples of the reference are true.

use netreel_wire::{HelpKind, Wire, help};

const REFERENCE: &str = include_str!("../../../docs/wire-language.md");

/// The code block with this number.
fn block(number: usize) -> &'static str {
    REFERENCE
        .split("```")
        .nth(2 * number + 1)
        .expect("a code block")
        .trim_start()
}

/// The second block takes the place of what follows the `wire` block in the first.
fn worked_example() -> String {
    let header = block(0).split("struct Packet").next().unwrap_or_default();
    format!("{header}{}", block(1))
}

fn compile(text: &str) -> Wire {
    Wire::compile("moves.wire", text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_first_wire_decodes() {
    let wire = compile(block(0));
    let packet = [0x47, 1, 0, 1, 42, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x3f];
    let decoded = wire.decode(&packet);
    assert_eq!(decoded.diagnostics, []);
    let last = decoded.tree.iter().last().expect("a field");
    assert_eq!(last.value().to_string(), "1");
}

#[test]
fn the_worked_example_means_what_the_text_says() {
    let wire = compile(&worked_example());
    let packet = [0x47, 1, 0, 1, 1, 0x2a, 0];
    let decoded = wire.decode(&packet);
    assert_eq!(decoded.diagnostics, []);
    assert_eq!(
        decoded.facts.sequence.map(|sequence| sequence.value),
        Some(1)
    );
    let message = &decoded.facts.messages[0];
    assert_eq!(message.object, Some(42));
    let kind = message
        .kind
        .map(|kind| wire.kinds()[usize::from(kind.0)].name.as_str());
    assert_eq!(kind, Some("gone"));
}

/// The first block that has these words.
fn block_with(words: &str) -> &'static str {
    let mut blocks = REFERENCE.split("```").skip(1).step_by(2);
    let found = blocks.find(|block| block.contains(words));
    found.expect("a code block").trim_start()
}

const HEADER: &str = "wire w { byte_order = little; bit_order = lsb; root = Packet; \
                      state = Connection; }";

#[test]
fn a_delta_of_the_reference_gives_whole_values() {
    let wire = compile(&format!("{HEADER}{}", block_with("players: Player[64]")));
    let mut state = wire.new_state();
    let context = netreel_wire::Context::default();
    let first = [1, 0, 0, 0, 2, 0, 0, 0x20, 0x41];
    wire.decode_in(&context, &mut state, &first);
    let decoded = wire.decode_in(&context, &mut state, &[2, 0, 1, 0, 1, 33]);
    assert_eq!(decoded.diagnostics, []);
    let shown: Vec<String> = decoded
        .tree
        .iter()
        .map(|it| it.value().to_string())
        .collect();
    assert_eq!(shown[4..], ["1", "33", "10"]);
}

#[test]
fn a_snapshot_of_the_reference_compiles() {
    let block = block_with("worlds: Object[32][1024]");
    let (state, statements) = block.split_once("\n\n").expect("the statements");
    let text = format!(
        "{HEADER}{state}
         struct Object {{ x: u8; }}
         struct Packet {{ number: u8; base: u8; gone: u8; object: u8; changed: Object; {statements} }}"
    );
    compile(&text);
}

#[test]
fn the_wire_at_the_end_of_the_tutorial_passes_its_test() {
    let wire = compile(block_with("// moves.wire, with acks"));
    let results = wire.run_tests();
    assert!(results.len() == 1 && results[0].passed(), "{results:?}");
}

#[test]
fn the_error_looks_as_it_is_shown() {
    let text = worked_example().replace("@sequence", "@sequense");
    let error = Wire::compile("moves.wire", &text).expect_err("a typing mistake");
    assert_eq!(error.to_string().trim_end(), block(2).trim_end());
}

#[test]
fn every_annotation_is_in_the_reference() {
    let kinds = [HelpKind::OnField, HelpKind::OnStruct, HelpKind::OnMember];
    for help in help().filter(|help| kinds.contains(&help.kind)) {
        let word = format!("`@{}", help.word);
        let is_there = ["`", "("]
            .iter()
            .any(|end| REFERENCE.contains(&format!("{word}{end}")));
        assert!(is_there, "docs/wire-language.md lacks {word}`");
    }
}

#[test]
fn the_tests_of_the_worked_example_pass_and_fail_as_the_text_says() {
    let text = format!("{}\n{}", worked_example(), block(3));
    let results = compile(&text).run_tests();
    assert_eq!(results.len(), 2);
    for result in results {
        assert_eq!(result.failures, [], "{}", result.name);
    }
    let changed = text.replace("y: -2.0 }", "y: 2.0 }");
    let failures = compile(&changed).run_tests().remove(1).failures;
    let told: Vec<String> = failures
        .iter()
        .map(|failure| format!("{}: {}", failure.path, failure.message))
        .collect();
    assert_eq!(told, ["messages[0].y: expected 2.0, found -2"]);
    assert!(REFERENCE.contains(&told[0]), "the page says so too");
}

/// The code block that begins after this heading.
fn block_after(heading: &str) -> &'static str {
    let after = REFERENCE.split_once(heading).expect("the heading").1;
    after
        .split("```")
        .nth(1)
        .expect("a code block")
        .trim_start()
}

const HEAD: &str = "wire t { byte_order = little; bit_order = lsb; root = Packet; }\n";

#[test]
fn the_example_of_type_names_compiles() {
    let example = block_after("\n### `type`\n");
    let wire = compile(&format!(
        "{HEAD}{example} struct Packet {{ player: Player; }}"
    ));
    let decoded = wire.decode(&[2, b'h', b'i', 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]);
    assert_eq!(decoded.diagnostics, []);
}

#[test]
fn the_example_of_c_structs_is_laid_out_as_the_text_says() {
    let wire = compile(&format!("{HEAD}{}", block_after("\n### `c_struct`\n")));
    let decoded = wire.decode(&[0; 2 + 32 + 16]);
    assert_eq!(decoded.diagnostics, []);
    let sizes = |path: &str| {
        let found = decoded
            .tree
            .iter()
            .find(|node| decoded.tree.path(node.id()) == path);
        found.map(|node| node.bits().len() / 8)
    };
    assert_eq!(sizes("state.padding"), Some(3));
    assert_eq!(sizes("state.padding_2"), Some(2));
    assert_eq!(sizes("state.items[3].padding"), Some(1));
}

#[test]
fn the_example_of_a_byte_order_reads_either() {
    let wire = compile(&format!(
        "{HEAD}{} struct Body {{ a: u16; }} struct Packet {{ all: Submessage[until end]; }}",
        block_after("\n### `byte_order`\n")
    ));
    let decoded = wire.decode(&[0, 1, 2, 0, 7, 0, 0, 0, 0, 2, 0, 7]);
    assert_eq!(decoded.diagnostics, []);
    let last = decoded.tree.iter().last().expect("a field");
    assert_eq!(last.value().to_string(), "7");
}

#[test]
fn the_example_of_an_index_compiles() {
    let example = block_after("a field called `index` hides it.");
    let head = HEAD.replace("root", "state = Kept; root");
    let wire = compile(&format!(
        "{head} state Kept {{ health: i16[8]; }} {example}"
    ));
    let objects = wire.decode(&[2, 1, 2]).facts.messages;
    let objects: Vec<Option<u64>> = objects.iter().map(|message| message.object).collect();
    assert_eq!(objects, [Some(0), Some(1)]);
}

/// The name by which a link within the page finds a heading.
fn anchor(heading: &str) -> String {
    let plain = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = plain.chars().filter_map(|sign| match sign {
        ' ' => Some('-'),
        '-' | '_' => Some(sign),
        _ => sign.is_alphanumeric().then_some(sign),
    });
    kept.collect()
}

#[test]
fn every_link_within_the_page_finds_its_heading() {
    let headings: Vec<String> = REFERENCE
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(anchor)
        .collect();
    let links: Vec<&str> = REFERENCE
        .split("](#")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .collect();
    assert!(links.len() > 10, "the page has its contents");
    for link in links {
        assert!(headings.iter().any(|heading| heading == link), "#{link}");
    }
}

#[test]
fn what_a_field_can_have_is_in_the_reference() {
    let parts = [
        "`delta(type, base)`",
        "`size(length)`",
        "`size (length) { ... }`",
        "`through Layer`",
        "`derived count(messages)`",
        "`align(8) = 0;`",
        "`label heap;`",
        "`join`",
        "`follow`",
    ];
    for part in parts {
        assert!(REFERENCE.contains(part), "{part}");
    }
}
