//! Programs that wait for signals where no hook stands, started again.

mod support;

use support::programs::{Bench, calls, sent, text};

#[test]
fn a_program_that_waits_for_signals_amid_nothing_else_is_exact() {
    let bench = Bench::new();
    let program = bench.compile("awaits");
    for (how, rounds) in [("pause", 4), ("spins", 1)] {
        let count = rounds.to_string();
        let command = [text(&program), how, &count];
        let _ = std::fs::remove_dir_all(bench.out());
        bench.record(&[], &command).expect(0);
        let reel = bench.reel();
        assert_eq!(calls(&reel)["signal"], rounds, "{how}");
        assert_eq!(sent(&reel).len() as u64, 2 * rounds, "{how}");
        bench.expect_exact(&command);
    }
}
