//! What was found out about the reels of a session, kept beside them: so that the session opens
//! without reading them again.
//!
//! An index is the session's columns as they are in memory, and is mapped. It is of these reels as
//! they were, of one wire, and of one version of this program and its facts; whatever else is asked of it, or
//! where a byte of it is another than was written, it is refused, and the reels are read.

mod frame;
mod parts;
pub(crate) mod plain;

use std::io::{self, Write};
use std::sync::Arc;

use bytes::Bytes;
use netreel_reel::{ReadError, Reel};
use netreel_table::{Putting, Taking};
use netreel_wire::Wire;

pub use self::frame::IndexError;
use self::frame::{Framing, body};
use super::facts::parts::FACTS;
use super::parallel;
use super::read::scan::hash;
use super::read::source::wire_inside;
use super::{ReelInput, Session};
use crate::history::History;

/// What an index is of: the reels, the wire that is given, the version of this program and the facts that
/// it keeps; 128 bits of XXH3. Keys are no part of it: what was read with keys is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexKey {
    key: [u8; 16],
    /// The same for the same names of reels.
    reels: u64,
    /// The same for the same wire, version and facts, whatever the reels hold by now.
    wire: u64,
}

impl IndexKey {
    /// The key of a session of these reels. `stamps` are bytes that are others when the files are
    /// changed (their times), or when another build of this program reads them.
    ///
    /// # Errors
    /// A reel cannot be read.
    pub fn new(
        reels: &[ReelInput],
        wire: Option<&Wire>,
        stamps: &[u8],
    ) -> Result<IndexKey, ReadError> {
        let mut told = env!("CARGO_PKG_VERSION").as_bytes().to_vec();
        for list in FACTS {
            tell(&mut told, list.as_bytes());
        }
        tell(&mut told, wire.map_or("", Wire::text).as_bytes());
        let wire = hash(&told);
        let from = told.len();
        for each in reels {
            tell(&mut told, each.name.as_bytes());
        }
        let names = hash(told.get(from..).unwrap_or(&[]));
        tell(&mut told, stamps);
        for each in reels {
            each.reel.identify(|bytes| tell(&mut told, bytes));
        }
        for blocks in hashes_of_blocks(reels) {
            tell(&mut told, &blocks?);
        }
        let key = twox_hash::XxHash3_128::oneshot(&told).to_le_bytes();
        Ok(IndexKey {
            key,
            reels: names,
            wire,
        })
    }

    /// How the names of the files begin that are indexes of these reels, by whatever wire.
    pub fn family(&self) -> String {
        format!(".netreel-{:016x}-", self.reels)
    }

    /// What the index's file is called.
    pub fn file_name(&self) -> String {
        format!("{}{:016x}.index", self.family(), self.wire)
    }
}

/// The blocks of a reel are identified this many at a time.
const BLOCKS: usize = 4096;

/// What the blocks of all reels are, some blocks after the other.
fn hashes_of_blocks(reels: &[ReelInput]) -> Vec<Result<[u8; 16], ReadError>> {
    let pieces = reels.iter().flat_map(|each| {
        let stretches = parallel::stretches(each.reel.blocks(), BLOCKS);
        stretches.map(|blocks| (&each.reel, blocks))
    });
    parallel::map(
        pieces.collect(),
        parallel::processors(),
        |(reel, blocks)| {
            let mut told = Vec::new();
            reel.identify_blocks(blocks, |bytes| told.extend_from_slice(bytes))?;
            Ok(twox_hash::XxHash3_128::oneshot(&told).to_le_bytes())
        },
    )
}

/// Appends bytes with their length, so that no other bytes in a row look the same.
fn tell(told: &mut Vec<u8>, bytes: &[u8]) {
    told.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    told.extend_from_slice(bytes);
}

impl Session {
    /// Writes what was found out about the reels, which are those that it was made of, in their
    /// order: about the packets, and as far as that was asked for, what passed on links, what the
    /// wire says, and `history`, what followed from it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_index(
        &self,
        key: IndexKey,
        reels: &[Arc<Reel>],
        history: Option<&History>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut framing = Framing::new(key.key, out);
        let mut to = Putting::new(&mut framing);
        parts::put(self, reels, &mut to)?;
        // It is for who asks without bounds of their own.
        let history = history.filter(|_| self.bounds.is_default());
        match (history, &self.kept_history) {
            (Some(history), _) => history.put(&mut to)?,
            (None, Some(kept)) => framing.write_all(kept)?,
            (None, None) => {}
        }
        framing.finish()
    }

    /// The session of these reels, from the index that [`Session::write_index`] wrote.
    ///
    /// # Errors
    /// The index is not of these reels as they are, or is damaged.
    pub fn from_index(
        index: &Bytes,
        key: IndexKey,
        reels: &[ReelInput],
        wire: Option<Arc<Wire>>,
    ) -> Result<Session, IndexError> {
        let workers = parallel::processors();
        let mut taking = Taking::new(body(index, key.key, workers)?);
        let mut session = parts::take(reels, &mut taking)?;
        session.kept_history = (!taking.is_empty()).then(|| taking.rest());
        session.wire = wire.or_else(|| wire_inside(reels, &mut Vec::new()));
        session.workers = workers;
        Ok(session)
    }

    /// Whether what passed on its links was asked for, so that an index has it.
    pub fn has_traffic(&self) -> bool {
        self.traffic.get().is_some()
    }

    /// The history, where the index has it.
    pub(crate) fn kept_history(&self) -> Option<Bytes> {
        self.kept_history.clone()
    }

    /// Whether it comes from an index that has its history: asking for it takes no time.
    pub fn has_history(&self) -> bool {
        self.kept_history.is_some()
    }

    /// Whether what the wire says of its packets was asked for, so that an index has it.
    pub fn has_facts(&self) -> bool {
        self.told.get().is_some()
    }
}
