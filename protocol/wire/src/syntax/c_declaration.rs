//! `c_struct`: structs and typedefs as a C header declares them. How they are laid out is worked out
//! where constants are known.

use super::ast::{
    Alias, CItem, CMember, CSort, CStruct, CType, CTypedef, Enum, Expr, File, Ident, TypeRef,
};
use super::lexer::TokenKind;
use super::parser::{Failed, Parsed, Parser};
use crate::report::Span;

/// No type of C is aligned to more.
const ALIGN_NATURAL: u64 = 8;

/// How the compiler laid structs out.
#[derive(Clone, Copy)]
struct Layout {
    align_max: u64,
    span: Span,
}

/// Types of C that are one word, with what a wire calls them.
const WORDS: [(&str, &str); 20] = [
    ("int8_t", "i8"),
    ("int16_t", "i16"),
    ("int32_t", "i32"),
    ("int64_t", "i64"),
    ("uint8_t", "u8"),
    ("uint16_t", "u16"),
    ("uint32_t", "u32"),
    ("uint64_t", "u64"),
    ("char", "u8"),
    ("char8_t", "u8"),
    ("char16_t", "u16"),
    ("char32_t", "u32"),
    ("bool", "u8"),
    ("_Bool", "u8"),
    ("float", "f32"),
    ("double", "f64"),
    ("short", "i16"),
    ("int", "i32"),
    ("signed", "i32"),
    ("unsigned", "u32"),
];

impl<'a> Parser<'a, '_> {
    /// `c_struct(LAYOUT) NAME { MEMBER ... }` or `c_struct(LAYOUT) { DECLARATION ... }`
    pub(super) fn c_item(&mut self, file: &mut File<'a>) -> Parsed<()> {
        let start = self.here();
        self.advance();
        if !self.at_mark("(") {
            return Err(self.unexpected_but(
                "`(` and how the compiler laid the struct out",
                "say `c_struct(natural)`, `c_struct(packed)`, or `c_struct(pack(4))` as \
                     `#pragma pack` does",
            ));
        }
        self.advance();
        let align_max = self.c_layout()?;
        self.expect_mark(")", "after the layout")?;
        let layout = Layout {
            align_max,
            span: start.to(self.previous()),
        };
        if self.take_mark("{") {
            return self.c_declarations(layout, file);
        }
        let name = self.new_name("the struct's name, or `{` and declarations of C")?;
        self.c_struct_body(name, layout, file)?;
        self.take_mark(";");
        Ok(())
    }

    fn c_layout(&mut self) -> Parsed<u64> {
        let expected = "`natural`, `packed` or `pack(BYTES)`";
        let word = self.any_name(expected)?;
        match word.text {
            "natural" => return Ok(ALIGN_NATURAL),
            "packed" => return Ok(1),
            "pack" if self.take_mark("(") => {}
            other => {
                self.report(word.span, format!("there is no layout `{other}`"))
                    .label(format!("expected {expected}"))
                    .suggest(other, ["natural", "packed", "pack"]);
                return Err(Failed);
            }
        }
        let bytes = match self.peek() {
            TokenKind::Integer(bytes @ (1 | 2 | 4 | 8)) => bytes as u64,
            _ => return Err(self.unexpected("1, 2, 4 or 8 bytes")),
        };
        self.advance();
        self.expect_mark(")", "after the number of bytes")?;
        Ok(bytes)
    }

    /// Up to and including `}`.
    fn c_declarations(&mut self, layout: Layout, file: &mut File<'a>) -> Parsed<()> {
        while !self.take_mark("}") {
            if self.peek() == TokenKind::End {
                return Err(self.unclosed("a declaration of C, or `}`", layout.span));
            }
            if self.c_declaration(layout, file).is_err() {
                self.skip_to_statement()?;
            }
        }
        self.take_mark(";");
        Ok(())
    }

    fn c_declaration(&mut self, layout: Layout, file: &mut File<'a>) -> Parsed<()> {
        if self.take_mark(";") {
            return Ok(());
        }
        if self.take_word("typedef") {
            return self.c_typedef(layout, file);
        }
        if self.at_word("struct") && self.peek_second() == TokenKind::Name {
            let name = self.name_behind("the struct's name")?;
            // A declaration that says no more than that there is one.
            if self.take_mark(";") {
                return Ok(());
            }
            self.c_struct_body(name, layout, file)?;
            if self.at_word("__attribute__") {
                return Err(self.attribute());
            }
            return self.expect_mark(";", "after the struct");
        }
        if self.at_word("enum") && self.peek_second() == TokenKind::Name {
            let start = self.here();
            let name = self.name_behind("the enum's name")?;
            self.c_enum_body(name, start, file)?;
            return self.expect_mark(";", "after the enum");
        }
        Err(self.unexpected("`struct NAME {`, `enum NAME {`, `typedef` or `}`"))
    }

    fn c_typedef(&mut self, layout: Layout, file: &mut File<'a>) -> Parsed<()> {
        let start = self.here();
        let is_enum = self.at_word("enum");
        if is_enum || self.at_word("struct") {
            let name_follows = matches!(self.peek_second(), TokenKind::Name);
            self.advance();
            let tag = if name_follows {
                Some(self.new_name("a name")?)
            } else {
                None
            };
            if is_enum && self.at_mark("{") {
                let place = file.enums.len();
                self.c_enum_body(nameless(start), start, file)?;
                let name = self.new_name("the enum's name")?;
                if let Some(declared) = file.enums.get_mut(place) {
                    declared.name = name;
                }
                if let Some(tag) = tag.filter(|tag| tag.text != name.text) {
                    file.aliases.push(alias(tag, name));
                }
                return self.expect_mark(";", "after the enum's name");
            }
            if self.at_mark("{") || self.at_mark("@") {
                let name = tag.unwrap_or(nameless(start));
                self.c_struct_body(name, layout, file)?;
                if self.at_word("__attribute__") {
                    return Err(self.attribute());
                }
                let name = self.new_name("the struct's name")?;
                // Structs inside it stand before it.
                if let Some(CItem::Struct(declared)) = file.c_items.last_mut() {
                    declared.name = name;
                    declared.tag = tag;
                }
                while self.take_mark(",") {
                    // A pointer's type says nothing of bytes; no member can have it.
                    self.expect_mark("*", "and the name of a pointer, or `;`")?;
                    self.any_name("the pointer's name")?;
                }
                return self.expect_mark(";", "after the struct's name");
            }
            let Some(of) = tag else {
                return Err(self.unexpected("a name, or `{`"));
            };
            let name = self.c_declared_name()?;
            self.expect_mark(";", "after the type's name")?;
            // `typedef struct Move Move;`
            if name.text != of.text {
                let sort = CSort::Named;
                let of = CType { name: of, sort };
                let lengths = Vec::new();
                file.aliases.push(alias(name, of.name));
                let typedef = CTypedef { name, of, lengths };
                file.c_items.push(CItem::Typedef(typedef));
            }
            return Ok(());
        }
        let of = self.c_type(layout, file)?;
        loop {
            let name = self.c_declared_name()?;
            let (lengths, _) = self.c_lengths(name)?;
            // Fields of the wire can have the type too.
            if lengths.is_empty() {
                file.aliases.push(alias(name, of.name));
            }
            let typedef = CTypedef { name, of, lengths };
            file.c_items.push(CItem::Typedef(typedef));
            if !self.take_mark(",") {
                return self.expect_mark(";", "after the type's name");
            }
        }
    }

    /// `{ A, B = 3 } `, which is held by four bytes.
    fn c_enum_body(&mut self, name: Ident<'a>, start: Span, file: &mut File<'a>) -> Parsed<()> {
        self.expect_mark("{", "to begin the members")?;
        let members = self.members()?;
        let base = Ident {
            text: "u32",
            span: start,
        };
        file.enums.push(Enum {
            name,
            is_flags: false,
            base: TypeRef::plain(base),
            members,
        });
        Ok(())
    }

    /// `@annotation { MEMBER ... }`
    fn c_struct_body(
        &mut self,
        name: Ident<'a>,
        layout: Layout,
        file: &mut File<'a>,
    ) -> Parsed<()> {
        let annotations = self.annotations()?;
        self.expect_mark("{", "to begin the members")?;
        let open = self.previous();
        let mut members = Vec::new();
        while !self.take_mark("}") {
            if self.peek() == TokenKind::End {
                return Err(self.unclosed("a member, or `}`", open));
            }
            let member = |parser: &mut Self| parser.c_members(layout, file, &mut members);
            if self.nested(member).is_err() {
                self.skip_to_statement()?;
            }
        }
        if members.is_empty() {
            self.report(name.span, "a struct of C has one member at least")
                .label("expected members in its braces");
        }
        file.c_items.push(CItem::Struct(CStruct {
            name,
            tag: None,
            is_nameless: false,
            align_max: layout.align_max,
            layout: layout.span,
            annotations,
            members,
        }));
        Ok(())
    }

    /// At `__attribute__`.
    fn attribute(&mut self) -> Failed {
        let help = "attributes are not read: a packed struct stands in `c_struct(packed)`";
        self.unexpected_but("`;`", help)
    }

    /// `TYPE NAME, NAME[LENGTH] @annotation;`
    fn c_members(
        &mut self,
        layout: Layout,
        file: &mut File<'a>,
        members: &mut Vec<CMember<'a>>,
    ) -> Parsed<()> {
        let of = self.c_type(layout, file)?;
        loop {
            let name = self.c_declared_name()?;
            let (lengths, lengths_span) = self.c_lengths(name)?;
            if self.at_mark(":") {
                return Err(self.unexpected_but(
                    "`;` after the member",
                    "where bit fields go is the compiler's choice: write this struct as a \
                         `struct` of the wire, with fields such as `u3`",
                ));
            }
            let annotations = self.annotations()?;
            members.push(CMember {
                of,
                name,
                lengths,
                lengths_span,
                annotations,
            });
            if !self.take_mark(",") {
                return self.expect_mark(";", "after the member");
            }
        }
    }

    /// The name that is declared; says what pointers are.
    fn c_declared_name(&mut self) -> Parsed<Ident<'a>> {
        if self.at_mark("*") || self.at_mark("&") || self.at_mark("(") {
            return Err(self.unexpected_but(
                "a name",
                "a pointer means nothing to whoever receives it: if its bytes are sent all \
                     the same, declare `uint32_t` or `uint64_t`",
            ));
        }
        self.new_name("a name")
    }

    /// `[4][4]`, or nothing.
    fn c_lengths(&mut self, after: Ident<'a>) -> Parsed<(Vec<Expr<'a>>, Span)> {
        let mut lengths = Vec::new();
        let start = if self.at_mark("[") {
            self.here()
        } else {
            after.span
        };
        while self.take_mark("[") {
            if self.at_mark("]") {
                return Err(self.unexpected_but(
                    "how many there are",
                    "what follows a struct is a field of its own, after it: \
                         `head: Head; data: bytes(rest);`",
                ));
            }
            lengths.push(self.expression()?);
            self.expect_mark("]", "after the number of elements")?;
        }
        Ok((lengths, start.to(self.previous())))
    }

    fn c_type(&mut self, layout: Layout, file: &mut File<'a>) -> Parsed<CType<'a>> {
        while self.take_word("const") || self.take_word("volatile") {}
        let start = self.here();
        if self.at_word("union") {
            return Err(self.unexpected_but(
                "a type",
                "another field says which of a union's members is meant: write a `struct` \
                     of the wire with a `switch`",
            ));
        }
        if self.take_word("struct") {
            return self.c_inner_struct(start, layout, file);
        }
        self.take_word("enum");
        let mut words = vec![self.any_name("the type of a member, or `}`")?];
        while is_part(words[0].text)
            && self.peek() == TokenKind::Name
            && is_part(self.here().text(self.text))
        {
            words.push(self.any_name("a type")?);
        }
        let span = start.to(self.previous());
        let spelled: Vec<&str> = words.iter().map(|word| word.text).collect();
        let (text, sort) = match scalar(&spelled) {
            Some(found) => found,
            None if spelled.len() == 1 && !is_part(spelled[0]) => (words[0].text, CSort::Named),
            None => {
                let spelled = spelled.join(" ");
                let message = format!("how many bytes a `{spelled}` has is not known");
                self.report(span, message)
                    .label("expected a type that has one size on every platform")
                    .help(if spelled.contains("long") {
                        "a `long` has 4 bytes on Windows and 8 on 64-bit Linux and macOS: \
                             write `int32_t` or `int64_t`, with `u` before it where it is unsigned"
                    } else {
                        "write `int8_t` to `uint64_t`, `float` or `double`"
                    });
                return Err(Failed);
            }
        };
        let name = Ident { text, span };
        Ok(CType { name, sort })
    }

    /// `struct NAME`, `struct NAME { ... }` or `struct { ... }`, after the word.
    fn c_inner_struct(
        &mut self,
        start: Span,
        layout: Layout,
        file: &mut File<'a>,
    ) -> Parsed<CType<'a>> {
        let sort = CSort::Named;
        let tag = if self.at_mark("{") {
            None
        } else {
            Some(self.new_name("the struct's name, or `{`")?)
        };
        if let Some(name) = tag
            && !self.at_mark("{")
        {
            return Ok(CType { name, sort });
        }
        self.c_struct_body(tag.unwrap_or(nameless(start)), layout, file)?;
        let span = start.to(self.previous());
        let text = span.text(self.text);
        let name = tag.unwrap_or(Ident { text, span });
        if let Some(CItem::Struct(declared)) = file.c_items.last_mut() {
            declared.name = name;
            declared.is_nameless = tag.is_none();
        }
        if self.at_mark(";") {
            return Err(self.unexpected_but(
                "a name",
                "give the struct's members a name to stand under: `struct { ... } name;`",
            ));
        }
        Ok(CType { name, sort })
    }
}

/// The name of what has none so far.
fn nameless<'a>(span: Span) -> Ident<'a> {
    Ident { text: "", span }
}

/// `type NAME = OF;`
fn alias<'a>(name: Ident<'a>, of: Ident<'a>) -> Alias<'a> {
    Alias {
        name,
        stands_for: TypeRef::plain(of),
    }
}

/// Whether a word may be one of several that make a type.
fn is_part(word: &str) -> bool {
    matches!(
        word,
        "signed" | "unsigned" | "char" | "short" | "int" | "long" | "double" | "size_t" | "wchar_t"
    )
}

/// What a type of C is called in a wire; `None` where no type of one size is spelled so.
fn scalar(words: &[&str]) -> Option<(&'static str, CSort)> {
    if let [word] = words {
        let (_, found) = WORDS.iter().find(|(name, _)| name == word)?;
        let sort = match *word {
            "char" | "char8_t" => CSort::Char,
            "uint8_t" => CSort::Byte,
            _ => CSort::Number,
        };
        return Some((found, sort));
    }
    let count = |wanted: &str| words.iter().filter(|word| **word == wanted).count();
    let signs = (count("signed"), count("unsigned"));
    let (chars, shorts, longs, ints) = (count("char"), count("short"), count("long"), count("int"));
    if signs.0 + signs.1 + chars + shorts + longs + ints != words.len() || signs.0 + signs.1 > 1 {
        return None;
    }
    let names = match (chars, shorts, longs, ints) {
        (1, 0, 0, 0) => ("i8", "u8"),
        (0, 1, 0, 0 | 1) => ("i16", "u16"),
        (0, 0, 0, 1) => ("i32", "u32"),
        (0, 0, 2, 0 | 1) => ("i64", "u64"),
        _ => return None,
    };
    Some(match signs.1 {
        0 => (names.0, CSort::Number),
        _ if chars == 1 => (names.1, CSort::Byte),
        _ => (names.1, CSort::Number),
    })
}
