//! What an owner sends, and when.

use super::stage::{A, B, COLOR, HOST, OBJECT, POSITION, Stage, X, create, destroy, update};
use crate::call::Call;
use crate::event::{Event, IgnoreReason, ObjectMessage, Refusal};
use crate::message::{Body, Message, ObjectId};
use crate::mode::{Mode, Topology};
use crate::start::Start;
use crate::types::Value;

const BOTH: [Mode; 2] = [Mode::Host, Mode::Owner];

fn counter(mode: Mode) -> Option<u64> {
    (mode == Mode::Owner).then_some(0)
}

fn color(color: i64) -> Value {
    Value::Integer(color)
}

/// The packet in which X was sent the CREATE of the object.
fn create_packet(stage: &mut Stage, object: ObjectId) -> Option<u16> {
    stage
        .heard(X)
        .into_iter()
        .find_map(|(sequence, message)| match message.body {
            Body::Create {
                object: created, ..
            } if created == object => Some(sequence),
            _ => None,
        })
}

#[test]
fn no_update_before_the_create_is_acked() {
    for mode in BOTH {
        let mut stage = Stage::new(A, mode);
        let object = stage.spawn();
        stage.tick();
        let packet = create_packet(&mut stage, object).expect("CREATE was sent");
        stage.set(object, COLOR, color(9));
        stage.ticks(3);
        assert_eq!(stage.updates(X), Vec::<Vec<usize>>::new());
        stage.ack(X, packet);
        stage.tick();
        assert_eq!(stage.updates(X), [[COLOR]]);
        assert_eq!(
            stage.updates(B),
            Vec::<Vec<usize>>::new(),
            "B has not acked"
        );
    }
}

#[test]
fn no_update_before_every_earlier_reliable_message_is_acked() {
    let mut stage = Stage::new(A, Mode::Owner);
    let name = "before".to_owned();
    stage.call(&Call::Rpc {
        to: None,
        reliable: true,
        name,
        arguments: vec![],
    });
    stage.tick();
    let before = stage.heard(X)[0].0;
    let object = stage.spawn();
    stage.tick();
    let packet = create_packet(&mut stage, object).expect("CREATE was sent");
    stage.set(object, COLOR, color(9));
    stage.ack(X, packet);
    stage.ticks(2);
    assert_eq!(
        stage.updates(X),
        Vec::<Vec<usize>>::new(),
        "received is not delivered"
    );
    stage.ack(X, before);
    stage.tick();
    assert_eq!(stage.updates(X), [[COLOR]]);
}

/// A stage on which A has a box that everybody has acked.
fn with_box() -> (Stage, ObjectId) {
    let mut stage = Stage::new(A, Mode::Owner);
    let object = stage.spawn();
    stage.tick();
    stage.ack_all();
    stage.tick();
    stage.heard(X);
    (stage, object)
}

#[test]
fn nothing_changed_is_nothing_sent() {
    let (mut stage, object) = with_box();
    stage.set(object, COLOR, color(7));
    stage.ticks(2);
    assert_eq!(stage.updates(X), Vec::<Vec<usize>>::new());
}

#[test]
fn an_update_is_sent_once_while_it_may_still_arrive() {
    let (mut stage, object) = with_box();
    stage.set(object, COLOR, color(9));
    stage.ticks(4);
    assert_eq!(stage.updates(X), [[COLOR]]);
}

#[test]
fn an_update_carries_all_that_is_not_acked() {
    let (mut stage, object) = with_box();
    stage.set(object, COLOR, color(9));
    stage.tick();
    stage.set(object, POSITION, Value::Vector(vec![1.0, 2.0, 3.0]));
    stage.tick();
    assert_eq!(stage.updates(X), [vec![COLOR], vec![POSITION, COLOR]]);
}

#[test]
fn an_update_leaves_out_what_is_acked() {
    let (mut stage, object) = with_box();
    stage.set(object, COLOR, color(9));
    stage.tick();
    stage.ack_from(X);
    stage.tick();
    stage.heard(X);
    stage.set(object, POSITION, Value::Vector(vec![1.0, 2.0, 3.0]));
    stage.tick();
    assert_eq!(stage.updates(X), [[POSITION]]);
}

#[test]
fn an_ack_of_an_older_value_leaves_the_newest_unacked() {
    let (mut stage, object) = with_box();
    stage.set(object, COLOR, color(9));
    stage.tick();
    let first = stage.heard(X)[0].0;
    stage.set(object, COLOR, color(10));
    stage.tick();
    stage.ack(X, first);
    stage.set(object, POSITION, Value::Vector(vec![1.0, 2.0, 3.0]));
    stage.tick();
    assert_eq!(stage.updates(X), [vec![COLOR], vec![POSITION, COLOR]]);
}

#[test]
fn a_lost_update_is_sent_again_with_the_newest_value() {
    let (mut stage, object) = with_box();
    stage.set(object, COLOR, color(9));
    let count = stage.ticks(10).len();
    assert_eq!(
        (count, stage.updates(X)),
        (0, vec![vec![COLOR], vec![COLOR]])
    );
}

#[test]
fn a_lost_create_is_sent_again() {
    let mut stage = Stage::new(A, Mode::Owner);
    let object = stage.spawn();
    stage.tick();
    assert!(create_packet(&mut stage, object).is_some());
    stage.ticks(4);
    assert_eq!(
        create_packet(&mut stage, object),
        None,
        "it may still arrive"
    );
    stage.ticks(6);
    assert!(create_packet(&mut stage, object).is_some());
}

#[test]
fn every_peer_gets_what_it_lacks() {
    let (mut stage, object) = with_box();
    stage.set(object, COLOR, color(9));
    stage.tick();
    stage.ack_from(B);
    stage.heard(X);
    stage.heard(B);
    stage.ticks(10);
    assert_eq!((stage.updates(B).len(), stage.updates(X).len()), (0, 1));
}

#[test]
fn an_object_of_another_is_not_for_this_node_to_change() {
    let mut stage = Stage::new(X, Mode::Owner);
    stage.say(A, create(A, Some(0)));
    stage.tick();
    stage.set(OBJECT, COLOR, color(9));
    assert_eq!(stage.belief(), Some((A, 1)));
    stage.call(&Call::Destroy { object: OBJECT });
    assert_eq!(stage.belief(), Some((A, 1)));
}

/// What X does with UPDATEs of A, by the order of A's packets.
fn believed_color(mode: Mode, play: impl FnOnce(&mut Stage)) -> (Option<i64>, Vec<Event>) {
    let mut stage = Stage::new(X, mode);
    play(&mut stage);
    let events = stage.tick();
    (stage.belief().map(|(_, color)| color), events)
}

fn ignored(because: IgnoreReason) -> Event {
    Event::Ignored {
        message: ObjectMessage::Update,
        object: OBJECT,
        because,
    }
}

fn late(stage: &mut Stage, sequence: u16, body: Body) {
    stage.packet_at(
        A,
        sequence,
        &[Message {
            origin: A,
            reliable: None,
            body,
        }],
        None,
    );
}

#[test]
fn an_update_before_create_is_ignored() {
    for mode in BOTH {
        let (color, events) = believed_color(mode, |stage| {
            stage.mumble(A, update(counter(mode), 5));
            stage.say(A, create(A, counter(mode)));
        });
        assert_eq!(color, Some(1));
        assert!(events.contains(&ignored(IgnoreReason::Unknown)));
    }
}

#[test]
fn an_update_after_destroy_is_ignored() {
    for mode in BOTH {
        let (color, events) = believed_color(mode, |stage| {
            stage.say(A, create(A, counter(mode)));
            stage.say(A, destroy(counter(mode)));
            stage.mumble(A, update(counter(mode), 5));
        });
        assert_eq!(color, None);
        assert!(events.contains(&ignored(IgnoreReason::Unknown)));
    }
}

#[test]
fn an_update_older_than_one_taken_is_ignored() {
    for mode in BOTH {
        let (color, events) = believed_color(mode, |stage| {
            stage.say(A, create(A, counter(mode)));
            late(stage, 21, update(counter(mode), 6));
            late(stage, 20, update(counter(mode), 5));
        });
        assert_eq!(color, Some(6));
        assert!(events.contains(&ignored(IgnoreReason::OutOfOrder)));
    }
}

#[test]
fn the_order_of_updates_holds_where_sequences_wrap_around() {
    let (color, _) = believed_color(Mode::Owner, |stage| {
        stage.say(A, create(A, Some(0)));
        // In steps that the window of a receiver can follow.
        for sequence in [30_000, 60_000, 65_535, 1, 0] {
            late(stage, sequence, update(Some(0), i64::from(sequence % 250)));
        }
    });
    assert_eq!(
        color,
        Some(1),
        "1 is newer than 65 535 and than 0, which comes after it"
    );
}

#[test]
fn a_packet_that_comes_twice_counts_once() {
    let mut stage = Stage::new(X, Mode::Owner);
    stage.say(A, create(A, Some(0)));
    let again = stage.io.arriving.back().cloned().expect("a packet");
    stage.io.arriving.push_back(again);
    let created = stage
        .tick()
        .into_iter()
        .filter(|e| matches!(e, Event::Created { .. }))
        .count();
    assert_eq!(created, 1);
}

#[test]
fn a_message_in_another_peers_name_is_refused() {
    let mut stage = Stage::new(X, Mode::Owner);
    let body = create(HOST, Some(0));
    stage.packet(
        A,
        &[Message {
            origin: B,
            reliable: Some(1),
            body,
        }],
    );
    let events = stage.tick();
    assert!(
        matches!(events[..], [Event::BadPacket { .. }]),
        "{events:?}"
    );
    assert_eq!(stage.belief(), None);
}

#[test]
fn an_object_whose_update_would_not_fit_a_packet_is_refused() {
    // Six texts of up to 255 bytes each.
    let mut types = "[[type]]\nname = \"book\"\nnumber = 0\n".to_owned();
    for page in 0..6 {
        types += &format!("[[type.field]]\nname = \"page {page}\"\nkind = \"text\"\n");
    }
    let change = |start: &mut Start| start.types = types;
    let mut stage = Stage::with(A, Mode::Owner, Topology::PeerToPeer, change);
    let book = |page: usize| {
        let values = vec![Value::Text("x".repeat(page)); 6];
        Call::Spawn { kind: 0, values }
    };
    let object = stage.layer.next_object();
    let refused = Event::Refused {
        because: Refusal::TooLarge,
    };
    stage.call(&book(200));
    assert_eq!(stage.layer.poll_event(), Some(refused.clone()));
    stage.call(&book(180));
    assert!(stage.layer.object(object).is_some());
    for page in 0..3 {
        stage.set(object, page, Value::Text("x".repeat(255)));
    }
    assert_eq!(stage.layer.poll_event(), Some(refused));
}
