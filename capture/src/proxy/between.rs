//! A network between programs that are as they are: whatever one of them sends to another passes here, and
//! each directed link has faults of its own.
//!
//! Each node has a [`Network`]. A thread takes what comes out of one and has it arrive in another; of UDP
//! packets, and what became of them, it makes the reel of an observer.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use etherparse::{IpNumber, Ipv4HeaderSlice, UdpHeaderSlice};
use netreel_reel::{Endpoint, Event, EventNumber, FaultVerdict, Header, Time};
use netreel_system::network::{Network, wait};
use netreel_system::thread::run_before_others;
use netreel_transport::{LinkEnd, Pusher, monotonic_now, turn_bit};

use super::faults::{FaultedLink, Treatment};
use super::spec::{FaultSpec, SpecError, WayFaults};
use netreel_record::{Options, RecordError, Recorder, clock_anchor};

/// Whoever changes faults waits no longer than this.
const LOOK: Duration = Duration::from_millis(5);
/// So many packets of a node are taken before the others get their turn.
const AT_ONCE: usize = 64;
/// What is held back takes at most this many bytes.
const HELD_MAX: usize = 256 << 20;
/// Links of other packets than UDP's are numbered from here, so that those draw nothing from these.
const OTHERS: u16 = 1 << 15;
/// The first address: nodes are numbered from it.
const FIRST: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);

/// The network of some nodes. It is gone when this and the nodes' processes are.
pub struct Between {
    networks: Vec<Arc<Network>>,
    asks: Option<Sender<Ask>>,
    passes: Option<JoinHandle<()>>,
}

/// A network that cannot be made, or that cannot do something.
#[derive(Debug, thiserror::Error)]
pub enum BetweenError {
    /// The system does not allow it.
    #[error(
        "cannot make a network for node {node}: {error}; it takes Linux, root (CAP_SYS_ADMIN and CAP_NET_ADMIN) and \
         /dev/net/tun. Without them, a proxy in between makes faults (`netreel record --proxy`)"
    )]
    Network {
        /// For whom.
        node: String,
        /// Why.
        error: io::Error,
    },
    /// Its reel cannot be made.
    #[error(transparent)]
    Reel(#[from] RecordError),
    /// What is asked for is no fault.
    #[error(transparent)]
    Faults(#[from] SpecError),
    /// It is gone.
    #[error("the network between the nodes is gone: {0}")]
    Gone(&'static str),
}

/// What becomes of packets on a link, from now on.
#[derive(Clone, Copy)]
enum Way {
    Passes(WayFaults),
    /// Nothing arrives until something else is asked for; then all of it.
    Holds,
}

/// What is asked of the thread that passes packets on, and who waits for that.
struct Ask {
    link: (usize, usize),
    way: Way,
    words: String,
    done: Sender<()>,
}

impl Between {
    /// Makes a network for each of these nodes, with no faults. What faults there will be is drawn from
    /// `seed`; what passes is written into the file `reel`.
    ///
    /// # Errors
    /// [`BetweenError::Network`], [`BetweenError::Reel`].
    pub fn new(nodes: &[String], seed: u64, reel: &Path) -> Result<Between, BetweenError> {
        let mut networks = Vec::new();
        for (place, node) in (0u32..).zip(nodes) {
            let network = Network::new(Ipv4Addr::from_bits(FIRST.to_bits() + place));
            networks.push(Arc::new(network.map_err(|error| {
                BetweenError::Network {
                    node: node.clone(),
                    error,
                }
            })?));
        }
        let header = Header {
            node: "network".to_owned(),
            engine: Header::OBSERVER.to_owned(),
            build: env!("CARGO_PKG_VERSION").to_owned(),
            clock: clock_anchor(),
            args: nodes
                .iter()
                .zip(&networks)
                .map(|(node, network)| format!("{node}={}", network.address()))
                .collect(),
            seeds: vec![("faults".to_owned(), seed)],
            ..Header::default()
        };
        let recorder = Recorder::create(reel.to_owned(), &header, Options::default())?;
        let pusher = recorder.pusher()?;
        let (asks, asked) = channel();
        let mut passing = Passing {
            networks: networks.clone(),
            nodes: nodes.to_vec(),
            seed,
            links: HashMap::new(),
            under_way: BTreeMap::new(),
            under_way_bytes: 0,
            ever: 0,
            pusher,
        };
        let passes = std::thread::spawn(move || {
            // Where it may not, it is like any other thread.
            let _ = run_before_others();
            passing.pass(&asked);
            drop(passing);
            // A reel that stopped says so itself.
            let _ = recorder.finish();
        });
        Ok(Between {
            networks,
            asks: Some(asks),
            passes: Some(passes),
        })
    }

    /// The networks, in the order of the nodes.
    pub fn networks(&self) -> &[Arc<Network>] {
        &self.networks
    }

    /// What becomes of packets from one node to another from now on: faults as a proxy knows them, `held` or
    /// `none`.
    ///
    /// # Errors
    /// Words that are no faults.
    pub fn set(&self, link: (usize, usize), words: &str) -> Result<(), BetweenError> {
        let way = match words {
            "held" => Way::Holds,
            "none" => Way::Passes(WayFaults::default()),
            words => Way::Passes(words.parse::<FaultSpec>()?.up),
        };
        let (done, is_done) = channel();
        let words = words.to_owned();
        let ask = Ask {
            link,
            way,
            words,
            done,
        };
        let asked = self.asks.as_ref().and_then(|asks| asks.send(ask).ok());
        let gone = BetweenError::Gone("nobody passes packets on");
        asked.and_then(|()| is_done.recv().ok()).ok_or(gone)
    }
}

impl Drop for Between {
    fn drop(&mut self) {
        self.asks = None;
        if let Some(passes) = self.passes.take() {
            let _ = passes.join();
        }
    }
}

/// A directed link.
struct Link {
    faulted: FaultedLink,
    /// What is held, where it holds.
    held: Option<Vec<Held>>,
}

/// A packet that waits until its link holds no more.
struct Held {
    came: Time,
    of: Option<EventNumber>,
    packet: Box<[u8]>,
}

/// A packet that arrives later.
struct UnderWay {
    to: usize,
    packet: Box<[u8]>,
}

/// The thread that passes packets on.
struct Passing {
    networks: Vec<Arc<Network>>,
    nodes: Vec<String>,
    seed: u64,
    /// By sender, receiver, and whether it is of UDP packets.
    links: HashMap<(usize, usize, bool), Link>,
    /// By when they arrive; the number keeps those of one time in order.
    under_way: BTreeMap<(Time, u64), UnderWay>,
    under_way_bytes: usize,
    ever: u64,
    pusher: Pusher,
}

impl Passing {
    fn pass(&mut self, asked: &Receiver<Ask>) {
        let mut room = vec![0; 1 << 16];
        loop {
            match asked.try_recv() {
                Ok(ask) => {
                    self.set(&ask);
                    // Who no longer waits has ended.
                    let _ = ask.done.send(());
                    continue;
                }
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => return,
            }
            let next = self.under_way.keys().next();
            let until = next.map_or(LOOK, |(due, _)| due.since(monotonic_now()));
            if wait(&self.networks, until.min(LOOK)).is_err() {
                return;
            }
            for from in 0..self.networks.len() {
                for _ in 0..AT_ONCE {
                    let taken = self.networks.get(from).map(|it| it.take(&mut room));
                    // Where an interface is gone, so are its programs.
                    let Some(Ok(Some(length))) = taken else { break };
                    let packet = room.get(..length).unwrap_or_default();
                    self.take(from, packet);
                }
            }
            self.let_go();
        }
    }

    fn set(&mut self, ask: &Ask) {
        let now = monotonic_now();
        let ((from, to), words) = (ask.link, &ask.words);
        let name = |place: usize| self.nodes.get(place).map_or("", String::as_str);
        let note = format!("faults on the link {} to {}: {words}", name(from), name(to));
        let text = note.as_bytes();
        self.pusher.push(now, Event::Note { text });
        for is_udp in [true, false] {
            let link = self.link((from, to, is_udp));
            let held = match ask.way {
                Way::Holds => {
                    link.held.get_or_insert_default();
                    continue;
                }
                Way::Passes(faults) => {
                    link.faulted.set(faults);
                    link.held.take()
                }
            };
            for held in held.into_iter().flatten() {
                let nanos = now.0.saturating_sub(held.came.0);
                self.fault(now, held.of, FaultVerdict::Delayed { nanos });
                self.under_way_bytes -= held.packet.len();
                self.on_its_way(now, to, &held.packet);
            }
        }
    }

    fn link(&mut self, (from, to, is_udp): (usize, usize, bool)) -> &mut Link {
        let seed = self.seed;
        self.links.entry((from, to, is_udp)).or_insert_with(|| {
            let end = |place: usize| LinkEnd(place as u16 + if is_udp { 0 } else { OTHERS });
            Link {
                faulted: FaultedLink::new(WayFaults::default(), seed, (end(from), end(to))),
                held: None,
            }
        })
    }

    /// Decides on a packet that a node sent.
    fn take(&mut self, from: usize, packet: &[u8]) {
        let Some(internet) = Internet::of(packet) else {
            return;
        };
        let place = internet.to.to_bits().checked_sub(FIRST.to_bits());
        let to = place.map(|place| place as usize);
        let Some(to) = to.filter(|&to| to < self.networks.len()) else {
            return;
        };
        let now = monotonic_now();
        let of = internet.ports.and_then(|(source, target)| {
            let seen = Event::Seen {
                from: Endpoint::from(SocketAddrV4::new(internet.from, source)),
                to: Endpoint::from(SocketAddrV4::new(internet.to, target)),
                payload: packet.get(internet.begins..).unwrap_or_default(),
            };
            self.pusher.push(now, seen)
        });
        let is_full = self.under_way_bytes + packet.len() > HELD_MAX;
        let link = self.link((from, to, internet.ports.is_some()));
        if let (Some(held), false) = (&mut link.held, is_full) {
            held.push(Held {
                came: now,
                of,
                packet: packet.into(),
            });
            self.under_way_bytes += packet.len();
            return;
        }
        let length = packet.len() - internet.begins;
        let mut treated = link.faulted.take(now, length);
        if is_full {
            treated = Treatment::dropped(FaultVerdict::QueueFull { nanos: 0 });
        }
        for verdict in treated.verdicts.into_iter().flatten() {
            self.fault(now, of, verdict);
        }
        let turned = treated
            .corrupted
            .filter(|_| of.is_some())
            .map(|bit| internet.turned(packet, bit));
        let packet = turned.as_deref().unwrap_or(packet);
        for due in [treated.due, treated.copy].into_iter().flatten() {
            self.on_its_way(due, to, packet);
        }
    }

    fn fault(&mut self, now: Time, of: Option<EventNumber>, verdict: FaultVerdict) {
        if let Some(of) = of {
            self.pusher.push(now, Event::Fault { of, verdict });
        }
    }

    fn on_its_way(&mut self, due: Time, to: usize, packet: &[u8]) {
        self.under_way_bytes += packet.len();
        let packet = packet.into();
        self.under_way
            .insert((due, self.ever), UnderWay { to, packet });
        self.ever += 1;
    }

    /// Has arrive what has been under way for long enough.
    fn let_go(&mut self) {
        let now = monotonic_now();
        while let Some(entry) = self.under_way.first_entry() {
            if entry.key().0 > now {
                break;
            }
            let UnderWay { to, packet } = entry.remove();
            self.under_way_bytes -= packet.len();
            if let Some(network) = self.networks.get(to) {
                // What finds nobody is lost, as on any network.
                let _ = network.give(&packet);
            }
        }
    }
}

/// What an IPv4 packet's headers say.
struct Internet {
    from: Ipv4Addr,
    to: Ipv4Addr,
    /// The ports of a UDP packet.
    ports: Option<(u16, u16)>,
    /// Where the payload begins that is recorded, or, of another packet than UDP's, that of IP.
    begins: usize,
}

impl Internet {
    /// `None` where it is none: IPv6 has no addresses here.
    fn of(packet: &[u8]) -> Option<Internet> {
        let header = Ipv4HeaderSlice::from_slice(packet).ok()?;
        let carries_udp = header.protocol() == IpNumber::UDP && !header.is_fragmenting_payload();
        let (headers, rest) = packet.split_at_checked(header.slice().len())?;
        let udp = UdpHeaderSlice::from_slice(rest).ok();
        let udp = udp.filter(|_| carries_udp);
        Some(Internet {
            from: header.source_addr(),
            to: header.destination_addr(),
            begins: headers.len() + udp.as_ref().map_or(0, |udp| udp.slice().len()),
            ports: udp.map(|udp| (udp.source_port(), udp.destination_port())),
        })
    }

    /// The packet with one bit of its payload turned. Its checksum is left out, which IPv4 allows, so that
    /// the program sees it.
    fn turned(&self, packet: &[u8], bit: usize) -> Box<[u8]> {
        let mut turned: Box<[u8]> = packet.into();
        if let Some((headers, payload)) = turned.split_at_mut_checked(self.begins) {
            turn_bit(payload, bit);
            let sum = headers.len().saturating_sub(2);
            headers.get_mut(sum..).unwrap_or_default().fill(0);
        }
        turned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10.77.0.1:1 to 10.77.0.2:2, UDP, with a checksum.
    fn packet(payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0];
        packet.extend([10, 77, 0, 1, 10, 77, 0, 2]);
        packet.extend([0, 1, 0, 2, 0, 0, 0xab, 0xcd]);
        packet.extend(payload);
        packet
    }

    #[test]
    fn a_udp_packet_has_ports_and_a_payload() {
        let packet = packet(b"hello");
        let read = Internet::of(&packet).unwrap();
        assert_eq!(
            (read.ports, &packet[read.begins..]),
            (Some((1, 2)), &b"hello"[..])
        );
        assert_eq!(read.to, Ipv4Addr::new(10, 77, 0, 2));
    }

    #[test]
    fn a_part_of_a_packet_has_no_ports() {
        let mut part = packet(b"hello");
        part[7] = 1;
        assert_eq!(Internet::of(&part).unwrap().ports, None);
    }

    #[test]
    fn a_packet_that_is_cut_anywhere_ends_nothing() {
        let packet = packet(b"");
        for length in 0..20 {
            assert!(Internet::of(&packet[..length]).is_none());
        }
        for length in 20..28 {
            assert_eq!(Internet::of(&packet[..length]).unwrap().ports, None);
        }
    }

    #[test]
    fn a_turned_bit_is_one_of_the_payload_and_no_checksum_tells_of_it() {
        let packet = packet(&[0]);
        let turned = Internet::of(&packet).unwrap().turned(&packet, 7);
        assert_eq!(turned[26..], [0, 0, 1]);
        assert_eq!(turned[..26], packet[..26]);
    }
}
