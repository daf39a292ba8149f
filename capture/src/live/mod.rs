//! Recording what passes a network interface, by way of libpcap, or of Npcap, which is libpcap on Windows.
//!
//! Packets go into the rings of ordinary recorders as they come, so that whoever kills this loses
//! what the kernel still has: at most [`HANDED_OVER_MS`] of packets. An end that was asked for, and
//! the end of an interface, lose nothing: what the kernel has by then is read first.

mod clock;
mod interface;
#[cfg_attr(windows, path = "npcap.rs")]
mod tap;
mod threads;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use netreel_reel::{Event, Header, Time};

use crate::import::{NamedNode, Track, left_out};
use crate::pcap::{Counts, Ending, Frame, Sorter};
use crate::progress::Progress;
use netreel_record::{RecordError, Recorder, Summary, clock_anchor};

use clock::Calendar;
pub use interface::{HANDED_OVER_MS, LiveError, Wanted};
use interface::{Next, Opened};
use tap::{Tap, interface_name, open};
use threads::Threads;

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

/// A window in ring mode goes on for this long: packets of before its trigger are still in the kernel.
const WINDOW_AFTER: Duration = Duration::from_millis(5 * HANDED_OVER_MS as u64);
/// What the kernel had when it was shut it has handed over by then. A block of packets that is not
/// full waits for two turns of the kernel's timer; the rest is for timers that are late.
const ALL_HANDED_OVER: Duration = Duration::from_millis(5 * HANDED_OVER_MS as u64);
/// Reading what the kernel has takes no longer than this, or is given up.
const READ_WITHIN: Duration = Duration::from_secs(10);
/// Between two questions to an interface that is gone.
const WHILE_GONE: Duration = Duration::from_millis(5);
/// How often drops are asked for and the report is made.
const LOOK_EVERY: Duration = Duration::from_millis(100);
const COUNTED_TWICE: &str = "of the packets that passed without being seen, those of the loopback \
                             interface are counted twice: where they go out and where they come \
                             in; with libpcap 1.10 and Linux 4.20, or newer, they are counted once";

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
        mut tap,
        filter,
        counts_twice,
    } = open(wanted)?;
    let mut live = Live::new(wanted, &mut tap, &filter, counts_twice)?;
    report(&live.progress);
    let begun = Instant::now();
    let mut looked = begun;
    let mut ended = None;
    // Since when nothing more comes in: the end was asked for, or the interface is gone.
    let mut shut_at: Option<Instant> = None;
    // Packets that come faster than they are written must not keep the others from being asked.
    loop {
        if shut_at.is_none() && stop() {
            shut_at = Some(tap.shut());
        }
        // Asked before the kernel is: what was handed over by now is met below.
        let last = shut_at.is_some_and(|at| at.elapsed() >= ALL_HANDED_OVER);
        match tap.next() {
            Next::Packet { utc_ns, bytes } => live.packet(utc_ns, bytes),
            _ if last => break,
            Next::Nothing => tap.wait(),
            // Said once more whenever nothing is there to read.
            Next::Gone(_) if ended.is_some() => std::thread::sleep(WHILE_GONE),
            Next::Gone(why) => {
                ended = Some(why);
                shut_at.get_or_insert_with(|| tap.shut());
            }
        }
        if shut_at.is_some_and(|at| at.elapsed() >= READ_WITHIN) {
            break;
        }
        if looked.elapsed() >= LOOK_EVERY {
            looked = Instant::now();
            live.look(&mut tap, begun.elapsed());
            report(&live.progress);
            // As much as was asked for, or a write failed: then the end of the reel says so.
            if !live.is_recording() {
                break;
            }
        }
    }
    live.look(&mut tap, begun.elapsed());
    if shut_at.is_some() && live.is_recording() {
        live.tell_unread(&mut tap);
    }
    report(&live.progress);
    Ok(live.end(ended))
}

/// The name of a file for an interface: what people call one on Windows has signs that stand in no name of a
/// file, and its own name begins as a path.
fn file_name(interface: &str) -> String {
    let name = interface.strip_prefix(r"\Device\NPF_").unwrap_or(interface);
    if cfg!(windows) {
        name.replace(['\\', '/', ':', '*', '?', '"', '<', '>', '|'], "-")
    } else {
        name.to_owned()
    }
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
    taken_before: Option<u32>,
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
        tap: &mut Tap,
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
            let (name, file, engine) = match &node {
                Some(node) => (node.name.clone(), node.name.clone(), Header::CAPTURED),
                None => {
                    let name = wanted.interface.clone();
                    (name, file_name(&wanted.interface), Header::OBSERVER)
                }
            };
            let path = folder.join(format!("{file}.reel"));
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
        let taken_before = tap.stats().and_then(|stats| stats.taken);
        Ok(Live {
            link_type: tap.link_type(),
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

    fn packet(&mut self, utc_ns: i128, bytes: &[u8]) {
        let frame = Frame {
            index: self.frames,
            time: self.calendar.monotonic_ns(utc_ns),
            link_type: self.link_type,
            interface: (&self.interface, 0),
            section: 0,
            bytes,
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
    fn look(&mut self, tap: &mut Tap, time: Duration) {
        let before = self.calendar.latest();
        let now = Calendar::now();
        if tap.is_by_calendar() {
            self.calendar = now
        } else {
            self.calendar.stands_until(now.latest())
        }
        self.progress.time = time;
        for (_, threads) in &mut self.tracks {
            threads.look();
        }
        let Some(stats) = tap.stats() else { return };
        let (kernel, interface) = self.dropped;
        // That of an interface goes back to zero with it.
        let by_interface = stats.if_dropped.wrapping_sub(interface) as i32;
        let fresh = u64::from(stats.dropped.wrapping_sub(kernel))
            + u64::try_from(by_interface).unwrap_or(0);
        self.dropped = (stats.dropped, stats.if_dropped);
        self.missed(fresh, before);
    }

    /// Tells of what the kernel has counted as taken and has not handed over.
    fn tell_unread(&mut self, tap: &mut Tap) {
        let taken = tap.stats().and_then(|stats| stats.taken);
        let (Some(before), Some(taken), false) = (self.taken_before, taken, self.counts_twice)
        else {
            return;
        };
        let counted = taken.wrapping_sub(before);
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
