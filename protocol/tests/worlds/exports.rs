//! The JSON of the demonstration.

use std::sync::LazyLock;

use netreel_protocol::export;
use netreel_protocol::history::{History, Level};
use netreel_protocol::session::{PacketId, Session, SessionTime};
use netreel_sample_engine::{Mode, Script, SimWorldStart, Topology};
use serde_json::Value;

use crate::played::{Played, read};

static PLAYED: LazyLock<(Session, History)> = LazyLock::new(|| {
    let start = SimWorldStart::new(7, Mode::Host, Topology::PeerToPeer, Script::Demonstration);
    read(&Played::to_rest(&start).reels)
});

fn json(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).expect("it is JSON")
}

/// The packet that the first error's first piece of evidence is in.
fn migrate_packet() -> PacketId {
    let (_, history) = &*PLAYED;
    let error = history
        .findings
        .iter()
        .find(|finding| finding.level == Level::Error);
    error.expect("the demonstration goes wrong").evidence[0].packet
}

#[test]
fn check_names_rules_nodes_and_packets() {
    let (session, history) = &*PLAYED;
    let check = json(export::check(session, history, Level::Error));
    assert_eq!(check["result"], "findings");
    assert_eq!(check["counts"]["error"], 2);
    let errors: Vec<&Value> = check["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["level"] == "error")
        .collect();
    assert_eq!(errors[0]["rule"], "migrate-before-create");
    assert_eq!(
        (&errors[1]["node"], &errors[1]["object"]),
        (&json("X"), &json(42))
    );
    assert!(errors[1]["evidence"][0]["packet"].is_u64());
}

#[test]
fn check_is_clean_where_nothing_reaches_the_level() {
    let (session, _) = &*PLAYED;
    let check = json(export::check(session, &History::default(), Level::Info));
    assert_eq!(
        (&check["result"], &check["fail_on"]),
        (&json("clean"), &json("info"))
    );
}

#[test]
fn info_counts_what_the_packets_sum_up_to() {
    let (session, history) = &*PLAYED;
    let info = json(export::info(session, history));
    let sum = |field: &str| -> u64 {
        info["links"]
            .as_array()
            .unwrap()
            .iter()
            .map(|link| link[field].as_u64().unwrap())
            .sum()
    };
    assert_eq!(json(sum("packets")), info["packets"]);
    let bytes: u64 = session
        .packets
        .iter()
        .map(|packet| u64::from(packet.length))
        .sum();
    assert_eq!(sum("bytes"), bytes);
    assert_eq!(info["nodes"][3]["name"], "X");
    assert_eq!(info["nodes"][3]["rules"], "historic");
    assert_eq!(info["wire"], "boxes");
}

#[test]
fn a_packet_tells_what_its_messages_did_where() {
    let (session, history) = &*PLAYED;
    let packet = json(export::packet(session, history, migrate_packet()).unwrap());
    assert_eq!(
        (&packet["from"], &packet["to"]),
        (&json("HOST"), &json("X"))
    );
    let messages = packet["messages"].as_array().unwrap();
    let migrate = messages
        .iter()
        .find(|message| message["kind"] == "migrate")
        .unwrap();
    assert_eq!(
        (&migrate["object"], &migrate["owner"]),
        (&json(42), &json("B"))
    );
    assert_eq!(migrate["effects"][0]["effect"], "unknown-object");
}

#[test]
fn show_has_every_field_with_path_bits_raw_and_value() {
    let (session, history) = &*PLAYED;
    let show = json(export::show(session, history, migrate_packet()).unwrap());
    let fields = show["fields"].as_array().unwrap();
    let field = |path: &str| fields.iter().find(|field| field["path"] == path);
    let magic = field("magic").expect("the first field");
    assert_eq!(
        (&magic["raw"], &magic["bits"]),
        (&json("176"), &json([0, 8]))
    );
    let mode = field("mode").expect("the second field");
    assert_eq!((&mode["raw"], &mode["value"]), (&json("0"), &json("host")));
    assert_eq!(mode["annotation"], "rules");
    let object = fields
        .iter()
        .find(|field| field["annotation"] == "object")
        .unwrap();
    assert!(object["path"].as_str().unwrap().starts_with("messages["));
    assert_eq!(
        show["payload"].as_str().unwrap().len() as u64,
        2 * show["length"].as_u64().unwrap()
    );
    assert_eq!(show["problems"], json([0; 0]));
}

#[test]
fn objects_show_lanes_over_all_time_or_at_a_moment() {
    let (session, history) = &*PLAYED;
    let object = |at: Option<SessionTime>| {
        let objects = json(export::objects(session, history, at));
        let all = objects["objects"].as_array().unwrap().clone();
        all.into_iter().find(|object| object["object"] == 42)
    };
    let over_all_time = object(None).unwrap();
    let x = &over_all_time["lanes"][3];
    assert_eq!(
        (&x["node"], &x["spans"][0]["belief"]),
        (&json("X"), &json("orphaned"))
    );
    assert_eq!(x["spans"][0]["owner"], "A");
    assert_eq!(object(Some(SessionTime(0))), None);
    let at_end = object(Some(session.span.end)).unwrap();
    assert_eq!(
        at_end["lanes"][1]["spans"],
        json([&at_end["lanes"][1]["spans"][0]])
    );
    assert_eq!(at_end["lanes"][1]["spans"][0]["belief"], "destroyed");
}

#[test]
fn the_joined_message_of_fragments_is_shown_whole() {
    let name = "n".repeat(250);
    let mut start = SimWorldStart::new(1, Mode::Host, Topology::PeerToPeer, Script::Idle);
    start.nodes = 2;
    start.tuning.packet_bytes = 256;
    let played = Played::new(&start, |world| {
        use netreel_sample_engine::{Call, Peer, Value as Field};
        world.run(30);
        let values = vec![
            Field::Vector(vec![0.0, 0.0, 0.0]),
            Field::Integer(100),
            Field::Text(name.clone()),
        ];
        world.call(Peer(1), &Call::Spawn { kind: 1, values });
        world.run(60);
        assert_eq!(world.table(Peer(0)).len(), 1, "HOST has the object");
    });
    let (session, history) = (&played.session, &played.history);
    assert_eq!(history.joined.len(), 1);
    assert_eq!(played.believed(netreel_sample_engine::Peer(0)).len(), 1);
    let fragment = session
        .message(history.joined[0].fragments[0])
        .unwrap()
        .packet;
    let show = json(export::show(session, history, fragment).unwrap());
    let fields = show["joined"][0].as_array().unwrap();
    assert!(fields.iter().any(|field| field["value"] == json(&name)));
}
