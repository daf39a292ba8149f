//! `netreel wire lsp`: a conversation over its standard input and output, in messages written by hand.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use serde_json::{Value, json};

/// A server, and what was said so far.
struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: i64,
    /// What came that is no answer.
    notes: Vec<Value>,
}

impl Server {
    fn start(arguments: &[&str]) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_netreel"))
            .args(["wire", "lsp"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("its output"));
        Server {
            child,
            input,
            output,
            next: 1,
            notes: Vec::new(),
        }
    }

    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        let input = self.input.as_mut().expect("its input");
        write!(input, "Content-Length: {}\r\n\r\n{body}", body.len()).expect("a message is sent");
        input.flush().expect("a message is sent");
    }

    fn receive(&mut self) -> Value {
        let mut length = None;
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).expect("a header");
            assert!(read > 0, "the server has ended");
            if line == "\r\n" {
                break;
            }
            if let Some(told) = line.strip_prefix("Content-Length: ") {
                length = told.trim().parse().ok();
            }
        }
        let mut body = vec![0; length.expect("a length")];
        self.output.read_exact(&mut body).expect("a message");
        serde_json::from_slice(&body).expect("JSON")
    }

    fn note(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// The whole answer to a request.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.next;
        self.next += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.receive();
            if message["id"] == id {
                return message;
            }
            self.notes.push(message);
        }
    }

    fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params);
        assert_eq!(answer.get("error"), None, "{method}");
        answer["result"].clone()
    }

    /// The next diagnostics of a document.
    fn diagnostics(&mut self, uri: &str) -> Vec<Value> {
        let is_it = |message: &Value| {
            message["method"] == "textDocument/publishDiagnostics"
                && message["params"]["uri"] == uri
        };
        let found = match self.notes.iter().position(is_it) {
            Some(known) => self.notes.remove(known),
            None => loop {
                let message = self.receive();
                if is_it(&message) {
                    break message;
                }
                self.notes.push(message);
            },
        };
        found["params"]["diagnostics"]
            .as_array()
            .expect("a list")
            .clone()
    }

    fn initialize(&mut self, options: Value) -> Value {
        let params = json!({ "capabilities": {}, "initializationOptions": options });
        let result = self.result("initialize", params);
        self.note("initialized", json!({}));
        result
    }

    fn open(&mut self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "netreel", "version": 1, "text": text });
        self.note("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// Replaces all of a document.
    fn change(&mut self, uri: &str, text: &str) {
        let params = json!({
            "textDocument": { "uri": uri, "version": 2 },
            "contentChanges": [{ "text": text }],
        });
        self.note("textDocument/didChange", params);
    }

    fn end(mut self) -> ExitStatus {
        assert_eq!(self.result("shutdown", Value::Null), Value::Null);
        self.note("exit", Value::Null);
        self.input = None;
        self.child.wait().expect("the server ends")
    }
}

/// A request about a place: the one after `before` in the text.
fn at(uri: &str, text: &str, before: &str) -> Value {
    let offset = text.find(before).unwrap_or_else(|| panic!("{before}")) + before.len();
    let line = text[..offset].matches('\n').count();
    let start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
    let character = text[start..offset].encode_utf16().count();
    json!({
        "textDocument": { "uri": uri },
        "position": { "line": line, "character": character },
    })
}

fn with(mut params: Value, name: &str, value: Value) -> Value {
    params[name] = value;
    params
}

fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// A text after the changes of an answer, whose lines are all ASCII.
fn changed(text: &str, edits: &Value) -> String {
    let mut edits = edits.as_array().expect("changes").clone();
    edits.sort_by_key(|edit| {
        let start = &edit["range"]["start"];
        (start["line"].as_u64(), start["character"].as_u64())
    });
    let offset = |position: &Value| {
        let line = position["line"].as_u64().expect("a line") as usize;
        let lines: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
        lines + position["character"].as_u64().expect("a column") as usize
    };
    let mut out = text.to_owned();
    for edit in edits.iter().rev() {
        let range = offset(&edit["range"]["start"])..offset(&edit["range"]["end"]);
        out.replace_range(range, edit["newText"].as_str().expect("a text"));
    }
    out
}

fn labels(answer: &Value) -> Vec<&str> {
    let items = answer.as_array().expect("proposals").iter();
    items.filter_map(|item| item["label"].as_str()).collect()
}

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("samples")
        .join(name)
}

const MOVES: &str = "\
import \"common/kind.wire\";

wire moves { version = 1; byte_order = little; bit_order = lsb; root = Packet; }

// What goes over the wire.
struct Packet {
    magic: u8 = 0x47;
    count: u8;                  // how many there are
    messages: Message[count];
}

struct Message @message {
    kind: Kind @message_kind;
    if (kind == Kind.gone) { object: u16 @object; }
}
";
const KIND: &str = "enum Kind : u8 {\n    move = 0 @update,\n    gone = 1 @destroy,\n}\n";

/// A folder with two files, of which the first imports the second.
fn folder() -> (tempfile::TempDir, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let moves = folder.path().join("moves.wire");
    let kind = folder.path().join("common/kind.wire");
    std::fs::create_dir(folder.path().join("common")).expect("a folder");
    std::fs::write(&moves, MOVES).expect("a file");
    std::fs::write(&kind, KIND).expect("a file");
    let (moves, kind) = (uri(&moves), uri(&kind));
    (folder, moves, kind)
}

#[test]
fn mistakes_are_told_while_somebody_types() {
    let (_folder, moves, kind) = folder();
    let mut server = Server::start(&[]);
    let able = server.initialize(Value::Null);
    assert_eq!(able["capabilities"]["textDocumentSync"]["change"], 2);
    let wrong = MOVES
        .replace("count: u8;", "/* \u{1f600} */ coumt: u8;")
        .replace("u16 @object", "u16 @objekt");
    server.open(&moves, &wrong);
    let found = server.diagnostics(&moves);
    let said: Vec<(u64, u64, &str)> = found
        .iter()
        .map(|it| {
            let start = &it["range"]["start"];
            let said = it["message"].as_str().expect("a message");
            (
                start["line"].as_u64().expect("a line"),
                start["character"].as_u64().expect("a column"),
                said,
            )
        })
        .collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!((said[0].0, said[0].1), (8, 22));
    assert!(said[0].2.contains("did you mean `coumt`?"), "{said:?}");
    assert_eq!(said[1].0, 13);
    assert!(said[1].2.contains("did you mean `@object`?"), "{said:?}");
    // A change of a few characters: `coumt` stands behind a character of two units.
    let fix = json!({
        "textDocument": { "uri": moves, "version": 2 },
        "contentChanges": [
            { "range": { "start": { "line": 7, "character": 16 }, "end": { "line": 7, "character": 17 } },
              "text": "n" },
            { "range": { "start": { "line": 13, "character": 46 }, "end": { "line": 13, "character": 47 } },
              "text": "c" },
        ],
    });
    server.note("textDocument/didChange", fix);
    assert_eq!(server.diagnostics(&moves), Vec::<Value>::new());
    // An open document goes before the file, and who imports it is looked at again.
    server.open(&kind, &KIND.replace("gone", "removed"));
    let found = server.diagnostics(&moves);
    assert!(
        found[0]["message"]
            .as_str()
            .is_some_and(|it| it.contains("no member `gone`"))
    );
    server.note(
        "textDocument/didClose",
        json!({ "textDocument": { "uri": kind } }),
    );
    assert_eq!(server.diagnostics(&moves), Vec::<Value>::new());
    assert_eq!(server.end().code(), Some(0));
}

#[test]
fn names_are_told_found_proposed_and_changed() {
    let (_folder, moves, kind) = folder();
    let mut server = Server::start(&["--stdio"]);
    server.initialize(Value::Null);
    server.open(&moves, MOVES);
    assert_eq!(server.diagnostics(&moves), Vec::<Value>::new());
    let hover = |server: &mut Server, before: &str| {
        let answer = server.result("textDocument/hover", at(&moves, MOVES, before));
        answer["contents"]["value"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let said = hover(&mut server, "Message[cou");
    assert!(
        said.contains("count: u8") && said.contains("8 bits"),
        "{said}"
    );
    assert!(said.contains("how many there are"), "{said}");
    let said = hover(&mut server, "struct Pack");
    assert!(said.contains("What goes over the wire."), "{said}");
    assert!(hover(&mut server, "@mess").contains("one message"));
    assert!(hover(&mut server, "object: u1").contains("16 bits"));

    let found = server.result("textDocument/definition", at(&moves, MOVES, "Kind.go"));
    assert_eq!(found[0]["uri"], kind.as_str());
    assert_eq!(
        found[0]["range"]["start"],
        json!({ "line": 2, "character": 4 })
    );
    let found = server.result("textDocument/definition", at(&moves, MOVES, "import \"com"));
    assert_eq!(found["uri"], kind.as_str());
    let params = with(
        at(&moves, MOVES, "kind: Ki"),
        "context",
        json!({ "includeDeclaration": true }),
    );
    let found = server.result("textDocument/references", params);
    assert_eq!(found.as_array().map(Vec::len), Some(3));

    let symbols = server.result(
        "textDocument/documentSymbol",
        json!({ "textDocument": { "uri": moves } }),
    );
    let names: Vec<&str> = symbols
        .as_array()
        .expect("names")
        .iter()
        .filter_map(|it| it["name"].as_str())
        .collect();
    assert_eq!(names, ["moves", "Packet", "Message"]);
    assert_eq!(symbols[1]["children"].as_array().map(Vec::len), Some(3));

    let ask = |server: &mut Server, text: &str, before: &str| {
        server.change(&moves, text);
        server.result("textDocument/completion", at(&moves, text, before))
    };
    let found = ask(&mut server, MOVES, "kind: Kind @");
    assert!(labels(&found).contains(&"message_kind") && !labels(&found).contains(&"color"));
    let found = ask(&mut server, MOVES, "Kind.");
    assert_eq!(labels(&found), ["move", "gone"]);
    let found = ask(&mut server, MOVES, "count: ");
    assert!(labels(&found).contains(&"leb128") && labels(&found).contains(&"Message"));
    let found = ask(&mut server, MOVES, "Message[");
    assert!(labels(&found).contains(&"count") && !labels(&found).contains(&"messages"));
    let found = ask(&mut server, MOVES, "byte_order = ");
    assert_eq!(labels(&found), ["little", "big"]);
    let found = ask(&mut server, MOVES, "import \"");
    assert_eq!(labels(&found), ["common/kind.wire", "moves.wire"]);
    let half = MOVES.replace("    messages: Message[count];\n", "    \n    al");
    let found = ask(&mut server, &half, "\n    al");
    assert!(labels(&found).contains(&"align") && labels(&found).contains(&"switch"));
    server.change(&moves, MOVES);

    let rename = |server: &mut Server, before: &str, name: &str| {
        let params = with(at(&moves, MOVES, before), "newName", json!(name));
        server.ask("textDocument/rename", params)
    };
    let answer = rename(&mut server, "Kind.go", "removed");
    let changes = &answer["result"]["changes"];
    assert!(changed(MOVES, &changes[&moves]).contains("Kind.removed"));
    assert!(changed(KIND, &changes[&kind]).contains("    removed = 1 @destroy"));
    for (before, name, why) in [
        ("count", "switch", "a word of the language"),
        ("count", "magic", "is taken"),
        ("count", "a b", "is not a name"),
        ("struct Mess", "u8", "a built-in type"),
        ("kind: Ki", "Packet", "is taken"),
    ] {
        let answer = rename(&mut server, before, name);
        let said = answer["error"]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert!(said.contains(why), "{before} to {name}: {answer}");
    }

    let untidy = MOVES.replace("    magic: u8 = 0x47;", "magic:u8=0x47 ;");
    server.change(&moves, &untidy);
    let edits = server.result(
        "textDocument/formatting",
        json!({ "textDocument": { "uri": moves }, "options": {} }),
    );
    assert_eq!(changed(&untidy, &edits), MOVES);
    assert_eq!(server.end().code(), Some(0));
}

#[test]
fn a_recorded_session_says_what_fields_are() {
    let path = sample("wires/boxes.wire");
    let text = std::fs::read_to_string(&path).expect("the sample");
    let boxes = uri(&path);
    let session = sample("sessions/host").display().to_string();
    let mut server = Server::start(&["--capture", &session]);
    server.initialize(Value::Null);
    server.open(&boxes, &text);
    let found = server.diagnostics(&boxes);
    let said = found[0]["message"].as_str().expect("a message");
    assert!(said.contains("packets of host fit this wire"), "{found:?}");
    let answer = server.result("textDocument/hover", at(&boxes, &text, "    sender"));
    let said = answer["contents"]["value"]
        .as_str()
        .expect("a text")
        .to_owned();
    assert!(
        said.contains("In host: 573 of 573 packets have it"),
        "{said}"
    );
    assert!(
        said.contains("Values: `1` 166 times, `2` 152 times"),
        "{said}"
    );
    // A field too many: no packet fits any more, and the place says so.
    server.change(
        &boxes,
        &text.replace("    align(8) = 0;\n", "    align(8) = 0;\n    more: u64;\n"),
    );
    let found = server.diagnostics(&boxes);
    let said = |it: &Value| it["message"].as_str().unwrap_or_default().to_owned();
    let of_field = found.iter().find(|it| said(it).contains("do not fit here"));
    let of_field = of_field.unwrap_or_else(|| panic!("{found:?}"));
    assert!(said(of_field).contains("`u64` needs 64 bits"), "{of_field}");
    server.change(&boxes, &text);
    server.diagnostics(&boxes);
    let closed = json!({ "command": "netreel.closeCapture", "arguments": [] });
    server.result("workspace/executeCommand", closed);
    let of_capture = |found: &[Value]| {
        let about = found
            .iter()
            .filter(|it| said(it).contains("packets of host"));
        about.count()
    };
    assert_eq!(of_capture(&server.diagnostics(&boxes)), 0);
    let opened = json!({ "command": "netreel.openCapture", "arguments": [session] });
    let answer = server.result("workspace/executeCommand", opened);
    assert_eq!(answer["packets"], 573);
    assert_eq!(of_capture(&server.diagnostics(&boxes)), 1);
    let missing = json!({ "command": "netreel.openCapture", "arguments": ["/no/such/folder"] });
    let answer = server.ask("workspace/executeCommand", missing);
    assert!(
        answer["error"]["message"]
            .as_str()
            .is_some_and(|it| it.contains("/no/such/folder"))
    );
    assert_eq!(server.end().code(), Some(0));
}

#[test]
fn who_leaves_without_a_word_is_told_apart() {
    let mut server = Server::start(&[]);
    let answer = server.ask("textDocument/hover", json!({}));
    assert_eq!(answer["error"]["code"], -32002);
    server.initialize(Value::Null);
    let answer = server.ask("textDocument/unheardOf", json!({}));
    assert_eq!(answer["error"]["code"], -32601);
    server.note("exit", Value::Null);
    server.input = None;
    let status = server.child.wait().expect("the server ends");
    assert_eq!(status.code(), Some(1));
}
