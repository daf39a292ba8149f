//! A client whose port changes while the server goes on sending to the old one: a capture of it.

mod support;

use serde_json::json;
use support::netreel;

const CAPTURE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/recordings/client-port-changes.pcap"
);

/// The wire that its packets have.
const WIRE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/recordings/stale-update-applied/gw.wire"
);

#[test]
fn with_and_without_a_wire_it_is_one_client_that_the_server_goes_on_sending_to() {
    for wire in [&[][..], &["--wire", WIRE]] {
        let read = [&[CAPTURE, "--no-index"], wire].concat();
        let check = netreel(&[&["check", "--json"], &read[..]].concat()).json();
        let findings = check["findings"].as_array().unwrap();
        let [finding] = findings.as_slice() else {
            panic!("{check:#}")
        };
        assert_eq!(finding["rule"], "address-changed");
        assert_eq!(finding["level"], "warning");
        let sentence = finding["sentence"].as_str().unwrap();
        for part in [
            "203.0.113.9:51777 is 203.0.113.9:40001 on another port",
            "10.0.0.1:7510 went on sending to port 40001 for 5.0 s (300 packets)",
        ] {
            assert!(sentence.contains(part), "{sentence}");
        }
        let info = netreel(&[&["info", "--json"], &read[..]].concat()).json();
        let connections = info["connections"].as_array().unwrap();
        let goes_on: Vec<_> = connections.iter().map(|it| &it["goes_on"]).collect();
        assert_eq!(goes_on, [&json!(null), &json!("203.0.113.9:40001")]);
        let print = netreel(&[&["info"], &read[..]].concat()).expect(0);
        let words = "goes on for 203.0.113.9:40001";
        assert!(print.out.contains(words), "{}", print.out);
    }
}
