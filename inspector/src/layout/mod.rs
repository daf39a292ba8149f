//! Which panes a workspace has, and where they lie.

mod pane;
mod place;
mod tree;

pub use pane::Pane;
pub use place::{Divider, Placed, Sizes, place};
pub use tree::{Axis, Cut, Edge, Tree};

use crate::named::named;

named! {
    "workspace"
    /// What somebody works on: a set of panes. All workspaces share one focus, one cursor, one visible
    /// time and one filter.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Workspace {
        /// What went wrong, what led to it, and where in time.
        #[default]
        Why = "why",
        /// The packet table, the fields and the bytes.
        Packets = "packets",
        /// What nodes believed of objects, at the cursor and over time.
        State = "state",
        /// What links carried, and how.
        Links = "links",
        /// Two sessions, one above the other.
        Compare = "compare",
        /// A layer that is played, forward and back.
        Replay = "replay",
    }
}

/// What somebody does to a pane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Move {
    /// It has the whole workspace, or no longer.
    Alone(Pane),
    /// It goes away.
    Hide(Pane),
    /// It comes, or goes to an edge of the workspace.
    Edge(Pane, Edge),
    /// It goes to a side of another one.
    Dock(Pane, Pane, Edge),
}

impl Workspace {
    /// Its panes as they are at first.
    pub fn usual(self) -> Tree {
        use Pane::*;
        match self {
            Workspace::Why => Tree::above(
                Some(0.6),
                Tree::above(None, Timeline, Objects),
                Tree::beside(
                    Some(0.42),
                    Findings,
                    Tree::beside(Some(0.45), Fields, Bytes),
                ),
            ),
            Workspace::Packets => Tree::above(
                Some(0.56),
                Packets,
                Tree::beside(Some(0.42), Fields, Tree::beside(Some(0.6), Bytes, Notes)),
            ),
            Workspace::State => Tree::above(
                Some(0.54),
                Tree::beside(Some(0.62), Values, Map),
                Tree::above(None, Course, Objects),
            ),
            Workspace::Links => Tree::above(
                Some(0.46),
                Tree::beside(Some(0.52), Links, Ledger),
                Tree::Pane(Link),
            ),
            Workspace::Compare => Tree::above(
                Some(0.68),
                Tree::above(Some(0.5), Timeline, Other),
                Tree::beside(Some(0.64), Differences, Fields),
            ),
            Workspace::Replay => Tree::above(
                Some(0.62),
                Tree::beside(Some(0.5), Replay, Tree::above(Some(0.55), Layer, Parting)),
                Tree::Pane(Timeline),
            ),
        }
    }
}

impl std::str::FromStr for Workspace {
    type Err = String;

    fn from_str(name: &str) -> Result<Workspace, String> {
        Workspace::named(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pane_lies_in_a_workspace_and_in_none_twice() {
        let mut found = std::collections::BTreeSet::new();
        for (name, workspace) in Workspace::ALL {
            let panes = workspace.usual().panes();
            let once: std::collections::BTreeSet<Pane> = panes.iter().copied().collect();
            assert_eq!(once.len(), panes.len(), "{name}");
            found.extend(once);
        }
        assert_eq!(found.len(), Pane::ALL.len());
    }

    #[test]
    fn panes_and_workspaces_are_known_by_their_names() {
        for (name, pane) in Pane::ALL {
            assert_eq!(Pane::named(name), Ok(pane));
            assert_eq!(pane.name(), name);
        }
        for (name, workspace) in Workspace::ALL {
            assert_eq!(Workspace::named(name), Ok(workspace));
            assert_eq!(workspace.name(), name);
        }
        assert!(Pane::named("cellar").is_err_and(|why| why.contains("timeline, objects")));
    }
}
