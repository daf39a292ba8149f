//! What a wire with state keeps of each connection, so that any packet can be looked at without all
//! before it.

use std::collections::BTreeMap;

use netreel_reel::{EventNumber, Record, Reel};
use netreel_table::Column;
use netreel_wire::{ConnectionState, FILE_STEPS_MAX, PACKET_STEPS, PacketFacts, States, Wire};

use crate::session::index::plain::indexed;
use crate::session::read::connections::{Connection, payload};
use crate::session::read::payloads;

/// What is kept of a connection, so that a packet can be looked at without all before it.
#[derive(Clone, Default)]
pub(crate) struct Kept {
    /// The events of those of its packets that were asked about behind those before them.
    pub events: Column,
    /// What was kept before some of these events, by their place. The first place has none: nothing
    /// was kept then.
    checkpoints: Vec<(u32, ConnectionState)>,
    /// The places of events before which the connection was forgotten.
    forgotten: Vec<u32>,
}

indexed!(Kept: events; (checkpoints, forgotten));

/// Where checkpoints are made, and how much memory they may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Checkpoints {
    /// How many packets of a connection apart, until that takes too much memory.
    pub packets: u32,
    /// Of all checkpoints together, about.
    pub bytes_max: usize,
    /// What asking may cost.
    pub budget: Budget,
}

/// What asking the wire about the packets of a file may cost. What is beyond is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// How many bytes the states of all connections may take together.
    pub states: usize,
    /// How many steps the wire's scripts may take.
    pub steps: u64,
    /// How many more with each packet.
    pub packet_steps: u64,
}

impl Budget {
    /// What a whole session may take.
    pub const WHOLE: Budget = Budget {
        states: States::BYTES_MAX,
        steps: FILE_STEPS_MAX,
        packet_steps: PACKET_STEPS,
    };

    /// What is left once the wire's scripts have taken so many steps.
    pub fn without(self, steps: u64) -> Budget {
        Budget {
            steps: self.steps.saturating_sub(steps),
            ..self
        }
    }

    /// For each of this many parts of it.
    pub fn part(self, parts: usize) -> Budget {
        Budget {
            states: self.states / parts.max(1),
            steps: self.steps / parts.max(1) as u64,
            ..self
        }
    }
}

impl Kept {
    /// Takes the next packet, before which this was kept. How many bytes of memory a checkpoint
    /// takes, if there is one each this many packets.
    pub fn take(&mut self, number: EventNumber, state: &ConnectionState, packets: u32) -> usize {
        let before = self.events.len() as u32;
        self.events.push(number.0);
        if before == 0 || !before.is_multiple_of(packets) {
            return 0;
        }
        self.checkpoints.push((before, state.clone()));
        state.memory()
    }

    /// All connections together keep too much: this one is forgotten.
    pub fn forget(&mut self) {
        self.forgotten.push(self.events.len() as u32);
    }

    /// How often it was forgotten.
    pub fn times_forgotten(&self) -> usize {
        self.forgotten.len()
    }

    /// How many of these events come before one, and whether that is one of them.
    pub fn place(&self, number: EventNumber) -> (usize, bool) {
        let place = self.events.lower_bound(number.0);
        let is_one = place < self.events.len() && self.events.get(place) == number.0;
        (place, is_one)
    }

    /// What is kept before an event of the connection, by its place, from the nearest checkpoint on, or
    /// from what a look before left. `None` where the reel can no longer be read.
    pub fn state_before(
        &self,
        place: usize,
        (connection, wire, reel): (&Connection, &Wire, &Reel),
        left: Option<(usize, ConnectionState)>,
    ) -> Option<ConnectionState> {
        let after = self
            .checkpoints
            .partition_point(|&(before, _)| before as usize <= place);
        let checkpoint = after.checked_sub(1).and_then(|at| self.checkpoints.get(at));
        let from_checkpoint = checkpoint.map_or(0, |&(before, _)| before as usize);
        let (from, state) = match (left, checkpoint) {
            (Some((before, state)), _) if before >= from_checkpoint => (before, state),
            (_, Some((before, state))) => (*before as usize, state.clone()),
            (_, None) => (0, wire.new_state()),
        };
        let mut forgotten = self
            .forgotten
            .iter()
            .rev()
            .map(|&at| at as usize)
            .filter(|&at| at <= place);
        let (from, mut state) = match forgotten.next().filter(|&at| at >= from) {
            Some(at) => (at, wire.new_state()),
            None => (from, state),
        };
        let mut facts = PacketFacts::default();
        let numbers: Vec<EventNumber> = self
            .events
            .iter_from(from)
            .take(place - from)
            .map(EventNumber)
            .collect();
        let mut read = 0;
        let mut show = |record: &Record<'_>| {
            read += 1;
            if let (Some(out), Some(payload)) = (connection.is_out(record), payload(&record.event))
            {
                wire.facts_in(&connection.context(out), &mut state, payload, &mut facts);
            }
        };
        match numbers.len() {
            // The reel has the block at hand that was asked for last.
            0..=FEW => {
                let records = numbers.iter().filter_map(|&number| reel.record(number));
                records.for_each(|record| show(&record.as_record()));
            }
            _ => payloads::records(reel, &numbers, show),
        }
        (read == numbers.len()).then_some(state)
    }
}

/// How many events are read one by one.
const FEW: usize = 32;

/// Keeps the checkpoints that are this many packets apart; how much memory they take.
pub(crate) fn thin(kept: &mut BTreeMap<u32, Kept>, packets: u32) -> usize {
    let mut bytes = 0;
    for kept in kept.values_mut() {
        let checkpoints = &mut kept.checkpoints;
        checkpoints.retain(|(before, _)| before.is_multiple_of(packets));
        bytes += checkpoints
            .iter()
            .map(|(_, state)| state.memory())
            .sum::<usize>();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use netreel_reel::{Event, Header, Record, ReelWriter, SocketId, ThreadId, Time};

    use netreel_wire::Decoded;

    use super::*;
    use crate::session::facts::told::Told;
    use crate::session::read::ends::Side;
    use crate::session::{PacketId, ReelInput, Session};

    const WIRE: &str = "wire w { byte_order = little; bit_order = lsb; root = P; state = S; }
        state S { each names: string[64]; sum: u32 = 0; }
        struct P {
            key: u8 @sequence;
            name: string(u8, utf8);
            set state.names[key] = name;
            total: delta(u8, state.sum) @ack;
            set state.sum = total;
        }";

    /// A reel of one connection with this many packets.
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
        let wire = Wire::compile("w.wire", WIRE).unwrap_or_else(|error| panic!("{error}"));
        let wire = Arc::new(wire);
        let input = ReelInput {
            name: "a.reel".to_owned(),
            reel: Arc::new(reel(200)),
        };
        let session = Session::builder()
            .wire(wire.clone())
            .build(vec![input])
            .expect("a session");
        let told = Told::with_checkpoints((&session.rows, &wire), 1, checkpoints, Vec::new());
        let kept = told.kept(0, 0).expect("one connection");
        assert!(kept.checkpoints.len() <= most);
        let track = &session.rows.tracks[0];
        let [connection] = &track.connections[..] else {
            panic!("one connection")
        };
        assert!(connection.began);
        let reel = track.reel.as_ref().expect("its reel");
        for packet in (0..200).map(PacketId) {
            let (_, side, place) = session.rows.told(packet).expect("the packet");
            let number = track.side(side).number(place);
            let (place, is_one) = kept.place(number);
            assert!(is_one, "an event of the connection");
            let mut state = kept
                .state_before(place, (connection, &wire, reel), None)
                .expect("its reel");
            let record = reel.record(number).expect("the event");
            let payload = payload(&record.as_record().event).expect("a packet");
            let out = side == Side::Send;
            let decoded = wire.decode_in(&connection.context(out), &mut state, payload);
            let (said, _) = told.of(&session.rows, packet).expect("what it says");
            assert_eq!(decoded.facts.sequence, said.sequence, "{packet:?}");
            assert_eq!(decoded.facts.ack, said.ack, "{packet:?}");
        }
        let sum: u64 = (0..200).sum();
        let (last, _) = told.of(&session.rows, PacketId(199)).expect("the last");
        if told.forgotten() == 0 {
            assert_eq!(last.ack.map(|ack| ack.value), Some(sum));
        } else {
            assert!(checkpoints.budget.states < 10_000);
        }
    }

    #[test]
    fn a_look_from_a_checkpoint_sees_what_the_pass_saw() {
        let bytes_max = usize::MAX;
        for packets in [1, 7, 64, 1000] {
            let budget = Budget::WHOLE;
            let checkpoints = Checkpoints {
                packets,
                bytes_max,
                budget,
            };
            check(checkpoints, 200);
        }
    }

    #[test]
    fn a_look_that_goes_on_from_another_one_sees_what_a_fresh_one_sees() {
        let wire = Wire::compile("w.wire", WIRE).unwrap_or_else(|error| panic!("{error}"));
        let wire = Arc::new(wire);
        let session = || {
            let input = ReelInput {
                name: "a.reel".to_owned(),
                reel: Arc::new(reel(200)),
            };
            Session::builder()
                .wire(wire.clone())
                .build(vec![input])
                .expect("a session")
        };
        let fresh = |packet| session().decode(PacketId(packet));
        let walked = session();
        let walk = (0..120).chain([150, 151, 149, 10, 11, 12, 90, 199, 0]);
        for packet in walk {
            let decoded = walked.decode(PacketId(packet)).expect("it decodes");
            let expected = fresh(packet).expect("it decodes");
            let told = |decoded: &Decoded| {
                let values = decoded.tree.iter().map(|it| it.value().to_string());
                (format!("{:?}", decoded.facts), values.collect::<Vec<_>>())
            };
            assert_eq!(told(&decoded), told(&expected), "packet {packet}");
        }
    }

    #[test]
    fn checkpoints_that_take_too_much_memory_become_fewer() {
        let checkpoints = Checkpoints {
            packets: 1,
            bytes_max: 10_000,
            budget: Budget::WHOLE,
        };
        check(checkpoints, 20);
    }

    #[test]
    fn the_work_that_scripts_may_do_grows_with_the_packets() {
        let wire = "wire w { byte_order = little; bit_order = lsb; root = P; state = S; }
            state S { length: u32 = 0; }
            struct P {
                text: string(rest, latin1);
                set state.length = lua(\"length\", text);
            }
            lua \"\"\" function length(text) return #text end \"\"\"";
        let wire = Wire::compile("w.wire", wire).unwrap_or_else(|error| panic!("{error}"));
        let wire = Arc::new(wire);
        let input = ReelInput {
            name: "a.reel".to_owned(),
            reel: Arc::new(reel(200)),
        };
        let session = Session::builder()
            .wire(wire.clone())
            .build(vec![input])
            .expect("a session");
        let unread = |packet_steps| {
            let budget = Budget {
                steps: 100_000,
                packet_steps,
                ..Budget::WHOLE
            };
            let checkpoints = Checkpoints {
                packets: 64,
                bytes_max: usize::MAX,
                budget,
            };
            Told::with_checkpoints((&session.rows, &wire), 1, checkpoints, Vec::new()).unread()
        };
        assert!(unread(0) > 150, "{} packets", unread(0));
        assert_eq!(unread(PACKET_STEPS), 0);
    }

    #[test]
    fn a_look_at_a_connection_that_was_forgotten_sees_what_the_pass_saw() {
        for packets in [1, 7, 1000] {
            let mut checkpoints = Checkpoints {
                packets,
                bytes_max: usize::MAX,
                budget: Budget::WHOLE,
            };
            checkpoints.budget.states = 2000;
            check(checkpoints, 200);
        }
    }
}
