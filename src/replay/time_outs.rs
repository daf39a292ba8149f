//! The one switch of a layer's time-outs in a replay.
//!
//! A replay's clock is the recorded one, so a layer that reads no other times out exactly where it
//! did when it was recorded. Who looks at it in a debugger throws the switch all the same, for what
//! reads other clocks. Where something did time out in the recording, a layer without time-outs
//! parts from it: then it is played with them on, and that is said.

use std::io::Write;
use std::sync::Arc;

use netreel_reel::{EventNumber, Reel};
use netreel_replay::{Moved, Outcome, Report, Stop};
use serde_json::{Value as Json, json};

use super::engine::Engine;
use super::sitting::Sitting;
use crate::arguments::Sit;
use crate::outcome::{Result, fail};
use crate::packets::json as print_json;

/// How the switch stood in a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeOuts {
    /// Nobody threw it.
    AsRecorded,
    /// Off.
    Off,
    /// The layer has none.
    NoSwitch,
    /// Off at first. With them off the layer parts here, and with them on it does not.
    OnAgain(EventNumber),
}

impl TimeOuts {
    /// Plays a reel with the switch as it is asked for.
    pub fn replay(
        engine: &Engine<'_>,
        asked: &Sit,
        reel: &Arc<Reel>,
    ) -> Result<(Report, TimeOuts)> {
        if !asked.without_time_outs() {
            return Ok((engine.replay(reel)?, TimeOuts::AsRecorded));
        }
        let (report, is_there) = engine.replay_without_time_outs(reel)?;
        let Some(parted) = parted_at(&report).filter(|_| is_there) else {
            let stood = if is_there {
                TimeOuts::Off
            } else {
                TimeOuts::NoSwitch
            };
            return Ok((report, stood));
        };
        let with = engine.replay(reel)?;
        if with.outcome == report.outcome {
            Ok((with, TimeOuts::AsRecorded))
        } else {
            Ok((with, TimeOuts::OnAgain(parted)))
        }
    }

    /// A sentence, where there is something to say.
    fn sentence(self) -> Option<String> {
        match self {
            TimeOuts::AsRecorded => None,
            TimeOuts::Off => Some("with the layer's time-outs off".to_owned()),
            TimeOuts::NoSwitch => Some(NO_SWITCH.to_owned()),
            TimeOuts::OnAgain(event) => Some(format!(
                "with the layer's time-outs on: something timed out when it was recorded, and with \
                 them off it parts at event {event}"
            )),
        }
    }

    pub fn print(self, out: &mut dyn Write) -> Result {
        if let Some(sentence) = self.sentence() {
            writeln!(out, "    {sentence}")?;
        }
        Ok(())
    }

    /// Puts it into a replay as `--json` prints one.
    pub fn put(self, object: &mut Json) {
        let word = match self {
            TimeOuts::AsRecorded => return,
            TimeOuts::Off => "off",
            TimeOuts::NoSwitch => "no switch",
            TimeOuts::OnAgain(event) => {
                object["parts_without_time_outs"] = event.0.into();
                "on"
            }
        };
        object["time_outs"] = word.into();
    }
}

pub const NO_SWITCH: &str = "the layer has no switch of its time-outs (`time_outs` in \
                             netreel_layer.h, and of `Layer` in Rust): what times out by the \
                             recorded clock does so as recorded";

/// How the switch stands, in a sentence.
fn stand(word: Option<&str>) -> String {
    match word {
        Some(word) => format!("the layer's time-outs are {word}, in all of the replay"),
        None => {
            "the layer's time-outs are as recorded: nobody threw their switch, or the layer has \
                 none; `time-outs off` tells"
                .to_owned()
        }
    }
}

/// The event at which a layer parted from its recording.
fn parted_at(report: &Report) -> Option<EventNumber> {
    match &report.outcome {
        Outcome::Exact => None,
        Outcome::Diverged(divergence) => Some(divergence.number),
        Outcome::InputRejected(number, _) | Outcome::SnapshotRefused(number, _) => Some(*number),
    }
}

impl Sitting<'_> {
    /// Throws the switch: the layer is played once more to where it is.
    pub fn throw_time_outs(&mut self, on: bool) -> Result<Moved> {
        Ok(self.player.time_outs(on)?)
    }

    /// The command `time-outs`.
    pub(super) fn switch_time_outs(&mut self, text: &str, out: &mut dyn Write) -> Result {
        if self.plays.is_none() {
            let why = "a program has no such switch: the clock that it reads is the recorded one";
            return fail(why);
        }
        let on = match text {
            "on" => true,
            "off" => false,
            "" => return self.say_time_outs(out),
            other => {
                let why = format!("`{other}` is neither `on` nor `off`; write `time-outs off`");
                return fail(why);
            }
        };
        let moved = self.throw_time_outs(on)?;
        let Some(word) = self.time_outs_word() else {
            return fail(NO_SWITCH);
        };
        self.message = None;
        // Where they are on again at once, that is all that is said.
        let is_left = on || self.player.parted().is_none();
        if !self.json && is_left {
            writeln!(out, "{}", stand(Some(word)))?;
        }
        self.moved(moved, out)
    }

    fn say_time_outs(&self, out: &mut dyn Write) -> Result {
        let word = self.time_outs_word();
        if self.json {
            print_json(&json!({ "time_outs": word }), out)
        } else {
            Ok(writeln!(out, "{}", stand(word))?)
        }
    }

    /// How the switch stands; `None`: as recorded, because nobody threw it or there is none.
    pub(super) fn time_outs_word(&self) -> Option<&'static str> {
        let on = self.player.are_time_outs_on()?;
        Some(if on { "on" } else { "off" })
    }

    /// Goes on to the next event that is wanted; where time-outs have to be on again, from there.
    pub(super) fn go_forward(
        &mut self,
        wanted: impl Fn(&netreel_reel::Record<'_>) -> bool,
        out: &mut dyn Write,
    ) -> Result<Moved> {
        let moved = self.player.forward(&mut &wanted)?;
        let (moved, again) = self.with_time_outs_again(moved)?;
        let Some(why) = again else {
            return Ok(moved);
        };
        if !self.json {
            writeln!(out, "{why}")?;
        }
        Ok(match moved.stop {
            Stop::Reached => self.player.forward(&mut &wanted)?,
            _ => moved,
        })
    }

    /// Where the layer parts with its time-outs off: the same with them on, which counts. If it does
    /// not part with them, it stays before the event where it had; a sentence says so.
    pub(super) fn with_time_outs_again(&mut self, moved: Moved) -> Result<(Moved, Option<String>)> {
        let off = self.player.are_time_outs_on() == Some(false);
        let parted = self
            .player
            .parted()
            .filter(|_| moved.stop == Stop::Parted && off);
        let Some(outcome) = parted.map(|report| report.outcome.clone()) else {
            return Ok((moved, None));
        };
        let here = self.player.position();
        let again = self.player.time_outs(true)?;
        // Whether it parts shows when the turn is left.
        let mut is_turn = |it: &netreel_reel::Record<'_>| {
            matches!(
                it.event,
                netreel_reel::Event::Tick { .. } | netreel_reel::Event::Input { .. }
            )
        };
        let behind = match again.stop {
            Stop::Reached => self.player.forward(&mut is_turn)?,
            _ => again,
        };
        if behind.stop == Stop::Parted {
            let as_well = self.player.parted().is_some_and(|it| it.outcome == outcome);
            let why = (!as_well).then(|| {
                format!("with the layer's time-outs off it parts at event {here}; they are on again, in all of the \
                         replay")
            });
            return Ok((moved.and(behind), why));
        }
        let back = self.player.go_to(here)?;
        let why = format!(
            "with the layer's time-outs off it parts from the recording at event {here}, and with \
             them on it does not: something timed out when it was recorded. They are on again, in \
             all of the replay"
        );
        Ok((moved.and(behind).and(back), Some(why)))
    }
}
