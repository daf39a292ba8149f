//! Equal payloads, told apart by the sockets that they left and reached.

use smallvec::SmallVec;

use super::end::End;
use crate::session::read::ends::Side;
use crate::session::read::scan::Scan;

/// The ports that a packet left and reached.
type Ports = (u16, u16);

/// Ends of one group that have their ports in common.
type Ends = SmallVec<[End; 4]>;

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

/// The ends of one payload, those with the same ports together, where ports say which receipts may
/// be of which sends: the sends have several, and each receipt has those of a send. A receipt has
/// others where ports were translated on its way; then they say nothing.
pub(super) fn by_sockets(group: &[End], scans: &[Scan], own: &OwnPorts) -> Option<Vec<Ends>> {
    if group.iter().any(|end| end.side == Side::Seen || end.shared) {
        return None;
    }
    let ports = |end: &End| {
        let scan = scans.get(usize::from(end.reel)).filter(|it| !it.told)?;
        let place = scan.side(end.side).connection(end.place as usize);
        let connection = scan.connections.get(place as usize)?;
        let (near, far) = (connection.port, connection.peer.port());
        (near != 0 && far != 0).then_some(match end.side {
            Side::Receive => (far, near),
            Side::Send | Side::Seen => (near, far),
        })
    };
    let ends = group.iter().map(|end| Some((ports(end)?, *end)));
    let mut ends = ends.collect::<Option<Vec<(Ports, End)>>>()?;
    ends.sort_unstable_by_key(|(ports, end)| (*ports, end.side, end.reel, end.place));
    let split = ends.chunk_by(|(a, _), (b, _)| a == b);
    // Nodes with reels have these reels' places. A packet that went to a port at which its receiver
    // has no socket went through a translation.
    let is_there = |&((_, port), end): &(Ports, End)| own.has(end.to, port);
    if !split.clone().all(|some| some.first().is_some_and(is_there)) {
        return None;
    }
    let split: Vec<Ends> = split
        .map(|some| some.iter().map(|&(_, end)| end).collect())
        .collect();
    let has_send = |ends: &Ends| ends.first().is_some_and(|end| end.side == Side::Send);
    (split.len() > 1 && split.iter().all(has_send)).then_some(split)
}
