//! What the kernel cuts into packets, or joins from packets, is in the reel packet for packet.

mod support;

use std::path::PathBuf;
use std::process::Command;

use netreel_reel::{CallId, Event};
use support::programs::{Bench, notes, received, sent, text};

/// What the program hands over, in packets as they go out.
fn packets() -> Vec<Vec<u8>> {
    let bytes: Vec<u8> = (0..250).map(|number| number as u8).collect();
    bytes.chunks(100).map(<[u8]>::to_vec).collect()
}

/// The program, where this kernel cuts and joins.
fn program(bench: &Bench) -> Option<PathBuf> {
    let program = bench.compile("segments");
    let ran = Command::new(&program).args(["option", "asking"]).output();
    let able = ran.is_ok_and(|ran| ran.status.success() && ran.stdout == b"250 ");
    if !able {
        support::skipped("this kernel has no UDP_SEGMENT and UDP_GRO");
    }
    able.then_some(program)
}

#[test]
fn a_send_that_the_kernel_cuts_is_the_packets_that_a_receiver_gets() {
    let bench = Bench::new();
    let Some(program) = program(&bench) else {
        return;
    };
    for how in ["option", "parts", "message"] {
        let ran = bench.record(&[], &[text(&program), how, "plain"]).expect(0);
        assert!(ran.out.starts_with("100 100 50 "), "{how}: {}", ran.out);
        let reel = bench.reel();
        assert_eq!(sent(&reel), packets(), "{how}");
        assert_eq!(received(&reel), packets(), "{how}");
        std::fs::remove_dir_all(bench.out()).unwrap();
    }
}

#[test]
fn of_many_messages_those_are_cut_that_say_so() {
    let bench = Bench::new();
    let Some(program) = program(&bench) else {
        return;
    };
    let command = [text(&program), "messages", "plain"];
    let ran = bench.record(&[], &command).expect(0);
    assert!(ran.out.starts_with("10 100 100 50 "), "{}", ran.out);
    let reel = bench.reel();
    assert_eq!(sent(&reel), received(&reel));
    assert_eq!(sent(&reel)[1..], packets());
}

#[test]
fn what_the_kernel_joins_is_the_packets_that_were_sent_however_it_is_received() {
    let bench = Bench::new();
    let Some(program) = program(&bench) else {
        return;
    };
    let ways = [
        "recv", "recvfrom", "read", "recvmsg", "asking", "recvmmsg", "unasked",
    ];
    for how in ways {
        let ran = bench
            .record(&[], &[text(&program), "option", how])
            .expect(0);
        assert!(ran.out.starts_with("250 "), "{how}: {}", ran.out);
        assert_eq!(received(&bench.reel()), packets(), "{how}");
        std::fs::remove_dir_all(bench.out()).unwrap();
    }
}

#[test]
fn packets_of_one_call_are_told_from_packets_of_several() {
    let bench = Bench::new();
    let Some(program) = program(&bench) else {
        return;
    };
    bench
        .record(&[], &[text(&program), "option", "recv"])
        .expect(0);
    let mut joined = Vec::new();
    bench.reel().for_each(|record| {
        if let Event::Called {
            call: CallId::JOINED,
            result,
            details,
        } = record.event
        {
            joined.push((result, details[2..].to_vec()));
        }
    });
    let once = (3, 100u16.to_le_bytes().to_vec());
    assert_eq!(joined, [once.clone(), once]);
}

#[test]
fn a_send_of_more_packets_than_the_kernel_takes_is_one_that_failed() {
    let bench = Bench::new();
    let Some(program) = program(&bench) else {
        return;
    };
    let command = [text(&program), "toomany", "plain"];
    bench.record(&[], &command).expect(0);
    let lengths: Vec<usize> = sent(&bench.reel()).iter().map(Vec::len).collect();
    assert_eq!(lengths, [60_000]);
}

#[test]
fn joined_packets_whose_lengths_find_too_little_room_are_named() {
    let bench = Bench::new();
    let Some(program) = program(&bench) else {
        return;
    };
    let command = [text(&program), "option", "narrow"];
    let ran = bench.record(&[], &command).expect(1);
    let sentence =
        "it lets the kernel join packets and leaves too little room to be told how long each was";
    assert!(ran.err.contains(sentence), "{}", ran.err);
    assert!(notes(&bench.reel()).contains(sentence));
}

#[test]
fn a_socket_that_another_process_lets_the_kernel_cut_is_named_where_both_have_it() {
    let bench = Bench::new();
    let Some(program) = program(&bench) else {
        return;
    };
    let command = [text(&program), "child", "plain"];
    let sentence = "changes how the kernel cuts or joins packets";
    for flags in [&[][..], &["--no-children"]] {
        let ran = bench.record(flags, &command).expect(1);
        assert!(ran.out.starts_with("100 100 50 "), "{}", ran.out);
        assert_eq!(ran.err.matches(sentence).count(), 1, "{}", ran.err);
        let mut reels = bench.reels().into_iter().map(|(_, reel)| reel);
        let parent = reels.find(|reel| !sent(reel).is_empty()).unwrap();
        assert!(notes(&parent).contains(sentence));
        std::fs::remove_dir_all(bench.out()).unwrap();
    }

    let command = [text(&program), "heir", "plain"];
    let ran = bench.record(&[], &command).expect(0);
    assert!(ran.out.starts_with("100 100 50 "), "{}", ran.out);
    let all: Vec<_> = bench
        .reels()
        .iter()
        .flat_map(|(_, reel)| sent(reel))
        .collect();
    assert_eq!(all, packets());
}
