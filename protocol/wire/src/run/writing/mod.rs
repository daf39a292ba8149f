//! Bits that go into a packet: values come from JSON, in the order of the wire.

pub(super) mod asked;
mod derived;
mod tape;

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::{Map, Value as Json};

use self::asked::{Asked, Derived};
use super::problem::Problem;
use super::tape::Tape;
use crate::bit_writer::BitWriter;
use crate::json::{Leaf, bytes_of, bytes_of_rest, raw_of};
use crate::layers::{Argument, Transform};
use crate::program::{Dictionary, FieldInfo, Shown};
use crate::values::codec::Codec;

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
    /// What derived fields are, by their numbers, as far as an earlier run worked it out.
    settled: &'j [i128],
    /// The derived fields of this run.
    pub derived: Vec<Derived>,
    /// The derived field that is written next.
    next_derived: Option<usize>,
    /// The windows and layers that are being filled.
    windows: Vec<Window>,
    /// What was asked of what comes, in windows that are open.
    looks: Vec<Asked>,
    /// The same in windows that are closed, each with the layers around it.
    closed_looks: Vec<(usize, Asked)>,
    /// The condition that is worked out asks for what is not known.
    is_guessed: bool,
    /// What the JSON asks for and cannot have, with the path of its field. A run goes on where it
    /// can: another run, which knows what derived fields are, may have no trouble.
    pub refused: Vec<(String, String)>,
}

/// A struct or a repeat that is being written.
struct Open<'j> {
    name: String,
    inside: Inside<'j>,
}

/// A window that is being filled.
#[derive(Default)]
struct Window {
    from: u32,
    /// It stands elsewhere, and this is where the tape comes back to.
    outside: Option<BitWriter>,
    /// `None`: as many as there are.
    bytes: Option<i128>,
    /// What the wire does not explain of it.
    rest: Option<(Vec<u8>, u32)>,
    catches: bool,
    /// How many structs and repeats are open around it.
    depth: usize,
    layer: Option<Box<Outside>>,
}

/// What is around a layer that is being filled.
struct Outside {
    writer: BitWriter,
    /// `None`: the bytes inside are those outside.
    transform: Option<Transform>,
    arguments: Vec<Argument>,
    /// The bytes that the JSON says the content was unpacked from.
    packed: Option<Vec<u8>>,
}

enum Inside<'j> {
    Struct {
        fields: Option<&'j Map<String, Json>>,
        used: BTreeSet<String>,
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
        settled: &'j [i128],
    ) -> Writing<'j> {
        Writing {
            dictionary,
            writer: BitWriter::new(dictionary.order),
            root,
            cut,
            open: Vec::new(),
            prefix_at: 0,
            settled,
            derived: Vec::new(),
            next_derived: None,
            windows: Vec::new(),
            looks: Vec::new(),
            closed_looks: Vec::new(),
            is_guessed: false,
            refused: Vec::new(),
        }
    }

    /// A window that is about what is open.
    fn window_here(&self) -> Window {
        Window {
            depth: self.open.len(),
            ..Window::default()
        }
    }

    /// What a window that stands elsewhere holds goes there.
    fn come_back(&mut self, window: &mut Window) {
        if let Some(outside) = window.outside.take() {
            let elsewhere = std::mem::replace(&mut self.writer, outside);
            self.writer.put_elsewhere(elsewhere);
        }
    }

    /// Bits that the wire does not explain, as they were.
    pub(crate) fn write_part(&mut self, bytes: &[u8], bits: u32) {
        self.writer.write_part(bytes, bits);
    }

    /// Whether fields may be missing at the end of what is being written.
    fn is_cut(&self) -> bool {
        let is_cut = |window: &Window| window.catches && window.rest.is_some();
        self.cut || self.windows.iter().any(is_cut)
    }

    /// What the JSON says beside the field that a window is about; it is used up.
    fn beside(&mut self, key: &str, is_inside: bool) -> Option<&'j Json> {
        let place = self.open.len().checked_sub(1 + usize::from(is_inside))?;
        let Inside::Struct { fields, used } = &mut self.open.get_mut(place)?.inside else {
            return None;
        };
        let found = fields.and_then(|fields| fields.get(key))?;
        used.insert(key.to_owned());
        Some(found)
    }

    /// What the JSON says is left in a window.
    fn rest_beside(&mut self, rest: u32) -> Result<Option<(Vec<u8>, u32)>, String> {
        let Some(rest) = self.info(rest).and_then(|info| info.rest.as_ref()) else {
            return Ok(None);
        };
        let json = self.beside(&rest.key, rest.is_inside);
        json.map(bytes_of_rest).transpose()
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
            Some(Inside::Struct { fields, used }) => {
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

    /// A packet that is cut ends here; another one goes on, with nothing in this field.
    fn missing(&mut self, name: &str) -> Result<(), Problem> {
        if self.is_cut() {
            return Err(Problem::NotWritten);
        }
        self.refuse(Some(name), "the field is missing");
        Ok(())
    }

    /// What the field has on the wire, and how many bits it takes where the JSON says so; its name.
    fn raw(&mut self, field: u32) -> Result<(u64, Option<u32>, String), Problem> {
        let (leaf, name) = self.leaf(field, true)?;
        let info = self.info(field);
        let raw = match (self.next_derived.take(), leaf, info) {
            (Some(_), None, Some(_)) if self.is_cut() => return Err(Problem::NotWritten),
            (Some(number), leaf, Some(info)) => self.derived_raw(number, info, leaf),
            (_, Some(leaf), Some(info)) => {
                let raw = raw_of(leaf, info.shown, self.dictionary);
                raw.map(|raw| (raw, leaf.bits))
            }
            (_, None, Some(info)) if info.constant.is_some() && !self.is_cut() => {
                Ok((info.constant.unwrap_or(0), None))
            }
            _ => self.missing(&name).map(|()| Ok((0, None)))?,
        };
        match raw {
            Ok((raw, bits)) => Ok((raw, bits, name)),
            Err(why) => Err(self.refuse(Some(&name), why)),
        }
    }

    /// The bytes of a text, or bytes, with what the JSON says of the field; its name.
    fn content_bytes(
        &mut self,
        field: u32,
        take: bool,
    ) -> Result<(Vec<u8>, Leaf<'j>, String), Problem> {
        let (leaf, name) = self.leaf(field, take)?;
        if let (None, Some(content)) = (leaf, self.dictionary.contents.get(&field))
            && !self.is_cut()
        {
            return Ok((content.to_vec(), Leaf::default(), name));
        }
        let (Some(leaf), Some(info)) = (leaf, self.info(field)) else {
            self.missing(&name)?;
            return Ok((Vec::new(), Leaf::default(), name));
        };
        let shown = match info.shown {
            Shown::Wide(None) => Shown::Wide(Some(self.order_of_wide())),
            shown => shown,
        };
        match bytes_of(leaf, shown) {
            Ok(bytes) => Ok((bytes, leaf, name)),
            Err(why) => Err(self.refuse(Some(&name), why)),
        }
    }

    fn check_fits(&mut self, raw: u64, bits: u32, name: &str) -> Result<(), Problem> {
        if bits < 64 && raw >> bits != 0 {
            let why = format!("{raw} does not fit {bits} bits");
            return Err(self.refuse(Some(name), why));
        }
        Ok(())
    }

    /// Puts down bytes; where they are then.
    fn put(&mut self, bytes: &[u8]) -> Range<u32> {
        let from = self.writer.at();
        self.writer.write_bytes(bytes);
        from..self.writer.at()
    }

    /// In this many bits, or in the fewest.
    fn write_coded(
        &mut self,
        codec: Codec,
        raw: u64,
        bits: Option<u32>,
        name: &str,
    ) -> Result<(), Problem> {
        let writer = &mut self.writer;
        let order = writer.order();
        let written = codec.write(raw, bits, order, |value, bits| writer.write(value, bits));
        written.map_err(|why| self.refuse(Some(name), why))
    }
}
