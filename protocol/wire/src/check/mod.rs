//! Does the syntax tree make sense? Names, types, places of annotations, values of settings; the
//! result is a [`Model`], or reports.

mod aliases;
mod annotations;
mod bodies;
mod c_layout;
mod calls;
mod checker;
mod choices;
mod declared;
mod derived;
mod enums;
mod expressions;
mod floats;
mod heads;
mod huffman;
mod keeping;
mod kept_structs;
mod layers;
mod meanings;
pub(crate) mod model;
mod names;
mod nesting;
mod parameters;
pub(crate) mod properties;
mod protocols;
mod rests;
mod said_back;
mod settings;
mod sizes;
mod state;
mod state_steps;
mod takings;
mod tests;
mod type_arguments;
mod type_names;
mod types;
mod vocabulary;
mod windows;

use std::collections::BTreeSet;

use self::checker::Checker;
use self::declared::Item;
pub(crate) use self::declared::Resolved;
use self::model::{Enum, EnumId, Model, StructId};
pub(crate) use self::type_names::is_built_in;
pub(crate) use self::vocabulary::{Place, vocabulary};
use crate::files::Files;
use crate::report::Report;
use crate::syntax::ast::{Constant, File};

/// Checks a file whose form is right. What `type` items stand for takes the place of
/// their names. Pushes reports where it makes no sense; the model is `Some` only where there are none.
pub(crate) fn check<'a>(
    files: &'a Files,
    file: &mut File<'a>,
    reports: &mut Vec<Report>,
) -> Option<Model> {
    checked(files, file, reports, None)
}

/// What names stand for. A text with mistakes is gone through to its end.
pub(crate) fn resolved<'a>(files: &'a Files, file: &mut File<'a>) -> Resolved {
    let mut resolved = Resolved::default();
    checked(files, file, &mut Vec::new(), Some(&mut resolved));
    resolved
}

fn checked<'a>(
    files: &'a Files,
    file: &mut File<'a>,
    reports: &mut Vec<Report>,
    mut uses: Option<&mut Resolved>,
) -> Option<Model> {
    let imported = files.imports(&file.imports, reports);
    let named = aliases::spell_out(files, &imported, file);
    if let Some(uses) = &mut uses {
        uses.uses.extend(named);
    }
    let made = c_layout::lay_out(files, &imported, file, reports);
    file.structs.extend(made);
    Checker {
        uses,
        ..Checker::new(files, imported, file, reports)
    }
    .model()
}

impl<'a> Checker<'a, '_> {
    fn model(&mut self) -> Option<Model> {
        self.declare();
        self.check_rules();
        self.check_constants();
        let mut enums = self.check_enums();
        let layers = self.check_layers();
        self.heads = self.collect_heads();
        self.resolve_computed();
        self.share_heads();
        self.check_states();
        if !self.check_aliases() && self.uses.is_none() {
            return None;
        }
        let nesting = self.check_nesting();
        self.check_ends(&nesting.recursive);
        self.recursive = nesting.recursive;
        self.collect_rests();
        let mut protocols = self.check_wires();
        let mut structs = self.check_structs();
        self.note_sizes(&structs, &enums);
        if self.has_enough() || structs.len() < self.file.structs.len() {
            return None;
        }
        let tests = self.check_tests(&protocols);
        self.check_state_uses();
        self.check_said_back();
        self.check_meanings(
            &mut protocols,
            &structs,
            &nesting.children_first,
            &mut enums,
        );
        self.read_shared();
        for &(structure, field) in &self.reads {
            structs[structure.0 as usize].fields[field.0 as usize].read = true;
        }
        for &(structure, field, measure) in &self.measured {
            let field = &mut structs[structure.0 as usize].fields[field.0 as usize];
            field.measured.push(measure);
        }
        for &(structure, field) in &self.needed_later {
            structs[structure.0 as usize].fields[field.0 as usize].needed_later = true;
        }
        if !self.reports.is_empty() {
            return None;
        }
        Some(Model {
            protocols,
            tests,
            structs,
            enums,
            kinds: std::mem::take(&mut self.kinds),
            rules: std::mem::take(&mut self.rules),
            properties: std::mem::take(&mut self.properties)
                .into_iter()
                .map(|(property, _)| property)
                .collect(),
            layers,
            state: state::state_fields(&self.kept),
        })
    }

    /// Gives every item its id and refuses two with one name.
    fn declare(&mut self) {
        let file = self.file;
        let constants = file.constants.iter().map(|item| item.name);
        let constants = (0..).map(Item::Constant).zip(constants);
        let aliases = file.aliases.iter().map(|item| item.name);
        let aliases = (0..).map(Item::Alias).zip(aliases);
        let enums = file.enums.iter().map(|item| item.name);
        let enums = (0..).map(|place| Item::Enum(EnumId(place))).zip(enums);
        let structs = file.structs.iter().map(|item| item.name);
        let structs = (0..)
            .map(|place| Item::Struct(StructId(place)))
            .zip(structs);
        for (item, name) in constants.chain(aliases).chain(enums).chain(structs) {
            if is_built_in(name.text) {
                self.report(name.span, format!("`{}` is a built-in type", name.text))
                    .label("expected another name");
            }
            self.declare_as(|checker| &mut checker.items, name, item);
        }
        self.declare_layers();
        for (place, item) in file.rules.iter().enumerate() {
            self.declare_as(|checker| &mut checker.rules_names, item.name, place as u16);
        }
        if file.rules.len() > usize::from(u16::MAX) {
            self.report(file.rules[0].name.span, "there are too many `rules` blocks");
        }
    }

    fn check_constants(&mut self) {
        let file = self.file;
        let ranks = self.imported_first();
        let mut constants: Vec<(usize, &Constant<'a>)> =
            file.constants.iter().enumerate().collect();
        constants.sort_by_key(|(_, constant)| ranks[self.file_of(constant.name.span)]);
        for (place, constant) in constants {
            if self.has_enough() {
                return;
            }
            let value = self.typed(&constant.value);
            self.constants.insert(place, value);
        }
    }

    /// For each file a number that is higher than those of the files that it imports, as far as
    /// they do not import each other.
    fn imported_first(&self) -> Vec<usize> {
        let mut ranks = vec![usize::MAX; self.imported.len()];
        let mut next = 0;
        // Files, and whether what they import is done.
        let mut open = vec![(0, false)];
        let mut met = BTreeSet::from([0]);
        while let Some((file, done)) = open.pop() {
            if done {
                ranks[file] = next;
                next += 1;
                continue;
            }
            open.push((file, true));
            for &inner in self.imported[file].iter().rev() {
                if met.insert(inner) {
                    open.push((inner, false));
                }
            }
        }
        ranks
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
