//! `test` blocks: known settings, the protocols and structs that they name, values as JSON.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::Checker;
use super::model::{Protocol, StructId, Test};
use crate::report::Span;
use crate::syntax::ast::{self, Ident, Pattern, PatternKind, Setting};

pub(super) const SETTINGS: [&str; 8] = [
    "bytes",
    "value",
    "part",
    "wire",
    "root",
    "ports",
    "state",
    "diagnostics",
];

impl<'a> Checker<'a, '_> {
    pub(super) fn check_tests(&mut self, protocols: &[Protocol]) -> Vec<Test> {
        let file = self.file;
        let mut taken = vec![BTreeMap::new(); self.files.len()];
        let mut tests = Vec::new();
        for test in &file.tests {
            if self.has_enough() {
                break;
            }
            let of = self.file_of(test.span);
            if let Some(first) = taken[of].insert(test.name, test.span) {
                self.report_again(
                    test.span,
                    "two tests have this name",
                    "expected another name",
                    first,
                );
            }
            tests.extend(self.check_test(test, protocols));
        }
        tests
    }

    fn check_test(&mut self, test: &ast::Test<'a>, protocols: &[Protocol]) -> Option<Test> {
        let mut found: BTreeMap<&str, &Setting<'a, Pattern<'a>>> = BTreeMap::new();
        for setting in &test.settings {
            let name = setting.name;
            if !SETTINGS.contains(&name.text) {
                let message = format!("a test has no setting `{}`", name.text);
                self.report_choice(name.span, message, name.text, SETTINGS);
            } else if let Some(first) = found.insert(name.text, setting) {
                let first = first.name.span;
                self.report_again(
                    name.span,
                    format!("`{}` is set twice", name.text),
                    "expected it once",
                    first,
                );
            }
            if let (false, Some(second)) = (name.text == "ports", setting.more.first()) {
                self.report(second.span, format!("`{}` has one value", name.text))
                    .label("expected nothing after the first");
            }
        }
        let one = |name: &str| found.get(name).map(|setting| &setting.value);
        let bytes = match one("bytes").map(|value| (&value.kind, value.span)) {
            Some((PatternKind::Bytes(bytes), _)) => Some(bytes.clone()),
            Some((_, span)) => {
                self.report(span, "the packet of a test is bytes")
                    .label("expected bytes such as `x\"0a ff\"`");
                None
            }
            None => {
                self.report(test.span, "this test has no packet")
                    .label("expected the setting `bytes`");
                None
            }
        };
        let value = one("value").and_then(|value| self.fields(value));
        let part = one("part").and_then(|value| self.fields(value));
        if ["value", "part", "diagnostics"]
            .iter()
            .all(|name| one(name).is_none())
        {
            self.report(test.span, "this test expects nothing")
                .label("expected the setting `value` or `part`");
        }
        let protocol = one("wire").and_then(|value| self.protocol_named(value, protocols));
        let root = one("root").and_then(|value| self.root_named(value));
        let ports = found.get("ports").map(|setting| self.two_ports(setting));
        let state = one("state").and_then(|value| self.fields(value));
        let diagnostics = one("diagnostics").and_then(|value| self.count(value));
        let (file, _) = self.files.file(self.file_of(test.span));
        let line = self.files.line(test.span.start as usize);
        Some(Test {
            name: test.name.to_owned(),
            file: file.to_owned(),
            line: line as u32,
            bytes: bytes?,
            value,
            part,
            protocol,
            own: self.own_protocols(self.file_of(test.span), protocols),
            root,
            ports: ports.flatten(),
            state,
            diagnostics: diagnostics.unwrap_or(0),
        })
    }

    /// The protocols that a file sees, or all.
    fn own_protocols(&self, file: usize, protocols: &[Protocol]) -> Vec<u16> {
        let sees = |of: usize| of == file || self.imported[file].contains(&of);
        let all = || (0..).zip(protocols);
        let own: Vec<u16> = all()
            .filter(|(_, each)| sees(each.file))
            .map(|(place, _)| place)
            .collect();
        match own.is_empty() {
            true => all().map(|(place, _)| place).collect(),
            false => own,
        }
    }

    fn fields(&mut self, value: &Pattern<'a>) -> Option<Json> {
        if let PatternKind::Fields(_) = value.kind {
            return Some(json(value));
        }
        self.report(value.span, "this is not a struct")
            .label("expected fields: `{ name: value, ... }`");
        None
    }

    fn protocol_named(&mut self, value: &Pattern<'a>, protocols: &[Protocol]) -> Option<u16> {
        let name = self.name_of(value, "a protocol")?;
        let found = protocols.iter().position(|each| *each.name == *name);
        if found.is_none() {
            let names = protocols.iter().map(|each| each.name.as_ref());
            let message = format!("there is no protocol `{name}`");
            self.report_choice(value.span, message, name, names);
        }
        found.and_then(|place| u16::try_from(place).ok())
    }

    fn root_named(&mut self, value: &Pattern<'a>) -> Option<StructId> {
        let name = self.name_of(value, "a struct")?;
        let span = value.span;
        let name = Ident { text: name, span };
        if self.is_ambiguous(name) {
            return None;
        }
        let found = self.struct_named(name);
        if found.is_none() {
            self.report_no_struct(name);
        }
        found
    }

    fn name_of(&mut self, value: &Pattern<'a>, what: &str) -> Option<&'a str> {
        if let PatternKind::Name(name) = value.kind {
            return Some(name);
        }
        self.report(value.span, format!("this is not the name of {what}"))
            .label(format!("expected {what}"));
        None
    }

    fn two_ports(&mut self, setting: &Setting<'a, Pattern<'a>>) -> Option<(u16, u16)> {
        let port = |value: &Pattern<'a>| match value.kind {
            PatternKind::Integer(port) => u16::try_from(port).ok(),
            _ => None,
        };
        let ports: Vec<Option<u16>> = setting.values().map(port).collect();
        if let [Some(source), Some(destination)] = ports[..] {
            return Some((source, destination));
        }
        let span = setting
            .values()
            .fold(setting.name.span, |span, value| span.to(value.span));
        self.report(span, "a packet has two ports")
            .label("expected the source port, `,`, the destination port, each 0 to 65535");
        None
    }

    fn count(&mut self, value: &Pattern<'a>) -> Option<u32> {
        if let PatternKind::Integer(count) = value.kind
            && let Ok(count) = u32::try_from(count)
        {
            return Some(count);
        }
        let span: Span = value.span;
        self.report(span, "this is not a number of diagnostics")
            .label("expected 0 or more");
        None
    }
}

/// A value as the encoder reads it.
fn json(value: &Pattern<'_>) -> Json {
    match &value.kind {
        PatternKind::Fields(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(name, value)| (name.text.to_owned(), json(value)));
            Json::Object(fields.collect())
        }
        PatternKind::Elements(elements) => Json::Array(elements.iter().map(json).collect()),
        PatternKind::Integer(value) => match (i64::try_from(*value), u64::try_from(*value)) {
            (Ok(value), _) => Json::from(value),
            (_, Ok(value)) => Json::from(value),
            _ => Json::String(value.to_string()),
        },
        PatternKind::Float(value) => Json::from(*value),
        PatternKind::Bool(value) => Json::Bool(*value),
        PatternKind::Text(text) => Json::String(text.clone().into_owned()),
        PatternKind::Name(name) => Json::String((*name).to_owned()),
        PatternKind::Bytes(bytes) => Json::Object(Map::from_iter([(
            "raw".to_owned(),
            crate::json::hex(bytes),
        )])),
    }
}
