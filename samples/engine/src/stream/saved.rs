//! Both ends of a reliable stream in a saved state.

use super::{Joining, Pending, State, StreamIn, StreamOut};
use crate::bits::Malformed;
use crate::state::{Restore, Save, StateReader, StateWriter, saved};

saved! {
    Pending { state, bits }
    StreamIn { next, early, joining }
}

impl Save for State {
    fn save(&self, out: &mut StateWriter<'_>) {
        match self {
            State::Waiting => out.byte(0),
            State::Flying { packet } => (1_u8, packet).save(out),
            State::Acked => out.byte(2),
        }
    }
}

impl Restore for State {
    fn restore(from: &mut StateReader<'_>) -> Result<State, Malformed> {
        match from.read()? {
            0_u8 => Ok(State::Waiting),
            1 => from.read().map(|packet| State::Flying { packet }),
            2 => Ok(State::Acked),
            _ => Err(from.malformed("a state of a message that nobody knows")),
        }
    }
}

impl Save for Joining {
    fn save(&self, out: &mut StateWriter<'_>) {
        (self.index, self.total, &self.data).save(out);
    }
}

impl Restore for Joining {
    fn restore(from: &mut StateReader<'_>) -> Result<Joining, Malformed> {
        let (index, total) = from.read()?;
        if index >= total {
            return Err(from.malformed("a piece behind the last"));
        }
        let data = from.bytes()?.to_vec();
        Ok(Joining { index, total, data })
    }
}

impl StreamOut {
    pub(crate) fn save(&self, out: &mut StateWriter<'_>) {
        (self.base, &self.queue).save(out);
    }

    /// Makes an empty stream what a saved one was.
    pub(crate) fn restore(&mut self, from: &mut StateReader<'_>) -> Result<(), Malformed> {
        (self.base, self.queue) = from.read()?;
        Ok(())
    }

    pub(crate) fn tell(&self, tell: &mut dyn FnMut(&str, String)) {
        tell("out.base", self.base.to_string());
        for (place, pending) in (self.base..).zip(&self.queue) {
            let (length, bytes) = (pending.bits.len(), pending.bits.as_bytes());
            tell(
                &format!("out[{place}]"),
                format!("{:?}, {length} bits {bytes:02x?}", pending.state),
            );
        }
    }
}

impl StreamIn {
    pub(crate) fn tell(&self, tell: &mut dyn FnMut(&str, String)) {
        tell("in.next", self.next.to_string());
        for (place, message) in &self.early {
            tell(&format!("in.early[{place}]"), format!("{message:?}"));
        }
        if let Some(joining) = &self.joining {
            tell("in.joining", format!("{joining:?}"));
        }
    }
}
