//! What is wrong with a wire's text: reports with a line, a column and a picture of the place.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::syntax::Span;

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

impl Report {
    /// A report whose line and column are filled in when the [`CompileError`] is made.
    pub(crate) fn at(span: Span, message: impl Into<String>) -> Report {
        Report {
            line: 0,
            column: 0,
            message: message.into(),
            span: span.range(),
            label: String::new(),
            related: None,
            help: None,
        }
    }

    pub(crate) fn label(&mut self, label: impl Into<String>) -> &mut Report {
        self.label = label.into();
        self
    }

    pub(crate) fn related(&mut self, span: Span, why: impl Into<String>) -> &mut Report {
        self.related = Some((span.range(), why.into()));
        self
    }

    pub(crate) fn help(&mut self, help: impl Into<String>) -> &mut Report {
        self.help = Some(help.into());
        self
    }
}

/// The most reports that one compilation gives.
const REPORTS_MAX: usize = 20;

impl CompileError {
    /// Sorts the reports, keeps the first twenty, and finds their lines and columns.
    pub(crate) fn new(file: &str, text: &str, mut reports: Vec<Report>) -> CompileError {
        reports.sort_by_key(|report| report.span.start);
        reports.truncate(REPORTS_MAX);
        for report in &mut reports {
            let before = text.get(..report.span.start).unwrap_or(text);
            let line_start = before.rfind('\n').map_or(0, |at| at + 1);
            report.line = 1 + before.bytes().filter(|&byte| byte == b'\n').count() as u32;
            report.column = 1 + before[line_start..].chars().count() as u32;
        }
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
