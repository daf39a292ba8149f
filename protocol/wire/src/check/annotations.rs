//! Annotations: known words only, in their place, once, with the right arguments.

use std::collections::BTreeMap;

use super::Checker;
use super::model::{Enum, RangeOf, Type};
use super::vocabulary::{Known, Place, Word, vocabulary};
use crate::facts::{Kind, Meaning, Role};
use crate::report::Span;
use crate::said_back::SaidBack;
use crate::suggest::nearest;
use crate::syntax::ast::{self, Annotation, ExprKind, Ident, Struct};

/// What the annotations of a field say.
#[derive(Clone, Debug, Default)]
pub(super) struct FieldSays {
    pub meaning: Option<Meaning>,
    /// The place in the wire's properties.
    pub property: Option<u16>,
    pub is_value: bool,
    pub said_back: SaidBack,
    /// It is another thing in each copy of its message.
    pub is_per_copy: bool,
}

impl<'a> Checker<'a, '_> {
    /// What a field means.
    pub(super) fn field_annotations(
        &mut self,
        field: &ast::Field<'a>,
        field_type: &Type,
    ) -> FieldSays {
        let mut meaning: Option<(Meaning, Span)> = None;
        let mut taken = BTreeMap::new();
        let mut says = FieldSays::default();
        let mut of_object: Option<Span> = None;
        for annotation in &field.annotations {
            self.claim_annotation(&mut taken, annotation);
            let found = match self.word(annotation, Place::Field) {
                Some(Word::Meaning(found)) => found,
                Some(word @ (Word::Gives | Word::Takes)) => {
                    self.said_back(annotation, word, (field, field_type), &mut says.said_back);
                    continue;
                }
                Some(Word::PerCopy) => {
                    self.no_arguments(annotation);
                    says.is_per_copy = true;
                    continue;
                }
                Some(word @ (Word::Property | Word::Value)) => {
                    if let Some(first) = of_object.or(meaning.map(|(_, span)| span)) {
                        self.report_second_meaning(annotation.span, first);
                    }
                    of_object = Some(annotation.span);
                    match word {
                        Word::Property => {
                            says.property = self.property(annotation, field, field_type);
                        }
                        _ => {
                            self.no_arguments(annotation);
                            says.is_value = self.is_value(annotation, field, field_type);
                        }
                    }
                    continue;
                }
                _ => continue,
            };
            let found = self.promised(annotation, found);
            if let Some((first, span)) = meaning {
                if first != found {
                    self.report_second_meaning(annotation.span, span);
                }
                continue;
            }
            if let Some(first) = of_object {
                self.report_second_meaning(annotation.span, first);
            }
            meaning = Some((found, annotation.span));
            if matches!(field_type, Type::Broken) {
                continue;
            }
            let (accepts, expected) = found.accepts(field_type);
            if !accepts {
                let spelled = field.field_type.span.text(self.text);
                let message = format!(
                    "`@{}` cannot be on a field of type `{spelled}`",
                    found.spelled()
                );
                let type_span = field.field_type.span;
                self.report(annotation.span, message)
                    .label(format!("expected {expected}"))
                    .related(type_span, "the field's type");
            }
            self.check_not_repeated(annotation, field);
        }
        says.meaning = meaning.map(|(meaning, _)| meaning);
        says
    }

    /// What a field means with the word behind its annotation: `@reliable_sequence(unordered)`.
    fn promised(&mut self, annotation: &Annotation<'a>, meaning: Meaning) -> Meaning {
        let promises = meaning.promises();
        let argument = match annotation.arguments.as_slice() {
            [] => return meaning,
            [argument] if !promises.is_empty() => argument,
            [_, second, ..] if !promises.is_empty() => {
                let message = format!("`@{}` promises one thing", annotation.name.text);
                self.report(second.span, message)
                    .label("expected nothing after the first");
                return meaning;
            }
            _ => {
                self.no_arguments(annotation);
                return meaning;
            }
        };
        let cannot_be = format!("`@{}` cannot be", annotation.name.text);
        let promised = self.one_of(
            Ident::spelled(argument.span, self.text),
            promises,
            &cannot_be,
        );
        promised.unwrap_or(meaning)
    }

    pub(super) fn check_not_repeated(
        &mut self,
        annotation: &Annotation<'a>,
        field: &ast::Field<'a>,
    ) {
        if let Some(repeat) = &field.repeat {
            let name = annotation.name.text;
            let message = format!("`@{name}` cannot be on a repeated field");
            self.report(annotation.span, message)
                .label("expected a single field")
                .related(repeat.span, "repeated here");
        }
    }

    fn report_second_meaning(&mut self, span: Span, first: Span) {
        self.report_again(
            span,
            "a field means one thing",
            "expected one annotation",
            first,
        );
    }

    /// Whether a struct is a message, or a range of packets.
    pub(super) fn struct_annotations(&mut self, structure: &Struct<'a>) -> (bool, Option<RangeOf>) {
        let mut found: Option<(Word, Span)> = None;
        let mut taken = BTreeMap::new();
        for annotation in &structure.annotations {
            self.claim_annotation(&mut taken, annotation);
            let Some(word) = self.word(annotation, Place::Struct) else {
                continue;
            };
            self.no_arguments(annotation);
            match found {
                Some((first, span)) if first != word => {
                    self.report_again(
                        annotation.span,
                        "a struct means one thing",
                        "expected one annotation",
                        span,
                    );
                }
                _ => found = Some((word, annotation.span)),
            }
        }
        match found {
            Some((Word::Message, _)) => (true, None),
            Some((Word::Range(of), _)) => (false, Some(of)),
            _ => (false, None),
        }
    }

    /// The annotations of an enum's members, as far as they make sense where it is used:
    /// `kind_field` and `rules_field` are fields that use it.
    pub(super) fn member_annotations(
        &mut self,
        declared: &ast::Enum<'a>,
        checked: &mut Enum,
        is_kind: bool,
        is_rules: bool,
    ) {
        if is_kind {
            checked.first_kind = Some(self.kinds.len() as u16);
        }
        for (member, checked) in declared.members.iter().zip(&mut checked.members) {
            let mut taken = BTreeMap::new();
            let mut role: Option<(Role, Span)> = None;
            let mut color = None;
            for annotation in &member.annotations {
                self.claim_annotation(&mut taken, annotation);
                match self.word(annotation, Place::Member) {
                    Some(Word::RulesOf) => {
                        if !is_rules {
                            self.report_unused(annotation, declared, "rules");
                        }
                        checked.rules = self.rules_argument(annotation);
                    }
                    Some(Word::Color) => {
                        if !is_kind {
                            self.report_unused(annotation, declared, "message_kind");
                        }
                        color = self.color_argument(annotation);
                    }
                    Some(Word::Role(found)) => {
                        self.no_arguments(annotation);
                        if !is_kind {
                            self.report_unused(annotation, declared, "message_kind");
                        }
                        match role {
                            Some((first, span)) if first != found => {
                                self.report_again(
                                    annotation.span,
                                    "a message kind does one thing",
                                    "expected one of these annotations",
                                    span,
                                );
                            }
                            _ => role = Some((found, annotation.span)),
                        }
                    }
                    _ => {}
                }
            }
            if is_kind {
                let name = member.name.text.to_owned();
                let role = role.map_or(Role::Other, |(role, _)| role);
                self.kinds.push(Kind { name, role, color });
            }
        }
        if self.kinds.len() > usize::from(u16::MAX) {
            self.report(
                declared.name.span,
                "there are more than 65535 message kinds",
            );
        }
    }

    /// The word of an annotation, if it is one and stands in its place.
    fn word(&mut self, annotation: &Annotation<'a>, place: Place) -> Option<Word> {
        let spelled = annotation.name.text;
        let mut same = vocabulary().filter(|known| known.spelled() == spelled);
        let first = same.clone().next();
        let Some(found) = same.find(|known| known.place() == place).or(first) else {
            let (here, elsewhere): (Vec<_>, Vec<_>) =
                vocabulary().partition(|known| known.place() == place);
            let names = here.iter().chain(&elsewhere);
            let nearest = nearest(spelled, names.map(Known::spelled));
            let message = format!("there is no annotation `@{spelled}`");
            let report = self.report(annotation.span, message);
            report.label("expected an annotation of the vocabulary");
            if let Some(nearest) = nearest {
                report.help(format!("did you mean `@{nearest}`?"));
            }
            return None;
        };
        if found.place() == place {
            return Some(found.word);
        }
        let message = format!("`@{spelled}` cannot be on {}", place.shown());
        let label = format!("it belongs on {}", found.place().shown());
        self.refuse(annotation.span, message, label)
    }

    fn claim_annotation(
        &mut self,
        taken: &mut BTreeMap<&'a str, Span>,
        annotation: &Annotation<'a>,
    ) {
        if let Some(first) = taken.insert(annotation.name.text, annotation.span) {
            let message = format!("`@{}` is given twice", annotation.name.text);
            self.report_again(annotation.span, message, "expected it once", first);
        }
    }

    pub(super) fn no_arguments(&mut self, annotation: &Annotation<'a>) {
        if let Some(argument) = annotation.arguments.first() {
            let name = annotation.name.text;
            self.report(argument.span, format!("`@{name}` takes no arguments"))
                .label(format!("expected `@{name}`"));
        }
    }

    fn report_unused(&mut self, annotation: &Annotation<'a>, declared: &ast::Enum<'a>, on: &str) {
        let name = declared.name.text;
        let message = format!("`@{}` has no effect here", annotation.name.text);
        self.report(annotation.span, message)
            .label(format!("no field of type `{name}` is `@{on}`"))
            .help(format!("put `@{on}` on the field of type `{name}`"));
    }

    fn rules_argument(&mut self, annotation: &Annotation<'a>) -> Option<u16> {
        let [argument] = annotation.arguments.as_slice() else {
            let message = "`@rules` on a member names the rules it stands for";
            return self.refuse(annotation.span, message, "expected `@rules(NAME)`");
        };
        let name = Ident::spelled(argument.span, self.text);
        let seen = self.seen_from(name.span);
        if self.rules_names.all(name.text, seen).count() > 1 {
            let message = format!("`{}` stands for the rules of two files", name.text);
            let expected = "expected a name that one file declares";
            return self.refuse(name.span, message, expected);
        }
        self.named(|checker| &checker.rules_names, name, "there are no rules")
    }

    fn color_argument(&mut self, annotation: &Annotation<'a>) -> Option<[u8; 3]> {
        let color = match annotation.arguments.as_slice() {
            [argument] => match &argument.kind {
                ExprKind::Text(text) => color(text),
                _ => None,
            },
            _ => None,
        };
        if color.is_none() {
            self.report(annotation.span, "this is not a colour")
                .label("expected red, green and blue in hexadecimal: `@color(\"#2a9d8f\")`");
        }
        color
    }
}

/// `#rrggbb`
fn color(text: &str) -> Option<[u8; 3]> {
    let digits = text.strip_prefix('#')?;
    if digits.len() != 6 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let number = u32::from_str_radix(digits, 16).ok()?;
    let [_, red, green, blue] = number.to_be_bytes();
    Some([red, green, blue])
}
