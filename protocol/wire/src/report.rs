//! A mistake in a wire's text, and the place of it.

use std::ops::Range;

use crate::suggest::did_you_mean;

/// A range of bytes of the text. Always on character boundaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub(crate) fn new(range: Range<usize>) -> Span {
        Span {
            start: range.start as u32,
            end: range.end as u32,
        }
    }

    /// Nothing, at a place.
    pub(crate) fn at(place: usize) -> Span {
        Span::new(place..place)
    }

    /// From this one's start to the other's end.
    pub(crate) fn to(self, other: Span) -> Span {
        Span {
            start: self.start,
            end: other.end.max(self.end),
        }
    }

    pub(crate) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The piece of the text; empty where the span is not one of this text.
    pub(crate) fn text(self, text: &str) -> &str {
        text.get(self.range()).unwrap_or_default()
    }
}

/// One mistake in a wire's text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The file that it is in.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
    /// What is wrong, without a full stop.
    pub message: String,
    /// The bytes of the file's text that it is about.
    pub span: Range<usize>,
    /// What was expected there, or what is odd about it. May be empty.
    pub label: String,
    /// Another place that the mistake has to do with.
    pub related: Option<Related>,
    /// What to do about it.
    pub help: Option<String>,
}

/// Adds a report, whose span is one of the whole text, to those that there are.
pub(crate) fn report(
    reports: &mut Vec<Report>,
    span: Span,
    message: impl Into<String>,
) -> &mut Report {
    let place = reports.len();
    reports.push(Report::at(span, message));
    &mut reports[place]
}

/// A place that a mistake has to do with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// The file that it is in.
    pub file: String,
    /// The bytes of the file's text.
    pub span: Range<usize>,
    /// What it has to do with the mistake.
    pub why: String,
}

impl Report {
    /// A report whose span is one of the whole text; the file and the place in it are filled in
    /// when the [`CompileError`] is made.
    pub(crate) fn at(span: Span, message: impl Into<String>) -> Report {
        Report {
            message: message.into(),
            span: span.range(),
            ..Report::default()
        }
    }

    pub(crate) fn label(&mut self, label: impl Into<String>) -> &mut Report {
        self.label = label.into();
        self
    }

    pub(crate) fn related(&mut self, span: Span, why: impl Into<String>) -> &mut Report {
        self.related = Some(Related {
            file: String::new(),
            span: span.range(),
            why: why.into(),
        });
        self
    }

    pub(crate) fn help(&mut self, help: impl Into<String>) -> &mut Report {
        self.help = Some(help.into());
        self
    }

    /// Says which of some words was probably meant, where one is near enough.
    pub(crate) fn suggest<'w>(
        &mut self,
        wrong: &str,
        words: impl IntoIterator<Item = &'w str>,
    ) -> &mut Report {
        self.help = did_you_mean(wrong, words).or(self.help.take());
        self
    }
}
