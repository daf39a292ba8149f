//! What is joined from several packets to operations.

use super::Lowering;
use crate::check::model::{FollowStep, JoinStep, StructId, Type};
use crate::operation::{Operand, Operation};
use crate::program::{FollowPlan, JoinPlan};

impl Lowering<'_> {
    pub(super) fn join(&mut self, step: &JoinStep) {
        let declared = self.declared(step.field);
        let (index, count) = (self.value(&step.index), self.value(&step.count));
        let data = self.content_field(&step.data);
        let slot = self.slot(&step.path);
        let arguments = self.arguments(declared);
        let field = self.field_info(step.field, false);
        let weight = self.weights.of_single(declared, self.model);
        let join = JoinPlan {
            slot,
            index,
            count,
            data,
            field,
            weight,
        };
        let join = self.assembler.add(|plan| &mut plan.joins, join);
        let end = self.assembler.label();
        let before = self.next_register;
        let name = end.name();
        self.push(Operation::Join { join, end: name });
        if let Type::Struct(inner) = declared.field_type {
            self.whole_stream(inner, field, arguments);
        }
        self.assembler.place(end);
        self.next_register = before;
    }

    pub(super) fn follow(&mut self, step: &FollowStep) {
        let model = self.model;
        let declared = self.declared(step.field);
        let position = self.value(&step.position);
        let data = self.content_field(&step.data);
        let slot = self.slot(&step.path);
        let arguments = self.arguments(declared);
        let field = self.field_info(step.field, false);
        let element = self.field_info(step.field, true);
        let weight = self.weights.of_single(declared, model);
        let follow = FollowPlan {
            slot,
            position,
            wrap_bits: step.wrap_bits,
            data,
            field,
            weight,
            changes_state: true,
        };
        let follow = self.assembler.add(|plan| &mut plan.follows, follow);
        let end = self.assembler.label();
        let before = self.next_register;
        let name = end.name();
        self.push(Operation::Follow { follow, end: name });
        let from = self.assembler.sets();
        self.single(declared, element, None, &arguments);
        let structure = self.structure;
        self.align(8, None, &"align(8)".into(), (structure, "record".into()));
        self.push(Operation::Return);
        self.assembler.place(end);
        // Routines may change the state too: those are not written out yet.
        let is_recursive = matches!(declared.field_type, Type::Struct(inner)
            if model.structure(inner).recursive);
        let changes = is_recursive || !self.routines.is_empty() || self.assembler.sets() != from;
        self.assembler.set_changes(follow, changes);
        self.next_register = before;
    }

    /// A struct that is all there is in a stream, but for bits that fill up its last byte.
    fn whole_stream(&mut self, id: StructId, info: u32, arguments: Vec<Operand>) {
        self.entered(id, info, None, |lowering| {
            lowering.struct_body(id, arguments);
            let key = (id, "joined".into());
            lowering.align(8, Some(false), &"align(8)".into(), key);
            lowering.push(Operation::StreamEnd);
        });
        self.push(Operation::Return);
    }
}
