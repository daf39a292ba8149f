//! From a reel to the tape of answers.

use std::collections::BTreeMap;

use netreel_reel::tape::{
    ENTRIES_AT, Entry, TAPE_MAGIC, THREADS_AT, THREADS_MAX, TapeControl, UNKNOWN_RESULT,
};
use netreel_reel::{
    CallId, Endpoint, Event, EventNumber, PastId, Reel, SendOutcome, SocketId, ThreadId,
};

use super::Began;
use super::words::endpoint_bytes;
use crate::replayable::{NotReplayable, holes};
use crate::stretches::look;

/// The answers to a program, in order.
#[derive(Clone, Debug)]
pub struct Tape {
    /// As [`netreel_reel::tape`] lays them out.
    pub bytes: Vec<u8>,
    /// How many sends there are to be compared.
    pub sends: u64,
    /// How many events there are to be answered.
    pub events: u64,
    /// The number of the first one.
    pub first: Option<EventNumber>,
    /// What the program did that may go past the recorder, a sentence each: likely reasons should
    /// it part from the recording.
    pub doubts: Vec<String>,
}

const EAGAIN: i32 = 11;

/// Makes the tape of an unmodified program's reel. Refuses a reel in which something is missing
/// that the program would have to be answered.
pub fn record(reel: &Reel, began: &Began) -> Result<Tape, NotReplayable> {
    let threads = Threads::of(reel);
    let mut making = Making {
        threads: &threads,
        entries: Vec::new(),
        pending: BTreeMap::new(),
        looking: Vec::new(),
        joined: Vec::new(),
        over: false,
        sends: 0,
        events: 0,
        first: None,
        missing: Vec::new(),
        doubts: Vec::new(),
    };
    reel.for_each(|record| making.take(record.number, record.thread, &record.event));
    let mut missing = making.missing;
    missing.extend(threads.missing.iter().cloned());
    if threads.identities.is_empty() && missing.is_empty() {
        missing.push("it used no UDP socket, so that there is nothing to compare".to_owned());
    }
    if began.forked {
        missing.push(
            "it is a forked child, which begins in the middle of its parent's work".to_owned(),
        );
    }
    if reel.header().redacted.is_some() {
        missing.push("it is a redacted copy".to_owned());
    }
    missing.extend(holes(reel, &look(reel)));
    if !missing.is_empty() {
        missing.dedup();
        return Err(NotReplayable {
            node: reel.header().node.clone(),
            missing,
        });
    }
    let control = TapeControl {
        magic: TAPE_MAGIC,
        end: (ENTRIES_AT + making.entries.len()) as u64,
        threads: threads.identities.len() as u32,
        process: began.process,
        parent: began.parent,
        rings: began.rings.min(RINGS_MAX),
        capacity: began.capacity.min(CAPACITY_MAX),
        stop_at: u64::MAX,
        next: (ENTRIES_AT as u64).into(),
        ..TapeControl::default()
    };
    let mut bytes = vec![0; ENTRIES_AT];
    put_control(&mut bytes, &control);
    for (index, identity) in threads.identities.iter().enumerate() {
        let at = THREADS_AT + index * 8;
        if let Some(place) = bytes.get_mut(at..at + 8) {
            place.copy_from_slice(&identity.to_ne_bytes());
        }
    }
    bytes.extend_from_slice(&making.entries);
    Ok(Tape {
        bytes,
        sends: making.sends,
        events: making.events,
        first: making.first,
        doubts: making.doubts,
    })
}

/// What a recorder takes at most: a reel may say anything.
const RINGS_MAX: u32 = 256;
const CAPACITY_MAX: u32 = 1 << 26;

impl Tape {
    /// The program stops itself before this event.
    pub fn stop_at(&mut self, event: EventNumber) {
        let at = std::mem::offset_of!(TapeControl, stop_at);
        if let Some(place) = self.bytes.get_mut(at..at + 8) {
            place.copy_from_slice(&event.0.to_ne_bytes());
        }
    }

    /// The entry at this place of the tape, with its endpoint and its other bytes. `None` behind
    /// the last one.
    pub(super) fn at(&self, place: u64) -> Option<(Entry, &[u8], &[u8])> {
        let place = usize::try_from(place).ok().filter(|at| *at >= ENTRIES_AT)?;
        let (head, rest) = self
            .bytes
            .get(place..)?
            .split_first_chunk::<{ size_of::<Entry>() }>()?;
        let entry = entry_from(head);
        let bytes = rest.get(..entry.length as usize)?;
        let (endpoint, bytes) = bytes.split_at_checked(usize::from(entry.endpoint))?;
        Some((entry, endpoint, bytes))
    }
}

fn put_control(bytes: &mut [u8], control: &TapeControl) {
    let mut put = |at: usize, value: &[u8]| {
        if let Some(place) = bytes.get_mut(at..at + value.len()) {
            place.copy_from_slice(value);
        }
    };
    use std::mem::offset_of;
    put(offset_of!(TapeControl, magic), &control.magic.to_ne_bytes());
    put(offset_of!(TapeControl, end), &control.end.to_ne_bytes());
    put(
        offset_of!(TapeControl, threads),
        &control.threads.to_ne_bytes(),
    );
    put(
        offset_of!(TapeControl, process),
        &control.process.to_ne_bytes(),
    );
    put(
        offset_of!(TapeControl, parent),
        &control.parent.to_ne_bytes(),
    );
    put(offset_of!(TapeControl, rings), &control.rings.to_ne_bytes());
    put(
        offset_of!(TapeControl, capacity),
        &control.capacity.to_ne_bytes(),
    );
    put(
        offset_of!(TapeControl, stop_at),
        &control.stop_at.to_ne_bytes(),
    );
    let next = control.next.load(std::sync::atomic::Ordering::Relaxed);
    put(offset_of!(TapeControl, next), &next.to_ne_bytes());
}

fn entry_bytes(entry: &Entry) -> [u8; size_of::<Entry>()] {
    let mut bytes = [0; size_of::<Entry>()];
    bytes[..8].copy_from_slice(&entry.number.to_ne_bytes());
    bytes[8..16].copy_from_slice(&entry.value.to_ne_bytes());
    bytes[16..20].copy_from_slice(&entry.length.to_ne_bytes());
    bytes[20..24].copy_from_slice(&entry.result.to_ne_bytes());
    bytes[24..26].copy_from_slice(&entry.thread.to_ne_bytes());
    bytes[26..28].copy_from_slice(&entry.socket.to_ne_bytes());
    bytes[28..].copy_from_slice(&[entry.kind, entry.id, entry.endpoint, entry.flags]);
    bytes
}

fn entry_from(bytes: &[u8; size_of::<Entry>()]) -> Entry {
    let eight = |at: usize| u64::from_ne_bytes(std::array::from_fn(|index| bytes[at + index]));
    let two = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
    Entry {
        number: eight(0),
        value: eight(8),
        length: eight(16) as u32,
        result: (eight(16) >> 32) as i32,
        thread: two(24),
        socket: two(26),
        kind: bytes[28],
        id: bytes[29],
        endpoint: bytes[30],
        flags: bytes[31],
    }
}

/// Which of the program's threads had to do with packets.
struct Threads {
    /// By the number that a thread has in the reel.
    indices: BTreeMap<ThreadId, u16>,
    /// By index.
    identities: Vec<u64>,
    /// What a peek was shown, by the peek's event.
    peeked: BTreeMap<EventNumber, (Endpoint, Vec<u8>)>,
    missing: Vec<String>,
}

impl Threads {
    fn of(reel: &Reel) -> Threads {
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
                        let identity = details
                            .first_chunk()
                            .map_or(0, |it| u64::from_le_bytes(*it));
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
            missing: Vec::new(),
        };
        for (thread, first) in network {
            let identity = identities.get(&thread).copied().unwrap_or(0);
            threads.add(thread, identity, first);
        }
        threads
    }

    fn add(&mut self, thread: ThreadId, identity: u64, first: EventNumber) {
        if identity == 0 {
            self.missing.push(format!(
                "the thread of event {first}, which uses a UDP socket, was not made by \
                 pthread_create, so that a replay does not know it again"
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
                .push(format!("more than {THREADS_MAX} threads use UDP sockets")),
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
fn socket_at(call: CallId) -> Option<usize> {
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
        | CallId::OWN_NAME
        | CallId::PEER_NAME
        | CallId::GET_OPTION
        | CallId::BATCH => Some(0),
        _ => None,
    }
}

fn short(details: &[u8], at: usize) -> u16 {
    let two = details.get(at..).and_then(|rest| rest.first_chunk());
    two.map_or(u16::MAX, |two| u16::from_le_bytes(*two))
}

struct Making<'a> {
    threads: &'a Threads,
    entries: Vec<u8>,
    /// Where the entries of sends lie whose result is still to come.
    pending: BTreeMap<EventNumber, usize>,
    /// Threads that look a name up.
    looking: Vec<u16>,
    /// Threads whose next packets one call passed.
    joined: Vec<u16>,
    over: bool,
    sends: u64,
    events: u64,
    first: Option<EventNumber>,
    missing: Vec<String>,
    doubts: Vec<String>,
}

impl Making<'_> {
    fn take(&mut self, number: EventNumber, thread: ThreadId, event: &Event<'_>) {
        if let Event::Called {
            call: CallId::PAST,
            details,
            ..
        } = *event
        {
            self.past(number, PastId(details.first().copied().unwrap_or(0)));
        }
        if matches!(
            event,
            Event::Called {
                call: CallId::VDSO,
                ..
            }
        ) {
            self.doubts
                .push("it looked for the kernel's own library (vDSO), by which clocks are read past the recorder".to_owned());
        }
        let Some(&thread) = self.threads.indices.get(&thread) else {
            return;
        };
        if self.over || self.is_in_lookup(thread, event) {
            return;
        }
        let own = Entry {
            number: number.0,
            thread,
            kind: event.kind() as u8,
            ..Entry::default()
        };
        match *event {
            Event::Sent {
                socket,
                to,
                payload,
            } => {
                self.sends += 1;
                self.joined.retain(|it| *it != thread);
                self.pending.insert(number, self.entries.len());
                let entry = Entry {
                    socket: socket.0,
                    result: payload.len() as i32,
                    flags: UNKNOWN_RESULT,
                    ..own
                };
                self.push(entry, &endpoint_bytes(to), payload);
            }
            Event::SendResult { of, outcome } => self.result(of, outcome),
            Event::Received {
                socket,
                from,
                payload,
            } => {
                if self.joined.contains(&thread) {
                    self.miss(format!(
                        "the kernel joined packets for it (UDP_GRO, event {number}), which a \
                         replay cannot do"
                    ));
                }
                let entry = Entry {
                    socket: socket.0,
                    result: payload.len() as i32,
                    ..own
                };
                self.push(entry, &endpoint_bytes(from), payload);
            }
            Event::PollEmpty { socket } => {
                let entry = Entry {
                    socket: socket.0,
                    result: -EAGAIN,
                    ..own
                };
                self.push(entry, &[], &[]);
            }
            Event::ReceiveFailed { socket, code } => {
                let entry = Entry {
                    socket: socket.0,
                    result: -code,
                    ..own
                };
                self.push(entry, &[], &[]);
            }
            Event::ClockRead { clock, value } => {
                let entry = Entry {
                    id: clock.0,
                    value,
                    ..own
                };
                self.push(entry, &[], &[]);
            }
            Event::Called {
                call,
                result,
                details,
            } => {
                let entry = Entry {
                    id: call.0,
                    result,
                    ..own
                };
                self.called(entry, call, details);
            }
            _ => {}
        }
    }

    /// What a thread does while it looks a name up is the C library's.
    fn is_in_lookup(&mut self, thread: u16, event: &Event<'_>) -> bool {
        if let Event::Called { call, .. } = event {
            if *call == CallId::LOOKS_UP {
                self.looking.push(thread);
            } else if *call == CallId::LOOKED_UP {
                self.looking.retain(|it| *it != thread);
            }
        }
        self.looking.contains(&thread)
    }

    fn called(&mut self, entry: Entry, call: CallId, details: &[u8]) {
        let socket = socket_at(call).map_or(0, |at| short(details, at));
        let entry = Entry { socket, ..entry };
        let number = EventNumber(entry.number);
        match call {
            CallId::START
            | CallId::THREAD
            | CallId::RECEIVE_QUEUE
            | CallId::VDSO
            | CallId::PAST
            | CallId::LOOKS_UP => {}
            CallId::FORK | CallId::EXEC | CallId::SPAWN => self.miss(format!(
                "the thread that uses UDP sockets starts another program (event {number}, {}), \
                 which a replay does not do",
                call.name()
            )),
            CallId::POLL | CallId::PPOLL | CallId::SELECT | CallId::PSELECT
                if entry.result as usize > details.len() / 8 && entry.result > 64 =>
            {
                self.too_many(number);
            }
            CallId::EPOLL_WAIT | CallId::EPOLL_PWAIT
                if entry.result > 0 && entry.result as usize > details.len() / 12 =>
            {
                self.too_many(number);
            }
            CallId::CONNECT => self.push(entry, details.get(2..).unwrap_or(&[]), &[]),
            CallId::PEEK => match self.threads.peeked.get(&number) {
                Some((from, shown)) => self.push(entry, &endpoint_bytes(*from), shown),
                None => {
                    let flags = UNKNOWN_RESULT;
                    self.push(Entry { flags, ..entry }, &[], &[]);
                }
            },
            CallId::JOINED => {
                self.joined.push(entry.thread);
                self.push(entry, &[], details);
            }
            CallId::END => {
                self.push(entry, &[], &[]);
                self.over = true;
            }
            _ => self.push(entry, &[], details),
        }
    }

    fn too_many(&mut self, number: EventNumber) {
        self.miss(format!(
            "one wait found more than 64 descriptors ready (event {number}), of which the others \
             are not recorded"
        ));
    }

    fn past(&mut self, number: EventNumber, what: PastId) {
        let sentence = format!("{} (event {number})", what.sentence());
        match what {
            PastId::LOOKED_UP | PastId::DEEP | PastId::NAMESPACE | PastId::SANDBOX => {
                self.doubts.push(sentence);
            }
            _ => self.missing.push(sentence),
        }
    }

    fn miss(&mut self, why: String) {
        // Of many of one kind one is enough.
        if self.missing.len() < 8 {
            self.missing.push(why);
        }
    }

    fn result(&mut self, of: EventNumber, outcome: SendOutcome) {
        let Some(at) = self.pending.remove(&of) else {
            return;
        };
        let result = match outcome {
            SendOutcome::Sent => None,
            SendOutcome::Short(taken) => Some(taken as i32),
            SendOutcome::Failed(code) => Some(-code),
        };
        if let (Some(result), Some(place)) = (result, self.entries.get_mut(at + 20..at + 24)) {
            place.copy_from_slice(&result.to_ne_bytes());
        }
        if let Some(flags) = self.entries.get_mut(at + 31) {
            *flags = 0;
        }
    }

    fn push(&mut self, entry: Entry, endpoint: &[u8], rest: &[u8]) {
        let entry = Entry {
            length: (endpoint.len() + rest.len()) as u32,
            endpoint: endpoint.len() as u8,
            ..entry
        };
        self.events += 1;
        self.first.get_or_insert(EventNumber(entry.number));
        self.entries.extend_from_slice(&entry_bytes(&entry));
        self.entries.extend_from_slice(endpoint);
        self.entries.extend_from_slice(rest);
        let whole = self.entries.len().next_multiple_of(8);
        self.entries.resize(whole, 0);
    }
}

/// Whether the details of this call name a socket.
pub(super) fn is_on_socket(call: CallId) -> bool {
    socket_at(call).is_some()
}
