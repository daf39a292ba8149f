//! Windows to operations.

use std::sync::Arc;

use super::{FieldKey, Lowering};
use crate::check::model::{Expression, Field, LayerUse, Window};
use crate::operation::{Operand, Operation, Register};
use crate::program::{ArgumentPlan, FieldInfo, LayerPlan, Rest, Shown};

/// A window whose size is known to the plan.
pub(super) struct Confined {
    at: Option<Operand>,
    size: Option<Operand>,
    text: u32,
    rest: u32,
    layer: Option<LayerPlan>,
    /// See [`Operation::WindowBegin`].
    pub field: Option<u32>,
    pub catches: bool,
    /// Where to note what comes out of the layer.
    pub keep: Option<Register>,
}

impl Lowering<'_> {
    /// Works out the size.
    pub(super) fn confined(&mut self, window: &Window) -> Confined {
        Confined {
            at: window.at.as_ref().map(|at| self.value(at)),
            size: window.size.as_ref().map(|size| self.value(size)),
            layer: window.layer.as_ref().map(|layer| self.layer_plan(layer)),
            text: self.text(&window.text),
            rest: self.rest_info(&window.rest_key, false),
            field: None,
            catches: true,
            keep: None,
        }
    }

    /// The window is that of a struct, and what is left in it a part of the struct.
    pub(super) fn stands_inside(&mut self, confined: &mut Confined, field: &Field) {
        if let Some(window) = &field.window {
            confined.rest = self.rest_info(&window.rest_key, true);
        }
    }

    fn layer_plan(&mut self, through: &LayerUse) -> LayerPlan {
        LayerPlan {
            layer: through.layer,
            arguments: self.given(&through.arguments),
            text: self.text(&through.text),
            rest: self.rest_info(&through.rest_key, true),
            packed_key: through.packed_key.clone(),
        }
    }

    /// Each with whether it is a text or bytes.
    pub(super) fn given(&mut self, expressions: &[(Expression, bool)]) -> Vec<ArgumentPlan> {
        let given = expressions.iter().map(|(argument, is_content)| {
            if *is_content {
                ArgumentPlan::Content(self.content(argument))
            } else {
                ArgumentPlan::Integer(self.value(argument))
            }
        });
        given.collect()
    }

    fn rest_info(&mut self, key: &Arc<str>, is_inside: bool) -> u32 {
        let structure = self.structure;
        let key = key.clone();
        let marked: Arc<str> = if is_inside {
            format!(".{key}").into()
        } else {
            key.clone()
        };
        let mut info = |name: &str| {
            let field_key = FieldKey::Rest(structure, marked.clone(), name == "rest");
            let key = key.clone();
            self.info(field_key, || FieldInfo {
                name: name.into(),
                type_name: "bytes".into(),
                shown: Shown::Bytes,
                rest: Some(Rest { key, is_inside }),
                ..FieldInfo::default()
            })
        };
        let rest = info("rest");
        // The one after it is for what is unresolved.
        info("unresolved");
        rest
    }

    /// What is in a window, if there is one, and in the layer in it.
    pub(super) fn in_window<R>(
        &mut self,
        window: Option<Confined>,
        inside: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let Some(window) = window else {
            return inside(self);
        };
        let catches = window.catches;
        let end = self.assembler.label();
        self.push(Operation::WindowBegin {
            at: window.at,
            size: window.size,
            text: window.text,
            field: window.field,
            rest: window.rest,
            catches,
            end: end.name(),
        });
        let layer_end = window.layer.map(|layer| {
            let end = self.assembler.label();
            let place = self.assembler.add(|plan| &mut plan.layer_uses, layer);
            self.push(Operation::LayerBegin {
                place,
                catches,
                end: end.name(),
            });
            end
        });
        let found = inside(self);
        if let Some(layer_end) = layer_end {
            if let Some(to) = window.keep {
                self.push(Operation::KeepStream { to });
            }
            self.push(Operation::LayerEnd);
            self.assembler.place(layer_end);
        }
        self.push(Operation::WindowEnd);
        self.assembler.place(end);
        found
    }
}
