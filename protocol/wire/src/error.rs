//! What is wrong with a wire's text: reports with a line, a column and a picture of the place.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

/// A wire that does not compile: at least one report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    file: String,
    text: String,
    reports: Vec<Report>,
}

/// One mistake in a wire's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
    /// What is wrong, without a full stop.
    pub message: String,
    /// The bytes of the text that it is about.
    pub span: Range<usize>,
    /// What was expected there, or what is odd about it. May be empty.
    pub label: String,
    /// Another place that the mistake has to do with, and why.
    pub related: Option<(Range<usize>, String)>,
    /// What to do about it.
    pub help: Option<String>,
}

impl CompileError {
    pub(crate) fn new(file: &str, text: &str, mut reports: Vec<Report>) -> CompileError {
        reports.sort_by_key(|report| report.span.start);
        CompileError {
            file: file.to_owned(),
            text: text.to_owned(),
            reports,
        }
    }

    /// In the order of the text.
    pub fn reports(&self) -> &[Report] {
        &self.reports
    }

    /// The file's name, as [`Wire::compile`](crate::Wire::compile) was told it.
    pub fn file(&self) -> &str {
        &self.file
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
            let mut snippet = Snippet::source(self.text.as_str())
                .path(self.file.as_str())
                .annotation(primary);
            if let Some((span, why)) = &report.related {
                snippet = snippet.annotation(
                    AnnotationKind::Context
                        .span(span.clone())
                        .label(why.as_str()),
                );
            }
            let title = Level::ERROR.primary_title(report.message.as_str());
            let mut group = Group::with_title(title).element(snippet);
            if let Some(help) = &report.help {
                group = group.element(Level::HELP.message(help.as_str()));
            }
            f.write_str(&renderer.render(&[group]))?;
        }
        Ok(())
    }
}

impl std::error::Error for CompileError {}
