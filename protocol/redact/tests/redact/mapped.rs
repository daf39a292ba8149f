//! What was to go is gone, and what is mapped is mapped alike everywhere.

use std::sync::Arc;

use netreel_redact::{Redaction, Survey, scan};
use netreel_reel::{CallId, Event, Header, Reel, Removed};

use crate::copied::{MARKER, SOCKET, at, complaints, contains, copy, events, header, reel, rules};

#[test]
fn a_planted_secret_is_found_nowhere_in_the_copy() {
    let payload = [b"to ", MARKER.as_bytes(), &[85, 14, 2, 9]].concat();
    let old = reel(&header(), &events(&payload));
    let rules = Redaction {
        remove: vec![MARKER.to_owned()],
        ..rules()
    };
    let survey = Survey::new(rules, std::slice::from_ref(&old)).unwrap();
    let (bytes, report) = copy(&survey, &old);
    assert_eq!(complaints(&survey, &old, &bytes, &report), [""; 0]);
    for secret in [
        MARKER.as_bytes(),
        b"Grandmother",
        b"85.14.2.9",
        &[85, 14, 2, 9],
        &[192, 168, 1, 20],
        &[0x2a, 0x02, 0x81, 0x00],
        b"studio.com",
        b"/home/ann",
        b"secret-plans",
        b"annelise",
    ] {
        assert!(!contains(&bytes, secret), "{secret:?}");
    }
    let held: Vec<u64> = report.held_back.iter().map(|each| each.event).collect();
    assert_eq!(held, [1, 14], "both packets with it, and no other");
}

#[test]
fn one_address_becomes_the_same_everywhere_in_all_reels() {
    let old = [
        reel(&header(), &events(b"a")),
        reel(&header(), &events(b"b")),
    ];
    let survey = Survey::new(rules(), &old).unwrap();
    let mut seen = Vec::new();
    for old in &old {
        let (bytes, _) = copy(&survey, old);
        let new = Reel::from_bytes(bytes).unwrap();
        new.for_each(|record| match record.event {
            Event::Received { from, .. } => seen.push(from.ip().to_canonical().to_string()),
            Event::Seen { from, .. } => seen.push(from.ip().to_string()),
            Event::Note { text } => {
                let text = String::from_utf8_lossy(text);
                let word = text.split([' ', ':']).nth(1).unwrap_or_default();
                seen.push(word.to_owned());
            }
            Event::Called {
                call: CallId::CONNECT,
                details,
                ..
            } => {
                let ip: [u8; 4] = details[5..9].try_into().unwrap();
                seen.push(std::net::Ipv4Addr::from(ip).to_string());
            }
            _ => {}
        });
    }
    seen.sort();
    seen.dedup();
    let [one] = &seen[..] else { panic!("{seen:?}") };
    assert!(
        one.starts_with("198.18.") || one.starts_with("198.19."),
        "{one}"
    );
}

#[test]
fn the_same_key_gives_the_same_copy_and_another_key_another() {
    let old = reel(&header(), &events(b"a"));
    let with = |key| {
        let rules = Redaction { key, ..rules() };
        copy(
            &Survey::new(rules, std::slice::from_ref(&old)).unwrap(),
            &old,
        )
        .0
    };
    assert_eq!(with([1; 16]), with([1; 16]));
    assert_ne!(with([1; 16]), with([2; 16]));
}

#[test]
fn loopback_and_ports_stay_unless_asked() {
    let local = at("127.0.0.1:7000");
    let old = reel(
        &Header::default(),
        &[Event::SocketOpened {
            socket: SOCKET,
            local,
        }],
    );
    let opened = |rules: Redaction| {
        let survey = Survey::new(rules, std::slice::from_ref(&old)).unwrap();
        let (bytes, report) = copy(&survey, &old);
        assert_eq!(complaints(&survey, &old, &bytes, &report), [""; 0]);
        Reel::from_bytes(bytes).unwrap().endpoints()[0].1
    };
    assert_eq!(opened(rules()), local);
    let mapped = opened(Redaction {
        loopback: true,
        ports: true,
        ..rules()
    });
    assert_ne!(mapped.ip(), local.ip());
    assert_ne!(mapped.port(), local.port());
}

#[test]
fn nearly_all_zeros_in_a_file_are_no_address_and_in_a_packet_they_are() {
    let mut zeros = [0; 64];
    zeros[40] = 1;
    let telling = at("[2001:db8:1:2::3]:7000");
    let sent = |to, payload| Event::Sent {
        socket: SOCKET,
        to,
        payload,
    };
    let events = [sent(at("[::1]:7000"), b"a packet"), sent(telling, &zeros)];
    let old = reel(&Header::default(), &events);
    let rules = Redaction {
        loopback: true,
        ..rules()
    };
    let survey = Survey::new(rules, std::slice::from_ref(&old)).unwrap();
    let (bytes, report) = copy(&survey, &old);
    assert_eq!(complaints(&survey, &old, &bytes, &report), [""; 0]);
    let held: Vec<u64> = report.held_back.iter().map(|each| each.event).collect();
    assert_eq!(held, [1]);
    let found = |bytes: &[u8]| scan(&survey, &bytes.to_vec(), 777).unwrap().is_some();
    assert!(!found(&zeros));
    let std::net::IpAddr::V6(ip) = telling.ip() else {
        panic!("{telling}")
    };
    assert!(found(&[&zeros[..], &ip.octets()].concat()));
}

#[test]
fn a_copy_of_what_was_mapped_before_is_mapped_anew() {
    let old = reel(&header(), &events(b"a"));
    let survey = Survey::new(rules(), std::slice::from_ref(&old)).unwrap();
    let (bytes, _) = copy(&survey, &old);
    let once = Arc::new(Reel::from_bytes(bytes).unwrap());
    let survey = Survey::new(rules(), std::slice::from_ref(&once)).unwrap();
    let (bytes, report) = copy(&survey, &once);
    assert_eq!(complaints(&survey, &once, &bytes, &report), [""; 0]);
    assert!(report.removed.contains_key(&Removed::Addresses));
}
