//! What of programs is exact when they are started again, as a table: `NETREEL_TABLE=10 cargo test --test
//! replay_table` records each ten times and writes the table into `docs/replay.md`. Without it each is recorded
//! once, and held to the table.

mod support;

use std::fmt::Write;
use std::path::Path;

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
/// first word of one of ours is compiled, and how steady it is.
struct Row(
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
    Steady,
);

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
    ),
    Row(
        "one thread",
        "Python, sockets",
        &[],
        &["python3", "-c", SOCKETS],
        Always,
    ),
    Row(
        "threads",
        "C, locks, conditions, semaphores",
        &[],
        &["locks", "60"],
        Always,
    ),
    Row(
        "threads",
        "C, a loop that looks at memory",
        &[],
        &["spins", "20"],
        Always,
    ),
    Row(
        "threads",
        "C, a loop that looks at memory",
        ONE,
        &["spins", "20"],
        Always,
    ),
    Row(
        "runtimes",
        "Node.js, dgram and timers",
        &[],
        &["node", "-e", DATAGRAMS],
        Always,
    ),
    Row(
        "runtimes",
        "Erlang, gen_udp",
        ONE,
        &["erl", "-noshell", "-eval", GEN_UDP],
        Mostly,
    ),
    Row(
        "children",
        "C, fork, exec, wait, a pipe",
        &[],
        &["starts", "fork"],
        Always,
    ),
    Row("children", "C, popen", &[], &["starts", "popen"], Always),
    Row(
        "children",
        "Python, subprocess",
        &[],
        &["python3", "-c", SUBPROCESS],
        Always,
    ),
    Row(
        "children",
        "Node.js, execFile",
        &[],
        &["node", "-e", EXEC_FILE],
        Always,
    ),
    Row(
        "children",
        "C, becomes another program",
        &[],
        &["starts", "becomes"],
        Always,
    ),
    Row(
        "files",
        "Python, sqlite3",
        &[],
        &["python3", "-c", DATABASE],
        Always,
    ),
    Row(
        "TCP beside UDP",
        "C, makes a connection",
        &[],
        &["tcp", "calls"],
        Always,
    ),
    Row(
        "TCP beside UDP",
        "C, takes a connection",
        &[],
        &["tcp", "waits"],
        Always,
    ),
];

/// How many of this many recordings are exact, part, and are refused or stand still.
fn tried(bench: &Bench, row: &Row, times: usize) -> [usize; 3] {
    let Row(_, _, options, command, _) = row;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let own = source.join(format!("{}.c", command[0])).exists();
    let program = own.then(|| bench.compile(command[0]));
    let first = program.as_deref().map_or(command[0], text);
    let command: Vec<&str> = [&[first], &command[1..]].concat();
    let mut came = [0; 3];
    for _ in 0..times {
        let _ = std::fs::remove_dir_all(bench.out());
        let options = [options, &["--name", "IT"][..]].concat();
        bench.record_plainly(&options, &command);
        let ran = bench.again(&["--node", "IT"], &[]);
        came[usize::try_from(ran.code.unwrap()).unwrap().min(2)] += 1;
    }
    came
}

/// Whether the program of a row is here; the tests' own are compiled.
fn is_here(row: &Row) -> bool {
    let Row(.., command, _) = row;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path);
    source.join(format!("{}.c", command[0])).exists()
        || folders.any(|folder| folder.join(command[0]).is_file())
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
    for row in ROWS {
        let [exact, parts, refused] = tried(&Bench::new(), row, times);
        let head = head(row);
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
            row.3[0]
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
