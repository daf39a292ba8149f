//! What is wrong, in words.

use super::Full;
use crate::layout::Encoding;
use crate::limits::{
    BYTES_A_NODE, DEPTH_MAX, JOINED_BYTES_MAX, NODES_MAX, PACKET_BYTES_MAX, PARTS_MAX, REPEAT_MAX,
    STATE_CONTENT_MAX,
};
use crate::program::SetValue;
use crate::run::problem::{Limit, Problem};
use crate::state::{BadPart, StateKind};
use crate::tree::Value;

impl Full<'_> {
    pub(super) fn words(&self, field: Option<u32>, problem: Problem) -> String {
        let whole = self.whole;
        let text = |index: u32| {
            self.program
                .texts
                .get(index as usize)
                .map_or("", |text| text)
        };
        match problem {
            Problem::PastEnd {
                needed,
                left,
                limit,
            } => {
                let spelled = field
                    .and_then(|field| self.info(field))
                    .map_or("", |i| &i.type_name);
                let needed = count_of(needed, "bit");
                let (there, around) = (there(left), self.repeat_around().unwrap_or_default());
                let limit = self.limit(limit);
                format!("`{spelled}` needs {needed}, {there} left {limit}{around}")
            }
            Problem::ShortWindow {
                text: index,
                bytes,
                left,
                limit,
            } => {
                let (there, limit) = (bits_are(left), self.limit(limit));
                let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
                let asked = count_of(bytes, "byte");
                format!("`{}` asks for {asked}, {there} left {limit}", text(index))
            }
            Problem::NegativeSize { text: index, bytes } => {
                format!("`{}` is {bytes}", text(index))
            }
            Problem::LeftInWindow { bits, text: index } => {
                let (bits, text) = (bits_are(bits), text(index));
                format!("{bits} left after the last field in `{text}`")
            }
            Problem::Unpack { text: index } => {
                format!("`{}` does not unpack: {}", text(index), self.why)
            }
            Problem::Function { text: index } => {
                format!("`{}` has no value: {}", text(index), self.why)
            }
            Problem::NoCode => "no symbol of the Huffman table begins with these bits".to_owned(),
            Problem::Told => "it cannot be read".to_owned(),
            Problem::VarintTooLong { bits } => {
                format!("the integer needs more than {bits} bits")
            }
            Problem::NothingAhead { text: index } => {
                format!("`{}` has no value: it looks past the end", text(index))
            }
            Problem::OutOfRange { value, low, high } => {
                format!("the value is {value}, its range {low} to {high}")
            }
            Problem::Content { field } => {
                let expected = self.program.dictionary.contents.get(&field);
                let expected = Value::Bytes(expected.map_or(Vec::new(), |bytes| bytes.to_vec()));
                format!("the bytes should be {expected}")
            }
            Problem::Constant { expected, found } => {
                format!(
                    "the value is {}, it should be {}",
                    number(found),
                    number(expected)
                )
            }
            Problem::Derived { derived, found } => {
                format!(
                    "the value is {}, worked out it is {}",
                    number(found),
                    number(derived)
                )
            }
            Problem::Padding { found } => format!("the padding holds {}", number(found.into())),
            Problem::NotText { encoding } => {
                let encoding = match encoding {
                    Encoding::Utf8 => "UTF-8",
                    Encoding::Ascii => "ASCII",
                    Encoding::Latin1 => "Latin-1",
                    Encoding::Utf16Le | Encoding::Utf16Be => "UTF-16",
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
            Problem::TooMuchElsewhere => {
                let most = (NODES_MAX * BYTES_A_NODE) >> 20;
                format!("what the {whole} reads elsewhere is more than the limit of {most} MiB")
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
                format!("{} left after the last field", bits_are(bits))
            }
            Problem::PacketTooLong { bytes } => {
                format!("the {whole} has {bytes} bytes, only the first {PACKET_BYTES_MAX} count")
            }
            Problem::Unresolved { field } => {
                let field = self.program.state.get(usize::from(field));
                let name = field.map_or("", |field| &field.name);
                match field.map(|field| field.kind) {
                    Some(
                        StateKind::Integers { .. }
                        | StateKind::Contents { .. }
                        | StateKind::Rows(_),
                    ) => {
                        format!("`state.{name}` has no such entry: no packet so far has set it")
                    }
                    _ => format!("`state.{name}` has no value: no packet so far has set it"),
                }
            }
            Problem::BadPart(BadPart::Index { index, count }) => {
                format!("there is no part {index} of {count}")
            }
            Problem::BadPart(BadPart::TooMany { count }) => {
                format!("{count} parts are more than the limit of {PARTS_MAX}")
            }
            Problem::BadPart(BadPart::TooLong) => {
                format!("the parts have more bytes than the limit of {JOINED_BYTES_MAX}")
            }
            Problem::StreamLost { bytes } => format!(
                "{} of the stream cannot be read: something before them never came",
                count_of(bytes as u64, "byte")
            ),
            Problem::NotKept { set, value } => {
                let set = self.program.full.sets.get(usize::from(set));
                let spelled = set.map_or("", |set| text(set.text));
                let kept = set.map_or("", |set| text(set.type_text));
                match set.map(|set| set.value) {
                    Some(SetValue::Content(_)) => format!(
                        "`{spelled}` has {value} bytes, and a connection keeps at most \
                         {STATE_CONTENT_MAX}"
                    ),
                    _ => format!(
                        "`{spelled}` is {}, which does not fit `{kept}`",
                        number(value)
                    ),
                }
            }
            Problem::Nowhere {
                text: index,
                at,
                end,
            } => {
                format!(
                    "`{}` is at bit {at}, which is not in the {end} bits that there are",
                    text(index)
                )
            }
            Problem::NotWritten => "it cannot be written".to_owned(),
            Problem::Unread => {
                "not read: the wire's scripts have taken all the steps that a file may \
                take for the packets before"
                    .to_owned()
            }
            Problem::Unclaimed => "no protocol of this file claims the packet".to_owned(),
            Problem::NoMessages => "the wire has no `@message` struct".to_owned(),
        }
    }

    /// What ends the bits that can be read.
    fn limit(&self, limit: Limit) -> String {
        match limit {
            Limit::Whole if !self.around.is_empty() => "before the stream's end".to_owned(),
            Limit::Whole => format!("before the {}'s end", self.whole),
            Limit::Layer { text } => {
                let text = self.program.texts.get(text as usize);
                format!("in what `{}` gave", text.map_or("", |text| text))
            }
            Limit::Window { text, bytes } => {
                let text = self.program.texts.get(text as usize);
                let bytes = count_of(bytes.into(), "byte");
                format!("in the {bytes} of `{}`", text.map_or("", |text| text))
            }
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

/// In decimal, and in hexadecimal where that says more.
fn number(value: i128) -> String {
    if value > 9 {
        format!("{value} ({value:#x})")
    } else {
        value.to_string()
    }
}

fn there(left: u32) -> String {
    match left {
        0 => "none is".to_owned(),
        1 => "1 is".to_owned(),
        more => format!("{more} are"),
    }
}

fn bits_are(bits: u32) -> String {
    let verb = if bits == 1 { "is" } else { "are" };
    format!("{} {verb}", count_of(bits.into(), "bit"))
}

fn count_of(count: u64, thing: &str) -> String {
    match count {
        1 => format!("1 {thing}"),
        u64::MAX => format!("too many {thing}s"),
        _ => format!("{count} {thing}s"),
    }
}
