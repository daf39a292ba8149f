//! What steps do with a connection's state: the part of the model that is about it.

use std::sync::Arc;

use super::model::{Expression, FieldId};

/// `set PATH = VALUE;`, `unset PATH;`
#[derive(Debug)]
pub(crate) struct SetStep {
    pub path: StatePath,
    pub what: SetWhat,
}

/// What is set.
#[derive(Debug)]
pub(crate) enum SetWhat {
    Value(SetMember),
    /// Values of a struct, each with its place there.
    Members(Vec<(u16, SetMember)>),
    /// All that is kept elsewhere.
    Copy(StatePath),
    /// Nothing: it is forgotten.
    Nothing,
}

/// One value that is set.
#[derive(Debug)]
pub(crate) struct SetMember {
    pub value: Expression,
    /// A text or bytes.
    pub is_content: bool,
    /// What an integer may be.
    pub range: (i128, i128),
    /// The value as the wire spells it.
    pub text: Arc<str>,
    /// The type of what is set, as the wire spells it.
    pub type_text: Arc<str>,
}

/// `join FIELD from PATH (INDEX, COUNT, DATA);`
#[derive(Debug)]
pub(crate) struct JoinStep {
    pub field: FieldId,
    pub path: StatePath,
    pub index: Expression,
    pub count: Expression,
    /// A field of bytes.
    pub data: Expression,
}

/// `follow FIELD from PATH (POSITION, DATA);`
#[derive(Debug)]
pub(crate) struct FollowStep {
    pub field: FieldId,
    pub path: StatePath,
    pub position: Expression,
    /// The width of a position that starts again from 0, or 0.
    pub wrap_bits: u8,
    /// A field of bytes.
    pub data: Expression,
}

/// `state.NAME`, `state.NAME[KEY]`, `state.NAME[KEY].FIELD` or `state.other.NAME`.
#[derive(Clone, Debug)]
pub(crate) struct StatePath {
    /// A place in [`Model::state`].
    pub field: u16,
    /// That of the direction that the packet does not go.
    pub other: bool,
    pub keys: Vec<Expression>,
    pub part: StatePart,
}

/// How much of what is kept under the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatePart {
    /// The value of a field that keeps no structs.
    Plain,
    /// One value of a struct.
    Value(u16),
    /// All of it.
    All,
}
