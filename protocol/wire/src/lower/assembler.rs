//! A plan in the making: operations, labels that are placed later, constants.

use std::collections::BTreeMap;

use super::shortcuts;
use crate::limits::OPERATIONS_MAX;
use crate::operation::{Operand, Operation, Register};
use crate::program::{
    CallPlan, FollowPlan, JoinPlan, LayerPlan, Plan, SetPlan, StateSlot, SwitchTable,
};
use crate::syntax::ast::Compare;

/// Why a model has no program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotLowered {
    /// It takes more than [`OPERATIONS_MAX`] operations, or more registers than can be counted.
    TooLarge,
    /// The checker should not have let this through.
    Unchecked(&'static str),
}

/// A place in the plan that jumps can name before it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(u32);

#[derive(Default)]
pub(super) struct Assembler {
    plan: Plan,
    /// Where constants, and pairs of them, are in the plan.
    known: BTreeMap<(i128, Option<i128>), usize>,
    /// By label.
    places: Vec<Option<u32>>,
    /// The last operation that something can jump to; skips before it are not joined with it.
    fence: usize,
}

impl Assembler {
    pub(super) fn label(&mut self) -> Label {
        self.places.push(None);
        Label(self.places.len() as u32 - 1)
    }

    pub(super) fn place(&mut self, label: Label) -> Result<(), NotLowered> {
        let here = self.here()?;
        if let Some(place) = self.places.get_mut(label.0 as usize) {
            *place = Some(here);
        }
        Ok(())
    }

    /// The next operation, as something that can be jumped to.
    pub(super) fn here(&mut self) -> Result<u32, NotLowered> {
        self.fence = self.plan.operations.len();
        u32::try_from(self.fence).map_err(|_| NotLowered::TooLarge)
    }

    /// Adds an operation. Jumps in it name labels, not places.
    pub(super) fn push(&mut self, operation: Operation) -> Result<(), NotLowered> {
        if self.plan.operations.len() >= OPERATIONS_MAX {
            return Err(NotLowered::TooLarge);
        }
        if let Some(fused) = self.fused(operation)
            && let Some(last) = self.plan.operations.last_mut()
        {
            *last = fused;
            return Ok(());
        }
        self.plan.operations.push(operation);
        Ok(())
    }

    /// The last operation and the next one in one step, where there is such a step.
    fn fused(&self, next: Operation) -> Option<Operation> {
        if self.plan.operations.len() <= self.fence {
            return None;
        }
        match (*self.plan.operations.last()?, next) {
            (
                Operation::Unsigned {
                    bits: 1,
                    fact: None,
                    to: register,
                    field,
                },
                Operation::Unless {
                    operator: Compare::NotEqual,
                    left: Operand::Register(left),
                    right: Operand::Constant(right),
                    to,
                },
            ) if left == register && self.plan.constants.get(usize::from(right)) == Some(&0) => {
                Some(Operation::UnlessBit {
                    register,
                    field,
                    to,
                })
            }
            _ => None,
        }
    }

    pub(super) fn end(&mut self) -> Result<(), NotLowered> {
        self.push(Operation::End)
    }

    pub(super) fn return_from(&mut self) -> Result<(), NotLowered> {
        self.push(Operation::Return)
    }

    pub(super) fn jump(&mut self, to: Label) -> Result<(), NotLowered> {
        self.push(Operation::Jump { to: to.0 })
    }

    /// Skips fields of these widths, together with a skip right before it.
    pub(super) fn skip(&mut self, widths: &[u8]) -> Result<(), NotLowered> {
        let more: u32 = widths.iter().map(|&width| u32::from(width)).sum();
        if self.plan.skipped_bits.len() + widths.len() > OPERATIONS_MAX {
            return Err(NotLowered::TooLarge);
        }
        let first = self.plan.skipped_bits.len() as u32;
        self.plan.skipped_bits.extend_from_slice(widths);
        let joins = self.plan.operations.len() > self.fence;
        if let Some(Operation::Skip { bits, count, .. }) = self.plan.operations.last_mut()
            && joins
        {
            *bits += more;
            *count += widths.len() as u32;
            return Ok(());
        }
        self.push(Operation::Skip {
            bits: more,
            first,
            count: widths.len() as u32,
        })
    }

    /// Adds a call whose frame is set later; its place.
    pub(super) fn call(&mut self, to: Label, weight: u32) -> Result<usize, NotLowered> {
        self.push(Operation::Call {
            to: to.0,
            frame: 0,
            weight,
        })?;
        Ok(self.plan.operations.len() - 1)
    }

    /// Adds a parameter of a call whose frame is set later; its place.
    pub(super) fn pass(&mut self, parameter: Register, from: Operand) -> Result<usize, NotLowered> {
        self.push(Operation::Pass {
            parameter,
            from,
            frame: 0,
        })?;
        Ok(self.plan.operations.len() - 1)
    }

    pub(super) fn set_frame(&mut self, call: usize, size: Register) {
        let operation = self.plan.operations.get_mut(call);
        if let Some(Operation::Call { frame, .. } | Operation::Pass { frame, .. }) = operation {
            *frame = size;
        }
    }

    pub(super) fn constant(&mut self, value: i128) -> Result<u16, NotLowered> {
        let constants = &mut self.plan.constants;
        let place = *self.known.entry((value, None)).or_insert_with(|| {
            constants.push(value);
            constants.len() - 1
        });
        u16::try_from(place).map_err(|_| NotLowered::TooLarge)
    }

    /// Two constants, one after the other; the place of the first.
    pub(super) fn constant_pair(&mut self, low: i128, high: i128) -> Result<u16, NotLowered> {
        let constants = &mut self.plan.constants;
        let place = *self.known.entry((low, Some(high))).or_insert_with(|| {
            constants.extend([low, high]);
            constants.len() - 2
        });
        u16::try_from(place).map_err(|_| NotLowered::TooLarge)
    }

    pub(super) fn slot(&mut self, slot: StateSlot) -> Result<u16, NotLowered> {
        let slots = &mut self.plan.slots;
        let known = slots.iter().position(|known| *known == slot);
        let place = known.unwrap_or(slots.len());
        if known.is_none() {
            slots.push(slot);
        }
        u16::try_from(place).map_err(|_| NotLowered::TooLarge)
    }

    pub(super) fn content(&mut self, bytes: &[u8]) -> Result<u16, NotLowered> {
        self.plan.contents.push(bytes.into());
        u16::try_from(self.plan.contents.len() - 1).map_err(|_| NotLowered::TooLarge)
    }

    pub(super) fn join(&mut self, join: JoinPlan) -> Result<u16, NotLowered> {
        self.plan.joins.push(join);
        u16::try_from(self.plan.joins.len() - 1).map_err(|_| NotLowered::TooLarge)
    }

    pub(super) fn follow(&mut self, follow: FollowPlan) -> Result<u16, NotLowered> {
        self.plan.follows.push(follow);
        u16::try_from(self.plan.follows.len() - 1).map_err(|_| NotLowered::TooLarge)
    }

    /// How many steps change the connection's state so far.
    pub(super) fn sets(&self) -> usize {
        self.plan.sets.len() + self.plan.joins.len() + self.plan.follows.len()
    }

    pub(super) fn set_changes(&mut self, follow: u16, changes_state: bool) {
        if let Some(follow) = self.plan.follows.get_mut(usize::from(follow)) {
            follow.changes_state = changes_state;
        }
    }

    pub(super) fn layer_use(&mut self, layer: LayerPlan) -> Result<u16, NotLowered> {
        self.plan.layer_uses.push(layer);
        u16::try_from(self.plan.layer_uses.len() - 1).map_err(|_| NotLowered::TooLarge)
    }

    pub(super) fn function_call(&mut self, call: CallPlan) -> Result<u16, NotLowered> {
        self.plan.calls.push(call);
        u16::try_from(self.plan.calls.len() - 1).map_err(|_| NotLowered::TooLarge)
    }

    pub(super) fn set(&mut self, set: SetPlan) -> Result<u16, NotLowered> {
        self.plan.sets.push(set);
        u16::try_from(self.plan.sets.len() - 1).map_err(|_| NotLowered::TooLarge)
    }

    pub(super) fn operand(&mut self, value: i128) -> Result<Operand, NotLowered> {
        Ok(Operand::Constant(self.constant(value)?))
    }

    /// Adds a table; its targets name labels.
    pub(super) fn switch_table(
        &mut self,
        mut targets: Vec<(i128, Label)>,
        default: Option<Label>,
    ) -> Result<u16, NotLowered> {
        targets.sort_by_key(|&(value, _)| value);
        let sparse = targets
            .into_iter()
            .map(|(value, label)| (value, label.0))
            .collect();
        let default = default.map(|label| label.0);
        self.plan.switches.push(SwitchTable {
            dense: Vec::new(),
            sparse,
            default,
        });
        u16::try_from(self.plan.switches.len() - 1).map_err(|_| NotLowered::TooLarge)
    }

    /// Replaces labels by places.
    pub(super) fn finish(mut self) -> Result<Plan, NotLowered> {
        let places = self.places;
        let place = |label: &mut u32| -> Result<(), NotLowered> {
            *label = places
                .get(*label as usize)
                .copied()
                .flatten()
                .ok_or(NotLowered::Unchecked("a jump to nowhere"))?;
            Ok(())
        };
        for operation in &mut self.plan.operations {
            match operation {
                Operation::RepeatBegin { end: to, .. }
                | Operation::UntilEndBegin { end: to, .. }
                | Operation::RepeatNext { body: to, .. }
                | Operation::UntilEndNext { body: to, .. }
                | Operation::UntilNext { body: to, .. }
                | Operation::Join { end: to, .. }
                | Operation::Follow { end: to, .. }
                | Operation::Jump { to }
                | Operation::Unless { to, .. }
                | Operation::UnlessBit { to, .. }
                | Operation::WindowBegin { end: to, .. }
                | Operation::LayerBegin { end: to, .. }
                | Operation::Call { to, .. } => place(to)?,
                _ => {}
            }
        }
        for table in &mut self.plan.switches {
            for (_, to) in &mut table.sparse {
                place(to)?;
            }
            if let Some(default) = &mut table.default {
                place(default)?;
            }
            make_dense(table);
        }
        shortcuts::take(&mut self.plan);
        Ok(self.plan)
    }
}

impl Label {
    /// As operations name it until the plan is finished.
    pub(super) fn name(self) -> u32 {
        self.0
    }
}

/// The largest value of a table that is looked up by place.
const DENSE_VALUE_MAX: i128 = 255;

fn make_dense(table: &mut SwitchTable) {
    let small = |&(value, _): &(i128, u32)| (0..=DENSE_VALUE_MAX).contains(&value);
    if !table.sparse.iter().all(small) {
        return;
    }
    for (value, to) in std::mem::take(&mut table.sparse) {
        let index = value as usize;
        if table.dense.len() <= index {
            table.dense.resize(index + 1, u32::MAX);
        }
        table.dense[index] = to;
    }
}
