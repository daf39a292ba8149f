//! What `netreel.exe` records, plays and draws, beside this system's command.
//! `./dev windows` says where it is.

mod support;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use support::beside::{is_here, linux, text};
use support::{free_port, netreel, skipped, windows};

/// A node of the sample game, which its console drives.
struct Game {
    child: Child,
    console: String,
}

impl Game {
    fn new(mut command: Command, folder: &Path) -> Game {
        let mut child = command
            .args(["play", "--console", "127.0.0.1:0", "--out", text(folder)])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let mut line = String::new();
        let out = child.stdout.as_mut().expect("its output");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let console = line.trim().strip_prefix("console ").expect("an address");
        let console = format!("N={console}");
        Game { child, console }
    }

    /// What it answers.
    fn say(&self, line: &str) -> String {
        let said = linux(&["console", &self.console, "--say", line]);
        let words: Vec<&str> = said.split_whitespace().skip(1).collect();
        words.join(" ")
    }

    fn wait(&mut self, what: &str) {
        assert!(self.comes_to(what), "{what}: it ended");
    }

    /// `false`: it ended before.
    fn comes_to(&mut self, what: &str) -> bool {
        let begun = Instant::now();
        while self.say(what) != "yes" {
            assert!(begun.elapsed() < Duration::from_secs(60), "{what}: never");
            if self.child.try_wait().expect("a child").is_some() {
                return false;
            }
        }
        true
    }
}

impl Drop for Game {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_session_of_both_systems_is_one() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    // Somebody else may take the port before the host does.
    let met = (0..5).find_map(|nth| {
        let reels = folder.path().join(format!("reels{nth}"));
        let ours = Command::new(env!("CARGO_BIN_EXE_netreel"));
        let mut host = Game::new(ours, &reels);
        let mut a = Game::new(support::command(), &reels);
        let at = format!("127.0.0.1:{}", free_port());
        host.say(&format!("choose host {at} 2"));
        a.say(&format!("choose join {at} A"));
        let is_met = [&mut host, &mut a]
            .into_iter()
            .all(|node| node.comes_to("all"));
        is_met.then_some((host, a, reels))
    });
    let (mut host, mut a, reels) = met.expect("a port");
    a.say("spawn");
    host.wait("has 41");
    // The same by the console of this system and of Windows.
    let asked = ["console", &a.console, "--say", "has 41"];
    let told = netreel(&asked).expect(0).out;
    assert_eq!((told.contains("yes"), &told), (true, &linux(&asked)));
    host.say("pick up 41");
    host.wait("holds 41");
    host.say("throw away 41");
    a.wait("hears destroy 41");
    for node in [&mut a, &mut host] {
        node.say("quit");
        node.child.wait().expect("its end");
    }
    let reels = text(&reels);
    let told = linux(&["check", reels, "--json"]);
    let report: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(report["verdict"], "clean", "{told}");
    assert_eq!(netreel(&["check", reels, "--json"]).expect(0).out, told);
    let exact = linux(&["replay", reels]);
    assert_eq!(exact.matches(": exact:").count(), 2, "{exact}");
    assert_eq!(netreel(&["replay", reels]).expect(0).out, exact);
}

#[test]
fn a_folder_has_a_drive_letter_and_any_name() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let named = folder.path().join("sesión 会话 сессия");
    std::fs::create_dir(&named).expect("a folder");
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/sessions/host");
    for reel in ["HOST.reel", "A.reel", "B.reel", "X.reel"] {
        std::fs::copy(samples.join(reel), named.join(reel)).expect("a reel");
    }
    let path = format!("Z:{}", text(&named).replace('/', "\\"));
    let told = netreel(&["objects", &path, "--json"]).expect(0).out;
    assert_eq!(told, linux(&["objects", text(&named), "--json"]));
    let cured = format!("{path}\\исправлено");
    let cure = [
        "replay",
        &path,
        "--together",
        "--set",
        "mode=owner",
        "--out",
    ];
    netreel(&[&cure[..], &[&cured]].concat()).expect(0);
    assert!(named.join("исправлено/X.reel").is_file());
}

/// A proxy between a port and another one, which has begun to record into `out`; and the port.
fn proxy(out: &Path) -> (Child, u16) {
    let port = free_port();
    let route = format!("127.0.0.1:{port}=127.0.0.1:9");
    let proxy = support::command()
        .args(["record", "--proxy", &route, "--out", text(out)])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let begun = Instant::now();
    while std::fs::read_dir(out).map_or(0, Iterator::count) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "no reel");
        std::thread::sleep(Duration::from_millis(20));
    }
    (proxy, port)
}

#[test]
fn ctrl_c_ends_a_recording_in_order() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("reels");
    let (mut proxy, _) = proxy(&out);
    // Wine makes of it what a console makes of Ctrl-C.
    support::signal(proxy.id(), libc::SIGINT);
    let status = support::ended(&mut proxy);
    assert_eq!(status.code(), Some(0));
    let info = linux(&["info", text(&out), "--json"]);
    assert!(info.contains("\"complete\":true"), "{info}");
}

#[test]
fn a_packet_is_followed_before_its_recording_ends() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("reels");
    let (mut proxy, port) = proxy(&out);
    let mut following = support::command()
        .args(["packets", "--follow", "--json", text(&out)])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let game = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    game.send_to(b"seven", ("127.0.0.1", port)).expect("sent");
    let mut line = String::new();
    let told = following.stdout.as_mut().expect("its output");
    BufReader::new(told).read_line(&mut line).expect("a line");
    assert_eq!(proxy.try_wait().expect("a child"), None);
    let row: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(row["length"], 5);
    support::signal(proxy.id(), libc::SIGINT);
    assert_eq!(support::ended(&mut proxy).code(), Some(0));
    assert_eq!(support::ended(&mut following).code(), Some(0));
}

#[test]
fn npcap_is_loaded_where_an_interface_is_recorded() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("reels");
    let port = free_port();
    let filter = format!("udp port {port}");
    // "lo" (\Device\NPF_{...}), among others.
    let listed = netreel(&["record", "--live", "?", "--out", text(folder.path())]);
    let after = listed
        .err
        .split("\"lo\" (")
        .nth(1)
        .expect("the loopback interface");
    let (name, _) = after.split_once(')').expect("its name");
    let mut recorder = support::command()
        .args(["record", "--live", name, "--capture-filter", &filter])
        .args(["--out", text(&out)])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut told = String::new();
    let said = recorder.stderr.as_mut().expect("its errors");
    BufReader::new(said).read_line(&mut told).expect("a line");
    if told.contains("needs the right to read raw packets") {
        support::ended(&mut recorder);
        return skipped("no right to read raw packets");
    }
    assert!(told.contains("listening on "), "{told}");
    let game = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    for packet in 0..500u16 {
        let sent = game.send_to(&packet.to_le_bytes(), ("127.0.0.1", port));
        sent.expect("sent");
    }
    support::signal(recorder.id(), libc::SIGINT);
    assert_eq!(support::ended(&mut recorder).code(), Some(0));
    let recorded = linux(&["packets", text(&out), "--json"]);
    assert_eq!(recorded.lines().count(), 500);
}

#[test]
fn without_npcap_an_interface_is_not_recorded_and_it_says_what_to_do() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let refused = support::command()
        .args(["record", "--live", "lo", "--out", text(folder.path())])
        .env("WINEDLLOVERRIDES", "wpcap=")
        .output()
        .expect("the command starts");
    assert_eq!(refused.status.code(), Some(2));
    let told = String::from_utf8_lossy(&refused.stderr);
    let needed = ["Npcap is not installed here", "https://npcap.com"];
    assert!(needed.iter().all(|it| told.contains(it)), "{told}");
}

#[test]
fn a_program_as_it_is_is_not_recorded_and_it_says_what_to_do_instead() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("reels");
    let refused = netreel(&["record", "--out", text(&out), "--", "game.exe"]).expect(2);
    for instead in ["--proxy LISTEN=TARGET", "--live IFACE", "netreel.h"] {
        assert!(refused.err.contains(instead), "{}", refused.err);
    }
    assert!(!out.exists());
}

/// Whether there is a `netreel.exe` with the window; says that the test is skipped where there is none.
fn has_window() -> bool {
    if !is_here() {
        return false;
    }
    let has = netreel(&["inspect", "--help"]).code == Some(0);
    if !has {
        skipped("netreel.exe was built without the window");
    }
    has
}

#[test]
fn the_picture_of_the_inspector_is_that_of_this_system() {
    if !has_window() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let [ours, theirs] = ["ours.png", "theirs.png"].map(|name| folder.path().join(name));
    let session = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/sessions/host");
    let draw = |picture| {
        let into = ["--size", "1120x700", "--screenshot", text(picture)];
        [&["inspect", text(&session)][..], &into].concat()
    };
    linux(&draw(&ours));
    netreel(&draw(&theirs)).expect(0);
    let [ours, theirs] = [ours, theirs].map(|it| std::fs::read(it).expect("a picture"));
    assert!(ours == theirs, "they differ");
}

/// An X server without a screen, and the display that it is.
struct Screen(Child, String);

impl Screen {
    /// `None` where there is no Xvfb; says that the test is skipped.
    fn open(folder: &Path) -> Option<Screen> {
        let number = folder.join("display");
        // The server writes its number where it is told to.
        let server = Command::new("sh")
            .args(["-c", "exec Xvfb -displayfd 3 -nolisten tcp 3>\"$1\"", "sh"])
            .arg(&number)
            .stderr(Stdio::null())
            .spawn();
        let mut screen = Screen(server.expect("a shell"), String::new());
        while !screen.1.ends_with('\n') {
            if screen.0.try_wait().expect("a child").is_some() {
                skipped("Xvfb is not here");
                return None;
            }
            std::thread::sleep(Duration::from_millis(50));
            screen.1 = std::fs::read_to_string(&number).unwrap_or_default();
        }
        screen.1 = format!(":{}", screen.1.trim());
        Some(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_game_plays_in_a_window_until_that_is_closed() {
    if !has_window() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let Some(screen) = Screen::open(folder.path()) else {
        return;
    };
    let out = folder.path().join("reels");
    // A Windows of its own, whose desktop is on that screen, and which offers nobody to install more.
    let own = folder.path().join("windows");
    std::fs::create_dir(&own).expect("a folder");
    let on_screen = |mut command: Command| {
        command
            .env("DISPLAY", &screen.1)
            .env("WINEPREFIX", &own)
            .env("WINEDLLOVERRIDES", "mscoree,mshtml=")
            .env("LIBGL_ALWAYS_SOFTWARE", "1");
        command
    };
    let mut game = on_screen(support::command())
        .args(["play", "--out", text(&out)])
        .stdout(Stdio::null())
        .spawn()
        .expect("the command starts");
    // It closes windows, as a click does, and ends nobody who has none.
    let close = || {
        let mut close = on_screen(windows::command(Path::new("taskkill")));
        let close = close.args(["/im", "netreel.exe"]).output();
        close.expect("it runs")
    };
    let begun = Instant::now();
    while game.try_wait().expect("a child").is_none() {
        assert!(begun.elapsed() < Duration::from_secs(180), "no window");
        std::thread::sleep(Duration::from_secs(1));
        close();
    }
    assert_eq!(support::ended(&mut game).code(), Some(0));
    let info: serde_json::Value =
        serde_json::from_str(&linux(&["info", text(&out), "--json"])).expect("JSON");
    let nodes = info["nodes"].as_array().expect("nodes");
    assert_eq!(nodes.len(), 4, "{info}");
    assert!(nodes.iter().all(|node| node["complete"] == true), "{info}");
}
