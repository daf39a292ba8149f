//! What is joined from several packets to operations.

use super::bindings::Bindings;
use super::{Lowering, NotLowered, Sinks};
use crate::check::model::{Expression, FollowStep, JoinStep, StructId, Type};
use crate::operation::{Operand, Operation, Register};
use crate::program::{ContentOperand, FollowPlan, JoinPlan};

impl Lowering<'_> {
    pub(super) fn join(
        &mut self,
        step: &JoinStep,
        structure: StructId,
        bindings: &Bindings,
    ) -> Result<(), NotLowered> {
        let model = self.model;
        let declared = model.structure(structure).field(step.field);
        let index = self.value(&step.index, bindings)?;
        let count = self.value(&step.count, bindings)?;
        let data = self.data(&step.data, bindings)?;
        let slot = self.slot(&step.path, bindings)?;
        let arguments = self.arguments(declared, bindings)?;
        let field = self.field_info(structure, step.field, false);
        let weight = self.weights.of_single(declared, model);
        let join = self.assembler.join(JoinPlan {
            slot,
            index,
            count,
            data,
            field,
            weight,
        })?;
        let end = self.assembler.label();
        let before = self.next_register;
        let name = end.name();
        self.assembler.push(Operation::Join { join, end: name })?;
        if let Type::Struct(inner) = declared.field_type {
            self.whole_stream(inner, field, arguments)?;
        }
        self.assembler.place(end)?;
        self.next_register = before;
        Ok(())
    }

    pub(super) fn follow(
        &mut self,
        step: &FollowStep,
        structure: StructId,
        bindings: &Bindings,
    ) -> Result<(), NotLowered> {
        let model = self.model;
        let declared = model.structure(structure).field(step.field);
        let position = self.value(&step.position, bindings)?;
        let data = self.data(&step.data, bindings)?;
        let slot = self.slot(&step.path, bindings)?;
        let arguments = self.arguments(declared, bindings)?;
        let field = self.field_info(structure, step.field, false);
        let element = self.field_info(structure, step.field, true);
        let weight = self.weights.of_single(declared, model);
        let follow = self.assembler.follow(FollowPlan {
            slot,
            position,
            wrap_bits: step.wrap_bits,
            data,
            field,
            weight,
            changes_state: true,
        })?;
        let end = self.assembler.label();
        let before = self.next_register;
        let name = end.name();
        self.assembler
            .push(Operation::Follow { follow, end: name })?;
        let from = self.assembler.sets();
        self.single(declared, element, bindings, None, &arguments)?;
        self.align(8, None, &"align(8)".into(), (structure, "record".into()))?;
        self.assembler.return_from()?;
        self.assembler.place(end)?;
        // Routines may change the state too: those are not written out yet.
        let is_recursive = matches!(declared.field_type, Type::Struct(inner)
            if model.structure(inner).recursive);
        let changes = is_recursive || !self.routines.is_empty() || self.assembler.sets() != from;
        self.assembler.set_changes(follow, changes);
        self.next_register = before;
        Ok(())
    }

    /// A struct that is all there is in a stream, but for bits that fill up its last byte.
    fn whole_stream(
        &mut self,
        id: StructId,
        info: u32,
        arguments: Vec<Operand>,
    ) -> Result<(), NotLowered> {
        let model = self.model;
        let structure = model.structure(id);
        let is_message = structure.is_message && !structure.recursive;
        if is_message {
            self.assembler.push(Operation::MessageBegin)?;
        }
        if self.sinks == Sinks::Full {
            self.assembler.push(Operation::Enter { field: info })?;
        }
        self.struct_body(id, arguments)?;
        self.align(8, Some(false), &"align(8)".into(), (id, "joined".into()))?;
        self.assembler.push(Operation::StreamEnd)?;
        if self.sinks == Sinks::Full {
            self.assembler.push(Operation::Leave)?;
        }
        if is_message {
            self.assembler.push(Operation::MessageEnd)?;
        }
        self.assembler.return_from()
    }

    fn data(&mut self, data: &Expression, bindings: &Bindings) -> Result<Register, NotLowered> {
        match self.content(data, bindings)? {
            ContentOperand::Register(register) => Ok(register),
            _ => Err(NotLowered::Unchecked(
                "`join` and `follow` take a field of the packet",
            )),
        }
    }
}
