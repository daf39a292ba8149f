//! No rule is without a session that shows it, at every level that its page names, and without one
//! that is almost the same and does not.

use std::collections::BTreeSet;
use std::path::Path;

use netreel_protocol::history::{Level, RULES};

use crate::acked::{self, Packet, Says, acks, says};
use crate::anew;
use crate::lockstep::{drifting, dropped, late, parted, rolled_back};
use crate::machines::{behind, cut, last_told, set_by, summed, ticks, took, updates};
use crate::named::{self, came};
use crate::objects::{
    self, CARELESS_MODE, CREATE, DESTROY, HOST, HOST_MODE, MIGRATE, ORDER, OWNER_MODE, Sent,
    UPDATE, destroyed_and_then, destroyed_for_b, left_behind, say,
};
use crate::reels::Made;

/// Sessions that show a rule, and near misses.
struct Pair {
    shows: Vec<Made>,
    misses: Vec<Made>,
}

/// A level that no session made by hand here shows: what does.
const SHOWN_ELSEWHERE: [(&str, Level, &str); 1] = [(
    "incomplete-reel",
    Level::Info,
    "tests/ring.rs: a window that a trigger kept",
)];

/// A rule's sessions.
fn pair(rule: &str) -> Option<Pair> {
    let owner = |story: &[Sent]| objects::made(OWNER_MODE, story);
    let host = |story: &[Sent]| objects::made(HOST_MODE, story);
    let acked = |story: &[Packet]| acked::made(story);
    let (shows, misses) = match rule {
        "ack-of-unreceived" => {
            let with = |bits| {
                let again = says(500, 4, 1);
                let lost = acked::lost(says(10, 2, 1));
                acked(&[
                    says(0, 1, 0),
                    lost,
                    says(20, 3, 2),
                    acks(100, 1, 3, bits),
                    again,
                ])
            };
            (vec![with(0b11)], vec![with(0b10)])
        }
        "ack-of-unsent" => {
            let with = |ack| {
                let sent = [says(0, 1, 0), says(10, 2, 1)];
                acked(&[sent[0], sent[1], acks(100, 1, ack, 0), says(300, 3, 2)])
            };
            (vec![with(3)], vec![with(2)])
        }
        "address-changed" => (
            vec![
                anew::moved(40, 500, 0),
                anew::moved(103, 10, 120),
                anew::with_tokens(7, 5_000),
            ],
            vec![
                anew::with_tokens(8, 10),
                anew::moved(0, 500, 0),
                anew::moved(104, 500, 0),
                anew::moved(40, 1100, 0),
            ],
        ),
        "answered-from-elsewhere" => (
            vec![anew::answered(3, (false, false))],
            vec![
                anew::answered(1, (false, false)),
                anew::answered(3, (true, false)),
                anew::answered(3, (false, true)),
            ],
        ),
        "belief-differs" => {
            let create = say(0, 1, 10, Some(20), (CREATE, 0, 0));
            let destroy = say(0, 1, 30, Some(1_000_000), (DESTROY, 0, 0));
            let migrate = say(0, 1, 30, Some(1_000_000), (MIGRATE, 1, 0));
            let said = |story: &[Sent], says: &[(usize, u64, &'static str)]| {
                objects::said(HOST_MODE, story, says)
            };
            // So long, in ns, that both stand apart for half a second or a little less.
            let late = |at| {
                let says = [(1, 30, "created 5 owner 0"), (1, at, "destroyed 5")];
                said(&[create, destroy], &says)
            };
            let twice = |between| {
                let says = [(1, 30, "created 5 owner 0"), (1, 1_000_010, between)];
                said(
                    &[create],
                    &[says[0], says[1], (1, 1_000_020, "created 5 owner 0")],
                )
            };
            let owner = |owner| {
                let says = [(1, 30, "created 5 owner 0"), (1, 1_000_010, owner)];
                said(&[create, migrate], &says)
            };
            // A's game spoke of two objects, and of the third never.
            let silent = |third: &'static str| {
                let says = [
                    (0, 11, "created 5 owner 0"),
                    (1, 30, "created 7 owner 0"),
                    (1, 31, "created 8 owner 0"),
                    (1, 32, "destroyed 7"),
                    (1, 33, "destroyed 8"),
                    (1, 34, third),
                ];
                said(&[create], &says)
            };
            (
                vec![
                    late(501_000_000),
                    twice("owner 5 0"),
                    owner("owner 5 0"),
                    silent("destroyed 9"),
                ],
                vec![
                    late(500_999_999),
                    twice("destroyed 5"),
                    owner("owner 5 1"),
                    silent("created 5 owner 0"),
                ],
            )
        }
        "checksums-differ" => (vec![parted(4..11), parted(4..6)], vec![parted(11..20)]),
        "clock-disagreement" => (vec![took(-1)], vec![took(0)]),
        // The packets leave 10 ms open.
        "clock-set" => (vec![set_by(2_000_000_000)], vec![set_by(1_000_000)]),
        "connection-restarted" => (
            vec![
                anew::again(40, 0),
                anew::again(16, 3),
                anew::again_silently(100),
                anew::forgetful(60, (10, 0), true),
                anew::pushing_again(100, true),
            ],
            vec![
                anew::forgetful(60, (700, 60), true),
                anew::pushing_again(0, true),
                anew::again_silently(0),
                anew::again(40, 41),
                anew::again(15, 0),
                anew::again(40, 50),
            ],
        ),
        "counter-falls" => {
            let with = |counter| {
                owner(&[
                    say(0, 1, 10, Some(20), (CREATE, 0, 4)),
                    say(0, 1, 30, Some(40), (ORDER, 2, 5)),
                    say(0, 1, 50, Some(60), (MIGRATE, 0, counter)),
                ])
            };
            (vec![with(4)], vec![with(5)])
        }
        "derived-field-wrong" => (vec![summed(1, &[])], vec![summed(0, &[]), summed(1, &[9])]),
        "destroy-untold" => {
            let with = |other: u8| {
                host(&[
                    say(0, 1, 10, Some(20), (CREATE, 0, 0)),
                    say(0, other, 30, Some(40), (CREATE, 0, 0)),
                    say(0, 2, 50, Some(60), (DESTROY, 0, 0)),
                ])
            };
            (vec![with(1)], vec![with(2)])
        }
        "duplicate-sequence" => {
            let with = |place| {
                acked(&[
                    says(0, 1, 0),
                    says(10, 2, 1),
                    says(20, 3, 2),
                    says(30, 3, place),
                    says(40, 4, 3),
                ])
            };
            (vec![with(3)], vec![with(2)])
        }
        "fragments-never-join" => {
            let with = |messages: &[(&[u8], u8)]| named::made(&named::in_parts(messages));
            let (right, off): (&[u8], &[u8]) = (&[0, 1, 2], &[1, 2, 3]);
            (
                vec![with(&[(right, 3), (off, 3)]), with(&[(off, 3)])],
                vec![with(&[(right, 3), (right, 3)])],
            )
        }
        "head-of-line-wait" => {
            let with = |longest: &str| {
                let story = [
                    say(0, 1, 100, Some(5_000), (CREATE, 0, 0)),
                    say(0, 1, 200, Some(300), (UPDATE, 0, 0)),
                ];
                host(&story).bounds(&format!("[head-of-line-wait]\nlongest = \"{longest}\"\n"))
            };
            (vec![with("4699ns")], vec![with("4700ns")])
        }
        "incomplete-reel" => (vec![cut(2_000)], vec![cut(0)]),
        "input-late" => (vec![dropped(250), late(250)], vec![dropped(90), late(40)]),
        "migrate-before-create" => {
            let story = |migrate| {
                [
                    say(0, 1, 10, Some(20), (CREATE, 0, 0)),
                    say(0, 2, 10, Some(100), (CREATE, 0, 0)),
                    say(1, 2, 40, Some(migrate), (MIGRATE, 1, 1)),
                ]
            };
            (
                vec![host(&story(99)), owner(&story(99))],
                vec![host(&story(101)), owner(&story(101))],
            )
        }
        "migrate-not-from-host" => {
            let with = |named| {
                owner(&[
                    say(0, 1, 5, Some(9), (HOST, named, 0)),
                    say(0, 1, 10, Some(20), (CREATE, 0, 0)),
                    say(1, 0, 50, Some(60), (MIGRATE, 1, 1)),
                ])
            };
            (vec![with(0)], vec![with(1)])
        }
        "nack-of-received" => (
            vec![
                acked(&acked::lacks_third(71, 3)),
                acked(&acked::lacks_third(70, 2)),
            ],
            vec![acked(&acked::lacks_third(71, 2))],
        ),
        "never-acked" => {
            let unreliable = |story: Vec<Packet>| -> Vec<Packet> {
                let third = |it: Packet| Packet {
                    says: match it.says {
                        Says::Place(2) => Says::State,
                        other => other,
                    },
                    ..it
                };
                story.into_iter().map(third).collect()
            };
            let denied = || acked::acked_in_turn(acked::never);
            (
                vec![acked(&denied()), acked(&unreliable(denied()))],
                vec![acked(&acked::acked_in_turn(|_, bits| bits))],
            )
        }
        "nobody-owns" => (
            vec![host(&left_behind(true, false))],
            vec![
                host(&left_behind(false, false)),
                host(&left_behind(true, true)),
            ],
        ),
        "objects-differ-at-rest" => {
            let lost = say(0, 2, 50, None, (DESTROY, 0, 0));
            // C never hears of the object: two of three know it.
            let untold = |known_percent: u8| {
                let story = [
                    say(0, 1, 10, Some(20), (CREATE, 0, 0)),
                    say(1, 0, 30, Some(40), (HOST, 0, 0)),
                    say(2, 0, 30, Some(45), (HOST, 0, 0)),
                ];
                let bounds = format!("[objects-differ-at-rest]\nknown-percent = {known_percent}\n");
                host(&story).bounds(&bounds)
            };
            (
                vec![host(&destroyed_for_b(50, None)), untold(66)],
                vec![host(&destroyed_for_b(50, Some(lost))), untold(67)],
            )
        }
        "origin-wrong" => {
            let with = |told: u8| {
                host(&[
                    say(2, told, 1, Some(5), (CREATE, 2, 0)),
                    say(0, 1, 10, Some(20), (CREATE, 0, 0)).as_of(2),
                ])
            };
            (vec![with(1)], vec![with(0)])
        }
        "reliable-not-delivered" => {
            let mut later = acked::given_up();
            later.push(acked::lost(says(8_600, 31, 1)));
            (vec![acked(&acked::given_up())], vec![acked(&later)])
        }
        "old-connection" => (
            vec![
                anew::straggling(1_800, 3),
                anew::straggling(1_800, 39),
                anew::answering(2_005, 29),
                anew::port_taken_over(2_900),
            ],
            vec![
                anew::straggling(1_600, 3),
                anew::answering(2_011, 0),
                anew::port_taken_over(1_500),
            ],
        ),
        "number-space-exhausted" => (
            vec![
                anew::split(2),
                anew::under_way(129, 1400),
                anew::under_way(140, 1271),
            ],
            vec![
                anew::split(3),
                anew::under_way(128, 1400),
                anew::under_way(129, 1269),
            ],
        ),
        "reliable-stuck" => {
            let again = |times, answer: fn(u64) -> Option<named::Packet>| {
                named::made(&named::second_again(times, 150, answer))
            };
            let unheard = |at| came(at).map(named::lost);
            (
                vec![again(12, unheard), again(12, came)],
                vec![again(8, came), again(9, unheard)],
            )
        }
        "resend-storm" => (
            vec![acked(&acked::copies(12, 10))],
            vec![acked(&acked::copies(12, 150)), acked(&acked::copies(6, 10))],
        ),
        "rollback-deep" => (vec![rolled_back(1_350)], vec![rolled_back(1_250)]),
        "rtt-step" => {
            // Round trips of 120 ms, then of 400.
            let turn = |n: u8| {
                let at = u64::from(n) * 40;
                let took = if n <= 20 { 60 } else { 340 };
                let there = Packet {
                    received: Some(at + took),
                    ..says(at, n, n)
                };
                [there, acks(at + took, n, n, 0)]
            };
            let with = |highest: &str| {
                let story: Vec<Packet> = (1..=40).flat_map(turn).collect();
                acked(&story).bounds(&format!("[rtt-step]\nhighest = \"{highest}\"\n"))
            };
            (vec![with("279ms")], vec![with("280ms")])
        }
        "copies-differ" => {
            let each: Vec<(u8, u8)> = (0..10).map(|turn| (turn, turn + 100)).collect();
            let again =
                |arguments: &[(u8, u8)], after| named::made(&named::again(arguments, after));
            (
                vec![
                    again(&[(7, 7), (7, 8), (9, 9)], 100),
                    again(&each, 100),
                    anew::copied(8, 9),
                ],
                vec![
                    again(&[(7, 7), (8, 8), (9, 9)], 100),
                    again(&[(7, 7), (7, 8), (9, 9)], 200),
                    anew::copied(7, 8),
                ],
            )
        }
        "loss-pattern" => {
            let of = |is_large: fn(u64) -> bool, is_lost: fn(u64) -> bool| {
                acked(&acked::lossy(is_large, is_lost))
            };
            (
                vec![
                    of(|n| n % 7 == 0, |n| n % 7 == 0),
                    of(|_| false, |n| n % 80 < 8),
                ],
                vec![
                    of(|n| n % 7 == 0, |n| n % 7 == 0 && acked::mixed(n) < 50),
                    of(|_| false, |n| acked::mixed(n) < 7),
                ],
            )
        }
        "silent-link" => {
            let until = |last: u8| {
                let is_lost = move |n: u8| (10..=last).contains(&n);
                acked(&acked::silence(60, is_lost, |_| false))
            };
            (vec![until(30)], vec![until(29)])
        }
        "stale-message-ignored" => {
            let with = |counter| {
                owner(&[
                    say(0, 1, 10, Some(20), (CREATE, 0, 0)),
                    say(0, 1, 30, Some(40), (MIGRATE, 1, 5)),
                    say(2, 1, 50, Some(60), (MIGRATE, 2, counter)),
                ])
            };
            (vec![with(4)], vec![with(6)])
        }
        "stream-gap" => (
            vec![acked(&acked::row(true))],
            vec![acked(&acked::row(false))],
        ),
        "tick-drift" => (vec![drifting(2_500)], vec![drifting(2_400)]),
        "tick-stall" => (vec![ticks(501)], vec![ticks(500)]),
        "told-twice" => {
            let create = |at| say(0, 1, at, Some(at + 10), (CREATE, 0, 0));
            let destroy = say(0, 1, 30, Some(40), (DESTROY, 0, 0));
            let again = say(0, 1, 60, Some(70), (DESTROY, 0, 0));
            (
                vec![
                    host(&[create(10), create(50)]),
                    host(&[create(10), destroy, again]),
                    named::made(&named::calls(&named::times(12, 2))),
                ],
                vec![
                    named::made(&named::calls(&named::times(8, 3))),
                    host(&[create(10), destroy, create(50)]),
                    host(&[create(10), destroy, create(45), again]),
                ],
            )
        }
        "two-owners" => {
            let with = |counter| {
                owner(&[
                    say(0, 2, 10, Some(20), (CREATE, 0, 3)),
                    say(1, 2, 30, Some(40), (MIGRATE, 1, counter)),
                    say(1, 0, 1030, Some(2030), (MIGRATE, 1, counter)),
                ])
            };
            // The old owner is told before the new one tells.
            let ordered = [
                say(0, 1, 10, Some(20), (CREATE, 0, 0)),
                say(0, 1, 30, Some(40), (ORDER, 1, 1)),
                say(1, 0, 50, Some(5_050), (MIGRATE, 1, 1)),
            ];
            (vec![with(3), with(4)], vec![owner(&ordered)])
        }
        "undecodable-packet" => (vec![summed(0, &[9])], vec![summed(0, &[]), summed(1, &[])]),
        "update-after-destroy" => {
            let update = |at| say(0, 1, at, Some(80), (UPDATE, 0, 0));
            let made = |mode, at| objects::made(mode, &destroyed_and_then(update(at)));
            (
                vec![made(HOST_MODE, 40), made(CARELESS_MODE, 40)],
                vec![made(HOST_MODE, 25), made(CARELESS_MODE, 25)],
            )
        }
        "update-before-create" => {
            let update = |who| say(who, 1, 10, Some(20), (UPDATE, 0, 0));
            let before = |update| host(&[update, say(0, 1, 30, Some(40), (CREATE, 0, 0))]);
            (
                vec![before(update(0)), before(update(0).unreliable())],
                vec![before(update(2))],
            )
        }
        "update-twice" => (vec![updates(2)], vec![updates(16)]),
        "update-unowned" => {
            let with = |later: u64| {
                let at = 30 + later;
                owner(&[
                    say(0, 1, 10, Some(20), (CREATE, 0, 0)),
                    say(0, 1, 30, Some(40), (MIGRATE, 1, 1)),
                    say(0, 1, at, Some(at + 10), (UPDATE, 0, 1)),
                ])
            };
            (vec![with(250_000_000)], vec![with(249_999_000)])
        }
        "difference-lasts" => (
            vec![behind(Some(2_000)), behind(None)],
            vec![behind(Some(1_900))],
        ),
        // They agree within 1.
        "values-differ" => (vec![last_told(12)], vec![last_told(11)]),
        "zombie-object" => {
            let story = |create| {
                [
                    say(0, 1, 10, Some(20), (CREATE, 0, 0)),
                    say(0, 2, 10, Some(create), (CREATE, 0, 0)),
                    say(1, 2, 40, Some(90), (DESTROY, 0, 0)),
                ]
            };
            // Without B's reel nobody can say whether more is under way.
            let mut without = host(&story(5_000));
            without.nodes.remove(1);
            (vec![host(&story(5_000)), without], vec![host(&story(80))])
        }
        _ => return None,
    };
    Some(Pair { shows, misses })
}

/// The levels that a rule's page names.
fn levels(rule: &str) -> BTreeSet<Level> {
    let page = format!("../docs/findings/{rule}.md");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    let page = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{rule}: {error}"));
    let row = page
        .lines()
        .find_map(|line| line.strip_prefix("| level | "));
    let row = row.unwrap_or_else(|| panic!("{rule} names no level"));
    let words = row.trim_end_matches(" |").split(", ");
    let levels = words.map(|word| {
        let all = [Level::Info, Level::Warning, Level::Error];
        let level = all.into_iter().find(|level| level.name() == word);
        level.unwrap_or_else(|| panic!("{rule}: `{word}` is no level"))
    });
    levels.collect()
}

#[test]
fn every_rule_has_a_session_that_shows_it_at_each_level_and_a_near_miss() {
    for rule in RULES {
        let Some(Pair { shows, misses }) = pair(rule) else {
            panic!("{rule} has no session that shows it and no near miss")
        };
        let elsewhere = SHOWN_ELSEWHERE.iter().filter(|it| it.0 == rule);
        let mut shown: BTreeSet<Level> = elsewhere.map(|it| it.1).collect();
        for made in &shows {
            let found = made.found();
            let own = found.iter().filter(|it| it.0 == rule);
            let own: Vec<Level> = own.map(|it| it.1).collect();
            assert!(!own.is_empty(), "{rule} is not shown: {found:#?}");
            shown.extend(own);
        }
        assert_eq!(shown, levels(rule), "{rule}: the levels of its page");
        assert!(!misses.is_empty(), "{rule} has no near miss");
        for made in &misses {
            let found = made.found();
            assert!(found.iter().all(|it| it.0 != rule), "{rule}: {found:#?}");
        }
    }
}

/// A near miss has the protocol of a session that shows the rule, the same nodes, and nearly as many
/// events.
#[test]
fn every_near_miss_is_almost_the_same() {
    let events = |made: &Made| {
        made.nodes
            .iter()
            .map(|node| node.events.len())
            .sum::<usize>()
    };
    for rule in RULES {
        let Some(Pair { shows, misses }) = pair(rule) else {
            continue;
        };
        for miss in &misses {
            let is_near = |made: &&Made| {
                made.wire == miss.wire
                    && made.nodes.len() == miss.nodes.len()
                    && events(made).abs_diff(events(miss)) <= 16
            };
            assert!(shows.iter().any(|made| is_near(&made)), "{rule}");
        }
    }
}
