//! What nodes believe on the way of a run, looked at every few turns, beside what they believe without
//! changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::tables::Belief;

/// An object that lives at a node, and what the node believes of it.
pub(super) type Row = (u64, Belief);

/// Nodes are looked at every so many turns of each, ticks and calls, or less often where a recording is long.
const LOOK_TURNS: usize = 2;

/// A run is left when nodes believed at so many looks in a row what they believe without changes.
const LOOKS_ALIKE: usize = 4;

/// A run is left as well when nodes agree for so long, though on something else than without changes: what
/// was moved has come to an end. In nanoseconds.
const AGREED_NS: i64 = 1_000_000_000;

/// A node that does not come to rest shows in four times so many looks, the last ones.
const QUARTER: usize = 8;

/// What is kept of all looks takes so many bytes at most; beyond, every second look goes.
const LOOKS_BYTES: usize = 128 << 20;

/// What one node believes, by the objects' numbers; `None`: nobody says so.
type Rows = Option<Arc<[Row]>>;

/// What all nodes believe without changes, look by look.
#[derive(Debug)]
pub(super) struct Looks {
    /// Turns between two looks.
    stride: usize,
    looks: Vec<Box<[Rows]>>,
    bytes: usize,
    bytes_max: usize,
    nodes: usize,
    rows: Vec<Row>,
}

impl Looks {
    pub fn new(nodes: usize) -> Looks {
        Looks {
            stride: (LOOK_TURNS * nodes).max(1),
            looks: Vec::new(),
            bytes: 0,
            bytes_max: LOOKS_BYTES,
            nodes,
            rows: Vec::new(),
        }
    }

    /// Whether nodes are looked at before the turn at this place.
    pub fn is_due(&self, rank: usize) -> bool {
        rank.is_multiple_of(self.stride)
    }

    /// Whether any node ever said what it believes.
    pub fn says(&self) -> bool {
        self.looks
            .iter()
            .any(|look| look.iter().any(Option::is_some))
    }

    /// Keeps the look that is due: `read` gives what a node believes, and says whether anybody says so. What
    /// a node believes as at the look before is kept once.
    pub fn take(&mut self, read: impl Fn(usize, &mut Vec<Row>) -> bool) {
        let mut rows = std::mem::take(&mut self.rows);
        let mut look = Vec::new();
        for node in 0..self.nodes {
            if !read(node, &mut rows) {
                look.push(None);
                continue;
            }
            let last = self.looks.last().and_then(|last| last[node].as_ref());
            let kept = match last {
                Some(last) if **last == *rows => Arc::clone(last),
                _ => {
                    self.bytes += size_of_val(&rows[..]);
                    rows.as_slice().into()
                }
            };
            look.push(Some(kept));
        }
        self.bytes += size_of::<Rows>() * self.nodes;
        self.looks.push(look.into());
        self.rows = rows;
        if self.bytes > self.bytes_max {
            self.thin();
        }
    }

    /// Lets every second look go.
    fn thin(&mut self) {
        let mut place = 0;
        self.looks.retain(|_| {
            place += 1;
            place % 2 == 1
        });
        self.stride *= 2;
        self.bytes /= 2;
    }

    /// The nodes that believed something else in each quarter of the last looks.
    pub fn restless(&self) -> Vec<usize> {
        let last = self.looks.len().saturating_sub(4 * QUARTER);
        let last = &self.looks[last..];
        let moves = |node: usize, looks: &[Box<[Rows]>]| {
            looks.windows(2).any(|it| it[0][node] != it[1][node])
        };
        let nodes = 0..self.nodes;
        let restless = nodes.filter(|&node| {
            last.len() == 4 * QUARTER && last.chunks(QUARTER).all(|looks| moves(node, looks))
        });
        restless.collect()
    }

    fn at(&self, rank: usize) -> Option<&[Rows]> {
        self.looks.get(rank / self.stride).map(|look| &**look)
    }
}

/// Watches for the moment from which on a run shows nothing new: it goes as it does without changes, or nodes
/// agree on something else.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// At looks in a row nodes believed what they believe without changes.
    alike: Lasting,
    /// At looks in a row nodes agreed, but for what was on its way.
    agreed: Lasting,
    /// Of what objects nodes do not believe the same, and since when.
    disputed: BTreeMap<u64, i64>,
    /// What each node believed when it was looked at last.
    last: Vec<Option<Vec<Row>>>,
    /// When each node's values of an object moved last.
    moved: Vec<BTreeMap<u64, i64>>,
    /// Room for what nodes believe.
    spare: Vec<Vec<Row>>,
}

/// For how many looks in a row something held, and since when.
#[derive(Clone, Copy, Debug, Default)]
struct Lasting {
    looks: usize,
    since_ns: i64,
}

impl Lasting {
    /// A look at which it held, or not; for how many in a row it has held, and for how long.
    fn take(&mut self, holds: bool, at_ns: i64) -> (usize, i64) {
        match holds {
            true if self.looks == 0 => (self.looks, self.since_ns) = (1, at_ns),
            true => self.looks += 1,
            false => {
                (self.looks, self.since_ns) = (0, at_ns);
            }
        }
        (self.looks, at_ns.saturating_sub(self.since_ns))
    }
}

impl Watch {
    /// Looks at the nodes before a turn, by its place and time; whether they have believed for long enough
    /// what they believe without changes, or have agreed on something else.
    pub fn is_over(
        &mut self,
        looks: &Looks,
        (rank, at_ns): (usize, i64),
        quiet_ns: i64,
        read: impl Fn(usize, &mut Vec<Row>) -> bool,
    ) -> bool {
        let Some(base) = looks.at(rank) else {
            return false;
        };
        let now: Vec<Option<Vec<Row>>> = (0..base.len())
            .map(|node| {
                let mut rows = self.spare.pop().unwrap_or_default();
                read(node, &mut rows).then_some(rows)
            })
            .collect();
        let last = std::mem::replace(&mut self.last, now);
        let last_of = last.iter().chain(std::iter::repeat(&None));
        let now = self.last.iter().map(Option::as_deref).zip(last_of);
        let says = base.iter().any(Option::is_some);
        let mut pairs = base.iter().zip(now.clone());
        let alike = says && pairs.all(|(base, now)| are_alike(base.as_deref(), now));
        let (alike, alike_ns) = self.alike.take(alike, at_ns);
        if alike >= LOOKS_ALIKE && alike_ns >= quiet_ns {
            return true;
        }
        self.moved.resize_with(self.last.len(), BTreeMap::new);
        for ((now, last), moved) in now.clone().zip(&mut self.moved) {
            for &(object, (_, values)) in now.unwrap_or_default() {
                if moves(last, object, values) {
                    moved.insert(object, at_ns);
                }
            }
        }
        let since_ns = at_ns.saturating_sub(quiet_ns);
        let now = self.last.iter().map(Option::as_deref).zip(&self.moved);
        let mut living = now.filter(|it| it.0.is_some());
        let (first, others) = (living.next(), living);
        let mut disputed = BTreeMap::new();
        let mut any = false;
        for other in others {
            any = true;
            let dispute = |object| {
                let since = self.disputed.get(&object);
                disputed.insert(object, since.copied().unwrap_or(at_ns));
            };
            if let Some(first) = first {
                disputes(first, other, since_ns, dispute);
            }
        }
        self.disputed = disputed;
        let oldest = self.disputed.values().min();
        let agree = any && oldest.is_none_or(|since| at_ns.saturating_sub(*since) <= quiet_ns);
        let (_, agreed_ns) = self.agreed.take(agree, at_ns);
        self.spare.extend(last.into_iter().flatten());
        // Whatever was disputed in that time was settled: of the last moments nobody knows.
        agreed_ns >= AGREED_NS.saturating_add(quiet_ns)
    }
}

/// What a node believes now, and what it believed at the look before.
type Seen<'a> = (Option<&'a [Row]>, &'a Option<Vec<Row>>);

/// Whether a node believes what it believes without changes. A value may be another one as long as it moves:
/// it is on its way.
fn are_alike(base: Option<&[Row]>, (now, last): Seen<'_>) -> bool {
    match (base, now) {
        (None, None) => true,
        (Some(base), Some(now)) => {
            let mut rows = base.iter().zip(now);
            base.len() == now.len()
                && rows.all(|(base, now)| {
                    let (owner, values) = now.1;
                    base.0 == now.0
                        && base.1.0 == owner
                        && (base.1.1 == values || moves(last, now.0, values))
                })
        }
        _ => false,
    }
}

/// What a node believes now, and when its values moved last.
type Moving<'a> = (Option<&'a [Row]>, &'a BTreeMap<u64, i64>);

/// The objects of which two nodes do not believe the same. Values that moved at both since a time are on
/// their way.
fn disputes(
    (one, one_moved): Moving<'_>,
    (other, other_moved): Moving<'_>,
    since_ns: i64,
    mut take: impl FnMut(u64),
) {
    let moved = |of: &BTreeMap<u64, i64>, object| of.get(&object).is_some_and(|at| *at >= since_ns);
    let mut ones = one.unwrap_or_default().iter().peekable();
    let mut others = other.unwrap_or_default().iter().peekable();
    loop {
        let (one, other) = match (ones.peek(), others.peek()) {
            (None, None) => return,
            (Some(one), Some(other)) if one.0 == other.0 => (ones.next(), others.next()),
            (Some(one), Some(other)) if other.0 < one.0 => (None, others.next()),
            (None, _) => (None, others.next()),
            _ => (ones.next(), None),
        };
        match (one, other) {
            (Some(&(object, one)), Some(&(_, other))) => {
                let is_same = one.0 == other.0
                    && (one.1 == other.1 || moved(one_moved, object) && moved(other_moved, object));
                if !is_same {
                    take(object);
                }
            }
            (one, other) => one.or(other).into_iter().for_each(|row| take(row.0)),
        }
    }
}

/// Whether an object's values are others than at the look before.
fn moves(last: &Option<Vec<Row>>, object: u64, values: u64) -> bool {
    last.as_ref().is_some_and(|last| {
        let before = last.binary_search_by_key(&object, |row| row.0);
        before.map_or(true, |at| last[at].1.1 != values)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK_NS: i64 = 16_000_000;

    fn row(object: u64, values: u64) -> Row {
        (object, (Some(1), values))
    }

    /// Looks of one node that believes this, for so many looks.
    fn looks(rows: &[Row], count: usize) -> Looks {
        let mut looks = Looks::new(1);
        for _ in 0..count {
            looks.take(|_, into| {
                into.clear();
                into.extend_from_slice(rows);
                true
            });
        }
        looks
    }

    /// At which look a run is left in which the node believes these things, look by look.
    fn left(base: &Looks, quiet_ns: i64, believes: &[&[Row]]) -> Option<usize> {
        let mut watch = Watch::default();
        let mut looks = believes.iter().enumerate();
        looks.position(|(look, rows)| {
            let at = (look * LOOK_TURNS, (look * LOOK_TURNS) as i64 * TICK_NS);
            watch.is_over(base, at, quiet_ns, |_, into| {
                into.clear();
                into.extend_from_slice(rows);
                true
            })
        })
    }

    #[test]
    fn a_run_is_left_when_nodes_believed_the_same_often_and_long_enough() {
        let base = looks(&[row(1, 7)], 40);
        let (same, other): (&[Row], &[Row]) = (&[row(1, 7)], &[row(1, 8)]);
        assert_eq!(left(&base, 0, &[same; 10]), Some(LOOKS_ALIKE - 1));
        assert_eq!(left(&base, 8 * 2 * TICK_NS, &[same; 10]), Some(8));
        let parted = [same, other, other, same, same, same, same, same];
        assert_eq!(left(&base, 0, &parted), Some(6));
        assert_eq!(left(&base, 0, &[other; 10]), None);
    }

    #[test]
    fn a_value_that_moves_is_on_its_way() {
        let base = looks(&[row(1, 7)], 40);
        let moving: Vec<[Row; 1]> = (10..20).map(|values| [row(1, values)]).collect();
        let moving: Vec<&[Row]> = moving.iter().map(|it| &it[..]).collect();
        assert_eq!(left(&base, 0, &moving), Some(LOOKS_ALIKE));
    }

    #[test]
    fn nodes_agree_where_both_move_and_not_where_one_stands_still() {
        let mut base = Looks::new(2);
        for _ in 0..200 {
            base.take(|_, into| {
                *into = vec![row(1, 7)];
                true
            });
        }
        let left = |values: fn(usize, u64) -> u64| {
            let mut watch = Watch::default();
            (0..200).position(|look| {
                let rank = look * base.stride;
                let at = (rank, rank as i64 * TICK_NS / 2);
                watch.is_over(&base, at, 4 * TICK_NS, |node, into| {
                    *into = vec![row(1, values(node, look as u64))];
                    true
                })
            })
        };
        // The second node's values come a look later; in the other run none come.
        assert!(left(|node, look| 100 + look - node as u64).is_some());
        assert_eq!(
            left(|node, look| if node == 0 { 100 + look } else { 5 }),
            None
        );
    }

    #[test]
    fn an_object_more_or_another_owner_is_not_the_same() {
        let base = looks(&[row(1, 7)], 40);
        assert_eq!(left(&base, 0, &[&[row(1, 7), row(2, 7)][..]; 10]), None);
        assert_eq!(left(&base, 0, &[&[(1, (Some(2), 7))][..]; 10]), None);
        assert_eq!(left(&base, 0, &[&[][..]; 10]), None);
    }

    #[test]
    fn of_a_long_recording_every_second_look_is_kept() {
        let mut looks = Looks::new(1);
        looks.bytes_max = 4000;
        for rank in 0..400 {
            if looks.is_due(rank) {
                looks.take(|_, into| {
                    into.clear();
                    into.push(row(1, rank as u64));
                    true
                });
            }
        }
        assert!(looks.bytes <= 4000 && looks.stride > LOOK_TURNS);
        let rank = 3 * looks.stride;
        let kept = looks.at(rank).and_then(|look| look[0].as_deref());
        assert_eq!(kept, Some(&[row(1, rank as u64)][..]));
    }
}
