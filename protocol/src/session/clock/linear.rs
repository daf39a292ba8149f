//! Linear programs of few unknowns: the greatest value of a linear function where many linear
//! inequalities hold.
//!
//! A point of the feasible set is held by as many inequalities as there are unknowns. The walk goes
//! from vertex to vertex along edges that raise the function (the simplex method of Dantzig, in the
//! form that keeps the inverse of the inequalities which hold the vertex). Rows have at most five
//! terms, so that a step costs little more than one look at every row. The next function begins at
//! the vertex where the one before ended.

use smallvec::SmallVec;

/// `sum of terms >= least`.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub terms: SmallVec<[(usize, f64); 5]>,
    pub least: f64,
}

impl Row {
    pub fn dot(&self, point: &[f64]) -> f64 {
        let terms = self.terms.iter();
        terms.map(|&(at, by)| by * value(point, at)).sum()
    }

    /// What a point lacks of `least`, as though it were reckoned with twice as many digits (Dekker):
    /// what is left of large numbers that cancel out counts.
    fn lacks(&self, point: &[f64]) -> f64 {
        let (mut sum, mut rest) = (self.least, 0.0);
        for &(at, by) in &self.terms {
            let own = -value(point, at);
            let product = by * own;
            rest += by.mul_add(own, -product);
            let next = sum + product;
            let part = next - sum;
            rest += (sum - (next - part)) + (product - part);
            sum = next;
        }
        sum + rest
    }
}

fn value(point: &[f64], at: usize) -> f64 {
    point.get(at).copied().unwrap_or(0.0)
}

/// A vertex under way.
pub(super) struct Walk {
    unknowns: usize,
    rows: Vec<Row>,
    /// The rows that hold the vertex.
    holding: Vec<usize>,
    is_holding: Vec<bool>,
    /// The inverse of these rows, column by column: column `k` is the way along which the `k`-th of
    /// them alone is left.
    inverse: Vec<f64>,
    point: Vec<f64>,
    /// A row that is not left any more.
    fixed: Option<usize>,
    steps: usize,
}

/// Walks that take more steps than this for each unknown and hundred rows are given up.
const STEPS_MAX: usize = 400;

/// After this many steps the inverse is made anew.
const STEPS_ANEW: usize = 64;

/// How many times a vertex is worked out: from nothing, and twice from what was still lacking.
const ROUNDS: usize = 3;

/// What is smaller counts as nothing.
const TINY: f64 = 1e-11;

impl Walk {
    /// Begins at the vertex that the rows at `holding` make; `None` where they make none.
    pub fn new(unknowns: usize, rows: Vec<Row>, holding: Vec<usize>) -> Option<Walk> {
        let mut is_holding = vec![false; rows.len()];
        for &row in &holding {
            *is_holding.get_mut(row)? = true;
        }
        let mut walk = Walk {
            unknowns,
            rows,
            holding,
            is_holding,
            inverse: Vec::new(),
            point: Vec::new(),
            fixed: None,
            steps: 0,
        };
        walk.anew()?;
        Some(walk)
    }

    /// Keeps to a row from now on; `false` where it does not hold the vertex.
    pub fn fix(&mut self, row: usize) -> bool {
        let holds = self.is_holding.get(row).copied().unwrap_or(false);
        self.fixed = holds.then_some(row);
        holds
    }

    /// The vertex.
    pub fn point(&self) -> &[f64] {
        &self.point
    }

    /// Goes to where the sum of terms is greatest. `None` where numbers are too far apart to tell.
    pub fn greatest(&mut self, goal: &[(usize, f64)]) -> Option<f64> {
        let most = STEPS_MAX * (self.unknowns + self.rows.len() / 100 + 1);
        let mut careful = false;
        for step in 0..most {
            careful |= step > most / 2;
            let Some(leaving) = self.leaving(goal, careful) else {
                let sum = goal.iter().map(|&(at, by)| by * value(&self.point, at));
                return Some(sum.sum::<f64>()).filter(|sum| sum.is_finite());
            };
            self.step(leaving)?;
        }
        None
    }

    fn column(&self, place: usize) -> &[f64] {
        let start = place * self.unknowns;
        self.inverse
            .get(start..start + self.unknowns)
            .unwrap_or(&[])
    }

    /// The place of the holding row along whose edge the goal rises most; with `careful` the first
    /// one along which it rises, which ends for sure (Bland).
    fn leaving(&self, goal: &[(usize, f64)], careful: bool) -> Option<usize> {
        let mut best: Option<(f64, usize, usize)> = None;
        for (place, &row) in self.holding.iter().enumerate() {
            if self.fixed == Some(row) {
                continue;
            }
            let column = self.column(place);
            let rise: f64 = goal.iter().map(|&(at, by)| by * value(column, at)).sum();
            let size = column.iter().fold(0.0f64, |most, it| most.max(it.abs()));
            let steep = rise / size.max(f64::MIN_POSITIVE);
            if steep.is_nan() || steep <= TINY {
                continue;
            }
            let better = match best {
                None => true,
                Some((_, _, known)) if careful => row < known,
                Some((known, ..)) => steep > known,
            };
            if better {
                best = Some((steep, place, row));
            }
        }
        best.map(|(_, place, _)| place)
    }

    /// Leaves one holding row and goes to where the next row holds.
    fn step(&mut self, leaving: usize) -> Option<()> {
        let way = self.column(leaving).to_vec();
        let size = way.iter().fold(0.0f64, |most, it| most.max(it.abs()));
        let mut first: Option<(f64, f64, usize)> = None;
        for (at, row) in self.rows.iter().enumerate() {
            if self.is_holding.get(at).copied().unwrap_or(true) {
                continue;
            }
            let towards = -row.dot(&way);
            if towards <= TINY * size {
                continue;
            }
            let far = (row.dot(&self.point) - row.least).max(0.0) / towards;
            let sooner = match first {
                None => true,
                Some((known, by, _)) => far < known || (far == known && towards > by),
            };
            if sooner {
                first = Some((far, towards, at));
            }
        }
        let (_, _, entering) = first?;
        let left = std::mem::replace(self.holding.get_mut(leaving)?, entering);
        *self.is_holding.get_mut(left)? = false;
        *self.is_holding.get_mut(entering)? = true;
        self.steps += 1;
        if self.steps.is_multiple_of(STEPS_ANEW) {
            return self.anew();
        }
        let row = self.rows.get(entering)?.clone();
        let pivot = row.dot(&way);
        for place in 0..self.holding.len() {
            let by = if place == leaving {
                continue;
            } else {
                row.dot(self.column(place)) / pivot
            };
            if by != 0.0 {
                let start = place * self.unknowns;
                let column = self.inverse.get_mut(start..start + self.unknowns)?;
                for (value, way) in column.iter_mut().zip(&way) {
                    *value -= by * way;
                }
            }
        }
        let start = leaving * self.unknowns;
        let column = self.inverse.get_mut(start..start + self.unknowns)?;
        for (value, way) in column.iter_mut().zip(&way) {
            *value = way / pivot;
        }
        self.refresh();
        Some(())
    }

    /// Makes the inverse anew (Gauss and Jordan, by the greatest pivot).
    fn anew(&mut self) -> Option<()> {
        let n = self.unknowns;
        if self.holding.len() != n {
            return None;
        }
        let mut matrix = vec![0.0; n * n];
        for (line, &row) in self.holding.iter().enumerate() {
            for &(at, by) in &self.rows.get(row)?.terms {
                *matrix.get_mut(line * n + at)? = by;
            }
        }
        // Lines of `inverse` are those of the unknowns until the end, where they become columns.
        let mut inverse = vec![0.0; n * n];
        for at in 0..n {
            inverse[at * n + at] = 1.0;
        }
        for at in 0..n {
            let size = |line: &usize| matrix[line * n + at].abs();
            let best = (at..n).max_by(|one, other| size(one).total_cmp(&size(other)))?;
            if size(&best) < 1e-300 {
                return None;
            }
            for column in 0..n {
                matrix.swap(at * n + column, best * n + column);
                inverse.swap(at * n + column, best * n + column);
            }
            let pivot = matrix[at * n + at];
            for column in 0..n {
                matrix[at * n + column] /= pivot;
                inverse[at * n + column] /= pivot;
            }
            for line in (0..n).filter(|&line| line != at) {
                let by = matrix[line * n + at];
                if by == 0.0 {
                    continue;
                }
                for column in 0..n {
                    matrix[line * n + column] -= by * matrix[at * n + column];
                    inverse[line * n + column] -= by * inverse[at * n + column];
                }
            }
        }
        self.inverse = vec![0.0; n * n];
        for line in 0..n {
            for column in 0..n {
                self.inverse[column * n + line] = inverse[line * n + column];
            }
        }
        self.refresh();
        Some(())
    }

    /// Works the vertex out of what holds it. Rows that hold it and are nearly parallel make large
    /// numbers of which little is left, so what is lacking then is put right (Wilkinson's iterative
    /// refinement).
    fn refresh(&mut self) {
        let mut point = vec![0.0; self.unknowns];
        for _ in 0..ROUNDS {
            let mut more = vec![0.0; self.unknowns];
            for (place, &row) in self.holding.iter().enumerate() {
                let lacks = self.rows.get(row).map_or(0.0, |row| row.lacks(&point));
                for (value, by) in more.iter_mut().zip(self.column(place)) {
                    *value += lacks * by;
                }
            }
            point
                .iter_mut()
                .zip(more)
                .for_each(|(value, by)| *value += by);
        }
        self.point = point;
    }

    /// By how much the vertex misses the row that it misses most.
    pub fn missed(&self) -> f64 {
        let missed = self.rows.iter().map(|row| row.least - row.dot(&self.point));
        missed.fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(terms: &[(usize, f64)], least: f64) -> Row {
        Row {
            terms: SmallVec::from_slice(terms),
            least,
        }
    }

    /// x and y of at least 0, x + 2 y of at most 8, x of at most 4.
    fn house() -> Vec<Row> {
        vec![
            row(&[(0, 1.0)], 0.0),
            row(&[(1, 1.0)], 0.0),
            row(&[(0, -1.0), (1, -2.0)], -8.0),
            row(&[(0, -1.0)], -4.0),
        ]
    }

    #[test]
    fn the_greatest_values_are_at_corners() {
        let mut walk = Walk::new(2, house(), vec![0, 1]).expect("a corner");
        for (goal, expected) in [
            ([1.0, 0.0], 4.0),
            ([0.0, 1.0], 4.0),
            ([1.0, 1.0], 6.0),
            ([-1.0, -1.0], 0.0),
            ([1.0, -1.0], 4.0),
        ] {
            let goal = [(0, goal[0]), (1, goal[1])];
            let found = walk.greatest(&goal).expect("a value");
            assert!((found - expected).abs() < 1e-9, "{goal:?}: {found}");
            assert!(walk.missed() < 1e-9);
        }
    }

    #[test]
    fn what_is_fixed_is_not_left() {
        let mut walk = Walk::new(2, house(), vec![0, 1]).expect("a corner");
        assert!(walk.fix(1));
        assert!(!Walk::new(2, house(), vec![0, 1]).expect("a corner").fix(3));
        let found = walk.greatest(&[(0, 1.0), (1, 5.0)]).expect("a value");
        assert!((found - 4.0).abs() < 1e-9, "{found}");
    }

    #[test]
    fn rows_that_make_no_corner_and_sets_without_an_end_are_refused() {
        assert!(Walk::new(2, house(), vec![0, 3]).is_none());
        let open = vec![row(&[(0, 1.0)], 0.0)];
        let mut walk = Walk::new(1, open, vec![0]).expect("a corner");
        assert_eq!(walk.greatest(&[(0, 1.0)]), None);
    }
}
