//! The syntax tree: what the text says, before anybody asks whether it makes sense.

use std::borrow::Cow;

use crate::report::Span;

/// A name, or a text without its quotes, and its place, with them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ident<'a> {
    pub text: &'a str,
    pub span: Span,
}

impl<'a> Ident<'a> {
    /// What stands at a place, taken for a name.
    pub(crate) fn spelled(span: Span, text: &'a str) -> Ident<'a> {
        let text = span.text(text);
        Ident { text, span }
    }
}

/// A whole file.
#[derive(Debug, Default)]
pub(crate) struct File<'a> {
    /// The paths.
    pub imports: Vec<Ident<'a>>,
    pub wires: Vec<Block<'a>>,
    pub rules: Vec<Block<'a>>,
    pub constants: Vec<Constant<'a>>,
    pub aliases: Vec<Alias<'a>>,
    pub enums: Vec<Enum<'a>>,
    pub structs: Vec<Struct<'a>>,
    /// In the order of the text.
    pub c_items: Vec<CItem<'a>>,
    pub states: Vec<State<'a>>,
    pub layers: Vec<Layer<'a>>,
    pub huffmans: Vec<Huffman<'a>>,
    /// `lua """ ... """`
    pub scripts: Vec<Ident<'a>>,
    pub tests: Vec<Test<'a>>,
}

/// `test "NAME" { ... }`. The span is that of the name with its quotes.
#[derive(Debug)]
pub(crate) struct Test<'a> {
    pub name: &'a str,
    pub span: Span,
    pub settings: Vec<Setting<'a, Pattern<'a>>>,
}

/// A value that a test expects.
#[derive(Debug)]
pub(crate) struct Pattern<'a> {
    pub kind: PatternKind<'a>,
    pub span: Span,
}

#[derive(Debug)]
pub(crate) enum PatternKind<'a> {
    /// `{ NAME: VALUE, ... }`
    Fields(Vec<(Ident<'a>, Pattern<'a>)>),
    /// `[ VALUE, ... ]`
    Elements(Vec<Pattern<'a>>),
    Integer(i128),
    Float(f64),
    Bool(bool),
    Text(Cow<'a, str>),
    Bytes(Vec<u8>),
    /// A member of an enum, a struct, a protocol.
    Name(&'a str),
}

/// `wire NAME { ... }` or `rules NAME { ... }`: settings.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    pub name: Ident<'a>,
    pub settings: Vec<Setting<'a>>,
}

impl<'a> Block<'a> {
    /// The setting of this name, the first one of several.
    pub(crate) fn setting(&self, name: &str) -> Option<&Setting<'a>> {
        self.settings.iter().find(|each| each.name.text == name)
    }
}

/// `NAME = VALUE;` or, for settings that are lists, `NAME = VALUE, VALUE;`
#[derive(Debug)]
pub(crate) struct Setting<'a, V = Expr<'a>> {
    pub name: Ident<'a>,
    pub value: V,
    /// The values after the first.
    pub more: Vec<V>,
}

impl<V> Setting<'_, V> {
    /// One at least.
    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        std::iter::once(&self.value).chain(&self.more)
    }
}

/// `const NAME = VALUE;`
#[derive(Debug)]
pub(crate) struct Constant<'a> {
    pub name: Ident<'a>,
    pub value: Expr<'a>,
}

/// `type NAME = TYPE;`
#[derive(Debug)]
pub(crate) struct Alias<'a> {
    pub name: Ident<'a>,
    pub stands_for: TypeRef<'a>,
}

/// `enum NAME : TYPE { ... }` or `flags NAME : TYPE { ... }`
#[derive(Debug)]
pub(crate) struct Enum<'a> {
    pub name: Ident<'a>,
    pub is_flags: bool,
    pub base: TypeRef<'a>,
    pub members: Vec<Member<'a>>,
}

/// `NAME = VALUE @annotation`
#[derive(Debug)]
pub(crate) struct Member<'a> {
    pub name: Ident<'a>,
    pub value: Option<Expr<'a>>,
    pub annotations: Vec<Annotation<'a>>,
}

/// `struct NAME(PARAMETER: TYPE, ...) @annotation { ... }`
#[derive(Debug)]
pub(crate) struct Struct<'a> {
    pub name: Ident<'a>,
    pub parameters: Vec<Parameter<'a>>,
    /// It stands for `vec3(TYPE)`, which it is named after.
    pub is_vector: bool,
    /// It is declared inside a C struct, and named after its own text.
    pub is_nameless: bool,
    pub annotations: Vec<Annotation<'a>>,
    pub body: Vec<Statement<'a>>,
}

/// A declaration in a `c_struct` item.
#[derive(Debug)]
pub(crate) enum CItem<'a> {
    Struct(CStruct<'a>),
    Typedef(CTypedef<'a>),
}

/// A struct as C declares it.
#[derive(Debug)]
pub(crate) struct CStruct<'a> {
    pub name: Ident<'a>,
    /// What C calls it besides: the `tag` of `typedef struct tag { ... } NAME;`
    pub tag: Option<Ident<'a>>,
    pub is_nameless: bool,
    /// The most bytes that a member is aligned to: 1 where the struct is packed.
    pub align_max: u64,
    /// What says so.
    pub layout: Span,
    pub annotations: Vec<Annotation<'a>>,
    pub members: Vec<CMember<'a>>,
}

/// `TYPE NAME[LENGTH]...`
#[derive(Debug)]
pub(crate) struct CMember<'a> {
    pub of: CType<'a>,
    pub name: Ident<'a>,
    pub lengths: Vec<Expr<'a>>,
    /// Of the lengths, with their brackets.
    pub lengths_span: Span,
    pub annotations: Vec<Annotation<'a>>,
}

/// The type of a member. The span is that of all its words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CType<'a> {
    /// A type of C's own by the name that a wire has for it; otherwise a name that is declared.
    pub name: Ident<'a>,
    pub sort: CSort,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CSort {
    /// `char`: an array of it is a text.
    Char,
    /// `uint8_t`, `unsigned char`: an array of it is bytes.
    Byte,
    Number,
    /// It is declared somewhere.
    Named,
}

/// `typedef TYPE NAME[LENGTH]...;`
#[derive(Debug)]
pub(crate) struct CTypedef<'a> {
    pub name: Ident<'a>,
    pub of: CType<'a>,
    pub lengths: Vec<Expr<'a>>,
}

/// `NAME: TYPE` of a struct or a layer.
#[derive(Debug)]
pub(crate) struct Parameter<'a> {
    pub name: Ident<'a>,
    pub type_name: Ident<'a>,
}

/// `@NAME` or `@NAME(ARGUMENT, ...)`. The span includes the `@`.
#[derive(Debug)]
pub(crate) struct Annotation<'a> {
    pub name: Ident<'a>,
    pub arguments: Vec<Expr<'a>>,
    pub span: Span,
}

/// What stands in a struct's body.
#[derive(Debug)]
pub(crate) enum Statement<'a> {
    Field(Box<Field<'a>>),
    If(If<'a>),
    Switch(Switch<'a>),
    Align(Align<'a>),
    ByteOrder(ByteOrderOf<'a>),
    Set(Set<'a>),
    Join(Joined<'a>),
    Follow(Joined<'a>),
    Size(SizeBlock<'a>),
}

impl<'a> Statement<'a> {
    /// The field that it declares itself.
    pub(crate) fn field(&self) -> Option<&Field<'a>> {
        match self {
            Statement::Field(field) => Some(field),
            Statement::Join(joined) | Statement::Follow(joined) => Some(&joined.field),
            _ => None,
        }
    }

    /// The blocks that stand in it.
    pub(crate) fn blocks(&self) -> Vec<&[Statement<'a>]> {
        match self {
            Statement::If(inner) => vec![&inner.then, &inner.otherwise],
            Statement::Switch(inner) => inner.arms.iter().map(|arm| &arm.body[..]).collect(),
            Statement::Size(inner) => vec![&inner.body],
            _ => Vec::new(),
        }
    }

    /// The fields that it declares, in the order of the text.
    pub(crate) fn fields(&self) -> Vec<&Field<'a>> {
        let inside = self.blocks().into_iter().flat_map(fields);
        self.field().into_iter().chain(inside).collect()
    }
}

/// The fields of a body in the order of the text.
pub(crate) fn fields<'s, 'a>(body: &'s [Statement<'a>]) -> Vec<&'s Field<'a>> {
    body.iter().flat_map(Statement::fields).collect()
}

/// `NAME: TYPE[REPEAT] size(BYTES) through LAYER = CONSTANT @annotation;`
#[derive(Debug, Default)]
pub(crate) struct Field<'a> {
    pub name: Ident<'a>,
    pub field_type: TypeRef<'a>,
    pub repeat: Option<Repeat<'a>>,
    pub size: Option<Size<'a>>,
    pub through: Option<Through<'a>>,
    pub constant: Option<Expr<'a>>,
    /// `derived EXPRESSION`
    pub derived: Option<Expr<'a>>,
    /// `let NAME: TYPE = EXPRESSION`: it takes no bits.
    pub computed: Option<Expr<'a>>,
    /// How many bytes that the compiler left out before a member of a C struct.
    pub gap: Option<usize>,
    pub annotations: Vec<Annotation<'a>>,
}

impl<'a> Field<'a> {
    /// `NAME: TYPE;`
    pub(crate) fn plain(name: Ident<'a>, field_type: TypeRef<'a>) -> Field<'a> {
        Field {
            name,
            field_type,
            ..Field::default()
        }
    }
}

/// `NAME` or `NAME(ARGUMENT, ...)`
#[derive(Clone, Debug, Default)]
pub(crate) struct TypeRef<'a> {
    pub name: Ident<'a>,
    pub arguments: Option<Vec<Expr<'a>>>,
    pub span: Span,
}

impl<'a> TypeRef<'a> {
    /// A name without arguments.
    pub(crate) fn plain(name: Ident<'a>) -> TypeRef<'a> {
        TypeRef {
            name,
            arguments: None,
            span: name.span,
        }
    }
}

/// `[COUNT]`, `[until end]`, `[bytes SIZE]` or `[until CONDITION]`. The span includes the brackets.
#[derive(Debug)]
pub(crate) struct Repeat<'a> {
    pub until: Until<'a>,
    pub span: Span,
}

/// `layer NAME(PARAMETER: TYPE, ...) { ... }`
#[derive(Debug)]
pub(crate) struct Layer<'a> {
    /// The name is that of the block.
    pub block: Block<'a>,
    pub parameters: Vec<Parameter<'a>>,
}

/// `huffman NAME { codes = ["0110", ...]; eof = 256; }`
#[derive(Debug)]
pub(crate) struct Huffman<'a> {
    pub name: Ident<'a>,
    /// By symbol, each with its place; the text is what stands between the quotes.
    pub codes: Vec<Ident<'a>>,
    pub eof: Option<Expr<'a>>,
}

/// `through NAME(ARGUMENT, ...)`. The span is all of it.
#[derive(Debug)]
pub(crate) struct Through<'a> {
    pub name: Ident<'a>,
    pub arguments: Vec<Expr<'a>>,
    pub span: Span,
}

/// `size(BYTES)`. The span is all of it.
#[derive(Debug)]
pub(crate) struct Size<'a> {
    pub bytes: Expr<'a>,
    pub span: Span,
}

/// `size (BYTES) { ... }` or `at (BIT) { ... }`
#[derive(Debug)]
pub(crate) struct SizeBlock<'a> {
    /// It stands elsewhere, and the size is where: bits from the stream's start.
    pub is_at: bool,
    pub size: Size<'a>,
    pub body: Vec<Statement<'a>>,
}

/// How a repeat ends.
#[derive(Debug)]
pub(crate) enum Until<'a> {
    /// After this many elements.
    Count(Expr<'a>),
    /// At the end of the window.
    End,
    /// After this many bytes.
    Bytes(Expr<'a>),
    /// After the element of which this holds.
    Holds(Expr<'a>),
}

/// `if (CONDITION) { ... } else { ... }`
#[derive(Debug)]
pub(crate) struct If<'a> {
    pub condition: Expr<'a>,
    pub then: Vec<Statement<'a>>,
    pub otherwise: Vec<Statement<'a>>,
}

/// `switch (ON) { ARM ... }`. The span is that of `switch (ON)`.
#[derive(Debug)]
pub(crate) struct Switch<'a> {
    pub on: Expr<'a>,
    pub arms: Vec<Arm<'a>>,
    pub span: Span,
}

/// `PATTERN, PATTERN => STATEMENT` or `default => { ... }`
#[derive(Debug)]
pub(crate) struct Arm<'a> {
    /// Empty: `default`.
    pub patterns: Vec<Expr<'a>>,
    pub body: Vec<Statement<'a>>,
    /// Of the patterns.
    pub span: Span,
}

/// `align(BITS) = PAD;`
#[derive(Debug)]
pub(crate) struct Align<'a> {
    pub bits: Expr<'a>,
    pub pad: Option<Expr<'a>>,
    pub span: Span,
}

/// `byte_order = ORDER;` or `byte_order = if (CONDITION) ORDER else ORDER;`
#[derive(Debug)]
pub(crate) struct ByteOrderOf<'a> {
    pub order: Ident<'a>,
    /// The condition under which it is that one, and the other.
    pub choice: Option<(Expr<'a>, Ident<'a>)>,
}

/// `state NAME { ... }`
#[derive(Debug)]
pub(crate) struct State<'a> {
    pub name: Ident<'a>,
    pub fields: Vec<StateField<'a>>,
}

/// `each NAME: TYPE[CAPACITY][CAPACITY] = INITIAL;`
#[derive(Debug)]
pub(crate) struct StateField<'a> {
    pub each: bool,
    pub name: Ident<'a>,
    pub field_type: TypeRef<'a>,
    pub capacities: Vec<Expr<'a>>,
    pub initial: Option<Expr<'a>>,
}

/// `set TARGET = VALUE;`, or `unset TARGET;` without a value.
#[derive(Debug)]
pub(crate) struct Set<'a> {
    pub target: Expr<'a>,
    pub value: Option<Expr<'a>>,
}

/// `join FIELD from STATE[KEY] (INDEX, COUNT, DATA);` or `follow FIELD from STATE (POSITION, DATA);`
#[derive(Debug)]
pub(crate) struct Joined<'a> {
    pub field: Field<'a>,
    pub from: Expr<'a>,
    pub arguments: Vec<Expr<'a>>,
}

/// An expression and its place.
#[derive(Clone, Debug)]
pub(crate) struct Expr<'a> {
    pub kind: ExprKind<'a>,
    pub span: Span,
    /// In parentheses of its own.
    pub grouped: bool,
}

impl<'a> Expr<'a> {
    pub(crate) fn new(kind: ExprKind<'a>, span: Span) -> Expr<'a> {
        Expr {
            kind,
            span,
            grouped: false,
        }
    }

    /// The name that it is, if it is one and nothing else.
    pub(crate) fn name(&self) -> Option<Ident<'a>> {
        match &self.kind {
            ExprKind::Path(path) if path.len() == 1 => path.first().copied(),
            _ => None,
        }
    }

    /// The expressions that it is made of.
    pub(crate) fn parts(&self) -> Vec<&Expr<'a>> {
        match &self.kind {
            ExprKind::Index(_, parts, _) | ExprKind::Call(_, parts) => parts.iter().collect(),
            ExprKind::Unary(_, inner) => vec![inner],
            ExprKind::Interval(one, other) | ExprKind::Binary(_, one, other) => vec![one, other],
            ExprKind::Choice(condition, then, otherwise) => vec![condition, then, otherwise],
            _ => Vec::new(),
        }
    }

    /// A comparison that a second comparison could be taken to continue.
    pub(crate) fn is_open_comparison(&self) -> bool {
        !self.grouped && matches!(self.kind, ExprKind::Binary(Binary::Compare(_), ..))
    }
}

#[derive(Clone, Debug)]
pub(crate) enum ExprKind<'a> {
    Integer(i128),
    Float(f64),
    Bool(bool),
    /// Without its quotes and escapes.
    Text(Cow<'a, str>),
    /// `x"0a ff"`
    Bytes(Vec<u8>),
    /// `1000..=1999`, where a setting takes a list of numbers.
    Interval(Box<Expr<'a>>, Box<Expr<'a>>),
    /// `a`, `a.b`, `Enum.member`
    Path(Vec<Ident<'a>>),
    /// `a.b[KEY][KEY].c`
    Index(Vec<Ident<'a>>, Vec<Expr<'a>>, Vec<Ident<'a>>),
    /// `range(0, 3)`, where a type stands as an argument.
    Call(Ident<'a>, Vec<Expr<'a>>),
    Unary(Unary, Box<Expr<'a>>),
    /// `if (CONDITION) VALUE else VALUE`
    Choice(Box<Expr<'a>>, Box<Expr<'a>>, Box<Expr<'a>>),
    Binary(Binary, Box<Expr<'a>>, Box<Expr<'a>>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Negate,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Or,
    And,
    Compare(Compare),
    Arithmetic(Arithmetic),
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// What is done with two integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    /// `min(A, B)`
    Least,
    /// `max(A, B)`
    Greatest,
    /// `popcount(A)`: how many bits of the first are 1; the second does not matter.
    CountOnes,
}
