//! Both ends of a reliable stream in a saved state.

use std::collections::{BTreeMap, VecDeque};

use super::{Joining, Pending, State, StreamIn, StreamOut};
use crate::bits::Malformed;
use crate::state::{StateReader, StateWriter};
use crate::types::Types;

impl StreamOut {
    pub(crate) fn save(&self, out: &mut StateWriter) {
        out.number(self.base);
        out.length(self.queue.len());
        for pending in &self.queue {
            match pending.state {
                State::Waiting => out.byte(0),
                State::Flying { packet } => {
                    out.byte(1);
                    out.number(packet);
                }
                State::Acked => out.byte(2),
            }
            out.bits(&pending.bits);
        }
    }

    /// Makes an empty stream what a saved one was.
    pub(crate) fn restore(&mut self, from: &mut StateReader<'_>) -> Result<(), Malformed> {
        self.base = from.number()?;
        let queue: VecDeque<_> = from.list(|from| {
            let state = match from.byte()? {
                0 => State::Waiting,
                1 => State::Flying {
                    packet: from.number()?,
                },
                2 => State::Acked,
                _ => return Err(from.malformed("a state of a message that nobody knows")),
            };
            let bits = from.bits()?;
            Ok(Pending { bits, state })
        })?;
        self.queue = queue;
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
    pub(crate) fn save(&self, types: &Types, out: &mut StateWriter) {
        out.number(self.next);
        out.length(self.early.len());
        for (&place, message) in &self.early {
            out.number(place);
            out.message(message, types);
        }
        out.flag(self.joining.is_some());
        if let Some(joining) = &self.joining {
            out.byte(joining.index);
            out.byte(joining.total);
            out.bytes(&joining.data);
        }
    }

    pub(crate) fn restore(
        types: &Types,
        from: &mut StateReader<'_>,
    ) -> Result<StreamIn, Malformed> {
        let next = from.number()?;
        let early: BTreeMap<_, _> = from.list(|from| Ok((from.number()?, from.message(types)?)))?;
        let mut joining = None;
        if from.flag()? {
            let (index, total) = (from.byte()?, from.byte()?);
            if index >= total {
                return Err(from.malformed("a piece behind the last"));
            }
            let data = from.bytes()?.to_vec();
            joining = Some(Joining { index, total, data });
        }
        Ok(StreamIn {
            next,
            early,
            joining,
        })
    }

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
