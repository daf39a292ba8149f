//! `netreel export`: what Wireshark's tools and our own reader make of the file.

mod support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use netreel_capture::pcap::{Ending, UdpPayloads};
use netreel_reel::Event;
use support::netreel;

fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/sessions/host")
}

/// The recorded demonstration as pcapng, made with these arguments besides.
fn exported(folder: &Path, more: &[&str]) -> PathBuf {
    let file = folder.join("session.pcapng");
    let (session, out) = (recorded(), file.clone());
    let mut arguments = vec!["export".as_ref(), session.as_os_str()];
    let flags = ["--format", "pcapng", "--out"].map(std::ffi::OsStr::new);
    arguments.extend(flags);
    arguments.push(out.as_os_str());
    arguments.extend(more.iter().map(std::ffi::OsStr::new));
    netreel(&arguments).expect(0);
    file
}

/// Time, source port, destination port, payload.
type Packet = (u64, u16, u16, Vec<u8>);

/// Every packet of the recorded demonstration that a node sent or received.
fn in_reels() -> Vec<Packet> {
    let opened = netreel_capture::open_session(&[recorded()]).expect("the session opens");
    let mut packets = Vec::new();
    for opened in opened.reels {
        let header = opened.reel.header();
        let [(_, local)] = opened.reel.endpoints() else {
            panic!("a node of the demonstration has one socket")
        };
        let anchor = header.clock.utc_ns as i128 - i128::from(header.clock.monotonic.0);
        opened.reel.for_each(|record| {
            let utc_ns = (i128::from(record.time.0) + anchor) as u64;
            match record.event {
                Event::Sent { to, payload, .. } => {
                    packets.push((utc_ns, local.port(), to.port(), payload.to_vec()));
                }
                Event::Received { from, payload, .. } => {
                    packets.push((utc_ns, from.port(), local.port(), payload.to_vec()));
                }
                _ => {}
            }
        });
    }
    packets.sort();
    packets
}

/// Runs a tool of others; `None`, with a sentence, where it is not there.
fn tool(name: &str, arguments: &[&str], file: &Path) -> Option<Output> {
    match Command::new(name).args(arguments).arg(file).output() {
        Ok(output) => Some(output),
        Err(error) => {
            support::skipped(format_args!("{name}: {error}"));
            None
        }
    }
}

fn tshark(arguments: &[&str], file: &Path) -> Option<Vec<Vec<String>>> {
    let arguments = [arguments, &["-r"]].concat();
    let output = tool("tshark", &arguments, file)?;
    let said = String::from_utf8_lossy(&output.stderr);
    let said: Vec<&str> = said
        .lines()
        .filter(|line| !line.starts_with("Running as user") && !line.trim().is_empty())
        .collect();
    assert!(output.status.success() && said.is_empty(), "{said:?}");
    let lines = String::from_utf8(output.stdout).expect("tshark prints UTF-8");
    let columns = |line: &str| line.split('\t').map(str::to_owned).collect();
    Some(lines.lines().map(columns).collect())
}

#[test]
fn our_own_reader_finds_every_packet_with_its_bytes_and_its_nanosecond() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = std::fs::File::open(exported(folder.path(), &[])).expect("the file");
    let mut reader = UdpPayloads::new(file).expect("a capture");
    let mut found: Vec<Packet> = reader
        .by_ref()
        .map(|each| {
            (
                each.time,
                each.source.port(),
                each.destination.port(),
                each.payload,
            )
        })
        .collect();
    assert!(matches!(reader.ending(), Ending::Whole));
    found.sort();
    let expected = in_reels();
    // The sessions' nodes share a clock; the calendar was read by each of them.
    assert_eq!(found.len(), expected.len());
    let payloads = |packets: &[Packet]| -> Vec<Packet> {
        let mut without: Vec<Packet> = packets
            .iter()
            .map(|(_, from, to, bytes)| (0, *from, *to, bytes.clone()))
            .collect();
        without.sort();
        without
    };
    assert_eq!(payloads(&found), payloads(&expected));
}

#[test]
fn tshark_shows_nodes_directions_and_comments_and_nothing_malformed() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = exported(folder.path(), &[]);
    let fields = [
        "-o",
        "ip.check_checksum:TRUE",
        "-o",
        "udp.check_checksum:TRUE",
        "-T",
        "fields",
        "-e",
        "frame.interface_name",
        "-e",
        "frame.packet_flags_direction",
        "-e",
        "udp.checksum.status",
        "-e",
        "ip.checksum.status",
        "-e",
        "_ws.malformed",
        "-e",
        "frame.comment",
    ];
    let Some(rows) = tshark(&fields, &file) else {
        return;
    };
    assert_eq!(rows.len(), in_reels().len());
    let nodes: BTreeSet<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(nodes, BTreeSet::from(["HOST", "A", "B", "X"]));
    let outbound = rows.iter().filter(|row| row[1] == "0x00000002").count();
    let inbound = rows.iter().filter(|row| row[1] == "0x00000001").count();
    assert_eq!((outbound, inbound), (573, rows.len() - 573));
    for row in &rows {
        assert_eq!(
            (&row[2][..], &row[3][..], &row[4][..]),
            ("1", "1", ""),
            "{row:?}"
        );
    }
    let comments: Vec<&String> = rows.iter().map(|row| &row[5]).collect();
    let with = |text: &str| {
        comments
            .iter()
            .filter(|comment| comment.contains(text))
            .count()
    };
    assert_eq!(
        with("[error] migrate-before-create: X got MIGRATE to B of object 42"),
        2
    );
    assert_eq!(with("[error] zombie-object: X created object 42"), 2);
    assert_eq!(with("[late] 882.5 ms on its way from A"), 1);
    assert_eq!(
        with("[resent] create 42, sent first in packet 71, 150.0 ms before"),
        1
    );
}

#[test]
fn tshark_resolves_the_names_of_nodes_with_addresses_of_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = exported(folder.path(), &["--addresses", "node"]);
    let fields = [
        "-N",
        "n",
        "-T",
        "fields",
        "-e",
        "ip.src_host",
        "-e",
        "ip.dst_host",
    ];
    let Some(rows) = tshark(&fields, &file) else {
        return;
    };
    let names: BTreeSet<&str> = rows.iter().flatten().map(String::as_str).collect();
    assert_eq!(names, BTreeSet::from(["HOST", "A", "B", "X"]));
}

#[test]
fn both_ends_of_a_packet_have_its_number() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = exported(folder.path(), &[]);
    let fields = [
        "-Y",
        "frame.packet_id == 71",
        "-T",
        "fields",
        "-e",
        "frame.interface_name",
        "-e",
        "data.data",
    ];
    let Some(rows) = tshark(&fields, &file) else {
        return;
    };
    let [sent, received] = rows.as_slice() else {
        panic!("{rows:?}")
    };
    assert_eq!((&sent[0][..], &received[0][..]), ("A", "X"));
    assert_eq!(sent[1], received[1]);
}

#[test]
fn tcpdump_reads_every_frame_with_extra_ones_too() {
    let folder = tempfile::tempdir().expect("a folder");
    for (more, most) in [(&[][..], 0), (&["--extra"][..], 1)] {
        let file = exported(folder.path(), more);
        let Some(output) = tool("tcpdump", &["-n", "-r"], &file) else {
            return;
        };
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let lines = String::from_utf8_lossy(&output.stdout).lines().count();
        assert!(lines >= in_reels().len() && (most == 1) == (lines > in_reels().len()));
    }
}

#[test]
fn capinfos_counts_the_same_packets_at_four_interfaces_in_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = exported(folder.path(), &[]);
    let Some(output) = tool("capinfos", &[], &file) else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let has = |line: &str| {
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        said.lines().any(|each| squeezed(each) == line)
    };
    assert!(
        has(&format!("Number of packets: {}", in_reels().len())),
        "{said}"
    );
    assert!(
        has("Number of interfaces in file: 4") && has("Strict time order: True"),
        "{said}"
    );
    assert!(
        has("Name = HOST") && has("File timestamp precision: nanoseconds (9)"),
        "{said}"
    );
}

#[test]
fn a_pipe_takes_the_file_as_well() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = std::fs::read(exported(folder.path(), &[])).expect("the file");
    let output = support::command()
        .args(["export".as_ref(), recorded().as_os_str()])
        .args(["--format", "pcapng"])
        .output()
        .expect("the command starts");
    assert!(
        output.stdout == file,
        "{} bytes, not {}",
        output.stdout.len(),
        file.len()
    );
}

#[test]
fn a_filter_names_the_packets_to_write() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = exported(
        folder.path(),
        &["--filter", "kind == migrate", "--frames", "once"],
    );
    let shown = netreel(&[
        "packets",
        "--filter",
        "kind == migrate",
        recorded().to_str().unwrap(),
    ]);
    let packets = shown.expect(0).out.lines().count() - 1;
    let reader = UdpPayloads::new(std::fs::File::open(file).expect("the file"));
    assert_eq!(reader.expect("a capture").count(), packets);
}

#[test]
fn a_recording_is_not_written_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let reel = folder.path().join("A.reel");
    std::fs::copy(recorded().join("A.reel"), &reel).expect("a copy");
    let name = reel.to_str().expect("UTF-8");
    let ran = netreel(&["export", name, "--format", "pcapng", "--out", name]).expect(2);
    assert!(
        ran.err.contains("this is a recording; name another file"),
        "{}",
        ran.err
    );
    assert_eq!(
        std::fs::read(&reel).ok(),
        std::fs::read(recorded().join("A.reel")).ok()
    );
}

#[test]
fn a_full_disk_is_told() {
    let session = recorded();
    let name = session.to_str().expect("UTF-8");
    let ran = netreel(&["export", name, "--format", "pcapng", "--out", "/dev/full"]).expect(2);
    assert!(
        ran.err
            .contains("--out /dev/full: cannot write it: No space left"),
        "{}",
        ran.err
    );
    assert!(Path::new("/dev/full").exists());
}

#[test]
fn rows_have_the_columns_that_the_first_line_names() {
    let session = recorded();
    let ran = netreel(&["export", session.to_str().unwrap(), "--format", "csv"]).expect(0);
    let mut lines = ran.out.split("\r\n");
    let columns = lines.next().expect("a line").split(',').count();
    let rows: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    assert_eq!(rows.len(), 573);
    assert!(
        rows.iter().all(|row| row.split(',').count() == columns),
        "{rows:?}"
    );
}

#[test]
fn json_is_what_packets_prints() {
    let session = recorded();
    let name = session.to_str().unwrap();
    let exported = netreel(&["export", name, "--format", "json"]).expect(0);
    assert_eq!(
        exported.out,
        netreel(&["packets", name, "--json"]).expect(0).out
    );
}
