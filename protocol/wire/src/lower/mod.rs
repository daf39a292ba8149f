//! From the model to flat plans. Structs that cannot hold themselves are written out wherever they
//! are used; recursive ones become routines.

mod assembler;
mod bindings;
mod derived;
mod expressions;
mod keeping;
mod scalars;
mod shortcuts;
mod skips;
mod steps;
mod streams;
mod weights;
mod windows;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use self::assembler::NotLowered;
use self::assembler::{Assembler, Label};
use self::bindings::{Binding, Bindings};
use self::weights::Weights;
use crate::check::model::{
    Field, FieldId, LayerKind, Length, Model, Number, Protocol, RangeOf, Struct, StructId, Type,
    Window,
};
use crate::check::properties::is_marked;
use crate::limits::DEPTH_MAX;
use crate::operation::{NO_REGISTER, Operand, Operation, Register};
use crate::program::{Dictionary, EnumMember, EnumTable, FieldInfo, OfNode, Plan, Program, Shown};
use crate::property::OfProperty;
use crate::said_back::SaidBack;

use crate::values::codec::Codec;

/// The program of one of a model's protocols, or why there is none.
pub(crate) fn lower(model: &Model, protocol: &Protocol) -> Result<Program, NotLowered> {
    let weights = Weights::of(model);
    let mut shared = Shared::default();
    let full = plan(model, protocol, &weights, &mut shared, Sinks::Full)?;
    let facts = plan(model, protocol, &weights, &mut shared, Sinks::Facts)?;
    let of_nodes: Vec<OfNode> = shared.fields.iter().map(of_node).collect();
    Ok(Program {
        dictionary: Arc::new(Dictionary {
            order: protocol.order,
            reorders: shared.reorders,
            has_properties: !model.properties.is_empty(),
            has_snapshots: of_nodes.iter().any(|it| it.is_snapshot),
            of_nodes,
            protocol: (model.protocols.len() > 1).then(|| protocol.name.clone()),
            fields: shared.fields,
            enums: enum_tables(model),
            contents: shared.contents,
        }),
        texts: shared.texts,
        state: model.state.clone(),
        layers: model.layers.clone().into(),
        keys: Arc::default(),
        full,
        facts,
        packet_weight: weights.of_struct(protocol.root),
        message_weight: protocol
            .joined
            .map_or(0, |joined| weights.of_struct(joined)),
    })
}

/// A frame has no more registers.
const REGISTERS_MAX: usize = 60_000;

/// Whom a plan is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sinks {
    Full,
    Facts,
}

/// What both plans refer to.
#[derive(Default)]
struct Shared {
    fields: Vec<FieldInfo>,
    known: BTreeMap<FieldKey, u32>,
    texts: Vec<Arc<str>>,
    known_texts: BTreeMap<Arc<str>, u32>,
    /// See [`Dictionary::reorders`].
    reorders: bool,
    /// See [`Dictionary::contents`].
    contents: BTreeMap<u32, Arc<[u8]>>,
}

/// What a [`FieldInfo`] is about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum FieldKey {
    /// The struct that a packet or a joined message is.
    Root(StructId),
    /// A field; of a repeated one, all elements together.
    Field(StructId, FieldId),
    Element(StructId, FieldId),
    /// Bytes ahead that an expression looked at, by its key in JSON.
    Look(StructId, Arc<str>),
    /// What an `align` of a struct skips, by its key in JSON.
    Padding(StructId, Arc<str>),
    /// What is left in a window, by its key in the JSON of a struct.
    Rest(StructId, Arc<str>, bool),
}

struct Lowering<'m> {
    model: &'m Model,
    weights: &'m Weights,
    shared: &'m mut Shared,
    assembler: Assembler,
    sinks: Sinks,
    next_register: usize,
    registers_max: usize,
    /// Which element of the innermost repeat that asks for it is read.
    index: Option<Register>,
    /// Recursive structs that are called, with the label of their routine.
    routines: BTreeMap<StructId, Label>,
    /// The struct that is written out, and where its fields are kept.
    structure: StructId,
    bindings: Bindings,
    /// How many registers the largest frame so far has.
    largest_frame: usize,
}

fn plan(
    model: &Model,
    protocol: &Protocol,
    weights: &Weights,
    shared: &mut Shared,
    sinks: Sinks,
) -> Result<Plan, NotLowered> {
    let mut lowering = Lowering {
        model,
        weights,
        shared,
        assembler: Assembler::default(),
        sinks,
        next_register: 0,
        registers_max: 0,
        index: None,
        routines: BTreeMap::new(),
        structure: protocol.root,
        bindings: Bindings::default(),
        largest_frame: 0,
    };
    let packet = lowering.entry(protocol.root, false);
    let message = protocol.joined.map(|joined| lowering.entry(joined, true));
    let mut done = Vec::new();
    while let Some((&id, &label)) = lowering.routines.iter().find(|(id, _)| !done.contains(*id)) {
        done.push(id);
        lowering.routine(id, label);
    }
    let frames = if done.is_empty() { 1 } else { 1 + DEPTH_MAX };
    let registers = lowering.largest_frame * frames;
    Ok(Plan {
        packet,
        message,
        registers,
        ..lowering.assembler.finish()?
    })
}

impl<'m> Lowering<'m> {
    /// A whole packet or a whole joined message.
    fn entry(&mut self, id: StructId, joined: bool) -> u32 {
        self.frame(|lowering| {
            let structure = lowering.model.structure(id);
            let name = &structure.name;
            let root = lowering.info(FieldKey::Root(id), || FieldInfo {
                name: name.clone(),
                type_name: name.clone(),
                annotation: annotation(structure),
                ..FieldInfo::default()
            });
            lowering.whole_struct(id, root, None, Vec::new());
            if joined {
                let key = (id, "padding_of_join".into());
                lowering.align(8, Some(false), &"align(8)".into(), key);
            }
            lowering.push(Operation::End);
        })
    }

    /// A recursive struct, written out once.
    fn routine(&mut self, id: StructId, label: Label) {
        self.assembler.place(label);
        self.frame(|lowering| {
            // Callers put them there.
            let parameters = lowering.model.structure(id).parameters.iter();
            let bound = parameters.map(|&it| (it, Binding::Register(lowering.register())));
            let fields = bound.collect();
            lowering.body(id, fields);
            lowering.push(Operation::Return);
        });
    }

    /// Operations with registers of their own; where they begin. Tells their calls where the next frame
    /// starts.
    fn frame(&mut self, operations: impl FnOnce(&mut Self)) -> u32 {
        let start = self.assembler.here();
        self.next_register = 0;
        self.registers_max = 0;
        operations(self);
        let size = self.registers_max;
        self.assembler.set_frames(start, size as Register);
        self.largest_frame = self.largest_frame.max(size);
        start
    }

    /// What is in a struct whose parameters are kept there; where all of its fields are.
    fn body(&mut self, id: StructId, fields: BTreeMap<FieldId, Binding>) -> Bindings {
        let bindings = Bindings {
            fields,
            ..Bindings::default()
        };
        let around = std::mem::replace(&mut self.structure, id);
        let around_it = std::mem::replace(&mut self.bindings, bindings);
        self.begin_derived();
        let model = self.model;
        self.steps(&model.structure(id).body);
        self.end_derived();
        self.structure = around;
        std::mem::replace(&mut self.bindings, around_it)
    }

    /// A field of the struct that is written out.
    fn declared(&self, id: FieldId) -> &'m Field {
        self.model.structure(self.structure).field(id)
    }

    fn push(&mut self, operation: Operation) {
        self.assembler.push(operation);
    }

    fn jump(&mut self, to: Label) {
        self.push(Operation::Jump { to: to.name() });
    }

    /// The checker should not have let something through; what stands for its value.
    fn unchecked(&mut self, what: &'static str) -> Operand {
        self.assembler.fail(NotLowered::Unchecked(what));
        Operand::Register(NO_REGISTER)
    }

    fn register(&mut self) -> Register {
        if self.next_register >= REGISTERS_MAX {
            self.assembler.fail(NotLowered::TooLarge);
            return NO_REGISTER;
        }
        self.next_register += 1;
        self.registers_max = self.registers_max.max(self.next_register);
        (self.next_register - 1) as Register
    }

    fn info(&mut self, key: FieldKey, make: impl FnOnce() -> FieldInfo) -> u32 {
        if let Some(&known) = self.shared.known.get(&key) {
            return known;
        }
        let index = self.shared.fields.len() as u32;
        self.shared.fields.push(make());
        self.shared.known.insert(key, index);
        index
    }

    fn text(&mut self, text: &Arc<str>) -> u32 {
        let texts = &mut self.shared.texts;
        *self
            .shared
            .known_texts
            .entry(text.clone())
            .or_insert_with(|| {
                texts.push(text.clone());
                texts.len() as u32 - 1
            })
    }

    /// A field as the tree shows it: all elements together, or one of them.
    fn field_info(&mut self, id: FieldId, of_element: bool) -> u32 {
        let (model, structure) = (self.model, self.structure);
        let field = self.declared(id);
        let key = if of_element {
            FieldKey::Element(structure, id)
        } else {
            FieldKey::Field(structure, id)
        };
        let whole_repeat = field.repeat.is_some() && !of_element;
        self.info(key, || FieldInfo {
            name: field.name.clone(),
            is_element: of_element,
            type_name: if whole_repeat {
                format!("{}{}", field.type_text, field.repeat_text).into()
            } else {
                field.type_text.clone()
            },
            annotation: match field.field_type {
                _ if whole_repeat => None,
                Type::Struct(inner) => annotation(model.structure(inner)),
                _ => field.meaning.map(|meaning| meaning.spelled().into()),
            },
            shown: if whole_repeat {
                Shown::Nothing
            } else {
                shown(&field.field_type, model)
            },
            is_repeat: whole_repeat,
            varint: varint(&field.field_type, model),
            padding: None,
            constant: field
                .constant
                .map(|constant| constant_raw(constant, &field.field_type, model)),
            rest: None,
            packed_key: field
                .window
                .as_ref()
                .and_then(|window| packed_key(window, model)),
            of_property: OfProperty {
                property: field.property.filter(|_| !of_element),
                is_marked: match field.field_type {
                    Type::Struct(inner) => is_marked(model, inner),
                    _ => false,
                },
                is_value: field.is_value,
                is_plain: !whole_repeat && !matches!(field.field_type, Type::Struct(_)),
            },
            said_back: (field.said_back != SaidBack::default())
                .then(|| Box::new(field.said_back.clone())),
            is_per_copy: field.is_per_copy,
        })
    }
}

/// What JSON calls the bytes that a field was unpacked from; a coding leaves them as they are.
fn packed_key(window: &Window, model: &Model) -> Option<Arc<str>> {
    let through = window.layer.as_ref()?;
    let layer = model.layers.get(usize::from(through.layer))?;
    match layer.kind {
        LayerKind::Transform { .. } => Some(through.packed_key.clone()),
        LayerKind::Coding(_) => None,
    }
}

fn shown(field_type: &Type, model: &Model) -> Shown {
    match *field_type {
        Type::Broken | Type::Struct(_) => Shown::Nothing,
        Type::Unsigned(_) | Type::Leb128 => Shown::Unsigned,
        Type::Signed(bits) => Shown::Signed { bits },
        Type::Bool => Shown::Bool,
        Type::Range { low, .. } => Shown::Range { low },
        Type::Zigzag => Shown::Zigzag,
        Type::Float(bits) => Shown::Float { bits },
        Type::Quantized(quantized) => Shown::Quantized(quantized),
        Type::Rotation { bits, axes } => Shown::Rotation { bits, axes },
        Type::Computed => Shown::Signed { bits: 64 },
        Type::Coded { codec, number } => match (number, codec) {
            (Number::Unsigned, _) => Shown::Unsigned,
            // What is read is extended to 64 bits already.
            (Number::Signed, Codec::Sleb128) => Shown::Signed { bits: 64 },
            (Number::Signed, codec) => Shown::Signed { bits: codec.bits() },
            (Number::Float, Codec::QuakeFloat) => Shown::QuakeFloat,
            (Number::Float, codec) => Shown::Float { bits: codec.bits() },
        },
        Type::Flags(id) => Shown::Flags { table: id.0 as u16 },
        Type::Enum(id) => {
            let low = match model.enumeration(id).base {
                Type::Range { low, .. } => u64::try_from(low).unwrap_or(0),
                _ => 0,
            };
            Shown::Enum {
                table: id.0 as u16,
                low,
            }
        }
        Type::Text {
            ref length,
            encoding,
        } => match length {
            Length::Zero => Shown::ZeroText(encoding),
            Length::Padded(_) => Shown::PaddedText(encoding),
            _ => Shown::Text(encoding),
        },
        Type::Bytes(_) | Type::BytesRest => Shown::Bytes,
        Type::Wide(order) => Shown::Wide(order),
        Type::Uuid => Shown::Uuid,
        Type::Hash(_) => Shown::Hash,
        Type::Delta { ref change, .. } => shown(change, model),
    }
}

/// What a constant is on the wire.
fn constant_raw(constant: i128, field_type: &Type, model: &Model) -> u64 {
    match *field_type {
        Type::Range { low, .. } => (constant - low) as u64,
        Type::Signed(bits) => constant as u64 & u64::MAX >> (64 - u32::from(bits)),
        Type::Coded {
            codec,
            number: Number::Signed,
        } => constant as u64 & u64::MAX >> (64 - u32::from(codec.bits())),
        Type::Zigzag => (constant << 1 ^ constant >> 127) as u64,
        Type::Enum(id) | Type::Flags(id) => {
            constant_raw(constant, &model.enumeration(id).base, model)
        }
        _ => constant as u64,
    }
}

fn varint(field_type: &Type, model: &Model) -> Option<Codec> {
    let codec = match field_type {
        Type::Leb128 | Type::Zigzag => Codec::Leb128,
        Type::Coded { codec, .. } => *codec,
        Type::Delta { change, .. } => return varint(change, model),
        Type::Enum(id) | Type::Flags(id) => return varint(&model.enumeration(*id).base, model),
        Type::Text {
            length: Length::Prefix(prefix),
            ..
        } => *prefix,
        _ => return None,
    };
    codec.is_varint().then_some(codec)
}

/// What the values of a struct are, as the wire spells it.
fn annotation(structure: &Struct) -> Option<Arc<str>> {
    match structure.range {
        _ if structure.is_message => Some("message".into()),
        Some(RangeOf::Acks) => Some("ack_range".into()),
        Some(RangeOf::Nacks) => Some("nack_range".into()),
        None => None,
    }
}

fn of_node(field: &FieldInfo) -> OfNode {
    let is = |annotation| field.annotation.as_deref() == Some(annotation);
    OfNode {
        is_element: field.is_element,
        is_message: is("message"),
        is_snapshot: is("snapshot"),
        is_base: is("base"),
        property: field.of_property.property,
    }
}

fn enum_tables(model: &Model) -> Vec<EnumTable> {
    let table = |declared: &crate::check::model::Enum| {
        let first_kind = declared.first_kind;
        let members = declared.members.iter().zip(0u16..);
        let members = members.map(|(member, place)| EnumMember {
            value: member.value,
            name: member.name.clone(),
            kind: first_kind.map(|first| first.saturating_add(place)),
            rules: member.rules,
        });
        let mut members: Vec<EnumMember> = members.collect();
        members.sort_by_key(|member| member.value);
        EnumTable { members }
    };
    model.enums.iter().map(table).collect()
}
