//! A property of an object over time: a line for each part of it, in the colour of each node.

use std::ops::Range;
use std::sync::Arc;

use netreel_protocol::history::state::{Known, States, words};
use netreel_protocol::session::{NodeId, Session};
use netreel_system::Cancel;

use crate::Model;
use crate::believed::{Believed, ValueRow};
use crate::map::{numbers, widen};
use crate::pyramid::{Piece, Pyramid, Span};
use crate::scale::Scale;

/// Of more parts the first ones are drawn.
pub const PARTS_MAX: usize = 4;

/// A stretch in which a node believed something.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// From when to when, in ns.
    pub time: Range<i64>,
    /// From the least to the most of each part; `None` where it is no number or not known.
    pub parts: [Option<Span>; PARTS_MAX],
    /// In words, where it is one value.
    pub words: Option<String>,
}

/// What the nodes believed of a property over the visible time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Courses {
    /// How many parts are numbers; none: all that there is are words.
    pub parts: usize,
    /// From the least to the most of each part, in the whole session.
    pub ranges: Vec<(f64, f64)>,
    /// Each node that ever believed something.
    pub nodes: Vec<(NodeId, Vec<Course>)>,
}

/// The same of all time.
pub struct Track {
    parts: usize,
    ranges: Vec<(f64, f64)>,
    nodes: Vec<(NodeId, Pyramid<Course>)>,
}

impl Piece for Course {
    fn time(&self) -> Range<i64> {
        self.time.clone()
    }

    fn merge(&mut self, next: &Course) {
        self.time.end = next.time.end;
        for (own, other) in self.parts.iter_mut().zip(&next.parts) {
            *own = Span::join(*own, *other);
        }
        self.words = None;
    }
}

impl Track {
    pub fn new(session: &Session, states: &States, row: ValueRow) -> Track {
        let nodes = (0..session.nodes.len()).map(|node| NodeId(node as u16));
        let mut track = Track {
            parts: 0,
            ranges: Vec::new(),
            nodes: Vec::new(),
        };
        let Some(declared) = states.property(row.property) else {
            return track;
        };
        for node in nodes {
            let mut pieces: Vec<Course> = Vec::new();
            for held in states.changes(row.object, row.property, node) {
                let at = held.since.0;
                if let Some(last) = pieces.last_mut() {
                    last.time.end = at;
                }
                let mut parts = [None; PARTS_MAX];
                let own = numbers(&held);
                track.parts = track.parts.max(own.len().min(PARTS_MAX));
                for (place, number) in own.into_iter().take(PARTS_MAX).enumerate() {
                    parts[place] = Some(Span::one(number));
                    widen(&mut track.ranges, place, number);
                }
                let words = match &held.value {
                    Known::Value(parts) => words(declared, parts),
                    Known::Unknown => "unknown".to_owned(),
                    Known::Nothing => continue,
                };
                pieces.push(Course {
                    time: at..session.span.end.0.max(at),
                    parts,
                    words: Some(words),
                });
            }
            if !pieces.is_empty() {
                track.nodes.push((node, Pyramid::new(pieces)));
            }
        }
        track
    }
}

impl Model {
    /// What nodes believed of a property over the visible time; `None` until it is worked out, which
    /// this begins.
    pub fn courses(
        &self,
        believed: &Arc<Believed>,
        row: ValueRow,
        scale: &Scale,
    ) -> Option<Courses> {
        let (session, known) = (Arc::clone(&self.session), Arc::clone(believed));
        let work = move |_: &Cancel| Some(Track::new(&session, &known.states, row));
        let (track, is_it) = self.aside(&self.beside.track, row, work)?;
        let time = scale.range();
        // A piece takes two pixels at least: there is a line of them for each node and each part.
        let most = (scale.columns() / 2).max(1);
        let nodes = track.nodes.iter().map(|(node, pyramid)| {
            let (_, pieces) = pyramid.within(&time, most);
            (*node, pieces.to_vec())
        });
        is_it.then(|| Courses {
            parts: track.parts,
            ranges: track.ranges.clone(),
            nodes: nodes.collect(),
        })
    }
}
