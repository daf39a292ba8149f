//! Derived fields: measured while their struct is read, judged at its end.

use std::collections::{BTreeMap, BTreeSet};

use super::bindings::{Binding, Bindings, Kept, Measured};
use super::{Lowering, NotLowered};
use crate::check::model::{Derived, Field, FieldId, Measure, Piece, Struct, StructId};
use crate::operation::{MISSING, NO_REGISTER, Operand, Operation, PLAIN, Register};
use crate::syntax::ast::{Arithmetic, Compare};

impl Lowering<'_> {
    /// Gives registers to what is measured and derived.
    pub(super) fn begin_derived(
        &mut self,
        id: StructId,
        bindings: &mut Bindings,
    ) -> Result<(), NotLowered> {
        let structure = self.model.structure(id);
        let is_plain = |field: &Field| field.derived.is_none() && field.measured.is_empty();
        if structure.fields.iter().all(is_plain) {
            return Ok(());
        }
        let unpacked = unpacked_fields(structure);
        let mut by_name: BTreeMap<&str, Measured> = BTreeMap::new();
        for (place, field) in (0u32..).zip(&structure.fields) {
            let field_id = FieldId(place);
            if !field.measured.is_empty() {
                let measured = match by_name.get(&*field.name) {
                    Some(&known) => known,
                    None => {
                        let is_unpacked = unpacked.contains(&field_id);
                        let measured = self.measured_registers(id, field_id, is_unpacked)?;
                        by_name.insert(&field.name, measured);
                        measured
                    }
                };
                bindings.derived.measured.insert(field_id, measured);
            }
            if field.derived.is_some() {
                let (slot, value) = (self.register()?, self.register()?);
                self.copy(slot, -1)?;
                bindings
                    .derived
                    .derived
                    .insert(field_id, Kept { slot, value });
            }
        }
        Ok(())
    }

    fn measured_registers(
        &mut self,
        id: StructId,
        field: FieldId,
        is_unpacked: bool,
    ) -> Result<Measured, NotLowered> {
        let unpacked = if is_unpacked {
            Some(self.register()?)
        } else {
            None
        };
        if let Some(unpacked) = unpacked {
            self.copy(unpacked, MISSING)?;
        }
        let structure = self.model.structure(id);
        let same_name = |other: &&Field| other.name == structure.field(field).name;
        let same: Vec<&Field> = structure.fields.iter().filter(same_name).collect();
        let is_asked = |measures: &[Measure]| {
            let mut asked = same.iter().flat_map(|field| &field.measured);
            asked.any(|measure| measures.contains(measure))
        };
        let mut measured = Measured {
            from: NO_REGISTER,
            to: NO_REGISTER,
            count: NO_REGISTER,
            present: NO_REGISTER,
            unpacked,
        };
        if is_asked(&[Measure::Bits, Measure::Bytes]) {
            (measured.from, measured.to) = (self.register()?, self.register()?);
            self.copy(measured.from, 0)?;
            self.copy(measured.to, 0)?;
        }
        if is_asked(&[Measure::Count]) {
            measured.count = self.register()?;
            self.copy(measured.count, 0)?;
        }
        if is_asked(&[Measure::Present]) {
            measured.present = self.register()?;
            let (to, field) = (measured.present, self.field_info(id, field, false));
            self.assembler.push(Operation::Foresee { to, field })?;
        }
        Ok(measured)
    }

    fn copy(&mut self, to: Register, value: i128) -> Result<(), NotLowered> {
        let from = self.assembler.operand(value)?;
        self.assembler.push(Operation::Copy { to, from })
    }

    pub(super) fn before_field(
        &mut self,
        id: FieldId,
        field: u32,
        is_layered: bool,
        bindings: &Bindings,
    ) -> Result<(), NotLowered> {
        if let Some(&measured) = bindings.derived.measured.get(&id) {
            let to = measured.from;
            if to != NO_REGISTER {
                self.assembler.push(Operation::Mark { to })?;
            }
            let to = measured.present;
            if to != NO_REGISTER {
                self.assembler.push(Operation::Meet { to })?;
            }
            if let Some(unpacked) = measured.unpacked
                && !is_layered
            {
                self.copy(unpacked, PLAIN)?;
            }
        }
        if let Some(&Kept { slot, .. }) = bindings.derived.derived.get(&id) {
            self.assembler.push(Operation::Derive { slot, field })?;
        }
        Ok(())
    }

    pub(super) fn after_field(
        &mut self,
        id: FieldId,
        bindings: &Bindings,
    ) -> Result<(), NotLowered> {
        match bindings.derived.measured.get(&id) {
            Some(&Measured { to, .. }) if to != NO_REGISTER => {
                self.assembler.push(Operation::Mark { to })
            }
            _ => Ok(()),
        }
    }

    /// Where to note what comes out of a field's layer, if something asks for it.
    pub(super) fn unpacked_register(&self, id: FieldId, bindings: &Bindings) -> Option<Register> {
        bindings.derived.measured.get(&id)?.unpacked
    }

    pub(super) fn count_element(
        &mut self,
        id: FieldId,
        bindings: &Bindings,
    ) -> Result<(), NotLowered> {
        let Some(&Measured { count, .. }) = bindings.derived.measured.get(&id) else {
            return Ok(());
        };
        if count == NO_REGISTER {
            return Ok(());
        }
        self.arithmetic(Arithmetic::Add, count, Operand::Register(count), 1)
    }

    /// The value of a derived field, kept until its struct ends.
    pub(super) fn keep_derived(
        &mut self,
        id: FieldId,
        binding: &Binding,
        bindings: &Bindings,
    ) -> Result<(), NotLowered> {
        match (bindings.derived.derived.get(&id), binding) {
            (Some(&Kept { value: to, .. }), &Binding::Register(from)) => {
                let from = Operand::Register(from);
                self.assembler.push(Operation::Copy { to, from })
            }
            _ => Ok(()),
        }
    }

    /// Judges the derived fields of a struct that ends.
    pub(super) fn end_derived(
        &mut self,
        id: StructId,
        bindings: &Bindings,
    ) -> Result<(), NotLowered> {
        let model = self.model;
        for (&field, &Kept { slot, value }) in &bindings.derived.derived {
            let Some(derived) = &model.structure(id).field(field).derived else {
                continue;
            };
            let before = self.next_register;
            let absent = self.assembler.label();
            let (left, right) = (Operand::Register(slot), self.assembler.operand(0)?);
            self.assembler.push(Operation::Unless {
                operator: Compare::GreaterOrEqual,
                left,
                right,
                to: absent.name(),
            })?;
            let derived = self.derived(derived, bindings)?;
            let field = self.field_info(id, field, false);
            self.assembler.push(Operation::CheckDerived {
                slot,
                value,
                derived,
                field,
            })?;
            self.assembler.place(absent)?;
            self.next_register = before;
        }
        Ok(())
    }

    fn derived(&mut self, derived: &Derived, bindings: &Bindings) -> Result<Operand, NotLowered> {
        match derived {
            Derived::Integer(value) => self.assembler.operand(*value),
            Derived::Field(path) => bindings.bound(path),
            Derived::Measure(measure, fields) => self.measure(*measure, fields, bindings),
            Derived::Arithmetic(operator, left, right, text) => {
                let left = self.derived(left, bindings)?;
                let right = self.derived(right, bindings)?;
                let (operator, to, text) = (*operator, self.register()?, self.text(text));
                self.assembler.push(Operation::Arithmetic {
                    operator,
                    to,
                    left,
                    right,
                    text,
                })?;
                Ok(Operand::Register(to))
            }
            Derived::Checksum(kind, pieces) => {
                // Numbers first: they may be checksums themselves.
                let mut steps = Vec::new();
                for piece in pieces {
                    steps.push(match piece {
                        Piece::Field(fields) => {
                            let measured = first_measured(fields, bindings)?;
                            let (from, to) = (measured.from, measured.to);
                            Operation::ChecksumBits { from, to }
                        }
                        Piece::Unpacked(fields) => {
                            let measured = first_measured(fields, bindings)?;
                            Operation::ChecksumUnpacked {
                                kept: measured.unpacked.ok_or(NotLowered::Unchecked(
                                    "a checksum of a field that is not unpacked",
                                ))?,
                                from: measured.from,
                                to: measured.to,
                            }
                        }
                        Piece::Integer { value, bytes, big } => Operation::ChecksumInteger {
                            value: self.derived(value, bindings)?,
                            bytes: *bytes,
                            big: *big,
                        },
                    });
                }
                let kind = Operation::ChecksumBegin { kind: *kind };
                self.assembler.push(kind)?;
                for step in steps {
                    self.assembler.push(step)?;
                }
                let to = self.register()?;
                self.assembler.push(Operation::ChecksumEnd { to })?;
                Ok(Operand::Register(to))
            }
        }
    }

    pub(super) fn measure(
        &mut self,
        measure: Measure,
        fields: &[FieldId],
        bindings: &Bindings,
    ) -> Result<Operand, NotLowered> {
        let measured = first_measured(fields, bindings)?;
        match measure {
            Measure::Count => return Ok(Operand::Register(measured.count)),
            Measure::Present => return Ok(Operand::Register(measured.present)),
            Measure::Bits | Measure::Bytes => {}
        }
        let to = self.register()?;
        let text = self.text(&"size".into());
        self.assembler.push(Operation::Arithmetic {
            operator: Arithmetic::Subtract,
            to,
            left: Operand::Register(measured.to),
            right: Operand::Register(measured.from),
            text,
        })?;
        if measure == Measure::Bytes {
            self.arithmetic(Arithmetic::Add, to, Operand::Register(to), 7)?;
            self.arithmetic(Arithmetic::ShiftRight, to, Operand::Register(to), 3)?;
        }
        Ok(Operand::Register(to))
    }

    fn arithmetic(
        &mut self,
        operator: Arithmetic,
        to: Register,
        left: Operand,
        right: i128,
    ) -> Result<(), NotLowered> {
        let right = self.assembler.operand(right)?;
        let text = self.text(&"size".into());
        self.assembler.push(Operation::Arithmetic {
            operator,
            to,
            left,
            right,
            text,
        })
    }
}

/// The fields of which a checksum of the struct asks what comes out of their layers.
fn unpacked_fields(structure: &Struct) -> BTreeSet<FieldId> {
    fn add(derived: &Derived, found: &mut BTreeSet<FieldId>) {
        match derived {
            Derived::Arithmetic(_, left, right, _) => {
                add(left, found);
                add(right, found);
            }
            Derived::Checksum(_, pieces) => {
                for piece in pieces {
                    match piece {
                        Piece::Unpacked(fields) => found.extend(fields),
                        Piece::Integer { value, .. } => add(value, found),
                        Piece::Field(_) => {}
                    }
                }
            }
            Derived::Integer(_) | Derived::Field(_) | Derived::Measure(..) => {}
        }
    }
    let mut found = BTreeSet::new();
    for field in &structure.fields {
        field
            .derived
            .iter()
            .for_each(|derived| add(derived, &mut found));
    }
    found
}

fn first_measured(fields: &[FieldId], bindings: &Bindings) -> Result<Measured, NotLowered> {
    let first = fields
        .first()
        .and_then(|field| bindings.derived.measured.get(field));
    first
        .copied()
        .ok_or(NotLowered::Unchecked("a field that is not measured"))
}
