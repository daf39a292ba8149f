//! What a check knows, and how it reports.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::declared::{Head, Kept, Typed};
use super::model::{EnumId, FieldId, Measure, StructId};
use super::names::{Names, Seen};
use super::takings::Taking;
use crate::facts::{Kind, Rules};
use crate::files::Files;
use crate::layers::{HuffmanTable, Script};
use crate::limits::MISTAKES_MAX;
use crate::property::Property;
use crate::report::{Report, Span};
use crate::suggest::did_you_mean;
use crate::syntax::ast::{File, Ident, TypeRef};

/// A wire that is being checked.
pub(super) struct Checker<'a, 'c> {
    /// All files; spans are places in it.
    pub(super) text: &'a str,
    pub(super) files: &'c Files,
    /// For each file those that it imports.
    pub(super) imported: Vec<BTreeSet<usize>>,
    pub(super) file: &'c File<'a>,
    pub(super) reports: &'c mut Vec<Report>,
    /// Everything that has a name, `rules` and `wire` blocks left out.
    pub(super) declared: Names<'a, Span>,
    /// `None`: declared with a mistake.
    pub(super) constants: Names<'a, Option<Typed>>,
    /// The `type` items.
    pub(super) alias_names: Names<'a, usize>,
    pub(super) enum_names: Names<'a, EnumId>,
    pub(super) enum_values: Vec<Vec<u64>>,
    pub(super) struct_names: Names<'a, StructId>,
    pub(super) rules_names: Names<'a, u16>,
    pub(super) layer_names: Names<'a, u16>,
    pub(super) huffman_names: Names<'a, usize>,
    /// The tables; `None`: declared with a mistake.
    pub(super) huffmans: Vec<Option<Arc<HuffmanTable>>>,
    /// The `lua` items, each with its file.
    pub(super) scripts: Vec<(usize, Arc<Script>)>,
    pub(super) heads: Vec<Vec<Head<'a>>>,
    /// The types of numbers that expressions do not calculate with, as they are spelled.
    pub(super) shapes: RefCell<Vec<(&'a str, TypeRef<'a>)>>,
    pub(super) recursive: Vec<bool>,
    /// By struct.
    pub(super) takings: Vec<Taking<'a>>,
    /// Fields that some expression reads.
    pub(super) reads: BTreeSet<(StructId, FieldId)>,
    /// How often each struct asks the same of what comes.
    pub(super) looks: BTreeMap<(StructId, Arc<str>), u32>,
    /// Fields that some derived field, or an expression, measures.
    pub(super) measured: BTreeSet<(StructId, FieldId, Measure)>,
    /// The fields of all `state` blocks; `None`: declared with a mistake.
    pub(super) kept: Vec<Option<Kept<'a>>>,
    /// The `state` blocks.
    pub(super) state_names: Names<'a, usize>,
    /// The same fields.
    pub(super) kept_names: Names<'a, (usize, Span)>,
    /// Which struct uses which of them, and where.
    pub(super) state_uses: Vec<(StructId, usize, Span)>,
    /// The root of each protocol, its name, and the `state` block that it keeps.
    pub(super) keepers: Vec<(StructId, Ident<'a>, Option<usize>)>,
    /// The same, and the fields that they are read through.
    pub(super) needed_later: BTreeSet<(StructId, FieldId)>,
    /// Fields that every arm of a branch declares, of each branch.
    pub(super) shared_fields: Vec<(StructId, Vec<FieldId>)>,
    /// Some expression since the last field was begun reads `index`.
    pub(super) index_is_read: bool,
    pub(super) kinds: Vec<Kind>,
    pub(super) rules: Vec<Rules>,
    /// Each with where it was first declared.
    pub(super) properties: Vec<(Property, Span)>,
    /// What fields give to be said back.
    pub(super) given: BTreeSet<&'a str>,
    /// What fields say back, and where that stands.
    pub(super) taken: Vec<(&'a str, Span)>,
    /// Where names are used, and where what they stand for is declared, for who asks for it: then all
    /// is gone through, whatever is wrong.
    pub(super) uses: Option<&'c mut Vec<(Span, Span)>>,
    /// Expressions whose parts were gone through because nobody knows their values.
    pub(super) broken: BTreeSet<(u32, u32)>,
}

impl<'a, 'c> Checker<'a, 'c> {
    pub(super) fn new(
        files: &'a Files,
        imported: Vec<BTreeSet<usize>>,
        file: &'c File<'a>,
        reports: &'c mut Vec<Report>,
    ) -> Checker<'a, 'c>
    where
        'a: 'c,
    {
        Checker {
            text: &files.text,
            files,
            imported,
            file,
            reports,
            declared: Names::default(),
            constants: Names::default(),
            alias_names: Names::default(),
            enum_names: Names::default(),
            enum_values: Vec::new(),
            struct_names: Names::default(),
            rules_names: Names::default(),
            layer_names: Names::default(),
            huffman_names: Names::default(),
            huffmans: Vec::new(),
            scripts: Vec::new(),
            heads: Vec::new(),
            shapes: RefCell::default(),
            recursive: Vec::new(),
            takings: Vec::new(),
            reads: BTreeSet::new(),
            looks: BTreeMap::new(),
            measured: BTreeSet::new(),
            kept: Vec::new(),
            state_names: Names::default(),
            kept_names: Names::default(),
            state_uses: Vec::new(),
            keepers: Vec::new(),
            needed_later: BTreeSet::new(),
            shared_fields: Vec::new(),
            index_is_read: false,
            kinds: Vec::new(),
            rules: Vec::new(),
            properties: Vec::new(),
            given: BTreeSet::new(),
            taken: Vec::new(),
            uses: None,
            broken: BTreeSet::new(),
        }
    }

    /// A name stands for what is declared there.
    pub(super) fn stands_for(&mut self, name: Span, declared: Span) {
        if let Some(uses) = &mut self.uses {
            uses.push((name, declared));
        }
    }

    pub(super) fn report(&mut self, span: Span, message: impl Into<String>) -> &mut Report {
        self.reports.push(Report::at(span, message));
        let last = self.reports.len() - 1;
        &mut self.reports[last]
    }

    /// Whether there are so many reports that nobody needs more.
    pub(super) fn has_enough(&self) -> bool {
        self.uses.is_none() && self.reports.len() >= MISTAKES_MAX
    }

    /// Notes a name, or reports that it is taken.
    pub(super) fn claim(&mut self, taken: &mut BTreeMap<&'a str, Span>, name: Ident<'a>) {
        match taken.get(name.text).copied() {
            Some(first) => {
                self.report(name.span, format!("`{}` is declared twice", name.text))
                    .label("expected another name")
                    .related(first, "first declared here");
            }
            None => {
                taken.insert(name.text, name.span);
            }
        }
    }

    /// Reports a name that is none of the expected ones.
    pub(super) fn report_choice<'w>(
        &mut self,
        span: Span,
        message: String,
        wrong: &str,
        choices: impl IntoIterator<Item = &'w str>,
    ) {
        let choices: Vec<&str> = choices.into_iter().collect();
        let shown: Vec<String> = choices.iter().map(|choice| format!("`{choice}`")).collect();
        let label = match shown.split_last() {
            Some((last, [])) => format!("expected {last}"),
            Some((last, rest)) => format!("expected {} or {last}", rest.join(", ")),
            None => "nothing is expected here".to_owned(),
        };
        let suggestion = did_you_mean(wrong, choices);
        let report = self.report(span, message).label(label);
        if let Some(suggestion) = suggestion {
            report.help(suggestion);
        }
    }
}

impl Checker<'_, '_> {
    /// The file that a place is in.
    pub(super) fn file_of(&self, span: Span) -> usize {
        self.files.at(span.start as usize)
    }

    /// What can be used at a place.
    pub(super) fn seen_from(&self, span: Span) -> Seen<'_> {
        let own = self.file_of(span);
        Seen::new(own, &self.imported[own])
    }

    /// Whether a name at a place stands for two things; says so if it does.
    pub(super) fn is_ambiguous(&mut self, name: &str, span: Span) -> bool {
        let declared = self.declared.all(name, self.seen_from(span));
        self.stands_for_two(name, span, declared)
    }

    /// Whether a name is declared at more than one of the places that can be seen; says so if it is. Of
    /// one place it notes the use.
    pub(super) fn stands_for_two(
        &mut self,
        name: &str,
        span: Span,
        mut declared: Vec<Span>,
    ) -> bool {
        declared.sort_unstable_by_key(|span| span.start);
        let [first, second, ..] = declared[..] else {
            if let [one] = declared[..] {
                self.stands_for(span, one);
            }
            return false;
        };
        let name_of = |span: Span| self.files.file(self.file_of(span)).0.to_owned();
        let help = format!(
            "rename one of them, or leave out an import: {} declares it, and {} does",
            name_of(first),
            name_of(second)
        );
        self.report(span, format!("`{name}` stands for two things"))
            .label("two files declare it")
            .related(second, "one of them here")
            .help(help);
        true
    }
}
