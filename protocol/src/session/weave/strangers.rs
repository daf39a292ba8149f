//! Packets that may be others', because nobody knows who is behind an endpoint.
//!
//! Behind a router that gives ports anew, a recorded node is a stranger to those who hear it, until
//! payloads tell who it is. Where these are too few, or all alike, what it sent seems to have reached
//! nobody, and what it received to have come from nowhere, or to be a copy of what came before.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::end::End;
use super::places::EndId;
use super::woven::Woven;
use crate::session::read::ends::Side;
use crate::session::who::cast::{Cast, is_group};

/// Who may be behind the endpoints of nodes without a reel.
#[derive(Default)]
pub(crate) struct Strangers {
    /// Of each member that is one its address.
    address: Vec<Option<IpAddr>>,
    /// Whether any is.
    are_any: bool,
    /// The addresses of all members.
    own: Vec<BTreeSet<IpAddr>>,
    /// The reels with the members that they know by an endpoint.
    known: BTreeSet<(u16, u16)>,
}

/// By a member, and another one, a time.
type Times = BTreeMap<(u16, u16), i64>;

impl Strangers {
    pub fn new(cast: &Cast, known: BTreeSet<(u16, u16)>) -> Strangers {
        let members = cast.members.iter();
        let address = members.clone().map(|member| {
            let of_nobody = member.reel.is_none() && !member.observer;
            let endpoint = member.endpoints.first().filter(|_| of_nobody)?;
            (!is_group(*endpoint)).then_some(endpoint.ip().to_canonical())
        });
        let own = members.map(|member| {
            let its = member.endpoints.iter().map(|end| end.ip().to_canonical());
            its.filter(|ip| !ip.is_loopback()).collect()
        });
        let address: Vec<Option<IpAddr>> = address.collect();
        Strangers {
            are_any: address.iter().any(Option::is_some),
            address,
            own: own.collect(),
            known,
        }
    }

    /// Whether somebody may be behind any endpoint.
    pub fn are_any(&self) -> bool {
        self.are_any
    }

    /// Whether a member is one of them.
    pub fn is_one(&self, member: u16) -> bool {
        self.address(member).is_some()
    }

    fn address(&self, member: u16) -> Option<IpAddr> {
        self.address.get(usize::from(member)).copied().flatten()
    }

    /// Whether a stranger that a node hears may be another node that it knows, or does not.
    fn may_be(&self, stranger: u16, (node, by): (u16, u16)) -> bool {
        let address = self.address(stranger);
        let own = self.own.get(usize::from(node));
        let is_there = address.zip(own).is_some_and(|(ip, own)| own.contains(&ip));
        is_there || !self.known.contains(&(by, node))
    }

    /// Of the ends of one payload those whose packets may be of others: receipts of what may have been
    /// sent to a stranger, and sends that may have come from one.
    pub fn suspects(
        &self,
        ends: &[End],
        time: impl Fn(&End) -> i64,
        tolerance_ns: impl Fn(u16, u16) -> i64,
        mut suspect: impl FnMut(&End),
    ) {
        // Only what is between two that are known can be suspected.
        let is_known = |end: &End| !self.is_one(end.from) && !self.is_one(end.to);
        if ends.len() < 2 || !self.are_any || !ends.iter().any(is_known) {
            return;
        }
        let (mut sent, mut heard) = (Times::new(), Times::new());
        for end in ends {
            let (is_from, is_to) = (self.address(end.from), self.address(end.to));
            if end.side == Side::Send && is_to.is_some() {
                let at = time(end);
                let first = sent.entry((end.from, end.to)).or_insert(at);
                *first = at.min(*first);
            } else if end.side == Side::Receive && is_from.is_some() {
                let at = time(end);
                let last = heard.entry((end.to, end.from)).or_insert(at);
                *last = at.max(*last);
            }
        }
        if sent.is_empty() && heard.is_empty() {
            return;
        }
        // For each pair of nodes that know each other the time from which, or until which, it may be.
        let mut limits: BTreeMap<(u16, u16, Side), Option<i64>> = BTreeMap::new();
        let of = |times: &Times, by: u16, node: u16| -> Vec<i64> {
            let its = times.range((by, 0)..=(by, u16::MAX));
            let those = its.filter(|((_, stranger), _)| self.may_be(*stranger, (node, by)));
            those.map(|(_, at)| *at).collect()
        };
        for end in ends.iter().filter(|end| is_known(end)) {
            let limit = limits.entry((end.from, end.to, end.side));
            let limit = *limit.or_insert_with(|| match end.side {
                Side::Receive => of(&sent, end.from, end.to).into_iter().min(),
                Side::Send => of(&heard, end.to, end.from).into_iter().max(),
                Side::Seen => None,
            });
            let is_suspect = limit.is_some_and(|limit| {
                let (at, slack_ns) = (time(end), tolerance_ns(end.from, end.to));
                match end.side {
                    Side::Receive => at.saturating_add(slack_ns) >= limit,
                    Side::Send | Side::Seen => at.saturating_sub(slack_ns) <= limit,
                }
            });
            if is_suspect {
                suspect(end);
            }
        }
    }
}

/// Marks the packets of suspects. `is_receipt` tells which ends are receipts; `suspects` are in order.
pub(super) fn mark(woven: &mut Woven, suspects: &[EndId], is_receipt: impl Fn(EndId) -> bool) {
    if suspects.is_empty() {
        return;
    }
    let is_suspect = |end: &EndId| suspects.binary_search(end).is_ok();
    for &end in suspects {
        let partner = woven.partners.get(end.0 as usize).copied();
        match (is_receipt(end), partner) {
            (_, None | Some(Woven::TAKEN)) => {}
            (true, Some(Woven::ALONE)) => woven.doubtful.push(end),
            (true, Some(send)) => woven.doubtful.push(EndId(send)),
            (false, Some(Woven::ALONE)) => woven.elsewhere.push(end),
            (false, Some(_)) => {}
        }
    }
    let (mut doubtful, mut elsewhere) = (Vec::new(), Vec::new());
    for odd in &woven.odd {
        let is_lost = odd.received.is_empty() && odd.sent.as_ref().is_some_and(is_suspect);
        if odd.received.iter().any(is_suspect) {
            doubtful.extend(odd.source());
        } else if is_lost {
            elsewhere.extend(odd.source());
        }
    }
    woven.doubtful.append(&mut doubtful);
    woven.elsewhere.append(&mut elsewhere);
    woven.elsewhere.sort_unstable();
    woven.doubtful.extend_from_slice(&woven.elsewhere);
}
