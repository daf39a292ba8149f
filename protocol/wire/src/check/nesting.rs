//! Which structs hold which: what can hold itself, and how deep structs stand in each other.

use std::collections::BTreeSet;

use super::Checker;
use super::declared::HeadKind;
use super::model::StructId;
use crate::limits::STRUCT_NESTING_MAX;
use crate::syntax::ast::{ExprKind, Statement, Until};

/// What the nesting of structs says.
pub(super) struct Nesting {
    /// By struct: it can hold itself, or stands between two that can.
    pub recursive: Vec<bool>,
    /// Every struct that is not recursive, after all that it holds.
    pub children_first: Vec<StructId>,
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

impl<'a> Checker<'a, '_> {
    /// Reports structs that hold themselves whatever a packet says.
    pub(super) fn check_ends(&mut self, recursive: &[bool]) {
        let file = self.file;
        let count = file.structs.len();
        let mut ends = vec![false; count];
        // Each round finds at least one more that ends, or is the last.
        for _ in 0..=count {
            let mut changed = false;
            for (index, structure) in file.structs.iter().enumerate() {
                let mut place = 0;
                if !ends[index] && self.body_ends(&structure.body, index, &mut place, &ends) {
                    ends[index] = true;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        // Of several on one circle the first is enough.
        let endless: Vec<usize> = (0..count)
            .filter(|&index| recursive[index] && !ends[index])
            .collect();
        let on_circle = |index: &&usize| {
            let mut open = vec![**index];
            let mut met = BTreeSet::new();
            while let Some(at) = open.pop() {
                for head in &self.heads[at] {
                    if let HeadKind::Struct(inner) = head.kind
                        && endless.contains(&(inner.0 as usize))
                        && met.insert(inner.0 as usize)
                    {
                        open.push(inner.0 as usize);
                    }
                }
            }
            met.contains(*index)
        };
        let Some(&first) = endless.iter().find(on_circle) else {
            return;
        };
        let name = file.structs[first].name;
        self.report(name.span, format!("`{}` always holds itself", name.text))
            .label("no packet can end it")
            .help("put the field through which it holds itself into an `if`, or repeat it");
    }

    /// Whether some packet ends a body. `place` counts fields as [`FieldId`](super::model::FieldId)
    /// does.
    fn body_ends(
        &self,
        body: &[Statement<'a>],
        structure: usize,
        place: &mut usize,
        ends: &[bool],
    ) -> bool {
        let mut all = true;
        for statement in body {
            all &= match statement {
                Statement::Field(field) => {
                    let head = self.heads[structure].get(*place).copied();
                    *place += 1;
                    let always = match field.repeat.as_ref().map(|repeat| &repeat.until) {
                        None | Some(Until::Holds(_)) => true,
                        Some(Until::Count(count)) => {
                            matches!(count.kind, ExprKind::Integer(1..))
                        }
                        Some(Until::End | Until::Bytes(_)) => false,
                    };
                    match head.map(|head| head.kind) {
                        Some(HeadKind::Struct(inner)) if always => ends[inner.0 as usize],
                        _ => true,
                    }
                }
                Statement::Join(_) | Statement::Follow(_) => {
                    *place += 1;
                    true
                }
                _ => {
                    let blocks = statement.blocks();
                    let ending = blocks
                        .iter()
                        .filter(|body| self.body_ends(body, structure, place, ends));
                    // All of them are walked, so that fields are counted. What has none, a switch that lacks
                    // its arms, was reported.
                    ending.count() > 0 || blocks.is_empty()
                }
            };
        }
        all
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
