//! What links carried, and what the bytes were: the tables of `netreel stats`, to be shown.

use std::sync::Arc;

use netreel_protocol::session::Fate;
use netreel_protocol::stats::{LinkStats, RowOf, Stats};
use netreel_protocol::why::Cause;
use netreel_system::Cancel;

use crate::Model;
use crate::aside::Aside;
use crate::beside::Of;
use crate::links::LinkEnds;
use crate::taken::{Taken, packet_of};
use crate::text;

/// What a row of the table stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LedgerBy {
    /// By the kind of message.
    #[default]
    Kind,
    /// By the type of object.
    Type,
    /// By object.
    Object,
    /// By RPC.
    Rpc,
    /// By field of the wire.
    Field,
}

impl LedgerBy {
    /// All of them and their names.
    pub const ALL: [(&'static str, LedgerBy); 5] = [
        ("kinds", LedgerBy::Kind),
        ("types", LedgerBy::Type),
        ("objects", LedgerBy::Object),
        ("RPCs", LedgerBy::Rpc),
        ("fields", LedgerBy::Field),
    ];
}

/// A part of the bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LedgerRow {
    /// For people.
    pub name: String,
    /// The kind of message, by its place in the wire, where it is one.
    pub kind: Option<u16>,
    /// The object, where it is one.
    pub object: Option<u64>,
    /// Bits on the wire.
    pub bits: u64,
    /// Its share of all bits of the table, from 0 to 1.
    pub part: f64,
    /// Packets that have some of it.
    pub packets: u64,
    /// Messages.
    pub messages: u64,
    /// Bits of those that repeat an earlier one.
    pub resent_bits: u64,
    /// Where it lies in a square of side 1 that is cut by sizes: left, top, width, height.
    pub place: [f32; 4],
}

/// How many rows have a place of their own; the others are one.
const ROWS_MAX: usize = 60;

impl Model {
    /// What links carried, and what the bytes were, of the packets that the filter takes; `None` until
    /// it is worked out, which this begins.
    pub fn bandwidth(&self) -> Option<Arc<Stats>> {
        if self.lacks_history() {
            return None;
        }
        let (session, history) = self.session_and_history();
        let (filter, taken) = self.taken_by_now(&self.beside.stats);
        // A bit a packet: the list is made beside the window.
        let work = move |cancel: &Cancel| {
            let rows = 0..taken.as_ref().map_or(session.packet_count(), Taken::len);
            let ids = rows.filter_map(|row| packet_of(taken.as_ref(), row));
            Stats::while_wanted(&session, &history, &ids.collect::<Vec<_>>(), cancel)
        };
        let (stats, _) = self.aside(&self.beside.stats, filter, work)?;
        Some(stats)
    }

    /// The packets that the filter takes, once it has looked at all, and by what they are known; none where
    /// what is worked out of them is known, or on its way.
    pub(crate) fn taken_by_now<T: Send + 'static>(
        &self,
        aside: &Aside<Of<String>, T>,
    ) -> (String, Option<Taken>) {
        let taken = self
            .filter
            .taken()
            .filter(|_| self.filter.looked_at().is_none());
        let text = taken.map_or_else(String::new, |_| self.filter.text.clone());
        let is_known = aside.is_of(&(self.grown, text.clone()));
        (text, taken.filter(|_| !is_known).cloned())
    }

    /// What the losses of a link follow, a sentence each, where that is not chance alone.
    pub fn loss_patterns(&self, link: LinkEnds) -> impl Iterator<Item = &str> {
        self.history()
            .loss_patterns()
            .filter(move |it| {
                it.evidence
                    .first()
                    .and_then(|piece| self.session.link(piece.packet))
                    == Some(link)
            })
            .map(|it| it.sentence.as_str())
    }

    /// The link in focus: the one that was picked, else that of the packet that was, else the one that
    /// the pinned finding follows from, else the [worst](Model::worst_link), else the one that carried
    /// most.
    pub fn link(&self) -> Option<LinkEnds> {
        let selection = self.selection();
        // The packet that a finding begins with was picked by nobody.
        let brought = || self.evidence().first().map(|piece| piece.packet);
        let picked = selection.packet.filter(|id| brought() != Some(*id));
        let of_packet = || self.session.link(picked?);
        let busiest = || {
            self.session
                .traffic()
                .iter()
                .max_by_key(|(link, it)| (it.packets, std::cmp::Reverse(**link)))
                .map(|(link, _)| *link)
        };
        let bad = || self.blamed_link().or_else(|| self.worst_link());
        let found = selection.link.or_else(of_packet).or_else(bad);
        let of_brought = || self.session.link(selection.packet?);
        found.or_else(of_brought).or_else(busiest)
    }

    /// The link with the most packets that were lost or late; `None` where none has any.
    pub fn worst_link(&self) -> Option<LinkEnds> {
        let (most, link) = self
            .session
            .traffic()
            .keys()
            .map(|&link| (self.bad_packets(link), std::cmp::Reverse(link)))
            .max()?;
        (most > 0).then_some(link.0)
    }

    /// How many packets of a link were lost or late, of all that there are.
    pub fn bad_packets(&self, link: LinkEnds) -> u64 {
        self.session
            .traffic()
            .get(&link)
            .map_or(0, |it| it.fate(Fate::Lost) + it.fate(Fate::SendFailed))
            .saturating_add(self.late_packets(link))
    }

    /// How many packets of a link took much longer than its quickest one, of all that there are.
    pub fn late_packets(&self, link: LinkEnds) -> u64 {
        self.index.links.late(link)
    }

    /// A packet of a link that took longer than this is late, in ns.
    pub fn late_above_ns(&self, link: LinkEnds) -> Option<i64> {
        self.index.links.late_above_ns(link)
    }

    /// What senders had heard when they sent messages again: `3 nacked, 2 silence`; of many packets who
    /// counts it. `None` where none were sent again.
    pub fn resent_text(&self, stats: &LinkStats) -> Option<String> {
        let causes: Vec<String> = Cause::ALL
            .into_iter()
            .filter_map(|cause| {
                let count = stats.resent_for.get(&cause)?;
                Some(format!("{} {}", text::count(*count), cause.name()))
            })
            .collect();
        let said = if causes.is_empty() {
            "`netreel stats` counts it".to_owned()
        } else {
            causes.join(", ")
        };
        (stats.resent > 0).then_some(said)
    }

    /// A link as people call it.
    pub fn link_label(&self, (from, to): LinkEnds) -> String {
        format!("{} → {}", self.lane_name(from), self.lane_name(to))
    }

    /// How many packets were lost, for people; what is not known is not called none.
    pub fn lost_text(&self, stats: &LinkStats) -> String {
        let part = text::percent(stats.lost as f64 / stats.packets.max(1) as f64);
        match (stats.lost, stats.unknown) {
            (0, 0) => "none lost".to_owned(),
            (0, unknown) if unknown == stats.packets => "losses unknown".to_owned(),
            (0, unknown) => format!("none lost, {} unknown", text::count(unknown)),
            (lost, 0) => format!("{} lost ({part})", text::count(lost)),
            (lost, unknown) => {
                let (lost, unknown) = (text::count(lost), text::count(unknown));
                format!("{lost} lost ({part}), {unknown} unknown")
            }
        }
    }

    /// What the bytes were, the most first; by fields there is [`Model::by_field`].
    pub fn ledger_rows(&self, stats: &Stats, by: LedgerBy) -> Vec<LedgerRow> {
        let ledger = match by {
            LedgerBy::Kind => &stats.kinds,
            LedgerBy::Type => &stats.types,
            LedgerBy::Object => &stats.objects,
            LedgerBy::Rpc => &stats.rpcs,
            LedgerBy::Field => return Vec::new(),
        };
        let all = ledger.bits().max(1) as f64;
        let mut rows: Vec<LedgerRow> = Vec::new();
        for (place, (of, part)) in ledger
            .rows()
            .into_iter()
            .filter(|(_, row)| row.bits > 0)
            .enumerate()
        {
            if place < ROWS_MAX {
                rows.push(self.ledger_row(of, by));
            }
            let Some(row) = rows.last_mut() else { continue };
            if place == ROWS_MAX {
                row.name = "all others".to_owned();
                (row.kind, row.object) = (None, None);
            }
            row.bits += part.bits;
            row.part += part.bits as f64 / all;
            row.packets += part.packets;
            row.messages += part.messages;
            row.resent_bits += part.resent_bits;
        }
        rows.sort_by_key(|row| std::cmp::Reverse(row.bits));
        rows
    }

    /// Of nothing so far.
    fn ledger_row(&self, of: &RowOf, by: LedgerBy) -> LedgerRow {
        let kind = |name: &String| self.kinds().iter().position(|kind| kind.name == *name);
        LedgerRow {
            name: self.row_name(of, by),
            kind: match of {
                RowOf::Name(name) if by == LedgerBy::Kind => kind(name).map(|it| it as u16),
                _ => None,
            },
            object: match of {
                RowOf::Number(number) if by == LedgerBy::Object => Some(*number),
                _ => None,
            },
            ..LedgerRow::default()
        }
    }

    fn row_name(&self, of: &RowOf, by: LedgerBy) -> String {
        match of {
            RowOf::Name(name) => name.clone(),
            RowOf::Number(number) if by == LedgerBy::Object => self.object_name(*number),
            RowOf::Number(number) => format!("type {number}"),
            RowOf::Others => match by {
                LedgerBy::Kind => "no kind",
                LedgerBy::Type | LedgerBy::Object => "about no object",
                LedgerBy::Rpc | LedgerBy::Field => "no RPC",
            }
            .to_owned(),
            RowOf::Frame => "headers, acks, padding".to_owned(),
            RowOf::Layers => "in layers".to_owned(),
            RowOf::Unexplained => "not explained".to_owned(),
            RowOf::Undecoded => "not decoded".to_owned(),
        }
    }
}

/// Lays rows out in a rectangle so wide and so high, areas by their bits, as near to squares as they
/// get (Bruls, Huizing, van Wijk: Squarified Treemaps, 2000). Rows come with the largest first.
pub fn squarify(rows: &mut [LedgerRow], width: f32, height: f32) {
    let all: f64 = rows.iter().map(|row| row.bits as f64).sum();
    if all <= 0.0 || width < 1.0 || height < 1.0 {
        return;
    }
    let scale = f64::from(width) * f64::from(height) / all;
    let (mut left, mut top) = (0.0_f64, 0.0_f64);
    let (mut room_x, mut room_y) = (f64::from(width), f64::from(height));
    let mut at = 0;
    while at < rows.len() {
        let short = room_x.min(room_y).max(1e-9);
        let area = |row: &LedgerRow| row.bits as f64 * scale;
        // As long as one more makes the worst of the strip better.
        let worst = |strip: &[LedgerRow]| {
            let sum: f64 = strip.iter().map(area).sum();
            let thick = sum / short;
            strip
                .iter()
                .map(|row| {
                    let long = area(row) / thick.max(1e-9);
                    (long / thick.max(1e-9)).max(thick / long.max(1e-9))
                })
                .fold(0.0, f64::max)
        };
        let mut end = at + 1;
        while end < rows.len() && worst(&rows[at..=end]) <= worst(&rows[at..end]) {
            end += 1;
        }
        let sum: f64 = rows[at..end].iter().map(area).sum();
        let thick = sum / short;
        let is_column = room_x >= room_y;
        let mut along = 0.0;
        for row in &mut rows[at..end] {
            let long = row.bits as f64 * scale / thick.max(1e-9);
            row.place = if is_column {
                [left, top + along, thick, long]
            } else {
                [left + along, top, long, thick]
            }
            .map(|it| it as f32);
            along += long;
        }
        if is_column {
            (left, room_x) = (left + thick, room_x - thick)
        } else {
            (top, room_y) = (top + thick, room_y - thick)
        }
        at = end;
    }
}

/// Bits as bytes: `12.3 kB`.
pub fn bits_text(bits: u64) -> String {
    text::bytes(bits.div_ceil(8))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(bits: u64) -> LedgerRow {
        LedgerRow {
            name: String::new(),
            kind: None,
            object: None,
            bits,
            part: 0.0,
            packets: 0,
            messages: 0,
            resent_bits: 0,
            place: [0.0; 4],
        }
    }

    #[test]
    fn the_places_of_a_ledger_fill_the_rectangle_by_their_sizes() {
        let mut rows: Vec<LedgerRow> = [600, 300, 200, 50, 49, 1].map(row).into();
        squarify(&mut rows, 600.0, 400.0);
        let areas: Vec<f32> = rows.iter().map(|it| it.place[2] * it.place[3]).collect();
        assert!((areas.iter().sum::<f32>() - 240_000.0).abs() < 10.0);
        assert!((areas[0] - 120_000.0).abs() < 10.0, "{areas:?}");
        for one in &rows {
            let [left, top, width, height] = one.place;
            assert!(left >= 0.0 && top >= 0.0);
            assert!(left + width <= 600.1 && top + height <= 400.1, "{one:?}");
        }
        squarify(&mut [], 10.0, 10.0);
    }
}
