//! What is known where one sits: the layer's own state, and what the node believed of objects.

use std::io::Write;

use netreel_protocol::session::SessionTime;
use serde_json::json;

use super::commands::Trouble;
use super::program::told;
use super::sitting::Sitting;
use super::states;
use crate::objects;
use crate::packets::json as print_json;
use crate::text;

impl Sitting<'_> {
    /// When it is here.
    pub(super) fn now(&mut self) -> SessionTime {
        let here = self.player.record();
        here.map_or(self.story.session.span.end, |record| {
            self.reel.time(&record.as_record())
        })
    }

    pub(super) fn state(&mut self, name: &str, out: &mut dyn Write) -> Result<(), Trouble> {
        let state = self
            .player
            .state()
            .ok_or_else(|| Trouble::Said(self.no_state()))?;
        let turn = self.player.turn();
        let Some(lines) = states::describe(self.reel.reel, &state) else {
            if self.json {
                let hex: String = state.iter().map(|byte| format!("{byte:02x}")).collect();
                return Ok(print_json(&json!({ "before": turn.0, "state": hex }), out)?);
            }
            writeln!(out, "the layer's state before event {turn}:")?;
            return Ok(crate::tree::hex(&state, out)?);
        };
        let lines = lines.iter().filter(|(path, _)| path.starts_with(name));
        if self.json {
            let lines: Vec<_> = lines.collect();
            return Ok(print_json(
                &json!({ "before": turn.0, "state": lines }),
                out,
            )?);
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

    pub(super) fn object(&mut self, text: &str, out: &mut dyn Write) -> Result<(), Trouble> {
        let object = text.parse::<u64>();
        let object =
            object.map_err(|_| Trouble::Said(format!("`{text}` is not an object's number")))?;
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
            return Ok(print_json(&answer, out)?);
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
        let mut lines = states::describe(self.reel.reel, &self.player.state()?)?;
        let of = ["objects", "heard", "asked"].map(|name| format!("{name}[{object}]"));
        let copies = format!("copies[{object},");
        lines.retain(|(path, _)| {
            path.starts_with(&copies) || of.iter().any(|name| path.starts_with(name))
        });
        Some(lines)
    }

    pub(super) fn objects(&mut self, out: &mut dyn Write) -> Result<(), Trouble> {
        let now = self.now();
        let history = self.story.history();
        let Some(node) = self.reel.node else {
            return Err(Trouble::Said("this is no node's reel".to_owned()));
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
            return Ok(print_json(&answer, out)?);
        }
        for (object, believed) in &lines {
            writeln!(out, "object {object}  {believed}")?;
        }
        if lines.is_empty() {
            writeln!(out, "{} knows of no object here", self.reel.name)?;
        }
        Ok(())
    }
}
