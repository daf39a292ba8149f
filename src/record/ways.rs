//! Which options of `netreel record` belong to which way of recording.

use crate::arguments::Record;
use crate::outcome::{Failure, Result};

/// A way of recording, as it is asked for.
const PROGRAM: &str = "`-- CMD`";
const PROXY: &str = "`--proxy`";
const LIVE: &str = "`--live`";

/// Refuses options of another way than the one that was chosen: they would do nothing.
///
/// # Errors
/// The first option that is out of place, and where it belongs.
pub fn check(arguments: &Record) -> Result {
    let (proxy, live) = (&arguments.proxy, &arguments.live);
    let chosen = match &live.interface {
        Some(_) => LIVE,
        None if !proxy.routes.is_empty() => PROXY,
        None => PROGRAM,
    };
    let options = [
        (proxy.faults.is_some(), "--faults", PROXY),
        (proxy.seed.is_some(), "--seed", PROXY),
        (proxy.clients.is_some(), "--clients", PROXY),
        (proxy.idle.is_some(), "--idle", PROXY),
        (live.capture_filter.is_some(), "--capture-filter", LIVE),
        (!live.node.is_empty(), "--node", LIVE),
        (
            arguments.program.follow_children,
            "--follow-children",
            PROGRAM,
        ),
        (arguments.program.name.is_some(), "--name", PROGRAM),
        (arguments.program.no_children, "--no-children", PROGRAM),
        (
            arguments.program.random_addresses,
            "--random-addresses",
            PROGRAM,
        ),
        (
            arguments.program.one_thread_at_a_time,
            "--one-thread-at-a-time",
            PROGRAM,
        ),
        (arguments.program.no_log, "--no-log", PROGRAM),
        (arguments.program.no_tripwire, "--no-tripwire", PROGRAM),
        (
            arguments.program.fail_on_missing,
            "--fail-on-missing",
            PROGRAM,
        ),
    ];
    for (given, option, way) in options {
        if given && way != chosen {
            return Err(Failure::new(format!(
                "{option} belongs to {way}; with {chosen} it does nothing: leave it out"
            )));
        }
    }
    if live.wire.is_some() && chosen != LIVE && arguments.ring.trigger_on_finding.is_none() {
        return Err(Failure::new(format!(
            "--wire belongs to {LIVE} and to --trigger-on-finding; with {chosen} alone it does \
             nothing: leave it out"
        )));
    }
    Ok(())
}
