//! Packets read again from their reels, and decoded to the last field.

use std::sync::Arc;

use netreel_wire::{ConnectionState, Context, Decoded};

use crate::session::facts::looks::ConnectionAt;
use crate::session::read::connections::payload;
use crate::session::{PacketId, Session};

/// How many packets of its connection are in the state before a packet, and in the state after it: of those
/// that were asked about with a state.
struct Around {
    connection: ConnectionAt,
    before: usize,
    after: usize,
}

impl Session {
    /// The bytes of a packet, read again from the reel whose view of it counts: the sender's where it was
    /// recorded, or else an observer's, or else the receiver's.
    pub fn payload(&self, packet: PacketId) -> Option<Vec<u8>> {
        let (track, side, place) = self.rows.teller(packet)?;
        let number = track.side(side).number(place);
        let record = track.reel.as_ref()?.record(number)?;
        payload(&record.as_record().event).map(<[u8]>::to_vec)
    }

    /// What is known of a packet besides its bytes: how it travelled, and what its connection kept
    /// before it. `None` where there is no wire or the reel can no longer be read.
    pub fn surroundings(&self, packet: PacketId) -> Option<(Context, ConnectionState)> {
        let (context, state, _) = self.state_at(packet)?;
        Some((context, state))
    }

    /// The same, with the connection and how many of its packets are in its state; where it has none,
    /// nothing of that.
    fn state_at(&self, packet: PacketId) -> Option<(Context, ConnectionState, Option<Around>)> {
        let wire = self.wire.as_ref()?;
        let (track, side, place) = self.rows.told(packet)?;
        let known = self.rows.tracks.get(track)?;
        let raw = known.side(side).get(place)?;
        let at = raw.connection as usize;
        let connection = known.connections.get(at)?;
        let context = connection.context(side.is_out(&raw));
        let kept = match wire.has_state() {
            true => self.told().kept(track, at),
            false => None,
        };
        let Some(kept) = kept else {
            return Some((context, wire.new_state(), None));
        };
        let (before, is_one) = kept.place(raw.number);
        let left = self.looks.take((track, at), before);
        let known = (connection, &**wire, &**known.reel.as_ref()?);
        let state = kept.state_before(before, known, left)?;
        let around = Around {
            connection: (track, at),
            before,
            after: before + usize::from(is_one),
        };
        Some((context, state, Some(around)))
    }

    /// Every field of a packet, after all packets of its connection before it; `None` where there is
    /// no wire or the reel can no longer be read. Whoever asks for one packet after the other has each
    /// read once.
    pub fn decode(&self, packet: PacketId) -> Option<Decoded> {
        match self.looks.decoded(packet) {
            Some(known) => Some(Arc::unwrap_or_clone(known)),
            None => self.decoded_anew(packet),
        }
    }

    /// The same for who asks again for one of the last packets.
    pub(crate) fn decoded(&self, packet: PacketId) -> Option<Arc<Decoded>> {
        if let Some(known) = self.looks.decoded(packet) {
            return Some(known);
        }
        let decoded = Arc::new(self.decoded_anew(packet)?);
        self.looks.keep(packet, &decoded);
        Some(decoded)
    }

    fn decoded_anew(&self, packet: PacketId) -> Option<Decoded> {
        let wire = self.wire.as_ref()?;
        let payload = self.payload(packet)?;
        let (context, mut state, around) = self.state_at(packet)?;
        if let Some(around) = &around {
            self.looks.pass(around.connection, around.before, &state);
        }
        let decoded = wire.decode_in(&context, &mut state, &payload);
        if let Some(around) = around {
            self.looks.put(around.connection, around.after, state);
        }
        Some(decoded)
    }
}
