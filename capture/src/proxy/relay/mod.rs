//! The loop that passes packets on.

mod clients;
mod onward;
mod opening;
mod state;

use std::io;
use std::time::{Duration, Instant};

use netreel_reel::{Endpoint, Event, FaultVerdict, SocketId, Time};
use netreel_system::udp::Batch;
use netreel_transport::monotonic_now;

pub use self::state::Proxy;
use self::state::{Counts, Token, Toward, cannot_wait};
use super::{FaultSpec, Outcome, ProxyError, Report};
use crate::progress::Progress;

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
        if stops { Next::Stop } else { Next::GoOn }
    }
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
                self.read(Token::of(*number), &mut batch);
            }
            self.let_go();
            self.tell_new_file_of_clients();
            if lived.elapsed() >= LIVE_EVERY {
                lived = Instant::now();
                self.ask_for_drops();
                self.told.push(Report::Live {
                    progress: self.progress(begun),
                    clients: self.slots.len(),
                    held: self.held.len(),
                });
                if recording && !self.recorder.is_recording() {
                    recording = false;
                    let reel = self.recorder.path().display();
                    let why = self
                        .recorder
                        .why_ended()
                        .unwrap_or_else(|| "its writing thread died".to_owned());
                    self.told.push(Report::Trouble(format!(
                        "{reel}: recording has stopped: {why}; packets are still passed on"
                    )));
                }
            }
            if looked.elapsed() >= LOOK_EVERY {
                looked = Instant::now();
                self.forget_the_silent();
            }
            self.told.drain(..).for_each(&mut *report);
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

    /// Takes what has arrived at a socket.
    fn read(&mut self, token: Token, batch: &mut Batch) {
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
                                    self.take_from_client(listener, from, payload, now);
                                }
                            }
                            Token::Client(slot) => self.take_from_server(slot, payload, now),
                        }
                    }
                    if !batch.was_full() {
                        return;
                    }
                }
                Err(error) => self.receive_failed(token, id, error),
            }
        }
    }

    fn receive_failed(&mut self, token: Token, socket: SocketId, error: io::Error) {
        let code = error.raw_os_error().unwrap_or(0);
        self.pusher
            .push(monotonic_now(), Event::ReceiveFailed { socket, code });
        if let Token::Client(slot) = token {
            self.answered(slot, &error);
        }
    }

    fn take_from_client(&mut self, listener: usize, from: Endpoint, payload: &[u8], now: Time) {
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
            None => match self.admit(listener, from, now) {
                Ok(slot) => slot,
                Err((code, why)) => {
                    self.counts.refused += 1;
                    self.fault(now, of, FaultVerdict::Refused);
                    if self.said.len() < NAMED_MAX && self.said.insert((from, code)) {
                        self.told
                            .push(Report::Refused(format!("{from} is not served: {why}")));
                    }
                    return;
                }
            },
        };
        self.pass(Toward::Up, slot, of, payload, now);
    }

    fn take_from_server(&mut self, slot: usize, payload: &[u8], now: Time) {
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
        self.pass(Toward::Down, slot, of, payload, now);
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
