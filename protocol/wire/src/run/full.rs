//! The sink that builds the tree and puts problems into words.

use std::ops::Range;
use std::sync::Arc;

use super::machine::Sink;
use super::problem::Problem;
use super::reads::{sign_extended, zigzag};
use super::text::decode_text;
use crate::bits::BitReader;
use crate::check::model::Encoding;
use crate::limits::{DEPTH_MAX, NODES_MAX, PACKET_BYTES_MAX, REPEAT_MAX};
use crate::program::{FieldInfo, Program, Shown};
use crate::tree::{Diagnostic, Name, Tree, TreeId, TreeNode, Value};

/// Builds a tree and its diagnostics.
pub(crate) struct Full<'p> {
    program: &'p Program,
    whole: &'static str,
    pub(crate) tree: Tree,
    pub(crate) diagnostics: Vec<Diagnostic>,
    open: Vec<Open>,
}

/// A node whose end is not reached.
struct Open {
    node: TreeId,
    field: u32,
    /// Of a repeat with a count.
    count: Option<u32>,
    /// The index of the next element.
    next_element: u32,
}

impl<'p> Full<'p> {
    /// `whole` is what the bytes are: `packet` or `message`.
    pub(crate) fn new(program: &'p Program, whole: &'static str) -> Full<'p> {
        // Room for a plain packet, so that its tree does not move while it grows.
        let nodes = Vec::with_capacity(program.packet_weight.min(64) as usize);
        Full {
            program,
            whole,
            tree: Tree { nodes },
            diagnostics: Vec::new(),
            open: Vec::with_capacity(8),
        }
    }

    fn info(&self, field: u32) -> Option<&'p FieldInfo> {
        self.program.fields.get(field as usize)
    }

    fn add(&mut self, field: u32, bits: Range<u32>, value: Value) -> TreeId {
        let id = TreeId(self.tree.nodes.len() as u32);
        let Some(info) = self.info(field) else {
            return id;
        };
        let name = self.next_name(info);
        if info.is_element
            && let Some(open) = self.open.last_mut()
        {
            open.next_element += 1;
        }
        self.tree.nodes.push(TreeNode {
            name,
            type_name: info.type_name.clone(),
            bits,
            value,
            parent: self.open.last().map(|open| open.node),
            descendants: 0,
            annotation: info.annotation.clone(),
        });
        id
    }

    fn next_name(&self, info: &FieldInfo) -> Name {
        match self.open.last() {
            Some(open) if info.is_element => Name::Index(open.next_element),
            _ => Name::Field(info.name.clone()),
        }
    }

    fn close(&mut self, bit: u32) {
        let count = self.tree.nodes.len() as u32;
        let Some(open) = self.open.pop() else { return };
        if let Some(node) = self.tree.nodes.get_mut(open.node.0 as usize) {
            node.bits.end = bit;
            node.descendants = count - open.node.0 - 1;
        }
    }

    /// The path of the field that was to be added next; without a field, of what it stands in.
    fn path(&self, field: Option<u32>) -> String {
        let mut path = String::new();
        for open in self.open.iter().skip(1) {
            if let Some(node) = self.tree.get(open.node) {
                node.name.append_to(&mut path);
            }
        }
        let root = self.tree.nodes.first();
        match (field.and_then(|field| self.info(field)), root) {
            (Some(info), _) => self.next_name(info).append_to(&mut path),
            (None, Some(root)) if path.is_empty() => root.name.append_to(&mut path),
            (None, None) => path.push_str(self.whole),
            _ => {}
        }
        path
    }

    fn words(&self, field: Option<u32>, problem: Problem) -> String {
        let whole = self.whole;
        let text = |index: u32| {
            self.program
                .texts
                .get(index as usize)
                .map_or("", |text| text)
        };
        match problem {
            Problem::PastEnd { needed, left } => {
                let spelled = field
                    .and_then(|field| self.info(field))
                    .map_or("", |i| &i.type_name);
                let needed = count_of(needed, "bit");
                let there = match left {
                    0 => "none is".to_owned(),
                    1 => "1 is".to_owned(),
                    more => format!("{more} are"),
                };
                let limit = self.repeat_around().unwrap_or_default();
                format!("`{spelled}` needs {needed}, {there} left before the {whole}'s end{limit}")
            }
            Problem::VarintTooLong => "the integer needs more than 64 bits".to_owned(),
            Problem::OutOfRange { value, low, high } => {
                format!("the value is {value}, its range {low} to {high}")
            }
            Problem::Constant { expected, found } => {
                format!(
                    "the value is {}, it should be {}",
                    number(found),
                    number(expected)
                )
            }
            Problem::Padding { found } => format!("the padding holds {}", number(found.into())),
            Problem::NotText { encoding } => {
                let encoding = match encoding {
                    Encoding::Utf8 => "UTF-8",
                    Encoding::Ascii => "ASCII",
                    Encoding::Latin1 => "Latin-1",
                };
                format!("the text is not {encoding}")
            }
            Problem::NegativeLength { length } => format!("the length is {length}"),
            Problem::NegativeCount { count } => format!("the number of elements is {count}"),
            Problem::TooManyElements { count } => {
                format!("{count} elements are more than the limit of {REPEAT_MAX}")
            }
            Problem::TooManyNodes => {
                format!("the {whole} has more fields than the limit of {NODES_MAX}")
            }
            Problem::TooDeep => {
                format!("structs stand deeper in each other than the limit of {DEPTH_MAX}")
            }
            Problem::NoArm { text: index, value } => {
                format!("`{}` has no arm for {}", text(index), number(value))
            }
            Problem::Arithmetic { text: index, why } => {
                format!("`{}` has no value: {why}", text(index))
            }
            Problem::EmptyElement => {
                "an element takes no bits, so that the repeat has no end".to_owned()
            }
            Problem::Trailing { bits } => {
                let (bits, verb) = (
                    count_of(bits.into(), "bit"),
                    if bits == 1 { "is" } else { "are" },
                );
                format!("{bits} {verb} left after the last field")
            }
            Problem::PacketTooLong { bytes } => {
                format!("the {whole} has {bytes} bytes, only the first {PACKET_BYTES_MAX} count")
            }
            Problem::NoMessages => "the wire has no `@message` struct".to_owned(),
        }
    }

    /// The nearest repeat with a count, and what it asks for.
    fn repeat_around(&self) -> Option<String> {
        let open = self.open.iter().rev().find(|open| open.count.is_some())?;
        let spelled = &self.info(open.field)?.type_name;
        let count = count_of(open.count?.into(), "element");
        Some(format!("; `{spelled}` asks for {count}"))
    }
}

impl Sink for Full<'_> {
    fn enter(&mut self, field: u32, bit: u32, count: Option<u32>) {
        let node = self.add(field, bit..bit, Value::None);
        self.open.push(Open {
            node,
            field,
            count,
            next_element: 0,
        });
    }

    fn leave(&mut self, bit: u32) {
        self.close(bit);
    }

    fn value(&mut self, field: u32, bits: Range<u32>, raw: u64) {
        let shown = self.info(field).map_or(Shown::Unsigned, |info| info.shown);
        let value = value(raw, shown, self.program);
        self.add(field, bits, value);
    }

    fn content(&mut self, field: u32, bits: Range<u32>, content: Range<u32>, of: &BitReader<'_>) {
        let bytes = of.bytes(content.start, content.end);
        let value = match self.info(field).map(|info| info.shown) {
            Some(Shown::Text(encoding)) => Value::Text(decode_text(&bytes, encoding)),
            _ => Value::Bytes(bytes),
        };
        self.add(field, bits, value);
    }

    fn problem(&mut self, field: Option<u32>, bit: u32, problem: Problem) {
        let message = self.words(field, problem);
        let (path, bit) = match (problem, self.tree.nodes.last()) {
            // A constant is judged when its field is in the tree already.
            (Problem::Constant { .. }, Some(last)) => (
                self.tree.path(TreeId(self.tree.nodes.len() as u32 - 1)),
                last.bits.start,
            ),
            _ => (self.path(field), bit),
        };
        self.diagnostics.push(Diagnostic { path, bit, message });
    }

    fn rest(&mut self, bits: Range<u32>, of: &BitReader<'_>) {
        while !self.open.is_empty() {
            self.close(bits.start);
        }
        if bits.is_empty() {
            return;
        }
        self.tree.nodes.push(TreeNode {
            name: Name::Field(Arc::from("rest")),
            type_name: Arc::from("bytes"),
            value: Value::Bytes(of.bytes(bits.start, bits.end)),
            bits,
            parent: None,
            descendants: 0,
            annotation: None,
        });
    }
}

fn value(raw: u64, shown: Shown, program: &Program) -> Value {
    match shown {
        Shown::Nothing | Shown::Unsigned | Shown::Text(_) | Shown::Bytes => Value::Unsigned(raw),
        Shown::Signed { bits } => Value::Signed(sign_extended(raw, bits)),
        Shown::Bool => Value::Bool(raw != 0),
        Shown::Range { low } => {
            let value = low + i128::from(raw);
            match (u64::try_from(value), i64::try_from(value)) {
                (Ok(value), _) if low >= 0 => Value::Unsigned(value),
                (_, Ok(value)) => Value::Signed(value),
                _ => Value::Unsigned(raw),
            }
        }
        Shown::Zigzag => Value::Signed(zigzag(raw)),
        Shown::Float { bits: 16 } => Value::Float(half(raw as u16)),
        Shown::Float { bits: 32 } => Value::Float(f32::from_bits(raw as u32).into()),
        Shown::Float { .. } => Value::Float(f64::from_bits(raw)),
        Shown::Quantized { low, high, bits } => {
            let steps = (u64::MAX >> (64 - u32::from(bits))) as f64;
            Value::Quantized {
                raw,
                value: low + (high - low) * (raw as f64 / steps),
            }
        }
        Shown::Enum { table, low } => {
            let raw = raw.saturating_add(low);
            let member = program
                .enums
                .get(usize::from(table))
                .and_then(|table| table.member(raw));
            Value::Enum {
                raw,
                name: member.map(|member| member.name.clone()),
            }
        }
    }
}

/// IEEE 754 binary16.
fn half(raw: u16) -> f64 {
    let sign = if raw >> 15 == 1 { -1.0 } else { 1.0 };
    let exponent = i32::from(raw >> 10 & 0x1f);
    let fraction = f64::from(raw & 0x3ff);
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    sign * magnitude
}

/// In decimal, and in hexadecimal where that says more.
fn number(value: i128) -> String {
    if value > 9 {
        format!("{value} ({value:#x})")
    } else {
        value.to_string()
    }
}

fn count_of(count: u64, thing: &str) -> String {
    match count {
        1 => format!("1 {thing}"),
        u64::MAX => format!("too many {thing}s"),
        _ => format!("{count} {thing}s"),
    }
}
