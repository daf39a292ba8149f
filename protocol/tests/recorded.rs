//! The sample sessions, whole and damaged on purpose: what is told of a damaged one is no more than
//! its bytes tell.

use std::path::PathBuf;
use std::sync::Arc;

use netreel_protocol::diff::{ComparedSession, Diff, DiffError};
use netreel_protocol::export;
use netreel_protocol::history::{Finding, History, Level};
use netreel_protocol::session::{Fate, Node, NodeId, PacketId, ReelInput, Session, SessionTime};
use netreel_reel::Reel;
use netreel_system::Cancel;
use netreel_wire::Wire;

fn samples() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../samples")
}

/// A sample session with the bytes of X's reel changed, read with the wire inside it or another.
fn opened(
    name: &str,
    wire: Option<Arc<Wire>>,
    change: impl FnOnce(&mut Vec<u8>),
) -> (Session, History) {
    let mut change = Some(change);
    let inputs = ["HOST", "A", "B", "X"].map(|node| {
        let path = samples().join(format!("sessions/{name}/{node}.reel"));
        let mut bytes = std::fs::read(path).expect("the samples are there");
        if node == "X"
            && let Some(change) = change.take()
        {
            change(&mut bytes);
        }
        ReelInput {
            name: format!("{node}.reel"),
            reel: Arc::new(Reel::from_bytes(bytes).expect("the header is good")),
        }
    });
    let session = Session::builder()
        .wire(wire)
        .build(inputs.into())
        .expect("one session");
    let history = History::build(&session);
    (session, history)
}

fn host(change: impl FnOnce(&mut Vec<u8>)) -> (Session, History) {
    opened("host", None, change)
}

/// The bytes of the first or the last block of X's reel.
fn block_of_x(last: bool) -> std::ops::Range<usize> {
    let path = samples().join("sessions/host/X.reel");
    let reel = Reel::from_bytes(std::fs::read(path).unwrap()).unwrap();
    let infos = reel.block_infos();
    let info = if last { infos.last() } else { infos.first() }.expect("a block");
    info.offset as usize..(info.offset + info.length) as usize
}

fn x(session: &Session) -> (NodeId, &Node) {
    let place = session.nodes.iter().position(|node| node.name == "X");
    let place = place.expect("X is there");
    (NodeId(place as u16), &session.nodes[place])
}

fn finding<'a>(history: &'a History, rule: &str) -> &'a Finding {
    let mut findings = history.findings.iter();
    findings.find(|finding| finding.rule == rule).expect(rule)
}

fn lost(session: &Session) -> usize {
    let packets = session.packets();
    packets.filter(|each| each.fate == Fate::Lost).count()
}

#[test]
fn packets_that_were_held_back_until_after_a_cut_are_not_lost() {
    let (whole, _) = host(|_| {});
    let (session, _) = host(|bytes| bytes.truncate(12_000));
    assert!(!x(&session).1.complete);
    assert_eq!((lost(&whole), lost(&session)), (0, 0));
}

#[test]
fn a_first_block_that_is_damaged_is_a_hole_from_the_sessions_start_on() {
    let block = block_of_x(false);
    let (session, history) = host(|bytes| bytes[block.start + 500] ^= 1);
    let (_, node) = x(&session);
    assert!(!node.complete);
    let [hole] = node.holes.as_slice() else {
        panic!("{:?}", node.holes)
    };
    assert_eq!(hole.time, SessionTime(0)..node.span.start);
    let words = format!("bytes {} to {}: the checksum", block.start, block.end);
    assert!(hole.why.contains(&words), "{}", hole.why);
    let sentence = &finding(&history, "incomplete-reel").sentence;
    assert!(sentence.contains(&words), "{sentence}");
    assert!(!sentence.contains("ends before"), "{sentence}");
    assert!(session.warnings().iter().any(|each| each.contains(&words)));
}

#[test]
fn a_socket_that_only_a_damaged_block_opened_is_its_nodes_own() {
    let block = block_of_x(false);
    let (whole, _) = host(|_| {});
    for broken_index in [false, true] {
        let (session, _) = host(|bytes| {
            bytes[block.start + 500] ^= 1;
            let length = bytes.len();
            bytes[length - 20] ^= u8::from(broken_index);
        });
        assert_eq!(session.nodes.len(), 4);
        assert_eq!(x(&session).1.endpoints, x(&whole).1.endpoints);
        let translated = |each: &&String| each.contains("translation");
        assert_eq!(session.warnings().iter().find(translated), None);
    }
}

#[test]
fn a_last_block_that_is_damaged_is_a_hole_up_to_the_reels_end() {
    let block = block_of_x(true);
    let (whole, _) = host(|_| {});
    let (session, history) = host(|bytes| bytes[block.end - 50] ^= 1);
    let (_, node) = x(&session);
    assert!(!node.complete);
    let hole = node.holes.last().expect("a hole");
    assert_eq!(hole.time, node.span.end..x(&whole).1.span.end);
    assert!(hole.why.contains("at its end"), "{}", hole.why);
    assert_eq!(lost(&session), 0);
    let zombie = history.findings.iter().find(|f| f.rule == "zombie-object");
    assert!(zombie.is_none_or(|zombie| zombie.level < Level::Error));
}

#[test]
fn a_damaged_index_takes_nothing_from_what_is_found() {
    let (_, whole) = host(|_| {});
    let (session, history) = host(|bytes| {
        let length = bytes.len();
        bytes[length - 20] ^= 1;
    });
    assert!(x(&session).1.complete);
    assert_eq!(finding(&history, "zombie-object").level, Level::Error);
    assert_eq!(history.findings, whole.findings);
    let warnings = session.warnings();
    let [warning] = warnings.as_slice() else {
        panic!("{warnings:?}")
    };
    assert!(warning.contains("the index is damaged"), "{warning}");
    let info = export::info(&session, &history);
    assert!(info.nodes.iter().all(|node| node.complete));
}

/// The session, read with a wire that takes the bits of each byte from the other end.
fn misread() -> (Session, History) {
    let text = std::fs::read_to_string(samples().join("wires/boxes.wire")).unwrap();
    let text = text.replacen("bit_order = lsb", "bit_order = msb", 1);
    let wire = Wire::compile("msb.wire", &text).expect("it compiles");
    opened("host", Some(Arc::new(wire)), |_| {})
}

fn is_unfit(session: &Session, id: PacketId) -> bool {
    session.said(id).expect("the packet").diagnostics > 0
}

#[test]
fn how_many_packets_do_not_fit_the_wire_is_one_warning() {
    let (session, _) = misread();
    let ids = (0..session.packet_count() as u32).map(PacketId);
    let unfit = ids.filter(|&id| is_unfit(&session, id)).count();
    let words = format!("{unfit} of {} packets", session.packet_count());
    let mut about = session.warnings();
    about.retain(|each| each.contains("not fit the wire"));
    assert_eq!(about.len(), 1, "{about:?}");
    assert!(about[0].starts_with(&words), "{about:?}");
    let (right, _) = host(|_| {});
    assert!(!right.warnings().iter().any(|each| each.contains("fit")));
}

#[test]
fn a_finding_that_rests_on_a_packet_that_does_not_fit_the_wire_is_no_error() {
    let (session, history) = misread();
    let mut doubted = 0;
    for finding in history
        .findings
        .iter()
        .filter(|each| !each.objects.is_empty())
    {
        let mut evidence = finding.evidence.iter();
        let Some(piece) = evidence.find(|each| is_unfit(&session, each.packet)) else {
            continue;
        };
        doubted += 1;
        assert!(finding.level <= Level::Warning, "{finding:?}");
        let says = finding
            .sentence
            .contains(&format!("; packet {}", piece.packet.0))
            && finding.sentence.contains("not fit the wire");
        assert!(says || finding.evidence.len() > 1, "{}", finding.sentence);
    }
    assert!(doubted > 0, "{:?}", history.findings);
    let errors = history.findings.iter().filter(|f| f.level == Level::Error);
    assert_eq!(errors.count(), 0);
}

#[test]
fn a_history_that_nobody_wants_any_more_is_given_up() {
    let (session, history) = host(|_| {});
    let endless = Cancel::after(i64::MAX);
    let whole = History::while_wanted(&session, &endless).expect("a history");
    assert_eq!(whole.findings, history.findings);
    for times in 0..i64::MAX - endless.left() {
        let patience = Cancel::after(times);
        let built = History::while_wanted(&session, &patience);
        assert!(built.is_none(), "wanted {times} times");
    }
    let nobody = Cancel::after(0);
    History::while_wanted(&session, &nobody);
    assert_eq!(nobody.left(), -1, "it goes on though nobody wants it");
}

#[test]
fn a_comparison_that_nobody_wants_any_more_is_given_up() {
    let both = [host(|_| {}), opened("owner", None, |_| {})];
    let sides = both
        .each_ref()
        .map(|(session, history)| ComparedSession { session, history });
    let endless = Cancel::after(i64::MAX);
    let whole = Diff::while_wanted(sides, &endless).expect("a comparison");
    assert!(!whole.said.is_same());
    let all = i64::MAX - endless.left();
    for times in (0..all).step_by(all as usize / 16) {
        let patience = Cancel::after(times);
        let given_up = Diff::while_wanted(sides, &patience).err();
        assert_eq!(given_up, Some(DiffError::GivenUp), "wanted {times} times");
        assert!(times - patience.left() <= all);
    }
}
