//! Windows to operations.

use std::sync::Arc;

use super::assembler::Label;
use super::bindings::Bindings;
use super::{FieldKey, Lowering, NotLowered};
use crate::check::model::{Expression, Field, LayerUse, StructId, Window};
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
    pub(super) field: Option<u32>,
    pub(super) catches: bool,
    /// Where to note what comes out of the layer.
    pub(super) keep: Option<Register>,
}

/// The ends of a window and of the layer in it.
pub(super) struct Begun {
    layer: Option<Label>,
    keep: Option<Register>,
    end: Label,
}

impl Lowering<'_> {
    /// Works out the size.
    pub(super) fn confined(
        &mut self,
        window: &Window,
        structure: StructId,
        bindings: &Bindings,
    ) -> Result<Confined, NotLowered> {
        let at = match &window.at {
            Some(at) => Some(self.value(at, bindings)?),
            None => None,
        };
        let size = match &window.size {
            Some(size) => Some(self.value(size, bindings)?),
            None => None,
        };
        let layer = match &window.layer {
            Some(layer) => Some(self.layer_plan(layer, structure, bindings)?),
            None => None,
        };
        let text = self.text(&window.text);
        let rest = self.rest_info(&window.rest_key, structure, false);
        Ok(Confined {
            at,
            size,
            text,
            rest,
            layer,
            field: None,
            catches: true,
            keep: None,
        })
    }

    /// The window is that of a struct, and what is left in it a part of the struct.
    pub(super) fn stands_inside(
        &mut self,
        confined: &mut Confined,
        structure: StructId,
        field: &Field,
    ) {
        if let Some(window) = &field.window {
            confined.rest = self.rest_info(&window.rest_key, structure, true);
        }
    }

    fn layer_plan(
        &mut self,
        through: &LayerUse,
        structure: StructId,
        bindings: &Bindings,
    ) -> Result<LayerPlan, NotLowered> {
        Ok(LayerPlan {
            layer: through.layer,
            arguments: self.given(&through.arguments, bindings)?,
            text: self.text(&through.text),
            rest: self.rest_info(&through.rest_key, structure, true),
            packed_key: through.packed_key.clone(),
        })
    }

    /// Each with whether it is a text or bytes.
    pub(super) fn given(
        &mut self,
        expressions: &[(Expression, bool)],
        bindings: &Bindings,
    ) -> Result<Vec<ArgumentPlan>, NotLowered> {
        let mut arguments = Vec::new();
        for (argument, is_content) in expressions {
            arguments.push(if *is_content {
                ArgumentPlan::Content(self.content(argument, bindings)?)
            } else {
                ArgumentPlan::Integer(self.value(argument, bindings)?)
            });
        }
        Ok(arguments)
    }

    fn rest_info(&mut self, key: &Arc<str>, structure: StructId, is_inside: bool) -> u32 {
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

    /// Begins a window, if there is one, and the layer in it.
    pub(super) fn begin(&mut self, window: Option<Confined>) -> Result<Option<Begun>, NotLowered> {
        let Some(window) = window else {
            return Ok(None);
        };
        let end = self.assembler.label();
        self.assembler.push(Operation::WindowBegin {
            at: window.at,
            size: window.size,
            text: window.text,
            field: window.field,
            rest: window.rest,
            catches: window.catches,
            end: end.name(),
        })?;
        let layer = match window.layer {
            None => None,
            Some(layer) => {
                let end = self.assembler.label();
                let place = self.assembler.layer_use(layer)?;
                self.assembler.push(Operation::LayerBegin {
                    place,
                    catches: window.catches,
                    end: end.name(),
                })?;
                Some(end)
            }
        };
        let keep = window.keep;
        Ok(Some(Begun { layer, keep, end }))
    }

    pub(super) fn end(&mut self, window: Option<Begun>) -> Result<(), NotLowered> {
        let Some(Begun { layer, keep, end }) = window else {
            return Ok(());
        };
        if let Some(layer) = layer {
            if let Some(to) = keep {
                self.assembler.push(Operation::KeepStream { to })?;
            }
            self.assembler.push(Operation::LayerEnd)?;
            self.assembler.place(layer)?;
        }
        self.assembler.push(Operation::WindowEnd)?;
        self.assembler.place(end)
    }
}
