//! Bits that go into a packet: values come from JSON, in the order of the wire.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::{Map, Value as Json};

use super::problem::{Limit, Problem};
use super::tape::{Content, Opened, Tape, Through};
use crate::bit_writer::BitWriter;
use crate::bits::BitReader;
use crate::check::model::{Encoding, Look};
use crate::json::{Leaf, bytes_of, bytes_of_rest, integer_of, raw_of, raw_of_integer};
use crate::layers::{Argument, Failure, Transform};
use crate::limits::{PACKET_BYTES_MAX, REPEAT_MAX};
use crate::program::{Dictionary, FieldInfo, Shown};
use crate::suggest::did_you_mean;
use crate::values::codec::Codec;
use crate::values::text::{before_zero, unit_bytes};

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
    pub(crate) derived: Vec<Derived>,
    /// The derived field that is written next.
    next_derived: Option<usize>,
    /// The windows and layers that are being filled.
    windows: Vec<Window>,
    /// What was asked of what comes, in windows that are open.
    looks: Vec<Asked>,
    /// The condition that is worked out asks for what is not known.
    is_guessed: bool,
    /// What the JSON asks for and cannot have, with the path of its field. A run goes on where it
    /// can: another run, which knows what derived fields are, may have no trouble.
    pub(crate) refused: Vec<(String, String)>,
}

/// A derived field as a run wrote it.
#[derive(Clone, Debug)]
pub(crate) struct Derived {
    pub(crate) path: String,
    /// What the JSON says it is.
    pub(crate) given: Option<i128>,
    pub(crate) written: i128,
    /// What it should have been.
    pub(crate) worked_out: Option<i128>,
    /// It stays what the JSON says.
    keeps: bool,
}

impl Derived {
    pub(crate) fn is_settled(&self) -> bool {
        self.keeps
            || self
                .worked_out
                .is_none_or(|worked_out| worked_out == self.written)
    }
}

/// A struct or a repeat that is being written.
struct Open<'j> {
    name: String,
    inside: Inside<'j>,
}

/// A window that is being filled.
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
            is_guessed: false,
            refused: Vec::new(),
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

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.writer.into_bytes()
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

    /// What a derived field has on the wire.
    fn derived_raw(
        &mut self,
        number: usize,
        info: &FieldInfo,
        leaf: Option<Leaf<'j>>,
    ) -> Result<(u64, Option<u32>), String> {
        let given = leaf.map(|leaf| raw_of(leaf, info.shown, self.dictionary));
        let keeps = leaf.is_some_and(|leaf| leaf.keeps);
        let raw = match (self.settled.get(number), given.clone()) {
            (Some(&settled), _) if !keeps => raw_of_integer(settled, info.shown),
            (_, Some(given)) => given,
            (_, None) => Ok(0),
        }?;
        if let Some(derived) = self.derived.get_mut(number) {
            let given = given.clone().and_then(Result::ok);
            derived.given = given.and_then(|raw| integer_of(raw, info.shown));
            derived.written = integer_of(raw, info.shown).unwrap_or(0);
            derived.keeps = keeps;
        }
        // A width that somebody chose goes with the value that they chose.
        let bits = leaf.and_then(|leaf| leaf.bits);
        let same = given.is_some_and(|given| given == Ok(raw));
        Ok((raw, bits.filter(|_| same)))
    }

    /// What the field has on the wire, and how many bits it takes where the JSON says so.
    fn raw(&mut self, field: u32) -> Result<(u64, Option<u32>), Problem> {
        let (leaf, name) = self.leaf(field, true)?;
        let info = self.info(field);
        if let (Some(number), Some(info)) = (self.next_derived.take(), info) {
            if leaf.is_none() && self.is_cut() {
                return Err(Problem::NotWritten);
            }
            let raw = self.derived_raw(number, info, leaf);
            return raw.map_err(|why| self.refuse(Some(&name), why));
        }
        match (leaf, info) {
            (Some(leaf), Some(info)) => match raw_of(leaf, info.shown, self.dictionary) {
                Ok(raw) => Ok((raw, leaf.bits)),
                Err(why) => Err(self.refuse(Some(&name), why)),
            },
            (None, Some(info)) if info.constant.is_some() && !self.is_cut() => {
                Ok((info.constant.unwrap_or(0), None))
            }
            _ => self.missing(&name).map(|()| (0, None)),
        }
    }

    fn content_bytes(&mut self, field: u32, take: bool) -> Result<(Vec<u8>, Leaf<'j>), Problem> {
        let (leaf, name) = self.leaf(field, take)?;
        if let (None, Some(content)) = (leaf, self.dictionary.contents.get(&field))
            && !self.is_cut()
        {
            return Ok((content.to_vec(), Leaf::default()));
        }
        let (Some(leaf), Some(info)) = (leaf, self.info(field)) else {
            self.missing(&name)?;
            return Ok((Vec::new(), Leaf::default()));
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

    /// Works out what was asked of what came, as far as the window that is about to end says it.
    fn settle_looks(&mut self, end: u32, depth: usize) {
        for look in self.looks.iter().filter(|look| look.depth == depth) {
            let worked_out = match look.look {
                Look::Left => Some(i128::from(end.saturating_sub(look.at))),
                Look::Integer(codec) => {
                    let mut reader = self.writer.reader();
                    let ahead = u32::try_from(look.ahead).ok();
                    let there =
                        ahead.is_some_and(|ahead| reader.skip(look.at) && reader.skip_read(ahead));
                    let raw = codec.read(reader.order(), |bits| reader.read(bits));
                    raw.ok().filter(|_| there).map(i128::from)
                }
            };
            if let Some(derived) = self.derived.get_mut(look.number) {
                derived.worked_out = worked_out;
            }
        }
        self.looks.retain(|look| look.depth != depth);
    }

    /// The same, at the end of the packet.
    pub(crate) fn settle_last_looks(&mut self) {
        let end = 8 * self.writer.bytes().len() as u32;
        self.settle_looks(end, 0);
    }
}

/// Something that was asked of what comes.
struct Asked {
    /// Among the derived fields.
    number: usize,
    look: Look,
    at: u32,
    ahead: i128,
    /// How many windows were open.
    depth: usize,
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
        self.coded(Codec::Leb128, field)
    }

    fn coded(&mut self, codec: Codec, field: u32) -> Result<u64, Problem> {
        let name = self.info(field).map(|info| self.name_of(info));
        let (raw, bits) = self.raw(field)?;
        self.write_coded(codec, raw, bits, &name.unwrap_or_default())?;
        Ok(raw)
    }

    fn prefix(&mut self, codec: Codec, field: u32) -> Result<u64, Problem> {
        self.prefix_at = self.writer.at();
        let (bytes, leaf) = self.content_bytes(field, false)?;
        let name = self.info(field).map(|info| self.name_of(info));
        let length = bytes.len() as u64;
        self.write_coded(codec, length, leaf.prefix_bits, &name.unwrap_or_default())?;
        Ok(length)
    }

    fn content_to_zero(&mut self, encoding: Encoding, field: u32) -> Result<Content, Problem> {
        let name = self.info(field).map(|info| self.name_of(info));
        let (bytes, _) = self.content_bytes(field, true)?;
        if before_zero(&bytes, encoding).len() != bytes.len() {
            self.refuse(name.as_deref(), "a text that ends with a zero holds none");
        }
        let from = self.writer.at();
        self.writer.write_bytes(&bytes);
        let to = self.writer.at();
        let zero = [0, 0];
        let unit = unit_bytes(encoding) as usize;
        self.writer.write_bytes(zero.get(..unit).unwrap_or(&zero));
        Ok(Content {
            whole: from..self.writer.at(),
            content: from..to,
        })
    }

    fn content_rest(&mut self, field: u32) -> Result<Content, Problem> {
        let (bytes, _) = self.content_bytes(field, true)?;
        let from = self.writer.at();
        self.writer.write_bytes(&bytes);
        Ok(Content {
            whole: from..self.writer.at(),
            content: from..self.writer.at(),
        })
    }

    fn text_end(&self, content: Range<u32>, _: Encoding) -> u32 {
        content.end
    }

    fn look(&mut self, look: Look, ahead: i128, field: u32) -> Result<Option<i128>, Problem> {
        // Where an element was just written, JSON says whether there is another one.
        let Some(info) = self.info(field) else {
            self.is_guessed = true;
            return Ok(Some(0));
        };
        let number = self.derived.len();
        let given = match self.open.last_mut().map(|open| &mut open.inside) {
            Some(Inside::Struct { fields, used }) => {
                used.insert(info.name.to_string());
                let json = fields.and_then(|fields| fields.get(&*info.name));
                json.and_then(unsigned).map(i128::from)
            }
            _ => None,
        };
        if given.is_none() && self.is_cut() {
            return Err(Problem::NotWritten);
        }
        let guess = match look {
            Look::Left => i128::from(u32::MAX),
            Look::Integer(_) => 0,
        };
        let value = self.settled.get(number).copied().or(given).unwrap_or(guess);
        self.derived.push(Derived {
            path: self.path(Some(&info.name)),
            given: None,
            written: value,
            worked_out: None,
            keeps: false,
        });
        self.looks.push(Asked {
            number,
            look,
            at: self.writer.at(),
            ahead,
            depth: self.windows.len(),
        });
        Ok(Some(value))
    }

    fn computed(&mut self, field: u32) {
        if let Some(info) = self.info(field)
            && let Some(Open {
                inside: Inside::Struct { used, .. },
                ..
            }) = self.open.last_mut()
        {
            used.insert(info.name.to_string());
        }
    }

    fn is_done(&mut self, holds: bool) -> bool {
        let more = self.more();
        let is_guessed = std::mem::take(&mut self.is_guessed);
        let may_be_cut = self.is_cut() && !more;
        if holds == more && !is_guessed && !may_be_cut {
            let why = match holds {
                true => "it has more elements than its `until` lets it have",
                false => "its `until` does not hold after its last element",
            };
            self.refuse(None, why);
        }
        !more && (is_guessed || holds || !self.is_cut())
    }

    fn content(&mut self, length: i128, prefixed: bool, field: u32) -> Result<Content, Problem> {
        let name = self.info(field).map(|info| self.name_of(info));
        let (mut bytes, _) = self.content_bytes(field, true)?;
        let shown = self.info(field).map(|info| info.shown);
        if let (Some(Shown::PaddedText(_)), Ok(wanted)) = (shown, usize::try_from(length))
            && (bytes.len()..=PACKET_BYTES_MAX).contains(&wanted)
        {
            bytes.resize(wanted, 0);
        }
        if length != bytes.len() as i128 {
            let why = format!("it has {} bytes, its length is {length}", bytes.len());
            self.refuse(name.as_deref(), why);
        }
        let from = self.writer.at();
        self.writer.write_bytes(&bytes);
        let start = if prefixed { self.prefix_at } else { from };
        Ok(Content {
            whole: start..self.writer.at(),
            content: from..self.writer.at(),
        })
    }

    fn padding(&mut self, bits: u32, expected: Option<u64>, field: u32) -> Result<u64, Problem> {
        let mut raw = expected.unwrap_or(0);
        let padding = self.info(field).and_then(|info| info.padding.as_ref());
        if let Some(padding) = padding
            && let Some(Open {
                inside: Inside::Struct { fields, used },
                ..
            }) = self.open.last_mut()
        {
            let name = padding.key.to_string();
            if let Some(json) = fields.and_then(|fields| fields.get(&name)) {
                used.insert(name.clone());
                match json.as_u64() {
                    Some(given) => raw = given,
                    None => {
                        return Err(self.refuse(Some(&name), format!("{json} is not a number")));
                    }
                }
            } else if self.is_cut() {
                return Err(Problem::NotWritten);
            }
        }
        if bits < 64 && raw >> bits != 0 {
            let why = format!("{raw} does not fit {bits} bits");
            return Err(self.refuse(Some("padding"), why));
        }
        self.writer.write_plain(raw, bits);
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
        if there == asked as usize || (self.is_cut() && there < asked as usize) {
            return Ok(asked);
        }
        let why = format!("it has {there} elements, and its count is {asked}");
        self.refuse(Some(&info.name), why);
        Ok(u32::try_from(there).unwrap_or(u32::MAX).min(REPEAT_MAX))
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
            },
            other => {
                if let Some(other) = other {
                    let wanted = if info.is_repeat { "[...]" } else { "{...}" };
                    self.refuse(Some(&name), format!("expected {wanted}, found {other}"));
                }
                Inside::Struct {
                    fields: None,
                    used: BTreeSet::new(),
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

    fn foresee(&mut self, field: u32) -> bool {
        let there = match self.open.last().map(|open| &open.inside) {
            Some(Inside::Struct { fields, .. }) => *fields,
            _ => None,
        };
        let info = self.info(field);
        there
            .zip(info)
            .is_some_and(|(there, info)| there.contains_key(&*info.name))
    }

    fn meet(&mut self, foreseen: bool) -> bool {
        foreseen
    }

    fn derive(&mut self, field: u32) -> u32 {
        let name = self.info(field).map(|info| self.name_of(info));
        let number = self.derived.len();
        self.derived.push(Derived {
            path: self.path(name.as_deref()),
            given: None,
            written: 0,
            worked_out: None,
            keeps: false,
        });
        self.next_derived = Some(number);
        number as u32
    }

    fn is_derived(&mut self, number: u32, _: i128, derived: i128) -> bool {
        if let Some(known) = self.derived.get_mut(number as usize) {
            known.worked_out = Some(derived);
        }
        true
    }

    fn with_bytes(&self, bits: Range<u32>, show: impl FnOnce(&[u8])) {
        let reader = self.writer.reader();
        show(&reader.bytes(bits.start, bits.end));
    }

    /// What was joined came in packets of its own.
    fn opens(&mut self, field: u32) -> bool {
        if let Some(info) = self.info(field) {
            self.find(info, true);
        }
        false
    }

    fn copy(&self, bits: Range<u32>, to: &mut Vec<u8>) {
        self.writer.copy(bits, to);
    }

    fn window(
        &mut self,
        bytes: Option<i128>,
        text: u32,
        rest: u32,
        catches: bool,
    ) -> Result<Opened, Problem> {
        let is_inside = self
            .info(rest)
            .and_then(|info| info.rest.as_ref())
            .is_some_and(|rest| rest.is_inside);
        let is_missing = matches!(
            self.open.last().map(|open| &open.inside),
            Some(Inside::Struct { fields: None, .. })
        );
        if is_inside && is_missing && self.is_cut() {
            return Err(Problem::NotWritten);
        }
        if let Some(bytes) = bytes.filter(|&bytes| bytes < 0 && self.is_cut()) {
            return Err(Problem::NegativeSize { text, bytes });
        }
        let found = match self.rest_beside(rest) {
            Ok(found) => found,
            Err(why) => {
                let key = self.info(rest).and_then(|info| info.rest.as_ref());
                return Err(self.refuse(key.map(|rest| &*rest.key), why));
            }
        };
        self.windows.push(Window {
            from: self.writer.at(),
            outside: None,
            bytes,
            rest: found,
            catches,
            depth: self.open.len(),
            layer: None,
        });
        Ok(Opened::Whole)
    }

    fn layer(&mut self, through: &Through<'_>) -> Result<(), Failure> {
        let packed = match self.beside(through.packed_key, true).map(Leaf::of) {
            Some(Ok(leaf)) => Some(bytes_of(leaf, Shown::Bytes).map_err(Failure::Broken)?),
            _ => None,
        };
        // What could not be unpacked is the rest of the window.
        if packed.is_none() && through.coding().is_none() && self.is_cut() {
            return Err(Failure::because("it was not unpacked"));
        }
        let rest = match self.rest_beside(through.rest) {
            Ok(rest) => rest,
            Err(why) => return Err(Failure::Broken(why)),
        };
        let order = through.order(self.writer.order());
        let inner = BitWriter::new(order).coded(through.coding());
        let transform = through.transform(self.writer.order());
        let writer = std::mem::replace(&mut self.writer, inner);
        self.windows.push(Window {
            from: 0,
            outside: None,
            bytes: None,
            rest,
            catches: through.catches,
            depth: self.open.len(),
            layer: Some(Box::new(Outside {
                writer,
                transform,
                arguments: through.arguments.clone(),
                packed,
            })),
        });
        Ok(())
    }

    fn end_layer(&mut self) -> Result<(), Failure> {
        self.settle_looks(self.writer.at(), self.windows.len());
        let Some(Window {
            layer: Some(outside),
            ..
        }) = self.windows.pop()
        else {
            return Ok(());
        };
        let inner = std::mem::replace(&mut self.writer, outside.writer);
        if let Some(byte) = inner.uncoded {
            return Err(Failure::because(format!("there is no code for {byte}")));
        }
        let inner = inner.into_bytes();
        let Some(transform) = &outside.transform else {
            self.writer.write_part(&inner, 8 * inner.len() as u32);
            return Ok(());
        };
        let arguments = &outside.arguments;
        let unpacks = |packed: &Vec<u8>| {
            let again = transform.unpack(arguments, packed, inner.len());
            again.as_ref() == Ok(&inner)
        };
        let packed = match outside.packed.filter(unpacks) {
            Some(packed) => packed,
            None => transform.pack(arguments, &inner)?,
        };
        self.writer.write_part(&packed, 8 * packed.len() as u32);
        Ok(())
    }

    fn stream(&self) -> BitReader<'_> {
        self.writer.reader()
    }

    fn skip_field(&mut self, _: u32) -> bool {
        false
    }

    fn jump(&mut self, at: i128, text: u32, rest: u32) -> Result<(), Problem> {
        let end = PACKET_BYTES_MAX as u32 * 8;
        let Some(start) = u32::try_from(at).ok().filter(|&at| at <= end) else {
            return Err(Problem::Nowhere { text, at, end });
        };
        let found = match self.rest_beside(rest) {
            Ok(found) => found,
            Err(why) => return Err(self.refuse(None, why)),
        };
        let elsewhere = self.writer.elsewhere(start);
        let outside = std::mem::replace(&mut self.writer, elsewhere);
        self.windows.push(Window {
            from: start,
            outside: Some(outside),
            bytes: None,
            rest: found,
            catches: true,
            depth: self.open.len(),
            layer: None,
        });
        Ok(())
    }

    fn rest(&mut self) -> Range<u32> {
        let from = self.writer.at();
        if let Some(Window {
            rest: Some((bytes, bits)),
            ..
        }) = self.windows.last()
        {
            self.writer.write_part(bytes, *bits);
        }
        from..self.writer.at()
    }

    fn end_window(&mut self) -> Result<(), Problem> {
        let depth = self.windows.len();
        // What is asked elsewhere is answered by bits that others write, and stays as it was.
        match self
            .windows
            .last()
            .is_some_and(|window| window.outside.is_some())
        {
            true => self.looks.retain(|look| look.depth != depth),
            false => self.settle_looks(self.writer.at(), depth),
        }
        let Some(mut window) = self.windows.pop() else {
            return Ok(());
        };
        self.come_back(&mut window);
        let Some(bytes) = window.bytes else {
            return Ok(());
        };
        let bits = self.writer.at().saturating_sub(window.from);
        let asked = bytes.saturating_mul(8);
        if asked == i128::from(bits) {
            return Ok(());
        }
        // Where the packet is cut, its last window may be as well.
        if self.is_cut() && asked > i128::from(bits) {
            return Err(Problem::NotWritten);
        }
        let why = format!("its window is {bytes} bytes long, what is in it takes {bits} bits");
        self.refuse(None, why);
        Ok(())
    }

    fn unwind(&mut self, depth: usize) {
        while self.windows.len() > depth {
            let Some(mut window) = self.windows.pop() else {
                break;
            };
            self.come_back(&mut window);
            if let Some(outside) = window.layer {
                self.writer = outside.writer;
            }
        }
        let open = self.windows.last().map(|window| window.depth);
        self.open.truncate(open.unwrap_or(0));
    }

    fn can_give_up(&self, depth: usize) -> bool {
        self.windows
            .get(depth)
            .is_some_and(|window| window.rest.is_some())
    }

    fn past_end(&self, needed: u64) -> Problem {
        let (left, limit) = (self.left(), Limit::Whole);
        Problem::PastEnd {
            needed,
            left,
            limit,
        }
    }

    fn is_text(&self, _: Range<u32>, _: Encoding) -> bool {
        true
    }
}

/// An integer as JSON has it: a number, or a text where it needs more than 53 bits.
fn unsigned(json: &Json) -> Option<u64> {
    match json {
        Json::String(text) => text.parse().ok(),
        other => other.as_u64(),
    }
}
