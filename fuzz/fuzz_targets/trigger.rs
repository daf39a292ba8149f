//! Any bytes as a datagram that asks for a window, as they are and behind the right tag.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| netreel_capture::ring_mode::fuzz_datagram(bytes));
