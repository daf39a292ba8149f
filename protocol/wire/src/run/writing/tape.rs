//! The steps of a tape that writes.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::Value as Json;

use super::asked::{Asked, Derived};
use super::{Inside, Open, Outside, Window, Writing};
use crate::bit_writer::BitWriter;
use crate::bits::BitReader;
use crate::check::model::Look;
use crate::json::{Leaf, bytes_of};
use crate::layers::Failure;
use crate::layout::{ByteOrder, Encoding};
use crate::limits::{PACKET_BYTES_MAX, REPEAT_MAX};
use crate::program::Shown;
use crate::run::problem::{Limit, Problem};
use crate::run::tape::{Content, Inflated, Opened, Tape, Through};
use crate::suggest::did_you_mean;
use crate::values::codec::Codec;
use crate::values::text::{before_zero, unit_bytes};

impl<'p> Tape<'p> for Writing<'_> {
    fn at(&self) -> u32 {
        self.writer.at()
    }

    fn left(&self) -> u32 {
        u32::MAX
    }

    fn fixed(&mut self, bits: u32, field: u32) -> Result<u64, Problem> {
        let (raw, _, name) = self.raw(field)?;
        self.check_fits(raw, bits, &name)?;
        self.writer.write(raw, bits);
        Ok(raw)
    }

    fn leb128(&mut self, field: u32) -> Result<u64, Problem> {
        self.coded(Codec::Leb128, field)
    }

    fn coded(&mut self, codec: Codec, field: u32) -> Result<u64, Problem> {
        let (raw, bits, name) = self.raw(field)?;
        self.write_coded(codec, raw, bits, &name)?;
        Ok(raw)
    }

    fn prefix(&mut self, codec: Codec, field: u32) -> Result<u64, Problem> {
        self.prefix_at = self.writer.at();
        let (bytes, leaf, name) = self.content_bytes(field, false)?;
        let length = bytes.len() as u64;
        self.write_coded(codec, length, leaf.prefix_bits, &name)?;
        Ok(length)
    }

    fn content_to_zero(&mut self, encoding: Encoding, field: u32) -> Result<Content, Problem> {
        let (bytes, _, name) = self.content_bytes(field, true)?;
        if before_zero(&bytes, encoding).len() != bytes.len() {
            self.refuse(Some(&name), "a text that ends with a zero holds none");
        }
        let content = self.put(&bytes);
        let zero = [0, 0];
        let unit = unit_bytes(encoding) as usize;
        let zero = self.put(zero.get(..unit).unwrap_or(&zero));
        Ok(Content {
            whole: content.start..zero.end,
            content,
        })
    }

    fn content_rest(&mut self, field: u32) -> Result<Content, Problem> {
        let (bytes, ..) = self.content_bytes(field, true)?;
        let content = self.put(&bytes);
        Ok(Content {
            whole: content.clone(),
            content,
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
            written: value,
            ..Derived::default()
        });
        self.looks.push(Asked {
            number,
            look,
            at: self.writer.at(),
            ahead,
            depth: self.windows.len(),
            end: None,
            order: self.writer.order().bytes,
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
            let why = if holds {
                "it has more elements than its `until` lets it have"
            } else {
                "its `until` does not hold after its last element"
            };
            self.refuse(None, why);
        }
        !more && (is_guessed || holds || !self.is_cut())
    }

    fn content(&mut self, length: i128, prefixed: bool, field: u32) -> Result<Content, Problem> {
        let (mut bytes, _, name) = self.content_bytes(field, true)?;
        let shown = self.info(field).map(|info| info.shown);
        if let (Some(Shown::PaddedText(_)), Ok(wanted)) = (shown, usize::try_from(length))
            && (bytes.len()..=PACKET_BYTES_MAX).contains(&wanted)
        {
            bytes.resize(wanted, 0);
        }
        if length != bytes.len() as i128 {
            let why = format!("it has {} bytes, its length is {length}", bytes.len());
            self.refuse(Some(&name), why);
        }
        let content = self.put(&bytes);
        let start = if prefixed {
            self.prefix_at
        } else {
            content.start
        };
        Ok(Content {
            whole: start..content.end,
            content,
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
        self.check_fits(raw, bits, "padding")?;
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
            ..Derived::default()
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
            bytes,
            rest: found,
            catches,
            ..self.window_here()
        });
        Ok(Opened::Whole)
    }

    fn layer(&mut self, through: &Through<'p>) -> Result<(), Failure> {
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
        let inner = BitWriter::new(order).coded(through.coding().cloned());
        let transform = through.transform(self.writer.order()).map(Cow::into_owned);
        let writer = std::mem::replace(&mut self.writer, inner);
        let layer = Outside {
            writer,
            transform,
            arguments: through.arguments.clone(),
            packed,
        };
        self.windows.push(Window {
            rest,
            catches: through.catches,
            layer: Some(Box::new(layer)),
            ..self.window_here()
        });
        Ok(())
    }

    fn end_layer(&mut self) -> Result<(), Failure> {
        self.close_looks(None, self.windows.len());
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
        let around = inner.without_bytes();
        let inner = inner.into_bytes();
        self.settle_looks(self.streams() + 1, &inner, &around);
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

    /// What comes from JSON is as long as that.
    fn inflated(&self) -> Inflated {
        Inflated::default()
    }

    fn set_inflated(&mut self, _: Inflated) {}

    fn byte_order(&self) -> ByteOrder {
        self.writer.order().bytes
    }

    fn set_byte_order(&mut self, order: ByteOrder) {
        self.writer.set_byte_order(order);
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
            rest: found,
            catches: true,
            ..self.window_here()
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
        let is_elsewhere = |window: &Window| window.outside.is_some();
        let end = if self.windows.last().is_some_and(is_elsewhere) {
            None
        } else {
            Some(self.writer.at())
        };
        self.close_looks(end, depth);
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
            let end = self.windows.last().and_then(|window| {
                let bits = u32::try_from(window.bytes?.checked_mul(8)?).ok()?;
                window.from.checked_add(bits)
            });
            self.close_looks(end, self.windows.len());
            let Some(mut window) = self.windows.pop() else {
                break;
            };
            self.come_back(&mut window);
            if let Some(outside) = window.layer {
                self.writer = outside.writer;
                self.forget_looks();
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
