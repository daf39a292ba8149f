//! Jumps that lead to the end of a way at once: over other jumps, and over comparisons of which it is
//! known how they end.

use crate::operation::{Operand, Operation};
use crate::program::{Plan, SwitchTable};
use crate::syntax::ast::Compare;

/// Replaces the targets of all jumps. Operations stay where they are.
pub(super) fn take(plan: &mut Plan) {
    // Most jumps go ahead: those that they lead to are taken care of before.
    for place in (0..plan.operations.len()).rev() {
        let failed = match plan.operations[place] {
            Operation::Unless {
                operator,
                left,
                right,
                ..
            } => Some((operator, left, right)),
            _ => None,
        };
        let Some(&mut to) = target(&mut plan.operations[place]) else {
            continue;
        };
        let end = end_of_way(plan, to, failed);
        if let Some(to) = target(&mut plan.operations[place]) {
            *to = end;
        }
    }
    for mut table in std::mem::take(&mut plan.switches) {
        let SwitchTable {
            dense,
            sparse,
            default,
        } = &mut table;
        let sparse = sparse.iter_mut().map(|(_, to)| to);
        for to in dense.iter_mut().chain(sparse).chain(default) {
            *to = end_of_way(plan, *to, None);
        }
        plan.switches.push(table);
    }
}

/// Where an operation jumps to, if it does nothing else there.
fn target(operation: &mut Operation) -> Option<&mut u32> {
    match operation {
        Operation::Jump { to } | Operation::Unless { to, .. } | Operation::UnlessBit { to, .. } => {
            Some(to)
        }
        _ => None,
    }
}

/// Where a run comes that jumps to an operation, after a comparison that failed.
fn end_of_way(plan: &Plan, mut to: u32, failed: Option<(Compare, Operand, Operand)>) -> u32 {
    // A jump back could lead in a circle.
    while let Some(operation) = plan.operations.get(to as usize) {
        let next = match (*operation, failed) {
            (Operation::Jump { to }, _) => to,
            (
                Operation::Unless {
                    operator,
                    left,
                    right,
                    to,
                },
                Some(failed),
            ) if fails_too(plan, failed, (operator, left, right)) => to,
            _ => return to,
        };
        if next <= to {
            return to;
        }
        to = next;
    }
    to
}

/// Whether a comparison fails because another one of the same value did.
fn fails_too(
    plan: &Plan,
    first: (Compare, Operand, Operand),
    second: (Compare, Operand, Operand),
) -> bool {
    if first == second {
        return true;
    }
    let constant = |operand| match operand {
        Operand::Constant(place) => plan.constants.get(usize::from(place)),
        Operand::Register(_) => None,
    };
    let (Some(first_limit), Some(second_limit)) = (constant(first.2), constant(second.2)) else {
        return false;
    };
    first.1 == second.1
        && first.0 == second.0
        && match first.0 {
            Compare::Greater | Compare::GreaterOrEqual => first_limit <= second_limit,
            Compare::Less | Compare::LessOrEqual => first_limit >= second_limit,
            Compare::Equal | Compare::NotEqual => first_limit == second_limit,
        }
}
