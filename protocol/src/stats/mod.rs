//! Where the bandwidth goes: what each link carried and how, and what the bytes were.
//!
//! Bytes are those of payload, as they were sent; what the network puts around them is not counted.
//! A packet's bits are its messages', and what is left is a row of its own, so that the rows of a
//! table sum up to the bytes on the wire.

mod ledger;
mod links;
mod read;

pub use ledger::{Ledger, Row, RowOf};
pub use links::{Bursts, Link, LinkStats, Spread};

use std::collections::BTreeMap;

use netreel_system::Cancel;

use crate::history::{History, Punctuality};
use crate::session::{PacketId, Session, SessionTime, parallel};
use crate::why::Resends;
use ledger::Tables;
use links::Counting;
use read::{Known, Read};

/// What a session's packets, or some of them, were.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// All links together. Delays and bursts are those of links.
    pub all: LinkStats,
    /// Each link that had packets.
    pub links: BTreeMap<Link, LinkStats>,
    /// By message kind.
    pub kinds: Ledger,
    /// By object type.
    pub types: Ledger,
    /// By object.
    pub objects: Ledger,
    /// By RPC.
    pub rpcs: Ledger,
    /// Whether inputs came in time, of each node and each other player; of all packets alone.
    pub inputs: Vec<Punctuality>,
}

/// A stretch of time, and what was sent in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Bucket {
    /// From when.
    pub from: SessionTime,
    /// Until when, this moment not included.
    pub until: SessionTime,
    /// All links together.
    pub all: LinkStats,
    /// Each link that had packets then.
    pub links: BTreeMap<Link, LinkStats>,
}

impl Stats {
    /// Counts packets, which are in order; with `all`, they are all of the session.
    pub fn new(session: &Session, history: &History, packets: &[PacketId]) -> Stats {
        let resends = Resends::new(session, history);
        let counted = Stats::count(
            session,
            history,
            packets,
            &Cancel::default(),
            resends.as_ref(),
        );
        counted.unwrap_or_default()
    }

    /// The same as long as somebody wants it, which is asked now and then; `None` where nobody does any
    /// more. What resends were for is counted of a [small](Session::is_small) session alone.
    pub fn while_wanted(
        session: &Session,
        history: &History,
        packets: &[PacketId],
        cancel: &Cancel,
    ) -> Option<Stats> {
        let resends = session
            .is_small()
            .then(|| Resends::new(session, history))
            .flatten();
        Stats::count(session, history, packets, cancel, resends.as_ref())
    }

    fn count(
        session: &Session,
        history: &History,
        packets: &[PacketId],
        cancel: &Cancel,
        resends: Option<&Resends<'_>>,
    ) -> Option<Stats> {
        let known = (session, history, resends);
        let workers = session.workers();
        let share = packets.len().div_ceil(workers).max(LOOK);
        let shares = parallel::map(packets.chunks(share).collect(), workers, |packets| {
            let mut counted = Counted::with_tables(session);
            for packets in packets.chunks(LOOK).take_while(|_| cancel.goes_on()) {
                counted.take(known, packets);
            }
            counted
        });
        let mut counted = Counted::with_tables(session);
        shares.into_iter().for_each(|share| counted.append(share));
        let tables = counted.tables.take().unwrap_or_default();
        let [kinds, types, objects, rpcs] = tables.ledgers(session);
        let (all, links) = counted.finish(session);
        let mut stats = Stats {
            all,
            links,
            kinds,
            types,
            objects,
            rpcs,
            inputs: Vec::new(),
        };
        if packets.len() == session.packet_count() {
            for (link, traffic) in session.traffic() {
                if let Some(link) = stats.links.get_mut(link) {
                    link.reordered = Some(traffic.reordered);
                }
            }
            let reordered = session.traffic().values().map(|it| it.reordered);
            stats.all.reordered = Some(reordered.sum());
            stats.inputs = history.inputs.clone();
        }
        cancel.goes_on().then_some(stats)
    }
}

/// Whether somebody wants the answer is asked before this many packets.
const LOOK: usize = 4096;

/// The same of the links alone, by stretches of this many ns, from the first packet's on. Stretches in
/// which nothing was sent are left out.
pub fn over(
    session: &Session,
    history: &History,
    packets: &[PacketId],
    stretch_ns: i64,
) -> Vec<Bucket> {
    let stretch_ns = stretch_ns.max(1);
    let start = session.span.start;
    let bucket = |id: PacketId| {
        let first = session.packet(id).and_then(|packet| packet.first());
        let since = first.map_or(0, |first| first.time.since(start));
        since.div_euclid(stretch_ns)
    };
    let mut buckets: BTreeMap<i64, Vec<PacketId>> = BTreeMap::new();
    for &id in packets {
        buckets.entry(bucket(id)).or_default().push(id);
    }
    let resends = Resends::new(session, history);
    let told = buckets.into_iter().map(|(number, packets)| {
        let mut counted = Counted::default();
        counted.take((session, history, resends.as_ref()), &packets);
        let (all, links) = counted.finish(session);
        let from = start.0.saturating_add(number.saturating_mul(stretch_ns));
        Bucket {
            from: SessionTime(from),
            until: SessionTime(from.saturating_add(stretch_ns)),
            all,
            links,
        }
    });
    told.collect()
}

/// Packets as they are counted.
#[derive(Default)]
struct Counted {
    links: BTreeMap<Link, Counting>,
    /// What the bytes were, where it is asked.
    tables: Option<Tables>,
}

impl Counted {
    fn with_tables(session: &Session) -> Counted {
        Counted {
            tables: Some(Tables::new(session)),
            ..Counted::default()
        }
    }

    /// Takes packets, which are in order.
    fn take(&mut self, known: Known<'_>, packets: &[PacketId]) {
        let (session, ..) = known;
        let mut messages = Vec::new();
        for &id in packets {
            let Some(packet) = session.packet(id) else {
                continue;
            };
            messages.clear();
            messages.extend(session.messages_of(id));
            let messages = &messages;
            let read = Read {
                id,
                packet,
                messages,
            };
            if let Some(link) = session.link(id) {
                self.links.entry(link).or_default().take(known, &read);
            }
            if let Some(tables) = &mut self.tables {
                tables.take(known, &read);
            }
        }
    }

    /// Adds packets that are behind these.
    fn append(&mut self, behind: Counted) {
        for (link, counting) in behind.links {
            self.links.entry(link).or_default().go_on(&counting);
        }
        if let (Some(tables), Some(more)) = (&mut self.tables, behind.tables) {
            tables.append(more);
        }
    }

    fn finish(self, session: &Session) -> (LinkStats, BTreeMap<Link, LinkStats>) {
        let mut all = Counting::default();
        let links: BTreeMap<Link, LinkStats> = self
            .links
            .into_iter()
            .map(|(link, counting)| {
                all.append(&counting);
                let clock_ns = links::clock_error_ns(session, link);
                (link, counting.finish(clock_ns))
            })
            .collect();
        let bounds = links.values().map(|link| link.clock_error_ns);
        let widest = bounds.reduce(|one, other| Some(one?.max(other?)));
        (all.finish(widest.flatten()), links)
    }
}
