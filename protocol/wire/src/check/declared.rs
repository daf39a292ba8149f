//! What is known of what a wire declares, while it is checked: fields, types, what connections keep.

use std::sync::Arc;

use super::model::{EnumId, Expression, FieldId, StructId};
use crate::report::Span;
use crate::state::StateKind;
use crate::syntax::ast::Ident;

/// The type of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueType {
    Integer,
    Float,
    Bool,
    Text,
    Bytes,
    Enum(EnumId),
    /// A number of a type that expressions do not calculate with, such as `f32`: as it is on the wire.
    Number(ShapeId),
}

/// An expression and its type.
pub(super) type Typed = (Expression, ValueType);

/// The fields that an expression may read: those declared before it in its struct.
#[derive(Debug, Default)]
pub(super) struct Scope<'a> {
    /// `None`: no packet is read, and all there is are constants.
    pub structure: Option<StructId>,
    /// Innermost last.
    pub visible: Vec<(&'a str, FieldId)>,
    /// Those that every arm of a branch before declares. Nothing measures them.
    pub shared: Vec<(&'a str, FieldId)>,
    /// The repeated field whose element `item` is.
    pub item: Option<FieldId>,
    /// What is read is an element of a repeat, so that `index` says which.
    pub repeated: bool,
}

impl Scope<'_> {
    /// At the start of a struct.
    pub(super) fn of(structure: StructId) -> Self {
        Scope {
            structure: Some(structure),
            ..Scope::default()
        }
    }
}

/// What the checker takes names for. All places are those of names.
#[derive(Debug, Default)]
pub(crate) struct Resolved {
    /// Where names are used, and where what they stand for is declared.
    pub uses: Vec<(Span, Span)>,
    /// The bits of types and fields, where these are declared.
    pub bits: Vec<(Span, Option<u64>)>,
    /// The values of constant integers and of members, where these are declared.
    pub values: Vec<(Span, i128)>,
}

/// What a name of an item stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// The place of the `const` in the file.
    Constant(usize),
    /// The place of the `type` in the file.
    Alias(usize),
    Enum(EnumId),
    Struct(StructId),
}

/// A field, seen from afar. Their order is that of the text; `FieldId` is a place in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head<'a> {
    pub name: &'a str,
    pub span: Span,
    pub kind: HeadKind,
    pub repeated: bool,
    /// What is inside stands in another stream.
    pub layered: bool,
    /// Inside an `if`, a `switch` or a block.
    pub conditional: bool,
    /// It stands for the fields of its name that every arm of its branch declares.
    pub shared: bool,
}

impl Head<'_> {
    /// What it is, where it is a single value that the arms of a branch can share.
    pub(super) fn value_kind(&self) -> Option<HeadKind> {
        let is_plain = !self.repeated && !self.layered;
        let is_value = matches!(
            self.kind,
            HeadKind::Integer
                | HeadKind::Bool
                | HeadKind::Enum(_)
                | HeadKind::Flags(_)
                | HeadKind::Number(_)
        );
        (is_plain && is_value).then_some(self.kind)
    }
}

/// A type of numbers that expressions do not calculate with; two are the same where they are spelled
/// the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ShapeId(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeadKind {
    Integer,
    Bool,
    Enum(EnumId),
    Flags(EnumId),
    Struct(StructId),
    Text,
    Bytes,
    Number(ShapeId),
    /// A `let` without a type: not known before all heads are.
    Computed,
    /// A type that expressions do not read.
    Other,
    /// No such type; reported where the type is checked.
    Broken,
}

impl HeadKind {
    /// What expressions read of it; `None` of a struct, and of what they do not read.
    pub(super) fn value(self) -> Option<ValueType> {
        match self {
            HeadKind::Integer | HeadKind::Flags(_) | HeadKind::Computed => Some(ValueType::Integer),
            HeadKind::Bool => Some(ValueType::Bool),
            HeadKind::Enum(id) => Some(ValueType::Enum(id)),
            HeadKind::Number(shape) => Some(ValueType::Number(shape)),
            HeadKind::Text => Some(ValueType::Text),
            HeadKind::Bytes => Some(ValueType::Bytes),
            HeadKind::Struct(_) | HeadKind::Other | HeadKind::Broken => None,
        }
    }
}

/// A field of a `state` block, as the checker knows it.
#[derive(Clone, Debug)]
pub(super) struct Kept<'a> {
    pub name: Ident<'a>,
    /// The block that declares it.
    pub block: usize,
    pub each: bool,
    pub kind: StateKind,
    /// Of what is kept, entry by entry. Not of parts and streams.
    pub value: ValueType,
    /// What an integer may be.
    pub range: (i128, i128),
    /// The type as the wire spells it.
    pub type_text: &'a str,
    /// The values of a struct; one without a name, where tables in tables keep plain values. None of
    /// other fields.
    pub members: Arc<[Member<'a>]>,
}

/// A value of a struct that a connection keeps.
#[derive(Clone, Debug)]
pub(super) struct Member<'a> {
    /// Its name in the struct, after those of the structs that it stands in.
    pub path: Vec<&'a str>,
    pub value: ValueType,
    /// What an integer may be.
    pub range: (i128, i128),
    /// The type as the wire spells it.
    pub type_text: &'a str,
}

impl<'a> Member<'a> {
    /// The value of a table in a table that keeps no structs.
    pub(super) fn plain(kept: &Kept<'a>) -> Member<'a> {
        Member {
            path: Vec::new(),
            value: kept.value,
            range: kept.range,
            type_text: kept.type_text,
        }
    }

    /// Its whole name, and whether it is a text or bytes.
    pub(super) fn named(&self) -> (String, bool) {
        (self.path.join("."), is_content(self.value))
    }
}

pub(super) fn is_content(found: ValueType) -> bool {
    matches!(found, ValueType::Text | ValueType::Bytes)
}
