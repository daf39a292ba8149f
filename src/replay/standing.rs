//! Where one stands in a replay that one sits in, as data: for the window.

use netreel_inspector::{Event as Line, Parting, Standing};
use netreel_protocol::export::{TEXT_MAX, event_words};
use netreel_protocol::session::SessionTime;
use netreel_reel::{EventNumber, Record};
use netreel_replay::Outcome;
use netreel_transport::Step;

use super::report::{self, print};
use super::sitting::Sitting;
use crate::packets::messages;

/// How many events before and behind the one that is here.
const BEFORE: u64 = 60;
const BEHIND: u64 = 120;

impl Sitting<'_> {
    /// Where one stands, and what the last command said.
    pub fn standing(&mut self, said: String) -> Standing {
        let position = self.player.position();
        let here = self.player.record();
        let here = here.as_ref().map(|record| {
            let record = record.as_record();
            (self.reel.time(&record), self.reel.packet(record.number))
        });
        let state = self.player.state();
        let layer = state.and_then(|state| report::describe(self.reel.reel, &state));
        Standing {
            node: self.reel.name.clone(),
            position: position.0,
            time: here.map(|(time, _)| time),
            packet: here.and_then(|(_, packet)| packet),
            events: self.around(position),
            last: self.player.stretch().until.0.saturating_sub(1),
            turn: self.player.turn().0,
            layer: layer.unwrap_or_default(),
            breaks: self.breaks.list.iter().map(|it| it.text.clone()).collect(),
            parting: self.parting(),
            said,
        }
    }

    /// The events around a place.
    fn around(&self, position: EventNumber) -> Vec<Line> {
        let (from, until) = (position.0.saturating_sub(BEFORE), position.0 + BEHIND);
        let reel = self.reel.reel;
        let first_of = |index: usize| {
            let block = reel.block(index).ok()?;
            let first = block.records().next()?;
            Some(first.number.0)
        };
        let blocks: Vec<usize> = (0..reel.blocks()).collect();
        let after = blocks.partition_point(|&it| first_of(it).is_none_or(|first| first <= from));
        let mut lines = Vec::new();
        for index in after.saturating_sub(1)..reel.blocks() {
            let Ok(block) = reel.block(index) else {
                continue;
            };
            for record in block.records() {
                if record.number.0 > until {
                    return lines;
                }
                if record.number.0 >= from {
                    lines.push(self.line(&record));
                }
            }
        }
        lines
    }

    fn line(&self, record: &Record<'_>) -> Line {
        let words = event_words(
            &record.event,
            self.call(&record.event),
            |it| self.reel.name_of(it),
            TEXT_MAX,
        );
        let packet = self.reel.packet(record.number);
        let carries = packet
            .map(|packet| messages(&self.story.session, packet))
            .map_or_else(String::new, |it| format!("  {it}"));
        let time: SessionTime = self.reel.time(record);
        Line {
            number: record.number.0,
            time,
            kind: record.event.kind().name().to_owned(),
            words: format!("{words}{carries}").trim().to_owned(),
            packet,
        }
    }

    /// Where the layer parts from the recording, as far as that was found.
    fn parting(&self) -> Option<Parting> {
        let report = self.player.parted()?;
        let explained = self.explained();
        let mut said = Vec::new();
        // Memory takes all that is written.
        print(&self.reel.name, report, explained.as_ref(), &mut said).ok()?;
        let (event, steps) = match &report.outcome {
            Outcome::Diverged(divergence) => {
                let bytes = |step: &Step| match step {
                    Step::Send { packet, .. } => Some(packet.to_vec()),
                    _ => None,
                };
                let both = (bytes(&divergence.expected), bytes(&divergence.came));
                (divergence.number.0, both)
            }
            Outcome::InputRejected(number, _) | Outcome::SnapshotRefused(number, _) => {
                (number.0, (None, None))
            }
            Outcome::Exact => return None,
        };
        let likely = self.likely(report);
        let likely = likely.map_or_else(Vec::new, |likely| likely.sentences());
        let field = explained.as_ref().and_then(|it| it.field.clone());
        let (expected, came) = explained.map_or_else(Default::default, |it| (it.expected, it.came));
        Some(Parting {
            event,
            said: String::from_utf8_lossy(&said).trim_end().to_owned(),
            likely,
            expected,
            came,
            field: field.map(|it| (it.path, it.expected, it.came)),
            expected_bytes: steps.0,
            came_bytes: steps.1,
        })
    }
}
