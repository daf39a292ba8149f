//! The JSON of the demonstration.

use std::sync::LazyLock;

use netreel_protocol::export;
use netreel_protocol::history::{History, Level};
use netreel_protocol::session::{NodeId, PacketId, Session, SessionTime};
use netreel_protocol::verdict::Judgement;
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
    let judgement = Judgement::new(session, history, Level::Error, &[]);
    let check = json(export::check(session, history, &judgement));
    assert_eq!(check["verdict"], "wrong");
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
    let nothing = History::default();
    let judgement = Judgement::new(session, &nothing, Level::Info, &[]);
    let check = json(export::check(session, &nothing, &judgement));
    assert_eq!(
        (&check["verdict"], &check["fail_on"]),
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
        .packets()
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
    let migration = field("migration").expect("what the mode and the cure make");
    assert_eq!(migration["value"], json("host"));
    assert_eq!(migration["annotation"], "rules");
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
fn an_rpc_has_its_name_and_what_stands_behind_it() {
    let (session, history) = &*PLAYED;
    let packets = (0..session.packet_count() as u32).map(PacketId);
    let packets = packets.filter_map(|id| export::packet(session, history, id));
    let messages: Vec<Value> = packets
        .flat_map(|packet| packet.messages)
        .map(json)
        .collect();
    let mut rpcs = messages.iter().filter(|message| message["kind"] == "rpc");
    let ready = rpcs.next().expect("the demonstration has some");
    assert_eq!(ready["rpc"], "ready");
    assert_eq!(
        ready["arguments"][0],
        serde_json::json!({ "path": "count", "value": 0 })
    );
    let others = messages.iter().filter(|message| message["kind"] != "rpc");
    assert!(
        others
            .into_iter()
            .all(|message| message.get("arguments").is_none())
    );
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
fn what_a_node_believes_after_its_reel_ends_is_unknown() {
    let start = SimWorldStart::new(7, Mode::Host, Topology::PeerToPeer, Script::Demonstration);
    let mut reels = Played::to_rest(&start).reels;
    let (_, cut) = reels.iter_mut().find(|(name, _)| name == "B").expect("B");
    cut.truncate(cut.len() / 2);
    let (session, history) = read(&reels);
    let node = session.nodes.iter().position(|node| node.name == "B");
    let node = node.expect("B");
    let end = session.nodes[node].span.end;
    let known: Vec<u64> = history
        .objects
        .iter()
        .filter(|(_, object)| object.lanes.contains_key(&NodeId(node as u16)))
        .map(|(&id, _)| id)
        .collect();
    assert!(end < session.span.end && !known.is_empty());
    for object in known {
        let at = |at| beliefs(&session, &history, object, at).swap_remove(node);
        assert_ne!(at(end), "unknown", "object {object}");
        assert_eq!(at(session.span.end), "unknown", "object {object}");
    }
}

#[test]
fn of_a_node_without_a_reel_info_says_null_and_not_zero() {
    let start = SimWorldStart::new(7, Mode::Host, Topology::PeerToPeer, Script::Demonstration);
    let mut reels = Played::to_rest(&start).reels;
    reels.retain(|(name, _)| name != "A");
    let (session, history) = read(&reels);
    let info = json(export::info(&session, &history));
    let nodes = info["nodes"].as_array().unwrap();
    for node in nodes {
        for field in ["start_ns", "end_ns", "sent", "received", "clock_error_ns"] {
            let recorded = node["recorded"] == true;
            assert_eq!(node[field].is_null(), !recorded, "{field} of {node}");
        }
    }
    assert_eq!(
        nodes
            .iter()
            .filter(|node| node["recorded"] == false)
            .count(),
        1
    );
}

/// At a moment, each node's one belief of an object.
fn beliefs(session: &Session, history: &History, object: u64, at: SessionTime) -> Vec<Value> {
    let objects = json(export::objects(session, history, Some(at)));
    let mut all = objects["objects"].as_array().unwrap().iter();
    let found = all
        .find(|each| each["object"] == object)
        .expect("somebody knows it");
    let lanes = found["lanes"].as_array().unwrap();
    let names: Vec<&str> = lanes
        .iter()
        .map(|lane| lane["node"].as_str().unwrap())
        .collect();
    let nodes: Vec<&str> = session
        .nodes
        .iter()
        .map(|node| node.name.as_str())
        .collect();
    assert_eq!(names, nodes);
    let belief = |lane: &Value| {
        let spans = lane["spans"].as_array().unwrap();
        assert_eq!(spans.len(), 1);
        let within =
            spans[0]["from_ns"].as_i64() <= Some(at.0) && spans[0]["to_ns"].as_i64() >= Some(at.0);
        assert!(within, "{lane} at {at:?}");
        spans[0]["belief"].clone()
    };
    lanes.iter().map(belief).collect()
}

#[test]
fn at_a_moment_a_node_that_does_not_know_an_object_is_named_too() {
    let (session, history) = &*PLAYED;
    // X drops what comes before CREATE: between the two it is the only one that does not know it.
    let early = history
        .findings
        .iter()
        .find(|finding| finding.rule == "migrate-before-create")
        .expect("the demonstration goes wrong");
    let believed = beliefs(session, history, 42, early.evidence[0].time);
    assert_eq!(believed[3], "none");
    assert!(believed[..3].iter().all(|belief| belief != "none"));
}

#[test]
fn whether_a_node_without_a_reel_knows_an_object_is_unknown() {
    let start = SimWorldStart::new(7, Mode::Host, Topology::PeerToPeer, Script::Demonstration);
    let played = Played::to_rest(&start);
    let early = played.findings("migrate-before-create")[0].evidence[0].time;
    let mut reels = played.reels.clone();
    reels.retain(|(name, _)| name != "X");
    let (session, history) = read(&reels);
    assert_eq!(beliefs(&session, &history, 42, early)[3], "unknown");
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
