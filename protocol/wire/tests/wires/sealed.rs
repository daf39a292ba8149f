//! Protocols whose packets are sealed: QUIC and WebRTC. `samples/engines/quinn` reads QUIC's with its keys.

use crate::explained::check_own_tests;

#[test]
fn own_tests_of_quic_pass() {
    check_own_tests("quic.wire", 1);
}

#[test]
fn own_tests_of_webrtc_pass() {
    check_own_tests("webrtc.wire", 3);
}
