//! One who sits in a replay: where they are, what they ask, and what they are shown.

use std::io::Write;
use std::path::Path;

use netreel_protocol::export::{self, event_words};
use netreel_protocol::session::{MessageId, SessionReel, SessionTime};
use netreel_reel::{Event, OwnedRecord, Record};
use netreel_replay::{Moved, StepError, Stepper, Stop};
use netreel_wire::MessageFacts;
use serde_json::{Value, json};

use super::breaks::{Breaks, Condition, number};
use super::likely::Plays;
use crate::events::calls::Calls;
use crate::open::{self, Story};
use crate::outcome::{Answer, Failure};
use crate::packets::{json as print_json, kinds_of, messages};
use crate::text;

const HELP: &str = "\
event, packet, message, tick, call [N]  on to the next one, or N of them; short: e, p, m, t
back event, back packet, ... [N]        the same backwards; short: b e, b p
continue, back continue                 to the next breakpoint, or the end; short: c, b c
until WHERE, back until WHERE           to what fits; short: u
    WHERE is a filter of packets (kind == migrate && object == 42), `event 218`, `time 1.2s`,
    `finding` or `finding RULE`
goto EVENT, goto 1.2s                   there, forward or back
break WHERE, breaks, delete N           breakpoints; they are kept beside the session
show                                    what is here, to the last bit
object N, objects                       what the node believed here; the layer's own word of it
state [NAME]                            the layer's state, or what of it begins with NAME
where, help, quit
";

/// One is there already.
const HERE: Moved = Moved {
    stop: Stop::Reached,
    restarted: false,
    crossed: false,
};

/// Whether commands go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Going {
    On,
    Away,
}

pub struct Sitting<'a> {
    pub(super) story: &'a Story,
    pub(super) reel: &'a SessionReel<'a>,
    pub(super) stepper: Stepper,
    pub(super) plays: Plays,
    calls: Calls,
    /// Which message of the packet that is here, where messages are stepped.
    message: Option<usize>,
    pub(super) breaks: Breaks,
    pub json: bool,
    /// A command was not understood or not possible.
    failed: bool,
    /// The layer parted from the recording somewhere.
    parted: bool,
}

/// What is stepped by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Event,
    Packet,
    Message,
    Tick,
    Call,
}

impl Unit {
    fn named(word: &str) -> Option<Unit> {
        Some(match word {
            "event" | "e" => Unit::Event,
            "packet" | "p" => Unit::Packet,
            "message" | "m" => Unit::Message,
            "tick" | "t" => Unit::Tick,
            "call" => Unit::Call,
            _ => return None,
        })
    }

    fn is(self, event: &Event<'_>) -> bool {
        match self {
            Unit::Event => true,
            Unit::Packet | Unit::Message => event.is_packet(),
            Unit::Tick => matches!(event, Event::Tick { .. }),
            Unit::Call => matches!(event, Event::Input { .. }),
        }
    }
}

/// Why a command did nothing, or the output could not be written.
pub(super) enum Trouble {
    Said(String),
    Output(Failure),
}

impl From<StepError> for Trouble {
    fn from(error: StepError) -> Trouble {
        Trouble::Said(error.to_string())
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Trouble {
        Trouble::Output(failure)
    }
}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Trouble {
        Trouble::Output(error.into())
    }
}

impl<'a> Sitting<'a> {
    pub fn new(
        story: &'a Story,
        reel: &'a SessionReel<'a>,
        (stepper, plays): (Stepper, Plays),
        path: &Path,
        json: bool,
    ) -> Sitting<'a> {
        let mut tell = |sentence: String| anstream::eprintln!("netreel: {sentence}");
        let breaks = Breaks::beside(path, story, reel, &mut tell);
        Sitting {
            story,
            reel,
            stepper,
            plays,
            calls: Calls::of(reel.reel),
            message: None,
            breaks,
            json,
            failed: false,
            parted: false,
        }
    }

    /// What stands before a command.
    pub fn prompt(&self) -> String {
        format!("({} {}) ", self.reel.name, self.stepper.position())
    }

    /// What the command's exit code says.
    pub fn answer(&self) -> Answer {
        match (self.failed, self.parted) {
            (true, _) => Answer::Unknown,
            (false, true) => Answer::Wrong,
            (false, false) => Answer::Clean,
        }
    }

    /// Starts at a time, by way of the snapshot before it.
    pub fn start_at(&mut self, time: SessionTime, out: &mut dyn Write) -> Result<(), Failure> {
        let Some(event) = self.reel.event_at(time) else {
            let time = text::time(time);
            return Err(Failure::new(format!(
                "--from {time} s: the reel of {} ends before it",
                self.reel.name
            )));
        };
        let moved = self.stepper.seek(event).map_err(Failure::new)?;
        if moved.stop == Stop::Parted {
            return self.moved(moved, out);
        }
        Ok(())
    }

    /// Goes on to where a condition is met; where one is does not count.
    pub fn until(&mut self, condition: &Condition, out: &mut dyn Write) -> Result<Stop, Failure> {
        let reel = self.reel;
        let moved = self.stepper.forward(|it| condition.is_met(reel, it));
        let moved = moved.map_err(Failure::new)?;
        self.message = None;
        self.moved(moved, out)?;
        Ok(moved.stop)
    }

    /// Whether the layer parted from the recording on the way.
    pub fn is_parted(&self) -> bool {
        self.parted
    }

    /// Plays to the end, whatever the breakpoints.
    pub fn play_out(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        let from = self.stepper.position();
        let moved = self.stepper.forward(|_| false).map_err(Failure::new)?;
        if moved.stop == Stop::End && !self.json {
            let last = self.stepper.stretch().until.0.saturating_sub(1);
            let node = &self.reel.name;
            writeln!(out, "{node}: exact from event {from} to event {last}")?;
            return Ok(());
        }
        self.moved(moved, out)
    }

    /// Does what a command says.
    pub fn command(&mut self, line: &str, out: &mut dyn Write) -> Result<Going, Failure> {
        match self.obey(line.trim(), out) {
            Ok(going) => Ok(going),
            Err(Trouble::Output(failure @ Failure::Output(_))) => Err(failure),
            Err(Trouble::Output(Failure::Told(why)) | Trouble::Said(why)) => {
                self.failed = true;
                match self.json {
                    true => print_json(&json!({ "error": why }), out)?,
                    false => writeln!(out, "? {why}")?,
                }
                Ok(Going::On)
            }
        }
    }

    fn obey(&mut self, line: &str, out: &mut dyn Write) -> Result<Going, Trouble> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest = rest.trim();
        match word {
            "" => {}
            "quit" | "q" | "exit" => return Ok(Going::Away),
            "help" | "h" => match self.json {
                true => print_json(&json!({ "help": HELP }), out)?,
                false => out.write_all(HELP.as_bytes())?,
            },
            "where" | "w" => self.here(out)?,
            "show" | "s" => self.show(out)?,
            "state" => self.state(rest, out)?,
            "object" => self.object(rest, out)?,
            "objects" => self.objects(out)?,
            "goto" | "g" => self.goto(rest, out)?,
            "back" | "b" if rest.is_empty() => {
                let why = "say by what to go back: `back event`, `back packet`, `back tick`, ...";
                return Err(Trouble::Said(why.to_owned()));
            }
            "back" | "b" => self.go(rest, true, out)?,
            "break" => self.add_break(rest, out)?,
            "breaks" => self.list_breaks(out)?,
            "delete" => self.delete_break(rest, out)?,
            _ => self.go(line, false, out)?,
        }
        Ok(Going::On)
    }

    fn go(&mut self, line: &str, back: bool, out: &mut dyn Write) -> Result<(), Trouble> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest = rest.trim();
        let reel = self.reel;
        let moved = match word {
            "continue" | "c" => {
                let breaks = &self.breaks.list;
                let stops =
                    |it: &Record<'_>| breaks.iter().any(|condition| condition.is_met(reel, it));
                match back {
                    true => self.stepper.back(stops)?,
                    false => self.stepper.forward(stops)?,
                }
            }
            "until" | "u" => {
                let until = Condition::parse(rest, self.story, reel).map_err(Trouble::Said)?;
                let stops = |it: &Record<'_>| until.is_met(reel, it);
                match back {
                    true => self.stepper.back(stops)?,
                    false => self.stepper.forward(stops)?,
                }
            }
            word => {
                let unit = Unit::named(word).ok_or_else(|| {
                    Trouble::Said(format!("`{line}` is no command; `help` lists them"))
                })?;
                let times = match rest {
                    "" => 1,
                    number => number.parse::<u32>().map_err(|_| {
                        Trouble::Said(format!("`{number}` is not how often to step"))
                    })?,
                };
                return self.step(unit, times, back, out);
            }
        };
        self.message = None;
        Ok(self.moved(moved, out)?)
    }

    fn step(
        &mut self,
        unit: Unit,
        times: u32,
        back: bool,
        out: &mut dyn Write,
    ) -> Result<(), Trouble> {
        let mut moved = HERE;
        for _ in 0..times {
            let once = match unit {
                Unit::Message => self.step_message(back)?,
                unit => {
                    self.message = None;
                    let wanted = |it: &Record<'_>| unit.is(&it.event);
                    match back {
                        true => self.stepper.back(wanted)?,
                        false => self.stepper.forward(wanted)?,
                    }
                }
            };
            moved = moved.and(once);
            if once.stop != Stop::Reached {
                break;
            }
        }
        Ok(self.moved(moved, out)?)
    }

    /// To the next message: in the packet that is here, or in the next one that has any.
    fn step_message(&mut self, back: bool) -> Result<Moved, Trouble> {
        let here = self.stepper.record();
        let count = here.map_or(0, |record| self.messages(&record.as_record()).len());
        let place = match (self.message, back) {
            (Some(place), true) => place.checked_sub(1),
            (None, true) => None,
            (Some(place), false) => Some(place + 1),
            // One stands before the packet, and so before its first message.
            (None, false) => Some(0),
        };
        if let Some(place) = place.filter(|&place| place < count) {
            self.message = Some(place);
            return Ok(HERE);
        }
        let (session, reel) = (&self.story.session, self.reel);
        let has_some = |it: &Record<'_>| {
            it.event.is_packet()
                && reel
                    .packet_of(it)
                    .is_some_and(|packet| session.messages_of(packet).next().is_some())
        };
        let moved = match back {
            true => self.stepper.back(has_some)?,
            false => self.stepper.forward(has_some)?,
        };
        self.message = None;
        if moved.stop == Stop::Reached
            && let Some(record) = self.stepper.record()
        {
            let count = self.messages(&record.as_record()).len();
            self.message = match back {
                true => count.checked_sub(1),
                false => Some(0),
            };
        }
        Ok(moved)
    }

    /// The messages of the packet that an event is of.
    fn messages(&self, record: &Record<'_>) -> Vec<(MessageId, MessageFacts)> {
        let packet = record
            .event
            .is_packet()
            .then(|| self.reel.packet_of(record))
            .flatten();
        let session = &self.story.session;
        packet.map_or_else(Vec::new, |packet| session.messages_of(packet).collect())
    }

    fn goto(&mut self, text: &str, out: &mut dyn Write) -> Result<(), Trouble> {
        let event = match number(text.strip_prefix("event ").unwrap_or(text)) {
            Ok(event) => event,
            Err(_) => {
                let time = open::time(text).map_err(|_| {
                    let why = format!("`{text}` is neither the number of an event nor a time");
                    Trouble::Said(why + "; write `goto 218` or `goto 1.25s`")
                })?;
                let event = self.reel.event_at(time);
                event.ok_or_else(|| Trouble::Said(format!("the reel ends before {text}")))?
            }
        };
        let moved = self.stepper.go_to(event)?;
        self.message = None;
        Ok(self.moved(moved, out)?)
    }

    fn add_break(&mut self, text: &str, out: &mut dyn Write) -> Result<(), Trouble> {
        let condition = Condition::parse(text, self.story, self.reel).map_err(Trouble::Said)?;
        self.breaks.list.push(condition);
        self.breaks.keep().map_err(Trouble::Said)?;
        self.list_breaks(out)
    }

    fn delete_break(&mut self, text: &str, out: &mut dyn Write) -> Result<(), Trouble> {
        if text.is_empty() {
            let why = "say which: `delete 1`; `breaks` lists them";
            return Err(Trouble::Said(why.to_owned()));
        }
        let count = self.breaks.list.len();
        let place = text.parse::<usize>().ok().and_then(|it| it.checked_sub(1));
        let Some(place) = place.filter(|&place| place < count) else {
            let there = text::count(count as u64, "breakpoint");
            return Err(Trouble::Said(format!(
                "`{text}` is not one of the {there}; `breaks` lists them"
            )));
        };
        self.breaks.list.remove(place);
        self.breaks.keep().map_err(Trouble::Said)?;
        self.list_breaks(out)
    }

    fn list_breaks(&self, out: &mut dyn Write) -> Result<(), Trouble> {
        let texts = self.breaks.list.iter().map(|it| it.text.as_str());
        if self.json {
            let texts: Vec<&str> = texts.collect();
            return Ok(print_json(&json!({ "breakpoints": texts }), out)?);
        }
        for (place, text) in texts.enumerate() {
            writeln!(out, "breakpoint {}  {text}", place + 1)?;
        }
        if self.breaks.list.is_empty() {
            writeln!(out, "no breakpoints")?;
        }
        Ok(())
    }

    /// Says where a move led.
    fn moved(&mut self, moved: Moved, out: &mut dyn Write) -> Result<(), Failure> {
        self.parted |= moved.stop == Stop::Parted;
        if self.json {
            let mut object = self.here_json();
            object["stop"] = match moved.stop {
                Stop::Reached => "reached",
                Stop::Begin => "begin",
                Stop::End => "end",
                Stop::Parted => "divergence",
            }
            .into();
            object["restarted"] = moved.restarted.into();
            object["crossed"] = moved.crossed.into();
            if moved.stop == Stop::Parted {
                object["replay"] = self.parted_json();
            }
            return print_json(&object, out);
        }
        if moved.restarted {
            writeln!(
                out,
                "the layer offers no states: it was played again from the beginning"
            )?;
        }
        let stretch = self.stepper.stretch();
        if moved.crossed {
            let from = match stretch.snapshot {
                true => format!("the snapshot of event {}", stretch.from),
                false => "the reel's beginning".to_owned(),
            };
            writeln!(
                out,
                "something is missing in the reel on the way: what can be played here goes from \
                 {from} to event {}",
                stretch.until.0.saturating_sub(1)
            )?;
        }
        match moved.stop {
            Stop::Reached => {}
            Stop::Begin => {
                let why = match stretch.snapshot {
                    true => ", a snapshot: what comes before it is missing in the reel",
                    false => "",
                };
                writeln!(out, "the beginning{why}:")?;
            }
            Stop::End => {
                let last = stretch.until.0.saturating_sub(1);
                let why = match stretch.breaks_off {
                    true => ", behind which something is missing in the reel",
                    false => "",
                };
                return Ok(writeln!(
                    out,
                    "the end: event {last} was the last{why}; exact"
                )?);
            }
            Stop::Parted => self.print_parted(out)?,
        }
        self.here(out)
    }

    /// Says what is here, in a line.
    pub fn here(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        if self.json {
            return print_json(&self.here_json(), out);
        }
        let Some(record) = self.stepper.record() else {
            let position = self.stepper.position();
            return Ok(writeln!(
                out,
                "the end, behind event {}",
                position.0.saturating_sub(1)
            )?);
        };
        let record = record.as_record();
        let session = &self.story.session;
        let mut line = format!(
            "event {}  {} s",
            record.number,
            text::time(self.reel.time(&record))
        );
        if let Some(tick) = self.tick(&record) {
            line += &format!("  tick {tick}");
        }
        let words = event_words(self.reel, &record.event, self.call(&record.event));
        line += &format!("  {}  {words}", record.event.kind().name());
        if record.event.is_packet()
            && let Some(packet) = self.reel.packet_of(&record)
        {
            line += &format!("  packet {}: {}", packet.0, messages(session, packet));
        }
        writeln!(out, "{}", line.trim_end())?;
        if let Some(place) = self.message
            && let Some((id, facts)) = self.messages(&record).into_iter().nth(place)
        {
            let kinds = session.wire.as_ref().map_or(&[][..], |wire| wire.kinds());
            let kind = kinds_of(kinds, std::iter::once(&facts), &[]);
            writeln!(
                out,
                "    message {} of the packet, {}: {kind}",
                place + 1,
                id.0
            )?;
        }
        Ok(())
    }

    fn here_json(&mut self) -> Value {
        let record = self.stepper.record();
        let at = record.as_ref().map(|record| {
            let record = record.as_record();
            export::event(self.reel, &record, self.call(&record.event), 16)
        });
        let message = record.as_ref().and_then(|record| {
            let messages = self.messages(&record.as_record());
            messages.get(self.message?).map(|(id, _)| id.0)
        });
        json!({
            "position": self.stepper.position().0,
            "turn": self.stepper.turn().0,
            "at": at,
            "message": message,
        })
    }

    pub(super) fn call(&self, event: &Event<'_>) -> Option<String> {
        match event {
            Event::Input { call } => self.calls.words(call),
            _ => None,
        }
    }

    /// The number of the tick that an event lies in.
    fn tick(&self, record: &Record<'_>) -> Option<u64> {
        let of = |record: &Record<'_>| match record.event {
            Event::Tick { tick, .. } => Some(tick),
            _ => None,
        };
        if is_tick(&record.event) {
            return None;
        }
        let session = &self.story.session;
        let turn = session.turn_at(self.reel.node?, record.number)?;
        let began: OwnedRecord = session.record(self.reel.node?, turn.begins)?;
        of(&began.as_record())
    }

    /// Shows what is here to the last bit.
    pub fn show(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        let Some(record) = self.stepper.record() else {
            // There is nothing here but the end.
            return self.here(out);
        };
        let which = (Some(self.reel.name.as_str()), record.as_record().number.0);
        crate::events::show(self.story, which, self.json, out)
    }
}

fn is_tick(event: &Event<'_>) -> bool {
    matches!(event, Event::Tick { .. })
}
