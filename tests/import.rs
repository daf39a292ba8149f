//! Packet captures on the command line: read as they are, and imported.

mod support;

use std::path::{Path, PathBuf};

use support::netreel;

/// A pcap file of raw IPv4: for each packet the nanoseconds, the last bytes of both addresses, and
/// the payload. All ports are 9.
fn pcap(packets: &[(u32, u8, u8, &[u8])], kept: usize) -> Vec<u8> {
    let mut file = 0xa1b2_3c4du32.to_le_bytes().to_vec();
    file.extend([
        2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 101, 0, 0, 0,
    ]);
    for &(nanos, from, to, payload) in packets {
        let length = payload.len() as u16;
        let mut frame = vec![0x45, 0];
        frame.extend((28 + length).to_be_bytes());
        frame.extend([0, 7, 0, 0, 64, 17, 0, 0, 10, 0, 0, from, 10, 0, 0, to]);
        frame.extend([0, 9, 0, 9]);
        frame.extend((8 + length).to_be_bytes());
        frame.extend([0, 0]);
        frame.extend(payload);
        let taken = frame.len().min(kept);
        for value in [1_700_000_000, nanos, taken as u32, frame.len() as u32] {
            file.extend(value.to_le_bytes());
        }
        file.extend(&frame[..taken]);
    }
    file
}

const TALK: [(u32, u8, u8, &[u8]); 3] = [
    (1, 1, 2, b"hello"),
    (2_000_000, 2, 1, b"hi"),
    (3_000_001, 1, 2, b"bye"),
];

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a temporary folder"))
    }

    fn path(&self, name: &str) -> String {
        let path = self.0.path().join(name);
        path.to_str().expect("a path in UTF-8").to_owned()
    }

    fn file(&self, name: &str, bytes: &[u8]) -> String {
        std::fs::write(self.path(name), bytes).expect("a file");
        self.path(name)
    }
}

/// The lines of `packets --json`: from, to, times and fate.
fn packets(path: &str) -> Vec<String> {
    let ran = netreel(&["packets", "--json", path]).expect(0);
    let lines = ran.out.lines().map(|line| {
        let row: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let word = |name: &str| row[name].to_string().replace('"', "");
        format!(
            "{} > {} sent {} seen {} received {} {}",
            word("from"),
            word("to"),
            word("sent_ns"),
            row["seen"].as_array().map_or(0, Vec::len),
            word("received_ns"),
            word("fate")
        )
    });
    lines.collect()
}

#[test]
fn a_capture_is_read_as_it_is() {
    let folder = Folder::new();
    let capture = folder.file("talk.pcap", &pcap(&TALK, 100));
    let seen = "sent null seen 1 received null unknown";
    assert_eq!(
        packets(&capture),
        [
            format!("10.0.0.1:9 > 10.0.0.2:9 {seen}"),
            format!("10.0.0.2:9 > 10.0.0.1:9 {seen}"),
            format!("10.0.0.1:9 > 10.0.0.2:9 {seen}"),
        ]
    );
    let shown = netreel(&["show", "--packet", "1", &capture]).expect(0).out;
    assert!(
        shown.contains("seen      0.001999 s  event 3 of talk"),
        "{shown}"
    );
    let info = netreel(&["info", &capture]).expect(0).out;
    assert!(info.contains("observer   talk: 3 packets"), "{info}");
    assert!(info.contains("10.0.0.1:9 -> 10.0.0.2:9"), "{info}");
}

#[test]
fn an_imported_capture_reads_like_the_capture() {
    let folder = Folder::new();
    let capture = folder.file("talk.pcap", &pcap(&TALK, 100));
    let out = folder.path("reels");
    let ran = netreel(&["import", &capture, "--out", &out]).expect(0);
    assert!(ran.out.contains("3 packets: "), "{}", ran.out);
    assert_eq!(packets(&out), packets(&capture));
    let again = netreel(&["import", &capture, "--out", &out]).expect(2);
    assert!(
        again.err.contains("there is a file already"),
        "{}",
        again.err
    );
}

#[test]
fn named_nodes_have_reels_that_replay_refuses() {
    let folder = Folder::new();
    let capture = folder.file("talk.pcap", &pcap(&TALK, 100));
    let out = folder.path("reels");
    let nodes = ["--node", "A=10.0.0.1", "--node", "B=10.0.0.2:9"];
    let import = [&["import", &capture, "--out", &out][..], &nodes[..]].concat();
    netreel(&import).expect(0);
    assert!(Path::new(&out).join("A.reel").is_file());
    assert_eq!(
        packets(&out),
        [
            "A > B sent 0 seen 0 received 0 unknown",
            "B > A sent 1999999 seen 0 received 1999999 unknown",
            "A > B sent 3000000 seen 0 received 3000000 unknown",
        ]
    );
    let replay = netreel(&["replay", &out, "--node", "A"]).expect(2);
    assert!(replay.err.contains("not replayable"), "{}", replay.err);
    assert!(replay.err.contains("captured packets"), "{}", replay.err);
}

#[test]
fn a_node_of_a_capture_is_not_said_to_have_received_what_came_by() {
    let folder = Folder::new();
    let capture = folder.file("talk.pcap", &pcap(&TALK, 100));
    let out = folder.path("reels");
    let nodes = ["--node", "A=10.0.0.1", "--node", "B=10.0.0.2:9"];
    netreel(&[&["import", &capture, "--out", &out][..], &nodes[..]].concat()).expect(0);
    let told = "A and B are known from a packet capture: received is what came by at the wire";
    let check = netreel(&["check", &out]).expect(2);
    assert!(check.err.contains(told), "{}", check.err);
    let said = "A and B are known from a packet capture: what their programs read is unknown";
    assert!(check.out.contains(said), "{}", check.out);
    let info = netreel(&["info", &out]).expect(0).out;
    assert!(info.contains("complete, of a capture"), "{info}");
    assert!(info.contains("3 with an unknown fate"), "{info}");
    let link = info.lines().find(|line| line.starts_with("A -> B"));
    let latency = link.and_then(|line| line.split_whitespace().rev().nth(1));
    assert_eq!(latency, Some("unknown"), "{info}");
    let listed = netreel(&["packets", &out]).expect(0).out;
    assert_eq!(listed.matches("  seen\n").count(), 3, "{listed}");
}

#[test]
fn clients_of_a_server_that_has_no_name_are_one_session() {
    let folder = Folder::new();
    let talk: [(u32, u8, u8, &[u8]); 2] = [(1, 1, 9, b"from A"), (2, 2, 9, b"from B")];
    let capture = folder.file("talk.pcap", &pcap(&talk, 100));
    let out = folder.path("reels");
    let nodes = ["--node", "A=10.0.0.1", "--node", "B=10.0.0.2"];
    netreel(&[&["import", &capture, "--out", &out][..], &nodes[..]].concat()).expect(0);
    assert_eq!(packets(&out).len(), 2);
}

#[test]
fn an_imported_reel_explains_itself() {
    let folder = Folder::new();
    let capture = folder.file("talk.pcap", &pcap(&TALK, 100));
    let text = "wire greeting { byte_order = little; bit_order = lsb; root = P; }
        struct P { number: u8 @sequence; text: bytes(rest); }";
    let wire = folder.file("greeting.wire", text.as_bytes());
    let out = folder.path("reels");
    netreel(&["import", &capture, "--out", &out, "--wire", &wire]).expect(0);
    let info = netreel(&["info", "--json", &out]).expect(0).json();
    assert_eq!(info["wire"], "greeting");
    let row = netreel(&["packets", &out, "--filter", "sequence == 98"])
        .expect(0)
        .out;
    assert_eq!(row.lines().count(), 2, "a heading and `bye`: {row}");
}

#[test]
fn a_wire_that_imports_is_whole_in_the_reel() {
    let folder = Folder::new();
    let capture = folder.file("talk.pcap", &pcap(&TALK, 100));
    let wire = "import \"common/text.wire\";
        wire talk { byte_order = little; bit_order = lsb; root = Text; }";
    let wire = folder.file("talk.wire", wire.as_bytes());
    std::fs::create_dir(folder.path("common")).expect("a folder");
    folder.file(
        "common/text.wire",
        b"struct Text { said: string(rest, ascii); }",
    );
    let reels = folder.path("reels");
    netreel(&["import", &capture, "--wire", &wire, "--out", &reels]).expect(0);
    std::fs::remove_file(folder.path("common/text.wire")).expect("a file");
    let shown = netreel(&["show", &reels, "--packet", "0"]).expect(0);
    assert!(shown.out.contains("said"), "{}", shown.out);
    let info = netreel(&["info", &reels]).expect(0);
    assert!(!info.err.contains("has a mistake"), "{}", info.err);
}

#[test]
fn a_snap_length_is_told_everywhere() {
    let folder = Folder::new();
    let capture = folder.file("talk.pcap", &pcap(&TALK, 30));
    let ran = netreel(&["packets", &capture]).expect(0);
    assert!(ran.out.contains("cut to 2 bytes"), "{}", ran.out);
    assert!(
        ran.err.contains("kept only the first bytes of 2 packets"),
        "{}",
        ran.err
    );
    let shown = netreel(&["show", "--packet", "0", &capture]).expect(0).out;
    assert!(shown.contains("kept 2 of its 5 bytes"), "{shown}");
}

#[test]
fn a_capture_that_ends_badly_gives_what_came_before() {
    let folder = Folder::new();
    let mut bytes = pcap(&TALK, 100);
    bytes.truncate(bytes.len() - 1);
    let capture = folder.file("talk.pcap", &bytes);
    let ran = netreel(&["packets", &capture]).expect(0);
    assert_eq!(ran.out.lines().count(), 3, "{}", ran.out);
    assert!(ran.err.contains("ends inside the frame"), "{}", ran.err);
    let out = folder.path("reels");
    let import = netreel(&["import", &capture, "--out", &out]).expect(1);
    assert!(
        import.err.contains("ends inside the frame"),
        "{}",
        import.err
    );
    let info = netreel(&["info", &out]).expect(0).out;
    assert!(info.contains("ends inside the frame"), "{info}");
}

#[test]
fn a_capture_that_is_exported_is_the_same_again() {
    let folder = Folder::new();
    let capture = folder.file("talk.pcap", &pcap(&TALK, 100));
    let again = folder.path("again.pcapng");
    netreel(&["export", &capture, "--format", "pcapng", "--out", &again]).expect(0);
    let rows = |path: &str| {
        let out = netreel(&["show", "--json", "--filter", "length > 0", path])
            .expect(0)
            .out;
        // An observer is called after its file.
        out.replace("\"again\"", "\"talk\"")
    };
    assert_eq!(rows(&capture), rows(&again));
    let start =
        |path: &str| netreel(&["info", "--json", path]).expect(0).json()["start_utc_ns"].clone();
    assert_eq!(start(&capture), "1700000000000000001");
    assert_eq!(start(&capture), start(&again));
}

#[test]
fn what_is_no_capture_is_refused_and_leaves_nothing() {
    let folder = Folder::new();
    let file = folder.file("notes.txt", b"dear diary");
    let out = folder.path("reels");
    let ran = netreel(&["import", &file, "--out", &out]).expect(2);
    assert!(ran.err.contains("not a pcap or pcapng file"), "{}", ran.err);
    assert!(!Path::new(&out).exists());
    for node in ["A", "A=", "A=host", "/=1.2.3.4", "A=1.2.3.4:99999"] {
        let capture = folder.file("talk.pcap", &pcap(&TALK, 100));
        netreel(&["import", &capture, "--out", &out, "--node", node]).expect(2);
        assert!(!Path::new(&out).exists(), "{node}");
    }
    let shared = ["--node", "A=10.0.0.1", "--node", "B=10.0.0.1:9"];
    let capture = folder.path("talk.pcap");
    let ran = netreel(&[&["import", &capture, "--out", &out][..], &shared[..]].concat()).expect(2);
    assert!(ran.err.contains("both at 10.0.0.1"), "{}", ran.err);
}

#[test]
fn packets_of_no_named_node_are_counted() {
    let folder = Folder::new();
    let talk: [(u32, u8, u8, &[u8]); 3] = [(1, 1, 9, b"a"), (2, 2, 9, b"b"), (3, 3, 9, b"c")];
    let capture = folder.file("talk.pcap", &pcap(&talk, 100));
    let out = folder.path("some");
    let ran = netreel(&["import", &capture, "--out", &out, "--node", "A=10.0.0.1"]).expect(0);
    let sentence = "2 packets belong to no node of --node";
    assert!(ran.out.contains(sentence), "{}", ran.out);
    let out = folder.path("all");
    let ran = netreel(&["import", &capture, "--out", &out, "--node", "S=10.0.0.9"]).expect(0);
    assert!(!ran.out.contains("belong"), "{}", ran.out);
}

#[test]
fn a_named_node_without_a_packet_is_wrong() {
    let folder = Folder::new();
    let capture = folder.file("talk.pcap", &pcap(&TALK, 100));
    let out = folder.path("reels");
    let ran = netreel(&["import", &capture, "--out", &out, "--node", "C=9.9.9.9"]).expect(1);
    let sentence = "3 packets belong to no node of --node";
    assert!(ran.out.contains(sentence), "{}", ran.out);
    let sentence = "C.reel: no packet has this node's address";
    assert!(ran.out.contains(sentence), "{}", ran.out);
}

/// The captures that are not part of the repository, or none.
fn captures() -> Option<PathBuf> {
    let folder = std::env::var_os("NETREEL_CAPTURES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/captures"),
        PathBuf::from,
    );
    if !folder.is_dir() {
        support::skipped(format_args!("no folder {}", folder.display()));
        return None;
    }
    Some(folder)
}

#[test]
fn captures_of_real_games_read_sensibly() {
    let Some(folder) = captures() else { return };
    let wires = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/wires");
    let cases = [
        ("enet_c.pcap", "enet.wire", 7701),
        ("godot3_enet.pcap", "enet.wire", 5740),
        ("kcp.pcap", "kcp.wire", 50),
        ("minetest.pcap", "minetest.wire", 13_093),
        ("openarena_q3.pcap", "quake3.wire", 2236),
        ("raknet_c.pcap", "raknet.wire", 5857),
        ("raknet.pcap", "raknet.wire", 66),
        ("renet.pcap", "renet.wire", 8106),
    ];
    for (capture, wire, packets) in cases {
        let path = folder.join(capture);
        let wire = wires.join(wire);
        let (path, wire) = (path.display().to_string(), wire.display().to_string());
        let info = netreel(&["info", "--json", &path, "--wire", &wire])
            .expect(0)
            .json();
        assert_eq!(info["packets"], packets, "{capture}");
        assert_eq!(info["fates"]["lost"], 0, "{capture}");
        assert_eq!(info["fates"]["received"], 0, "{capture}");
        assert!(info["messages"].as_u64() > Some(0), "{capture}");
        let check = netreel(&["check", "--json", &path, "--wire", &wire]).expect(2);
        let check = check.json();
        assert_eq!(check["verdict"], "unknown", "{capture}");
        let reasons = check["reasons"].as_array().map_or(0, Vec::len);
        assert!((2..=4).contains(&reasons), "{capture}: {check}");
    }
}

/// What is said of a capture of two nodes with more packets than there is room for: `import` runs
/// so that it meets that.
fn without_room(run: impl FnOnce(&[&str], &str) -> support::Ran) {
    let folder = Folder::new();
    let payload = [7; 1000];
    let talk: Vec<_> = (0..3000).map(|it| (it, 1, 2, &payload[..])).collect();
    let capture = folder.file("long.pcap", &pcap(&talk, 2000));
    let out = folder.path("disk/reels");
    std::fs::create_dir(folder.path("disk")).expect("a folder");
    let nodes = ["--node", "A=10.0.0.1", "--node", "B=10.0.0.2"];
    let arguments = [&["import", &capture, "--out", &out][..], &nodes].concat();
    let ran = run(&arguments, &folder.path("disk")).expect(2);
    let target = format!("netreel: {out}/");
    assert!(ran.err.starts_with(&target), "{}", ran.err);
    let advice = "make room there, or choose another --out";
    assert!(ran.err.contains(advice), "{}", ran.err);
    assert!(
        ran.err.contains("too large") || ran.err.contains("No space left"),
        "{}",
        ran.err
    );
    assert!(!Path::new(&out).exists(), "no stump is left");
}

#[test]
fn where_there_is_no_room_the_error_names_the_place_and_nothing_is_left_there() {
    without_room(|arguments, _| {
        let output = std::process::Command::new("sh")
            .args(["-c", "ulimit -f 1000; exec \"$0\" \"$@\""])
            .arg(env!("CARGO_BIN_EXE_netreel"))
            .args(arguments)
            .output()
            .expect("a shell");
        support::Ran {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    });
}

#[test]
fn on_a_full_disk_the_error_names_the_place_and_nothing_is_left_there() {
    let Some(disk) = tempfile::tempdir().ok().filter(|disk| mount(disk.path())) else {
        support::skipped("only root can mount a small disk");
        return;
    };
    assert!(unmount(disk.path()));
    without_room(|arguments, at| {
        assert!(mount(Path::new(at)));
        let ran = netreel(arguments);
        let left = std::fs::read_dir(at).map(|it| it.count());
        assert!(unmount(Path::new(at)));
        assert_eq!(left.ok(), Some(0), "{}", ran.err);
        ran
    });
}

fn mount(at: &Path) -> bool {
    let mut mount = std::process::Command::new("mount");
    let mount = mount.args(["-t", "tmpfs", "-o", "size=2m", "netreel-test"]);
    mount
        .arg(at)
        .output()
        .is_ok_and(|output| output.status.success())
}

fn unmount(at: &Path) -> bool {
    let mut unmount = std::process::Command::new("umount");
    unmount
        .arg(at)
        .status()
        .is_ok_and(|status| status.success())
}

#[test]
fn a_capture_of_a_link_that_is_not_read_says_which_and_what_to_do() {
    let folder = Folder::new();
    let mut bytes = pcap(&TALK, 100);
    bytes[20] = 127;
    let capture = folder.file("air.pcap", &bytes);
    let out = folder.path("reels");
    let ran = netreel(&["import", &capture, "--out", &out]).expect(2);
    let told = "3 frames are 802.11 with a radio's header (link type 127), which is not read: \
                capture at the access point's wired side";
    assert!(ran.err.contains(told), "{}", ran.err);
    assert!(!Path::new(&out).exists());
}

/// A pcapng block, little-endian; `body` is a multiple of four bytes long.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 12).to_le_bytes();
    [&kind.to_le_bytes()[..], &length, body, &length].concat()
}

/// Words of a pcapng block.
fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The start of a pcapng file, and a packet of interface 0, of raw IPv4.
fn pcapng() -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let section = block(0x0a0d_0d0a, &words(&[0x1a2b_3c4d, 1, u32::MAX, u32::MAX]));
    let interface = block(1, &words(&[101, 0]));
    let frame = &pcap(&[(1, 1, 2, b"four")], 100)[40..];
    let length = frame.len() as u32;
    let packet = [&words(&[0, 0, 1, length, length])[..], frame].concat();
    (section, interface, block(6, &packet))
}

#[test]
fn a_capture_that_counted_drops_is_imported_with_exit_code_1() {
    let folder = Folder::new();
    let (section, interface, packet) = pcapng();
    // What the interface dropped, in eight bytes.
    let drops = block(5, &words(&[0, 0, 0, 5 | 8 << 16, 4, 0, 0]));
    let whole = [&section[..], &interface, &packet].concat();
    let import = |bytes: &[u8], name: &str| {
        let capture = folder.file(name, bytes);
        netreel(&["import", &capture, "--out", &folder.path("reels")])
    };
    import(&whole, "whole.pcapng").expect(0);
    let ran = import(&[whole, drops].concat(), "drops.pcapng").expect(1);
    assert!(ran.out.contains("1 packet: "), "{}", ran.out);
    let told = "4 packets were dropped by the system or the interface";
    assert!(ran.err.contains(told), "{}", ran.err);
}

#[test]
fn a_capture_with_a_frame_that_cannot_be_read_is_imported_with_exit_code_1() {
    let folder = Folder::new();
    let mut bytes = pcap(&TALK, 100);
    // The version of its IP packet.
    bytes[40] = 0xf5;
    let capture = folder.file("talk.pcap", &bytes);
    let ran = netreel(&["import", &capture, "--out", &folder.path("reels")]).expect(1);
    assert!(ran.out.contains("2 packets: "), "{}", ran.out);
    let told = "1 frame could not be read";
    assert!(ran.err.contains(told), "{}", ran.err);
}

#[test]
fn a_capture_of_which_no_packet_can_be_read_is_refused_and_leaves_nothing() {
    let folder = Folder::new();
    let (section, _, packet) = pcapng();
    let capture = folder.file("bare.pcapng", &[section, packet].concat());
    let out = folder.path("reels");
    let ran = netreel(&["import", &capture, "--out", &out]).expect(2);
    let told = "of an interface that was not described";
    assert!(ran.err.contains(told), "{}", ran.err);
    assert!(!Path::new(&out).exists());
}
