//! What a selection brings along, and how it is let go of.

use netreel_protocol::session::{Look, MessageId, PacketId};

use netreel_wire::{StreamId, TreeId};

use crate::detail::Detail;
use crate::{Model, Selection, lead};

/// How many messages about an object are looked at for one that is in view.
const ABOUT_MAX: usize = 4096;

impl Model {
    pub(crate) fn select_packet(&mut self, id: PacketId) {
        if self.packet(id).is_none() {
            return;
        }
        if self.selection.packet != Some(id) {
            let detail = self.detail_of(id);
            self.selection.stream = detail.same_stream(&self.detail, self.selection.stream);
            self.detail = detail;
        }
        self.selection.packet = Some(id);
        self.selection.link = None;
        self.selection.message = None;
        self.selection.field = None;
        self.hover = None;
        if let Some(object) = self.object_of(id) {
            self.set_object(Some(object));
        }
    }

    /// The object that goes with a packet: the story's where it is a piece of that, the selected one
    /// where it is about it, else what its most telling message is about.
    pub(crate) fn object_of(&self, id: PacketId) -> Option<u64> {
        if self.story.iter().any(|piece| piece.packet == id)
            && let Some(told) = self.pinned_finding()
            && told.object().is_some()
        {
            return told.object();
        }
        let messages = self.look(id).map(|look| look.messages).unwrap_or_default();
        let selected = self.selection.object;
        if selected.is_some() && messages.iter().any(|facts| facts.object == selected) {
            return selected;
        }
        messages
            .iter()
            .filter(|facts| facts.object.is_some())
            .max_by_key(|facts| {
                let kind = self.session.kind_of(facts);
                let role = kind.map(|kind| lead::weight(kind.role));
                // Of equals the first in the packet.
                (role, std::cmp::Reverse(facts.bits.start))
            })
            .and_then(|facts| facts.object)
    }

    /// The messages about an object that engines were handed or made themselves, in the order of
    /// time.
    pub(crate) fn messages_about(&self, object: u64) -> impl Iterator<Item = MessageId> + '_ {
        self.history()
            .objects
            .get(&object)
            .map_or(&[][..], |object| &object.deliveries)
            .iter()
            .filter_map(|&place| self.began(place))
    }

    /// Selects an object. The packet goes with it: it stays where it is about the object, else it is
    /// the first in view that is, or the first of all.
    pub(crate) fn select_object(&mut self, object: Option<u64>) {
        self.set_object(object);
        let Some(object) = object else { return };
        let is_about = |id| {
            let look: Option<Look> = self.look(id);
            look.is_some_and(|look| look.messages.iter().any(|it| it.object == Some(object)))
        };
        if self.selection.packet.is_some_and(is_about) {
            return;
        }
        let packet_of = |id: MessageId| Some(self.session.message(id)?.packet);
        let in_view = |message: &MessageId| {
            let arrow = packet_of(*message).and_then(|id| self.arrow(id));
            arrow.is_some_and(|arrow| self.visible.contains(&arrow.start))
        };
        let message = self
            .messages_about(object)
            .take(ABOUT_MAX)
            .find(in_view)
            .or_else(|| self.messages_about(object).next());
        match message.and_then(packet_of) {
            Some(packet) => {
                self.select_packet(packet);
                self.selection.message = message;
                self.set_object(Some(object));
            }
            None => self.select_no_packet(),
        }
    }

    /// A message, where the packet carries it: what proves something of a packet without messages names
    /// the one that comes next.
    pub(crate) fn carried(&self, message: MessageId, packet: PacketId) -> Option<MessageId> {
        let known = self.session.message(message)?;
        (known.packet == packet).then_some(message)
    }

    pub(crate) fn select_no_packet(&mut self) {
        self.selection.packet = None;
        self.selection.message = None;
        self.selection.field = None;
        self.selection.stream = StreamId::default();
        self.detail = Detail::default();
    }

    pub(crate) fn set_object(&mut self, object: Option<u64>) {
        self.selection.object = object;
        self.arrange_objects();
    }

    pub(crate) fn select_nothing(&mut self) {
        self.selection = Selection::default();
        self.story.clear();
        self.detail = Detail::default();
        self.hover = None;
        self.set_object(None);
    }

    pub(crate) fn pin_field(&mut self, field: Option<TreeId>) {
        self.selection.field = field;
        if let Some(stream) = field.and_then(|field| self.detail.stream_of(field)) {
            self.selection.stream = stream;
        }
    }

    pub(crate) fn show_stream(&mut self, stream: StreamId) {
        if self.detail.stream_bytes(stream).is_some() {
            self.selection.stream = stream;
        }
    }

    /// Lets go of one thing: the time cursor, else the measured time, else what is held against the
    /// cursor, else what is in focus, else the story.
    pub(crate) fn let_go(&mut self) {
        let focus = Selection {
            finding: None,
            ..self.selection
        };
        if self.cursor.is_some() {
            self.cursor = None;
        } else if self.measured.is_some() {
            self.measured = None;
        } else if self.pinned.is_some() {
            self.pinned = None;
        } else if self.against.is_some() {
            self.against = None;
        } else if focus != Selection::default() {
            self.select_no_packet();
            self.selection.link = None;
            self.selection.property = None;
            self.set_object(None);
        } else {
            self.end_story();
        }
    }

    pub(crate) fn end_story(&mut self) {
        self.selection.finding = None;
        self.story.clear();
    }
}
