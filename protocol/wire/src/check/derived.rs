//! Derived fields: what they are worked out from, which may come later in the same struct.

use super::Checker;
use super::bodies::Body;
use super::declared::{HeadKind, ValueType};
use super::model::{Checksum, Derived, Expression, FieldId, Measure, Piece, StructId, Type};
use crate::report::Span;
use crate::syntax::ast::{self, Arithmetic, Binary, Expr, ExprKind, Ident, Unary};

const MEASURES: [(&str, Measure); 4] = [
    ("size", Measure::Bytes),
    ("bits", Measure::Bits),
    ("count", Measure::Count),
    ("present", Measure::Present),
];

/// Algorithms by their names in the RevEng catalogue of CRCs, where they have one.
const CHECKSUMS: [(&str, Checksum); 10] = [
    ("crc8", Checksum::Crc8),
    ("crc16_arc", Checksum::Crc16Arc),
    ("crc16_ccitt", Checksum::Crc16Ccitt),
    ("crc32", Checksum::Crc32),
    ("crc32c", Checksum::Crc32c),
    ("adler32", Checksum::Adler32),
    ("sum8", Checksum::Sum(8)),
    ("sum16", Checksum::Sum(16)),
    ("sum32", Checksum::Sum(32)),
    ("xor8", Checksum::Xor8),
];

/// Integers as bytes, among the pieces of a checksum.
const INTEGERS: [(&str, u8, bool); 7] = [
    ("u8", 1, false),
    ("le16", 2, false),
    ("le32", 4, false),
    ("le64", 8, false),
    ("be16", 2, true),
    ("be32", 4, true),
    ("be64", 8, true),
];

impl<'a> Checker<'a, '_> {
    /// Fills in the derived fields of a struct whose body is checked.
    pub(super) fn check_derived(
        &mut self,
        declared: &[&ast::Field<'a>],
        id: StructId,
        body: &mut Body<'a>,
    ) {
        for (place, declared) in declared.iter().enumerate() {
            let Some(expr) = &declared.derived else {
                continue;
            };
            let field_type = body.fields.get(place).map(|field| field.field_type.clone());
            let holds = match field_type {
                Some(Type::Broken) => continue,
                Some(Type::Bool | Type::Range { .. }) => true,
                Some(ref field_type) if field_type.is_unsigned() => true,
                _ => false,
            };
            if !holds || declared.repeat.is_some() {
                let spelled = declared.field_type.span.text(self.text);
                self.report(
                    expr.span,
                    format!("a field of type `{spelled}` cannot be derived"),
                )
                .label("expected a single unsigned integer, `range` or `bool`")
                .related(declared.field_type.span, "the field's type");
                continue;
            }
            let derived = self.derived(expr, id);
            if let Some(field) = body.fields.get_mut(place) {
                field.derived = derived;
                field.read = true;
            }
        }
    }

    fn derived(&mut self, expr: &Expr<'a>, id: StructId) -> Option<Derived> {
        match &expr.kind {
            ExprKind::Call(name, arguments) => self.derived_call(*name, arguments, expr, id),
            ExprKind::Binary(Binary::Arithmetic(operator), left, right) => {
                let left = self.derived(left, id);
                let right = self.derived(right, id);
                let text = expr.span.text(self.text).into();
                let (left, right) = (Box::new(left?), Box::new(right?));
                Some(Derived::Arithmetic(*operator, left, right, text))
            }
            ExprKind::Unary(Unary::Negate, inner) => {
                let inner = Box::new(self.derived(inner, id)?);
                let zero = Box::new(Derived::Integer(0));
                let text = expr.span.text(self.text).into();
                Some(Derived::Arithmetic(Arithmetic::Subtract, zero, inner, text))
            }
            ExprKind::Path(path) if self.is_field(path, id) => {
                let head = path.first()?;
                let (field, found) = self.field_named(*head, id)?;
                let typed = self.typed_field(id, field, path, expr.span, false)?;
                if found.conditional {
                    self.report(head.span, format!("`{}` is not always there", head.text))
                        .label("a derived field reads values that are always there")
                        .related(found.span, "it stands inside an `if` or a `switch`");
                    return None;
                }
                match typed {
                    (Expression::Field(ids), _) => Some(Derived::Field(ids)),
                    _ => None,
                }
            }
            _ => match self.constant(expr)? {
                (Expression::Integer(value), ValueType::Integer | ValueType::Bool) => {
                    Some(Derived::Integer(value))
                }
                (_, found) => {
                    let takes = "a derived field is an integer, not";
                    self.refuse_value(expr.span, takes, found, "expected an integer")
                }
            },
        }
    }

    fn is_field(&self, path: &[Ident<'a>], id: StructId) -> bool {
        let heads = self.heads.get(id.0 as usize);
        path.first().is_some_and(|first| {
            heads.is_some_and(|heads| heads.iter().any(|head| head.name == first.text))
        })
    }

    fn field_named(
        &mut self,
        name: Ident<'a>,
        id: StructId,
    ) -> Option<(FieldId, super::declared::Head<'a>)> {
        let heads = self.heads.get(id.0 as usize)?;
        let place = heads.iter().position(|head| head.name == name.text)?;
        let head = heads[place];
        self.stands_for(name.span, head.span);
        Some((FieldId(place as u32), head))
    }

    fn derived_call(
        &mut self,
        name: Ident<'a>,
        arguments: &[Expr<'a>],
        whole: &Expr<'a>,
        id: StructId,
    ) -> Option<Derived> {
        if let Some((spelled, measure)) = MEASURES.iter().find(|(known, _)| *known == name.text) {
            let [argument] = arguments else {
                let message = format!("`{spelled}` measures one field");
                return self.refuse(whole.span, message, format!("expected `{spelled}(FIELD)`"));
            };
            let fields = self.measured(argument, id, *measure)?;
            if *measure == Measure::Count {
                let heads = &self.heads[id.0 as usize];
                let single = fields.iter().any(|field| !heads[field.0 as usize].repeated);
                if single {
                    return self.refuse_single(argument.span);
                }
            }
            return Some(Derived::Measure(*measure, fields));
        }
        if let Some((spelled, checksum)) = CHECKSUMS.iter().find(|(known, _)| *known == name.text) {
            if arguments.is_empty() {
                let message = format!("`{spelled}` is of nothing");
                let expected = format!("expected `{spelled}(FIELD, ...)`");
                return self.refuse(whole.span, message, expected);
            }
            let pieces = arguments.iter().map(|argument| self.piece(argument, id));
            return Some(Derived::Checksum(*checksum, pieces.collect::<Option<_>>()?));
        }
        let names = MEASURES
            .iter()
            .map(|(name, _)| *name)
            .chain(CHECKSUMS.iter().map(|(name, _)| *name));
        self.report(name.span, format!("nothing is derived by `{}`", name.text))
            .label("expected `size`, `bits`, `count`, `present` or a checksum such as `crc32`")
            .suggest(name.text, names);
        None
    }

    /// Where elements are counted of what has none.
    pub(super) fn refuse_single<T>(&mut self, span: Span) -> Option<T> {
        let message = format!("`{}` is not repeated", span.text(self.text));
        self.refuse(span, message, "expected a repeated field")
    }

    fn piece(&mut self, argument: &Expr<'a>, id: StructId) -> Option<Piece> {
        let ExprKind::Call(name, arguments) = &argument.kind else {
            return self.measured(argument, id, Measure::Bits).map(Piece::Field);
        };
        if let ("unpacked", [field]) = (name.text, arguments.as_slice()) {
            return self.measured(field, id, Measure::Bits).map(Piece::Unpacked);
        }
        let known = INTEGERS.iter().find(|(known, ..)| *known == name.text);
        let (Some(&(_, bytes, big)), [value]) = (known, arguments.as_slice()) else {
            let expected = "expected a field, `unpacked(FIELD)`, or `le32(...)`, `be16(...)`";
            return self.refuse(argument.span, "this is no piece of a checksum", expected);
        };
        let value = self.derived(value, id)?;
        Some(Piece::Integer { value, bytes, big })
    }

    /// The fields of a name: one, or those of arms that exclude each other.
    pub(super) fn measured(
        &mut self,
        argument: &Expr<'a>,
        id: StructId,
        measure: Measure,
    ) -> Option<Vec<FieldId>> {
        let Some(name) = argument.name() else {
            let message = "only a field of the same struct is measured";
            return self.refuse(argument.span, message, "expected the name of a field");
        };
        let heads = &self.heads[id.0 as usize];
        let fields: Vec<FieldId> = (0u32..)
            .zip(heads)
            .filter(|(_, head)| head.name == name.text && head.kind != HeadKind::Broken)
            .map(|(place, _)| FieldId(place))
            .collect();
        if fields.is_empty() && heads.iter().any(|head| head.name == name.text) {
            // What is wrong with its type was reported there.
            return None;
        }
        if fields.is_empty() {
            let names: Vec<&str> = heads.iter().map(|head| head.name).collect();
            self.report(name.span, format!("there is no field `{}` here", name.text))
                .label("expected a field of this struct; it may come later")
                .suggest(name.text, names);
            return None;
        }
        self.field_named(name, id);
        for &field in &fields {
            self.measured.insert((id, field, measure));
        }
        Some(fields)
    }
}
