//! `netreel wire`: what it prints and how it exits.

mod support;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use support::{Ran, netreel};

const MOVES: &str = r#"import "kind.wire";
wire moves { version = 3; byte_order = little; bit_order = lsb; root = Packet; }
struct Packet { magic: u8 = 0x47; sequence: u16 @sequence; count: u8 derived count(messages); messages: Message[count]; }
struct Message @message { kind: Kind @message_kind; object: u16 @object; }
test "destroys object 42" {
    bytes = x"47 01 00 01 01 2a 00";
    value = { sequence: 1, messages: [{ kind: gone, object: 42 }] };
}
"#;
const KIND: &str = "enum Kind : u8 { move = 0 @update, gone = 1 @destroy }\n";
const PACKET: &str = "47 0100 01 01 2a00";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a temporary folder"));
        folder.write("moves.wire", MOVES);
        folder.write("kind.wire", KIND);
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        // At once, so that nobody who watches sees half of it.
        let new = self.path("new");
        std::fs::write(&new, content).expect("a file is written");
        std::fs::rename(new, self.path(name)).expect("it takes its place");
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        let path = |argument: &&str| match argument.contains('.') && !argument.starts_with('-') {
            true => self.path(argument).display().to_string(),
            false => (*argument).to_owned(),
        };
        let arguments: Vec<String> = ["wire"].iter().chain(arguments).map(path).collect();
        netreel(&arguments)
    }
}

/// Runs with a standard input.
fn piped(arguments: &[&Path], before: &[&str], input: &[u8]) -> Ran {
    let mut child = Command::new(env!("CARGO_BIN_EXE_netreel"))
        .arg("wire")
        .args(before)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("an input");
    stdin.write_all(input).expect("it is read");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    Ran {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn a_good_wire_is_ok() {
    let ran = Folder::new().run(&["check", "moves.wire"]).expect(0);
    assert!(
        ran.out.ends_with("moves.wire: ok, moves 3, 1 test\n"),
        "{}",
        ran.out
    );
    let found = Folder::new()
        .run(&["check", "moves.wire", "--json"])
        .expect(0)
        .json();
    let file = &found["files"][0];
    assert_eq!(file["ok"], true);
    assert_eq!(file["protocols"], json!([{"name": "moves", "version": 3}]));
    assert_eq!((&file["tests"], &file["reports"]), (&json!(1), &json!([])));
}

#[test]
fn a_mistake_in_an_imported_file_exits_1_and_says_where() {
    let folder = Folder::new();
    folder.write(
        "kind.wire",
        "enum Kind : u8 { move = 0 @updat, gone = 1 }\n",
    );
    let ran = folder.run(&["check", "moves.wire"]).expect(1);
    assert!(ran.out.contains("kind.wire:1:27"), "{}", ran.out);
    assert!(ran.out.contains("did you mean `@update`?"), "{}", ran.out);
    assert!(ran.out.ends_with("moves.wire: 1 error\n"), "{}", ran.out);
    let found = folder
        .run(&["check", "moves.wire", "--json"])
        .expect(1)
        .json();
    let report = &found["files"][0]["reports"][0];
    assert_eq!(
        (&report["line"], &report["column"]),
        (&json!(1), &json!(27))
    );
    assert_eq!(report["span"], json!([26, 32]));
    assert!(
        report["file"]
            .as_str()
            .is_some_and(|file| file.ends_with("kind.wire"))
    );
}

#[test]
fn a_file_that_is_not_there_exits_2() {
    let ran = Folder::new().run(&["check", "no.wire"]).expect(2);
    assert!(ran.err.contains("no.wire: No such file"), "{}", ran.err);
    let ran = Folder::new().run(&["decode", "no.wire", "00"]).expect(2);
    assert!(ran.err.contains("no.wire: No such file"), "{}", ran.err);
}

#[test]
fn bytes_decode_to_a_tree() {
    let ran = Folder::new()
        .run(&["decode", "moves.wire", PACKET])
        .expect(0);
    let last = ran.out.lines().last().expect("a line");
    let words: Vec<&str> = last.split_whitespace().collect();
    assert_eq!(words, ["object", "40..56", "u16", "42", "@object"]);
}

#[test]
fn decode_and_encode_are_a_round_trip() {
    let folder = Folder::new();
    let json = folder
        .run(&["decode", "moves.wire", PACKET, "--json"])
        .expect(0);
    assert_eq!(json.json()["packet"]["messages"][0]["object"], 42);
    folder.write("packet.json", &json.out);
    let ran = folder
        .run(&["encode", "moves.wire", "packet.json"])
        .expect(0);
    assert_eq!(ran.out, "4701000101 2a00\n".replace(' ', ""));
    let piped = piped(
        &[&folder.path("moves.wire")],
        &["encode"],
        json.out.as_bytes(),
    )
    .expect(0);
    assert_eq!(piped.out, ran.out);
    let out = folder.path("packet.bin").display().to_string();
    folder
        .run(&["encode", "moves.wire", "packet.json", "--out", &out])
        .expect(0);
    let bytes = std::fs::read(&out).expect("the file is there");
    assert_eq!(bytes, [0x47, 1, 0, 1, 1, 0x2a, 0]);
    let again = folder
        .run(&["decode", "moves.wire", "--file", &out, "--json"])
        .expect(0);
    assert_eq!(again.out, json.out);
    let again = self::piped(&[&folder.path("moves.wire")], &["decode", "--json"], &bytes).expect(0);
    assert_eq!(again.out, json.out);
}

#[test]
fn encoding_says_what_it_worked_out_anew() {
    let folder = Folder::new();
    folder.write(
        "packet.json",
        r#"{"packet": {"sequence": 1, "count": 7, "messages": []}}"#,
    );
    let ran = folder
        .run(&["encode", "moves.wire", "packet.json"])
        .expect(0);
    assert_eq!(ran.out, "47010000\n");
    assert_eq!(ran.err, "netreel: count was 7, is 0\n");
}

#[test]
fn fields_that_do_not_fit_exit_1_with_their_paths() {
    let folder = Folder::new();
    folder.write(
        "packet.json",
        r#"{"packet": {"sequence": 70000, "messages": []}}"#,
    );
    let ran = folder
        .run(&["encode", "moves.wire", "packet.json"])
        .expect(1);
    assert!(ran.err.contains("sequence: "), "{}", ran.err);
    folder.write("packet.json", "{");
    let ran = folder
        .run(&["encode", "moves.wire", "packet.json"])
        .expect(2);
    assert!(
        ran.err.contains("packet.json is not one JSON value"),
        "{}",
        ran.err
    );
}

#[test]
fn bytes_that_do_not_fit_exit_1_with_a_diagnostic() {
    let ran = Folder::new()
        .run(&["decode", "moves.wire", "48 0100 00"])
        .expect(1);
    assert!(ran.out.contains("! magic: "), "{}", ran.out);
    let ran = Folder::new()
        .run(&["decode", "moves.wire", "48010000", "--json"])
        .expect(1);
    assert_eq!(ran.json()["diagnostics"][0]["path"], "magic");
}

#[test]
fn digits_that_are_no_bytes_exit_2() {
    let ran = Folder::new().run(&["decode", "moves.wire", "4g"]).expect(2);
    assert!(
        ran.err.contains("two hexadecimal digits for each byte"),
        "{}",
        ran.err
    );
}

#[test]
fn ports_choose_the_protocol() {
    let folder = Folder::new();
    folder.write(
        "two.wire",
        "wire a { byte_order = little; bit_order = lsb; root = A; ports = 5; }
         wire b { byte_order = little; bit_order = lsb; root = B; }
         struct A { a: u8; } struct B { b: u8; }",
    );
    let name = |arguments: &[&str]| {
        let all = [&["decode", "two.wire", "01", "--json"], arguments].concat();
        folder.run(&all).expect(0).json()["wire"].clone()
    };
    assert_eq!(name(&["--ports", "5,9"]), "a");
    assert_eq!(name(&["--ports", "9,5"]), "a");
    assert_eq!(name(&[]), "b");
    let ran = folder
        .run(&["decode", "two.wire", "01", "--ports", "5"])
        .expect(2);
    assert!(
        ran.err
            .contains("--ports 5: give the source and the destination port"),
        "{}",
        ran.err
    );
}

/// A pcap file of UDP datagrams over IPv4.
fn pcap(payloads: &[&[u8]]) -> Vec<u8> {
    let mut file = Vec::new();
    file.extend(0xa1b2_c3d4_u32.to_le_bytes());
    file.extend([2, 0, 4, 0]);
    file.extend([0; 8]);
    file.extend(65_535_u32.to_le_bytes());
    file.extend(101_u32.to_le_bytes());
    for payload in payloads {
        let udp = 8 + payload.len() as u16;
        let whole = 20 + udp;
        file.extend([0; 8]);
        file.extend(u32::from(whole).to_le_bytes());
        file.extend(u32::from(whole).to_le_bytes());
        file.extend([0x45, 0]);
        file.extend(whole.to_be_bytes());
        file.extend([0, 0, 0, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1]);
        file.extend(5000_u16.to_be_bytes());
        file.extend(6000_u16.to_be_bytes());
        file.extend(udp.to_be_bytes());
        file.extend([0, 0]);
        file.extend(*payload);
    }
    file
}

#[test]
fn packets_of_a_capture_decode_one_or_all() {
    let folder = Folder::new();
    let capture = pcap(&[&[0x47, 7, 0, 0], &[0x47, 8, 0, 0]]);
    folder.write("two.pcap", capture);
    let all = folder
        .run(&["decode", "moves.wire", "--from", "two.pcap", "--json"])
        .expect(0);
    let sequences: Vec<Value> = all
        .out
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).expect("JSON")["packet"]["sequence"].clone()
        })
        .collect();
    assert_eq!(sequences, [json!(7), json!(8)]);
    let one = [
        "decode",
        "moves.wire",
        "--from",
        "two.pcap",
        "--packet",
        "1",
        "--json",
    ];
    assert_eq!(folder.run(&one).expect(0).json()["packet"]["sequence"], 8);
    let none = [
        "decode",
        "moves.wire",
        "--from",
        "two.pcap",
        "--packet",
        "2",
    ];
    let ran = folder.run(&none).expect(2);
    assert!(
        ran.err
            .contains("there is no packet 2: there are 2, numbered from 0"),
        "{}",
        ran.err
    );
}

#[test]
fn packets_of_a_session_decode_too() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let wire = root.join("samples/wires/boxes.wire").display().to_string();
    let session = root.join("samples/sessions/host").display().to_string();
    let ran = netreel(&[
        "wire", "decode", &wire, "--from", &session, "--packet", "3", "--json",
    ]);
    let shown = netreel(&["show", &session, "--packet", "3", "--json"])
        .expect(0)
        .json();
    let bytes = shown["payload"].as_str().expect("bytes").replace(' ', "");
    let decoded = netreel(&["wire", "decode", &wire, &bytes, "--json"]).expect(0);
    assert_eq!(ran.expect(0).out, decoded.out);
}

#[test]
fn tests_pass_or_say_what_failed() {
    let folder = Folder::new();
    let ran = folder.run(&["test", "moves.wire"]).expect(0);
    assert!(
        ran.out.ends_with("1 test, 1 passed, 0 failed\n"),
        "{}",
        ran.out
    );
    folder.write("moves.wire", MOVES.replace("object: 42", "object: 43"));
    let ran = folder.run(&["test", "moves.wire"]).expect(1);
    assert!(
        ran.out
            .contains("messages[0].object: expected 43, found 42"),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains("moves.wire:5  destroys object 42"),
        "{}",
        ran.out
    );
    let found = folder
        .run(&["test", "moves.wire", "--json"])
        .expect(1)
        .json();
    assert_eq!((&found["passed"], &found["failed"]), (&json!(0), &json!(1)));
    assert_eq!(
        found["tests"][0]["failures"],
        json!([{"path": "messages[0].object", "message": "expected 43, found 42"}])
    );
    folder.write("moves.wire", "wire");
    let ran = folder.run(&["test", "moves.wire"]).expect(2);
    assert!(
        ran.err.contains("moves.wire does not compile"),
        "{}",
        ran.err
    );
}

#[test]
fn watching_says_it_again_when_an_imported_file_changes() {
    let folder = Folder::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_netreel"))
        .args(["wire", "check", "--watch", "--json"])
        .arg(folder.path("moves.wire"))
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut lines = BufReader::new(child.stdout.take().expect("an output")).lines();
    let mut next = || -> Value {
        let line = lines.next().expect("a line").expect("it can be read");
        serde_json::from_str(&line).expect("JSON")
    };
    assert_eq!(next()["files"][0]["ok"], true);
    folder.write(
        "kind.wire",
        "enum Kind : u8 { move = 0 @updat, gone = 1 }\n",
    );
    assert_eq!(next()["files"][0]["ok"], false);
    folder.write("kind.wire", KIND);
    assert_eq!(next()["files"][0]["ok"], true);
    child.kill().expect("it runs until it is ended");
    child.wait().expect("it has ended");
}

/// The lines of a capture's session, and what comes of them after an edit.
fn session(edit: impl FnOnce(&mut Vec<Value>)) -> (Vec<Value>, Ran) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let wire = root.join("samples/wires/enet.wire").display().to_string();
    let capture = root.join("protocol/wire/tests/recordings/enet_godot3.pcap");
    let capture = capture.display().to_string();
    let decoded = netreel(&["wire", "decode", &wire, "--from", &capture, "--json"]).expect(0);
    let lines = decoded
        .out
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let mut lines: Vec<Value> = lines.collect();
    edit(&mut lines);
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let ran = piped(&[Path::new(&wire)], &["encode"], text.as_bytes());
    (lines, ran)
}

#[test]
fn a_whole_capture_comes_back_through_json() {
    let (lines, ran) = session(|_| {});
    let ran = ran.expect(0);
    let count = lines.len();
    assert_eq!(
        ran.err,
        format!("netreel: {count} packets, 0 of them changed\n")
    );
    for (line, again) in lines.iter().zip(ran.out.lines()) {
        let again: Value = serde_json::from_str(again).expect("JSON");
        assert_eq!(
            (&again["packet"], &again["bytes"]),
            (&line["packet"], &line["bytes"])
        );
    }
}

#[test]
fn an_edited_packet_of_a_capture_is_told() {
    let (_, ran) = session(|lines| {
        lines[1]["packet"]["header"]["sent_time_ms"] = json!(1);
    });
    let ran = ran.expect(0);
    assert!(
        ran.err
            .starts_with("netreel: packet 1 is not what it was\n"),
        "{}",
        ran.err
    );
    let second: Value =
        serde_json::from_str(ran.out.lines().nth(1).expect("a line")).expect("JSON");
    assert_eq!(
        second["bytes"].as_str().map(|bytes| &bytes[..8]),
        Some("80000001")
    );
}

#[test]
fn every_byte_comes_back_through_a_pipe() {
    let folder = Folder::new();
    folder.write(
        "text.wire",
        "wire text { byte_order = little; bit_order = lsb; root = Text; }
         struct Text { plain: string(u8, latin1); wide: string(u16, utf8); }",
    );
    let bytes: Vec<u8> = (0..=254).collect();
    let wide: String = (0..0x100).filter_map(char::from_u32).collect();
    let mut packet = vec![255];
    packet.extend(bytes);
    packet.extend((wide.len() as u16).to_le_bytes());
    packet.extend(wide.bytes());
    folder.write("text.pcap", pcap(&[&packet, b"\x02\x1b\x7f\0\0"]));
    let wire = folder.path("text.wire");
    let arguments = ["decode", "text.wire", "--from", "text.pcap", "--json"];
    let decoded = folder.run(&arguments).expect(0);
    assert!(decoded.out.contains('\x7f'), "{}", decoded.out);
    let again = piped(&[&wire], &["encode"], decoded.out.as_bytes()).expect(0);
    assert_eq!(again.err, "netreel: 2 packets, 0 of them changed\n");
    for (line, again) in decoded.out.lines().zip(again.out.lines()) {
        let read = |line| serde_json::from_str::<Value>(line).expect("JSON");
        assert_eq!(read(again), read(line));
    }
}

#[test]
fn a_packet_that_cannot_be_encoded_is_named_and_the_rest_goes_on() {
    let (lines, ran) = session(|lines| {
        lines[1]["packet"]["header"]["sent_time_ms"] = json!("soon");
    });
    let ran = ran.expect(1);
    let named = "the standard input, packet 1, does not fit the wire\nheader.sent_time_ms: ";
    assert!(ran.err.contains(named), "{}", ran.err);
    let end = format!(
        "netreel: {} packets, 0 of them changed, 1 left out\n",
        lines.len()
    );
    assert!(ran.err.ends_with(&end), "{}", ran.err);
    assert_eq!(ran.out.lines().count(), lines.len() - 1);
}

#[test]
fn a_line_that_is_no_json_is_named_and_the_rest_goes_on() {
    let folder = Folder::new();
    folder.write(
        "one.wire",
        "wire one { byte_order = little; bit_order = lsb; root = One; } struct One { a: u8; }",
    );
    folder.write("one.pcap", pcap(&[&[1], &[2], &[3]]));
    let arguments = ["decode", "one.wire", "--from", "one.pcap", "--json"];
    let decoded = folder.run(&arguments).expect(0).out;
    let mut lines: Vec<&str> = decoded.lines().collect();
    lines[1] = "{ \"from\": ";
    let broken = lines.join("\n");
    let ran = piped(&[&folder.path("one.wire")], &["encode"], broken.as_bytes()).expect(1);
    assert!(
        ran.err
            .starts_with("netreel: the standard input, packet 1, is no JSON: "),
        "{}",
        ran.err
    );
    assert!(
        ran.err
            .ends_with("netreel: 3 packets, 0 of them changed, 1 left out\n")
    );
    assert_eq!(ran.out.lines().count(), 2);
}

#[test]
fn what_does_not_fit_is_said_once_for_many_packets() {
    let folder = Folder::new();
    folder.write(
        "list.pcap",
        pcap(&[
            &[0x47, 7, 0, 2, 1],
            &[0x47, 7, 0, 0],
            &[0x47, 7, 0, 2, 1, 1, 0, 1],
            &[0x48, 7, 0, 0],
        ]),
    );
    let arguments = ["decode", "moves.wire", "--from", "list.pcap"];
    let ran = folder.run(&arguments).expect(1);
    let lines: Vec<&str> = ran.err.lines().collect();
    assert_eq!(
        lines,
        [
            "netreel: 3 of 4 packets do not fit the wire:",
            "netreel:   2 x messages[].object: `u16` needs 16 bits, none is left before the packet's \
             end; `Message[count]` asks for 2 elements  (packet 0)",
            "netreel:   1 x magic: the value is 72 (0x48), it should be 71 (0x47)  (packet 3)",
        ]
    );
}

const SECRET: &str = r#"wire secret { byte_order = little; bit_order = lsb; root = Packet; }
layer Sealed(id: int, nonce: bytes) { transform = chacha20_poly1305(keylog("SESSION", id), nonce, x""); }
struct Packet { id: u8; nonce: bytes(12); body: Body through Sealed(id, nonce); }
struct Body { a: u8; b: u16; }
"#;

#[test]
fn keys_beside_the_packet_open_what_is_sealed() {
    let folder = Folder::new();
    folder.write("secret.wire", SECRET);
    let key = "07".repeat(32);
    folder.write("keys.log", format!("# of one session\nSESSION 05 {key}\n"));
    let fields = json!({"packet": {"id": 5, "nonce": "00".repeat(12), "body": {"a": 1, "b": 2}}});
    folder.write("packet.json", fields.to_string());
    let sealed = folder
        .run(&["encode", "secret.wire", "packet.json"])
        .expect(0);
    let bytes = sealed.out.trim();
    // The id, the nonce, three bytes and the tag.
    assert_eq!(bytes.len(), 2 * (1 + 12 + 3 + 16));
    let opened = folder
        .run(&["decode", "secret.wire", bytes, "--json"])
        .expect(0);
    assert_eq!(opened.json()["packet"]["body"], json!({"a": 1, "b": 2}));
    folder.write("empty.log", "");
    let locked = folder
        .run(&["decode", "secret.wire", bytes, "--keys", "empty.log"])
        .expect(1);
    assert!(locked.out.contains("unresolved"), "{}", locked.out);
    folder.write("broken.log", "SESSION 05\n");
    let broken = folder
        .run(&["decode", "secret.wire", bytes, "--keys", "broken.log"])
        .expect(2);
    assert!(
        broken.err.contains("line 1: expected `LABEL ID KEY`"),
        "{}",
        broken.err
    );
}

#[test]
fn a_new_wire_checks_and_passes_its_tests_and_takes_nobodys_place() {
    let folder = Folder::new();
    for like in ["custom", "enet", "raknet", "quake3"] {
        let name = format!("{like}.wire");
        let told = folder.run(&["new", &name, "--like", like]).expect(0);
        assert!(told.out.contains("netreel wire test "), "{}", told.out);
        folder.run(&["check", &name]).expect(0);
        folder.run(&["test", &name]).expect(0);
        folder.run(&["format", "--check", &name]).expect(0);
        folder.write(&name, "mine");
        let told = folder.run(&["new", &name, "--like", like]).expect(2).err;
        assert!(told.contains("cannot write it"), "{told}");
        assert_eq!(std::fs::read(folder.path(&name)).unwrap(), b"mine");
    }
}

#[test]
fn a_guess_asks_no_wire_that_is_there_and_is_never_written_over_one() {
    let folder = Folder::new();
    let capture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("protocol/wire/tests/recordings/raknet.pcap");
    let capture = std::fs::read(capture).expect("a capture");
    folder.write("game.pcap", capture);
    folder.write("mine.wire", "mine");
    let told = folder.run(&["guess", "game.pcap", "--out", "new.wire"]);
    let told = told.expect(0);
    assert!(!told.err.contains("--wire"), "{}", told.err);
    folder.run(&["check", "new.wire"]).expect(0);
    let told = folder.run(&["guess", "game.pcap", "--out", "mine.wire"]);
    let told = told.expect(2).err;
    assert!(told.contains("name another file"), "{told}");
    assert_eq!(std::fs::read(folder.path("mine.wire")).unwrap(), b"mine");
}
