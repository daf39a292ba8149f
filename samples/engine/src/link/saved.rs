//! A link in a saved state.

use super::{Cargo, Link, LinkState, SentPacket, SentUpdate};
use crate::bits::Malformed;
use crate::state::{Restore, Save, StateReader, StateWriter, saved};

saved! {
    SentPacket { at_ns, judged_lost, cargo }
    Cargo { reliable, tickets, updates }
    SentUpdate { object, epoch, fields }
}

impl Save for LinkState {
    fn save(&self, out: &mut StateWriter<'_>) {
        out.byte(match self {
            LinkState::Silent => 0,
            LinkState::Up => 1,
            LinkState::Gone => 2,
        });
    }
}

impl Restore for LinkState {
    fn restore(from: &mut StateReader<'_>) -> Result<LinkState, Malformed> {
        match from.read()? {
            0_u8 => Ok(LinkState::Silent),
            1 => Ok(LinkState::Up),
            2 => Ok(LinkState::Gone),
            _ => Err(from.malformed("a state of a link that nobody knows")),
        }
    }
}

impl Link {
    /// Writes all that happened on the link.
    pub(crate) fn save(&self, out: &mut StateWriter<'_>) {
        (self.state, self.is_expelled, self.owes_ack).save(out);
        (self.heard_at, self.next_packet, self.last_packet).save(out);
        (self.acked_newest, self.sent_at, self.round_trip_ns).save(out);
        (&self.received, &self.unreliable, &self.sent).save(out);
        self.out.save(out);
        self.incoming.save(out);
    }

    /// Makes a link on which nothing has happened what a saved one was.
    pub(crate) fn restore(&mut self, from: &mut StateReader<'_>) -> Result<(), Malformed> {
        (self.state, self.is_expelled, self.owes_ack) = from.read()?;
        (self.heard_at, self.next_packet, self.last_packet) = from.read()?;
        (self.acked_newest, self.sent_at, self.round_trip_ns) = from.read()?;
        (self.received, self.unreliable, self.sent) = from.read()?;
        self.out.restore(from)?;
        self.incoming = from.read()?;
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
