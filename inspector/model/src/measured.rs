//! A stretch of time that somebody has measured: it stays until it is taken away, and says what was
//! sent in it.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use netreel_protocol::session::{Session, SessionTime};
use netreel_system::Cancel;

use crate::crowd::is_lost;
use crate::taken::{Taken, packet_of};
use crate::{Model, text};

/// Up to this many packets are added up at once.
const AT_ONCE: usize = 20_000;

/// After this many packets the worker asks whether somebody still wants the answer.
const BATCH: usize = 4_096;

/// What was sent in a measured time: packets that left then, or where nobody saw that, arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// How many, of those that the filter takes.
    pub packets: u64,
    /// Bytes of payload in them.
    pub bytes: u64,
    /// How many of them were lost.
    pub lost: u64,
}

/// Which packets are added up.
#[derive(Clone, Debug, PartialEq)]
pub struct Of {
    filter: String,
    time: Range<SessionTime>,
}

impl Measured {
    /// Of rows in the order of time; `None` where nobody wants it any more.
    fn new(
        session: &Session,
        taken: Option<&Taken>,
        rows: Range<usize>,
        cancel: &Cancel,
    ) -> Option<Measured> {
        let mut sum = Measured::default();
        for row in rows {
            if row.is_multiple_of(BATCH) && !cancel.goes_on() {
                return None;
            }
            if let Some(packet) = packet_of(taken, row).and_then(|id| session.packet(id)) {
                sum.packets += 1;
                sum.bytes += u64::from(packet.length);
                sum.lost += u64::from(is_lost(&packet));
            }
        }
        Some(sum)
    }
}

impl Model {
    /// The time that was measured.
    pub fn measured_time(&self) -> Option<Range<SessionTime>> {
        self.measured.clone()
    }

    /// What was sent in the measured time, of what the filter takes; `None` where nothing is measured,
    /// until the filter has looked at all packets, and until it is worked out, which this begins.
    pub fn measured_packets(&self) -> Option<Arc<Measured>> {
        let time = self.measured.clone()?;
        let rows = self.rows_within(&time);
        let filter = self.filter.text.clone();
        let when = (
            rows.len() <= AT_ONCE,
            Duration::from_nanos(200 * rows.len() as u64),
        );
        let work = |session: &Session, taken: Option<&Taken>, cancel: &Cancel| {
            Measured::new(session, taken, rows, cancel)
        };
        self.of_taken(&self.beside.measured, &Of { filter, time }, when, work)
    }

    /// How long the measured time is, and what was sent in it, in words:
    /// `348 ms · 120 packets · 14.2 kB · 40.8 kB/s · 2 lost`.
    pub fn measured_text(&self) -> Option<String> {
        let time = self.measured.as_ref()?;
        let ns = time.end.0.saturating_sub(time.start.0);
        let mut words = vec![text::duration(ns)];
        match self.measured_packets() {
            None => words.push(self.why_waits().to_owned()),
            Some(sum) => {
                words.push(text::packets(sum.packets));
                words.push(text::bytes(sum.bytes));
                let rate = sum.bytes as f64 / (ns.max(1) as f64 / 1e9);
                words.push(format!("{}/s", text::bytes(rate as u64)));
                words.extend((sum.lost > 0).then(|| format!("{} lost", text::count(sum.lost))));
            }
        }
        Some(words.join(" · "))
    }

    /// Measures a stretch of time, or takes it away.
    pub(crate) fn measure(&mut self, time: Option<Range<SessionTime>>) {
        self.measured = time.filter(|time| time.end > time.start);
    }
}
