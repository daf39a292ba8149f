//! Addresses, names and ports in texts.

use netreel_redact::{Bytes, Redaction, Survey, Texts};
use netreel_reel::{Believed, Event, Header, Reel};

use crate::copied::{SOCKET, at, complaints, contains, copy, header, reel, rules, trigger};

/// The texts of the copy's notes, triggers and interfaces, which nobody complains of.
fn texts(rules: Redaction, events: &[Event<'_>]) -> Vec<String> {
    let old = reel(&header(), events);
    let survey = Survey::new(rules, std::slice::from_ref(&old)).unwrap();
    let (bytes, report) = copy(&survey, &old);
    assert_eq!(complaints(&survey, &old, &bytes, &report), [""; 0]);
    let mut texts = Vec::new();
    Reel::from_bytes(bytes)
        .unwrap()
        .for_each(|record| match record.event {
            Event::Note { text }
            | Event::Triggered { text, .. }
            | Event::Interface { name: text, .. } => {
                texts.push(String::from_utf8(text.to_vec()).unwrap());
            }
            _ => {}
        });
    texts
}

#[test]
fn an_address_in_another_spelling_is_mapped_and_the_copy_is_right() {
    for address in ["FD77::ABCD", "fd77:0:0::abcd", "FD77::abcd/64"] {
        let note = format!("captured at lo with the filter `udp and not host {address}`");
        let (text, name) = (note.as_bytes(), format!("wlan-{address}"));
        let name = name.as_bytes();
        let events = [
            Event::Note { text },
            Event::Interface { link_type: 1, name },
        ];
        for text in texts(rules(), &events) {
            assert!(!text.to_lowercase().contains("fd77"), "{text}");
            assert!(text.contains("2001:db8::"), "{text}");
        }
    }
}

#[test]
fn names_and_ports_in_what_netreel_itself_wrote_are_mapped() {
    let proxied = "127.0.0.1:7975 stands for game-host:7901, which is 127.0.0.1:7901; its receive \
                   buffer has 425984 bytes";
    let filtered = "captured at lo with the filter `udp portrange 7800-7801 and not (host db1 or \
                    ether host AA:BB:CC:DD:EE:FF)`";
    let trigger = trigger(true);
    let events = [
        Event::Note {
            text: proxied.as_bytes(),
        },
        Event::Note {
            text: filtered.as_bytes(),
        },
        Event::Triggered {
            trigger,
            text: b"vm: SIGUSR1",
        },
        // What is known by its place alone is no secret elsewhere.
        Event::Received {
            socket: SOCKET,
            from: at("127.0.0.1:7901"),
            payload: b"vm at game-host",
        },
    ];
    let rules = Redaction {
        loopback: true,
        ports: true,
        ..rules()
    };
    let texts = texts(rules, &events);
    let said = texts.join("; ");
    for gone in [
        "127.0.0.1",
        "7975",
        "7901",
        "game-host",
        "7800",
        "7801",
        "db1",
        "AA:BB",
        "vm",
    ] {
        assert!(!said.contains(gone), "{gone} in {said}");
    }
    assert!(texts[0].contains("receive buffer has 425984"), "{said}");
    assert!(texts[1].contains("udp portrange "), "{said}");
    assert!(texts[2].ends_with(".example: SIGUSR1"), "{said}");
}

#[test]
fn an_argument_s_target_is_the_same_machine_as_the_proxy_s() {
    let header = Header {
        args: vec!["127.0.0.1:7975=game-host:7901".to_owned()],
        ..header()
    };
    let text = b"127.0.0.1:7975 stands for game-host:7901, which is 127.0.0.1:7901; its receive \
                 buffer has 425984 bytes";
    let old = reel(&header, &[Event::Note { text }]);
    let rules = Redaction {
        args: Texts::Scrub,
        ..rules()
    };
    let survey = Survey::new(rules, std::slice::from_ref(&old)).unwrap();
    let (bytes, report) = copy(&survey, &old);
    assert_eq!(complaints(&survey, &old, &bytes, &report), [""; 0]);
    let new = Reel::from_bytes(bytes.clone()).unwrap();
    assert_eq!(new.header().args, ["127.0.0.1:7975=host-1.example:7901"]);
    assert!(contains(&bytes, b"stands for host-1.example:7901"));
}

#[test]
fn the_name_of_a_node_stays_where_a_peer_says_it() {
    let trigger = trigger(true);
    let text = b"HOST: key";
    let events = [Event::Triggered { trigger, text }];
    assert_eq!(texts(rules(), &events), ["HOST: key"]);
}

/// What a game said in words of its own: which objects live, and a value of one of them.
fn beliefs(rules: Redaction) -> Vec<String> {
    let value = Believed::Value {
        said: b"name \"Bob the second\"",
    };
    let events = [Believed::Created { owner: Some(3) }, value].map(|believed| Event::Believed {
        object: 42,
        believed,
    });
    let old = reel(&header(), &events);
    let survey = Survey::new(rules, std::slice::from_ref(&old)).unwrap();
    let (bytes, report) = copy(&survey, &old);
    assert_eq!(complaints(&survey, &old, &bytes, &report), [""; 0]);
    let mut said = Vec::new();
    Reel::from_bytes(bytes).unwrap().for_each(|record| {
        if let Event::Believed { object, believed } = record.event {
            said.push(believed.words(object));
        }
    });
    said
}

#[test]
fn of_what_a_game_believed_the_objects_stay_and_the_values_go() {
    let zeros = format!("value 42 {}", "\0".repeat(21));
    assert_eq!(beliefs(rules()), ["created 42 owner 3", zeros.as_str()]);
    let keeps = Redaction {
        beliefs: Bytes::Keep,
        ..rules()
    };
    let kept = "value 42 name \"Bob the second\"";
    assert_eq!(beliefs(keeps), ["created 42 owner 3", kept]);
}
