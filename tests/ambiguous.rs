//! Numbers that tell no message apart from another one, as the command says them.

mod support;

use support::netreel;

const SESSION: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/recordings/number-space-exhausted"
);

#[test]
fn packets_and_why_say_that_a_number_is_ambiguous() {
    let print = netreel(&["packets", SESSION, "--no-index"]).expect(0);
    let line = |packet: &str| {
        let mut lines = print.out.lines();
        let line = lines.find(|line| line.trim_start().starts_with(packet));
        line.unwrap_or_else(|| panic!("{}", print.out)).to_owned()
    };
    assert!(
        line("129 ").ends_with("; ambiguous number"),
        "{}",
        line("129 ")
    );
    assert!(!line("128 ").contains("ambiguous"), "{}", line("128 "));
    let filter = ["--filter", "packet == 129"];
    let json = netreel(&[&["packets", SESSION, "--no-index", "--json"], &filter[..]].concat());
    let row = json.json();
    assert_eq!(row["messages"][0]["ambiguous"], "numbers");
    let why = netreel(&["why", SESSION, "--no-index", "--packet", "129"]).expect(0);
    let words = "number 128 in packet 129 is ambiguous: packet 0 was not acked";
    assert!(why.out.contains(words), "{}", why.out);
}
