//! From a reel to the tape of answers.

use std::collections::BTreeMap;

use netreel_reel::tape::{
    ENTRIES_AT, Entry, NextFloor, ONE_AT_A_TIME, Printed, TAPE_MAGIC, THREADS_AT, TapeControl,
    UNKNOWN_RESULT,
};
use netreel_reel::{
    CallId, Event, EventKind, EventNumber, FoundFile, PastId, ProcessEnd, Reel, SendOutcome,
    ThreadId,
};

use super::Began;
use super::files::{kept_files, paths};
use super::laid_out::{self, Turns, entry_bytes, entry_from, first_at, put, put_control};
use super::printed::{Row, Rows};
use super::threads::{Threads, short, socket_at};
use super::words::endpoint_bytes;
use crate::replayable::{NotReplayable, holes, look, refuse};

/// The answers to a program, in order.
#[derive(Clone, Debug, Default)]
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
    /// The event at which it makes a TCP connection, which it is refused in a replay.
    pub connects: Option<EventNumber>,
    /// Whether several threads are answered that ran at the same time.
    pub at_once: bool,
    /// Whether threads are let run that the recording does not answer.
    pub has_free: bool,
    /// What the program printed.
    pub printed: Rows,
    /// The files that it changed, as it found them.
    pub kept: Vec<FoundFile>,
    /// How the process ended; `None` where the reel does not tell.
    pub ended: Option<ProcessEnd>,
    /// Whether its last event is that it ends by itself.
    pub(super) ends_by_itself: bool,
    /// How many threads are answered.
    pub(super) threads: usize,
    /// Where the entries end.
    pub(super) end: u64,
}

const EAGAIN: i32 = 11;

/// What the details of an eventfd's event say behind the descriptor: it is raised, or that failed.
const RAISED: u8 = 1;
const NOT_RAISED: u8 = 2;

/// The result of a [`CallId::TURN`] that tells of a thread that does not come any more.
const LAST_TURN: i32 = 1;

/// What the details of a TCP connection begin with where the program took it.
const TAKEN: u16 = 2;

/// Which threads are answered from the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// All, in the recorded order, where the recording tells the order of locks.
    All,
    /// Those that had to do with packets. The others run as they like.
    Packets,
}

/// Makes the tape of an unmodified program's reel. Refuses a reel in which something is missing
/// that the program would have to be answered.
pub fn record(reel: &Reel, began: &Began, which: Which) -> Result<Tape, NotReplayable> {
    let ordered = began.ordered && which == Which::All;
    let threads = Threads::of(reel, ordered);
    let mut making = Making::new(&threads, began, ordered);
    reel.for_each(|record| making.take(record.number, record.thread, &record.event));
    let mut missing = making.missing;
    missing.extend(threads.missing.iter().cloned());
    if !threads.have_packets() && missing.is_empty() {
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
    missing.dedup();
    refuse(reel, missing)?;
    let end = (ENTRIES_AT + making.entries.len()) as u64;
    let kept = kept_files(reel);
    let paths = paths(&kept);
    let control = control(
        began,
        &threads,
        ordered,
        (&making.tape.printed, end, paths.len()),
    );
    let mut bytes = vec![0; ENTRIES_AT];
    put_control(&mut bytes, &control);
    for (index, identity) in threads.identities.iter().enumerate() {
        put(&mut bytes, THREADS_AT + index * 8, &identity.to_ne_bytes());
    }
    if let Some(turns) = &making.turns {
        turns.put_first(&mut bytes);
    }
    bytes.extend_from_slice(&making.entries);
    for row in &making.tape.printed.rows {
        bytes.extend_from_slice(&row.bytes);
    }
    bytes.extend_from_slice(&paths);
    Ok(Tape {
        bytes,
        kept,
        at_once: threads.identities.len() > 1 && !(ordered && began.one_thread),
        has_free: which == Which::Packets,
        ended: ProcessEnd::of(reel),
        threads: threads.identities.len(),
        end,
        ..making.tape
    })
}

/// The head of a tape whose entries end at `end`; behind them stand the lines, and then the files.
fn control(
    began: &Began,
    threads: &Threads,
    ordered: bool,
    (lines, end, files_length): (&Rows, u64, usize),
) -> TapeControl {
    let [out, errors] = &lines.rows;
    let behind = end + (out.bytes.len() + errors.bytes.len()) as u64;
    let printed = |at: u64, row: &Row| Printed {
        at,
        length: row.bytes.len() as u64,
        ..Printed::default()
    };
    TapeControl {
        magic: TAPE_MAGIC,
        end,
        threads: threads.identities.len() as u32,
        process: began.process,
        parent: began.parent,
        rings: if began.aside {
            0
        } else {
            began.rings.clamp(1, RINGS_MAX)
        },
        capacity: began.capacity.min(CAPACITY_MAX),
        ordered: match (ordered, began.one_thread) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => ONE_AT_A_TIME,
        },
        stop_at: u64::MAX.into(),
        next: (ENTRIES_AT as u64).into(),
        meets: u32::from(began.meets),
        prints: u32::from(began.log),
        streams: u32::from(began.streams),
        children: u32::from(began.children),
        files_at: behind,
        files_length: files_length as u64,
        printed: [
            printed(end, out),
            printed(end + out.bytes.len() as u64, errors),
        ],
        ..TapeControl::default()
    }
}

/// What a recorder takes at most: a reel may say anything.
const RINGS_MAX: u32 = 256;
const CAPACITY_MAX: u32 = 1 << 26;

impl Tape {
    /// The program stops itself before this event.
    pub fn stop_at(&mut self, event: EventNumber) {
        let at = std::mem::offset_of!(TapeControl, stop_at);
        put(&mut self.bytes, at, &event.0.to_ne_bytes());
    }

    /// What the program prints is not compared.
    pub fn compares_no_lines(&mut self) {
        let at = std::mem::offset_of!(TapeControl, prints);
        put(&mut self.bytes, at, &[0; 4]);
        self.printed = Rows::default();
    }

    /// The entry at this place of the tape, with its endpoint and its other bytes. `None` behind
    /// the last one.
    pub(super) fn at(&self, place: u64) -> Option<(Entry, &[u8], &[u8])> {
        let within = ENTRIES_AT as u64..self.end;
        let place = usize::try_from(place)
            .ok()
            .filter(|_| within.contains(&place))?;
        let (head, rest) = self
            .bytes
            .get(place..)?
            .split_first_chunk::<{ size_of::<Entry>() }>()?;
        let entry = entry_from(head);
        let bytes = rest.get(..entry.length as usize)?;
        let (endpoint, bytes) = bytes.split_at_checked(usize::from(entry.endpoint))?;
        Some((entry, endpoint, bytes))
    }

    /// What the thread of the entry at this place has next, but for turns.
    pub(super) fn behind(&self, place: u64) -> Option<Entry> {
        let (own, ..) = self.at(place)?;
        let (mut entry, mut at) = (own, place);
        loop {
            let length = size_of::<Entry>() as u64 + u64::from(entry.length);
            at += length.next_multiple_of(8);
            (entry, ..) = self.at(at)?;
            let turn = entry.kind == EventKind::Called as u8 && entry.id == CallId::TURN.0;
            if entry.thread == own.thread && !turn {
                return Some(entry);
            }
        }
    }

    /// One of these entries alone.
    #[cfg(test)]
    pub(super) fn of_entries(entries: &[Entry]) -> Tape {
        let mut bytes = vec![0; ENTRIES_AT];
        entries.iter().for_each(|it| bytes.extend(entry_bytes(it)));
        let end = bytes.len() as u64;
        Tape {
            end,
            bytes,
            events: entries.len() as u64,
            threads: 1,
            ..Tape::default()
        }
    }
}

struct Making<'a> {
    threads: &'a Threads,
    entries: Vec<u8>,
    /// Where the entries of sends lie whose result is still to come.
    pending: BTreeMap<EventNumber, usize>,
    /// Where the entries lie with which threads raised an eventfd last.
    raised: BTreeMap<u16, usize>,
    /// Threads that look a name up.
    looking: Vec<u16>,
    /// Whether the recording tells of children, and the latest one that each thread has started.
    children: bool,
    spawned: BTreeMap<u16, i32>,
    /// Threads whose next packets one call passed.
    joined: Vec<u16>,
    /// Of the steps among locks, where their order is kept, how many entries each thread has, and where one
    /// thread ran at a time, who has the floor.
    turns: Option<Turns>,
    one_thread: bool,
    missing: Vec<String>,
    /// What it is so far, but for its bytes.
    tape: Tape,
}

impl<'a> Making<'a> {
    fn new(threads: &'a Threads, began: &Began, ordered: bool) -> Making<'a> {
        Making {
            threads,
            entries: Vec::new(),
            pending: BTreeMap::new(),
            raised: BTreeMap::new(),
            looking: Vec::new(),
            children: began.children,
            spawned: BTreeMap::new(),
            joined: Vec::new(),
            turns: ordered.then(Turns::default),
            one_thread: began.one_thread,
            missing: Vec::new(),
            tape: Tape::default(),
        }
    }

    fn take(&mut self, number: EventNumber, thread: ThreadId, event: &Event<'_>) {
        if let Event::Called {
            call,
            result,
            details,
        } = *event
            && self.take_beside(number, call, (result, details))
        {
            return;
        }
        let has_packets = self.threads.has_packets(thread);
        let Some(&thread) = self.threads.indices.get(&thread) else {
            return;
        };
        if let Event::Called {
            call: CallId::TURN,
            details,
            ..
        } = *event
        {
            return self.floor(number, thread, details);
        }
        if self.tape.ends_by_itself || self.is_in_lookup(thread, event) {
            return;
        }
        let own = Entry {
            number: number.0,
            thread,
            kind: event.kind() as u8,
            ..Entry::default()
        };
        self.answer(own, event, has_packets);
    }

    /// Takes what is no answer to a thread: what the program did past the recorder, what it printed, and that
    /// a thread does not get the floor again. Whether that was all.
    fn take_beside(
        &mut self,
        number: EventNumber,
        call: CallId,
        (result, details): (i32, &[u8]),
    ) -> bool {
        match call {
            // Its thread is answered as well.
            CallId::PAST => {
                self.past(number, PastId(details.first().copied().unwrap_or(0)));
                false
            }
            CallId::VDSO => {
                self.tape.doubts.push(
                    "it looked for the kernel's own library (vDSO), by which clocks are read past the recorder"
                        .to_owned(),
                );
                false
            }
            CallId::PRINTED => {
                self.tape.printed.take(number, details);
                true
            }
            CallId::TURN if result == LAST_TURN => {
                self.last_floor(details);
                true
            }
            _ => false,
        }
    }

    /// Puts what a thread is answered behind what was put so far.
    fn answer(&mut self, own: Entry, event: &Event<'_>, has_packets: bool) {
        let (number, thread) = (EventNumber(own.number), own.thread);
        match *event {
            Event::Sent {
                socket,
                to,
                payload,
            } => {
                self.tape.sends += 1;
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
                self.called(entry, call, details, has_packets);
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

    fn called(&mut self, entry: Entry, call: CallId, details: &[u8], has_packets: bool) {
        let socket = socket_at(call).map_or(0, |at| short(details, at));
        let entry = Entry { socket, ..entry };
        let number = EventNumber(entry.number);
        match call {
            CallId::START
            | CallId::THREAD
            | CallId::RECEIVE_QUEUE
            | CallId::VDSO
            | CallId::PAST
            | CallId::FILE
            | CallId::FOUND
            | CallId::STATUS
            | CallId::LOOKS_UP => {}
            CallId::LOCK
            | CallId::CONDITION
            | CallId::SEMAPHORE
            | CallId::POST
            | CallId::BARRIER
            | CallId::ONCE
            | CallId::JOIN
            | CallId::LEVEL => self.step(entry, details),
            CallId::EVENTFD if details.get(4) == Some(&RAISED) => {
                self.raised.insert(entry.thread, self.entries.len());
                self.push(entry, &[], details);
            }
            CallId::EVENTFD if details.get(4) == Some(&NOT_RAISED) => {
                if let Some(at) = self.raised.remove(&entry.thread) {
                    self.returned(at, entry.result);
                }
            }
            CallId::FORK | CallId::EXEC | CallId::SPAWN => self.starts(entry, call, has_packets),
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
            CallId::TCP if short(details, 0) == TAKEN => self.miss(format!(
                "it takes a TCP connection (event {number}), and TCP is not recorded, so that a replay \
                 has none to give"
            )),
            // One that the program makes is refused.
            CallId::TCP => self.tape.connects = self.tape.connects.or(Some(number)),
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
                (self.tape.ends_by_itself, self.tape.printed.ended) = (true, true);
            }
            _ => self.push(entry, &[], details),
        }
    }

    /// Another program starts, or another process.
    fn starts(&mut self, entry: Entry, call: CallId, has_packets: bool) {
        let number = EventNumber(entry.number);
        match call {
            CallId::FORK if self.children => self.push(entry, &[], &[]),
            // A child that tries several paths says so at each.
            CallId::SPAWN if self.children => {
                if self.spawned.insert(entry.thread, entry.result) != Some(entry.result) {
                    self.push(entry, &[], &[]);
                }
            }
            CallId::EXEC if self.children && entry.result < 0 => {}
            _ if !has_packets => {}
            CallId::EXEC if self.children => self.miss(format!(
                "the thread that uses UDP sockets becomes another program (event {number}), which a \
                 replay does not do"
            )),
            _ => self.miss(format!(
                "the thread that uses UDP sockets starts another program (event {number}, {}), \
                 which a replay does not do",
                call.name()
            )),
        }
    }

    fn floor(&mut self, number: EventNumber, thread: u16, details: &[u8]) {
        let points = first_at(details, 0).map(u64::from_le_bytes);
        let is_told = self.one_thread && !self.tape.ends_by_itself;
        let (Some(turns), Some(points), true) = (&mut self.turns, points, is_told) else {
            return;
        };
        let at = self.entries.len() + size_of::<Entry>();
        turns.floor(&mut self.entries, thread, points, at);
        let entry = Entry {
            number: number.0,
            thread,
            kind: EventKind::Called as u8,
            id: CallId::TURN.0,
            ..Entry::default()
        };
        self.put(entry, &[], &[0; size_of::<NextFloor>()]);
    }

    /// A thread gives the floor up behind this many calls, and does not get it again.
    fn last_floor(&mut self, details: &[u8]) {
        let (words, _) = details.as_chunks::<8>();
        let [identity, points] = words else { return };
        let identity = u64::from_le_bytes(*identity);
        let mut all = self.threads.identities.iter();
        let thread = all
            .position(|known| *known == identity)
            .and_then(|it| u16::try_from(it).ok());
        if let (Some(turns), Some(thread), true) = (&mut self.turns, thread, self.one_thread) {
            let points = u64::from_le_bytes(*points);
            turns.floor(&mut self.entries, thread, points, 0);
        }
    }

    fn step(&mut self, entry: Entry, details: &[u8]) {
        let before = |thread: ThreadId| self.threads.indices.get(&thread).copied();
        let Some((count, order)) = laid_out::read_order(details, before) else {
            return;
        };
        let at = self.entries.len() + size_of::<Entry>();
        let Some(turns) = &mut self.turns else { return };
        turns.step(&mut self.entries, entry.thread, count, at);
        let entry = Entry {
            value: count,
            ..entry
        };
        self.push(entry, &[], laid_out::order_bytes(&order).as_flattened());
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
            PastId::LOCKS
            | PastId::THREADS
            | PastId::LOOKED_UP
            | PastId::DEEP
            | PastId::NAMESPACE
            | PastId::SANDBOX => {
                self.tape.doubts.push(sentence);
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
        if let Some(result) = result {
            self.returned(at, result);
        }
        put(&mut self.entries, at + 31, &[0]);
    }

    /// What the entry at this place returned.
    fn returned(&mut self, at: usize, result: i32) {
        put(&mut self.entries, at + 20, &result.to_ne_bytes());
    }

    fn push(&mut self, entry: Entry, endpoint: &[u8], rest: &[u8]) {
        if let Some(turns) = &mut self.turns {
            turns.goes_on(entry.thread);
        }
        self.put(entry, endpoint, rest);
    }

    fn put(&mut self, entry: Entry, endpoint: &[u8], rest: &[u8]) {
        let entry = Entry {
            length: (endpoint.len() + rest.len()) as u32,
            endpoint: endpoint.len() as u8,
            ..entry
        };
        self.tape.events += 1;
        self.tape.first.get_or_insert(EventNumber(entry.number));
        self.entries.extend_from_slice(&entry_bytes(&entry));
        self.entries.extend_from_slice(endpoint);
        self.entries.extend_from_slice(rest);
        let whole = self.entries.len().next_multiple_of(8);
        self.entries.resize(whole, 0);
    }
}
