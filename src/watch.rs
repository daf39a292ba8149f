//! Recordings that are looked at again and again while they go on.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use netreel_capture::{OpenError, OpenWhy, Openings, open_session_again};
use netreel_protocol::history::History;
use netreel_protocol::session::{Growing, ReelInput, Session, SessionBuilder, SessionError};
use netreel_reel::{Ending, Reel};

use crate::open::Reels;
use crate::outcome::fail;

/// Reels below some paths. A look reads what is new of them.
pub struct Watch {
    paths: Vec<PathBuf>,
    openings: Openings,
    growing: Growing,
    /// How many events each reel had when it was last opened, and whether somebody wrote it.
    known: BTreeMap<String, (u64, bool)>,
}

/// What is there at a moment.
pub struct Now {
    pub reels: Reels,
    over: Vec<Arc<Reel>>,
    /// Whether one more is about to begin.
    is_beginning: bool,
    /// Whether anything is there that was not there before.
    pub is_new: bool,
}

impl Now {
    /// Whether no more will come of a reel: it was closed, or its recorder is gone.
    pub fn is_over(&self, reel: &Reel) -> bool {
        self.over
            .iter()
            .any(|it| std::ptr::eq(&raw const **it, reel))
    }

    /// Whether that is so of all reels.
    pub fn all_over(&self) -> bool {
        !self.is_beginning && self.over.len() == self.reels.inputs.len()
    }

    /// A look at the session that they were read as, to be shown.
    #[cfg(feature = "gui")]
    pub fn look(self, session: Session, live: bool) -> netreel_inspector::Look {
        netreel_inspector::Look {
            session: Arc::new(session),
            unread: self.reels.unread,
            live,
        }
    }

    /// The reels once more.
    fn inputs(&self) -> Vec<ReelInput> {
        let inputs = self.reels.inputs.iter();
        let again = inputs.map(|input| ReelInput {
            name: input.name.clone(),
            reel: input.reel.clone(),
        });
        again.collect()
    }
}

impl Watch {
    pub fn new(paths: Vec<PathBuf>, how: SessionBuilder) -> Watch {
        Watch {
            paths,
            openings: Openings::default(),
            growing: how.growing(),
            known: BTreeMap::new(),
        }
    }

    /// Opens what is there.
    pub fn open(&mut self) -> Result<Now, OpenError> {
        let opened = open_session_again(&self.paths, &mut self.openings)?;
        let is_beginning = opened.is_beginning();
        let mut known = BTreeMap::new();
        let mut over = Vec::new();
        for each in &opened.reels {
            let name = each.path.display().to_string();
            let now = (each.reel.len(), each.is_written);
            let is_still = !each.is_written && self.known.get(&name) == Some(&now);
            // An index that is not whole may be in the making.
            let is_closed = *each.reel.ending() == Ending::Clean;
            if is_still || is_closed {
                over.push(each.reel.clone());
            }
            known.insert(name, now);
        }
        let is_new = known != self.known;
        self.known = known;
        let reels = opened.into();
        Ok(Now {
            reels,
            over,
            is_beginning,
            is_new,
        })
    }

    /// The same; nothing yet where a recorder may be about to begin.
    pub fn open_in_time(&mut self) -> crate::outcome::Result<Option<Now>> {
        use netreel_reel::OpenError::{Empty, HeaderCut};
        let error = match self.open() {
            Ok(now) => return Ok(Some(now)),
            Err(error) => error,
        };
        let in_time = match &error.why {
            OpenWhy::NoReels | OpenWhy::Reel(Empty | HeaderCut { .. }) => true,
            OpenWhy::Io(_) => false,
            _ => self.paths.iter().any(|path| path.is_dir()),
        };
        if in_time { Ok(None) } else { fail(error) }
    }

    /// The session and its history, as far as they have come.
    pub fn look(&mut self, now: &Now) -> Result<(Session, History), SessionError> {
        let session = self.session(now)?;
        let history = History::build(&session);
        Ok((session, history))
    }

    /// The session alone.
    pub fn session(&mut self, now: &Now) -> Result<Session, SessionError> {
        self.growing.look(now.inputs())
    }

    /// The same fold, for whoever makes the story of the last reels.
    pub fn growing(&mut self) -> &mut Growing {
        &mut self.growing
    }
}

/// When the next look is due: looks cost a share of a processor at most.
pub struct Pace {
    least: Duration,
    due: Instant,
}

/// After a look there is a pause of this many times what it took: looks cost a tenth of a processor.
const PAUSES: u32 = 9;

impl Pace {
    /// Between two looks there is at least this.
    pub fn new(least: Duration) -> Pace {
        let due = Instant::now();
        Pace { least, due }
    }

    /// Whether it is time for a look.
    pub fn is_due(&self) -> bool {
        Instant::now() >= self.due
    }

    /// Takes note of a look that began then and has just ended.
    pub fn looked(&mut self, begun: Instant) {
        let pause = self.least.max(begun.elapsed() * PAUSES);
        self.due = Instant::now() + pause;
    }

    /// How long it is until the next look.
    pub fn pause(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::Write;

    use super::*;

    #[test]
    fn a_reel_is_over_when_it_is_whole_or_nobody_writes_it() {
        let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/sessions/host");
        let folder = tempfile::tempdir().unwrap();
        let bytes = fs::read(format!("{samples}/X.reel")).unwrap();
        fs::copy(format!("{samples}/A.reel"), folder.path().join("A.reel")).unwrap();
        let mut file = File::create(folder.path().join("X.reel")).unwrap();
        file.lock().unwrap();
        let mut watch = Watch::new(vec![folder.path().to_owned()], Session::builder());
        let mut written = 0;
        // Nothing, a part of the header, blocks, a part of the index; asked twice each, as a reel
        // that stands still and is not locked is over.
        for until in [0, 10, bytes.len() / 2, bytes.len() - 30, bytes.len() - 1] {
            file.write_all(&bytes[written..until]).unwrap();
            written = until;
            assert!(!watch.open().unwrap().all_over(), "{until}");
            assert!(!watch.open().unwrap().all_over(), "{until}");
        }
        file.write_all(&bytes[written..]).unwrap();
        assert!(watch.open().unwrap().all_over());
        let half = File::options()
            .write(true)
            .open(folder.path().join("X.reel"));
        half.unwrap().set_len(bytes.len() as u64 / 2).unwrap();
        file.unlock().unwrap();
        watch.open().unwrap();
        assert!(
            watch.open().unwrap().all_over(),
            "cut, and nobody writes it"
        );
    }
}
