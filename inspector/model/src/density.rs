//! Density: how much happened in columns of pixels, kept from frame to frame.
//!
//! Columns stand at round multiples of their width on the axis, not at the edge of the view. Who pans
//! finds most of them again, so that only those that come into view are counted.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;

use netreel_protocol::session::{Session, SessionTime};

use crate::crowd::{Crowd, Lane};
use crate::latest::lock;
use crate::scale::{Grid, Scale};

/// One column of pixels of one lane in which something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Columns from the first one.
    pub column: u32,
    /// Sends and receipts.
    pub events: u32,
    /// Sends of packets that were lost.
    pub lost: u32,
}

/// What was counted last, of each crowd that is drawn.
#[derive(Debug, Default)]
pub struct Densities {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// Of all packets, and of those that the filter takes, as often as it had changed.
    columns: [Option<(Option<u64>, Columns)>; 2],
    counted: u64,
}

/// The lanes of a crowd, over columns that follow each other.
#[derive(Debug)]
struct Columns {
    grid: Grid,
    places: Range<i64>,
    lanes: Vec<Vec<Counted>>,
}

/// A column in which something happened.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    pub place: i64,
    pub events: u32,
    pub lost: u32,
}

impl Counted {
    /// The same, counted from a first column.
    pub fn bucket(&self, first: i64) -> Bucket {
        Bucket {
            column: self.place.saturating_sub(first) as u32,
            events: self.events,
            lost: self.lost,
        }
    }
}

impl Bucket {
    /// What happened in each column of several lanes together.
    pub fn together(all: impl Iterator<Item = Bucket>) -> Vec<Bucket> {
        let mut columns: BTreeMap<u32, Bucket> = BTreeMap::new();
        for bucket in all {
            let none = Bucket {
                events: 0,
                lost: 0,
                ..bucket
            };
            let column = columns.entry(bucket.column).or_insert(none);
            column.events = column.events.saturating_add(bucket.events);
            column.lost = column.lost.saturating_add(bucket.lost);
        }
        columns.into_values().collect()
    }
}

/// Density over the visible time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawn {
    /// Where the first column begins, in pixels from the left edge: at it, or less than a column
    /// before it.
    pub left: f32,
    pub lanes: Vec<Vec<Bucket>>,
}

impl Densities {
    /// Of all packets, or of those that the filter takes, which has `changed` so often.
    pub fn draw(
        &self,
        session: &Session,
        crowd: &Crowd,
        scale: &Scale,
        changed: Option<u64>,
    ) -> Drawn {
        let mut kept = lock(&self.kept);
        let place = usize::from(changed.is_some());
        let before = kept.columns[place]
            .take()
            .filter(|(then, _)| *then == changed);
        let (columns, drawn, counted) = draw(before.map(|it| it.1), session, crowd, scale);
        kept.columns[place] = Some((changed, columns));
        kept.counted += counted;
        drawn
    }

    /// How many columns of lanes were counted so far.
    pub fn counted(&self) -> u64 {
        lock(&self.kept).counted
    }
}

/// What is in view, of what was counted before and of what comes into view. How many columns were
/// counted for it comes with it.
fn draw(
    before: Option<Columns>,
    session: &Session,
    crowd: &Crowd,
    scale: &Scale,
) -> (Columns, Drawn, u64) {
    let lanes = crowd.lanes.len();
    let known = before.filter(|it| it.grid.is_of(scale) && it.lanes.len() == lanes);
    let grid = known
        .as_ref()
        .map_or_else(|| scale.grid(), |it| it.grid.clone());
    let places = grid.places(scale);
    let mut columns = known
        .filter(|it| it.places.start < places.end && places.start < it.places.end)
        .unwrap_or_else(|| Columns {
            grid,
            places: places.start..places.start,
            lanes: vec![Vec::new(); lanes],
        });
    let counted = columns.move_to(&places, session, crowd, scale);
    let drawn = Drawn {
        left: columns.grid.x(scale, places.start),
        lanes: columns
            .lanes
            .iter()
            .map(|lane| lane.iter().map(|it| it.bucket(places.start)).collect())
            .collect(),
    };
    (columns, drawn, counted)
}

impl Columns {
    fn move_to(&mut self, to: &Range<i64>, session: &Session, crowd: &Crowd, scale: &Scale) -> u64 {
        let kept = self.places.start.max(to.start)..self.places.end.min(to.end);
        let (ahead, behind) = if kept.is_empty() {
            (to.start..to.start, to.clone())
        } else {
            (to.start..kept.start, kept.end..to.end)
        };
        let mut counted = 0;
        let time = |place| self.grid.time(scale, place);
        let place = |time| self.grid.place(scale, SessionTime(time));
        for (lane, counts) in crowd.lanes.iter().zip(&mut self.lanes) {
            counts.retain(|it| kept.contains(&it.place));
            let new = count(session, lane, ahead.clone(), (time, place));
            let last = count(session, lane, behind.clone(), (time, place));
            counted += (new.len() + last.len()) as u64;
            counts.splice(0..0, new);
            counts.extend(last);
        }
        self.places = to.clone();
        counted
    }
}

/// Counts what happened in columns of a lane: those in which something did. `time` says when a column
/// begins, `column` in which one a moment is.
pub fn count(
    session: &Session,
    lane: &Lane,
    places: Range<i64>,
    (time, column): (impl Fn(i64) -> i64, impl Fn(i64) -> i64),
) -> Vec<Counted> {
    let mut counted = Vec::new();
    if places.is_empty() {
        return counted;
    }
    let events = [lane.sends.line(session), lane.receipts.line(session)];
    let lost = lane.lost.line(session);
    let from = |time: i64| events.each_ref().map(|times| times.place(time));
    let mut place = places.start;
    let end = time(places.end);
    let mut first = from(time(place));
    let mut first_lost = None;
    while place < places.end {
        let Some(next) = events
            .iter()
            .zip(first)
            .filter_map(|(times, place)| times.get(place))
            .min()
            .filter(|next| *next < end)
        else {
            break;
        };
        let until = time(place + 1);
        if next < until {
            let last = from(until);
            let before = first_lost.unwrap_or_else(|| lost.place(time(place)));
            let behind = lost.place(until);
            counted.push(Counted {
                place,
                events: (last.iter().sum::<usize>() - first.iter().sum::<usize>()) as u32,
                lost: behind.saturating_sub(before) as u32,
            });
            (first, first_lost) = (last, Some(behind));
            place += 1;
        } else {
            // Jump over columns in which nothing happened.
            place = column(next).saturating_sub(1).max(place + 1);
            first = from(time(place));
            first_lost = None;
        }
    }
    counted
}
