//! What of programs is exact when they are started again, as a table: `NETREEL_TABLE=10 cargo test --test
//! replay_table` records each ten times and writes the table into `docs/replay.md`; with
//! `NETREEL_PROGRAMS=Murmur` that row alone, so that the others stay as they are. Without `NETREEL_TABLE`
//! each is recorded once, and held to the table.

mod support;

use std::fmt::Write;
use std::net::UdpSocket;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use support::programs::{Bench, text};

const BEGIN: &str = "<!-- made by NETREEL_TABLE=10 cargo test --test replay_table -->\n";
const END: &str = "<!-- end -->\n";

const ONE: &[&str] = &["--one-thread-at-a-time"];

const SOCKETS: &str = "import random, socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('127.0.0.1', 0))
for turn in range(20):
    s.sendto(b'%d %f' % (random.randint(1, 6), time.time()), s.getsockname()); s.recv(100)";

const SUBPROCESS: &str = "import socket, subprocess
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('127.0.0.1', 0))
for turn in range(3):
    said = subprocess.run(['cat', '/proc/sys/kernel/random/uuid'], capture_output=True).stdout
    s.sendto(said, s.getsockname()); s.recv(100)";

const DATABASE: &str = "import shutil, socket, sqlite3, tempfile
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('127.0.0.1', 0))
folder = tempfile.mkdtemp(); db = sqlite3.connect(folder + '/scores')
db.execute('create table scores (score int)')
for turn in range(5):
    db.execute('insert into scores values (?)', (turn,)); db.commit()
    s.sendto(b'%d' % db.execute('select sum(score) from scores').fetchone(), s.getsockname()); s.recv(100)
db.close(); shutil.rmtree(folder)";

const DATAGRAMS: &str = "const s = require('dgram').createSocket('udp4'); let turn = 0;
const send = () => s.send('turn ' + Math.random(), s.address().port, '127.0.0.1');
s.on('message', () => { if (++turn == 20) s.close(); else setTimeout(send, 2); });
s.bind(0, '127.0.0.1', send);";

const EXEC_FILE: &str = "const s = require('dgram').createSocket('udp4');
s.bind(0, '127.0.0.1', () => require('child_process').execFile('cat',
  ['/proc/sys/kernel/random/uuid'], (_, said) =>
  s.send(said, s.address().port, '127.0.0.1', () => s.close())));";

const GEN_UDP: &str = "{ok, S} = gen_udp:open(0, [binary, {active, false}, {ip, {127,0,0,1}}]), \
{ok, P} = inet:port(S), [begin gen_udp:send(S, {127,0,0,1}, P, integer_to_binary(rand:uniform(1000))), \
gen_udp:recv(S, 0) end || _ <- lists:seq(1, 20)], halt().";

/// A program: what kind it is of, its name for people, the options of `record`, its command, of which the
/// first word of one of ours is compiled, how steady it is, and who speaks to it. In a command and its
/// settings PORT is a free port, and HERE a folder of its own.
struct Row(
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
    Steady,
    Asked,
);

/// What a server is asked on its port five times a second, and the file of settings that it finds.
struct Asked {
    question: &'static [u8],
    settings: &'static str,
}

const NOBODY: Asked = asked(&[]);

const fn asked(question: &'static [u8]) -> Asked {
    Asked {
        question,
        settings: "",
    }
}

/// What ends a server from outside after some seconds, as Ctrl-C would.
macro_rules! server {
    ($seconds:literal, $($word:literal),*) => {
        &["env", "HOME=HERE", "timeout", "-s", "INT", $seconds, $($word),*]
    };
}

/// For a token, in the 0.7 protocol.
const TOKEN: [u8; 524] = {
    let mut packet = [0; 524];
    let head = [4, 0, 0, 0xff, 0xff, 0xff, 0xff, 5, 0x12, 0x34, 0x56, 0x78];
    let mut at = 0;
    while at < head.len() {
        packet[at] = head[at];
        at += 1;
    }
    packet
};

/// How steadily a row comes to what the table says.
#[derive(Clone, Copy)]
enum Steady {
    /// Always.
    Always,
    /// On a machine with much more work than processors 1 of 68 stood still, and it is not known why. Most of
    /// three have to come to it.
    Mostly,
}

use Steady::{Always, Mostly};

const ROWS: &[Row] = &[
    Row(
        "one thread",
        "C, sendto and recvfrom",
        &[],
        &["pair", "100"],
        Always,
        NOBODY,
    ),
    Row(
        "one thread",
        "Python, sockets",
        &[],
        &["python3", "-c", SOCKETS],
        Always,
        NOBODY,
    ),
    Row(
        "threads",
        "C, locks, conditions, semaphores",
        &[],
        &["locks", "60"],
        Always,
        NOBODY,
    ),
    Row(
        "threads",
        "C, a loop that looks at memory",
        &[],
        &["spins", "20"],
        Always,
        NOBODY,
    ),
    Row(
        "threads",
        "C, a loop that looks at memory",
        ONE,
        &["spins", "20"],
        Always,
        NOBODY,
    ),
    Row(
        "runtimes",
        "Node.js, dgram and timers",
        &[],
        &["node", "-e", DATAGRAMS],
        Always,
        NOBODY,
    ),
    Row(
        "runtimes",
        "Erlang, gen_udp",
        ONE,
        &["erl", "-noshell", "-eval", GEN_UDP],
        Mostly,
        NOBODY,
    ),
    Row(
        "children",
        "C, fork, exec, wait, a pipe",
        &[],
        &["starts", "fork"],
        Always,
        NOBODY,
    ),
    Row(
        "children",
        "C, popen",
        &[],
        &["starts", "popen"],
        Always,
        NOBODY,
    ),
    Row(
        "children",
        "Python, subprocess",
        &[],
        &["python3", "-c", SUBPROCESS],
        Always,
        NOBODY,
    ),
    Row(
        "children",
        "Node.js, execFile",
        &[],
        &["node", "-e", EXEC_FILE],
        Always,
        NOBODY,
    ),
    Row(
        "children",
        "C, becomes another program",
        &[],
        &["starts", "becomes"],
        Always,
        NOBODY,
    ),
    Row(
        "files",
        "Python, sqlite3",
        &[],
        &["python3", "-c", DATABASE],
        Always,
        NOBODY,
    ),
    Row(
        "TCP beside UDP",
        "C, makes a connection",
        &[],
        &["tcp", "calls"],
        Always,
        NOBODY,
    ),
    Row(
        "TCP beside UDP",
        "C, takes a connection",
        &[],
        &["tcp", "waits"],
        Always,
        NOBODY,
    ),
    Row(
        "lookups",
        "dig, whom nobody answers",
        ONE,
        &[
            "/usr/bin/dig",
            "@127.0.0.1",
            "-p",
            "9",
            "+tries=1",
            "+time=1",
            "example.org",
        ],
        Always,
        NOBODY,
    ),
    Row(
        "servers",
        "Teeworlds",
        &[],
        server!(
            "3",
            "/usr/games/teeworlds-server",
            "sv_port PORT",
            "sv_register 0"
        ),
        Always,
        asked(&TOKEN),
    ),
    Row(
        "servers",
        "Chocolate Doom",
        &[],
        server!(
            "3",
            "/usr/games/chocolate-server",
            "-port",
            "PORT",
            "-privateserver"
        ),
        Always,
        asked(&[0, 13]),
    ),
    Row(
        "servers",
        "Minetest",
        ONE,
        server!(
            "5",
            "/usr/games/minetestserver",
            "--world",
            "HERE/world",
            "--gameid",
            "minetest",
            "--port",
            "PORT"
        ),
        Always,
        asked(b"OEt\x03\0\0\0\x01"),
    ),
    Row(
        "servers",
        "Murmur",
        ONE,
        server!("5", "/usr/sbin/murmurd", "-fg", "-ini", "HERE/settings"),
        Always,
        Asked {
            question: b"\0\0\0\0netreel!",
            settings: "database=HERE/it.sqlite\nport=PORT\nhost=127.0.0.1\nuname=root\nlogfile=\n",
        },
    ),
];

/// How many of this many recordings are exact, part, and are refused or stand still.
fn tried(bench: &Bench, row: &Row, times: usize) -> [usize; 3] {
    let Row(_, _, options, command, _, asked) = row;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let own = source.join(format!("{}.c", command[0])).exists();
    let program = own.then(|| bench.compile(command[0]));
    let first = program.as_deref().map_or(command[0], text);
    let is_server = !asked.question.is_empty();
    let mut came = [0; 3];
    for _ in 0..times {
        let _ = std::fs::remove_dir_all(bench.out());
        let (here, port) = (bench.at("here"), support::free_port());
        let _ = std::fs::remove_dir_all(&here);
        std::fs::create_dir(&here).unwrap();
        let meant = |word: &str| {
            word.replace("HERE", text(&here))
                .replace("PORT", &port.to_string())
        };
        std::fs::write(here.join("settings"), meant(asked.settings)).unwrap();
        let command: Vec<String> = command.iter().map(|word| meant(word)).collect();
        let rest = command.iter().skip(1).map(String::as_str);
        let command: Vec<&str> = std::iter::once(first).chain(rest).collect();
        let options = [options, &["--name", "IT"][..]].concat();
        let ends = AtomicBool::new(!is_server);
        std::thread::scope(|scope| {
            scope.spawn(|| ask(port, asked.question, &ends));
            bench.record_plainly(&options, &command);
            ends.store(true, Ordering::Relaxed);
        });
        // Of a server and what ended it the server alone has a reel.
        let which: &[&str] = if is_server { &[] } else { &["--node", "IT"] };
        let ran = bench.again(which, &[]);
        came[usize::try_from(ran.code.unwrap()).unwrap().min(2)] += 1;
    }
    came
}

/// Asks whoever is at `port` until it ends.
fn ask(port: u16, question: &[u8], ends: &AtomicBool) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    while !ends.load(Ordering::Relaxed) {
        // Nobody may be there yet, or any more.
        let _ = socket.send_to(question, ("127.0.0.1", port));
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Where the program of a row is, by its path or by its name.
fn program(row: &Row) -> &'static str {
    let words = row.3;
    let path = words.iter().find(|word| word.starts_with("/usr/"));
    path.unwrap_or(&words[0])
}

/// Whether the program of a row is here; the tests' own are compiled.
fn is_here(row: &Row) -> bool {
    let program = program(row);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path);
    source.join(format!("{program}.c")).exists()
        || folders.any(|folder| folder.join(program).is_file())
}

/// The beginning of a row of the table.
fn head(Row(kind, name, options, ..): &Row) -> String {
    format!("| {kind} | {name} | {} |", options.join(" "))
}

#[test]
fn the_table_says_what_is_exact() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/replay.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("where the table begins");
    let (known, behind) = rest.split_once(END).expect("where it ends");
    let Some(times) = std::env::var("NETREEL_TABLE").ok() else {
        for row in ROWS {
            holds(row, known);
        }
        return;
    };
    let times = times.parse().unwrap();
    let mut table = String::from(
        "| kind | program | `record` with | exact | parts | refused, or stands still |\n\
         |---|---|---|---|---|---|\n",
    );
    let wanted = std::env::var("NETREEL_PROGRAMS").ok();
    for row in ROWS {
        let head = head(row);
        if wanted.as_ref().is_some_and(|it| !row.1.starts_with(it)) {
            let line = known.lines().find(|line| line.starts_with(&head));
            writeln!(table, "{}", line.expect("a row that is known")).unwrap();
            continue;
        }
        let [exact, parts, refused] = tried(&Bench::new(), row, times);
        writeln!(table, "{head} {exact} | {parts} | {refused} |").unwrap();
    }
    std::fs::write(&path, [before, BEGIN, &table, END, behind].concat()).unwrap();
}

/// Recorded and started again, a row comes to what the table says that it comes to.
fn holds(row: &Row, table: &str) {
    let head = head(row);
    let mut lines = table.lines();
    let line = lines.find(|line| line.starts_with(&head));
    let line = line.unwrap_or_else(|| panic!("the table has no row {head}"));
    if !is_here(row) {
        support::skipped(format_args!(
            "{head} is not tried: {} is not installed",
            program(row)
        ));
        return;
    }
    let counts = line[head.len()..].split('|').map(str::trim);
    let counts: Vec<usize> = counts.filter_map(|count| count.parse().ok()).collect();
    let most = match row.4 {
        Always => 1,
        Mostly => 2,
    };
    let (mut good, mut others) = (0, Vec::new());
    while good < most && others.len() < most {
        let came = tried(&Bench::new(), row, 1);
        let at = came.iter().position(|count| *count == 1);
        match counts[at.expect("one recording")] {
            0 => others.push(came),
            _ => good += 1,
        }
    }
    assert!(
        good == most,
        "{head}: {others:?} where ten came to {counts:?}"
    );
}
