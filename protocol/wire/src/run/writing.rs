//! Bits that go into a packet: values come from JSON, in the order of the wire.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::{Map, Value as Json};

use super::problem::Problem;
use super::tape::{Content, Tape};
use crate::bit_writer::BitWriter;
use crate::check::model::Encoding;
use crate::json::{Leaf, bytes_of, leb128_bits, padding_name, raw_of};
use crate::program::{Dictionary, FieldInfo};
use crate::suggest::did_you_mean;

/// A tape that writes.
pub(crate) struct Writing<'j> {
    dictionary: &'j Dictionary,
    writer: BitWriter,
    root: Option<&'j Json>,
    /// The packet ends in bits that the wire does not explain, so that fields may be missing.
    cut: bool,
    open: Vec<Open<'j>>,
    /// Where the prefix that was written last starts.
    prefix_at: u32,
    /// What the JSON asks for and cannot have, with the path of its field.
    pub(crate) refused: Vec<(String, String)>,
}

/// A struct or a repeat that is being written.
struct Open<'j> {
    name: String,
    inside: Inside<'j>,
}

enum Inside<'j> {
    Struct {
        fields: Option<&'j Map<String, Json>>,
        used: BTreeSet<String>,
        paddings: u32,
    },
    Repeat {
        elements: &'j [Json],
        next: usize,
    },
}

impl<'j> Writing<'j> {
    /// `root` is the struct that the packet is, where the JSON has it; `cut`: the packet goes on
    /// with bits that the wire does not explain.
    pub(crate) fn new(
        dictionary: &'j Dictionary,
        root: Option<&'j Json>,
        cut: bool,
    ) -> Writing<'j> {
        Writing {
            dictionary,
            writer: BitWriter::new(dictionary.order),
            root,
            cut,
            open: Vec::new(),
            prefix_at: 0,
            refused: Vec::new(),
        }
    }

    /// Bits that the wire does not explain, as they were.
    pub(crate) fn write_part(&mut self, bytes: &[u8], bits: u32) {
        self.writer.write_part(bytes, bits);
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.writer.into_bytes()
    }

    fn info(&self, field: u32) -> Option<&'j FieldInfo> {
        self.dictionary.field(field)
    }

    /// The path of a field in what is open; without one, of what is open itself.
    fn path(&self, name: Option<&str>) -> String {
        let mut path = String::new();
        let open = self.open.iter().skip(1).map(|open| open.name.as_str());
        for name in open.chain(name) {
            if !path.is_empty() && !name.starts_with('[') {
                path.push('.');
            }
            path.push_str(name);
        }
        path
    }

    fn refuse(&mut self, name: Option<&str>, why: impl Into<String>) -> Problem {
        let path = self.path(name);
        self.refused.push((path, why.into()));
        Problem::NotWritten
    }

    /// The name that the next field or element has in its path.
    fn name_of(&self, info: &FieldInfo) -> String {
        match self.open.last() {
            Some(Open {
                inside: Inside::Repeat { next, .. },
                ..
            }) if info.is_element => format!("[{next}]"),
            _ => info.name.to_string(),
        }
    }

    /// The JSON of a field or of the next element. `take`: it is used up.
    fn find(&mut self, info: &FieldInfo, take: bool) -> Option<&'j Json> {
        match self.open.last_mut().map(|open| &mut open.inside) {
            None => self.root,
            Some(Inside::Repeat { elements, next }) => {
                let found = elements.get(*next);
                *next += usize::from(take);
                found
            }
            Some(Inside::Struct { fields, used, .. }) => {
                let found = fields.and_then(|fields| fields.get(&*info.name))?;
                used.insert(info.name.to_string());
                Some(found)
            }
        }
    }

    fn leaf(&mut self, field: u32, take: bool) -> Result<(Option<Leaf<'j>>, String), Problem> {
        let Some(info) = self.info(field) else {
            return Err(Problem::NotWritten);
        };
        let name = self.name_of(info);
        match self.find(info, take).map(Leaf::of) {
            None => Ok((None, name)),
            Some(Ok(leaf)) => Ok((Some(leaf), name)),
            Some(Err(why)) => Err(self.refuse(Some(&name), why)),
        }
    }

    fn missing(&mut self, name: &str) -> Problem {
        if self.cut {
            return Problem::NotWritten;
        }
        self.refuse(Some(name), "the field is missing")
    }

    /// What the field has on the wire, and how many bits it takes where the JSON says so.
    fn raw(&mut self, field: u32) -> Result<(u64, Option<u32>), Problem> {
        let (leaf, name) = self.leaf(field, true)?;
        let info = self.info(field);
        match (leaf, info) {
            (Some(leaf), Some(info)) => match raw_of(leaf, info.shown, self.dictionary) {
                Ok(raw) => Ok((raw, leaf.bits)),
                Err(why) => Err(self.refuse(Some(&name), why)),
            },
            (None, Some(info)) if info.constant.is_some() && !self.cut => {
                Ok((info.constant.unwrap_or(0), None))
            }
            _ => Err(self.missing(&name)),
        }
    }

    fn content_bytes(&mut self, field: u32, take: bool) -> Result<(Vec<u8>, Leaf<'j>), Problem> {
        let (leaf, name) = self.leaf(field, take)?;
        let (Some(leaf), Some(info)) = (leaf, self.info(field)) else {
            return Err(self.missing(&name));
        };
        match bytes_of(leaf, info.shown) {
            Ok(bytes) => Ok((bytes, leaf)),
            Err(why) => Err(self.refuse(Some(&name), why)),
        }
    }

    fn write_fixed(&mut self, raw: u64, bits: u32, name: Option<&str>) -> Result<(), Problem> {
        if bits < 64 && raw >> bits != 0 {
            let why = format!("{raw} does not fit {bits} bits");
            return Err(self.refuse(name, why));
        }
        self.writer.write(raw, bits);
        Ok(())
    }

    /// In so many bits, or in the fewest.
    fn write_leb128(&mut self, raw: u64, bits: Option<u32>, name: &str) -> Result<(), Problem> {
        let fewest = leb128_bits(raw);
        let bits = bits.unwrap_or(fewest);
        if bits < fewest || bits > 80 || !bits.is_multiple_of(8) {
            let why = format!("a LEB128 of {raw} takes {fewest} to 80 bits, not {bits}");
            return Err(self.refuse(Some(name), why));
        }
        for place in 0..bits / 8 {
            let more = u64::from(8 * (place + 1) < bits) << 7;
            let group = raw.checked_shr(7 * place).unwrap_or(0) & 0x7f;
            self.writer.write(group | more, 8);
        }
        Ok(())
    }
}

impl Tape for Writing<'_> {
    fn at(&self) -> u32 {
        self.writer.at()
    }

    fn left(&self) -> u32 {
        u32::MAX
    }

    fn fixed(&mut self, bits: u32, field: u32) -> Result<u64, Problem> {
        let name = self.info(field).map(|info| self.name_of(info));
        let (raw, _) = self.raw(field)?;
        self.write_fixed(raw, bits, name.as_deref())?;
        Ok(raw)
    }

    fn leb128(&mut self, field: u32) -> Result<u64, Problem> {
        let name = self.info(field).map(|info| self.name_of(info));
        let (raw, bits) = self.raw(field)?;
        self.write_leb128(raw, bits, &name.unwrap_or_default())?;
        Ok(raw)
    }

    fn prefix(&mut self, bits: Option<u32>, field: u32) -> Result<u64, Problem> {
        self.prefix_at = self.writer.at();
        let (bytes, leaf) = self.content_bytes(field, false)?;
        let name = self.info(field).map(|info| self.name_of(info));
        let length = bytes.len() as u64;
        match bits {
            Some(bits) => self.write_fixed(length, bits, name.as_deref())?,
            None => self.write_leb128(length, leaf.prefix_bits, &name.unwrap_or_default())?,
        }
        Ok(length)
    }

    fn content(&mut self, length: i128, prefixed: bool, field: u32) -> Result<Content, Problem> {
        let name = self.info(field).map(|info| self.name_of(info));
        let (bytes, _) = self.content_bytes(field, true)?;
        if length != bytes.len() as i128 {
            let why = format!("it has {} bytes, its length is {length}", bytes.len());
            return Err(self.refuse(name.as_deref(), why));
        }
        let from = self.writer.at();
        self.writer.write_bytes(&bytes);
        let start = if prefixed { self.prefix_at } else { from };
        Ok(Content {
            whole: start..self.writer.at(),
            content: from..self.writer.at(),
        })
    }

    fn padding(&mut self, bits: u32, expected: Option<u64>, _: u32) -> Result<u64, Problem> {
        let mut raw = expected.unwrap_or(0);
        if let Some(Open {
            inside:
                Inside::Struct {
                    fields,
                    used,
                    paddings,
                },
            ..
        }) = self.open.last_mut()
        {
            let name = padding_name(*paddings);
            *paddings += 1;
            if let Some(json) = fields.and_then(|fields| fields.get(&name)) {
                used.insert(name.clone());
                match json.as_u64() {
                    Some(given) => raw = given,
                    None => {
                        return Err(self.refuse(Some(&name), format!("{json} is not a number")));
                    }
                }
            } else if self.cut {
                return Err(Problem::NotWritten);
            }
        }
        self.write_fixed(raw, bits, Some("padding"))?;
        Ok(raw)
    }

    fn skip(&mut self, _: u32) -> bool {
        false
    }

    fn count(&mut self, asked: u32, field: u32) -> Result<u32, Problem> {
        let Some(info) = self.info(field) else {
            return Ok(asked);
        };
        let there = match self.find(info, false) {
            Some(Json::Array(elements)) => elements.len(),
            Some(other) => {
                let why = format!("{other} is not a list of elements");
                return Err(self.refuse(Some(&info.name), why));
            }
            None => 0,
        };
        if there == asked as usize || (self.cut && there < asked as usize) {
            return Ok(asked);
        }
        let why = format!("it has {there} elements, and its count is {asked}");
        Err(self.refuse(Some(&info.name), why))
    }

    fn more(&mut self) -> bool {
        match self.open.last().map(|open| &open.inside) {
            Some(Inside::Repeat { elements, next }) => *next < elements.len(),
            _ => false,
        }
    }

    fn enter(&mut self, field: u32) {
        let Some(info) = self.info(field) else {
            return;
        };
        let name = self.name_of(info);
        let found = self.find(info, true);
        let inside = match found {
            Some(Json::Array(elements)) if info.is_repeat => Inside::Repeat { elements, next: 0 },
            None if info.is_repeat => Inside::Repeat {
                elements: &[],
                next: 0,
            },
            Some(Json::Object(fields)) if !info.is_repeat => Inside::Struct {
                fields: Some(fields),
                used: BTreeSet::new(),
                paddings: 0,
            },
            other => {
                if let Some(other) = other {
                    let wanted = if info.is_repeat { "[...]" } else { "{...}" };
                    self.refuse(Some(&name), format!("expected {wanted}, found {other}"));
                }
                Inside::Struct {
                    fields: None,
                    used: BTreeSet::new(),
                    paddings: 0,
                }
            }
        };
        self.open.push(Open { name, inside });
    }

    fn leave(&mut self) {
        if let Some(Open {
            inside:
                Inside::Struct {
                    fields: Some(fields),
                    used,
                    ..
                },
            ..
        }) = self.open.last()
            && let Some(unknown) = fields.keys().find(|key| !used.contains(*key))
        {
            let known = used.iter().map(String::as_str);
            let hint = did_you_mean(unknown, known).map(|hint| format!("; {hint}"));
            let why = format!("there is no such field here{}", hint.unwrap_or_default());
            let unknown = unknown.clone();
            self.refuse(Some(&unknown), why);
        }
        self.open.pop();
    }

    fn is_text(&self, _: Range<u32>, _: Encoding) -> bool {
        true
    }
}
