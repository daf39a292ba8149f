//! Do the annotations of a whole wire fit together? Each fact of a packet, and each fact of a
//! message, has one place at most on every way through it.

use std::collections::{BTreeMap, BTreeSet};

use super::Checker;
use super::model::{Enum, FieldId, Protocol, RangeOf, Step, Struct, StructId, Type, held};
use super::vocabulary::Subject;
use crate::facts::Meaning;
use crate::report::Span;
use crate::syntax::ast::{self, fields};

/// A struct that is gone through, and what is known of those that it holds.
#[derive(Clone, Copy)]
struct Walk<'w, 'a> {
    structure: &'w Struct,
    declared: &'w [&'w ast::Field<'a>],
    says: &'w [Says],
    structs: &'w [Struct],
}

/// What a struct can say, in itself or in what it holds, outside the messages that it holds.
#[derive(Clone, Debug, Default)]
struct Says {
    /// Each meaning with the place of an annotation that gives it.
    meanings: BTreeMap<Meaning, Span>,
    /// A message that it holds.
    message: Option<StructId>,
    /// A message that it holds and that cannot stand in another one.
    alone: Option<StructId>,
    /// A range of packets that it holds.
    range: Option<StructId>,
    /// The place of a property of an object.
    property: Option<Span>,
}

impl<'a> Checker<'a, '_> {
    /// Checks the annotations of all structs and enums, fills in what enums mean, and finds the
    /// struct that a joined message is.
    pub(super) fn check_meanings(
        &mut self,
        protocols: &mut [Protocol],
        structs: &[Struct],
        children_first: &[StructId],
        enums: &mut [Enum],
    ) {
        self.check_enum_uses(structs, enums);
        let file = self.file;
        let declared: Vec<Vec<&ast::Field<'a>>> = file
            .structs
            .iter()
            .map(|structure| fields(&structure.body))
            .collect();
        for (index, structure) in structs.iter().enumerate().filter(|(_, s)| s.recursive) {
            self.check_recursive(structure, &declared[index], index);
        }
        let mut says: Vec<Says> = vec![Says::default(); structs.len()];
        for &id in children_first {
            let index = id.0 as usize;
            let structure = &structs[index];
            let mut found = Says::default();
            let walk = Walk {
                structure,
                declared: &declared[index],
                says: &says,
                structs,
            };
            self.walk(&structure.body, walk, &mut found);
            let name = file.structs[index].name.span;
            if let Some(range) = structure.range {
                self.check_range(structure, range, &found, name, structs);
            } else {
                self.check_no_range(structure, &found);
            }
            if structure.is_message {
                self.check_message(structure, &found, name, structs);
            }
            says[index] = found;
        }
        self.check_values(structs);
        let read = |protocol: &Protocol| std::iter::once(protocol.root).chain(protocol.joined);
        let roots: BTreeSet<StructId> = protocols.iter().flat_map(read).collect();
        for root in roots {
            let structure = &structs[root.0 as usize];
            if !structure.is_message && structure.range.is_none() {
                self.check_root(structure, &says[root.0 as usize]);
            }
        }
        for protocol in protocols {
            let found = joined(protocol.root, structs, &says, children_first);
            protocol.joined = protocol.joined.or(found);
        }
    }

    /// Outside messages nothing says something of a message.
    fn check_root(&mut self, root: &Struct, said: &Says) {
        let of_messages = |meaning: &Meaning| meaning.subject() == Subject::Message;
        let meanings = said.meanings.iter().filter(|(it, _)| of_messages(it));
        let meanings = meanings.map(|(meaning, &span)| (meaning.spelled(), span));
        for (word, span) in meanings.chain(said.property.map(|span| ("property", span))) {
            self.report(span, format!("`@{word}` is outside any message"))
                .label(format!(
                    "`{}` holds this outside its `@message` structs",
                    root.name
                ))
                .help("put `@message` on the struct that is one message");
        }
    }

    fn check_enum_uses(&mut self, structs: &[Struct], enums: &mut [Enum]) {
        let file = self.file;
        let mut uses = BTreeSet::new();
        for field in structs.iter().flat_map(|structure| &structure.fields) {
            if let (Some(meaning), &Type::Enum(id)) = (field.meaning, &field.field_type) {
                uses.insert((id.0 as usize, meaning));
            }
        }
        for (index, declared) in file.enums.iter().enumerate() {
            let is_kind = uses.contains(&(index, Meaning::MessageKind));
            let is_rules = uses.contains(&(index, Meaning::Rules));
            self.member_annotations(declared, &mut enums[index], is_kind, is_rules);
        }
    }

    fn check_recursive(&mut self, structure: &Struct, declared: &[&ast::Field<'a>], index: usize) {
        if structure.is_message || structure.range.is_some() {
            let span = self.file.structs[index].name.span;
            let what = if structure.is_message {
                "a message"
            } else {
                "a range"
            };
            self.report(span, format!("{what} cannot hold itself"))
                .label("this struct can");
        }
        let annotated = structure.fields.iter().zip(declared);
        for (_, field) in annotated.filter(|(field, _)| field.meaning.is_some()) {
            let Some(annotation) = field.annotations.first() else {
                continue;
            };
            let message = format!("`@{}` can be there several times", annotation.name.text);
            self.report(annotation.span, message)
                .label(format!("the struct `{}` can hold itself", structure.name));
        }
    }

    fn check_message(&mut self, structure: &Struct, said: &Says, name: Span, structs: &[Struct]) {
        if let Some(inner) = said.alone {
            let inner = &structs[inner.0 as usize].name;
            self.report(name, "a message cannot hold this message")
                .label(format!("`{}` holds the message `{inner}`", structure.name))
                .help("only a message with an `@object` that holds no other one stands in another");
        }
        if let Some(range) = said.range {
            let range = &structs[range.0 as usize].name;
            self.report(name, "a message cannot hold a range of packets")
                .label(format!("`{}` holds the range `{range}`", structure.name))
                .help("where a message acks another one, that is `@acknowledges`");
        }
        self.check_property_of_message(said.property, &said.meanings, structure, name);
        let of_packets = |meaning: &Meaning| meaning.subject() == Subject::Packet;
        for (meaning, &span) in said.meanings.iter().filter(|(m, _)| of_packets(m)) {
            let message = format!("`@{}` is inside a message", meaning.spelled());
            self.report(span, message)
                .label("it says something of a whole packet")
                .related(name, "the message");
        }
    }

    /// A range has a first packet, and nothing but that and a last one.
    fn check_range(
        &mut self,
        structure: &Struct,
        range: RangeOf,
        said: &Says,
        name: Span,
        structs: &[Struct],
    ) {
        if let Some(inner) = said.message.or(said.range) {
            let inner = &structs[inner.0 as usize].name;
            let message = "a range of packets holds only numbers";
            self.report(name, message)
                .label(format!("`{}` holds `{inner}`", structure.name));
        }
        let (mut has_first, mut inner) = (false, None);
        for (&meaning, &span) in &said.meanings {
            has_first |= meaning == Meaning::AckFirst.of_range(Some(range));
            if meaning.subject() != Subject::Range {
                inner = inner.or(Some((meaning, span)));
            }
        }
        let own = |meaning: Meaning| structure.fields.iter().any(|f| f.meaning == Some(meaning));
        if let Some((meaning, span)) = inner {
            let message = format!("`@{}` is inside a range of packets", meaning.spelled());
            self.report(span, message)
                .label("expected `@range_first` or `@range_last`")
                .related(name, "the range");
        } else if !has_first {
            self.report(name, "this range has no first packet")
                .label("expected a field with `@range_first`");
        } else if !own(Meaning::AckFirst.of_range(Some(range))) {
            self.report(name, "this range has its first packet in another struct")
                .label("expected `@range_first` on a field of its own");
        }
    }

    fn check_no_range(&mut self, structure: &Struct, said: &Says) {
        let own = |meaning: Meaning| structure.fields.iter().any(|f| f.meaning == Some(meaning));
        for (&meaning, &span) in &said.meanings {
            if meaning.subject() == Subject::Range && own(meaning) {
                let message = format!("`@{}` is outside any range", meaning.spelled());
                self.report(span, message)
                    .label("expected it in an `@ack_range` or `@nack_range` struct")
                    .help(format!(
                        "put `@ack_range` on `struct {}` if each value of it is one range",
                        structure.name
                    ));
            }
        }
    }

    /// Adds what steps can say to `found`, and reports what they say a second time.
    fn walk(&mut self, steps: &[Step], walk: Walk<'_, 'a>, found: &mut Says) {
        for step in steps {
            match step {
                Step::Align { .. } | Step::ByteOrder { .. } | Step::Set(_) => {}
                Step::Join(join) => self.walk_field(join.field, walk, found),
                Step::Follow(follow) => self.walk_field(follow.field, walk, found),
                Step::Window { body, .. } => self.walk(body, walk, found),
                Step::Field(id) => self.walk_field(*id, walk, found),
                Step::If {
                    then, otherwise, ..
                } => {
                    let mut other = found.clone();
                    self.walk(then, walk, found);
                    self.walk(otherwise, walk, &mut other);
                    found.join(other);
                }
                Step::Switch { arms, default, .. } => {
                    let before = found.clone();
                    let bodies = arms.iter().map(|(_, steps)| steps).chain(default);
                    for steps in bodies {
                        let mut arm = before.clone();
                        self.walk(steps, walk, &mut arm);
                        found.join(arm);
                    }
                }
            }
        }
    }

    fn walk_field(&mut self, id: FieldId, walk: Walk<'_, 'a>, found: &mut Says) {
        let Walk {
            structure,
            declared,
            says,
            structs,
        } = walk;
        let field = structure.field(id);
        let Some(declared) = declared.get(id.0 as usize) else {
            return;
        };
        if let (Some(meaning), Some(annotation)) = (field.meaning, declared.annotations.first()) {
            self.say(found, meaning.of_any_promise(), annotation.span, None);
        }
        let own = declared.annotations.first().map(|it| it.span);
        let property = own.filter(|_| field.property.is_some());
        found.property = found.property.or(property);
        let Type::Struct(inner) = field.field_type else {
            return;
        };
        let (held, said) = (&structs[inner.0 as usize], &says[inner.0 as usize]);
        if let Some(property) = property {
            self.check_inside_property(property, held, said);
        }
        if held.is_message {
            let is_part = said.meanings.contains_key(&Meaning::Object) && said.message.is_none();
            found.message = Some(inner);
            found.alone = found.alone.or((!is_part).then_some(inner));
            return;
        }
        if held.range.is_some() {
            found.range = Some(inner);
            return;
        }
        found.message = found.message.or(said.message);
        found.alone = found.alone.or(said.alone);
        found.range = found.range.or(said.range);
        found.property = found.property.or(said.property);
        for (&meaning, &span) in &said.meanings {
            if let Some(repeat) = &declared.repeat {
                let message = format!("`@{}` can be there several times", meaning.spelled());
                self.report(repeat.span, message)
                    .label(format!("`{}` is repeated", field.name))
                    .related(span, "and holds this");
                continue;
            }
            self.say(found, meaning, span, Some(declared.name.span));
        }
    }

    /// A property is made of plain values.
    fn check_inside_property(&mut self, property: Span, inner: &Struct, said: &Says) {
        if let Some(span) = said.property {
            self.report(span, "a property cannot hold another property")
                .label(format!("`{}` is a part of one", inner.name))
                .related(property, "the property");
        }
        if inner.is_message || said.message.is_some() {
            self.report(property, "a property cannot hold messages")
                .label(format!("`{}` is or holds a message", inner.name));
        }
    }

    fn say(&mut self, found: &mut Says, meaning: Meaning, span: Span, through: Option<Span>) {
        let first_of_range = match meaning {
            Meaning::AckLast => Some(Meaning::AckFirst),
            Meaning::NackLast => Some(Meaning::NackFirst),
            _ => None,
        };
        if first_of_range.is_some_and(|first| !found.meanings.contains_key(&first)) {
            self.report(span, "the last packet of a range comes before its first")
                .label("expected `@range_first` on a field before this one");
        }
        let Some(first) = found.meanings.insert(meaning, span) else {
            return;
        };
        let message = format!("`@{}` can be there twice", meaning.spelled());
        let label = match through {
            None => "expected one such field on every way through",
            Some(_) => "the second comes with this field",
        };
        self.report_again(through.unwrap_or(span), message, label, first);
    }
}

/// The struct that a joined message of a protocol is: of the messages that its packets hold, the
/// one that can hold fragments, or else the first.
fn joined(
    root: StructId,
    structs: &[Struct],
    says: &[Says],
    children_first: &[StructId],
) -> Option<StructId> {
    let held = held([root], structs);
    let is_message = |id: &StructId| {
        let structure = &structs[id.0 as usize];
        // What its user gives it is not in the joined bytes.
        structure.is_message && structure.parameters.is_empty() && held.contains(id)
    };
    let mut messages = children_first.iter().copied().filter(is_message);
    let has_fragments = |id: &StructId| {
        let meanings = &says[id.0 as usize].meanings;
        meanings.contains_key(&Meaning::FragmentData)
    };
    let first = messages.clone().min();
    messages.find(has_fragments).or(first)
}

impl Says {
    fn join(&mut self, other: Says) {
        self.message = self.message.or(other.message);
        self.alone = self.alone.or(other.alone);
        self.range = self.range.or(other.range);
        self.property = self.property.or(other.property);
        for (meaning, span) in other.meanings {
            self.meanings.entry(meaning).or_insert(span);
        }
    }
}
