//! `netreel replay --from`: from the snapshot before a time to the end.

use std::io::Write;

use netreel_protocol::session::SessionTime;
use netreel_replay::Stop;
use serde_json::json;

use super::sitting::Sitting;
use crate::outcome::{Failure, Result};
use crate::packets::json as print_json;
use crate::text;

impl Sitting<'_> {
    /// Starts at a time, by way of the snapshot before it.
    pub fn start_at(&mut self, time: SessionTime, out: &mut dyn Write) -> Result {
        let Some(event) = self.reel.event_at(time) else {
            let time = text::seconds(time);
            return Err(Failure::new(format!(
                "--from {time} s: the reel of {} ends before it",
                self.reel.name
            )));
        };
        self.began_at = Some(event);
        let moved = self.player.seek(event).map_err(Failure::new)?;
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
}
