//! Findings about objects, in sessions of a tiny protocol.

use netreel_protocol::history::{Effect, Finding, History, Level};
use netreel_protocol::query::Query;
use netreel_protocol::session::Session;
use netreel_wire::Wire;

use crate::reels::{Happened, Made, Node};

/// One message a packet: rules, sender, kind, place in the stream, object, owner, counter.
const WIRE: &str = "
wire tiny { version = 1; byte_order = little; bit_order = lsb; root = Packet; }
rules historic {
    unknown_migrate = drop; unknown_update = drop; unknown_destroy = drop;
    create = always; stale = never; update_from = anyone;
}
rules counted {
    unknown_migrate = create; unknown_update = drop; unknown_destroy = tombstone;
    create = newer; stale = counter; update_from = owner;
}
rules careless {
    unknown_migrate = drop; unknown_update = create; unknown_destroy = drop;
    create = always; stale = never; update_from = anyone;
}
enum Mode : u8 { host = 0 @rules(historic), owner = 1 @rules(counted), careless = 2 @rules(careless), }
enum Kind : u8 {
    create = 0 @create, migrate = 1 @migrate, destroy = 2 @destroy, update = 3 @update,
    order = 4 @migrate_order, host = 5,
}
struct Packet {
    mode: Mode @rules;
    sender: u8 @sender;
    sequence: u8 @sequence;
    messages: Message[1];
}
struct Message @message {
    kind: Kind @message_kind;
    reliable: u1 @reliable; pad: u7 = 0;
    origin: u8 @origin;
    if (reliable == 1) { place: u8 @reliable_sequence; }
    object: u8 @object;
    switch (kind) {
        Kind.create => create: Create;
        Kind.migrate => migrate: Migrate;
        Kind.destroy => destroy: Plain;
        Kind.update => update: Plain;
        Kind.order => order: Migrate;
        Kind.host => host: Host;
    }
}
struct Plain { counter: u8 @migration_counter; }
struct Host { counter: u8; host: u8 @host; }
struct Create { counter: u8 @migration_counter; owner: u8 @owner; }
struct Migrate { counter: u8 @migration_counter; new_owner: u8 @new_owner; }
";

pub const CREATE: u8 = 0;
pub const MIGRATE: u8 = 1;
pub const DESTROY: u8 = 2;
pub const UPDATE: u8 = 3;
pub const ORDER: u8 = 4;
pub const HOST: u8 = 5;
pub const HOST_MODE: u8 = 0;
pub const OWNER_MODE: u8 = 1;
/// An UPDATE of what nobody knows makes it.
pub const CARELESS_MODE: u8 = 2;

/// A message from one peer to another: sent, and perhaps received.
#[derive(Clone, Copy)]
pub struct Sent {
    from: u8,
    to: u8,
    at: u64,
    received: Option<u64>,
    /// Kind, owner (or nobody's business), counter.
    says: (u8, u8, u8),
    /// Who said it first.
    origin: u8,
    object: u8,
    reliable: bool,
}

impl Sent {
    /// The same, as another one said it first.
    pub fn as_of(self, origin: u8) -> Sent {
        Sent { origin, ..self }
    }

    /// The same of another object.
    fn of(self, object: u8) -> Sent {
        Sent { object, ..self }
    }

    /// The same, sent once.
    pub fn unreliable(self) -> Sent {
        Sent {
            reliable: false,
            ..self
        }
    }
}

pub fn say(from: u8, to: u8, at: u64, received: Option<u64>, says: (u8, u8, u8)) -> Sent {
    Sent {
        from,
        to,
        at,
        received,
        says,
        origin: from,
        object: 5,
        reliable: true,
    }
}

/// When, with whom, whether it was sent, and the bytes.
type Crossed = (u64, u16, bool, Vec<u8>);

/// The peers 0 (`A`), 1 (`B`) and 2 (`C`) and what they said about objects, in ten seconds.
pub fn made(mode: u8, story: &[Sent]) -> Made {
    let port = |peer: u8| 1 + u16::from(peer);
    let mut sequences = [[0u8; 3]; 3];
    let mut places = [[0u8; 3]; 3];
    let mut events: [Vec<Crossed>; 3] = Default::default();
    for each in story {
        let (kind, owner, counter) = each.says;
        let (from, to) = (usize::from(each.from), usize::from(each.to));
        let sequence = &mut sequences[from][to];
        let reliable = u8::from(each.reliable);
        let mut bytes = vec![mode, each.from, *sequence, kind, reliable, each.origin];
        *sequence += 1;
        if each.reliable {
            bytes.push(places[from][to]);
            places[from][to] += 1;
        }
        bytes.extend([each.object, counter]);
        if kind != DESTROY && kind != UPDATE {
            bytes.push(owner);
        }
        events[from].push((each.at, port(each.to), true, bytes.clone()));
        if let Some(at) = each.received {
            events[to].push((at, port(each.from), false, bytes));
        }
    }
    let nodes = (0u8..).zip(events).map(|(peer, mut events)| {
        events.sort();
        let events = events.into_iter().map(|(time, other, is_send, bytes)| {
            let happened = match is_send {
                true => Happened::Sent(other, bytes),
                false => Happened::Received(other, bytes),
            };
            (time, happened)
        });
        Node {
            name: ["A", "B", "C"][usize::from(peer)].to_owned(),
            boot: "boot".to_owned(),
            port: port(peer),
            events: events.collect(),
            span: (0, 10_000_000_000),
        }
    });
    Made::new(WIRE, nodes.collect())
}

/// The same, and what the peers' games said at which times.
pub fn said(mode: u8, story: &[Sent], says: &[(usize, u64, &'static str)]) -> Made {
    let mut made = made(mode, story);
    for &(peer, at, words) in says {
        let events = &mut made.nodes[peer].events;
        events.push((at, Happened::Says(words)));
        // Of one moment the word comes after the message.
        events.sort_by_key(|(time, _)| *time);
    }
    made
}

fn play(mode: u8, story: &[Sent]) -> (Session, History) {
    let (session, history) = made(mode, story).read();
    assert_eq!(session.warnings(), Vec::<String>::new());
    (session, history)
}

fn check(mode: u8, story: &[Sent], expected: &[(&str, Level, &str)]) {
    let (_, history) = play(mode, story);
    let found: Vec<(&str, Level, &str)> = history
        .findings
        .iter()
        .map(
            |Finding {
                 rule,
                 level,
                 sentence,
                 ..
             }| (*rule, *level, sentence.as_str()),
        )
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn the_tiny_wire_compiles() {
    assert_eq!(
        Wire::compile("tiny.wire", WIRE)
            .map_err(|e| e.to_string())
            .err(),
        None
    );
}

#[test]
fn create_update_and_destroy_in_order_are_no_finding() {
    check(
        HOST_MODE,
        &[
            say(0, 1, 10, Some(20), (CREATE, 0, 0)),
            say(0, 2, 10, Some(20), (CREATE, 0, 0)),
            say(0, 1, 30, Some(40), (DESTROY, 0, 0)),
            say(0, 2, 30, Some(40), (DESTROY, 0, 0)),
        ],
        &[],
    );
}

#[test]
fn two_owners_at_the_same_counter_are_an_error() {
    check(
        OWNER_MODE,
        &[
            say(0, 2, 10, Some(20), (CREATE, 0, 3)),
            say(1, 2, 30, Some(40), (MIGRATE, 1, 3)),
            say(1, 0, 1030, Some(2030), (MIGRATE, 1, 3)),
        ],
        &[(
            "two-owners",
            Level::Error,
            "A and B both believed that they own object 5 for 2.0 µs: B since MIGRATE to B at \
             counter 3 (packet 1); both at counter 3",
        )],
    );
}

#[test]
fn two_owners_while_migrate_is_under_way_are_an_info() {
    check(
        OWNER_MODE,
        &[
            say(0, 1, 10, Some(20), (CREATE, 0, 0)),
            say(1, 0, 30, Some(5030), (MIGRATE, 1, 1)),
        ],
        &[(
            "two-owners",
            Level::Info,
            "A and B both believed that they own object 5 for 5.0 µs: B since MIGRATE to B at \
             counter 1 (packet 1); until A got MIGRATE to B at counter 1 (packet 1)",
        )],
    );
}

#[test]
fn two_owners_when_all_is_delivered_are_an_error() {
    check(
        OWNER_MODE,
        &[
            say(0, 2, 10, Some(20), (CREATE, 0, 0)),
            say(1, 2, 10_000, Some(20_000), (MIGRATE, 1, 1)),
        ],
        &[(
            "two-owners",
            Level::Error,
            "A and B both believed that they own object 5 for 10.0 s: B since MIGRATE to B at \
             counter 1 (packet 1); still so when all is delivered",
        )],
    );
}

#[test]
fn a_migrate_that_is_dropped_before_create_is_an_error() {
    check(
        HOST_MODE,
        &[
            say(0, 1, 10, Some(20), (CREATE, 0, 0)),
            say(0, 2, 10, Some(5_000_090), (CREATE, 0, 0)),
            say(1, 2, 40, Some(90), (MIGRATE, 2, 0)),
        ],
        &[(
            "migrate-before-create",
            Level::Error,
            "C got MIGRATE to peer 2 at counter 0 of object 5 (packet 2) before CREATE and dropped it, \
             because it did not know the object; CREATE (packet 1) came 5.0 ms later",
        )],
    );
}

#[test]
fn what_waits_behind_a_gap_in_the_stream_is_delivered_when_it_closes() {
    // DESTROY overtakes CREATE on the wire, but not on the way to the engine.
    let story = [
        say(0, 1, 10, Some(500), (CREATE, 0, 0)),
        say(0, 1, 20, Some(100), (DESTROY, 0, 0)),
    ];
    let (session, history) = play(HOST_MODE, &story);
    let at_b: Vec<(Effect, i64)> = history
        .deliveries
        .iter()
        .filter(|delivery| session.name(delivery.node) == "B")
        .map(|delivery| (delivery.effect, delivery.at.time.0))
        .collect();
    assert_eq!(at_b, [(Effect::Created, 500), (Effect::Destroyed, 500)]);
    assert_eq!(history.findings, []);
}

#[test]
fn what_was_sent_and_never_arrived_is_undelivered() {
    let story = [
        say(0, 1, 10, Some(20), (CREATE, 0, 0)),
        say(0, 1, 30, None, (DESTROY, 0, 0)),
    ];
    let (session, history) = play(HOST_MODE, &story);
    let [undelivered] = history.undelivered[..] else {
        panic!("{:?}", history.undelivered)
    };
    assert_eq!(session.kind(undelivered).unwrap().name, "destroy");
}

/// The rules that find something.
fn rules(mode: u8, story: &[Sent]) -> Vec<&'static str> {
    let (_, history) = play(mode, story);
    history
        .findings
        .iter()
        .map(|finding| finding.rule)
        .collect()
}

#[test]
fn a_create_that_is_older_than_destroy_makes_a_zombie() {
    let story = [
        say(0, 1, 10, Some(20), (CREATE, 0, 0)),
        say(0, 2, 10, Some(5_000), (CREATE, 0, 0)),
        say(1, 2, 40, Some(90), (DESTROY, 0, 0)),
    ];
    assert_eq!(rules(HOST_MODE, &story), ["zombie-object"]);
}

// It cannot be said of a node that was not there to the end that the object still lives at it.
#[test]
fn a_zombie_of_a_node_that_fell_silent_lived_until_then() {
    let second = 1_000_000_000;
    let outcome = |silent_from: u64| {
        let mut story = vec![
            say(0, 1, 10, Some(20), (CREATE, 0, 0)),
            say(0, 2, 10, Some(5_000), (CREATE, 0, 0)),
            say(1, 2, 40, Some(90), (DESTROY, 0, 0)),
        ];
        for at in (1..=8).map(|place| place * second) {
            story.push(say(0, 1, at, Some(at + 10), (HOST, 0, 0)));
            story.push(say(1, 0, at, Some(at + 10), (HOST, 0, 0)));
            if at < silent_from * second {
                story.push(say(2, 0, at, Some(at + 10), (HOST, 0, 0)));
            }
        }
        let (_, history) = play(HOST_MODE, &story);
        let [zombie] = &history.findings[..] else {
            panic!("{:#?}", history.findings)
        };
        assert_eq!((zombie.rule, zombie.level), ("zombie-object", Level::Error));
        let outcome = zombie.sentence.rsplit("; ").next();
        outcome.unwrap_or_default().to_owned()
    };
    assert_eq!(outcome(9), "it still lives at C when all is delivered");
    assert_eq!(outcome(3), "it lived there until C left or fell silent");
}

#[test]
fn zombies_of_one_stream_are_one_finding_with_each_to_open() {
    let story = |object: u8, late: u64| {
        [
            say(0, 1, 10, Some(20), (CREATE, 0, 0)),
            say(0, 2, 10, Some(late), (CREATE, 0, 0)),
            say(1, 2, 40, Some(90), (DESTROY, 0, 0)),
        ]
        .map(|sent| sent.of(object))
    };
    let three = [5, 6, 7].map(|object| story(object, 5_000 + u64::from(object)));
    let (session, history) = play(HOST_MODE, &three.concat());
    let [zombies] = &history.findings[..] else {
        panic!("{:?}", history.findings);
    };
    assert_eq!(zombies.objects, [5, 6, 7]);
    assert_eq!(
        zombies.sentence,
        "3 objects (5, 6 and 7) outlive their DESTROY: C got it from B before their CREATE from A came, \
         which it had dropped because it did not know them; they still live at C when all is delivered"
    );
    let each = zombies.each.iter().map(|it| (it.object, it.evidence.len()));
    assert_eq!(
        each.collect::<Vec<_>>(),
        [(Some(5), 2), (Some(6), 2), (Some(7), 2)]
    );
    assert!(zombies.each[1].sentence.starts_with("C created object 6 "));
    // Every packet of the proof of each finds it, and so does a filter for each object.
    assert!(
        zombies
            .proof()
            .all(|it| history.findings_of(it.packet).count() == 1)
    );
    let fits = |text: &str| {
        let query = Query::parse(text).expect("a filter");
        query.finding(&session, &history, zombies)
    };
    assert!(fits("object == 7 && rule == zombie-object"));
    assert!(!fits("object == 8"));
    // What came of another stream is another finding.
    let mut other = story(8, 6_000);
    other[0] = say(1, 0, 10, Some(20), (CREATE, 1, 0)).of(8);
    other[1] = say(1, 2, 10, Some(6_000), (CREATE, 1, 0)).of(8);
    other[2] = say(0, 2, 40, Some(90), (DESTROY, 0, 0)).of(8);
    let all: Vec<Sent> = three.into_iter().chain([other]).flatten().collect();
    let (_, history) = play(HOST_MODE, &all);
    let objects = history.findings.iter().map(|it| it.objects.clone());
    assert_eq!(objects.collect::<Vec<_>>(), [vec![5, 6, 7], vec![8]]);
}

#[test]
fn an_id_that_is_used_again_makes_no_zombie() {
    let both = |at: u64, says| {
        let to = |peer| say(0, peer, at, Some(at + 10), says);
        [to(1), to(2)]
    };
    let first = [both(10, (CREATE, 0, 0)), both(30, (DESTROY, 0, 0))];
    let again = [both(50, (CREATE, 0, 0))];
    let story: Vec<Sent> = first.into_iter().chain(again).flatten().collect();
    assert_eq!(rules(HOST_MODE, &story), [""; 0]);
    // By another node, too.
    let again = [
        say(1, 0, 50, Some(60), (CREATE, 1, 0)),
        say(1, 2, 50, Some(60), (CREATE, 1, 0)),
    ];
    let first = [both(10, (CREATE, 0, 0)), both(30, (DESTROY, 0, 0))];
    let story: Vec<Sent> = first.into_iter().flatten().chain(again).collect();
    assert_eq!(rules(HOST_MODE, &story), [""; 0]);
}

#[test]
fn create_twice_of_what_lives_is_told_twice() {
    let create = |at| say(0, 1, at, Some(at + 10), (CREATE, 0, 0));
    let destroy = say(0, 1, 30, Some(40), (DESTROY, 0, 0));
    assert_eq!(rules(HOST_MODE, &[create(10), create(50)]), ["told-twice"]);
    let apart = [create(10), destroy, create(50)];
    assert_eq!(rules(HOST_MODE, &apart), [""; 0]);
}

#[test]
fn update_before_ones_own_create_is_dropped() {
    let update = |from| say(from, 1, 10, Some(20), (UPDATE, 0, 0));
    let create = || say(0, 1, 30, Some(40), (CREATE, 0, 0));
    let story = [update(0), create()];
    assert_eq!(rules(HOST_MODE, &story), ["update-before-create"]);
    // Another one cannot know what B knows.
    assert_eq!(rules(HOST_MODE, &[update(2), create()]), [""; 0]);
}

#[test]
fn an_early_update_that_comes_again_anyway_is_odd_alone() {
    let levels = |story: &[Sent]| {
        let (_, history) = play(HOST_MODE, story);
        let findings = history.findings.iter();
        let early = findings.filter(|it| it.rule == "update-before-create");
        early.map(|it| it.level).collect::<Vec<_>>()
    };
    let update = || say(0, 1, 10, Some(20), (UPDATE, 0, 0));
    let create = || say(0, 1, 30, Some(40), (CREATE, 0, 0));
    assert_eq!(levels(&[update().unreliable(), create()]), [Level::Info]);
    // What is sent reliably does not come again.
    assert_eq!(levels(&[update(), create()]), [Level::Warning]);
    // Where nothing is reliable, nobody says what comes again.
    let nothing = [update().unreliable(), create().unreliable()];
    assert_eq!(levels(&nothing), [Level::Warning]);
    // A creates it for C, and B is never told.
    let elsewhere = say(0, 2, 5, Some(9), (CREATE, 0, 0));
    assert_eq!(
        levels(&[elsewhere, update().unreliable()]),
        [Level::Warning]
    );
}

/// A creates for B and C, destroys, and then somebody says something to B.
pub fn destroyed_and_then(last: Sent) -> Vec<Sent> {
    let both = |at: u64, says| [1, 2].map(|to| say(0, to, at, Some(at + 10), says));
    let created = both(10, (CREATE, 0, 0)).into_iter();
    created
        .chain(both(30, (DESTROY, 0, 0)))
        .chain([last])
        .collect()
}

#[test]
fn update_after_ones_own_destroy_is_dropped() {
    let with = |last: Sent| rules(HOST_MODE, &destroyed_and_then(last));
    let update = |from, at| say(from, 1, at, Some(at + 40), (UPDATE, 0, 0));
    assert_eq!(with(update(0, 40)), ["update-after-destroy"]);
    // It was sent before, and came late; another one may not have read yet that it ended.
    assert_eq!(with(update(0, 25)), [""; 0]);
    assert_eq!(with(update(2, 45)), [""; 0]);
}

#[test]
fn update_after_ones_own_destroy_that_brings_the_object_back_is_an_error() {
    let last = say(0, 1, 40, Some(80), (UPDATE, 0, 0));
    let found = made(CARELESS_MODE, &destroyed_and_then(last)).found();
    let told = found
        .iter()
        .find(|(rule, ..)| *rule == "update-after-destroy");
    let Some((_, level, sentence)) = told else {
        panic!("{found:?}")
    };
    assert_eq!(*level, Level::Error);
    assert_eq!(
        sentence,
        "A sent B UPDATE of object 5 (packet 4) after its own DESTROY by A at counter 0 (packet 2), \
         and B created it by that"
    );
}

#[test]
fn a_counter_that_falls_is_told_and_one_that_stays_or_rises_is_not() {
    let said = |mode, last| {
        let story = [
            say(0, 1, 10, Some(20), (CREATE, 0, 4)),
            say(0, 1, 30, Some(40), (ORDER, 2, 5)),
            say(0, 1, 50, Some(60), last),
        ];
        rules(mode, &story).contains(&"counter-falls")
    };
    assert!(said(OWNER_MODE, (MIGRATE, 0, 4)));
    assert!(!said(OWNER_MODE, (MIGRATE, 0, 5)));
    assert!(!said(OWNER_MODE, (MIGRATE, 0, 6)));
    // An order may leave late, and the object may begin anew.
    assert!(!said(OWNER_MODE, (ORDER, 1, 4)));
    assert!(!said(OWNER_MODE, (CREATE, 0, 0)));
    // By these rules no counter is looked at.
    assert!(!said(HOST_MODE, (MIGRATE, 0, 4)));
}

#[test]
fn who_migrates_and_is_not_host() {
    let named = |host| say(0, 1, 5, Some(9), (HOST, host, 0));
    let create = || say(0, 1, 10, Some(20), (CREATE, 0, 0));
    let said = |story: &[Sent]| rules(OWNER_MODE, story).contains(&"migrate-not-from-host");
    let takes = || say(1, 0, 50, Some(60), (MIGRATE, 1, 1));
    assert!(said(&[named(0), create(), takes()]));
    // The host told it to; it is the host; nobody said who is.
    let order = say(0, 1, 30, Some(40), (ORDER, 1, 1));
    assert!(!said(&[named(0), create(), order, takes()]));
    assert!(!said(&[named(1), create(), takes()]));
    assert!(!said(&[create(), takes()]));
}

/// The same in a protocol whose packets say who is host, outside their messages.
fn in_packets(mut made: Made, host: u8) -> Made {
    let field = "sequence: u8 @sequence;";
    let both = format!("{field} host: u8 @host;");
    made.wire = made.wire.replace(field, &both);
    made.wire = made.wire.replace("host: u8 @host; }", "host: u8; }");
    for (_, happened) in made.nodes.iter_mut().flat_map(|node| &mut node.events) {
        if let Happened::Sent(_, bytes) | Happened::Received(_, bytes) = happened {
            bytes.insert(3, host);
        }
    }
    made
}

#[test]
fn who_is_host_may_stand_outside_messages() {
    let story = [
        say(0, 1, 10, Some(20), (CREATE, 0, 0)),
        say(1, 0, 50, Some(60), (MIGRATE, 1, 1)),
    ];
    let said = |host| {
        let made = in_packets(made(OWNER_MODE, &story), host);
        made.rules().contains(&"migrate-not-from-host")
    };
    assert!(said(0));
    assert!(!said(1));
}

#[test]
fn who_is_host_is_heard_where_the_first_word_of_it_is_lost() {
    let named = |at, received| say(0, 1, at, received, (HOST, 0, 0));
    let story = [
        named(3, None),
        named(5, Some(9)),
        say(2, 1, 10, Some(20), (CREATE, 2, 0)),
        say(1, 2, 50, Some(60), (MIGRATE, 1, 1)),
    ];
    let (_, history) = made(OWNER_MODE, &story).read();
    let mut findings = history.findings.iter();
    let finding = findings.find(|it| it.rule == "migrate-not-from-host");
    assert_eq!(finding.map(|it| it.evidence[0].packet.0), Some(1));
}

/// A creates for B and C and falls silent, or not; B and C go on, and B may end the object.
pub fn left_behind(leaves: bool, ends: bool) -> Vec<Sent> {
    let mut story = vec![
        say(0, 1, 10, Some(20), (CREATE, 0, 0)),
        say(0, 2, 10, Some(20), (CREATE, 0, 0)),
    ];
    for at in (1..=8u64).map(|second| second * 1_000_000_000) {
        story.push(say(1, 2, at, Some(at + 10), (HOST, 0, 0)));
        story.push(say(2, 1, at, Some(at + 10), (HOST, 0, 0)));
        if !leaves {
            story.push(say(0, 1, at, Some(at + 10), (HOST, 0, 0)));
        }
    }
    if ends {
        story.push(say(1, 2, 5_000, Some(5_010), (DESTROY, 0, 0)));
    }
    story
}

#[test]
fn nobody_owns_what_is_left_of_who_fell_silent() {
    let found = |leaves, ends| rules(HOST_MODE, &left_behind(leaves, ends));
    assert_eq!(found(true, false), ["nobody-owns"]);
    assert_eq!(found(false, false), [""; 0]);
    assert_eq!(found(true, true), [""; 0]);
}

/// A creates for B and C and destroys for B alone, at a moment; then perhaps for C.
pub fn destroyed_for_b(at: u64, for_c: Option<Sent>) -> Vec<Sent> {
    let mut story = vec![
        say(0, 1, 10, Some(20), (CREATE, 0, 0)),
        say(0, 2, 10, Some(20), (CREATE, 0, 0)),
        say(2, 0, 30, Some(40), (UPDATE, 0, 0)),
        say(0, 1, at, Some(at + 10), (DESTROY, 0, 0)),
    ];
    story.extend(for_c);
    story
}

#[test]
fn who_is_not_told_of_destroy_differs_at_rest() {
    let story = destroyed_for_b(50, None);
    assert_eq!(rules(HOST_MODE, &story), ["objects-differ-at-rest"]);
    // DESTROY may still come, and did not for ten seconds.
    let lost = say(0, 2, 50, None, (DESTROY, 0, 0));
    let found = rules(HOST_MODE, &destroyed_for_b(50, Some(lost)));
    assert_eq!(found, ["difference-lasts"]);
    // It may still come, and there was no time.
    let lost = say(0, 2, 9_000_000_000, None, (DESTROY, 0, 0));
    let found = rules(HOST_MODE, &destroyed_for_b(9_000_000_000, Some(lost)));
    assert_eq!(found, [""; 0]);
    let late = destroyed_for_b(9_500_000_000, None);
    assert_eq!(rules(HOST_MODE, &late), [""; 0]);
    let told = say(0, 2, 50, Some(70), (DESTROY, 0, 0));
    assert_eq!(rules(HOST_MODE, &destroyed_for_b(50, Some(told))), [""; 0]);
}

/// The findings of a rule in a story that is judged by these bounds.
fn by_bounds(bounds: &str, rule: &str, story: &[Sent]) -> Vec<Finding> {
    let (_, history) = made(HOST_MODE, story).bounds(bounds).read();
    let mut findings = history.findings;
    findings.retain(|finding| finding.rule == rule);
    findings
}

#[test]
fn a_wait_for_the_message_before_is_found_beyond_the_bound_and_not_at_it() {
    let story = [
        say(0, 1, 100, Some(5_000), (CREATE, 0, 0)),
        say(0, 1, 200, Some(300), (UPDATE, 0, 0)),
    ];
    let found = |bound: &str| {
        let bounds = format!("[head-of-line-wait]\nlongest = \"{bound}\"");
        by_bounds(&bounds, "head-of-line-wait", &story)
    };
    let beyond = found("4699ns");
    let [finding] = &beyond[..] else {
        panic!("{beyond:?}")
    };
    assert_eq!(finding.level, Level::Warning);
    assert!(
        finding.sentence.contains("waited for 4.7 µs at B"),
        "{}",
        finding.sentence
    );
    let times: Vec<i64> = finding.evidence.iter().map(|it| it.time.0).collect();
    assert_eq!(times, [300, 5_000]);
    assert_eq!(found("4700ns"), []);
    assert_eq!(by_bounds("", "head-of-line-wait", &story), []);
}

#[test]
fn what_comes_in_order_waits_for_nothing_however_late() {
    let story = [
        say(0, 1, 100, Some(9_000), (CREATE, 0, 0)),
        say(0, 1, 200, Some(9_100), (UPDATE, 0, 0)),
    ];
    let bounds = "[head-of-line-wait]\nlongest = \"0ns\"";
    assert_eq!(by_bounds(bounds, "head-of-line-wait", &story), []);
}

#[test]
fn what_an_older_counter_says_is_ignored_and_what_a_newer_one_says_is_not() {
    let said = |counter| {
        let story = [
            say(0, 1, 10, Some(20), (CREATE, 0, 0)),
            say(0, 1, 30, Some(40), (MIGRATE, 1, 5)),
            say(2, 1, 50, Some(60), (MIGRATE, 2, counter)),
        ];
        rules(OWNER_MODE, &story).contains(&"stale-message-ignored")
    };
    assert!(said(4));
    assert!(!said(6));
}

/// The stream is ordered, and B's game takes its messages as they come: DESTROY, of which it knows no
/// object, then CREATE.
#[test]
fn a_game_that_does_not_keep_the_order_of_a_stream_says_so_itself() {
    let story = [
        say(0, 1, 10, Some(500), (CREATE, 0, 0)),
        say(0, 1, 20, Some(100), (DESTROY, 0, 0)),
        say(1, 0, 600, Some(610), (HOST, 0, 0)),
        say(2, 0, 600, Some(610), (HOST, 0, 0)),
    ];
    assert_eq!(made(HOST_MODE, &story).found(), []);
    let mut found = said(HOST_MODE, &story, &[(1, 501, "created 5 owner 0")]).found();
    found.sort_by_key(|(rule, ..)| std::cmp::Reverse(*rule));
    let expected = [
        (
            "objects-differ-at-rest",
            Level::Error,
            "A destroyed object 5, and it still lives at B, when all is delivered",
        ),
        (
            "belief-differs",
            Level::Warning,
            "the game of B has object 5, and by the rules of the wire it ended (DESTROY by A at counter \
             0, packet 1), for 10.0 s",
        ),
    ];
    let found: Vec<(&str, Level, &str)> = found
        .iter()
        .map(|(rule, level, sentence)| (*rule, *level, sentence.as_str()))
        .collect();
    assert_eq!(found, expected);
}

/// Without rules nobody knows what B made of its messages, unless all games say so.
#[test]
fn what_games_say_themselves_needs_no_rules() {
    use netreel_protocol::verdict::Judgement;

    let story = [
        say(0, 1, 10, Some(20), (CREATE, 0, 0)),
        say(1, 0, 30, Some(40), (HOST, 0, 0)),
    ];
    let reasons = |says: &[(usize, u64, &'static str)]| {
        let mut made = said(HOST_MODE, &story, says);
        let rules = made.wire.find("rules historic").expect("rules");
        let end = made.wire.find("enum Mode").expect("a mode");
        made.wire.replace_range(rules..end, "");
        for mode in ["historic", "counted", "careless"] {
            made.wire = made.wire.replace(&format!(" @rules({mode})"), "");
        }
        made.wire = made.wire.replace("mode: Mode @rules;", "mode: Mode;");
        made.nodes.truncate(2);
        let (session, history) = made.read();
        let judged = Judgement::new(&session, &history, Level::Error, &[]);
        let ids = judged.reasons.iter().map(|reason| reason.id);
        ids.collect::<Vec<&str>>()
    };
    let [a, b] = [(0, 11, "created 5 owner 0"), (1, 21, "created 5 owner 0")];
    assert_eq!(reasons(&[]), ["no-rules"]);
    assert_eq!(reasons(&[a]), ["no-rules"]);
    assert_eq!(reasons(&[a, b]), [""; 0]);
}
