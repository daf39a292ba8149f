//! The messages of packets, numbered in their order.

use std::io;

use netreel_table::{Column, List, Misfit, Putting, Taking};

use crate::session::index::plain::{Indexed, put_plain, take_plain};

/// The numbers of the messages of packets.
#[derive(Clone, Default)]
pub(crate) struct Numbers {
    /// For each packet the number of its first message.
    pub first: Column,
    /// How many messages the packets have.
    pub messages: u32,
    /// The packets that do not fit the wire, in order.
    pub unfit: List<u32>,
    /// The messages that are fragments, in order.
    pub fragments: Column,
}

impl Indexed for Numbers {
    fn put(&self, to: &mut Putting<'_>) -> io::Result<()> {
        let Numbers {
            first,
            messages,
            unfit,
            fragments,
        } = self;
        let unfit: Vec<u32> = unfit.iter().copied().collect();
        put_plain(&(messages, unfit), to)?;
        first.put(to)?;
        fragments.put(to)
    }

    fn take(from: &mut Taking) -> Result<Numbers, Misfit> {
        let (messages, unfit): (u32, Vec<u32>) = take_plain(from)?;
        Ok(Numbers {
            messages,
            unfit: unfit.into_iter().collect(),
            first: from.column()?,
            fragments: from.column()?,
        })
    }
}
