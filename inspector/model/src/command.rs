//! The only way to change what the inspector shows.

use std::ops::Range;

use netreel_protocol::session::{MessageId, PacketId, SessionTime};
use netreel_wire::TreeId;

use crate::Model;
use crate::scale::RANGE_NS_MIN;

/// What views ask for; applied at the end of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Select a packet, and the object that its most telling message is about.
    SelectPacket(PacketId),
    /// Select a message and its packet; its bits light up.
    SelectMessage(MessageId),
    /// Pin a field of the selected packet, or let go of it.
    PinField(Option<TreeId>),
    /// Select a finding: its first packet, its object, and all its evidence into view.
    SelectFinding(usize),
    /// Select one piece of a finding's evidence.
    SelectEvidence(usize, usize),
    /// Select an object, or none.
    SelectObject(Option<u64>),
    /// The pointer is over something, or no longer.
    Hover(Option<Hover>),
    /// Put the time cursor somewhere, or take it away.
    SetCursor(Option<SessionTime>),
    /// Move the visible time by so many ns.
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
    /// Show the whole session.
    ShowAll,
    /// Bring the selection into view with some time around it.
    FrameSelection,
    /// Select a neighbour.
    Step(Step),
    /// Filter the packets. An expression with a mistake changes nothing but the error.
    SetFilter(String),
    /// Open or close a field that has fields below it.
    ToggleField(TreeId),
    /// Let go of everything.
    Deselect,
}

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
}

/// What the pointer is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hover {
    /// A packet anywhere.
    Packet(PacketId),
    /// A field of the selected packet, in the tree.
    Field(TreeId),
    /// A byte of the selected packet, in the hex view.
    Byte(u32),
}

impl Model {
    /// Does what a view asked for.
    pub fn apply(&mut self, command: Command) {
        self.is_looked_at |= !matches!(command, Command::Hover(_) | Command::SetFilter(_));
        match command {
            Command::SelectPacket(packet) => {
                self.select_packet(packet);
                self.reveal_selection();
            }
            Command::SelectMessage(message) => self.select_message(message),
            Command::PinField(field) => self.selection.field = field,
            Command::SelectFinding(finding) => self.select_finding(finding),
            Command::SelectEvidence(finding, piece) => self.select_evidence(finding, piece),
            Command::SelectObject(object) => self.select_object(object),
            Command::Hover(hover) => self.hover = hover,
            Command::SetCursor(time) => {
                self.cursor = time.map(|time| time.clamp(self.span().start, self.span().end));
            }
            Command::Pan(ns) => {
                let visible = self.visible.clone();
                self.show(shifted(&visible, ns));
            }
            Command::Zoom { at, factor } => self.zoom(at, factor),
            Command::Show(range) => self.show(range),
            Command::ShowAll => self.visible = self.whole(),
            Command::FrameSelection => self.frame_selection(),
            Command::Step(step) => self.step(step),
            Command::SetFilter(text) => self.set_filter(text),
            Command::ToggleField(field) => self.detail.toggle(field),
            Command::Deselect => {
                self.select_nothing();
            }
        }
    }

    fn zoom(&mut self, at: SessionTime, factor: f64) {
        if !factor.is_finite() || factor <= 0.0 {
            return;
        }
        let whole = self.whole();
        let length = (self.visible.end.0 - self.visible.start.0) as f64;
        let longest = (whole.end.0 - whole.start.0).max(RANGE_NS_MIN) as f64;
        let new = (length / factor).clamp(RANGE_NS_MIN as f64, longest);
        let before = (at.0 - self.visible.start.0) as f64 * (new / length);
        let start = at.0.saturating_sub(before.round() as i64);
        self.show(SessionTime(start)..SessionTime(start.saturating_add(new.round() as i64)));
    }

    /// Shows a stretch of time, moved so that it lies within the session and not shorter or longer
    /// than can be shown.
    pub(crate) fn show(&mut self, range: Range<SessionTime>) {
        let whole = self.whole();
        let longest = (whole.end.0 - whole.start.0).max(RANGE_NS_MIN);
        let length = range.end.0.saturating_sub(range.start.0);
        let length = length.clamp(RANGE_NS_MIN, longest);
        let start = range
            .start
            .0
            .min(whole.end.0.saturating_sub(length))
            .max(whole.start.0);
        self.visible = SessionTime(start)..SessionTime(start.saturating_add(length));
    }

    fn select_message(&mut self, message: MessageId) {
        let Some(found) = self.session().message(message) else {
            return;
        };
        let (packet, object) = (found.packet, found.facts.object);
        self.select_packet(packet);
        self.selection.message = Some(message);
        if object.is_some() {
            self.select_object(object);
        }
        self.reveal_selection();
    }

    fn select_evidence(&mut self, finding: usize, piece: usize) {
        if self.selection.finding != Some(finding) {
            self.select_finding(finding);
        }
        let Some(message) = self
            .history()
            .findings
            .get(finding)
            .and_then(|finding| finding.evidence.get(piece))
            .map(|evidence| evidence.message)
        else {
            return;
        };
        self.select_message(message);
    }

    /// Pans so that the selected packet can be seen; what can be seen already does not move.
    fn reveal_selection(&mut self) {
        let Some(arrow) = self.selection.packet.and_then(|id| self.arrow(id)) else {
            return;
        };
        let seen = self.visible.contains(&arrow.start) || self.visible.contains(&arrow.end);
        if !seen {
            let middle = self.visible.start.0 + (self.visible.end.0 - self.visible.start.0) / 2;
            let visible = self.visible.clone();
            self.show(shifted(&visible, arrow.start.0.saturating_sub(middle)));
        }
    }

    fn frame_selection(&mut self) {
        if self.selection.finding.is_some() && !self.evidence().is_empty() {
            let times = self.story_times();
            self.frame(&times);
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
        let here = self.selection.packet.and_then(|id| self.nearest_row(id));
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
        };
        if let Some(packet) = target {
            self.apply(Command::SelectPacket(packet));
        }
    }

    /// A packet's row, or the row where it would stand.
    fn nearest_row(&self, packet: PacketId) -> Option<(usize, bool)> {
        match self.filter.taken() {
            Some(taken) => Some((taken.row(packet), taken.has(packet))),
            None => Some((packet.0 as usize, true)),
        }
    }

    fn on_link(&self, is_next: bool) -> Option<PacketId> {
        let links = &self.index.links;
        links.neighbour(self.session(), self.selection.packet?, is_next)
    }

    fn step_finding(&mut self, step: isize) {
        let count = self.history().findings.len();
        if count == 0 {
            return;
        }
        let target = match self.selection.finding {
            Some(finding) => (finding as isize + step).rem_euclid(count as isize) as usize,
            None if step > 0 => 0,
            None => count - 1,
        };
        self.select_finding(target);
    }
}

fn shifted(range: &Range<SessionTime>, ns: i64) -> Range<SessionTime> {
    SessionTime(range.start.0.saturating_add(ns))..SessionTime(range.end.0.saturating_add(ns))
}
