//! Programs that start others, started again: what they were told of their children is answered, and no
//! child is there.

mod support;

use support::programs::{Bench, text};

#[test]
fn a_program_that_starts_another_one_is_exact_without_it() {
    let bench = Bench::new();
    let program = bench.compile("starts");
    for way in [
        "fork", "vfork", "spawn", "system", "popen", "talks", "waitid", "numbers",
    ] {
        let _ = std::fs::remove_dir_all(bench.out());
        bench
            .record(&["--name", "STARTS"], &[text(&program), way])
            .expect(0);
        let flags = ["--node", "STARTS"];
        let ran = bench.again(&flags, &[text(&program), way]);
        assert_eq!(ran.code, Some(0), "{way}: {}{}", ran.out, ran.err);
        assert!(ran.out.contains("exact, "), "{way}: {}", ran.out);
    }
}

#[test]
fn a_program_that_becomes_another_one_is_refused_by_name() {
    let bench = Bench::new();
    let program = bench.compile("starts");
    let command = [text(&program), "becomes"];
    bench.record_plainly(&["--name", "STARTS"], &command);
    let ran = bench.again(&["--node", "STARTS"], &command).expect(2);
    assert!(ran.err.contains("becomes another program"), "{}", ran.err);
}
