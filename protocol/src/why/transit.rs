//! What became of a packet on its way, and what that shows of the link.

use netreel_reel::{CallId, Event, EventNumber, FaultVerdict};

use super::prelude::*;
use crate::session::{Fate, NodeId, Packet, PacketId, Session, SessionTime};

/// How many packets around one are looked at.
const LOOK: u32 = 20_000;

/// Packets that arrive within this are together.
const TOGETHER_NS: i64 = 2_000_000;

/// A shorter stretch than this holds nothing up that anybody would ask about.
const HELD_NS_MIN: i64 = 20_000_000;

/// How many packets arrive together where something held them.
const HELD_MIN: u32 = 3;

/// A packet that is slower than the fastest by less is not late.
pub(super) const LATE_NS_MIN: i64 = 20_000_000;

impl Telling<'_> {
    /// What became of a packet, and why.
    pub fn fate(&mut self, id: PacketId) -> StepId {
        let Some(packet) = self.session.packet(id) else {
            return self.end(Fact::Sent { packet: id }, Certainty::Unknown);
        };
        let certainty = Certainty::but_for(packet.doubtful);
        let link = (packet.from, packet.to);
        match packet.fate {
            Fate::Received => self.arrived(id, &packet, certainty),
            Fate::Lost => {
                let next = next_arrived(self.session, id, link);
                self.step(Fact::Lost { packet: id, next }, certainty, |it| {
                    let faults = it.faults(id, &packet, FaultVerdict::ends);
                    if faults.is_empty() {
                        vec![it.nothing(match it.session.kernel_drops(link.1) {
                            0 => NotKnown::OnTheWay(link),
                            _ => NotKnown::Kernel(link.1),
                        })]
                    } else {
                        faults
                    }
                })
            }
            Fate::SendFailed => self.end(Fact::SendFailed { packet: id }, certainty),
            Fate::Unread => self.step(Fact::Unread { packet: id }, certainty, |it| {
                match it.session.kernel_drops(link.1) {
                    0 => Vec::new(),
                    _ => vec![it.nothing(NotKnown::Kernel(link.1))],
                }
            }),
            Fate::Unknown => {
                let why = match self.session.node(packet.to) {
                    _ if packet.received.is_some() => Unseen::OnlySeen,
                    Some(node) if node.recorded => Unseen::TooLittle,
                    _ => Unseen::NoReel,
                };
                let fact = Fact::FateUnknown { packet: id, why };
                self.step(fact, Certainty::Unknown, |it| {
                    let acked = it.history.acked(it.session, id);
                    let certainty = Certainty::but_for(it.history.is_ambiguous(id));
                    let acked = acked.map(|at| {
                        let (packet, at) = (id, at.time);
                        it.end(Fact::Acked { packet, at }, certainty)
                    });
                    acked.into_iter().collect()
                })
            }
        }
    }

    /// That nothing is known beyond this.
    pub fn nothing(&mut self, about: NotKnown) -> StepId {
        self.end(Fact::Nothing { about }, Certainty::Unknown)
    }

    fn arrived(&mut self, id: PacketId, packet: &Packet, certainty: Certainty) -> StepId {
        let link = (packet.from, packet.to);
        let ends = packet.sent.zip(packet.received);
        let took_ns = ends.map(|(sent, received)| received.time.since(sent.time));
        let late = took_ns.and_then(|it| self.is_late(id, link, it));
        let Some((took_ns, fastest_ns)) = late else {
            let packet = id;
            return self.end(Fact::InTime { packet, took_ns }, certainty);
        };
        let is_sure = took_ns.saturating_sub(fastest_ns) > clock_error_ns(self.session, link);
        let known = Certainty::but_for(!is_sure || packet.doubtful);
        let fact = Fact::Late {
            packet: id,
            took_ns,
            fastest_ns,
        };
        self.step(fact, known, |it| {
            let mut because = it.faults(id, packet, |verdict| {
                use FaultVerdict::{Delayed, Queued, Reordered};
                matches!(verdict, Delayed { .. } | Queued { .. } | Reordered { .. })
            });
            match not_read(it.session, id, fastest_ns) {
                Some((not_read, sure)) => because.push(it.end(not_read, sure)),
                None => {
                    let held = held(it.session, id, link);
                    because.extend(held.map(|held| it.end(held, certainty)));
                }
            }
            if because.is_empty() {
                because.push(it.nothing(NotKnown::OnTheWay(link)));
            }
            because
        })
    }

    /// How long a packet took and how long the fastest of its link did, where it was late: it was
    /// held with others, or took twice as long as the middle one.
    fn is_late(&self, id: PacketId, link: Link, took_ns: i64) -> Option<(i64, i64)> {
        let traffic = self.session.traffic().get(&link)?;
        let (fastest_ns, middle_ns, _) = traffic.latency_ns?;
        if took_ns.saturating_sub(fastest_ns) < LATE_NS_MIN {
            return None;
        }
        let is_late =
            took_ns >= middle_ns.saturating_mul(2) || held(self.session, id, link).is_some();
        is_late.then_some((took_ns, fastest_ns))
    }

    /// What proxies did to a packet, as far as that is asked for.
    fn faults(
        &mut self,
        id: PacketId,
        packet: &Packet,
        is_asked: impl Fn(FaultVerdict) -> bool,
    ) -> Vec<StepId> {
        let faults = (0u32..).zip(&packet.faults);
        let asked = faults.filter(|(_, fault)| is_asked(fault.verdict));
        let steps = asked.map(|(fault, _)| self.certain(Fact::Fault { packet: id, fault }));
        steps.collect()
    }
}

/// How far the times of the two ends of a link may be apart by their clocks.
fn clock_error_ns(session: &Session, (from, to): Link) -> i64 {
    let error = |node: NodeId| {
        let node = session.node(node);
        node.map_or(u64::MAX, |node| node.clock_error_ns)
    };
    i64::try_from(error(from).saturating_add(error(to))).unwrap_or(i64::MAX)
}

/// The packets of a link around one, from it on, forward or back.
pub(super) fn of_link(
    session: &Session,
    from: PacketId,
    link: Link,
    is_forward: bool,
) -> impl Iterator<Item = PacketId> + '_ {
    let ids = (1..=LOOK).map_while(move |by| {
        if is_forward {
            from.0.checked_add(by)
        } else {
            from.0.checked_sub(by)
        }
    });
    let ids = ids.map(PacketId);
    let known = ids.take_while(|id| (id.0 as usize) < session.packet_count());
    known.filter(move |&id| session.link(id) == Some(link))
}

/// The next packet of a link that arrived.
fn next_arrived(session: &Session, id: PacketId, link: Link) -> Option<PacketId> {
    of_link(session, id, link, true).find(|&it| {
        let packet = session.packet(it);
        packet.is_some_and(|packet| packet.fate == Fate::Received)
    })
}

/// A packet that was sent and received.
#[derive(Clone, Copy)]
struct Passed {
    id: PacketId,
    sent: SessionTime,
    received: SessionTime,
}

fn passed(session: &Session, id: PacketId) -> Option<Passed> {
    let packet = session.packet(id)?;
    Some(Passed {
        id,
        sent: packet.sent?.time,
        received: packet.received?.time,
    })
}

/// The packets with which one arrived, where they were sent over a far longer time than that in
/// which they arrived.
fn held(session: &Session, id: PacketId, link: Link) -> Option<Fact> {
    let it = passed(session, id)?;
    let (mut first, mut last) = (it, it);
    let (mut earliest, mut latest) = (it.received, it.received);
    let (mut count, mut of) = (1u32, 1u32);
    for is_forward in [false, true] {
        let mut between = 0;
        for other in of_link(session, id, link, is_forward) {
            between += 1;
            let Some(other) = passed(session, other) else {
                continue; // lost, or not recorded
            };
            if is_forward && other.sent > latest {
                break;
            }
            let apart_ns = other.received.since(it.received);
            if apart_ns.abs() > TOGETHER_NS {
                // What was overtaken does not end it.
                if is_forward == (apart_ns > 0) {
                    break;
                }
                continue;
            }
            (count, of) = (count + 1, of + between);
            between = 0;
            (earliest, latest) = (earliest.min(other.received), latest.max(other.received));
            *(if is_forward { &mut last } else { &mut first }) = other;
        }
    }
    let sent_ns = last.sent.since(first.sent);
    let came_ns = latest.since(earliest);
    if count < HELD_MIN || sent_ns < HELD_NS_MIN || sent_ns / 4 < came_ns {
        return None;
    }
    Some(Fact::Held {
        link,
        packets: (first.id, last.id),
        count,
        of,
        sent: (first.sent, last.sent),
        at: latest,
        others: of_receiver(session, link, first.id, earliest).count() as u32,
    })
}

/// How many events of a reel before a receipt are looked at for when its node had asked last.
const EVENTS_MAX: u64 = 4096;

/// That the receiver of a late packet asked for none for most of the time by which it was late, where
/// its reel shows that. A node that waits in a call asks all the time, and its reel shows no answer
/// that nothing is there: of such a node nothing is said.
fn not_read(session: &Session, id: PacketId, fastest_ns: i64) -> Option<(Fact, Certainty)> {
    let packet = session.packet(id)?;
    let (sent, received) = (packet.sent?, packet.received?);
    let usual = sent.time.0.saturating_add(fastest_ns);
    let late_ns = received.time.0.saturating_sub(usual);
    let mut until = received.time;
    // When the event was that comes behind the one that is looked at and has a time of its own.
    let mut behind = until;
    let mut empty: Option<(SessionTime, SessionTime)> = None;
    let numbers = (1..=EVENTS_MAX).map_while(|by| received.number.0.checked_sub(by));
    for number in numbers.map(EventNumber) {
        let record = session.record(packet.to, number)?;
        let record = record.as_record();
        let time = session.time_of(packet.to, record.time, number)?;
        let is_empty = matches!(record.event, Event::PollEmpty { .. });
        if let Some((asked, after)) = empty {
            // The answer has the time of what the node did before it: it asked between these. Who
            // asks in a row may have asked at any time.
            let bounds = [(after, Certainty::Certain), (asked, Certainty::Doubtful)];
            let mut known = bounds.into_iter().take(if is_empty { 1 } else { 2 });
            let (since, certainty) = known.find(|&(since, _)| {
                let waited_ns = until.0.saturating_sub(since.0.max(usual));
                waited_ns >= HELD_NS_MIN && waited_ns >= late_ns / 2
            })?;
            let fact = Fact::NotRead {
                packet: id,
                since,
                until,
            };
            return Some((fact, certainty));
        }
        match record.event {
            Event::PollEmpty { .. } => empty = Some((time, behind)),
            // Read together with it.
            Event::Received { .. } if received.time.since(time) <= TOGETHER_NS => {
                (until, behind) = (time, time);
            }
            Event::Received { .. } | Event::ReceiveFailed { .. } => return None,
            Event::Called { call, .. } if waits(call) => return None,
            Event::SendResult { .. } => {}
            _ => behind = time,
        }
    }
    None
}

/// Whether a call waits for packets, or looks at one.
fn waits(call: CallId) -> bool {
    let waiting = [
        CallId::POLL,
        CallId::PPOLL,
        CallId::SELECT,
        CallId::PSELECT,
        CallId::EPOLL_WAIT,
        CallId::EPOLL_PWAIT,
        CallId::PEEK,
    ];
    waiting.contains(&call)
}

/// Packets of others that the receiver of a link received between the first send and the receipt of what
/// was held.
fn of_receiver(
    session: &Session,
    (from, to): Link,
    first: PacketId,
    until: SessionTime,
) -> impl Iterator<Item = PacketId> + '_ {
    let ids = (first.0..first.0.saturating_add(LOOK)).map(PacketId);
    let known = ids.take_while(|id| (id.0 as usize) < session.packet_count());
    known.filter(move |&id| {
        let link = session.link(id);
        let is_other = link.is_some_and(|(by, at)| at == to && by != from);
        let received = is_other.then(|| session.packet(id)?.received).flatten();
        let soon = until.0.saturating_sub(TOGETHER_NS);
        received.is_some_and(|received| received.time.0 < soon)
    })
}
