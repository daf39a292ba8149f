//! Packets on their way on: decided on, held back, sent.

use std::io::ErrorKind;

use netreel_reel::{Event, EventNumber, FaultVerdict, Time};
use netreel_transport::{monotonic_now, send_outcome, turn_bit};

use super::super::Report;
use super::super::faults::Treatment;
use super::state::{Held, Proxy, Toward};

/// What is held back takes at most this many bytes.
const HELD_MAX: usize = 256 << 20;
/// What a packet that is held back takes beyond its payload.
const HELD_OVER: usize = 96;

impl Proxy {
    /// Decides on a packet, and sends it or holds it back.
    pub(super) fn pass(
        &mut self,
        way: Toward,
        slot: usize,
        of: Option<EventNumber>,
        payload: &[u8],
        now: Time,
    ) {
        let Some(Some(client)) = self.clients.get_mut(slot) else {
            return;
        };
        client.latest = now;
        let lane = match way {
            Toward::Up => &mut client.up,
            Toward::Down => &mut client.down,
        };
        let mut fate = lane.take(now, payload.len());
        let later = |due: &Option<Time>| due.filter(|&due| due > now);
        let copies = [later(&fate.due), later(&fate.copy)];
        let mut turned;
        let payload = match fate.corrupted {
            Some(bit) => {
                turned = payload.to_vec();
                turn_bit(&mut turned, bit);
                turned.as_slice()
            }
            None => payload,
        };
        let bytes = copies.iter().flatten().count() * (payload.len() + HELD_OVER);
        if self.held_bytes.saturating_add(bytes) > HELD_MAX {
            let nanos = fate.due.map_or(0, |due| due.0.saturating_sub(now.0));
            fate = Treatment::dropped(FaultVerdict::QueueFull { nanos });
        }
        for verdict in fate.verdicts.into_iter().flatten() {
            self.fault(now, of, verdict);
        }
        if fate.due.is_none() {
            self.counts.lost += 1;
        }
        for due in [fate.due, fate.copy].into_iter().flatten() {
            if due > now {
                self.hold(due, way, slot, payload);
            } else {
                self.send(way, slot, payload);
            }
        }
    }

    fn hold(&mut self, due: Time, way: Toward, slot: usize, payload: &[u8]) {
        if let Some(Some(client)) = self.clients.get_mut(slot) {
            client.held += 1;
        }
        self.held_bytes += payload.len() + HELD_OVER;
        let held = Held {
            way,
            slot,
            payload: payload.into(),
        };
        self.held.insert((due, self.held_ever), held);
        self.held_ever += 1;
    }

    /// Sends what was held back long enough, and sets the timer for the next.
    pub(super) fn let_go(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let now = monotonic_now();
        while let Some(entry) = self.held.first_entry() {
            if entry.key().0 > now {
                break;
            }
            let held = entry.remove();
            self.held_bytes -= held.payload.len() + HELD_OVER;
            if let Some(Some(client)) = self.clients.get_mut(held.slot) {
                client.held -= 1;
            }
            self.send(held.way, held.slot, &held.payload);
        }
        let next = self.held.keys().next().map(|&(due, _)| due);
        if next != self.timer_at {
            self.timer_at = next;
            self.waits.until(next.map(|at| at.0));
        }
    }

    fn send(&mut self, way: Toward, slot: usize, payload: &[u8]) {
        let Some(Some(client)) = self.clients.get_mut(slot) else {
            return;
        };
        let Some(listener) = self.listeners.get(client.listener) else {
            return;
        };
        let (socket, id, to, at) = match way {
            Toward::Up => (&client.socket, client.id, listener.target, None),
            Toward::Down => (
                &listener.socket,
                listener.id,
                client.address,
                Some(client.address),
            ),
        };
        let now = monotonic_now();
        client.latest = now;
        let of = self.pusher.push(
            now,
            Event::Sent {
                socket: id,
                to,
                payload,
            },
        );
        let mut result = socket.send(at, payload);
        // This is the answer to an earlier packet: the kernel tells of it instead of sending.
        let refused = result
            .as_ref()
            .err()
            .filter(|it| it.kind() == ErrorKind::ConnectionRefused)
            .and_then(std::io::Error::raw_os_error);
        if let Some(code) = refused {
            self.pusher
                .push(now, Event::ReceiveFailed { socket: id, code });
            result = socket.send(at, payload);
        }
        if let Some(of) = of {
            let outcome = send_outcome(&result, payload.len());
            self.pusher.push(now, Event::SendResult { of, outcome });
        }
        if let Some(code) = refused.filter(|_| way == Toward::Up) {
            let error = std::io::Error::from_raw_os_error(code);
            self.answered(slot, &error);
        }
        if let Err(error) = result {
            self.counts.failed += 1;
            if self.said.insert((to, error.raw_os_error().unwrap_or(0))) {
                self.told.push(Report::Trouble(format!(
                    "a packet of {} bytes to {to} could not be sent: {error}; it goes on",
                    payload.len()
                )));
            }
        }
    }
}
