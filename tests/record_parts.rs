//! A packet that is sent in parts (MSG_MORE, UDP_CORK) is one in the reel, as a receiver gets it.

mod support;

use netreel_reel::EventKind;
use support::netreel;
use support::programs::{Bench, calls, count, received, sent, text};

/// How the program hands its parts over, how many there are before the last one, and how long the
/// packets are that come of them.
const WAYS: [(&str, u64, &[usize]); 9] = [
    ("more", 2, &[250]),
    ("cork", 2, &[250]),
    ("many", 2, &[250]),
    ("to", 1, &[250]),
    ("dissolved", 1, &[250]),
    ("turned", 1, &[250]),
    ("cut", 1, &[100, 100, 50]),
    ("refused", 2, &[250]),
    ("closed", 1, &[250]),
];

#[test]
fn parts_of_a_packet_are_the_one_that_a_receiver_gets() {
    let all: Vec<u8> = (0..250).map(|number| number as u8).collect();
    for (how, parts, lengths) in WAYS {
        let bench = Bench::new();
        let program = bench.compile("parts");
        let ran = bench.record(&[], &[text(&program), how]).expect(0);
        let told: String = lengths.iter().map(|it| format!("{it} ")).collect();
        assert_eq!(ran.out, told, "{how}: the program itself");
        let reel = bench.reel();
        assert_eq!(sent(&reel).concat(), all, "{how}");
        assert_eq!(sent(&reel), received(&reel), "{how}");
        assert_eq!(calls(&reel)["part"], parts, "{how}");
        let results = count(&reel, EventKind::SendResult);
        assert_eq!(results, lengths.len() as u64, "{how}");
    }
}

#[test]
fn no_part_of_a_packet_is_told_as_lost() {
    for how in ["more", "cork", "dissolved", "turned"] {
        let bench = Bench::new();
        let program = bench.compile("parts");
        bench.record(&[], &[text(&program), how]).expect(0);
        let packets = netreel(&["packets", text(&bench.out()), "--json"]).expect(0);
        let packets: Vec<serde_json::Value> = packets
            .out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(packets.len(), 1, "{how}: {packets:?}");
        assert_eq!(packets[0]["fate"], "received", "{how}: {packets:?}");
    }
}

#[test]
fn a_program_that_sends_in_parts_is_exact_when_it_is_started_again() {
    for (how, ..) in WAYS {
        let bench = Bench::new();
        let program = bench.compile("parts");
        bench.record(&[], &[text(&program), how]).expect(0);
        bench.expect_exact(&[text(&program), how]);
    }
}

#[test]
fn a_packet_whose_parts_come_from_two_processes_is_named() {
    let bench = Bench::new();
    let program = bench.compile("parts");
    let ran = bench.record(&[], &[text(&program), "child"]).expect(1);
    assert_eq!(ran.out, "250 ", "the program itself");
    let sentence = "it sends parts of one packet from two processes";
    assert_eq!(ran.err.matches(sentence).count(), 1, "{}", ran.err);
}
