//! Wires of several files: what a file sees, and the one text that they become.

use std::collections::BTreeMap;
use std::io;

use netreel_wire::{CompileError, Wire};

const WIRE: &str = "wire w { byte_order = little; bit_order = lsb; root = Packet; }\n";

/// Compiles `main.wire` with these files beside it; gives what was asked for as well.
fn compile(main: &str, files: &[(&str, &str)]) -> (Result<Wire, CompileError>, Vec<String>) {
    let files: BTreeMap<&str, &str> = files.iter().copied().collect();
    let mut asked = Vec::new();
    let mut load = |path: &str| {
        asked.push(path.to_owned());
        let found = files.get(path).map(|text| (*text).to_owned());
        found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such file"))
    };
    let wire = Wire::compile_with("wires/main.wire", main, &mut load);
    (wire, asked)
}

fn compiled(main: &str, files: &[(&str, &str)]) -> Wire {
    match compile(main, files).0 {
        Ok(wire) => wire,
        Err(error) => panic!("{error}"),
    }
}

#[track_caller]
fn refused(main: &str, files: &[(&str, &str)], expected: &str) {
    let error = compile(main, files).0.expect_err("it is refused");
    assert_eq!(error.to_string().trim(), expected.trim());
}

fn value(wire: &Wire, packet: &[u8]) -> String {
    let decoded = wire.decode(packet);
    assert_eq!(decoded.diagnostics, [], "{:?}", decoded.diagnostics);
    decoded.to_json()["packet"].to_string()
}

const COMMON: &str = "const WIDTH = 2; enum Kind : u8 { a, b } struct Head { kind: Kind; }\n";

#[test]
fn an_imported_file_gives_structs_enums_and_constants() {
    let main = format!(
        "import \"common/head.wire\";\n{WIRE}struct Packet {{ head: Head; data: bytes(WIDTH); \
         if (head.kind == Kind.b) {{ more: u8; }} }}"
    );
    let wire = compiled(&main, &[("common/head.wire", COMMON)]);
    let json = value(&wire, &[1, 7, 8, 9]);
    assert_eq!(
        json,
        r#"{"head":{"kind":{"raw":1,"value":"b"}},"data":"0708","more":9}"#
    );
}

#[test]
fn paths_are_relative_to_the_file_that_imports() {
    let main = format!("import \"a/one.wire\";\n{WIRE}struct Packet {{ one: One; }}");
    let files = [
        (
            "a/one.wire",
            "import \"b/two.wire\"; struct One { two: Two; }",
        ),
        ("a/b/two.wire", "struct Two { x: u8; }"),
    ];
    let (wire, asked) = compile(&main, &files);
    assert_eq!(
        value(&wire.expect("a wire"), &[3]),
        r#"{"one":{"two":{"x":3}}}"#
    );
    assert_eq!(asked, ["a/one.wire", "a/b/two.wire"]);
}

#[test]
fn a_file_is_loaded_once_and_a_circle_ends() {
    let main = format!(
        "import \"a.wire\"; import \"b.wire\";\n{WIRE}struct Packet {{ a: A; b: B; }} \
         struct Base {{ x: u8; }}"
    );
    let files = [
        ("a.wire", "import \"b.wire\"; struct A { b: B; }"),
        ("b.wire", "import \"main.wire\"; struct B { base: Base; }"),
    ];
    let (wire, asked) = compile(&main, &files);
    assert_eq!(asked, ["a.wire", "b.wire"]);
    let json = value(&wire.expect("a wire"), &[1, 2]);
    assert_eq!(json, r#"{"a":{"b":{"base":{"x":1}}},"b":{"base":{"x":2}}}"#);
}

#[test]
fn what_an_imported_file_imports_is_not_seen() {
    let main = format!("import \"a.wire\";\n{WIRE}struct Packet {{ b: Bee; }}");
    let files = [
        ("a.wire", "import \"b.wire\"; struct A { b: Bee; }"),
        ("b.wire", "struct Bee { x: u8; }"),
    ];
    refused(
        &main,
        &files,
        "
error: there is no type `Bee`
 --> wires/main.wire:3:20
  |
3 | struct Packet { b: Bee; }
  |                    ^^^ expected a built-in type, an enum or a struct",
    );
}

#[test]
fn two_files_may_use_one_name_for_themselves() {
    let main = format!("import \"a.wire\";\n{WIRE}struct Packet {{ a: A; own: Inner; }} ");
    let main = format!("{main}struct Inner {{ y: u16; }}");
    let files = [
        ("a.wire", "import \"b.wire\"; struct A { inner: Deep; }"),
        (
            "b.wire",
            "struct Deep { x: Inner; } struct Inner { x: u8; }",
        ),
    ];
    let wire = compiled(&main, &files);
    let json = value(&wire, &[1, 2, 0]);
    assert_eq!(json, r#"{"a":{"inner":{"x":{"x":1}}},"own":{"y":2}}"#);
}

#[test]
fn a_name_of_two_files_is_a_mistake_where_it_is_used() {
    let main = format!("import \"a.wire\"; import \"b.wire\";\n{WIRE}struct Packet {{ x: Same; }}");
    let files = [
        ("a.wire", "struct Same { x: u8; }"),
        ("b.wire", "\nenum Same : u8 { x }"),
    ];
    refused(
        &main,
        &files,
        "
error: `Same` stands for two things
 --> wires/main.wire:3:20
  |
3 | struct Packet { x: Same; }
  |                    ^^^^ two files declare it
  |
 ::: wires/b.wire:2:6
  |
2 | enum Same : u8 { x }
  |      ---- one of them here
  |
  = help: rename one of them, or leave out an import: wires/a.wire declares it, and wires/b.wire does",
    );
    let unused = main.replace("x: Same", "x: u8");
    assert!(compile(&unused, &files).0.is_ok(), "nobody uses the name");
}

#[test]
fn a_mistake_in_an_imported_file_is_shown_there() {
    let main = format!("import \"a.wire\";\n{WIRE}struct Packet {{ a: A; }}");
    let error = compile(&main, &[("a.wire", "\n\nstruct A { x: u99; }")])
        .0
        .expect_err("there is no u99");
    let report = &error.reports()[0];
    assert_eq!(
        (
            report.file.as_str(),
            report.line,
            report.column,
            report.span.clone()
        ),
        ("wires/a.wire", 3, 15, 16..19)
    );
    assert_eq!(error.file(), "wires/main.wire");
}

#[test]
fn wire_blocks_of_imported_files_come_after_the_own_ones() {
    let main = "import \"old.wire\";
        wire new { byte_order = big; bit_order = msb; root = New; magic = x\"02\"; }
        struct New { version: u8; x: u8; }";
    let old = "wire old { byte_order = big; bit_order = msb; root = Old; }
        struct Old { version: u8; y: u8; }";
    let wire = compiled(main, &[("old.wire", old)]);
    let names: Vec<&str> = wire.protocols().map(|(name, _)| name).collect();
    assert_eq!(names, ["new", "old"]);
    assert_eq!(value(&wire, &[2, 1]), r#"{"version":2,"x":1}"#);
    assert_eq!(value(&wire, &[1, 1]), r#"{"version":1,"y":1}"#);
}

#[test]
fn the_text_of_a_wire_compiles_alone_to_the_same_wire() {
    let main = format!(
        "import \"common/head.wire\";\n{WIRE}struct Packet {{ head: Head; data: bytes(WIDTH); }}"
    );
    let wire = compiled(&main, &[("common/head.wire", COMMON)]);
    let again = match Wire::compile("reel.wire", wire.text()) {
        Ok(again) => again,
        Err(error) => panic!("{error}"),
    };
    assert_eq!(again.text(), wire.text());
    for packet in [&[1, 7, 8][..], &[9], &[]] {
        assert_eq!(
            again.decode(packet).to_json(),
            wire.decode(packet).to_json()
        );
    }
    let expected =
        format!("//# file \"main.wire\"\n{main}\n//# file \"common/head.wire\"\n{COMMON}");
    assert_eq!(wire.text(), expected);
}

#[test]
fn the_text_of_one_file_stays_as_it_is() {
    let main = format!("{WIRE}struct Packet {{ x: u8; }}");
    assert_eq!(compiled(&main, &[]).text(), main);
}

#[test]
fn a_report_of_a_bundle_counts_lines_in_its_file() {
    let bundle = format!(
        "//# file \"main.wire\"\nimport \"a.wire\";\n{WIRE}struct Packet {{ a: A; }}\n\
         //# file \"a.wire\"\nstruct A {{ x: u99; }}\n"
    );
    let error = Wire::compile("reel", &bundle).expect_err("there is no u99");
    let report = &error.reports()[0];
    assert_eq!((report.file.as_str(), report.line), ("a.wire", 1));
}

#[test]
fn without_files_beside_it_a_wire_imports_nothing() {
    let main = format!("import \"a.wire\";\n{WIRE}struct Packet {{ a: u8; }}");
    let error = Wire::compile("main.wire", &main).expect_err("there are no files");
    assert_eq!(
        error.to_string().trim(),
        "
error: `a.wire` cannot be imported
 --> main.wire:1:8
  |
1 | import \"a.wire\";
  |        ^^^^^^^^ this wire is a text by itself, without files beside it"
            .trim()
    );
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_the_reason() {
    let main = format!("import \"a.wire\";\n{WIRE}struct Packet {{ a: u8; }}");
    refused(
        &main,
        &[],
        "
error: `a.wire` cannot be read: no such file
 --> wires/main.wire:1:8
  |
1 | import \"a.wire\";
  |        ^^^^^^^^ imported here",
    );
}

#[test]
fn only_canonical_paths_are_paths() {
    for path in [
        "",
        "/a.wire",
        "a//b.wire",
        "./a.wire",
        "../a.wire",
        "a\\b.wire",
        "c:/a.wire",
        "a/",
        "a/..",
    ] {
        let main = format!("import \"{path}\";\n{WIRE}struct Packet {{ a: u8; }}");
        let (wire, asked) = compile(&main, &[]);
        let error = wire.expect_err(path);
        assert_eq!(
            error.reports()[0].message,
            format!("`{path}` is not the path of a file")
        );
        assert_eq!(asked, Vec::<String>::new(), "nobody is asked for {path}");
    }
}

#[test]
fn a_comment_that_would_end_its_file_in_a_bundle_is_refused() {
    let main = format!("import \"a.wire\";\n{WIRE}struct Packet {{ a: u8; }}");
    let error = compile(&main, &[("a.wire", "//# file \"b.wire\"\n")])
        .0
        .expect_err("the line has a meaning");
    assert_eq!(error.reports()[0].message, "this line begins another file");
}

#[test]
fn files_have_a_limit_in_number_and_size() {
    let main = format!("import \"0.wire\";\n{WIRE}struct Packet {{ a: u8; }}");
    let mut load = |path: &str| {
        let number: u32 = path.trim_end_matches(".wire").parse().expect("a number");
        Ok(format!("import \"{}.wire\";", number + 1))
    };
    let error = Wire::compile_with("m.wire", &main, &mut load).expect_err("too many");
    assert_eq!(
        error.reports()[0].message,
        "the wire has more than 64 files"
    );
    let mut load = |_: &str| Ok(" ".repeat(1 << 20));
    let error = Wire::compile_with("m.wire", &main, &mut load).expect_err("too long");
    assert_eq!(
        error.reports()[0].message,
        "the wire has more than 1048576 bytes"
    );
}

/// A protocol that keeps what its first byte says, in a state that is called as everybody's is.
fn keeping(wire: &str, magic: u8) -> String {
    format!(
        "wire {wire} {{ byte_order = little; bit_order = lsb; root = Packet; magic = x\"{magic:02x}\"; \
         state = Connection; }}
        state Connection {{ each last: u8 = 0; }}
        struct Packet {{ magic: u8; value: u8; let before = state.last; \
         set state.last = value; }}"
    )
}

#[test]
fn protocols_of_several_files_keep_states_of_the_same_name_apart() {
    let (one, two) = (keeping("one", 1), keeping("two", 2));
    let main = "import \"one.wire\";\nimport \"two.wire\";\n";
    let wire = compiled(main, &[("one.wire", &one), ("two.wire", &two)]);
    let mut state = wire.new_state();
    let mut before = Vec::new();
    for packet in [[1, 5], [2, 7], [1, 5], [2, 7]] {
        let context = netreel_wire::Context::default();
        let json = wire.decode_in(&context, &mut state, &packet).to_json();
        before.push(json["packet"]["before"].as_i64());
    }
    assert_eq!(before, [Some(0), Some(0), Some(5), Some(7)]);
    let bundled = Wire::compile("bundle.wire", wire.text());
    assert!(bundled.is_ok(), "{bundled:?}");
}

#[test]
fn a_state_field_that_two_imported_files_declare_is_a_mistake_where_it_is_used() {
    let state = "state Kept { last: u8; }";
    let main = "import \"a.wire\";\nimport \"b.wire\";\n\
        wire w { byte_order = little; bit_order = lsb; root = Packet; state = Kept; }\n\
        struct Packet { a: u8; set state.last = a; }";
    let error = compile(main, &[("a.wire", state), ("b.wire", state)]).0;
    let error = error.expect_err("two").to_string();
    for twice in [
        "`Kept` stands for two things",
        "`last` stands for two things",
    ] {
        assert!(error.contains(twice), "{error}");
    }
}

#[test]
fn tests_of_an_imported_file_are_of_the_protocols_that_it_sees() {
    let inner = "wire inner { byte_order = little; bit_order = lsb; root = Inner; }
        struct Inner { a: u16; }
        test \"two bytes\" { bytes = x\"01 00\"; value = { a: 1 }; }
        test \"a part\" { bytes = x\"01 00\"; root = Inner; value = { a: 1 }; }";
    let main = "import \"inner.wire\";\n\
        wire outer { byte_order = big; bit_order = msb; root = Outer; }\n\
        struct Outer { b: u8; c: u8; }\n\
        test \"of all\" { bytes = x\"01 02\"; value = { b: 1, c: 2 }; }";
    let wire = compiled(main, &[("inner.wire", inner)]);
    let results = wire.run_tests();
    assert_eq!(results.len(), 3);
    for result in results {
        assert!(result.passed(), "{result:?}");
    }
}

#[test]
fn an_import_brings_all_that_has_a_name() {
    let common = "const WIDTH = 2;
        type Short = bytes(WIDTH);
        enum Kind : u8 { one = 1 }
        flags Bits : u8 { low = 1 }
        c_struct(packed) Point { uint8_t x; }
        huffman table { codes = [\"0\", \"1\"]; }
        layer Coded { coding = huffman(table); }
        layer Shifted { transform = lua(\"same\", \"same\"); }
        lua \"\"\"
        function same(bytes) return bytes end
        function double(a) return a * 2 end
        \"\"\"
        state Kept { last: u8; }
        rules plain {
            unknown_migrate = drop; unknown_update = drop; unknown_destroy = drop;
            create = always; stale = never; update_from = anyone;
        }
        test \"runs here\" { bytes = x\"07\"; root = Point; value = { x: 7 }; }";
    let main = "import \"common.wire\";
        wire w { byte_order = little; bit_order = lsb; root = Packet; state = Kept; }
        enum Mode : u8 { plain = 0 @rules(plain) }
        layer Own { coding = huffman(table); }
        struct Packet {
            mode: Mode @rules;
            a: Short; kind: Kind; bits: Bits; point: Point;
            let twice = lua(\"double\", point.x);
            set state.last = point.x;
            one: Point size(1) through Shifted;
            two: Empty size(1) through Coded;
            three: Empty size(1) through Own;
        }
        struct Empty { a: u8; }";
    let wire = compiled(main, &[("common.wire", common)]);
    let decoded = wire.decode(&[0, 1, 2, 1, 1, 9, 5, 0, 0]);
    let text = decoded.to_json()["packet"].to_string();
    assert!(text.contains("\"twice\":18"), "{text}");
    let results = wire.run_tests();
    assert_eq!(results.len(), 1);
    assert_eq!(results[0].failures, []);
}
