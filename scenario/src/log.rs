//! What a node prints: a file that does not grow without an end, and has no secret in it.
//!
//! A node prints into a pipe, and a thread writes that down. Past the file's limit the thread keeps the last
//! of it in memory, and writes that when the node has ended: how a node ended is what people look for.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{PipeReader, PipeWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use netreel_system::{locked, pipe};

use crate::secrets::Secrets;

/// So much of what a node has printed a script sees. Bytes.
const SEEN_MAX: u64 = 1 << 20;

/// So much is kept of what comes after the limit. Bytes.
const LAST_MAX: usize = 64 << 10;

/// So much of a node's last line is told, in letters.
const LINE_MAX: usize = 200;

/// So long the thread has for what was printed before somebody asks.
const SETTLES: Duration = Duration::from_secs(1);

/// What a node prints.
pub(crate) struct Log {
    path: PathBuf,
    reader: Arc<PipeReader>,
    state: Arc<Mutex<State>>,
}

struct State {
    file: File,
    /// So many more bytes are written.
    left: u64,
    limit: u64,
    /// What may be the begin of a secret.
    unsure: Vec<u8>,
    /// The last of what came after the limit, and how much that was.
    last: VecDeque<u8>,
    beyond: u64,
    is_over: bool,
}

impl Log {
    /// A log in a new file of at most so many bytes, and a little more; whatever prints into the pipe is
    /// written there.
    ///
    /// # Errors
    /// The file cannot be made, or no pipe is left.
    pub fn begin(
        path: &Path,
        limit: u64,
        secrets: &Arc<Secrets>,
    ) -> std::io::Result<(Log, PipeWriter)> {
        let file = File::options().create(true).append(true).open(path)?;
        let (reader, writer) = std::io::pipe()?;
        let log = Log {
            path: path.to_owned(),
            reader: Arc::new(reader),
            state: Arc::new(Mutex::new(State {
                file,
                left: limit,
                limit,
                unsure: Vec::new(),
                last: VecDeque::new(),
                beyond: 0,
                is_over: false,
            })),
        };
        let (reader, state) = (Arc::clone(&log.reader), Arc::clone(&log.state));
        let secrets = Arc::clone(secrets);
        std::thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || copy(&reader, &state, &secrets))?;
        Ok((log, writer))
    }

    /// All that was printed so far, the last [`SEEN_MAX`] bytes of it.
    ///
    /// # Errors
    /// The file cannot be read, with its name.
    pub fn text(&self) -> Result<String, String> {
        let state = self.settled();
        let mut bytes = tail(&self.path, SEEN_MAX)
            .map_err(|error| format!("{}: {error}", self.path.display()))?;
        if !state.is_over {
            bytes.extend(&state.last);
            bytes.extend(&state.unsure);
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The last line, the end of it where it is long.
    pub fn last_line(&self) -> String {
        let text = self.text().unwrap_or_default();
        let line = text.lines().next_back().unwrap_or_default();
        let from = line.char_indices().rev().nth(LINE_MAX - 1);
        line[from.map_or(0, |(at, _)| at)..].to_owned()
    }

    /// The state when all is written that was printed before now.
    fn settled(&self) -> MutexGuard<'_, State> {
        let until = Instant::now() + SETTLES;
        loop {
            let state = locked(&self.state);
            // Whoever holds this holds up the only one that reads.
            let is_read = pipe::waiting(&self.reader) == 0;
            if is_read || state.is_over || Instant::now() > until {
                return state;
            }
            drop(state);
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn copy(mut reader: &PipeReader, state: &Mutex<State>, secrets: &Secrets) {
    let mut bytes = vec![0; 64 << 10];
    loop {
        pipe::wait(reader);
        let mut state = locked(state);
        match reader.read(&mut bytes) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Ok(count) if count > 0 => {
                let mut all = std::mem::take(&mut state.unsure);
                all.extend_from_slice(&bytes[..count]);
                let (hidden, unsure) = secrets.hide_bytes(&all);
                state.unsure = all.split_off(all.len() - unsure);
                state.take(&hidden);
            }
            _ => return state.end(),
        }
    }
}

impl State {
    /// A disk that is full holds up no node.
    fn take(&mut self, bytes: &[u8]) {
        let room = usize::try_from(self.left).unwrap_or(usize::MAX);
        let (now, later) = bytes.split_at(bytes.len().min(room));
        let _ = self.file.write_all(now);
        self.left -= now.len() as u64;
        if later.is_empty() {
            return;
        }
        if self.beyond == 0 {
            let limit = self.limit;
            let _ = writeln!(
                self.file,
                "\nnetreel: this log has reached its limit of {limit} bytes; the last of what follows is \
                 written when the node has ended"
            );
        }
        self.beyond += later.len() as u64;
        self.last.extend(later);
        let over = self.last.len().saturating_sub(LAST_MAX);
        self.last.drain(..over);
    }

    fn end(&mut self) {
        let unsure = std::mem::take(&mut self.unsure);
        self.take(&unsure);
        if self.beyond > 0 {
            let left_out = self.beyond - self.last.len() as u64;
            let _ = writeln!(self.file, "netreel: {left_out} bytes are left out here");
            let last: Vec<u8> = self.last.drain(..).collect();
            let _ = self.file.write_all(&last);
        }
        self.is_over = true;
    }
}

/// The last so many bytes of a file.
fn tail(file: &Path, most: u64) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(file)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}
