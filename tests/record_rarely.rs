//! What programs do rarely: before their libraries are ready, with addresses of no family, by calls
//! of which there is a more usual one.

mod support;

use support::programs::{Bench, sent, text};

#[test]
fn what_a_program_sends_before_its_libraries_are_ready_is_recorded() {
    let bench = Bench::new();
    let early = bench.compile("early");
    bench.record(&[], &[text(&early)]).expect(0);
    let all = ["first", "ready", "usual"].map(|text| text.as_bytes().to_vec());
    assert_eq!(sent(&bench.reel()), all);
}
