//! `netreel record --proxy` as a person runs it.

mod support;

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use support::{Ran, netreel, signal};

/// The command while it runs.
struct Running {
    child: Child,
    errors: BufReader<ChildStderr>,
    said: String,
    server: UdpSocket,
    client: UdpSocket,
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let patience = Some(Duration::from_secs(30));
    socket.set_read_timeout(patience).unwrap();
    socket
}

impl Running {
    fn start(out: &Path, flags: &[&str]) -> Running {
        let server = socket();
        let target = server.local_addr().unwrap();
        Running {
            server,
            ..Running::towards(target, out, flags)
        }
    }

    /// Towards somebody else than its own server.
    fn towards(target: SocketAddr, out: &Path, flags: &[&str]) -> Running {
        let server = socket();
        let mut child = support::command()
            .args(["record", "--out", out.to_str().unwrap()])
            .args(["--proxy", &format!("127.0.0.1:0={target}")])
            .args(flags)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        let listening = loop {
            let mut line = String::new();
            let read = errors.read_line(&mut line).unwrap();
            assert!(read > 0, "it ended: {said}");
            said += &line;
            let after = line.strip_prefix("netreel: listening on ");
            if let Some((listening, _)) = after.and_then(|rest| rest.split_once(' ')) {
                break listening.to_owned();
            }
        };
        let client = socket();
        client.connect(listening).unwrap();
        Running {
            child,
            errors,
            said,
            server,
            client,
        }
    }

    /// A packet to the server, and the same back.
    fn round(&self, packet: &[u8]) {
        let mut buffer = vec![0; 70_000];
        self.client.send(packet).unwrap();
        let (length, from) = self.server.recv_from(&mut buffer).expect("it is passed on");
        assert_eq!(&buffer[..length], packet);
        self.server.send_to(packet, from).unwrap();
        let length = self.client.recv(&mut buffer).expect("it is passed back");
        assert_eq!(&buffer[..length], packet);
    }

    /// Ctrl-C.
    fn interrupt(mut self) -> Ran {
        assert!(signal(self.child.id(), libc::SIGINT));
        self.errors.read_to_string(&mut self.said).unwrap();
        let ended = self.child.wait_with_output().unwrap();
        Ran {
            code: ended.status.code(),
            out: String::from_utf8_lossy(&ended.stdout).into_owned(),
            err: self.said,
        }
    }
}

#[test]
fn packets_pass_also_where_nobody_reads_what_the_command_says() {
    let folder = tempfile::tempdir().unwrap();
    let it = Running::start(folder.path(), &[]);
    let pipe = it.errors.get_ref().as_raw_fd();
    // SAFETY: a descriptor of this process, and a size in bytes.
    let room = unsafe { libc::fcntl(pipe, libc::F_SETPIPE_SZ, 4096) };
    assert_eq!(room, 4096);
    // Of each client that comes a sentence of more than 60 bytes is said.
    let clients: Vec<UdpSocket> = (0..150).map(|_| socket()).collect();
    for client in &clients {
        client.connect(it.client.peer_addr().unwrap()).unwrap();
        client.send(b"here").unwrap();
        it.server.recv_from(&mut [0; 8]).expect("it is passed on");
    }
    it.round(b"and back");
    let ran = it.interrupt();
    assert_eq!(ran.err.matches(" came; ").count(), 151);
}

#[test]
fn the_thread_that_passes_packets_on_runs_before_others_where_it_may() {
    let may = std::thread::spawn(netreel_capture::proxy::run_before_others);
    if let Err(error) = may.join().unwrap() {
        support::skipped(format_args!("no real-time priority here: {error}"));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let it = Running::start(folder.path(), &[]);
    it.round(b"so it runs");
    let threads = std::fs::read_dir(format!("/proc/{}/task", it.child.id())).unwrap();
    let real_time: Vec<bool> = threads
        .map(|thread| {
            let stat = std::fs::read_to_string(thread.unwrap().path().join("stat")).unwrap();
            let after_name = stat.rsplit_once(')').unwrap().1;
            // proc_pid_stat(5): rt_priority is field 40, and the name is field 2.
            after_name.split_whitespace().nth(40 - 3) == Some("1")
        })
        .collect();
    assert!(real_time.len() > 1, "the thread that writes");
    assert_eq!(real_time.iter().filter(|it| **it).count(), 1);
    it.interrupt();
}

#[test]
fn control_c_ends_it_in_order_and_the_session_is_that_of_client_and_server() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("session");
    let proxy = Running::start(&out, &["--faults", "up:delay=1ms", "--seed", "7"]);
    for n in 0..5u8 {
        proxy.round(&[n; 100]);
    }
    let client = proxy.client.local_addr().unwrap().to_string();
    let server = proxy.server.local_addr().unwrap().to_string();
    let ran = proxy.interrupt().expect(0);
    assert!(ran.out.starts_with("10 packets, 1000 B in "), "{}", ran.out);
    assert!(ran.err.contains("seed 7") && ran.err.contains(&format!("{client} came")));
    let out = out.to_str().unwrap();
    let packets = netreel(&["packets", "--json", out]).expect(0).out;
    let packets: Vec<serde_json::Value> = packets
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(packets.len(), 10);
    for (place, packet) in packets.iter().enumerate() {
        let (from, to) = match place % 2 {
            0 => (&client, &server),
            _ => (&server, &client),
        };
        assert_eq!(
            (&packet["from"], &packet["to"]),
            (&from.as_str().into(), &to.as_str().into())
        );
        assert_eq!(packet["fate"], "received");
        let delayed =
            serde_json::json!([{"proxy": "proxy", "verdict": "delayed", "time_ns": 1_000_000}]);
        let nothing = serde_json::json!([]);
        assert_eq!(packet["faults"], [delayed, nothing][place % 2]);
        assert!(place % 2 == 1 || packet["late_ns"].as_i64() >= Some(1_000_000));
    }
    let info = netreel(&["info", "--json", out]).expect(0).json();
    assert_eq!(info["nodes"].as_array().map(Vec::len), Some(2));
    let check = netreel(&["check", out, "--json"]).expect(2).json();
    let reasons = check["reasons"].as_array().unwrap().iter();
    let ids: Vec<_> = reasons
        .map(|reason| reason["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["no-wire", "proxied"]);
    // The times are those at the proxy.
    for link in info["links"].as_array().unwrap() {
        assert_eq!(link["latency"], "in proxy");
    }
    for command in ["info", "packets"] {
        let said = netreel(&[command, out]).expect(0).out;
        assert!(said.contains(" ms in proxy"), "{said}");
    }
    let pcapng = folder.path().join("session.pcapng");
    let to = pcapng.to_str().unwrap();
    let arguments = [
        "export", out, "--format", "pcapng", "--late", "500us", "--out", to,
    ];
    netreel(&arguments).expect(0);
    let bytes = std::fs::read(&pcapng).unwrap();
    let contains = |text: &str| bytes.windows(text.len()).any(|it| it == text.as_bytes());
    assert!(contains("[late] ") && contains(" in the proxy"));
    assert!(!contains("on its way"));
}

#[test]
fn a_target_where_nobody_listens_is_told_at_the_end_and_by_info() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("session");
    let nobody = "127.0.0.1:9".parse().unwrap();
    let mut proxy = Running::towards(nobody, &out, &[]);
    proxy.client.send(b"is anybody there?").unwrap();
    let mut line = String::new();
    while !line.contains("answers the packets") {
        line.clear();
        let read = proxy.errors.read_line(&mut line).unwrap();
        assert!(read > 0, "it ended");
    }
    let told = format!(
        "packets to {nobody} were answered once by an error: Connection refused (os error 111); \
         nobody listened there then, and what was sent to it reached nobody"
    );
    let ran = proxy.interrupt().expect(0);
    assert!(ran.out.contains(&told), "{}", ran.out);
    let info = netreel(&["info", out.to_str().unwrap()]).expect(0);
    assert!(info.err.contains(&told), "{}", info.err);
}

#[test]
fn what_the_reel_of_a_killed_proxy_lacks_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("session");
    let mut proxy = Running::start(&out, &[]);
    proxy.round(&[1; 100]);
    proxy.child.kill().unwrap();
    proxy.child.wait().unwrap();
    let out = out.to_str().unwrap();
    let check = netreel(&["check", out, "--json"]);
    let findings = check.json()["findings"].take();
    let sentences = findings.as_array().unwrap().iter();
    let sentences = sentences.filter(|it| it["rule"] == "incomplete-reel");
    let sentences: Vec<_> = sentences.map(|it| it["sentence"].to_string()).collect();
    assert_eq!(sentences.len(), 1, "{sentences:?}");
    assert!(sentences[0].contains("the reel of the proxy does not hold all"));
}

#[test]
fn a_folder_that_cannot_be_made_is_refused_before_anything_is_passed_on() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let out = file.join("out");
    let out = out.to_str().unwrap();
    let ran = netreel(&["record", "--out", out, "--proxy", "127.0.0.1:0=127.0.0.1:9"]).expect(2);
    assert!(ran.err.contains("cannot make the folder") && ran.err.contains("choose another"));
}

#[test]
fn a_disk_that_fills_up_ends_the_reel_and_not_the_game() {
    let folder = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=36m", "tmpfs"])
        .arg(folder.path())
        .output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        support::skipped("only root can mount a small disk");
        return;
    }
    let proxy = Running::start(&folder.path().join("session"), &[]);
    for n in 0..100u8 {
        proxy.round(&[n; 60_000]);
    }
    let ran = proxy.interrupt();
    let read = netreel(&["packets", folder.path().join("session").to_str().unwrap()]);
    let unmounted = Command::new("umount").arg(folder.path()).status();
    assert!(unmounted.unwrap().success());
    let ran = ran.expect(1);
    assert!(ran.out.contains("No space left on device"), "{}", ran.out);
    assert!(read.expect(0).out.lines().count() > 10);
}

#[test]
fn a_reel_that_a_limit_ends_is_told_with_the_limit_and_packets_still_pass() {
    let folder = tempfile::tempdir().unwrap();
    let mut proxy = Running::start(&folder.path().join("session"), &["--max-size", "64k"]);
    for n in 0..10u8 {
        proxy.round(&[n; 20_000]);
    }
    let mut line = String::new();
    while !line.contains("recording has stopped") {
        line.clear();
        let read = proxy.errors.read_line(&mut line).unwrap();
        assert!(read > 0, "it ended");
    }
    let why = "it has reached its size of 65536 bytes; packets are still passed on";
    assert!(line.contains(why), "{line}");
    proxy.round(b"still");
    proxy.interrupt().expect(0);
}

#[test]
fn a_second_recording_into_one_folder_is_told_to_take_another() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("session");
    let first = Running::start(&out, &[]);
    let to = out.to_str().unwrap();
    let ran = netreel(&["record", "--out", to, "--proxy", "127.0.0.1:0=127.0.0.1:9"]).expect(2);
    let told = "there is a recording of a proxy already; give this one a folder of its own";
    assert!(ran.err.contains(told), "{}", ran.err);
    first.round(b"still");
    first.interrupt().expect(0);
}

#[test]
fn of_two_proxies_on_one_way_the_one_that_dropped_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (far, near) = (folder.path().join("far"), folder.path().join("near"));
    let far_running = Running::start(&far, &["--faults", "up:loss=100%"]);
    let beyond = far_running.client.peer_addr().unwrap();
    let (far, near) = (far.to_str().unwrap(), near.to_str().unwrap());
    let near_running = Running::towards(beyond, near.as_ref(), &["--faults", "up:delay=1ms"]);
    near_running.client.send(b"lost at the far one").unwrap();
    // It is in the far reel once the near one has passed it on.
    let patience = std::time::Instant::now();
    while !netreel(&["packets", far]).out.contains("dropped") {
        assert!(
            patience.elapsed() < Duration::from_secs(60),
            "it never came"
        );
    }
    near_running.interrupt().expect(0);
    far_running.interrupt().expect(0);
    let packets = netreel(&["packets", near, far]).expect(0).out;
    let dropped = format!("proxy at {beyond}: dropped");
    assert!(packets.contains("delayed 1.0 ms"), "{packets}");
    assert!(packets.contains(&dropped), "{packets}");
}
