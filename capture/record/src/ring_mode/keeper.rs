//! Does what was decided about files, on a thread of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::{fs, io};

use super::{Action, KeptWindow, Requests, TriggerNews, Triggers};

/// The thread, and what it is told.
pub(crate) struct Keeper {
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

enum Order {
    Do(Vec<Action>),
    /// How many requests are dealt with once what was ordered before is done.
    Done(usize),
}

impl Keeper {
    /// `folder` is where the recording is.
    pub fn start(
        folder: PathBuf,
        triggers: Triggers,
        requests: Arc<Requests>,
    ) -> io::Result<Keeper> {
        let (orders, receiver) = channel();
        let mut files = Files {
            folder,
            triggers,
            kept: BTreeMap::new(),
            pending: BTreeMap::new(),
        };
        let run = move || {
            let receiver: Receiver<Order> = receiver;
            for order in receiver {
                match order {
                    Order::Do(actions) => actions.into_iter().for_each(|it| files.act(it)),
                    Order::Done(count) => requests.done(count),
                }
            }
        };
        let thread = std::thread::Builder::new().name("netreel keeper".to_owned());
        let thread = thread.spawn(run)?;
        Ok(Keeper {
            orders: Some(orders),
            thread: Some(thread),
        })
    }

    pub fn order(&self, actions: Vec<Action>) {
        if !actions.is_empty() {
            self.tell(Order::Do(actions));
        }
    }

    pub fn done(&self, requests: usize) {
        if requests > 0 {
            self.tell(Order::Done(requests));
        }
    }

    fn tell(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // The thread lives as long as this.
            let _ = orders.send(order);
        }
    }
}

impl Drop for Keeper {
    /// Waits until all that was ordered is done.
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Files {
    folder: PathBuf,
    triggers: Triggers,
    /// What became of the parts of each window, as long as the window is open.
    kept: BTreeMap<String, Count>,
    /// Parts that could not be kept, and the windows that lack them: as long as a part is there, it
    /// may still be kept.
    pending: BTreeMap<PathBuf, BTreeSet<String>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    kept: usize,
    /// What could not be kept, and is still not.
    lacks: usize,
}

impl Files {
    fn act(&mut self, action: Action) {
        match action {
            Action::Keep { window, part } => self.keep(window, &part),
            Action::Delete(part) => self.delete(&part),
            Action::Rename { from, to, parts } => self.rename(&from, to, &parts),
            Action::Opened { window } => {
                let count = *self.kept.entry(window.clone()).or_default();
                let folder = self.folder.join(window);
                self.triggers.tell(match count {
                    Count { kept: 0, lacks } if lacks > 0 => TriggerNews::Failed(format!(
                        "{}: nothing of this window could be kept so far; what the recording has \
                         of it is beside it",
                        folder.display()
                    )),
                    Count { kept, lacks } => TriggerNews::Kept(KeptWindow {
                        folder,
                        parts: kept,
                        lacks,
                    }),
                });
            }
            Action::Joined { window, id } => {
                let folder = self.folder.join(window);
                self.triggers.tell(TriggerNews::Joined { folder, id });
            }
            Action::Closed { window } => {
                let count = self.kept.remove(&window).unwrap_or_default();
                let folder = self.folder.join(window);
                if count.lacks > 0 {
                    self.failed(format!(
                        "{}: this window lacks {} of its {} parts, which could not be kept",
                        folder.display(),
                        count.lacks,
                        count.lacks + count.kept
                    ));
                }
                self.triggers.tell(TriggerNews::Closed { folder });
            }
            Action::Refuse(why) => self.triggers.tell(TriggerNews::Refused(why)),
        }
    }

    fn keep(&mut self, window: String, part: &Path) {
        let folder = self.folder.join(&window);
        let Some(name) = part.file_name() else { return };
        let to = folder.join(name);
        let kept = fs::create_dir_all(&folder).and_then(|()| second_name(part, &to));
        let count = self.kept.entry(window.clone()).or_default();
        match kept {
            Ok(()) => count.kept += 1,
            Err(error) => {
                count.lacks += 1;
                if count.lacks == 1 {
                    let to = to.display();
                    self.failed(format!(
                        "{to}: cannot be kept: {error}; make room on the disk"
                    ));
                }
                let lacking = self.pending.entry(part.to_owned()).or_default();
                lacking.insert(window);
            }
        }
    }

    /// What a window lacks is moved into it instead: that takes less room than a second name.
    fn delete(&mut self, part: &Path) {
        for window in self.pending.remove(part).unwrap_or_default() {
            let folder = self.folder.join(&window);
            let Some(name) = part.file_name() else { return };
            let made = fs::create_dir_all(&folder);
            if made
                .and_then(|()| fs::rename(part, folder.join(name)))
                .is_ok()
            {
                if let Some(count) = self.kept.get_mut(&window) {
                    count.lacks = count.lacks.saturating_sub(1);
                    count.kept += 1;
                }
                return;
            }
        }
        // It may be gone already: somebody tidied up.
        let _ = fs::remove_file(part);
    }

    /// Another recording may have parts in the same folder: only one's own are moved.
    fn rename(&mut self, from: &str, to: String, parts: &[PathBuf]) {
        let (old, folder) = (self.folder.join(from), self.folder.join(&to));
        if old.exists() {
            let _ = fs::create_dir_all(&folder);
        }
        for name in parts.iter().filter_map(|part| part.file_name()) {
            let (here, there) = (old.join(name), folder.join(name));
            match fs::rename(&here, &there) {
                // Where both are names of the same bytes, the old one is left.
                Ok(()) => drop(fs::remove_file(&here)),
                // It could not be kept, which was told.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    self.failed(format!("{}: cannot be kept: {error}", there.display()));
                }
            }
        }
        let count = self.kept.remove(from).unwrap_or_default();
        let all = self.kept.entry(to.clone()).or_default();
        all.kept += count.kept;
        all.lacks += count.lacks;
        for windows in self.pending.values_mut() {
            if windows.remove(from) {
                windows.insert(to.clone());
            }
        }
        // Fails where another recording still has parts in it.
        let _ = fs::remove_dir(&old);
        let (from, to) = (old, folder);
        self.triggers.tell(TriggerNews::Renamed { from, to });
    }

    fn failed(&self, sentence: String) {
        self.triggers.tell(TriggerNews::Failed(sentence));
    }
}

/// A second name for the file's bytes; a copy where the file system has no second names.
fn second_name(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => Ok(()),
        // A window of two recordings with equal names, or the same request twice.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(_) => {
            let copying = to.with_extension("copying");
            let copied = fs::copy(from, &copying).and_then(|_| fs::rename(&copying, to));
            if copied.is_err() {
                // A full disk is no place for half a part.
                let _ = fs::remove_file(&copying);
            }
            copied
        }
    }
}
