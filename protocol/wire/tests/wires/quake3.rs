//! The Quake 3 wire beside two who saw the same session: the demo that the client recorded, which
//! holds each message of the server as the client had it after its own decoding, and the server,
//! which answers user commands with the view that they led to.

use std::collections::BTreeMap;

use netreel_wire::{Decoded, Value};

use crate::explained::{small, wire};
use crate::recordings::{Recording, Story, capture};

const SMALL_DEMO: &[u8] = include_bytes!("../recordings/quake3.dm_71");

/// The port of the server in both recordings.
const SERVER: u16 = 27960;

#[test]
fn small_recording_has_the_messages_of_the_demo() {
    let demo = demo(SMALL_DEMO);
    assert_eq!(demo.len(), 33);
    assert_eq!(in_demo(&small("quake3.pcap"), &demo), 33);
}

#[test]
fn the_capture_has_the_messages_of_the_demo() {
    let Some((recording, demo)) = capture_and_demo() else {
        return;
    };
    // The first is none of the server's: the client sums up the game as it stands.
    assert_eq!(demo.len(), 871);
    assert_eq!(in_demo(&recording, &demo), 870);
}

#[test]
fn every_packet_is_explained() {
    check_explained_to_the_end(&small("quake3.pcap"));
    if let Some((recording, _)) = capture_and_demo() {
        check_explained_to_the_end(&recording);
    }
}

#[test]
fn views_follow_from_user_commands() {
    assert_eq!(check_views(&small("quake3.pcap")), 10);
    if let Some((recording, _)) = capture_and_demo() {
        assert_eq!(check_views(&recording), 62);
    }
}

#[test]
fn commands_of_both_sides_are_text() {
    let mut texts = BTreeMap::new();
    for (packet, decoded) in Story::new(&wire("quake3.wire"), &small("quake3.pcap")) {
        for command in values(&decoded, "command.text") {
            let Value::Text(text) = command else {
                panic!("{command:?}");
            };
            let from_server = packet.source.port() == SERVER;
            *texts.entry((from_server, text)).or_insert(0) += 1;
        }
    }
    let count = |from_server, text: &str| texts.get(&(from_server, text.to_owned())).copied();
    let entered = "print \"UnnamedPlayer^7 entered the game\n\"";
    assert_eq!(count(true, entered), Some(1));
    assert_eq!(count(false, "disconnect"), Some(3));
    assert_eq!(texts.len(), 19);
}

/// Without the handshake nobody knows the challenge, nor who is the server.
#[test]
fn without_its_beginning_a_connection_stays_unresolved() {
    let mut recording = small("quake3.pcap");
    recording.packets.drain(..4);
    let wire = wire("quake3.wire");
    for (packet, decoded) in Story::new(&wire, &recording) {
        let place = format!("frame {}", packet.index + 1);
        let [told] = decoded.diagnostics.as_slice() else {
            panic!("{place}: {:?}", decoded.diagnostics);
        };
        assert!(
            told.message.contains("`state.is_server`"),
            "{place}: {told:?}"
        );
        assert_eq!(decoded.facts.messages, [], "{place}");
        let sequence = u32::from_le_bytes(packet.payload[..4].try_into().expect("4 bytes"));
        let found = decoded.facts.sequence.map(|sequence| sequence.value);
        assert_eq!(found, Some(u64::from(sequence & 0x7fff_ffff)), "{place}");
    }
}

/// A message whose key nobody knows, because the command that it acknowledges was lost.
#[test]
fn a_message_under_a_lost_command_stays_unresolved() {
    let mut recording = small("quake3.pcap");
    let wire = wire("quake3.wire");
    // The packets that bring the server's command 18.
    recording
        .packets
        .retain(|packet| ![109, 111].contains(&packet.index));
    let mut unresolved = 0;
    for (packet, decoded) in Story::new(&wire, &recording) {
        let place = format!("frame {}", packet.index + 1);
        let of_client = packet.source.port() != SERVER;
        if packet.index < 110 {
            assert_eq!(decoded.diagnostics, [], "{place}");
        } else if of_client {
            let [told] = decoded.diagnostics.as_slice() else {
                panic!("{place}: {:?}", decoded.diagnostics);
            };
            assert!(
                told.message.contains("`state.server_commands`"),
                "{place}: {told:?}"
            );
            assert_eq!(decoded.facts.messages, [], "{place}");
            unresolved += 1;
        }
    }
    assert_eq!(unresolved, 5);
}

/// Message numbers and bytes.
fn demo(mut file: &[u8]) -> BTreeMap<u64, Vec<u8>> {
    let mut messages = BTreeMap::new();
    let integer = |file: &mut &[u8]| {
        let (first, rest) = file.split_first_chunk::<4>().expect("a whole integer");
        *file = rest;
        i32::from_le_bytes(*first)
    };
    loop {
        let (sequence, length) = (integer(&mut file), integer(&mut file));
        let Ok(length) = usize::try_from(length) else {
            return messages;
        };
        let (message, rest) = file.split_at(length);
        messages.insert(u64::try_from(sequence).expect("a number"), message.to_vec());
        file = rest;
    }
}

fn capture_and_demo() -> Option<(Recording, BTreeMap<u64, Vec<u8>>)> {
    let recording = Recording::open(&capture("openarena_q3.pcap")?);
    let file = std::fs::read(capture("openarena_q3_client.dm_71")?).expect("a readable file");
    Some((recording, demo(&file)))
}

/// How many messages of the demo were decoded to the same bytes. None may be decoded to others,
/// but for the demo's first.
fn in_demo(recording: &Recording, demo: &BTreeMap<u64, Vec<u8>>) -> usize {
    let mut same = 0;
    for (packet, decoded) in Story::new(&wire("quake3.wire"), recording) {
        let Some(sequence) = decoded.facts.sequence.map(|sequence| sequence.value) else {
            continue;
        };
        let Some(expected) = demo
            .get(&sequence)
            .filter(|_| packet.source.port() == SERVER)
        else {
            continue;
        };
        let place = format!("frame {}", packet.index + 1);
        let found = unscrambled(&decoded).unwrap_or_else(|| panic!("{place}: no message"));
        if found == expected {
            same += 1;
        } else {
            assert_eq!(Some(&sequence), demo.keys().next(), "{place}");
        }
    }
    same
}

/// The bytes of the stream in which the message's body stands.
fn unscrambled(decoded: &Decoded) -> Option<&[u8]> {
    let tree = &decoded.tree;
    let body = tree
        .iter()
        .find(|node| tree.path(node.id()).ends_with(".body"))?;
    tree.stream(body.stream())
}

fn check_explained_to_the_end(recording: &Recording) {
    let mut messages = 0;
    for (packet, decoded) in Story::new(&wire("quake3.wire"), recording) {
        let place = format!("frame {} of {}", packet.index + 1, recording.name);
        assert_eq!(decoded.diagnostics, [], "{place}");
        let unexplained = decoded.tree.iter().find(|node| node.is_rest());
        assert!(unexplained.is_none(), "{place}: {unexplained:?}");
        messages += usize::from(unscrambled(&decoded).is_some());
    }
    // All but the four of the handshake and the first of two fragments.
    assert_eq!(messages, recording.packets.len() - 5);
}

/// Checks the yaw of each snapshot that tells it against the user command that it answers; how many
/// there were. The command's angle is known only where its key is, which is made of the gamestate,
/// the acknowledged message and the text of the acknowledged command.
fn check_views(recording: &Recording) -> usize {
    // Of user commands, by their times; of the player, by what the snapshots told last.
    let mut yaws = BTreeMap::new();
    let mut player = BTreeMap::new();
    let mut checked = 0;
    for (packet, decoded) in Story::new(&wire("quake3.wire"), recording) {
        let place = format!("frame {}", packet.index + 1);
        yaws.extend(yaws_of_commands(&decoded));
        for field in ["command_time", "delta_yaw", "yaw"] {
            let told = values(&decoded, &format!("snapshot.player.{field}.value"));
            player.extend(told.into_iter().map(|value| (field, float(&value))));
        }
        if values(&decoded, "snapshot.player.yaw.value").is_empty() {
            continue;
        }
        let Some(commanded) = yaws.get(&(player["command_time"] as i64)) else {
            continue;
        };
        let turned = (commanded + player["delta_yaw"] as i64) as i16;
        let expected = f64::from(turned) * 360.0 / 65536.0;
        assert!(
            (player["yaw"] - expected).abs() < 0.001,
            "{place}: {player:?}, {expected}"
        );
        checked += 1;
    }
    checked
}

/// The times of a packet's user commands with their yaws; what a command leaves out is as in the
/// one before.
fn yaws_of_commands(decoded: &Decoded) -> Vec<(i64, i64)> {
    let mut commands: Vec<(i64, i64)> = Vec::new();
    for node in decoded.tree.iter() {
        let path = decoded.tree.path(node.id());
        let Some((_, field)) = path.split_once(".move.commands[") else {
            continue;
        };
        let (_, field) = field.split_once(']').expect("the end of an index");
        let before = commands.last().map_or(0, |&(_, yaw)| yaw);
        match field {
            ".time" => commands.push((float(&node.value()) as i64, before)),
            ".changes.yaw" => {
                let yaw = float(&node.value()) as i64;
                commands.last_mut().expect("its time").1 = yaw;
            }
            _ => {}
        }
    }
    commands
}

/// The values of the fields whose path ends so.
fn values(decoded: &Decoded, end: &str) -> Vec<Value> {
    let end = format!(".{end}");
    let nodes = decoded.tree.iter();
    nodes
        .filter(|node| decoded.tree.path(node.id()).ends_with(&end))
        .map(|node| node.value())
        .collect()
}

fn float(value: &Value) -> f64 {
    match *value {
        Value::Unsigned(value) => value as f64,
        Value::Signed(value) => value as f64,
        Value::Float(value) => value,
        Value::Delta {
            value: Some(value), ..
        } => value as f64,
        ref other => panic!("{other:?}"),
    }
}
