//! What a check knows, and how it reports.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::declared::{Head, Item, Kept, Resolved, Scope, Typed, ValueType};
use super::model::{EnumId, FieldId, Measure, StructId, Type};
use super::names::{Names, Seen};
use super::takings::Taking;
use crate::facts::{Kind, Rules};
use crate::files::Files;
use crate::layers::{HuffmanTable, Script};
use crate::limits::MISTAKES_MAX;
use crate::property::Property;
use crate::report::{Report, Span, report};
use crate::syntax::ast::{File, Ident, TypeRef};

/// A wire that is being checked.
pub(super) struct Checker<'a, 'c> {
    /// All files; spans are places in it.
    pub text: &'a str,
    pub files: &'c Files,
    /// For each file those that it imports.
    pub imported: Vec<BTreeSet<usize>>,
    pub file: &'c File<'a>,
    pub reports: &'c mut Vec<Report>,
    /// What expressions can read where they stand.
    pub scope: Scope<'a>,
    /// Constants, types, enums and structs.
    pub items: Names<'a, Item>,
    /// Of constants that were gone through; `None` inside: declared with a mistake.
    pub constants: BTreeMap<usize, Option<Typed>>,
    pub enum_values: Vec<Vec<u64>>,
    pub rules_names: Names<'a, u16>,
    pub layer_names: Names<'a, u16>,
    pub huffman_names: Names<'a, usize>,
    /// The tables; `None`: declared with a mistake.
    pub huffmans: Vec<Option<Arc<HuffmanTable>>>,
    /// The `lua` items, each with its file.
    pub scripts: Vec<(usize, Arc<Script>)>,
    pub heads: Vec<Vec<Head<'a>>>,
    /// The types of numbers that expressions do not calculate with, as they are spelled.
    pub shapes: RefCell<Vec<(&'a str, TypeRef<'a>)>>,
    pub recursive: Vec<bool>,
    /// By struct.
    pub takings: Vec<Taking<'a>>,
    /// Fields that some expression reads.
    pub reads: BTreeSet<(StructId, FieldId)>,
    /// How often each struct asks the same of what comes.
    pub looks: BTreeMap<(StructId, Arc<str>), u32>,
    /// Fields that some derived field, or an expression, measures.
    pub measured: BTreeSet<(StructId, FieldId, Measure)>,
    /// The fields of all `state` blocks; `None`: declared with a mistake.
    pub kept: Vec<Option<Kept<'a>>>,
    /// The `state` blocks.
    pub state_names: Names<'a, usize>,
    /// The same fields.
    pub kept_names: Names<'a, usize>,
    /// Which struct uses which of them, and where.
    pub state_uses: Vec<(StructId, usize, Span)>,
    /// The root of each protocol, its name, and the `state` block that it keeps.
    pub keepers: Vec<(StructId, Ident<'a>, Option<usize>)>,
    /// The same, and the fields that they are read through.
    pub needed_later: BTreeSet<(StructId, FieldId)>,
    /// Fields that every arm of a branch declares, of each branch.
    pub shared_fields: Vec<(StructId, Vec<FieldId>)>,
    /// Some expression since the last field was begun reads `index`.
    pub index_is_read: bool,
    pub kinds: Vec<Kind>,
    pub rules: Vec<Rules>,
    /// Each with where it was first declared.
    pub properties: Vec<(Property, Span)>,
    /// What fields give to be said back.
    pub given: BTreeSet<&'a str>,
    /// What fields say back, and where that stands.
    pub taken: Vec<(&'a str, Span)>,
    /// Where names are used, and where what they stand for is declared, for who asks for it: then all
    /// is gone through, whatever is wrong.
    pub uses: Option<&'c mut Resolved>,
    /// What `type` items stand for, by the places of their names.
    pub alias_types: Vec<(Span, Type)>,
    /// Expressions whose parts were gone through because nobody knows their values.
    pub broken: BTreeSet<(u32, u32)>,
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
            scope: Scope::default(),
            items: Names::default(),
            constants: BTreeMap::new(),
            enum_values: Vec::new(),
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
            alias_types: Vec::new(),
            broken: BTreeSet::new(),
        }
    }

    /// A name stands for what is declared there.
    pub(super) fn stands_for(&mut self, name: Span, declared: Span) {
        if let Some(uses) = &mut self.uses {
            uses.uses.push((name, declared));
        }
    }

    pub(super) fn report(&mut self, span: Span, message: impl Into<String>) -> &mut Report {
        report(self.reports, span, message)
    }

    /// Reports a mistake for which there is no value.
    pub(super) fn refuse<T>(
        &mut self,
        span: Span,
        message: impl Into<String>,
        expected: impl Into<String>,
    ) -> Option<T> {
        self.report(span, message).label(expected);
        None
    }

    /// Reports what should be there once, and where it was first.
    pub(super) fn report_again(
        &mut self,
        span: Span,
        message: impl Into<String>,
        expected: &str,
        first: Span,
    ) {
        let report = self.report(span, message);
        report.label(expected).related(first, "the first");
    }

    /// Reports a value of another type than what takes it: `takes` ends with it.
    pub(super) fn refuse_value<T>(
        &mut self,
        span: Span,
        takes: &str,
        found: ValueType,
        expected: &str,
    ) -> Option<T> {
        let found = self.shown(found);
        self.refuse(span, format!("{takes} {found}"), expected)
    }

    /// Reports a value of another type than the wanted one. The words stand before each of them, the
    /// wanted one first.
    pub(super) fn report_mismatch(
        &mut self,
        span: Span,
        (is, but): (&str, &str),
        wanted: ValueType,
        found: ValueType,
    ) -> &mut Report {
        let (wanted, found) = (self.shown(wanted), self.shown(found));
        self.report(span, format!("{is} {wanted}, {but} {found}"))
            .label(format!("expected {wanted}"))
    }

    /// Does something with what expressions can read elsewhere.
    pub(super) fn within<R>(&mut self, scope: Scope<'a>, check: impl FnOnce(&mut Self) -> R) -> R {
        let outer = std::mem::replace(&mut self.scope, scope);
        let found = check(self);
        self.scope = outer;
        found
    }

    /// Whether there are so many reports that nobody needs more.
    pub(super) fn has_enough(&self) -> bool {
        self.uses.is_none() && self.reports.len() >= MISTAKES_MAX
    }

    /// Notes a name, or reports that it is taken.
    pub(super) fn claim(&mut self, taken: &mut BTreeMap<&'a str, Span>, name: Ident<'a>) {
        match taken.get(name.text).copied() {
            Some(first) => self.report_twice(name, first),
            None => {
                taken.insert(name.text, name.span);
            }
        }
    }

    /// Notes what a name stands for in its file, or reports that it is taken.
    pub(super) fn declare_as<T: Copy>(
        &mut self,
        names: impl FnOnce(&mut Self) -> &mut Names<'a, T>,
        name: Ident<'a>,
        value: T,
    ) {
        let file = self.file_of(name.span);
        if let Some(first) = names(self).insert(name, file, value) {
            self.report_twice(name, first);
        }
    }

    fn report_twice(&mut self, name: Ident<'a>, first: Span) {
        self.report(name.span, format!("`{}` is declared twice", name.text))
            .label("expected another name")
            .related(first, "first declared here");
    }

    /// What a name stands for; reports the names that there are where it is none of them. `there` and the
    /// name make a sentence.
    pub(super) fn named<T: Copy>(
        &mut self,
        names: impl Fn(&Self) -> &Names<'a, T>,
        name: Ident<'a>,
        there: &str,
    ) -> Option<T> {
        let seen = self.seen_from(name.span);
        let found = names(self).all(name.text, seen).next();
        if let Some((declared, found)) = found {
            self.stands_for(name.span, declared);
            return Some(found);
        }
        let choices = names(self).seen(seen);
        self.report_choice(
            name.span,
            format!("{there} `{}`", name.text),
            name.text,
            choices,
        );
        None
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
        let report = self.report(span, message);
        report.label(label).suggest(wrong, choices);
    }
}

impl<'a> Checker<'a, '_> {
    /// What is known of a field.
    pub(super) fn head(&self, structure: StructId, field: FieldId) -> Head<'a> {
        self.heads[structure.0 as usize][field.0 as usize]
    }

    /// The file that a place is in.
    pub(super) fn file_of(&self, span: Span) -> usize {
        self.files.at(span.start as usize)
    }

    /// What can be used at a place.
    pub(super) fn seen_from(&self, span: Span) -> Seen<'_> {
        let own = self.file_of(span);
        Seen::new(own, &self.imported[own])
    }

    /// What the name of an item stands for.
    pub(super) fn item(&self, name: Ident<'_>) -> Option<Item> {
        self.items.get(name.text, self.seen_from(name.span))
    }

    pub(super) fn struct_named(&self, name: Ident<'_>) -> Option<StructId> {
        match self.item(name) {
            Some(Item::Struct(id)) => Some(id),
            _ => None,
        }
    }

    pub(super) fn enum_named(&self, name: Ident<'_>) -> Option<EnumId> {
        match self.item(name) {
            Some(Item::Enum(id)) => Some(id),
            _ => None,
        }
    }

    /// The names of items of a sort that can be used at a place.
    pub(super) fn items_seen(&self, at: Span, is_of: impl Fn(Item) -> bool) -> Vec<&'a str> {
        self.items.seen_of(self.seen_from(at), is_of)
    }

    /// Whether a name at a place stands for two things; says so if it does.
    pub(super) fn is_ambiguous(&mut self, name: Ident<'_>) -> bool {
        let structs = &self.file.structs;
        // Vectors and structs without a name have names that nobody can give.
        let has_name = |item: Item| match item {
            Item::Struct(id) => {
                let declared = structs.get(id.0 as usize);
                declared.is_some_and(|it| !it.is_vector && !it.is_nameless)
            }
            _ => true,
        };
        let declared = self.items.all(name.text, self.seen_from(name.span));
        let declared = declared.filter(|(_, item)| has_name(*item));
        let declared = declared.map(|(span, _)| span).collect();
        self.stands_for_two(name, declared)
    }

    /// Whether a name is declared at more than one of the places that can be seen; says so if it is. Of
    /// one place it notes the use.
    pub(super) fn stands_for_two(&mut self, name: Ident<'_>, mut declared: Vec<Span>) -> bool {
        let Ident { text: name, span } = name;
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
