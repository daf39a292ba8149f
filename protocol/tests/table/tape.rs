//! Reels with many packets, made by hand.

use std::sync::Arc;

use netreel_protocol::session::ReelInput;
use netreel_reel::{
    CallId, ClockAnchor, Endpoint, Event, Header, Record, Reel, ReelWriter, SocketId, ThreadId,
    Time, WireText,
};

/// A reel under way. All of them have one clock, which begins at 0, but those on another machine.
pub struct Tape {
    name: &'static str,
    writer: ReelWriter<Vec<u8>>,
    /// The socket that packets are sent and received at.
    socket: SocketId,
}

pub fn at(port: u16) -> Endpoint {
    ([127, 0, 0, 1], port).into()
}

impl Tape {
    /// The reel of a node at a port, with a wire unless that is empty.
    pub fn node(name: &'static str, port: u16, wire: &str) -> Tape {
        Tape::new(name, "", wire, "one machine").at_port(port)
    }

    /// The same of a node on another machine.
    pub fn elsewhere(name: &'static str, port: u16) -> Tape {
        Tape::new(name, "", "", name).at_port(port)
    }

    fn at_port(mut self, port: u16) -> Tape {
        let socket = SocketId(0);
        let local = at(port);
        self.push(0, Event::SocketOpened { socket, local });
        self
    }

    /// The reel of an observer.
    pub fn observer(name: &'static str, wire: &str) -> Tape {
        let mut tape = Tape::new(name, Header::OBSERVER, wire, "one machine");
        let text = b"it watches from the start";
        tape.push(0, Event::Note { text });
        tape
    }

    fn new(name: &'static str, engine: &str, wire: &str, machine: &str) -> Tape {
        let wires = (!wire.is_empty()).then(|| WireText {
            name: "table.wire".to_owned(),
            text: wire.to_owned(),
        });
        let header = Header {
            node: name.to_owned(),
            session: [9; 16],
            clock: ClockAnchor {
                boot_id: machine.to_owned(),
                ..ClockAnchor::default()
            },
            engine: engine.to_owned(),
            wires: wires.into_iter().collect(),
            ..Header::default()
        };
        let writer = ReelWriter::create(Vec::new(), &header).expect("a reel");
        Tape {
            name,
            writer,
            socket: SocketId(0),
        }
    }

    /// Opens a socket at another port.
    pub fn opens(&mut self, time: u64, socket: SocketId, port: u16) {
        let local = at(port);
        self.push(time, Event::SocketOpened { socket, local });
    }

    /// What comes is sent and received at this socket.
    pub fn turns_to(&mut self, socket: SocketId) {
        self.socket = socket;
    }

    pub fn sent(&mut self, time: u64, to: u16, payload: &[u8]) {
        let (socket, to) = (self.socket, at(to));
        let event = Event::Sent {
            socket,
            to,
            payload,
        };
        self.push(time, event);
    }

    pub fn received(&mut self, time: u64, from: u16, payload: &[u8]) {
        let (socket, from) = (self.socket, at(from));
        let event = Event::Received {
            socket,
            from,
            payload,
        };
        self.push(time, event);
    }

    pub fn seen(&mut self, time: u64, (from, to): (u16, u16), payload: &[u8]) {
        let (from, to) = (at(from), at(to));
        self.push(time, Event::Seen { from, to, payload });
    }

    /// The socket was closed, with so many bytes in its buffer that nobody had read.
    pub fn closed(&mut self, time: u64, left: u32) {
        let mut details = vec![0; 22];
        details[10..14].copy_from_slice(&left.to_le_bytes());
        let (call, result) = (CallId::CLOSE, 0);
        let details = details.as_slice();
        self.push(
            time,
            Event::Called {
                call,
                result,
                details,
            },
        );
    }

    /// A block of the reel ends here.
    pub fn seal(&mut self) {
        self.writer.seal().expect("a block");
    }

    /// The reel, which ends at this time.
    pub fn end(mut self, time: u64) -> ReelInput {
        let text = b"it ends";
        self.push(time, Event::Note { text });
        let bytes = self.writer.finish().expect("its bytes");
        ReelInput {
            name: format!("{}.reel", self.name),
            reel: Arc::new(Reel::from_bytes(bytes).expect("it opens")),
        }
    }

    fn push(&mut self, time: u64, event: Event<'_>) {
        let record = Record {
            number: self.writer.next_number(),
            time: Time(time),
            thread: ThreadId(0),
            event,
        };
        self.writer.push(&record).expect("an event");
    }
}

/// The same reels once more.
pub fn again(reels: &[ReelInput]) -> Vec<ReelInput> {
    let again = reels.iter().map(|input| ReelInput {
        name: input.name.clone(),
        reel: Arc::clone(&input.reel),
    });
    again.collect()
}
