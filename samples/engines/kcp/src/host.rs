//! The loop that KCP leaves to its user.

use std::collections::BTreeMap;
use std::io::{Error, Write};
use std::net::SocketAddr;

use kcp::{KCP_OVERHEAD, Kcp, get_conv};
use netreel_record::Shared;
use netreel_transport::Transport;

/// The longest packet that is taken.
const PACKET_MAX: usize = 2048;

/// Where the packets of a conversation go.
pub struct KcpOutput<T> {
    io: Shared<T>,
    to: SocketAddr,
}

impl<T: Transport> Write for KcpOutput<T> {
    /// KCP writes a packet at once. One that the system refuses is one that is lost: KCP sends it again.
    fn write(&mut self, packet: &[u8]) -> Result<usize, Error> {
        let _ = self.io.send(self.to, packet);
        Ok(packet.len())
    }

    fn flush(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// The conversations of one socket, in the order of the others' addresses.
pub struct KcpHost<T> {
    io: Shared<T>,
    mtu: usize,
    is_listening: bool,
    links: BTreeMap<SocketAddr, Kcp<KcpOutput<T>>>,
    /// The clock's first answer in milliseconds, from which KCP's time counts.
    zero_ms: Option<u64>,
}

impl<T: Transport> KcpHost<T> {
    /// A host without conversations, whose packets have at most `mtu` bytes.
    pub fn new(io: Shared<T>, mtu: usize) -> KcpHost<T> {
        KcpHost {
            io,
            mtu,
            is_listening: false,
            links: BTreeMap::new(),
            zero_ms: None,
        }
    }

    /// From now on accepts the conversations that others begin. One with another number takes the place of
    /// the one that there was with the same address.
    pub fn listen(&mut self) {
        self.is_listening = true;
    }

    /// Begins a conversation. Both ends give it the same number; a listening host takes that of the first
    /// packet.
    ///
    /// # Errors
    /// `mtu` is too small for KCP.
    pub fn connect(&mut self, to: SocketAddr, conversation: u32) -> Result<(), kcp::Error> {
        let io = self.io.clone();
        let mut link = Kcp::new(conversation, KcpOutput { io, to });
        link.set_mtu(self.mtu)?;
        link.set_nodelay(true, 10, 2, true); // as games have it: KCP's own documentation
        self.links.insert(to, link);
        Ok(())
    }

    /// Hands over what has arrived, and sends what is due. A conversation of which the last call sent a
    /// packet for the twentieth time is over.
    ///
    /// # Errors
    /// `mtu` is too small for KCP.
    pub fn service(&mut self) -> Result<(), kcp::Error> {
        let now_ms = self.io.now().nanos() / 1_000_000;
        let zero_ms = *self.zero_ms.get_or_insert(now_ms);
        self.links.retain(|_, link| !link.is_dead_link());
        let mut buffer = [0; PACKET_MAX];
        while let Ok(Some(came)) = self.io.receive(&mut buffer) {
            let packet = &buffer[..came.length];
            if packet.len() < KCP_OVERHEAD {
                continue;
            }
            let conversation = self.links.get(&came.from).map(Kcp::conv);
            if self.is_listening && conversation != Some(get_conv(packet)) && begins(packet) {
                self.connect(came.from, get_conv(packet))?;
            }
            if let Some(link) = self.links.get_mut(&came.from) {
                // What is no packet of this conversation is left, as every KCP does.
                let _ = link.input(packet);
            }
        }
        // KCP's own time wraps after 49 days.
        let time_ms = now_ms.saturating_sub(zero_ms) as u32;
        self.links
            .values_mut()
            .try_for_each(|link| link.update(time_ms))
    }

    /// The next whole message of any conversation, with who sent it.
    pub fn receive(&mut self) -> Option<(SocketAddr, Vec<u8>)> {
        self.links.iter_mut().find_map(|(from, link)| {
            let mut message = vec![0; link.peeksize().ok()?];
            link.recv(&mut message).ok()?;
            Some((*from, message))
        })
    }

    /// Sends a message; to whom there is no conversation, nothing.
    ///
    /// # Errors
    /// It would take more than 127 packets.
    pub fn send(&mut self, to: SocketAddr, message: &[u8]) -> Result<(), kcp::Error> {
        let link = self.links.get_mut(&to);
        link.map_or(Ok(()), |link| link.send(message).map(drop))
    }
}

/// Whether a packet may be a conversation's first: it has data, and its sender has heard nothing yet.
fn begins(packet: &[u8]) -> bool {
    const PUSH: u8 = 81;
    packet[4] == PUSH && packet[16..20] == [0; 4]
}
