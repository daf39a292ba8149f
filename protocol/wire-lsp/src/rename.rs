//! Renaming: all places of a name, in all files that are known to use it.

use std::collections::BTreeMap;
use std::ops::Range;

use netreel_wire::{FilePlace, Outline, SymbolId, SymbolKind, Wire, help_of, lexemes};

use crate::project::{Documents, Project};

/// The changes to each file, by its name.
pub type Edits = BTreeMap<String, Vec<(Range<usize>, String)>>;

/// Where a symbol is named: its declarations first where they are asked for.
pub fn places(project: &Project, id: SymbolId, declarations: bool) -> Vec<FilePlace> {
    let declared = project
        .outline
        .symbol(id)
        .map(|symbol| &symbol.places)
        .into_iter()
        .flatten()
        .filter(|_| declarations);
    let mut places: Vec<FilePlace> = declared.chain(project.outline.uses(id)).cloned().collect();
    places.sort();
    places.dedup();
    places
}

/// The same symbol in another project that has the file in which it is declared.
pub fn same(project: &Project, id: SymbolId, other: &Project) -> Option<SymbolId> {
    let place = project.outline.symbol(id)?.places.first()?;
    let file = other.file(project.uris.get(place.file)?)?;
    let (found, _) = other.outline.at(file, place.range.start)?;
    let mut places = other.outline.symbol(found)?.places.iter();
    let is_declared = places.any(|known| known.file == file && known.range == place.range);
    is_declared.then_some(found)
}

/// Whether a symbol can get another name; a sentence where it cannot.
///
/// # Errors
/// Why not.
pub fn check_name(project: &Project, id: SymbolId, name: &str) -> Result<(), String> {
    let Some(symbol) = project.outline.symbol(id) else {
        return Err("there is no name here".to_owned());
    };
    if symbol.kind == SymbolKind::Test {
        return Err("a test is named by its text: change it there".to_owned());
    }
    let mut characters = name.chars();
    let begins = characters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
    let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    if !begins || !characters.all(is_name) || lexemes(name).len() != 1 {
        return Err(format!(
            "`{name}` is not a name: a name is ASCII letters, digits and `_`, and starts with a \
             letter or `_`"
        ));
    }
    let reserved = ["if", "else", "switch", "default", "true", "false"];
    if reserved.contains(&name) {
        return Err(format!(
            "`{name}` is a word of the language and cannot be a name"
        ));
    }
    let is_item = matches!(
        symbol.kind,
        SymbolKind::Constant
            | SymbolKind::Enum
            | SymbolKind::Flags
            | SymbolKind::Alias
            | SymbolKind::Struct
    );
    if is_item && help_of(name, &[netreel_wire::HelpKind::Type]).is_some() {
        return Err(format!("`{name}` is a built-in type"));
    }
    let outline = &project.outline;
    let taken = match symbol.owner {
        Some(owner) => outline.child(owner, name).filter(|&found| found != id),
        None => taken_item(outline, id, name),
    };
    let Some(taken) = taken.and_then(|taken| outline.symbol(taken)) else {
        return Ok(());
    };
    let what = crate::hover::noun(taken.kind);
    Err(format!("the name `{name}` is taken by another {what}"))
}

/// An item of the same sort with this name, in a file that shares names with that of the symbol.
fn taken_item(outline: &Outline, id: SymbolId, name: &str) -> Option<SymbolId> {
    let symbol = outline.symbol(id)?;
    let file = symbol.places.first()?.file;
    let space = |kind: SymbolKind| match kind {
        SymbolKind::Enum | SymbolKind::Flags | SymbolKind::Alias | SymbolKind::Struct => {
            SymbolKind::Constant
        }
        kind => kind,
    };
    let mut symbols = outline.symbols();
    symbols.find_map(|(other, found)| {
        let of = found.places.first()?.file;
        let shares = outline.sees(file, of) || outline.sees(of, file);
        let is_it =
            found.name == name && found.owner.is_none() && space(found.kind) == space(symbol.kind);
        (other != id && shares && is_it).then_some(other)
    })
}

/// Applies changes to a text.
pub fn applied(text: &str, edits: &[(Range<usize>, String)]) -> String {
    let mut edits: Vec<&(Range<usize>, String)> = edits.iter().collect();
    edits.sort_by_key(|(range, _)| range.start);
    let mut text = text.to_owned();
    for (range, new) in edits.into_iter().rev() {
        if text.get(range.clone()).is_some() {
            text.replace_range(range.clone(), new);
        }
    }
    text
}

/// Holds a wire that compiled against itself after the changes: it has to compile still, and its tests
/// have to come out as before.
///
/// # Errors
/// What would be wrong then.
pub fn still_means_the_same(
    uri: &str,
    project: &Project,
    edits: &Edits,
    documents: &Documents,
) -> Result<(), String> {
    let Ok(before) = &project.wire else {
        return Ok(());
    };
    // The same texts as if they were open, and changed.
    let mut changed = documents.clone();
    for (place, file) in project.outline.files().iter().enumerate() {
        let Some(name) = project.uris.get(place) else {
            continue;
        };
        let text = changed.get(name).map_or(&file.text, |open| &open.text);
        let edits = edits.get(name).map(Vec::as_slice).unwrap_or_default();
        let text = applied(text, edits);
        let path = crate::positions::path_of(name);
        changed.insert(name.clone(), crate::project::Document { path, text });
    }
    let Some(after) = Project::new(uri, &changed, None) else {
        return Ok(());
    };
    match &after.wire {
        Err(error) => {
            let first = error
                .reports()
                .first()
                .map_or("", |report| report.message.as_str());
            Err(format!(
                "with this name the wire would not compile: {first}"
            ))
        }
        Ok(after) if outcomes(before) == outcomes(after) => Ok(()),
        Ok(_) => Err("with this name the wire's tests would come out otherwise".to_owned()),
    }
}

/// How many tests of a wire fail; of very many nobody asks.
fn outcomes(wire: &Wire) -> usize {
    const TESTS_MAX: usize = 100;
    if wire.tests() <= TESTS_MAX {
        wire.run_tests()
            .iter()
            .filter(|test| !test.passed())
            .count()
    } else {
        0
    }
}
