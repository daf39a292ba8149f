//! What is wrong with a wire's text: reports with a file, a line, a column and a picture of the
//! place.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::files::Files;
use crate::report::{Related, Report};

/// A wire that does not compile: at least one report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    name: String,
    /// The files that reports are about, by name, with their texts.
    files: Vec<(String, String)>,
    reports: Vec<Report>,
}

/// The most reports that one compilation gives.
const REPORTS_MAX: usize = 20;

impl CompileError {
    /// Sorts the reports, keeps the first twenty, and finds their files, lines and columns.
    pub(crate) fn new(name: &str, files: &Files, mut reports: Vec<Report>) -> CompileError {
        reports.sort_by_key(|report| report.span.start);
        reports.truncate(REPORTS_MAX);
        for report in &mut reports {
            place_in_file(report, files);
        }
        let of_reports = |file: &str| {
            let related = |report: &Report| report.related.as_ref().is_some_and(|r| r.file == file);
            reports
                .iter()
                .any(|report| report.file == file || related(report))
        };
        let files = (0..files.len())
            .map(|place| files.file(place))
            .filter(|(file, _)| of_reports(file));
        CompileError {
            name: name.to_owned(),
            files: files
                .map(|(file, text)| (file.to_owned(), text.to_owned()))
                .collect(),
            reports,
        }
    }

    /// In the order of the text: the compiled file's own, then those of the files that it imports.
    pub fn reports(&self) -> &[Report] {
        &self.reports
    }

    /// The name of the file that was compiled, as [`Wire::compile`](crate::Wire::compile) was told
    /// it.
    pub fn file(&self) -> &str {
        &self.name
    }

    fn text_of(&self, file: &str) -> &str {
        let found = self.files.iter().find(|(name, _)| name == file);
        found.map_or("", |(_, text)| text)
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let renderer = Renderer::plain();
        for (index, report) in self.reports.iter().enumerate() {
            if index > 0 {
                f.write_str("\n\n")?;
            }
            let mut primary = AnnotationKind::Primary.span(report.span.clone());
            if !report.label.is_empty() {
                primary = primary.label(report.label.as_str());
            }
            let mut snippet = Snippet::source(self.text_of(&report.file))
                .path(report.file.as_str())
                .annotation(primary);
            let mut elsewhere = None;
            if let Some(Related { file, span, why }) = &report.related {
                let context = AnnotationKind::Context
                    .span(span.clone())
                    .label(why.as_str());
                if *file == report.file {
                    snippet = snippet.annotation(context);
                } else {
                    let other = Snippet::source(self.text_of(file)).path(file.as_str());
                    elsewhere = Some(other.annotation(context));
                }
            }
            let title = Level::ERROR.primary_title(report.message.as_str());
            let mut group = Group::with_title(title).element(snippet);
            if let Some(elsewhere) = elsewhere {
                group = group.element(elsewhere);
            }
            if let Some(help) = &report.help {
                group = group.element(Level::HELP.message(help.as_str()));
            }
            f.write_str(&renderer.render(&[group]))?;
        }
        Ok(())
    }
}

impl std::error::Error for CompileError {}

/// From a place in the whole text to one in its file.
fn place_in_file(report: &mut Report, files: &Files) {
    let place = |span: &mut Range<usize>, file: &mut String| {
        let (index, within) = files.place(span);
        let (name, text) = files.file(index);
        *span = within;
        file.clear();
        file.push_str(name);
        text
    };
    report.line = files.line(report.span.start) as u32;
    let text = place(&mut report.span, &mut report.file);
    let before = text.get(..report.span.start).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    report.column = 1 + before[line_start..].chars().count() as u32;
    if let Some(related) = &mut report.related {
        place(&mut related.span, &mut related.file);
    }
}
