//! What a wire's text declares, and where each name is used: for editors.
//!
//! What is declared comes from the syntax tree, so that a text with mistakes has an outline too. What a
//! name stands for is what `check` takes it for; only the values of `test` blocks, which are read when
//! tests run, are gone through here. Nobody who compiles a wire pays for it.

mod declare;
mod help;
mod symbols;
mod tests;

use std::ops::Range;

pub use self::help::{help, help_of};
pub use self::symbols::{
    FilePlace, ImportPlace, Outline, OutlineFile, Symbol, SymbolId, SymbolKind,
};
use crate::files::Files;
use crate::lexemes::{Lexeme, LexemeKind, lexemes};
use crate::limits::TEXT_BYTES_MAX;

impl Outline {
    /// The outline of a wire and of all that it imports; `load` is asked as
    /// [`Wire::compile_with`](crate::Wire::compile_with) asks it. A text that is too long has none.
    pub fn new(
        name: &str,
        text: &str,
        load: &mut dyn FnMut(&str) -> std::io::Result<String>,
    ) -> Outline {
        if text.len() > TEXT_BYTES_MAX {
            return Outline::default();
        }
        let mut reports = Vec::new();
        let files = Files::gather(name, text, load, &mut reports);
        let mut tree = files.parse(&mut reports);
        let mut outline = declare::outline(&files, &tree);
        outline.note(&files, crate::check::resolved(&files, &mut tree));
        outline.files = (0..files.len())
            .map(|place| OutlineFile {
                path: files.path(place).to_owned(),
                text: files.file(place).1.to_owned(),
            })
            .collect();
        outline.find_extents();
        outline
    }

    /// The files, the one that was asked for first.
    pub fn files(&self) -> &[OutlineFile] {
        &self.files
    }

    /// The imports of all files.
    pub fn imports(&self) -> &[ImportPlace] {
        &self.imports
    }

    /// Everything that has a name, in the order of the text.
    pub fn symbols(&self) -> impl Iterator<Item = (SymbolId, &Symbol)> {
        (0u32..).map(SymbolId).zip(&self.symbols)
    }

    /// A symbol.
    pub fn symbol(&self, id: SymbolId) -> Option<&Symbol> {
        self.symbols.get(id.0 as usize)
    }

    /// Where a symbol is used, besides where it is declared.
    pub fn uses(&self, id: SymbolId) -> impl Iterator<Item = &FilePlace> {
        let uses = self.uses.iter().filter(move |(_, used)| *used == id);
        uses.map(|(place, _)| place)
    }

    /// The name at a place, a use or a declaration: what it stands for, and its range.
    pub fn at(&self, file: usize, offset: usize) -> Option<(SymbolId, Range<usize>)> {
        let holds = |place: &FilePlace| {
            place.file == file && (place.range.start..=place.range.end).contains(&offset)
        };
        let used = self.uses.iter().find(|(place, _)| holds(place));
        if let Some((place, id)) = used {
            return Some((*id, place.range.clone()));
        }
        self.symbols().find_map(|(id, symbol)| {
            let place = symbol.places.iter().find(|place| holds(place))?;
            Some((id, place.range.clone()))
        })
    }

    /// What a symbol declares: the fields of a struct, the members of an enum.
    pub fn children(&self, owner: SymbolId) -> impl Iterator<Item = (SymbolId, &Symbol)> {
        self.symbols()
            .filter(move |(_, symbol)| symbol.owner == Some(owner))
    }

    /// The child of this name.
    pub fn child(&self, owner: SymbolId, name: &str) -> Option<SymbolId> {
        self.children.get(&owner)?.get(name).copied()
    }

    /// Whether what a file declares can be used in another.
    pub fn sees(&self, from: usize, file: usize) -> bool {
        let imported = self.imported.get(from);
        from == file || imported.is_some_and(|imported| imported.contains(&file))
    }

    /// What can be named at a place: items of the file and of those that it imports.
    pub fn items(&self, from: usize) -> impl Iterator<Item = (SymbolId, &Symbol)> {
        self.symbols().filter(move |(_, symbol)| {
            let mut places = symbol.places.iter();
            symbol.owner.is_none() && places.any(|place| self.sees(from, place.file))
        })
    }

    /// The item, such as a struct, that a place stands in.
    pub fn item_around(&self, file: usize, offset: usize) -> Option<SymbolId> {
        let around = |symbol: &Symbol| {
            let mut places = symbol.places.iter().zip(&symbol.extents);
            symbol.owner.is_none()
                && places.any(|(place, extent)| place.file == file && extent.contains(&offset))
        };
        self.symbols()
            .find(|(_, symbol)| around(symbol))
            .map(|(id, _)| id)
    }

    /// The comments above a declaration and behind its line, without their marks.
    pub fn comment(&self, place: &FilePlace) -> String {
        let text = self.files.get(place.file).map_or("", |file| &file.text);
        comment(text, place.range.start)
    }

    /// A declaration as the text spells it, up to its block or its end, in one line.
    pub fn declaration(&self, place: &FilePlace) -> String {
        let text = self.files.get(place.file).map_or("", |file| &file.text);
        let line = text.get(..place.range.start).unwrap_or_default();
        let line = line.rfind('\n').map_or(0, |at| at + 1);
        let before = text.get(line..place.range.start).unwrap_or_default();
        // The word that declares it, if one does: `struct`, `let`, `each`.
        let words = before.rsplit([';', '{', '}']).next().unwrap_or_default();
        let words = words.rsplit("=>").next().unwrap_or_default().trim();
        let is_words = words
            .chars()
            .all(|character| character.is_ascii_lowercase() || character == ' ');
        let mut pieces: Vec<&str> = words.split_whitespace().filter(|_| is_words).collect();
        let whole = text.get(place.range.start..).unwrap_or_default();
        let mut depth = 0usize;
        let mut end = whole.len();
        for lexeme in lexemes(first_of(whole)) {
            let spelled = lexeme.text(whole);
            if lexeme.kind == LexemeKind::Mark {
                match spelled {
                    "(" | "[" => depth += 1,
                    ")" | "]" if depth > 0 => depth -= 1,
                    ";" | "{" | "}" => end = lexeme.range.start,
                    "," if depth == 0 => end = lexeme.range.start,
                    _ => {}
                }
                if end < whole.len() {
                    break;
                }
            }
            if lexeme.is_comment() {
                end = lexeme.range.start;
                break;
            }
        }
        pieces.extend(whole.get(..end).unwrap_or_default().split_whitespace());
        pieces.join(" ")
    }

    /// Finds out where each declaration ends.
    fn find_extents(&mut self) {
        let pieces: Vec<Vec<Lexeme>> = self.files.iter().map(|it| lexemes(&it.text)).collect();
        for symbol in &mut self.symbols {
            let is_part = symbol.owner.is_some();
            for place in &symbol.places {
                let (Some(file), Some(pieces)) =
                    (self.files.get(place.file), pieces.get(place.file))
                else {
                    continue;
                };
                let end = end_of(&file.text, pieces, place.range.start, is_part);
                symbol.extents.push(place.range.start..end);
            }
        }
    }
}

/// No declaration that is shown is longer.
fn first_of(text: &str) -> &str {
    const SHOWN: usize = 4096;
    let mut end = text.len().min(SHOWN);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Where the declaration ends that begins with a name: after its block, or before its `;` or `,`.
fn end_of(text: &str, pieces: &[Lexeme], start: usize, is_part: bool) -> usize {
    let first = pieces.partition_point(|piece| piece.range.start < start);
    let mut depth = 0usize;
    let mut end = start;
    for piece in pieces.get(first..).unwrap_or_default() {
        if piece.is_comment() {
            continue;
        }
        let mark = match piece.kind {
            LexemeKind::Mark => piece.text(text),
            _ => "",
        };
        match mark {
            "{" if depth == 0 && is_part => return end,
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" if depth == 0 => return end,
            "}" | ")" | "]" => depth -= 1,
            ";" | "," if depth == 0 => return end,
            _ => {}
        }
        end = piece.range.end;
        if mark == "}" && depth == 0 {
            return end;
        }
    }
    end
}

/// Lines of `//` directly above the line of a declaration, and what stands behind its end.
fn comment(text: &str, at: usize) -> String {
    let line = text.get(..at).unwrap_or_default();
    let start = line.rfind('\n').map_or(0, |at| at + 1);
    let mut above: Vec<&str> = Vec::new();
    for line in text.get(..start).unwrap_or_default().lines().rev() {
        match line.trim().strip_prefix("//") {
            // A line that begins a file of a bundle says nothing of what follows.
            Some(said) if !said.starts_with('#') => above.push(said.trim()),
            _ => break,
        }
    }
    above.reverse();
    let rest = text.get(at..).unwrap_or_default();
    let rest = rest.split('\n').next().unwrap_or_default();
    let behind = lexemes(first_of(rest))
        .into_iter()
        .find(|piece| piece.kind == LexemeKind::LineComment)
        .and_then(|piece| rest.get(piece.range))
        .map(|said| said.trim_start_matches('/').trim());
    above.extend(behind);
    above.join("\n")
}
