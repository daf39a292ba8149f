//! What a proxy holds in hand: its sockets, its clients, the packets that it holds back; and the words
//! that it puts into the reel.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

use netreel_reel::{Endpoint, Event, EventNumber, FaultVerdict, SocketId, Time};
use netreel_system::udp::{Socket, Waits};
use netreel_transport::{Pusher, monotonic_now};

use super::super::faults::FaultedLink;
use super::super::{ProxyError, Report, Wanted};
use netreel_record::Recorder;

/// A proxy that listens. [`run`](Proxy::run) passes packets on.
pub struct Proxy {
    pub(super) wanted: Wanted,
    pub(super) listeners: Vec<Listener>,
    /// By slot.
    pub(super) clients: Vec<Option<Client>>,
    pub(super) slots: HashMap<(usize, Endpoint), usize>,
    pub(super) waits: Waits,
    /// Until when it waits.
    pub(super) timer_at: Option<Time>,
    /// Packets on their way, by when they go on; the number keeps those of one time in order.
    pub(super) held: BTreeMap<(Time, u64), Held>,
    pub(super) held_bytes: usize,
    pub(super) held_ever: u64,
    pub(super) pusher: Pusher,
    pub(super) recorder: Recorder,
    pub(super) counts: Counts,
    /// How often which server was answered for with which error code: port unreachable, mostly.
    pub(super) answers: BTreeMap<(Endpoint, i32), u64>,
    /// What was said once and is not said again.
    pub(super) said: BTreeSet<(Endpoint, i32)>,
    /// What has happened and is still to be reported.
    pub(super) told: Vec<Report>,
    /// How often the reel had gone on in a new file when it was told last who the clients are.
    pub(super) told_rotations: u64,
}

/// A socket that clients send to.
pub(super) struct Listener {
    pub socket: Socket,
    pub id: SocketId,
    pub local: Endpoint,
    pub name: String,
    pub target: Endpoint,
    pub seed: u64,
    /// How many links were numbered.
    pub links: u16,
    pub drops: u32,
}

/// A client, and the socket towards the server that is its own.
pub(super) struct Client {
    pub address: Endpoint,
    pub listener: usize,
    pub socket: Socket,
    pub id: SocketId,
    pub up: FaultedLink,
    pub down: FaultedLink,
    /// When something last went to or from it.
    pub latest: Time,
    /// How many packets are held back on its link.
    pub held: usize,
    pub drops: u32,
}

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Toward {
    Up,
    Down,
}

/// A packet that waits for its time.
pub(super) struct Held {
    pub way: Toward,
    pub slot: usize,
    pub payload: Box<[u8]>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub packets: u64,
    pub bytes: u64,
    pub clients: u64,
    pub refused: u64,
    pub failed: u64,
    pub lost: u64,
    pub kernel_drops: u64,
}

/// What a socket is, in the number that belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Listener(usize),
    Client(usize),
}

impl Token {
    pub fn number(self) -> u64 {
        match self {
            Token::Listener(place) => 1 + 2 * place as u64,
            Token::Client(slot) => 2 * slot as u64,
        }
    }

    pub fn of(number: u64) -> Token {
        match number % 2 {
            1 => Token::Listener((number / 2) as usize),
            _ => Token::Client((number / 2) as usize),
        }
    }
}

pub(super) fn cannot_wait(error: io::Error) -> ProxyError {
    let what = "wait for packets";
    ProxyError::Io { what, error }
}

impl Proxy {
    pub(super) fn note_faults(&mut self) {
        let words = if self.wanted.faults.is_clean() {
            "no faults".to_owned()
        } else {
            format!(
                "faults on every link: {}, seed {}",
                self.wanted.faults, self.wanted.seed
            )
        };
        self.note(&words);
    }

    pub(super) fn note(&mut self, words: &str) {
        let text = words.as_bytes();
        self.pusher.push(monotonic_now(), Event::Note { text });
    }

    pub(super) fn fault(&mut self, now: Time, of: Option<EventNumber>, verdict: FaultVerdict) {
        if let Some(of) = of {
            self.pusher.push(now, Event::Fault { of, verdict });
        }
    }

    /// Counts what the network says of packets to the server of a client, and says it once.
    pub(super) fn answered(&mut self, slot: usize, error: &io::Error) {
        let code = error.raw_os_error().unwrap_or(0);
        let Some(Some(client)) = self.clients.get(slot) else {
            return;
        };
        let Some(target) = self.listeners.get(client.listener).map(|each| each.target) else {
            return;
        };
        *self.answers.entry((target, code)).or_default() += 1;
        if self.said.insert((client.address, code)) {
            self.told.push(Report::Trouble(format!(
                "{target} answers the packets of {}: {error}; they are still passed on",
                client.address
            )));
        }
    }
}
