//! The index of a session, kept beside its reels: who opens them again need not read them again.

use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use netreel_capture::{IndexFile, is_recorded, reel_files};
use netreel_protocol::history::History;
use netreel_protocol::session::{IndexKey, ReelInput, Session};
use netreel_reel::Reel;
use netreel_wire::Wire;

/// Sessions of fewer packets open faster than anybody notices, and have none.
const PACKETS_MIN: u64 = 100_000;

/// Where the index of a session is, and what is in it so far.
pub struct Index {
    file: IndexFile,
    key: IndexKey,
    reels: Vec<Arc<Reel>>,
    /// How much of what can be found out it has.
    kept: u8,
}

impl Index {
    /// The index of these reels; `None` where there is to be none: of few packets, or while they are
    /// recorded.
    pub fn new(inputs: &[ReelInput], wire: Option<&Wire>) -> Option<Index> {
        let packets = inputs.iter().map(|each| each.reel.totals().packets());
        if packets.sum::<u64>() < PACKETS_MIN {
            return None;
        }
        // Another build may read the same bytes otherwise.
        let mut files = vec![std::env::current_exe().ok()?];
        for each in inputs {
            files.extend(reel_files(&each.name).ok()?);
        }
        let mut stamps = Vec::new();
        for file in files {
            if is_recorded(&file) {
                return None;
            }
            let changed = std::fs::metadata(&file).and_then(|it| it.modified()).ok()?;
            let since = changed.duration_since(UNIX_EPOCH).unwrap_or_default();
            stamps.extend_from_slice(&since.as_nanos().to_le_bytes());
        }
        // However the paths were spelt.
        let named = inputs.iter().map(|each| ReelInput {
            name: whole(&each.name),
            reel: Arc::clone(&each.reel),
        });
        let key = IndexKey::new(&named.collect::<Vec<_>>(), wire, &stamps).ok()?;
        let first = inputs.first()?;
        Some(Index {
            file: IndexFile::new(Path::new(&first.name), &key.family(), &key.file_name()),
            key,
            reels: inputs.iter().map(|each| each.reel.clone()).collect(),
            kept: 0,
        })
    }

    /// The session as the index has it. `None` where there is no index, or one that is of something
    /// else or damaged: the reels are read, and it is written anew.
    pub fn open(&mut self, inputs: &[ReelInput], wire: Option<Arc<Wire>>) -> Option<Session> {
        let bytes = self.file.map()?;
        let session = Session::from_index(&bytes, self.key, inputs, wire).ok()?;
        self.kept = known(&session, session.has_history());
        Some(session)
    }

    /// Writes the index, if the session knows more by now than is in it. Where it cannot be
    /// written that is said, and nothing else changes.
    pub fn keep(&mut self, session: &Session, history: Option<&History>) {
        let known = known(session, session.has_history() || history.is_some());
        if known <= self.kept {
            return;
        }
        self.kept = known;
        let write =
            |out: &mut dyn std::io::Write| session.write_index(self.key, &self.reels, history, out);
        if let Err(error) = self.file.write(write) {
            anstream::eprintln!(
                "netreel: the index of these reels could not be kept ({error}): they will be read \
                 again; --no-index says nothing of it"
            );
        }
    }
}

/// A path from the root on, where there is such a file.
fn whole(name: &str) -> String {
    let path = std::fs::canonicalize(name);
    path.map_or_else(|_| name.to_owned(), |path| path.display().to_string())
}

/// How much of what can be found out was found out.
fn known(session: &Session, has_history: bool) -> u8 {
    let [traffic, facts] = [session.has_traffic(), session.has_facts()].map(u8::from);
    1 + traffic + 2 * facts + 4 * u8::from(has_history)
}
