//! Replay: what a `netreel_replay` holds.

use std::ffi::CString;
use std::path::Path;
use std::sync::Arc;

use netreel_reel::{Endpoint, Reel, SocketId, Time};
use netreel_replay::{Driver, Outcome, Turn, TurnKind, explain};
use netreel_transport::{Datagram, ReceiveError, SendError, Transport};
use netreel_wire::Wire;

use crate::error::{Failure, failure};
use crate::types::{
    CPacket, CReport, CStep, DIVERGED, E_ARGUMENT, E_DIVERGED, E_NOT_REPLAYABLE, E_REEL, EMPTY,
    END, EXACT, FAILED, OK, RECEIVED, STEP_END, STEP_INPUT, STEP_TICK,
};

/// A reel that answers a layer.
pub(crate) struct Replaying {
    reel: Arc<Reel>,
    wire: Option<Wire>,
    driver: Driver,
    /// The call of the game that is being played.
    call: Vec<u8>,
    text: CString,
}

impl Replaying {
    pub(crate) fn open(path: &Path) -> Result<Replaying, Failure> {
        let reel = netreel_record::open(path).map_err(|it| failure(E_REEL, it.to_string()))?;
        let reel = Arc::new(reel);
        let driver = Driver::with_sockets(reel.clone()).map_err(|refused| {
            let mut why = refused.to_string();
            if reel.header().start.is_empty() {
                why += ". Set netreel_options.start when it is recorded";
            }
            failure(E_NOT_REPLAYABLE, why)
        })?;
        // It only serves to name the field that differs: one that does not compile is no obstacle.
        let wire = reel.header().wires.first();
        let wire = wire.and_then(|wire| Wire::compile(&wire.name, &wire.text).ok());
        Ok(Replaying {
            reel,
            wire,
            driver,
            call: Vec::new(),
            text: CString::default(),
        })
    }

    pub(crate) fn start(&self) -> &[u8] {
        &self.reel.header().start
    }

    /// A socket by the number that it had when it was recorded.
    pub(crate) fn socket(&self, number: u32) -> Result<(SocketId, Endpoint), Failure> {
        let sockets = self.reel.endpoints();
        let found = sockets.iter().find(|(id, _)| u32::from(id.0) == number);
        found.copied().ok_or_else(|| {
            let why = format!("socket {number}: the reel has {}", sockets.len());
            failure(E_ARGUMENT, why)
        })
    }

    pub(crate) fn next(&mut self) -> (Result<i32, Failure>, CStep) {
        let mut step = CStep {
            kind: STEP_END,
            ..CStep::default()
        };
        let Some(Turn {
            number,
            moment,
            what,
        }) = self.driver.next_turn()
        else {
            return (self.code(), step);
        };
        step.number = number.0;
        step.moment_ns = moment.0;
        match what {
            TurnKind::Tick { tick, time } => {
                step.kind = STEP_TICK;
                step.tick = tick;
                step.tick_time = time.0;
            }
            TurnKind::Input { call } => {
                step.kind = STEP_INPUT;
                self.call = call;
                step.call = self.call.as_ptr().cast();
                step.call_length = self.call.len() as u64;
            }
        }
        (Ok(OK), step)
    }

    pub(crate) fn tick(&mut self, tick: u64) -> Result<i32, Failure> {
        self.driver.tick(tick);
        self.code()
    }

    pub(crate) fn input(&mut self, call: &[u8]) -> Result<i32, Failure> {
        self.driver.input(call);
        self.code()
    }

    pub(crate) fn receive(
        &mut self,
        socket: SocketId,
        buffer: &mut [u8],
    ) -> (Result<i32, Failure>, CPacket) {
        let mut packet = CPacket {
            kind: EMPTY,
            ..CPacket::default()
        };
        match self.driver.io().receive_on(socket, buffer) {
            Ok(Some(Datagram { from, length })) => {
                packet.kind = RECEIVED;
                packet.from = from.into();
                packet.length = length as u64;
            }
            Ok(None) => {}
            Err(ReceiveError(code)) => {
                packet.kind = FAILED;
                packet.os_error = code;
            }
        }
        (self.code(), packet)
    }

    pub(crate) fn send(
        &mut self,
        socket: SocketId,
        to: Endpoint,
        packet: &[u8],
    ) -> (Result<i32, Failure>, i64) {
        let result = match self.driver.io().send_on(socket, to, packet) {
            Ok(()) => i64::try_from(packet.len()).unwrap_or(i64::MAX),
            Err(SendError::Short(taken)) => i64::from(taken),
            Err(SendError::Os(code)) => -i64::from(code),
        };
        (self.code(), result)
    }

    pub(crate) fn clock(&mut self) -> (Result<i32, Failure>, u64) {
        let Time(value) = self.driver.io().now();
        (self.code(), value)
    }

    pub(crate) fn random(&mut self) -> (Result<i32, Failure>, u64) {
        let value = self.driver.io().random();
        (self.code(), value)
    }

    pub(crate) fn report(&mut self) -> CReport {
        let report = self.driver.report();
        let diverged = report.divergence();
        if diverged.is_some() {
            self.divergence_text();
        }
        CReport {
            size: 0,
            outcome: match report.outcome {
                Outcome::Exact => EXACT,
                Outcome::Diverged(_)
                | Outcome::InputRejected(..)
                | Outcome::SnapshotRefused(..) => DIVERGED,
            },
            ticks: report.ticks,
            inputs: report.inputs,
            sends: report.sends,
            bytes: report.bytes,
            event: diverged.map_or(0, |found| found.number.0),
            finished: u32::from(self.driver.io().peek().is_none()),
            cut: u32::from(report.cut),
            text: self.text.as_ptr(),
        }
    }

    /// What a call came to: fine, behind the end of a reel that was cut, or diverged.
    fn code(&mut self) -> Result<i32, Failure> {
        if self.driver.is_on_track() {
            return Ok(OK);
        }
        if self.driver.report().divergence().is_none() {
            return Ok(END);
        }
        Err(failure(E_DIVERGED, self.divergence_text()))
    }

    /// The divergence in words, worked out once: what came before it in the reel is read for that.
    fn divergence_text(&mut self) -> String {
        if self.text.is_empty() {
            self.text = CString::new(self.explained()).unwrap_or_default();
        }
        self.text.to_string_lossy().into_owned()
    }

    fn explained(&self) -> String {
        let report = self.driver.report();
        let Some(divergence) = report.divergence() else {
            return String::new();
        };
        let nobody = |_| None;
        let told = (self.wire.as_ref(), Some(&*self.reel));
        let explanation = explain(divergence, told, &nobody);
        format!("diverged at event {}: {explanation}", divergence.number).replace('\0', "?")
    }
}
