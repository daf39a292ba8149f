//! Saying again what a node said to another endpoint, as its reel has it, at its time, and hearing what comes
//! back.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use netreel_reel::{Endpoint, Event, EventNumber, Reel, Time};
use netreel_wire::{Decoded, Wire};

use super::live::{Changed, Given, Live, LiveError, Named, Talk, given, taken};
use crate::difference::{FieldDifference, packet_difference};

/// When packets are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// As far from each other as they were recorded, so many times as fast.
    Recorded {
        /// 2: in half the time.
        speed: f64,
    },
    /// Each as soon as everything has come that had come before it in the recording.
    Answers,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Send this now, and ask again.
    Send(Vec<u8>),
    /// Nothing until then, unless a packet comes before.
    Wait(Time),
    /// All is said, and nothing more is waited for.
    Over,
}

/// A packet that was sent.
#[derive(Clone, Debug)]
pub struct Sent {
    /// The recorded event.
    pub number: EventNumber,
    /// When, since the beginning.
    pub at: Duration,
    /// When it was recorded, since the first of these packets.
    pub recorded_at: Duration,
    /// What was sent.
    pub packet: Vec<u8>,
    /// What is not as it was recorded.
    pub changed: Result<Vec<Changed>, LiveError>,
}

/// A packet that came, and the recorded one beside it.
#[derive(Clone, Debug)]
pub struct Came {
    /// When, since the beginning.
    pub at: Duration,
    /// What came.
    pub packet: Vec<u8>,
    /// The recorded event of the same kind that it stands for; none where there is none left.
    pub instead_of: Option<EventNumber>,
    /// The first place where it is not the recorded one; none where they are equal.
    pub difference: Option<FieldDifference>,
}

/// One node's packets, on their way to a live endpoint. The owner of the socket asks
/// [`next`](Onto::next) until that says to wait, waits for this long or for a packet, and hands
/// packets to [`hear`](Onto::hear).
pub struct Onto<'w> {
    wire: Option<&'w Wire>,
    steps: Vec<Step>,
    at: usize,
    pace: Pace,
    /// How long what does not come is waited for.
    patience: Duration,
    live: Option<Live<'w>>,
    /// Names under which the recorded peer gave one value alone.
    single: BTreeMap<Arc<str>, Option<Given>>,
    begun: Option<Time>,
    progress: Time,
    sent: Vec<Sent>,
    came: Vec<Came>,
}

struct Step {
    said: Said,
    decoded: Option<Decoded>,
    /// Of a sent packet: what it says back that had been given before it.
    needs: Vec<Named>,
    /// Of a received packet: whether a live one stands for it.
    is_met: bool,
}

impl<'w> Onto<'w> {
    /// Before the first packet. `peer` is where the recorded peer was.
    pub fn new(
        wire: Option<&'w Wire>,
        said: Vec<Said>,
        peer: SocketAddr,
        (pace, patience): (Pace, Duration),
    ) -> Onto<'w> {
        let mut recorded = wire.map(|wire| Talk::new(wire, peer));
        let mut known: BTreeSet<Named> = BTreeSet::new();
        let mut single: BTreeMap<Arc<str>, Option<Given>> = BTreeMap::new();
        let mut steps = Vec::with_capacity(said.len());
        for said in said {
            let decoded = recorded
                .as_mut()
                .map(|recorded| recorded.read(said.is_sent, &said.packet));
            let mut needs = Vec::new();
            match &decoded {
                Some(decoded) if said.is_sent => {
                    needs = taken(decoded);
                    needs.retain(|value| known.contains(value));
                }
                Some(decoded) => {
                    for (name, value) in given(decoded) {
                        let only = single.entry(name.clone());
                        let only = only.or_insert_with(|| Some(value.clone()));
                        if only.as_ref().is_some_and(|it| *it != value) {
                            *only = None;
                        }
                        known.insert((name, value));
                    }
                }
                None => {}
            }
            steps.push(Step {
                said,
                decoded,
                needs,
                is_met: false,
            });
        }
        Onto {
            wire,
            steps,
            at: 0,
            pace,
            patience,
            live: wire.map(|wire| Live::new(wire, peer)),
            single,
            begun: None,
            progress: Time::ZERO,
            sent: Vec::new(),
            came: Vec::new(),
        }
    }

    /// What to do at `now`, on any clock that does not go back.
    pub fn next(&mut self, now: Time) -> Next {
        let begun = *self.begun.get_or_insert(now);
        self.progress = self.progress.max(begun);
        while self.steps.get(self.at).is_some_and(|it| !it.said.is_sent) {
            self.at += 1;
        }
        let Some(step) = self.steps.get(self.at) else {
            let mut heard = self.steps.iter().filter(|step| !step.said.is_sent);
            let patient = self.progress + self.patience;
            return if heard.all(|step| step.is_met) || now >= patient {
                Next::Over
            } else {
                Next::Wait(patient)
            };
        };
        let first = self.steps.first().map_or(Time::ZERO, |it| it.said.time);
        let recorded_at = since(first, step.said.time);
        let patient = self.progress + self.patience;
        let mut due = match self.pace {
            Pace::Recorded { speed } => begun + recorded_at.div_f64(speed.max(1e-3)),
            Pace::Answers => {
                let before = self.steps.get(..self.at).unwrap_or_default();
                let mut before = before.iter().filter(|it| !it.said.is_sent);
                if before.all(|it| it.is_met) {
                    now
                } else {
                    patient
                }
            }
        };
        let lacks = |named: &Named| self.live.as_ref().is_some_and(|live| !live.knows(named));
        if step.needs.iter().any(lacks) {
            due = due.max(patient);
        }
        if now < due {
            return Next::Wait(due);
        }
        self.send(now, recorded_at)
    }

    fn send(&mut self, now: Time, recorded_at: Duration) -> Next {
        let Some(step) = self.steps.get(self.at) else {
            return Next::Over;
        };
        let number = step.said.number;
        if let Some(live) = &mut self.live {
            // What never came in its place: the latest of its name is nearest to the truth.
            let lacking = step.needs.iter().filter(|named| !live.knows(named));
            for named in lacking.cloned().collect::<Vec<_>>() {
                if let Some(latest) = live.latest(&named.0).cloned() {
                    live.learn(named, latest);
                }
            }
        }
        let recorded = &step.said.packet;
        let (packet, changed) = match (&mut self.live, &step.decoded) {
            (Some(live), Some(decoded)) => live.say(decoded, recorded),
            _ => (recorded.clone(), Ok(Vec::new())),
        };
        self.at += 1;
        self.progress = now;
        self.sent.push(Sent {
            number,
            at: since(self.begun.unwrap_or(now), now),
            recorded_at,
            packet: packet.clone(),
            changed,
        });
        Next::Send(packet)
    }

    /// Takes in a packet that came at `now`.
    pub fn hear(&mut self, now: Time, packet: &[u8]) {
        let begun = *self.begun.get_or_insert(now);
        self.progress = now;
        let decoded = self.live.as_mut().map(|live| live.hear(packet));
        let shape = shape(decoded.as_ref(), packet);
        let mut open = self.steps.iter_mut();
        let twin = open.find(|step| {
            !step.said.is_sent
                && !step.is_met
                && self::shape(step.decoded.as_ref(), &step.said.packet) == shape
        });
        let mut instead_of = None;
        let mut difference = None;
        let mut pairs: Vec<(Named, Given)> = Vec::new();
        let gave = decoded.as_ref().map(given).unwrap_or_default();
        for (name, value) in &gave {
            if let Some(Some(only)) = self.single.get(name) {
                pairs.push(((name.clone(), only.clone()), value.clone()));
            }
        }
        if let Some(twin) = twin {
            twin.is_met = true;
            instead_of = Some(twin.said.number);
            let trees = twin.decoded.as_ref().zip(decoded.as_ref());
            difference = packet_difference(trees, (&twin.said.packet, packet));
            let had = twin.decoded.as_ref().map(given).unwrap_or_default();
            let same = had
                .into_iter()
                .zip(gave)
                .filter(|(had, gave)| had.0 == gave.0);
            pairs.extend(same.map(|(had, gave)| (had, gave.1)));
        }
        if let Some(live) = &mut self.live {
            for (recorded, now) in pairs {
                live.learn(recorded, now);
            }
        }
        self.came.push(Came {
            at: since(begun, now),
            packet: packet.to_vec(),
            instead_of,
            difference,
        });
    }

    /// The wire by which packets are read.
    pub fn wire(&self) -> Option<&'w Wire> {
        self.wire
    }

    /// What was sent, in order.
    pub fn sent(&self) -> &[Sent] {
        &self.sent
    }

    /// What came, in order.
    pub fn came(&self) -> &[Came] {
        &self.came
    }

    /// What had come in the recording and did not come now.
    pub fn missing(&self) -> impl Iterator<Item = &Said> {
        let missing = self
            .steps
            .iter()
            .filter(|step| !step.said.is_sent && !step.is_met);
        missing.map(|step| &step.said)
    }

    /// What was recorded under a number.
    pub fn recorded(&self, number: EventNumber) -> Option<&Said> {
        let place = self
            .steps
            .binary_search_by_key(&number, |step| step.said.number);
        place
            .ok()
            .and_then(|place| self.steps.get(place))
            .map(|step| &step.said)
    }

    /// When a recorded packet was sent or received, since the first.
    pub fn recorded_at(&self, said: &Said) -> Duration {
        let first = self.steps.first().map_or(said.time, |it| it.said.time);
        since(first, said.time)
    }
}

/// What tells packets of one kind from others: the kinds of their messages; without a wire their
/// length.
fn shape(decoded: Option<&Decoded>, packet: &[u8]) -> (bool, Vec<usize>) {
    let Some(decoded) = decoded else {
        return (false, vec![packet.len()]);
    };
    let kinds = decoded.facts.messages.iter().map(|message| {
        let kind = message.kind;
        kind.map_or(usize::MAX, |kind| usize::from(kind.0))
    });
    (true, kinds.collect())
}

fn since(first: Time, time: Time) -> Duration {
    Duration::from_nanos(time.nanos().saturating_sub(first.nanos()))
}

/// A packet that a node sent or received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Its event.
    pub number: EventNumber,
    /// When, on the node's clock.
    pub time: Time,
    /// Whether the node sent it.
    pub is_sent: bool,
    /// What stood in it.
    pub packet: Vec<u8>,
}

/// How much a node and another endpoint said to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peer {
    /// Packets that the node sent there.
    pub sent: u64,
    /// Packets that it received from there.
    pub received: u64,
}

/// Whom a node sent packets to.
pub fn peers(reel: &Reel) -> BTreeMap<Endpoint, Peer> {
    let mut peers: BTreeMap<Endpoint, Peer> = BTreeMap::new();
    reel.for_each(|record| match record.event {
        Event::Sent { to, .. } => peers.entry(to).or_default().sent += 1,
        Event::Received { from, .. } => peers.entry(from).or_default().received += 1,
        _ => {}
    });
    peers.retain(|_, peer| peer.sent > 0);
    peers
}

/// The packets of a node to and from `peer`, in the order of its reel.
pub fn said(reel: &Reel, peer: Endpoint) -> Vec<Said> {
    let mut all = Vec::new();
    reel.for_each(|record| {
        let (is_sent, packet) = match record.event {
            Event::Sent { to, payload, .. } if to == peer => (true, payload),
            Event::Received { from, payload, .. } if from == peer => (false, payload),
            _ => return,
        };
        all.push(Said {
            number: record.number,
            time: record.time,
            is_sent,
            packet: packet.to_vec(),
        });
    });
    all
}
