//! A plan in the making: operations, labels that are placed later, constants.

use std::collections::BTreeMap;

use super::shortcuts;
use crate::limits::OPERATIONS_MAX;
use crate::operation::{Operand, Operation, Register};
use crate::program::{Plan, StateSlot, SwitchTable};
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

/// Whoever adds to it need not ask whether there is room: what has failed is told when it is finished.
#[derive(Default)]
pub(super) struct Assembler {
    plan: Plan,
    /// Why there is no plan: the first reason.
    failed: Option<NotLowered>,
    /// Where constants, and pairs of them, are in the plan.
    known: BTreeMap<(i128, Option<i128>), usize>,
    /// By label.
    places: Vec<Option<u32>>,
    /// The last operation that something can jump to; skips before it are not joined with it.
    fence: usize,
}

impl Assembler {
    /// There will be no plan.
    pub(super) fn fail(&mut self, why: NotLowered) {
        self.failed.get_or_insert(why);
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    pub(super) fn label(&mut self) -> Label {
        self.places.push(None);
        Label(self.places.len() as u32 - 1)
    }

    pub(super) fn place(&mut self, label: Label) {
        let here = self.here();
        if let Some(place) = self.places.get_mut(label.0 as usize) {
            *place = Some(here);
        }
    }

    /// The next operation, as something that can be jumped to.
    pub(super) fn here(&mut self) -> u32 {
        self.fence = self.plan.operations.len();
        self.fence as u32
    }

    /// Adds an operation. Jumps in it name labels, not places.
    pub(super) fn push(&mut self, operation: Operation) {
        if self.plan.operations.len() >= OPERATIONS_MAX {
            return self.fail(NotLowered::TooLarge);
        }
        match (self.fused(operation), self.plan.operations.last_mut()) {
            (Some(fused), Some(last)) => *last = fused,
            _ => self.plan.operations.push(operation),
        }
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

    /// Skips fields of these widths, together with a skip right before it.
    pub(super) fn skip(&mut self, widths: &[u8]) {
        let more: u32 = widths.iter().map(|&width| u32::from(width)).sum();
        if self.plan.skipped_bits.len() + widths.len() > OPERATIONS_MAX {
            return self.fail(NotLowered::TooLarge);
        }
        let first = self.plan.skipped_bits.len() as u32;
        self.plan.skipped_bits.extend_from_slice(widths);
        let joins = self.plan.operations.len() > self.fence;
        if let Some(Operation::Skip { bits, count, .. }) = self.plan.operations.last_mut()
            && joins
        {
            *bits += more;
            *count += widths.len() as u32;
            return;
        }
        self.push(Operation::Skip {
            bits: more,
            first,
            count: widths.len() as u32,
        });
    }

    /// Tells calls, and what they pass, where the next frame starts.
    pub(super) fn set_frames(&mut self, from: u32, size: Register) {
        for operation in self.plan.operations.iter_mut().skip(from as usize) {
            if let Operation::Call { frame, .. } | Operation::Pass { frame, .. } = operation {
                *frame = size;
            }
        }
    }

    /// The place of an entry, which is counted in 16 bits.
    fn counted(&mut self, place: usize) -> u16 {
        u16::try_from(place).unwrap_or_else(|_| {
            self.fail(NotLowered::TooLarge);
            0
        })
    }

    /// Adds what operations point to; its place.
    pub(super) fn add<T>(&mut self, table: impl FnOnce(&mut Plan) -> &mut Vec<T>, entry: T) -> u16 {
        let table = table(&mut self.plan);
        table.push(entry);
        let place = table.len() - 1;
        self.counted(place)
    }

    pub(super) fn constant(&mut self, value: i128) -> u16 {
        let constants = &mut self.plan.constants;
        let place = *self.known.entry((value, None)).or_insert_with(|| {
            constants.push(value);
            constants.len() - 1
        });
        self.counted(place)
    }

    /// Two constants, one after the other; the place of the first.
    pub(super) fn constant_pair(&mut self, low: i128, high: i128) -> u16 {
        let constants = &mut self.plan.constants;
        let place = *self.known.entry((low, Some(high))).or_insert_with(|| {
            constants.extend([low, high]);
            constants.len() - 2
        });
        self.counted(place)
    }

    pub(super) fn slot(&mut self, slot: StateSlot) -> u16 {
        let mut slots = self.plan.slots.iter();
        match slots.position(|known| *known == slot) {
            Some(place) => self.counted(place),
            None => self.add(|plan| &mut plan.slots, slot),
        }
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

    pub(super) fn operand(&mut self, value: i128) -> Operand {
        Operand::Constant(self.constant(value))
    }

    /// Adds a table; its targets name labels.
    pub(super) fn switch_table(
        &mut self,
        mut targets: Vec<(i128, Label)>,
        default: Option<Label>,
    ) -> u16 {
        targets.sort_by_key(|&(value, _)| value);
        let sparse = targets
            .into_iter()
            .map(|(value, label)| (value, label.0))
            .collect();
        let table = SwitchTable {
            dense: Vec::new(),
            sparse,
            default: default.map(|label| label.0),
        };
        self.add(|plan| &mut plan.switches, table)
    }

    /// Replaces labels by places; or says why there is no plan.
    pub(super) fn finish(mut self) -> Result<Plan, NotLowered> {
        if let Some(why) = self.failed {
            return Err(why);
        }
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
