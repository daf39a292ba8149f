//! Signals that the command sends to a program that waits for one where no hook stands: in `pause`, or
//! in a loop that looks at memory. What the tape has next for the thread is such a signal, and its handler
//! runs where the program is.

use core::sync::atomic::Ordering;

use netreel_shared::call::CallId;

use crate::signals;

use super::{TapeTurn, next_entry, own_number, tape};

/// A signal has come: whether the command has sent it. Then its handler runs, where that comes next.
pub fn is_nudge(signal: i32) -> bool {
    let Some(tape) = tape() else { return false };
    let (order, one_less) = (Ordering::SeqCst, |sent: u32| sent.checked_sub(1));
    if tape.nudges.fetch_update(order, order, one_less).is_err() {
        return false;
    }
    if let (Some(own), Some(entry)) = (own_number(tape), next_entry(tape))
        && (entry.thread, entry.called(), entry.result) == (own, Some(CallId::SIGNAL), signal)
        && (TapeTurn { tape, entry }).claims()
    {
        signals::comes(signal);
    }
    true
}
