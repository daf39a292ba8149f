//! The way back: how things stood before each command.

use std::ops::Range;
use std::sync::Arc;

use netreel_protocol::session::{NodeId, SessionTime};

use crate::bookmarks::Bookmark;
use crate::lanes::LanePlan;
use crate::muted::Rules;
use crate::own_columns::OwnColumns;
use crate::plotted::Plotted;
use crate::sorting::Sorting;
use crate::{Command, Model, Selection};

/// How many steps back are kept.
const STEPS_MAX: usize = 256;

/// How things stood.
#[derive(Clone, Debug, PartialEq)]
struct Place {
    selection: Selection,
    cursor: Option<SessionTime>,
    pinned: Option<SessionTime>,
    against: Option<(NodeId, Option<NodeId>)>,
    visible: Range<SessionTime>,
    plotted: Option<Plotted>,
    measured: Option<Range<SessionTime>>,
    filter: String,
    bookmarks: Arc<[Bookmark]>,
    columns: Arc<OwnColumns>,
    sorting: Option<Sorting>,
    muted: Rules,
    lanes: Arc<LanePlan>,
}

/// Commands of a kind that follow each other are one step back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Time is moved, a little with each frame.
    Moves,
    /// The filter is typed, letter by letter.
    Types,
    Other,
}

/// Where somebody has been.
#[derive(Debug, Default)]
pub struct Trail {
    back: Vec<Place>,
    forward: Vec<Place>,
    last: Option<Kind>,
}

impl Trail {
    /// Forgets all of it: its packets and findings have other places now.
    pub fn clear(&mut self) {
        *self = Trail::default();
    }
}

impl Model {
    /// Whether there is a way back, and a way forward again.
    pub fn ways(&self) -> (bool, bool) {
        (!self.trail.back.is_empty(), !self.trail.forward.is_empty())
    }

    /// Remembers how things stand before a command.
    pub(crate) fn leave_trail(&mut self, command: &Command) {
        let kind = match command {
            Command::Hover(_)
            | Command::Back
            | Command::Forward
            | Command::ToggleField(_)
            | Command::GiveUp
            | Command::GoOn => return,
            Command::Pan(_) | Command::Zoom { .. } | Command::Show(_) => Kind::Moves,
            Command::SetFilter(_) | Command::TypeFilter(_) => Kind::Types,
            _ => Kind::Other,
        };
        let goes_on = kind != Kind::Other && self.trail.last == Some(kind);
        self.trail.last = Some(kind);
        let place = self.place();
        if goes_on || self.trail.back.last() == Some(&place) {
            return;
        }
        self.trail.forward.clear();
        self.trail.back.push(place);
        if self.trail.back.len() > STEPS_MAX {
            self.trail.back.remove(0);
        }
    }

    pub(crate) fn go_back(&mut self) {
        let now = self.place();
        // A command that changed nothing is no step.
        while let Some(place) = self.trail.back.pop() {
            if place != now {
                self.trail.forward.push(now);
                return self.go_to(place);
            }
        }
    }

    pub(crate) fn go_forward(&mut self) {
        if let Some(place) = self.trail.forward.pop() {
            self.trail.back.push(self.place());
            self.go_to(place);
        }
    }

    fn place(&self) -> Place {
        Place {
            selection: self.selection,
            cursor: self.cursor,
            pinned: self.pinned,
            against: self.against,
            visible: self.visible.clone(),
            plotted: self.plotted.clone(),
            measured: self.measured.clone(),
            filter: self.filter.text.clone(),
            bookmarks: Arc::clone(self.bookmarks()),
            columns: Arc::clone(self.own_columns()),
            sorting: self.sorting,
            muted: Arc::clone(self.muted()),
            lanes: Arc::clone(self.lane_plan()),
        }
    }

    fn go_to(&mut self, place: Place) {
        self.trail.last = None;
        if self.filter.text != place.filter {
            self.set_filter(place.filter);
        }
        if self.bookmarks() != &place.bookmarks {
            self.set_bookmarks(place.bookmarks);
        }
        self.set_own_columns(OwnColumns::clone(&place.columns));
        self.sort(place.sorting);
        self.set_muted(place.muted);
        self.set_lanes(place.lanes);
        self.select_nothing();
        if let Some(packet) = place.selection.packet {
            self.select_packet(packet);
        }
        self.selection = place.selection;
        self.story = self.tell();
        self.cursor = place.cursor;
        self.pinned = place.pinned;
        self.against = place.against;
        self.visible = place.visible;
        self.plotted = place.plotted;
        self.measured = place.measured;
        self.arrange_objects();
    }
}
