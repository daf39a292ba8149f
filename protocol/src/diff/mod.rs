//! What differs between two sessions, by what it means and not by its bytes.
//!
//! Nodes are the same by their names. What one said to another is the same where kind, object,
//! migration counter, tick, owner, origin and RPC are; of several the first is the first. Numbers that
//! every run counts anew (sequence numbers, acks, times) are no difference, nor is what was sent
//! again, nor when something was. Of what is the same in both it is then asked whether its other
//! fields are ([`Changed`]), and whether each node did the same with it ([`Differently`]); of objects,
//! what each node came to believe, one belief after the other ([`Belief`] sequences), and the last
//! value of each property; and of findings, which are gone, new, or of another level.
//!
//! Where one of the sessions has no migration counters at all, they are left out: all else would be
//! another thing by its counter alone.

mod beliefs;
mod content;
mod findings;
mod said;
mod sides;

pub use beliefs::{Believed, Counted, Valued};
pub use content::FieldChange;
pub use findings::{Findings, Same, finding_key};
pub use said::{Changed, Differently, Only, Said, Spoken};
pub use sides::ComparedSession;

use netreel_system::Cancel;

use sides::common_nodes;

/// Why two sessions cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiffError {
    /// One of them has no wire.
    #[error(
        "the {0} session has no wire: its packets are only bytes, and nothing tells what they mean; \
         name one with --wire FILE"
    )]
    NoWire(&'static str),
    /// They have no node in common.
    #[error(
        "no node of the first session has the name of one of the second: nothing can be compared"
    )]
    NoCommonNode,
    /// Nobody wants it any more.
    #[error("given up before all of it was compared")]
    GivenUp,
}

/// What differs between two sessions.
#[derive(Debug, Default)]
pub struct Diff {
    /// The names of the nodes of both.
    pub nodes: Vec<String>,
    /// Whether migration counters are compared: both sessions have some.
    pub counts: bool,
    /// The names of nodes that are in the first session alone, and in the second alone.
    pub other_nodes: [Vec<String>; 2],
    /// What was said.
    pub said: Said,
    /// What nodes came to believe of objects otherwise.
    pub believed: Vec<Believed>,
    /// How many lanes of beliefs were compared.
    pub beliefs: u64,
    /// The last values of properties that are not the same.
    pub valued: Vec<Valued>,
    /// How many of them were compared.
    pub values: u64,
    /// Findings.
    pub findings: Findings,
}

impl Diff {
    /// Compares two sessions.
    ///
    /// # Errors
    /// One has no wire, or they have nothing in common.
    pub fn new(sides: [ComparedSession<'_>; 2]) -> Result<Diff, DiffError> {
        Diff::while_wanted(sides, &Cancel::default())
    }

    /// The same, as long as it is wanted.
    ///
    /// # Errors
    /// As for [`Diff::new`]; and it may be no longer wanted.
    pub fn while_wanted(
        sides: [ComparedSession<'_>; 2],
        cancel: &Cancel,
    ) -> Result<Diff, DiffError> {
        for (side, name) in sides.iter().zip(["first", "second"]) {
            if side.session.wire.is_none() {
                return Err(DiffError::NoWire(name));
            }
        }
        let (common, other_nodes) = common_nodes(sides);
        if common.names.is_empty() {
            return Err(DiffError::NoCommonNode);
        }
        let said = Said::new(sides, &common, cancel);
        let (beliefs, believed) = beliefs::believed(sides, &common);
        let (values, valued) = beliefs::valued(sides, &common, cancel);
        let diff = Diff {
            other_nodes,
            said,
            believed,
            beliefs,
            valued,
            values,
            findings: Findings::new(sides),
            counts: common.counts,
            nodes: common.names,
        };
        // Who stopped halfway has nothing to say.
        cancel.goes_on().then_some(diff).ok_or(DiffError::GivenUp)
    }

    /// Whether nothing differs.
    pub fn is_same(&self) -> bool {
        self.other_nodes.iter().all(Vec::is_empty)
            && self.said.is_same()
            && self.believed.is_empty()
            && self.valued.is_empty()
            && self.findings.is_same()
    }

    /// Where they first part in what was said, done or believed: the earliest moment of either.
    pub fn first(&self) -> Option<First> {
        let said = &self.said;
        let only = (0..2).flat_map(|side| {
            let all = said.only[side].iter().enumerate();
            all.map(move |(place, it)| (it.time, First::Only { side, place }))
        });
        let changed = said
            .changed
            .iter()
            .enumerate()
            .map(|(place, it)| (it.time, First::Changed(place)));
        let differently = said
            .differently
            .iter()
            .enumerate()
            .map(|(place, it)| (it.time, First::Differently(place)));
        let believed = self
            .believed
            .iter()
            .enumerate()
            .map(|(place, it)| (it.time, First::Believed(place)));
        let all = only.chain(changed).chain(differently).chain(believed);
        // Of several at one moment the first of this order is the cause of the others.
        all.min_by_key(|&(time, _)| time).map(|(_, first)| first)
    }
}

/// Which difference is the first: a place in the lists of a [`Diff`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// [`Said::only`].
    Only {
        /// Which session has it.
        side: usize,
        /// Which it is.
        place: usize,
    },
    /// [`Said::changed`].
    Changed(usize),
    /// [`Said::differently`].
    Differently(usize),
    /// [`Diff::believed`].
    Believed(usize),
}
