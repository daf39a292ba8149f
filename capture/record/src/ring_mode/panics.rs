//! A panic that pulls triggers.

use std::panic::PanicHookInfo;
use std::time::Duration;

use netreel_reel::TriggerCause;

use super::Triggers;

/// How long a panicking thread waits for its window: the process may be about to abort.
const PATIENCE: Duration = Duration::from_millis(1000);

/// From now on a panic of any thread pulls `triggers`, with what it said and where; then the hook
/// that was there before runs. The panicking thread waits until the window is kept, at most a
/// second, because the process may be about to end. A window that was not kept by then is still
/// among the parts of the recording itself, which nothing deletes once the process is gone.
pub fn trigger_on_panic(triggers: &Triggers) {
    let triggers = triggers.clone();
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        // A writing thread that panics has nobody to keep the window for it.
        let ours = std::thread::current().name() == Some("netreel");
        let patience = if ours { Duration::ZERO } else { PATIENCE };
        triggers.pull_and_wait(TriggerCause::PANIC, &sentence(info), patience);
        before(info);
    }));
}

fn sentence(info: &PanicHookInfo<'_>) -> String {
    let what = info.payload_as_str().unwrap_or("a panic");
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("unnamed");
    match info.location() {
        Some(place) => format!("thread {thread} panicked at {place}: {what}"),
        None => format!("thread {thread} panicked: {what}"),
    }
}
