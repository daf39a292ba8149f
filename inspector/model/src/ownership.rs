//! Who owned what: a row for each object, and below it a row for each node where it matters.

use std::ops::Range;

use netreel_protocol::history::{Belief, Level, Span};
use netreel_protocol::session::{MessageId, NodeId, SessionTime};

use crate::Model;
use crate::scale::Scale;
use crate::summary::{Shown, Summary};

/// A row of the ownership view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// What the nodes agree on about an object.
    Object(u64),
    /// What one node believes of it.
    Node(u64, NodeId),
}

/// A stretch of a row as it is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Stretch {
    /// Not clipped to what is visible.
    pub time: Range<SessionTime>,
    /// What is believed.
    pub shown: Shown,
    /// The highest migration counter that the node had heard; of a node's row only.
    pub counter: Option<u64>,
    /// The delivery that began it, by its place in the history; of a node's row only.
    pub because: Option<u32>,
}

impl Model {
    /// All rows: objects with errors first, then by number; the selected object and those that the
    /// nodes end up disagreeing about have a row for each node.
    pub fn object_rows(&self) -> &[Row] {
        &self.object_rows
    }

    /// Makes the rows anew: of those objects that the filter takes, and of the selected one.
    pub(crate) fn arrange_objects(&mut self) {
        let summaries = &self.judged.summaries;
        let (selected, taken) = (self.selection.object, self.filter.objects());
        let mut rows = Vec::with_capacity(summaries.len());
        for &Summary { object, open, .. } in summaries {
            let is_selected = selected == Some(object);
            if !is_selected && taken.is_some_and(|taken| !taken.contains(&object)) {
                continue;
            }
            rows.push(Row::Object(object));
            if (open || is_selected)
                && let Some(known) = self.history().objects.get(&object)
            {
                rows.extend(known.lanes.keys().map(|&node| Row::Node(object, node)));
            }
        }
        self.object_rows = rows;
    }

    /// Whether any message was about an object.
    pub fn knows_object(&self, object: u64) -> bool {
        self.history().objects.contains_key(&object)
    }

    /// How many objects have rows.
    pub fn shown_object_count(&self) -> usize {
        self.object_rows
            .iter()
            .filter(|row| matches!(row, Row::Object(_)))
            .count()
    }

    /// Why there are no objects.
    pub fn why_no_objects(&self) -> &'static str {
        let session = &self.session;
        let Some(wire) = &session.wire else {
            return "no wire says what packets are about";
        };
        let recorded = session.nodes.iter().any(|node| node.recorded);
        match (wire.has_field(None, Some("object")), recorded) {
            (false, _) => "the wire marks no field with @object",
            (true, false) => "no node was recorded: what they believed of objects is unknown",
            (true, true) => "no message is about one",
        }
    }

    /// An object's number as people see it: `42 box`.
    pub fn object_name(&self, object: u64) -> String {
        let Some(known) = self.history().objects.get(&object) else {
            return object.to_string();
        };
        let name = self.type_names.name(&self.session, self.history(), known);
        match (known.object_type, name) {
            (_, Some(name)) => format!("{object} {name}"),
            (Some(kind), None) => format!("{object} type {kind}"),
            (None, None) => object.to_string(),
        }
    }

    /// The worst finding about an object.
    pub fn object_level(&self, object: u64) -> Option<Level> {
        self.summary(object).and_then(|summary| summary.level)
    }

    /// A row's stretches in the visible time. Those narrower than a pixel are folded into the next
    /// that is not, so that there are never more than pixels.
    pub fn stretches(&self, row: Row, scale: &Scale) -> Vec<Stretch> {
        match row {
            Row::Object(object) => {
                let merged = self
                    .summary(object)
                    .map_or(&[][..], |summary| summary.merged(self.history()));
                folded(
                    merged,
                    |entry| &entry.0,
                    scale,
                    |entry| Stretch {
                        time: entry.0.clone(),
                        shown: entry.1,
                        counter: None,
                        because: None,
                    },
                )
            }
            Row::Node(object, node) => {
                let spans = self.spans(object, node);
                folded(
                    spans,
                    |span| &span.time,
                    scale,
                    |span| Stretch {
                        time: span.time.clone(),
                        shown: Shown::Agreed(span.belief),
                        counter: span.counter,
                        because: Some(span.because),
                    },
                )
            }
        }
    }

    /// The message of a delivery: what began a stretch.
    pub fn began(&self, delivery: u32) -> Option<MessageId> {
        Some(self.history().deliveries.get(delivery as usize)?.message)
    }

    /// What a node believed of an object at a time; `None` before it heard of it.
    pub fn belief(&self, object: u64, node: NodeId, at: SessionTime) -> Option<&Span> {
        let spans = self.spans(object, node);
        let span = spans
            .get(spans.partition_point(|span| span.time.end <= at))
            .or(spans.last())?;
        (span.time.start <= at).then_some(span)
    }

    /// What the nodes believe of an object at a time, in a sentence: `X: A owns it; others: destroyed`.
    pub fn beliefs_text(&self, object: u64, at: SessionTime) -> String {
        let Some(known) = self.history().objects.get(&object) else {
            return String::new();
        };
        let mut parts = Vec::new();
        for &node in known.lanes.keys() {
            let text = match self.belief(object, node, at) {
                Some(span) => self.belief_text(span.belief),
                None => "not known yet".to_owned(),
            };
            parts.push(format!("{}: {text}", self.node_name(node)));
        }
        parts.join(", ")
    }

    /// A belief in words.
    pub fn belief_text(&self, belief: Belief) -> String {
        match belief {
            Belief::Owned(peer) => format!("{} owns it", self.peer_name(peer)),
            Belief::Orphaned(peer) => {
                format!(
                    "orphan: says {} owns it, who does not",
                    self.peer_name(peer)
                )
            }
            Belief::Destroyed => "destroyed".to_owned(),
            Belief::Unknown => "unknown".to_owned(),
        }
    }

    fn spans(&self, object: u64, node: NodeId) -> &[Span] {
        self.history()
            .objects
            .get(&object)
            .and_then(|object| object.lanes.get(&node))
            .map_or(&[], |spans| spans.as_slice())
    }

    fn summary(&self, object: u64) -> Option<&Summary> {
        let place = *self.judged.summary_places.get(&object)?;
        self.judged.summaries.get(place)
    }
}

/// The entries that touch the visible time, at most about one a pixel.
fn folded<T>(
    entries: &[T],
    time: impl Fn(&T) -> &Range<SessionTime>,
    scale: &Scale,
    stretch: impl Fn(&T) -> Stretch,
) -> Vec<Stretch> {
    let visible = scale.range();
    let step = scale.ns(1.0).max(1);
    let mut out: Vec<Stretch> = Vec::new();
    let mut place = entries.partition_point(|entry| time(entry).end.0 <= visible.start);
    while let Some(entry) = entries.get(place) {
        if time(entry).start.0 >= visible.end {
            break;
        }
        out.push(stretch(entry));
        // The next that is still there a pixel further on.
        let next = time(entry).start.0.max(visible.start).saturating_add(step);
        place = entries
            .partition_point(|entry| time(entry).end.0 <= next)
            .max(place + 1);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_never_has_more_stretches_than_pixels() {
        let spans: Vec<Span> = (0..100_000)
            .map(|i| Span {
                time: SessionTime(i * 10)..SessionTime(i * 10 + 10),
                belief: Belief::Owned((i % 2) as u64),
                counter: None,
                because: 0,
                said: None,
            })
            .collect();
        let scale = Scale::new(&(SessionTime(0)..SessionTime(1_000_000)), 800.0);
        let shown = folded(
            &spans,
            |span| &span.time,
            &scale,
            |span| Stretch {
                time: span.time.clone(),
                shown: Shown::Split,
                counter: None,
                because: None,
            },
        );
        assert!(shown.len() <= 801, "{} stretches", shown.len());
        assert!(shown.len() > 700);
    }
}
