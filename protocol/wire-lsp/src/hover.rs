//! What a name or a word means, and what it says in the open capture.

use std::ops::Range;

use lsp_types::CompletionItemKind;
use netreel_wire::{HelpKind, Lexeme, LexemeKind, SymbolId, SymbolKind, help_of, lexemes};

use crate::capture::{Capture, FieldValues};
use crate::project::Project;

/// Values of a field that are shown.
const VALUES_SHOWN: usize = 6;

/// What is to say of a place, in Markdown, and the range that it is about.
pub fn hover(
    project: &Project,
    capture: Option<&Capture>,
    file: usize,
    offset: usize,
) -> Option<(String, Range<usize>)> {
    let text = project.text(file);
    let pieces = lexemes(text);
    let here = pieces
        .iter()
        .position(|piece| (piece.range.start..=piece.range.end).contains(&offset));
    let is_annotation = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| pieces.get(before));
        before.is_some_and(|before| before.text(text) == "@")
    };
    // Between two pieces the word counts.
    let word = here.map(|at| {
        let next = pieces.get(at + 1).filter(|next| next.range.start == offset);
        match next {
            Some(next) if next.kind == LexemeKind::Word => at + 1,
            _ => at,
        }
    });
    let annotation = word.is_some_and(is_annotation);
    if !annotation && let Some((id, range)) = project.outline.at(file, offset) {
        return Some((of_symbol(project, capture, id), range));
    }
    let at = word?;
    let piece = pieces
        .get(at)
        .filter(|piece| piece.kind == LexemeKind::Word)?;
    let (shape, said) = of_word(project, file, &pieces, at)?;
    Some((
        format!("```netreel\n{shape}\n```\n\n{said}"),
        piece.range.clone(),
    ))
}

/// How a word of the language is written, and what it means where it stands.
fn of_word(
    project: &Project,
    file: usize,
    pieces: &[Lexeme],
    at: usize,
) -> Option<(String, String)> {
    use HelpKind::*;
    let text = project.text(file);
    let spelled = |at: Option<usize>| at.and_then(|at| pieces.get(at)).map(|it| it.text(text));
    let word = spelled(Some(at))?;
    let (before, after) = (spelled(at.checked_sub(1)), spelled(at.checked_add(1)));
    let start = pieces.get(at)?.range.start;
    let around = project
        .outline
        .item_around(file, start)
        .and_then(|id| project.outline.symbol(id));
    let of_item = around.map(|symbol| symbol.kind);
    let begins = matches!(before, None | Some(";" | "{" | "}"));
    let kinds: &[HelpKind] = match (before, after) {
        (Some("@"), _) => match of_item {
            Some(SymbolKind::Enum | SymbolKind::Flags) => &[OnMember, OnField],
            _ => &[OnField, OnStruct, OnMember],
        },
        (_, Some("=")) if begins => match of_item {
            Some(SymbolKind::Protocol) => &[OfWire],
            Some(SymbolKind::Rules) => &[OfRules],
            Some(SymbolKind::Layer) => &[OfLayer],
            Some(SymbolKind::Test) => &[OfTest],
            _ => &[],
        },
        _ if of_item == Some(SymbolKind::Layer) => &[Transform],
        (_, Some("(")) if !begins => &[Type, Function, Derived, Statement],
        _ if of_item.is_none() => &[Item],
        _ => &[Statement, Type, Function, Item],
    };
    let (shape, said) = help_of(word, kinds)?;
    Some((shape.into_owned(), said.into_owned()))
}

fn of_symbol(project: &Project, capture: Option<&Capture>, id: SymbolId) -> String {
    let outline = &project.outline;
    let Some(symbol) = outline.symbol(id) else {
        return String::new();
    };
    let declared: Vec<String> = symbol
        .places
        .iter()
        .map(|place| outline.declaration(place))
        .collect();
    let mut said = format!("```netreel\n{}\n```\n", declared.join("\n"));
    let owner = symbol.owner.and_then(|owner| outline.symbol(owner));
    let owner = owner.map(|owner| format!(" of `{}`", owner.name));
    let mut line = format!("{}{}", noun(symbol.kind), owner.unwrap_or_default());
    let shows_size = matches!(
        symbol.kind,
        SymbolKind::Struct
            | SymbolKind::Alias
            | SymbolKind::Field
            | SymbolKind::Enum
            | SymbolKind::Flags
    );
    if shows_size {
        line += &match symbol.bits {
            None => ", no fixed size".to_owned(),
            Some(1) => ", 1 bit".to_owned(),
            Some(8) => ", 8 bits (1 byte)".to_owned(),
            Some(bits) if bits % 8 == 0 => format!(", {bits} bits ({} bytes)", bits / 8),
            Some(bits) => format!(", {bits} bits"),
        };
    }
    if let Some(value) = symbol.value {
        line.push_str(&format!(", {value} (0x{value:x})"));
    }
    said.push_str(&line);
    said.push('\n');
    let mut comments: Vec<String> = Vec::new();
    for place in &symbol.places {
        let comment = outline.comment(place);
        if !comment.is_empty() && !comments.contains(&comment) {
            comments.push(comment);
        }
    }
    for comment in comments {
        said.push_str(&format!("\n{comment}\n"));
    }
    if let (Some(capture), Some(values)) = (capture, &project.values)
        && matches!(symbol.kind, SymbolKind::Field | SymbolKind::Computed)
    {
        said.push_str(&in_capture(
            capture,
            values.misfits.packets(),
            values.of(id),
        ));
    }
    said
}

/// What a field says in the capture.
fn in_capture(capture: &Capture, packets: usize, values: Option<&FieldValues>) -> String {
    let name = &capture.name;
    let Some(values) = values.filter(|values| values.packets > 0) else {
        return format!("\nIn {name}: no packet of {packets} has it.\n");
    };
    let mut said = format!(
        "\nIn {name}: {} of {packets} packets have it",
        values.packets
    );
    if let Some((packet, first)) = &values.first {
        said.push_str(&format!(
            ", the first is `{}` (packet {packet})",
            code(first)
        ));
    }
    said.push_str(".\n");
    let (frequent, more) = values.frequent(VALUES_SHOWN);
    if !frequent.is_empty() {
        let shown: Vec<String> = frequent
            .iter()
            .map(|(value, count)| format!("`{}` {count} times", code(value)))
            .collect();
        said.push_str(&format!("\nValues: {}", shown.join(", ")));
        match (more, values.has_more) {
            (0, false) => {}
            (more, false) => said.push_str(&format!(", and {more} others")),
            (_, true) => said.push_str(", and many others"),
        }
        said.push_str(".\n");
    }
    said
}

/// What can stand between backticks.
fn code(value: &str) -> String {
    value.replace('`', "'")
}

/// How a symbol is shown: what it is called, and its pictures among a document's symbols (the protocol's
/// `SymbolKind`) and among what can be written.
pub fn shown(kind: SymbolKind) -> (&'static str, u32, CompletionItemKind) {
    use CompletionItemKind as Kind;
    match kind {
        SymbolKind::Protocol => ("protocol", 2, Kind::VALUE),
        SymbolKind::Rules => ("rules", 3, Kind::VALUE),
        SymbolKind::Constant => ("constant", 14, Kind::CONSTANT),
        SymbolKind::Enum => ("enum", 10, Kind::ENUM),
        SymbolKind::Flags => ("flags", 10, Kind::ENUM),
        SymbolKind::Alias => ("type", 23, Kind::STRUCT),
        SymbolKind::Member => ("member", 22, Kind::ENUM_MEMBER),
        SymbolKind::Struct => ("struct", 23, Kind::STRUCT),
        SymbolKind::Parameter => ("parameter", 13, Kind::FIELD),
        SymbolKind::Field => ("field", 8, Kind::FIELD),
        SymbolKind::Computed => ("computed field", 13, Kind::FIELD),
        SymbolKind::State => ("state", 19, Kind::VALUE),
        SymbolKind::StateField => ("what a connection keeps, field", 8, Kind::FIELD),
        SymbolKind::Layer => ("layer", 3, Kind::VALUE),
        SymbolKind::Huffman => ("Huffman table", 18, Kind::VALUE),
        SymbolKind::Test => ("test", 12, Kind::VALUE),
    }
}

pub fn noun(kind: SymbolKind) -> &'static str {
    shown(kind).0
}
