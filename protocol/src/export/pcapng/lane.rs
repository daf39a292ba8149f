//! The packets of one reel on their way into frames, in the order of the reel, two blocks in memory
//! at a time.

use std::collections::{BTreeMap, VecDeque};
use std::iter::Peekable;
use std::net::Ipv4Addr;

use netreel_reel::{
    Endpoint, Event, EventNumber, FaultVerdict, Record, Reel, SendOutcome, SocketId, Time,
};

use super::extra;
use super::proxies::Proxies;
use super::whose::Whose;
use crate::session::clock::map::ClockMap;
use crate::session::{
    Crossing, Interfaces, NodeId, ObserverId, PacketId, Session, SessionTime, Stamp, Way,
};

/// One thing that becomes a frame.
pub(super) struct Item {
    pub number: EventNumber,
    pub time: SessionTime,
    pub what: What,
    /// Where a reel knows of it: the packet of the session.
    pub crossing: Option<Crossing>,
    /// Bytes of payload that the packet had, where the reel holds fewer.
    pub length: Option<u32>,
    /// What a proxy did to it.
    pub faults: Vec<FaultVerdict>,
    /// Packets before it, since the frame before, that an observer missed.
    pub missed: u64,
    /// The events that tell of them.
    pub missed_at: Vec<EventNumber>,
    /// Of what passed an observer, or was captured at a node, at which of its interfaces.
    pub interface: u16,
    start: usize,
    end: usize,
}

/// See [`Item::what`].
pub(super) enum What {
    /// The node sent it. `bound` is where its socket was bound then.
    Out {
        bound: Option<Endpoint>,
        to: Endpoint,
        outcome: Option<SendOutcome>,
    },
    /// The node was given it.
    In {
        bound: Option<Endpoint>,
        from: Endpoint,
    },
    /// It passed an observer.
    Seen { from: Endpoint, to: Endpoint },
    /// Something else than a packet; its words are the payload.
    Words,
}

/// The way through one reel.
pub(super) struct ReelCursor<'a> {
    pub whose: Whose,
    reel: &'a Reel,
    crossings: Peekable<Box<dyn Iterator<Item = (Crossing, Stamp)> + 'a>>,
    /// Makes the session's time of the reel's.
    clock: Option<&'a ClockMap>,
    extra: bool,
    sockets: BTreeMap<SocketId, Endpoint>,
    /// The first port that the reel tells of each socket: its first send may be what binds it.
    ports: BTreeMap<SocketId, u16>,
    /// Found as the session found them, from the same events.
    interfaces: Interfaces,
    /// Whether the reel was made of a capture at the node, at several of its interfaces.
    captured: bool,
    /// See [`Item::missed`].
    missed: u64,
    missed_at: Vec<EventNumber>,
    next_block: usize,
    now: Batch,
    /// The block after it, read already: a send's result may be there.
    ahead: Batch,
}

/// What one block holds.
#[derive(Default)]
struct Batch {
    items: VecDeque<Item>,
    bytes: Vec<u8>,
}

impl<'a> ReelCursor<'a> {
    /// A lane for each reel of the session, a proxy's too; with `extra`, what is not a packet as well.
    pub fn all(session: &'a Session, proxies: &Proxies<'a>, extra: bool) -> Vec<ReelCursor<'a>> {
        let nodes = (0..)
            .map(NodeId)
            .zip(&session.reels)
            .filter_map(|(node, reel)| Some((proxies.whose(node), reel.as_deref()?)))
            .filter(|(whose, _)| matches!(whose, Whose::Node(_)));
        let passed = (0..)
            .map(Whose::Proxy)
            .zip(&proxies.list)
            .map(|(whose, proxy)| (whose, &**proxy.reel));
        let observers = (0..)
            .map(ObserverId)
            .zip(&session.observers)
            .map(|(id, each)| (Whose::Observer(id), &*each.reel));
        nodes
            .chain(passed)
            .chain(observers)
            .map(|(whose, reel)| ReelCursor {
                whose,
                reel,
                crossings: crossings(session, proxies, whose).peekable(),
                clock: clock(session, proxies, whose),
                extra,
                sockets: BTreeMap::new(),
                ports: ports(reel),
                interfaces: Interfaces::default(),
                captured: match whose {
                    Whose::Node(node) => session.captured_at(node).len() > 1,
                    Whose::Proxy(_) | Whose::Observer(_) => false,
                },
                missed: 0,
                missed_at: Vec::new(),
                next_block: 0,
                now: Batch::default(),
                ahead: Batch::default(),
            })
            .collect()
    }

    /// The time of the next item, and whether it leaves the node; `None` at the end.
    pub fn peek(&mut self) -> Option<(SessionTime, bool)> {
        self.fill();
        let item = self.now.items.front()?;
        Some((item.time, matches!(item.what, What::Out { .. })))
    }

    /// Takes the next item and its payload.
    pub fn take(&mut self) -> Option<(Item, &[u8])> {
        self.fill();
        let item = self.now.items.pop_front()?;
        let payload = self.now.bytes.get(item.start..item.end).unwrap_or(&[]);
        Some((item, payload))
    }

    fn fill(&mut self) {
        while self.now.items.is_empty() {
            let more = self.next_block < self.reel.blocks();
            if !more && self.ahead.items.is_empty() {
                return;
            }
            std::mem::swap(&mut self.now, &mut self.ahead);
            self.ahead.items.clear();
            self.ahead.bytes.clear();
            if more {
                self.read_block();
            }
        }
    }

    fn read_block(&mut self) {
        let index = self.next_block;
        self.next_block += 1;
        // What cannot be read is among the session's warnings.
        let Ok(block) = self.reel.block(index) else {
            return;
        };
        for record in block.records() {
            self.record(&record);
        }
    }

    fn record(&mut self, record: &Record<'_>) {
        let mut interface = match record.event {
            Event::Sent { .. } | Event::Received { .. } if self.captured => {
                self.interfaces.seen(record.thread)
            }
            _ => 0,
        };
        let bound = |socket| self.bound(socket);
        let (what, payload) = match record.event {
            Event::Sent {
                socket,
                to,
                payload,
            } => {
                let (bound, outcome) = (bound(socket), None);
                (What::Out { bound, to, outcome }, payload)
            }
            Event::Received {
                socket,
                from,
                payload,
            } => {
                let bound = bound(socket);
                (What::In { bound, from }, payload)
            }
            Event::Seen { from, to, payload } => {
                interface = self.interfaces.seen(record.thread);
                (What::Seen { from, to }, payload)
            }
            Event::SendResult { of, outcome: came } => {
                if let Some(What::Out { outcome, .. }) = self.find(of).map(|item| &mut item.what) {
                    *outcome = Some(came);
                }
                return;
            }
            _ => return self.beside(record),
        };
        while self
            .crossings
            .next_if(|(crossing, _)| crossing.number < record.number)
            .is_some()
        {}
        let known = self
            .crossings
            .next_if(|(crossing, _)| crossing.number == record.number);
        // Of a packet whose end has a reel of its own, that one tells.
        if known.is_none() && matches!(self.whose, Whose::Proxy(_)) {
            return;
        }
        let time = match known {
            Some((_, stamp)) => stamp.time,
            None => self.time(record.number, record.time),
        };
        let crossing = known.map(|(crossing, _)| crossing);
        self.push((record.number, time), what, (crossing, interface), payload);
    }

    /// Takes an event that is no packet and no send's result.
    fn beside(&mut self, record: &Record<'_>) {
        match record.event {
            Event::SocketOpened { socket, local } => {
                self.sockets.insert(socket, local);
            }
            Event::Interface { link_type, name } => {
                self.interfaces.told(record.thread, link_type, name);
            }
            Event::CaptureDrops { count } => {
                self.missed = self.missed.saturating_add(count);
                self.missed_at.push(record.number);
            }
            Event::Cut { of, length } => {
                if let Some(item) = self.find(of) {
                    item.length = Some(length);
                }
            }
            Event::Fault { of, verdict } => {
                if let Some(item) = self.find(of) {
                    item.faults.push(verdict);
                }
            }
            _ => {}
        }
        if self.extra
            && let Some(words) = extra::words(&record.event)
        {
            let time = self.time(record.number, record.time);
            let at = (record.number, time);
            self.push(at, What::Words, (None, 0), words.as_bytes());
        }
    }

    /// Where a socket is bound; with the port that it was to get, where it has none yet.
    fn bound(&self, socket: SocketId) -> Option<Endpoint> {
        let mut told = self.sockets.get(&socket).copied();
        if told.is_none_or(|told| told.port() == 0)
            && let Some(&port) = self.ports.get(&socket)
        {
            let any = Endpoint::from((Ipv4Addr::UNSPECIFIED, port));
            told.get_or_insert(any).set_port(port);
        }
        told
    }

    fn push(
        &mut self,
        (number, time): (EventNumber, SessionTime),
        what: What,
        (crossing, interface): (Option<Crossing>, u16),
        payload: &[u8],
    ) {
        let start = self.ahead.bytes.len();
        self.ahead.bytes.extend_from_slice(payload);
        self.ahead.items.push_back(Item {
            number,
            time,
            what,
            crossing,
            length: None,
            faults: Vec::new(),
            missed: std::mem::take(&mut self.missed),
            missed_at: std::mem::take(&mut self.missed_at),
            interface,
            start,
            end: start + payload.len(),
        });
    }

    /// Packets that an observer missed after the last frame.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// An item that was not taken yet.
    fn find(&mut self, number: EventNumber) -> Option<&mut Item> {
        for batch in [&mut self.ahead, &mut self.now] {
            let place = batch.items.partition_point(|item| item.number < number);
            let found = batch.items.get_mut(place);
            if found.as_ref().is_some_and(|item| item.number == number) {
                return found;
            }
        }
        None
    }

    fn time(&self, number: EventNumber, time: Time) -> SessionTime {
        let clock = self.clock.map(|clock| clock.time(time, || number));
        clock.unwrap_or_default()
    }
}

/// See [`ReelCursor::ports`].
fn ports(reel: &Reel) -> BTreeMap<SocketId, u16> {
    let mut ports = BTreeMap::new();
    for (socket, local) in reel.endpoints() {
        if local.port() != 0 {
            ports.entry(*socket).or_insert(local.port());
        }
    }
    ports
}

/// The packets of a reel, in its order.
fn crossings<'a>(
    session: &'a Session,
    proxies: &Proxies<'_>,
    whose: Whose,
) -> Box<dyn Iterator<Item = (Crossing, Stamp)> + 'a> {
    let observer = match whose {
        Whose::Node(node) => return Box::new(session.crossings(node)),
        Whose::Proxy(place) => {
            let ends = proxies.get(place).map_or(&[][..], |proxy| &proxy.ends);
            let mut passed: Vec<(Crossing, Stamp)> = ends
                .iter()
                .flat_map(|&end| session.crossings(end))
                .collect();
            passed.sort_unstable_by_key(|(crossing, _)| crossing.number);
            return Box::new(passed.into_iter());
        }
        Whose::Observer(observer) => observer,
    };
    let mut sightings = Vec::new();
    for (place, packet) in (0..).zip(session.packets()) {
        for seen in packet.seen.iter().filter(|seen| seen.observer == observer) {
            let crossing = Crossing {
                number: seen.stamp.number,
                packet: PacketId(place),
                way: Way::Passing,
            };
            sightings.push((crossing, seen.stamp));
        }
    }
    sightings.sort_unstable_by_key(|(crossing, _)| crossing.number);
    Box::new(sightings.into_iter())
}

/// What brings a reel's clock onto the session's.
fn clock<'a>(session: &'a Session, proxies: &Proxies<'_>, whose: Whose) -> Option<&'a ClockMap> {
    match whose {
        Whose::Observer(id) => session.clock_of_observer(id),
        whose => session.clock(proxies.node(whose)?),
    }
}
