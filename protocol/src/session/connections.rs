//! Connections: who talks to whom at one node, and what the wire keeps of it.

use netreel_reel::{Endpoint, Event, EventNumber, Record, Reel, SocketId, ThreadId};
use netreel_wire::{ConnectionState, Context, PacketFacts, Wire};

use super::matching::{End, Side};
use super::scan::Scan;

/// All packets between a socket of a node and one endpoint, in the order of the node's reel.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The node's socket.
    pub socket: SocketId,
    /// Its port; 0 where the reel does not say.
    pub port: u16,
    /// The other end.
    pub peer: Endpoint,
    /// Of a connection that an observer saw, the end that sent the first packet.
    pub local: Option<Endpoint>,
    /// Where an observer saw it: connections are kept apart for each interface.
    pub(super) interface: ThreadId,
    /// Whether the node sent the first packet.
    pub began: bool,
    /// Whether a proxy recorded it: its events are those of the proxy's socket, whose peer is the
    /// node at this address.
    pub(super) afar: Option<Endpoint>,
    /// The events that sent or received its packets. Empty where the wire keeps no state.
    pub(super) events: Vec<EventNumber>,
    /// What was kept before some of these events, by their place. The first place has none: nothing
    /// was kept then.
    checkpoints: Vec<(u32, ConnectionState)>,
}

impl Connection {
    pub(super) fn new(socket: SocketId, port: u16, peer: Endpoint, began: bool) -> Connection {
        Connection {
            socket,
            port,
            peer,
            local: None,
            interface: ThreadId(0),
            began,
            afar: None,
            events: Vec::new(),
            checkpoints: Vec::new(),
        }
    }

    /// A connection of which somebody saw a first packet, at an interface.
    pub(super) fn seen(interface: ThreadId, from: Endpoint, to: Endpoint) -> Connection {
        Connection {
            local: Some(from),
            interface,
            ..Connection::new(SocketId(0), from.port(), to, true)
        }
    }

    /// A connection of the node at `own` with `peer`, as a proxy's `socket` saw it.
    pub(super) fn seen_from_afar(
        socket: SocketId,
        own: Endpoint,
        peer: Endpoint,
        began: bool,
    ) -> Connection {
        Connection {
            afar: Some(own),
            ..Connection::new(socket, own.port(), peer, began)
        }
    }

    /// Whether an event of the reel is a packet of this connection, and goes out of its near end:
    /// the socket, or the end that was seen to send first, or the end that a proxy tells of.
    pub(super) fn is_out(&self, record: &Record<'_>) -> Option<bool> {
        let afar = self.afar.is_some();
        match record.event {
            Event::Sent { socket, to, .. } => self.is(socket, to).then_some(!afar),
            Event::Received { socket, from, .. } => self.is(socket, from).then_some(afar),
            Event::Seen { .. } if self.interface != record.thread => None,
            Event::Seen { from, to, .. } => match self.local {
                Some(local) if (local, self.peer) == (from, to) => Some(true),
                Some(local) if (local, self.peer) == (to, from) => Some(false),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether one of its packets is this event. Known where the wire keeps state.
    pub(super) fn holds(&self, number: EventNumber) -> bool {
        self.events.binary_search(&number).is_ok()
    }

    fn is(&self, socket: SocketId, peer: Endpoint) -> bool {
        self.local.is_none() && self.socket == socket && self.afar.unwrap_or(self.peer) == peer
    }

    /// What a wire may ask of a packet that the node sent (`out`) or received.
    pub fn context(&self, out: bool) -> Context {
        let (here, there) = (self.port, self.peer.port());
        let (source_port, destination_port) = if out { (here, there) } else { (there, here) };
        Context {
            source_port,
            destination_port,
            from_first: out == self.began,
        }
    }

    /// What is kept before an event of the connection, from the nearest checkpoint on. `None` where
    /// the event is not one of the connection's, or the reel can no longer be read.
    pub fn state_before(
        &self,
        number: EventNumber,
        wire: &Wire,
        reel: &Reel,
    ) -> Option<ConnectionState> {
        let place = self.events.binary_search(&number).ok()?;
        let after = self
            .checkpoints
            .partition_point(|&(before, _)| before as usize <= place);
        let (from, mut state) = match after.checked_sub(1).and_then(|at| self.checkpoints.get(at)) {
            Some((from, state)) => (*from as usize, state.clone()),
            None => (0, wire.new_state()),
        };
        let mut facts = PacketFacts::default();
        for &number in self.events.get(from..place)? {
            let record = reel.record(number)?;
            let record = record.as_record();
            if let (Some(out), Some(payload)) = (self.is_out(&record), payload(&record.event)) {
                wire.facts_in(&self.context(out), &mut state, payload, &mut facts);
            }
        }
        Some(state)
    }
}

/// The bytes of a packet.
pub(super) fn payload<'a>(event: &Event<'a>) -> Option<&'a [u8]> {
    match *event {
        Event::Sent { payload, .. }
        | Event::Received { payload, .. }
        | Event::Seen { payload, .. } => Some(payload),
        _ => None,
    }
}

/// Where checkpoints are made, and how much memory they may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checkpoints {
    /// So many packets of a connection apart, until that takes too much memory.
    pub packets: u32,
    /// Of a reel's checkpoints together, about.
    pub bytes_max: usize,
}

impl Default for Checkpoints {
    fn default() -> Checkpoints {
        Checkpoints {
            packets: 64,
            bytes_max: 32 << 20,
        }
    }
}

/// Runs all packets of a reel through a wire that keeps state, in the order of the reel. `wanted`
/// says of which packets somebody wants the facts.
pub(super) fn follow(
    scan: &mut Scan,
    wire: &Wire,
    mut checkpoints: Checkpoints,
    mut wanted: impl FnMut(Side, usize, &mut PacketFacts),
) {
    let mut states: Vec<ConnectionState> = Vec::new();
    states.resize_with(scan.connections.len(), || wire.new_state());
    let mut facts = PacketFacts::default();
    let mut bytes = 0;
    let (mut sent, mut received, mut seen) = (0, 0, 0);
    loop {
        let next = |side: Side, place: usize| {
            let raw = scan.side(side).get(place)?;
            Some((raw.number, side, place))
        };
        let nexts = [
            next(Side::Send, sent),
            next(Side::Receive, received),
            next(Side::Seen, seen),
        ];
        let Some((_, side, place)) = nexts.into_iter().flatten().min() else {
            return;
        };
        match side {
            Side::Send => sent += 1,
            Side::Receive => received += 1,
            Side::Seen => seen += 1,
        }
        let raw = scan.side(side).get(place);
        let Some(raw) = raw.copied() else { return };
        let at = raw.connection as usize;
        let (Some(connection), Some(state)) = (scan.connections.get_mut(at), states.get_mut(at))
        else {
            continue;
        };
        let before = connection.events.len() as u32;
        if before > 0 && before.is_multiple_of(checkpoints.packets) {
            connection.checkpoints.push((before, state.clone()));
            bytes += state.memory();
        }
        connection.events.push(raw.number);
        let context = connection.context(side.is_out(&raw));
        wire.facts_in(&context, state, scan.payload(&raw), &mut facts);
        wanted(side, place, &mut facts);
        if bytes > checkpoints.bytes_max {
            checkpoints.packets = checkpoints.packets.saturating_mul(2);
            bytes = thin(&mut scan.connections, checkpoints.packets);
        }
    }
}

/// Keeps the checkpoints that are so many packets apart; how much memory they take.
fn thin(connections: &mut [Connection], packets: u32) -> usize {
    let mut bytes = 0;
    for connection in connections {
        let checkpoints = &mut connection.checkpoints;
        checkpoints.retain(|(before, _)| before.is_multiple_of(packets));
        bytes += checkpoints
            .iter()
            .map(|(_, state)| state.memory())
            .sum::<usize>();
    }
    bytes
}

/// What a wire may ask of a packet at one of its ends.
pub(super) fn context(end: &End, scans: &[Scan]) -> Context {
    let scan = scans.get(usize::from(end.reel));
    let connection = scan.zip(end.raw(scans)).and_then(|(scan, raw)| {
        let place = raw.connection as usize;
        scan.connections.get(place)
    });
    let raw = end.raw(scans);
    connection
        .zip(raw)
        .map_or_else(Context::default, |(connection, raw)| {
            connection.context(end.side.is_out(raw))
        })
}

#[cfg(test)]
mod tests {
    use netreel_reel::{Header, ReelWriter, Time};

    use super::*;

    const WIRE: &str = "wire w { byte_order = little; bit_order = lsb; root = P; state = S; }
        state S { each names: string[64]; sum: u32 = 0; }
        struct P {
            key: u8 @sequence;
            name: string(u8, utf8);
            set state.names[key] = name;
            total: delta(u8, state.sum) @ack;
            set state.sum = total;
        }";

    /// A reel of one connection with so many packets.
    fn reel(packets: u8) -> Reel {
        let mut writer = ReelWriter::create(Vec::new(), &Header::default()).expect("a reel");
        let socket = SocketId(0);
        let peer = ([127, 0, 0, 1], 2).into();
        let local = ([127, 0, 0, 1], 1).into();
        let payloads: Vec<[u8; 6]> = (0..packets)
            .map(|key| [key, 3, b'a', b'b', b'a' + key % 7, key])
            .collect();
        let mut push = |number, event| {
            let (time, thread) = (Time(number), ThreadId(0));
            let number = EventNumber(number);
            let record = Record {
                number,
                time,
                thread,
                event,
            };
            writer.push(&record).expect("an event");
        };
        push(0, Event::SocketOpened { socket, local });
        for (number, payload) in (1..).zip(&payloads) {
            let event = match number % 3 {
                1 => Event::Sent {
                    socket,
                    to: peer,
                    payload,
                },
                _ => Event::Received {
                    socket,
                    from: peer,
                    payload,
                },
            };
            push(number, event);
        }
        Reel::from_bytes(writer.finish().expect("its bytes")).expect("the reel opens")
    }

    /// The state before every packet is that of the pass, whatever checkpoints there are.
    fn check(checkpoints: Checkpoints, most: usize) {
        let reel = reel(200);
        let wire = Wire::compile("w.wire", WIRE).unwrap_or_else(|error| panic!("{error}"));
        let mut scan = Scan::new(&reel);
        let mut at_load = Vec::new();
        follow(&mut scan, &wire, checkpoints, |_, _, facts| {
            at_load.push(facts.clone());
        });
        let [connection] = &scan.connections[..] else {
            panic!("one connection")
        };
        assert!(connection.checkpoints.len() <= most);
        assert!(connection.began);
        for (place, known) in at_load.iter().enumerate() {
            let number = connection.events[place];
            let mut state = connection
                .state_before(number, &wire, &reel)
                .expect("an event of the connection");
            let record = reel.record(number).expect("the event");
            let (out, payload) = match record.as_record().event {
                Event::Sent { payload, .. } => (true, payload),
                Event::Received { payload, .. } => (false, payload),
                other => panic!("{other:?}"),
            };
            let decoded = wire.decode_in(&connection.context(out), &mut state, payload);
            assert_eq!(decoded.facts, *known, "packet {place}");
        }
        let sum: u64 = (0..200).sum();
        let last = at_load.last().and_then(|facts| facts.ack);
        assert_eq!(last.map(|ack| ack.value), Some(sum));
    }

    #[test]
    fn a_look_from_a_checkpoint_sees_what_the_pass_saw() {
        let bytes_max = usize::MAX;
        for packets in [1, 7, 64, 1000] {
            check(Checkpoints { packets, bytes_max }, 200);
        }
    }

    #[test]
    fn checkpoints_that_take_too_much_memory_become_fewer() {
        let checkpoints = Checkpoints {
            packets: 1,
            bytes_max: 10_000,
        };
        check(checkpoints, 20);
    }
}
