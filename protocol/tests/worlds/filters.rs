//! Filters on the packets of the demonstration.

use std::sync::LazyLock;

use netreel_protocol::history::{Finding, History, Level};
use netreel_protocol::query::Query;
use netreel_protocol::session::{MessageId, NodeId, Packet, PacketId, Session, SessionTime};
use netreel_sample_engine::{Mode, Script, SimWorldStart, Topology};

use crate::played::{Played, read};

static PLAYED: LazyLock<(Session, History)> = LazyLock::new(|| {
    let mut start = SimWorldStart::new(7, Mode::Host, Topology::PeerToPeer, Script::Demonstration);
    start.faults.loss = 0.05;
    start.faults.duplicate = 0.05;
    read(&Played::to_rest(&start).reels)
});

fn parse(text: &str) -> Query {
    Query::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn passing(text: &str) -> Vec<PacketId> {
    let (session, history) = &*PLAYED;
    let query = parse(text);
    let all = (0..session.packet_count() as u32).map(PacketId);
    let one_by_one: Vec<PacketId> = all
        .filter(|&packet| query.packet(session, history, packet))
        .collect();
    let at_once = query.packets(session, &|| history, (0, usize::MAX));
    assert_eq!(at_once, one_by_one, "{text}, many at once");
    one_by_one
}

/// The filter lets some packets pass, and exactly those that the condition holds for.
fn check(text: &str, holds: impl Fn(&Session, &History, PacketId) -> bool) {
    let (session, history) = &*PLAYED;
    let all = (0..session.packet_count() as u32).map(PacketId);
    let expected: Vec<PacketId> = all
        .filter(|&packet| holds(session, history, packet))
        .collect();
    assert!(!expected.is_empty(), "{text} lets nothing pass");
    assert_eq!(passing(text), expected, "{text}");
}

fn name(session: &Session, node: NodeId) -> String {
    session.name(node)
}

fn packet(session: &Session, id: PacketId) -> Packet {
    session.packet(id).expect("the packet is there")
}

#[test]
fn from_to_node_and_link_are_about_the_packets_ends() {
    let from = |s: &Session, id: PacketId| name(s, packet(s, id).from);
    let to = |s: &Session, id: PacketId| name(s, packet(s, id).to);
    check("from == A", |s, _, id| from(s, id) == "A");
    check("to != A", |s, _, id| to(s, id) != "A");
    check("node == X", |s, _, id| {
        from(s, id) == "X" || to(s, id) == "X"
    });
    check("link == A->X", |s, _, id| {
        from(s, id) == "A" && to(s, id) == "X"
    });
    check("from == 127.0.0.1:27001", |s, _, id| from(s, id) == "A");
}

#[test]
fn kind_and_object_must_hold_for_the_same_message() {
    check("kind == create && object == 42", |s, _, id| {
        s.messages_of(id).any(|(message, facts)| {
            let kind = s.kind(message);
            kind.is_some_and(|kind| kind.name == "create") && facts.object == Some(42)
        })
    });
}

#[test]
fn lost_and_duplicated_are_words() {
    use netreel_protocol::session::Fate;
    check("lost", |s, _, id| packet(s, id).fate == Fate::Lost);
    check("duplicated && !lost", |s, _, id| {
        !packet(s, id).duplicates.is_empty()
    });
}

#[test]
fn times_compare_with_units() {
    check("time > 1.2s", |s, _, id| {
        packet(s, id).sent.unwrap().time.0 > 1_200_000_000
    });
    check("late > 100ms", |s, _, id| {
        let packet = packet(s, id);
        packet
            .received
            .is_some_and(|at| at.time.0 - packet.sent.unwrap().time.0 > 100_000_000)
    });
}

#[test]
fn rule_is_about_the_evidence_of_findings() {
    check("rule == zombie-object", |_, h, id| {
        h.findings.iter().any(|finding| {
            finding.rule == "zombie-object" && finding.evidence.iter().any(|e| e.packet == id)
        })
    });
}

#[test]
fn level_is_about_the_findings_that_a_packet_is_evidence_of() {
    let has = |h: &History, id, level| h.findings_of(id).any(|each| each.level >= level);
    check("level == error", |_, h, id| has(h, id, Level::Error));
    check("level >= info && rule", |_, h, id| has(h, id, Level::Info));
}

#[test]
fn unreliable_is_what_a_message_is_that_is_not_reliable() {
    let all = passing("kind || channel == reliable || channel == unreliable");
    assert_eq!(passing("reliable || unreliable"), all);
    check("unreliable", |s, _, id| {
        s.messages_of(id).any(|(_, facts)| !facts.reliable)
    });
    assert_eq!(passing("unreliable && reliable"), []);
}

/// The findings that pass are exactly those that the condition holds for.
fn check_findings(text: &str, count: usize, holds: impl Fn(&Session, &Finding) -> bool) {
    let (session, history) = &*PLAYED;
    let query = parse(text);
    for finding in &history.findings {
        let passes = query.finding(session, history, finding);
        assert_eq!(passes, holds(session, finding), "{text}: {finding:?}");
    }
    let found = history.findings.iter().filter(|each| holds(session, each));
    assert!(found.count() >= count, "{text} finds too little");
}

#[test]
fn a_finding_passes_by_its_own_rule_level_node_object_and_time() {
    check_findings("rule == zombie-object", 1, |_, f| f.rule == "zombie-object");
    check_findings("level < error", 0, |_, f| f.level < Level::Error);
    check_findings("level == error && finding", 1, |_, f| {
        f.level == Level::Error
    });
    check_findings("node == X", 1, |s, f| name(s, f.node) == "X");
    check_findings("object == 42", 1, |_, f| f.is_about(42));
    let (_, history) = &*PLAYED;
    let last = history.findings.last().unwrap().time;
    check_findings(&format!("time >= {}ns", last.0), 1, |_, f| f.time >= last);
}

#[test]
fn a_finding_passes_by_the_messages_of_its_evidence() {
    check_findings("kind == create && from == A", 1, |s, f| {
        f.evidence.iter().any(|piece| {
            let kind = s.kind(piece.message).map(|kind| kind.name.as_str());
            let packet = s.packet(piece.packet).unwrap();
            kind == Some("create") && name(s, packet.from) == "A"
        })
    });
}

#[test]
fn a_finding_without_evidence_passes_by_what_it_has_itself() {
    let (session, history) = &*PLAYED;
    let bare = Finding {
        rule: "incomplete-reel",
        level: Level::Warning,
        node: session.node_of_peer(3).unwrap(),
        objects: Vec::new(),
        each: Vec::new(),
        time: SessionTime(5),
        sentence: String::new(),
        evidence: Vec::new(),
    };
    let passes = |text: &str| parse(text).finding(session, history, &bare);
    assert!(passes("level == warning && node == X && time == 5ns"));
    assert!(passes("!(from == HOST) && !lost"));
    assert!(passes("level < error && level > info && level != error"));
    for absent in ["from", "packet", "from != HOST", "object", "acked", "kind"] {
        assert!(!passes(absent), "{absent}");
    }
}

#[test]
fn what_has_no_value_is_neither_equal_nor_unequal() {
    let both = passing("object == 42 || object != 42").len();
    assert_eq!(both, passing("object").len());
    assert!(both < PLAYED.0.packet_count());
}

#[test]
fn an_empty_filter_lets_everything_pass() {
    assert_eq!(passing("").len(), PLAYED.0.packet_count());
}

#[test]
fn a_message_passes_by_its_own_fields() {
    let (session, history) = &*PLAYED;
    let query = parse("effect == unknown-object && kind == migrate");
    let all = (0..session.message_count() as u32).map(MessageId);
    let found = all
        .filter(|&message| query.message(session, history, message))
        .count();
    assert_eq!(found, 1);
}

#[test]
fn names_that_nobody_has_are_told_with_those_that_there_are() {
    let (session, _) = &*PLAYED;
    let query = parse("from == Y && kind == explode && rule == nonsense");
    let told = query.unknown_names(session);
    assert_eq!(told[0], "no node is called Y; there are HOST, A, B, X");
    assert!(told[1].starts_with("no kind is called explode; there are connect, leave, create,"));
    let rules = "no rule is called nonsense; there are ack-of-unreceived, ack-of-unsent,";
    assert!(told[2].starts_with(rules));
}

#[test]
fn any_text_is_a_filter_or_an_error_with_a_column_inside_it() {
    const PARTS: [&str; 24] = [
        "from", "link", "object", "late", "lost", "kind", "rule", "==", "!=", "<", ">=", "&&",
        "||", "!", "(", ")", "->", "A", "42", "1.5ms", "\"X\"", "'", "\u{e4}", " ",
    ];
    let (session, history) = &*PLAYED;
    let mut draw = netreel_transport::Draw::new(1);
    let mut understood = 0;
    for _ in 0..20_000 {
        let count = draw.below(8);
        let parts = (0..count).map(|_| PARTS[draw.below(PARTS.len() as u64) as usize]);
        let text: String = parts.collect();
        match Query::parse(&text) {
            Ok(query) => {
                understood += 1;
                let _ = query.packet(session, history, PacketId(0));
                passing(&text);
            }
            Err(error) => {
                assert!(
                    (1..=text.chars().count() + 1).contains(&error.column),
                    "{text}: {error}"
                );
            }
        }
    }
    assert!(understood > 500, "{understood}");
}

/// The values of the fields whose paths end so, as `show` prints them.
fn values(session: &Session, id: PacketId, ends: &[&str]) -> Vec<String> {
    let decoded = session.decode(id).expect("a wire");
    let tree = &decoded.tree;
    let nodes = tree.iter().enumerate();
    let found = nodes.filter(|(place, _)| {
        let path = tree.path(netreel_wire::TreeId(*place as u32));
        ends.iter().any(|end| path.ends_with(end))
    });
    found.map(|(_, node)| node.value().to_string()).collect()
}

#[test]
fn a_path_finds_fields_of_the_wire_at_any_depth() {
    let color = |s: &Session, id| values(s, id, &["create.box.color", "update.box.color"]);
    check("any(color)", move |s, _, id| !color(s, id).is_empty());
    let created = |s: &Session, id| values(s, id, &["create.box.color"]);
    check("create.color > 100", move |s, _, id| {
        let mut colors = created(s, id).into_iter();
        colors.any(|it| it.parse::<u64>().expect("a number") > 100)
    });
    let names = |s: &Session, id| values(s, id, &["rpc.name"]);
    check("messages.rpc.name == \"ready\"", move |s, _, id| {
        names(s, id).contains(&"\"ready\"".to_owned())
    });
}

#[test]
fn of_several_fields_one_is_enough_or_all_must_fit() {
    let counts = |text: &str| passing(text).len();
    let (one, every) = (
        counts("any(has_weight) == 0"),
        counts("all(has_weight) == 0"),
    );
    assert!(every > 0 && every <= one, "{every} of {one}");
    // Nothing is true of all where there is none.
    assert_eq!(counts("all(has_weight) == 0 && !any(has_weight)"), 0);
}

#[test]
fn a_path_beside_a_kind_is_about_the_same_message() {
    // Packets have a create and an update; only the update has this field.
    assert_eq!(passing("kind == create && any(has_weight)").len(), 0);
    assert!(!passing("kind == update && any(has_weight)").is_empty());
    // What is in no message is of all of them.
    assert!(!passing("kind == create && any(has_ack) == 1").is_empty());
}

#[test]
fn what_the_wire_does_not_have_is_told_with_what_may_be_meant() {
    let unknown = |text: &str| parse(text).unknown_names(&PLAYED.0);
    assert_eq!(
        unknown("create.colr == 2"),
        ["the wire boxes has no field that is called colr (did you mean color?)"]
    );
    let kind = unknown("kind == creat");
    assert!(kind[0].starts_with("no kind is called creat (did you mean create?); there are"));
    assert_eq!(
        unknown("messages.rpc.name == \"ready\""),
        Vec::<String>::new()
    );
}
