//! `@property` and `@value`: what messages tell of objects.

use std::collections::BTreeMap;

use super::Checker;
use super::model::{Field, Model, Struct, StructId, Type, held};
use crate::facts::Meaning;
use crate::property::{Property, PropertyKind};
use crate::report::Span;
use crate::syntax::ast::{self, Annotation, Expr, ExprKind, Ident, Unary};

/// What the arguments of a `@property` say, each with its place.
#[derive(Default)]
struct Arguments {
    kind: Option<(PropertyKind, Span)>,
    unit: Option<(String, Span)>,
    tolerance: Option<(f64, Span)>,
}

impl<'a> Checker<'a, '_> {
    /// The property that a field tells, by its place among the wire's.
    pub(super) fn property(
        &mut self,
        annotation: &Annotation<'a>,
        field: &ast::Field<'a>,
        field_type: &Type,
    ) -> Option<u16> {
        if matches!(field_type, Type::Broken) {
            return None;
        }
        let arguments = self.property_arguments(annotation)?;
        let numbers = holds_numbers(field_type);
        let kind = match arguments.kind {
            Some((kind, span)) => {
                if kind.is_measured() && !numbers {
                    let message = format!("`{}` is for numbers", kind.name());
                    self.report(span, message)
                        .label("expected `flag` or `name`")
                        .related(field.field_type.span, "the field's type");
                    return None;
                }
                kind
            }
            None => usual_kind(field_type),
        };
        if let Some((_, span)) = arguments.tolerance
            && !kind.is_measured()
        {
            let message = format!(
                "two values of the kind `{}` are the same or not",
                kind.name()
            );
            self.report(span, message)
                .label("expected no number here")
                .help("how far values may differ is said of positions, angles, counts and numbers");
            return None;
        }
        let property = Property {
            name: field.name.text.to_owned(),
            kind,
            unit: arguments.unit.map_or(String::new(), |(unit, _)| unit),
            tolerance: arguments.tolerance.map_or(0.0, |(tolerance, _)| tolerance),
        };
        let known = self.properties.iter();
        let place = known.clone().position(|(it, _)| it.name == property.name);
        let Some(place) = place else {
            let place = u16::try_from(self.properties.len()).ok()?;
            self.properties.push((property, annotation.span));
            return Some(place);
        };
        if let Some((first, span)) = self.properties.get(place)
            && *first != property
        {
            let span = *span;
            let message = format!("`{}` is another property elsewhere", property.name);
            self.report(annotation.span, message)
                .label("expected the same kind, unit and tolerance")
                .related(span, "first declared here")
                .help("fields of one name tell the same property; give one of them another name");
        }
        Some(place as u16)
    }

    fn property_arguments(&mut self, annotation: &Annotation<'a>) -> Option<Arguments> {
        let mut arguments = Arguments::default();
        for argument in &annotation.arguments {
            let first = match &argument.kind {
                ExprKind::Path(_) if argument.name().is_some() => {
                    let kind = (self.property_kind(argument)?, argument.span);
                    arguments.kind.replace(kind).map(|(_, span)| span)
                }
                ExprKind::Text(unit) => {
                    let unit = (unit.to_string(), argument.span);
                    arguments.unit.replace(unit).map(|(_, span)| span)
                }
                _ => {
                    let tolerance = number(argument);
                    let Some(tolerance) = tolerance.filter(|it| it.is_finite() && *it >= 0.0)
                    else {
                        self.report(argument.span, "this says nothing of a property")
                            .label(
                                "expected a kind, a unit in quotes, or how far values may differ",
                            )
                            .help("as in `@property(position, \"m\", 0.01)`");
                        return None;
                    };
                    let tolerance = (tolerance, argument.span);
                    arguments.tolerance.replace(tolerance).map(|(_, span)| span)
                }
            };
            if let Some(first) = first {
                self.report_again(
                    argument.span,
                    "`@property` is told the same twice",
                    "expected it once",
                    first,
                );
                return None;
            }
        }
        Some(arguments)
    }

    fn property_kind(&mut self, argument: &Expr<'a>) -> Option<PropertyKind> {
        let there = "there is no kind of property";
        self.one_of(
            Ident::spelled(argument.span, self.text),
            PropertyKind::ALL,
            there,
        )
    }

    /// Whether a field can be the value of a property.
    pub(super) fn is_value(
        &mut self,
        annotation: &Annotation<'a>,
        field: &ast::Field<'a>,
        field_type: &Type,
    ) -> bool {
        if matches!(field_type, Type::Struct(_)) {
            let spelled = field.field_type.span.text(self.text);
            let message = format!("`@value` cannot be on a field of type `{spelled}`");
            self.report(annotation.span, message)
                .label("expected a number, a truth value, a text or bytes");
            return false;
        }
        self.check_not_repeated(annotation, field);
        field.repeat.is_none()
    }

    /// Each `@value` stands in a struct that some property is made of.
    pub(super) fn check_values(&mut self, structs: &[Struct]) {
        let fields = structs.iter().flat_map(|structure| &structure.fields);
        let properties = fields.filter(|field| field.property.is_some());
        let covered = held(properties.filter_map(Field::structure), structs);
        let file = self.file;
        for (index, structure) in (0u32..).zip(structs) {
            if covered.contains(&StructId(index)) {
                continue;
            }
            let declared = ast::fields(&file.structs[index as usize].body);
            for (field, declared) in structure.fields.iter().zip(declared) {
                let marked = declared.annotations.first();
                if let Some(annotation) = marked.filter(|_| field.is_value) {
                    let name = &structure.name;
                    self.report(annotation.span, "`@value` is outside any property")
                        .label(format!("no `@property` is on a field of type `{name}`"));
                }
            }
        }
    }

    /// A message that tells properties says of which object.
    pub(super) fn check_property_of_message(
        &mut self,
        property: Option<Span>,
        meanings: &BTreeMap<Meaning, Span>,
        structure: &Struct,
        name: Span,
    ) {
        if let Some(span) = property
            && !meanings.contains_key(&Meaning::Object)
        {
            self.report(span, "this is a property of no object")
                .label(format!("`{}` has no `@object`", structure.name))
                .related(name, "the message")
                .help("put `@object` on the field that says which object the message is about");
        }
    }
}

/// The number that an argument is, if it is one.
fn number(argument: &Expr<'_>) -> Option<f64> {
    match &argument.kind {
        ExprKind::Integer(value) => Some(*value as f64),
        ExprKind::Float(value) => Some(*value),
        ExprKind::Unary(Unary::Negate, inner) => number(inner).map(|value| -value),
        _ => None,
    }
}

/// Whether a type is made of numbers alone, as far as it tells.
fn holds_numbers(field_type: &Type) -> bool {
    !matches!(
        field_type,
        Type::Text { .. }
            | Type::Bytes(_)
            | Type::BytesRest
            | Type::Wide(_)
            | Type::Uuid
            | Type::Hash(_)
    )
}

fn usual_kind(field_type: &Type) -> PropertyKind {
    match field_type {
        Type::Bool | Type::Unsigned(1) | Type::Flags(_) => PropertyKind::Flag,
        Type::Enum(_) | Type::Text { .. } | Type::Bytes(_) | Type::BytesRest => PropertyKind::Name,
        Type::Wide(_) | Type::Uuid | Type::Hash(_) => PropertyKind::Name,
        Type::Rotation { .. } => PropertyKind::Angle,
        _ => PropertyKind::Number,
    }
}

/// Whether a struct holds fields that are marked as the value of a property.
pub(crate) fn is_marked(model: &Model, id: StructId) -> bool {
    let mut fields = held([id], &model.structs)
        .into_iter()
        .flat_map(|id| &model.structure(id).fields);
    fields.any(|field| field.is_value)
}
