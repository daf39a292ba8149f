//! What the recorders of a world wrote, and which event is what.

use std::collections::BTreeMap;
use std::sync::Arc;

use netreel_protocol::session::ReelInput;
use netreel_reel::{
    ClockAnchor, Event, EventNumber, Header, LIMIT_NOTE, Part, Record, Reel, ReelWriter, SocketId,
    ThreadId, Time,
};

use crate::network::{Kept, Machine, World};

/// What an event really was: the packet, by its place among those of the world, and when it
/// happened.
#[derive(Clone, Copy, Debug)]
pub struct Happened {
    pub packet: usize,
    pub at: u64,
    pub is_send: bool,
}

/// For each machine and event number what it was.
pub type Truth = BTreeMap<(usize, u64), Happened>;

const SOCKET: SocketId = SocketId(0);

/// The reels of a world, in the order of the machines.
pub fn reels(world: &World) -> (Vec<ReelInput>, Truth) {
    let mut truth = Truth::new();
    let mut events: Vec<Vec<Happened>> = vec![Vec::new(); world.machines.len()];
    for (packet, sent) in world.sends.iter().enumerate() {
        let (is_send, at) = (true, sent.at);
        events[sent.from].push(Happened {
            packet,
            at,
            is_send,
        });
        for &at in &sent.arrived {
            let is_send = false;
            events[sent.to].push(Happened {
                packet,
                at,
                is_send,
            });
        }
    }
    let mut inputs = Vec::new();
    for (place, mut own) in events.into_iter().enumerate() {
        own.sort_by_key(|it| it.at);
        if world.machines[place].kept != Kept::Nothing {
            inputs.push(reel(world, place, &own, &mut truth));
        }
    }
    (inputs, truth)
}

fn reel(world: &World, place: usize, events: &[Happened], truth: &mut Truth) -> ReelInput {
    let machine = &world.machines[place];
    let header = header(place, machine);
    let local = match machine.is_unspecific {
        true => ([0, 0, 0, 0], machine.port).into(),
        false => (machine.address, machine.port).into(),
    };
    let writer = match machine.kept {
        Kept::From(begin) => {
            let before = events.iter().filter(|it| it.at < begin).count();
            let part = Part {
                number: 3,
                first: EventNumber(1 + before as u64),
                sockets: vec![(SOCKET, local)],
                on: true,
                begun: Vec::new(),
            };
            ReelWriter::create_part(Vec::new(), &header, 7, &part)
        }
        _ => ReelWriter::create(Vec::new(), &header),
    };
    let mut writer = writer.expect("a reel");
    let mut push = |at: u64, event: Event<'_>| {
        let record = Record {
            number: writer.next_number(),
            time: Time(machine.clock.shows(at)),
            thread: ThreadId(0),
            event,
        };
        writer.push(&record).expect("an event");
        record.number.0
    };
    if !matches!(machine.kept, Kept::From(_)) {
        let socket = SOCKET;
        push(0, Event::SocketOpened { socket, local });
    }
    if let Kept::SwitchedOn(begin) = machine.kept {
        push(0, Event::Switched { on: false });
        push(begin, Event::Switched { on: true });
    }
    let mut dropped = 0;
    for happened in events {
        if !machine.kept.has(happened.at) {
            dropped += 1;
            continue;
        }
        if matches!(machine.kept, Kept::Without(_)) && dropped > 0 {
            push(happened.at, Event::Dropped { count: dropped });
            dropped = 0;
        }
        let sent = &world.sends[happened.packet];
        let (socket, payload) = (SOCKET, sent.payload.as_slice());
        let event = match happened.is_send {
            true => Event::Sent {
                socket,
                to: world.address(sent.from, sent.to, happened.at),
                payload,
            },
            false => Event::Received {
                socket,
                from: world.seen_as(sent.from, sent.to, sent.at),
                payload,
            },
        };
        let number = push(happened.at, event);
        truth.insert((place, number), *happened);
    }
    let end = match machine.kept {
        Kept::Until(end, _) => end,
        _ => world.end,
    };
    if matches!(machine.kept, Kept::Without(_)) && dropped > 0 {
        push(end, Event::Dropped { count: dropped });
    }
    let note = match machine.kept {
        Kept::Until(_, true) => format!("{LIMIT_NOTE}its time"),
        _ => "it ends".to_owned(),
    };
    let text = note.as_bytes();
    push(end, Event::Note { text });
    let bytes = match machine.kept {
        Kept::Until(_, false) => {
            writer.seal().expect("a block");
            writer.out().clone()
        }
        _ => writer.finish().expect("its bytes"),
    };
    ReelInput {
        name: format!("n{place:02}.reel"),
        reel: Arc::new(Reel::from_bytes(bytes).expect("it opens")),
    }
}

fn header(place: usize, machine: &Machine) -> Header {
    let utc_ns = 1_700_000_000_000_000_000 + machine.calendar_off;
    Header {
        node: format!("n{place:02}"),
        session: [3; 16],
        clock: ClockAnchor {
            monotonic: Time(machine.clock.shows(0)),
            utc_ns,
            boot_id: format!("machine {}", machine.host),
        },
        ..Header::default()
    }
}
