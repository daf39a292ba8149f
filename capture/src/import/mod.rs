//! Reels from packet captures: one of an observer, or one for each node that is named.
//!
//! A capture's times are nanoseconds since 1970, and stand in the reel as they are: its clock's
//! zero is the calendar's. So nothing is lost, whatever resolution the capture had.

mod kept;
mod names;
mod told;
mod track;

pub use names::{NamedNode, NodeNameError};
pub use told::left_out;
pub(crate) use track::{Scribe, Track};

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use netreel_reel::{
    Append, ClockAnchor, Event, EventNumber, Header, Reel, ReelWriter, ThreadId, Time, WireText,
    WriteError,
};

use self::kept::Kept;
use crate::pcap::{Counts, Ending, Interface, PcapError, UdpPayloads};

/// What a capture became.
#[derive(Debug)]
pub struct Imported {
    /// What was in it.
    pub counts: Counts,
    /// How it ended.
    pub ending: Ending,
    /// Where its packets were captured; an event's thread is a place in it.
    pub interfaces: Vec<Interface>,
    /// For each reel the packets in it.
    pub packets: Vec<u64>,
    /// Packets that belong to no named node, and are in no reel.
    pub nobodys: u64,
}

/// A capture that did not become a reel.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It is not a capture.
    #[error(transparent)]
    Capture(#[from] PcapError),
    /// A reel could not be written.
    #[error("{error}")]
    Write {
        /// Which, by its place among the targets.
        reel: usize,
        /// Why.
        error: WriteError,
    },
    /// What was written does not open.
    #[error("{0}")]
    Open(#[from] netreel_reel::OpenError),
    /// It could not be read.
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
}

/// A reel that is to be made of a capture.
#[derive(Debug)]
pub struct Target<W> {
    /// Where its bytes go.
    pub out: W,
    /// Whose it is; `None` for an observer's.
    pub node: Option<NamedNode>,
}

/// What reels of one capture have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The capture's name, for people.
    pub name: String,
    /// Tells captures apart: the reels of one share a clock.
    pub identity: String,
    /// The wires that decode its packets.
    pub wires: Vec<WireText>,
}

/// How much of a capture tells it from others.
const TELLING: u64 = 1 << 16;

impl Origin {
    /// The origin of what is imported from `file`, which is read from its start afterwards.
    pub fn of(path: &Path, file: &mut File) -> io::Result<Origin> {
        let mut start = Vec::new();
        file.take(TELLING).read_to_end(&mut start)?;
        file.seek(SeekFrom::Start(0))?;
        let length = file.metadata()?.len();
        let name = path.file_name().unwrap_or(path.as_os_str());
        Ok(Origin {
            name: name.to_string_lossy().into_owned(),
            identity: format!("capture {:08x} {length}", crc32fast::hash(&start)),
            wires: Vec::new(),
        })
    }

    /// The header of a reel that is made of it.
    pub fn header(&self, node: Option<&NamedNode>) -> Header {
        let stem = Path::new(&self.name).file_stem().unwrap_or_default();
        Header {
            node: match node {
                Some(node) => node.name.clone(),
                None => stem.to_string_lossy().into_owned(),
            },
            // The calendar's zero is the clock's.
            clock: ClockAnchor {
                monotonic: Time::ZERO,
                utc_ns: 0,
                boot_id: self.identity.clone(),
            },
            engine: match node {
                Some(_) => Header::CAPTURED.to_owned(),
                None => Header::OBSERVER.to_owned(),
            },
            args: vec!["import".to_owned(), self.name.clone()],
            wires: self.wires.clone(),
            ..Header::default()
        }
    }
}

/// Makes reels of a capture. A capture that ends badly gives what came before: how it ended is
/// told, and stands in the last note of each reel.
///
/// # Errors
/// It is not a capture, or a reel could not be written.
pub fn import<R: Read, W: Append>(
    reader: R,
    origin: &Origin,
    targets: Vec<Target<W>>,
) -> Result<Imported, ImportError> {
    let mut payloads = UdpPayloads::new(reader)?;
    let mut reels = Vec::with_capacity(targets.len());
    let at = |reel| move |error| ImportError::Write { reel, error };
    for (place, Target { out, node }) in targets.into_iter().enumerate() {
        let writer = ReelWriter::create(out, &origin.header(node.as_ref())).map_err(at(place))?;
        reels.push((Track::new(node), Writing(writer)));
    }
    let (mut begun, mut latest) = (false, Time::ZERO);
    let mut nobodys = 0;
    while let Some(udp) = payloads.next() {
        latest = Time(udp.time);
        if !reels.iter().any(|(track, _)| track.concerns(&udp)) {
            nobodys += 1;
        }
        for (place, (track, writing)) in reels.iter_mut().enumerate() {
            let mut write = || {
                if !begun {
                    let text = format!("imported from {}", origin.name);
                    writing.note(latest, &text)?;
                }
                track.packet(&udp, payloads.interfaces(), writing)
            };
            write().map_err(at(place))?;
        }
        begun = true;
    }
    let counts = payloads.counts();
    let words = left_out(&counts, payloads.ending());
    let mut packets = Vec::with_capacity(reels.len());
    for (place, (track, mut writing)) in reels.into_iter().enumerate() {
        let end = || {
            if counts.dropped > 0 {
                let event = Event::CaptureDrops {
                    count: counts.dropped,
                };
                writing.write(latest, ThreadId(0), event)?;
            }
            for sentence in &words {
                writing.note(latest, sentence)?;
            }
            writing.0.finish()
        };
        end().map_err(at(place))?;
        packets.push(track.packets());
    }
    Ok(Imported {
        counts,
        interfaces: payloads.interfaces().to_vec(),
        ending: payloads.into_ending(),
        packets,
        nobodys,
    })
}

/// The observer's reel of a capture, in memory or, where it is large, in a temporary file without a
/// name, and what of the capture is not in it, a sentence each.
///
/// # Errors
/// As for [`import`].
pub fn observe(reader: impl Read, origin: &Origin) -> Result<(Reel, Vec<String>), ImportError> {
    let mut bytes = Kept::default();
    let out = &mut bytes;
    let imported = import(reader, origin, vec![Target { out, node: None }])?;
    let reel = bytes.open()?;
    Ok((reel, left_out(&imported.counts, &imported.ending)))
}

/// A reel that is written without a recorder.
struct Writing<W: Append>(ReelWriter<W>);

impl<W: Append> Writing<W> {
    fn note(&mut self, time: Time, text: &str) -> Result<(), WriteError> {
        let text = text.as_bytes();
        self.write(time, ThreadId(0), Event::Note { text })?;
        Ok(())
    }
}

impl<W: Append> Scribe for Writing<W> {
    type Error = WriteError;

    fn write(
        &mut self,
        time: Time,
        thread: ThreadId,
        event: Event<'_>,
    ) -> Result<EventNumber, WriteError> {
        let number = self.0.next_number();
        self.0.push(&netreel_reel::Record {
            number,
            time,
            thread,
            event,
        })?;
        Ok(number)
    }
}
