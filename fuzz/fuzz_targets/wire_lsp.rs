//! Any text in an editor: the language server answers every request about it.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use netreel_wire_lsp::{Capture, CapturedPacket, Notification, OpenCapture, Request, Server};
use serde_json::{Value, json};

const URI: &str = "file:///no/such/folder/a.wire";

struct One;

impl OpenCapture for One {
    fn open(&mut self, _: &Path) -> Result<Capture, String> {
        let packet = CapturedPacket {
            from: ([10, 0, 0, 1], 5000).into(),
            to: ([10, 0, 0, 2], 7777).into(),
            payload: vec![0x47; 40],
        };
        Ok(Capture {
            name: "one".to_owned(),
            packets: vec![packet],
            has_more: false,
        })
    }
}

fuzz_target!(|input: (&str, u8, u8)| {
    let (text, line, character) = input;
    let mut one = One;
    let mut server = Server::new(&mut one);
    let mut ask = |method: &str, params: Value| {
        let request = Request::new(1.into(), method.to_owned(), params);
        assert!(!server.take(request.into()).is_empty(), "{method}");
        server.settle();
    };
    ask(
        "initialize",
        json!({ "initializationOptions": { "capture": "one" } }),
    );
    let document = json!({ "uri": URI, "languageId": "netreel", "version": 1, "text": text });
    let open = json!({ "textDocument": document });
    server.take(Notification::new("textDocument/didOpen".to_owned(), open).into());
    server.settle();
    for method in [
        "hover",
        "completion",
        "definition",
        "references",
        "documentSymbol",
        "formatting",
        "prepareRename",
        "rename",
    ] {
        let params = json!({
            "textDocument": { "uri": URI },
            "position": { "line": line, "character": character },
            "newName": "another",
        });
        let request = Request::new(2.into(), format!("textDocument/{method}"), params);
        assert_eq!(server.take(request.into()).len(), 1, "{method}");
    }
});
