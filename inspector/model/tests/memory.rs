//! How much memory a model takes, counted at the allocator.

mod fixture;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};

use netreel_inspector_model::{Command, Model};
use netreel_protocol::history::History;

const PACKETS: usize = 400_000;

/// Counts what is allocated.
struct Counting;

static LIVE: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(bytes: isize) {
    let live = LIVE.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(live, Ordering::Relaxed);
}

// SAFETY: every call goes on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller keeps what the trait asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller keeps what the trait asks for.
        unsafe { System.dealloc(at, layout) }
    }
}

/// Bytes a packet that `work` leaves allocated, and that it takes at most.
fn measured<T>(work: impl FnOnce() -> T) -> (T, f64, f64) {
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let made = work();
    let bytes = |now: isize| (now - before) as f64 / PACKETS as f64;
    let (live, peak) = (LIVE.load(Ordering::Relaxed), PEAK.load(Ordering::Relaxed));
    (made, bytes(live), bytes(peak))
}

/// One test, so that no other one allocates meanwhile.
#[test]
fn a_packet_takes_a_few_bytes() {
    let (session, _) = fixture::long(PACKETS);
    let history: Arc<History> = Arc::default();
    let (mut model, live, peak) = measured(|| Model::new(session, history));
    println!("model: {live:.2} bytes a packet, {peak:.2} while it is made");
    for (name, bytes) in model.memory() {
        println!("    {name}: {:.2}", bytes as f64 / PACKETS as f64);
    }
    assert!(live < 1.5, "{live} bytes a packet");
    assert!(peak < 10.0, "{peak} bytes a packet while it is made");

    // A filter that takes nearly all.
    let narrow = Command::SetFilter("time > 1s".to_owned());
    let ((), live, peak) = measured(|| {
        model.apply(narrow);
        model.finish_filter();
    });
    println!("filter: {live:.2} bytes a packet, {peak:.2} while it is made");
    assert!(model.row_count() > PACKETS * 9 / 10);
    assert!(live < 9.0, "{live} bytes a packet");
    assert!(peak < 50.0, "{peak} bytes a packet while it is made");
}
