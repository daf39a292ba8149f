//! `netreel events`: the events of a reel, a line each; and one of them to the last bit, with
//! `netreel show --node N --event N`.

use std::collections::BTreeSet;
use std::io::Write;

use netreel_protocol::export::{self, TEXT_MAX, event_words};
use netreel_protocol::session::{PacketId, Session, SessionReel};
use netreel_reel::{BlockError, CallId, Event, EventNumber, Record, Reel};
use netreel_sample_engine::Call;
use serde_json::{Value, json};

use crate::arguments::Events;
use crate::boxes::ENGINE;
use crate::open::{self, Story};
use crate::outcome::{Answer, Result, fail};
use crate::packets::{json, messages};
use crate::text;
use crate::tree::{diagnostics, hex, tree};

/// How many bytes of an event stand in its line.
const BYTES_MAX: usize = 16;

pub fn run(arguments: &Events, out: &mut dyn Write) -> Result<Answer> {
    let story = open::story(&arguments.read.source)?;
    let session = &story.session;
    let wanted = Listed::new(arguments, &story)?;
    let reels = session.session_reels();
    let chosen = chosen(&reels, arguments.node.as_deref())?;
    let several = chosen.len() > 1;
    for (place, reel) in chosen.into_iter().enumerate() {
        if several && !arguments.read.json {
            let gap = if place > 0 { "\n" } else { "" };
            let count = text::counted(reel.reel.len(), "event");
            writeln!(out, "{gap}{}: {count}", reel.name)?;
        }
        Listing::new(session, reel, &wanted, arguments.read.json).list(out)?;
    }
    story.answered(out)
}

/// The reels that are meant by a name, or all.
pub fn chosen<'a, 's>(
    reels: &'a [SessionReel<'s>],
    name: Option<&str>,
) -> Result<Vec<&'a SessionReel<'s>>> {
    let Some(name) = name else {
        return Ok(reels.iter().collect());
    };
    let chosen: Vec<_> = reels.iter().filter(|reel| reel.name == name).collect();
    if chosen.is_empty() {
        let names = text::joined(reels.iter().map(|reel| reel.name.as_str()), ", ");
        return fail(format!(
            "--node {name}: there is no reel of that name here; there are: {names}"
        ));
    }
    Ok(chosen)
}

/// Which events are listed.
struct Listed {
    kinds: Vec<netreel_reel::EventKind>,
    /// The packets that fit the filter; `None` without one.
    packets: Option<BTreeSet<PacketId>>,
}

impl Listed {
    fn new(arguments: &Events, story: &Story) -> Result<Listed> {
        let packets = match arguments.filter.as_deref() {
            None => None,
            filter => {
                let query = open::query(filter, &story.session)?;
                Some(story.packets(&query).into_iter().collect())
            }
        };
        Ok(Listed {
            kinds: arguments.kind.clone(),
            packets,
        })
    }

    fn all(&self) -> bool {
        self.kinds.is_empty() && self.packets.is_none()
    }

    fn takes(&self, record: &Record<'_>, packet: Option<PacketId>) -> bool {
        let kind = record.event.kind();
        (self.kinds.is_empty() || self.kinds.contains(&kind))
            && self
                .packets
                .as_ref()
                .is_none_or(|packets| packet.is_some_and(|packet| packets.contains(&packet)))
    }
}

/// One reel on its way to the output, a block in memory at a time.
struct Listing<'a> {
    reel: &'a SessionReel<'a>,
    wanted: &'a Listed,
    json: bool,
    widths: [usize; 4],
    next: EventNumber,
}

impl<'a> Listing<'a> {
    fn new(
        session: &Session,
        reel: &'a SessionReel<'a>,
        wanted: &'a Listed,
        json: bool,
    ) -> Listing<'a> {
        let digits = |number: u64| number.to_string().len();
        let last = reel
            .reel
            .block_infos()
            .last()
            .map_or(0, |block| block.first.0 + block.events);
        let ends = [session.span.start, session.span.end];
        let times = ends.map(|end| text::seconds(end).len());
        Listing {
            reel,
            wanted,
            json,
            widths: [
                digits(last).max(5),
                times.into_iter().fold(6, usize::max),
                6,
                digits(session.packet_count() as u64).max(6),
            ],
            next: reel.reel.first_number(),
        }
    }

    fn list(&mut self, out: &mut dyn Write) -> Result {
        if !self.json {
            self.line(["event", "time s", "thread", "packet"], "kind", "what", out)?;
        }
        for index in 0..self.reel.reel.blocks() {
            match self.reel.reel.block(index) {
                Ok(block) => {
                    for record in block.records() {
                        self.event(&record, out)?;
                    }
                }
                Err(error @ (BlockError::Damaged { .. } | BlockError::Read(_))) => {
                    anstream::eprintln!("netreel: {}: {error}", self.reel.name);
                }
                Err(BlockError::NoSuchBlock { .. }) => break,
            }
        }
        Ok(())
    }

    fn event(&mut self, record: &Record<'_>, out: &mut dyn Write) -> Result {
        let missing = record.number.0.saturating_sub(self.next.0);
        if missing > 0 && self.wanted.all() {
            self.missing(missing, out)?;
        }
        self.next = record.number.next();
        let packet = self.reel.packet_of(record);
        if !self.wanted.takes(record, packet) {
            return Ok(());
        }
        let call = call_of(self.reel.reel, &record.event);
        if self.json {
            return json(&export::event(self.reel, record, call, BYTES_MAX), out);
        }
        let numbers = [
            record.number.to_string(),
            text::seconds(self.reel.time(record)),
            record.thread.0.to_string(),
            packet.map_or(String::new(), |packet| packet.0.to_string()),
        ];
        let named = call.is_some();
        let mut words = event_words(&record.event, call, |it| self.reel.name_of(it), TEXT_MAX);
        if !named {
            words += &first_bytes(&record.event);
        }
        let numbers = numbers.each_ref().map(String::as_str);
        self.line(numbers, record.event.kind().name(), &words, out)
    }

    fn missing(&self, count: u64, out: &mut dyn Write) -> Result {
        let first = self.next;
        if self.json {
            let line = json!({
                "node": self.reel.name,
                "event": first.0,
                "kind": "missing",
                "count": count,
            });
            return json(&line, out);
        }
        let is = if count == 1 { "is" } else { "are" };
        let words = format!("{} {is} not in the reel", text::counted(count, "event"));
        self.line([&first.to_string(), "", "", ""], "missing", &words, out)
    }

    fn line(
        &self,
        [number, time, thread, packet]: [&str; 4],
        kind: &str,
        words: &str,
        out: &mut dyn Write,
    ) -> Result {
        let [numbers, times, threads, packets] = self.widths;
        let line = format!(
            "{number:>numbers$}  {time:>times$}  {thread:>threads$}  {packet:>packets$}  \
             {kind:<14}  {words}"
        );
        Ok(writeln!(out, "{}", line.trim_end())?)
    }
}

/// The first bytes of what is not a text: `: b0 10 34 …`.
fn first_bytes(event: &Event<'_>) -> String {
    let bytes = match event {
        Event::Note { .. }
        | Event::Triggered { .. }
        | Event::Interface { .. }
        | Event::Believed { .. }
        | Event::Called {
            call: CallId::PRINTED,
            ..
        } => None,
        event => event.bytes().filter(|bytes| !bytes.is_empty()),
    };
    let Some(bytes) = bytes else {
        return String::new();
    };
    let first = text::joined(
        bytes
            .iter()
            .take(BYTES_MAX)
            .map(|byte| format!("{byte:02x}")),
        " ",
    );
    let more = if bytes.len() > BYTES_MAX { " …" } else { "" };
    format!(": {first}{more}")
}

/// A call in words; `None` where the engine is not known here, or cannot read it.
pub fn call_of(reel: &Reel, event: &Event<'_>) -> Option<String> {
    match event {
        Event::Input { call } if reel.header().engine == ENGINE => {
            Some(Call::decode(call).ok()?.to_string())
        }
        _ => None,
    }
}

/// Prints event `number` of the reel of `node`; with one reel in the session it need not be named.
pub fn show(
    story: &Story,
    (node, number): (Option<&str>, u64),
    as_json: bool,
    out: &mut dyn Write,
) -> Result {
    let reels = story.session.session_reels();
    let chosen = chosen(&reels, node)?;
    let [reel] = chosen.as_slice() else {
        let names = text::joined(reels.iter().map(|reel| reel.name.as_str()), ", ");
        return fail(format!(
            "--event {number}: each reel has its own numbers; name one with --node: {names}"
        ));
    };
    let number = EventNumber(number);
    let Some(record) = reel.reel.record(number) else {
        return fail(none(reel, number));
    };
    let record = record.as_record();
    if as_json {
        return json(&object(story, reel, &record), out);
    }
    print_one(story, reel, &record, out)
}

/// The tick that an event lies in, and the event that begins it.
pub fn tick_of(
    session: &Session,
    reel: &SessionReel<'_>,
    number: EventNumber,
) -> Option<(u64, EventNumber)> {
    let turn = session.turn_at(reel.node?, number)?;
    match session.record(reel.node?, turn.begins)?.as_record().event {
        Event::Tick { tick, .. } if turn.begins != number => Some((tick, turn.begins)),
        _ => None,
    }
}

/// Why there is no such event.
fn none(reel: &SessionReel<'_>, number: EventNumber) -> String {
    let blocks = reel.reel.blocks();
    let last = (0..blocks).rev().find_map(|block| {
        let block = reel.reel.block(block).ok()?;
        block.records().last().map(|record| record.number)
    });
    match last {
        None => format!("--event {number}: the reel of {} has no events", reel.name),
        Some(last) => format!(
            "--event {number}: the reel of {} has no such event; they are numbered from {} to {last}, \
             and `netreel events` lists them",
            reel.name,
            reel.reel.first_number()
        ),
    }
}

fn object(story: &Story, reel: &SessionReel<'_>, record: &Record<'_>) -> Value {
    let call = call_of(reel.reel, &record.event);
    let event = export::event(reel, record, call, usize::MAX);
    let mut object = serde_json::to_value(event).unwrap_or_default();
    if record.event.is_packet() {
        let id = reel.packet_of(record);
        let decoded = id.and_then(|id| export::show(&story.session, story.history(), id));
        object["decoded"] = json!(decoded);
    }
    object
}

fn print_one(
    story: &Story,
    reel: &SessionReel<'_>,
    record: &Record<'_>,
    out: &mut dyn Write,
) -> Result {
    let session = &story.session;
    let Record {
        number,
        thread,
        event,
        ..
    } = record;
    let call = call_of(reel.reel, event);
    writeln!(
        out,
        "event {number} of {}  {}  {}",
        reel.name,
        event.kind().name(),
        event_words(event, call, |it| reel.name_of(it), TEXT_MAX)
    )?;
    writeln!(out, "time      {} s", text::seconds(reel.time(record)))?;
    writeln!(out, "thread    {}", thread.0)?;
    if let Some((tick, begins)) = tick_of(session, reel, *number) {
        writeln!(out, "tick      {tick}, event {begins}")?;
    }
    let of = reel.packet_of(record);
    if let Some(packet) = of {
        writeln!(out, "packet    {}  {}", packet.0, messages(session, packet))?;
    }
    let Some(bytes) = event.bytes() else {
        return Ok(());
    };
    writeln!(out)?;
    if record.event.is_packet() {
        let decoded = match of.and_then(|packet| session.decode(packet)) {
            Some(decoded) => Some(decoded),
            None => session.wire.as_ref().map(|wire| wire.decode(bytes)),
        };
        if let Some(decoded) = decoded {
            tree(&decoded.tree, out)?;
            diagnostics(&decoded, out)?;
            writeln!(out)?;
        }
    }
    hex(bytes, out)
}
