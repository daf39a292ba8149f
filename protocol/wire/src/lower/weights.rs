//! How many nodes parts of a packet can have at most, so that both plans stop at the same element.

use crate::check::model::{Expression, Field, Model, Repeat, Step, StructId, Type};

/// A repeat with a constant count counts as part of its struct where it has at most this many nodes.
const SMALL_REPEAT_NODES: u64 = 256;

/// For each struct, the nodes of one value of it, its own included. Elements of repeats and
/// recursive structs count for themselves when they are met.
#[derive(Debug)]
pub(super) struct Weights {
    of_structs: Vec<Option<u32>>,
}

impl Weights {
    pub(super) fn of(model: &Model) -> Weights {
        let mut weights = Weights {
            of_structs: vec![None; model.structs.len()],
        };
        for index in 0..model.structs.len() {
            weights.fill(model, StructId(index as u32));
        }
        weights
    }

    pub(super) fn of_struct(&self, id: StructId) -> u32 {
        self.of_structs
            .get(id.0 as usize)
            .copied()
            .flatten()
            .unwrap_or(u32::MAX)
    }

    /// The nodes of one element, or of a field that is not repeated.
    pub(super) fn of_single(&self, field: &Field, model: &Model) -> u32 {
        match field.field_type {
            Type::Struct(inner) if !model.structure(inner).recursive => self.of_struct(inner),
            _ => 1,
        }
    }

    /// The count of a repeat that is part of its struct.
    pub(super) fn small_repeat(&self, field: &Field, model: &Model) -> Option<u32> {
        let Some(Repeat::Count(Expression::Integer(count))) = field.repeat else {
            return None;
        };
        let count = u32::try_from(count).ok()?;
        let nodes = u64::from(count) * u64::from(self.of_single(field, model));
        (nodes <= SMALL_REPEAT_NODES).then_some(count)
    }

    /// Structs nest at most [`STRUCT_NESTING_MAX`](crate::limits::STRUCT_NESTING_MAX) deep.
    fn fill(&mut self, model: &Model, id: StructId) {
        if self.of_structs[id.0 as usize].is_some() {
            return;
        }
        let structure = model.structure(id);
        for field in &structure.fields {
            if let Type::Struct(inner) = field.field_type
                && !model.structure(inner).recursive
            {
                self.fill(model, inner);
            }
        }
        let nodes = self.of_steps(&structure.body, id, model);
        self.of_structs[id.0 as usize] = Some(nodes.saturating_add(1));
    }

    fn of_steps(&self, steps: &[Step], id: StructId, model: &Model) -> u32 {
        let mut sum: u32 = 0;
        for step in steps {
            sum = sum.saturating_add(match step {
                Step::Align { .. } => 1,
                Step::ByteOrder { .. } => 0,
                Step::Set(_) => 0,
                // What is joined counts for itself when it is complete.
                Step::Join(_) | Step::Follow(_) => 0,
                // What is left in it.
                Step::Window { body, .. } => 1 + self.of_steps(body, id, model),
                Step::Field(field) => self.of_field(model.structure(id).field(*field), model),
                Step::If {
                    then, otherwise, ..
                } => self
                    .of_steps(then, id, model)
                    .max(self.of_steps(otherwise, id, model)),
                Step::Switch { arms, default, .. } => {
                    let bodies = arms.iter().map(|(_, steps)| steps).chain(default);
                    bodies
                        .map(|steps| self.of_steps(steps, id, model))
                        .max()
                        .unwrap_or(0)
                }
            });
        }
        sum
    }

    fn of_field(&self, field: &Field, model: &Model) -> u32 {
        // What is left in a window, and in a layer.
        let rest = match &field.window {
            Some(window) => 1 + u32::from(window.layer.is_some()),
            None => 0,
        };
        let nodes = match (&field.repeat, self.small_repeat(field, model)) {
            (None, _) => self.of_single(field, model),
            (_, Some(count)) => 1 + count * self.of_single(field, model),
            _ => 1,
        };
        nodes.saturating_add(rest)
    }
}
