//! What the inspector shows, as plain data: no window, no widgets, no pixels but as numbers.
//!
//! A [`Model`] holds a session and what somebody has picked out of it: one selection, one time
//! cursor, one visible stretch of time, one filter. Views ask it what to draw in a frame and hand
//! back [`Command`]s; [`Model::apply`] is the only way to change it. What a frame costs depends on
//! its pixels, never on the length of the recording.
//!
//! Why it is so: `docs/decisions/window.md`.

mod aside;
mod bandwidth;
mod believed;
mod beside;
mod bookmarks;
mod by_bytes;
mod by_field;
mod changes;
mod coming;
mod command;
mod comparison;
mod course;
mod crowd;
mod density;
mod detail;
mod filter;
mod findings;
mod flow;
mod focus;
mod folds;
mod followed;
mod grow;
mod hulls;
mod index;
mod judged;
mod lanes;
mod latest;
mod lead;
mod links;
mod log_lines;
mod map;
mod measured;
mod muted;
mod names;
mod nodes;
mod outcome;
mod own_columns;
mod ownership;
mod plotted;
mod pyramid;
mod scale;
mod seen;
mod share;
mod sorting;
mod streams;
mod summary;
mod swapped;
mod table;
mod taken;
pub mod text;
mod timeline;
mod times;
mod trail;
mod type_names;
mod variety;
mod why;
mod why_rows;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use netreel_protocol::history::{Evidence, History, Level};
use netreel_protocol::session::{Look, MessageId, NodeId, Packet, PacketId, Session, SessionTime};
use netreel_protocol::verdict::{Judgement, Verdict};
use netreel_wire::{Kind, KindId, MessageFacts, PropertyId, StreamId, TreeId};

pub use bandwidth::{LedgerBy, LedgerRow, bits_text, squarify};
pub use believed::{Believed, RowsOf, ValueCell, ValueRow, ValueRows};
pub use bookmarks::{Bookmark, BookmarkRow, Spot};
pub use by_bytes::{ByBytes, LinkBytes};
pub use by_field::ByField;
pub use command::{Command, Commands, Hover, Step};
pub use comparison::{Comparison, Difference};
pub use course::{Course, Courses};
pub use density::Bucket;
pub use detail::{BitOrder, ByteColumn, Change, Changes, Detail, FieldRow};
pub use filter::{Filter, Join};
pub use findings::{EvidenceRow, FindingRow};
pub use flow::{Flow, Flows, Rate};
pub use folds::Folds;
pub use followed::{Followed, Growth, Staying};
pub use lanes::{LaneMove, LanePlan, LaneRow};
pub use links::LinkEnds;
pub use log_lines::{LINES_MAX, LogLine, LogLines};
pub use map::{MARKS_MAX, Mark};
pub use measured::Measured;
pub use muted::{MutedRow, Rules};
pub use nodes::LaneNote;
pub use outcome::Outcome;
pub use own_columns::{FIELDS_MAX, OwnColumns};
pub use ownership::{Row, Stretch};
pub use plotted::{
    LineOf, PLOTTED_LINES_MAX, PLOTTED_PACKETS_MAX, PLOTTED_VALUES_MAX, Plot, PlotBy, PlotLine,
    Plotted,
};
pub use pyramid::Span;
pub use scale::{RANGE_NS_MIN, Scale, Tick, ticks};
pub use seen::{ARROWS_MAX, Arrow};
pub use sorting::{SORTED_BY_FIELD_MAX, Sorting};
pub use streams::{HEX_COLUMNS, HexRow, StreamRow, mask};
pub use summary::Shown;
pub use table::{Column, PacketRow};
pub use timeline::{Flag, MinimapColumn, Traffic};
pub use why_rows::{Held, WhyRow};

/// Stands for what takes longer than a frame to work out, until it is there.
pub const NOT_YET: &str = "being worked out";

/// Stands for what somebody has given up.
const GIVEN_UP: &str = "given up: \"go on\" above works it out";

/// What is picked out: the focus, which serves all views, and apart from it the finding whose story
/// is pinned until somebody ends it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// A packet.
    pub packet: Option<PacketId>,
    /// A message of the packet.
    pub message: Option<MessageId>,
    /// A pinned field of the packet.
    pub field: Option<TreeId>,
    /// The stream of the packet whose bytes are shown.
    pub stream: StreamId,
    /// The finding whose story is pinned, by its place in the history.
    pub finding: Option<usize>,
    /// An object.
    pub object: Option<u64>,
    /// A link that was picked by itself.
    pub link: Option<LinkEnds>,
    /// A property of the object.
    pub property: Option<PropertyId>,
}

/// What the inspector shows.
#[derive(Default)]
pub struct Model {
    session: Arc<Session>,
    /// A sentence for each reel that could not be read.
    unread: Vec<String>,
    index: index::Index,
    judged: judged::Judged,
    /// How far what is judged goes, where it is an earlier look's.
    behind: followed::Behind,
    staying: followed::Staying,
    coming: coming::Coming,
    /// What panes have worked out beside the window.
    beside: beside::Beside,
    /// How often the session has been another one, or further on.
    grown: u32,
    object_rows: Vec<Row>,
    type_names: type_names::TypeNames,
    leads: lead::Leads,
    /// The columns that somebody has added to the packet table.
    own: own_columns::Own,
    /// By what the packet table is sorted.
    sorting: Option<Sorting>,
    /// Its order, as far as it is known.
    order: Option<Arc<sorting::Order>>,
    has_sequences: OnceLock<bool>,
    minimap: timeline::Minimap,
    densities: density::Densities,
    seen: seen::Seen,
    story: Vec<Evidence>,
    selection: Selection,
    hover: Option<Hover>,
    cursor: Option<SessionTime>,
    /// The moment that the cursor's is held against.
    pinned: Option<SessionTime>,
    /// The nodes that are held against each other: one, until there is another.
    against: Option<(NodeId, Option<NodeId>)>,
    visible: Range<SessionTime>,
    /// The field that is drawn over time.
    plotted: Option<Plotted>,
    /// What somebody has measured.
    measured: Option<Range<SessionTime>>,
    filter: Filter,
    detail: Detail,
    names: names::Names,
    lanes: lanes::Lanes,
    trigger_lanes: BTreeMap<u64, NodeId>,
    trail: trail::Trail,
    bookmarks: bookmarks::Bookmarks,
    muted: muted::Muted,
    /// Whether somebody has selected something or moved through time.
    is_looked_at: bool,
    /// Whether it is the beginning of what is being read.
    is_beginning: bool,
}

impl Model {
    /// Opens a session where its story is: the worst finding selected and its evidence in view; the
    /// whole session where nothing went wrong.
    pub fn new(session: Arc<Session>, history: Arc<History>) -> Model {
        Model::without(session, history, &[])
    }

    /// The same of a session without reels that could not be read: a sentence for each.
    pub fn without(session: Arc<Session>, history: Arc<History>, unread: &[String]) -> Model {
        let mut model = Model::of_session(session, unread);
        model.settle(judged::Judged::new(&model.session, history, unread));
        model
    }

    /// What the session alone tells: all of it, and nothing that follows from its packets until
    /// [`Model::finish`] is called. Nobody is asked what packets carry.
    pub fn of_session(session: Arc<Session>, unread: &[String]) -> Model {
        let index = index::Index::new(&session);
        Model::indexed(session, unread, index)
    }

    fn indexed(session: Arc<Session>, unread: &[String], index: index::Index) -> Model {
        let mut model = Model {
            unread: unread.to_vec(),
            index,
            names: names::Names::new(&session),
            session,
            ..Model::default()
        };
        model.arrange_lanes();
        model.trigger_lanes = model.trigger_lanes();
        model.visible = model.whole();
        model
    }

    /// The beginning of a session of which the rest is being read: that its recordings end there is
    /// nothing to be told of. Nobody works out what follows from it.
    pub fn beginning(session: Arc<Session>) -> Model {
        Model {
            is_beginning: true,
            ..Model::of_session(session, &[])
        }
    }

    /// What there is to say of the recording, a sentence each.
    pub fn warnings(&self) -> Vec<String> {
        if self.is_beginning {
            Vec::new()
        } else {
            self.session.warnings()
        }
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The session, to be handed on.
    pub fn shared_session(&self) -> Arc<Session> {
        Arc::clone(&self.session)
    }

    /// What followed from its packets; nothing where that is [not known](Model::lacks_history) yet.
    pub fn history(&self) -> &History {
        &self.judged.history
    }

    /// What is picked out.
    pub fn selection(&self) -> Selection {
        self.selection
    }

    /// What the pointer was over in the last frame.
    pub fn hover(&self) -> Option<Hover> {
        self.hover
    }

    /// The time cursor.
    pub fn cursor(&self) -> Option<SessionTime> {
        self.cursor
    }

    /// The visible time.
    pub fn visible(&self) -> Range<SessionTime> {
        self.visible.clone()
    }

    /// The visible time over this many pixels.
    pub fn scale(&self, width: f32) -> Scale {
        Scale::folded(&self.visible, width, self.index.folds.clone())
    }

    /// The filter.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The selected packet from close up.
    pub fn detail(&self) -> &Detail {
        &self.detail
    }

    /// From the session's first event to its last.
    pub fn span(&self) -> Range<SessionTime> {
        self.session.span.clone()
    }

    /// All that can be shown: the session and a little room on both sides.
    pub fn whole(&self) -> Range<SessionTime> {
        let folds = &self.index.folds;
        let span = &self.session.span;
        let (start, end) = (folds.axis(span.start.0), folds.axis(span.end.0));
        let length = end.saturating_sub(start).max(RANGE_NS_MIN);
        let room = length / 40;
        let end = start.saturating_add(length).saturating_add(room);
        SessionTime(folds.session(start.saturating_sub(room)))..SessionTime(folds.session(end))
    }

    /// The bits of the shown stream of the selected packet that light up: what the pointer is over, else the
    /// pinned field, else the selected message.
    pub fn lit_bits(&self) -> Option<Range<u32>> {
        match self.hover {
            Some(Hover::Field(field)) => self.detail.bits(field, self.selection.stream),
            Some(Hover::Byte(byte)) => {
                let start = byte.saturating_mul(8);
                Some(start..start.saturating_add(8))
            }
            _ => self.pinned_bits(),
        }
    }

    /// The bits of the pinned field, else of the selected message.
    pub fn pinned_bits(&self) -> Option<Range<u32>> {
        let shown = self.selection.stream;
        if let Some(field) = self.selection.field {
            return self.detail.bits(field, shown);
        }
        let (bits, of) = self.selected_message()?;
        self.detail.bits_behind(&bits, of, shown)
    }

    /// The bits of the selected message, and the stream that they are in.
    pub fn selected_message(&self) -> Option<(Range<u32>, StreamId)> {
        let message = self.session.message(self.selection.message?)?;
        Some((message.facts.bits, message.facts.stream))
    }

    /// The fields that light up in the tree: the one that the pointer is over, or those that own the
    /// byte that it is over.
    pub fn lit_fields(&self) -> Vec<TreeId> {
        match self.hover {
            Some(Hover::Field(field)) => vec![field],
            Some(Hover::Byte(byte)) => self.detail.fields_at(byte, self.selection.stream),
            _ => Vec::new(),
        }
    }

    /// A packet of the session.
    pub fn packet(&self, id: PacketId) -> Option<Packet> {
        self.session.packet(id)
    }

    /// What a packet carries; `None` while only working that out for all packets could tell.
    pub(crate) fn look(&self, id: PacketId) -> Option<Look> {
        let session = &self.session;
        session.looks_at_once().then(|| session.look(id))
    }

    /// A packet's messages, in wire order.
    pub fn messages_of(
        &self,
        id: PacketId,
    ) -> impl Iterator<Item = (MessageId, MessageFacts)> + '_ {
        self.session.messages_of(id)
    }

    /// The message kinds of the wire.
    pub fn kinds(&self) -> &[Kind] {
        self.session.kinds()
    }

    /// A kind's name; `?` for a message that ended before saying.
    pub fn kind_name(&self, kind: Option<KindId>) -> &str {
        kind.and_then(|kind| self.kind(kind))
            .map_or("?", |kind| kind.name.as_str())
    }

    /// A kind of the wire.
    pub fn kind(&self, kind: KindId) -> Option<&Kind> {
        self.kinds().get(usize::from(kind.0))
    }

    /// A node's name.
    pub fn node_name(&self, node: NodeId) -> &str {
        self.session
            .node(node)
            .map_or("?", |node| node.name.as_str())
    }

    /// The name of the node with a protocol number; `peer 7` where no node says that it has it.
    pub fn peer_name(&self, peer: u64) -> String {
        self.session
            .nodes
            .iter()
            .find(|node| node.peer == Some(peer))
            .map_or_else(|| format!("peer {peer}"), |node| node.name.clone())
    }

    /// How many objects there are.
    pub fn object_count(&self) -> usize {
        self.judged.summaries.len()
    }

    /// What `netreel check` says of the session; `None` until its history is known.
    pub fn judgement(&self) -> Option<&Judgement> {
        self.judged.judgement.as_ref()
    }

    /// The verdict in a line, and the level to show it at: with the worst finding where it is wrong
    /// (`wrong: 2 errors · X got MIGRATE before CREATE`), with the reasons where it is unknown; before
    /// that how old it is, where it is of an earlier look.
    pub fn verdict(&self) -> (Option<Level>, String) {
        let (level, text) = self.verdict_known();
        (level, self.with_age(text))
    }

    fn verdict_known(&self) -> (Option<Level>, String) {
        let Some(judgement) = self.judgement() else {
            return (
                None,
                format!("findings: {}", self.why_not_yet().unwrap_or("none")),
            );
        };
        // Whoever looks at another finding than the worst is told of that one.
        let worst = self
            .selection
            .finding
            .as_ref()
            .or(self.judged.findings.order.first())
            .and_then(|&place| self.finding(place));
        match (judgement.verdict, worst) {
            (Verdict::Wrong, Some(worst)) => (
                Some(worst.level),
                format!("{} · {}", judgement.headline(), worst.sentence),
            ),
            (Verdict::Wrong, None) => (Some(Level::Error), judgement.headline()),
            (Verdict::Unknown, _) => (Some(Level::Warning), judgement.line()),
            (Verdict::Clean, None) => (None, judgement.headline()),
            (Verdict::Clean, Some(worst)) => {
                let lesser = [Level::Warning, Level::Info].map(|level| {
                    let counted = self.findings_counted(level);
                    counted.map_or_else(String::new, |it| format!(" · {it}"))
                });
                (
                    Some(worst.level),
                    format!("{}{}", judgement.headline(), lesser.concat()),
                )
            }
        }
    }

    /// A packet from close up, as far as it can be told by now.
    fn detail_of(&self, id: PacketId) -> Detail {
        let session = &self.session;
        let waits = !session.looks_at_once();
        let decoded = if waits { None } else { session.decode(id) };
        let mut detail = Detail::new(session.payload(id), decoded, bit_order(session));
        detail.note = self.payload_note(id);
        detail.waits = waits;
        if session.wire.is_none() {
            detail.columns = self.byte_columns(id);
        }
        detail
    }

    /// Decodes the selected packet, if that had to wait and need no longer.
    fn look_again(&mut self) {
        if self.detail.waits
            && self.session.looks_at_once()
            && let Some(packet) = self.selection.packet
        {
            self.detail = self.detail_of(packet);
        }
    }

    /// Takes in the history if it has come, and what the filter has found since the last frame.
    /// Returns whether the filter is still looking at packets, so that there has to be a next frame.
    pub fn advance(&mut self) -> bool {
        self.take_history(false);
        self.look_again();
        let more = self.advance_filter();
        self.look_order();
        more
    }

    /// Waits for what panes have begun to work out; the next [`advance`](Model::advance) has the order of
    /// the packet table.
    pub fn finish_beside(&self) {
        self.beside.finish();
    }

    /// What is being worked out beside the window.
    pub fn works_on(&self) -> Option<&'static str> {
        self.coming
            .is_under_way()
            .then_some("what followed")
            .or_else(|| self.beside.coming())
    }

    /// What was given up, and is not there.
    pub fn given_up(&self) -> Option<&'static str> {
        self.coming
            .is_given_up()
            .then_some("what followed")
            .or_else(|| self.beside.given_up())
    }

    /// Why something that is worked out beside the window is not there.
    pub fn why_waits(&self) -> &'static str {
        self.why_not_yet().unwrap_or(match self.beside.given_up() {
            Some(_) => GIVEN_UP,
            None => NOT_YET,
        })
    }

    /// Whether the session is so short that everything about it takes less than a frame.
    pub(crate) fn is_quick(&self) -> bool {
        self.session.packet_count() <= aside::AT_ONCE
    }

    /// How many bytes of memory the model takes beside the session and the history, by what they
    /// are for: what grows with the packets, and with the filter.
    pub fn memory(&self) -> Vec<(&'static str, usize)> {
        let mut memory = self.index.memory();
        memory.push(("findings", self.judged.memory() + self.muted_memory()));
        memory.push(("filter", self.filter.memory()));
        let order = self.order.as_ref();
        memory.push(("order", order.map_or(0, |order| order.memory())));
        memory
    }
}

/// Which end of a byte the wire fills first.
fn bit_order(session: &Session) -> BitOrder {
    match &session.wire {
        Some(wire) if !wire.is_lsb_first(None) => BitOrder::Msb,
        _ => BitOrder::Lsb,
    }
}
