//! A console and whoever connects to it: commands, tokens, and those who mean no good.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use netreel_console::{Asked, Client, ClientError, Commands, Console, Kind, ListenError, Value};

const PATIENCE: Duration = Duration::from_secs(20);

fn here() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
}

fn commands() -> Commands {
    Commands::new()
        .with(
            "add",
            (&[("A", Kind::Integer), ("B", Kind::Integer)], &[]),
            "The sum",
        )
        .with("bytes", (&[], &[]), "How many bytes came with it")
        .with("refuse", (&[], &[]), "Is never done")
        .with("forget", (&[], &[]), "Is never answered")
        .with("long", (&[], &[]), "A long answer")
}

/// A node that takes what its console has, until it is let go of.
struct Node {
    address: SocketAddr,
    quit: Arc<AtomicBool>,
    /// How many were connected at a time, at the most.
    most: Arc<AtomicUsize>,
    thread: Option<JoinHandle<usize>>,
}

impl Node {
    fn new(token: Option<&str>) -> Node {
        let console = Console::listen(here(), token.map(str::to_owned), commands()).unwrap();
        let address = console.local();
        let quit = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&quit);
        let most = Arc::<AtomicUsize>::default();
        let seen = Arc::clone(&most);
        let thread = std::thread::spawn(move || {
            let mut taken = 0;
            while !told.load(Ordering::Relaxed) {
                seen.fetch_max(console.connected(), Ordering::Relaxed);
                while let Some(request) = console.take() {
                    taken += 1;
                    answer(request);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            taken
        });
        Node {
            address,
            quit,
            most,
            thread: Some(thread),
        }
    }

    fn client(&self) -> Client {
        Client::connect(self.address, None, PATIENCE).unwrap()
    }

    /// Ends it; how many requests it was given.
    fn end(mut self) -> usize {
        self.quit.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

fn answer(request: netreel_console::Request) {
    let call = match &request.asked {
        Asked::Command { call, .. } => call.clone(),
        Asked::Script(_) => return request.refuse("no scripts here"),
    };
    match (call.name.as_str(), call.arguments.as_slice()) {
        ("add", [Value::Integer(a), Value::Integer(b)]) => request.done((a + b).to_string()),
        ("bytes", _) => {
            let count = request.binary.len().to_string();
            request.done(count);
        }
        ("long", _) => request.done("x".repeat(1 << 20)),
        ("forget", _) => drop(request),
        _ => request.refuse("it will not"),
    }
}

/// What a connection is told before it is closed.
fn told(mut stream: &TcpStream) -> Vec<u8> {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut all = Vec::new();
    // A connection that is reset has told what it had to tell.
    let _ = stream.read_to_end(&mut all);
    all
}

#[test]
fn a_command_is_answered_with_what_came_of_it() {
    let node = Node::new(None);
    let mut client = node.client();
    let mut say = |line: &str| {
        let answer = client.command(line, PATIENCE).unwrap();
        (answer.ok, answer.text)
    };
    assert_eq!(say("add 40 2"), (true, "42".to_owned()));
    assert_eq!(say("refuse"), (false, "it will not".to_owned()));
    assert_eq!(say("forget"), (false, "the node gave no answer".to_owned()));
    let wrong = "B is missing; write `add A B`";
    assert_eq!(say("add 1"), (false, wrong.to_owned()));
    assert!(say("help").1.starts_with("add A B  The sum\n"));
    assert_eq!(say("long").1.len(), 64 << 10);
    assert_eq!(client.complete("a", PATIENCE).unwrap(), ["add"]);
    let script = client.script("print(1)", PATIENCE).unwrap();
    assert_eq!(
        (script.ok, script.text.as_str()),
        (false, "no scripts here")
    );
    assert_eq!(node.end(), 5);
}

#[test]
fn what_was_answered_before_a_console_ends_is_heard() {
    for round in 0..300 {
        let console = Console::listen(here(), None, commands()).unwrap();
        let address = console.local();
        let asking = std::thread::spawn(move || {
            let mut client = Client::connect(address, None, PATIENCE)?;
            client.command("add 1 2", PATIENCE)
        });
        let request = loop {
            match console.take() {
                Some(request) => break request,
                None => assert!(!asking.is_finished(), "round {round}: nothing was asked"),
            }
        };
        // In every other round nobody answers: that is said too.
        let is_answered = round % 2 == 0;
        match is_answered {
            true => answer(request),
            false => drop(request),
        }
        drop(console);
        let heard = asking.join().unwrap();
        let heard = heard.unwrap_or_else(|error| panic!("round {round}: {error}"));
        assert_eq!(heard.ok, is_answered, "round {round}");
    }
}

#[test]
fn a_person_types_lines() {
    let node = Node::new(None);
    let mut stream = TcpStream::connect(node.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"add 1 2\r\nadd 1\nadd 3 4\n").unwrap();
    let lines = BufReader::new(&stream).lines().map(Result::unwrap);
    let lines: Vec<String> = lines.take(3).collect();
    // A mistake is told at once, before the node has come to the first command.
    assert!(lines.contains(&"error: B is missing; write `add A B`".to_owned()));
    assert!(lines.contains(&"3".to_owned()) && lines.contains(&"7".to_owned()));
}

#[test]
fn bytes_behind_the_json_come_to_the_node() {
    let node = Node::new(None);
    let mut stream = TcpStream::connect(node.address).unwrap();
    let json = br#"{"type":"command","command":"bytes","id":3}"#;
    let mut frame = vec![0, 0, 0, 1, 0, 0, 0, json.len() as u8, 0, 0, 0, 5];
    frame.extend(json);
    frame.extend([0, 1, 2, 255, 0]);
    stream.write_all(&frame).unwrap();
    let mut answer = [0; 8];
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.read_exact(&mut answer).unwrap();
    let mut json = vec![0; usize::from(answer[7])];
    stream.read_exact(&mut json).unwrap();
    assert_eq!(json, br#"{"id":3,"ok":true,"text":"5"}"#);
}

#[test]
fn a_page_in_a_browser_commands_nothing() {
    let node = Node::new(None);
    let mut stream = TcpStream::connect(node.address).unwrap();
    stream
        .write_all(b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nadd 1 2\nadd 1 2\n")
        .unwrap();
    let told = String::from_utf8(told(&stream)).unwrap();
    assert_eq!(told, "error: this is a console, and no web server\n");
    assert_eq!(node.end(), 0);
}

#[test]
fn without_the_token_nothing_is_run() {
    let node = Node::new(Some("secret"));
    let right = Client::connect(node.address, Some("secret"), PATIENCE);
    let answer = right.unwrap().command("add 1 2", PATIENCE).unwrap();
    assert_eq!(answer.text, "3");
    for wrong in ["", "secreT", "secret2", "secre"] {
        let refused = Client::connect(node.address, Some(wrong), PATIENCE).unwrap_err();
        assert!(matches!(refused, ClientError::Refused { .. }), "{refused}");
    }
    let mut stream = TcpStream::connect(node.address).unwrap();
    stream
        .write_all(b"add 1 2\nadd 1 2\ntoken secret\n")
        .unwrap();
    let told = String::from_utf8(told(&stream)).unwrap();
    assert!(told.starts_with("error: give the token first"), "{told}");
    assert_eq!(node.end(), 1);
}

#[test]
fn a_console_that_others_reach_needs_a_token() {
    let anywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let refused = Console::listen(anywhere, None, commands());
    assert!(matches!(refused, Err(ListenError::Open(_))));
}

#[test]
fn nobody_who_means_no_good_keeps_others_from_being_heard() {
    let node = Node::new(None);
    let connect = || TcpStream::connect(node.address).unwrap();
    // Half frames, and one that claims to be large.
    let mut half = connect();
    half.write_all(&[0, 0, 0, 0, 0, 0, 0, 90, b'{']).unwrap();
    let mut large = connect();
    large.write_all(&[0, 0, 0, 0, 0x7f, 0, 0, 0]).unwrap();
    let text = String::from_utf8_lossy(&told(&large)).into_owned();
    assert!(text.contains("more than"), "{text}");
    // A line without an end.
    let mut endless = connect();
    let chunk = vec![b'a'; 64 << 10];
    let cut = (0..64).any(|_| endless.write_all(&chunk).is_err());
    assert!(cut || told(&endless).starts_with(b"error: "));
    // Somebody who asks and asks, and never reads.
    let mut deaf = connect();
    deaf.set_write_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    let asks = b"long\n".repeat(4000);
    let _ = deaf.write_all(&asks);
    assert_eq!(
        node.client().command("add 1 1", PATIENCE).unwrap().text,
        "2"
    );
}

#[test]
fn more_connections_than_there_is_room_for_are_closed_at_once() {
    let node = Node::new(None);
    let mut first = node.client();
    let held: Vec<TcpStream> = (0..200)
        .map(|_| TcpStream::connect(node.address).unwrap())
        .collect();
    let last = held.last().unwrap();
    assert!(told(last).is_empty());
    assert_eq!(first.command("add 1 1", PATIENCE).unwrap().text, "2");
    drop(held);
}

/// The consoles' threads of this process: their folders below /proc.
fn threads() -> Vec<std::path::PathBuf> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let tasks = tasks.map(|task| task.unwrap().path());
    let is_console = |task: &std::path::PathBuf| {
        std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name == "console\n")
    };
    tasks.filter(is_console).collect()
}

#[test]
fn the_consoles_thread_runs_when_no_other_wants_to() {
    let node = Node::new(None);
    // It is idle from before it serves anybody.
    assert_eq!(
        node.client().command("add 1 1", PATIENCE).unwrap().text,
        "2"
    );
    let idle = threads().into_iter().filter(|task| {
        let stat = std::fs::read_to_string(task.join("stat")).unwrap_or_default();
        let fields = stat.rsplit(')').next().unwrap_or_default();
        // proc_pid_stat(5): the policy is the 41st field, and the third is the first behind the name.
        fields.split_whitespace().nth(41 - 3) == Some("5")
    });
    assert!(idle.count() >= 1);
}

#[test]
fn ten_thousand_connections_take_no_more_room_and_time_than_some() {
    let node = Node::new(Some("right"));
    let begun = Instant::now();
    let clients: Vec<_> = (0..20usize)
        .map(|kind| {
            let address = node.address;
            std::thread::spawn(move || {
                let said: &[u8] = match kind % 4 {
                    0 => &[255; 512],
                    1 => b"token wrong\n",
                    2 => &[0, 0, 0, 0, 0, 0, 0, 90, b'{'],
                    _ => b"",
                };
                let mut held = std::collections::VecDeque::new();
                for _ in 0..500 {
                    let mut stream = TcpStream::connect(address).unwrap();
                    let _ = stream.write_all(said);
                    held.push_back(stream);
                    if held.len() > 10 {
                        held.pop_front();
                    }
                }
            })
        })
        .collect();
    clients
        .into_iter()
        .for_each(|client| client.join().unwrap());
    // Those who mean well have their turn behind them.
    let heard = Client::connect(node.address, Some("right"), PATIENCE).unwrap();
    drop(heard);
    let most = node.most.load(Ordering::Relaxed);
    assert!((1..=64).contains(&most), "{most} were connected");
    assert_eq!(node.end(), 0);
    // All consoles of these tests together, and one of them alone may be at its share.
    let taken = threads().into_iter().filter_map(|task| {
        let stat = std::fs::read_to_string(task.join("schedstat")).ok()?;
        stat.split_whitespace().next()?.parse::<u64>().ok()
    });
    let (taken, passed) = (taken.max().unwrap_or(0), begun.elapsed().as_nanos() as u64);
    assert!(taken <= passed / 10 + 100_000_000, "{taken} of {passed} ns");
}
