//! Choices between values, indices of elements, and members of enums that were named without their enum.

use super::Checker;
use super::declared::{Item, Typed, ValueType};
use super::model::{Expression, FieldId, Shared};
use crate::report::Span;
use crate::syntax::ast::{Expr, Ident};

impl<'a> Checker<'a, '_> {
    /// `if (CONDITION) VALUE else VALUE`: both values are of one type.
    pub(super) fn typed_choice(
        &mut self,
        condition: &Expr<'a>,
        then: &Expr<'a>,
        otherwise: &Expr<'a>,
        span: Span,
    ) -> Option<Typed> {
        let asked = self.typed(condition);
        let first = self.typed(then);
        let second = self.typed(otherwise);
        let ((asked, kind), (first, first_type), (second, second_type)) = (asked?, first?, second?);
        if kind != ValueType::Bool {
            let takes = "a condition is a truth value, not";
            let expected = "expected a comparison or a `bool`";
            return self.refuse_value(condition.span, takes, kind, expected);
        }
        let (first, first_type) = self.as_wanted((first, first_type), second_type, then.span)?;
        let (second, second_type) =
            self.as_wanted((second, second_type), first_type, otherwise.span)?;
        if first_type != second_type {
            let (a, b) = (self.shown(first_type), self.shown(second_type));
            let message = format!("this is {a} or {b}");
            return self.refuse(span, message, "expected two values of one type");
        }
        let is_number = matches!(
            first_type,
            ValueType::Integer | ValueType::Bool | ValueType::Enum(_) | ValueType::Number(_)
        );
        if let Expression::Integer(holds) = asked {
            let chosen = if holds != 0 { first } else { second };
            return Some((chosen, first_type));
        }
        if !is_number {
            let expected = "expected integers, truth values or members of one enum";
            return self.refuse_value(span, "a choice cannot give", first_type, expected);
        }
        let boxed = |value| Box::new(value);
        let choice = Expression::Choice(boxed(asked), boxed(first), boxed(second));
        Some((choice, first_type))
    }

    /// `index`: which element of the repeat is read, from 0.
    pub(super) fn index(&mut self, span: Span) -> Option<Typed> {
        if self.scope.repeated {
            self.index_is_read = true;
            return Some((Expression::Index, ValueType::Integer));
        }
        self.report(span, "no element has this `index`")
            .label("`index` is known in the type of a repeated field, and in its `until`")
            .help("give it to the struct: `moves: Move(index)[count];`");
        None
    }

    /// The fields that can be read at the end of every arm of a branch; what comes after can read them.
    pub(super) fn shared(&mut self, arms: &[Vec<(&'a str, FieldId)>]) -> Shared {
        let mut shared: Shared = Vec::new();
        let (Some((first, others)), Some(structure)) = (arms.split_first(), self.scope.structure)
        else {
            return shared;
        };
        let heads = self.heads[structure.0 as usize].as_slice();
        let kind = |id: FieldId| heads.get(id.0 as usize)?.value_kind();
        for &(name, id) in first {
            let same = |arm: &Vec<(&'a str, FieldId)>| {
                let found = arm.iter().find(|(other, _)| *other == name)?.1;
                (kind(found) == kind(id)).then_some(found)
            };
            let Some(others) = others.iter().map(same).collect::<Option<Vec<_>>>() else {
                continue;
            };
            if kind(id).is_some() && !others.is_empty() {
                self.scope.shared.push((name, id));
                let mut all = vec![id];
                all.extend(others);
                self.shared_fields.push((structure, all.clone()));
                shared.push(all);
            }
        }
        shared
    }

    /// Where the field that stands for others is read, those are.
    pub(super) fn read_shared(&mut self) {
        // A branch inside another one was noted before that.
        for (structure, all) in self.shared_fields.iter().rev() {
            let Some((first, others)) = all.split_first() else {
                continue;
            };
            for id in others {
                for known in [&mut self.reads, &mut self.needed_later] {
                    if known.contains(&(*structure, *first)) {
                        known.insert((*structure, *id));
                    }
                }
            }
        }
    }

    /// What to write where somebody named a member of an enum without the enum.
    pub(super) fn member_called(&self, name: Ident<'a>) -> Option<String> {
        let has_member = |item: Item| match item {
            Item::Enum(id) => {
                let members = &self.file.enums[id.0 as usize].members;
                members.iter().any(|member| member.name.text == name.text)
            }
            _ => false,
        };
        let enums = self.items_seen(name.span, has_member);
        Some(format!("did you mean `{}.{}`?", enums.first()?, name.text))
    }
}
