//! What somebody wants to find again: packets and stretches of time, each with a note.
//!
//! A packet is named by the reel and the number of an event that sent, received or saw it, because
//! packets' own numbers move while a session grows.

use std::ops::Range;
use std::sync::Arc;

use netreel_protocol::session::{NodeId, PacketId, SessionTime};
use netreel_reel::EventNumber;

use crate::{Command, Model, text};

/// What a bookmark is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spot {
    /// The packet that an event of a reel sent, received or saw.
    Packet {
        /// What people call whoever recorded the reel.
        reel: String,
        /// The event's number there.
        event: u64,
    },
    /// A stretch of time; a moment, where it ends as it begins.
    Time {
        /// Its first moment.
        from: SessionTime,
        /// Its last.
        to: SessionTime,
    },
}

/// A place that somebody wants to find again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bookmark {
    /// Where.
    pub at: Spot,
    /// What there is to say of it; may be empty.
    pub note: String,
}

/// A bookmark, as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct BookmarkRow {
    /// Its place in [`Model::bookmarks`].
    pub place: usize,
    /// The packet, where it is on one that the session has.
    pub packet: Option<PacketId>,
    /// The node of the packet's first moment.
    pub node: Option<NodeId>,
    /// When; `None` for a packet that the session does not have.
    pub time: Option<Range<SessionTime>>,
    /// What it is on: `packet 71  A → X`.
    pub title: String,
    /// What somebody wrote.
    pub note: String,
}

/// The bookmarks, and how they are shown.
#[derive(Clone, Debug, Default)]
pub struct Bookmarks {
    pub all: Arc<[Bookmark]>,
    /// In the order of time, what has none last.
    rows: Vec<BookmarkRow>,
    /// The row that somebody went to last.
    at: Option<usize>,
}

impl Model {
    /// All bookmarks, in the order in which they were made.
    pub fn bookmarks(&self) -> &Arc<[Bookmark]> {
        &self.bookmarks.all
    }

    /// The bookmarks in the order of time.
    pub fn bookmark_rows(&self) -> &[BookmarkRow] {
        &self.bookmarks.rows
    }

    /// Shows these bookmarks: what was kept of them.
    pub fn set_bookmarks(&mut self, all: Arc<[Bookmark]>) {
        self.bookmarks.all = all;
        self.find_bookmarks();
    }

    /// What a bookmark would be on: the selected packet, else the cursor, else the visible time.
    pub fn spot(&self) -> Spot {
        let packet = self.selection.packet;
        let time = || match self.cursor() {
            Some(at) => Spot::Time { from: at, to: at },
            None => self.visible_spot(),
        };
        packet.and_then(|id| self.spot_of(id)).unwrap_or_else(time)
    }

    /// The visible time, to be marked.
    pub fn visible_spot(&self) -> Spot {
        let visible = self.visible();
        Spot::Time {
            from: visible.start,
            to: visible.end,
        }
    }

    /// What a spot is called: `packet 71  A → X`, `0.155000 to 1.017000 s`.
    pub fn spot_text(&self, spot: &Spot) -> String {
        self.bookmark_row(0, spot, "").title
    }

    /// A packet's name that lasts.
    fn spot_of(&self, id: PacketId) -> Option<Spot> {
        let packet = self.packet(id)?;
        let session = &self.session;
        let node = |node: NodeId, event: EventNumber| (Some(node), event);
        let sent = packet.sent.map(|stamp| node(packet.from, stamp.number));
        let received = packet.received.map(|stamp| node(packet.to, stamp.number));
        let seen = packet.seen.first().map(|seen| (None, seen.stamp.number));
        let (node, event) = sent.or(received).or(seen)?;
        let reels = session.session_reels();
        // A proxy's reel, or an observer's, is no node's.
        let reel = reels
            .iter()
            .find(|reel| node.is_some() && reel.node == node)
            .or_else(|| reels.iter().find(|reel| reel.packet(event) == Some(id)))?;
        Some(Spot::Packet {
            reel: reel.name.clone(),
            event: event.0,
        })
    }

    /// Looks all of them up in the session.
    pub(crate) fn find_bookmarks(&mut self) {
        let mut rows: Vec<BookmarkRow> = Arc::clone(&self.bookmarks.all)
            .iter()
            .enumerate()
            .map(|(place, it)| self.bookmark_row(place, &it.at, &it.note))
            .collect();
        rows.sort_by_key(|row| {
            let time = row.time.as_ref().map(|time| (time.start, time.end));
            (time.is_none(), time)
        });
        self.bookmarks.rows = rows;
        self.bookmarks.at = None;
    }

    fn bookmark_row(&self, place: usize, at: &Spot, note: &str) -> BookmarkRow {
        let row = |packet, node, time, title| BookmarkRow {
            place,
            packet,
            node,
            time,
            title,
            note: note.to_owned(),
        };
        match at {
            Spot::Packet { reel, event } => {
                let id = self
                    .session
                    .session_reels()
                    .iter()
                    .filter(|it| it.name == *reel)
                    .find_map(|it| it.packet(EventNumber(*event)));
                let Some((id, packet)) = id.and_then(|id| Some((id, self.packet(id)?))) else {
                    let title = format!("event {event} of {reel}, which is not in this session");
                    return row(None, None, None, title);
                };
                let title = format!("packet {}  {}", id.0, self.link_name(&packet));
                let node = match packet.departed() {
                    Some(_) => packet.from,
                    None => packet.to,
                };
                row(
                    Some(id),
                    Some(node),
                    packet.first().map(|stamp| stamp.time..stamp.time),
                    title,
                )
            }
            Spot::Time { from, to } => {
                let title = if from == to {
                    format!("{} s", text::seconds(*from))
                } else {
                    format!("{} to {} s", text::seconds(*from), text::seconds(*to))
                };
                row(None, None, Some(*from..*to), title)
            }
        }
    }

    pub(crate) fn bookmark(&mut self, at: Spot, note: String) {
        let mut all = self.bookmarks.all.to_vec();
        match all.iter_mut().find(|it| it.at == at) {
            Some(known) => known.note = note,
            None => all.push(Bookmark { at, note }),
        }
        self.set_bookmarks(all.into());
    }

    pub(crate) fn remove_bookmark(&mut self, place: usize) {
        let mut all = self.bookmarks.all.to_vec();
        if place < all.len() {
            all.remove(place);
            self.set_bookmarks(all.into());
        }
    }

    pub(crate) fn go_to_bookmark(&mut self, place: usize) {
        let rows = &self.bookmarks.rows;
        let Some(at) = rows.iter().position(|row| row.place == place) else {
            return;
        };
        let row = rows[at].clone();
        self.bookmarks.at = Some(at);
        if let Some(packet) = row.packet {
            return self.perform(Command::SelectPacket(packet));
        }
        let Some(time) = row.time else { return };
        if time.start < time.end {
            let room = (time.end.0.saturating_sub(time.start.0)) / 10;
            let start = SessionTime(time.start.0.saturating_sub(room));
            self.show(start..SessionTime(time.end.0.saturating_add(room)));
        }
        self.perform(Command::GoToTime(time.start));
    }

    /// Goes to the next bookmark by time, or to the one before; around at the ends.
    pub(crate) fn step_bookmark(&mut self, is_next: bool) {
        let rows = &self.bookmarks.rows;
        let count = rows.len();
        if count == 0 {
            return;
        }
        let at = match (self.bookmarks.at, is_next) {
            (Some(at), true) => (at + 1) % count,
            (Some(at), false) => (at + count - 1) % count,
            (None, true) => 0,
            (None, false) => count - 1,
        };
        self.go_to_bookmark(rows[at].place);
    }

    /// The bookmarks as text for a bug report: a line each.
    pub fn bookmarks_text(&self) -> String {
        self.bookmarks
            .rows
            .iter()
            .map(|row| {
                let when = row
                    .time
                    .as_ref()
                    .filter(|_| row.packet.is_some())
                    .map_or_else(String::new, |time| {
                        format!("{} s  ", text::seconds(time.start))
                    });
                let note = match row.note.as_str() {
                    "" => String::new(),
                    note => format!("  {note}"),
                };
                format!("{when}{}{note}\n", row.title)
            })
            .collect()
    }
}
