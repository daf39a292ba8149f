//! Whose packets come from an endpoint that no socket is bound to: payloads that one reel alone sent
//! tell.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use netreel_reel::Endpoint;

use super::canonical::{canonical, peers};
use crate::session::read::ends::{Ends, RawEnd};
use crate::session::read::scan::Scan;

/// How many payloads of a foreign endpoint are looked at, in each reel, to see whose they are: so many, or
/// fewer where thousands of endpoints share what may be looked at of a reel.
const LOOKED_AT: std::ops::RangeInclusive<usize> = 64..=512;
const LOOKED_AT_ALL: usize = 1 << 22;
/// How many of them tell whose they are, where a reel has not all that it might have sent.
pub(super) const SENT_MIN: usize = 6;
/// How many more in a row that are one's than are not tell it, too.
const IN_ROW_MIN: usize = 4;
/// Shorter payloads are too alike to tell whose they are.
const TELLING_LENGTH: u32 = 8;

/// What one reel received from a foreign endpoint: of some payloads that differ and that no two reels
/// sent, in the order in which they came first, the reel that sent it, to another endpoint than that.
pub(super) struct Heard {
    pub reel: usize,
    pub senders: Vec<Option<usize>>,
    /// How many of them the reel itself sent, to that endpoint or to one of its own sockets.
    pub own: usize,
}

/// What all reels received from a foreign endpoint.
pub(super) type Votes = Vec<Heard>;

/// Some payloads of a row of packets, each once, evenly over all of it: of every packet at first, and
/// of the rest of every second one each time that there are too many.
#[derive(Default)]
struct Sample {
    kept: Vec<(u64, u32)>,
    known: HashSet<(u64, u32)>,
    stride: usize,
    passed: usize,
}

impl Sample {
    /// Takes the next payload; fewer than `looked_at` are kept.
    fn add(&mut self, payload: (u64, u32), looked_at: usize) {
        let stride = self.stride.max(1);
        if self.passed.is_multiple_of(stride) && self.known.insert(payload) {
            self.kept.push(payload);
        }
        self.passed += 1;
        if self.kept.len() >= looked_at {
            let mut place = 0;
            self.kept.retain(|payload| {
                place += 1;
                let stays = place % 2 == 1;
                if !stays {
                    self.known.remove(payload);
                }
                stays
            });
            self.stride = stride * 2;
        }
    }
}

/// Which recorded nodes sent, byte for byte, what came from each foreign endpoint. Some packets of
/// each endpoint are looked at, so that what is kept does not grow with the reels.
/// Who is known to a reel by an endpoint of its own (`direct`) sends it nothing from another.
pub(super) fn senders(
    scans: &[Scan],
    foreign: &BTreeSet<Endpoint>,
    direct: &BTreeSet<(usize, usize)>,
) -> BTreeMap<Endpoint, Votes> {
    let mut looked_at: BTreeMap<(Endpoint, usize), Sample> = BTreeMap::new();
    let each = LOOKED_AT_ALL / foreign.len().max(1);
    let each = each.clamp(*LOOKED_AT.start(), *LOOKED_AT.end());
    for (reel, scan) in scans.iter().enumerate() {
        let peers = foreign_peers(scan, foreign);
        if peers.iter().all(Option::is_none) {
            continue;
        }
        for receive in telling(&scan.receives) {
            if let Some(peer) = peers.get(receive.connection as usize).copied().flatten() {
                let sample = looked_at.entry((peer, reel)).or_default();
                sample.add((receive.hash, receive.length), each);
            }
        }
    }
    let all = looked_at.values().flat_map(|sample| &sample.kept);
    let mut senders: HashMap<(u64, u32), Sender> =
        all.map(|&payload| (payload, Sender::Nobody)).collect();
    let is_asked = !senders.is_empty();
    for (reel, scan) in scans.iter().enumerate().filter(|_| is_asked) {
        for send in telling(&scan.sends) {
            if let Some(sender) = senders.get_mut(&(send.hash, send.length)) {
                let to = scan.peer(&send).map(canonical);
                *sender = match *sender {
                    Sender::Nobody => Sender::Only(reel, to),
                    Sender::Only(known, before) if known == reel => {
                        Sender::Only(reel, before.filter(|_| before == to))
                    }
                    _ => Sender::Several,
                };
            }
        }
    }
    let mut votes: BTreeMap<Endpoint, Votes> = BTreeMap::new();
    for ((endpoint, reel), sample) in looked_at {
        let own: HashSet<Endpoint> = scans[reel].bound().copied().map(canonical).collect();
        let mut heard = Heard {
            reel,
            senders: Vec::new(),
            own: 0,
        };
        for payload in &sample.kept {
            let sender = senders.get(payload).copied().unwrap_or(Sender::Nobody);
            if let Sender::Only(sender, Some(to)) = sender {
                let is_own = to == endpoint || own.contains(&to);
                heard.own += usize::from(sender == reel && is_own);
            }
            let sender = match sender {
                Sender::Only(sender, _) if direct.contains(&(reel, sender)) => continue,
                Sender::Only(sender, to) => Some((sender, to == Some(endpoint))),
                Sender::Several => continue,
                Sender::Nobody => None,
            };
            // What was sent there and came from there was passed on.
            let sender = sender.filter(|&(sender, there)| sender != reel && !there);
            heard.senders.push(sender.map(|(sender, _)| sender));
        }
        votes.entry(endpoint).or_default().push(heard);
    }
    votes
}

/// Which reels have the send of a payload.
#[derive(Clone, Copy)]
enum Sender {
    Nobody,
    /// The one that has, and where it sent it, if that is one endpoint.
    Only(usize, Option<Endpoint>),
    Several,
}

/// For each connection of a reel its far end, where that is foreign.
fn foreign_peers(scan: &Scan, foreign: &BTreeSet<Endpoint>) -> Vec<Option<Endpoint>> {
    let own = peers(scan).map(|peer| foreign.contains(&peer).then_some(peer));
    own.collect()
}

/// The one that sent most of what came from an endpoint.
pub(super) fn translated(votes: &[Heard]) -> Option<usize> {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for &reel in votes.iter().flat_map(|heard| &heard.senders).flatten() {
        *counts.entry(reel).or_insert(0) += 1;
    }
    let (&reel, _) = counts.iter().max_by_key(|&(_, count)| count)?;
    most(votes, &[reel]).pop()
}

/// Those of `reels` who sent something of an endpoint, if together they sent most of it: of all that
/// came from there, or of much in a row. Their reels may be parts, and what is sent again and again
/// may come long after they end.
pub(super) fn most(votes: &[Heard], reels: &[usize]) -> Vec<usize> {
    let (mut sent, mut between, mut all, mut in_row) = (0, 0, 0, 0);
    let mut who = BTreeSet::new();
    for Heard { senders, .. } in votes {
        let is_one = |sender: &Option<usize>| sender.is_some_and(|it| reels.contains(&it));
        all += senders.len();
        let (Some(first), Some(last)) = (
            senders.iter().position(is_one),
            senders.iter().rposition(is_one),
        ) else {
            continue;
        };
        between += last + 1 - first;
        sent += senders.iter().filter(|it| is_one(it)).count();
        who.extend(senders.iter().flatten().filter(|it| reels.contains(it)));
        // This many more are theirs than are not, at the most of any row (Kadane).
        let (mut more, mut most) = (0usize, 0usize);
        for sender in senders {
            more = if is_one(sender) {
                more + 1
            } else {
                more.saturating_sub(1)
            };
            most = most.max(more);
        }
        in_row = in_row.max(most);
    }
    let is_between = sent >= SENT_MIN && sent * 2 > between;
    if sent * 2 > all || is_between || in_row >= IN_ROW_MIN {
        who.into_iter().collect()
    } else {
        Vec::new()
    }
}

/// Of those who may have an endpoint the only one who sent anything that came from there, if it was
/// several packets.
pub(super) fn only_sender(heard: &Heard, candidates: &[usize]) -> Option<usize> {
    let senders = heard.senders.iter().flatten();
    let mut those = senders.filter(|sender| candidates.contains(sender));
    let first = *those.next()?;
    let mut count = 1;
    let is_alone = those.all(|&sender| {
        count += 1;
        sender == first
    });
    (is_alone && count > 1).then_some(first)
}

fn telling(ends: &Ends) -> impl Iterator<Item = RawEnd> + '_ {
    ends.iter().filter(|end| end.length >= TELLING_LENGTH)
}
