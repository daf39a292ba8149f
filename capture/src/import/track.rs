//! What becomes of a captured packet in one reel.

use std::collections::{BTreeMap, BTreeSet};

use netreel_reel::{Endpoint, Event, EventNumber, SendOutcome, SocketId, ThreadId, Time};

use super::NamedNode;
use crate::pcap::{Interface, UdpPayload};

/// Where the events of a reel go.
pub(crate) trait Scribe {
    /// Why an event was not taken.
    type Error;

    /// Appends an event; its number.
    fn write(
        &mut self,
        time: Time,
        thread: ThreadId,
        event: Event<'_>,
    ) -> Result<EventNumber, Self::Error>;
}

/// One reel under way: an observer's, or a node's.
#[derive(Debug, Default)]
pub(crate) struct Track {
    node: Option<NamedNode>,
    sockets: BTreeMap<Endpoint, SocketId>,
    /// Interfaces of which it was said what they are.
    told: BTreeSet<u16>,
    packets: u64,
}

impl Track {
    /// `node`: whose reel it is; `None` for an observer's.
    pub fn new(node: Option<NamedNode>) -> Track {
        Track {
            node,
            ..Track::default()
        }
    }

    /// How many packets are in the reel.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Whether it is a named node's.
    #[cfg(any(feature = "pcap", windows))]
    pub fn is_named(&self) -> bool {
        self.node.is_some()
    }

    /// Whether the packet has to do with this reel's node, or this is an observer's reel.
    pub fn concerns(&self, udp: &UdpPayload) -> bool {
        let owns = |node: &NamedNode| node.owns(udp.source) || node.owns(udp.destination);
        self.node.as_ref().is_none_or(owns)
    }

    /// Writes what a packet is to this reel: seen; sent and received; or nothing. Before the first
    /// packet of each of the capture's `interfaces`, what that one is.
    pub fn packet<S: Scribe>(
        &mut self,
        udp: &UdpPayload,
        interfaces: &[Interface],
        to: &mut S,
    ) -> Result<(), S::Error> {
        if !self.concerns(udp) {
            return Ok(());
        }
        let time = Time(udp.time);
        let thread = ThreadId(udp.interface);
        if self.told.insert(udp.interface)
            && let Some(interface) = interfaces.get(usize::from(udp.interface))
        {
            let link_type = interface.link_type as u32;
            let name = interface.name.as_bytes();
            to.write(time, thread, Event::Interface { link_type, name })?;
        }
        let payload = udp.payload.as_slice();
        let (from, destination) = (udp.source, udp.destination);
        let Some(node) = &self.node else {
            let event = Event::Seen {
                from,
                to: destination,
                payload,
            };
            let number = to.write(time, thread, event)?;
            self.packets += 1;
            return cut(udp, number, thread, to);
        };
        let (sent, received) = (node.owns(from), node.owns(destination));
        if sent && let Some(socket) = self.socket(from, time, to)? {
            let event = Event::Sent {
                socket,
                to: destination,
                payload,
            };
            let of = to.write(time, thread, event)?;
            let outcome = SendOutcome::Sent;
            to.write(time, thread, Event::SendResult { of, outcome })?;
            self.packets += 1;
            cut(udp, of, thread, to)?;
        }
        if received && let Some(socket) = self.socket(destination, time, to)? {
            let event = Event::Received {
                socket,
                from,
                payload,
            };
            let number = to.write(time, thread, event)?;
            self.packets += 1;
            cut(udp, number, thread, to)?;
        }
        Ok(())
    }

    /// The socket of a local endpoint; `None` where there are more than ids can number.
    fn socket<S: Scribe>(
        &mut self,
        local: Endpoint,
        time: Time,
        to: &mut S,
    ) -> Result<Option<SocketId>, S::Error> {
        if let Some(&known) = self.sockets.get(&local) {
            return Ok(Some(known));
        }
        let Ok(number) = u16::try_from(self.sockets.len()) else {
            return Ok(None);
        };
        let socket = SocketId(number);
        to.write(time, ThreadId(0), Event::SocketOpened { socket, local })?;
        self.sockets.insert(local, socket);
        Ok(Some(socket))
    }
}

/// Says of a packet that the capture kept only its start.
fn cut<S: Scribe>(
    udp: &UdpPayload,
    of: EventNumber,
    thread: ThreadId,
    to: &mut S,
) -> Result<(), S::Error> {
    if udp.is_cut() {
        let length = udp.length;
        to.write(Time(udp.time), thread, Event::Cut { of, length })?;
    }
    Ok(())
}
