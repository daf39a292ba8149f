//! The answers to single requests, as the protocol spells them.

use std::path::Path;

use netreel_wire::{FilePlace, SymbolId, SymbolKind, format};
use serde_json::{Value as Json, json};

use crate::capture::Capture;
use crate::completion::complete;
use crate::hover;
use crate::positions::Lines;
use crate::project::Project;

pub fn hover(project: &Project, capture: Option<&Capture>, offset: usize) -> Json {
    let Some((said, range)) = hover::hover(project, capture, 0, offset) else {
        return Json::Null;
    };
    json!({
        "contents": { "kind": "markdown", "value": said },
        "range": project.range(0, range),
    })
}

pub fn completion(project: &Project, offset: usize, folder: Option<&Path>) -> Json {
    json!(complete(project, 0, offset, folder))
}

pub fn location(project: &Project, place: &FilePlace) -> Option<Json> {
    let uri = project.uris.get(place.file)?;
    let range = project.range(place.file, place.range.clone());
    Some(json!({ "uri": uri, "range": range }))
}

/// Where the name is declared; of an import, the file.
pub fn definition(project: &Project, offset: usize) -> Json {
    let mut imports = project.outline.imports().iter();
    let import = imports.find(|import| {
        let range = &import.place.range;
        import.place.file == 0 && (range.start..=range.end).contains(&offset)
    });
    if let Some(file) = import.and_then(|import| import.file) {
        let range = 0..0;
        let start = location(project, &FilePlace { file, range });
        return start.unwrap_or(Json::Null);
    }
    let found = project.outline.at(0, offset);
    let symbol = found.and_then(|(id, _)| project.outline.symbol(id));
    let places = symbol.map_or(&[][..], |symbol| &symbol.places);
    let places = places.iter().filter_map(|place| location(project, place));
    Json::Array(places.collect())
}

/// The names of the document, fields below their structs.
pub fn symbols(project: &Project) -> Json {
    let lines = Lines::new(project.text(0));
    let items = project.outline.symbols();
    let items = items.filter(|(_, symbol)| symbol.owner.is_none());
    symbols_of(project, &lines, items.map(|(id, _)| id))
}

fn symbols_of(project: &Project, lines: &Lines<'_>, ids: impl Iterator<Item = SymbolId>) -> Json {
    let mut found: Vec<(usize, Json)> =
        ids.filter_map(|id| symbol_of(project, lines, id)).collect();
    found.sort_by_key(|(start, _)| *start);
    found.into_iter().map(|(_, symbol)| symbol).collect()
}

fn symbol_of(project: &Project, lines: &Lines<'_>, id: SymbolId) -> Option<(usize, Json)> {
    let outline = &project.outline;
    let symbol = outline.symbol(id)?;
    let mut places = symbol.places.iter().zip(&symbol.extents);
    let (place, extent) = places.find(|(place, _)| place.file == 0)?;
    let children = outline.children(id).map(|(child, _)| child);
    let (noun, kind, _) = hover::shown(symbol.kind);
    // An empty name is refused by editors.
    let name = if symbol.name.is_empty() {
        noun
    } else {
        &symbol.name
    };
    let end = extent.end.max(place.range.end);
    let answer = json!({
        "name": name,
        "detail": noun,
        "kind": kind,
        "range": lines.range(place.range.start..end),
        "selectionRange": lines.range(place.range.clone()),
        "children": symbols_of(project, lines, children),
    });
    Some((place.range.start, answer))
}

/// The document as the formatter writes it: one change of the lines that differ.
///
/// # Errors
/// The first mistake in the document's form.
pub fn formatting(project: &Project) -> Result<Json, String> {
    let text = project.text(0);
    let formatted = match format("the document", text) {
        Ok(formatted) => formatted,
        Err(error) => {
            let first = error.reports().first().map_or_else(String::new, |report| {
                format!("line {}: {}", report.line, report.message)
            });
            return Err(format!("what has mistakes is not formatted: {first}"));
        }
    };
    if formatted == text {
        return Ok(json!([]));
    }
    let same = |left: &str, right: &str| -> usize {
        let lines = left.split_inclusive('\n').zip(right.split_inclusive('\n'));
        let same = lines.take_while(|(left, right)| left == right);
        same.map(|(line, _)| line.len()).sum()
    };
    let start = same(text, &formatted);
    let tail = |text: &str| text.get(start..).unwrap_or_default().to_owned();
    let (old, new) = (tail(text), tail(&formatted));
    let back: usize = old
        .split_inclusive('\n')
        .rev()
        .zip(new.split_inclusive('\n').rev())
        .take_while(|(left, right)| left == right)
        .map(|(line, _)| line.len())
        .sum();
    let range = start..text.len() - back;
    let new = new.get(..new.len() - back).unwrap_or_default();
    let range = project.range(0, range);
    Ok(json!([{ "range": range, "newText": new }]))
}

/// The name that a rename would change.
///
/// # Errors
/// Why nothing here can be renamed.
pub fn prepare_rename(project: &Project, offset: usize) -> Result<Json, String> {
    let Some((id, range)) = project.outline.at(0, offset) else {
        return Err("there is no name here that can be changed".to_owned());
    };
    let symbol = project.outline.symbol(id);
    if symbol.is_some_and(|symbol| symbol.kind == SymbolKind::Test) {
        return Err("a test is named by its text: change it there".to_owned());
    }
    let text = project.text(0);
    Ok(json!({
        "placeholder": text.get(range.clone()).unwrap_or_default(),
        "range": project.range(0, range),
    }))
}
