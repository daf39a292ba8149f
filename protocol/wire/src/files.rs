//! The files of a wire, in one text.
//!
//! A wire of one file is that file. A wire with imports is a *bundle*: all its files, the first one
//! first, each after a line `//# file "PATH"`. Whatever is said of a wire, its positions are
//! positions in that one text; only reports count in single files.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::limits::{FILES_MAX, TEXT_BYTES_MAX};
use crate::report::{Report, Span, report};
use crate::syntax::ast::{File, Ident};
use crate::syntax::parse;

/// What begins the line before each file of a bundle.
const MARK: &str = "//# file \"";

/// The name of a first file whose own name cannot stand in a bundle.
const FIRST: &str = "main.wire";

/// The text of a wire, and where its files are in it.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    pub text: String,
    /// One at least; the first is the one that was compiled, the others were imported.
    sections: Vec<Section>,
}

/// One file.
#[derive(Clone, Debug)]
struct Section {
    /// From the folder of the first file.
    path: String,
    /// As reports name it.
    shown: String,
    range: Range<usize>,
}

impl Files {
    /// A text that stands for itself: a file, or a bundle. Reports what is wrong with a bundle.
    pub(crate) fn of_text(name: &str, text: &str, reports: &mut Vec<Report>) -> Files {
        let mut files = Files {
            text: text.to_owned(),
            sections: Vec::new(),
        };
        if !text.starts_with(MARK) {
            files.push(name, first_path(name), 0..text.len());
            return files;
        }
        let mut at = 0;
        let mut open: Option<(String, usize)> = None;
        for line in text.split_inclusive('\n') {
            let start = at;
            at += line.len();
            let Some(marked) = line.strip_prefix(MARK) else {
                continue;
            };
            if let Some((path, from)) = open.take() {
                files.push(name, path, from..start);
            }
            let path = marked.trim_end().strip_suffix('"').unwrap_or_default();
            let known = files.sections.iter().any(|section| section.path == path);
            if known || !is_canonical(path) {
                let span = Span::new(start..start + line.trim_end().len());
                report(reports, span, "this line begins no file")
                    .label("expected `//# file \"PATH\"` with a path that no file before has");
            }
            open = Some((path.to_owned(), at));
        }
        if let Some((path, from)) = open {
            files.push(name, path, from..text.len());
        }
        files
    }

    /// A file and all that it imports, and what these import. Reports what cannot be read.
    pub(crate) fn gather(
        name: &str,
        text: &str,
        load: &mut dyn FnMut(&str) -> std::io::Result<String>,
        reports: &mut Vec<Report>,
    ) -> Files {
        if text.starts_with(MARK) {
            return Files::of_text(name, text, reports);
        }
        let mut loaded = vec![(first_path(name), text.to_owned())];
        let mut known: BTreeSet<String> = BTreeSet::from([first_path(name)]);
        let mut failed: Vec<(usize, Span, String)> = Vec::new();
        let mut bytes = text.len();
        let mut next = 0;
        while let Some((path, text)) = loaded.get(next) {
            let mut found = Vec::new();
            for Ident { text: wanted, span } in imports(text) {
                // What is wrong with the path is said where imports are checked.
                let Some(resolved) = resolve(path, wanted) else {
                    continue;
                };
                if known.contains(&resolved) {
                    continue;
                }
                let why = if known.len() >= FILES_MAX {
                    format!("the wire has more than {FILES_MAX} files")
                } else {
                    match load(&resolved) {
                        Ok(text) if bytes + text.len() > TEXT_BYTES_MAX => {
                            format!("the wire has more than {TEXT_BYTES_MAX} bytes")
                        }
                        Ok(text) => {
                            bytes += text.len();
                            known.insert(resolved.clone());
                            found.push((resolved, text));
                            continue;
                        }
                        Err(error) => format!("`{resolved}` cannot be read: {error}"),
                    }
                };
                failed.push((next, span, why));
            }
            loaded.extend(found);
            next += 1;
        }
        let files = match loaded.as_slice() {
            [(_, text)] => Files::of_text(name, text, reports),
            _ => Files::bundle(name, &loaded, reports),
        };
        for (place, at, why) in failed {
            let start = files.sections[place].range.start;
            let at = Span::new(start + at.start as usize..start + at.end as usize);
            report(reports, at, why).label("imported here");
        }
        files
    }

    fn bundle(name: &str, loaded: &[(String, String)], reports: &mut Vec<Report>) -> Files {
        let mut files = Files {
            text: String::new(),
            sections: Vec::new(),
        };
        for (path, text) in loaded {
            files.text.push_str(&format!("{MARK}{path}\"\n"));
            let start = files.text.len();
            files.text.push_str(text);
            if !text.ends_with('\n') {
                files.text.push('\n');
            }
            files.push(name, path.clone(), start..files.text.len());
            let lines = text.split_inclusive('\n');
            let mut at = start;
            for line in lines {
                if line.starts_with(MARK) {
                    let here = Span::new(at..at + line.trim_end().len());
                    report(reports, here, "this line begins another file")
                        .label("such a line has a meaning where files are bundled");
                }
                at += line.len();
            }
        }
        files
    }

    fn push(&mut self, name: &str, path: String, range: Range<usize>) {
        let shown = if self.sections.is_empty() {
            name.to_owned()
        } else {
            format!("{}{path}", folder(name))
        };
        self.sections.push(Section { path, shown, range });
    }

    /// The syntax trees of all files, one after the other.
    pub(crate) fn parse(&self, reports: &mut Vec<Report>) -> File<'_> {
        let mut file = File::default();
        for section in &self.sections {
            parse(&self.text, section.range.clone(), &mut file, reports);
        }
        file
    }

    /// How many files there are.
    pub(crate) fn len(&self) -> usize {
        self.sections.len()
    }

    /// The file that holds a position, by its place.
    pub(crate) fn at(&self, position: usize) -> usize {
        let after = self
            .sections
            .partition_point(|section| section.range.start <= position);
        after.saturating_sub(1)
    }

    /// The file at this place: as reports name it, and its text.
    pub(crate) fn file(&self, place: usize) -> (&str, &str) {
        let section = &self.sections[place.min(self.sections.len() - 1)];
        let text = self.text.get(section.range.clone()).unwrap_or_default();
        (&section.shown, text)
    }

    /// The line of a position in its file, from 1.
    pub(crate) fn line(&self, position: usize) -> usize {
        let before = self.start(self.at(position))..position;
        let before = self.text.get(before).unwrap_or_default();
        1 + before.matches('\n').count()
    }

    /// The file that a range begins in, and the range in its text.
    pub(crate) fn place(&self, range: &Range<usize>) -> (usize, Range<usize>) {
        let file = self.at(range.start);
        let (start, text) = (self.start(file), self.file(file).1);
        let within = |at: usize| at.saturating_sub(start).min(text.len());
        (file, within(range.start)..within(range.end))
    }

    /// The path of a file from the folder of the first.
    pub(crate) fn path(&self, place: usize) -> &str {
        &self.sections[place.min(self.sections.len() - 1)].path
    }

    /// The file that an import names, if it is there.
    pub(crate) fn imported(&self, import: &Ident<'_>) -> Option<usize> {
        let importer = self.at(import.span.start as usize);
        let path = resolve(&self.sections.get(importer)?.path, import.text)?;
        let mut sections = self.sections.iter();
        sections.position(|section| section.path == path)
    }

    /// Where a file begins in the text.
    pub(crate) fn start(&self, place: usize) -> usize {
        self.sections[place.min(self.sections.len() - 1)]
            .range
            .start
    }

    /// For each file those that it imports; reports imports of what is not there.
    pub(crate) fn imports(
        &self,
        imports: &[Ident<'_>],
        reports: &mut Vec<Report>,
    ) -> Vec<BTreeSet<usize>> {
        let mut imported = vec![BTreeSet::new(); self.sections.len()];
        let places: BTreeMap<&str, usize> = self
            .sections
            .iter()
            .enumerate()
            .map(|(place, section)| (section.path.as_str(), place))
            .collect();
        for import in imports {
            let importer = self.at(import.span.start as usize);
            let Some(path) = resolve(&self.sections[importer].path, import.text) else {
                let message = format!("`{}` is not the path of a file", import.text);
                report(reports, import.span, message)
                    .label("expected names with `/` between them, below this file's folder")
                    .help(
                        "a path has no `.`, `..`, `\\`, drive or empty part, so that it is the \
                         same everywhere",
                    );
                continue;
            };
            match places.get(path.as_str()) {
                Some(&place) => {
                    imported[importer].insert(place);
                }
                None => {
                    let message = format!("`{path}` cannot be imported");
                    report(reports, import.span, message).label(match self.sections.len() {
                        1 => "this wire is a text by itself, without files beside it",
                        _ => "this bundle of files does not have it",
                    });
                }
            }
        }
        imported
    }
}

fn imports(text: &str) -> Vec<Ident<'_>> {
    let mut file = File::default();
    parse(text, 0..text.len(), &mut file, &mut Vec::new());
    file.imports
}

/// The path of an imported file from the first file's folder; `None` where it is not canonical.
fn resolve(importer: &str, path: &str) -> Option<String> {
    is_canonical(path).then(|| format!("{}{path}", folder(importer)))
}

fn is_canonical(path: &str) -> bool {
    let is_name = |part: &str| {
        let odd = |character: char| character.is_control() || "\\:\"".contains(character);
        !part.is_empty() && part != "." && part != ".." && !part.contains(odd)
    };
    path.split('/').all(is_name)
}

/// Up to the last separator, which it includes.
fn folder(path: &str) -> &str {
    let end = path.rfind(['/', '\\']).map_or(0, |at| at + 1);
    &path[..end]
}

fn first_path(name: &str) -> String {
    let path = &name[folder(name).len()..];
    if is_canonical(path) {
        path.to_owned()
    } else {
        FIRST.to_owned()
    }
}
