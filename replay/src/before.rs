//! Where a debugger stops a replay.

use netreel_reel::EventNumber;

/// Does nothing. The replay calls it before each recorded event that it hands to the layer, or compares
/// with what the layer does: the layer is on the stack. A debugger stops at one of them with
/// `break *netreel_before_event if $rdi == 218`, after `set language c`.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn netreel_before_event(number: u64) {
    std::hint::black_box(number);
}

/// Says so of an event.
#[inline]
pub(crate) fn before(number: EventNumber) {
    netreel_before_event(number.0);
}
