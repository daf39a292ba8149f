//! ENet (`rusty_enet`), recorded and replayed.
//!
//! What to take over: [`EnetSocket`] and [`settings`]. Between them all that a host knows of the
//! world comes through one `Transport`: its packets, its clock and its seed. Give it a
//! `Recorded<UdpTransport>` and there is a reel; give it the transport of a replay and it does the
//! same again, to the byte.

pub mod example;

use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;

use netreel_record::Shared;
use netreel_transport::{ReceiveError, SendError, Transport};
use rusty_enet::{HostSettings, MTU_MAX, PacketReceived, Socket};

/// Any transport as ENet's socket.
pub struct EnetSocket<T>(pub Shared<T>);

impl<T: Transport> Socket for EnetSocket<T> {
    type Address = SocketAddr;
    type Error = Error;

    fn send(&mut self, to: SocketAddr, packet: &[u8]) -> Result<usize, Error> {
        match self.0.send(to, packet) {
            Ok(()) => Ok(packet.len()),
            Err(SendError::Short(taken)) => Ok(taken as usize),
            Err(SendError::Os(code)) => match Error::from_raw_os_error(code) {
                error if error.kind() == ErrorKind::WouldBlock => Ok(0),
                error => Err(error),
            },
        }
    }

    fn receive(
        &mut self,
        buffer: &mut [u8; MTU_MAX],
    ) -> Result<Option<(SocketAddr, PacketReceived)>, Error> {
        let failed = |ReceiveError(code)| Error::from_raw_os_error(code);
        let came = self.0.receive(buffer).map_err(failed)?;
        Ok(came.map(|came| (came.from, PacketReceived::Complete(came.length))))
    }
}

/// ENet's settings with the clock and the seed of `io`.
pub fn settings<T: Transport + 'static>(io: &Shared<T>) -> HostSettings {
    let clock = io.clone();
    HostSettings {
        time: Box::new(move || Duration::from_nanos(clock.lock().now().nanos())),
        seed: Some(io.lock().random() as u32),
        ..HostSettings::default()
    }
}
