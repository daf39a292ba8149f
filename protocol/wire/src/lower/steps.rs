//! Fields, conditions, switches and repeats to operations.

use std::sync::Arc;

use super::bindings::Binding;
use super::skips;
use super::windows::Confined;
use super::{FieldKey, Lowering, Sinks};
use crate::check::model::{
    Expression, Field, FieldId, Length, Repeat, Shared, Step, StructId, Type,
};
use crate::operation::{Extent, NO_REGISTER, Operand, Operation, Register};
use crate::program::{FieldInfo, Padding, Shown};

/// Registers, and the fields of all arms whose value they get.
type Joint = Vec<(Register, Vec<FieldId>)>;

/// The values of a case of a switch, and what is read there.
type Arm = (Vec<i128>, Vec<Step>);

impl Lowering<'_> {
    /// A struct, and the node that stands for it.
    pub(super) fn whole_struct(
        &mut self,
        id: StructId,
        info: u32,
        window: Option<Confined>,
        arguments: Vec<Operand>,
    ) -> Option<Binding> {
        self.entered(id, info, window, |lowering| {
            lowering.struct_body(id, arguments)
        })
    }

    /// What stands below the node of a struct.
    pub(super) fn entered<R>(
        &mut self,
        id: StructId,
        info: u32,
        window: Option<Confined>,
        inside: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let structure = self.model.structure(id);
        let is_message = structure.is_message && !structure.recursive;
        if is_message {
            self.push(Operation::MessageBegin);
        }
        if self.sinks == Sinks::Full {
            self.push(Operation::Enter { field: info });
        }
        let found = self.in_window(window, inside);
        if self.sinks == Sinks::Full {
            self.push(Operation::Leave);
        }
        if is_message {
            self.push(Operation::MessageEnd);
        }
        found
    }

    /// What is in a struct: written out, or of a recursive one a call.
    pub(super) fn struct_body(&mut self, id: StructId, arguments: Vec<Operand>) -> Option<Binding> {
        let structure = self.model.structure(id);
        if !structure.recursive {
            let arguments = arguments.into_iter().map(Binding::Constant);
            let parameters = structure.parameters.iter().copied();
            let bindings = self.body(id, parameters.zip(arguments).collect());
            return Some(Binding::Struct(bindings));
        }
        let assembler = &mut self.assembler;
        let label = *self.routines.entry(id).or_insert_with(|| assembler.label());
        for (parameter, from) in (0..).zip(arguments) {
            self.push(Operation::Pass {
                parameter,
                from,
                frame: 0,
            });
        }
        self.push(Operation::Call {
            to: label.name(),
            frame: 0,
            weight: self.weights.of_struct(id),
        });
        None
    }

    pub(super) fn steps(&mut self, steps: &[Step]) {
        let mut order_around = None;
        for step in steps {
            // What is too large would go on for long.
            if self.assembler.has_failed() {
                return;
            }
            match step {
                Step::ByteOrder { big } => {
                    self.shared.reorders = true;
                    let big = self.value(big);
                    let before = self.register();
                    order_around.get_or_insert(before);
                    self.push(Operation::ByteOrder { big, before });
                }
                Step::Field(id) => self.field(*id),
                Step::Set(step) => self.set(step),
                Step::Join(step) => self.join(step),
                Step::Follow(step) => self.follow(step),
                Step::Align {
                    bits,
                    pad,
                    text,
                    key,
                } => self.align(*bits, *pad, text, (self.structure, key.clone())),
                Step::Window { window, body } => {
                    let confined = self.confined(window);
                    self.in_window(Some(confined), |lowering| {
                        lowering.arm(body, (0, &Joint::new()));
                    });
                }
                Step::If {
                    condition,
                    then,
                    otherwise,
                    shared,
                } => {
                    let joint = self.joint(shared);
                    let (no, end) = (self.assembler.label(), self.assembler.label());
                    self.unless(condition, no);
                    self.arm(then, (0, &joint));
                    if !otherwise.is_empty() {
                        self.jump(end);
                    }
                    self.assembler.place(no);
                    self.arm(otherwise, (1, &joint));
                    self.assembler.place(end);
                    self.bind(&joint);
                }
                Step::Switch {
                    on,
                    text,
                    arms,
                    default,
                    shared,
                } => {
                    let joint = self.joint(shared);
                    self.switch((on, text), (arms, default, &joint));
                    self.bind(&joint);
                }
            }
        }
        if let Some(around) = order_around {
            let (big, before) = (Operand::Register(around), NO_REGISTER);
            self.push(Operation::ByteOrder { big, before });
        }
    }

    fn switch(
        &mut self,
        (on, text): (&Expression, &Arc<str>),
        (arms, default, joint): (&[Arm], &Option<Vec<Step>>, &Joint),
    ) {
        let on = self.value(on);
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
        let table = self.assembler.switch_table(targets, default);
        self.push(Operation::Switch { on, table, text });
        for (place, (label, body)) in bodies.into_iter().enumerate() {
            self.assembler.place(label);
            self.arm(body, (place, joint));
            self.jump(end);
        }
        self.assembler.place(end);
    }

    /// Registers for what every arm of a branch declares and something reads after it.
    fn joint(&mut self, shared: &Shared) -> Joint {
        let structure = self.model.structure(self.structure);
        let is_read = |all: &&Vec<FieldId>| all.iter().any(|&id| structure.field(id).read);
        let shared = shared.iter().filter(is_read);
        shared.map(|all| (self.register(), all.clone())).collect()
    }

    /// After a branch, the field of the first arm stands for those of all.
    fn bind(&mut self, joint: &Joint) {
        for (register, all) in joint {
            if let Some(&first) = all.first() {
                let binding = Binding::Register(*register);
                self.bindings.fields.insert(first, binding);
            }
        }
    }

    /// Steps that may not happen, which leave in these registers what all arms of a branch declare. The
    /// checker lets nobody read what else they bind after them, so that their registers are used again.
    fn arm(&mut self, steps: &[Step], (place, joint): (usize, &Joint)) {
        let before = self.next_register;
        self.steps(steps);
        for (to, all) in joint {
            let from = match all.get(place) {
                Some(&id) => self.bound(&[id]),
                None => self.unchecked("an arm without a shared field"),
            };
            self.push(Operation::Copy { to: *to, from });
        }
        self.next_register = before;
    }

    pub(super) fn align(
        &mut self,
        bits: u32,
        pad: Option<bool>,
        text: &Arc<str>,
        (structure, key): (StructId, Arc<str>),
    ) {
        let field = self.info(FieldKey::Padding(structure, key.clone()), || FieldInfo {
            name: "padding".into(),
            type_name: text.clone(),
            shown: Shown::Unsigned,
            padding: Some(Padding { pad, key }),
            ..FieldInfo::default()
        });
        self.push(Operation::Align { bits, pad, field });
    }

    fn field(&mut self, id: FieldId) {
        let field = self.declared(id);
        if self.sinks == Sinks::Facts {
            let mut widths = Vec::new();
            if skips::add_field(field, self.model, self.weights, &mut widths) {
                return self.assembler.skip(&widths);
            }
        }
        let info = self.field_info(id, false);
        let window = field.window.as_ref();
        let is_layered = window.is_some_and(|window| window.layer.is_some());
        self.before_field(id, info, is_layered);
        let arguments = match field.reads_index {
            // They are another for each element.
            true => Vec::new(),
            false => self.arguments(field),
        };
        let mut window = window.map(|window| self.confined(window));
        if let Some(window) = &mut window {
            window.catches = !field.needed_later;
            window.keep = self.unpacked_register(id);
        }
        if field.repeat.is_none() && matches!(field.field_type, Type::Struct(_)) {
            if let Some(window) = &mut window {
                self.stands_inside(window, field);
            }
            let found = self.single(field, info, window, &arguments);
            self.bindings.fields.extend(found.map(|found| (id, found)));
            return self.after_field(id);
        }
        if let Some(window) = &mut window {
            window.field = Some(info);
        }
        self.in_window(window, |lowering| match &field.repeat {
            Some(repeat) => lowering.repeat(id, repeat, info, &arguments),
            None => {
                if let Some(binding) = lowering.single(field, info, None, &arguments) {
                    lowering.keep_derived(id, &binding);
                    lowering.bindings.fields.insert(id, binding);
                }
            }
        });
        self.after_field(id);
    }

    fn repeat(&mut self, id: FieldId, repeat: &Repeat, info: u32, arguments: &[Operand]) {
        let field = self.declared(id);
        let element = self.field_info(id, true);
        let before = self.next_register;
        let weight = match self.weights.small_repeat(field, self.model) {
            Some(_) => 0,
            None => self.weights.of_single(field, self.model),
        };
        let (body_label, end_label) = (self.assembler.label(), self.assembler.label());
        let (body, end) = (body_label.name(), end_label.name());
        let count = match repeat {
            Repeat::Count(count) => Some(self.value(count)),
            Repeat::UntilEnd | Repeat::Until(_) => None,
        };
        // How many are left, or where an element begins.
        let kept = self.register();
        self.push(match (repeat, count) {
            (_, Some(count)) => Operation::RepeatBegin {
                count,
                counter: kept,
                weight,
                field: info,
                end,
            },
            (Repeat::Until(_), None) => Operation::UntilBegin {
                start: kept,
                weight,
                field: info,
            },
            (_, None) => Operation::UntilEndBegin {
                start: kept,
                weight,
                field: info,
                end,
            },
        });
        let outer = self.index;
        if field.reads_index {
            self.begin_index();
        }
        self.assembler.place(body_label);
        self.count_element(id);
        let of_element = field.reads_index.then(|| self.arguments(field));
        let arguments = of_element.as_deref().unwrap_or(arguments);
        let found = self.single(field, element, None, arguments);
        let next = match repeat {
            Repeat::Count(_) => Operation::RepeatNext {
                counter: kept,
                weight,
                body,
            },
            Repeat::UntilEnd => Operation::UntilEndNext {
                start: kept,
                weight,
                body,
            },
            Repeat::Until(condition) => {
                // `item` is the field, as long as its last element is looked at.
                self.bindings.fields.extend(found.map(|found| (id, found)));
                let holds = self.value(condition);
                self.bindings.fields.remove(&id);
                Operation::UntilNext {
                    holds,
                    start: kept,
                    weight,
                    body,
                }
            }
        };
        if field.reads_index {
            self.end_index(outer);
        }
        self.push(next);
        self.assembler.place(end_label);
        self.next_register = before;
    }

    /// A field that is not repeated, or one element. `window`: what a struct is confined to.
    pub(super) fn single(
        &mut self,
        field: &Field,
        info: u32,
        window: Option<Confined>,
        arguments: &[Operand],
    ) -> Option<Binding> {
        if let Some(value) = &field.computed {
            return self.compute(field, value, info);
        }
        let fact = field.meaning;
        match &field.field_type {
            Type::Struct(inner) => self.whole_struct(*inner, info, window, arguments.to_vec()),
            Type::Text { length, encoding } => {
                let extent = match length {
                    Length::Expression(length) => Extent::Bytes(self.value(length)),
                    Length::Padded(length) => Extent::Padded(self.value(length)),
                    Length::Prefix(codec) => {
                        let (codec, field) = (*codec, info);
                        let length = self.result(|to| Operation::Prefix { codec, to, field });
                        Extent::Prefixed(length)
                    }
                    Length::Zero => Extent::Zero,
                    Length::Rest => Extent::Rest,
                };
                let encoding = *encoding;
                self.whole_content(field, info, |to| Operation::Text {
                    extent,
                    encoding,
                    fact,
                    to,
                    field: info,
                })
            }
            Type::Bytes(_) | Type::BytesRest | Type::Uuid | Type::Hash(_) => {
                let extent = match &field.field_type {
                    Type::Bytes(length) => Extent::Bytes(self.value(length)),
                    Type::Uuid => Extent::Bytes(self.assembler.operand(16)),
                    Type::Hash(bytes) => Extent::Bytes(self.assembler.operand((*bytes).into())),
                    _ => Extent::Rest,
                };
                self.whole_content(field, info, |to| Operation::Bytes {
                    extent,
                    fact,
                    to,
                    field: info,
                })
            }
            Type::Wide(order) => {
                let order = *order;
                self.push(Operation::Wide { order, field: info });
                None
            }
            Type::Delta { change, base, text } => {
                let base = self.value(base);
                let (change_to, to) = (self.register(), self.register());
                self.read_scalar(change, None, change_to, info);
                let text = self.text(text);
                self.push(Operation::Delta {
                    base,
                    change: change_to,
                    fact,
                    to,
                    text,
                });
                Some(Binding::Register(to))
            }
            _ => self.scalar(field, info),
        }
    }

    /// A text or bytes, and what they are compared with.
    fn whole_content(
        &mut self,
        field: &Field,
        info: u32,
        operation: impl FnOnce(Register) -> Operation,
    ) -> Option<Binding> {
        let is_compared = field.content.is_some() && !field.is_gap;
        let to = self.register_if(field.read || is_compared);
        self.push(operation(to));
        if let Some(content) = &field.content {
            self.shared.contents.insert(info, content.clone());
        }
        if is_compared {
            let (value, field) = (to, info);
            self.push(Operation::ExpectContent { value, field });
        }
        field.read.then_some(Binding::Register(to))
    }

    /// What a field gives to the struct that it is; for all elements of a repeat once.
    pub(super) fn arguments(&mut self, field: &Field) -> Vec<Operand> {
        let arguments = field.arguments.iter();
        arguments.map(|argument| self.value(argument)).collect()
    }
}
