//! Who heard what was sent to a multicast group or to a broadcast address.

use std::collections::{BTreeSet, HashMap};

use netreel_reel::{Endpoint, Header};

use super::cast::{Cast, is_group, utc_ns};
use super::holders::Holders;
use crate::session::read::connections::Connection;
use crate::session::read::ends::{RawEnd, Side};
use crate::session::read::scan::Scan;

/// The recorded nodes that heard what others sent to groups.
#[derive(Default)]
pub(crate) struct Listeners {
    /// By the sender, the port of the group, the hash and the length of the payload: the reels with
    /// such a receipt from there, in their order.
    heard: HashMap<(usize, u16, u64, u32), Vec<usize>>,
}

impl Listeners {
    /// Looks at what was received where anything was sent to a group, or was seen on its way there.
    pub fn new(cast: &Cast, headers: &[&Header], scans: &[Scan], holders: &Holders) -> Listeners {
        let mut ports = BTreeSet::new();
        for (scan, header) in scans.iter().zip(headers) {
            let mut groups = scan.connections.iter().flat_map(Connection::ends);
            if !groups.any(is_group) {
                continue;
            }
            for raw in scan.sends.iter().chain(scan.seen.iter()) {
                if let Some(peer) = scan.peer(&raw)
                    && cast.group_at(peer, utc_ns(header, raw.time)).is_some()
                {
                    ports.insert(peer.port());
                }
            }
        }
        let mut heard: HashMap<_, Vec<usize>> = HashMap::new();
        if ports.is_empty() {
            return Listeners { heard };
        }
        for (reel, (scan, header)) in scans.iter().zip(headers).enumerate() {
            for (place, raw) in scan.receives.iter().enumerate() {
                let port = scan.port(&raw);
                let sender = match holders.of(reel, Side::Receive, place) {
                    Some((sender, _)) => Some(sender),
                    None => scan
                        .peer(&raw)
                        .and_then(|peer| cast.member_at(peer, utc_ns(header, raw.time))),
                };
                if let Some(sender) = sender.filter(|_| ports.contains(&port)) {
                    let by = heard
                        .entry((sender, port, raw.hash, raw.length))
                        .or_default();
                    if by.last() != Some(&reel) {
                        by.push(reel);
                    }
                }
            }
        }
        Listeners { heard }
    }

    /// Whether nobody heard anything of the kind.
    pub fn is_empty(&self) -> bool {
        self.heard.is_empty()
    }

    /// The reels that received what `sender` sent as `raw`, if that went to a group.
    pub fn of(
        &self,
        cast: &Cast,
        (sender, peer, raw): (usize, Endpoint, &RawEnd),
        utc_ns: i128,
    ) -> &[usize] {
        if self.heard.is_empty() || cast.group_at(peer, utc_ns).is_none() {
            return &[];
        }
        let key = (sender, peer.port(), raw.hash, raw.length);
        self.heard.get(&key).map_or(&[], Vec::as_slice)
    }
}
