//! From packets to messages to what they mean.

use std::net::SocketAddr;

use netreel_transport::Transport;

use super::{NetLayer, PROTOCOL_VERSION};
use crate::bits::Malformed;
use crate::event::{EndReason, Event};
use crate::fault::Fault;
use crate::link::LinkState;
use crate::message::{Body, Message, Peer};
use crate::mode::{Mode, Topology};
use crate::packet::{PACKET_BYTES_MAX, read_packet};
use crate::stream::Delivered;

/// A tick takes no more packets than this, so that a flood cannot stop the game.
const PACKETS_PER_TICK_MAX: usize = 10_000;

/// A tick stands no more failed receives than this.
const FAILURES_PER_TICK_MAX: usize = 16;

impl NetLayer {
    /// Takes all packets that have arrived.
    pub(super) fn receive_all(&mut self, io: &mut dyn Transport) {
        // A longer packet is cut to one byte too many, and so is malformed.
        let mut buffer = [0; PACKET_BYTES_MAX + 1];
        let mut failures = 0;
        for _ in 0..PACKETS_PER_TICK_MAX {
            match io.receive(&mut buffer) {
                Ok(Some(datagram)) => {
                    let packet = buffer.get(..datagram.length).unwrap_or(&buffer);
                    if let Err(malformed) = self.receive(datagram.from, packet) {
                        self.events.push_back(Event::BadPacket {
                            from: datagram.from,
                            malformed,
                        });
                    }
                }
                Ok(None) => return,
                Err(_) => {
                    failures += 1;
                    if failures >= FAILURES_PER_TICK_MAX {
                        return;
                    }
                }
            }
        }
    }

    fn receive(&mut self, from: SocketAddr, packet: &[u8]) -> Result<(), Malformed> {
        let refuse = |why| Err(Malformed { at_bit: 0, why });
        let Some(&peer) = self.peer_of.get(&from) else {
            return refuse("nobody of this session has that address");
        };
        let header = if self.has(Fault::RefuseFullPackets) {
            8
        } else {
            0
        };
        if packet.len() > PACKET_BYTES_MAX - header {
            return refuse("longer than a packet may be");
        }
        let (header, messages) = read_packet(&self.types, packet)?;
        if header.sender != peer {
            return refuse("the sender's number does not go with its address");
        }
        if header.mode != self.start.mode {
            return refuse("the sender plays by other rules");
        }
        let Some(link) = self.links.get_mut(&peer) else {
            return refuse("nobody of this session has that address");
        };
        let Some(number) = link.packet_number(header.sequence) else {
            return Ok(()); // a duplicate, or too old to tell
        };
        let has_room = |sequence| link.incoming.has_room(sequence);
        if !messages
            .iter()
            .filter_map(|message| message.reliable)
            .all(has_room)
        {
            return refuse("a reliable message too far ahead of the stream");
        }
        link.take_packet(number, self.now_ns, !messages.is_empty());
        if let Some((ack, ack_bits)) = header.ack {
            let fates = link.take_acks(ack, ack_bits, self.now_ns);
            self.settle_fates(peer, fates);
        }
        for message in messages {
            let Some(link) = self.links.get_mut(&peer) else {
                break;
            };
            if link.state == LinkState::Gone || self.ended {
                break; // it was acked, and nobody listens any more
            }
            let Some(sequence) = message.reliable else {
                self.deliver(peer, number, message);
                continue;
            };
            let places_early = link.incoming.places_early(sequence);
            let delivered = match self.start.fault {
                Some(Fault::DropEarly) if places_early > 2 => Vec::new(),
                Some(Fault::DeliverAsTheyCome) => {
                    link.incoming.take_at_once(sequence, message, &self.types)
                }
                _ => link.incoming.take(sequence, message, &self.types),
            };
            for delivered in delivered {
                match delivered {
                    Delivered::Message(message) => {
                        let is_create = matches!(message.body, Body::Create { .. });
                        if self.has(Fault::NeverDeliver) && is_create && number % 3 == 0 {
                            continue;
                        }
                        if self.has(Fault::DeliverTwice) {
                            self.deliver(peer, number, message.clone());
                        }
                        self.deliver(peer, number, message);
                    }
                    Delivered::Broken => self.tell_bad(peer, "pieces that do not make a message"),
                }
            }
        }
        Ok(())
    }

    /// Does what a message says. `number` is the packet in which it came, or the one that closed
    /// the last gap before it.
    fn deliver(&mut self, link: Peer, number: u64, message: Message) {
        if self.ended || self.gone.contains_key(&link) {
            return; // a message before it in the same packet ended the session
        }
        let may_relay = link == Peer::HOST;
        if message.origin != link && !may_relay {
            self.tell_bad(link, "a message in another peer's name");
            return;
        }
        if self.is_early(&message) {
            self.keep_early(link, number, message);
            return;
        }
        let object = match message.body {
            Body::Create { object, .. }
            | Body::Destroy { object, .. }
            | Body::Assign { object, .. } => Some(object),
            _ => None,
        };
        self.apply(link, number, message);
        if let Some(object) = object {
            self.take_early(object);
        }
    }

    /// Tells the game that something in a packet of a peer does not belong here.
    fn tell_bad(&mut self, peer: Peer, why: &'static str) {
        if let Some(link) = self.links.get(&peer) {
            let (from, malformed) = (link.endpoint, Malformed { at_bit: 0, why });
            self.events.push_back(Event::BadPacket { from, malformed });
        }
    }

    /// Does what a message says that waits for nothing.
    pub(super) fn apply(&mut self, link: Peer, number: u64, message: Message) {
        let Message {
            origin,
            reliable,
            body,
        } = message;
        let mut relayed = (reliable.is_some() && self.passes_on(&body)).then(|| body.clone());
        let mut effect = None;
        match body {
            Body::Connect {
                version,
                topology,
                name,
            } => self.take_connect(link, origin, version, topology, name),
            Body::Leave => self.take_leave(origin),
            Body::Create {
                object,
                counter,
                owner,
                state,
            } => effect = self.take_create(object, counter, owner, state),
            Body::Update {
                object,
                counter,
                kind,
                changes,
            } => self.take_update(link, number, origin, object, counter, kind, changes),
            Body::Destroy { object, counter } => {
                if !self.take_destroy(origin, object, counter) {
                    relayed = None;
                }
            }
            Body::Migrate(migration) => effect = self.take_migrate(migration),
            Body::Order(migration) => self.take_order(migration),
            Body::Assign {
                object,
                new_owner,
                counter,
            } => self.take_assign(origin, object, new_owner, counter),
            Body::Confirm { object, counter } => self.take_confirm(origin, object, counter),
            Body::Request { object } => self.take_request(object, origin),
            Body::Rpc { name, arguments } => self.events.push_back(Event::Called {
                from: origin,
                name,
                arguments,
            }),
            Body::Fragment { .. } => {} // the stream joins these
        }
        if let Some(body) = relayed {
            self.relay(link, origin, &body, effect);
        }
    }

    fn take_leave(&mut self, left: Peer) {
        if left == Peer::HOST {
            self.end(EndReason::HostLeft);
        } else if left == self.start.own {
            self.end(EndReason::Dropped);
        } else {
            self.drop_out(left);
        }
    }

    /// Whether this node passes a message on: a server does, and HOST in mode `order` what orders
    /// objects.
    fn passes_on(&self, body: &Body) -> bool {
        let is_ordered = matches!(body, Body::Create { .. } | Body::Destroy { .. });
        (self.is_server() && body.is_relayed())
            || (self.is_host() && self.mode() == Mode::Order && is_ordered)
    }

    fn take_connect(
        &mut self,
        link: Peer,
        origin: Peer,
        version: u8,
        topology: Topology,
        name: String,
    ) {
        if version != PROTOCOL_VERSION || topology != self.start.topology {
            let why = "the peer speaks another version or plays in another topology";
            self.tell_bad(link, why);
            return;
        }
        if let Some(link) = self.links.get_mut(&origin)
            && link.state == LinkState::Silent
        {
            link.state = LinkState::Up;
        }
        if self.joined.insert(origin) {
            self.events.push_back(Event::Joined { peer: origin, name });
        }
    }
}

impl Body {
    /// Whether a server passes it on to its other clients as it is.
    fn is_relayed(&self) -> bool {
        matches!(
            self,
            Body::Connect { .. }
                | Body::Create { .. }
                | Body::Destroy { .. }
                | Body::Migrate(_)
                | Body::Rpc { .. }
        )
    }
}
