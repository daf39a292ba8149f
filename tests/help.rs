//! The pages of `--help`, as somebody sees them who does not know the command.

mod support;

use support::netreel;

const COMMANDS: [&str; 26] = [
    "",
    "demo",
    "play",
    "record",
    "import",
    "info",
    "packets",
    "show",
    "events",
    "objects",
    "state",
    "check",
    "diff",
    "stats",
    "why",
    "export",
    "replay",
    "redact",
    "rules",
    "wire",
    "wire check",
    "wire decode",
    "wire format",
    "wire lsp",
    "manual",
    "completions",
];

fn page(command: &str) -> String {
    let mut arguments: Vec<&str> = command.split_whitespace().collect();
    arguments.push("--help");
    netreel(&arguments).expect(0).out
}

#[test]
fn no_line_of_a_page_is_wider_than_a_hundred_columns() {
    for command in COMMANDS {
        for line in page(command).lines() {
            assert!(line.chars().count() <= 100, "{command}: {line}");
        }
    }
}

#[test]
fn no_option_repeats_its_name_for_its_value() {
    for command in COMMANDS {
        for line in page(command).lines() {
            let mut words = line.split_whitespace().filter(|word| *word != "-h,");
            let (Some(option), Some(value)) = (words.next(), words.next()) else {
                continue;
            };
            let name = option
                .trim_start_matches("--")
                .replace('-', "_")
                .to_uppercase();
            let repeated = option.starts_with("--") && value == format!("<{name}>");
            assert!(
                !repeated || ["--file", "--format", "--port"].contains(&option),
                "{command}: {line}"
            );
        }
    }
}

/// `NETREEL_ANSWERS=write` writes it anew.
#[test]
fn the_manual_page_says_what_the_help_says() {
    let printed = netreel(&["manual"]).expect(0).out;
    for line in ["netreel record", "netreel wire decode", "netreel inspect"] {
        assert!(printed.contains(&format!(".SS \"{line}\"")), "{line}");
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/netreel.1");
    if std::env::var("NETREEL_ANSWERS").is_ok_and(|how| how == "write") {
        std::fs::write(file, &printed).expect("written");
    }
    let kept = std::fs::read_to_string(file).expect("the page is in docs");
    assert!(
        printed == kept,
        "docs/netreel.1 is old: write it anew with NETREEL_ANSWERS=write"
    );
}

#[test]
fn what_record_takes_stands_under_the_way_that_takes_it() {
    let page = page("record");
    let usage = page
        .lines()
        .find(|line| line.starts_with("Usage:"))
        .expect("usage");
    assert!(usage.ends_with("-- <CMD>..."), "{usage}");
    let heading = |argument: &str| {
        let mut heading = "";
        for line in page.lines() {
            if !line.starts_with(' ') && line.ends_with(':') {
                heading = line;
            }
            let mut words = line.split_whitespace();
            if line.starts_with("  ") && words.any(|word| word == argument) {
                break;
            }
        }
        heading.to_owned()
    };
    assert_eq!(heading("[CMD]..."), "Arguments:");
    assert_eq!(heading("--no-children"), "A program:");
    assert_eq!(heading("--faults"), "A proxy between clients and a server:");
    assert_eq!(heading("--capture-filter"), "A network interface:");
    assert_eq!(heading("--keep-size"), "How it is written:");
    assert_eq!(heading("--trigger-key"), "Ring mode:");
    assert_eq!(heading("--out"), "Options:");
}
