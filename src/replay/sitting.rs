//! One who sits in a replay: where they are, what they ask, and what they are shown.

use std::io::Write;
use std::path::Path;

use netreel_protocol::export::{self, TEXT_MAX, event_words};
use netreel_protocol::session::{MessageId, SessionReel};
use netreel_reel::{Event, EventNumber, Record};
use netreel_replay::{Moved, Player, Stop};
use netreel_wire::MessageFacts;
use serde_json::{Value, json};

use super::breaks::{Breaks, Condition, number};
use super::commands::{HELP, split};
use super::likely::Plays;
use super::program::told;
use crate::events::{call_of, tick_of};
use crate::open::{self, Story};
use crate::outcome::{Answer, Failure, Result, fail};
use crate::packets::{json as print_json, kinds_of, messages};
use crate::text;

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
    pub(super) player: Box<dyn Player>,
    /// Of a layer.
    pub(super) plays: Option<Plays>,
    /// Which message of the packet that is here, where messages are stepped.
    pub(super) message: Option<usize>,
    pub(super) breaks: Breaks,
    pub json: bool,
    /// The event at the time that one began at.
    pub(super) began_at: Option<EventNumber>,
    /// The event that was to be gone to, where the reel ends before it.
    beyond: Option<EventNumber>,
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

/// What one sits in, before its first event; how a layer was changed that is played.
pub type Played = (Box<dyn Player>, Option<Plays>);

impl<'a> Sitting<'a> {
    pub fn new(
        story: &'a Story,
        reel: &'a SessionReel<'a>,
        (player, plays): Played,
        path: &Path,
        json: bool,
    ) -> Sitting<'a> {
        let mut tell = |sentence: String| anstream::eprintln!("netreel: {sentence}");
        let breaks = Breaks::beside(path, story, reel, &mut tell);
        Sitting {
            story,
            reel,
            player,
            plays,
            message: None,
            breaks,
            json,
            began_at: None,
            beyond: None,
            failed: false,
            parted: false,
        }
    }

    /// What stands before a command.
    pub fn prompt(&self) -> String {
        format!("({} {}) ", self.reel.name, self.player.position())
    }

    /// What the command's exit code says.
    pub fn answer(&self) -> Answer {
        match (self.failed, self.parted) {
            (true, _) => Answer::Unknown,
            (false, true) => Answer::Wrong,
            (false, false) => Answer::Clean,
        }
    }

    /// Goes on to where a condition is met; where one is does not count.
    pub fn until(&mut self, condition: &Condition, out: &mut dyn Write) -> Result<Stop> {
        let reel = self.reel;
        let moved = self.go_forward(|it| condition.is_met(reel, it), out)?;
        self.message = None;
        self.moved(moved, out)?;
        Ok(moved.stop)
    }

    /// Whether the layer parted from the recording on the way.
    pub fn is_parted(&self) -> bool {
        self.parted
    }

    /// Does what a command says.
    pub fn command(&mut self, line: &str, out: &mut dyn Write) -> Result<Going> {
        match self.obey(line.trim(), out) {
            Ok(going) => Ok(going),
            Err(failure @ Failure::Output(_)) => Err(failure),
            Err(Failure::Told(why)) => {
                self.failed = true;
                if self.json {
                    print_json(&json!({ "error": why }), out)?
                } else {
                    writeln!(out, "? {why}")?
                }
                Ok(Going::On)
            }
        }
    }

    fn obey(&mut self, line: &str, out: &mut dyn Write) -> Result<Going> {
        let (word, rest) = split(line)?;
        match word {
            "" => {}
            "quit" | "q" | "exit" => return Ok(Going::Away),
            "help" | "h" => {
                if self.json {
                    print_json(&json!({ "help": HELP }), out)?
                } else {
                    out.write_all(HELP.as_bytes())?
                }
            }
            "where" | "w" => self.here(out)?,
            "show" | "s" => self.show(out)?,
            "state" => self.state(rest, out)?,
            "object" => self.object(rest, out)?,
            "objects" => self.objects(out)?,
            "goto" | "g" => self.goto(rest, out)?,
            "back" | "b" if rest.is_empty() => {
                let why = "say by what to go back: `back event`, `back packet`, `back tick`, ...";
                return fail(why);
            }
            "back" | "b" => self.go(rest, true, out)?,
            // As other debuggers have it.
            "step" => match rest.parse::<u32>() {
                Ok(_) => self.go(&format!("event {rest}"), false, out)?,
                Err(_) if rest.is_empty() => self.go("event", false, out)?,
                Err(_) => self.go(rest, false, out)?,
            },
            "print" => return self.obey(if rest.is_empty() { "show" } else { rest }, out),
            "break" => self.add_break(rest, out)?,
            "breaks" => self.list_breaks(out)?,
            "delete" => self.delete_break(rest, out)?,
            "time-outs" => self.switch_time_outs(rest, out)?,
            _ => self.go(line, false, out)?,
        }
        Ok(Going::On)
    }

    fn go(&mut self, line: &str, back: bool, out: &mut dyn Write) -> Result {
        let (word, rest) = split(line)?;
        let reel = self.reel;
        let moved = match word {
            "continue" | "c" => {
                let breaks = &self.breaks.list;
                let mut stops =
                    |it: &Record<'_>| breaks.iter().any(|condition| condition.is_met(reel, it));
                self.player.towards(back, &mut stops)?
            }
            "until" | "u" => {
                let until = Condition::parse(rest, self.story, reel)?;
                let mut stops = |it: &Record<'_>| until.is_met(reel, it);
                self.player.towards(back, &mut stops)?
            }
            word => {
                let unit = Unit::named(word)
                    .ok_or_else(|| format!("`{line}` is no command; `help` lists them"))?;
                let times = match rest {
                    "" => 1,
                    number => number
                        .parse::<u32>()
                        .map_err(|_| format!("`{number}` is not how often to step"))?,
                };
                return self.step(unit, times, back, out);
            }
        };
        self.message = None;
        self.moved(moved, out)
    }

    fn step(&mut self, unit: Unit, times: u32, back: bool, out: &mut dyn Write) -> Result {
        let mut moved = HERE;
        for _ in 0..times {
            let once = match unit {
                Unit::Message => self.step_message(back)?,
                unit => {
                    self.message = None;
                    let mut wanted = |it: &Record<'_>| unit.is(&it.event);
                    self.player.towards(back, &mut wanted)?
                }
            };
            moved = moved.and(once);
            if once.stop != Stop::Reached {
                break;
            }
        }
        self.moved(moved, out)
    }

    /// To the next message: in the packet that is here, or in the next one that has any.
    fn step_message(&mut self, back: bool) -> Result<Moved> {
        let here = self.player.record();
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
        let mut has_some = |it: &Record<'_>| {
            reel.packet(it.number)
                .is_some_and(|packet| session.messages_of(packet).next().is_some())
        };
        let moved = self.player.towards(back, &mut has_some)?;
        self.message = None;
        if moved.stop == Stop::Reached
            && let Some(record) = self.player.record()
        {
            let count = self.messages(&record.as_record()).len();
            self.message = if back { count.checked_sub(1) } else { Some(0) };
        }
        Ok(moved)
    }

    /// The messages of the packet that an event is of.
    fn messages(&self, record: &Record<'_>) -> Vec<(MessageId, MessageFacts)> {
        let packet = self.reel.packet(record.number);
        let session = &self.story.session;
        packet.map_or_else(Vec::new, |packet| session.messages_of(packet).collect())
    }

    fn goto(&mut self, text: &str, out: &mut dyn Write) -> Result {
        let event = match number(text.strip_prefix("event ").unwrap_or(text)) {
            Ok(event) => event,
            Err(_) => {
                let time = open::time(text).map_err(|_| {
                    format!("`{text}` is neither the number of an event nor a time; write `goto 218` or `goto 1.25s`")
                })?;
                let event = self.reel.event_at(time);
                event.ok_or_else(|| format!("the reel ends before {text}"))?
            }
        };
        let moved = self.player.go_to(event)?;
        self.message = None;
        let end = self.player.stretch().until;
        if moved.stop == Stop::End && event >= end {
            self.beyond = Some(event);
        }
        self.moved(moved, out)
    }

    /// Says where a move led.
    pub(super) fn moved(&mut self, moved: Moved, out: &mut dyn Write) -> Result {
        let (moved, again) = self.with_time_outs_again(moved)?;
        if let Some(why) = again.as_ref().filter(|_| !self.json) {
            writeln!(out, "{why}")?;
        }
        self.parted |= moved.stop == Stop::Parted;
        let last = self.player.stretch().until.0.saturating_sub(1);
        let beyond = self
            .beyond
            .take()
            .map(|event| format!("there is no event {event}: the last one is {last}"));
        if self.json {
            let object = self.moved_json(&moved, again, beyond);
            return print_json(&object, out);
        }
        if let Some(why) = beyond {
            writeln!(out, "{why}")?;
        }
        self.print_way(&moved, out)?;
        let stretch = self.player.stretch();
        match moved.stop {
            Stop::Reached => {}
            Stop::Begin => {
                let why = if stretch.snapshot {
                    ", a snapshot: what comes before it is missing in the reel"
                } else {
                    ""
                };
                writeln!(out, "the beginning{why}:")?;
            }
            Stop::End => {
                if let Some((judged, tape)) = self.player.ended() {
                    return told::print(&self.reel.name, judged, tape, out);
                }
                let last = stretch.until.0.saturating_sub(1);
                let why = if stretch.breaks_off {
                    ", behind which something is missing in the reel"
                } else {
                    ""
                };
                let without = self.without_time_outs();
                return Ok(writeln!(
                    out,
                    "the end: event {last} was the last{why}; exact{without}"
                )?);
            }
            Stop::Parted => self.print_parted(out)?,
        }
        self.here(out)
    }

    fn moved_json(
        &mut self,
        moved: &Moved,
        again: Option<String>,
        beyond: Option<String>,
    ) -> Value {
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
        if let Some(why) = again {
            object["time_outs_again"] = why.into();
        }
        if let Some(why) = beyond {
            object["beyond"] = why.into();
        }
        if moved.stop == Stop::Parted {
            object["replay"] = self.parted_json();
        }
        object
    }

    /// Says what a move took: that all began anew, or that something is missing on its way.
    fn print_way(&self, moved: &Moved, out: &mut dyn Write) -> Result {
        match (self.player.process(), moved.restarted) {
            (_, false) => {}
            (Some(process), true) => writeln!(
                out,
                "the program was started again and brought here: process {process}"
            )?,
            (None, true) => writeln!(
                out,
                "the layer offers no states: it was played again from the beginning"
            )?,
        }
        let stretch = self.player.stretch();
        if moved.crossed {
            let from = if stretch.snapshot {
                format!("the snapshot of event {}", stretch.from)
            } else {
                "the reel's beginning".to_owned()
            };
            writeln!(
                out,
                "something is missing in the reel on the way: what can be played here goes from \
                 {from} to event {}",
                stretch.until.0.saturating_sub(1)
            )?;
        }
        Ok(())
    }

    /// Says what is here, in a line.
    pub fn here(&mut self, out: &mut dyn Write) -> Result {
        if self.json {
            return print_json(&self.here_json(), out);
        }
        let Some(record) = self.player.record() else {
            let position = self.player.position();
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
            text::seconds(self.reel.time(&record))
        );
        if let Some((tick, _)) = tick_of(session, self.reel, record.number) {
            line += &format!("  tick {tick}");
        }
        let words = event_words(
            &record.event,
            self.call(&record.event),
            |it| self.reel.name_of(it),
            TEXT_MAX,
        );
        line += &format!("  {}  {words}", record.event.kind().name());
        if let Some(packet) = self.reel.packet(record.number) {
            let carries = messages(session, packet);
            let colon = if carries.is_empty() { "" } else { ": " };
            line += &format!("  packet {}{colon}{carries}", packet.0);
        }
        writeln!(out, "{}", line.trim_end())?;
        if let Some(place) = self.message
            && let Some((id, facts)) = self.messages(&record).into_iter().nth(place)
        {
            let kinds = session.kinds();
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
        let record = self.player.record();
        let at = record.as_ref().map(|record| {
            let record = record.as_record();
            export::event(self.reel, &record, self.call(&record.event), 16)
        });
        let message = record.as_ref().and_then(|record| {
            let messages = self.messages(&record.as_record());
            messages.get(self.message?).map(|(id, _)| id.0)
        });
        let mut object = json!({
            "position": self.player.position().0,
            "turn": self.player.turn().0,
            "at": at,
            "message": message,
            "time_outs": self.time_outs_word(),
        });
        if let Some(process) = self.player.process() {
            object["process"] = process.into();
        }
        object
    }

    pub(super) fn without_time_outs(&self) -> &'static str {
        match self.time_outs_word() {
            Some("off") => ", with the layer's time-outs off",
            _ => "",
        }
    }

    pub(super) fn call(&self, event: &Event<'_>) -> Option<String> {
        call_of(self.reel.reel, event)
    }

    /// Shows what is here to the last bit.
    pub fn show(&mut self, out: &mut dyn Write) -> Result {
        let Some(record) = self.player.record() else {
            // There is nothing here but the end.
            return self.here(out);
        };
        let which = (Some(self.reel.name.as_str()), record.as_record().number.0);
        crate::events::show(self.story, which, self.json, out)
    }
}
