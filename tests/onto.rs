//! A node's packets at a live endpoint: a real ENet server and a server in Python judge them.

mod support;

use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use support::programs::{Bench, text};
use support::{ended, free_port, netreel};

fn wire(name: &str) -> String {
    let wires = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/wires");
    text(&wires.join(name)).to_owned()
}

/// A server that has said `ready`, and what it says.
struct Server {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Server {
    fn start(program: &str, arguments: &[&str]) -> Server {
        let mut child = Command::new(program)
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("a server");
        let mut out = BufReader::new(child.stdout.take().expect("its output"));
        let mut line = String::new();
        out.read_line(&mut line).expect("a line");
        assert_eq!(line, "ready\n");
        Server { child, out }
    }

    /// What it has said when it has ended by itself.
    fn end(&mut self) -> String {
        assert!(ended(&mut self.child).success());
        let mut said = String::new();
        self.out.read_to_string(&mut said).expect("text");
        said
    }

    /// What it had said when it was killed.
    fn kill(&mut self) -> String {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let mut said = String::new();
        self.out.read_to_string(&mut said).expect("text");
        said
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended is not there any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A recording of an ENet client that says five words to a server.
fn recorded_client(bench: &Bench) -> Option<PathBuf> {
    let room = bench.compile_with("room", "cc", &["-lenet"])?;
    let port = free_port().to_string();
    let mut server = Server::start(text(&room), &["server", &port, "1"]);
    bench
        .record(&[], &[text(&room), "client", &port, "5"])
        .expect(0);
    assert!(server.end().ends_with("peer 0 said 5\n"));
    Some(room)
}

/// A live server to which somebody else has already connected: it calls the next one 1, not 0.
fn taken_server(room: &Path) -> (Server, Child, String) {
    let port = free_port().to_string();
    let mut server = Server::start(text(room), &["server", &port, "2"]);
    let first = Command::new(room)
        .args(["client", &port, "1000000"])
        .spawn();
    let first = first.expect("a client");
    let mut line = String::new();
    server.out.read_line(&mut line).expect("a word");
    assert!(line.starts_with("0 word"), "{line}");
    (server, first, format!("127.0.0.1:{port}"))
}

/// How often somebody said each of the five words.
fn said_by(who: &str, said: &str) -> Vec<usize> {
    let count = |word: usize| {
        let line = format!("{who} word {word}");
        said.lines().filter(|it| *it == line).count()
    };
    (0..5).map(count).collect()
}

#[test]
fn a_real_enet_server_takes_a_recorded_client_for_a_live_one() {
    let bench = Bench::new();
    let Some(room) = recorded_client(&bench) else {
        return;
    };
    let (mut server, mut first, to) = taken_server(&room);
    let out = bench.out();
    let ran = netreel(&[
        "replay",
        text(&out),
        "--to",
        &to,
        "--as-answered",
        "--wire",
        &wire("enet.wire"),
        "--json",
    ]);
    let _ = first.kill();
    let _ = first.wait();
    let said = server.kill();
    assert_eq!(said_by("1", &said), [1; 5], "{said}{}", ran.err);
    let report = ran.json();
    assert!(report["with_live_values"].as_u64() > Some(5), "{report}");
    let changed = report["sent"].as_array().expect("packets").iter();
    let changed = changed.flat_map(|sent| sent["changed"].as_array().expect("fields"));
    let mut peers = changed.filter(|it| it["path"] == "header.peer");
    assert!(peers.all(|it| it["recorded"] == "0" && it["sent"] == "1"));
}

#[test]
fn without_live_values_the_same_packets_are_another_peers() {
    let bench = Bench::new();
    let Some(room) = recorded_client(&bench) else {
        return;
    };
    let (mut server, mut first, to) = taken_server(&room);
    let out = bench.out();
    let ran = netreel(&[
        "replay",
        text(&out),
        "--to",
        &to,
        "--as-answered",
        "--patience",
        "0.2",
    ]);
    let _ = first.kill();
    let _ = first.wait();
    let said = server.kill();
    assert_eq!(said_by("1", &said), [0; 5], "{said}");
    assert_eq!(ran.code, Some(1), "something did not come: {}", ran.out);
}

/// A protocol of our own: the server gives a token that it draws, and counts its packets; a client
/// says the token back, and acks.
const DOOR_WIRE: &str = "\
wire door { version = 1; byte_order = big; bit_order = msb; root = Packet; }
enum Kind : u8 { hello = 0 @connect, welcome = 1 @connect, input = 2, answer = 3 }
struct Packet { message: Message; }
struct Message @message {
    kind: Kind @message_kind;
    switch (kind) {
        Kind.hello => {}
        Kind.welcome => token: u32 @gives(token);
        Kind.input => { token: u32 @takes(token); number: u8; }
        Kind.answer => number: u8;
    }
}
";

const DOOR: &str = "\
import socket, struct, sys, random
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('127.0.0.1', int(sys.argv[1])))
token = random.SystemRandom().getrandbits(32)
print('ready', flush=True)
good = bad = 0
while good + bad < int(sys.argv[2]):
    data, peer = s.recvfrom(2048)
    if data[0] == 0:
        s.sendto(struct.pack('>BI', 1, token), peer)
    elif data[0] == 2:
        _, said, number = struct.unpack('>BIB', data)
        if said == token:
            good += 1
            s.sendto(struct.pack('>BB', 3, number), peer)
        else:
            bad += 1
print('good', good, 'bad', bad, flush=True)
";

const GUEST: &str = "\
import socket, struct, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(30)
there = ('127.0.0.1', int(sys.argv[1]))
s.sendto(b'\\0', there)
_, token = struct.unpack('>BI', s.recvfrom(2048)[0])
for number in range(int(sys.argv[2])):
    s.sendto(struct.pack('>BIB', 2, token, number), there)
    s.recvfrom(2048)
";

/// A recording of a guest in Python, and the server's program; nothing where there is no Python.
fn recorded_guest(bench: &Bench) -> Option<(String, String)> {
    let python = Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .output();
    let Ok(python) = python.map(|it| String::from_utf8_lossy(&it.stdout).trim().to_owned()) else {
        support::skipped("there is no python3");
        return None;
    };
    let (door, guest) = (bench.at("door.py"), bench.at("guest.py"));
    std::fs::write(&door, DOOR).expect("a file");
    std::fs::write(&guest, GUEST).expect("a file");
    std::fs::write(bench.at("door.wire"), DOOR_WIRE).expect("a file");
    let port = free_port().to_string();
    let door = text(&door).to_owned();
    let mut server = Server::start(&python, &[&door, &port, "20"]);
    bench
        .record(&[], &[&python, text(&guest), &port, "20"])
        .expect(0);
    assert_eq!(server.end(), "good 20 bad 0\n");
    Some((python, door))
}

#[test]
fn a_token_that_the_live_server_draws_is_said_back() {
    let bench = Bench::new();
    let Some((python, door)) = recorded_guest(&bench) else {
        return;
    };
    let port = free_port().to_string();
    let mut server = Server::start(&python, &[&door, &port, "20"]);
    let (out, wire) = (bench.out(), bench.at("door.wire"));
    let to = format!("127.0.0.1:{port}");
    let ran = netreel(&[
        "replay",
        text(&out),
        "--to",
        &to,
        "--wire",
        text(&wire),
        "--speed",
        "2",
    ]);
    let ran = ran.expect(0);
    assert_eq!(server.end(), "good 20 bad 0\n");
    assert!(
        ran.out.contains("20 of them with live values"),
        "{}",
        ran.out
    );
    assert!(
        ran.out
            .contains("21 came: 21 as recorded, 20 of them to the byte"),
        "{}",
        ran.out
    );
}

#[test]
fn without_the_wire_the_server_refuses_every_token() {
    let bench = Bench::new();
    let Some((python, door)) = recorded_guest(&bench) else {
        return;
    };
    let port = free_port().to_string();
    let mut server = Server::start(&python, &[&door, &port, "20"]);
    let (out, to) = (bench.out(), format!("127.0.0.1:{port}"));
    let ran = netreel(&["replay", text(&out), "--to", &to, "--patience", "0.3"]);
    let ran = ran.expect(1);
    assert_eq!(server.end(), "good 0 bad 20\n");
    assert!(ran.out.contains("20 did not come"), "{}", ran.out);
}

#[test]
fn a_port_where_nobody_listens_is_named() {
    let bench = Bench::new();
    if recorded_guest(&bench).is_none() {
        return;
    }
    let to = format!("127.0.0.1:{}", free_port());
    let out = bench.out();
    let ran = netreel(&["replay", text(&out), "--to", &to, "--patience", "0.1"]).expect(2);
    assert!(
        ran.err.contains("nobody listens at 127.0.0.1"),
        "{}",
        ran.err
    );
}

#[test]
fn recorded_timing_is_kept_and_a_factor_shortens_it() {
    let folder = tempfile::tempdir().expect("a folder");
    support::demo("host", 7, folder.path()).expect(0);
    let silent = UdpSocket::bind("127.0.0.1:0").expect("a port");
    silent
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a limit");
    let to = silent.local_addr().expect("its address").to_string();
    let ran = netreel(&[
        "replay",
        text(folder.path()),
        "--node",
        "A",
        "--peer",
        "X",
        "--to",
        &to,
        "--speed",
        "4",
        "--patience",
        "0.1",
        "--json",
    ])
    .expect(1);
    let report = ran.json();
    let sent = report["sent"].as_array().expect("packets");
    assert!(sent.len() > 20, "{}", sent.len());
    for packet in sent {
        let at = packet["at_ns"].as_u64().expect("a time");
        let recorded = packet["recorded_at_ns"].as_u64().expect("a time");
        assert!(at >= recorded / 4, "never before it is due: {packet}");
        let mut buffer = [0; 2048];
        let length = silent.recv(&mut buffer).expect("a packet");
        let came: String = buffer[..length]
            .iter()
            .map(|it| format!("{it:02x}"))
            .collect();
        assert_eq!(packet["bytes"], came.as_str());
    }
}

#[test]
fn a_node_that_spoke_to_several_asks_which() {
    let folder = tempfile::tempdir().expect("a folder");
    support::demo("host", 7, folder.path()).expect(0);
    let ran = netreel(&[
        "replay",
        text(folder.path()),
        "--node",
        "A",
        "--to",
        "127.0.0.1:9",
    ]);
    let ran = ran.expect(2);
    assert!(
        ran.err.contains("--peer: ") && ran.err.contains("X at "),
        "{}",
        ran.err
    );
}
