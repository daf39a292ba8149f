//! Does what was decided about files, on a thread of its own.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use super::{Action, KeptWindow, Requests, TriggerNews, Triggers};

/// The thread, and what it is told.
pub(crate) struct Keeper {
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

enum Order {
    Do(Vec<Action>),
    /// So many requests are dealt with once what was ordered before is done.
    Done(usize),
}

impl Keeper {
    /// `folder` is where the recording is.
    pub(crate) fn start(
        folder: PathBuf,
        triggers: Triggers,
        requests: Arc<Requests>,
    ) -> io::Result<Keeper> {
        let (orders, receiver) = channel();
        let mut files = Files {
            folder,
            triggers,
            kept: BTreeMap::new(),
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

    pub(crate) fn order(&self, actions: Vec<Action>) {
        if !actions.is_empty() {
            self.tell(Order::Do(actions));
        }
    }

    pub(crate) fn done(&self, requests: usize) {
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
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    kept: usize,
    failed: usize,
}

impl Files {
    fn act(&mut self, action: Action) {
        match action {
            Action::Keep { window, part } => self.keep(window, &part),
            Action::Delete(part) => {
                // It may be gone already: somebody tidied up.
                let _ = fs::remove_file(part);
            }
            Action::Rename { from, to, parts } => self.rename(&from, to, &parts),
            Action::Opened { window } => {
                let parts = self.kept.entry(window.clone()).or_default().kept;
                let folder = self.folder.join(window);
                self.triggers
                    .tell(TriggerNews::Kept(KeptWindow { folder, parts }));
            }
            Action::Joined { window, id } => {
                let folder = self.folder.join(window);
                self.triggers.tell(TriggerNews::Joined { folder, id });
            }
            Action::Closed { window } => {
                self.kept.remove(&window);
                let folder = self.folder.join(window);
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
        match kept {
            Ok(()) => self.kept.entry(window).or_default().kept += 1,
            Err(error) => {
                let sentence = format!("{}: cannot be kept: {error}", to.display());
                self.triggers.tell(TriggerNews::Failed(sentence));
            }
        }
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
                    let sentence = format!("{}: cannot be kept: {error}", there.display());
                    self.triggers.tell(TriggerNews::Failed(sentence));
                }
            }
        }
        let count = self.kept.remove(from).unwrap_or_default();
        let all = self.kept.entry(to).or_default();
        all.kept += count.kept;
        all.failed += count.failed;
        // Fails where another recording still has parts in it.
        let _ = fs::remove_dir(&old);
        let from = old;
        self.triggers
            .tell(TriggerNews::Renamed { from, to: folder });
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
            fs::copy(from, &copying)?;
            fs::rename(copying, to)
        }
    }
}
