//! The loop that quinn-proto leaves to its user.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use netreel_record::Shared;
use netreel_transport::Transport;
use quinn_proto::{
    ClientConfig, ConnectError, Connection, ConnectionHandle, DatagramEvent, Endpoint, ServerConfig,
};

use crate::drawn::Drawn;

/// The longest packet that is taken.
const PACKET_MAX: usize = 2048;

/// An endpoint of quinn-proto with its connections, over any transport.
pub struct QuicHost<T> {
    io: Shared<T>,
    endpoint: Endpoint,
    connections: BTreeMap<ConnectionHandle, Connection>,
    /// What zero of the transport's clock is in quinn's time, which only looks at differences.
    zero: Instant,
}

impl<T: Transport> QuicHost<T> {
    /// An endpoint that takes its randomness from `drawn`; with `server` it accepts connections.
    pub fn new(io: Shared<T>, drawn: &Drawn, server: Option<ServerConfig>) -> QuicHost<T> {
        let config = Arc::new(drawn.endpoint());
        QuicHost {
            io,
            endpoint: Endpoint::new(config, server.map(Arc::new), true, None),
            connections: BTreeMap::new(),
            zero: Instant::now(),
        }
    }

    /// Begins a connection to the server that has the certificate of this name.
    ///
    /// # Errors
    /// The name or the address is none.
    pub fn connect(
        &mut self,
        client: ClientConfig,
        to: SocketAddr,
        name: &str,
    ) -> Result<ConnectionHandle, ConnectError> {
        let now = self.now();
        let (handle, connection) = self.endpoint.connect(now, client, to, name)?;
        self.connections.insert(handle, connection);
        Ok(handle)
    }

    /// The connections, for the game to write to and to read from.
    pub fn connections(&mut self) -> impl Iterator<Item = (ConnectionHandle, &mut Connection)> {
        self.connections
            .iter_mut()
            .map(|(handle, it)| (*handle, it))
    }

    /// Hands over what has arrived, and lets time pass.
    pub fn receive(&mut self) {
        let now = self.now();
        let (mut buffer, mut answer) = ([0; PACKET_MAX], Vec::new());
        while let Ok(Some(came)) = self.io.receive(&mut buffer) {
            let packet = BytesMut::from(&buffer[..came.length]);
            answer.clear();
            let told = self
                .endpoint
                .handle(now, came.from, None, None, packet, &mut answer);
            match told {
                Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                    if let Some(connection) = self.connections.get_mut(&handle) {
                        connection.handle_event(event);
                    }
                }
                Some(DatagramEvent::NewConnection(incoming)) => {
                    match self.endpoint.accept(incoming, now, &mut answer, None) {
                        Ok((handle, connection)) => {
                            self.connections.insert(handle, connection);
                        }
                        Err(refused) => {
                            if let Some(said) = refused.response {
                                self.send(said.destination, &answer[..said.size]);
                            }
                        }
                    }
                }
                Some(DatagramEvent::Response(said)) => {
                    self.send(said.destination, &answer[..said.size]);
                }
                None => {}
            }
        }
        for connection in self.connections.values_mut() {
            if connection.poll_timeout().is_some_and(|due| due <= now) {
                connection.handle_timeout(now);
            }
        }
    }

    /// Sends what is due.
    pub fn transmit(&mut self) {
        let now = self.now();
        let mut packet = Vec::new();
        for (handle, connection) in &mut self.connections {
            while let Some(event) = connection.poll_endpoint_events() {
                if let Some(event) = self.endpoint.handle_event(*handle, event) {
                    connection.handle_event(event);
                }
            }
            // One datagram at a time: a reel has packets, not what the system cuts into them.
            while let Some(made) = connection.poll_transmit(now, 1, &mut packet) {
                // What the system refuses is lost: QUIC sends what was in it again.
                let _ = self.io.send(made.destination, &packet[..made.size]);
                packet.clear();
            }
        }
        self.connections.retain(|_, it| !it.is_drained());
    }

    fn send(&mut self, to: SocketAddr, packet: &[u8]) {
        let _ = self.io.send(to, packet);
    }

    fn now(&mut self) -> Instant {
        self.zero + Duration::from_nanos(self.io.now().nanos())
    }
}
