//! Recording into memory: no thread, no file, the same to the byte every time.

use std::sync::{Arc, Mutex};

use netreel_reel::{Header, WriteError};
use netreel_system::locked;

use crate::memory_reel::MemoryReel;
use crate::pusher::Pusher;

/// Records into memory, for simulated worlds and tests. Clones record into the same reel.
#[derive(Clone, Debug)]
pub struct MemoryRecorder {
    reel: Arc<Mutex<MemoryReel>>,
}

impl MemoryRecorder {
    /// Starts a reel. Fails where the header is larger than a reel holds (16 MiB).
    pub fn create(header: &Header) -> Result<MemoryRecorder, WriteError> {
        Ok(MemoryRecorder {
            reel: Arc::new(Mutex::new(MemoryReel::create(header)?)),
        })
    }

    /// A pusher with a thread number of its own.
    pub fn pusher(&self) -> Pusher {
        let thread = locked(&self.reel).open_thread();
        Pusher::into_memory(self.reel.clone(), thread)
    }

    /// Ends the reel and returns its bytes. Pushers that still live record nothing any more.
    /// A second call returns no bytes.
    pub fn finish(&self) -> Vec<u8> {
        locked(&self.reel).finish()
    }
}
