//! What a preloaded program's reels hold, against what tcpdump saw of the same run.
//!
//! Runs in network namespaces of its own, which takes root, `ip` and `tcpdump`.

mod support;

use std::collections::BTreeMap;
use std::io::BufRead;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use netreel_capture::pcap::{Ending, UdpPayloads};
use netreel_reel::{CallId, Event, EventKind, Reel, SendOutcome, SocketId};

/// A network of its own with nothing but `lo`, and a tcpdump on it.
struct Network {
    name: String,
    folder: tempfile::TempDir,
    tcpdump: Child,
}

impl Drop for Network {
    fn drop(&mut self) {
        let _ = self.tcpdump.kill();
        let _ = self.tcpdump.wait();
        let _ = Command::new("ip")
            .args(["netns", "del", &self.name])
            .status();
    }
}

fn runs(command: &mut Command) -> bool {
    let silent = command.stdout(Stdio::null()).stderr(Stdio::null());
    silent.status().is_ok_and(|status| status.success())
}

impl Network {
    /// `None`, with a word, where this machine or user cannot.
    fn new(name: &str) -> Option<Network> {
        let name = format!("netreel-{name}-{}", std::process::id());
        let ip = |arguments: &[&str]| runs(Command::new("ip").args(arguments));
        if !ip(&["netns", "add", &name]) {
            support::no_namespace();
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let up = ip(&["-n", &name, "link", "set", "lo", "up"]);
        let tcpdump = Command::new("ip")
            .args([
                "netns", "exec", &name, "tcpdump", "-i", "lo", "-U", "-B", "65536", "-s", "9000",
            ])
            .args(["--time-stamp-precision=nano", "-Z", "root", "-w"])
            .arg(folder.path().join("capture.pcap"))
            .arg("udp")
            .stderr(Stdio::null())
            .spawn();
        let network = Network {
            name,
            tcpdump: tcpdump.unwrap(),
            folder,
        };
        let started = Instant::now();
        while !std::fs::metadata(network.capture()).is_ok_and(|file| file.len() >= 24) {
            if !up || started.elapsed() > Duration::from_secs(5) {
                support::skipped("tcpdump does not start");
                return None;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        // The file's head is written before the first packet is listened for.
        std::thread::sleep(Duration::from_millis(300));
        Some(network)
    }

    fn capture(&self) -> PathBuf {
        self.folder.path().join("capture.pcap")
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    /// Compiles one of `tests/programs`; `None`, with a word, where a library is missing.
    fn compile(&self, name: &str, flags: &[&str]) -> Option<PathBuf> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
        let program = self.folder.path().join(name);
        let mut compiler = Command::new("cc");
        compiler.args(["-O2", "-w", "-o"]).arg(&program);
        compiler.arg(source.join(format!("{name}.c"))).args(flags);
        if !runs(&mut compiler) {
            support::skipped(format_args!("{name}.c does not compile with {flags:?}"));
            return None;
        }
        Some(program)
    }

    /// Starts `netreel record` on a program inside the network.
    fn record(&self, command: &[&str]) -> Child {
        Command::new(env!("CARGO_BIN_EXE_netreel"))
            .arg("record")
            .arg("--out")
            .arg(self.out())
            .args(["--", "ip", "netns", "exec", &self.name])
            .args(command)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn compare(mut self) -> Compared {
        // tcpdump takes packets out of the kernel's buffer once a second.
        std::thread::sleep(Duration::from_millis(1500));
        let interrupt = interrupt(self.tcpdump.id());
        assert!(interrupt, "tcpdump is there");
        support::ended(&mut self.tcpdump);
        let file = std::fs::File::open(self.capture()).unwrap();
        let mut captured = Vec::new();
        let mut packets = UdpPayloads::new(std::io::BufReader::new(file)).unwrap();
        for packet in &mut packets {
            assert!(!packet.is_cut());
            captured.push((packet.source, packet.destination, packet.payload));
        }
        assert!(matches!(packets.ending(), Ending::Whole));
        let session = netreel_capture::open_session(&[self.out()]).unwrap();
        assert!(session.failed.is_empty());
        let reels = session.reels.into_iter().map(|opened| opened.reel);
        compare(&captured, &reels.collect::<Vec<_>>())
    }
}

fn interrupt(pid: u32) -> bool {
    support::signal(pid, libc::SIGINT)
}

type Packet = (SocketAddr, SocketAddr, Vec<u8>);

/// What the comparison came to.
#[derive(Debug, Default)]
struct Compared {
    sent: usize,
    received: usize,
    /// Dropped by the kernel, as the reels say.
    drops: usize,
    /// Came after the last packet that the program read.
    unread: usize,
}

/// One socket of a reel.
#[derive(Default)]
struct Socket {
    port: u16,
    sent: Vec<(SocketAddr, Vec<u8>)>,
    received: Vec<(SocketAddr, Vec<u8>)>,
    drops: usize,
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

fn sockets(reel: &Reel) -> BTreeMap<SocketId, Socket> {
    let mut sockets: BTreeMap<SocketId, Socket> = BTreeMap::new();
    let mut pending = BTreeMap::new();
    let walk = reel.for_each(|record| match record.event {
        Event::SocketOpened { socket, local } => {
            sockets.entry(socket).or_default().port = local.port();
        }
        Event::Sent {
            socket,
            to,
            payload,
        } => {
            pending.insert(record.number, (socket, canonical(to), payload.to_vec()));
        }
        Event::SendResult { of, outcome } => {
            let (socket, to, payload) = pending.remove(&of).expect("a result follows its send");
            if outcome == SendOutcome::Sent {
                sockets.entry(socket).or_default().sent.push((to, payload));
            }
        }
        Event::Received {
            socket,
            from,
            payload,
        } => {
            let socket = sockets.entry(socket).or_default();
            socket.received.push((canonical(from), payload.to_vec()));
        }
        Event::Called { call, details, .. } => {
            let told = match call {
                CallId::CLOSE => details.get(4..),
                CallId::RECEIVE_QUEUE => Some(details),
                _ => None,
            };
            if let Some([a, b, c, d, e, f, ..]) = told {
                let socket = SocketId(u16::from_le_bytes([*a, *b]));
                let drops = u32::from_le_bytes([*c, *d, *e, *f]);
                sockets.entry(socket).or_default().drops = drops as usize;
            }
        }
        _ => {}
    });
    assert!(walk.damaged.is_empty() && walk.gaps.is_empty());
    assert!(pending.is_empty(), "every send has a result");
    sockets
}

fn compare(captured: &[Packet], reels: &[Arc<Reel>]) -> Compared {
    let mut compared = Compared::default();
    for reel in reels {
        for socket in sockets(reel).into_values() {
            let sent: Vec<(SocketAddr, Vec<u8>)> = captured
                .iter()
                .filter(|(source, _, _)| source.port() == socket.port)
                .map(|(_, destination, payload)| (*destination, payload.clone()))
                .collect();
            assert_eq!(socket.sent.len(), sent.len(), "port {}", socket.port);
            assert!(socket.sent == sent, "packet for packet, in order");
            compared.sent += sent.len();
            let mut came: BTreeMap<SocketAddr, Vec<&Vec<u8>>> = BTreeMap::new();
            for (source, destination, payload) in captured {
                if destination.port() == socket.port {
                    came.entry(*source).or_default().push(payload);
                }
            }
            // Packets of two senders may pass tcpdump and the socket in two orders.
            let (mut read, mut missing, mut rest) = (0, 0, 0);
            for (source, came) in came {
                let received = socket.received.iter().filter(|(from, _)| *from == source);
                let mut came = came.into_iter();
                for (_, received) in received {
                    let before = came.len();
                    assert!(
                        came.any(|came| came == received),
                        "it came, and in this order"
                    );
                    missing += before - came.len() - 1;
                    read += 1;
                }
                rest += came.len();
            }
            assert_eq!(read, socket.received.len(), "all of it came");
            compared.received += read;
            assert!(
                missing <= socket.drops,
                "port {}: {missing} missing before the last that was read, {} dropped",
                socket.port,
                socket.drops
            );
            compared.drops += socket.drops;
            compared.unread += missing + rest - socket.drops;
        }
    }
    compared
}

#[test]
fn packets_that_the_kernel_drops_or_nobody_reads_are_the_only_difference() {
    let Some(network) = Network::new("burst") else {
        return;
    };
    let Some(program) = network.compile("burst", &[]) else {
        return;
    };
    let mut recording = network.record(&[program.to_str().unwrap(), "2000"]);
    assert_eq!(support::ended(&mut recording).code(), Some(0));
    let compared = network.compare();
    println!("{compared:?}");
    assert_eq!(compared.sent, 2003);
    assert_eq!(compared.unread, 2, "of the last three one was read");
    assert!(compared.drops > 1000, "a buffer holds far fewer");
    assert_eq!(compared.received + compared.drops + 2, 2003);
}

#[test]
fn sessions_of_c_enet_are_recorded_packet_for_packet() {
    let Some(network) = Network::new("enet") else {
        return;
    };
    let Some(program) = network.compile("enet", &["-lenet"]) else {
        return;
    };
    let program = program.to_str().unwrap();
    let mut server = network.record(&[program, "server", "7000", "400"]);
    std::thread::sleep(Duration::from_millis(300));
    let mut client = network.record(&[program, "client", "7000", "400"]);
    assert_eq!(support::ended(&mut client).code(), Some(0));
    assert_eq!(support::ended(&mut server).code(), Some(0));
    let out = network.out();
    let shown = support::netreel(&["packets", out.to_str().unwrap(), "--json"]).expect(0);
    let compared = network.compare();
    println!("{compared:?}");
    assert!(compared.sent > 800, "{compared:?}");
    assert_eq!(shown.out.lines().count(), compared.sent, "each packet once");
    assert_eq!(
        compared.sent,
        compared.received + compared.drops + compared.unread
    );
}

#[test]
fn a_session_of_godot_is_recorded_packet_for_packet() {
    let godot = netreel_capture::preload::find_program(Path::new("godot3-server"));
    if godot.is_none() {
        support::skipped("godot3-server is not installed");
        return;
    }
    let Some(network) = Network::new("godot") else {
        return;
    };
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/godot");
    let project = project.to_str().unwrap();
    let node = |role: &str, seconds: &str| {
        let (role, seconds) = (format!("--role={role}"), format!("--seconds={seconds}"));
        network.record(&["godot3-server", "--path", project, &role, &seconds])
    };
    // On a busy machine clients take seconds to start; the server outlives them.
    let mut nodes = vec![node("server", "14")];
    std::thread::sleep(Duration::from_secs(1));
    nodes.extend((0..3).map(|_| node("client", "4")));
    for node in &mut nodes {
        assert_eq!(support::ended(node).code(), Some(0));
    }
    let compared = network.compare();
    println!("{compared:?}");
    assert!(compared.sent > 1000, "{compared:?}");
    assert_eq!(
        compared.sent,
        compared.received + compared.drops + compared.unread
    );
}

/// A virtual display inside a network.
struct Display(Child, String);

impl Display {
    fn new(network: &Network) -> Option<Display> {
        let child = Command::new("ip")
            .args(["netns", "exec", &network.name, "Xvfb", "-displayfd", "1"])
            .args(["-screen", "0", "640x480x24"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut display = Display(child.ok()?, String::new());
        let out = display.0.stdout.take()?;
        std::io::BufReader::new(out)
            .read_line(&mut display.1)
            .ok()?;
        (!display.1.trim().is_empty()).then_some(display)
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_match_of_ioquake3_is_recorded_packet_for_packet_and_read_by_its_wire() {
    let (server, client) = ("/usr/lib/ioquake3/ioq3ded", "/usr/lib/ioquake3/ioquake3");
    let data = ["/usr/lib/openarena-server", "/usr/lib/openarena"];
    if ![server, client]
        .iter()
        .chain(&data)
        .all(|path| Path::new(path).exists())
    {
        support::skipped("needs the packages ioquake3, openarena-server, openarena and xvfb");
        return;
    }
    let Some(network) = Network::new("ioquake3") else {
        return;
    };
    let Some(display) = Display::new(&network) else {
        support::skipped("Xvfb does not start");
        return;
    };
    let home = format!("HOME={}", network.folder.path().display());
    let display = format!("DISPLAY=:{}", display.1.trim());
    // The game shuts down inside its signal handler. One that comes while it waits for the display
    // waits for ever; it is killed then, and what it sent is recorded all the same.
    let node = |program: &str, data: &str, seconds: &str, more: &str| {
        let command = format!(
            "env {home} {display} timeout -k 5 -s INT {seconds} {program} +set com_basegame baseoa \
             +set com_legacyprotocol 71 +set com_protocol 71 +set fs_basepath {data} \
             +set com_homepath game +set net_enabled 1 +set net_ip 127.0.0.1 {more}"
        );
        network.record(&command.split_whitespace().collect::<Vec<_>>())
    };
    let bots = "+set ttycon 0 +set dedicated 1 +set sv_pure 0 +set sv_master1 0 +set bot_enable 1 \
        +set bot_minplayers 4 +map oa_dm1";
    let window = "+set r_fullscreen 0 +set r_mode 3 +set s_initsound 0 +connect 127.0.0.1";
    let mut nodes = [
        node(server, data[0], "22", bots),
        node(client, data[1], "18", window),
    ];
    for node in &mut nodes {
        support::ended(node);
    }
    let out = network.out();
    let wire = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/wires/quake3.wire");
    let (out, wire) = (out.to_str().unwrap(), wire.to_str().unwrap());
    support::netreel(&["check", out, "--wire", wire, "--partial"]).expect(0);
    let session = netreel_capture::open_session(&[out]).unwrap();
    let mut reels = session.reels.iter();
    let server = reels.find(|opened| opened.reel.header().node.starts_with("ioq3ded"));
    let server = server.expect("the server's reel");
    let counts = server.reel.counts();
    let (reads, events) = (counts[&EventKind::ClockRead], counts.values().sum::<u64>());
    let bytes = std::fs::metadata(&server.path).unwrap().len();
    println!("{events} events, of them {reads} clock reads, in {bytes} bytes");
    assert!(
        bytes * 1_700_000 <= events * 5_000_000,
        "27 seconds have 1.7 million clock reads and are to fit into 5 MB"
    );
    let compared = network.compare();
    println!("{compared:?}");
    assert!(compared.sent > 300, "{compared:?}");
}
