//! Recording by hand: for an engine whose seam is not a `Transport`.

use std::sync::{Arc, Mutex, MutexGuard};

use netreel_reel::{
    Believed, Endpoint, Event, EventNumber, SendOutcome, SocketId, Time, say_numbers,
};
use netreel_system::locked;

use crate::pusher::Pusher;
use crate::recorded::monotonic_now;

/// Where an engine writes down what crosses its boundary, stamped with `CLOCK_MONOTONIC`. A clone
/// writes into the same place. One a thread: events of one journal have one thread number, and
/// threads that share one wait for each other.
#[derive(Clone, Debug)]
pub struct Journal(Arc<Mutex<Page>>);

#[derive(Debug)]
struct Page {
    pusher: Pusher,
    latest: Time,
}

impl Page {
    fn push(&mut self, event: Event<'_>) -> Option<EventNumber> {
        if !self.pusher.is_on() {
            return None;
        }
        self.latest = monotonic_now();
        self.pusher.push(self.latest, event)
    }
}

impl Journal {
    /// Writes through `pusher`.
    pub fn new(pusher: Pusher) -> Journal {
        let latest = monotonic_now();
        Journal(Arc::new(Mutex::new(Page { pusher, latest })))
    }

    fn page(&self) -> MutexGuard<'_, Page> {
        locked(&self.0)
    }

    fn push(&self, event: Event<'_>) -> Option<EventNumber> {
        self.page().push(event)
    }

    /// A socket was opened and bound to `local`. Its number stands in every event about it.
    pub fn open_socket(&self, local: Endpoint) -> SocketId {
        let mut page = self.page();
        let socket = page.pusher.open_socket();
        page.push(Event::SocketOpened { socket, local });
        socket
    }

    /// A socket was closed.
    pub fn close_socket(&self, socket: SocketId) {
        self.push(Event::SocketClosed { socket });
    }

    /// A packet is about to be sent; to be called before the send, so that no reel has a receipt
    /// before its send. Hand what it returns to [`send_result`](Journal::send_result).
    pub fn sent(&self, socket: SocketId, to: Endpoint, payload: &[u8]) -> Option<EventNumber> {
        self.push(Event::Sent {
            socket,
            to,
            payload,
        })
    }

    /// What the call that sent packet `of` returned.
    pub fn send_result(&self, of: Option<EventNumber>, outcome: SendOutcome) {
        if let Some(of) = of {
            let mut page = self.page();
            // No second clock read: a result has the time of its send.
            let latest = page.latest;
            page.pusher.push(latest, Event::SendResult { of, outcome });
        }
    }

    /// A packet was received; to be called after the receive.
    pub fn received(&self, socket: SocketId, from: Endpoint, payload: &[u8]) {
        self.push(Event::Received {
            socket,
            from,
            payload,
        });
    }

    /// A packet was asked for and there was none.
    pub fn poll_empty(&self, socket: SocketId) {
        let mut page = self.page();
        // No clock read of its own: an engine may poll far more often than packets come.
        let latest = page.latest;
        page.pusher.push(latest, Event::PollEmpty { socket });
    }

    /// A receive failed with this operating-system error code.
    pub fn receive_failed(&self, socket: SocketId, code: i32) {
        self.push(Event::ReceiveFailed { socket, code });
    }

    /// Reads `CLOCK_MONOTONIC` for the engine and writes down what it was told.
    pub fn now(&self) -> Time {
        let mut page = self.page();
        let value = monotonic_now();
        if page.pusher.is_on() {
            page.latest = value;
            page.pusher.push(value, Event::Clock { value });
        }
        value
    }

    /// The engine read a clock of its own and was told `value`.
    pub fn clock(&self, value: Time) {
        self.push(Event::Clock { value });
    }

    /// The engine drew a random number, or chose a seed.
    pub fn random(&self, value: u64) {
        self.push(Event::Random { value });
    }

    /// A tick begins, at the game's virtual time `time`.
    pub fn tick(&self, tick: u64, time: Time) {
        self.push(Event::Tick { tick, time });
    }

    /// The game is about to call into the network layer, in the engine's own encoding.
    pub fn input(&self, call: &[u8]) {
        self.push(Event::Input { call });
    }

    /// A note for whoever reads the recording.
    pub fn note(&self, text: &str) {
        self.push(Event::Note {
            text: text.as_bytes(),
        });
    }

    /// The game believes this of an object from here on; see
    /// [`Transport::believes`](crate::Transport::believes).
    pub fn believes(&self, object: u64, believed: Believed<'_>) {
        self.push(Event::Believed { object, believed });
    }

    /// The same of a property whose value is numbers.
    pub fn believes_value(&self, object: u64, property: &str, numbers: &[f64]) {
        let mut said = String::new();
        say_numbers(property, numbers, &mut said);
        let said = said.as_bytes();
        self.believes(object, Believed::Value { said });
    }

    /// The engine's state, in its own encoding: a replay can start here.
    pub fn snapshot(&self, state: &[u8]) {
        self.push(Event::Snapshot { state });
    }

    /// Switches recording on or off for the whole reel.
    pub fn switch(&self, on: bool) {
        let mut page = self.page();
        page.latest = monotonic_now();
        let latest = page.latest;
        page.pusher.switch(on, latest);
    }
}

/// Whether a call found nothing, or no room.
pub(crate) fn would_block(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::WouldBlock
}

/// What the reel says of a send call that was to take `length` bytes.
pub fn send_outcome(result: &std::io::Result<usize>, length: usize) -> SendOutcome {
    match result {
        Ok(taken) if *taken == length => SendOutcome::Sent,
        Ok(taken) => SendOutcome::Short(u32::try_from(*taken).unwrap_or(u32::MAX)),
        Err(error) => SendOutcome::Failed(error.raw_os_error().unwrap_or(0)),
    }
}
