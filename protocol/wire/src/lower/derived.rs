//! Derived fields: measured while their struct is read, judged at its end.

use std::collections::{BTreeMap, BTreeSet};

use super::Lowering;
use super::bindings::{Binding, Kept, Measured};
use crate::check::model::{Derived, Field, FieldId, Measure, Piece, Struct};
use crate::operation::{MISSING, NO_REGISTER, Operand, Operation, PLAIN, Register};
use crate::syntax::ast::{Arithmetic, Compare};

impl Lowering<'_> {
    /// Gives registers to what is measured and derived.
    pub(super) fn begin_derived(&mut self) {
        let structure = self.model.structure(self.structure);
        let is_plain = |field: &Field| field.derived.is_none() && field.measured.is_empty();
        if structure.fields.iter().all(is_plain) {
            return;
        }
        let unpacked = unpacked_fields(structure);
        let mut by_name: BTreeMap<&str, Measured> = BTreeMap::new();
        for (place, field) in (0u32..).zip(&structure.fields) {
            let id = FieldId(place);
            if !field.measured.is_empty() {
                let measured = match by_name.get(&*field.name) {
                    Some(&known) => known,
                    None => {
                        let measured = self.measured_registers(id, unpacked.contains(&id));
                        by_name.insert(&field.name, measured);
                        measured
                    }
                };
                self.bindings.measured.insert(id, measured);
            }
            if field.derived.is_some() {
                let (slot, value) = (self.register(), self.register());
                self.copy(slot, -1);
                self.bindings.derived.insert(id, Kept { slot, value });
            }
        }
    }

    fn measured_registers(&mut self, field: FieldId, is_unpacked: bool) -> Measured {
        let unpacked = is_unpacked.then(|| self.register());
        if let Some(unpacked) = unpacked {
            self.copy(unpacked, MISSING);
        }
        let structure = self.model.structure(self.structure);
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
            (measured.from, measured.to) = (self.register(), self.register());
            self.copy(measured.from, 0);
            self.copy(measured.to, 0);
        }
        if is_asked(&[Measure::Count]) {
            measured.count = self.register();
            self.copy(measured.count, 0);
        }
        if is_asked(&[Measure::Present]) {
            measured.present = self.register();
            let (to, field) = (measured.present, self.field_info(field, false));
            self.push(Operation::Foresee { to, field });
        }
        measured
    }

    fn copy(&mut self, to: Register, value: i128) {
        let from = self.assembler.operand(value);
        self.push(Operation::Copy { to, from });
    }

    pub(super) fn before_field(&mut self, id: FieldId, field: u32, is_layered: bool) {
        if let Some(&measured) = self.bindings.measured.get(&id) {
            let to = measured.from;
            if to != NO_REGISTER {
                self.push(Operation::Mark { to });
            }
            let to = measured.present;
            if to != NO_REGISTER {
                self.push(Operation::Meet { to });
            }
            if let Some(unpacked) = measured.unpacked
                && !is_layered
            {
                self.copy(unpacked, PLAIN);
            }
        }
        if let Some(&Kept { slot, .. }) = self.bindings.derived.get(&id) {
            self.push(Operation::Derive { slot, field });
        }
    }

    pub(super) fn after_field(&mut self, id: FieldId) {
        if let Some(&Measured { to, .. }) = self.bindings.measured.get(&id)
            && to != NO_REGISTER
        {
            self.push(Operation::Mark { to });
        }
    }

    /// Where to note what comes out of a field's layer, if something asks for it.
    pub(super) fn unpacked_register(&self, id: FieldId) -> Option<Register> {
        self.bindings.measured.get(&id)?.unpacked
    }

    pub(super) fn count_element(&mut self, id: FieldId) {
        if let Some(&Measured { count, .. }) = self.bindings.measured.get(&id)
            && count != NO_REGISTER
        {
            self.change(Arithmetic::Add, count, 1, "size");
        }
    }

    /// The value of a derived field, kept until its struct ends.
    pub(super) fn keep_derived(&mut self, id: FieldId, binding: &Binding) {
        if let (Some(&Kept { value: to, .. }), &Binding::Register(from)) =
            (self.bindings.derived.get(&id), binding)
        {
            let from = Operand::Register(from);
            self.push(Operation::Copy { to, from });
        }
    }

    /// Judges the derived fields of a struct that ends.
    pub(super) fn end_derived(&mut self) {
        let structure = self.model.structure(self.structure);
        for (field, Kept { slot, value }) in self.bindings.derived.clone() {
            let Some(derived) = &structure.field(field).derived else {
                continue;
            };
            let before = self.next_register;
            let absent = self.assembler.label();
            let (left, right) = (Operand::Register(slot), self.assembler.operand(0));
            self.push(Operation::Unless {
                operator: Compare::GreaterOrEqual,
                left,
                right,
                to: absent.name(),
            });
            let derived = self.derived(derived);
            let field = self.field_info(field, false);
            self.push(Operation::CheckDerived {
                slot,
                value,
                derived,
                field,
            });
            self.assembler.place(absent);
            self.next_register = before;
        }
    }

    fn derived(&mut self, derived: &Derived) -> Operand {
        match derived {
            Derived::Integer(value) => self.assembler.operand(*value),
            Derived::Field(path) => self.bound(path),
            Derived::Measure(measure, fields) => self.measure(*measure, first_of(fields)),
            Derived::Arithmetic(operator, left, right, text) => {
                let (left, right) = (self.derived(left), self.derived(right));
                self.arithmetic(*operator, left, right, text)
            }
            Derived::Checksum(kind, pieces) => {
                // Numbers first: they may be checksums themselves.
                let steps: Vec<_> = pieces.iter().map(|piece| self.piece(piece)).collect();
                self.push(Operation::ChecksumBegin { kind: *kind });
                for step in steps {
                    self.push(step);
                }
                self.result(|to| Operation::ChecksumEnd { to })
            }
        }
    }

    /// What adds a piece to a checksum.
    fn piece(&mut self, piece: &Piece) -> Operation {
        match piece {
            Piece::Field(fields) => {
                let Measured { from, to, .. } = self.measured(first_of(fields));
                Operation::ChecksumBits { from, to }
            }
            Piece::Unpacked(fields) => {
                let Measured {
                    from, to, unpacked, ..
                } = self.measured(first_of(fields));
                if unpacked.is_none() {
                    self.unchecked("a checksum of a field that is not unpacked");
                }
                Operation::ChecksumUnpacked {
                    kept: unpacked.unwrap_or(NO_REGISTER),
                    from,
                    to,
                }
            }
            Piece::Integer { value, bytes, big } => Operation::ChecksumInteger {
                value: self.derived(value),
                bytes: *bytes,
                big: *big,
            },
        }
    }

    /// What was measured of a field, or of a field of a struct in this one.
    pub(super) fn measure(&mut self, measure: Measure, path: &[FieldId]) -> Operand {
        let measured = self.measured(path);
        match measure {
            Measure::Count => return Operand::Register(measured.count),
            Measure::Present => return Operand::Register(measured.present),
            Measure::Bits | Measure::Bytes => {}
        }
        let (left, right) = (measured.to, measured.from);
        let (left, right) = (Operand::Register(left), Operand::Register(right));
        let size = self.arithmetic(Arithmetic::Subtract, left, right, &"size".into());
        if let (Measure::Bytes, Operand::Register(to)) = (measure, size) {
            self.change(Arithmetic::Add, to, 7, "size");
            self.change(Arithmetic::ShiftRight, to, 3, "size");
        }
        size
    }

    fn measured(&mut self, path: &[FieldId]) -> Measured {
        let found = self.bindings.measured(path);
        if found.is_none() {
            self.unchecked("a field that is not measured");
        }
        found.unwrap_or_default()
    }
}

/// The first of fields of one name, which stands for all of them.
fn first_of(fields: &[FieldId]) -> &[FieldId] {
    fields.get(..1).unwrap_or_default()
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
