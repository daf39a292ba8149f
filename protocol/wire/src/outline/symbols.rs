//! What an outline holds: symbols, and where they are.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// A `wire` block.
    Protocol,
    /// A `rules` block.
    Rules,
    /// A `const`.
    Constant,
    /// An `enum`.
    Enum,
    /// `flags`.
    Flags,
    /// A member of one of the two.
    Member,
    /// A `type`, or a struct or `typedef` of C.
    Alias,
    /// A `struct`.
    Struct,
    /// A parameter of a struct or a layer.
    Parameter,
    /// A field of a struct.
    Field,
    /// A `let` or a `label`.
    Computed,
    /// A `state` block.
    State,
    /// What it keeps.
    StateField,
    /// A `layer`.
    Layer,
    /// A `huffman` table.
    Huffman,
    /// A `test`.
    Test,
}

/// A symbol of an [`Outline`], by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolId(pub u32);

/// A range of bytes of one file's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePlace {
    /// The file, by its place in [`Outline::files`].
    pub file: usize,
    /// Bytes of its text.
    pub range: Range<usize>,
}

/// In the order of the files, and of their texts.
impl Ord for FilePlace {
    fn cmp(&self, other: &FilePlace) -> Ordering {
        let key = |place: &FilePlace| (place.file, place.range.start, place.range.end);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for FilePlace {
    fn partial_cmp(&self, other: &FilePlace) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Something with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// What it is.
    pub kind: SymbolKind,
    /// As the text spells it.
    pub name: String,
    /// What declares it: the struct of a field, the enum of a member.
    pub owner: Option<SymbolId>,
    /// The names where it is declared. Fields of one name in several arms of a struct are one symbol.
    pub places: Vec<FilePlace>,
    /// For each of the places the whole declaration, from the name to its end.
    pub extents: Vec<Range<usize>>,
    /// The structs and enums that it is a value of.
    pub types: Vec<SymbolId>,
    /// Its fixed size in bits, where it has one.
    pub bits: Option<u64>,
    /// The value of a constant integer or of a member.
    pub value: Option<i128>,
}

/// A file of the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlineFile {
    /// From the folder of the first file, with `/` between its parts.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// The path of an `import`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportPlace {
    /// With its quotes.
    pub place: FilePlace,
    /// The file that it names; `None` where it cannot be read.
    pub file: Option<usize>,
}

/// What a wire's files declare and use.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    pub(super) files: Vec<OutlineFile>,
    /// For each file those that it imports.
    pub(super) imported: Vec<BTreeSet<usize>>,
    pub(super) imports: Vec<ImportPlace>,
    pub(super) symbols: Vec<Symbol>,
    /// What each symbol declares, by name.
    pub(super) children: BTreeMap<SymbolId, BTreeMap<String, SymbolId>>,
    /// Sorted by place.
    pub(super) uses: Vec<(FilePlace, SymbolId)>,
}
