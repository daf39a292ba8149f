//! The sink that builds the tree and puts problems into words.

use std::ops::Range;

use super::machine::{Mark, Rest, Sink};
use super::problem::{Limit, Problem};
use crate::bits::BitReader;
use crate::check::model::Encoding;
use crate::limits::{
    DEPTH_MAX, JOINED_BYTES_MAX, NODES_MAX, PACKET_BYTES_MAX, PARTS_MAX, REPEAT_MAX,
    STATE_CONTENT_MAX,
};
use crate::program::{FieldInfo, Program, SetValue};
use crate::state::{BadPart, StateKind};
use crate::tree::{
    Diagnostic, NO_NODE, Name, Node, REST, StreamId, Tree, TreeId, UNRESOLVED, Value,
};

/// Builds a tree and its diagnostics.
pub(crate) struct Full<'p> {
    program: &'p Program,
    whole: &'static str,
    pub(crate) tree: Tree,
    /// The stream that is being read.
    stream: StreamId,
    pub(crate) diagnostics: Vec<Diagnostic>,
    open: Vec<Open>,
    /// The streams around the one that is being read, with how many nodes were open when it began.
    around: Vec<(StreamId, usize)>,
    /// Why the problem that comes next is there.
    why: String,
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
    pub(crate) fn new(program: &'p Program, whole: &'static str, bytes: &[u8]) -> Full<'p> {
        // Room for a plain packet, so that its tree does not move while it grows.
        let nodes = program.packet_weight.min(64) as usize;
        let mut tree = Tree::new(program.dictionary.clone(), nodes);
        let stream = tree.add_stream(&BitReader::new(bytes, program.dictionary.order));
        Full {
            program,
            whole,
            tree,
            stream,
            diagnostics: Vec::new(),
            open: Vec::with_capacity(8),
            around: Vec::new(),
            why: String::new(),
        }
    }

    fn info(&self, field: u32) -> Option<&'p FieldInfo> {
        self.program.dictionary.field(field)
    }

    fn add(&mut self, field: u32, bits: Range<u32>, raw: u64) -> TreeId {
        let is_element = self.info(field).is_some_and(|info| info.is_element);
        let (mut index, mut parent) = (0, NO_NODE);
        if let Some(open) = self.open.last_mut() {
            parent = open.node.0;
            if is_element {
                index = open.next_element;
                open.next_element += 1;
            }
        }
        self.tree.push(Node {
            field,
            index,
            bits,
            parent,
            descendants: 0,
            stream: self.stream,
            raw,
        })
    }

    fn next_name(&self, info: &'p FieldInfo) -> Name<'p> {
        match self.open.last() {
            Some(open) if info.is_element => Name::Index(open.next_element),
            _ => Name::Field(&info.name),
        }
    }

    fn close(&mut self, bit: u32) {
        let count = self.tree.len() as u32;
        let Some(open) = self.open.pop() else { return };
        if let Some(node) = self.tree.node_mut(open.node) {
            node.bits.end = bit;
            node.descendants = count - open.node.0 - 1;
        }
    }

    /// The path of the field that was to be added next; without a field, of what it stands in.
    fn path(&self, field: Option<u32>) -> String {
        let mut path = String::new();
        for open in self.open.iter().skip(1) {
            if let Some(node) = self.tree.get(open.node) {
                node.name().append_to(&mut path);
            }
        }
        let root = self.tree.get(TreeId(0));
        match (field.and_then(|field| self.info(field)), root) {
            (Some(info), _) => self.next_name(info).append_to(&mut path),
            (None, Some(root)) if path.is_empty() => root.name().append_to(&mut path),
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
                let (there, limit) = (count_of(left.into(), "bit"), self.limit(limit));
                let verb = if left == 1 { "is" } else { "are" };
                let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
                let asked = count_of(bytes, "byte");
                format!(
                    "`{}` asks for {asked}, {there} {verb} left {limit}",
                    text(index)
                )
            }
            Problem::NegativeSize { text: index, bytes } => {
                format!("`{}` is {bytes}", text(index))
            }
            Problem::LeftInWindow { bits, text: index } => {
                let (bits, verb) = (
                    count_of(bits.into(), "bit"),
                    if bits == 1 { "is" } else { "are" },
                );
                let text = text(index);
                format!("{bits} {verb} left after the last field in `{text}`")
            }
            Problem::Unpack { text: index } => {
                format!("`{}` does not unpack: {}", text(index), self.why)
            }
            Problem::Script { text: index } => {
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
            Problem::Unresolved { field } => {
                let field = self.program.state.get(usize::from(field));
                let name = field.map_or("", |field| &field.name);
                match field.map(|field| field.kind) {
                    Some(StateKind::Integers { .. } | StateKind::Contents { .. }) => {
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
            Problem::Unclaimed => "no protocol of this file claims the packet".to_owned(),
            Problem::NoMessages => "the wire has no `@message` struct".to_owned(),
        }
    }

    /// The last node of a field in the struct that is open.
    fn field_of_open(&self, field: Option<u32>) -> Option<(TreeId, u32)> {
        let around = self.open.last()?.node;
        let children = self.tree.children_of_open(around);
        let node = children
            .filter(|child| Some(child.field()) == field)
            .last()?;
        Some((node.id(), node.bits().start))
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

impl Sink for Full<'_> {
    #[inline]
    fn enter(&mut self, field: u32, bit: u32, count: Option<u32>) {
        let node = self.add(field, bit..bit, 0);
        self.open.push(Open {
            node,
            field,
            count,
            next_element: 0,
        });
    }

    #[inline]
    fn leave(&mut self, bit: u32) {
        self.close(bit);
    }

    #[inline]
    fn value(&mut self, field: u32, bits: Range<u32>, raw: u64) {
        self.add(field, bits, raw);
    }

    fn content(&mut self, field: u32, bits: Range<u32>, content: Range<u32>) {
        self.add(field, bits, u64::from(content.start));
    }

    fn problem(&mut self, field: Option<u32>, bit: u32, problem: Problem) {
        let message = self.words(field, problem);
        let last = self
            .tree
            .len()
            .checked_sub(1)
            .map(|last| TreeId(last as u32));
        let (path, bit) = match (problem, last.and_then(|last| self.tree.get(last))) {
            // A constant is judged when its field is in the tree already.
            (Problem::Constant { .. } | Problem::Content { .. }, Some(last)) => {
                (self.tree.path(last.id()), last.bits().start)
            }
            (Problem::Derived { .. }, Some(_)) => match self.field_of_open(field) {
                Some((node, start)) => {
                    self.tree.keep(node);
                    (self.tree.path(node), start)
                }
                None => (self.path(field), bit),
            },
            _ => (self.path(field), bit),
        };
        self.diagnostics.push(Diagnostic {
            path,
            bit,
            message,
            stream: self.stream,
        });
    }

    fn sum(&mut self, sum: Option<i128>) {
        self.tree.add_sum(sum);
    }

    fn begin_stream(&mut self, stream: BitReader<'_>) {
        self.around.push((self.stream, self.open.len()));
        self.stream = self.tree.add_stream(&stream);
    }

    fn cut_stream(&mut self, bytes: usize) {
        self.tree.cut_stream(self.stream, bytes);
    }

    fn rest_of_stream(&mut self, bits: Range<u32>, why: Rest) {
        let parent = self.open.last().map_or(NO_NODE, |open| open.node.0);
        self.unexplained(bits, why, parent);
    }

    fn end_stream(&mut self, rest: Option<(Range<u32>, Rest)>) {
        let Some((stream, depth)) = self.around.pop() else {
            return;
        };
        if let Some((bits, why)) = rest {
            // What stands for the whole stream holds its rest, too.
            while self.open.len() > depth + 1 {
                self.close(bits.start);
            }
            self.rest_of_stream(bits.clone(), why);
            while self.open.len() > depth {
                self.close(bits.end);
            }
        }
        self.stream = stream;
    }

    fn mark(&self) -> Mark {
        Mark {
            diagnostics: self.diagnostics.len(),
            open: self.open.len(),
            next_element: self.open.last().map_or(0, |open| open.next_element),
            ..self.tree.mark()
        }
    }

    fn go_back(&mut self, mark: Mark) {
        self.tree.go_back(mark);
        self.diagnostics.truncate(mark.diagnostics);
        self.open.truncate(mark.open);
        if let Some(open) = self.open.last_mut() {
            open.next_element = mark.next_element;
        }
    }

    fn because(&mut self, why: String) {
        self.why = why;
    }

    fn depth(&self) -> usize {
        self.open.len()
    }

    fn rest_of_window(&mut self, field: u32, bits: Range<u32>, depth: Option<(usize, Rest)>) {
        self.tree.has_window_rest = true;
        let mut field = field;
        if let Some((depth, why)) = depth {
            field += u32::from(why == Rest::Unresolved);
            while self.open.len() > depth {
                self.close(bits.start);
            }
        }
        let start = u64::from(bits.start);
        self.add(field, bits, start);
    }

    fn rest(&mut self, bits: Range<u32>, why: Rest) {
        self.tree.is_cut = true;
        while !self.open.is_empty() {
            self.close(bits.start);
        }
        self.unexplained(bits, why, NO_NODE);
    }
}

impl Full<'_> {
    fn unexplained(&mut self, bits: Range<u32>, why: Rest, parent: u32) {
        if bits.is_empty() {
            return;
        }
        self.tree.push(Node {
            field: match why {
                Rest::Unexplained => REST,
                Rest::Unresolved => UNRESOLVED,
            },
            index: 0,
            raw: u64::from(bits.start),
            bits,
            parent,
            descendants: 0,
            stream: self.stream,
        });
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

fn count_of(count: u64, thing: &str) -> String {
    match count {
        1 => format!("1 {thing}"),
        u64::MAX => format!("too many {thing}s"),
        _ => format!("{count} {thing}s"),
    }
}
