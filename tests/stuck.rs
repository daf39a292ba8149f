//! Recordings of four players whose reliable messages do not get through, or too often, and what
//! `netreel check` says of them.

mod support;

use serde_json::Value;
use support::netreel;

/// The findings of a recording of this folder, but for those that are info.
fn findings(recording: &str) -> Vec<Value> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recordings/");
    let path = format!("{folder}{recording}");
    let ran = netreel(&["check", &path, "--no-index", "--json"]);
    let told = ran.json();
    let all = told["findings"].as_array().expect("findings").clone();
    all.into_iter().filter(|it| it["level"] != "info").collect()
}

fn sentence(finding: &Value) -> &str {
    finding["sentence"].as_str().expect("a sentence")
}

/// A reliable stream sends again after 20 ms what is not acked, on links whose round trips take 83 or 100 ms:
/// few copies of each message, and on the whole two fifths of all bytes.
#[test]
fn a_resend_timer_that_is_shorter_than_the_round_trip_is_a_storm_of_the_link() {
    let found = findings("resends-every-20ms");
    let mut senders: Vec<&str> = found.iter().filter_map(|it| it["node"].as_str()).collect();
    senders.dedup();
    senders.sort_unstable();
    senders.dedup();
    assert_eq!(senders, ["n1", "n2", "n3"], "{found:#?}");
    for finding in &found {
        assert_eq!(finding["rule"], "resend-storm", "{finding:#}");
        let said = sentence(finding);
        assert!(said.contains("waited 33.3 ms for an answer"), "{said}");
        let rounds = ["83.3 ms", "100.0 ms"].map(|it| format!("a round trip takes {it}"));
        assert!(rounds.iter().any(|it| said.contains(it)), "{said}");
        assert!(said.contains("explains 0 of them"), "{said}");
    }
}

/// Fragments of a long RPC are counted from 1: no game is ever handed it.
#[test]
fn fragments_whose_index_is_off_by_one_are_told_with_their_numbers() {
    let found = findings("fragments-never-join");
    assert_eq!(found.len(), 3, "to each of the others: {found:#?}");
    for finding in &found {
        assert_eq!(finding["rule"], "fragments-never-join", "{finding:#}");
        let said = sentence(finding);
        assert!(
            said.contains("parts 1, 2, 3 of 3, which are 0 to 2"),
            "{said}"
        );
    }
}

/// B acks a packet and says then that it lacks it.
#[test]
fn a_packet_that_was_acked_and_then_called_lacking_is_an_error() {
    let found = findings("nack-of-received");
    let [finding] = &found[..] else {
        panic!("{found:#?}")
    };
    assert_eq!(finding["rule"], "nack-of-received");
    assert_eq!(finding["level"], "error");
}

/// Of object 9 the position stays behind at n3 for 2.8 s while others have the newer one; nothing rests.
#[test]
fn a_value_that_stays_behind_is_found_though_nothing_rests() {
    let found = findings("clean-though-values-differ");
    let lasting: Vec<&Value> = found
        .iter()
        .filter(|it| it["rule"] == "difference-lasts")
        .collect();
    assert!(!lasting.is_empty(), "{found:#?}");
    let nine = lasting.iter().find(|it| it["object"] == 9);
    let said = nine.map(|it| sentence(it)).unwrap_or_default();
    assert!(said.contains("position of object 9"), "{lasting:#?}");
}
