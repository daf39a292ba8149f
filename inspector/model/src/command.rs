//! The only way to change what the inspector shows.

use std::ops::Range;

use netreel_protocol::history::Evidence;
use netreel_protocol::session::{MessageId, NodeId, PacketId, SessionTime};
use netreel_wire::{StreamId, TreeId};

use crate::Model;
use crate::believed::ValueRow;
use crate::bookmarks::Spot;
use crate::lanes::LaneMove;
use crate::links::LinkEnds;
use crate::own_columns::OwnColumns;
use crate::plotted::Plotted;
use crate::scale::RANGE_NS_MIN;
use crate::sorting::Sorting;

/// What views ask for; applied at the end of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Select a packet, and the object that its most telling message is about.
    SelectPacket(PacketId),
    /// Select a message and its packet; its bits light up.
    SelectMessage(MessageId),
    /// Pin a field of the selected packet and show the stream that its bits are in; or let go of it.
    PinField(Option<TreeId>),
    /// Show the bytes of a stream of the selected packet.
    ShowStream(StreamId),
    /// Pin a finding's story: select its first packet and its object, and bring all its evidence
    /// into view.
    SelectFinding(usize),
    /// Select one piece of what stands below a finding in the list.
    SelectEvidence(usize, usize),
    /// Select an object, and a packet about it; or no object.
    SelectObject(Option<u64>),
    /// Select a link, or the selected packet's again.
    SelectLink(Option<LinkEnds>),
    /// Select a property of an object.
    SelectValue(ValueRow),
    /// Draw a field over time, or the value in focus again.
    Plot(Option<Plotted>),
    /// Hold what is shown against this moment, or no longer.
    Pin(Option<SessionTime>),
    /// Hold what two nodes believed against each other, or show all nodes again. A node alone waits
    /// for another one.
    Against(Option<(NodeId, Option<NodeId>)>),
    /// The pointer is over something, or no longer.
    Hover(Option<Hover>),
    /// Put the time cursor somewhere, or take it away.
    SetCursor(Option<SessionTime>),
    /// Put the time cursor somewhere and bring it into view.
    GoToTime(SessionTime),
    /// Pan so that a moment can be seen; what can be seen already does not move.
    Reveal(SessionTime),
    /// Move the visible time by this many ns of the axis.
    Pan(i64),
    /// Divide the visible time by `factor`; what is at `at` stays where it is.
    Zoom {
        /// The time that stays.
        at: SessionTime,
        /// Above 1 shows less time.
        factor: f64,
    },
    /// Show this stretch of time.
    Show(Range<SessionTime>),
    /// Measure a stretch of time, or take what was measured away.
    Measure(Option<Range<SessionTime>>),
    /// Show the whole session.
    ShowAll,
    /// Bring the selection into view with some time around it.
    FrameSelection,
    /// Select a neighbour.
    Step(Step),
    /// Filter the packets. An expression with a mistake changes nothing but the error.
    SetFilter(String),
    /// The same while it is typed: an unfinished word at its end takes and leaves out nothing yet.
    TypeFilter(String),
    /// Add these columns to the packet table, and no others.
    SetColumns(OwnColumns),
    /// Sort the packet table, or show it in the order of time.
    Sort(Option<Sorting>),
    /// Lay the lanes of the timeline otherwise.
    Lanes(LaneMove),
    /// Have the findings of a rule leave the list and the marks, or bring them back. The verdict stays.
    Mute(String, bool),
    /// Open or close a field that has fields below it.
    ToggleField(TreeId),
    /// Mark a spot with a note, or give one that is marked another note.
    Bookmark(Spot, String),
    /// Mark it no longer: its place in [`Model::bookmarks`].
    RemoveBookmark(usize),
    /// Bring a bookmark into view: its place in [`Model::bookmarks`].
    GoToBookmark(usize),
    /// Let go of one thing: the time cursor, else the measured time, else what is in focus, else the
    /// story.
    LetGo,
    /// Let go of the pinned finding alone.
    EndStory,
    /// Let go of everything.
    Deselect,
    /// Work on nothing beside the window any more.
    GiveUp,
    /// Work on what was given up.
    GoOn,
    /// Go back to how things stood before the last command.
    Back,
    /// Take that back.
    Forward,
}

/// What views have asked for, in order.
pub type Commands = Vec<Command>;

/// Where to go from the selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The next packet that the filter takes.
    NextPacket,
    /// The one before.
    PreviousPacket,
    /// The next packet of the same link.
    NextOnLink,
    /// The one before.
    PreviousOnLink,
    /// The first packet that the filter takes.
    FirstPacket,
    /// The last one.
    LastPacket,
    /// The next finding.
    NextFinding,
    /// The one before.
    PreviousFinding,
    /// The next bookmark by time.
    NextBookmark,
    /// The one before.
    PreviousBookmark,
}

/// What the pointer is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hover {
    /// A packet anywhere.
    Packet(PacketId),
    /// A field of the selected packet, in the tree.
    Field(TreeId),
    /// A byte of the shown stream of the selected packet, in the hex view.
    Byte(u32),
}

impl Model {
    /// Does what a view asked for.
    pub fn apply(&mut self, command: Command) {
        self.is_looked_at |= !matches!(
            command,
            Command::Hover(_)
                | Command::SetFilter(_)
                | Command::TypeFilter(_)
                | Command::SetColumns(_)
                | Command::Sort(_)
                | Command::Lanes(_)
                | Command::GiveUp
                | Command::GoOn
        );
        self.leave_trail(&command);
        self.perform(command);
    }

    /// The same without a way back.
    pub(crate) fn perform(&mut self, command: Command) {
        match command {
            Command::SelectPacket(packet) => {
                self.select_packet(packet);
                self.reveal_selection();
            }
            Command::SelectMessage(message) => self.select_message(message),
            Command::PinField(field) => self.pin_field(field),
            Command::ShowStream(stream) => self.show_stream(stream),
            Command::GiveUp => {
                self.coming.give_up();
                self.beside.give_up();
            }
            Command::GoOn => self.go_on(),
            Command::SelectFinding(finding) => self.select_finding(finding),
            Command::SelectEvidence(finding, piece) => self.select_evidence(finding, piece),
            Command::SelectObject(object) => self.select_object(object),
            Command::SelectLink(link) => self.selection.link = link,
            Command::SelectValue(ValueRow { object, property }) => {
                if self.selection.object != Some(object) {
                    self.select_object(Some(object));
                }
                self.selection.property = Some(property);
                self.plotted = None;
            }
            Command::Plot(plotted) => self.plotted = plotted,
            Command::Pin(time) => self.pinned = time,
            Command::Against(nodes) => self.against = nodes,
            Command::Hover(hover) => self.hover = hover,
            Command::SetCursor(time) => {
                self.cursor = time.map(|time| time.clamp(self.span().start, self.span().end));
            }
            Command::GoToTime(time) => {
                self.perform(Command::SetCursor(Some(time)));
                self.reveal(time);
            }
            Command::Reveal(time) => self.reveal(time),
            Command::Pan(ns) => self.pan(ns),
            Command::Zoom { at, factor } => self.zoom(at, factor),
            Command::Show(range) => self.show(range),
            Command::Measure(time) => self.measure(time),
            Command::ShowAll => self.visible = self.whole(),
            Command::FrameSelection => self.frame_selection(),
            Command::Step(step) => self.step(step),
            Command::SetFilter(text) => self.set_filter(text),
            Command::TypeFilter(text) => self.type_filter(text),
            Command::SetColumns(columns) => self.set_own_columns(columns),
            Command::Sort(sorting) => self.sort(sorting),
            Command::Lanes(change) => self.move_lanes(&change),
            Command::Mute(rule, is_muted) => self.mute(&rule, is_muted),
            Command::ToggleField(field) => self.detail.toggle(field),
            Command::Bookmark(at, note) => self.bookmark(at, note),
            Command::RemoveBookmark(place) => self.remove_bookmark(place),
            Command::GoToBookmark(place) => self.go_to_bookmark(place),
            Command::LetGo => self.let_go(),
            Command::EndStory => self.end_story(),
            Command::Deselect => self.select_nothing(),
            Command::Back => self.go_back(),
            Command::Forward => self.go_forward(),
        }
    }

    fn zoom(&mut self, at: SessionTime, factor: f64) {
        if !factor.is_finite() || factor <= 0.0 {
            return;
        }
        let (start, length) = self.on_axis(&self.visible);
        let (_, longest) = self.on_axis(&self.whole());
        let at = self.index.folds.axis(at.0);
        let longest = longest.max(RANGE_NS_MIN) as f64;
        let new = (length as f64 / factor).clamp(RANGE_NS_MIN as f64, longest);
        let before = at.saturating_sub(start) as f64 * (new / length.max(1) as f64);
        self.show_axis(at.saturating_sub(before.round() as i64), new.round() as i64);
    }

    fn pan(&mut self, ns: i64) {
        let (start, length) = self.on_axis(&self.visible);
        self.show_axis(start.saturating_add(ns), length);
    }

    /// A stretch of time on the axis: its start and its length.
    fn on_axis(&self, range: &Range<SessionTime>) -> (i64, i64) {
        let folds = &self.index.folds;
        let start = folds.axis(range.start.0);
        (start, folds.axis(range.end.0).saturating_sub(start))
    }

    /// Shows a stretch of time, moved so that it lies within the session and not shorter or longer
    /// than can be shown.
    pub(crate) fn show(&mut self, range: Range<SessionTime>) {
        let (start, length) = self.on_axis(&range);
        self.show_axis(start, length);
    }

    /// The same of a stretch of the axis.
    fn show_axis(&mut self, start: i64, length: i64) {
        let (first, longest) = self.on_axis(&self.whole());
        let length = length.clamp(RANGE_NS_MIN, longest.max(RANGE_NS_MIN));
        let start = start
            .min(first.saturating_add(longest).saturating_sub(length))
            .max(first);
        let folds = &self.index.folds;
        let end = folds.session(start.saturating_add(length));
        self.visible = SessionTime(folds.session(start))..SessionTime(end);
    }

    fn select_message(&mut self, message: MessageId) {
        let Some(found) = self.session.message(message) else {
            return;
        };
        let (packet, object) = (found.packet, found.facts.object);
        self.select_packet(packet);
        self.selection.message = Some(message);
        if object.is_some() {
            self.set_object(object);
        }
        self.reveal_selection();
    }

    fn select_evidence(&mut self, finding: usize, piece: usize) {
        if self.selection.finding != Some(finding) {
            self.select_finding(finding);
        }
        let Some(&Evidence {
            message, packet, ..
        }) = self.pieces(finding).get(piece)
        else {
            return;
        };
        match self.carried(message, packet) {
            Some(message) => self.select_message(message),
            None => self.perform(Command::SelectPacket(packet)),
        }
    }

    /// Pans so that the selected packet can be seen; what can be seen already does not move.
    fn reveal_selection(&mut self) {
        let Some(arrow) = self.selection.packet.and_then(|id| self.arrow(id)) else {
            return;
        };
        if !self.visible.contains(&arrow.end) {
            self.reveal(arrow.start);
        }
    }

    /// Pans so that a moment can be seen.
    pub(crate) fn reveal(&mut self, time: SessionTime) {
        if !self.visible.contains(&time) {
            let (start, length) = self.on_axis(&self.visible);
            let at = self.index.folds.axis(time.0);
            self.pan(at.saturating_sub(start.saturating_add(length / 2)));
        }
    }

    fn frame_selection(&mut self) {
        if self.selection.finding.is_some() && !self.evidence().is_empty() {
            self.frame(&self.story_times());
        } else if let Some(arrow) = self.selection.packet.and_then(|id| self.arrow(id)) {
            self.frame(&[arrow.start, arrow.end]);
        } else if let Some(object) = self.selection.object {
            let times: Vec<SessionTime> = self
                .history()
                .objects
                .get(&object)
                .into_iter()
                .flat_map(|object| object.lanes.values().flatten())
                .flat_map(|span| [span.time.start, span.time.end])
                .collect();
            self.frame(&times);
        }
    }

    fn step(&mut self, step: Step) {
        let rows = self.row_count();
        let here = self.selection.packet.map(|id| self.nearest_row(id));
        let target = match step {
            Step::FirstPacket => self.packet_at(0),
            Step::LastPacket => self.packet_at(rows.wrapping_sub(1)),
            Step::NextPacket => self.packet_at(match here {
                Some((row, true)) => row + 1,
                Some((row, false)) => row,
                None => 0,
            }),
            Step::PreviousPacket => match here {
                Some((row, _)) => row.checked_sub(1).and_then(|row| self.packet_at(row)),
                None => self.packet_at(rows.wrapping_sub(1)),
            },
            Step::NextOnLink => self.on_link(true),
            Step::PreviousOnLink => self.on_link(false),
            Step::NextFinding => return self.step_finding(1),
            Step::PreviousFinding => return self.step_finding(-1),
            Step::NextBookmark => return self.step_bookmark(true),
            Step::PreviousBookmark => return self.step_bookmark(false),
        };
        if let Some(packet) = target {
            self.perform(Command::SelectPacket(packet));
        }
    }

    /// A packet's row, or the row where it would stand.
    fn nearest_row(&self, packet: PacketId) -> (usize, bool) {
        let (row, is_taken) = match self.filter.taken() {
            Some(taken) => (taken.row(packet), taken.has(packet)),
            None => (packet.0 as usize, true),
        };
        (self.row_in_order(row), is_taken)
    }

    fn on_link(&self, is_next: bool) -> Option<PacketId> {
        self.index
            .links
            .neighbour(&self.session, self.selection.packet?, is_next)
    }

    fn step_finding(&mut self, step: isize) {
        let count = self.history().findings.len();
        let step = |at: usize| (at as isize + step).rem_euclid(count.max(1) as isize) as usize;
        let mut at = match self.selection.finding {
            Some(finding) => finding,
            None if step(0) == 1 % count.max(1) => count.wrapping_sub(1),
            None => 0,
        };
        for _ in 0..count {
            at = step(at);
            // The filter leaves some out, and some are muted.
            if self.finding_place(at).is_some() {
                return self.select_finding(at);
            }
        }
    }
}
