//! Where the layer parts from the recording that one sits in.

use std::io::Write;

use netreel_replay::{Report, explain};
use serde_json::Value;

use super::likely::Likely;
use super::program::told;
use super::reels::names;
use super::report::{as_json, print};
use super::sitting::Sitting;
use super::states;
use crate::outcome::Result;

impl Sitting<'_> {
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
        let reels = self
            .story
            .session
            .reels
            .iter()
            .flatten()
            .cloned()
            .collect::<Vec<_>>();
        let names = names(&reels);
        let explanation = explain(
            divergence,
            (self.story.session.wire.as_deref(), Some(self.reel.reel)),
            &names,
        );
        Some(states::named(explanation, divergence, self.reel.reel))
    }
}
