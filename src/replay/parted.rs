//! Where the layer parts from the recording that one sits in.

use std::io::Write;

use netreel_replay::{Report, explain};
use serde_json::Value;

use super::likely::Likely;
use super::sitting::Sitting;
use super::{as_json, names, print, states};
use crate::outcome::Failure;

impl Sitting<'_> {
    /// Says where the layer parts from the recording, and what that likely comes from.
    pub(super) fn print_parted(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let Some(report) = self.stepper.parted() else {
            return Ok(());
        };
        print(&self.reel.name, report, self.explained().as_ref(), out)?;
        match report.divergence() {
            Some(_) => self.likely(report).print(out),
            None => Ok(()),
        }
    }

    pub(super) fn likely(&self, report: &Report) -> Likely {
        Likely::of(self.reel.reel, report, self.plays.clone())
    }

    /// The same as `--json` prints it.
    pub(super) fn parted_json(&self) -> Value {
        let report = self.stepper.parted();
        report.map_or(Value::Null, |report| {
            let mut object = as_json(&self.reel.name, report, self.explained().as_ref());
            if report.divergence().is_some() {
                self.likely(report).put(&mut object["divergence"]);
            }
            object
        })
    }

    /// Where it parts, in words.
    pub(super) fn explained(&self) -> Option<netreel_replay::Explanation> {
        let divergence = self.stepper.parted()?.divergence()?;
        let reels = self.story.session.reels.iter().flatten().cloned();
        let reels = reels.collect::<Vec<_>>();
        let names = names(&reels);
        let explanation = explain(
            divergence,
            (self.story.session.wire.as_deref(), Some(self.reel.reel)),
            &names,
        );
        Some(states::named(explanation, divergence, self.reel.reel))
    }
}
