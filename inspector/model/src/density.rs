//! Density: how much happened in columns of pixels, kept from frame to frame.
//!
//! Columns stand at round multiples of their width on the axis, not at the edge of the view. Who pans
//! finds most of them again, so that only those that come into view are counted.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use netreel_protocol::session::{Session, SessionTime};

use crate::crowd::{Crowd, Lane};
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
pub(crate) struct Densities {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    all: Option<Columns>,
    /// Of the packets that the filter takes, as often as it had changed.
    taken: Option<(u64, Columns)>,
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
struct Counted {
    place: i64,
    events: u32,
    lost: u32,
}

/// Density over the visible time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Drawn {
    /// Where the first column begins, in pixels from the left edge: at it, or less than a column
    /// before it.
    pub left: f32,
    pub lanes: Vec<Vec<Bucket>>,
}

impl Densities {
    /// Of all packets.
    pub fn all(&self, session: &Session, crowd: &Crowd, scale: &Scale) -> Drawn {
        let mut kept = self.lock();
        let mut columns = kept.all.take();
        let (drawn, counted) = draw(&mut columns, session, crowd, scale);
        kept.all = columns;
        kept.counted += counted;
        drawn
    }

    /// Of those that the filter takes, which has changed so often.
    pub fn taken(&self, session: &Session, crowd: &Crowd, scale: &Scale, changed: u64) -> Drawn {
        let mut kept = self.lock();
        let before = kept.taken.take().filter(|(then, _)| *then == changed);
        let mut columns = before.map(|(_, columns)| columns);
        let (drawn, counted) = draw(&mut columns, session, crowd, scale);
        kept.taken = columns.map(|columns| (changed, columns));
        kept.counted += counted;
        drawn
    }

    /// How many columns of lanes were counted so far.
    pub fn counted(&self) -> u64 {
        self.lock().counted
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is in view, of what was counted before and of what comes into view. How many columns were
/// counted for it comes with it.
fn draw(
    before: &mut Option<Columns>,
    session: &Session,
    crowd: &Crowd,
    scale: &Scale,
) -> (Drawn, u64) {
    let lanes = crowd.lanes.len();
    let known = before
        .take()
        .filter(|it| it.grid.is_of(scale) && it.lanes.len() == lanes);
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
            .map(|lane| buckets(lane, places.start))
            .collect(),
    };
    *before = Some(columns);
    (drawn, counted)
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
        for (lane, counts) in crowd.lanes.iter().zip(&mut self.lanes) {
            counts.retain(|it| kept.contains(&it.place));
            let mut new = Vec::new();
            counted += count(session, lane, (&self.grid, scale), &ahead, &mut new);
            counts.splice(0..0, new);
            counted += count(session, lane, (&self.grid, scale), &behind, counts);
        }
        self.places = to.clone();
        counted
    }
}

fn buckets(lane: &[Counted], first: i64) -> Vec<Bucket> {
    let buckets = lane.iter().map(|it| Bucket {
        column: it.place.saturating_sub(first) as u32,
        events: it.events,
        lost: it.lost,
    });
    buckets.collect()
}

/// Counts what happened in columns of a lane, and appends those in which something did.
fn count(
    session: &Session,
    lane: &Lane,
    (grid, scale): (&Grid, &Scale),
    places: &Range<i64>,
    to: &mut Vec<Counted>,
) -> u64 {
    if places.is_empty() {
        return 0;
    }
    let events = [lane.sends(session), lane.receipts(session)];
    let lost = lane.lost(session);
    let from = |time: i64| events.each_ref().map(|times| times.place(time));
    let mut counted = 0;
    let mut place = places.start;
    let end = grid.time(scale, places.end);
    let mut first = from(grid.time(scale, place));
    let mut first_lost = None;
    while place < places.end {
        let ahead = events
            .iter()
            .zip(first)
            .filter_map(|(times, place)| times.get(place));
        let Some(next) = ahead.min().filter(|next| *next < end) else {
            break;
        };
        let until = grid.time(scale, place + 1);
        if next < until {
            counted += 1;
            let last = from(until);
            let before = first_lost.unwrap_or_else(|| lost.place(grid.time(scale, place)));
            let behind = lost.place(until);
            to.push(Counted {
                place,
                events: (last.iter().sum::<usize>() - first.iter().sum::<usize>()) as u32,
                lost: behind.saturating_sub(before) as u32,
            });
            (first, first_lost) = (last, Some(behind));
            place += 1;
        } else {
            // Jump over columns in which nothing happened.
            let ahead = grid.place(scale, SessionTime(next));
            place = ahead.saturating_sub(1).max(place + 1);
            first = from(grid.time(scale, place));
            first_lost = None;
        }
    }
    counted
}
