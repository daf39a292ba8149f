//! What the packets that arrived next to a receipt tell of it.
//!
//! A network seldom lets one packet overtake another, and two that arrive one after the other took
//! about as long. Where a receipt may be of several sends, the receipts next to it of which there is
//! no doubt tell which of these is likely.

use netreel_reel::{EventNumber, Time};

use super::places::{EndId, Places};
use super::woven::Woven;
use crate::session::parallel;
use crate::session::read::ends::Side;
use crate::session::read::scan::Scan;

/// A packet of which there is no doubt: when it was sent, and how long it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Certain {
    pub sent_ns: i64,
    pub took_ns: i64,
}

/// The packets without doubt that the same socket received from the same peer next to a receipt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Neighbours {
    pub before: Option<Certain>,
    pub after: Option<Certain>,
    /// How much later at most was something sent that arrived before another, of all packets of
    /// these two sockets of which there is no doubt.
    pub overtaken_ns: i64,
    /// How much less at most took one of these packets than the one before: by this much a packet
    /// might be overtaken, were there one to overtake it.
    pub sooner_ns: i64,
}

impl Neighbours {
    /// Whether a packet that was sent then would have overtaken one of them, or been overtaken, by
    /// more than others were.
    pub fn overtakes(&self, sent_ns: i64, tolerance_ns: i64) -> bool {
        let slack_ns = self.overtaken_ns.saturating_add(tolerance_ns);
        self.is_outside(sent_ns, slack_ns)
    }

    /// Whether no packet that was sent then can have arrived between them, by all that is known.
    pub fn exclude(&self, sent_ns: i64, tolerance_ns: i64) -> bool {
        let slack_ns = self.overtaken_ns.max(self.sooner_ns);
        self.is_outside(sent_ns, slack_ns.saturating_add(tolerance_ns))
    }

    fn is_outside(&self, sent_ns: i64, slack_ns: i64) -> bool {
        let late = |before: Certain| sent_ns < before.sent_ns.saturating_sub(slack_ns);
        let early = |after: Certain| sent_ns > after.sent_ns.saturating_add(slack_ns);
        self.before.is_some_and(late) || self.after.is_some_and(early)
    }

    /// How long they took: the shorter and the longer.
    pub fn took_ns(&self) -> Option<(i64, i64)> {
        let before = self.before.or(self.after)?.took_ns;
        let after = self.after.or(self.before)?.took_ns;
        Some((before.min(after), before.max(after)))
    }
}

/// The neighbours of receipts.
#[derive(Default)]
pub(crate) struct Known {
    /// In order.
    receipts: Vec<EndId>,
    neighbours: Vec<Neighbours>,
}

impl Known {
    /// Looks at all packets without doubt: `partners` has the send of their receipts. `at` places
    /// an event of a reel on the session's clock.
    pub fn new(
        mut receipts: Vec<EndId>,
        partners: &[u32],
        (scans, places): (&[Scan], &Places),
        at: impl Fn(usize, Time, &dyn Fn() -> EventNumber) -> i64 + Sync,
        workers: usize,
    ) -> Known {
        receipts.sort_unstable();
        receipts.dedup();
        // By the reels, and of each by their places there.
        receipts.sort_by_cached_key(|&each| places.find(each));
        let mut of_reels: Vec<(usize, Vec<usize>)> = Vec::new();
        for (reel, _, place) in receipts.iter().map(|&each| places.find(each)) {
            match of_reels.last_mut() {
                Some((last, own)) if *last == reel => own.push(place),
                _ => of_reels.push((reel, vec![place])),
            }
        }
        let found = parallel::map(of_reels, workers, |(reel, own)| {
            let sent = |place: usize| {
                let end = places.id(reel, Side::Receive, place);
                let partner = partners.get(end.0 as usize).copied()?;
                if partner == Woven::ALONE || partner == Woven::TAKEN {
                    return None;
                }
                let (from, side, place) = places.find(EndId(partner));
                let ends = scans[from].side(side);
                Some(at(from, ends.time(place), &|| ends.number(place)))
            };
            let received = |number: EventNumber, time: Time| at(reel, time, &|| number);
            of_reel(&scans[reel], &own, sent, received)
        })
        .into_iter()
        .flatten();
        let mut all: Vec<(EndId, Neighbours)> = receipts.into_iter().zip(found).collect();
        all.sort_unstable_by_key(|&(receipt, _)| receipt);
        let (receipts, neighbours) = all.into_iter().unzip();
        Known {
            receipts,
            neighbours,
        }
    }

    /// Those of a receipt.
    pub fn of(&self, receipt: EndId) -> Neighbours {
        let place = self.receipts.binary_search(&receipt);
        let known = place.ok().and_then(|place| self.neighbours.get(place));
        known.copied().unwrap_or_default()
    }
}

/// What is known of the packets of one connection so far.
#[derive(Clone, Default)]
struct Line {
    latest: Option<Certain>,
    newest_ns: Option<i64>,
    overtaken_ns: i64,
    sooner_ns: i64,
    /// The receipts since the latest packet without doubt, by their places among those asked for.
    waiting: Vec<usize>,
}

/// The neighbours of some receipts of one reel; `sent` tells when a receipt was sent of which there
/// is no doubt.
fn of_reel(
    scan: &Scan,
    asked: &[usize],
    sent: impl Fn(usize) -> Option<i64>,
    received: impl Fn(EventNumber, Time) -> i64,
) -> Vec<Neighbours> {
    let ends = scan.side(Side::Receive);
    let mut lines: Vec<Option<Line>> = vec![None; scan.connections.len()];
    for &place in asked {
        lines[ends.connection(place) as usize].get_or_insert_default();
    }
    let mut found = vec![Neighbours::default(); asked.len()];
    let mut next = 0;
    for (place, (number, time, (connection, _))) in ends.rows().enumerate() {
        let Some(line) = &mut lines[connection as usize] else {
            continue;
        };
        if asked.get(next) == Some(&place) {
            found[next].before = line.latest;
            line.waiting.push(next);
            next += 1;
        } else if let Some(sent_ns) = sent(place) {
            let took_ns = received(number, time).saturating_sub(sent_ns);
            let certain = Certain { sent_ns, took_ns };
            for waiting in line.waiting.drain(..) {
                found[waiting].after = Some(certain);
            }
            let newest_ns = line.newest_ns.unwrap_or(sent_ns);
            let overtaken_ns = newest_ns.saturating_sub(sent_ns);
            if let Some(before) = line.latest {
                let sooner_ns = before.took_ns.saturating_sub(took_ns);
                line.sooner_ns = line.sooner_ns.max(sooner_ns);
            }
            line.overtaken_ns = line.overtaken_ns.max(overtaken_ns);
            line.newest_ns = Some(newest_ns.max(sent_ns));
            line.latest = Some(certain);
        }
    }
    for (&place, own) in asked.iter().zip(&mut found) {
        if let Some(line) = &lines[ends.connection(place) as usize] {
            own.overtaken_ns = line.overtaken_ns;
            own.sooner_ns = line.sooner_ns;
        }
    }
    found
}
