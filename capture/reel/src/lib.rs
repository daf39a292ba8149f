//! The ground floor: ids, time, endpoints, events, and the reel format over [`ReadAt`].
//!
//! A *reel* is the recording of one node: a total order of everything that crossed the boundary
//! of its network layer. This crate knows how a reel is written in bytes and read back; it makes
//! no system call, so that everything above it can be tested without a disk.
//!
//! A reel is written event by event, and read back from any bytes, whole or cut:
//!
//! ```
//! use netreel_reel::{Event, EventNumber, Header, Record, Reel, ReelWriter, ThreadId, Time};
//!
//! let mut writer = ReelWriter::create(Vec::new(), &Header::default())?;
//! writer.push(&Record {
//!     number: EventNumber(0),
//!     time: Time(1_000_000), // nanoseconds on the node's clock
//!     thread: ThreadId(0),
//!     event: Event::Note { text: b"the match begins" },
//! })?;
//! let reel = Reel::from_bytes(writer.finish()?)?;
//! assert_eq!(reel.len(), 1);
//! reel.for_each(|record| println!("{:?} {:?}", record.time, record.event));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Why it is so: `docs/decisions/recording.md`.

mod believed;
mod compress;
mod decode;
mod encode;
mod ending;
mod event;
mod fault;
mod field;
mod found;
mod frame;
mod header;
mod id;
mod index;
mod join;
mod meta;
mod open;
mod os_code;
mod part;
mod plain;
mod process_end;
mod read_at;
mod recover;
mod redacted;
mod reel;
mod scan;
mod start;
mod stored;
mod tag;
mod tail;
mod time;
mod trigger;
mod varint;
mod writer;

pub use believed::{
    BELIEF_LINE, Believed, SaidNumber, SaidValue, said_value, say_numbers, say_text,
};
pub use decode::{BlockProblem, Records};
pub use ending::{CutWhy, Damage, Ending, Gap, GapWhy, LIMIT_NOTE, Recovery, RingError};
pub use event::{Event, Record};
pub use fault::FaultVerdict;
pub use field::PlainHead;
pub use found::{FoundAs, FoundFile, found_files, found_path};
pub use frame::{EVENT_MAX, VERSION, block_frame, compressed_frame};
pub use header::{ClockAnchor, Header, WireText};
pub use id::{Endpoint, EventNumber, SocketId, ThreadId};
pub use index::{BlockInfo, Totals};
pub use join::Opening;
pub use netreel_shared::body::{EventKind, SendOutcome};
pub use netreel_shared::call::{CallId, ClockId, PastId, StartId, is_terminal};
pub use netreel_shared::{bell, ring, tape};
pub use os_code::{os_code_words, says_nobody_listens};
pub use part::{MissingParts, OpenedPart, Part};
pub use plain::{OwnedRecord, PlainError, plain_parts, plain_read};
pub use process_end::{EndHint, ProcessEnd};
pub use read_at::{ReadAt, ReadError, Until};
pub use redacted::{Redacted, Removed};
pub use reel::{Block, BlockError, Reel, Walk};
pub use start::{OpenError, Start};
pub use tail::{Tail, TailState};
pub use time::{Duration, Time};
pub use trigger::{Trigger, TriggerCause};
pub use writer::{Append, AppendError, ReelWriter, WriteError};
