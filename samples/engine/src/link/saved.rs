//! A link in a saved state.

use std::collections::{BTreeMap, VecDeque};

use super::{Cargo, Link, LinkState, SentPacket, SentUpdate};
use crate::bits::Malformed;
use crate::message::ObjectId;
use crate::state::{StateReader, StateWriter};
use crate::stream::StreamIn;
use crate::types::Types;

impl Link {
    /// Writes all that happened on the link.
    pub(crate) fn save(&self, types: &Types, out: &mut StateWriter) {
        out.byte(match self.state {
            LinkState::Silent => 0,
            LinkState::Up => 1,
            LinkState::Gone => 2,
        });
        out.flag(self.is_expelled);
        out.flag(self.owes_ack);
        for value in [
            self.heard_at,
            self.next_packet,
            self.last_packet,
            self.acked_newest,
            self.sent_at,
            self.round_trip_ns,
        ] {
            out.optional(value);
        }
        self.received.save(out);
        out.length(self.unreliable.len());
        for (ticket, bits) in &self.unreliable {
            out.number(*ticket);
            out.bits(bits);
        }
        out.length(self.sent.len());
        for (&packet, sent) in &self.sent {
            out.number(packet);
            out.number(sent.at_ns);
            out.flag(sent.judged_lost);
            sent.cargo.save(out);
        }
        self.out.save(out);
        self.incoming.save(types, out);
    }

    /// Makes a link on which nothing has happened what a saved one was.
    pub(crate) fn restore(
        &mut self,
        types: &Types,
        from: &mut StateReader<'_>,
    ) -> Result<(), Malformed> {
        self.state = match from.byte()? {
            0 => LinkState::Silent,
            1 => LinkState::Up,
            2 => LinkState::Gone,
            _ => return Err(from.malformed("a state of a link that nobody knows")),
        };
        self.is_expelled = from.flag()?;
        self.owes_ack = from.flag()?;
        self.heard_at = from.optional()?;
        self.next_packet = from.optional()?;
        self.last_packet = from.optional()?;
        self.acked_newest = from.optional()?;
        self.sent_at = from.optional()?;
        self.round_trip_ns = from.optional()?;
        self.received = crate::sequence::Received::restore(from)?;
        let unreliable: VecDeque<_> = from.list(|from| Ok((from.number()?, from.bits()?)))?;
        self.unreliable = unreliable;
        let sent: BTreeMap<_, _> = from.list(|from| {
            let packet = from.number()?;
            let sent = SentPacket {
                at_ns: from.number()?,
                judged_lost: from.flag()?,
                cargo: Cargo::restore(from)?,
            };
            Ok((packet, sent))
        })?;
        self.sent = sent;
        self.out.restore(from)?;
        self.incoming = StreamIn::restore(types, from)?;
        Ok(())
    }

    /// What is known of the link, for people: names and values.
    pub(crate) fn tell(&self, tell: &mut dyn FnMut(&str, String)) {
        tell("state", format!("{:?}", self.state));
        let numbers = [
            ("heard_at_ns", self.heard_at),
            ("sent_at_ns", self.sent_at),
            ("round_trip_ns", self.round_trip_ns),
            ("next_packet", self.next_packet),
            ("last_packet", self.last_packet),
            ("acked_newest", self.acked_newest),
        ];
        for (name, number) in numbers {
            tell(name, number.map_or("-".to_owned(), |it| it.to_string()));
        }
        tell("owes_ack", self.owes_ack.to_string());
        tell("is_expelled", self.is_expelled.to_string());
        tell("received", format!("{:?}", self.received));
        for (packet, sent) in &self.sent {
            tell(&format!("sent[{packet}]"), format!("{sent:?}"));
        }
        for (ticket, bits) in &self.unreliable {
            tell(
                &format!("unreliable[{ticket}]"),
                format!("{} bits {:02x?}", bits.len(), bits.as_bytes()),
            );
        }
        self.out.tell(tell);
        self.incoming.tell(tell);
    }
}

impl Cargo {
    fn save(&self, out: &mut StateWriter) {
        for list in [&self.reliable, &self.tickets] {
            out.length(list.len());
            list.iter().for_each(|&number| out.number(number));
        }
        out.length(self.updates.len());
        for update in &self.updates {
            out.number(update.object.0);
            out.number(update.epoch);
            out.length(update.fields.len());
            for &(place, version) in &update.fields {
                out.byte(place);
                out.number(version);
            }
        }
    }

    fn restore(from: &mut StateReader<'_>) -> Result<Cargo, Malformed> {
        Ok(Cargo {
            reliable: from.list(StateReader::number)?,
            tickets: from.list(StateReader::number)?,
            updates: from.list(|from| {
                Ok(SentUpdate {
                    object: ObjectId(from.wide()?),
                    epoch: from.number()?,
                    fields: from.list(|from| Ok((from.byte()?, from.number()?)))?,
                })
            })?,
        })
    }
}
