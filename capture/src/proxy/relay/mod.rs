//! The loop that passes packets on.

mod clients;
mod onward;
mod opening;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::time::{Duration, Instant};

use netreel_reel::{Endpoint, Event, FaultVerdict, SocketId, Time};
use netreel_system::udp::{Batch, Waits};
use netreel_transport::{Pusher, monotonic_now};

use self::clients::{Client, Listener};
use self::onward::{Held, Toward};
use super::{FaultSpec, Outcome, ProxyError, Report, Wanted};
use crate::progress::Progress;
use netreel_record::Recorder;

/// How long is waited at most.
const TICK: Duration = Duration::from_millis(50);
/// How often the state is told, and the kernel asked for drops.
const LIVE_EVERY: Duration = Duration::from_millis(100);
/// How often silent clients are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// So often a socket is read before the others get their turn.
const ROUNDS: usize = 4;
/// How many clients that are not served are named.
const NAMED_MAX: usize = 20;

/// A proxy that listens. [`run`](Proxy::run) passes packets on.
pub struct Proxy {
    wanted: Wanted,
    listeners: Vec<Listener>,
    /// By slot.
    clients: Vec<Option<Client>>,
    slots: HashMap<(usize, Endpoint), usize>,
    waits: Waits,
    /// Until when it waits.
    timer_at: Option<Time>,
    /// Packets on their way, by when they go on; the number keeps those of one time in order.
    held: BTreeMap<(Time, u64), Held>,
    held_bytes: usize,
    held_ever: u64,
    pusher: Pusher,
    recorder: Recorder,
    counts: Counts,
    /// How often which server was answered for with which error code: port unreachable, mostly.
    answers: BTreeMap<(Endpoint, i32), u64>,
    /// What was said once and is not said again.
    said: BTreeSet<(Endpoint, i32)>,
    /// How often the reel had gone on in a new file when it was told last who the clients are.
    told_rotations: u64,
}

/// What a proxy does next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// It goes on.
    GoOn,
    /// It goes on, and these faults hold from the next packet on.
    Faults(Box<FaultSpec>),
    /// It ends.
    Stop,
}

impl From<bool> for Next {
    /// Whether it ends.
    fn from(stops: bool) -> Next {
        match stops {
            true => Next::Stop,
            false => Next::GoOn,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    packets: u64,
    bytes: u64,
    clients: u64,
    refused: u64,
    failed: u64,
    lost: u64,
    kernel_drops: u64,
}

/// What a socket is, in the number that belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Listener(usize),
    Client(usize),
}

impl Token {
    fn number(self) -> u64 {
        match self {
            Token::Listener(place) => 1 + 2 * place as u64,
            Token::Client(slot) => 2 * slot as u64,
        }
    }

    fn of(number: u64) -> Token {
        match number % 2 {
            1 => Token::Listener((number / 2) as usize),
            _ => Token::Client((number / 2) as usize),
        }
    }
}

fn cannot_wait(error: io::Error) -> ProxyError {
    let what = "wait for packets";
    ProxyError::Io { what, error }
}

impl Proxy {
    /// Where it listens, in the order of the routes.
    pub fn listening(&self) -> Vec<Endpoint> {
        self.listeners.iter().map(|each| each.local).collect()
    }

    /// Passes packets on until `next` says stop; it is asked at least ten times a second.
    ///
    /// # Errors
    /// The operating system no longer says which sockets have packets. A reel that stopped is in
    /// the [`Outcome`].
    pub fn run<N: Into<Next>>(
        mut self,
        mut next: impl FnMut() -> N,
        report: &mut dyn FnMut(Report),
    ) -> Result<Outcome, ProxyError> {
        for each in &self.listeners {
            report(Report::Listening {
                listen: each.local,
                target: each.name.clone(),
                address: each.target,
            });
        }
        let begun = Instant::now();
        let (mut lived, mut looked) = (begun, begun);
        let mut recording = true;
        let mut batch = Batch::new();
        let mut ready = Vec::new();
        loop {
            match next().into() {
                Next::GoOn => {}
                Next::Faults(faults) => self.set_faults(*faults),
                Next::Stop => break,
            }
            self.waits.wait(TICK, &mut ready).map_err(cannot_wait)?;
            for number in &ready {
                self.read(Token::of(*number), &mut batch, report);
            }
            self.let_go(report);
            self.tell_new_file_of_clients();
            if lived.elapsed() >= LIVE_EVERY {
                lived = Instant::now();
                self.ask_for_drops();
                report(Report::Live {
                    progress: self.progress(begun),
                    clients: self.slots.len(),
                    held: self.held.len(),
                });
                if recording && !self.recorder.is_recording() {
                    recording = false;
                    let reel = self.recorder.path().display();
                    let why = self.recorder.why_ended();
                    let why = why.unwrap_or_else(|| "its writing thread died".to_owned());
                    report(Report::Trouble(format!(
                        "{reel}: recording has stopped: {why}; packets are still passed on"
                    )));
                }
            }
            if looked.elapsed() >= LOOK_EVERY {
                looked = Instant::now();
                self.forget_the_silent(report);
            }
        }
        Ok(self.end(begun))
    }

    /// From the next packet on every link has these faults. What is held back already keeps its time.
    fn set_faults(&mut self, faults: FaultSpec) {
        self.wanted.faults = faults;
        for client in self.clients.iter_mut().flatten() {
            client.up.set(faults.up);
            client.down.set(faults.down);
        }
        self.note_faults();
    }

    fn note_faults(&mut self) {
        let words = match self.wanted.faults.is_clean() {
            true => "no faults".to_owned(),
            false => format!(
                "faults on every link: {}, seed {}",
                self.wanted.faults, self.wanted.seed
            ),
        };
        self.note(&words);
    }

    fn note(&mut self, words: &str) {
        let text = words.as_bytes();
        self.pusher.push(monotonic_now(), Event::Note { text });
    }

    /// Takes what has arrived at a socket.
    fn read(&mut self, token: Token, batch: &mut Batch, report: &mut dyn FnMut(Report)) {
        for _ in 0..ROUNDS {
            let (socket, id) = match token {
                Token::Listener(place) => match self.listeners.get(place) {
                    Some(listener) => (&listener.socket, listener.id),
                    None => return,
                },
                Token::Client(slot) => match self.clients.get(slot) {
                    Some(Some(client)) => (&client.socket, client.id),
                    _ => return,
                },
            };
            match batch.receive(socket) {
                Ok(0) => return,
                Ok(taken) => {
                    let now = monotonic_now();
                    for place in 0..taken {
                        let Some((from, payload)) = batch.packet(place) else {
                            continue;
                        };
                        self.counts.packets += 1;
                        self.counts.bytes += payload.len() as u64;
                        match token {
                            Token::Listener(listener) => {
                                if let Some(from) = from {
                                    self.take_from_client(listener, from, payload, now, report);
                                }
                            }
                            Token::Client(slot) => {
                                self.take_from_server(slot, payload, now, report)
                            }
                        }
                    }
                    if !batch.was_full() {
                        return;
                    }
                }
                Err(error) => self.receive_failed(token, id, error, report),
            }
        }
    }

    fn receive_failed(
        &mut self,
        token: Token,
        socket: SocketId,
        error: io::Error,
        report: &mut dyn FnMut(Report),
    ) {
        let code = error.raw_os_error().unwrap_or(0);
        self.pusher
            .push(monotonic_now(), Event::ReceiveFailed { socket, code });
        if let Token::Client(slot) = token {
            self.answered(slot, &error, report);
        }
    }

    /// Counts what the network says of packets to the server of a client, and says it once.
    fn answered(&mut self, slot: usize, error: &io::Error, report: &mut dyn FnMut(Report)) {
        let code = error.raw_os_error().unwrap_or(0);
        let Some(Some(client)) = self.clients.get(slot) else {
            return;
        };
        let Some(target) = self.listeners.get(client.listener).map(|each| each.target) else {
            return;
        };
        *self.answers.entry((target, code)).or_default() += 1;
        if self.said.insert((client.address, code)) {
            report(Report::Trouble(format!(
                "{target} answers the packets of {}: {error}; they are still passed on",
                client.address
            )));
        }
    }

    fn take_from_client(
        &mut self,
        listener: usize,
        from: Endpoint,
        payload: &[u8],
        now: Time,
        report: &mut dyn FnMut(Report),
    ) {
        let Some(socket) = self.listeners.get(listener).map(|each| each.id) else {
            return;
        };
        let received = Event::Received {
            socket,
            from,
            payload,
        };
        let of = self.pusher.push(now, received);
        let slot = match self.slots.get(&(listener, from)) {
            Some(&slot) => slot,
            None => match self.admit(listener, from, now, report) {
                Ok(slot) => slot,
                Err((code, why)) => {
                    self.counts.refused += 1;
                    self.fault(now, of, FaultVerdict::Refused);
                    if self.said.len() < NAMED_MAX && self.said.insert((from, code)) {
                        report(Report::Refused(format!("{from} is not served: {why}")));
                    }
                    return;
                }
            },
        };
        self.pass(Toward::Up, slot, of, payload, now, report);
    }

    fn take_from_server(
        &mut self,
        slot: usize,
        payload: &[u8],
        now: Time,
        report: &mut dyn FnMut(Report),
    ) {
        let Some(Some(client)) = self.clients.get(slot) else {
            return;
        };
        let Some(from) = self.listeners.get(client.listener).map(|each| each.target) else {
            return;
        };
        let socket = client.id;
        let received = Event::Received {
            socket,
            from,
            payload,
        };
        let of = self.pusher.push(now, received);
        self.pass(Toward::Down, slot, of, payload, now, report);
    }

    fn progress(&self, begun: Instant) -> Progress {
        let dropped = self.recorder.tally();
        Progress {
            time: begun.elapsed(),
            packets: self.counts.packets,
            bytes: self.counts.bytes,
            dropped: dropped.dropped.load(std::sync::atomic::Ordering::Relaxed),
            kernel_drops: self.counts.kernel_drops,
        }
    }

    fn end(mut self, begun: Instant) -> Outcome {
        self.ask_for_drops();
        let held = self.held.len() as u64;
        if held > 0 {
            self.note(&format!("ended while {held} packets were held back"));
        }
        self.tell_new_file_of_clients();
        let now = monotonic_now();
        let clients = self.clients.iter().flatten().map(|client| client.id);
        let listeners = self.listeners.iter().map(|listener| listener.id);
        for socket in clients.chain(listeners) {
            self.pusher.push(now, Event::SocketClosed { socket });
        }
        let progress = self.progress(begun);
        let receive_buffer = self
            .listeners
            .first()
            .map_or(0, |each| each.socket.receive_buffer());
        let Counts {
            clients,
            refused,
            failed,
            lost,
            ..
        } = self.counts;
        drop(self.pusher);
        let reel = self.recorder.finish();
        let dropped = reel.as_ref().map_or(progress.dropped, |reel| reel.dropped);
        Outcome {
            progress: Progress {
                dropped,
                ..progress
            },
            clients,
            refused,
            failed,
            lost,
            held,
            answers: self.answers,
            receive_buffer,
            reel,
        }
    }
}
