//! Which structs hold which: what can hold itself, and how deep structs stand in each other.

use std::collections::BTreeSet;

use super::Checker;
use super::heads::HeadKind;
use super::model::StructId;
use crate::limits::STRUCT_NESTING_MAX;

/// What the nesting of structs says.
pub(super) struct Nesting {
    /// By struct: it can hold itself, or stands between two that can.
    pub(super) recursive: Vec<bool>,
    /// Every struct that is not recursive, after all that it holds.
    pub(super) children_first: Vec<StructId>,
}

impl Checker<'_, '_> {
    pub(super) fn check_nesting(&mut self) -> Nesting {
        let count = self.heads.len();
        let mut children: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); count];
        let mut parents: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); count];
        for (parent, heads) in self.heads.iter().enumerate() {
            for head in heads {
                if let HeadKind::Struct(child) = head.kind {
                    children[parent].insert(child.0 as usize);
                    parents[child.0 as usize].insert(parent);
                }
            }
        }
        // What is left when everything without children, then everything without parents, has been
        // taken away again and again, stands on a circle or between two.
        let upwards = peel(&children, &parents, &vec![true; count]);
        let mut left = vec![true; count];
        for &index in &upwards {
            left[index] = false;
        }
        let downwards = peel(&parents, &children, &left);
        for &index in &downwards {
            left[index] = false;
        }
        let mut children_first: Vec<usize> = upwards;
        children_first.extend(downwards.into_iter().rev());
        let mut depth = vec![1usize; count];
        for &index in &children_first {
            let below = children[index].iter().filter(|&&child| !left[child]);
            depth[index] = 1 + below.map(|&child| depth[child]).max().unwrap_or(0);
            if depth[index] == STRUCT_NESTING_MAX + 1 {
                let span = self.file.structs[index].name.span;
                self.report(span, "structs are nested too deeply")
                    .label(format!(
                        "structs may stand {STRUCT_NESTING_MAX} deep in each other"
                    ));
            }
        }
        let children_first = children_first
            .into_iter()
            .map(|index| StructId(index as u32))
            .collect();
        Nesting {
            recursive: left,
            children_first,
        }
    }
}

/// Takes away, again and again, what has no neighbour left in `below`; in the order of taking.
fn peel(below: &[BTreeSet<usize>], above: &[BTreeSet<usize>], among: &[bool]) -> Vec<usize> {
    let count_below = |index: usize| {
        below[index]
            .iter()
            .filter(|&&neighbour| among[neighbour])
            .count()
    };
    let mut waiting: Vec<usize> = (0..below.len()).map(count_below).collect();
    let mut taken: Vec<usize> = (0..below.len())
        .filter(|&index| among[index] && waiting[index] == 0)
        .collect();
    let mut next = 0;
    while let Some(&index) = taken.get(next) {
        next += 1;
        for &neighbour in &above[index] {
            waiting[neighbour] -= 1;
            if waiting[neighbour] == 0 && among[neighbour] {
                taken.push(neighbour);
            }
        }
    }
    taken
}
