//! What came of a program that was started again, and how it ended beside how it ended when it was recorded.

use std::collections::BTreeMap;

use netreel_reel::tape::{Came, ENTRIES_AT, Entry, why};
use netreel_reel::{
    CallId, Endpoint, Event, EventKind, EventNumber, ProcessEnd, Reel, SocketId, ThreadId, Time,
};
use netreel_transport::{Divergence, Step};
use netreel_wire::Wire;

use super::files::{changed_by_itself, not_kept, stream};
use super::printed::{LineDifference, PrintedNow};
use super::tape::Tape;
use super::words::{endpoint_from, of_came, of_entry};
use crate::agreed::{Agreed, agreed};
use crate::explanation::{Explanation, explain};

/// What is known when the program has ended.
#[derive(Clone, Debug)]
pub struct Happened {
    /// Where the entry lies that was to come next.
    pub next: u64,
    /// How many sends were equal.
    pub sends: u64,
    /// Events that were passed over, of threads that ended earlier than they did.
    pub passed: u64,
    /// How often its threads slept more, and how often less than they did.
    pub sleeps: (u64, u64),
    /// What it did instead, with an endpoint and a packet, where it parted from the recording.
    pub came: Option<(Came, Vec<u8>)>,
    /// Where it stands still, and was ended for that.
    pub stuck: Option<String>,
    /// What it printed, on its standard output and on its standard error.
    pub printed: [PrintedNow; 2],
    /// How it ended, in words: "it ended by signal 11".
    pub ended: String,
    /// The same as a number.
    pub end: Option<ProcessEnd>,
    /// Whether it asked for more than the recording has, or ended by itself as it did.
    pub over: bool,
}

/// How a replay of a program ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// Everything was as recorded, to the recording's end.
    Exact,
    /// The same, but for this line that it printed.
    Line(LineDifference),
    /// The program did something else than recorded.
    Parted(Explanation),
    /// It ended before the recording does; how, in words.
    Early(String),
    /// It stood still; where, in words.
    Stuck(String),
    /// All was as recorded but its end.
    Otherwise {
        /// How it ended when it was recorded, in words.
        expected: String,
        /// How it ends now.
        came: String,
    },
}

/// What came of a program that was started again.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// How it ended.
    pub ended: Ended,
    /// Sends that were equal.
    pub sends: u64,
    /// Events that were passed over, of threads that ended earlier than they did: none is a packet.
    pub passed: u64,
    /// How often its threads slept more, and how often less than they did, where several ran at the
    /// same time.
    pub sleeps: (u64, u64),
    /// The event of the recording that was to come; `None` behind the last one.
    pub event: Option<EventNumber>,
    /// What the recording has there.
    pub expected: String,
    /// Where it was not exact: the last events before that, which were as recorded.
    pub agreed: Vec<Agreed>,
    /// The first line that it printed otherwise.
    pub line: Option<LineDifference>,
    /// How it ended beside how it did; `None` where it did not come that far.
    pub end: Option<EndCompared>,
    /// Why it was not exact.
    pub reasons: Reasons,
}

/// Why a replay was not exact, a sentence each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reasons {
    /// What is known to be otherwise than it was.
    pub known: Vec<String>,
    /// What may be why.
    pub guesses: Vec<String>,
}

/// Says what came of it. `doubts` tells what is known besides, and is asked where it was not exact;
/// `name` gives the name of an endpoint's node, where there is one.
pub fn judge(
    tape: &Tape,
    happened: &Happened,
    (wire, reel): (Option<&Wire>, &Reel),
    name: &dyn Fn(Endpoint) -> Option<String>,
    doubts: impl FnOnce() -> Reasons,
) -> Judged {
    let at = tape.at(happened.next);
    let (event, expected) = match &at {
        Some((entry, ..)) => (Some(EventNumber(entry.number)), of_entry(entry)),
        None => (None, "nothing: the recording is over".to_owned()),
    };
    // Whoever writes into the tape's memory does not make it exact.
    let whole = happened.next >= ENTRIES_AT as u64 && happened.next == tape.end;
    let whole = whole && happened.sends == tape.sends;
    let over = happened.came.is_none() && whole;
    let line = tape.printed.difference(&happened.printed, over);
    let end = over.then(|| {
        let ran_on = happened.over && !tape.ends_by_itself;
        compared(tape, happened.end, ran_on)
    });
    let (ended, reason) = match (&happened.came, &happened.stuck) {
        (Some((came, bytes)), _) => {
            let explanation = parted(tape, happened.next, (came, bytes), (wire, reel), name);
            (
                Ended::Parted(explanation),
                reason(tape, happened.next, came),
            )
        }
        (None, _) if whole => match &line {
            // In which order threads print is not recorded.
            Some(line) if !tape.at_once && !tape.has_free => (Ended::Line(line.clone()), None),
            _ => match end.clone() {
                Some(EndCompared::Otherwise { expected, came }) => {
                    (Ended::Otherwise { expected, came }, None)
                }
                _ => (Ended::Exact, None),
            },
        },
        (None, Some(stuck)) => (Ended::Stuck(stuck.clone()), None),
        (None, None) => (Ended::Early(happened.ended.clone()), None),
    };
    let (mut reasons, mut last) = (Reasons::default(), Vec::new());
    if ended != Ended::Exact {
        let before = match &ended {
            Ended::Line(line) => line.event,
            _ => event,
        };
        last = agreed(reel, before.unwrap_or(EventNumber(u64::MAX)), wire, name);
        let why = (reason, doubts());
        reasons = reasons_of(tape, happened, (reel, before), &ended, why);
    }
    Judged {
        ended,
        sends: happened.sends,
        passed: happened.passed,
        sleeps: happened.sleeps,
        event,
        expected,
        agreed: last,
        line,
        end,
        reasons,
    }
}

/// Why it `ended` so, before an event: for the `reason` that is known, or what the reel and `doubts` tell.
fn reasons_of(
    tape: &Tape,
    happened: &Happened,
    (reel, before): (&Reel, Option<EventNumber>),
    ended: &Ended,
    (reason, doubts): (Option<String>, Reasons),
) -> Reasons {
    let mut reasons = Reasons::default();
    let Reasons { known, guesses } = doubts;
    let on = happened.came.as_ref().map(|(came, _)| came.descriptor);
    let sure = on.and_then(|on| stream(reel, before, Some(on)));
    reasons.known.extend(sure.as_ref().map(not_answered));
    reasons.known.extend(reason);
    reasons.known.extend(known);
    let more = &mut reasons.guesses;
    if sure.is_none() {
        more.extend(stream(reel, before, None).as_ref().map(not_answered));
    }
    more.extend(signal(reel, before));
    let is_packet = matches!(&happened.came, Some((came, _)) if came.why == why::PACKET);
    if is_packet || matches!(ended, Ended::Line(_)) {
        more.extend(looked_up(reel, before));
    }
    more.extend(not_kept(reel));
    more.extend(tape.doubts.iter().cloned());
    more.extend(guesses);
    if tape.at_once {
        more.push(AT_ONCE.to_owned());
    }
    more.dedup();
    if more.is_empty() && reasons.known.is_empty() {
        reasons.guesses.extend(changed_by_itself(reel));
        let told = match ended {
            Ended::Line(_) => UNRECORDED_LINE,
            _ => UNRECORDED,
        };
        reasons.guesses.push(told.to_owned());
    }
    reasons
}

/// What is left where nothing else explains it.
const UNRECORDED: &str = "something differs that is not in a reel: what came by TCP or through a \
                          pipe, a signalfd, a file below /proc \
                          that is another at each reading, the time left that select tells, a descriptor that \
                          the program was started with, an address in memory";

/// The same of a line.
const UNRECORDED_LINE: &str = "it prints something that is not in a reel: what came by TCP or \
                               through a pipe, a count of the processor's time; --no-log leaves \
                               lines out of the comparison";

/// Where several threads ran at the same time.
const AT_ONCE: &str = "its threads run at the same time, and what they say to each other through \
                       memory alone is not in a reel; `netreel record --one-thread-at-a-time` keeps that \
                       order, and says at once where a program does not run so";

/// A stream that is not in a reel.
fn not_answered((fd, path): &(i32, String)) -> String {
    format!(
        "descriptor {fd} is a stream to another program, {path}: what comes there is not in a reel, and a replay \
         speaks with whoever is there now"
    )
}

/// The last signal up to an event, or in all of the reel: a handler that ran amid what the program
/// computed runs at its next call in a replay.
fn signal(reel: &Reel, before: Option<EventNumber>) -> Option<String> {
    let mut last = None;
    reel.for_each(|record| {
        if let Event::Called { call, result, .. } = record.event
            && call == CallId::SIGNAL
            && before.is_none_or(|before| record.number <= before)
        {
            last = Some((record.number, result));
        }
    });
    let (number, signal) = last?;
    Some(format!(
        "signal {signal} came at event {number}, and its handler ran amid what the program did there: \
         where between two events is not in a reel, and a replay runs it at the next call; what \
         the handler finds in memory, on the stack too, may be another. A program that ends by its own \
         command, by a packet or a time is not held up by that"
    ))
}

/// A lookup that takes longer reads files or asks somebody: a number in words takes some microseconds.
const LOOKS_FAR_NS: u64 = 30_000;

/// The last name before an event that the C library really looked up. It does so in the program's memory,
/// where a replay has the answer alone.
fn looked_up(reel: &Reel, before: Option<EventNumber>) -> Option<String> {
    let mut under_way: BTreeMap<ThreadId, Time> = BTreeMap::new();
    let mut last = None;
    reel.for_each(|record| {
        let Event::Called { call, result, .. } = record.event else {
            return;
        };
        if before.is_some_and(|before| record.number >= before) {
            return;
        }
        if call == CallId::LOOKS_UP {
            under_way.insert(record.thread, record.time);
        }
        if call == CallId::LOOKED_UP
            && let Some(begun) = under_way.remove(&record.thread)
            && (result != 0 || record.time.0.saturating_sub(begun.0) >= LOOKS_FAR_NS)
        {
            last = Some(record.number);
        }
    });
    last.map(|event| {
        format!(
            "it looked a name up until event {event}: the C library does that in the program's memory, and a replay \
             gives the answer alone; what the program sends or prints without having written it (a byte of the \
             stack, an address) may be another since then. A name that stands as a number changes nothing"
        )
    })
}

fn parted(
    tape: &Tape,
    next: u64,
    (came, bytes): (&Came, &[u8]),
    (wire, reel): (Option<&Wire>, &Reel),
    name: &dyn Fn(Endpoint) -> Option<String>,
) -> Explanation {
    let sent = EventKind::Sent as u8;
    let step = |kind: u8, endpoint: &[u8], payload: &[u8]| {
        let to = endpoint_from(endpoint).filter(|_| kind == sent)?;
        let packet = payload.to_vec();
        Some(Step::Send { to, packet })
    };
    let (endpoint, payload) = bytes
        .split_at_checked(came.endpoint as usize)
        .unwrap_or((&[], bytes));
    let entry = tape.at(next);
    let recorded = entry
        .as_ref()
        .and_then(|(entry, endpoint, payload)| step(entry.kind, endpoint, payload));
    // Without an address it goes to the socket's peer, as it did then.
    let to = match (endpoint, &entry) {
        ([], Some((_, recorded, _))) => recorded,
        _ => endpoint,
    };
    let now = step(came.kind, to, payload);
    let sockets = entry.as_ref().and_then(|(entry, ..)| {
        let both = entry.kind == sent && came.kind == sent && entry.socket != came.socket;
        both.then_some((SocketId(entry.socket), SocketId(came.socket)))
    });
    let mut explanation = explain(
        &Divergence {
            number: EventNumber(entry.as_ref().map_or(0, |(entry, ..)| entry.number)),
            time: Time(0),
            expected: recorded.clone().unwrap_or(Step::Nothing),
            came: now.clone().unwrap_or(Step::Nothing),
            sockets,
        },
        (wire, Some(reel)),
        name,
    );
    if recorded.is_none() {
        explanation.expected = match &entry {
            Some((entry, ..)) => of_entry(entry),
            None => "nothing: the recording is over".to_owned(),
        };
    }
    if now.is_none() {
        explanation.came = of_came(came);
    }
    explanation
}

/// Why it may be, as far as the two steps tell.
fn reason(tape: &Tape, next: u64, came: &Came) -> Option<String> {
    let told = match came.why {
        why::DESCRIPTOR => {
            "the descriptor has another number than in the recording: more or fewer files are open"
        }
        why::NOT_WAITED_FOR => "it does not wait for a descriptor that was ready then",
        why::NO_ROOM => "it has less room for what was given to it",
        why::OTHER_THREAD => {
            "a thread that had nothing to do with packets in the recording uses a UDP socket"
        }
        why::NOT_RECORDED => "what it was answered is not in the recording",
        why::STEP => "it asked for more or fewer locks than it did",
        why::PACKET => return None,
        _ => return order(tape, next, came),
    };
    Some(told.to_owned())
}

fn order(tape: &Tape, next: u64, came: &Came) -> Option<String> {
    let (expected, ..) = tape.at(next)?;
    let now = deed(came.kind, came.id);
    let then = deed(expected.kind, expected.id).filter(|then| Some(*then) != now);
    let ends = came.kind == EventKind::Called as u8 && came.id == CallId::END.0;
    let left_out = || tape.behind(next).is_some_and(|behind| is_of(came, &behind));
    let told = match (now, then) {
        (_, Some((does, _))) if left_out() => format!("it {does} once less than it did"),
        (Some((does, _)), _) if deed(expected.kind, expected.id) != now => {
            format!("it {does} once more than it did")
        }
        _ if ends => "it ends earlier than it did".to_owned(),
        (None, Some((_, did))) => format!("it does {} where it {did}", of_came(came)),
        _ => return None,
    };
    Some(told)
}

/// What is done more or less often where nothing else differs: as it is done now, and as it was.
fn deed(kind: u8, id: u8) -> Option<(&'static str, &'static str)> {
    match (EventKind::from_number(kind)?, CallId(id)) {
        (EventKind::ClockRead, _) => Some(("reads a clock", "read a clock")),
        (EventKind::Called, CallId::RANDOM) => Some(("draws random bytes", "drew random bytes")),
        _ => None,
    }
}

/// Whether what came is what this entry has, whatever it is about.
fn is_of(came: &Came, entry: &Entry) -> bool {
    let receives = |kind: u8| {
        use EventKind::{PollEmpty, ReceiveFailed, Received};
        let kind = EventKind::from_number(kind);
        matches!(kind, Some(Received | PollEmpty | ReceiveFailed))
    };
    let kind = came.kind == entry.kind || receives(came.kind) && receives(entry.kind);
    let socket = came.socket == u16::MAX || came.socket == entry.socket;
    kind && came.id == entry.id && socket
}

/// What came of comparing both ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndCompared {
    /// It ended as it did.
    Equal,
    /// Somebody ended it when it was recorded, and nothing of it is missing up to there.
    FromOutside,
    /// The reel does not tell how it ended.
    NotKnown,
    /// Other threads may have ended the replay first.
    ByThreads,
    /// It ended otherwise: what was to come, and what came.
    Otherwise {
        /// In words.
        expected: String,
        /// In words.
        came: String,
    },
}

/// Compares the ends of a program that was as recorded up to its last event. `ran_on`: it asked for
/// more than the recording has, and was ended for that.
pub(super) fn compared(tape: &Tape, came: Option<ProcessEnd>, ran_on: bool) -> EndCompared {
    let (Some(recorded), Some(came)) = (tape.ended, came) else {
        return EndCompared::NotKnown;
    };
    // A thread that asks for more behind the last event ends the replay, whatever the others do.
    let by_threads = (tape.threads > 1 || tape.has_free) && (ran_on || came == ProcessEnd::Code(0));
    let expected = if recorded.is_from_outside() {
        format!("it goes on until {recorded} ends it")
    } else {
        format!("it ends, with {recorded}")
    };
    let otherwise = |came| EndCompared::Otherwise { expected, came };
    match (recorded.is_from_outside(), ran_on) {
        (false, _) if came == recorded && !ran_on => EndCompared::Equal,
        (true, true) => EndCompared::FromOutside,
        (true, false) if came == recorded => EndCompared::Equal,
        // Its last event is its own end: the signal came behind that.
        (true, false) if tape.ends_by_itself => EndCompared::FromOutside,
        _ if by_threads => EndCompared::ByThreads,
        (false, true) => otherwise("it goes on".to_owned()),
        _ => otherwise(format!("it ends, with {came}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: EventKind, id: u8, thread: u16) -> Entry {
        let kind = kind as u8;
        Entry {
            kind,
            id,
            thread,
            ..Entry::default()
        }
    }

    /// What is said where `came` came instead of the first of these.
    fn told(came: (EventKind, u8), recorded: &[Entry]) -> Option<String> {
        let came = Came {
            kind: came.0 as u8,
            id: came.1,
            socket: u16::MAX,
            descriptor: -1,
            ..Came::default()
        };
        reason(&Tape::of_entries(recorded), ENTRIES_AT as u64, &came)
    }

    #[test]
    fn a_clock_is_called_read_once_less_where_the_next_step_is_what_came() {
        let (called, clock) = (EventKind::Called, EventKind::ClockRead);
        let waits = (called, CallId::EPOLL_WAIT.0);
        let read = entry(clock, 1, 0);
        let another = entry(clock, 1, 1);
        let wait = entry(called, CallId::EPOLL_WAIT.0, 0);
        let less = told(waits, &[read, another, wait]);
        assert_eq!(less.unwrap(), "it reads a clock once less than it did");
        let otherwise = told(waits, &[read, read, wait]);
        assert_eq!(
            otherwise.unwrap(),
            "it does epoll_wait where it read a clock"
        );
        let ends = told((called, CallId::END.0), &[read, wait]);
        assert_eq!(ends.unwrap(), "it ends earlier than it did");
        let more = told((clock, 1), &[wait, read]);
        assert_eq!(more.unwrap(), "it reads a clock once more than it did");
    }
}

#[cfg(test)]
mod ending_tests {
    use netreel_reel::ProcessEnd::{Code, Signal};

    use super::*;

    /// What is said where a recorded program of this many threads ended one way, and its replay another.
    fn said(
        threads: usize,
        (recorded, by_itself): (ProcessEnd, bool),
        came: ProcessEnd,
        on: bool,
    ) -> EndCompared {
        let mut tape = Tape::of_entries(&[]);
        (tape.ended, tape.ends_by_itself, tape.threads) = (Some(recorded), by_itself, threads);
        compared(&tape, Some(came), on)
    }

    fn differs(compared: &EndCompared) -> bool {
        matches!(compared, EndCompared::Otherwise { .. })
    }

    #[test]
    fn the_same_end_is_equal() {
        for end in [Code(0), Code(7), Signal(11)] {
            assert_eq!(said(1, (end, true), end, false), EndCompared::Equal);
            assert_eq!(said(3, (end, false), end, false), EndCompared::Equal);
        }
    }

    #[test]
    fn another_exit_code_or_signal_is_a_divergence() {
        assert!(differs(&said(1, (Code(7), true), Code(0), false)));
        assert!(differs(&said(1, (Code(7), true), Signal(11), false)));
        assert!(differs(&said(4, (Code(7), true), Code(8), false)));
        assert!(differs(&said(1, (Signal(6), false), Code(0), false)));
        assert!(differs(&said(1, (Signal(15), false), Signal(11), false)));
    }

    #[test]
    fn a_program_that_goes_on_behind_its_own_end_is_a_divergence() {
        let EndCompared::Otherwise { expected, came } = said(1, (Code(3), false), Code(0), true)
        else {
            panic!("it went on");
        };
        assert_eq!(expected, "it ends, with exit code 3");
        assert_eq!(came, "it goes on");
    }

    #[test]
    fn one_that_was_killed_may_go_on() {
        for signal in [9, 15] {
            let compared = said(1, (Signal(signal), false), Code(0), true);
            assert_eq!(compared, EndCompared::FromOutside);
        }
    }

    #[test]
    fn where_other_threads_may_end_it_first_nothing_is_claimed() {
        let compared = said(2, (Code(3), true), Code(0), false);
        assert_eq!(compared, EndCompared::ByThreads);
        assert_eq!(
            said(2, (Code(3), false), Code(0), true),
            EndCompared::ByThreads
        );
    }

    #[test]
    fn an_old_reel_says_nothing() {
        let tape = Tape::of_entries(&[]);
        assert_eq!(compared(&tape, Some(Code(1)), false), EndCompared::NotKnown);
    }
}
