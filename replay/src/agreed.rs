//! What a replay last did as it was recorded, before it parted from the recording; and what a packet carries
//! and where it goes, in a few words.

use netreel_reel::{CallId, Endpoint, Event, EventNumber, Reel};
use netreel_transport::Step;
use netreel_wire::{Kind, MessageFacts, PacketFacts, Wire};

use crate::program::call_words;

/// An event of the recording that was as it was then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// Its number.
    pub number: EventNumber,
    /// What it is, in a few words.
    pub words: String,
}

/// How many are told.
const TOLD: usize = 3;

/// The last steps of a recording before an event, in their order. `name` gives the name of an
/// endpoint's node, where there is one.
pub fn agreed(
    reel: &Reel,
    before: EventNumber,
    wire: Option<&Wire>,
    name: &dyn Fn(Endpoint) -> Option<String>,
) -> Vec<Agreed> {
    let mut agreed = Vec::new();
    let last = reel.find(before).unwrap_or(0);
    for index in (0..=last).rev() {
        let Ok(block) = reel.block(index) else { break };
        let records = block.records().filter(|it| it.number < before);
        let mut steps: Vec<Agreed> = records
            .filter_map(|record| {
                let words = words(&record.event, wire, name)?;
                let number = record.number;
                Some(Agreed { number, words })
            })
            .collect();
        let more = TOLD - agreed.len();
        agreed.splice(0..0, steps.drain(steps.len().saturating_sub(more)..));
        if agreed.len() == TOLD {
            break;
        }
    }
    agreed
}

/// `None` where it is nothing that an engine or a program does or is given.
fn words(
    event: &Event<'_>,
    wire: Option<&Wire>,
    name: &dyn Fn(Endpoint) -> Option<String>,
) -> Option<String> {
    Some(match *event {
        Event::Tick { tick, .. } => format!("tick {tick}"),
        Event::Input { call } => input_words(call),
        Event::Sent { to, payload, .. } => packet_words(payload, ("to", to), wire, name),
        Event::Received { from, payload, .. } => packet_words(payload, ("from", from), wire, name),
        Event::PollEmpty { .. } => "a receive that finds nothing".to_owned(),
        Event::ReceiveFailed { .. } => "a receive that fails".to_owned(),
        Event::ClockRead { .. } => "a clock read".to_owned(),
        // It says what came of the process, and is nothing that it did.
        Event::Called {
            call: CallId::STATUS,
            ..
        } => return None,
        Event::Called { call, .. } => call_words(call),
        ref other => step_words(&Step::of(other)?, wire, name),
    })
}

/// A step that a layer takes.
pub(crate) fn step_words(
    step: &Step,
    wire: Option<&Wire>,
    name: &dyn Fn(Endpoint) -> Option<String>,
) -> String {
    match step {
        Step::Tick(tick) => format!("the next tick, {tick}"),
        Step::Input(call) => input_words(call),
        Step::Clock => "a clock read".to_owned(),
        Step::Random => "a random draw".to_owned(),
        Step::Receive => "a receive".to_owned(),
        Step::Send { to, packet } => packet_words(packet, ("to", *to), wire, name),
        Step::State(state) => format!("a state of {} bytes", state.len()),
        Step::Nothing => "nothing".to_owned(),
    }
}

/// A call of the game.
fn input_words(call: &[u8]) -> String {
    format!("a call of the game, {} bytes", call.len())
}

/// A packet that goes some way, to or from somebody.
fn packet_words(
    packet: &[u8],
    (way, end): (&str, Endpoint),
    wire: Option<&Wire>,
    name: &dyn Fn(Endpoint) -> Option<String>,
) -> String {
    let (length, end) = (packet.len(), named(end, name));
    let carries = carries(packet, wire);
    format!("a packet of {length} bytes {way} {end}{carries}")
}

/// What a packet carries, in a few words: `: create, update`.
pub fn carries(packet: &[u8], wire: Option<&Wire>) -> String {
    let Some(wire) = wire else {
        return String::new();
    };
    let mut facts = PacketFacts::default();
    wire.facts(packet, &mut facts);
    let kinds = facts.messages.iter().map(|message| {
        let kind = kind_of(wire, message);
        kind.map_or("?", |kind| kind.name.as_str())
    });
    let kinds: Vec<_> = kinds.collect();
    if kinds.is_empty() {
        ", no messages".to_owned()
    } else {
        format!(": {}", kinds.join(", "))
    }
}

/// The kind of a message, where the wire knows it.
pub(crate) fn kind_of<'w>(wire: &'w Wire, message: &MessageFacts) -> Option<&'w Kind> {
    wire.kinds().get(usize::from(message.kind?.0))
}

pub(crate) fn named(endpoint: Endpoint, name: &dyn Fn(Endpoint) -> Option<String>) -> String {
    name(endpoint).unwrap_or_else(|| endpoint.to_string())
}
