//! Where the fields of a struct are kept, and what its derived fields ask for.

use std::collections::BTreeMap;

use crate::check::model::FieldId;
use crate::operation::{Operand, Register};

/// Where the fields of a struct are kept, and what its derived fields ask for.
#[derive(Clone, Default)]
pub(super) struct Bindings {
    pub fields: BTreeMap<FieldId, Binding>,
    /// By field; fields of one name that exclude each other share theirs.
    pub measured: BTreeMap<FieldId, Measured>,
    pub derived: BTreeMap<FieldId, Kept>,
}

#[derive(Clone)]
pub(super) enum Binding {
    Register(Register),
    Constant(Operand),
    Struct(Bindings),
}

/// Where what is asked of a field is kept; [`NO_REGISTER`]: nobody asks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measured {
    pub from: Register,
    pub to: Register,
    pub count: Register,
    pub present: Register,
    /// See [`Operation::ChecksumUnpacked`].
    pub unpacked: Option<Register>,
}

/// A derived field, once it was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    /// Negative where it was not.
    pub slot: Register,
    pub value: Register,
}

impl Bindings {
    /// The register of a field, or of a field of a struct in this one.
    pub fn bound(&self, path: &[FieldId]) -> Option<Operand> {
        let (last, structs) = path.split_last()?;
        match self.inside(structs)?.fields.get(last)? {
            Binding::Register(register) => Some(Operand::Register(*register)),
            Binding::Constant(operand) => Some(*operand),
            Binding::Struct(_) => None,
        }
    }

    /// What is asked of a field, or of a field of a struct in this one.
    pub fn measured(&self, path: &[FieldId]) -> Option<Measured> {
        let (last, structs) = path.split_last()?;
        self.inside(structs)?.measured.get(last).copied()
    }

    /// What the innermost of structs in each other binds.
    fn inside(&self, structs: &[FieldId]) -> Option<&Bindings> {
        let mut inner = self;
        for id in structs {
            match inner.fields.get(id)? {
                Binding::Struct(bindings) => inner = bindings,
                Binding::Register(_) | Binding::Constant(_) => return None,
            }
        }
        Some(inner)
    }
}
