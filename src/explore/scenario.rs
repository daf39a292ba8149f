//! A match that nobody has played: a file says how it begins, and it is played in a simulated network, into
//! memory.

use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use netreel_capture::clock_anchor;
use netreel_play::{Progress, Script, SimStage};
use netreel_protocol::session::Session;
use netreel_reel::{Endpoint, Event, Header, Record, ReelWriter, SocketId, ThreadId, Time};
use netreel_replay::explore::{Cut, Ground, GroundOptions, MakeNode, Runner};
use netreel_sample_engine::{Mode, Peer, Start, Topology, node_name};
use netreel_transport::mix;
use serde::Deserialize;

use super::anew::{Anew, Written};
use crate::arguments::Explore;
use crate::outcome::{Failure, Result};
use crate::replay::boxes::Changes;
use crate::replay::engine::Engine;
use crate::replay::together;
use crate::{boxes, open};

/// A script that waits for longer, by the game's clock, waits for what does not come.
const TICKS_MAX: u64 = 60 * 300;

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Of the sample engine: what its players do.
    script: Option<String>,
    #[serde(default = "host")]
    mode: Mode,
    #[serde(default = "four")]
    players: u8,
    #[serde(default)]
    seed: u64,
    /// Of another engine: its nodes, and its games' calls.
    #[serde(default)]
    node: Vec<Node>,
    #[serde(default)]
    call: Vec<Call>,
    /// Between two ticks of a node. ms.
    tick: Option<f64>,
    /// What a packet takes. ms.
    delay: Option<f64>,
    /// For how long nodes tick. ms.
    length: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Node {
    name: String,
    address: Endpoint,
    /// The start conditions that its layer is made from, as text.
    #[serde(default)]
    start: String,
    /// The same as hexadecimal digits, before the text.
    #[serde(default)]
    start_hex: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    node: String,
    /// Since the first tick. ms.
    at: f64,
    /// What the game says to the layer.
    #[serde(default)]
    text: String,
    /// The same as hexadecimal digits, before the text.
    #[serde(default)]
    hex: String,
}

fn host() -> Mode {
    Mode::Host
}

fn four() -> u8 {
    4
}

/// How nodes that layers are made for tick. ms.
struct Times {
    tick: f64,
    delay: f64,
    length: f64,
}

impl Times {
    /// What the file says, where it can be.
    fn of(file: &File) -> Result<Times, String> {
        let within = |name: &str, value: Option<f64>, usual: f64, range: RangeInclusive<f64>| {
            let value = value.unwrap_or(usual);
            let (from, to) = (range.start(), range.end());
            if range.contains(&value) {
                Ok(value)
            } else {
                Err(format!("`{name} = {value}`: from {from} to {to} ms"))
            }
        };
        for call in &file.call {
            within("at", Some(call.at), 0.0, 0.0..=LENGTH_MAX_MS)?;
        }
        Ok(Times {
            tick: within("tick", file.tick, 1000.0 / 60.0, 0.1..=10_000.0)?,
            delay: within("delay", file.delay, 20.0, 0.0..=10_000.0)?,
            length: within("length", file.length, 5000.0, 0.1..=LENGTH_MAX_MS)?,
        })
    }
}

/// No match of layers is longer: all of it is in memory. ms.
const LENGTH_MAX_MS: f64 = 600_000.0;

/// Makes what makes the layers of a session.
pub type Make<'a> = dyn Fn(Arc<Ground>) -> Box<MakeNode<'a, Failure>> + 'a;

/// The reels of a match that `file` describes, played.
///
/// # Errors
/// What of the file cannot be read, or what it lacks to be played.
pub fn played(file: &Path, arguments: &Explore, make: &Make<'_>) -> Result<Written> {
    let told = |why: String| Failure::new(format!("--scenario {}: {why}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| told(error.to_string()))?;
    let table: toml::Table = toml::from_str(&text).map_err(|error| told(error.to_string()))?;
    if is_of_programs(&table) {
        let file = file.display();
        return Err(told(format!(
            "its nodes are programs, each with a command: those cannot be explored; `netreel run {file} \
             --keep-all` records a match of them, which can, where its engine can be replayed"
        )));
    }
    let scenario: File = toml::from_str(&text).map_err(|error| told(error.to_string()))?;
    match (&arguments.layer, &scenario.script) {
        (None, Some(script)) => {
            not_of_layers(&scenario).map_err(told)?;
            by_players(&scenario, script).map_err(told)
        }
        (Some(layer), None) if !scenario.node.is_empty() => {
            let times = Times::of(&scenario).map_err(told)?;
            let empty = before_packets((&scenario, &times), layer).map_err(told)?;
            by_layers(&session(&empty, arguments)?, &times, (layer, make))
        }
        (Some(_), _) => Err(told(
            "a layer of --layer takes its nodes, [[node]] with `name` and `address`, and no `script`".to_owned(),
        )),
        (None, None) => Err(told(
            "it has no `script`, which players of the sample engine play; another engine takes --layer and its \
             nodes, [[node]] (docs/explore.md)"
                .to_owned(),
        )),
    }
}

/// Of what was played, the session.
///
/// # Errors
/// A wire that cannot be read.
pub fn session(played: &Written, arguments: &Explore) -> Result<Session> {
    played.session(open::wire_given(&arguments.read.source.wire)?)
}

/// Whether this is a scenario of `netreel run`.
fn is_of_programs(table: &toml::Table) -> bool {
    let has_command = |it: &toml::Value| it.get("command").is_some();
    let nodes = table.get("node").and_then(toml::Value::as_array);
    table.contains_key("every") || nodes.into_iter().flatten().any(has_command)
}

/// Players of a script take none of what layers take.
fn not_of_layers(scenario: &File) -> Result<(), String> {
    let fields = [
        ("[[node]]", !scenario.node.is_empty()),
        ("[[call]]", !scenario.call.is_empty()),
        ("tick", scenario.tick.is_some()),
        ("delay", scenario.delay.is_some()),
        ("length", scenario.length.is_some()),
    ];
    match fields.iter().find(|it| it.1) {
        None => Ok(()),
        Some((name, _)) => Err(format!(
            "`{name}` is for layers of --layer; a `script` says itself what is done, and `link` in it how links are"
        )),
    }
}

/// Every node has a name and an address of its own, and every call a node.
fn check_nodes(scenario: &File) -> Result<(), String> {
    for (place, node) in scenario.node.iter().enumerate() {
        let mut before = scenario.node[..place].iter();
        if before.any(|it| it.name == node.name || it.address == node.address) {
            let (name, address) = (&node.name, node.address);
            return Err(format!(
                "two nodes are {name} or have the address {address}"
            ));
        }
    }
    let is_there = |call: &&Call| scenario.node.iter().any(|node| node.name == call.node);
    match scenario.call.iter().find(|call| !is_there(call)) {
        None => Ok(()),
        Some(call) => Err(format!(
            "a call is of {}, and there is no such node",
            call.node
        )),
    }
}

/// The match of the sample engine that its players play by a script.
fn by_players(scenario: &File, script: &str) -> Result<Written, String> {
    let names: Vec<String> = (0..scenario.players).map(Peer).map(node_name).collect();
    let script = Script::parse(script, &names).map_err(|why| format!("its script, {why}"))?;
    let header = |name: &str, start: &Start| Header {
        args: Vec::new(),
        ..boxes::header(name, id(scenario.seed), ("scenario", scenario.seed), start)
    };
    let of = (scenario.mode, Topology::PeerToPeer);
    let mut stage = SimStage::new(of, (scenario.players, scenario.seed), &header)
        .map_err(|why| why.to_string())?;
    let mut reader = script.play();
    let mut ticks = 0;
    while let Progress::Waits(line) = reader.go_on(&mut stage) {
        if ticks >= TICKS_MAX {
            return Err(format!(
                "its script still waits in line {line} after 300 s of the match"
            ));
        }
        stage.run(1);
        ticks += 1;
    }
    Ok(Written(names.into_iter().zip(stage.finish()).collect()))
}

/// The same for the same seed.
fn id(seed: u64) -> [u8; 16] {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&mix(&[seed]).to_be_bytes());
    id[8..].copy_from_slice(&mix(&[seed, 1]).to_be_bytes());
    id
}

/// Reels of a match in which every node ticks and its game calls, and no layer has sent anything yet.
fn before_packets((scenario, times): (&File, &Times), layer: &Path) -> Result<Written, String> {
    let engine = Engine::asked(Some(layer), Changes::default()).map_err(|why| why.to_string())?;
    let engine = match &engine {
        Engine::Plugin(loaded) => loaded.name().to_owned(),
        Engine::Boxes(_) => String::new(),
    };
    check_nodes(scenario)?;
    let reel = |node: &Node| {
        let header = Header {
            node: node.name.clone(),
            session: id(scenario.seed),
            engine: engine.clone(),
            start: bytes(&node.start_hex, &node.start)?,
            clock: clock_anchor(),
            ..Header::default()
        };
        Ok((node.name.clone(), ticked((scenario, times), node, &header)?))
    };
    let reels = scenario.node.iter().map(reel);
    Ok(Written(reels.collect::<Result<_, String>>()?))
}

/// The bytes that hexadecimal digits say, and a text behind them.
fn bytes(hex: &str, text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<char> = hex.chars().filter(|it| !it.is_whitespace()).collect();
    let pairs = digits.chunks(2).map(|pair| {
        let pair: String = pair.iter().collect();
        let byte = u8::from_str_radix(&pair, 16)
            .ok()
            .filter(|_| pair.len() == 2 && pair.bytes().all(|it| it.is_ascii_hexdigit()));
        byte.ok_or_else(|| format!("`{pair}` are not two hexadecimal digits"))
    });
    let mut all = pairs.collect::<Result<Vec<u8>, String>>()?;
    all.extend_from_slice(text.as_bytes());
    Ok(all)
}

/// Where a time in ms is.
fn time(ms: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(ms / 1e3)
}

fn ticked(
    (scenario, times): (&File, &Times),
    node: &Node,
    header: &Header,
) -> Result<Vec<u8>, String> {
    let mut writer = ReelWriter::create(Vec::new(), header).map_err(|why| why.to_string())?;
    let mut write = |time: Time, event: Event<'_>| {
        let record = Record {
            number: writer.next_number(),
            time,
            thread: ThreadId(0),
            event,
        };
        writer.push(&record).map_err(|why| why.to_string())
    };
    let socket = SocketId(0);
    let local = node.address;
    write(Time::ZERO, Event::SocketOpened { socket, local })?;
    let mut calls = Vec::new();
    for call in scenario.call.iter().filter(|it| it.node == node.name) {
        calls.push((call.at, bytes(&call.hex, &call.text)?));
    }
    calls.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut calls = calls.into_iter().peekable();
    let tick_ms = times.tick;
    let ticks = (times.length / tick_ms).ceil() as u64;
    for tick in 0..ticks {
        let ms = tick as f64 * tick_ms;
        let at = time(ms);
        write(at, Event::Tick { tick, time: at })?;
        while let Some((_, call)) = calls.next_if(|it| it.0 < ms + tick_ms) {
            write(at, Event::Input { call: &call })?;
        }
    }
    if let Some((at, _)) = calls.next() {
        let length = times.length;
        return Err(format!(
            "a call of {} is at {at} ms, and its nodes tick for {length} ms (`length`)",
            node.name
        ));
    }
    writer.finish().map_err(|why| why.to_string())
}

/// What layers make of a session in which they have not sent anything: it is played once.
fn by_layers(empty: &Session, times: &Times, (layer, make): (&Path, &Make<'_>)) -> Result<Written> {
    let engine = Engine::asked(Some(layer), Changes::default())?;
    let (nodes, _) = together::nodes(empty, &engine)?;
    let mut plan = together::plan(empty, nodes);
    if let Some(plan) = Arc::get_mut(&mut plan) {
        plan.set_usual(time(times.delay).since(Time::ZERO));
    }
    let options = GroundOptions {
        rest: Duration::ZERO,
        alone: None,
    };
    let ground = Arc::new(Ground::new(plan, options));
    let (mut runner, _) = Runner::new(Arc::clone(&ground), make(Arc::clone(&ground)))?;
    let anew = Anew::new(&ground, empty, "explore --scenario");
    let (reels, ..) = anew.written(&mut runner, &[], &Cut::nothing(&ground))?;
    Ok(reels)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(text: &str) -> Result<Times, String> {
        Times::of(&toml::from_str(text).expect("a scenario"))
    }

    #[test]
    fn a_time_that_cannot_be_is_refused_with_its_range() {
        assert!(times("").is_ok());
        for text in [
            "delay = nan",
            "delay = -1",
            "tick = 0",
            "tick = inf",
            "length = 1e7",
            "[[call]]\nnode = 'A'\nat = -5",
        ] {
            let told = times(text).err().expect(text);
            assert!(told.contains(" ms") && told.contains("from "), "{told}");
        }
    }

    #[test]
    fn digits_have_no_sign() {
        assert_eq!(bytes("0 5ff", "a"), Ok(vec![5, 255, b'a']));
        assert!(bytes("+5", "").is_err() && bytes("5", "").is_err());
    }
}
