//! The bytes of messages that travelled in fragments, read again from the reels.

use std::collections::BTreeMap;

use netreel_reel::EventNumber;

use crate::session::read::ends::Side;
use crate::session::read::payloads;
use crate::session::{MessageId, Session, parallel};

/// A reel's fragments are taken in stretches of at least so many, which begin with whole messages.
const FRAGMENTS: usize = 1 << 12;

/// A fragment of one of several messages.
struct LooseFragment {
    /// Where its packet is told: the side of the track, and the place there.
    side: Side,
    place: usize,
    message: MessageId,
    whole: usize,
    /// Its place in the whole.
    nth: usize,
}

/// What was read of a message so far.
#[derive(Default)]
struct Whole {
    parts: Vec<Vec<u8>>,
    read: usize,
}

impl Session {
    /// The messages that are fragments, in order.
    pub fn fragments(&self) -> impl Iterator<Item = MessageId> + '_ {
        self.told().fragments()
    }

    /// The bytes that a fragment carries; `None` also where the reel can no longer be read.
    pub fn fragment(&self, message: MessageId) -> Option<Vec<u8>> {
        let payload = self.payload(self.carrier(message)?)?;
        self.carried(message, &payload)
    }

    fn carried(&self, message: MessageId, payload: &[u8]) -> Option<Vec<u8>> {
        let wire = self.wire.as_ref()?;
        self.told().fragment(&self.rows, wire, message, payload)
    }

    /// What `make` makes of the bytes of each of some messages, whose fragments are given. Reels are read
    /// once, stretch by stretch, several at once, and no more is in memory than what is half read.
    pub(crate) fn wholes<R: Send>(
        &self,
        wholes: &[Vec<MessageId>],
        make: impl Fn(usize, &[u8]) -> R + Sync,
    ) -> Vec<R> {
        // What is told by several reels is read part by part.
        let mut apart = Vec::new();
        let mut tracks: BTreeMap<usize, Vec<Vec<LooseFragment>>> = BTreeMap::new();
        let mut in_order: Vec<(usize, &Vec<MessageId>)> = wholes.iter().enumerate().collect();
        in_order.sort_by_key(|(_, fragments)| fragments.first());
        for (whole, fragments) in in_order {
            let parts = fragments.iter().enumerate().filter_map(|(nth, &message)| {
                let (track, side, place) = self.rows.told(self.carrier(message)?)?;
                let part = LooseFragment {
                    side,
                    place,
                    message,
                    whole,
                    nth,
                };
                Some((track, part))
            });
            let (of, parts): (Vec<usize>, Vec<LooseFragment>) = parts.unzip();
            match of.as_slice() {
                [track, rest @ ..] if rest.iter().all(|it| it == track) => {
                    let known = tracks.entry(*track).or_default();
                    match known.last_mut().filter(|it| it.len() < FRAGMENTS) {
                        Some(stretch) => stretch.extend(parts),
                        None => known.push(parts),
                    }
                }
                _ => apart.push(whole),
            }
        }
        let count = |whole: usize| wholes.get(whole).map_or(0, Vec::len);
        let jobs = tracks
            .into_iter()
            .flat_map(|(track, all)| all.into_iter().map(move |parts| (track, parts)));
        let made = parallel::map(jobs.collect(), self.workers(), |(track, parts)| {
            self.wholes_of(track, parts, &count, &make)
        });
        let apart = apart.into_iter().map(|whole| {
            let fragments = wholes.get(whole).map_or(&[][..], Vec::as_slice);
            let parts = fragments.iter().filter_map(|&each| self.fragment(each));
            (whole, make(whole, &parts.flatten().collect::<Vec<u8>>()))
        });
        let mut made: BTreeMap<usize, R> = made.into_iter().flatten().chain(apart).collect();
        let all = 0..wholes.len();
        all.map(|whole| made.remove(&whole).unwrap_or_else(|| make(whole, &[])))
            .collect()
    }

    /// The same of those that one reel tells.
    fn wholes_of<R>(
        &self,
        track: usize,
        mut parts: Vec<LooseFragment>,
        count: &impl Fn(usize) -> usize,
        make: &impl Fn(usize, &[u8]) -> R,
    ) -> Vec<(usize, R)> {
        let Some(known) = self.rows.tracks.get(track) else {
            return Vec::new();
        };
        let number = |part: &LooseFragment| known.side(part.side).number(part.place);
        parts.sort_by_cached_key(number);
        let numbers: Vec<EventNumber> = parts.iter().map(number).collect();
        let mut made = Vec::new();
        let mut begun: BTreeMap<usize, Whole> = BTreeMap::new();
        let mut show = |at: usize, payload: &[u8]| {
            let Some(part) = parts.get(at) else { return };
            let own = begun.entry(part.whole).or_default();
            own.parts.resize_with(count(part.whole), Vec::new);
            own.read += 1;
            if let Some(slot) = own.parts.get_mut(part.nth) {
                *slot = self.carried(part.message, payload).unwrap_or_default();
            }
            if own.read == own.parts.len()
                && let Some(own) = begun.remove(&part.whole)
            {
                made.push((part.whole, make(part.whole, &own.parts.concat())));
            }
        };
        if let Some(reel) = &known.reel {
            payloads::read(reel, &numbers, &mut show);
        }
        // A reel that can no longer be read.
        let left = begun.into_iter();
        made.extend(left.map(|(whole, own)| (whole, make(whole, &own.parts.concat()))));
        made
    }
}
