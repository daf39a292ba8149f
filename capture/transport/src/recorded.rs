//! Writing down what crosses the seam.

use netreel_reel::{
    Believed, Endpoint, Event, EventNumber, SendOutcome, SocketId, Time, say_numbers,
};

use crate::pusher::Pusher;
use crate::snapshots::{SnapshotPlan, Snapshots};
use crate::{Datagram, ReceiveError, SendError, Transport};

/// Any transport, recorded: every call and its answer becomes an event. Never changes bytes,
/// results or order.
///
/// A send is numbered before its call, a receive after it, so that the reel's order is one that
/// could have happened.
#[derive(Debug)]
pub struct Recorded<T: Transport, C: StampClock<T> = InnerClock> {
    inner: T,
    clock: C,
    pusher: Pusher,
    socket: SocketId,
    latest: Time,
    snapshots: Option<Snapshots>,
    /// Where a value is put into words.
    said: String,
}

/// Where the times in the reel come from.
pub trait StampClock<T> {
    /// The time now, on the clock of the reel.
    fn stamp(&mut self, inner: &mut T) -> Time;

    /// The time of a clock read that the layer did and that was told `value`.
    fn stamp_of_read(&mut self, inner: &mut T, value: Time) -> Time;
}

/// The inner transport's own clock: `CLOCK_MONOTONIC` under `UdpTransport`, virtual time in a
/// simulated world. A clock read of the layer is stamped with what the layer was told.
#[derive(Clone, Copy, Debug, Default)]
pub struct InnerClock;

impl<T: Transport> StampClock<T> for InnerClock {
    #[inline]
    fn stamp(&mut self, inner: &mut T) -> Time {
        inner.now()
    }
    #[inline]
    fn stamp_of_read(&mut self, _: &mut T, value: Time) -> Time {
        value
    }
}

/// `CLOCK_MONOTONIC`, for an inner transport whose own clock is another one.
#[derive(Clone, Copy, Debug, Default)]
pub struct MonotonicClock;

impl<T> StampClock<T> for MonotonicClock {
    #[inline]
    fn stamp(&mut self, _: &mut T) -> Time {
        monotonic_now()
    }
    #[inline]
    fn stamp_of_read(&mut self, _: &mut T, _: Time) -> Time {
        monotonic_now()
    }
}

/// Reads the machine's monotonic clock: `CLOCK_MONOTONIC`, or on Windows the performance counter.
#[inline]
pub fn monotonic_now() -> Time {
    Time(netreel_system::clock::monotonic_ns())
}

impl<T: Transport> Recorded<T> {
    /// Records `inner`, whose socket is bound to `local`, stamped by the inner transport's clock.
    ///
    /// A pusher comes from a recorder: `netreel_record::Recorder` for a file, or
    /// [`MemoryRecorder`](crate::MemoryRecorder) for simulated worlds and tests.
    pub fn new(inner: T, pusher: Pusher, local: Endpoint) -> Recorded<T> {
        Recorded::with_clock(inner, pusher, local, InnerClock)
    }
}

impl<T: Transport, C: StampClock<T>> Recorded<T, C> {
    /// Records `inner`, stamped by `clock`.
    pub fn with_clock(mut inner: T, mut pusher: Pusher, local: Endpoint, mut clock: C) -> Self {
        let latest = clock.stamp(&mut inner);
        let socket = pusher.open_socket();
        pusher.push(latest, Event::SocketOpened { socket, local });
        Recorded {
            inner,
            clock,
            pusher,
            socket,
            latest,
            snapshots: None,
            said: String::new(),
        }
    }

    /// From now on writes down the layer's state as `plan` says, where the owner of the loop offers
    /// it ([`Transport::offer_state`]), and at once after something could not be recorded. A replay
    /// can start at each.
    pub fn snapshots(&mut self, plan: SnapshotPlan) {
        self.snapshots = Some(Snapshots::new(plan));
    }

    /// The recorded transport. What is done to it directly is not recorded.
    pub fn inner(&self) -> &T {
        &self.inner
    }

    /// The recorded transport. What is done to it directly is not recorded.
    pub fn inner_mut(&mut self) -> &mut T {
        &mut self.inner
    }

    /// The socket's number in the reel.
    pub fn socket(&self) -> SocketId {
        self.socket
    }

    /// Switches recording on or off. While it is off, a call costs one load more than without a
    /// recorder. What follows a pause can be replayed from the next
    /// snapshot on.
    pub fn switch(&mut self, on: bool) {
        let time = self.clock.stamp(&mut self.inner);
        self.latest = time;
        self.pusher.switch(on, time);
        if let Some(snapshots) = &mut self.snapshots {
            snapshots.lost();
        }
    }

    /// Records the engine's state, in its own encoding: a replay can start here.
    pub fn snapshot(&mut self, state: &[u8]) {
        self.record(Event::Snapshot { state });
    }

    fn record(&mut self, event: Event<'_>) -> Option<EventNumber> {
        if !self.pusher.is_on() {
            return None;
        }
        self.latest = self.clock.stamp(&mut self.inner);
        self.push(event)
    }

    /// Pushes an event with the time of the one before it.
    #[inline]
    fn push(&mut self, event: Event<'_>) -> Option<EventNumber> {
        let number = self.pusher.push(self.latest, event);
        if let Some(snapshots) = &mut self.snapshots {
            match number {
                Some(_) => snapshots.recorded(event.bytes().map_or(1, <[u8]>::len)),
                None => snapshots.lost(),
            }
        }
        number
    }
}

impl<T: Transport, C: StampClock<T>> Transport for Recorded<T, C> {
    fn now(&mut self) -> Time {
        let value = self.inner.now();
        if self.pusher.is_on() {
            self.latest = self.clock.stamp_of_read(&mut self.inner, value);
            self.push(Event::Clock { value });
        }
        value
    }

    fn random(&mut self) -> u64 {
        let value = self.inner.random();
        self.record(Event::Random { value });
        value
    }

    fn send(&mut self, to: Endpoint, packet: &[u8]) -> Result<(), SendError> {
        let of = self.record(Event::Sent {
            socket: self.socket,
            to,
            payload: packet,
        });
        let result = self.inner.send(to, packet);
        if let Some(of) = of {
            let outcome = match result {
                Ok(()) => SendOutcome::Sent,
                Err(SendError::Short(taken)) => SendOutcome::Short(taken),
                Err(SendError::Os(code)) => SendOutcome::Failed(code),
            };
            // No second clock read: a result has the time of its send.
            self.push(Event::SendResult { of, outcome });
        }
        result
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<Datagram>, ReceiveError> {
        let result = self.inner.receive(buffer);
        let socket = self.socket;
        match &result {
            Ok(Some(Datagram { from, length })) => {
                let payload = buffer.get(..*length).unwrap_or(buffer);
                self.record(Event::Received {
                    socket,
                    from: *from,
                    payload,
                });
            }
            // No clock read of its own: an engine may poll far more often than packets come.
            Ok(None) => {
                self.push(Event::PollEmpty { socket });
            }
            Err(ReceiveError(code)) => {
                self.record(Event::ReceiveFailed {
                    socket,
                    code: *code,
                });
            }
        }
        result
    }

    fn tick(&mut self, tick: u64, time: Time) {
        self.inner.tick(tick, time);
        self.record(Event::Tick { tick, time });
    }

    fn input(&mut self, call: &[u8]) {
        self.inner.input(call);
        self.record(Event::Input { call });
    }

    fn note(&mut self, text: &str) {
        self.inner.note(text);
        self.record(Event::Note {
            text: text.as_bytes(),
        });
    }

    fn believes(&mut self, object: u64, believed: Believed<'_>) {
        self.inner.believes(object, believed);
        self.record(Event::Believed { object, believed });
    }

    fn believes_value(&mut self, object: u64, property: &str, numbers: &[f64]) {
        self.inner.believes_value(object, property, numbers);
        if !self.pusher.is_on() {
            return;
        }
        let mut said = std::mem::take(&mut self.said);
        said.clear();
        say_numbers(property, numbers, &mut said);
        let believed = Believed::Value {
            said: said.as_bytes(),
        };
        self.record(Event::Believed { object, believed });
        self.said = said;
    }

    fn offer_state(&mut self, save: &mut dyn FnMut() -> Option<Vec<u8>>) {
        self.inner.offer_state(save);
        let on = self.pusher.is_on();
        let latest = self.latest;
        let is_due = |snapshots: &mut Snapshots| on && snapshots.due(latest);
        if !self.snapshots.as_mut().is_some_and(is_due) {
            return;
        }
        let size = save().map_or(0, |state| {
            // What a ring cannot take would be missing in the reel.
            if state.len() <= self.pusher.body_max() {
                self.record(Event::Snapshot { state: &state });
            }
            state.len()
        });
        let now = self.latest;
        if let Some(snapshots) = &mut self.snapshots {
            snapshots.taken(now, size);
        }
    }
}

impl<T: Transport, C: StampClock<T>> Drop for Recorded<T, C> {
    fn drop(&mut self) {
        let socket = self.socket;
        self.record(Event::SocketClosed { socket });
    }
}
