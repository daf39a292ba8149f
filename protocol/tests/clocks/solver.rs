//! A solver of linear programs that tries everything.

/// `sum of terms <= most`.
pub struct Limit {
    pub terms: Vec<f64>,
    pub most: f64,
}

/// The most that a goal can be where all limits hold. Every set of as many limits as there are
/// unknowns, of which some multiples make the goal, says that it is no more than the same multiples
/// of what they allow; and the least of that is reached (linear programming duality).
pub fn most(limits: &[Limit], goal: &[f64]) -> f64 {
    let mut least = f64::INFINITY;
    let mut set: Vec<usize> = (0..goal.len()).collect();
    loop {
        let rows: Vec<&Limit> = set.iter().map(|&at| &limits[at]).collect();
        if let Some(by) = multiples(&rows, goal)
            && by.iter().all(|it| *it >= -1e-12)
        {
            let sum = by.iter().zip(&rows).map(|(by, limit)| by * limit.most);
            least = least.min(sum.sum());
        }
        let room = limits.len() - set.len();
        let Some(place) = (0..set.len()).rev().find(|&at| set[at] < room + at) else {
            return least;
        };
        set[place] += 1;
        for at in place + 1..set.len() {
            set[at] = set[at - 1] + 1;
        }
    }
}

/// With which multiples rows make a goal (Gauss).
fn multiples(rows: &[&Limit], goal: &[f64]) -> Option<Vec<f64>> {
    let n = goal.len();
    let mut table: Vec<Vec<f64>> = (0..n)
        .map(|at| {
            let own = rows.iter().map(|row| row.terms[at]);
            own.chain([goal[at]]).collect()
        })
        .collect();
    for at in 0..n {
        let best = (at..n).max_by(|&a, &b| table[a][at].abs().total_cmp(&table[b][at].abs()))?;
        if table[best][at].abs() < 1e-9 {
            return None;
        }
        table.swap(at, best);
        for line in (0..n).filter(|&line| line != at) {
            let by = table[line][at] / table[at][at];
            let own = table[at].clone();
            for (value, own) in table[line].iter_mut().zip(own) {
                *value -= by * own;
            }
        }
    }
    Some((0..n).map(|at| table[at][n] / table[at][at]).collect())
}
