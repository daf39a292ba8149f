//! Structs of C become structs of the wire: each member a field, and bytes where the compiler left a
//! gap. What the gaps hold is kept, so that a packet comes back to the byte.

use std::collections::{BTreeMap, BTreeSet};

use super::Checker;
use super::declared::Item;
use super::names::Names;
use super::type_names::{float_width, width_of};
use crate::files::Files;
use crate::limits::PACKET_BYTES_MAX;
use crate::report::{Report, Span};
use crate::syntax::ast::{
    Arithmetic, Binary, CItem, CMember, CSort, CStruct, CType, Expr, ExprKind, Field, File, Ident,
    Repeat, Statement, Struct, TypeRef, Until,
};

/// The names of gaps. A struct has no more of them; those that a member has are left out.
const GAPS: [&str; 32] = [
    "padding",
    "padding_2",
    "padding_3",
    "padding_4",
    "padding_5",
    "padding_6",
    "padding_7",
    "padding_8",
    "padding_9",
    "padding_10",
    "padding_11",
    "padding_12",
    "padding_13",
    "padding_14",
    "padding_15",
    "padding_16",
    "padding_17",
    "padding_18",
    "padding_19",
    "padding_20",
    "padding_21",
    "padding_22",
    "padding_23",
    "padding_24",
    "padding_25",
    "padding_26",
    "padding_27",
    "padding_28",
    "padding_29",
    "padding_30",
    "padding_31",
    "padding_32",
];

/// A type that a member can have.
#[derive(Clone)]
struct Known<'a> {
    /// Of one element, where it was declared.
    name: Ident<'a>,
    sort: CSort,
    /// Of a `typedef` of an array.
    lengths: Vec<Expr<'a>>,
    count: u64,
    /// Of one element, in bytes.
    size: u64,
    align: u64,
}

/// The structs of C of all files, laid out; those with a mistake are reported and left out. They are
/// taken out of the file.
pub(super) fn lay_out<'a>(
    files: &'a Files,
    imported: &[BTreeSet<usize>],
    file: &mut File<'a>,
    reports: &mut Vec<Report>,
) -> Vec<Struct<'a>> {
    let items = std::mem::take(&mut file.c_items);
    if items.is_empty() {
        return Vec::new();
    }
    // Lengths may be constants. What is wrong with these is told by the check of all.
    let mut found = Vec::new();
    let mut checker = Checker::new(files, imported.to_vec(), file, &mut found);
    checker.declare();
    checker.check_constants();
    checker.reports.clear();
    let ranks = checker.imported_first();
    let mut items: Vec<(usize, CItem<'a>)> = items
        .into_iter()
        .map(|item| (ranks[checker.file_of(name_of(&item).span)], item))
        .collect();
    items.sort_by_key(|(rank, _)| *rank);
    let mut layouts = Layouts {
        checker,
        known: Vec::new(),
        names: Names::default(),
        nameless: BTreeMap::new(),
        made: Vec::new(),
    };
    for (_, item) in items {
        if layouts.checker.has_enough() {
            break;
        }
        layouts.item(item);
    }
    let made = layouts.made;
    reports.append(&mut found);
    made
}

fn name_of<'a>(item: &CItem<'a>) -> Ident<'a> {
    match item {
        CItem::Struct(declared) => declared.name,
        CItem::Typedef(declared) => declared.name,
    }
}

struct Layouts<'a, 'c> {
    checker: Checker<'a, 'c>,
    known: Vec<Known<'a>>,
    /// Places in `known`.
    names: Names<'a, usize>,
    /// Structs without a name, by their file and text, with what aligns them.
    nameless: BTreeMap<(usize, &'a str), u64>,
    made: Vec<Struct<'a>>,
}

impl<'a> Layouts<'a, '_> {
    fn item(&mut self, item: CItem<'a>) {
        match item {
            CItem::Struct(declared) => self.structure(declared),
            CItem::Typedef(declared) => {
                let known = self.array(declared.of, declared.lengths);
                if let Some((known, _)) = known {
                    self.insert(declared.name, known);
                }
            }
        }
    }

    fn insert(&mut self, name: Ident<'a>, known: Known<'a>) {
        let of = self.checker.file_of(name.span);
        self.names.insert(name, of, self.known.len());
        self.known.push(known);
    }

    fn structure(&mut self, declared: CStruct<'a>) {
        let of = self.checker.file_of(declared.name.span);
        if declared.is_nameless {
            let key = (of, declared.name.text);
            match self.nameless.insert(key, declared.align_max) {
                Some(before) if before == declared.align_max => return,
                Some(_) => {
                    self.checker
                        .report(declared.name.span, "this struct is laid out in two ways")
                        .label("the same text stands in another `c_struct`")
                        .help("give it a name: `struct NAME { ... }`");
                    return;
                }
                None => {}
            }
        }
        let taken: BTreeSet<&str> = declared.members.iter().map(|each| each.name.text).collect();
        let mut gaps = GAPS.into_iter().filter(|name| !taken.contains(name));
        let (mut at, mut align) = (0u64, 1u64);
        let mut body = Vec::new();
        for member in declared.members {
            let place = member.name.span;
            let Some((known, bytes)) = self.array(member.of, member.lengths.clone()) else {
                return;
            };
            let wanted = known.align.min(declared.align_max);
            align = align.max(wanted);
            let gap = at.next_multiple_of(wanted) - at;
            if gap > 0 {
                let Some(name) = gaps.next() else {
                    return self.too_many_gaps(place);
                };
                body.push(padding(name, gap, declared.layout));
            }
            at += gap + bytes;
            if at > PACKET_BYTES_MAX as u64 {
                return self.too_large(place);
            }
            body.push(field(member, known));
        }
        let gap = at.next_multiple_of(align) - at;
        if gap > 0 {
            let Some(name) = gaps.next() else {
                return self.too_many_gaps(declared.name.span);
            };
            body.push(padding(name, gap, declared.layout));
        }
        let known = Known {
            name: declared.name,
            sort: CSort::Named,
            lengths: Vec::new(),
            count: 1,
            size: at + gap,
            align,
        };
        if let Some(tag) = declared.tag {
            self.insert(tag, known.clone());
        }
        self.insert(declared.name, known);
        self.made.push(Struct {
            name: declared.name,
            parameters: Vec::new(),
            is_vector: false,
            is_nameless: declared.is_nameless,
            annotations: declared.annotations,
            body,
        });
    }

    fn too_many_gaps(&mut self, span: Span) {
        let message = format!("this struct has more than {} gaps", GAPS.len());
        self.checker
            .report(span, message)
            .label("the compiler leaves bytes out before this")
            .help("put some of its members into a struct of their own");
    }

    fn too_large(&mut self, span: Span) {
        let message = format!("the struct has more than {PACKET_BYTES_MAX} bytes");
        self.checker
            .report(span, message)
            .label("no packet has so many bytes that are looked at");
    }

    /// A type and how many there are of it: with all lengths, and in bytes.
    fn array(&mut self, of: CType<'a>, lengths: Vec<Expr<'a>>) -> Option<(Known<'a>, u64)> {
        let mut known = self.known(of)?;
        for length in &lengths {
            let value = self
                .checker
                .constant_integer(length, "the length of an array")?;
            let Some(value) = u64::try_from(value).ok().filter(|&value| value > 0) else {
                self.checker
                    .report(
                        length.span,
                        format!("an array cannot have {value} elements"),
                    )
                    .label("expected 1 or more");
                return None;
            };
            known.count = known.count.saturating_mul(value);
        }
        // `typedef float vec3[3]; vec3 rows[4];` has rows of three.
        let mut all = lengths;
        all.append(&mut known.lengths);
        known.lengths = all;
        let bytes = known.size.saturating_mul(known.count);
        if bytes > PACKET_BYTES_MAX as u64 {
            self.too_large(of.name.span);
            return None;
        }
        Some((known, bytes))
    }

    fn known(&mut self, of: CType<'a>) -> Option<Known<'a>> {
        let (name, sort) = (of.name, of.sort);
        let scalar = |size| Known {
            name,
            sort,
            lengths: Vec::new(),
            count: 1,
            size,
            align: size,
        };
        if sort != CSort::Named {
            return bytes_of(name.text).map(scalar);
        }
        let seen = self.checker.seen_from(name.span);
        if let Some(known) = self.names.get(name.text, seen) {
            return self.known.get(known).cloned();
        }
        let item = self.checker.item(name);
        if let Some(Item::Enum(id)) = item {
            let base = &self.checker.file.enums[id.0 as usize].base;
            if let Some(size) = bytes_of(base.name.text) {
                return Some(scalar(size));
            }
            let message = format!("`{}` has no number of bytes that C has", name.text);
            self.checker
                .report(name.span, message)
                .label("expected an enum held by `u8`, `u16`, `u32` or `u64`");
            return None;
        }
        if let Some(Item::Alias(place)) = item {
            let name = self.checker.file.aliases[place].stands_for.name;
            if let Some(size) = bytes_of(name.text) {
                return Some(Known {
                    name,
                    sort: CSort::Number,
                    ..scalar(size)
                });
            }
        }
        let mut names = self.names.seen(seen);
        let is_enum = |item| matches!(item, Item::Enum(_));
        names.extend(self.checker.items_seen(name.span, is_enum));
        let suggestion = if let Some(Item::Struct(_)) = item {
            Some(
                "a struct of the wire may take any number of bits: declare it in a `c_struct`, \
                 or make this one a `struct`"
                    .to_owned(),
            )
        } else {
            crate::suggest::did_you_mean(name.text, names)
        };
        let report = self
            .checker
            .report(
                name.span,
                format!("no type `{}` is declared before this", name.text),
            )
            .label("expected a type of C, or one that is declared above");
        if let Some(suggestion) = suggestion {
            report.help(suggestion);
        }
        None
    }
}

/// The bytes of a plain type of the wire that C has, too.
fn bytes_of(name: &str) -> Option<u64> {
    if let Some((bits, _)) = float_width(name) {
        return Some(u64::from(bits / 8));
    }
    match width_of(name)?.digits {
        "8" => Some(1),
        "16" => Some(2),
        "32" => Some(4),
        "64" => Some(8),
        _ => None,
    }
}

/// The field that a member is.
fn field<'a>(member: CMember<'a>, known: Known<'a>) -> Statement<'a> {
    let span = member.of.name.span;
    let word = |text| Expr::new(ExprKind::Path(vec![Ident { text, span }]), span);
    let mut lengths = known.lengths;
    let mut name = known.name;
    let mut arguments = None;
    if let CSort::Char | CSort::Byte = known.sort
        && let Some(length) = lengths.pop()
    {
        let (text, rest) = match known.sort {
            CSort::Char => ("string", vec![length, word("utf8"), word("padded")]),
            _ => ("bytes", vec![length]),
        };
        name = Ident { text, span };
        arguments = Some(rest);
    }
    let product = lengths.into_iter().reduce(|left, right| {
        let span = left.span.to(right.span);
        let multiply = Binary::Arithmetic(Arithmetic::Multiply);
        Expr::new(
            ExprKind::Binary(multiply, Box::new(left), Box::new(right)),
            span,
        )
    });
    let repeat = product.map(|count| Repeat {
        until: Until::Count(count),
        span: member.lengths_span,
    });
    let field_type = TypeRef {
        name,
        arguments,
        span,
    };
    Statement::Field(Box::new(Field {
        repeat,
        annotations: member.annotations,
        ..Field::plain(member.name, field_type)
    }))
}

/// How many bytes that the compiler left out.
fn padding<'a>(text: &'a str, bytes: u64, layout: Span) -> Statement<'a> {
    let name = |text| Ident { text, span: layout };
    let length = Expr::new(ExprKind::Integer(i128::from(bytes)), layout);
    let field_type = TypeRef {
        name: name("bytes"),
        arguments: Some(vec![length]),
        span: layout,
    };
    Statement::Field(Box::new(Field {
        gap: Some(bytes as usize),
        ..Field::plain(name(text), field_type)
    }))
}
