//! Quake 3's entities, as a capture shows them to the client, are those of the client's own demo file.
//!
//! The demo is read here from its bytes by the game's own rules, with nothing of the code under test but
//! the table of Huffman codes, which is taken from the text of the wire.

#[path = "../../tests/support/skipped.rs"]
mod skipped;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use netreel_capture::import::{NamedNode, Origin, Target, import};
use netreel_protocol::history::History;
use netreel_protocol::history::state::{Known, Scalar, States};
use netreel_protocol::session::{NodeId, PacketId, ReelInput, Session, SessionTime};
use netreel_reel::{Append, AppendError, Reel};
use netreel_wire::Wire;
use skipped::skipped;

const WIRE: &str = include_str!("../../samples/wires/quake3.wire");

/// The fields of an entity in the order in which they travel, by the names of the wire; bits, 0 a float.
const FIELDS: [(&str, u32); 51] = [
    ("time", 32),
    ("x", 0),
    ("y", 0),
    ("speed_x", 0),
    ("speed_y", 0),
    ("z", 0),
    ("yaw", 0),
    ("speed_z", 0),
    ("pitch", 0),
    ("event", 10),
    ("angles2_yaw", 0),
    ("entity_type", 8),
    ("torso_animation", 8),
    ("event_parameter", 8),
    ("legs_animation", 8),
    ("ground_entity", 10),
    ("trajectory", 8),
    ("entity_flags", 19),
    ("other_entity", 10),
    ("weapon", 8),
    ("client", 8),
    ("angles_yaw", 0),
    ("duration", 32),
    ("turn_trajectory", 8),
    ("origin_x", 0),
    ("origin_y", 0),
    ("origin_z", 0),
    ("solid", 24),
    ("powerups", 16),
    ("model", 8),
    ("other_entity2", 10),
    ("loop_sound", 8),
    ("generic1", 8),
    ("origin2_z", 0),
    ("origin2_x", 0),
    ("origin2_y", 0),
    ("model2", 8),
    ("angles_pitch", 0),
    ("time1", 32),
    ("turn_time", 32),
    ("turn_duration", 32),
    ("roll", 0),
    ("turn_speed_pitch", 0),
    ("turn_speed_yaw", 0),
    ("turn_speed_roll", 0),
    ("time2", 32),
    ("angles_roll", 0),
    ("angles2_pitch", 0),
    ("angles2_roll", 0),
    ("constant_light", 32),
    ("frame", 16),
];

/// The widths of a player's fields; 0 a float.
const PLAYER: [u32; 48] = [
    32, 0, 0, 8, 0, 0, 0, 0, 16, 0, 0, 8, 16, 16, 8, 4, 8, 8, 8, 16, 10, 4, 16, 10, 16, 16, 16, 8,
    8, 8, 8, 8, 8, 8, 8, 16, 16, 12, 8, 8, 8, 5, 0, 0, 0, 0, 10, 16,
];

type Entity = [f64; 51];
type Entities = BTreeMap<u64, Entity>;

/// Bits of a message: parts of bytes as they are, whole bytes Huffman coded.
struct Bits<'a> {
    codes: &'a BTreeMap<(u32, u32), u8>,
    bytes: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    fn bit(&mut self) -> u32 {
        let byte = self.bytes.get(self.at / 8).copied().unwrap_or(0);
        self.at += 1;
        u32::from(byte >> ((self.at - 1) % 8) & 1)
    }

    fn symbol(&mut self) -> u32 {
        let (mut length, mut code) = (0, 0);
        while length < 12 {
            code = code << 1 | self.bit();
            length += 1;
            if let Some(&symbol) = self.codes.get(&(length, code)) {
                return symbol.into();
            }
        }
        panic!("no symbol");
    }

    fn read(&mut self, bits: u32) -> u32 {
        let mut value = 0;
        for place in 0..bits % 8 {
            value |= self.bit() << place;
        }
        for place in (bits % 8..bits).step_by(8) {
            value |= self.symbol() << place;
        }
        value
    }

    fn float(&mut self) -> f64 {
        match self.read(1) {
            0 => f64::from(self.read(13)) - 4096.0,
            _ => f32::from_bits(self.read(32)).into(),
        }
    }

    fn text(&mut self) {
        while self.read(8) != 0 {}
    }

    /// What becomes of an entity; `None`: it is removed.
    fn entity(&mut self, base: &Entity) -> Option<Entity> {
        if self.read(1) == 1 {
            return None;
        }
        let mut entity = *base;
        if self.read(1) == 0 {
            return Some(entity);
        }
        let count = self.read(8) as usize;
        for (value, (_, bits)) in entity.iter_mut().zip(FIELDS).take(count) {
            if self.read(1) == 0 {
                continue;
            }
            *value = match (self.read(1), bits) {
                (0, _) => 0.0,
                (_, 0) => self.float(),
                (_, bits) => self.read(bits).into(),
            };
        }
        Some(entity)
    }

    fn player(&mut self) {
        let count = self.read(8) as usize;
        for bits in PLAYER.into_iter().take(count) {
            if self.read(1) == 1 {
                match bits {
                    0 => {
                        self.float();
                    }
                    bits => {
                        self.read(bits);
                    }
                }
            }
        }
        if self.read(1) == 1 {
            for width in [16, 16, 16, 32] {
                if self.read(1) == 1 {
                    let present = self.read(16);
                    (0..present.count_ones()).for_each(|_| {
                        self.read(width);
                    });
                }
            }
        }
    }
}

/// The entities of each snapshot of a demo, by the number of its message.
fn demo(bytes: &[u8], codes: &BTreeMap<(u32, u32), u8>) -> BTreeMap<u64, Entities> {
    let word = |at: usize| {
        let word = bytes.get(at..at + 4).and_then(|it| it.try_into().ok());
        word.map_or(-1, i32::from_le_bytes)
    };
    let mut snapshots: BTreeMap<u64, Entities> = BTreeMap::new();
    let mut baselines = Entities::new();
    let mut at = 0;
    while let (number, Ok(length)) = (word(at), usize::try_from(word(at + 4))) {
        let number = number as u64;
        let mut bits = Bits {
            codes,
            bytes: &bytes[at + 8..at + 8 + length],
            at: 0,
        };
        at += 8 + length;
        bits.read(32);
        loop {
            match bits.read(8) {
                1 => {}
                2 => {
                    bits.read(32);
                    loop {
                        match bits.read(8) {
                            3 => {
                                bits.read(16);
                                bits.text();
                            }
                            4 => {
                                let id = bits.read(10);
                                let entity = bits.entity(&[0.0; 51]);
                                baselines.insert(id.into(), entity.expect("a baseline"));
                            }
                            _ => break,
                        }
                    }
                    bits.read(32);
                    bits.read(32);
                }
                5 => {
                    bits.read(32);
                    bits.text();
                }
                7 => {
                    bits.read(32);
                    let delta = u64::from(bits.read(8));
                    bits.read(8);
                    let areas = bits.read(8);
                    (0..areas).for_each(|_| {
                        bits.read(8);
                    });
                    bits.player();
                    let mut entities = match delta {
                        0 => Some(Entities::new()),
                        delta => snapshots.get(&(number - delta)).cloned(),
                    };
                    loop {
                        let id = u64::from(bits.read(10));
                        if id == 1023 {
                            break;
                        }
                        let known = entities.as_ref().and_then(|it| it.get(&id));
                        let base = known.or(baselines.get(&id)).copied();
                        let entity = bits.entity(&base.unwrap_or([0.0; 51]));
                        if let Some(entities) = &mut entities {
                            match entity {
                                Some(entity) => entities.insert(id, entity),
                                None => entities.remove(&id),
                            };
                        }
                    }
                    snapshots.extend(entities.map(|entities| (number, entities)));
                }
                _ => break,
            }
        }
    }
    snapshots
}

/// Length and code of each byte, the first bit the highest.
fn codes() -> BTreeMap<(u32, u32), u8> {
    let table = WIRE.split("huffman letters").nth(1).expect("the table");
    let table = table.split(']').next().expect("its end");
    let codes = table.split('"').filter(|it| it.starts_with(['0', '1']));
    let codes = codes.map(|code| (code.len() as u32, u32::from_str_radix(code, 2).unwrap()));
    let codes: BTreeMap<_, _> = codes.zip(0..=255).collect();
    assert_eq!(codes.len(), 256);
    codes
}

fn captures() -> PathBuf {
    let given = std::env::var_os("NETREEL_CAPTURES").map(PathBuf::from);
    given.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/captures"))
}

/// Bytes of a reel that outlive its writer.
#[derive(Default)]
struct Kept(Vec<u8>);

impl Append for &mut Kept {
    fn append(&mut self, bytes: &[u8]) -> Result<(), AppendError> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

/// The capture as one reel a node.
fn session(capture: &Path) -> Option<(Session, History)> {
    let mut file = std::fs::File::open(capture).ok()?;
    let origin = Origin::of(capture, &mut file).expect("a file");
    let mut reels = [Kept::default(), Kept::default()];
    let named = ["SERVER", "CLIENT"].into_iter().zip([27960, 27961]);
    let targets = reels.iter_mut().zip(named).map(|(out, (name, port))| {
        let name = name.to_owned();
        let addresses = vec![([127, 0, 0, 1].into(), Some(port))];
        let node = Some(NamedNode { name, addresses });
        Target { out, node }
    });
    import(file, &origin, targets.collect()).expect("a capture");
    let inputs = reels.map(|reel| ReelInput {
        name: "captured.reel".to_owned(),
        reel: Arc::new(Reel::from_bytes(reel.0).expect("a reel")),
    });
    let wire = Wire::compile("quake3.wire", WIRE).expect("it compiles");
    let session = Session::builder()
        .wire(Arc::new(wire))
        .build(inputs.into())
        .expect("one session");
    let history = History::build(&session);
    Some((session, history))
}

#[test]
fn entities_at_each_snapshot_are_those_of_the_clients_demo() {
    let folder = captures();
    let Some((session, history)) = session(&folder.join("openarena_q3.pcap")) else {
        skipped(format_args!("there is no capture in {}", folder.display()));
        return;
    };
    let bytes = std::fs::read(folder.join("openarena_q3_client.dm_71")).expect("the demo");
    let demo = demo(&bytes, &codes());
    let states = States::build(&session, &history);
    let client = session.nodes.iter().position(|node| node.name == "CLIENT");
    let client = NodeId(client.expect("it was named") as u16);
    // When the client had all of the message with a number.
    let mut came: BTreeMap<u64, SessionTime> = BTreeMap::new();
    for (place, packet) in session.packets().enumerate() {
        let said = session.said(PacketId(place as u32)).unwrap_or_default();
        if let (true, Some(number), Some(received)) =
            (packet.to == client, said.sequence, packet.received)
        {
            came.insert(number.value, received.time);
        }
    }
    let (mut snapshots, mut values) = (0, 0);
    for (number, entities) in &demo {
        let Some(&time) = came.get(number) else {
            continue;
        };
        let mut found: BTreeMap<u64, BTreeMap<&str, f64>> = BTreeMap::new();
        for (object, properties) in states.objects() {
            for property in properties {
                let name = &*states.property(property).expect("it is declared").name;
                let Some(held) = states.at(object, property, client, time) else {
                    continue;
                };
                if let Known::Value(parts) = held.value {
                    let value = match parts[..] {
                        [Scalar::Integer(number)] => number as f64,
                        [Scalar::Real(number)] => number,
                        ref other => panic!("{name}: {other:?}"),
                    };
                    found.entry(object).or_default().insert(name, value);
                }
            }
        }
        let here: Vec<&u64> = found.keys().collect();
        assert_eq!(
            here,
            entities.keys().collect::<Vec<_>>(),
            "message {number}"
        );
        for (id, entity) in entities {
            for ((field, _), value) in FIELDS.iter().zip(entity) {
                let told = found[id].get(field).copied().unwrap_or(0.0);
                assert_eq!(told, *value, "message {number}, entity {id}: {field}");
                values += 1;
            }
        }
        snapshots += 1;
    }
    println!("{snapshots} snapshots, {values} values");
    assert!(snapshots > 500 && values > 100_000, "{snapshots}, {values}");
}
