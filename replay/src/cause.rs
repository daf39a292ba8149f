//! Why a layer parted from its recording, where the steps themselves tell.

use std::fmt;
use std::sync::Arc;

use netreel_reel::{EventNumber, Reel};
use netreel_transport::{Divergence, Events, Step};

use crate::ReelEvents;
use crate::driver::Report;
use crate::replayable::is_turn;

/// A likely cause of a divergence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The layer does something that it did not do here.
    OneMore(Deed),
    /// It leaves something out that it did here.
    OneLess(Deed),
    /// It sends the same packets of this turn in another order: the packet that it sends here was
    /// that of this event.
    Order(EventNumber),
    /// The packet is the recorded one, and goes to another endpoint.
    Destination,
    /// The packet says something else.
    Content,
    /// Its packets are the recorded ones up to here, its state is not.
    State,
}

/// What a layer does once more, or once less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Reading the clock.
    Clock,
    /// Drawing a random number.
    Draw,
    /// Asking for a packet.
    Receive,
    /// Sending a packet.
    Send,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let deed = |deed: Deed| match deed {
            Deed::Clock => "reads the clock",
            Deed::Draw => "draws a random number",
            Deed::Receive => "asks for a packet",
            Deed::Send => "sends a packet",
        };
        match self {
            Cause::OneMore(it) => write!(f, "it {} once more than it did", deed(*it)),
            Cause::OneLess(it) => write!(f, "it {} once less than it did", deed(*it)),
            Cause::Order(event) => write!(
                f,
                "it sends the packets of this turn in another order: this one was that of event \
                 {event}"
            ),
            Cause::Destination => f.write_str("the same packet goes to another endpoint"),
            Cause::Content => f.write_str("the packet says something else"),
            Cause::State => {
                f.write_str("its packets are as recorded up to here, and its state is not")
            }
        }
    }
}

fn deed(step: &Step) -> Option<Deed> {
    match step {
        Step::Clock => Some(Deed::Clock),
        Step::Random => Some(Deed::Draw),
        Step::Receive => Some(Deed::Receive),
        Step::Send { .. } => Some(Deed::Send),
        Step::Tick(_) | Step::Input(_) | Step::State(_) | Step::Nothing => None,
    }
}

/// The likely cause of the divergence that `report` tells of; `None` where there is none, or where
/// the steps do not tell.
pub fn cause(reel: &Arc<Reel>, report: &Report) -> Option<Cause> {
    let divergence = report.divergence()?;
    let rest = rest_of_turn(reel, divergence.number);
    of(divergence, &rest, &report.afterwards)
}

/// How many steps of a turn are looked at: a recording without ticks is one turn.
const STEPS_MAX: usize = 1024;

/// What the recording has in the same turn behind an event, up to [`STEPS_MAX`].
fn rest_of_turn(reel: &Arc<Reel>, number: EventNumber) -> Vec<(EventNumber, Step)> {
    let until = EventNumber(u64::MAX);
    let mut events = ReelEvents::between(Arc::clone(reel), number.next(), until);
    let mut rest = Vec::new();
    while let Some(record) = events.peek().filter(|_| rest.len() < STEPS_MAX) {
        if is_turn(&record.event) {
            break;
        }
        rest.extend(Step::of(&record.event).map(|step| (record.number, step)));
        events.advance();
    }
    rest
}

/// `rest` is what the recording has in this turn behind the event, `afterwards` what the layer did
/// behind it.
fn of(divergence: &Divergence, rest: &[(EventNumber, Step)], afterwards: &[Step]) -> Option<Cause> {
    let (expected, came) = (&divergence.expected, &divergence.came);
    if let (Step::State(_), Step::State(_)) = (expected, came) {
        return Some(Cause::State);
    }
    let (wanted, got) = match (deed(expected), deed(came)) {
        (Some(wanted), Some(got)) => (wanted, got),
        (Some(wanted), None) => return Some(Cause::OneLess(wanted)),
        (None, Some(got)) => return Some(Cause::OneMore(got)),
        (None, None) => return None,
    };
    if (wanted, got) == (Deed::Send, Deed::Send) {
        return Some(of_sends(expected, came, rest, afterwards));
    }
    let recorded = || rest.iter().map(|(_, step)| step);
    let now = std::iter::once(came).chain(afterwards);
    let left_out = alike(now, recorded());
    let added = alike(
        afterwards.iter(),
        std::iter::once(expected).chain(recorded()),
    );
    Some(if left_out > added {
        Cause::OneLess(wanted)
    } else {
        Cause::OneMore(got)
    })
}

/// How many steps both begin with. What a clock or a receive gives is not compared, nor what a
/// packet says: behind a divergence nothing is answered as it was.
fn alike<'a>(left: impl Iterator<Item = &'a Step>, right: impl Iterator<Item = &'a Step>) -> usize {
    left.zip(right)
        .take_while(|(left, right)| match (left, right) {
            (Step::Send { to: a, .. }, Step::Send { to: b, .. }) => a == b,
            _ => std::mem::discriminant(*left) == std::mem::discriminant(*right),
        })
        .count()
}

fn of_sends(
    expected: &Step,
    came: &Step,
    rest: &[(EventNumber, Step)],
    afterwards: &[Step],
) -> Cause {
    let still_comes = afterwards.contains(expected);
    let later = rest.iter().find(|(_, step)| step == came);
    match later {
        Some((event, _)) if still_comes => return Cause::Order(*event),
        Some(_) => return Cause::OneLess(Deed::Send),
        None if still_comes => return Cause::OneMore(Deed::Send),
        None => {}
    }
    let (Step::Send { to: a, packet: x }, Step::Send { to: b, packet: y }) = (expected, came)
    else {
        return Cause::Content;
    };
    if a != b && x == y {
        Cause::Destination
    } else {
        Cause::Content
    }
}

#[cfg(test)]
mod tests {
    use netreel_reel::{Event, Header, Record, ReelWriter, SocketId, ThreadId, Time};

    use super::*;

    #[test]
    fn of_a_turn_without_an_end_a_part_is_looked_at() {
        let mut writer = ReelWriter::create(Vec::new(), &Header::default()).unwrap();
        let socket = SocketId(0);
        for number in 0..4 * STEPS_MAX as u64 {
            let record = Record {
                number: EventNumber(number),
                time: Time(number),
                thread: ThreadId(0),
                event: Event::PollEmpty { socket },
            };
            writer.push(&record).unwrap();
        }
        let reel = Arc::new(Reel::from_bytes(writer.finish().unwrap()).unwrap());
        let rest = rest_of_turn(&reel, EventNumber(5));
        assert_eq!(rest.len(), STEPS_MAX);
        assert_eq!(rest.first().map(|it| it.0), Some(EventNumber(6)));
    }
}
