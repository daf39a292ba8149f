//! A document with all that it imports: what is wrong with it, and what its names stand for.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use netreel_wire::{CompileError, FilePlace, Outline, SymbolKind, Wire};

use crate::capture::{Capture, Values};
use crate::positions::{Lines, path_of, uri_of};

/// A longer file is no wire.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Tests of a wire that are run at each change; scripts take longer.
const TESTS_MAX: usize = 1000;
const TESTS_WITH_SCRIPTS_MAX: usize = 32;

/// An open document.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its file, where it has one.
    pub path: Option<PathBuf>,
    /// Its text, as the editor shows it.
    pub text: String,
}

/// The open documents, by their names.
pub type Documents = BTreeMap<String, Document>;

/// Something to say about a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    pub grade: Grade,
    /// The file, by its place in the outline.
    pub file: usize,
    pub range: Range<usize>,
    pub message: String,
    /// Another place, and what it has to do with this one.
    pub related: Option<(usize, Range<usize>, String)>,
}

impl Remark {
    fn new(grade: Grade, place: FilePlace, message: String) -> Remark {
        Remark {
            grade,
            file: place.file,
            range: place.range,
            message,
            related: None,
        }
    }
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grade {
    Mistake,
    Warning,
    Information,
    /// Nothing uses it.
    Unused,
}

/// What is known of a document, taken as the first file of a wire.
pub struct Project {
    /// The names of the outline's files.
    pub uris: Vec<String>,
    pub outline: Outline,
    pub wire: Result<Wire, CompileError>,
    pub remarks: Vec<Remark>,
    pub values: Option<Values>,
    /// All files that were asked for, whether they are there or not.
    asked: Vec<PathBuf>,
}

impl Project {
    /// Reads a document. Files that it imports are taken from open documents first.
    pub fn new(uri: &str, documents: &Documents, capture: Option<&Capture>) -> Option<Project> {
        let document = documents.get(uri)?;
        let path = document.path.as_deref();
        let name = path
            .and_then(Path::file_name)
            .and_then(|name| name.to_str())
            .unwrap_or("main.wire");
        let folder = path.and_then(Path::parent);
        let mut asked = Vec::new();
        let mut load = |imported: &str| {
            let Some(folder) = folder else {
                let why = "the document has no folder: save it first";
                return Err(std::io::Error::other(why));
            };
            let path = folder.join(imported);
            let text = text_of(&path, documents);
            asked.push(path);
            text
        };
        let wire = Wire::compile_with(name, &document.text, &mut load);
        let outline = Outline::new(name, &document.text, &mut load);
        let names = outline.files().iter().enumerate();
        let uris: Vec<String> = names
            .map(|(place, file)| match (place, folder) {
                (0, _) | (_, None) => uri.to_owned(),
                (_, Some(folder)) => name_of(&folder.join(&file.path), documents),
            })
            .collect();
        let values = match (&wire, capture) {
            (Ok(wire), Some(capture)) => Some(Values::new(wire, &outline, capture)),
            _ => None,
        };
        let mut project = Project {
            uris,
            outline,
            wire,
            remarks: Vec::new(),
            values,
            asked,
        };
        project.remarks = project.mistakes(name);
        project.remarks.extend(project.failed_tests(name));
        project.remarks.extend(project.unused());
        let fits = capture.map(|capture| project.fits(capture));
        project.remarks.extend(fits.unwrap_or_default());
        Some(project)
    }

    /// Whether it has to be made again when a file changes.
    pub fn depends_on(&self, uri: &str) -> bool {
        let path = path_of(uri);
        self.uris.iter().any(|known| known == uri)
            || path.is_some_and(|path| self.asked.contains(&path))
    }

    /// The file with this name, by its place.
    pub fn file(&self, uri: &str) -> Option<usize> {
        self.uris.iter().position(|known| known == uri)
    }

    pub fn text(&self, file: usize) -> &str {
        self.outline.files().get(file).map_or("", |file| &file.text)
    }

    /// The positions of a range of a file's bytes.
    pub fn range(&self, file: usize, range: Range<usize>) -> lsp_types::Range {
        Lines::new(self.text(file)).range(range)
    }

    /// The file that a report names.
    fn reported(&self, first: &str, name: &str) -> usize {
        let mut files = self.outline.files().iter();
        if name == first {
            0
        } else {
            files.position(|file| file.path == name).unwrap_or(0)
        }
    }

    fn mistakes(&self, name: &str) -> Vec<Remark> {
        let mut remarks = Vec::new();
        let Err(error) = &self.wire else {
            return remarks;
        };
        // A file that others import needs no protocol of its own.
        let is_part = self.outline.symbols().next().is_some();
        for report in error.reports() {
            if is_part && report.message == "the file has no `wire` block" {
                continue;
            }
            let mut message = report.message.clone();
            if !report.label.is_empty() && !message.contains(&report.label) {
                message.push_str(": ");
                message.push_str(&report.label);
            }
            if let Some(help) = &report.help {
                message.push_str("\nhelp: ");
                message.push_str(help);
            }
            let file = self.reported(name, &report.file);
            let range = report.span.clone();
            remarks.push(Remark {
                related: report.related.as_ref().map(|related| {
                    let file = self.reported(name, &related.file);
                    (file, related.span.clone(), related.why.clone())
                }),
                ..Remark::new(Grade::Mistake, FilePlace { file, range }, message)
            });
        }
        remarks
    }

    fn failed_tests(&self, name: &str) -> Vec<Remark> {
        let mut remarks = Vec::new();
        let Ok(wire) = &self.wire else {
            return remarks;
        };
        let has_scripts = wire.text().contains("lua");
        let most = if has_scripts {
            TESTS_WITH_SCRIPTS_MAX
        } else {
            TESTS_MAX
        };
        if wire.tests() > most {
            return remarks;
        }
        for result in wire.run_tests().iter().filter(|result| !result.passed()) {
            let file = self.reported(name, &result.file);
            let mut tests = self.outline.symbols().filter_map(|(_, symbol)| {
                let is_it = symbol.kind == SymbolKind::Test && symbol.name == result.name;
                symbol
                    .places
                    .first()
                    .filter(|place| is_it && place.file == file)
            });
            let range = tests.next().map_or(0..0, |place| place.range.clone());
            let failures: Vec<String> = result
                .failures
                .iter()
                .map(|failure| match failure.path.as_str() {
                    "" => failure.message.clone(),
                    path => format!("{path}: {}", failure.message),
                })
                .take(8)
                .collect();
            let message = format!("this test fails\n{}", failures.join("\n"));
            let place = FilePlace { file, range };
            remarks.push(Remark::new(Grade::Warning, place, message));
        }
        remarks
    }

    /// What the document declares and nobody uses.
    fn unused(&self) -> Vec<Remark> {
        let mut remarks = Vec::new();
        if self.wire.is_err() {
            return remarks;
        }
        for (id, symbol) in self.outline.symbols() {
            let counts = matches!(
                symbol.kind,
                SymbolKind::Constant
                    | SymbolKind::Enum
                    | SymbolKind::Flags
                    | SymbolKind::Struct
                    | SymbolKind::State
                    | SymbolKind::Layer
                    | SymbolKind::Huffman
            );
            let place = symbol.places.first().filter(|place| place.file == 0);
            if let Some(place) = place.filter(|_| counts)
                && self.outline.uses(id).next().is_none()
            {
                let message = format!("nothing here uses `{}`", symbol.name);
                remarks.push(Remark::new(Grade::Unused, place.clone(), message));
            }
        }
        remarks
    }

    /// How many packets of the capture fit, and where the others do not.
    fn fits(&self, capture: &Capture) -> Vec<Remark> {
        let (Some(values), Ok(wire)) = (&self.values, &self.wire) else {
            return Vec::new();
        };
        let protocols: Vec<&str> = wire.protocols().map(|(name, _)| name).collect();
        let mut symbols = self.outline.symbols();
        let block = symbols.find(|(_, symbol)| symbol.kind == SymbolKind::Protocol);
        let Some(block) = block.and_then(|(_, symbol)| symbol.places.first()).cloned() else {
            return Vec::new();
        };
        let (all, unfit) = (values.misfits.packets(), values.misfits.unfit());
        let first = if capture.has_more { "the first " } else { "" };
        let mut message = format!(
            "{} of {first}{all} packets of {} fit this wire",
            all - unfit,
            capture.name
        );
        if values.unread > 0 {
            message.push_str(&format!(
                "; {} were not read, because the scripts take too long",
                values.unread
            ));
        }
        let mut remarks = vec![Remark::new(Grade::Information, block.clone(), message)];
        for misfit in values.misfits.groups().into_iter().take(20) {
            let field = crate::capture::field_of(&self.outline, &protocols, &misfit.path);
            let place = field.unwrap_or_else(|| block.clone());
            let message = format!(
                "{} of {all} packets of {} do not fit here, such as packet {}: {}",
                misfit.packets, capture.name, misfit.example, misfit.message
            );
            remarks.push(Remark::new(Grade::Warning, place, message));
        }
        remarks
    }
}

/// The name of a file: that of the open document, where it is one.
pub fn name_of(path: &Path, documents: &Documents) -> String {
    let mut open = documents.iter();
    let open = open.find(|(_, document)| document.path.as_deref() == Some(path));
    match open {
        Some((uri, _)) => uri.clone(),
        None => uri_of(path).unwrap_or_default(),
    }
}

/// The text of an open document, or else of a file.
fn text_of(path: &Path, documents: &Documents) -> std::io::Result<String> {
    let mut open = documents.values();
    if let Some(open) = open.find(|document| document.path.as_deref() == Some(path)) {
        return Ok(open.text.clone());
    }
    // What is no file could keep the reader waiting.
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is not a file"));
    }
    let mut text = String::new();
    File::open(path)?
        .take(FILE_BYTES_MAX + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        Err(std::io::Error::other("it is longer than a wire can be"))
    } else {
        Ok(text)
    }
}
