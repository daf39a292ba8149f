//! Recording: what a recorder's and a thread's handle hold.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use netreel_record::{Limits, Pusher, RecordError, Recorder, Summary};
use netreel_reel::{Endpoint, Event, EventNumber, SendOutcome, SocketId, Time, TriggerCause};
use netreel_system::locked;
use netreel_transport::monotonic_now;

use crate::error::{Failure, failure};
use crate::options::Wanted;
use crate::types::{
    CSent, DROPPED, E_ARGUMENT, E_CLOSED, E_EXISTS, E_FORKED, E_INTERNAL, E_IO, E_LIMIT, E_NO_RING,
    E_STOPPED, OFF, OK,
};

/// What a `netreel_recorder` names.
pub(crate) struct Recording {
    recorder: Recorder,
    shared: Arc<Shared>,
}

/// What a `netreel_thread` names.
pub(crate) struct Thread {
    pusher: Pusher,
    /// The time of the latest event: an empty poll has it as well.
    latest: Time,
    shared: Arc<Shared>,
}

/// What a recorder shares with its threads.
struct Shared {
    process: u32,
    clock_is_monotonic: bool,
    /// It may end by itself, in order.
    has_max: bool,
    closed: AtomicBool,
    on: AtomicBool,
    threads_max: u32,
    threads: AtomicU32,
    sockets_opened: AtomicU32,
    /// The sockets that are open, and whether the reel knows of them.
    sockets: Mutex<Vec<(SocketId, Endpoint, bool)>>,
}

/// Where no event was recorded.
const NO_NUMBER: u64 = u64::MAX;

impl Recording {
    pub(crate) fn create(wanted: Wanted) -> Result<Recording, Failure> {
        let has_max = wanted.options.max != Limits::default();
        let recorder = Recorder::create(wanted.path, &wanted.header, wanted.options)
            .map_err(record_failure)?;
        let shared = Shared {
            process: std::process::id(),
            clock_is_monotonic: wanted.clock_is_monotonic,
            has_max,
            closed: AtomicBool::new(false),
            on: AtomicBool::new(true),
            threads_max: wanted.threads_max,
            threads: AtomicU32::new(0),
            sockets_opened: AtomicU32::new(0),
            sockets: Mutex::default(),
        };
        Ok(Recording {
            recorder,
            shared: Arc::new(shared),
        })
    }

    pub(crate) fn finish(self) -> Result<Summary, Failure> {
        self.shared.closed.store(true, Ordering::Relaxed);
        self.recorder.finish().map_err(record_failure)
    }

    /// A thread's handle; `None` where a thread that was closed has not been written yet, so that
    /// asking once more in a moment helps.
    pub(crate) fn thread(&self) -> Result<Option<Thread>, Failure> {
        let (max, threads) = (self.shared.threads_max, &self.shared.threads);
        if threads.load(Ordering::Relaxed) >= max {
            return Err(failure(
                E_LIMIT,
                format!("{max} threads are open already; raise netreel_options.threads_max"),
            ));
        }
        let pusher = match self.recorder.pusher() {
            Err(RecordError::TooManyPushers(_)) => return Ok(None),
            other => other.map_err(record_failure)?,
        };
        threads.fetch_add(1, Ordering::Relaxed);
        Ok(Some(Thread {
            pusher,
            latest: monotonic_now(),
            shared: self.shared.clone(),
        }))
    }

    pub(crate) fn trigger(&self, why: &str) -> Result<i32, Failure> {
        if self.recorder.triggers().has_ring() {
            self.recorder.trigger(TriggerCause::CALL, why);
            return Ok(0);
        }
        Err(failure(
            E_NO_RING,
            "the recorder is not in ring mode: nothing to write; set netreel_options.ring_ms",
        ))
    }
}

impl Thread {
    /// Records an event that happens now.
    #[inline]
    pub(crate) fn record(&mut self, event: Event<'_>) -> Result<i32, Failure> {
        if !self.pusher.is_on() {
            return self.not_on();
        }
        self.latest = monotonic_now();
        self.push(event)
    }

    pub(crate) fn clock_read(&mut self, value: u64) -> Result<i32, Failure> {
        if !self.pusher.is_on() {
            return self.not_on();
        }
        let value = Time(value);
        self.latest = if self.shared.clock_is_monotonic {
            value
        } else {
            monotonic_now()
        };
        self.push(Event::Clock { value })
    }

    #[inline]
    pub(crate) fn sent(
        &mut self,
        socket: u32,
        to: Endpoint,
        payload: &[u8],
    ) -> Result<(i32, CSent), Failure> {
        let socket = self.socket(socket)?;
        let mut sent = CSent {
            number: NO_NUMBER,
            time_ns: 0,
            length: payload.len() as u64,
        };
        if !self.pusher.is_on() {
            return self.not_on().map(|code| (code, sent));
        }
        self.latest = monotonic_now();
        let event = Event::Sent {
            socket,
            to,
            payload,
        };
        let Some(number) = self.pusher.push(self.latest, event) else {
            return self.not_pushed().map(|code| (code, sent));
        };
        sent.number = number.0;
        sent.time_ns = self.latest.0;
        Ok((OK, sent))
    }

    pub(crate) fn send_result(&mut self, sent: CSent, result: i64) -> Result<i32, Failure> {
        if sent.number == NO_NUMBER {
            // Its packet is not in the reel: there is nothing to say of it.
            return if self.pusher.is_on() {
                Ok(DROPPED)
            } else {
                self.not_on()
            };
        }
        let outcome = match u64::try_from(result) {
            Ok(taken) if taken >= sent.length => SendOutcome::Sent,
            Ok(taken) => SendOutcome::Short(u32::try_from(taken).unwrap_or(u32::MAX)),
            Err(_) => match i32::try_from(result.saturating_neg()) {
                Ok(code) => SendOutcome::Failed(code),
                Err(_) => {
                    let why = format!("a result of {result}: give the bytes taken, or -errno");
                    return Err(failure(E_ARGUMENT, why));
                }
            },
        };
        let of = EventNumber(sent.number);
        if self
            .pusher
            .push(Time(sent.time_ns), Event::SendResult { of, outcome })
            .is_some()
        {
            return Ok(OK);
        }
        self.not_pushed()
    }

    pub(crate) fn socket_opened(&mut self, local: Endpoint) -> Result<(i32, u32), Failure> {
        let opened = &self.shared.sockets_opened;
        let taken = opened.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |opened| {
            (opened <= u32::from(u16::MAX)).then_some(opened + 1)
        });
        if taken.is_err() {
            let why = "65536 sockets were opened: a reel numbers no more";
            return Err(failure(E_LIMIT, why));
        }
        let socket = self.pusher.open_socket();
        let code = self.record(Event::SocketOpened { socket, local })?;
        self.sockets().push((socket, local, code == OK));
        Ok((code, u32::from(socket.0)))
    }

    pub(crate) fn socket_closed(&mut self, socket: u32) -> Result<i32, Failure> {
        let socket = self.socket(socket)?;
        self.sockets().retain(|(open, ..)| *open != socket);
        self.record(Event::SocketClosed { socket })
    }

    pub(crate) fn switch(&mut self, on: bool) -> Result<i32, Failure> {
        if let Err(gone) = self.not_on()
            && !self.pusher.is_on()
        {
            return Err(gone);
        }
        self.shared.on.store(on, Ordering::Relaxed);
        self.latest = monotonic_now();
        self.pusher.switch(on, self.latest);
        if on {
            // Sockets that were opened in the pause.
            let mut unknown = Vec::new();
            for (socket, local, known) in self.sockets().iter_mut().filter(|(.., known)| !known) {
                *known = true;
                unknown.push(Event::SocketOpened {
                    socket: *socket,
                    local: *local,
                });
            }
            for event in unknown {
                self.pusher.push(self.latest, event);
            }
        }
        Ok(OK)
    }

    /// A socket's number, if it was opened.
    #[inline]
    pub(crate) fn socket(&self, number: u32) -> Result<SocketId, Failure> {
        if number < self.shared.sockets_opened.load(Ordering::Relaxed)
            && let Ok(number) = u16::try_from(number)
        {
            return Ok(SocketId(number));
        }
        Err(no_such_socket(number))
    }

    #[inline]
    pub(crate) fn push(&mut self, event: Event<'_>) -> Result<i32, Failure> {
        if self.pusher.push(self.latest, event).is_some() {
            return Ok(OK);
        }
        self.not_pushed()
    }

    #[cold]
    fn not_pushed(&self) -> Result<i32, Failure> {
        if self.pusher.is_on() {
            return Ok(DROPPED);
        }
        self.not_on()
    }

    /// Why nothing is recorded now.
    #[cold]
    fn not_on(&self) -> Result<i32, Failure> {
        if std::process::id() != self.shared.process {
            return Err(forked());
        }
        if self.shared.closed.load(Ordering::Relaxed) {
            return Err(failure(
                E_CLOSED,
                "the recorder of this netreel_thread was closed; close the thread as well",
            ));
        }
        let on = self.shared.on.load(Ordering::Relaxed);
        if on && !self.pusher.is_on() && !self.shared.has_max {
            return Err(failure(
                E_STOPPED,
                "recording stopped because a write failed; closing the recorder says which",
            ));
        }
        Ok(OFF)
    }

    fn sockets(&self) -> std::sync::MutexGuard<'_, Vec<(SocketId, Endpoint, bool)>> {
        locked(&self.shared.sockets)
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.shared.threads.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cold]
pub(crate) fn forked() -> Failure {
    failure(
        E_FORKED,
        "this is a forked child: its parent is recorded, and goes on alone",
    )
}

#[cold]
fn no_such_socket(number: u32) -> Failure {
    let why = format!("socket {number} was never opened: give the number from socket_opened");
    failure(E_ARGUMENT, why)
}

fn record_failure(error: RecordError) -> Failure {
    let code = match &error {
        RecordError::Exists { .. } => E_EXISTS,
        RecordError::Create { .. } | RecordError::Removed { .. } => E_IO,
        RecordError::Stopped { .. } => E_STOPPED,
        RecordError::Forked { .. } => E_FORKED,
        RecordError::TooManyPushers(_) => E_LIMIT,
        RecordError::DrainerDied { .. } => E_INTERNAL,
    };
    failure(code, error.to_string())
}
