//! Protocols whose packets are sealed. `samples/engines/quinn` reads QUIC's with its keys.

use crate::explained::check_own_tests;

#[test]
fn own_tests_of_quic_pass() {
    check_own_tests("quic.wire", 1);
}
