//! What came of a program that was started again.

use netreel_reel::tape::{Came, ENTRIES_AT, why};
use netreel_reel::{CallId, Endpoint, EventKind, EventNumber, SocketId, Time};
use netreel_transport::{Divergence, Step};
use netreel_wire::Wire;

use super::tape::Tape;
use super::words::{endpoint_from, of_came, of_entry};
use crate::difference::{Explanation, explain};

/// What is known when the program has ended.
#[derive(Clone, Debug)]
pub struct Happened {
    /// Where the entry lies that was to come next.
    pub next: u64,
    /// How many sends were equal.
    pub sends: u64,
    /// What it did instead, with an endpoint and a packet, where it parted from the recording.
    pub came: Option<(Came, Vec<u8>)>,
    /// Where it stands still, and was ended for that.
    pub stuck: Option<String>,
    /// How it ended, in words: "it ended by signal 11".
    pub ended: String,
}

/// How a replay of a program ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// Everything was as recorded, to the recording's end.
    Exact,
    /// The program did something else than recorded.
    Parted(Explanation),
    /// It ended before the recording does; how, in words.
    Early(String),
    /// It stood still; where, in words.
    Stuck(String),
}

/// What came of a program that was started again.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// How it ended.
    pub ended: Ended,
    /// Sends that were equal.
    pub sends: u64,
    /// The event of the recording that was to come; `None` behind the last one.
    pub event: Option<EventNumber>,
    /// What the recording has there.
    pub expected: String,
    /// Likely reasons, a sentence each.
    pub reasons: Vec<String>,
}

/// Says what came of it. `doubts` are what is known besides; `name` gives the name of an endpoint's
/// node, where there is one.
pub fn judge(
    tape: &Tape,
    happened: &Happened,
    wire: Option<&Wire>,
    name: &dyn Fn(Endpoint) -> Option<String>,
    doubts: &[String],
) -> Judged {
    let at = tape.at(happened.next);
    let (event, expected) = match &at {
        Some((entry, ..)) => (Some(EventNumber(entry.number)), of_entry(entry)),
        None => (None, "nothing: the recording is over".to_owned()),
    };
    // Whoever writes into the tape's memory does not make it exact.
    let whole = happened.next >= ENTRIES_AT as u64 && happened.next == tape.bytes.len() as u64;
    let whole = whole && happened.sends == tape.sends;
    let (ended, reason) = match (&happened.came, &happened.stuck) {
        (Some((came, bytes)), _) => {
            let explanation = parted(tape, happened.next, (came, bytes), wire, name);
            (
                Ended::Parted(explanation),
                reason(came, at.as_ref().map(|at| (at.0.kind, at.0.id))),
            )
        }
        (None, _) if whole => (Ended::Exact, None),
        (None, Some(stuck)) => (Ended::Stuck(stuck.clone()), None),
        (None, None) => (Ended::Early(happened.ended.clone()), None),
    };
    let mut reasons = Vec::new();
    if ended != Ended::Exact {
        reasons.extend(reason);
        reasons.extend(tape.doubts.iter().cloned());
        reasons.extend(doubts.iter().cloned());
        reasons.dedup();
        if reasons.is_empty() && ended != Ended::Exact {
            reasons.push(UNRECORDED.to_owned());
        }
    }
    Judged {
        ended,
        sends: happened.sends,
        event,
        expected,
        reasons,
    }
}

/// What is left where nothing else explains it.
const UNRECORDED: &str = "something differs that is not in a reel: a file that it reads, the order \
                          in which threads take locks, what came by TCP or through a pipe";

fn parted(
    tape: &Tape,
    next: u64,
    (came, bytes): (&Came, &[u8]),
    wire: Option<&Wire>,
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
        wire,
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
fn reason(came: &Came, expected: Option<(u8, u8)>) -> Option<String> {
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
        why::PACKET => return None,
        _ => return order(came, expected),
    };
    Some(told.to_owned())
}

fn order(came: &Came, expected: Option<(u8, u8)>) -> Option<String> {
    let (kind, id) = expected?;
    let clock = EventKind::ClockRead as u8;
    let called = EventKind::Called as u8;
    let draw = |kind: u8, id: u8| kind == called && id == CallId::RANDOM.0;
    let told = if came.kind == clock && kind != clock {
        "it reads a clock once more than it did"
    } else if kind == clock && came.kind != clock {
        "it reads a clock once less than it did"
    } else if draw(came.kind, came.id) {
        "it draws random bytes once more than it did"
    } else if draw(kind, id) {
        "it draws random bytes once less than it did"
    } else if came.kind == called && came.id == CallId::END.0 {
        "it ends earlier than it did"
    } else {
        return None;
    };
    Some(told.to_owned())
}
