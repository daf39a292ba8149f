//! Packets read again from their reels, and decoded to the last field.

use std::sync::Arc;

use netreel_reel::EventNumber;
use netreel_wire::{ConnectionState, Context, Decoded};

use crate::session::facts::looks::ConnectionAt;
use crate::session::read::connections::payload;
use crate::session::{PacketId, Session};

/// See [`Session::state_at`].
type StateAt = (Context, ConnectionState, Option<(ConnectionAt, Around)>);

/// How many packets of its connection are in the state before a packet, and in the state after it: of those
/// that were asked about with a state.
struct Around {
    before: usize,
    after: usize,
}

impl Session {
    /// The bytes of a packet, read again from a reel that holds it.
    pub fn payload(&self, packet: PacketId) -> Option<Vec<u8>> {
        let (track, number) = self.source(packet)?;
        let record = self.rows.tracks.get(track)?.reel.as_ref()?.record(number)?;
        payload(&record.as_record().event).map(<[u8]>::to_vec)
    }

    /// The track whose view of a packet counts, and the event there: the sender's where it was
    /// recorded, or else an observer's, or else the receiver's.
    fn source(&self, packet: PacketId) -> Option<(usize, EventNumber)> {
        let (track, side, place) = self.rows.told(packet)?;
        let number = self.rows.tracks.get(track)?.side(side).number(place);
        Some((track, number))
    }

    /// What is known of a packet besides its bytes: how it travelled, and what its connection kept
    /// before it. `None` where there is no wire or the reel can no longer be read.
    pub fn surroundings(&self, packet: PacketId) -> Option<(Context, ConnectionState)> {
        let (context, state, _) = self.state_at(packet)?;
        Some((context, state))
    }

    /// The same, with the connection and how many of its packets are in its state; where it has none,
    /// nothing of that.
    fn state_at(&self, packet: PacketId) -> Option<StateAt> {
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
        let after = before + usize::from(is_one);
        Some((
            context,
            state,
            Some(((track, at), Around { before, after })),
        ))
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
        let (context, mut state, at) = self.state_at(packet)?;
        if let Some((connection, around)) = &at {
            self.looks.pass(*connection, around.before, &state);
        }
        let decoded = wire.decode_in(&context, &mut state, &payload);
        if let Some((connection, around)) = at {
            self.looks.put(connection, around.after, state);
        }
        Some(decoded)
    }
}
