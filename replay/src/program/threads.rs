//! Which of a program's threads a replay has to do with.

use std::collections::{BTreeMap, BTreeSet};

use netreel_reel::tape::THREADS_MAX;
use netreel_reel::{CallId, Endpoint, Event, EventNumber, Reel, SocketId, ThreadId};

use super::laid_out::first_at;

/// The program's threads that are replayed.
pub(super) struct Threads {
    /// By the number that a thread has in the reel.
    pub(super) indices: BTreeMap<ThreadId, u16>,
    /// By index.
    pub(super) identities: Vec<u64>,
    /// What a peek was shown, by the peek's event.
    pub(super) peeked: BTreeMap<EventNumber, (Endpoint, Vec<u8>)>,
    /// Those that use UDP sockets.
    packets: BTreeSet<ThreadId>,
    pub(super) missing: Vec<String>,
}

impl Threads {
    /// Those that use UDP sockets; `all`: the others as well.
    pub(super) fn of(reel: &Reel, all: bool) -> Threads {
        let mut identities = BTreeMap::new();
        let mut network = BTreeMap::new();
        let mut looking: Vec<ThreadId> = Vec::new();
        let mut peeks: BTreeMap<SocketId, Vec<(EventNumber, usize)>> = BTreeMap::new();
        let mut peeked = BTreeMap::new();
        reel.for_each(|record| {
            let thread = record.thread;
            if let Event::Called { call, details, .. } = record.event {
                match call {
                    CallId::THREAD => {
                        let identity = first_at(details, 0).map_or(0, u64::from_le_bytes);
                        identities.insert(thread, identity);
                    }
                    CallId::LOOKS_UP => looking.push(thread),
                    CallId::LOOKED_UP => looking.retain(|it| *it != thread),
                    _ => {}
                }
            }
            if looking.contains(&thread) {
                return;
            }
            if concerns_packets(&record.event) {
                network.entry(thread).or_insert(record.number);
            }
            match record.event {
                Event::Called {
                    call: CallId::PEEK,
                    result,
                    details,
                } => {
                    let (socket, count) = (SocketId(short(details, 0)), result.max(0) as usize);
                    peeks
                        .entry(socket)
                        .or_default()
                        .push((record.number, count));
                }
                Event::Received {
                    socket,
                    from,
                    payload,
                } => {
                    for (peek, count) in peeks.remove(&socket).unwrap_or_default() {
                        if let Some(shown) = payload.get(..count) {
                            peeked.insert(peek, (from, shown.to_vec()));
                        }
                    }
                }
                _ => {}
            }
        });
        let mut threads = Threads {
            indices: BTreeMap::new(),
            identities: Vec::new(),
            peeked,
            packets: network.keys().copied().collect(),
            missing: Vec::new(),
        };
        for (thread, first) in network {
            let identity = identities.get(&thread).copied().unwrap_or(0);
            threads.add(thread, identity, first);
        }
        let others = identities
            .iter()
            .filter(|(_, identity)| all && **identity != 0);
        for (thread, identity) in others {
            threads.add(*thread, *identity, EventNumber(0));
        }
        threads
    }

    /// Whether any uses UDP sockets.
    pub(super) fn have_packets(&self) -> bool {
        !self.packets.is_empty()
    }

    /// Whether this thread uses UDP sockets.
    pub(super) fn has_packets(&self, thread: ThreadId) -> bool {
        self.packets.contains(&thread)
    }

    fn add(&mut self, thread: ThreadId, identity: u64, first: EventNumber) {
        if identity == 0 {
            self.missing.push(format!(
                "the thread of event {first}, which uses a UDP socket, was made neither by \
                 pthread_create nor by thrd_create, so that a replay does not know it again"
            ));
            return;
        }
        let known = self.identities.iter().position(|it| *it == identity);
        let index = known.unwrap_or_else(|| {
            self.identities.push(identity);
            self.identities.len() - 1
        });
        match u16::try_from(index).ok().filter(|_| index < THREADS_MAX) {
            Some(index) => {
                self.indices.insert(thread, index);
            }
            None => self
                .missing
                .push(format!("there were more than {THREADS_MAX} threads")),
        }
    }
}

/// Whether a thread that does this has to do with packets.
fn concerns_packets(event: &Event<'_>) -> bool {
    match event {
        Event::Sent { .. }
        | Event::Received { .. }
        | Event::PollEmpty { .. }
        | Event::ReceiveFailed { .. }
        | Event::SocketOpened { .. } => true,
        Event::Called { call, .. } => socket_at(*call).is_some(),
        _ => false,
    }
}

/// Where the number of the socket lies in the details of a call on one.
pub(super) fn socket_at(call: CallId) -> Option<usize> {
    match call {
        CallId::SOCKET | CallId::CLOSE => Some(4),
        CallId::DUP => Some(8),
        CallId::BIND
        | CallId::CONNECT
        | CallId::PEEK
        | CallId::SET_OPTION
        | CallId::IOCTL
        | CallId::ERROR_QUEUE
        | CallId::SHUTDOWN
        | CallId::JOINED
        | CallId::PART
        | CallId::OWN_NAME
        | CallId::PEER_NAME
        | CallId::GET_OPTION
        | CallId::BATCH => Some(0),
        _ => None,
    }
}

pub(super) fn short(details: &[u8], at: usize) -> u16 {
    first_at(details, at).map_or(u16::MAX, u16::from_le_bytes)
}
