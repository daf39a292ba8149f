//! Windows to operations.

use std::sync::Arc;

use super::assembler::Label;
use super::{Bindings, FieldKey, Lowering, TooLarge};
use crate::check::model::{Field, StructId, Window};
use crate::program::{FieldInfo, Operand, Operation, Rest, Shown};

/// A window whose size is known to the plan.
pub(super) struct Confined {
    size: Operand,
    text: u32,
    rest: u32,
    /// See [`Operation::WindowBegin`].
    pub(super) field: Option<u32>,
    pub(super) catches: bool,
}

impl Lowering<'_> {
    /// Works out the size.
    pub(super) fn confined(
        &mut self,
        window: &Window,
        structure: StructId,
        bindings: &Bindings,
    ) -> Result<Confined, TooLarge> {
        let size = self.value(&window.size, bindings)?;
        let text = self.text(&window.text);
        let rest = self.rest_info(window, structure, false);
        Ok(Confined {
            size,
            text,
            rest,
            field: None,
            catches: true,
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
            confined.rest = self.rest_info(window, structure, true);
        }
    }

    fn rest_info(&mut self, window: &Window, structure: StructId, is_inside: bool) -> u32 {
        let key = window.rest_key.clone();
        let marked: Arc<str> = match is_inside {
            true => format!(".{key}").into(),
            false => key.clone(),
        };
        let mut info = |name: &str| {
            let field_key = FieldKey::Rest(structure, marked.clone(), name == "rest");
            let key = key.clone();
            self.info(field_key, || FieldInfo {
                name: name.into(),
                is_element: false,
                type_name: "bytes".into(),
                annotation: None,
                shown: Shown::Bytes,
                is_repeat: false,
                varint: None,
                padding: None,
                constant: None,
                rest: Some(Rest { key, is_inside }),
            })
        };
        let rest = info("rest");
        // The one after it is for what is unresolved.
        info("unresolved");
        rest
    }

    /// Begins a window, if there is one; the label of its end.
    pub(super) fn begin(&mut self, window: Option<Confined>) -> Result<Option<Label>, TooLarge> {
        let Some(window) = window else {
            return Ok(None);
        };
        let end = self.assembler.label();
        self.assembler.push(Operation::WindowBegin {
            size: window.size,
            text: window.text,
            field: window.field,
            rest: window.rest,
            catches: window.catches,
            end: end.name(),
        })?;
        Ok(Some(end))
    }

    pub(super) fn end(&mut self, window: Option<Label>) -> Result<(), TooLarge> {
        let Some(end) = window else {
            return Ok(());
        };
        self.assembler.push(Operation::WindowEnd)?;
        self.assembler.place(end)
    }
}
