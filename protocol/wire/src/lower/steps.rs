//! Fields, conditions, switches and repeats to operations.

use std::sync::Arc;

use super::bindings::{Binding, Bindings};
use super::skips;
use super::windows::Confined;
use super::{FieldKey, Lowering, NotLowered, Sinks};
use crate::check::model::{
    Expression, Field, FieldId, Length, Repeat, Shared, Step, StructId, Type,
};
use crate::operation::{Extent, NO_REGISTER, Operand, Operation, Register};
use crate::program::{FieldInfo, Padding, Shown};
use crate::values::codec::Codec;

/// Registers, and the fields of all arms whose value they get.
type Joint = Vec<(Register, Vec<FieldId>)>;

/// After a branch, the field of the first arm stands for those of all.
fn bind(joint: &Joint, bindings: &mut Bindings) {
    for (register, all) in joint {
        if let Some(&first) = all.first() {
            let binding = Binding::Register(*register);
            bindings.fields.insert(first, binding);
        }
    }
}

/// Whether a text or bytes have to be what the wire says.
fn is_compared(field: &Field) -> bool {
    field.content.is_some() && !field.is_gap
}

/// The values of a case of a switch, and what is read there.
type Arm = (Vec<i128>, Vec<Step>);

impl Lowering<'_> {
    /// A struct that is not recursive, written out.
    pub(super) fn inline(
        &mut self,
        id: StructId,
        info: u32,
        window: Option<Confined>,
        arguments: Vec<Operand>,
    ) -> Result<Bindings, NotLowered> {
        let model = self.model;
        let structure = model.structure(id);
        if structure.is_message {
            self.assembler.push(Operation::MessageBegin)?;
        }
        if self.sinks == Sinks::Full {
            self.assembler.push(Operation::Enter { field: info })?;
        }
        let window = self.begin(window)?;
        let bindings = self.written_out(id, arguments)?;
        self.end(window)?;
        if self.sinks == Sinks::Full {
            self.assembler.push(Operation::Leave)?;
        }
        if structure.is_message {
            self.assembler.push(Operation::MessageEnd)?;
        }
        Ok(bindings)
    }

    /// What is in a struct, written out here.
    fn written_out(
        &mut self,
        id: StructId,
        arguments: Vec<Operand>,
    ) -> Result<Bindings, NotLowered> {
        let model = self.model;
        let mut bindings = Bindings::default();
        let parameters = &model.structure(id).parameters;
        for (&parameter, argument) in parameters.iter().zip(arguments) {
            let binding = Binding::Constant(argument);
            bindings.fields.insert(parameter, binding);
        }
        self.begin_derived(id, &mut bindings)?;
        self.steps(&model.structure(id).body, id, &mut bindings)?;
        self.end_derived(id, &bindings)?;
        Ok(bindings)
    }

    /// What is in a struct: written out, or a call.
    pub(super) fn struct_body(
        &mut self,
        id: StructId,
        arguments: Vec<Operand>,
    ) -> Result<(), NotLowered> {
        if self.model.structure(id).recursive {
            self.call_routine(id, arguments)
        } else {
            self.written_out(id, arguments).map(|_| ())
        }
    }

    fn call_routine(&mut self, id: StructId, arguments: Vec<Operand>) -> Result<(), NotLowered> {
        let label = match self.routines.get(&id) {
            Some(&label) => label,
            None => {
                let label = self.assembler.label();
                self.routines.insert(id, label);
                label
            }
        };
        for (parameter, argument) in (0..).zip(arguments) {
            let pass = self.assembler.pass(parameter, argument)?;
            self.open_calls.push(pass);
        }
        let call = self.assembler.call(label, self.weights.of_struct(id))?;
        self.open_calls.push(call);
        Ok(())
    }

    /// A recursive struct.
    pub(super) fn call(
        &mut self,
        id: StructId,
        info: u32,
        window: Option<Confined>,
        arguments: Vec<Operand>,
    ) -> Result<(), NotLowered> {
        if self.sinks == Sinks::Full {
            self.assembler.push(Operation::Enter { field: info })?;
        }
        let window = self.begin(window)?;
        self.call_routine(id, arguments)?;
        self.end(window)?;
        if self.sinks == Sinks::Full {
            self.assembler.push(Operation::Leave)?;
        }
        Ok(())
    }

    pub(super) fn steps(
        &mut self,
        steps: &[Step],
        structure: StructId,
        bindings: &mut Bindings,
    ) -> Result<(), NotLowered> {
        let mut order_around = None;
        for step in steps {
            match step {
                Step::ByteOrder { big } => {
                    self.shared.reorders = true;
                    let big = self.value(big, bindings)?;
                    let before = self.register()?;
                    order_around.get_or_insert(before);
                    self.assembler.push(Operation::ByteOrder { big, before })?;
                }
                Step::Field(id) => self.field(structure, *id, bindings)?,
                Step::Set(step) => self.set(step, bindings)?,
                Step::Join(step) => self.join(step, structure, bindings)?,
                Step::Follow(step) => self.follow(step, structure, bindings)?,
                Step::Align {
                    bits,
                    pad,
                    text,
                    key,
                } => self.align(*bits, *pad, text, (structure, key.clone()))?,
                Step::Window { window, body } => {
                    let confined = self.confined(window, structure, bindings)?;
                    let window = self.begin(Some(confined))?;
                    self.branch(body, structure, bindings)?;
                    self.end(window)?;
                }
                Step::If {
                    condition,
                    then,
                    otherwise,
                    shared,
                } => {
                    let joint = self.joint(shared, structure)?;
                    let (no, end) = (self.assembler.label(), self.assembler.label());
                    self.unless(condition, no, bindings)?;
                    self.arm(then, (0, &joint), structure, bindings)?;
                    if !otherwise.is_empty() {
                        self.assembler.jump(end)?;
                    }
                    self.assembler.place(no)?;
                    self.arm(otherwise, (1, &joint), structure, bindings)?;
                    self.assembler.place(end)?;
                    bind(&joint, bindings);
                }
                Step::Switch {
                    on,
                    text,
                    arms,
                    default,
                    shared,
                } => {
                    let joint = self.joint(shared, structure)?;
                    self.switch((on, text), (arms, default, &joint), structure, bindings)?;
                    bind(&joint, bindings);
                }
            }
        }
        if let Some(around) = order_around {
            let (big, before) = (Operand::Register(around), NO_REGISTER);
            self.assembler.push(Operation::ByteOrder { big, before })?;
        }
        Ok(())
    }

    fn switch(
        &mut self,
        (on, text): (&Expression, &Arc<str>),
        (arms, default, joint): (&[Arm], &Option<Vec<Step>>, &Joint),
        structure: StructId,
        bindings: &mut Bindings,
    ) -> Result<(), NotLowered> {
        let on = self.value(on, bindings)?;
        let text = self.text(text);
        let end = self.assembler.label();
        let mut targets = Vec::new();
        let mut bodies = Vec::new();
        for (values, body) in arms {
            let label = self.assembler.label();
            targets.extend(values.iter().map(|&value| (value, label)));
            bodies.push((label, body));
        }
        let default = default.as_ref().map(|body| {
            let label = self.assembler.label();
            bodies.push((label, body));
            label
        });
        let table = self.assembler.switch_table(targets, default)?;
        self.assembler.push(Operation::Switch { on, table, text })?;
        for (place, (label, body)) in bodies.into_iter().enumerate() {
            self.assembler.place(label)?;
            self.arm(body, (place, joint), structure, bindings)?;
            self.assembler.jump(end)?;
        }
        self.assembler.place(end)
    }

    /// Registers for what every arm of a branch declares and something reads after it.
    fn joint(&mut self, shared: &Shared, structure: StructId) -> Result<Joint, NotLowered> {
        let structure = self.model.structure(structure);
        let is_read = |all: &&Vec<FieldId>| all.iter().any(|&id| structure.field(id).read);
        let mut joint = Vec::new();
        for all in shared.iter().filter(is_read) {
            joint.push((self.register()?, all.clone()));
        }
        Ok(joint)
    }

    /// An arm of a branch, which leaves in these registers what all arms declare.
    fn arm(
        &mut self,
        steps: &[Step],
        (place, joint): (usize, &Joint),
        structure: StructId,
        bindings: &mut Bindings,
    ) -> Result<(), NotLowered> {
        let before = self.next_register;
        self.steps(steps, structure, bindings)?;
        for (to, all) in joint {
            let field = all.get(place).copied();
            let from = field.map(|id| bindings.bound(&[id]));
            let (to, from) = (
                *to,
                from.ok_or(NotLowered::Unchecked("an arm without a shared field"))??,
            );
            self.assembler.push(Operation::Copy { to, from })?;
        }
        self.next_register = before;
        Ok(())
    }

    /// Steps that may not happen. The checker lets nobody read what they bind after them, so that
    /// their registers are used again.
    fn branch(
        &mut self,
        steps: &[Step],
        structure: StructId,
        bindings: &mut Bindings,
    ) -> Result<(), NotLowered> {
        let before = self.next_register;
        self.steps(steps, structure, bindings)?;
        self.next_register = before;
        Ok(())
    }

    pub(super) fn align(
        &mut self,
        bits: u32,
        pad: Option<bool>,
        text: &Arc<str>,
        (structure, key): (StructId, Arc<str>),
    ) -> Result<(), NotLowered> {
        let field = self.info(FieldKey::Padding(structure, key.clone()), || FieldInfo {
            name: "padding".into(),
            type_name: text.clone(),
            shown: Shown::Unsigned,
            padding: Some(Padding { pad, key }),
            ..FieldInfo::default()
        });
        self.assembler.push(Operation::Align { bits, pad, field })
    }

    fn field(
        &mut self,
        structure: StructId,
        id: FieldId,
        bindings: &mut Bindings,
    ) -> Result<(), NotLowered> {
        let model = self.model;
        let field = model.structure(structure).field(id);
        if self.sinks == Sinks::Facts {
            let mut widths = Vec::new();
            if skips::add_field(field, model, self.weights, &mut widths) {
                return self.assembler.skip(&widths);
            }
        }
        let info = self.field_info(structure, id, false);
        let is_layered = field
            .window
            .as_ref()
            .is_some_and(|window| window.layer.is_some());
        self.before_field(id, info, is_layered, bindings)?;
        let arguments = match field.reads_index {
            // They are another for each element.
            true => Vec::new(),
            false => self.arguments(field, bindings)?,
        };
        let mut window = match &field.window {
            Some(window) => Some(self.confined(window, structure, bindings)?),
            None => None,
        };
        if let Some(window) = &mut window {
            window.catches = !field.needed_later;
            window.keep = self.unpacked_register(id, bindings);
        }
        if field.repeat.is_none() && matches!(field.field_type, Type::Struct(_)) {
            if let Some(window) = &mut window {
                self.stands_inside(window, structure, field);
            }
            if let Some(binding) = self.single(field, info, bindings, window, &arguments)? {
                bindings.fields.insert(id, binding);
            }
            return self.after_field(id, bindings);
        }
        if let Some(window) = &mut window {
            window.field = Some(info);
        }
        let open = self.begin(window)?;
        if field.repeat.is_some() {
            self.repeat(structure, id, info, bindings, &arguments)?;
        } else if let Some(binding) = self.single(field, info, bindings, None, &arguments)? {
            self.keep_derived(id, &binding, bindings)?;
            bindings.fields.insert(id, binding);
        }
        self.end(open)?;
        self.after_field(id, bindings)
    }

    fn repeat(
        &mut self,
        structure: StructId,
        id: FieldId,
        info: u32,
        bindings: &mut Bindings,
        arguments: &[Operand],
    ) -> Result<(), NotLowered> {
        let model = self.model;
        let field = model.structure(structure).field(id);
        let Some(repeat) = &field.repeat else {
            return Ok(());
        };
        let element = self.field_info(structure, id, true);
        let before = self.next_register;
        let weight = match self.weights.small_repeat(field, model) {
            Some(_) => 0,
            None => self.weights.of_single(field, model),
        };
        let (body, end) = (self.assembler.label(), self.assembler.label());
        let labels = (body.name(), end.name());
        let next = self.begin_repeat(repeat, (info, weight), labels, bindings)?;
        let outer = self.index;
        if field.reads_index {
            self.begin_index()?;
        }
        self.assembler.place(body)?;
        self.count_element(id, bindings)?;
        let of_element;
        let arguments = if field.reads_index {
            of_element = self.arguments(field, bindings)?;
            &of_element[..]
        } else {
            arguments
        };
        let found = self.single(field, element, bindings, None, arguments)?;
        let next = match (next, repeat) {
            (
                Operation::UntilNext {
                    start,
                    weight,
                    body,
                    ..
                },
                Repeat::Until(condition),
            ) => {
                // `item` is the field, as long as its last element is looked at.
                bindings.fields.extend(found.map(|found| (id, found)));
                let holds = self.value(condition, bindings)?;
                bindings.fields.remove(&id);
                Operation::UntilNext {
                    holds,
                    start,
                    weight,
                    body,
                }
            }
            (next, _) => next,
        };
        if field.reads_index {
            self.end_index(outer)?;
        }
        self.assembler.push(next)?;
        self.assembler.place(end)?;
        self.next_register = before;
        Ok(())
    }

    /// Begins a repeat of elements of a weight. The operation behind each element, which asks whether there
    /// is another one.
    fn begin_repeat(
        &mut self,
        repeat: &Repeat,
        (info, weight): (u32, u32),
        (body_name, end_name): (u32, u32),
        bindings: &Bindings,
    ) -> Result<Operation, NotLowered> {
        Ok(match repeat {
            Repeat::Count(count) => {
                let count = self.value(count, bindings)?;
                let counter = self.register()?;
                let (field, end) = (info, end_name);
                let begin = Operation::RepeatBegin {
                    count,
                    counter,
                    weight,
                    field,
                    end,
                };
                self.assembler.push(begin)?;
                Operation::RepeatNext {
                    counter,
                    weight,
                    body: body_name,
                }
            }
            Repeat::UntilEnd => {
                let start = self.register()?;
                let (field, end) = (info, end_name);
                self.assembler.push(Operation::UntilEndBegin {
                    start,
                    weight,
                    field,
                    end,
                })?;
                Operation::UntilEndNext {
                    start,
                    weight,
                    body: body_name,
                }
            }
            Repeat::Until(_) => {
                let start = self.register()?;
                self.assembler.push(Operation::UntilBegin {
                    start,
                    weight,
                    field: info,
                })?;
                Operation::UntilNext {
                    holds: Operand::Register(start),
                    start,
                    weight,
                    body: body_name,
                }
            }
        })
    }

    /// A field that is not repeated, or one element. `window`: what a struct is confined to.
    pub(super) fn single(
        &mut self,
        field: &Field,
        info: u32,
        bindings: &Bindings,
        window: Option<Confined>,
        arguments: &[Operand],
    ) -> Result<Option<Binding>, NotLowered> {
        if let Some(value) = &field.computed {
            return self.compute(field, value, info, bindings);
        }
        match &field.field_type {
            Type::Struct(inner) if self.model.structure(*inner).recursive => {
                self.call(*inner, info, window, arguments.to_vec())?;
                Ok(None)
            }
            Type::Struct(inner) => {
                let bindings = self.inline(*inner, info, window, arguments.to_vec())?;
                Ok(Some(Binding::Struct(bindings)))
            }
            Type::Text { length, encoding } => {
                let extent = match length {
                    Length::Expression(length) => Extent::Bytes(self.value(length, bindings)?),
                    Length::Padded(length) => Extent::Padded(self.value(length, bindings)?),
                    Length::Prefix(codec) => Extent::Prefixed(self.prefix(*codec, info)?),
                    Length::Zero => Extent::Zero,
                    Length::Rest => Extent::Rest,
                };
                let to = self.content_register(field.read || is_compared(field))?;
                let text = Operation::Text {
                    extent,
                    encoding: *encoding,
                    fact: field.meaning,
                    to,
                    field: info,
                };
                self.assembler.push(text)?;
                self.expect_content(field, to, info)?;
                Ok(field.read.then_some(Binding::Register(to)))
            }
            Type::Bytes(_) | Type::BytesRest | Type::Uuid | Type::Hash(_) => {
                let extent = match &field.field_type {
                    Type::Bytes(length) => Extent::Bytes(self.value(length, bindings)?),
                    Type::Uuid => Extent::Bytes(self.assembler.operand(16)?),
                    Type::Hash(bytes) => Extent::Bytes(self.assembler.operand((*bytes).into())?),
                    _ => Extent::Rest,
                };
                let to = self.content_register(field.read || is_compared(field))?;
                self.assembler.push(Operation::Bytes {
                    extent,
                    fact: field.meaning,
                    to,
                    field: info,
                })?;
                self.expect_content(field, to, info)?;
                Ok(field.read.then_some(Binding::Register(to)))
            }
            Type::Wide(order) => {
                let order = *order;
                self.assembler
                    .push(Operation::Wide { order, field: info })?;
                Ok(None)
            }
            Type::Delta { change, base, text } => {
                let base = self.value(base, bindings)?;
                let (change_to, to) = (self.register()?, self.register()?);
                self.read_scalar(change, None, change_to, info)?;
                let text = self.text(text);
                self.assembler.push(Operation::Delta {
                    base,
                    change: change_to,
                    fact: field.meaning,
                    to,
                    text,
                })?;
                Ok(Some(Binding::Register(to)))
            }
            scalar => self.scalar(field, scalar, info),
        }
    }

    /// What a text or bytes that were read are compared with.
    fn expect_content(
        &mut self,
        field: &Field,
        value: Register,
        info: u32,
    ) -> Result<(), NotLowered> {
        let Some(content) = &field.content else {
            return Ok(());
        };
        self.shared.contents.insert(info, content.clone());
        if !is_compared(field) {
            return Ok(());
        }
        self.assembler
            .push(Operation::ExpectContent { value, field: info })
    }

    fn prefix(&mut self, codec: Codec, field: u32) -> Result<Operand, NotLowered> {
        let to = self.register()?;
        let prefix = Operation::Prefix { codec, to, field };
        self.assembler.push(prefix)?;
        Ok(Operand::Register(to))
    }

    /// What a field gives to the struct that it is; for all elements of a repeat once.
    pub(super) fn arguments(
        &mut self,
        field: &Field,
        bindings: &Bindings,
    ) -> Result<Vec<Operand>, NotLowered> {
        let arguments = field.arguments.iter();
        arguments
            .map(|argument| self.value(argument, bindings))
            .collect()
    }
}
