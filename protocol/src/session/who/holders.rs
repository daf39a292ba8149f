//! Whose a packet is where several recorded nodes hold one endpoint at the same time: processes
//! that have a socket from before a fork, or that bound theirs to one port.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use netreel_reel::{Endpoint, Header};

use super::cast::{Cast, boot, utc_ns};
use crate::session::read::ends::{EndAt, Side};
use crate::session::read::scan::Scan;

/// A member by itself, with port 0; or one of those who hold a port together, with that port.
type Party = (usize, u16);

/// By a member and a port, the one who stands for all that hold it together.
type Shared = BTreeMap<Party, Party>;

/// Who sent each packet that came from such an endpoint or went there, and whom it reached.
///
/// The one that recorded the other end: of equal payloads between the same two, the first receipt
/// is of the first send. Where nobody did, the one that last or next used the endpoint.
#[derive(Default)]
pub(crate) struct Holders {
    ends: HashMap<EndAt, (usize, usize)>,
}

/// One end of a packet under way.
struct Crossed<'a> {
    place: EndAt,
    /// On the calendar.
    at: i128,
    /// The clock that it was told by.
    boot: &'a str,
}

/// Equal payloads between two parties, of each side.
type Exchange<'a> = [Vec<Crossed<'a>>; 3];

/// When which member used an endpoint.
type Uses = BTreeMap<Party, Vec<(i128, usize)>>;

impl Holders {
    pub fn new(cast: &Cast, headers: &[&Header], scans: &[Scan]) -> Holders {
        let shared = shared(cast, headers, scans);
        let mut holders = Holders::default();
        if shared.is_empty() {
            return holders;
        }
        let mut exchanges: BTreeMap<(Party, Party, u64, u32), Exchange<'_>> = BTreeMap::new();
        let mut uses = Uses::new();
        let party = |member: usize, port: u16| {
            let together = shared.get(&(member, port));
            together.copied().unwrap_or((member, 0))
        };
        for (reel, (scan, header)) in scans.iter().zip(headers).enumerate() {
            for side in Side::ALL {
                for (place, raw) in scan.side(side).iter().enumerate() {
                    let at = utc_ns(header, raw.time);
                    let behind = |endpoint: Endpoint| {
                        Some(party(cast.member_at(endpoint, at)?, endpoint.port()))
                    };
                    let peer = scan.peer(&raw);
                    let own = party(reel, scan.port(&raw));
                    let (from, to) = match side {
                        Side::Send => (Some(own), peer.and_then(behind)),
                        Side::Receive => (peer.and_then(behind), Some(own)),
                        Side::Seen => (scan.source(&raw).and_then(behind), peer.and_then(behind)),
                    };
                    let (Some(from), Some(to)) = (from, to) else {
                        continue;
                    };
                    if from.1 == 0 && to.1 == 0 {
                        continue;
                    }
                    if side != Side::Seen && own.1 != 0 {
                        uses.entry(own).or_default().push((at, reel));
                    }
                    let exchange = exchanges.entry((from, to, raw.hash, raw.length));
                    exchange.or_default()[side as usize].push(Crossed {
                        place: (reel, side, place),
                        at,
                        boot: &header.clock.boot_id,
                    });
                }
            }
        }
        for used in uses.values_mut() {
            used.sort_unstable();
        }
        for ((from, to, ..), exchange) in exchanges {
            holders.settle((from, to), exchange, &uses);
        }
        holders
    }

    /// Whether nobody shares an endpoint.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Who sent the packet of an end, and whom it reached; `None` where nobody shares an endpoint.
    pub fn of(&self, reel: usize, side: Side, place: usize) -> Option<(usize, usize)> {
        self.ends.get(&(reel, side, place)).copied()
    }

    fn settle(&mut self, (from, to): (Party, Party), exchange: Exchange<'_>, uses: &Uses) {
        let [mut sends, mut receives, seen] = exchange;
        for side in [&mut sends, &mut receives] {
            side.sort_unstable_by_key(|each| (each.at, each.place));
        }
        let mut reached = vec![None; sends.len()];
        let mut known = Vec::new();
        let mut taken = 0;
        for receive in &receives {
            let next = sends.get(taken);
            let possible = next.filter(|send| {
                let one_clock = !send.boot.is_empty() && send.boot == receive.boot;
                taken == 0 || !one_clock || send.at <= receive.at
            });
            if possible.is_some() {
                reached[taken] = Some(receive.place.0);
                taken += 1;
            }
            // What is left is a further receipt of the last one.
            let sent = taken.checked_sub(1).and_then(|last| sends.get(last));
            let sender = match sent {
                Some(sent) => sent.place.0,
                None => user(from, receive.at, uses),
            };
            known.push((receive, (sender, receive.place.0)));
        }
        for (send, receiver) in sends.iter().zip(reached) {
            let receiver = receiver.unwrap_or_else(|| user(to, send.at, uses));
            known.push((send, (send.place.0, receiver)));
        }
        known.sort_unstable_by_key(|(end, _)| (end.at, end.place));
        for seen in &seen {
            let ends = match nearest(&known, |(end, _)| end.at, seen.at) {
                Some(&(_, ends)) => ends,
                None => (user(from, seen.at, uses), user(to, seen.at, uses)),
            };
            self.ends.insert(seen.place, ends);
        }
        let known = known.into_iter().map(|(end, ends)| (end.place, ends));
        self.ends.extend(known);
    }
}

/// Of those who hold an endpoint together, the one that used it nearest to a moment.
fn user(party: Party, at: i128, uses: &Uses) -> usize {
    let used = uses.get(&party).map_or(&[][..], Vec::as_slice);
    nearest(used, |&(then, _)| then, at).map_or(party.0, |&(_, member)| member)
}

/// Of what is in the order of time, the one nearest to a moment.
fn nearest<T>(ordered: &[T], time: impl Fn(&T) -> i128, at: i128) -> Option<&T> {
    let after = ordered.partition_point(|each| time(each) <= at);
    let around = after.checked_sub(1).into_iter().chain([after]);
    around
        .filter_map(|place| ordered.get(place))
        .min_by_key(|each| time(each).abs_diff(at))
}

/// The recorded nodes that hold an endpoint at the same time: their reels overlap, and may be of one
/// machine. On two machines it is a private address in two networks.
fn shared(cast: &Cast, headers: &[&Header], scans: &[Scan]) -> Shared {
    let boot = |reel: usize| boot(headers, reel);
    let mut first = Shared::new();
    for (endpoint, owners) in cast.owners().filter(|(_, owners)| owners.len() > 1) {
        let port = endpoint.port();
        let holds = |reel: usize| {
            let mut sockets = scans.get(reel).into_iter().flat_map(Scan::bound);
            sockets.any(|local| local.port() == port)
        };
        let holding = owners.iter().copied().filter(|&owner| holds(owner));
        let is_told = holding.clone().all(|owner| !boot(owner).is_empty());
        let mut spans: Vec<(&str, i128, i128, usize)> = holding
            .filter_map(|owner| {
                let (start, end) = cast.members.get(owner)?.utc?;
                let machine = if is_told { boot(owner) } else { "" };
                Some((machine, start, end, owner))
            })
            .collect();
        spans.sort_unstable();
        let mut before: Option<(&str, i128, usize)> = None;
        for (machine, start, end, owner) in spans {
            match before.filter(|&(known, until, _)| known == machine && start <= until) {
                Some((_, until, other)) => {
                    join(&mut first, (other, port), (owner, port));
                    before = Some((machine, until.max(end), owner));
                }
                None => before = Some((machine, end, owner)),
            }
        }
    }
    let members: BTreeSet<Party> = first.keys().copied().collect();
    let root = |member: Party| (member, root(&first, member));
    members.into_iter().map(root).collect()
}

fn root(first: &Shared, mut member: Party) -> Party {
    while let Some(&before) = first.get(&member).filter(|&&before| before != member) {
        member = before;
    }
    member
}

/// Makes two hold a port together, and with them all who hold it with either.
fn join(first: &mut Shared, one: Party, other: Party) {
    let (one, other) = (root(first, one), root(first, other));
    first.insert(one.max(other), one.min(other));
    first.insert(one.min(other), one.min(other));
}
