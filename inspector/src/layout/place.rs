//! Where the panes of a tree lie in a rectangle.

use egui::{Rect, Vec2, vec2};

use super::{Axis, Pane, Tree};

/// How large panes want to be, in points.
pub trait Sizes {
    /// How high, or how wide, a pane is of itself, of this much room at most; `None`: as much as it gets.
    /// Nothing: it is not shown at all.
    fn wanted(&self, pane: Pane, axis: Axis, room: f32) -> Option<f32>;
    /// Below this it says nothing.
    fn least(&self, pane: Pane) -> Vec2;
}

/// Where everything lies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placed {
    /// The panes that there is room for.
    pub panes: Vec<(Pane, Rect)>,
    /// What can be dragged between them.
    pub dividers: Vec<Divider>,
}

/// Between two parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Divider {
    /// Where its cut is; see [`Tree::set_share`].
    pub path: Vec<bool>,
    /// How the parts lie.
    pub axis: Axis,
    /// Both parts together.
    pub rect: Rect,
    /// Where the first part ends.
    pub at: f32,
    /// The panes at both of its sides, the nearest ones.
    pub between: (Pane, Pane),
}

/// Lays out a tree.
pub fn place(tree: &Tree, rect: Rect, sizes: &dyn Sizes) -> Placed {
    let mut placed = Placed::default();
    lay(tree, rect, sizes, &mut Vec::new(), &mut placed);
    placed
}

fn lay(tree: &Tree, rect: Rect, sizes: &dyn Sizes, path: &mut Vec<bool>, placed: &mut Placed) {
    let Some((axis, cut)) = tree.cut() else {
        if let Tree::Pane(pane) = tree {
            placed.panes.push((*pane, rect));
        }
        return;
    };
    let length = axis.along(rect.size());
    let own = |tree: &Tree| wanted(tree, axis, length, sizes);
    let (first, second) = (own(&cut.first), own(&cut.second));
    // A pane that is nothing of itself leaves all to the other one; one that is a line stays one.
    let is_line = |wanted: Option<f32>, tree: &Tree| match tree {
        Tree::Pane(pane) => wanted.filter(|it| *it <= axis.along(sizes.least(*pane))),
        _ => None,
    };
    let fixed = match (is_line(first, &cut.first), is_line(second, &cut.second)) {
        (Some(first), _) => Some(first),
        (None, Some(second)) => Some((length - second).max(0.0)),
        (None, None) => None,
    };
    let at = fixed.unwrap_or_else(|| {
        let of_first = match (cut.share, first, second) {
            (Some(share), ..) => length * share,
            (None, Some(first), _) => first,
            (None, None, Some(second)) => length - second,
            (None, None, None) => length / 2.0,
        };
        let (one, other) = (least(&cut.first, sizes), least(&cut.second, sizes));
        let (one, other) = (axis.along(one), axis.along(other));
        let floor = one.min(length * 0.7);
        let most = (length - other).max(length * 0.3).max(floor);
        of_first.clamp(floor, most).round()
    });
    let (one, other) = match axis {
        Axis::Above => rect.split_top_bottom_at_y(rect.top() + at),
        Axis::Beside => rect.split_left_right_at_x(rect.left() + at),
    };
    if fixed.is_none()
        && let (Some(before), Some(behind)) =
            (nearest(&cut.first, true), nearest(&cut.second, false))
    {
        placed.dividers.push(Divider {
            path: path.clone(),
            axis,
            rect,
            at,
            between: (before, behind),
        });
    }
    for (tree, rect, is_second) in [(&cut.first, one, false), (&cut.second, other, true)] {
        if axis.along(rect.size()) < 1.0 {
            continue;
        }
        path.push(is_second);
        lay(tree, rect, sizes, path, placed);
        path.pop();
    }
}

/// How high, or how wide, a tree is of itself: as its largest part, where they lie side by side.
fn wanted(tree: &Tree, axis: Axis, room: f32, sizes: &dyn Sizes) -> Option<f32> {
    match (tree, tree.cut()) {
        (Tree::Pane(pane), _) => sizes.wanted(*pane, axis, room),
        (_, Some((cuts, cut))) if cuts != axis => {
            let parts = [&cut.first, &cut.second].map(|part| wanted(part, axis, room, sizes));
            parts.into_iter().flatten().reduce(f32::max)
        }
        _ => None,
    }
}

/// The least room that all panes of a tree take.
fn least(tree: &Tree, sizes: &dyn Sizes) -> Vec2 {
    match tree.cut() {
        Some((axis, cut)) => {
            let (one, other) = (least(&cut.first, sizes), least(&cut.second, sizes));
            match axis {
                Axis::Beside => vec2(one.x + other.x, one.y.max(other.y)),
                Axis::Above => vec2(one.x.max(other.x), one.y + other.y),
            }
        }
        None => match tree {
            Tree::Pane(pane) => sizes.least(*pane),
            _ => Vec2::ZERO,
        },
    }
}

/// The last pane of a tree, or the first.
fn nearest(tree: &Tree, is_last: bool) -> Option<Pane> {
    let panes = tree.panes();
    let nearest = if is_last { panes.last() } else { panes.first() };
    nearest.copied()
}

#[cfg(test)]
mod tests {
    use egui::pos2;

    use super::super::Workspace;
    use super::*;

    /// Objects are a line, or as high as said; nothing else has a size of its own.
    struct Some_(f32);

    impl Sizes for Some_ {
        fn wanted(&self, pane: Pane, axis: Axis, _room: f32) -> Option<f32> {
            (pane == Pane::Objects && axis == Axis::Above).then_some(self.0)
        }

        fn least(&self, _pane: Pane) -> Vec2 {
            vec2(100.0, 23.0)
        }
    }

    fn screen(width: f32, height: f32) -> Rect {
        Rect::from_min_max(pos2(0.0, 0.0), pos2(width, height))
    }

    #[test]
    fn panes_cover_the_whole_and_do_not_overlap() {
        for (name, workspace) in Workspace::ALL {
            for (width, height) in [(1600.0, 900.0), (1000.0, 540.0), (320.0, 140.0)] {
                let all = screen(width, height);
                let placed = place(&workspace.usual(), all, &Some_(80.0));
                let area: f32 = placed.panes.iter().map(|(_, rect)| rect.area()).sum();
                assert!((area - all.area()).abs() < 1.0, "{name} {width}x{height}");
            }
        }
    }

    #[test]
    fn a_pane_that_is_nothing_leaves_its_room_and_one_that_is_a_line_has_no_divider() {
        let tree = Tree::above(None, Pane::Timeline, Pane::Objects);
        let none = place(&tree, screen(800.0, 600.0), &Some_(0.0));
        assert_eq!(none.panes, [(Pane::Timeline, screen(800.0, 600.0))]);
        let line = place(&tree, screen(800.0, 600.0), &Some_(23.0));
        assert_eq!(line.panes.len(), 2);
        assert!(line.dividers.is_empty());
        let more = place(&tree, screen(800.0, 600.0), &Some_(120.0));
        assert_eq!(more.dividers.len(), 1);
        assert_eq!(more.dividers[0].at, 480.0);
    }

    #[test]
    fn no_pane_is_smaller_than_it_must_be_where_there_is_room() {
        let tree = Tree::beside(Some(0.01), Pane::Packets, Pane::Bytes);
        let placed = place(&tree, screen(800.0, 600.0), &Some_(80.0));
        assert_eq!(placed.panes[0].1.width(), 100.0);
    }
}
