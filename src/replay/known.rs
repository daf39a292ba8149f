//! What is known where one sits: the layer's own state, what the node believed of objects, where the layer
//! parts, the breakpoints; and `netreel replay --from`, which goes from the snapshot before a time to the
//! end.

use std::io::Write;

use netreel_protocol::session::SessionTime;
use netreel_replay::{Report, Stop, explain};
use serde_json::{Value, json};

use super::breaks::Condition;
use super::likely::Likely;
use super::program::told;
use super::reels::names;
use super::report::{self, as_json, print};
use super::sitting::Sitting;
use crate::outcome::{Result, fail};
use crate::packets::json as print_json;
use crate::{objects, text};

impl Sitting<'_> {
    /// When it is here.
    pub(super) fn now(&mut self) -> SessionTime {
        let here = self.player.record();
        here.map_or(self.story.session.span.end, |record| {
            self.reel.time(&record.as_record())
        })
    }

    pub(super) fn state(&mut self, name: &str, out: &mut dyn Write) -> Result {
        let state = self.player.state().ok_or_else(|| self.no_state())?;
        let turn = self.player.turn();
        let Some(lines) = report::describe(self.reel.reel, &state) else {
            if self.json {
                let state = text::hex(&state);
                return print_json(&json!({ "before": turn.0, "state": state }), out);
            }
            writeln!(out, "the layer's state before event {turn}:")?;
            return crate::tree::hex(&state, out);
        };
        let lines = lines.iter().filter(|(path, _)| path.starts_with(name));
        if self.json {
            let lines: Vec<_> = lines.collect();
            return print_json(&json!({ "before": turn.0, "state": lines }), out);
        }
        writeln!(out, "the layer's state before event {turn}:")?;
        for (path, value) in lines {
            writeln!(out, "  {path:<28} {value}")?;
        }
        Ok(())
    }

    /// Why there is no state to be shown.
    fn no_state(&self) -> String {
        match (&self.plays, self.player.process()) {
            (Some(_), _) => "the layer offers no state".to_owned(),
            (None, Some(process)) => format!(
                "the state of a program is its memory, which a debugger shows: {}",
                told::debugger(process)
            ),
            (None, None) => "the program has ended".to_owned(),
        }
    }

    pub(super) fn object(&mut self, text: &str, out: &mut dyn Write) -> Result {
        let object = text
            .parse::<u64>()
            .map_err(|_| format!("`{text}` is not an object's number"))?;
        let now = self.now();
        let history = self.story.history();
        let believed = match self.reel.node {
            Some(node) => objects::believed(&self.story.session, history, object, node, now),
            None => "unknown: this is no node's reel".to_owned(),
        };
        let own = self.own_words(object);
        if self.json {
            let answer = json!({
                "object": object,
                "time_ns": now.0,
                "believed": believed,
                "layer": own,
            });
            return print_json(&answer, out);
        }
        let node = &self.reel.name;
        writeln!(
            out,
            "object {object} at {} s: {node} {believed}",
            text::seconds(now)
        )?;
        if let Some(lines) = own {
            writeln!(out, "the layer before event {}:", self.player.turn())?;
            for (path, value) in &lines {
                writeln!(out, "  {path:<28} {value}")?;
            }
            if lines.is_empty() {
                writeln!(out, "  nothing")?;
            }
        }
        Ok(())
    }

    /// What the layer's own state says of an object.
    fn own_words(&self, object: u64) -> Option<Vec<(String, String)>> {
        let mut lines = report::describe(self.reel.reel, &self.player.state()?)?;
        let of = ["objects", "heard", "asked"].map(|name| format!("{name}[{object}]"));
        let copies = format!("copies[{object},");
        lines.retain(|(path, _)| {
            path.starts_with(&copies) || of.iter().any(|name| path.starts_with(name))
        });
        Some(lines)
    }

    pub(super) fn objects(&mut self, out: &mut dyn Write) -> Result {
        let now = self.now();
        let history = self.story.history();
        let Some(node) = self.reel.node else {
            return fail("this is no node's reel".to_owned());
        };
        let known = history
            .objects
            .keys()
            .filter(|&&object| history.belief_at(object, node, now).is_some());
        let lines: Vec<(u64, String)> = known
            .map(|&object| {
                let believed = objects::believed(&self.story.session, history, object, node, now);
                (object, believed)
            })
            .collect();
        if self.json {
            let answer = json!({ "time_ns": now.0, "believed": lines });
            return print_json(&answer, out);
        }
        for (object, believed) in &lines {
            writeln!(out, "object {object}  {believed}")?;
        }
        if lines.is_empty() {
            writeln!(out, "{} knows of no object here", self.reel.name)?;
        }
        Ok(())
    }

    /// Starts at a time, by way of the snapshot before it.
    pub fn start_at(&mut self, time: SessionTime, out: &mut dyn Write) -> Result {
        let Some(event) = self.reel.event_at(time) else {
            let time = text::seconds(time);
            return fail(format!(
                "--from {time} s: the reel of {} ends before it",
                self.reel.name
            ));
        };
        self.began_at = Some(event);
        let moved = self.player.seek(event)?;
        if moved.stop == Stop::Parted {
            return self.moved(moved, out);
        }
        Ok(())
    }

    /// Plays to the end, whatever the breakpoints.
    pub fn play_out(&mut self, out: &mut dyn Write) -> Result {
        let moved = self.go_forward(|_| false, out)?;
        // What lies between the snapshot and where one begins was played and compared as well.
        let from = self.player.played_from();
        if moved.stop == Stop::End {
            let last = self.player.stretch().until.0.saturating_sub(1);
            let node = &self.reel.name;
            if self.json {
                let object = json!({
                    "node": node,
                    "result": "exact",
                    "from": from.0,
                    "asked": self.began_at.map(|it| it.0),
                    "until": last + 1,
                    "time_outs": self.time_outs_word(),
                    "divergence": null,
                });
                return print_json(&object, out);
            }
            let without = self.without_time_outs();
            let asked = self.began_at.filter(|asked| *asked != from);
            let by = asked.map_or_else(String::new, |asked| {
                let stretch = self.player.stretch();
                let what = if from == stretch.from && !stretch.snapshot {
                    "the beginning of the reel"
                } else {
                    "a snapshot"
                };
                format!("; --from is event {asked}, and the last state before it is {what}")
            });
            writeln!(
                out,
                "{node}: exact from event {from} to event {last}{without}{by}"
            )?;
            return Ok(());
        }
        self.moved(moved, out)
    }

    /// Says where the layer parts from the recording, and what that likely comes from.
    pub(super) fn print_parted(&self, out: &mut dyn Write) -> Result {
        if let Some((judged, tape)) = self.player.ended() {
            return told::print(&self.reel.name, judged, tape, out);
        }
        let Some(report) = self.player.parted() else {
            return Ok(());
        };
        print(&self.reel.name, report, self.explained().as_ref(), out)?;
        match self.likely(report) {
            Some(likely) => likely.print(out),
            None => Ok(()),
        }
    }

    /// What a divergence likely comes from.
    pub(super) fn likely(&self, report: &Report) -> Option<Likely> {
        report.divergence()?;
        let plays = self.plays.clone()?;
        Some(Likely::of(self.reel.reel, report, plays))
    }

    /// The same as `--json` prints it.
    pub(super) fn parted_json(&self) -> Value {
        if let Some((judged, tape)) = self.player.ended() {
            return told::as_json(&self.reel.name, judged, tape);
        }
        let report = self.player.parted();
        report.map_or(Value::Null, |report| {
            let mut object = as_json(&self.reel.name, report, self.explained().as_ref());
            if let Some(likely) = self.likely(report) {
                likely.put(&mut object["divergence"]);
            }
            object
        })
    }

    /// Where it parts, in words.
    pub(super) fn explained(&self) -> Option<netreel_replay::Explanation> {
        let divergence = self.player.parted()?.divergence()?;
        let (session, reel) = (&self.story.session, self.reel.reel);
        let reels: Vec<_> = session.reels.iter().flatten().cloned().collect();
        let with = (session.wire.as_deref(), Some(&**reel));
        let explanation = explain(divergence, with, &names(&reels));
        Some(report::named_in_states(explanation, divergence, reel))
    }

    pub(super) fn add_break(&mut self, text: &str, out: &mut dyn Write) -> Result {
        let condition = Condition::parse(text, self.story, self.reel)?;
        self.breaks.list.push(condition);
        self.breaks.keep()?;
        self.list_breaks(out)
    }

    pub(super) fn delete_break(&mut self, text: &str, out: &mut dyn Write) -> Result {
        if text.is_empty() {
            let why = "say which: `delete 1`; `breaks` lists them";
            return fail(why);
        }
        let count = self.breaks.list.len();
        let place = text.parse::<usize>().ok().and_then(|it| it.checked_sub(1));
        let Some(place) = place.filter(|&place| place < count) else {
            let there = text::counted(count, "breakpoint");
            return fail(format!(
                "`{text}` is not one of the {there}; `breaks` lists them"
            ));
        };
        self.breaks.list.remove(place);
        self.breaks.keep()?;
        self.list_breaks(out)
    }

    pub(super) fn list_breaks(&self, out: &mut dyn Write) -> Result {
        let texts = self.breaks.list.iter().map(|it| it.text.as_str());
        if self.json {
            let texts: Vec<&str> = texts.collect();
            return print_json(&json!({ "breakpoints": texts }), out);
        }
        for (place, text) in texts.enumerate() {
            writeln!(out, "breakpoint {}  {text}", place + 1)?;
        }
        if self.breaks.list.is_empty() {
            writeln!(out, "no breakpoints")?;
        }
        Ok(())
    }
}
