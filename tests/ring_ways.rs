//! Ring mode with the ways of recording that need no program: the proxy, and an interface.

mod support;

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use netreel_capture::ring_mode::{PeerOptions, Peers, Ring, Triggers};
use netreel_capture::{Options, Recorder};
use netreel_reel::{Event, Header, TriggerCause};
use support::{ended, netreel};

/// Nothing here takes this long, on any machine.
const LONG: Duration = Duration::from_secs(120);

/// `netreel record` under way, with what it says; killed where a test fails.
struct Running {
    child: Child,
    said: Receiver<String>,
    all: String,
}

impl Running {
    fn start(command: &mut Command, arguments: &[&str]) -> Running {
        let mut child = command
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let errors = BufReader::new(child.stderr.take().expect("its errors"));
        let (sender, said) = channel();
        std::thread::spawn(move || {
            let lines = errors.lines().map_while(Result::ok);
            lines.for_each(|line| drop(sender.send(line)));
        });
        Running {
            child,
            said,
            all: String::new(),
        }
    }

    /// What follows these words in the next line that has them.
    fn says(&mut self, words: &str) -> String {
        let until = Instant::now() + LONG;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = self.said.recv_timeout(left).unwrap_or_else(|_| {
                panic!("it does not say {words:?}, but: {}", self.all);
            });
            self.all += &line;
            self.all.push('\n');
            if let Some((_, rest)) = line.split_once(words) {
                return rest.to_owned();
            }
        }
    }

    /// The same of two lines that come in any order.
    fn says_both(&mut self, words: [&str; 2]) -> [String; 2] {
        let said = self.all.len();
        let one = self.says(words[0]);
        let mut before = self.all[said..].lines();
        let other = before.find_map(|line| line.split_once(words[1]));
        let other = other.map(|(_, rest)| rest.to_owned());
        [one, other.unwrap_or_else(|| self.says(words[1]))]
    }

    fn signal(&self, signal: i32) {
        // SAFETY: sends a signal to the child, which has not been waited for.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, signal) }, 0);
    }

    fn interrupt(mut self) {
        self.signal(libc::SIGINT);
        let code = ended(&mut self.child).code();
        assert_eq!(code, Some(0), "{}", self.all);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn recorder() -> Command {
    Command::new(env!("CARGO_BIN_EXE_netreel"))
}

/// The numbers in the packets that a node, or an observer, received or saw in a window.
fn numbers(window: &Path) -> Vec<u64> {
    let session = netreel_capture::open_session(&[window]).expect("the window opens");
    assert!(session.failed.is_empty(), "{:?}", session.failed);
    let mut numbers = Vec::new();
    for opened in &session.reels {
        assert!(opened.reel.damage().is_empty());
        // The parts before the window alone.
        let missing = opened.reel.missing_parts();
        assert!(missing.iter().all(|it| it.parts.start == 0), "{missing:?}");
        opened.reel.for_each(|record| {
            if let Event::Seen { payload, .. } | Event::Received { payload, .. } = record.event {
                numbers.extend(payload.first_chunk().map(|it| u64::from_le_bytes(*it)));
            }
        });
    }
    numbers
}

/// The causes of the triggers in a window.
fn causes(window: &Path) -> Vec<TriggerCause> {
    let session = netreel_capture::open_session(&[window]).expect("the window opens");
    let mut causes = Vec::new();
    for opened in &session.reels {
        opened.reel.for_each(|record| {
            if let Event::Triggered { trigger, .. } = record.event {
                causes.push(trigger.cause);
            }
        });
    }
    causes
}

/// A window is a session that is whole and says where it begins.
fn is_sound(window: &Path, from: u64, until: u64) {
    let numbers = numbers(window);
    let (first, last) = (numbers.first().copied(), numbers.last().copied());
    assert!(first > Some(from), "what is older is not in it: {first:?}");
    assert!(
        last >= Some(until),
        "{last:?}, all before the trigger is: {until}"
    );
    let first = first.unwrap_or_default();
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    sorted.dedup();
    let expected: Vec<u64> = (first..).take(sorted.len()).collect();
    assert_eq!(sorted, expected, "without a hole");
    let checked = netreel(&["check", text(window)]).expect(2);
    assert!(checked.out.contains("0 errors"), "{}", checked.out);
    assert!(checked.out.contains("  (window)\n"), "{}", checked.out);
    let info = netreel(&["info", text(window)]).expect(0);
    assert!(info.out.contains("window"), "{}", info.out);
}

/// A proxy with a server and two clients.
struct Proxied {
    running: Running,
    out: PathBuf,
    server: UdpSocket,
    clients: [UdpSocket; 2],
    sent: u64,
}

impl Proxied {
    fn start(folder: &Path, flags: &[&str]) -> Proxied {
        let socket = || {
            let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
            socket.set_read_timeout(Some(LONG)).expect("a limit");
            socket
        };
        let (server, clients) = (socket(), [socket(), socket()]);
        let out = folder.join("out");
        let route = format!("127.0.0.1:0={}", server.local_addr().expect("its address"));
        let mut arguments = vec!["record", "--out", text(&out), "--proxy", &route];
        arguments.extend(["--ring", "0.5"]);
        arguments.extend(flags);
        let mut running = Running::start(&mut recorder(), &arguments);
        let listening = running.says("listening on ");
        let at = listening.split(' ').next().unwrap_or_default();
        for client in &clients {
            client.connect(at).expect("an address");
        }
        Proxied {
            running,
            out,
            server,
            clients,
            sent: 0,
        }
    }

    /// A packet to the server and another one back, of each client.
    fn round(&mut self) {
        let mut buffer = [0; 100];
        for client in &self.clients {
            client.send(&self.sent.to_le_bytes()).expect("sent");
            let (_, from) = self.server.recv_from(&mut buffer).expect("it arrives");
            let answer = (self.sent + 1).to_le_bytes();
            self.server.send_to(&answer, from).expect("sent");
            client.recv(&mut buffer).expect("it comes back");
            self.sent += 2;
        }
    }

    /// Plays on until `enough`; the latest number.
    fn play_until(&mut self, mut enough: impl FnMut(&Proxied) -> bool) -> u64 {
        let begun = Instant::now();
        while !enough(self) {
            assert!(begun.elapsed() < LONG, "waited too long");
            self.round();
            std::thread::sleep(Duration::from_millis(2));
        }
        self.sent - 1
    }

    fn move_on(&mut self) -> u64 {
        self.play_until(|proxied| !proxied.out.join("proxy.reel").exists() && proxied.sent > 0)
    }

    /// The nodes that a window shows: both clients and the server, by name.
    fn are_known_in(&self, window: &Path) {
        let info = netreel(&["info", "--json", text(window)]).expect(0).json();
        let mut names: Vec<&str> = info["nodes"]
            .as_array()
            .expect("nodes")
            .iter()
            .filter_map(|node| node["name"].as_str())
            .collect();
        names.sort_unstable();
        let local = |socket: &UdpSocket| socket.local_addr().expect("its address").to_string();
        let mut expected = [&self.clients[0], &self.clients[1], &self.server].map(local);
        expected.sort_unstable();
        assert_eq!(names, expected);
    }
}

#[test]
fn a_signal_to_a_proxy_keeps_its_last_seconds_and_who_its_clients_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut proxied = Proxied::start(folder.path(), &[]);
    let before = proxied.move_on();
    proxied.running.signal(libc::SIGUSR1);
    let window = PathBuf::from(proxied.running.says("kept "));
    is_sound(&window, 0, before);
    assert_eq!(causes(&window), [TriggerCause::SIGNAL]);
    proxied.are_known_in(&window);
    // What the recording itself still has can be read as well.
    let out = proxied.out.clone();
    proxied.move_on();
    let Proxied { running, .. } = proxied;
    running.interrupt();
    // Nothing is wrong with it, and without a wire nothing is known to be well.
    netreel(&["check", text(&out), "--partial"]).expect(0);
}

#[test]
fn a_client_that_went_while_the_window_moved_on_is_known_in_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut proxied = Proxied::start(folder.path(), &["--idle", "1"]);
    proxied.move_on();
    // The proxy has gone on in many files by now; one of the clients falls silent.
    let [stays, goes] = &proxied.clients;
    let (stays, goes) = (stays.try_clone().expect("a socket"), goes.local_addr());
    let goes = goes.expect("its address").to_string();
    proxied.clients = [stays.try_clone().expect("a socket"), stays];
    proxied.play_until({
        let mut heard = String::new();
        move |proxied| {
            heard.extend(proxied.running.said.try_iter());
            heard.contains("is forgotten")
        }
    });
    proxied.running.signal(libc::SIGUSR1);
    let window = PathBuf::from(proxied.running.says("kept "));
    let info = netreel(&["info", text(&window)]).expect(0);
    let server = proxied
        .server
        .local_addr()
        .expect("its address")
        .to_string();
    let nodes = netreel(&["info", "--json", text(&window)]).expect(0).json();
    for node in nodes["nodes"].as_array().expect("nodes") {
        let name = node["name"].as_str().expect("a name");
        let known = [&goes, &server].into_iter().any(|known| known == name)
            || proxied.clients[0]
                .local_addr()
                .is_ok_and(|it| it.to_string() == name);
        assert!(known, "{name} is nobody: {}", info.out);
    }
    let Proxied { running, .. } = proxied;
    running.interrupt();
}

#[test]
fn a_proxy_keeps_the_same_window_as_the_node_that_asks_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let key = folder.path().join("key");
    std::fs::write(&key, "only these two know\n").expect("a file");
    let at = SocketAddr::from((Ipv4Addr::LOCALHOST, support::free_port()));
    let listen = at.to_string();
    let flags = ["--trigger-listen", &listen, "--trigger-key", text(&key)];
    let mut proxied = Proxied::start(folder.path(), &flags);
    let before = proxied.move_on();

    let triggers = Triggers::new();
    let options = Options {
        ring: Some(Ring::new(Duration::from_millis(500))),
        triggers: triggers.clone(),
        ..Options::default()
    };
    let ours = folder.path().join("A.reel");
    let recorder = Recorder::create(ours, &Header::default(), options).expect("a recorder");
    let peers = PeerOptions {
        listen: None,
        peers: vec![at],
        key: "only these two know".to_owned(),
        node: "A".to_owned(),
    };
    let _peers = Peers::start(peers, &triggers).expect("a socket");
    recorder.trigger(TriggerCause::CALL, "the door is open");
    let lines = ["triggered by another node ", "kept "];
    let [told, window] = proxied.running.says_both(lines);
    assert!(told.contains("A: the door is open"), "{told}");
    let window = PathBuf::from(window);
    is_sound(&window, 0, before);
    assert_eq!(causes(&window), [TriggerCause::CALL]);
    recorder.finish().expect("an end");
    let name = window.file_name().expect("a name");
    assert!(folder.path().join(name).exists(), "the same at both");
    let Proxied { running, .. } = proxied;
    running.interrupt();
}

#[cfg(feature = "pcap")]
mod live {
    use super::*;
    use crate::support::net::Net;

    /// Datagrams on the loopback interface of a namespace, as fast as nobody minds, until `enough`;
    /// the latest number.
    fn send_until(net: &Net, count: &mut u64, mut enough: impl FnMut() -> bool + Send) -> u64 {
        net.inside(|| {
            let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
            let to = UdpSocket::bind("127.0.0.1:0").expect("a port");
            let at = to.local_addr().expect("its address");
            let begun = Instant::now();
            while !enough() {
                assert!(begun.elapsed() < LONG, "waited too long");
                *count += 1;
                socket.send_to(&count.to_le_bytes(), at).expect("sent");
                std::thread::sleep(Duration::from_millis(1));
            }
            *count
        })
    }

    fn record(net: &Net, out: &Path, flags: &[&str]) -> Running {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &net.0, env!("CARGO_BIN_EXE_netreel")]);
        let mut arguments = vec![
            "record",
            "--live",
            "lo",
            "--out",
            text(out),
            "--ring",
            "0.5",
        ];
        arguments.extend(flags);
        let mut running = Running::start(&mut command, &arguments);
        assert_eq!(running.says("listening on "), "lo");
        running
    }

    #[test]
    fn a_signal_keeps_the_last_seconds_of_an_interface_up_to_the_last_packet() {
        let Some(net) = Net::new() else { return };
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("out");
        let mut running = record(&net, &out, &[]);
        let mut count = 0;
        let before = send_until(&net, &mut count, || {
            count_of(&out) > 3 && !out.join("lo.reel").exists()
        });
        running.signal(libc::SIGUSR1);
        let window = PathBuf::from(running.says("kept "));
        // The window has its last part when what the kernel still had was handed over.
        let complete = || numbers(&window).last().copied() >= Some(before);
        send_until(&net, &mut count, complete);
        is_sound(&window, 1, before);
        assert_eq!(causes(&window), [TriggerCause::SIGNAL]);
        running.interrupt();
    }

    #[test]
    fn a_finding_keeps_the_last_seconds_of_an_interface() {
        let Some(net) = Net::new() else { return };
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("out");
        let wire = folder.path().join("ticks.wire");
        let ticks = "wire ticks { version = 1; byte_order = little; bit_order = lsb; \
                     root = Packet; }\nstruct Packet { magic: u8 = 0x47; count: u32; }\n";
        std::fs::write(&wire, ticks).expect("a file");
        let flags = ["--trigger-on-finding", "warning", "--wire", text(&wire)];
        let mut running = record(&net, &out, &flags);
        let mut count = 0;
        send_until(&net, &mut count, || windows(&out) > 0);
        let window = PathBuf::from(running.says("kept "));
        assert_eq!(causes(&window), [TriggerCause::FINDING]);
        running.interrupt();
    }

    fn names(out: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(out).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.collect()
    }

    fn count_of(out: &Path) -> usize {
        let names = names(out);
        names.iter().filter(|name| name.ends_with(".reel")).count()
    }

    fn windows(out: &Path) -> usize {
        let names = names(out);
        names
            .iter()
            .filter(|name| name.starts_with("window-"))
            .count()
    }
}

#[test]
fn what_cannot_be_judged_of_a_recording_that_goes_on_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut proxied = Proxied::start(folder.path(), &["--trigger-on-finding", "error"]);
    let said = "so far unknown: no errors, but not all could be judged: no reel holds a wire";
    proxied.play_until(|proxied| {
        let mut lines = proxied.running.said.try_iter();
        lines.any(|line| line.contains(said))
    });
    let Proxied { running, .. } = proxied;
    running.interrupt();
}
