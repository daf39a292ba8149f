//! What programs do rarely: before their libraries are ready, with addresses of no family, by calls
//! of which there is a more usual one.

mod support;

use netreel_reel::Event;
use support::programs::{Bench, sent, text};

#[test]
fn what_a_program_sends_before_its_libraries_are_ready_is_recorded() {
    let bench = Bench::new();
    let early = bench.compile("early");
    bench.record(&[], &[text(&early)]).expect(0);
    let all = ["first", "ready", "usual"].map(|text| text.as_bytes().to_vec());
    assert_eq!(sent(&bench.reel()), all);
}

#[test]
fn an_address_without_a_family_is_what_the_kernel_takes_it_for() {
    let bench = Bench::new();
    let unspecified = bench.compile("unspecified");
    let ran = bench.record(&[], &[text(&unspecified)]).expect(0);
    let ports: Vec<&str> = ran.out.split_whitespace().take(3).collect();
    let [one, other, sixth] = ports[..] else {
        panic!("{}", ran.out);
    };
    let (mut to, mut from) = (Vec::new(), String::new());
    bench.reel().for_each(|record| match record.event {
        Event::Sent {
            to: at, payload, ..
        } => {
            to.push(format!("{} {at}", String::from_utf8_lossy(payload)));
        }
        Event::Received {
            from: at,
            payload: b"f",
            ..
        } => from = at.to_string(),
        _ => {}
    });
    let (one, other) = (format!("127.0.0.1:{one}"), format!("127.0.0.1:{other}"));
    let mut expected = vec![
        format!("a {one}"),
        format!("b {one}"),
        format!("c {other}"),
        "d 0.0.0.0:0".to_owned(),
        format!("e {one}"),
    ];
    assert_eq!(to.get(..5), Some(&expected[..]));
    assert_eq!(from, one);
    if sixth == "0" {
        println!("skipped: no IPv6 here");
        return;
    }
    expected.push(format!("g [::1]:{sixth}"));
    assert_eq!(to.last(), expected.last());
}
