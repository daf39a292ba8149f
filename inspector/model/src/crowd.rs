//! Some packets, ready to be drawn as arrows or as density.

use netreel_protocol::session::{Fate, Moments, NodeId, Packet, Session, SessionTime, Way};

use crate::hulls::Hulls;
use crate::times::{Gathering, Times};

/// Some packets, a row each, in the order of all packets.
#[derive(Clone, Debug, Default)]
pub struct Crowd {
    /// Over the stretches from an arrow's first moment to its last.
    pub arrows: Hulls,
    /// For each node when it sent and received them.
    pub lanes: Vec<Lane>,
}

/// The moments of one node.
#[derive(Clone, Debug, Default)]
pub struct Lane {
    /// When the node sent.
    pub sends: Kept,
    /// When it received.
    pub receipts: Kept,
    /// When it sent what was lost.
    pub lost: Kept,
}

/// Moments, while they are gathered and afterwards.
#[derive(Clone, Debug)]
pub enum Kept {
    Gathering(Gathering),
    Gathered(Times),
    /// The session has the same.
    InSession(NodeId, Way),
}

/// Moments in order.
pub enum Line<'a> {
    /// Those that were gathered.
    Own(&'a Times),
    /// Those of the session.
    Session(Moments<'a>),
    /// None.
    Nothing,
}

/// What is drawn of one packet.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// From an arrow's first moment to its last.
    stretch: (i64, i64),
    from: NodeId,
    to: NodeId,
    departed: Option<i64>,
    lost: bool,
    received: Option<i64>,
    duplicates: Vec<i64>,
}

impl Drawn {
    /// Of a packet whose arrow has this stretch.
    pub fn new(packet: &Packet, (start, end): (i64, i64)) -> Drawn {
        Drawn {
            stretch: (start.min(end), start.max(end)),
            from: packet.from,
            to: packet.to,
            departed: packet.departed().map(|stamp| stamp.time.0),
            lost: is_lost(packet),
            received: packet.received.map(|stamp| stamp.time.0),
            duplicates: packet.duplicates.iter().map(|stamp| stamp.time.0).collect(),
        }
    }
}

impl Drawn {
    /// Whether it was lost, if that is so now.
    pub fn is_lost(&self) -> bool {
        self.lost && self.departed.is_some()
    }

    /// The same as though nobody knew.
    pub fn not_lost(self) -> Drawn {
        Drawn {
            lost: false,
            ..self
        }
    }
}

impl Crowd {
    /// Of no packets, between this many nodes.
    pub fn new(nodes: usize) -> Crowd {
        let mut crowd = Crowd::default();
        crowd.lanes.resize_with(nodes, Lane::default);
        crowd
    }

    /// The same, to which all packets of a session are to be appended. What the session has as well
    /// is not kept: mostly all moments, except where one event is of several packets, or somebody
    /// else tells of the node.
    pub fn of_session(nodes: usize) -> Crowd {
        let mut crowd = Crowd::new(nodes);
        for lane in &mut crowd.lanes {
            lane.sends = Kept::Gathering(Gathering::comparing());
            lane.receipts = Kept::Gathering(Gathering::comparing());
        }
        crowd
    }

    /// Appends a packet.
    pub fn push(&mut self, session: &Session, drawn: &Drawn) {
        let (start, end) = drawn.stretch;
        self.arrows.push(start, end);
        let from = self.lanes.get_mut(usize::from(drawn.from.0));
        if let (Some(lane), Some(departed)) = (from, drawn.departed) {
            lane.sends.push(departed, session, (drawn.from, Way::Out));
        }
        if drawn.lost {
            self.push_lost(session, drawn);
        }
        if let Some(lane) = self.lanes.get_mut(usize::from(drawn.to.0)) {
            for &time in drawn.received.iter().chain(&drawn.duplicates) {
                lane.receipts.push(time, session, (drawn.to, Way::In));
            }
        }
    }

    /// Says that a packet which was appended was lost.
    pub fn push_lost(&mut self, session: &Session, drawn: &Drawn) {
        let from = self.lanes.get_mut(usize::from(drawn.from.0));
        if let (Some(lane), Some(departed)) = (from, drawn.departed) {
            lane.lost.push(departed, session, (drawn.from, Way::Out));
        }
    }

    /// Puts all moments in order, after the last packet.
    pub fn finish(&mut self, session: &Session) {
        self.arrows.shrink();
        for (node, lane) in (0..).map(NodeId).zip(&mut self.lanes) {
            lane.sends.finish(session, (node, Way::Out));
            lane.receipts.finish(session, (node, Way::In));
            lane.lost.finish(session, (node, Way::Out));
        }
    }

    /// How many bytes of memory it takes.
    pub fn memory(&self) -> usize {
        let moments: usize = self
            .lanes
            .iter()
            .flat_map(|lane| [&lane.sends, &lane.receipts, &lane.lost])
            .map(Kept::memory)
            .sum();
        self.arrows.memory() + self.lanes.len() * size_of::<Lane>() + moments
    }
}

impl Default for Kept {
    fn default() -> Kept {
        Kept::Gathering(Gathering::default())
    }
}

impl Kept {
    fn push(&mut self, time: i64, session: &Session, (node, way): (NodeId, Way)) {
        if let Kept::Gathering(gathering) = self {
            gathering.push(time, || session.moments(node, way));
        }
    }

    /// While they are gathered, all but the last few thousand.
    pub fn line<'a>(&'a self, session: &'a Session) -> Line<'a> {
        match self {
            Kept::Gathering(gathering) => Line::Own(gathering.so_far()),
            Kept::Gathered(times) => Line::Own(times),
            Kept::InSession(node, way) => match session.moments(*node, *way) {
                Some(moments) => Line::Session(moments),
                None => Line::Nothing,
            },
        }
    }

    fn finish(&mut self, session: &Session, (node, way): (NodeId, Way)) {
        if let Kept::Gathering(gathering) = self {
            *self = match std::mem::take(gathering).finish(session.moments(node, way)) {
                Some(times) => Kept::Gathered(times),
                None => Kept::InSession(node, way),
            };
        }
    }

    fn memory(&self) -> usize {
        match self {
            Kept::Gathering(gathering) => gathering.so_far().memory(),
            Kept::Gathered(times) => times.memory(),
            Kept::InSession(..) => 0,
        }
    }
}

impl Line<'_> {
    /// The one at a place.
    pub fn get(&self, place: usize) -> Option<i64> {
        match self {
            Line::Own(times) => times.get(place),
            Line::Session(moments) => moments.get(place).map(|time| time.0),
            Line::Nothing => None,
        }
    }

    /// The place of the first that is not before `time`.
    pub fn place(&self, time: i64) -> usize {
        match self {
            Line::Own(times) => times.place(time),
            Line::Session(moments) => moments.place(SessionTime(time)),
            Line::Nothing => 0,
        }
    }
}

/// Whether a packet is known not to have arrived.
pub fn is_lost(packet: &Packet) -> bool {
    matches!(packet.fate, Fate::Lost | Fate::SendFailed)
}
