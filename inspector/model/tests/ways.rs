//! Sessions of every way of recording: names that can be told apart, and what is not known said so.

mod fixture;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use fixture::ways::{ALL, Passed, exchange, model, recorded, redacted, seen, talk, talking};
use netreel_inspector_model::{Column, Command, Model};
use netreel_protocol::history::{Evidence, Finding, History, Instance, Level};
use netreel_protocol::packet_fields::PacketField;
use netreel_protocol::session::{
    Hole, MessageId, Node, NodeId, PacketId, Session, SessionTime, Triggered,
};
use netreel_reel::{EventNumber, Removed, Trigger, TriggerCause};

const ADDRESSES: [&str; 3] = ["10.0.0.31:49152", "10.0.0.5:7000", "10.0.0.31:49153"];

fn ms(range: Range<i64>) -> Range<SessionTime> {
    fixture::ms(range)
}

fn rows(model: &Model) -> Vec<String> {
    let rows = model.packet_rows(0..usize::MAX);
    rows.into_iter()
        .map(|row| row.cell(PacketField::Link).to_owned())
        .collect()
}

fn hole(time: Range<i64>) -> Hole {
    Hole {
        time: ms(time),
        before: EventNumber(0),
        why: "17 events were dropped".to_owned(),
    }
}

fn trigger(from_peer: bool) -> Triggered {
    Triggered {
        time: SessionTime(0),
        trigger: Trigger {
            cause: TriggerCause::SIGNAL,
            id: 1,
            utc_ns: 0,
            before_ms: 2_000,
            after_ms: 0,
            from_peer,
        },
        text: "SIGUSR1".to_owned(),
    }
}

#[test]
fn links_of_different_nodes_have_different_names() {
    for names in [
        ADDRESSES,
        [
            "godot3-server.9786",
            "godot3-server.9818",
            "godot3-server.9820",
        ],
        ["[fe80::1]:7000", "[fe80::2]:7000", "[fe80::2]:7001"],
        [
            "ioq3ded.4711",
            "ioquake3.x86_64.4712",
            "ioquake3.x86_64.4713",
        ],
        ["服务器", "玩家一", "玩家二"],
    ] {
        let model = model(talk(names.map(recorded).to_vec()));
        let links = rows(&model);
        let different: BTreeSet<&String> = links.iter().collect();
        assert_eq!(different.len(), 4, "{links:?}");
    }
}

#[test]
fn a_link_is_short_enough_for_its_column() {
    let long = "a-dedicated-server-with-a-very-long-name.";
    let names = [1, 2, 3].map(|pid| recorded(&format!("{long}471{pid}")));
    let mut nodes = names.to_vec();
    nodes.push(recorded("[2001:db8:1111:2222:3333:4444:5555:6b7c]:7000"));
    let model = model(talk(nodes));
    assert!(model.short_link_length() <= 33, "{:?}", rows(&model));
    assert!(model.lane_name_length() <= 26);
}

#[test]
fn who_sent_nothing_has_no_lane() {
    let mut session = talk(vec![recorded("game.2"), recorded("game.3")]);
    session.nodes.push(recorded("sh.1"));
    let model = model(session);
    assert_eq!(model.lanes(), [NodeId(0), NodeId(1)]);
    assert!(model.status().starts_with("3 nodes, 1 without packets · "));
}

#[test]
fn without_packets_every_node_has_a_lane() {
    let mut session = Session::default();
    session.nodes = vec![recorded("A"), recorded("B")];
    assert_eq!(model(session).lanes().len(), 2);
}

#[test]
fn who_only_saw_packets_does_not_say_that_none_was_lost() {
    let session = talk(ADDRESSES.map(seen).to_vec());
    let status = model(session).status();
    assert_eq!(
        status,
        "3 nodes · 4 packets · losses unknown · seen by eth0"
    );
}

#[test]
fn what_an_observer_missed_is_counted() {
    let mut session = talk(ADDRESSES.map(seen).to_vec());
    session.observers[0].missed = 1_200;
    session.observers[0].window = true;
    let status = model(session).status();
    assert!(
        status.ends_with(" · seen by eth0, a window · at least 1 200 missed"),
        "{status}"
    );
}

#[test]
fn a_trigger_of_an_observer_is_one_of_the_nodes_that_it_saw() {
    let mut session = talk(ADDRESSES.map(seen).to_vec());
    session.observers[0].triggers.push(trigger(false));
    let model = model(session);
    assert!(model.has_triggers());
    assert_eq!(model.triggers(NodeId(1)).count(), 1);
}

#[test]
fn a_trigger_is_told_where_it_was_pulled() {
    let mut session = talk(["A", "B", "C"].map(recorded).to_vec());
    for (node, from_peer) in session.nodes.iter_mut().zip([true, false, true]) {
        node.triggers.push(trigger(from_peer));
    }
    let model = model(session);
    let told = [0, 1, 2].map(|node| model.is_told_at(NodeId(node), &trigger(true).trigger));
    assert_eq!(told, [false, true, false]);
}

#[test]
fn a_trigger_of_somebody_unrecorded_is_told_once() {
    let mut session = talk(["A", "B"].map(recorded).to_vec());
    for node in &mut session.nodes {
        node.triggers.push(trigger(true));
    }
    let model = model(session);
    let told = [0, 1].map(|node| model.is_told_at(NodeId(node), &trigger(true).trigger));
    assert_eq!(told, [true, false]);
}

#[test]
fn packets_of_unknown_fate_are_counted_beside_the_lost_ones() {
    let mut packets = talking(3);
    packets[0].arrives = false;
    // Its receiver's reel ends soon after it was sent.
    packets[1].arrives = false;
    packets[1].at = 950_000_000;
    // On the link of the lost one another packet arrives, so that it is known how slow the link is.
    let mut later = talking(2).remove(0);
    later.at = 30_000_000;
    packets.push(later);
    let session = exchange(ADDRESSES.map(recorded).to_vec(), &packets);
    let status = model(session).status();
    assert_eq!(status, "3 nodes · 5 packets · 1 lost, 1 unknown");
}

#[test]
fn a_proxy_is_told() {
    let mut session = talk(ADDRESSES.map(recorded).to_vec());
    for node in &mut session.nodes {
        node.proxied = true;
    }
    let model = model(session);
    assert!(model.status().ends_with(" · told by a proxy"));
    assert_eq!(model.measured_alike(), Some("in proxy"));
    let note = model.lane_note(NodeId(0)).expect("a note");
    assert_eq!((note.text, note.lacks), ("at the proxy", false));
}

#[track_caller]
fn check_note(node: Node, expected: &str) {
    let model = model(talk(vec![node, recorded("B")]));
    let note = model.lane_note(NodeId(0));
    assert_eq!(note.map_or("", |note| note.text), expected);
}

#[test]
fn a_lane_says_what_its_recording_is() {
    let a = || recorded("A");
    check_note(a(), "");
    check_note(seen("A"), "seen");
    check_note(
        Node {
            seen: false,
            ..seen("A")
        },
        "no reel",
    );
    check_note(
        Node {
            group: true,
            ..seen("A")
        },
        "a group",
    );
    check_note(
        Node {
            window: true,
            complete: false,
            ..a()
        },
        "a window",
    );
    check_note(
        Node {
            complete: false,
            ..a()
        },
        "cut short",
    );
    check_note(
        Node {
            complete: false,
            goes_on: true,
            ..a()
        },
        "so far",
    );
    check_note(
        Node {
            holes: vec![hole(3..4)],
            ..a()
        },
        "has gaps",
    );
    check_note(
        Node {
            captured: true,
            ..a()
        },
        "of a capture",
    );
}

#[test]
fn the_gaps_of_a_time_are_found_among_all() {
    let mut a = recorded("A");
    a.holes = (0..1_000).map(|at| hole(at..at)).collect();
    let model = model(talk(vec![a, recorded("B")]));
    assert_eq!(model.holes(NodeId(0), &ms(200..202)).count(), 3);
    assert_eq!(model.holes(NodeId(1), &ms(0..1_000)).count(), 0);
}

#[test]
fn the_gaps_of_an_observer_are_those_of_the_nodes_that_it_saw() {
    let mut session = talk(ADDRESSES.map(seen).to_vec());
    session.observers[0].holes.push(hole(3..4));
    let model = model(session);
    assert_eq!(model.holes(NodeId(2), &ms(0..10)).count(), 1);
    assert!(model.has_holes());
}

#[test]
fn all_that_is_known_of_a_node_names_its_gaps() {
    let mut a = recorded("A");
    a.holes = vec![hole(3..4)];
    let text = model(talk(vec![a, recorded("B")])).node_text(NodeId(0));
    let gap = "missing from 0.003000 to 0.004000 s: 17 events were dropped";
    assert_eq!(text.lines().last(), Some(gap), "{text}");
}

#[track_caller]
fn check_payload(removed: Removed, payload: &[u8], expected: Option<&str>) {
    let model = model(redacted(removed.words(), payload));
    assert_eq!(model.payload_note(PacketId(0)).as_deref(), expected);
    assert!(model.status().ends_with(" · a redacted copy"));
}

#[test]
fn a_redacted_payload_is_called_so() {
    let zeros = Some("redacted: zeros stand for the payload");
    check_payload(Removed::Payloads, &[0; 8], zeros);
    let none = Some("redacted: the payload was taken out");
    check_payload(Removed::Payloads, &[], none);
    let blank = Some("redacted: fields may be blanked");
    check_payload(Removed::Fields, &[1; 8], blank);
    check_payload(Removed::Payloads, &[1; 8], None);
    check_payload(Removed::Addresses, &[0; 8], None);
}

#[test]
fn a_packet_that_a_capture_cut_is_called_so() {
    let mut packets = talking(3);
    packets[0].cut = Some(1_200);
    let session = exchange(ADDRESSES.map(seen).to_vec(), &packets);
    let note = model(session).payload_note(PacketId(0));
    let expected = "the capture kept the first 64 of 1 200 bytes";
    assert_eq!(note.as_deref(), Some(expected));
}

#[test]
fn a_table_has_no_columns_in_which_nothing_can_stand() {
    let session = talk(ADDRESSES.map(seen).to_vec());
    let expected = [
        Column::Of(PacketField::Packet),
        Column::Of(PacketField::Time),
        Column::Of(PacketField::Link),
        Column::Of(PacketField::Length),
        Column::Of(PacketField::Fate),
    ];
    assert_eq!(model(session).columns(), expected);
    assert_eq!(fixture::race_model().columns().len(), 9);
}

#[test]
fn the_minimap_counts_what_was_recorded_and_what_was_seen() {
    let events = |session: Session| {
        let columns = model(session).minimap(900.0);
        columns.iter().map(|column| column.events).sum::<u32>()
    };
    assert_eq!(events(talk(ADDRESSES.map(recorded).to_vec())), 8);
    // Where a packet went is not known by who saw it pass.
    assert_eq!(events(talk(ADDRESSES.map(seen).to_vec())), 4);
}

#[test]
fn one_send_to_several_counts_for_each_of_them() {
    let mut packets = talking(3);
    for at in [500, 600, 700] {
        packets.push(Passed {
            at: at * 1_000_000,
            from: 0,
            to: ALL,
            arrives: true,
            cut: None,
        });
    }
    let session = exchange(ADDRESSES.map(recorded).to_vec(), &packets);
    assert_eq!(session.packet_count(), 4 + 3 * 2);
    let model = model(session);
    let columns = model.minimap(900.0);
    let events: u32 = columns.iter().map(|column| column.events).sum();
    assert_eq!(events, 2 * 10);
}

#[test]
fn a_finding_without_packets_leaves_the_whole_session_in_view() {
    let session = talk(ADDRESSES.map(recorded).to_vec());
    let finding = Finding {
        rule: "incomplete-reel",
        level: Level::Warning,
        sentence: String::new(),
        node: NodeId(0),
        time: SessionTime(0),
        objects: Vec::new(),
        each: Vec::new(),
        evidence: Vec::new(),
    };
    let mut history = History::default();
    history.findings.push(finding);
    let model = Model::new(Arc::new(session), Arc::new(history));
    assert_eq!(model.selection().finding, Some(0));
    assert_eq!(model.visible(), model.whole());
}

#[test]
fn a_finding_of_several_objects_shows_the_proof_of_each() {
    let session = talk(ADDRESSES.map(recorded).to_vec());
    let instance = |object: u64, packet: u32| Instance {
        node: NodeId(0),
        object: Some(object),
        time: SessionTime(i64::from(packet)),
        sentence: format!("object {object} outlives its DESTROY"),
        evidence: vec![Evidence {
            what: "DESTROY delivered".to_owned(),
            message: MessageId(packet),
            packet: PacketId(packet),
            node: NodeId(0),
            number: EventNumber(u64::from(packet)),
            time: SessionTime(i64::from(packet)),
        }],
    };
    let each = vec![instance(5, 0), instance(6, 1)];
    let finding = Finding {
        rule: "zombie-object",
        level: Level::Error,
        sentence: "2 objects (5 and 6) outlive their DESTROY".to_owned(),
        node: NodeId(0),
        time: SessionTime(0),
        objects: vec![5, 6],
        evidence: each[0].evidence.clone(),
        each,
    };
    let mut history = History::default();
    history.findings.push(finding);
    let mut model = Model::new(Arc::new(session), Arc::new(history));
    model.apply(Command::SelectFinding(0));
    let rows = model.evidence_rows(0).into_iter();
    let rows: Vec<_> = rows.map(|row| (row.object, row.packet, row.step)).collect();
    assert_eq!(
        rows,
        [
            (Some(5), PacketId(0), Some(1)),
            (Some(6), PacketId(1), Some(2))
        ]
    );
    let text = model.story_text(0).expect("a finding");
    assert!(text.contains("object 6 outlives its DESTROY"), "{text}");
}

#[test]
fn days_without_packets_are_folded_on_every_scale_of_time() {
    let nodes = vec![seen("10.0.0.1:1"), seen("10.0.0.2:2")];
    let day = 86_400_000_000_000;
    let at = |at: i64| Passed {
        at,
        from: 0,
        to: 1,
        arrives: true,
        cut: None,
    };
    let packets = [0, 5_000_000, 3 * day, 3 * day + 5_000_000].map(at);
    let mut model = model(exchange(nodes, &packets));
    let scale = model.scale(1000.0);
    let x = |time: i64| scale.x(SessionTime(time));
    let span = model.span();
    let start = span.start.0;
    // Each burst takes a good part of the width.
    assert!(x(start + 5_000_000) - x(start) > 100.0);
    assert!(x(start + 3 * day + 5_000_000) - x(start + 3 * day) > 100.0);
    let gaps = scale.gaps();
    assert_eq!(gaps.len(), 1);
    assert_eq!(gaps[0].1, "3.0 days");
    // Panning and zooming go through it.
    for _ in 0..40 {
        let at = SessionTime(start + 3 * day);
        model.apply(Command::Zoom { at, factor: 2.0 });
        assert!(model.visible().contains(&at));
    }
    model.apply(Command::ShowAll);
    model.apply(Command::Pan(i64::MIN / 4));
    assert_eq!(model.visible(), model.whole());
}
