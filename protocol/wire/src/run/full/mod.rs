//! The sink that builds the tree and puts problems into words.

mod words;

use std::ops::Range;

use super::problem::Problem;
use super::sink::{Mark, Rest, Sink};
use crate::bits::BitReader;
use crate::facts::Piece;
use crate::layout::StreamId;
use crate::program::{FieldInfo, Program};
use crate::tree::{Diagnostic, NO_NODE, Name, Node, REST, Tree, TreeId, UNRESOLVED};

/// Builds a tree and its diagnostics.
pub(crate) struct Full<'p> {
    program: &'p Program,
    whole: &'static str,
    pub tree: Tree,
    /// The stream that is being read.
    stream: StreamId,
    pub diagnostics: Vec<Diagnostic>,
    pub pieces: Vec<Piece>,
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
            pieces: Vec::new(),
            open: Vec::with_capacity(8),
            around: Vec::new(),
            why: String::new(),
        }
    }

    fn info(&self, field: u32) -> Option<&'p FieldInfo> {
        self.program.dictionary.field(field)
    }

    #[inline]
    fn add(&mut self, field: u32, bits: Range<u32>, raw: u64) -> TreeId {
        let is_element = self.program.dictionary.of_node(field).is_element;
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
            // A struct that stands elsewhere is given up at the bit where the run goes on.
            node.bits.end = bit.max(node.bits.start);
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

    /// The last node of a field in the struct that is open.
    fn field_of_open(&self, field: Option<u32>) -> Option<(TreeId, u32)> {
        let around = self.open.last()?.node;
        let children = self.tree.children_of_open(around);
        let node = children
            .filter(|child| Some(child.field()) == field)
            .last()?;
        Some((node.id(), node.bits().start))
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
            is_derived: matches!(problem, Problem::Derived { .. }),
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
            pieces: self.pieces.len(),
            next_element: self.open.last().map_or(0, |open| open.next_element),
            tree: self.tree.mark(),
        }
    }

    fn go_back(&mut self, mark: Mark) {
        self.tree.go_back(mark.tree);
        self.diagnostics.truncate(mark.diagnostics);
        self.open.truncate(mark.open);
        self.pieces.truncate(mark.pieces);
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

    fn pieces(&mut self) -> Option<&mut Vec<Piece>> {
        Some(&mut self.pieces)
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
