//! Whatever stands in a document, every request has an answer.

use std::path::Path;

use netreel_wire_lsp::{
    Capture, CapturedPacket, Message, Notification, OpenCapture, Request, Response, Server,
};
use proptest::prelude::*;
use serde_json::{Value, json};

const URI: &str = "file:///no/such/folder/a.wire";

/// A capture of a few packets.
struct Few;

impl OpenCapture for Few {
    fn open(&mut self, _: &Path) -> Result<Capture, String> {
        let payloads = [vec![], vec![0; 9], vec![0xb0; 40], vec![0xff; 40]];
        let packet = |payload| CapturedPacket {
            from: ([10, 0, 0, 1], 5000).into(),
            to: ([10, 0, 0, 2], 7777).into(),
            payload,
        };
        Ok(Capture {
            name: "few".to_owned(),
            packets: payloads.map(packet).to_vec(),
            has_more: false,
        })
    }
}

struct Client<'o> {
    server: Server<'o>,
    next: i32,
}

impl<'o> Client<'o> {
    fn new(opener: &'o mut Few) -> Client<'o> {
        let server = Server::new(opener);
        let mut client = Client { server, next: 0 };
        client.ask(
            "initialize",
            json!({ "initializationOptions": { "capture": "few" } }),
        );
        client
    }

    fn note(&mut self, method: &str, params: Value) {
        let note = Notification::new(method.to_owned(), params);
        let answers = self.server.take(note.into());
        assert!(answers.is_empty());
        self.server.settle();
    }

    fn ask(&mut self, method: &str, params: Value) -> Response {
        self.next += 1;
        let request = Request::new(self.next.into(), method.to_owned(), params);
        let mut answers = self.server.take(request.into()).into_iter();
        match answers.next() {
            Some(Message::Response(response)) => response,
            other => panic!("{method}: {other:?}"),
        }
    }

    /// Opens a text and asks everything at some places.
    fn look(&mut self, text: &str, places: &[(u32, u32)]) {
        let document = json!({ "uri": URI, "languageId": "netreel", "version": 1, "text": text });
        self.note("textDocument/didOpen", json!({ "textDocument": document }));
        let document = json!({ "uri": URI });
        for method in ["textDocument/documentSymbol", "textDocument/formatting"] {
            self.ask(method, json!({ "textDocument": document, "options": {} }));
        }
        for &(line, character) in places {
            let position = json!({ "line": line, "character": character });
            for method in [
                "textDocument/hover",
                "textDocument/completion",
                "textDocument/definition",
                "textDocument/references",
                "textDocument/prepareRename",
                "textDocument/rename",
            ] {
                let params = json!({
                    "textDocument": document,
                    "position": position,
                    "newName": "another",
                    "context": { "includeDeclaration": true },
                });
                self.ask(method, params);
            }
        }
    }
}

fn samples() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples/wires");
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .expect("the samples")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    found.sort();
    let texts = found.iter().map(std::fs::read_to_string);
    texts.map(|text| text.expect("a wire")).collect()
}

/// Where a text ends.
fn end_of(text: &str) -> (u32, u32) {
    let line = text.matches('\n').count() as u32;
    let last = text.rsplit('\n').next().unwrap_or_default();
    (line, last.encode_utf16().count() as u32)
}

/// At how many places each sample is cut: `NETREEL_CUTS`, 100 if that says nothing.
fn cuts() -> usize {
    let asked = std::env::var("NETREEL_CUTS").ok();
    asked.map_or(100, |text| text.parse().expect("NETREEL_CUTS is a number"))
}

#[test]
fn a_wire_that_is_cut_anywhere_has_answers() {
    let mut few = Few;
    let mut client = Client::new(&mut few);
    for text in samples() {
        // Every place of a short wire; of a long one so many that all kinds of places are there.
        let step = 1 + text.len() / cuts();
        for end in (0..text.len()).step_by(step) {
            if let Some(cut) = text.get(..end) {
                client.look(cut, &[end_of(cut)]);
            }
        }
    }
}

#[test]
fn what_is_made_of_itself_has_answers() {
    let mut few = Few;
    let mut client = Client::new(&mut few);
    for text in [
        "enum A: A { x }",
        "enum A: B { x } enum B: A { y }",
        "flags A: B { x } flags B: A { y }",
        "enum A: B { x } struct B { a: A; }",
        "struct A { a: A; }",
        "alias A = B; alias B = A; struct C { a: A; }",
    ] {
        client.look(text, &[(0, 5), (0, 8), end_of(text)]);
    }
}

#[test]
fn every_place_of_a_wire_has_answers() {
    let mut few = Few;
    let mut client = Client::new(&mut few);
    let text = &samples()[0];
    let places: Vec<(u32, u32)> = (0u32..)
        .zip(text.lines())
        .flat_map(|(line, text)| (0..text.len() as u32).step_by(5).map(move |at| (line, at)))
        .collect();
    // A rename compiles the wire; every place would take long.
    client.look(text, &[]);
    for (line, character) in places {
        for method in ["hover", "completion", "definition", "references"] {
            let params = json!({
                "textDocument": { "uri": URI },
                "position": { "line": line, "character": character },
            });
            let answer = client.ask(&format!("textDocument/{method}"), params);
            assert!(answer.response_kind_is_ok(), "{method} {line}:{character}");
        }
    }
}

/// Whether a response is an answer and no refusal.
trait IsOk {
    fn response_kind_is_ok(&self) -> bool;
}

impl IsOk for Response {
    fn response_kind_is_ok(&self) -> bool {
        serde_json::to_value(self).is_ok_and(|it| it.get("error").is_none())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_has_answers(text in "\\PC{0,300}", line in 0u32..4, character in 0u32..80) {
        let mut few = Few;
        Client::new(&mut few).look(&text, &[(line, character), (0, 0), end_of(&text)]);
    }

    #[test]
    fn a_wire_after_any_edits_has_answers(
        sample in 0usize..100,
        edits in prop::collection::vec((0u32..500, 0u32..60, 0u32..3, 0u32..90, "[a-z@.;:{}()\\[\\]\"/\\*\u{1f600}\n -]{0,6}"), 1..6),
    ) {
        let mut few = Few;
        let mut client = Client::new(&mut few);
        let samples = samples();
        client.look(&samples[sample % samples.len()], &[]);
        for (line, character, lines, end, text) in edits {
            let change = json!({
                "range": {
                    "start": { "line": line, "character": character },
                    "end": { "line": line + lines, "character": end },
                },
                "text": text,
            });
            let document = json!({ "uri": URI, "version": 2 });
            client.note("textDocument/didChange", json!({ "textDocument": document, "contentChanges": [change] }));
            let place = json!({ "line": line, "character": character });
            for method in ["hover", "completion", "definition", "formatting", "documentSymbol"] {
                client.ask(&format!("textDocument/{method}"), json!({ "textDocument": document, "position": place }));
            }
        }
    }
}
