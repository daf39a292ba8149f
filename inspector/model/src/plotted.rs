//! Any field of the wire over time: a line for each link, or for each object that its messages are
//! about. The packets that the filter takes are decoded for it beside the window; of very many, some that
//! lie evenly among them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use netreel_protocol::session::{PacketId, Session, SessionTime};
use netreel_system::Cancel;
use netreel_wire::{MessageFacts, Tree, TreeId, TreeNode, Value};

use crate::course::Course;
use crate::links::LinkEnds;
use crate::pyramid::{Piece, Pyramid, Span};
use crate::scale::Scale;
use crate::taken::{Taken, packet_of};
use crate::times::first_time;
use crate::{Model, own_columns, text};

/// Of up to this many packets all are decoded; of more about this many, which lie evenly among them.
pub const PLOTTED_PACKETS_MAX: usize = 100_000;

/// How many values are kept; what comes later is left out.
pub const PLOTTED_VALUES_MAX: usize = 400_000;

/// How many lines are drawn, those with the most values.
pub const PLOTTED_LINES_MAX: usize = 16;

/// Of a session that grows nobody works for this long after each time: longer than it takes.
const PAUSE: Duration = Duration::from_millis(800);

/// After this many packets the worker asks whether somebody still wants the answer.
const BATCH: usize = 256;

/// A field that is drawn over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plotted {
    /// Its path, without the places in repeats: `messages.update.player.position.x`.
    pub path: String,
    /// What has a line of its own.
    pub by: PlotBy,
}

/// What has a line of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlotBy {
    /// Who sends to whom.
    #[default]
    Link,
    /// The object that the message is about.
    Object,
}

/// Whose a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LineOf {
    /// What was sent on a link.
    Link(LinkEnds),
    /// What messages about an object say; `None` of messages about none.
    Object(Option<u64>),
}

/// A line over the visible time.
#[derive(Clone, Debug, PartialEq)]
pub struct PlotLine {
    /// Whose it is.
    pub of: LineOf,
    /// Its values, or as many together as share a few pixels.
    pub pieces: Vec<Course>,
    /// What it said last before the cursor, or before the end.
    pub now: Option<String>,
}

/// A field over the visible time.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// From the least to the most of all values; `None` where they are words.
    pub range: Option<(f64, f64)>,
    /// Its lines, those with the most values.
    pub lines: Vec<PlotLine>,
    /// What there is to say of it: how many values there are, and what is left out.
    pub note: String,
}

/// The values of one packet at a time.
#[derive(Clone, Debug)]
struct Point {
    time: Range<i64>,
    number: Option<Span>,
    words: Option<Arc<str>>,
}

impl Piece for Point {
    fn time(&self) -> Range<i64> {
        self.time.clone()
    }

    fn merge(&mut self, next: &Point) {
        self.time.end = self.time.end.max(next.time.end);
        self.number = Span::join(self.number, next.number);
        self.words = None;
    }
}

/// Of which packets what is drawn.
pub type Of = (Plotted, String);

/// A field over all time.
pub struct Track {
    range: Option<(f64, f64)>,
    lines: Vec<(LineOf, Pyramid<Point>)>,
    /// How many lines are left out.
    others: usize,
    values: usize,
    decoded: usize,
    packets: usize,
    /// Up to when there was room for values.
    until: Option<i64>,
}

impl Track {
    /// `None` where nobody wants it any more.
    fn new(
        session: &Session,
        taken: Option<&Taken>,
        plotted: &Plotted,
        cancel: &Cancel,
    ) -> Option<Track> {
        let rows = taken.map_or(session.packet_count(), Taken::len);
        let mut lines: BTreeMap<LineOf, Vec<Point>> = BTreeMap::new();
        let (mut values, mut until, mut are_words) = (0, None, false);
        let mut decoded = 0;
        for row in 0..rows {
            if row.is_multiple_of(BATCH) && !cancel.goes_on() {
                return None;
            }
            if !is_decoded(row, rows) {
                continue;
            }
            let Some(id) = packet_of(taken, row) else {
                continue;
            };
            let Some(SessionTime(time)) = first_time(session, id) else {
                continue;
            };
            decoded += 1;
            for (line, value) in said(session, id, plotted) {
                let number = number_of(&value);
                are_words |= number.is_none();
                let text = text::value(&value);
                lines.entry(line).or_default().push(Point {
                    time: time..time,
                    number: number.map(Span::one),
                    words: text.split("  (").next().map(Arc::from),
                });
                values += 1;
            }
            if values >= PLOTTED_VALUES_MAX {
                until = Some(time);
                break;
            }
        }
        let mut lines: Vec<(LineOf, Vec<Point>)> = lines.into_iter().collect();
        lines.sort_by_key(|(line, points)| (Reverse(points.len()), *line));
        let others = lines.len().saturating_sub(PLOTTED_LINES_MAX);
        lines.truncate(PLOTTED_LINES_MAX);
        lines.sort_by_key(|(line, _)| *line);
        let mut range: Option<(f64, f64)> = None;
        for (_, points) in &mut lines {
            // What is words holds until the next ones.
            let ends: Vec<i64> = points.iter().skip(1).map(|it| it.time.start).collect();
            let ends = ends.into_iter().chain([session.span.end.0]);
            for (point, end) in points.iter_mut().zip(ends) {
                match point.number.filter(|_| !are_words) {
                    Some(number) => {
                        let (least, most) = range.unwrap_or((number.min, number.max));
                        range = Some((least.min(number.min), most.max(number.max)));
                    }
                    None => {
                        point.number = None;
                        point.time.end = end.max(point.time.start);
                    }
                }
            }
        }
        let lines = lines
            .into_iter()
            .map(|(line, points)| (line, Pyramid::new(points)));
        Some(Track {
            range,
            lines: lines.collect(),
            others,
            values,
            decoded,
            packets: rows,
            until,
        })
    }

    /// What there is to say of it.
    fn note(&self) -> String {
        let mut note = format!(
            "{} in {}",
            text::many(self.values as u64, "value"),
            text::packets(self.decoded as u64)
        );
        if self.packets > PLOTTED_PACKETS_MAX {
            note.push_str(&format!(
                " of {}, evenly taken: filter for all",
                text::count(self.packets as u64)
            ));
        }
        if let Some(until) = self.until {
            let until = text::seconds(SessionTime(until));
            note.push_str(&format!(", none behind {until} s: filter for fewer"));
        }
        if self.others > 0 {
            note.push_str(&format!(", {} lines with fewer left out", self.others));
        }
        note
    }
}

/// Whether a row is among those that are decoded: by a number that has nothing to do with its place, or
/// of senders who take turns some would never be seen.
fn is_decoded(row: usize, rows: usize) -> bool {
    if rows <= PLOTTED_PACKETS_MAX {
        return true;
    }
    // SplitMix64, by Sebastiano Vigna.
    let mut mixed = (row as u64)
        .wrapping_add(1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    mixed < u64::MAX / rows as u64 * PLOTTED_PACKETS_MAX as u64
}

/// What a packet says of a field, and whose each value is.
fn said(session: &Session, id: PacketId, plotted: &Plotted) -> Vec<(LineOf, Value)> {
    let Some(decoded) = session.decode(id) else {
        return Vec::new();
    };
    let tree = &decoded.tree;
    let is_it = |node: &TreeNode<'_>| own_columns::is_at(tree, *node, &plotted.path);
    let nodes: Vec<TreeNode<'_>> = tree.iter().filter(is_it).collect();
    if nodes.is_empty() {
        return Vec::new();
    }
    let link = session.link(id).filter(|_| plotted.by == PlotBy::Link);
    let messages = match plotted.by {
        PlotBy::Link => Vec::new(),
        PlotBy::Object => session.look(id).messages,
    };
    let line = |node: &TreeNode<'_>| match plotted.by {
        PlotBy::Link => link.map(LineOf::Link),
        PlotBy::Object => {
            let message = message_of(tree, node.id(), &messages);
            Some(LineOf::Object(message.and_then(|facts| facts.object)))
        }
    };
    nodes
        .iter()
        .filter_map(|node| Some((line(node)?, node.value())))
        .collect()
}

/// The message that a field is in.
fn message_of<'m>(
    tree: &Tree,
    field: TreeId,
    messages: &'m [MessageFacts],
) -> Option<&'m MessageFacts> {
    std::iter::once(field)
        .chain(tree.ancestors(field))
        .filter_map(|id| tree.get(id))
        .find_map(|node| messages.iter().find(|facts| is_within(&node, facts)))
}

/// Whether a field has bits, and all of them are a message's.
pub fn is_within(field: &TreeNode<'_>, facts: &MessageFacts) -> bool {
    let bits = field.bits();
    let inside = facts.bits.start <= bits.start && bits.end <= facts.bits.end;
    facts.stream == field.stream() && inside && !bits.is_empty()
}

/// A value as a number; `None` where it is none, or where it has a name.
fn number_of(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Unsigned(it) => *it as f64,
        Value::Signed(it) => *it as f64,
        Value::Wide(it) => *it as f64,
        Value::Bool(it) => f64::from(u8::from(*it)),
        Value::Float(it) | Value::Quantized { value: it, .. } => *it,
        Value::Delta { value, .. } => (*value)? as f64,
        _ => return None,
    };
    number.is_finite().then_some(number)
}

impl Model {
    /// The field that is drawn over time; `None`: the value in focus is.
    pub fn plotted(&self) -> Option<&Plotted> {
        self.plotted.as_ref()
    }

    /// Draws this field without a way back: the one that was kept. One that the wire does not have is
    /// left alone.
    pub fn set_plotted(&mut self, plotted: Option<Plotted>) {
        self.plotted = plotted.filter(|it| own_columns::has_path(&self.session, &it.path));
    }

    /// How a field of the selected packet can be drawn over time: by objects where its message is about
    /// one, else by links. `None` where it has no value of its own.
    pub fn plot_of(&self, field: TreeId) -> Option<Plotted> {
        let path = self.path_for_column(field)?;
        let tree = &self.detail.decoded.as_ref()?.tree;
        let look = self.look(self.selection.packet?)?;
        let message = message_of(tree, field, &look.messages);
        let by = if message.is_some_and(|facts| facts.object.is_some()) {
            PlotBy::Object
        } else {
            PlotBy::Link
        };
        Some(Plotted { path, by })
    }

    /// The field that is drawn, over the visible time; `None` where none is, until the filter has
    /// looked at all packets, and until it is worked out, which this begins.
    pub fn plot(&self, scale: &Scale) -> Option<Plot> {
        let plotted = self.plotted.clone()?;
        if !self.session.looks_at_once() {
            return None;
        }
        let of: Of = (plotted.clone(), self.filter.text.clone());
        let work = move |session: &Session, taken: Option<&Taken>, cancel: &Cancel| {
            Track::new(session, taken, &plotted, cancel)
        };
        let track = self.of_taken(&self.beside.plotted, &of, (self.is_quick(), PAUSE), work)?;
        Some(self.drawn(&track, scale))
    }

    fn drawn(&self, track: &Track, scale: &Scale) -> Plot {
        let time = scale.range();
        let most = (scale.columns() / 2).max(1);
        let now = self.moment().0;
        let lines = track.lines.iter().map(|(of, points)| {
            let (_, pieces) = points.within(&time, most);
            // Of one that begins behind the moment the first would be found.
            let before = points.within(&(now..now), usize::MAX).1.iter().rev();
            let last = { before }.find(|point| point.time.start <= now);
            PlotLine {
                of: *of,
                pieces: pieces.iter().map(Point::course).collect(),
                now: last.and_then(|point| point.words.as_deref().map(str::to_owned)),
            }
        });
        Plot {
            range: track.range,
            lines: lines.collect(),
            note: track.note(),
        }
    }

    /// What a line is called.
    pub fn line_name(&self, of: LineOf) -> String {
        match of {
            LineOf::Link(link) => self.link_label(link),
            LineOf::Object(Some(object)) => self.object_name(object),
            LineOf::Object(None) => "about no object".to_owned(),
        }
    }
}

impl Point {
    fn course(&self) -> Course {
        let mut parts = [None; crate::course::PARTS_MAX];
        parts[0] = self.number;
        Course {
            time: self.time.clone(),
            parts,
            words: self.words.as_deref().map(str::to_owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_all_that_come_in_turns_as_many_are_decoded() {
        let few = PLOTTED_PACKETS_MAX;
        assert!((0..few).all(|row| is_decoded(row, few)));
        for rows in [few + few / 2, 3 * few, 12 * few] {
            for turn in 0..12 {
                let rows_of = (turn..rows).step_by(12);
                let count = rows_of.filter(|row| is_decoded(*row, rows)).count();
                let off = count.abs_diff(few / 12);
                assert!(off < few / 12 / 20, "{count} of turn {turn}, {rows} rows");
            }
        }
    }

    #[test]
    fn a_number_with_a_name_is_a_word() {
        let enum_of = |name: Option<&str>| Value::Enum {
            raw: 3,
            name: name.map(Arc::from),
        };
        assert_eq!(number_of(&enum_of(Some("update"))), None);
        assert_eq!(number_of(&Value::Float(f64::NAN)), None);
        assert_eq!(number_of(&Value::Bool(true)), Some(1.0));
        assert_eq!(number_of(&Value::Signed(-4)), Some(-4.0));
    }
}
