//! All pieces of all clocks, on the clock of the first.

use super::map::on;
use super::pieces::{Pieces, Reading};
use super::solve::{Course, Disagreement, Sample, solve};

/// Where a piece of a clock is.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub course: Course,
    /// Whether packets both ways tie it to the first.
    pub is_tied: bool,
}

impl Placed {
    /// A time on the first clock, in the middle of where it may be.
    pub fn time(&self, at: u64) -> i128 {
        let (lower, upper) = (on(&self.course.lower, at), on(&self.course.upper, at));
        self.shifted(at, (lower + upper) / 2.0)
    }

    /// The same at one end of where it may be, which is one of the lines of its course.
    pub fn edge(&self, at: u64, line: &[(u64, f64)]) -> i128 {
        self.shifted(at, on(line, at))
    }

    fn shifted(&self, at: u64, shift_ns: f64) -> i128 {
        i128::from(at) + self.course.base_ns + (shift_ns + 0.5).floor() as i128
    }
}

/// Places all pieces: those that packets tie to the first where packets say, others by the calendar,
/// moved as little as it takes for no packet to arrive before it was sent.
pub(super) fn place(
    readings: &[Reading],
    pieces: &Pieces,
    samples: &[Sample],
    allowed_ns: f64,
) -> Result<Vec<Placed>, Disagreement> {
    let spans = pieces.spans();
    let mut placed: Vec<Option<Placed>> = vec![None; spans.len()];
    while let Some(next) = placed.iter().position(Option::is_none) {
        let is_open = |place: usize| placed[place].is_none();
        let (inner, others): (Vec<Sample>, Vec<Sample>) = samples
            .iter()
            .partition(|it| is_open(it.from) && is_open(it.to));
        let courses = solve(&spans, next, &inner, allowed_ns)?;
        let is_first = next == 0;
        let mut new: Vec<(usize, Placed)> = Vec::new();
        for (place, course) in courses.into_iter().enumerate() {
            let course = course.filter(|_| is_open(place));
            let is_tied = is_first;
            new.extend(course.map(|course| (place, Placed { course, is_tied })));
        }
        if !is_first {
            let shift_ns = shift_ns(readings, pieces, next, &new, &placed, &others);
            for (_, each) in &mut new {
                each.course.base_ns += shift_ns;
            }
        }
        for (place, each) in new {
            placed[place] = Some(each);
        }
    }
    Ok(placed.into_iter().flatten().collect())
}

/// What must be added to all of `new` at the least, from where the calendar has them.
fn shift_ns(
    readings: &[Reading],
    pieces: &Pieces,
    next: usize,
    new: &[(usize, Placed)],
    placed: &[Option<Placed>],
    others: &[Sample],
) -> i128 {
    let mut shift_ns = calendar(readings, pieces, next);
    // A clock that was set is best known by where it was before.
    let before = next.checked_sub(1).and_then(|gap| pieces.all.get(gap));
    if before.is_some_and(|it| it.is_gap)
        && let Some(Some(before)) = next.checked_sub(2).and_then(|place| placed.get(place))
    {
        shift_ns = before.course.base_ns;
    }
    let known = |place: usize| placed[place].as_ref();
    let own = |place: usize| new.iter().find(|it| it.0 == place).map(|it| &it.1);
    let (mut least, mut most) = (i128::MIN, i128::MAX);
    for sample in others {
        let (sent, received) = (sample.crossed.sent, sample.crossed.received);
        if let (Some(from), Some(to)) = (known(sample.from), own(sample.to)) {
            least = least.max(from.time(sent) - to.time(received));
        } else if let (Some(from), Some(to)) = (own(sample.from), known(sample.to)) {
            most = most.min(to.time(received) - from.time(sent));
        }
    }
    shift_ns.max(least).min(most)
}

fn calendar(readings: &[Reading], pieces: &Pieces, place: usize) -> i128 {
    let utc_of_zero_ns = |place: usize| {
        let clock = pieces.all[place].clock;
        let reading = readings.iter().find(|it| it.clock == clock);
        reading.map_or(0, |reading| reading.utc_of_zero_ns)
    };
    utc_of_zero_ns(place) - utc_of_zero_ns(0)
}

/// Every piece by the calendar alone, where times are too far apart to work with.
pub(super) fn by_calendar(readings: &[Reading], pieces: &Pieces) -> Vec<Placed> {
    let spans = pieces.spans().into_iter().enumerate();
    let placed = spans.map(|(place, span)| {
        let base_ns = calendar(readings, pieces, place);
        Placed {
            course: Course::only(base_ns, span),
            is_tied: place == 0,
        }
    });
    placed.collect()
}
