//! `netreel record`: an option of another way of recording is refused, not ignored.

mod support;

use support::netreel;

/// What is given to record a program, by proxy, and what passes an interface.
const PROGRAM: [&str; 2] = ["--", "true"];
const PROXY: [&str; 2] = ["--proxy", "127.0.0.1:0=127.0.0.1:9"];
const LIVE: [&str; 2] = ["--live", "lo"];

/// Runs `record` into a folder that must not be made, and what it says.
fn refused(options: &[&str], way: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let out = out.to_str().expect("a path in UTF-8");
    let arguments = [&["record", "--out", out], options, way].concat();
    let err = netreel(&arguments).expect(2).err;
    assert!(!std::path::Path::new(out).exists(), "{arguments:?}");
    err
}

#[test]
fn an_option_of_another_way_is_refused_with_where_it_belongs() {
    let wrong: [(&[&str], &[&str], &str); 19] = [
        (&["--faults", "loss=1%"], &PROGRAM, "`--proxy`"),
        (&["--faults", "loss=1%"], &LIVE, "`--proxy`"),
        (&["--clients", "3"], &PROGRAM, "`--proxy`"),
        (&["--clients", "256"], &LIVE, "`--proxy`"),
        (&["--idle", "3"], &PROGRAM, "`--proxy`"),
        (&["--idle", "120"], &LIVE, "`--proxy`"),
        (&["--capture-filter", "udp"], &PROGRAM, "`--live`"),
        (&["--capture-filter", "udp"], &PROXY, "`--live`"),
        (&["--node", "A=127.0.0.1"], &PROGRAM, "`--live`"),
        (&["--node", "A=127.0.0.1"], &PROXY, "`--live`"),
        (
            &["--wire", "nope"],
            &PROGRAM,
            "`--live` and to --trigger-on-finding",
        ),
        (
            &["--wire", "nope"],
            &PROXY,
            "`--live` and to --trigger-on-finding",
        ),
        (&["--no-tripwire"], &PROXY, "`-- CMD`"),
        (&["--no-tripwire"], &LIVE, "`-- CMD`"),
        (&["--no-children"], &PROXY, "`-- CMD`"),
        (&["--no-children"], &LIVE, "`-- CMD`"),
        (&["--follow-children"], &PROXY, "`-- CMD`"),
        (&["--random-addresses"], &PROXY, "`-- CMD`"),
        (&["--random-addresses"], &LIVE, "`-- CMD`"),
    ];
    for (options, way, belongs) in wrong {
        let said = refused(options, way);
        let sentence = format!("{} belongs to {belongs}; with `", options[0]);
        assert!(said.contains(&sentence), "{options:?} {way:?}: {said}");
    }
}

#[test]
fn a_wire_that_is_missing_is_an_error_where_it_is_used() {
    let finding = [
        "--ring",
        "5",
        "--trigger-on-finding",
        "error",
        "--wire",
        "nope",
    ];
    let said = refused(&finding, &PROGRAM);
    assert!(said.contains("nope"), "{said}");
}

#[test]
fn a_fault_that_is_given_twice_is_refused() {
    let said = refused(&["--faults", "loss=1%,loss=50%"], &PROXY);
    assert!(said.contains("loss is given a second time"), "{said}");
}

#[test]
fn sizes_and_times_that_are_none_say_how_to_write_one() {
    for (option, value, sentence) in [
        ("--rotate-size", "1.5M", "a size is a number above 0"),
        ("--max-size", "99999999999G", "a size is a number above 0"),
        (
            "--rotate-time",
            "1e-12",
            "a time is a number of seconds above 0",
        ),
        ("--max-time", "5m", "a time is a number of seconds above 0"),
        ("--ring", "nan", "from 0.1 seconds to a day"),
    ] {
        let said = refused(&[option, value], &PROGRAM);
        assert!(said.contains(sentence), "{option} {value}: {said}");
    }
}

#[test]
fn a_buffer_of_no_size_that_it_may_have_is_refused_for_every_way_of_recording() {
    let ways: [&[&str]; 3] = [
        &["--", "true"],
        &["--proxy", "127.0.0.1:7000=127.0.0.1:7001"],
        &["--live", "lo"],
    ];
    for size in ["1", "1k", "255k", "100g"] {
        for way in ways {
            let ran = netreel(&[&["record", "--buffer", size], way].concat()).expect(2);
            let said = &ran.err;
            assert!(
                said.contains("a buffer has 256k to 1G"),
                "{size} {way:?}: {said}"
            );
        }
    }
}
