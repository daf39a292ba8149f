//! What a struct is given by its users, what is worked out on the way, and how repeats end.

use super::Checker;
use super::bodies::Body;
use super::declared::{HeadKind, Item, ValueType};
use super::model::{Expression, Field, FieldId, Repeat, Type};
use crate::syntax::ast::{self, Expr, Struct, TypeRef, Until};

impl<'a> Checker<'a, '_> {
    /// Makes the parameters of a struct readable; they are its last fields.
    pub(super) fn parameters(&mut self, declared: &Struct<'a>, body: &mut Body<'a>) -> Vec<Field> {
        let structure = self.scope.structure;
        let heads = structure.and_then(|id| self.heads.get(id.0 as usize));
        let first = heads.map_or(0, Vec::len) - declared.parameters.len();
        let mut fields = Vec::new();
        for (place, parameter) in (first..).zip(&declared.parameters) {
            self.claim(&mut body.taken, parameter.name);
            let id = FieldId(place as u32);
            self.scope.visible.push((parameter.name.text, id));
            let type_name = parameter.type_name;
            self.is_ambiguous(type_name);
            let field_type = match self.parameter_kind(parameter) {
                HeadKind::Bool => Type::Bool,
                HeadKind::Enum(id) => Type::Enum(id),
                HeadKind::Flags(id) => Type::Flags(id),
                HeadKind::Integer | HeadKind::Number(_) => Type::Computed,
                _ => {
                    let is_enum = |item| matches!(item, Item::Enum(_));
                    let mut names = self.items_seen(type_name.span, is_enum);
                    names.extend(["int", "bool"]);
                    let message = format!("a parameter cannot be a `{}`", type_name.text);
                    self.report(type_name.span, message)
                        .label("expected `int`, `bool`, an enum or a float, such as `f32`")
                        .suggest(type_name.text, names);
                    Type::Broken
                }
            };
            let name = parameter.name.text;
            fields.push(Field::new(name, type_name.text, field_type));
        }
        fields
    }

    /// What a field gives to the struct that it is.
    pub(super) fn struct_arguments(
        &mut self,
        declared: &TypeRef<'a>,
        field_type: &Type,
    ) -> Vec<Expression> {
        let Type::Struct(id) = *field_type else {
            return Vec::new();
        };
        let file = self.file;
        let Some(wanted) = file.structs.get(id.0 as usize) else {
            return Vec::new();
        };
        let given = declared.arguments.as_deref().unwrap_or_default();
        if given.len() != wanted.parameters.len() {
            let name = wanted.name.text;
            let message = match wanted.parameters.len() {
                0 => format!("`{name}` has no parameters"),
                1 => format!("`{name}` takes 1 parameter, not {}", given.len()),
                more => format!("`{name}` takes {more} parameters, not {}", given.len()),
            };
            let names: Vec<&str> = wanted.parameters.iter().map(|p| p.name.text).collect();
            let label = match names.as_slice() {
                [] => format!("expected `{name}`"),
                names => format!("expected `{name}({})`", names.join(", ")),
            };
            self.report(declared.span, message)
                .label(label)
                .related(wanted.name.span, "declared here");
            return Vec::new();
        }
        let mut arguments = Vec::new();
        for (expr, parameter) in given.iter().zip(&wanted.parameters) {
            let Some(typed) = self.typed(expr) else {
                continue;
            };
            let wanted = self.parameter_kind(parameter).value();
            let wanted = wanted.unwrap_or(ValueType::Integer);
            let Some((value, found)) = self.as_wanted(typed, wanted, expr.span) else {
                continue;
            };
            if found != wanted {
                let is = format!("`{}` is", parameter.name.text);
                self.report_mismatch(expr.span, (&is, "not"), wanted, found)
                    .related(parameter.name.span, "the parameter");
            }
            arguments.push(value);
        }
        arguments
    }

    /// The type and the value of a `let`.
    pub(super) fn computed(
        &mut self,
        declared: &ast::Field<'a>,
        expr: &Expr<'a>,
    ) -> (Type, Option<Expression>) {
        let Some((value, found)) = self.typed(expr) else {
            return (Type::Broken, None);
        };
        if declared.field_type.name.text == "let" {
            let field_type = match found {
                ValueType::Integer => Type::Computed,
                ValueType::Bool => Type::Bool,
                ValueType::Enum(id) => Type::Enum(id),
                _ => {
                    let message = format!("{} cannot be computed", self.shown(found));
                    self.report(expr.span, message)
                        .label("expected an integer, a truth value or an enum");
                    Type::Broken
                }
            };
            return (field_type, Some(value));
        }
        let field_type = self.field_type(&declared.field_type);
        let shape = self.number_shape(&declared.field_type);
        let (value, found) = match shape {
            Some(shape) => {
                let wanted = ValueType::Number(shape);
                let Some(typed) = self.as_wanted((value, found), wanted, expr.span) else {
                    return (Type::Broken, None);
                };
                typed
            }
            None => (value, found),
        };
        let fits = match (&field_type, found) {
            (Type::Broken, _) => true,
            (_, ValueType::Number(found)) => shape == Some(found),
            (_, _) if shape.is_some() => false,
            (Type::Bool, found) => found == ValueType::Bool,
            (Type::Enum(id), ValueType::Enum(found)) => *id == found,
            (Type::Enum(_) | Type::Flags(_), found) => found == ValueType::Integer,
            (Type::Unsigned(_) | Type::Signed(_) | Type::Range { .. } | Type::Computed, found) => {
                found == ValueType::Integer
            }
            (_, _) => {
                let spelled = declared.field_type.span.text(self.text);
                self.report(
                    declared.field_type.span,
                    format!("`{spelled}` cannot be computed"),
                )
                .label("expected a plain integer, a float, a range, `bool` or an enum");
                true
            }
        };
        if !fits {
            let spelled = declared.field_type.span.text(self.text);
            let found = self.shown(found);
            self.report(expr.span, format!("`{spelled}` cannot be {found}"))
                .label(format!("expected a `{spelled}`"))
                .related(declared.field_type.span, "declared here");
        }
        (field_type, Some(value))
    }

    /// How the repeat of a field ends.
    pub(super) fn repeat(&mut self, declared: &ast::Repeat<'a>, id: FieldId) -> Option<Repeat> {
        match &declared.until {
            // What fills this many bytes lasts until the end of a window of them.
            Until::End | Until::Bytes(_) => Some(Repeat::UntilEnd),
            Until::Count(count) => {
                let count = self.integer(count, "a number of elements")?;
                Some(Repeat::Count(count))
            }
            Until::Holds(condition) => {
                let outer = self.scope.item.replace(id);
                self.scope.repeated = true;
                let condition = self.condition(condition);
                self.scope.repeated = false;
                self.scope.item = outer;
                condition.map(Repeat::Until)
            }
        }
    }

    /// The components of a vector are numbers.
    pub(super) fn check_vector(&mut self, declared: &Struct<'a>, fields: &[Field]) {
        let Some(first) = fields.first().filter(|_| declared.is_vector) else {
            return;
        };
        let is_number = matches!(
            first.field_type,
            Type::Broken | Type::Float(_) | Type::Quantized(_) | Type::Coded { .. }
        );
        if is_number || first.field_type.limits().is_some() {
            return;
        }
        let span = declared.name.span;
        self.report(span, "a vector is made of numbers")
            .label("expected a type such as `f32`, `i16` or `quantized(-1.0, 1.0, 8)`");
    }
}
