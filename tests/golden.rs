//! The recorded sessions of the repository: read, judged and replayed as on the day they were made.
//!
//! Where the engine, the wire or the format changes on purpose, record them again:
//! `./dev samples`.

mod support;

use support::netreel;

const SESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/sessions");

fn session(mode: &str) -> String {
    format!("{SESSIONS}/{mode}")
}

#[test]
fn every_node_of_both_replays_exactly() {
    for mode in ["host", "owner"] {
        let ran = netreel(&["replay", &session(mode), "--json"]).expect(0);
        let results = ran.out.lines().map(|line| {
            let report: serde_json::Value = serde_json::from_str(line).expect("JSON");
            report["result"].as_str().expect("a result").to_owned()
        });
        assert_eq!(results.collect::<Vec<_>>(), ["exact"; 4], "{mode}");
    }
}

#[test]
fn the_historic_one_has_the_race() {
    let ran = netreel(&["check", &session("host")]).expect(1);
    for rule in ["migrate-before-create", "zombie-object"] {
        assert!(ran.out.contains(rule), "{}", ran.out);
    }
}

#[test]
fn the_cured_one_is_clean() {
    let ran = netreel(&["check", &session("owner")]).expect(0);
    assert!(ran.out.contains("stale-message-ignored"), "{}", ran.out);
}

/// Replays a node with another constant; its report.
fn changed(mode: &str, node: &str, constant: &str) -> serde_json::Value {
    let ran = netreel(&[
        "replay",
        &session(mode),
        "--node",
        node,
        "--tune",
        constant,
        "--json",
    ]);
    let report = ran.json();
    let exact = report["result"] == "exact";
    assert_eq!(ran.code, Some(if exact { 0 } else { 1 }), "{report}");
    report
}

#[test]
fn a_changed_constant_is_a_divergence_at_the_nodes_that_resent() {
    for mode in ["host", "owner"] {
        for node in ["A", "X"] {
            let report = changed(mode, node, "resend_delay_ns=20000000");
            assert_eq!(report["result"], "divergence", "{mode}, {node}: {report}");
            let divergence = &report["divergence"];
            assert!(divergence["event"].as_u64() > Some(20), "{report}");
            assert_ne!(divergence["expected"], divergence["came"], "{report}");
        }
    }
}

#[test]
fn where_both_are_packets_the_divergence_is_named_down_to_the_field() {
    let mut named = 0;
    for mode in ["host", "owner"] {
        for node in ["A", "X"] {
            for delay in [
                1,
                5_000_000,
                20_000_000,
                40_000_000,
                60_000_000,
                300_000_000,
            ] {
                let report = changed(mode, node, &format!("resend_delay_ns={delay}"));
                let divergence = &report["divergence"];
                let is_packet = |side: &str| {
                    divergence[side]
                        .as_str()
                        .is_some_and(|text| text.starts_with("a packet"))
                };
                let field = &divergence["field"];
                assert_eq!(
                    is_packet("expected") && is_packet("came"),
                    !field.is_null(),
                    "{report}"
                );
                if !field.is_null() {
                    assert_ne!(field["expected"], field["came"], "{report}");
                    named += 1;
                }
            }
        }
    }
    assert!(named > 0, "no two packets were compared");
}

#[test]
fn every_packet_is_explained_to_the_last_bit() {
    for mode in ["host", "owner"] {
        let ran = netreel(&[
            "packets",
            &session(mode),
            "--filter",
            "undecodable",
            "--json",
        ])
        .expect(0);
        assert_eq!(ran.out, "", "{mode}");
    }
}

#[test]
fn nothing_was_lost_on_loopback() {
    for mode in ["host", "owner"] {
        let ran = netreel(&["packets", &session(mode), "--filter", "lost", "--json"]).expect(0);
        assert_eq!(ran.out, "", "{mode}");
    }
}

#[test]
fn both_together_are_under_a_megabyte() {
    let files = ["host", "owner"].into_iter().flat_map(|mode| {
        std::fs::read_dir(session(mode))
            .expect("a session")
            .map(|entry| entry.expect("a file"))
    });
    let bytes: u64 = files
        .map(|file| file.metadata().expect("its size").len())
        .sum();
    assert!(bytes < 1_000_000, "{bytes} bytes");
}

#[test]
fn check_takes_a_filter_on_the_rule() {
    let ran = netreel(&[
        "check",
        &session("host"),
        "--filter",
        "rule == zombie-object",
        "--json",
    ]);
    let report = ran.expect(1).json();
    assert_eq!(
        report["findings"].as_array().map(Vec::len),
        Some(1),
        "{report}"
    );
    assert_eq!(report["findings"][0]["rule"], "zombie-object");
}

#[test]
fn show_takes_a_filter() {
    let filter = "to == X && kind == migrate";
    let ran = netreel(&["show", &session("host"), "--filter", filter, "--json"]).expect(0);
    assert_eq!(ran.json()["to"], "X", "{}", ran.out);
}

#[test]
fn a_node_that_does_not_know_an_object_is_named() {
    let ran = netreel(&[
        "objects",
        &session("host"),
        "--filter",
        "object == 42",
        "--at",
        "0.5s",
    ]);
    let ran = ran.expect(0);
    let x = ran
        .out
        .lines()
        .find(|line| line.trim_start().starts_with("X "));
    assert!(
        x.is_some_and(|line| line.contains("does not know it")),
        "{}",
        ran.out
    );
}
