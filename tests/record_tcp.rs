//! Programs that speak TCP, which is not recorded, beside a UDP socket: both the recorder and a replay say
//! so.

mod support;

use support::programs::{Bench, text};

#[test]
fn a_recording_says_how_many_tcp_connections_it_lacks() {
    let bench = Bench::new();
    let program = bench.compile("tcp");
    for (how, connections) in [
        ("calls", "1 TCP connection:"),
        ("waits", "2 TCP connections:"),
    ] {
        let _ = std::fs::remove_dir_all(bench.out());
        let said = bench.record(&[], &[text(&program), how]).expect(0).err;
        let told = format!("2 packets by UDP beside {connections} TCP is not recorded");
        assert!(said.contains(&told), "{said}");
    }
}

#[test]
fn a_replay_refuses_a_program_that_takes_a_tcp_connection_and_names_one_that_is_made() {
    let bench = Bench::new();
    let program = bench.compile("tcp");
    bench.record(&[], &[text(&program), "waits"]).expect(0);
    let told = bench.again(&[], &[text(&program), "waits"]).expect(2).err;
    assert!(told.contains("it takes a TCP connection (event "), "{told}");
    // Nothing is said before it, such as what would be started.
    let told = bench.again(&[], &[]).expect(2).err;
    assert!(told.starts_with("netreel: the reel of "), "{told}");
    assert!(told.contains("it takes a TCP connection (event "), "{told}");
    let _ = std::fs::remove_dir_all(bench.out());
    bench.record(&[], &[text(&program), "calls"]).expect(0);
    let ran = bench.again(&[], &[text(&program), "calls"]).expect(1);
    let said = "1 TCP connection, which a replay refuses";
    assert!(ran.out.contains(said), "{}", ran.out);
    let at_first = ran
        .err
        .find("it makes a TCP connection, which a replay refuses");
    assert!(at_first.is_some(), "{}", ran.err);
}
