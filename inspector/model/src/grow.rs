//! The same session, further on: a recording that is followed.

use netreel_protocol::session::{PacketId, Session, SessionTime};

use crate::{Model, OwnColumns, Selection};

/// What a finding is known by when it has another place.
pub type Known = (&'static str, u16, Vec<u64>, SessionTime);

impl Model {
    /// Takes in what has come since, of a model of the same recording further on. Who looks at
    /// something goes on looking at it; who looks at the end sees the new end, and who has not looked
    /// around sees what is told of the whole. There is no way back to how things stood before: packets
    /// and findings may have other places. Where it is not known yet what followed there, what was
    /// known is shown, as far as it still holds.
    pub fn grow(&mut self, further: Model) {
        let before = self.selection;
        let packet = before
            .packet
            .and_then(|id| self.same_packet(id, further.session()));
        let finding = self.known_finding(before.finding);
        let span = self.span();
        let is_whole = self.visible == self.whole();
        let is_end = !is_whole && self.visible.end >= span.end;
        let visible = self.visible.clone();
        let early = self.take_early();
        let is_known = !further.lacks_history();

        let Model {
            session,
            index,
            judged,
            behind,
            names,
            unread,
            bookmarks,
            staying,
            ..
        } = further;
        self.session = session;
        self.staying = staying;
        self.grown += 1;
        self.index = index;
        self.names = names;
        self.arrange_lanes();
        self.trigger_lanes = self.trigger_lanes();
        self.unread = unread;
        self.trail.clear();
        if self.bookmarks.all.is_empty() {
            self.bookmarks = bookmarks;
        }
        self.find_bookmarks();
        self.type_names = Default::default();
        self.leads = Default::default();
        self.own.forget();
        self.has_sequences = Default::default();
        self.minimap = Default::default();
        self.densities = Default::default();
        self.select_nothing();
        if is_known {
            self.settle(judged);
            self.behind = behind;
        } else {
            self.go_on_with(early)
        }
        if !self.is_looked_at && self.selection.finding.is_some() {
            return;
        }
        if let Some(packet) = packet {
            self.select_packet(packet);
        }
        let finding = finding.and_then(|known| self.place_of(known));
        self.selection = Selection {
            finding,
            object: before.object,
            link: before.link,
            property: before.property,
            ..self.selection
        };
        self.story = self.tell();
        if is_whole || !self.is_looked_at {
            self.visible = self.whole();
        } else if is_end {
            let ns = self.span().end.0.saturating_sub(span.end.0);
            let shifted = |time: SessionTime| SessionTime(time.0.saturating_add(ns));
            self.show(shifted(visible.start)..shifted(visible.end));
        } else {
            self.show(visible);
        }
        self.arrange_objects();
        self.look_order();
    }

    /// Goes on from the beginning of the same session, which was shown until this was read: its filter,
    /// and, where somebody has looked around in it, what is selected and the visible time. Who has not
    /// is shown what is told of the whole.
    pub fn go_on_from(&mut self, beginning: &Model) {
        if self.filter.text != beginning.filter.text {
            self.set_filter(beginning.filter.text.clone());
        }
        self.set_own_columns(OwnColumns::clone(beginning.own_columns()));
        self.sort(beginning.sorting);
        if !beginning.is_looked_at {
            return;
        }
        self.is_looked_at = true;
        self.select_nothing();
        self.story.clear();
        let packet = beginning.selection.packet;
        if let Some(packet) = packet.and_then(|id| beginning.same_packet(id, &self.session)) {
            self.select_packet(packet);
        }
        (self.cursor, self.pinned) = (beginning.cursor, beginning.pinned);
        self.measured = beginning.measured.clone();
        self.plotted = beginning.plotted.clone();
        self.visible = if beginning.visible == beginning.whole() {
            self.whole()
        } else {
            beginning.visible.clone()
        };
    }

    /// Where a packet is in a session that has grown: packets that came late may stand before it.
    fn same_packet(&self, id: PacketId, grown: &Session) -> Option<PacketId> {
        let packet = self.session.packet(id)?;
        let known = (packet.first()?, packet.length);
        let is_same = |id: &PacketId| {
            grown
                .packet(*id)
                .is_some_and(|it| it.first().map(|stamp| (stamp, it.length)) == Some(known))
        };
        let near = id.0.saturating_sub(4096)..id.0.saturating_add(4096);
        near.map(PacketId)
            .take_while(|id| (id.0 as usize) < grown.packet_count())
            .find(is_same)
    }

    pub(crate) fn known_finding(&self, place: Option<usize>) -> Option<Known> {
        let finding = self.finding(place?)?;
        Some((
            finding.rule,
            finding.node.0,
            finding.objects.clone(),
            finding.time,
        ))
    }

    pub(crate) fn place_of(&self, known: Known) -> Option<usize> {
        let mut findings = self.history().findings.iter();
        let (rule, node, objects, time) = known;
        findings.position(|it| {
            (it.rule, it.node.0, it.time) == (rule, node, time) && it.objects == objects
        })
    }
}
