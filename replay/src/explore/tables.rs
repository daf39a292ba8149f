//! What nodes believe when all is delivered, and where they part.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};

/// What a node believes of each object that lives there: its owner, and a number for its values.
pub type Table = BTreeMap<u64, Belief>;

/// The owner of an object, where there is one, and a number for its values.
pub type Belief = (Option<u64>, u64);

/// In what nodes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Parting {
    /// Whether the object lives.
    Existence,
    /// Who owns it.
    Owner,
    /// Its values.
    Values,
}

/// An object of which not all nodes believe the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Difference {
    /// The protocol's number of the object.
    pub object: u64,
    /// In what they part.
    pub parting: Parting,
    /// The nodes that believe what the fewest believe, by their places.
    pub nodes: Vec<usize>,
}

/// Where these tables part; `None`: a node that says nothing, or is not there any more.
pub fn differences(tables: &[Option<Table>]) -> Vec<Difference> {
    let there: Vec<(usize, &Table)> = tables
        .iter()
        .enumerate()
        .filter_map(|(node, table)| Some((node, table.as_ref()?)))
        .collect();
    let objects: BTreeSet<u64> = there.iter().flat_map(|it| it.1.keys().copied()).collect();
    let mut found = Vec::new();
    for object in objects {
        let beliefs: Vec<(usize, Option<Belief>)> = there
            .iter()
            .map(|&(node, table)| (node, table.get(&object).copied()))
            .collect();
        let lives = part(&beliefs, |belief| u64::from(belief.is_some()));
        let owners = || part(&beliefs, |belief| number(&belief.map(|it| it.0)));
        let values = || part(&beliefs, |belief| number(&belief.map(|it| it.1)));
        let parting = lives
            .map(|nodes| (Parting::Existence, nodes))
            .or_else(|| Some((Parting::Owner, owners()?)))
            .or_else(|| Some((Parting::Values, values()?)));
        found.extend(parting.map(|(parting, nodes)| Difference {
            object,
            parting,
            nodes,
        }));
    }
    found
}

/// The nodes that are fewest in what they say; `None` where all say the same.
fn part<B: Copy>(beliefs: &[(usize, B)], says: impl Fn(B) -> u64) -> Option<Vec<usize>> {
    let mut groups: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for &(node, belief) in beliefs {
        groups.entry(says(belief)).or_default().push(node);
    }
    if groups.len() < 2 {
        return None;
    }
    groups
        .into_values()
        .min_by_key(|nodes| (nodes.len(), usize::MAX - nodes[0]))
}

pub(super) fn number(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(u64, u64, u64)]) -> Option<Table> {
        Some(
            rows.iter()
                .map(|&(object, owner, values)| (object, (Some(owner), values)))
                .collect(),
        )
    }

    #[test]
    fn a_zombie_is_a_difference_of_existence_at_the_node_that_has_it() {
        let tables = [table(&[]), table(&[]), table(&[(42, 1, 7)])];
        let found = differences(&tables);
        let expected = Difference {
            object: 42,
            parting: Parting::Existence,
            nodes: vec![2],
        };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn owners_and_values_part_where_all_have_the_object() {
        let owner = [
            table(&[(1, 1, 7)]),
            table(&[(1, 2, 7)]),
            table(&[(1, 1, 7)]),
        ];
        let values = [
            table(&[(1, 1, 7)]),
            table(&[(1, 1, 8)]),
            table(&[(1, 1, 7)]),
        ];
        let parting = |tables: &[Option<Table>]| differences(tables)[0].parting;
        assert_eq!(
            [parting(&owner), parting(&values)],
            [Parting::Owner, Parting::Values]
        );
    }

    #[test]
    fn a_node_that_is_gone_parts_from_nobody() {
        assert_eq!(
            differences(&[table(&[(1, 1, 7)]), None, table(&[(1, 1, 7)])]),
            []
        );
    }
}
