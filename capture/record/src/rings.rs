//! The mapped ring file: memory that outlives the process.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use memmap2::{MmapMut, MmapOptions};
use netreel_reel::ring::{
    RING_MAGIC, RING_PAGE, RING_VERSION, RingControl, RingFixed, RingGate, RingHead, RingMemory,
};
use netreel_system::file::within_limit;
use netreel_system::memory::{make_writable, own_page};
use netreel_transport::{BellRef, Gate, GateRef};

/// No ring file is longer, so that a reader can refuse one that is.
pub(crate) const RINGS_MAX: u64 = 4 << 30;

/// How much storage a ring begins with that grows: what a program that says little never fills.
pub(crate) const RING_BEGINS: usize = 512 << 10;

/// A ring gets more storage as soon as less than this many times what was pushed into it is there.
const BACKED_TIMES: u64 = 4;

/// How much it gets where the disk had no room for what it was to get.
const BACKED_STEP: u64 = 64 << 10;
/// How long after that it is tried again.
const BACKED_AGAIN: Duration = Duration::from_millis(200);

/// The ring file of one recorder.
pub(crate) struct RingFile {
    file: Arc<File>,
    capacity: usize,
    /// How much storage a ring has at first.
    begins: usize,
    control: Arc<MmapMut>,
    gate: GateRef,
    bell: BellRef,
    pushed_by: PushedBy,
    rings: Vec<Arc<MappedRing>>,
}

/// Who pushes into a ring file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PushedBy {
    /// The process that made it.
    This,
    /// Another one, which has it mapped as well.
    Another,
}

/// One ring of the file.
pub(crate) struct MappedRing {
    map: MmapMut,
    /// The file, and where the ring's data begins in it.
    file: Arc<File>,
    offset: usize,
    /// Keeps the control page mapped, which the ring's users use as well.
    control: Arc<MmapMut>,
    gate: GateRef,
    bell: BellRef,
    pushed_by: PushedBy,
    capacity: usize,
}

impl RingFile {
    /// Makes the file with one ring in it. `capacity` is a multiple of a page; `begins`: of which
    /// this many bytes have storage at first.
    pub fn create(
        path: &Path,
        (capacity, begins): (usize, usize),
        identity: u64,
        (pushed_by, bell): (PushedBy, BellRef),
    ) -> io::Result<RingFile> {
        // A ring file without its reel, or of a reel that is being replaced, is of no use. It is
        // not cut short: another recorder that still has it mapped would share it, or be killed.
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = File::options();
        let file = options.read(true).write(true).create_new(true).open(path)?;
        preallocate(&file, 0, RING_PAGE)?;
        let mut control = map(&file, 0, RING_PAGE)?;
        let fixed = RingFixed {
            magic: RING_MAGIC,
            version: RING_VERSION,
            capacity: u32::try_from(capacity).unwrap_or(u32::MAX),
            identity,
        };
        // SAFETY: the page is mapped for writing, larger than the value, aligned to a page, and
        // nobody else knows of it yet.
        unsafe {
            let place = control.as_mut_ptr().cast::<RingControl>();
            place.write(RingControl {
                fixed: netreel_reel::ring::Line(fixed),
                ..Default::default()
            });
        }
        let control = Arc::new(control);
        let gate = match pushed_by {
            PushedBy::This => gate()?,
            PushedBy::Another => shared_gate(&control),
        };
        let mut ring_file = RingFile {
            file: Arc::new(file),
            capacity,
            begins: begins.min(capacity),
            control,
            gate,
            bell,
            pushed_by,
            rings: Vec::new(),
        };
        ring_file.grow()?;
        Ok(ring_file)
    }

    pub fn gate(&self) -> &GateRef {
        &self.gate
    }

    pub fn control(&self) -> &RingControl {
        // SAFETY: `create` wrote one there, and the page stays mapped with `self.control`.
        unsafe { &*self.control.as_ptr().cast() }
    }

    pub fn rings(&self) -> &[Arc<MappedRing>] {
        &self.rings
    }

    /// The right to push into a ring that nobody pushes to and that is empty.
    pub fn lease(&self) -> Option<Lease> {
        let idle = self.rings.iter().find(|ring| ring.head().try_lease());
        idle.map(|ring| Lease(ring.clone()))
    }

    /// A second descriptor of the file, and the length of each ring's data.
    pub fn share(&self) -> io::Result<(File, usize)> {
        Ok((self.file.try_clone()?, self.capacity))
    }

    /// Adds a ring to the file, which may grow to [`RINGS_MAX`].
    pub fn grow(&mut self) -> io::Result<&Arc<MappedRing>> {
        let length = RING_PAGE + self.capacity;
        let offset = RING_PAGE + self.rings.len() * length;
        if (offset + length) as u64 > RINGS_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        preallocate(&self.file, offset, RING_PAGE + self.begins)?;
        let grows = self.begins < self.capacity;
        if grows {
            within_limit((offset + length) as u64)?;
            self.file.set_len((offset + length) as u64)?;
        }
        let map = map(&self.file, offset, length)?;
        let ring = MappedRing {
            map,
            file: self.file.clone(),
            offset: offset + RING_PAGE,
            control: self.control.clone(),
            gate: self.gate.clone(),
            bell: self.bell,
            pushed_by: self.pushed_by,
            capacity: self.capacity,
        };
        if grows {
            let backed = &ring.head().backed.0;
            backed.store(self.begins as u64, Ordering::Release);
        }
        ring.prepare(0, self.capacity as u64);
        self.rings.push(Arc::new(ring));
        self.rings
            .last()
            .ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }
}

impl MappedRing {
    pub fn head(&self) -> &RingHead {
        // SAFETY: the page is mapped as long as `self.map` lives; zeros are a valid head.
        unsafe { &*self.map.as_ptr().cast() }
    }

    /// Where the ring is. Valid for as long as `self` lives.
    pub fn memory(&self) -> RingMemory {
        let head = self.map.as_ptr();
        RingMemory {
            control: self.control.as_ptr().cast(),
            head: head.cast(),
            // SAFETY: the mapping is a page and the data behind it.
            data: unsafe { head.cast_mut().add(RING_PAGE) },
            capacity: self.capacity,
        }
    }

    pub fn gate(&self) -> &GateRef {
        &self.gate
    }

    /// Gives the ring more storage where what was pushed comes near the end of what it has, or a
    /// push asks for more. `again` is kept between calls: when it is tried again, where the disk had
    /// no room.
    ///
    /// # Errors
    /// The disk has no room for what a push waits for. What is given ahead of need may wait.
    pub fn back(&self, again: &mut Option<Instant>) -> io::Result<()> {
        let head = self.head();
        let backed = head.backed.0.load(Ordering::Relaxed);
        let pushed = head.tail.0.load(Ordering::Acquire);
        let asked = head.wanted.0.load(Ordering::Relaxed);
        let wanted = asked.max(pushed.saturating_mul(BACKED_TIMES));
        if backed == 0 || wanted <= backed {
            return Ok(());
        }
        let (capacity, needed) = (self.capacity as u64, asked > backed);
        let is_early = again.is_some_and(|again| Instant::now() < again);
        if !needed && is_early {
            return Ok(());
        }
        let to = match again {
            None => wanted.checked_next_power_of_two().unwrap_or(capacity),
            Some(_) => asked.max(backed + 1).next_multiple_of(BACKED_STEP),
        };
        let to = to.min(capacity);
        let at = self.offset + backed as usize;
        match preallocate(&self.file, at, (to - backed) as usize) {
            Ok(()) => {
                *again = None;
                let to = if to == capacity { 0 } else { to };
                head.backed.0.store(to, Ordering::Release);
                Ok(())
            }
            // The least of what is needed may be there.
            Err(_) if needed && again.is_none() => {
                *again = Some(Instant::now());
                self.back(again)
            }
            Err(error) => {
                *again = Some(Instant::now() + BACKED_AGAIN);
                if needed { Err(error) } else { Ok(()) }
            }
        }
    }

    /// The most room that it takes in the file, in bytes.
    pub fn length(&self) -> u64 {
        (RING_PAGE + self.capacity) as u64
    }

    /// Wakes the thread that empties it.
    pub fn bell(&self) -> BellRef {
        self.bell
    }

    /// Makes the pages of the data behind byte `from` (of all that were ever published) writable, so
    /// that the recorded thread does not meet a page fault there: the kernel takes the right to
    /// write from a page of a file whenever it has written it to the disk. Where the kernel is
    /// older than this call (5.14), the thread meets it.
    ///
    /// What another process pushes into is left to it: the right to write is each process's own, and
    /// pages that nobody has used take no memory.
    pub fn prepare(&self, from: u64, length: u64) {
        if self.pushed_by == PushedBy::Another {
            return;
        }
        let (capacity, page) = (self.capacity as u64, RING_PAGE as u64);
        let mut at = from % capacity / page * page;
        let mut left = length.min(capacity).next_multiple_of(page);
        while left > 0 {
            let part = left.min(capacity - at);
            // SAFETY: the range lies inside the mapping, and the advice changes no byte of it.
            unsafe {
                let place = self.map.as_ptr().add(RING_PAGE + at as usize);
                make_writable(place.cast_mut(), part as usize);
            }
            left -= part;
            at = 0;
        }
    }

    /// Whether a pusher has it.
    pub fn is_leased(&self) -> bool {
        self.head().is_leased()
    }
}

/// The right to push into a ring; there is one at a time.
pub(crate) struct Lease(Arc<MappedRing>);

impl Lease {
    pub fn ring(&self) -> &Arc<MappedRing> {
        &self.0
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // A forked child has a copy of its parent's lease, in memory that both share.
        if self.0.gate.is_home() {
            self.0.head().release();
            // What is still in it has to be written before another thread may have it.
            if !self.0.head().is_empty() {
                self.0.bell.ring();
            }
        }
    }
}

/// Backs a part of the file with storage. A mapping without it is a SIGBUS inside the recorded
/// program when the disk is full.
fn preallocate(file: &File, offset: usize, length: usize) -> io::Result<()> {
    within_limit((offset + length) as u64)?;
    netreel_system::file::allocate(file, offset as u64, length as u64)
}

fn map(file: &File, offset: usize, length: usize) -> io::Result<MmapMut> {
    let mut options = MmapOptions::new();
    options.offset(offset as u64).len(length);
    // SAFETY: the file is the recorder's own; whoever truncates it under a running recorder
    // kills the program, as with every mapped file.
    unsafe { options.map_mut(file) }
}

/// The gate in the control page, for pushers in another process. A forked child of that process
/// notices by itself.
fn shared_gate(control: &Arc<MmapMut>) -> GateRef {
    const {
        assert!(size_of::<Gate>() == size_of::<RingGate>());
        assert!(std::mem::offset_of!(RingControl, gate) == 256);
    }
    // SAFETY: `create` wrote a control page there. A `Gate` has the layout of a `RingGate`, of
    // atomics in the same order, and the `Arc` keeps the page mapped.
    unsafe {
        let place = &raw const (*control.as_ptr().cast::<RingControl>()).gate.0;
        place.cast_mut().cast::<Gate>().write(Gate::default());
        GateRef::new(place.cast::<Gate>(), control.clone())
    }
}

/// A gate in a page that a forked child finds empty.
fn gate() -> io::Result<GateRef> {
    let mut page = own_page(RING_PAGE)?;
    let gate = page.as_mut_ptr().cast::<Gate>();
    // SAFETY: the page is large and aligned enough, and nobody else knows of it yet.
    unsafe { gate.write(Gate::default()) };
    // SAFETY: the gate lies in the mapping, which does not move and lives as long as the `Arc`.
    Ok(unsafe { GateRef::new(gate, Arc::new(page)) })
}
