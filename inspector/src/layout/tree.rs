//! Panes beside and above each other: a tree of cuts, as it is kept in a file.

use egui::Vec2;
use serde::{Deserialize, Serialize};

use super::Pane;

/// A workspace's panes: one, or two parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tree {
    /// One pane.
    Pane(Pane),
    /// Two parts, the first at the left.
    Beside(Box<Cut>),
    /// Two parts, the first on top.
    Above(Box<Cut>),
}

/// Two parts of a workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cut {
    /// How much the first part has, from 0 to 1; `None`: as much as the contents take.
    pub share: Option<f32>,
    /// The first part.
    pub first: Tree,
    /// The second.
    pub second: Tree,
}

/// How the two parts of a cut lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// One at the left of the other.
    Beside,
    /// One above the other.
    Above,
}

impl Axis {
    /// What of a size lies in its direction.
    pub(crate) fn along(self, size: Vec2) -> f32 {
        match self {
            Axis::Beside => size.x,
            Axis::Above => size.y,
        }
    }
}

/// Where something goes, seen from something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// At its left.
    Left,
    /// At its right.
    Right,
    /// Above it.
    Top,
    /// Below it.
    Bottom,
    /// In its place, which goes to where that one was.
    Swap,
}

impl Edge {
    /// All but the swap, with their names.
    pub const EDGES: [(&'static str, Edge); 4] = [
        ("left", Edge::Left),
        ("right", Edge::Right),
        ("top", Edge::Top),
        ("bottom", Edge::Bottom),
    ];
}

/// A deeper tree is none that a hand made.
const DEPTH_MAX: usize = 12;

impl From<Pane> for Tree {
    fn from(pane: Pane) -> Tree {
        Tree::Pane(pane)
    }
}

impl Tree {
    /// Two parts, the first at the left.
    pub fn beside(share: Option<f32>, first: impl Into<Tree>, second: impl Into<Tree>) -> Tree {
        Tree::Beside(Cut::new(share, first.into(), second.into()))
    }

    /// Two parts, the first on top.
    pub fn above(share: Option<f32>, first: impl Into<Tree>, second: impl Into<Tree>) -> Tree {
        Tree::Above(Cut::new(share, first.into(), second.into()))
    }

    /// The cut, where there are two parts.
    pub fn cut(&self) -> Option<(Axis, &Cut)> {
        match self {
            Tree::Pane(_) => None,
            Tree::Beside(cut) => Some((Axis::Beside, cut)),
            Tree::Above(cut) => Some((Axis::Above, cut)),
        }
    }

    fn cut_mut(&mut self) -> Option<&mut Cut> {
        match self {
            Tree::Pane(_) => None,
            Tree::Beside(cut) | Tree::Above(cut) => Some(cut),
        }
    }

    /// All panes, from left to right and from the top down.
    pub fn panes(&self) -> Vec<Pane> {
        match self {
            Tree::Pane(pane) => vec![*pane],
            Tree::Beside(cut) | Tree::Above(cut) => {
                let mut panes = cut.first.panes();
                panes.extend(cut.second.panes());
                panes
            }
        }
    }

    /// Whether it has a pane.
    pub fn has(&self, pane: Pane) -> bool {
        self.panes().contains(&pane)
    }

    /// Sets how much the first part of a cut has. `path` leads there: `true` is the second part.
    pub fn set_share(&mut self, path: &[bool], share: Option<f32>) {
        let Some(cut) = self.cut_mut() else { return };
        match path.split_first() {
            None => cut.share = share,
            Some((false, rest)) => cut.first.set_share(rest, share),
            Some((true, rest)) => cut.second.set_share(rest, share),
        }
    }

    /// Without a pane; `None` where there is no other one.
    pub fn without(self, pane: Pane) -> Option<Tree> {
        let (is_beside, cut) = match self {
            Tree::Pane(own) => return (own != pane).then_some(Tree::Pane(own)),
            Tree::Beside(cut) => (true, *cut),
            Tree::Above(cut) => (false, *cut),
        };
        let Cut {
            share,
            first,
            second,
        } = cut;
        match (first.without(pane), second.without(pane)) {
            (Some(first), Some(second)) if is_beside => Some(Tree::beside(share, first, second)),
            (Some(first), Some(second)) => Some(Tree::above(share, first, second)),
            (one, other) => one.or(other),
        }
    }

    /// With a pane at an edge of the whole.
    pub fn with(self, pane: Pane, side: Edge) -> Tree {
        let rest = match self.clone().without(pane) {
            Some(rest) => rest,
            None => return self,
        };
        match side {
            Edge::Left => Tree::beside(Some(0.35), pane, rest),
            Edge::Right => Tree::beside(Some(0.65), rest, pane),
            Edge::Top => Tree::above(Some(0.35), pane, rest),
            Edge::Bottom | Edge::Swap => Tree::above(Some(0.65), rest, pane),
        }
    }

    /// With a pane at a side of another one.
    pub fn dock(self, pane: Pane, at: Pane, side: Edge) -> Tree {
        if pane == at || !self.has(at) {
            return self;
        }
        if side == Edge::Swap {
            return self.with_each(&|it| match it {
                it if it == pane => at.into(),
                it if it == at => pane.into(),
                it => it.into(),
            });
        }
        let Some(rest) = self.clone().without(pane) else {
            return self;
        };
        rest.with_each(&|own| match side {
            _ if own != at => own.into(),
            Edge::Left => Tree::beside(Some(0.5), pane, own),
            Edge::Right => Tree::beside(Some(0.5), own, pane),
            Edge::Top => Tree::above(Some(0.5), pane, own),
            Edge::Bottom | Edge::Swap => Tree::above(Some(0.5), own, pane),
        })
    }

    /// With something else in the place of each pane.
    fn with_each(self, put: &dyn Fn(Pane) -> Tree) -> Tree {
        match self {
            Tree::Pane(pane) => put(pane),
            Tree::Beside(cut) => Tree::Beside(cut.with_each(put)),
            Tree::Above(cut) => Tree::Above(cut.with_each(put)),
        }
    }

    /// As it can be shown: no pane twice, no share that leaves no room. `None` where it is too deep.
    pub fn sane(mut self) -> Option<Tree> {
        self.straighten(0)?;
        let panes = self.panes();
        let is_once = |pane: &Pane| panes.iter().filter(|it| *it == pane).count() == 1;
        panes.iter().all(is_once).then_some(self)
    }

    fn straighten(&mut self, depth: usize) -> Option<()> {
        if depth > DEPTH_MAX {
            return None;
        }
        let Some(cut) = self.cut_mut() else {
            return Some(());
        };
        cut.share = cut.share.map(|share| {
            if share.is_finite() {
                share.clamp(0.05, 0.95)
            } else {
                0.5
            }
        });
        cut.first.straighten(depth + 1)?;
        cut.second.straighten(depth + 1)
    }
}

impl Cut {
    fn new(share: Option<f32>, first: Tree, second: Tree) -> Box<Cut> {
        Box::new(Cut {
            share,
            first,
            second,
        })
    }

    fn with_each(self, put: &dyn Fn(Pane) -> Tree) -> Box<Cut> {
        Cut::new(
            self.share,
            self.first.with_each(put),
            self.second.with_each(put),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::Workspace;
    use super::*;
    use Pane::*;

    fn three() -> Tree {
        Tree::above(
            Some(0.6),
            Timeline,
            Tree::beside(Some(0.4), Findings, Bytes),
        )
    }

    #[test]
    fn a_pane_that_is_taken_out_leaves_its_room_to_its_neighbour() {
        let rest = three().without(Findings).expect("others");
        assert_eq!(rest, Tree::above(Some(0.6), Timeline, Bytes));
        assert_eq!(Tree::Pane(Bytes).without(Bytes), None);
    }

    #[test]
    fn a_pane_goes_to_a_side_of_another() {
        let moved = three().dock(Timeline, Bytes, Edge::Right);
        let expected = Tree::beside(
            Some(0.4),
            Findings,
            Tree::beside(Some(0.5), Bytes, Timeline),
        );
        assert_eq!(moved, expected);
        let fresh = three().dock(Packets, Timeline, Edge::Top);
        assert_eq!(fresh.panes(), [Packets, Timeline, Findings, Bytes]);
    }

    #[test]
    fn two_panes_change_places() {
        let swapped = three().dock(Timeline, Bytes, Edge::Swap);
        assert_eq!(swapped.panes(), [Bytes, Findings, Timeline]);
    }

    #[test]
    fn whatever_is_done_no_pane_is_lost_and_none_is_there_twice() {
        let sides = [Edge::Left, Edge::Right, Edge::Top, Edge::Bottom, Edge::Swap];
        for (_, workspace) in Workspace::ALL {
            let tree = workspace.usual();
            let mut before = tree.panes();
            before.sort();
            for &pane in &before {
                for &at in &before {
                    for side in sides {
                        let moved = tree.clone().dock(pane, at, side).sane().expect("sane");
                        let mut after = moved.panes();
                        after.sort();
                        assert_eq!(after, before);
                    }
                }
            }
        }
    }

    #[test]
    fn a_tree_in_a_file_that_makes_no_sense_is_refused() {
        let twice = Tree::beside(None, Bytes, Bytes);
        assert_eq!(twice.sane(), None);
        let wide = Tree::beside(Some(f32::NAN), Bytes, Fields);
        assert_eq!(wide.sane(), Some(Tree::beside(Some(0.5), Bytes, Fields)));
        let mut deep = Tree::Pane(Bytes);
        for _ in 0..40 {
            deep = Tree::beside(None, Fields, deep);
        }
        assert_eq!(deep.sane(), None);
    }
}
