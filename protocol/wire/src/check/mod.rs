//! Does the syntax tree make sense? Names, types, places of annotations, values of settings; the
//! result is a [`Model`], or reports.

mod annotations;
mod bodies;
mod derived;
mod expressions;
mod heads;
mod meanings;
pub(crate) mod model;
mod nesting;
mod protocols;
mod settings;
mod types;
mod vocabulary;

use std::collections::{BTreeMap, BTreeSet};

use self::expressions::Typed;
use self::heads::Head;
use self::model::{Enum, EnumId, FieldId, Model, StructId};
use crate::error::Report;
use crate::facts::{Kind, Rules};
use crate::limits::MISTAKES_MAX;
use crate::suggest::did_you_mean;
use crate::syntax::Span;
use crate::syntax::ast::{File, Ident};

/// Checks a file whose form is right. Pushes reports where it makes no sense; the model is `Some`
/// only where there are none.
pub(crate) fn check(text: &str, file: &File<'_>, reports: &mut Vec<Report>) -> Option<Model> {
    let mut checker = Checker {
        text,
        file,
        reports,
        constants: BTreeMap::new(),
        enum_names: BTreeMap::new(),
        enum_values: Vec::new(),
        struct_names: BTreeMap::new(),
        rules_names: BTreeMap::new(),
        heads: Vec::new(),
        recursive: Vec::new(),
        reads: BTreeSet::new(),
        measured: BTreeSet::new(),
        kinds: Vec::new(),
        rules: Vec::new(),
    };
    checker.model()
}

struct Checker<'a, 'c> {
    text: &'a str,
    file: &'c File<'a>,
    reports: &'c mut Vec<Report>,
    /// `None`: declared with a mistake.
    constants: BTreeMap<&'a str, Option<Typed>>,
    enum_names: BTreeMap<&'a str, EnumId>,
    enum_values: Vec<Vec<u64>>,
    struct_names: BTreeMap<&'a str, StructId>,
    rules_names: BTreeMap<&'a str, u16>,
    heads: Vec<Vec<Head<'a>>>,
    recursive: Vec<bool>,
    /// Fields that some expression reads.
    reads: BTreeSet<(StructId, FieldId)>,
    /// Fields that some derived field measures.
    measured: BTreeSet<(StructId, FieldId)>,
    kinds: Vec<Kind>,
    rules: Vec<Rules>,
}

impl<'a> Checker<'a, '_> {
    fn model(&mut self) -> Option<Model> {
        self.declare();
        self.check_rules();
        self.check_constants();
        let mut enums = self.check_enums();
        self.heads = self.collect_heads();
        let nesting = self.check_nesting();
        self.recursive = nesting.recursive;
        let mut protocols = self.check_wires();
        let mut structs = self.check_structs();
        if self.has_enough() || structs.len() < self.file.structs.len() {
            return None;
        }
        self.check_meanings(
            &mut protocols,
            &structs,
            &nesting.children_first,
            &mut enums,
        );
        for &(structure, field) in &self.reads {
            structs[structure.0 as usize].fields[field.0 as usize].read = true;
        }
        for &(structure, field) in &self.measured {
            structs[structure.0 as usize].fields[field.0 as usize].measured = true;
        }
        if !self.reports.is_empty() {
            return None;
        }
        Some(Model {
            protocols,
            structs,
            enums,
            kinds: std::mem::take(&mut self.kinds),
            rules: std::mem::take(&mut self.rules),
        })
    }

    fn report(&mut self, span: Span, message: impl Into<String>) -> &mut Report {
        self.reports.push(Report::at(span, message));
        let last = self.reports.len() - 1;
        &mut self.reports[last]
    }

    /// Whether there are so many reports that nobody needs more.
    fn has_enough(&self) -> bool {
        self.reports.len() >= MISTAKES_MAX
    }

    /// Gives every item its id and refuses two with one name.
    fn declare(&mut self) {
        let file = self.file;
        for import in &file.imports {
            let message = format!("`{}` cannot be imported: the wire is one text", import.path);
            self.report(import.span, message)
                .label("expected no imports");
        }
        let mut taken: BTreeMap<&'a str, Span> = BTreeMap::new();
        let constants = file.constants.iter().map(|item| item.name);
        let enums = file.enums.iter().map(|item| item.name);
        let structs = file.structs.iter().map(|item| item.name);
        for name in constants.chain(enums).chain(structs) {
            if types::is_built_in(name.text) {
                self.report(name.span, format!("`{}` is a built-in type", name.text))
                    .label("expected another name");
            }
            self.claim(&mut taken, name);
        }
        for (index, item) in file.enums.iter().enumerate() {
            self.enum_names
                .entry(item.name.text)
                .or_insert(EnumId(index as u32));
        }
        for (index, item) in file.structs.iter().enumerate() {
            self.struct_names
                .entry(item.name.text)
                .or_insert(StructId(index as u32));
        }
        let mut rules = BTreeMap::new();
        for (index, item) in file.rules.iter().enumerate() {
            self.claim(&mut rules, item.name);
            self.rules_names
                .entry(item.name.text)
                .or_insert(index as u16);
        }
        if file.rules.len() > usize::from(u16::MAX) {
            self.report(file.rules[0].name.span, "there are too many `rules` blocks");
        }
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

    fn check_constants(&mut self) {
        for constant in &self.file.constants {
            if self.has_enough() {
                return;
            }
            let value = self.typed(&constant.value, None);
            self.constants.entry(constant.name.text).or_insert(value);
        }
    }

    /// Reports a name that is none of the expected ones.
    fn report_choice<'w>(
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

    /// The enums as the model has them; which fields use them is not known yet.
    fn check_enums(&mut self) -> Vec<Enum> {
        let mut enums = Vec::new();
        for declared in &self.file.enums {
            if self.has_enough() {
                break;
            }
            let checked = self.check_enum(declared);
            self.enum_values
                .push(checked.members.iter().map(|member| member.value).collect());
            enums.push(checked);
        }
        enums
    }
}
