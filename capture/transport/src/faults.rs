//! Faults as middleware: any transport, made worse.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU64;

use netreel_reel::{Believed, Duration, Endpoint, Time};

use crate::draw::{mix, unit};
use crate::gates::LinkEnd;
use crate::transport::handed_on;
use crate::{Datagram, Gates, ReceiveError, SendError, Transport};

/// How many packets are taken from the inner transport at once, so that a flood cannot hold up
/// the caller.
const TAKEN_AT_ONCE_MAX: usize = 4096;

/// How many packets a burst of loss has on average, where nobody says it.
pub const BURST_LENGTH: f64 = 8.0;

/// A burst that began more packets ago is over.
const BURST_MAX: u64 = 4096;

/// What is wrong with one directed link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkFaults {
    /// How long every packet takes.
    pub delay: Duration,
    /// Up to how much longer it takes by chance. Jitter alone keeps the order of packets.
    pub jitter: Duration,
    /// The chance that a packet is lost, from 0 to 1.
    pub loss: f64,
    /// The chance that a burst of loss begins at a packet, from 0 to 1.
    pub burst: f64,
    /// How many packets such a burst has on average; 1 and more.
    pub burst_length: f64,
    /// The chance that a packet of a burst is lost, from 0 to 1.
    pub burst_loss: f64,
    /// The chance that one bit of a packet is another when it arrives, from 0 to 1.
    pub corrupt: f64,
    /// The chance that a packet arrives twice, from 0 to 1.
    pub duplicate: f64,
    /// The chance that later packets overtake a packet, from 0 to 1.
    pub reorder: f64,
    /// How much longer a packet takes that is overtaken, and the second of two copies.
    pub reorder_by: Duration,
    /// Packets with a larger payload are lost, in bytes; `None`: all sizes pass.
    pub bytes_max: Option<usize>,
    /// Every packet with this number is lost: with 64 the 64th, the 128th, ...; `None`: none is.
    pub every: Option<NonZeroU64>,
}

/// What becomes of one packet: a function of seed, link and the packet's number on the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// It never arrives.
    pub lost: bool,
    /// How long it takes.
    pub delay: Duration,
    /// Later packets may overtake it.
    pub overtaken: bool,
    /// How long a second copy takes, where there is one.
    pub copy: Option<Duration>,
    /// This bit is another when it arrives, counted from the highest of the first byte.
    pub corrupted: Option<usize>,
}

impl Verdict {
    /// When a packet arrives that sets out at `begins`, and a copy of it. `last` is when the latest packet of
    /// the link arrives that kept its place: only one that is overtaken does not mind it.
    pub fn arrivals(&self, begins: Time, last: &mut Time) -> (Time, Option<Time>) {
        let mut due = begins + self.delay;
        if !self.overtaken {
            due = due.max(*last);
            *last = due;
        }
        (due, self.copy.map(|delay| (begins + delay).max(due)))
    }
}

/// Any transport with faults on its links, and [`Gates`].
///
/// Delayed packets are let go when the clock of the inner transport has passed their time and a
/// `send`, `receive` or `tick` comes by.
#[derive(Debug)]
pub struct Faults<T> {
    inner: T,
    own: LinkEnd,
    ends: BTreeMap<Endpoint, LinkEnd>,
    gates: Gates,
    egress: FaultedLinks,
    ingress: FaultedLinks,
    buffer: Vec<u8>,
}

impl Default for LinkFaults {
    fn default() -> LinkFaults {
        LinkFaults {
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            loss: 0.0,
            burst: 0.0,
            burst_length: BURST_LENGTH,
            burst_loss: 1.0,
            corrupt: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            reorder_by: Duration::from_millis(40),
            bytes_max: None,
            every: None,
        }
    }
}

impl LinkFaults {
    /// A link on which every packet takes `delay`, and nothing else is wrong.
    pub fn delayed(delay: Duration) -> LinkFaults {
        LinkFaults {
            delay,
            ..LinkFaults::default()
        }
    }

    /// What becomes of packet `n` (from 0) of the link from `from` to `to`, with this many bytes of payload.
    pub fn verdict(
        &self,
        seed: u64,
        (from, to): (LinkEnd, LinkEnd),
        (n, bytes): (u64, usize),
    ) -> Verdict {
        let (from, to) = (u64::from(from.0), u64::from(to.0));
        let drawn = |n: u64, what: u64| unit(mix(&[seed, from, to, n, what]));
        let draw = |what: u64| drawn(n, what);
        let delay = self.delay + self.jitter.mul_f64(draw(0));
        let overtaken = draw(1) < self.reorder;
        let is_too_large = self.bytes_max.is_some_and(|max| bytes > max);
        let is_counted = self.every.is_some_and(|every| (n + 1) % every == 0);
        let in_burst = || {
            let packets = (n + 1).min(BURST_MAX);
            self.is_in_burst(packets, |before| drawn(n - before, 5))
        };
        let is_burst = self.burst > 0.0 && draw(6) < self.burst_loss && in_burst();
        let is_corrupted = draw(7) < self.corrupt && bytes > 0;
        Verdict {
            lost: draw(2) < self.loss || is_too_large || is_counted || is_burst,
            corrupted: is_corrupted.then(|| (draw(8) * (bytes * 8) as f64) as usize),
            delay: if overtaken {
                delay + self.reorder_by
            } else {
                delay
            },
            overtaken,
            copy: (draw(3) < self.duplicate).then(|| delay + self.reorder_by.mul_f64(draw(4))),
        }
    }

    /// Whether a packet is in a burst: a link is good or bad, and changes from packet to packet by chance
    /// (Gilbert, 1960; Elliott, 1963). The draw of a packet says that it is bad from it on, or good, or as it
    /// was; so that it takes no memory of what was, `drawn` gives those of it and of the packets before it.
    fn is_in_burst(&self, packets: u64, drawn: impl Fn(u64) -> f64) -> bool {
        let stays = 1.0 - 1.0 / self.burst_length.max(1.0);
        let mut changes = (0..packets)
            .map(drawn)
            .filter(|&it| it < self.burst || it >= stays);
        changes.next().is_some_and(|it| it < self.burst)
    }
}

/// Turns one bit of a packet, counted from the highest of the first byte.
pub fn turn_bit(packet: &mut [u8], bit: usize) {
    if let Some(byte) = packet.get_mut(bit / 8) {
        *byte ^= 0x80 >> (bit % 8);
    }
}

impl<T: Transport> Faults<T> {
    /// No faults yet. `own` is this node's end of every link; `ends` gives the number of each
    /// endpoint that it talks to. Packets from and to other endpoints pass untouched.
    pub fn new(
        inner: T,
        seed: u64,
        own: LinkEnd,
        ends: impl IntoIterator<Item = (Endpoint, LinkEnd)>,
    ) -> Faults<T> {
        Faults {
            inner,
            own,
            ends: ends.into_iter().collect(),
            gates: Gates::default(),
            egress: FaultedLinks::new(mix(&[seed, 0])),
            ingress: FaultedLinks::new(mix(&[seed, 1])),
            buffer: vec![0; 65_536],
        }
    }

    /// Sets the faults of the link to `to`, applied as packets leave.
    pub fn set_egress(&mut self, to: LinkEnd, faults: LinkFaults) {
        self.egress.faults.insert(to, faults);
    }

    /// Sets the faults of the link from `from`, applied as packets arrive.
    pub fn set_ingress(&mut self, from: LinkEnd, faults: LinkFaults) {
        self.ingress.faults.insert(from, faults);
    }

    /// The node's gates.
    pub fn gates(&self) -> Gates {
        self.gates.clone()
    }

    /// The transport below.
    pub fn inner_mut(&mut self) -> &mut T {
        &mut self.inner
    }

    /// How many packets wait, for their time or for a gate.
    pub fn waiting(&self) -> usize {
        self.egress.waiting() + self.ingress.waiting()
    }

    fn let_go(&mut self) {
        let now = self.inner.now();
        let (gates, own) = (&self.gates, self.own);
        self.egress.settle(now, |to| gates.is_shut(own, to));
        self.ingress.settle(now, |from| gates.is_shut(from, own));
        while let Some(held) = self.egress.ready.pop_front() {
            // Whoever sent it was told long ago that it went.
            let _ = self.inner.send(held.endpoint, &held.packet);
        }
    }
}

impl<T: Transport> Transport for Faults<T> {
    fn send(&mut self, to: Endpoint, packet: &[u8]) -> Result<(), SendError> {
        self.let_go();
        let Some(&end) = self.ends.get(&to) else {
            return self.inner.send(to, packet);
        };
        if self.egress.passes(end) && !self.gates.is_shut(self.own, end) {
            self.egress.count(end);
            return self.inner.send(to, packet);
        }
        let now = self.inner.now();
        self.egress.take(now, (self.own, end), end, to, packet);
        self.let_go();
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<Datagram>, ReceiveError> {
        for _ in 0..TAKEN_AT_ONCE_MAX {
            let Some(datagram) = self.inner.receive(&mut self.buffer)? else {
                break;
            };
            let packet = self.buffer.get(..datagram.length).unwrap_or(&self.buffer);
            let now = self.inner.now();
            match self.ends.get(&datagram.from) {
                Some(&end) => {
                    self.ingress
                        .take(now, (end, self.own), end, datagram.from, packet);
                }
                None => self.ingress.ready.push_back(Held {
                    end: self.own,
                    endpoint: datagram.from,
                    packet: packet.to_vec(),
                }),
            }
        }
        self.let_go();
        Ok(self.ingress.ready.pop_front().map(|held| {
            let length = held.packet.len().min(buffer.len());
            buffer[..length].copy_from_slice(&held.packet[..length]);
            Datagram {
                from: held.endpoint,
                length,
            }
        }))
    }

    fn tick(&mut self, tick: u64, time: Time) {
        self.let_go();
        self.inner.tick(tick, time);
    }

    handed_on! {
        self => self.inner;
        now random input note believes believes_value offer_state
    }
}

/// All links of a node in one direction.
#[derive(Debug, Default)]
struct FaultedLinks {
    seed: u64,
    faults: BTreeMap<LinkEnd, LinkFaults>,
    /// How many packets each link has seen.
    counts: BTreeMap<LinkEnd, u64>,
    /// When the last packet of each link that kept its place is let go.
    last: BTreeMap<LinkEnd, Time>,
    /// Packets that wait for their time; the number keeps those of one time in order.
    delayed: BTreeMap<(Time, u64), Held>,
    taken: u64,
    /// Packets whose time has come and whose gate is shut.
    gated: BTreeMap<LinkEnd, VecDeque<Held>>,
    ready: VecDeque<Held>,
}

#[derive(Clone, Debug)]
struct Held {
    end: LinkEnd,
    endpoint: Endpoint,
    packet: Vec<u8>,
}

impl FaultedLinks {
    fn new(seed: u64) -> FaultedLinks {
        FaultedLinks {
            seed,
            ..FaultedLinks::default()
        }
    }

    /// Whether a packet of this link need not be held at all.
    fn passes(&self, end: LinkEnd) -> bool {
        !self.faults.contains_key(&end)
            && !self.gated.contains_key(&end)
            && !self.delayed.values().any(|held| held.end == end)
    }

    /// The number of a link's next packet, from 0, which is now taken: also that of a packet that
    /// is not held, so that faults set later begin where the link is.
    fn count(&mut self, end: LinkEnd) -> u64 {
        let next = self.counts.entry(end).or_insert(0);
        let n = *next;
        *next += 1;
        n
    }

    fn take(
        &mut self,
        now: Time,
        (from, to): (LinkEnd, LinkEnd),
        end: LinkEnd,
        endpoint: Endpoint,
        packet: &[u8],
    ) {
        let n = self.count(end);
        let faults = self.faults.get(&end).copied().unwrap_or_default();
        let verdict = faults.verdict(self.seed, (from, to), (n, packet.len()));
        if verdict.lost {
            return;
        }
        let mut held = Held {
            end,
            endpoint,
            packet: packet.to_vec(),
        };
        if let Some(bit) = verdict.corrupted {
            turn_bit(&mut held.packet, bit);
        }
        let (due, copy) = verdict.arrivals(now, self.last.entry(end).or_default());
        if let Some(due) = copy {
            self.hold(due, held.clone());
        }
        self.hold(due, held);
    }

    fn hold(&mut self, due: Time, held: Held) {
        self.delayed.insert((due, self.taken), held);
        self.taken += 1;
    }

    /// Moves what may go to `ready`: first what a gate held that is open now, then what is due.
    fn settle(&mut self, now: Time, is_shut: impl Fn(LinkEnd) -> bool) {
        let open: Vec<LinkEnd> = self
            .gated
            .keys()
            .copied()
            .filter(|&end| !is_shut(end))
            .collect();
        for end in open {
            self.ready
                .extend(self.gated.remove(&end).into_iter().flatten());
        }
        while let Some(entry) = self.delayed.first_entry() {
            if entry.key().0 > now {
                break;
            }
            let held = entry.remove();
            if is_shut(held.end) {
                self.gated.entry(held.end).or_default().push_back(held);
            } else {
                self.ready.push_back(held);
            }
        }
    }

    fn waiting(&self) -> usize {
        self.delayed.len()
            + self.ready.len()
            + self.gated.values().map(VecDeque::len).sum::<usize>()
    }
}
