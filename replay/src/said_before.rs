//! What a connection had said before a packet: with it the packet is read as its receiver reads it.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use netreel_reel::{Endpoint, Event, EventNumber, Reel, SocketId};
use netreel_wire::{Connections, Decoded, MessageFacts, PacketFacts, Role, Wire};

use crate::agreed::kind_of;
use crate::difference::{FieldDifference, field_difference};

/// What was said before a packet of a node to an endpoint.
pub(crate) struct Before<'w> {
    wire: &'w Wire,
    /// What connections keep; `None` where the wire keeps nothing.
    connections: Option<Connections<'w>>,
    /// Between whom the packet goes.
    link: (Endpoint, Endpoint),
    parts: Parts,
}

/// The fragments of messages that are under way to the endpoint.
#[derive(Clone, Default)]
struct Parts {
    /// By channel, number of the message, and in how many fragments it goes; the latest last.
    numbered: Vec<(Key, BTreeMap<u64, Vec<u8>>)>,
    /// Those without a number follow each other, by channel.
    runs: BTreeMap<Option<u64>, Vec<Vec<u8>>>,
}

type Key = (Option<u64>, u64, u64);

/// How many messages are looked after at a time.
const MESSAGES_MAX: usize = 256;

/// A fragment of a message.
struct Fragment {
    channel: Option<u64>,
    id: Option<u64>,
    index: u64,
    count: u64,
    bytes: Vec<u8>,
}

impl<'w> Before<'w> {
    /// Nothing.
    pub(crate) fn nothing(wire: &'w Wire) -> Before<'w> {
        let nobody = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        Before {
            wire,
            connections: None,
            link: (nobody, nobody),
            parts: Parts::default(),
        }
    }

    /// What the reel has before event `number`, which is a packet to `to`.
    pub(crate) fn of(reel: &Reel, number: EventNumber, to: Endpoint, wire: &'w Wire) -> Before<'w> {
        let mut before = Before::nothing(wire);
        before.connections = wire.has_state().then(|| Connections::new(wire));
        let mut locals: BTreeMap<SocketId, Endpoint> = BTreeMap::new();
        let nobody = before.link.0;
        let local = |locals: &BTreeMap<SocketId, Endpoint>, socket: SocketId| {
            locals.get(&socket).copied().unwrap_or(nobody)
        };
        reel.for_each(|record| match record.event {
            Event::SocketOpened { socket, local } => {
                locals.insert(socket, local);
            }
            Event::Sent {
                socket, to: its, ..
            } if record.number == number => before.link = (local(&locals, socket), its),
            _ if record.number >= number => {}
            Event::Sent {
                socket,
                to: its,
                payload,
            } => {
                let facts = before.take((local(&locals, socket), its), payload, its == to);
                if let Some(facts) = facts {
                    let said = fragments(wire, &facts, payload);
                    said.for_each(|fragment| before.parts.take(fragment));
                }
            }
            Event::Received {
                socket,
                from,
                payload,
            } => {
                before.take((from, local(&locals, socket)), payload, false);
            }
            _ => {}
        });
        before.link.1 = to;
        before
    }

    /// A packet before the one that is asked about; its facts, where they are `wanted`.
    fn take(
        &mut self,
        (from, to): (Endpoint, Endpoint),
        packet: &[u8],
        wanted: bool,
    ) -> Option<PacketFacts> {
        let mut facts = PacketFacts::default();
        match &mut self.connections {
            Some(connections) => connections.facts(from, to, packet, &mut facts),
            None if wanted => self.wire.facts(packet, &mut facts),
            None => return None,
        }
        wanted.then_some(facts)
    }

    /// Where two packets differ that would be the next one.
    pub(crate) fn difference(&self, (expected, came): (&[u8], &[u8])) -> Option<FieldDifference> {
        let (left, right) = (self.decoded(expected), self.decoded(came));
        let difference = field_difference(&left, &right)?;
        let joined = || self.joined((&left, expected), (&right, came)).map(Box::new);
        Some(FieldDifference {
            inside: difference.inside.clone().or_else(joined),
            ..difference
        })
    }

    fn decoded(&self, packet: &[u8]) -> Decoded {
        let (from, to) = self.link;
        match &self.connections {
            Some(connections) => connections.clone().decode(from, to, packet),
            None => self.wire.decode(packet),
        }
    }

    /// The first difference in a message that goes in fragments, as far as it was sent.
    fn joined(
        &self,
        (left, expected): (&Decoded, &[u8]),
        (right, came): (&Decoded, &[u8]),
    ) -> Option<FieldDifference> {
        let wire = self.wire;
        let mut parts = self.parts.clone();
        let pairs = fragments(wire, &left.facts, expected).zip(fragments(wire, &right.facts, came));
        for (expected, came) in pairs {
            let same_place = |it: &Fragment| (it.channel, it.id, it.index, it.count);
            if same_place(&expected) != same_place(&came) {
                return None;
            }
            if expected.bytes != came.bytes {
                let head = parts.before(&expected)?;
                let whole = |rest: &[u8]| [head.as_slice(), rest].concat();
                let [expected, came] = [&expected, &came].map(|it| whole(&it.bytes));
                let protocol = left.facts.protocol;
                let read = |message: &[u8]| wire.decode_message(protocol, message);
                let difference = field_difference(&read(&expected), &read(&came))?;
                let path = format!("the joined message's {}", difference.path);
                return Some(FieldDifference { path, ..difference });
            }
            parts.take(expected);
        }
        None
    }
}

/// The fragments that a packet carries.
fn fragments<'a>(
    wire: &'a Wire,
    facts: &'a PacketFacts,
    packet: &'a [u8],
) -> impl Iterator<Item = Fragment> + 'a {
    let is_fragment = |message: &MessageFacts| {
        let kind = kind_of(wire, message);
        kind.is_some_and(|kind| kind.role == Role::Fragment)
    };
    let said = facts.messages.iter().filter(move |it| is_fragment(it));
    said.filter_map(move |message| {
        let (index, count) = message.fragment?;
        let bytes = wire.bytes_at(facts, packet, message.fragment_data.as_ref()?);
        Some(Fragment {
            channel: message.channel,
            id: message.fragment_id,
            index,
            count,
            bytes,
        })
    })
}

impl Parts {
    fn take(&mut self, fragment: Fragment) {
        let Some(id) = fragment.id else {
            let run = self.runs.entry(fragment.channel).or_default();
            if fragment.index == 0 {
                run.clear();
            }
            // One that is sent again is in it already.
            if fragment.index == run.len() as u64 {
                run.push(fragment.bytes);
            }
            return;
        };
        let key = (fragment.channel, id, fragment.count);
        let known = self.numbered.iter().position(|(its, _)| *its == key);
        let mut parts = known
            .map(|at| self.numbered.remove(at).1)
            .unwrap_or_default();
        parts.insert(fragment.index, fragment.bytes);
        if self.numbered.len() >= MESSAGES_MAX {
            self.numbered.remove(0);
        }
        self.numbered.push((key, parts));
    }

    /// What the fragments before this one carry; `None` where one is not there.
    fn before(&self, fragment: &Fragment) -> Option<Vec<u8>> {
        let Some(id) = fragment.id else {
            let run = self
                .runs
                .get(&fragment.channel)
                .map_or(&[][..], Vec::as_slice);
            let parts = run.get(..usize::try_from(fragment.index).ok()?)?;
            return Some(parts.concat());
        };
        let key = (fragment.channel, id, fragment.count);
        let nothing = BTreeMap::new();
        let known = self.numbered.iter().find(|(its, _)| *its == key);
        let parts = known.map_or(&nothing, |(_, parts)| parts);
        let each = (0..fragment.index).map(|index| parts.get(&index).map(Vec::as_slice));
        Some(each.collect::<Option<Vec<_>>>()?.concat())
    }
}
