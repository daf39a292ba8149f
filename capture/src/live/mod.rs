//! Recording what passes a network interface, by way of libpcap.
//!
//! Packets go into the rings of ordinary recorders as they come, so that whoever kills this loses
//! what the kernel still has: at most [`HANDED_OVER_MS`] of packets. An end that was asked for, and
//! the end of an interface, lose nothing: what the kernel has by then is read first.

mod clock;
mod threads;

use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use netreel_reel::{Event, Header, Time, WireText};
use pcap::{Active, Capture, Device, Linktype, Precision};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::import::{NamedNode, Track, left_out};
use crate::pcap::{Counts, Ending, Frame, Sorter};
use crate::progress::Progress;
use netreel_record::{Options, RecordError, Recorder, Summary, clock_anchor};

use clock::Calendar;
use threads::Threads;

/// What is to be recorded.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The interface: `eth0`, `lo`, `any`.
    pub interface: String,
    /// A filter in libpcap's language; without one, everything that is UDP.
    pub filter: Option<String>,
    /// The nodes that get a reel each; none: the observer has one.
    pub nodes: Vec<NamedNode>,
    /// The wires that decode the packets.
    pub wires: Vec<WireText>,
    /// Where the reels go.
    pub out: PathBuf,
    /// How they are recorded.
    pub options: Options,
}

/// What a recording came to.
#[derive(Debug)]
pub struct Outcome {
    /// How far it was at its end.
    pub progress: Progress,
    /// The reels, and what is in each.
    pub reels: Vec<(PathBuf, Result<Summary, RecordError>)>,
    /// Why it ended before it was told to: the interface is gone.
    pub ended: Option<String>,
    /// What is not in the reels, a sentence each.
    pub left_out: Vec<String>,
    /// Packets that belong to no named node, and are in no reel.
    pub nobodys: u64,
    /// The reels of named nodes of which no packet came.
    pub empty: Vec<PathBuf>,
}

/// An interface that cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// There is no such interface.
    #[error("there is no interface {name}; there are: {}", there.join(", "))]
    NoInterface {
        /// The name that was asked for.
        name: String,
        /// Those that there are.
        there: Vec<String>,
    },
    /// The system allows it only to some.
    #[error(
        "capturing on {name} needs the right to read raw packets ({why}): run it as root, or give \
         netreel the right once with `sudo setcap cap_net_raw=ep $(command -v netreel)`"
    )]
    Forbidden {
        /// The interface.
        name: String,
        /// What libpcap said.
        why: String,
    },
    /// libpcap does not understand the filter.
    #[error("the filter `{filter}` is not one: {why} (its language: man 7 pcap-filter)")]
    Filter {
        /// The filter.
        filter: String,
        /// What libpcap said.
        why: String,
    },
    /// libpcap cannot open the interface.
    #[error("capturing on {name}: {why}")]
    Open {
        /// The interface.
        name: String,
        /// What libpcap said.
        why: String,
    },
    /// The folder cannot be made.
    #[error("{}: {error}", .folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A reel cannot be recorded.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// The kernel hands packets over after this many milliseconds at the latest. In between it gathers
/// them: with immediate delivery one packet in ten is dropped at 300 000 a second.
pub const HANDED_OVER_MS: i32 = 20;
/// A window in ring mode goes on for this long: packets of before its trigger are still in the kernel.
const WINDOW_AFTER: Duration = Duration::from_millis(5 * HANDED_OVER_MS as u64);
/// What the kernel had when it was shut it has handed over by then. A block of packets that is not
/// full waits for two turns of the kernel's timer; the rest is for timers that are late.
const ALL_HANDED_OVER: Duration = Duration::from_millis(5 * HANDED_OVER_MS as u64);
/// Reading what the kernel has takes no longer than this, or is given up.
const READ_WITHIN: Duration = Duration::from_secs(10);
/// No datagram is longer, with room for what stands before it.
const SNAP_LENGTH: i32 = 65_535 + 512;
/// What the kernel holds while the recorder is not at it.
const BUFFER_BYTES: i32 = 64 << 20;
/// Between two questions to an interface that is gone.
const WHILE_GONE: Duration = Duration::from_millis(5);
/// How often drops are asked for and the report is made.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Fragments of UDP packets are UDP to libpcap; what is in a VLAN is asked for apart, where the kind
/// of link has any.
const EVERYTHING: [&str; 2] = ["udp or (vlan and udp)", "udp"];
const COUNTED_TWICE: &str = "of the packets that passed without being seen, those of the loopback \
                             interface are counted twice: where they go out and where they come \
                             in; with libpcap 1.10 and Linux 4.20, or newer, they are counted once";
/// Linux's header for frames of several interfaces, with the number of each.
const LINUX_SLL2: Linktype = Linktype(276);

/// Records until `stop` says so, the reels are as long as they may be, or the interface is gone.
/// `report` is called as soon as it listens, and then every 100 ms.
///
/// # Errors
/// The interface cannot be opened, the filter is none, or a reel cannot be made.
pub fn record(
    wanted: &Wanted,
    stop: &mut dyn FnMut() -> bool,
    report: &mut dyn FnMut(&Progress),
) -> Result<Outcome, LiveError> {
    let Opened {
        mut capture,
        filter,
        counts_twice,
    } = open(wanted)?;
    let mut live = Live::new(wanted, &mut capture, &filter, counts_twice)?;
    report(&live.progress);
    let begun = Instant::now();
    let mut looked = begun;
    let mut ended = None;
    // Since when nothing more comes in: the end was asked for, or the interface is gone.
    let mut shut_at: Option<Instant> = None;
    // Packets that come faster than they are written must not keep the others from being asked.
    loop {
        if shut_at.is_none() && stop() {
            shut_at = Some(shut(&capture));
        }
        // Asked before the kernel is: what was handed over by now is met below.
        let last = shut_at.is_some_and(|at| at.elapsed() >= ALL_HANDED_OVER);
        match capture.next_packet() {
            Ok(packet) => live.packet(&packet),
            Err(_) if last => break,
            Err(pcap::Error::TimeoutExpired) => wait(&capture),
            // Said once more whenever nothing is there to read.
            Err(_) if ended.is_some() => std::thread::sleep(WHILE_GONE),
            Err(error) => {
                ended = Some(said(&error));
                shut_at.get_or_insert_with(|| shut(&capture));
            }
        }
        if shut_at.is_some_and(|at| at.elapsed() >= READ_WITHIN) {
            break;
        }
        if looked.elapsed() >= LOOK_EVERY {
            looked = Instant::now();
            live.look(&mut capture, begun.elapsed());
            report(&live.progress);
            // As much as was asked for, or a write failed: then the end of the reel says so.
            if !live.is_recording() {
                break;
            }
        }
    }
    live.look(&mut capture, begun.elapsed());
    if shut_at.is_some() && live.is_recording() {
        live.tell_unread(&mut capture);
    }
    report(&live.progress);
    Ok(live.end(ended))
}

/// Lets nothing more into the kernel's buffer; since when.
fn shut(capture: &Capture<Active>) -> Instant {
    let mut nothing = [libc::sock_filter {
        code: (libc::BPF_RET | libc::BPF_K) as u16,
        jt: 0,
        jf: 0,
        k: 0,
    }];
    let program = libc::sock_fprog {
        len: 1,
        filter: nothing.as_mut_ptr(),
    };
    // Where it fails, packets go on to come, and `READ_WITHIN` ends it.
    // SAFETY: the descriptor is open for as long as `capture` lives; the program and its one
    // instruction are read during the call.
    unsafe {
        libc::setsockopt(
            capture.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            size_of_val(&program) as libc::socklen_t,
        );
    }
    Instant::now()
}

/// Waits until the kernel has something, or it is time to look around.
fn wait(capture: &Capture<Active>) {
    // SAFETY: the descriptor is libpcap's, which keeps it open for as long as `capture` lives.
    let descriptor = unsafe { BorrowedFd::borrow_raw(capture.as_raw_fd()) };
    let mut descriptors = [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)];
    let patience = Timespec {
        tv_sec: 0,
        tv_nsec: i64::from(HANDED_OVER_MS) * 1_000_000,
    };
    // A signal, or an error, shows where the next packet is asked for.
    let _ = poll(&mut descriptors, Some(&patience));
}

/// An interface that is open.
struct Opened {
    capture: Capture<Active>,
    /// The filter that it got.
    filter: String,
    /// See [`Live::counts_twice`].
    counts_twice: bool,
}

fn open(wanted: &Wanted) -> Result<Opened, LiveError> {
    let name = wanted.interface.as_str();
    let failed = |error: pcap::Error| {
        let (name, why) = (name.to_owned(), said(&error));
        let words = why.to_lowercase();
        if words.contains("permission") || words.contains("not permitted") {
            LiveError::Forbidden { name, why }
        } else {
            LiveError::Open { name, why }
        }
    };
    let there = Device::list().map_err(failed)?;
    let Some(device) = there.iter().find(|device| device.name == name) else {
        // Those that are no network: buses, logs of the firewall.
        let network = |device: &&Device| {
            let other = ["bluetooth", "nflog", "nfqueue", "usbmon", "dbus"];
            !other.iter().any(|start| device.name.starts_with(start))
        };
        return Err(LiveError::NoInterface {
            name: name.to_owned(),
            there: there
                .iter()
                .filter(network)
                .map(|device| device.name.clone())
                .collect(),
        });
    };
    let inactive = Capture::from_device(name)
        .map_err(failed)?
        .promisc(name != "any")
        .snaplen(SNAP_LENGTH)
        .buffer_size(BUFFER_BYTES)
        .timeout(HANDED_OVER_MS)
        .precision(Precision::Nano);
    // libpcap itself would wait for a packet, however long that takes, and through every signal.
    let opened = inactive.open().and_then(Capture::setnonblock);
    let mut capture = opened.map_err(failed)?;
    let loopback = device.flags.is_loopback();
    let mut counts_twice = name == "any" || (loopback && !leave_out_outgoing(&capture));
    // Where libpcap is too old for it, the frames do not say at which interface they were.
    if name == "any" {
        let _ = capture.set_datalink(LINUX_SLL2);
    }
    let filters = match &wanted.filter {
        Some(filter) => vec![filter.as_str()],
        None => EVERYTHING.to_vec(),
    };
    let mut wrong = None;
    for filter in filters {
        match capture.filter(filter, true) {
            Ok(()) => {
                if name == "any" {
                    counts_twice = !leave_out_outgoing_of_loopback(&mut capture, filter);
                }
                return Ok(Opened {
                    capture,
                    filter: filter.to_owned(),
                    counts_twice,
                });
            }
            Err(error) => {
                wrong = Some(LiveError::Filter {
                    filter: filter.to_owned(),
                    why: said(&error),
                });
            }
        }
    }
    match wrong {
        Some(wrong) => Err(wrong),
        None => Ok(Opened {
            capture,
            filter: String::new(),
            counts_twice,
        }),
    }
}

/// What goes out of a loopback interface comes in there as well. Where the kernel hands over both
/// (before Linux 4.20), libpcap leaves out one, but drops are counted twice. Whether the
/// kernel leaves it out.
fn leave_out_outgoing(capture: &Capture<Active>) -> bool {
    const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
    let on: libc::c_int = 1;
    // SAFETY: the descriptor is open for as long as `capture` lives, and the option reads one int.
    unsafe {
        let done = libc::setsockopt(
            capture.as_raw_fd(),
            libc::SOL_PACKET,
            PACKET_IGNORE_OUTGOING,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        );
        done == 0
    }
}

/// The same where packets of all interfaces are captured: by the filter, which needs frames that
/// say at which interface they were. Whether it was done.
fn leave_out_outgoing_of_loopback(capture: &mut Capture<Active>, filter: &str) -> bool {
    // SAFETY: reads a name that ends with a zero.
    let number = unsafe { libc::if_nametoindex(c"lo".as_ptr()) };
    if number == 0 {
        return true;
    }
    let incoming = format!("not (ifindex {number} and outbound)");
    let both = match filter.trim() {
        "" => incoming,
        filter => format!("{incoming} and ({filter})"),
    };
    capture.get_datalink() == LINUX_SLL2 && capture.filter(&both, true).is_ok()
}

/// What the system calls the interface of a number; `None` where it is gone.
fn interface_name(number: u32) -> Option<String> {
    let mut name = [0; libc::IF_NAMESIZE];
    // SAFETY: the buffer has room for the longest name and its end.
    let found = unsafe { libc::if_indextoname(number, name.as_mut_ptr()) };
    let name = name.map(|letter| letter as u8);
    let name = std::ffi::CStr::from_bytes_until_nul(&name).ok()?;
    (!found.is_null()).then(|| name.to_string_lossy().into_owned())
}

fn said(error: &pcap::Error) -> String {
    match error {
        pcap::Error::PcapError(words) => words.clone(),
        other => other.to_string(),
    }
}

/// How many packets the kernel has put where they can be read.
fn taken(stats: &pcap::Stat) -> u32 {
    stats.received.wrapping_sub(stats.dropped)
}

/// A recording under way.
struct Live {
    link_type: i32,
    interface: String,
    sorter: Sorter,
    tracks: Vec<(Track, Threads)>,
    calendar: Calendar,
    frames: u64,
    nobodys: u64,
    /// What libpcap said last that was dropped: by the kernel, by the interface.
    dropped: (u32, u32),
    /// What the kernel had taken before the first packet was asked for: some of it is no UDP.
    taken_before: u32,
    /// Whether the kernel counts a packet of the loopback interface going out and coming in, of
    /// which one is handed over.
    counts_twice: bool,
    /// When the latest packet passed.
    latest: Time,
    progress: Progress,
}

impl Live {
    fn new(
        wanted: &Wanted,
        capture: &mut Capture<Active>,
        filter: &str,
        counts_twice: bool,
    ) -> Result<Live, LiveError> {
        let folder = &wanted.out;
        std::fs::create_dir_all(folder).map_err(|error| LiveError::Folder {
            folder: folder.clone(),
            error,
        })?;
        let mut whose: Vec<Option<NamedNode>> = wanted.nodes.iter().cloned().map(Some).collect();
        if whose.is_empty() {
            whose.push(None);
        }
        let mut options = wanted.options.clone();
        if let Some(ring) = &mut options.ring {
            ring.after = ring.after.max(WINDOW_AFTER);
        }
        let clock = clock_anchor();
        let mut tracks = Vec::new();
        for node in whose {
            let (name, engine) = match &node {
                Some(node) => (node.name.clone(), Header::CAPTURED),
                None => (wanted.interface.clone(), Header::OBSERVER),
            };
            let path = folder.join(format!("{name}.reel"));
            let header = Header {
                node: name,
                clock: clock.clone(),
                engine: engine.to_owned(),
                args: vec![
                    "record".to_owned(),
                    "--live".to_owned(),
                    wanted.interface.clone(),
                    "--capture-filter".to_owned(),
                    filter.to_owned(),
                ],
                wires: wanted.wires.clone(),
                ..Header::default()
            };
            let recorder = Recorder::create(path, &header, options.clone())?;
            let mut threads = Threads::new(recorder)?;
            let text = format!(
                "captured at {} with the filter `{filter}`",
                wanted.interface
            );
            let text = text.as_bytes();
            threads.push(clock.monotonic, Event::Note { text });
            tracks.push((Track::new(node), threads));
        }
        let taken_before = capture.stats().map_or(0, |stats| taken(&stats));
        Ok(Live {
            link_type: capture.get_datalink().0,
            interface: wanted.interface.clone(),
            sorter: Sorter::naming(interface_name),
            tracks,
            calendar: Calendar::now(),
            frames: 0,
            nobodys: 0,
            dropped: (0, 0),
            taken_before,
            counts_twice,
            latest: clock.monotonic,
            progress: Progress::default(),
        })
    }

    fn packet(&mut self, packet: &pcap::Packet<'_>) {
        // The fraction is in nanoseconds, whatever its name.
        let ts = packet.header.ts;
        let utc_ns = i128::from(ts.tv_sec) * 1_000_000_000 + i128::from(ts.tv_usec);
        let frame = Frame {
            index: self.frames,
            time: self.calendar.monotonic_ns(utc_ns),
            link_type: self.link_type,
            interface: (&self.interface, 0),
            section: 0,
            bytes: packet.data,
        };
        self.frames += 1;
        self.latest = Time(frame.time);
        let Some(udp) = self.sorter.take(&frame) else {
            return;
        };
        self.progress.packets += 1;
        self.progress.bytes += udp.payload.len() as u64;
        if !self.tracks.iter().any(|(track, ..)| track.concerns(&udp)) {
            self.nobodys += 1;
        }
        let interfaces = self.sorter.interfaces();
        for (track, threads) in &mut self.tracks {
            let Ok(()) = track.packet(&udp, interfaces, threads);
        }
    }

    /// Asks what was dropped, and ties the clocks anew.
    fn look(&mut self, capture: &mut Capture<Active>, time: Duration) {
        let before = self.calendar.latest();
        self.calendar = Calendar::now();
        self.progress.time = time;
        for (_, threads) in &mut self.tracks {
            threads.look();
        }
        let Ok(stats) = capture.stats() else { return };
        let (kernel, interface) = self.dropped;
        // That of an interface goes back to zero with it.
        let by_interface = stats.if_dropped.wrapping_sub(interface) as i32;
        let fresh = u64::from(stats.dropped.wrapping_sub(kernel))
            + u64::try_from(by_interface).unwrap_or(0);
        self.dropped = (stats.dropped, stats.if_dropped);
        self.missed(fresh, before);
    }

    /// Tells of what the kernel has counted as taken and has not handed over.
    fn tell_unread(&mut self, capture: &mut Capture<Active>) {
        let (Ok(stats), false) = (capture.stats(), self.counts_twice) else {
            return;
        };
        let counted = taken(&stats).wrapping_sub(self.taken_before);
        let unread = counted.wrapping_sub(self.frames as u32) as i32;
        self.missed(u64::try_from(unread).unwrap_or(0), self.latest);
    }

    /// Packets that passed without being seen, none of them before `since`.
    fn missed(&mut self, fresh: u64, since: Time) {
        if fresh == 0 {
            return;
        }
        self.progress.kernel_drops += fresh;
        let now = self.calendar.latest();
        for (_, threads) in &mut self.tracks {
            // Says since when.
            threads.push(since, Event::CaptureDrops { count: 0 });
            threads.push(now, Event::CaptureDrops { count: fresh });
        }
    }

    fn is_recording(&self) -> bool {
        self.tracks
            .iter()
            .any(|(_, threads)| threads.recorder.is_recording())
    }

    fn end(mut self, ended: Option<String>) -> Outcome {
        let counts = Counts {
            frames: self.frames,
            ..self.sorter.counts()
        };
        let mut left_out = left_out(&counts, &Ending::Whole);
        let now = Calendar::now().latest();
        if self.counts_twice && self.progress.kernel_drops > 0 {
            left_out.push(COUNTED_TWICE.to_owned());
        }
        if let Some(why) = &ended {
            left_out.push(format!("capturing on {} ended: {why}", self.interface));
        }
        let (mut reels, mut empty) = (Vec::new(), Vec::new());
        for (track, mut threads) in self.tracks {
            for sentence in &left_out {
                let text = sentence.as_bytes();
                threads.push(now, Event::Note { text });
            }
            let mut path = threads.recorder.path().to_owned();
            let finished = threads.finish();
            if let Ok(summary) = &finished {
                self.progress.dropped += summary.dropped;
                path = summary.moved_to.clone().unwrap_or(path);
            }
            if track.is_named() && track.packets() == 0 {
                empty.push(path.clone());
            }
            reels.push((path, finished));
        }
        if ended.is_some() {
            left_out.pop();
        }
        Outcome {
            progress: self.progress,
            reels,
            ended,
            left_out,
            nobodys: self.nobodys,
            empty,
        }
    }
}
