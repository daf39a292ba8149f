//! Equal payloads, told apart by the sockets that they left and reached.

use super::end::End;
use crate::session::read::ends::Side;
use crate::session::read::scan::Scan;

/// The ports that a packet left and reached.
type Ports = (u16, u16);

/// The ports at which each reel has a socket, in order.
pub(crate) struct OwnPorts(Vec<Vec<u16>>);

impl OwnPorts {
    pub fn new(scans: &[Scan]) -> OwnPorts {
        let of = |scan: &Scan| {
            let opened = scan.bound().map(|local| local.port());
            let met = scan.connections.iter().map(|each| each.port);
            let mut ports: Vec<u16> = opened.chain(met).collect();
            ports.sort_unstable();
            ports.dedup();
            ports
        };
        OwnPorts(scans.iter().map(of).collect())
    }

    fn has(&self, reel: u16, port: u16) -> bool {
        let ports = self.0.get(usize::from(reel));
        ports.is_some_and(|ports| ports.binary_search(&port).is_ok())
    }
}

/// The ends of one payload, those with the same ports together.
#[derive(Default)]
pub(super) struct BySockets {
    keyed: Vec<(Ports, End)>,
    ends: Vec<End>,
    /// How many of the ends have the same ports, one number for each.
    counts: Vec<usize>,
}

impl BySockets {
    /// Splits a group where ports say which receipts may be of which sends: the sends have several,
    /// and each receipt has those of a send. Returns whether it is split. A receipt has others where
    /// ports were translated on its way; then they say nothing.
    pub fn split(&mut self, group: &[End], scans: &[Scan], own: &OwnPorts) -> bool {
        if group.iter().any(|end| end.side == Side::Seen || end.shared) {
            return false;
        }
        self.keyed.clear();
        for end in group {
            let Some(ports) = ports(end, scans) else {
                return false;
            };
            self.keyed.push((ports, *end));
        }
        let key = |(ports, end): &(Ports, End)| (*ports, end.side, end.reel, end.place);
        self.keyed.sort_unstable_by_key(key);
        let split = self.keyed.chunk_by(|(a, _), (b, _)| a == b);
        // Nodes with reels have these reels' places. A packet that went to a port at which its
        // receiver has no socket went through a translation.
        let is_plain =
            |&((_, port), end): &(Ports, End)| end.side == Side::Send && own.has(end.to, port);
        if !split.clone().all(|some| some.first().is_some_and(is_plain)) {
            return false;
        }
        self.counts.clear();
        self.counts.extend(split.map(<[_]>::len));
        self.ends.clear();
        self.ends.extend(self.keyed.iter().map(|&(_, end)| end));
        self.counts.len() > 1
    }

    /// What the group was split into.
    pub fn groups(&self) -> impl Iterator<Item = &[End]> {
        in_stretches(&self.ends, &self.counts)
    }
}

/// Ends in stretches that have this many each.
pub(super) fn in_stretches<'a>(
    mut ends: &'a [End],
    counts: &'a [usize],
) -> impl Iterator<Item = &'a [End]> {
    counts.iter().map(move |&count| {
        let (group, after) = ends.split_at(count);
        ends = after;
        group
    })
}

/// The ports that the packet of an end left and reached, where they are known.
fn ports(end: &End, scans: &[Scan]) -> Option<Ports> {
    let scan = end.scan(scans).filter(|it| !it.told)?;
    let place = scan.side(end.side).connection(end.place as usize);
    let connection = scan.connections.get(place as usize)?;
    let (near, far) = (connection.port, connection.peer.port());
    (near != 0 && far != 0).then_some(match end.side {
        Side::Receive => (far, near),
        Side::Send | Side::Seen => (near, far),
    })
}
