//! A session as a pcapng file for Wireshark, tshark, tcpdump.
//!
//! One interface for each reel, named after its node or its proxy, and those of a packet capture. A
//! frame for each packet that a node sent, at its own interface, outbound, and one for each that it
//! received, inbound. Reels hold no IP and
//! UDP headers: they are made up around the payloads. Times are UTC, by the session's one clock, to
//! the nanosecond. Findings, and what became of a packet, are comments on the frames. `epb_packetid`
//! is the number of the packet, the same at both ends.

mod addresses;
mod blocks;
mod comments;
mod datagram;
mod extra;
mod interfaces;
mod lane;
mod options;
mod proxies;
mod whose;

pub use addresses::Naming;
pub use options::{Comments, Frames, PcapngOptions};

use std::io::{self, Write};

use addresses::{Addresses, Names};
use blocks::{Direction, FrameHead};
use comments::Commenter;
use datagram::End;
use interfaces::list;
use lane::{Item, ReelCursor, What};
use proxies::Proxies;
use whose::Whose;

use netreel_reel::Endpoint;

use crate::figures::duration;
use crate::history::{History, Level};
use crate::session::{NodeId, PacketId, Session, SessionTime};

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PcapngSummary {
    /// Frames, those without a packet included.
    pub frames: u64,
    /// Frames with at least one comment.
    pub commented: u64,
    /// What could not be said in the file, a sentence each.
    pub warnings: Vec<String>,
}

/// Writes the packets for which `keep` says so. Frames of one node stand in the order of its reel;
/// the nodes are merged by time. Memory does not grow with the length of the recording.
///
/// # Errors
/// `out` fails, or the session has more than 65535 nodes.
pub fn pcapng(
    session: &Session,
    history: &History,
    options: PcapngOptions,
    keep: &mut dyn FnMut(PacketId) -> bool,
    out: &mut dyn Write,
) -> io::Result<PcapngSummary> {
    let proxies = Proxies::new(session);
    let addresses = Addresses::new(session, &proxies, options.naming);
    let Names { named, shared } = addresses.names();
    let mut summary = PcapngSummary::default();
    for (address, nodes) in shared {
        summary.warnings.push(format!(
            "{} share the address {address}, and names in a capture go by address: tell them apart \
             by interface, or give each an address of its own with --addresses node",
            list(&nodes),
        ));
    }
    let application = concat!("netreel ", env!("CARGO_PKG_VERSION"));
    blocks::section(out, application, &about(session, history, &proxies))?;
    let mut lanes = ReelCursor::all(session, &proxies, options.extra);
    let whose = lanes.iter().map(|lane| lane.whose);
    let (interfaces, first) = interfaces::all(session, &proxies, whose);
    for (name, description) in &interfaces {
        blocks::interface(out, name, description)?;
    }
    blocks::names(out, &addresses.stations(), &named)?;
    let mut exporter = Exporter {
        session,
        options,
        proxies: &proxies,
        addresses,
        commenter: Commenter::new(session, history, &proxies, options),
        keep,
        out,
        frame: Vec::new(),
        summary,
        before_1970: 0,
    };
    let mut counts = vec![(0u64, 0u64); interfaces.len()];
    let last = exporter.frames(&mut lanes, &first, &mut counts)?;
    for (interface, (frames, missed)) in (0..).zip(counts) {
        let utc_ns = utc_ns(session, last).unwrap_or(0);
        blocks::statistics(exporter.out, interface, utc_ns, (frames, missed))?;
    }
    let mut summary = exporter.summary;
    if exporter.before_1970 > 0 {
        let frames = match exporter.before_1970 {
            1 => "1 frame is".to_owned(),
            count => format!("{count} frames are"),
        };
        summary.warnings.push(format!(
            "{frames} from before 1970, for which a capture has no times: the time there is 0"
        ));
    }
    Ok(summary)
}

/// The lane whose next item is the earliest; of several, one where a packet leaves.
fn next_lane(lanes: &mut [ReelCursor<'_>]) -> Option<usize> {
    let next = lanes.iter_mut().enumerate().filter_map(|(place, lane)| {
        let (time, leaves) = lane.peek()?;
        Some((time, !leaves, place))
    });
    next.min().map(|(_, _, place)| place)
}

struct Exporter<'a, 'b> {
    session: &'a Session,
    options: PcapngOptions,
    proxies: &'a Proxies<'a>,
    addresses: Addresses<'a>,
    commenter: Commenter<'a>,
    keep: &'b mut dyn FnMut(PacketId) -> bool,
    out: &'b mut dyn Write,
    frame: Vec<u8>,
    summary: PcapngSummary,
    before_1970: u64,
}

impl Exporter<'_, '_> {
    /// Writes the frames of all lanes, merged by time. Counts for each interface its frames, and what it
    /// lost; `first` is the first interface of each lane. The time of the last frame.
    fn frames(
        &mut self,
        lanes: &mut [ReelCursor<'_>],
        first: &[usize],
        counts: &mut [(u64, u64)],
    ) -> io::Result<SessionTime> {
        let mut last = self.session.span.start;
        while let Some(next) = next_lane(lanes) {
            let (Some(lane), Some(&first)) = (lanes.get_mut(next), first.get(next)) else {
                break;
            };
            let whose = lane.whose;
            let Some((item, payload)) = lane.take() else {
                break;
            };
            last = last.max(item.time);
            let interface = first + usize::from(item.interface);
            let Some(counts) = counts.get_mut(interface) else {
                break;
            };
            counts.0 += u64::from(self.item(interface as u32, whose, &item, payload)?);
            counts.1 = counts.1.saturating_add(item.missed);
        }
        // What an observer missed last was to pass one of its interfaces; which, nobody knows.
        for (lane, &first) in lanes.iter().zip(first) {
            if let Some(counts) = counts.get_mut(first) {
                counts.1 = counts.1.saturating_add(lane.missed());
            }
        }
        Ok(last)
    }

    /// Writes an item's frame, if it has one.
    fn item(
        &mut self,
        interface: u32,
        whose: Whose,
        item: &Item,
        payload: &[u8],
    ) -> io::Result<bool> {
        let node = match whose {
            Whose::Node(node) => node,
            Whose::Proxy(place) => {
                let proxy = self.proxies.get(place);
                proxy.map_or(NodeId(u16::MAX), |proxy| proxy.id)
            }
            // One that nobody has: an observer has no address.
            Whose::Observer(_) => NodeId(u16::MAX),
        };
        let (ends, direction) = match item.what {
            What::Out { bound, to, .. } => {
                let from = self.addresses.local(node, bound, to);
                (Some((from, to)), Direction::Outbound)
            }
            What::In { bound, from } => {
                let to = self.addresses.local(node, bound, from);
                (Some((from, to)), Direction::Inbound)
            }
            What::Seen { from, to } => (Some((from, to)), Direction::Unknown),
            What::Words => (None, Direction::Unknown),
        };
        let packet = item.crossing.map(|crossing| crossing.packet);
        let mut left = 0;
        match ends {
            Some(ends) => {
                // Before each end, the proxy stands for the other.
                let proxied = match (whose, direction) {
                    (Whose::Proxy(_), Direction::Inbound) => (None, Some(node)),
                    (Whose::Proxy(_), Direction::Outbound) => (Some(node), None),
                    _ => (None, None),
                };
                let ends = self.shown(packet, ends, proxied);
                // The same at both ends, as if the packet had really travelled.
                let identification = packet.map_or(0, |packet| packet.0 as u16);
                left = datagram::udp(&mut self.frame, ends, identification, payload);
            }
            None => datagram::text(&mut self.frame, node, self.addresses.own(node), payload),
        }
        // Asked for every packet, written or not: what is late depends on what came before.
        let comments = self.commenter.of(whose, item, left);
        let wanted = match item.crossing {
            Some(crossing) => {
                self.options.frames.shows_crossing(self.session, crossing)
                    && (self.keep)(crossing.packet)
            }
            None => true,
        };
        if !wanted {
            return Ok(false);
        }
        let missing = item
            .length
            .map_or(0, |length| (length as usize).saturating_sub(payload.len()));
        let original = self.frame.len() + left + missing;
        let utc_ns = utc_ns(self.session, item.time);
        self.before_1970 += u64::from(utc_ns.is_none());
        let utc_ns = utc_ns.unwrap_or(0);
        let head = FrameHead {
            interface,
            utc_ns,
            original_length: u32::try_from(original).unwrap_or(u32::MAX),
            direction,
            packet: packet.map(|packet| u64::from(packet.0)),
            missed: item.missed,
            comments: &comments,
        };
        blocks::frame(self.out, &head, &self.frame)?;
        self.summary.frames += 1;
        self.summary.commented += u64::from(!comments.is_empty());
        Ok(true)
    }

    /// The addresses that are written of a packet's ends. `whose` says whose an end is, else the packet does,
    /// or the address.
    fn shown(
        &mut self,
        packet: Option<PacketId>,
        (from, to): (Endpoint, Endpoint),
        whose: (Option<NodeId>, Option<NodeId>),
    ) -> (End, End) {
        let known = packet.and_then(|packet| self.session.packet(packet));
        let known = known.map(|known| (known.from, known.to)).unzip();
        let owner = |whose: Option<NodeId>, known: Option<NodeId>, endpoint| {
            let known = whose.or(known);
            known.or_else(|| self.addresses.owner(endpoint))
        };
        let owners = (owner(whose.0, known.0, from), owner(whose.1, known.1, to));
        (
            self.addresses.shown(owners.0, from),
            self.addresses.shown(owners.1, to),
        )
    }
}

/// Nanoseconds since 1970; `None` before that.
fn utc_ns(session: &Session, time: SessionTime) -> Option<u64> {
    u64::try_from(i128::from(session.start_utc_ns) + i128::from(time.0)).ok()
}

/// What is said of the whole file.
fn about(session: &Session, history: &History, proxies: &Proxies<'_>) -> Vec<String> {
    let names: Vec<&str> = session
        .nodes
        .iter()
        .map(|node| node.name.as_str())
        .collect();
    let mut comments = vec![format!(
        "A session of {}, {} long, {}, written by netreel. An interface is a node: outbound \
         is what it sent, inbound what it received. The IP and UDP headers were not recorded, they \
         are made up. The packet id is netreel's number of the packet.",
        list(&names),
        duration(session.span.end.since(session.span.start)),
        crate::session::packets(session.packet_count() as u64),
    )];
    for proxy in &proxies.list {
        comments.push(format!(
            "{} is a proxy: inbound is what came to it, outbound what it sent on. Both frames of a \
             packet are its own, with its own addresses and times.",
            proxy.name()
        ));
    }
    for level in Level::ALL.into_iter().rev() {
        let findings = history.findings.iter().filter(|each| each.level == level);
        comments.extend(
            findings.map(|finding| {
                format!("[{}] {}: {}", level.name(), finding.rule, finding.sentence)
            }),
        );
    }
    comments.extend(session.warnings());
    if comments.len() > COMMENTS_MAX {
        let more = comments.len() - COMMENTS_MAX;
        comments.truncate(COMMENTS_MAX);
        comments.push(format!("and {more} more findings and warnings"));
    }
    comments
}

/// More findings and warnings are counted, not listed, at the start of the file.
const COMMENTS_MAX: usize = 100;
