//! Names: where they are declared and used. Every name of every sample is renamed; what is left has
//! to compile and to pass its tests, so that no use is missing.

use std::path::Path;

use netreel_wire::{FilePlace, Outline, SymbolId, SymbolKind, Wire};

fn none(path: &str) -> std::io::Result<String> {
    Err(std::io::Error::other(format!("{path} is not there")))
}

fn outline(text: &str) -> Outline {
    Outline::new("a.wire", text, &mut none)
}

fn renamed(outline: &Outline, id: SymbolId, name: &str) -> String {
    let symbol = outline.symbol(id).expect("a symbol");
    let mut places: Vec<&FilePlace> = symbol.places.iter().chain(outline.uses(id)).collect();
    places.sort();
    places.dedup();
    let mut text = outline.files()[0].text.clone();
    for place in places.into_iter().rev() {
        assert_eq!(&text[place.range.clone()], symbol.name);
        text.replace_range(place.range.clone(), name);
    }
    text
}

fn passed(wire: &Wire) -> Vec<bool> {
    wire.run_tests().iter().map(|test| test.passed()).collect()
}

#[test]
fn every_name_of_every_sample_can_be_renamed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples/wires");
    let mut names = 0;
    for entry in std::fs::read_dir(&folder).expect("the samples") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a wire");
        let shown = path.display().to_string();
        let compile = |text: &str| {
            Wire::compile_with(&shown, text, &mut |path| {
                std::fs::read_to_string(folder.join(path))
            })
        };
        let before = compile(&text).expect("a wire that compiles");
        let outline = outline(&text);
        // One after the other takes long; of each a tenth, and all at once.
        let mut all: Vec<(FilePlace, String)> = Vec::new();
        for (id, symbol) in outline.symbols() {
            if symbol.kind == SymbolKind::Test {
                continue;
            }
            names += 1;
            let name = format!("{}_{}", symbol.name, id.0);
            let places = symbol.places.iter().chain(outline.uses(id));
            all.extend(places.map(|place| (place.clone(), name.clone())));
            if id.0 % 16 != 0 {
                continue;
            }
            let text = renamed(&outline, id, &name);
            let after = compile(&text)
                .unwrap_or_else(|error| panic!("{shown}: {} to {name}\n{error}", symbol.name));
            assert_eq!(passed(&after), passed(&before), "{shown}: {}", symbol.name);
        }
        all.sort();
        all.dedup();
        let mut text = text.clone();
        for (place, name) in all.into_iter().rev() {
            text.replace_range(place.range, &name);
        }
        let after = compile(&text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(passed(&after), passed(&before), "{shown}");
    }
    assert!(names > 500, "{names}");
}

#[test]
fn a_name_stands_for_what_the_checker_takes_it_for() {
    let text = "\
wire a { byte_order = big; bit_order = msb; root = Packet; state = Kept; }
const LIMIT = 4;
state Kept { last: u8; }
enum Kind : u2 { one, two = 3 }
// A packet.
// Of bytes.
struct Packet {
    kind: Kind;                 // what it is
    if (kind == Kind.two) { LIMIT: u6; } else { short: u6; }
    rows: Row(kind)[until item.next == LIMIT];
    set state.last = LIMIT;
    pair: vec2(quantized(0, LIMIT, 8));
}
struct Row(kind: Kind) { next: u8; let twice = next * 2; }
";
    let outline = outline(text);
    let named = |name: &str, kind: SymbolKind| {
        let mut symbols = outline.symbols();
        let found = symbols.find(|(_, it)| it.name == name && it.kind == kind);
        found.expect(name)
    };
    let uses = |id: SymbolId| outline.uses(id).count();
    // The field of that name is in one arm alone: after the `if` the constant is meant.
    assert_eq!(uses(named("LIMIT", SymbolKind::Constant).0), 3);
    assert_eq!(uses(named("LIMIT", SymbolKind::Field).0), 0);
    assert_eq!(uses(named("next", SymbolKind::Field).0), 2);
    assert_eq!(uses(named("last", SymbolKind::StateField).0), 1);
    assert_eq!(uses(named("two", SymbolKind::Member).0), 1);
    assert_eq!(uses(named("Kind", SymbolKind::Enum).0), 3);
    assert_eq!(named("two", SymbolKind::Member).1.value, Some(3));
    assert_eq!(named("Row", SymbolKind::Struct).1.bits, Some(8));
    assert_eq!(named("pair", SymbolKind::Field).1.bits, Some(16));
    let (_, packet) = named("Packet", SymbolKind::Struct);
    assert_eq!(packet.bits, None);
    assert_eq!(outline.comment(&packet.places[0]), "A packet.\nOf bytes.");
    let kind = &named("kind", SymbolKind::Field).1.places[0];
    assert_eq!(outline.comment(kind), "what it is");
    assert_eq!(outline.declaration(kind), "kind: Kind");
    let (_, twice) = named("twice", SymbolKind::Computed);
    let declared = outline.declaration(&twice.places[0]);
    assert_eq!(declared, "let twice = next * 2");
    let (row, _) = named("Row", SymbolKind::Struct);
    assert_eq!(
        outline.item_around(0, text.find("twice").expect("it")),
        Some(row)
    );
}

#[test]
fn a_text_with_mistakes_has_an_outline() {
    let outline = outline("struct A { a: u8; b: ; c: B; }\nstruct B { d: u16 }\nenum C : u8 { x ");
    let found = outline.symbols().map(|(_, symbol)| symbol.name.clone());
    let found: Vec<String> = found.collect();
    assert_eq!(found, ["A", "B", "a", "c"]);
}

#[test]
fn members_behind_a_mistake_have_no_value() {
    let outline = outline(
        "enum Kind : u8 { a, b = 300, c, d = nobody, e, f = 7, g }\n\
         flags Bits : u8 { h, i = 0x100, j, k = 0x04, l }",
    );
    let members = outline
        .symbols()
        .map(|(_, it)| (&*it.name, it.kind, it.value));
    let members = members.filter(|(_, kind, _)| *kind == SymbolKind::Member);
    let values = members.map(|(name, _, value)| (name, value));
    let known = [("a", 0), ("f", 7), ("g", 8), ("h", 1), ("k", 4), ("l", 8)];
    let found: Vec<(&str, i128)> = values.filter_map(|(name, it)| Some((name, it?))).collect();
    assert_eq!(found, known);
}

#[test]
fn names_are_found_across_imports() {
    let files = |path: &str| match path {
        "common/head.wire" => Ok("struct Head { sequence: u16 @sequence; }\n".to_owned()),
        other => none(other),
    };
    let text =
        "import \"common/head.wire\";\nstruct Packet { head: Head; let n = head.sequence; }\n";
    let outline = Outline::new("a.wire", text, &mut { files });
    let at = text.find("sequence").expect("it");
    let (id, range) = outline.at(0, at).expect("a use");
    assert_eq!(&text[range], "sequence");
    let symbol = outline.symbol(id).expect("a symbol");
    assert_eq!(symbol.places[0].file, 1);
    assert_eq!(outline.files()[1].path, "common/head.wire");
    assert_eq!(outline.imports()[0].file, Some(1));
}
