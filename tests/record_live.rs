//! `netreel record --live`: what passes an interface. Each test has a network namespace of its own,
//! and is skipped where it cannot make one.
#![cfg(feature = "pcap")]

mod support;

use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use netreel_reel::{Event, Reel};
use support::net::Net;
use support::netreel;

impl Net {
    /// Makes `game0`, at 10.77.0.1, with `game1` at its other end; says so where it may not.
    fn has_game_interfaces(&self) -> bool {
        let pair = ["type", "veth", "peer", "name", "game1"];
        if !self.ip(&[&["link", "add", "game0"][..], &pair[..]].concat()) {
            support::skipped("no right to make an interface");
            return false;
        }
        assert!(self.ip(&["link", "set", "game1", "up"]));
        assert!(self.ip(&["addr", "add", "10.77.0.1/24", "dev", "game0"]));
        assert!(self.ip(&["link", "set", "game0", "up"]));
        true
    }

    /// Starts `netreel record --live` in it, and waits until it captures.
    fn record(&self, interface: &str, out: &Path, more: &[&str]) -> Recording {
        let child = Command::new("ip")
            .args(["netns", "exec", &self.0, env!("CARGO_BIN_EXE_netreel")])
            .args(["record", "--live", interface, "--out"])
            .arg(out)
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let mut recording = Recording(Some(child));
        // Reels are made once the interface is open.
        wait_for("the reels", || {
            let found = std::fs::read_dir(out).map(|files| files.count());
            found.unwrap_or(0) > 0 || recording.has_ended()
        });
        recording
    }
}

struct Recording(Option<Child>);

struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Recording {
    fn has_ended(&mut self) -> bool {
        let child = self.0.as_mut();
        child.is_none_or(|child| !matches!(child.try_wait(), Ok(None)))
    }

    fn signal(&self, signal: i32) {
        if let Some(child) = &self.0 {
            // `ip netns exec` becomes the command. SAFETY: a plain call; the child is not reaped.
            unsafe { libc::kill(child.id() as i32, signal) };
        }
    }

    fn wait(mut self) -> Ended {
        wait_for("the end", || self.has_ended());
        let child = self.0.take().expect("once");
        let output = child.wait_with_output().expect("its end");
        Ended {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[track_caller]
fn wait_for(what: &str, mut ready: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !ready() {
        assert!(Instant::now() < until, "{what} did not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The numbers in the datagrams of a reel, in its order.
fn numbers(path: &Path) -> Vec<u64> {
    let Ok(reel) = netreel_capture::open(path) else {
        return Vec::new();
    };
    numbers_in(&reel)
}

fn numbers_in(reel: &Reel) -> Vec<u64> {
    let mut numbers = Vec::new();
    reel.for_each(|record| {
        let payload = match record.event {
            Event::Seen { payload, .. }
            | Event::Sent { payload, .. }
            | Event::Received { payload, .. } => payload,
            _ => return,
        };
        numbers.extend(
            payload
                .first_chunk()
                .map(|eight| u64::from_le_bytes(*eight)),
        );
    });
    numbers
}

fn missed(reel: &Reel) -> u64 {
    let mut missed = 0;
    reel.for_each(|record| {
        if let Event::CaptureDrops { count } = record.event {
            missed += count;
        }
    });
    missed
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("out");
    (folder, out)
}

/// Two sockets on the loopback interface.
fn pair() -> (UdpSocket, UdpSocket, SocketAddr) {
    let bind = || UdpSocket::bind("127.0.0.1:0").expect("a port");
    let (from, to) = (bind(), bind());
    let at = to.local_addr().expect("its address");
    (from, to, at)
}

#[test]
fn every_packet_of_an_interface_is_seen_once_and_in_order() {
    let Some(net) = Net::new() else { return };
    let (_folder, out) = folder();
    let recording = net.record("lo", &out, &[]);
    net.inside(|| {
        let (from, _to, at) = pair();
        for number in 0..500u64 {
            from.send_to(&number.to_le_bytes(), at).expect("sent");
        }
    });
    let reel = out.join("lo.reel");
    wait_for("the packets", || numbers(&reel).len() >= 500);
    recording.signal(libc::SIGINT);
    let ended = recording.wait();
    assert_eq!(ended.code, Some(0), "{} {}", ended.out, ended.err);
    assert!(ended.out.contains("500 packets"), "{}", ended.out);
    assert_eq!(numbers(&reel), (0..500).collect::<Vec<u64>>());
    let info = netreel(&["info", "--json", reel.to_str().expect("UTF-8")])
        .expect(0)
        .json();
    assert_eq!(info["observers"][0]["packets"], 500);
    assert_eq!(info["observers"][0]["complete"], true);
}

#[test]
fn a_capture_filter_says_what_is_seen() {
    let Some(net) = Net::new() else { return };
    let (_folder, out) = folder();
    let ports = net.inside(|| (pair(), pair()));
    let ((from, _to, at), (other, _nobody, aside)) = ports;
    let filter = format!("udp port {}", at.port());
    let recording = net.record("lo", &out, &["--capture-filter", &filter]);
    for number in 0..20u64 {
        other
            .send_to(&(900 + number).to_le_bytes(), aside)
            .expect("sent");
        from.send_to(&number.to_le_bytes(), at).expect("sent");
    }
    let reel = out.join("lo.reel");
    wait_for("the packets", || numbers(&reel).len() >= 20);
    recording.signal(libc::SIGINT);
    assert_eq!(recording.wait().code, Some(0));
    assert_eq!(numbers(&reel), (0..20).collect::<Vec<u64>>());
}

#[test]
fn a_named_node_has_a_reel_of_what_it_sent_and_received() {
    let Some(net) = Net::new() else { return };
    let (_folder, out) = folder();
    let (from, to, at) = net.inside(pair);
    let here = from.local_addr().expect("its address");
    let nodes = [format!("A={here}"), format!("B={at}")];
    let recording = net.record("lo", &out, &["--node", &nodes[0], "--node", &nodes[1]]);
    from.send_to(&1u64.to_le_bytes(), at).expect("sent");
    to.send_to(&2u64.to_le_bytes(), here).expect("sent");
    wait_for("the packets", || {
        ["A.reel", "B.reel"]
            .iter()
            .all(|reel| numbers(&out.join(reel)).len() == 2)
    });
    recording.signal(libc::SIGINT);
    assert_eq!(recording.wait().code, Some(0));
    let ran = netreel(&["packets", out.to_str().expect("UTF-8")]).expect(0);
    assert!(
        ran.out.contains("A -> B") && ran.out.contains("B -> A"),
        "{}",
        ran.out
    );
}

#[test]
fn fragments_of_a_large_datagram_are_put_together() {
    let Some(net) = Net::new() else { return };
    assert!(net.ip(&["link", "set", "lo", "mtu", "1500"]));
    let (_folder, out) = folder();
    let recording = net.record("lo", &out, &[]);
    let (from, _to, at) = net.inside(pair);
    let large = vec![7; 20_000];
    from.send_to(&large, at).expect("sent");
    let reel = out.join("lo.reel");
    wait_for("the packet", || !numbers(&reel).is_empty());
    recording.signal(libc::SIGINT);
    assert_eq!(recording.wait().code, Some(0));
    let mut lengths = Vec::new();
    let opened = netreel_capture::open(&reel).expect("the reel");
    opened.for_each(|record| {
        if let Event::Seen { payload, .. } = record.event {
            lengths.push(payload.len());
        }
    });
    assert_eq!(lengths, [20_000]);
}

#[test]
fn an_interface_that_goes_away_ends_it_with_a_sentence() {
    let Some(net) = Net::new() else { return };
    if !net.has_game_interfaces() {
        return;
    }
    let (_folder, out) = folder();
    let recording = net.record("game0", &out, &[]);
    net.inside(|| {
        let socket = UdpSocket::bind("10.77.0.1:0").expect("a port");
        for number in 0..10u64 {
            // Nobody is there; what is for everybody goes out all the same.
            socket.set_broadcast(true).expect("a flag");
            socket
                .send_to(&number.to_le_bytes(), "10.77.0.255:9")
                .expect("sent");
        }
    });
    let reel = out.join("game0.reel");
    wait_for("the packets", || numbers(&reel).len() >= 10);
    assert!(net.ip(&["link", "del", "game0"]));
    let ended = recording.wait();
    assert_eq!(ended.code, Some(1), "{} {}", ended.out, ended.err);
    assert!(
        ended.out.contains("capturing on game0 ended"),
        "{}",
        ended.out
    );
    assert_eq!(numbers(&reel), (0..10).collect::<Vec<u64>>());
}

#[test]
fn an_interface_that_goes_away_right_after_its_packets_loses_none() {
    let Some(net) = Net::new() else { return };
    for round in 0..3 {
        if !net.has_game_interfaces() {
            return;
        }
        let (_folder, out) = folder();
        let recording = net.record("game0", &out, &[]);
        net.inside(|| {
            let socket = UdpSocket::bind("10.77.0.1:0").expect("a port");
            socket.set_broadcast(true).expect("a flag");
            for number in 0..2000u64 {
                let payload = number.to_le_bytes();
                socket.send_to(&payload, "10.77.0.255:9").expect("sent");
            }
        });
        assert!(net.ip(&["link", "del", "game0"]));
        let ended = recording.wait();
        assert_eq!(ended.code, Some(1), "{} {}", ended.out, ended.err);
        let told = "what came before is in the reel\n";
        assert!(ended.out.contains(told), "{}", ended.out);
        let seen = numbers(&out.join("game0.reel"));
        let sent: Vec<u64> = (0..2000).collect();
        assert_eq!(seen, sent, "round {round}: {}", ended.out);
    }
}

#[test]
fn what_passed_before_the_end_was_asked_for_is_in_the_reel() {
    let Some(net) = Net::new() else { return };
    for round in 0..3 {
        let (_folder, out) = folder();
        let recording = net.record("lo", &out, &[]);
        net.inside(|| {
            let (from, _to, at) = pair();
            for number in 0..500u64 {
                from.send_to(&number.to_le_bytes(), at).expect("sent");
            }
        });
        recording.signal(libc::SIGINT);
        let ended = recording.wait();
        assert_eq!(ended.code, Some(0), "{} {}", ended.out, ended.err);
        let seen = numbers(&out.join("lo.reel"));
        let sent: Vec<u64> = (0..500).collect();
        assert_eq!(seen, sent, "round {round}: {}", ended.out);
    }
}

#[test]
fn packets_that_go_on_to_come_do_not_keep_it_from_ending() {
    let Some(net) = Net::new() else { return };
    let (_folder, out) = folder();
    let mut recording = net.record("lo", &out, &[]);
    net.inside(|| {
        let (from, _to, at) = pair();
        let mut sent = 0u64;
        let mut send = || {
            from.send_to(&sent.to_le_bytes(), at).expect("sent");
            sent += 1;
        };
        (0..100).for_each(|_| send());
        recording.signal(libc::SIGINT);
        wait_for("the end", || {
            (0..100).for_each(|_| send());
            recording.has_ended()
        });
    });
    let ended = recording.wait();
    assert_eq!(ended.code, Some(0), "{} {}", ended.out, ended.err);
    let seen = numbers(&out.join("lo.reel"));
    assert!(seen.len() >= 100, "{}", ended.out);
    assert_eq!(seen, (0..seen.len() as u64).collect::<Vec<u64>>());
}

#[test]
fn a_capture_at_all_interfaces_says_by_which_one_a_packet_came() {
    let Some(net) = Net::new() else { return };
    if !net.has_game_interfaces() {
        return;
    }
    let (_folder, out) = folder();
    let filter = ["--capture-filter", "udp and not port 5353"];
    let recording = net.record("any", &out, &filter);
    net.inside(|| {
        let (from, _to, at) = pair();
        let socket = UdpSocket::bind("10.77.0.1:0").expect("a port");
        socket.set_broadcast(true).expect("a flag");
        for number in 0..5u64 {
            let payload = number.to_le_bytes();
            from.send_to(&payload, at).expect("sent");
            socket.send_to(&payload, "10.77.0.255:9").expect("sent");
        }
    });
    let reel = out.join("any.reel");
    // What leaves game0 comes in at game1.
    wait_for("the packets", || numbers(&reel).len() >= 15);
    recording.signal(libc::SIGINT);
    let ended = recording.wait();
    assert_eq!(ended.code, Some(0), "{} {}", ended.out, ended.err);
    let info = netreel(&["info", "--json", reel.to_str().expect("UTF-8")]);
    let info = info.expect(0).json();
    let interfaces = info["observers"][0]["interfaces"].as_array();
    let mut seen: Vec<(&str, u64)> = interfaces
        .expect("a list")
        .iter()
        .map(|it| {
            (
                it["name"].as_str().unwrap_or(""),
                it["packets"].as_u64().unwrap_or(0),
            )
        })
        .collect();
    seen.sort_unstable();
    if seen.len() == 1 {
        return support::skipped("this libpcap does not say by which interface a packet came");
    }
    assert_eq!(seen, [("game0", 5), ("game1", 5), ("lo", 5)]);
}

#[test]
fn what_cannot_be_captured_says_what_to_do() {
    let Some(net) = Net::new() else { return };
    let (_folder, out) = folder();
    let ended = net.record("nowhere0", &out, &[]).wait();
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.err.contains("no interface nowhere0; there are: "),
        "{}",
        ended.err
    );
    assert!(ended.err.contains("lo"), "{}", ended.err);
    let ended = net
        .record("lo", &out, &["--capture-filter", "udp prot 7"])
        .wait();
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.err.contains("the filter `udp prot 7` is not one"),
        "{}",
        ended.err
    );
    assert!(!out.exists(), "nothing is made");
}

#[test]
fn who_has_no_right_to_it_is_told_how_to_get_it() {
    // SAFETY: a call without arguments.
    if unsafe { libc::geteuid() } != 0 {
        support::skipped("a right is taken away here, which needs root");
        return;
    }
    let (_folder, out) = folder();
    let ran = Command::new("setpriv")
        .args([
            "--bounding-set=-net_raw,-net_admin",
            "--inh-caps=-all",
            "--",
        ])
        .args([
            env!("CARGO_BIN_EXE_netreel"),
            "record",
            "--live",
            "lo",
            "--out",
        ])
        .arg(&out)
        .output();
    let Ok(ran) = ran else {
        support::skipped("no setpriv");
        return;
    };
    let err = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(2), "{err}");
    assert!(
        err.contains("run it as root") && err.contains("setcap"),
        "{err}"
    );
}

#[test]
fn what_was_seen_and_what_was_missed_is_what_was_sent() {
    seen_and_missed_is_sent("lo");
}

#[test]
fn at_all_interfaces_a_missed_packet_of_the_loopback_interface_is_one() {
    seen_and_missed_is_sent("any");
}

fn seen_and_missed_is_sent(interface: &str) {
    let Some(net) = Net::new() else { return };
    let (_folder, out) = folder();
    let recording = net.record(interface, &out, &[]);
    let reel = out.join(format!("{interface}.reel"));
    let (from, _to, at) = net.inside(pair);
    let sent = std::cell::Cell::new(0u64);
    let send = |length: usize| {
        let mut payload = vec![0; length];
        payload[..8].copy_from_slice(&sent.get().to_le_bytes());
        from.send_to(&payload, at).expect("sent");
        sent.set(sent.get() + 1);
    };
    // More than the kernel holds for a recorder that is not at it.
    recording.signal(libc::SIGSTOP);
    for _ in 0..80_000 {
        send(1400);
    }
    recording.signal(libc::SIGCONT);
    wait_for("the last packet", || {
        send(8);
        std::thread::sleep(Duration::from_millis(50));
        let opened = netreel_capture::open(&reel).ok();
        opened.is_some_and(|opened| missed(&opened) > 0)
    });
    // What was asked for last is not in the statistics yet.
    let last = sent.get();
    send(8);
    wait_for("the end", || numbers(&reel).last() == Some(&last));
    recording.signal(libc::SIGINT);
    let ended = recording.wait();
    assert_eq!(ended.code, Some(1), "{} {}", ended.out, ended.err);
    if ended.err.contains("are counted twice") {
        return support::skipped("here nobody can count them once, and it says so");
    }
    assert!(
        ended.out.contains("passed without being seen"),
        "{}",
        ended.out
    );
    let opened = netreel_capture::open(&reel).expect("the reel");
    let seen = numbers_in(&opened);
    assert!(seen.is_sorted_by(|a, b| a < b), "in order, each once");
    assert_eq!(seen.len() as u64 + missed(&opened), last + 1);
    let told = netreel(&["info", "--json", reel.to_str().expect("UTF-8")]).expect(0);
    assert_eq!(told.json()["observers"][0]["missed"], missed(&opened));
}

#[test]
fn a_recording_that_may_last_so_long_ends_by_itself() {
    let Some(net) = Net::new() else { return };
    let (_folder, out) = folder();
    let ended = net.record("lo", &out, &["--max-time", "0.2"]).wait();
    assert_eq!(ended.code, Some(0), "{} {}", ended.out, ended.err);
    let reel = netreel_capture::open(out.join("lo.reel")).expect("the reel");
    assert_eq!(*reel.ending(), netreel_reel::Ending::Clean);
}

/// How many kills; `./dev campaign` raises it.
fn kills() -> u64 {
    let kills = std::env::var("NETREEL_KILLS").ok();
    kills.and_then(|kills| kills.parse().ok()).unwrap_or(3)
}

/// A sender that counts; the recorder is killed at some moment; what is on disk opens, is what was
/// sent from its first packet on without a gap, and holds at least what a reader saw before.
#[test]
fn a_killed_recorder_keeps_what_was_handed_over() {
    let Some(net) = Net::new() else { return };
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    let mut draw = |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    let mut worst = Duration::ZERO;
    for kill in 0..kills() {
        let (_folder, out) = folder();
        let recording = net.record("lo", &out, &[]);
        let reel = out.join("lo.reel");
        let at_least = 1 + draw(2000);
        let (sent, seen) = net.inside(|| {
            let (from, _to, at) = pair();
            let mut sent: Vec<Instant> = Vec::new();
            let mut seen = 0;
            while (sent.len() as u64) < at_least || seen == 0 {
                for _ in 0..10 {
                    let number = sent.len() as u64;
                    from.send_to(&number.to_le_bytes(), at).expect("sent");
                    sent.push(Instant::now());
                }
                std::thread::sleep(Duration::from_micros(500));
                if seen == 0 {
                    seen = numbers(&reel).len();
                }
            }
            (sent, seen)
        });
        recording.signal(libc::SIGKILL);
        let killed = Instant::now();
        recording.wait();
        let opened = netreel_capture::open(&reel).expect("what is on disk opens");
        let kept = numbers_in(&opened);
        assert_eq!(missed(&opened), 0, "kill {kill}");
        assert_eq!(
            kept,
            (0..kept.len() as u64).collect::<Vec<u64>>(),
            "kill {kill}"
        );
        assert!(kept.len() >= seen, "kill {kill}: {} of {seen}", kept.len());
        let lost = sent
            .get(kept.len())
            .map(|first| killed.saturating_duration_since(*first));
        worst = worst.max(lost.unwrap_or_default());
    }
    println!("{} kills: at most {worst:?} of packets were lost", kills());
}

#[test]
fn what_tcpdump_sees_is_seen() {
    let Some(net) = Net::new() else { return };
    let (_folder, out) = folder();
    std::fs::create_dir_all(&out).expect("a folder");
    let capture = out.join("tcpdump.pcap");
    let dump = Command::new("ip")
        .args(["netns", "exec", &net.0, "tcpdump", "-i", "lo", "-U", "-w"])
        .arg(&capture)
        .args(["-Z", "root", "--time-stamp-precision=nano", "udp"])
        .stderr(Stdio::null())
        .spawn();
    let Ok(dump) = dump else {
        support::skipped("no tcpdump");
        return;
    };
    let mut dump = Recording(Some(dump));
    wait_for("tcpdump", || {
        std::fs::metadata(&capture).is_ok_and(|file| file.len() >= 24) || dump.has_ended()
    });
    if dump.has_ended() {
        support::skipped("tcpdump does not capture here");
        return;
    }
    let recording = net.record("lo", &out.join("live"), &[]);
    net.inside(|| {
        let (from, _to, at) = pair();
        for number in 0..2000u64 {
            from.send_to(&number.to_le_bytes(), at).expect("sent");
        }
    });
    let reel = out.join("live/lo.reel");
    wait_for("the packets", || {
        numbers(&reel).len() >= 2000 && numbers(&capture).len() >= 2000
    });
    recording.signal(libc::SIGINT);
    dump.signal(libc::SIGINT);
    assert_eq!(recording.wait().code, Some(0));
    dump.wait();
    assert_eq!(numbers(&reel), numbers(&capture));
}
