//! Do the annotations of a whole wire fit together? Each fact of a packet, and each fact of a
//! message, has one place at most on every way through it.

use std::collections::{BTreeMap, BTreeSet};

use super::Checker;
use super::model::{Enum, FieldId, Meaning, Step, Struct, StructId, Type};
use crate::syntax::Span;
use crate::syntax::ast::{self, Statement};

/// What a struct can say, in itself or in what it holds, outside the messages that it holds.
#[derive(Clone, Debug, Default)]
struct Says {
    /// Each meaning with the place of an annotation that gives it.
    meanings: BTreeMap<Meaning, Span>,
    /// A message that it holds.
    message: Option<StructId>,
}

impl<'a> Checker<'a, '_> {
    /// Checks the annotations of all structs and enums, fills in what enums mean, and finds the
    /// struct that a joined message is.
    pub(super) fn check_meanings(
        &mut self,
        root: Option<StructId>,
        structs: &[Struct],
        children_first: &[StructId],
        enums: &mut [Enum],
    ) -> Option<StructId> {
        self.check_enum_uses(structs, enums);
        let file = self.file;
        let declared: Vec<Vec<&ast::Field<'a>>> = file
            .structs
            .iter()
            .map(|structure| fields(&structure.body))
            .collect();
        for (index, structure) in structs.iter().enumerate().filter(|(_, s)| s.recursive) {
            self.check_recursive(structure, &declared[index], index);
        }
        let mut says: Vec<Says> = vec![Says::default(); structs.len()];
        for &id in children_first {
            let index = id.0 as usize;
            let structure = &structs[index];
            let mut found = Says::default();
            self.walk(
                &structure.body,
                structure,
                &declared[index],
                &says,
                structs,
                &mut found,
            );
            if structure.is_message {
                self.check_message(structure, &found, file.structs[index].name.span, structs);
            }
            says[index] = found;
        }
        let of_root = root.map(|root| (root, &says[root.0 as usize]));
        if let Some((root, said)) = of_root.filter(|(root, _)| !structs[root.0 as usize].is_message)
        {
            let misplaced = said
                .meanings
                .iter()
                .filter(|(meaning, _)| meaning.is_of_message());
            for (meaning, &span) in misplaced {
                let root = &structs[root.0 as usize].name;
                let message = format!("`@{}` is outside any message", meaning.spelled());
                self.report(span, message)
                    .label(format!(
                        "`{root}` holds this outside its `@message` structs"
                    ))
                    .help("put `@message` on the struct that is one message");
            }
        }
        let messages = || {
            children_first
                .iter()
                .copied()
                .filter(|id| structs[id.0 as usize].is_message)
        };
        let has_fragments = |id: &StructId| {
            says[id.0 as usize]
                .meanings
                .contains_key(&Meaning::FragmentData)
        };
        messages().find(has_fragments).or_else(|| messages().min())
    }

    fn check_enum_uses(&mut self, structs: &[Struct], enums: &mut [Enum]) {
        let file = self.file;
        let mut uses = BTreeSet::new();
        for field in structs.iter().flat_map(|structure| &structure.fields) {
            if let (Some(meaning), &Type::Enum(id)) = (field.meaning, &field.field_type) {
                uses.insert((id.0 as usize, meaning));
            }
        }
        for (index, declared) in file.enums.iter().enumerate() {
            let is_kind = uses.contains(&(index, Meaning::MessageKind));
            let is_rules = uses.contains(&(index, Meaning::Rules));
            self.member_annotations(declared, &mut enums[index], is_kind, is_rules);
        }
    }

    fn check_recursive(&mut self, structure: &Struct, declared: &[&ast::Field<'a>], index: usize) {
        if structure.is_message {
            let span = self.file.structs[index].name.span;
            self.report(span, "a message cannot hold itself")
                .label("this struct can");
        }
        let annotated = structure.fields.iter().zip(declared);
        for (_, field) in annotated.filter(|(field, _)| field.meaning.is_some()) {
            let Some(annotation) = field.annotations.first() else {
                continue;
            };
            let message = format!("`@{}` can be there several times", annotation.name.text);
            self.report(annotation.span, message)
                .label(format!("the struct `{}` can hold itself", structure.name));
        }
    }

    fn check_message(&mut self, structure: &Struct, said: &Says, name: Span, structs: &[Struct]) {
        if let Some(inner) = said.message {
            let inner = &structs[inner.0 as usize].name;
            self.report(name, "a message cannot hold another message")
                .label(format!("`{}` holds the message `{inner}`", structure.name));
        }
        for (meaning, &span) in said.meanings.iter().filter(|(m, _)| !m.is_of_message()) {
            let message = format!("`@{}` is inside a message", meaning.spelled());
            self.report(span, message)
                .label("it says something of a whole packet")
                .related(name, "the message");
        }
    }

    /// Adds what steps can say to `found`, and reports what they say a second time.
    fn walk(
        &mut self,
        steps: &[Step],
        structure: &Struct,
        declared: &[&ast::Field<'a>],
        says: &[Says],
        structs: &[Struct],
        found: &mut Says,
    ) {
        let inner = |checker: &mut Self, steps: &[Step], found: &mut Says| {
            checker.walk(steps, structure, declared, says, structs, found);
        };
        for step in steps {
            match step {
                Step::Align { .. } => {}
                Step::Field(id) => self.walk_field(*id, structure, declared, says, structs, found),
                Step::If {
                    then, otherwise, ..
                } => {
                    let mut other = found.clone();
                    inner(self, then, found);
                    inner(self, otherwise, &mut other);
                    found.join(other);
                }
                Step::Switch { arms, default, .. } => {
                    let before = found.clone();
                    let bodies = arms.iter().map(|(_, steps)| steps).chain(default);
                    for steps in bodies {
                        let mut arm = before.clone();
                        inner(self, steps, &mut arm);
                        found.join(arm);
                    }
                }
            }
        }
    }

    fn walk_field(
        &mut self,
        id: FieldId,
        structure: &Struct,
        declared: &[&ast::Field<'a>],
        says: &[Says],
        structs: &[Struct],
        found: &mut Says,
    ) {
        let field = structure.field(id);
        let Some(declared) = declared.get(id.0 as usize) else {
            return;
        };
        if let (Some(meaning), Some(annotation)) = (field.meaning, declared.annotations.first()) {
            self.say(found, meaning, annotation.span, None);
        }
        let Type::Struct(inner) = field.field_type else {
            return;
        };
        if structs[inner.0 as usize].is_message {
            found.message = Some(inner);
            return;
        }
        let said = &says[inner.0 as usize];
        found.message = found.message.or(said.message);
        for (&meaning, &span) in &said.meanings {
            if let Some(repeat) = &declared.repeat {
                let message = format!("`@{}` can be there several times", meaning.spelled());
                self.report(repeat.span, message)
                    .label(format!("`{}` is repeated", field.name))
                    .related(span, "and holds this");
                continue;
            }
            self.say(found, meaning, span, Some(declared.name.span));
        }
    }

    fn say(&mut self, found: &mut Says, meaning: Meaning, span: Span, through: Option<Span>) {
        let Some(first) = found.meanings.insert(meaning, span) else {
            return;
        };
        let message = format!("`@{}` can be there twice", meaning.spelled());
        match through {
            None => self
                .report(span, message)
                .label("expected one such field on every way through")
                .related(first, "the first"),
            Some(through) => self
                .report(through, message)
                .label("the second comes with this field")
                .related(first, "the first"),
        };
    }
}

impl Says {
    fn join(&mut self, other: Says) {
        self.message = self.message.or(other.message);
        for (meaning, span) in other.meanings {
            self.meanings.entry(meaning).or_insert(span);
        }
    }
}

/// The fields of a body in the order of the text, as [`FieldId`] counts them.
fn fields<'s, 'a>(body: &'s [Statement<'a>]) -> Vec<&'s ast::Field<'a>> {
    let mut found = Vec::new();
    for statement in body {
        match statement {
            Statement::Field(field) => found.push(field),
            Statement::If(inner) => {
                found.extend(fields(&inner.then));
                found.extend(fields(&inner.otherwise));
            }
            Statement::Switch(inner) => {
                found.extend(inner.arms.iter().flat_map(|arm| fields(&arm.body)));
            }
            Statement::Align(_) => {}
        }
    }
    found
}
