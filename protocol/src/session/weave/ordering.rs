//! Packets, put in the order of their first events.

use std::sync::mpsc::sync_channel;

use super::filling::Filling;
use super::merge::{Merge, PacketSource, Stream, Tells};
use super::odd::Odd;
use super::order::{Key, Next, Order, Ordered, Row};
use super::places::EndId;
use super::woven::Woven;
use crate::session::SessionError;
use crate::session::clock::map::ClockMap;
use crate::session::read::ends::Side;

/// How many packets are handed on together. After this many it is asked whether somebody still wants them.
const BATCH: usize = 1 << 11;

/// Where fewer than one in this many of a side's ends tell packets, only these are looked at.
const SPARSE: usize = 8;

/// How many batches wait at most until they are taken.
const BATCHES: usize = 4;

impl Order<'_> {
    /// All packets, in order.
    ///
    /// # Errors
    /// There are more than ids can number; [`SessionError::GivenUp`] where nobody wants it any more.
    pub fn rows(&self, woven: Woven) -> Result<Ordered, SessionError> {
        let Woven {
            mut partners,
            odd,
            doubtful,
            elsewhere,
            ..
        } = woven;
        let tells = Tells::new(&partners);
        let merge = Merge::new(self.streams(&odd, &tells));
        let mut odd: Vec<Option<Odd>> = odd.into_iter().map(Some).collect();
        let mut filling = Filling::new(self, (doubtful, elsewhere));
        let mut take = |batch: Vec<(Key, PacketSource)>| {
            if !self.cancel.goes_on() {
                return Err(SessionError::GivenUp);
            }
            for (key, told) in batch {
                if let Some(next) = self.packet(told, &mut odd, &partners) {
                    filling.push(next, key, &mut partners)?;
                }
            }
            Ok(())
        };
        let mut batches = merge.batches(BATCH);
        match self.workers {
            0 | 1 => batches.try_for_each(&mut take)?,
            // One processor finds which packet is next, while another takes them.
            _ => std::thread::scope(|scope| {
                let (sender, receiver) = sync_channel(BATCHES);
                scope.spawn(move || batches.all(|batch| sender.send(batch).is_ok()));
                receiver.into_iter().try_for_each(&mut take)
            })?,
        }
        Ok(filling.finish(&partners))
    }

    /// The packet that something tells; one that is told apart is taken from `odd`.
    fn packet(
        &self,
        told: PacketSource,
        odd: &mut [Option<Odd>],
        partners: &[u32],
    ) -> Option<Next> {
        match told {
            PacketSource::End(told, (reel, side, place), link) => {
                let partner = partners.get(told.0 as usize).copied()?;
                Some(Next {
                    link,
                    told,
                    at: (usize::from(reel), side, place as usize),
                    receipt: (partner != Woven::ALONE).then_some(EndId(partner)),
                    odd: None,
                })
            }
            PacketSource::Odd(at) => {
                let own = odd.get_mut(at)?.take()?;
                let told = own.source()?;
                let first = own.received.first().copied();
                Some(Next {
                    link: self.link(own.from, own.to),
                    told,
                    at: self.places.find(told),
                    receipt: first.filter(|first| *first != told),
                    odd: Some(Box::new(own)),
                })
            }
        }
    }

    /// The ends that tell packets, in several rows that are in order each.
    fn streams<'s>(&'s self, odd: &[Odd], tells: &'s Tells) -> Vec<Stream<'s>> {
        let mut streams = Vec::new();
        for (reel, scan) in self.roads.scans.iter().enumerate() {
            for side in Side::ALL {
                let ends = scan.side(side);
                let clock = self.clock(reel);
                let time = |place: usize| clock.time(ends.time(place), || ends.number(place));
                let is_sorted = match &clock {
                    ClockMap::Shift(_) => ends.rhythm().is_sorted,
                    ClockMap::Stretches(_) => clock.times(ends).is_sorted(),
                };
                let row = |place: usize| (place, ends.row_at(place));
                let own = self.places.numbers(reel, side);
                let is_sparse = tells.count(own.clone()) < ends.len() / SPARSE;
                let rows: Box<dyn Iterator<Item = (usize, Row)> + Send> = match is_sorted {
                    // Of the receipts most often: the others are not looked at.
                    true if is_sparse => {
                        let telling = tells.those(own);
                        Box::new(telling.map(move |end| row(self.places.find(end).2)))
                    }
                    true => Box::new(ends.rows().enumerate()),
                    false => {
                        let mut places: Vec<u32> = (0..ends.len() as u32).collect();
                        places.sort_by_key(|&place| (time(place as usize), place));
                        let places = places.into_iter().map(|place| place as usize);
                        Box::new(places.map(row))
                    }
                };
                streams.push(self.stream_of_ends((reel, side), rows, tells));
            }
        }
        streams.push(self.stream_of_odd(odd));
        streams
    }

    /// Of ends of a side, in order, those that tell packets.
    fn stream_of_ends<'s>(
        &'s self,
        (reel, side): (usize, Side),
        rows: impl Iterator<Item = (usize, Row)> + Send + 's,
        tells: &'s Tells,
    ) -> Stream<'s> {
        Box::new(rows.filter_map(move |(place, row)| {
            let told = self.places.id(reel, side, place);
            let tells = tells.get(told);
            tells.then(|| self.source((reel, side), told, (place, row)))?
        }))
    }

    /// What an end of a side tells, by its place there, its event and its connection.
    fn source(
        &self,
        (reel, side): (usize, Side),
        told: EndId,
        (place, (number, time, way)): (usize, Row),
    ) -> Option<(Key, PacketSource)> {
        let (from, to) = self.roads.link(reel, side, place, way)?;
        let link = self.link(from, to);
        let key = self.key_of((reel, side), number, time, link);
        let at = (reel as u16, side, place as u32);
        Some((key, PacketSource::End(told, at, link)))
    }

    /// Packets that are told apart from the others, each with its place among these, in order.
    fn stream_of_odd<'s>(&self, odd: &[Odd]) -> Stream<'s> {
        let odd = odd.iter().enumerate();
        let mut keyed: Vec<(Key, usize)> = odd
            .filter_map(|(place, odd)| {
                Some((self.key(odd.source()?, self.link(odd.from, odd.to)), place))
            })
            .collect();
        keyed.sort_unstable();
        let told = keyed
            .into_iter()
            .map(|(key, at)| (key, PacketSource::Odd(at)));
        Box::new(told)
    }
}
