//! Recordings that are hostile by their size: all their packets in one turn, all alike, many calls of
//! the game, a socket that nobody reads. What is done for a packet must not go through all others, or
//! these would take hours.

use std::sync::Arc;

use netreel_reel::{
    Endpoint, Event, EventNumber, Header, Record, Reel, ReelWriter, SendOutcome, SocketId,
    ThreadId, Time,
};
use netreel_replay::together::{NodeIo, Plan, Played, Story, StoryNode, StoryPacket, play};
use netreel_transport::{InputError, Layer, Shared, Transport};

const MANY: u64 = 200_000;

const A: usize = 0;
const B: usize = 1;

fn end(node: usize) -> Endpoint {
    Endpoint::from(([127, 0, 0, 1], 7000 + node as u16))
}

/// A reel that is written event by event, a microsecond each.
struct Writing {
    writer: ReelWriter<Vec<u8>>,
    next: u64,
}

impl Writing {
    fn new(node: usize) -> Writing {
        let header = Header {
            start: b"start".to_vec(),
            ..Header::default()
        };
        let writer = ReelWriter::create(Vec::new(), &header).unwrap();
        let mut writing = Writing { writer, next: 0 };
        let (socket, local) = (SocketId(0), end(node));
        writing.push(Event::SocketOpened { socket, local });
        writing
    }

    fn push(&mut self, event: Event<'_>) -> EventNumber {
        let number = EventNumber(self.next);
        self.next += 1;
        let record = Record {
            number,
            time: Time(number.0 * 1000),
            thread: ThreadId(0),
            event,
        };
        self.writer.push(&record).unwrap();
        number
    }

    fn tick(&mut self, tick: u64) {
        let time = Time(tick);
        self.push(Event::Tick { tick, time });
    }

    fn finish(self) -> Arc<Reel> {
        Arc::new(Reel::from_bytes(self.writer.finish().unwrap()).unwrap())
    }
}

/// What B does before it gets its packets.
enum First {
    Calls,
    /// It asks on a socket on which nothing comes, while all that A sent waits on the other.
    Asks(SocketId),
}

/// A sends `payload` of each number in its first tick of two; B gets all in its second of three.
fn story(payload: &dyn Fn(u64) -> Vec<u8>, first: First) -> Story {
    let (socket, to, from) = (SocketId(0), end(B), end(A));
    let mut a = Writing::new(A);
    a.tick(0);
    let sent = (0..MANY).map(|number| {
        let payload = payload(number);
        let payload = payload.as_slice();
        let of = a.push(Event::Sent {
            socket,
            to,
            payload,
        });
        let outcome = SendOutcome::Sent;
        a.push(Event::SendResult { of, outcome });
        of
    });
    let sent: Vec<EventNumber> = sent.collect();
    a.tick(1);
    let mut b = Writing::new(B);
    let asks = |b: &mut Writing, socket| b.push(Event::PollEmpty { socket });
    b.tick(0);
    asks(&mut b, socket);
    if let First::Calls = first {
        for _ in 0..3 * MANY {
            b.push(Event::Input { call: b"" });
        }
    }
    // Behind all that A sends.
    b.next = b.next.max(a.next);
    b.tick(1);
    if let First::Asks(other) = first {
        for _ in 0..MANY {
            asks(&mut b, other);
        }
    }
    let packets = sent.iter().zip(0..).map(|(&sent, number)| {
        let payload = payload(number);
        let payload = payload.as_slice();
        let received = b.push(Event::Received {
            socket,
            from,
            payload,
        });
        StoryPacket {
            from: A,
            to: B,
            sent: Some(sent),
            receipts: vec![received],
            lost: false,
        }
    });
    let packets = packets.collect();
    asks(&mut b, socket);
    b.tick(2);
    asks(&mut b, socket);
    let node = |place: usize, reel| StoryNode {
        name: ["A", "B"][place].to_owned(),
        reel: Some(reel),
        endpoints: vec![end(place)],
    };
    Story {
        nodes: vec![node(A, a.finish()), node(B, b.finish())],
        packets,
    }
}

/// What is done in a tick of this number.
type Does = fn(u64, &mut dyn Transport);

/// Does what it is told in each of its ticks.
struct Told(Does, u64);

impl Layer for Told {
    fn tick(&mut self, io: &mut dyn Transport) {
        (self.0)(self.1, io);
        self.1 += 1;
    }

    fn input(&mut self, _: &[u8], _: &mut dyn Transport) -> Result<(), InputError> {
        Ok(())
    }
}

fn takes_all(_: u64, io: &mut dyn Transport) {
    while let Ok(Some(_)) = io.receive(&mut [0; 16]) {}
}

/// What A did.
fn sends_all(tick: u64, io: &mut dyn Transport) {
    for number in (0..MANY).filter(|_| tick == 0) {
        io.send(end(B), &numbered(number)).unwrap();
    }
}

/// Plays a story on with this layer of A; B takes what comes.
fn play_on(story: &Story, a: Does) -> Played {
    let plan = Arc::new(Plan::new(story, &|_, time, _| time.0 as i64));
    let played = play(&plan, 1, Box::new(()), &mut |node, _| {
        let does = if node == A { a } else { takes_all };
        Ok::<_, ()>(Box::new(Told(does, 0)))
    });
    played.unwrap()
}

fn numbered(number: u64) -> Vec<u8> {
    number.to_le_bytes().to_vec()
}

#[test]
fn many_calls_before_many_packets() {
    let story = story(&numbered, First::Calls);
    let played = play_on(&story, sends_all);
    assert!(played.is_exact(), "{played:?}");
    assert_eq!(played.nodes[B].received, MANY);
    assert_eq!(played.nodes[B].inputs, 3 * MANY);
}

#[test]
fn many_packets_in_another_order_and_as_many_new_ones_in_one_turn() {
    let story = story(&numbered, First::Calls);
    let played = play_on(&story, |tick, io| {
        for number in (0..MANY).rev().filter(|_| tick == 0) {
            io.now();
            io.note("sends");
            io.send(end(B), &numbered(number)).unwrap();
            // Another address has no link, and a new packet no place in the turn.
            io.send(end(2), &numbered(number)).unwrap();
            io.send(end(B), &numbered(MANY + number)).unwrap();
        }
    });
    let [a, b] = played.nodes.as_slice() else {
        panic!("{played:?}");
    };
    assert!(a.left.is_some());
    assert_eq!((a.equal, a.missing), (MANY, 0));
    assert_eq!((a.changed, a.new), (0, 2 * MANY));
    assert_eq!(b.received, 2 * MANY);
}

#[test]
fn many_packets_that_are_alike_a_tick_later() {
    let story = story(&|_| b"alive".to_vec(), First::Calls);
    let played = play_on(&story, |tick, io| {
        for _ in (0..MANY).filter(|_| tick == 1) {
            io.send(end(B), b"alive").unwrap();
        }
    });
    let a = &played.nodes[A];
    assert_eq!((a.equal, a.changed, a.new, a.missing), (MANY, 0, 0, 0));
    assert_eq!(played.nodes[B].received, MANY);
}

/// Asks so often on another socket before it takes what waits on the first one.
struct Asks(Shared<NodeIo>, u64);

impl Layer for Asks {
    fn tick(&mut self, _: &mut dyn Transport) {
        let mut io = self.0.lock();
        let times = if self.1 == 1 { MANY } else { 0 };
        self.1 += 1;
        for _ in 0..times {
            assert!(io.receive_on(SocketId(1), &mut [0; 16]).unwrap().is_none());
        }
        while io.receive_on(SocketId(0), &mut [0; 16]).unwrap().is_some() {}
    }

    fn input(&mut self, _: &[u8], _: &mut dyn Transport) -> Result<(), InputError> {
        Ok(())
    }
}

#[test]
fn many_packets_that_wait_on_one_socket_while_another_is_asked() {
    let story = story(&numbered, First::Asks(SocketId(1)));
    let plan = Arc::new(Plan::new(&story, &|_, time, _| time.0 as i64));
    let played = play(&plan, 1, Box::new(()), &mut |node, io| {
        let layer: Box<dyn Layer> = match node {
            A => Box::new(Told(sends_all, 0)),
            _ => Box::new(Asks(io, 0)),
        };
        Ok::<_, ()>(layer)
    });
    let played = played.unwrap();
    assert!(played.is_exact(), "{:?}", played.nodes);
    assert_eq!(played.nodes[B].received, MANY);
}
