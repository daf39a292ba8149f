//! GGRS, rollback among equals, recorded.
//!
//! What to take over: [`GgrsSocket`]. It is GGRS's socket over any `Transport`, so that a
//! `Recorded<UdpTransport>` writes a reel. GGRS reads the clock and draws its numbers by itself, so
//! that the reel has its packets, and no replay plays it back.

pub mod example;

use std::net::SocketAddr;

use ggrs::{Message, NonBlockingSocket};
use netreel_record::Shared;
use netreel_transport::Transport;

/// The longest packet that is taken.
const PACKET_MAX: usize = 4096;

/// Any transport as GGRS's socket.
pub struct GgrsSocket<T> {
    io: Shared<T>,
    buffer: Vec<u8>,
}

impl<T: Transport> GgrsSocket<T> {
    /// A socket that sends and receives through `io`.
    pub fn new(io: Shared<T>) -> GgrsSocket<T> {
        let buffer = vec![0; PACKET_MAX];
        GgrsSocket { io, buffer }
    }
}

impl<T: Transport> NonBlockingSocket<SocketAddr> for GgrsSocket<T> {
    fn send_to(&mut self, message: &Message, to: &SocketAddr) {
        // As GGRS's own socket: what cannot be sent is sent again by the protocol.
        if let Ok(packet) = bincode::serialize(message) {
            let _ = self.io.send(*to, &packet);
        }
    }

    fn receive_all_messages(&mut self) -> Vec<(SocketAddr, Message)> {
        let mut all = Vec::new();
        while let Ok(Some(came)) = self.io.receive(&mut self.buffer) {
            if let Ok(message) = bincode::deserialize(&self.buffer[..came.length]) {
                all.push((came.from, message));
            }
        }
        all
    }
}
