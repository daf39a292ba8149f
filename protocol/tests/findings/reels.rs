//! Reels made by hand, and the sessions that they are.

use std::sync::Arc;

use netreel_protocol::history::bounds::Bounds;
use netreel_protocol::history::{History, Level};
use netreel_protocol::session::{ReelInput, Session};
use netreel_reel::{
    Believed, ClockAnchor, Endpoint, Event, EventNumber, Header, Record, Reel, ReelWriter,
    SocketId, ThreadId, Time, WireText,
};

/// What stands in a node's reel.
#[derive(Clone, Debug)]
pub enum Happened {
    /// To the node at a port.
    Sent(u16, Vec<u8>),
    /// From the node at a port.
    Received(u16, Vec<u8>),
    /// A tick begins.
    Tick(u64),
    /// The game says what it believes, in the words of a log line.
    Says(&'static str),
}

/// A node and what happened at it, in order, by its own clock in ns.
pub struct Node {
    pub name: String,
    /// The boot of its machine: clocks of one boot are one clock.
    pub boot: String,
    pub port: u16,
    pub events: Vec<(u64, Happened)>,
    /// When its reel begins and ends.
    pub span: (u64, u64),
}

/// A session, with the reels that it was made of.
pub struct Made {
    pub wire: String,
    pub nodes: Vec<Node>,
    pub bounds: String,
    /// How many bytes of the last reel are missing.
    pub cut: usize,
}

impl Made {
    pub fn new(wire: &str, nodes: Vec<Node>) -> Made {
        Made {
            wire: wire.to_owned(),
            nodes,
            bounds: String::new(),
            cut: 0,
        }
    }

    /// Judged by these bounds.
    pub fn bounds(self, bounds: &str) -> Made {
        let bounds = bounds.to_owned();
        Made { bounds, ..self }
    }

    /// Session and history.
    pub fn read(&self) -> (Session, History) {
        let last = self.nodes.len() - 1;
        let reels = self.nodes.iter().enumerate().map(|(place, node)| {
            let mut bytes = self.reel(node);
            if place == last {
                bytes.truncate(bytes.len() - self.cut);
            }
            ReelInput {
                name: format!("{}.reel", node.name),
                reel: Arc::new(Reel::from_bytes(bytes).expect("a reel")),
            }
        });
        let session = Session::builder().build(reels.collect());
        let mut session = session.unwrap_or_else(|error| panic!("{error}"));
        session.bounds = Bounds::parse(&self.bounds).unwrap_or_else(|error| panic!("{error}"));
        let history = History::build(&session);
        (session, history)
    }

    /// The rules that find something, with how bad it is and what they say.
    pub fn found(&self) -> Vec<(&'static str, Level, String)> {
        let (_, history) = self.read();
        let found = history.findings.into_iter();
        found.map(|it| (it.rule, it.level, it.sentence)).collect()
    }

    /// The rules that find something.
    pub fn rules(&self) -> Vec<&'static str> {
        self.found().into_iter().map(|(rule, ..)| rule).collect()
    }

    fn reel(&self, node: &Node) -> Vec<u8> {
        let header = Header {
            node: node.name.clone(),
            session: [1; 16],
            clock: ClockAnchor {
                boot_id: node.boot.clone(),
                ..ClockAnchor::default()
            },
            wires: vec![WireText {
                name: "made.wire".to_owned(),
                text: self.wire.clone(),
            }],
            ..Header::default()
        };
        let mut writer = ReelWriter::create(Vec::new(), &header).expect("a reel");
        let (socket, thread) = (SocketId(0), ThreadId(0));
        let mut number = 0;
        let mut push = |time, event| {
            let record = Record {
                number: EventNumber(number),
                time: Time(time),
                thread,
                event,
            };
            writer.push(&record).expect("an event");
            number += 1;
        };
        let local = endpoint(node.port);
        push(node.span.0, Event::SocketOpened { socket, local });
        for (time, happened) in &node.events {
            push(
                *time,
                match happened {
                    Happened::Sent(port, payload) => Event::Sent {
                        socket,
                        to: endpoint(*port),
                        payload,
                    },
                    Happened::Received(port, payload) => Event::Received {
                        socket,
                        from: endpoint(*port),
                        payload,
                    },
                    Happened::Tick(tick) => Event::Tick {
                        tick: *tick,
                        time: Time(*time),
                    },
                    Happened::Says(words) => {
                        let said = Believed::of_words(words.as_bytes());
                        let (object, believed) = said.expect("words of a belief");
                        Event::Believed { object, believed }
                    }
                },
            );
        }
        push(node.span.1, Event::PollEmpty { socket });
        writer.finish().expect("its bytes")
    }
}

fn endpoint(port: u16) -> Endpoint {
    ([127, 0, 0, 1], port).into()
}
