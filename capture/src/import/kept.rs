//! The bytes of a reel that nobody asked for by name: a few in memory, many in a file without a name.

use std::fs::File;
use std::io::{Read, Seek, Write};

use netreel_reel::{Append, AppendError, OpenError, Reel};

use netreel_record::FileSource;
use netreel_system::aside::without_name;
use netreel_system::file::within_limit;

/// How many stay in memory.
const IN_MEMORY: usize = 64 << 20;

/// See the module.
#[derive(Debug)]
pub(super) struct Kept {
    memory: Vec<u8>,
    /// What was in memory before, and how much that is.
    file: Option<(File, u64)>,
    in_memory: usize,
}

impl Default for Kept {
    fn default() -> Kept {
        Kept::with_in_memory(IN_MEMORY)
    }
}

impl Kept {
    fn with_in_memory(in_memory: usize) -> Kept {
        Kept {
            memory: Vec::new(),
            file: None,
            in_memory,
        }
    }

    /// The reel.
    ///
    /// # Errors
    /// It does not open.
    pub fn open(mut self) -> Result<Reel, OpenError> {
        self.write_out();
        match self.file {
            Some((file, _)) if self.memory.is_empty() => {
                Reel::open(std::sync::Arc::new(FileSource::new(file)))
            }
            _ => Reel::from_bytes(self.memory),
        }
    }

    /// Puts what is in memory into the file. Where that cannot be, all stays in memory, for good.
    fn write_out(&mut self) {
        if self.memory.len() <= self.in_memory && self.file.is_none() {
            return;
        }
        let (mut file, length) = match self.file.take() {
            Some(known) => known,
            None => match without_name() {
                Ok(file) => (file, 0),
                Err(_) => return self.in_memory = usize::MAX,
            },
        };
        let end = length.saturating_add(self.memory.len() as u64);
        match within_limit(end).and_then(|()| file.write_all(&self.memory)) {
            Ok(()) => {
                self.memory.clear();
                self.file = Some((file, end));
            }
            // The disk is full.
            Err(_) => self.take_back(file, length),
        }
    }

    /// Puts the first `length` bytes of the file before what is in memory.
    fn take_back(&mut self, mut file: File, length: u64) {
        let mut all = Vec::new();
        let read = file
            .rewind()
            .and_then(|()| file.take(length).read_to_end(&mut all));
        if read.is_err() {
            // What was written a moment ago cannot be read: the reel ends damaged, and says so.
            all.resize(length as usize, 0);
        }
        all.append(&mut self.memory);
        self.memory = all;
        self.in_memory = usize::MAX;
    }
}

impl Append for &mut Kept {
    fn append(&mut self, bytes: &[u8]) -> Result<(), AppendError> {
        self.memory.extend_from_slice(bytes);
        if self.memory.len() > self.in_memory {
            self.write_out();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    fn appended(mut kept: Kept, pieces: &[&[u8]]) -> Kept {
        for piece in pieces {
            Append::append(&mut &mut kept, piece).expect("memory or a file");
        }
        kept
    }

    #[test]
    fn many_bytes_are_in_a_file_and_few_in_memory() {
        let few = appended(Kept::with_in_memory(8), &[b"four", b"four"]);
        assert!(few.file.is_none() && few.memory == b"fourfour");
        let many = appended(Kept::with_in_memory(8), &[b"four", b"fiver", b"six"]);
        let (mut file, _) = many.file.expect("a file");
        file.rewind().expect("its start");
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).expect("its bytes");
        assert_eq!(
            (bytes, many.memory),
            (b"fourfiver".to_vec(), b"six".to_vec())
        );
    }

    #[test]
    fn what_a_full_disk_does_not_take_stays_in_memory() {
        let mut kept = appended(Kept::with_in_memory(8), &[b"four", b"fiver"]);
        // Like a full disk, it takes no more.
        let (file, length) = kept.file.take().expect("a file");
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        kept.file = Some((File::open(path).expect("the same file, to be read"), length));
        let kept = appended(kept, &[b"seven-eight", b"nine"]);
        assert!(kept.file.is_none());
        assert_eq!(kept.memory, b"fourfiverseven-eightnine");
    }
}
