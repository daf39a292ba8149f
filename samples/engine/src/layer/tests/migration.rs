//! Migration in modes `host` and `owner`, message by message.

use super::stage::{
    A, B, COLOR, HOST, OBJECT, POSITION, Stage, X, create, cube, destroy, migrate, migration,
    update,
};
use crate::call::Call;
use crate::event::{Event, IgnoreReason, ObjectMessage, Refusal};
use crate::message::{Body, Counter, Migration, Peer};
use crate::mode::Mode;
use crate::types::Value;

const C: Option<u64> = None;

/// What X believes after these messages, in this order.
pub(super) fn believes(mode: Mode, messages: &[(Peer, Body)]) -> Option<(Peer, i64)> {
    let mut stage = Stage::new(X, mode);
    for (peer, body) in messages {
        match body {
            Body::Update { .. } => {
                stage.mumble(*peer, body.clone());
            }
            _ => stage.say(*peer, body.clone()),
        }
        stage.tick();
    }
    stage.belief()
}

/// All orders of the messages in which those of one peer keep theirs.
pub(super) fn legal_orders(messages: &[(Peer, Body)]) -> Vec<Vec<(Peer, Body)>> {
    if messages.is_empty() {
        return vec![Vec::new()];
    }
    let mut orders = Vec::new();
    for (place, first) in messages.iter().enumerate() {
        if messages[..place].iter().any(|(peer, _)| *peer == first.0) {
            continue;
        }
        let mut rest = messages.to_vec();
        rest.remove(place);
        for mut order in legal_orders(&rest) {
            order.insert(0, first.clone());
            orders.push(order);
        }
    }
    orders
}

#[test]
fn in_mode_owner_every_order_of_one_migration_ends_in_nothing() {
    let story = [
        (A, create(A, Some(0))),
        (B, migrate(B, Some(1))),
        (B, destroy(Some(1))),
    ];
    let orders = legal_orders(&story);
    assert_eq!(orders.len(), 3, "C M D, M C D, M D C");
    for order in orders {
        assert_eq!(believes(Mode::Owner, &order), None, "{order:?}");
    }
}

#[test]
fn in_mode_owner_a_late_create_after_destroy_is_stale() {
    let mut stage = Stage::new(X, Mode::Owner);
    stage.say(B, migrate(B, Some(1)));
    stage.say(B, destroy(Some(1)));
    stage.say(A, create(A, Some(0)));
    let because = IgnoreReason::Stale;
    let ignored = Event::Ignored {
        message: ObjectMessage::Create,
        object: OBJECT,
        because,
    };
    assert_eq!(
        stage.tick(),
        [
            Event::Migrated {
                object: OBJECT,
                owner: B,
                created: true
            },
            Event::Destroyed { object: OBJECT },
            ignored,
        ]
    );
}

#[test]
fn in_mode_owner_every_order_of_two_migrations_ends_the_same() {
    let alive = [
        (A, create(A, Some(0))),
        (B, migrate(B, Some(1))),
        (HOST, migrate(HOST, Some(2))),
    ];
    for order in legal_orders(&alive) {
        assert_eq!(believes(Mode::Owner, &order), Some((HOST, 1)), "{order:?}");
    }
    let mut dead = alive.to_vec();
    dead.push((HOST, destroy(Some(2))));
    for order in legal_orders(&dead) {
        assert_eq!(believes(Mode::Owner, &order), None, "{order:?}");
    }
}

#[test]
fn in_mode_owner_there_and_back_again_ends_at_the_first_owner() {
    let story = [
        (A, create(A, Some(0))),
        (B, migrate(B, Some(1))),
        (A, migrate(A, Some(2))),
    ];
    for order in legal_orders(&story) {
        assert_eq!(believes(Mode::Owner, &order), Some((A, 1)), "{order:?}");
    }
}

#[test]
fn in_mode_owner_an_update_of_the_first_ownership_does_not_count_in_the_second() {
    let story = [
        (A, create(A, Some(0))),
        (B, migrate(B, Some(1))),
        (A, migrate(A, Some(2))),
        (A, update(Some(0), 50)),
    ];
    assert_eq!(believes(Mode::Owner, &story), Some((A, 1)));
    let mut fresh = story.to_vec();
    fresh.push((A, update(Some(2), 60)));
    assert_eq!(believes(Mode::Owner, &fresh), Some((A, 60)));
}

#[test]
fn in_mode_owner_only_the_believed_owner_updates() {
    let story = |who, counter| {
        [
            (A, create(A, Some(0))),
            (B, migrate(B, Some(1))),
            (who, update(Some(counter), 50)),
        ]
    };
    assert_eq!(believes(Mode::Owner, &story(B, 1)), Some((B, 50)));
    assert_eq!(
        believes(Mode::Owner, &story(A, 1)),
        Some((B, 1)),
        "right counter, wrong peer"
    );
    assert_eq!(believes(Mode::Owner, &story(A, 0)), Some((B, 1)));
    assert_eq!(
        believes(Mode::Owner, &story(B, 0)),
        Some((B, 1)),
        "right peer, old counter"
    );
}

#[test]
fn in_mode_owner_a_destroyed_object_stays_dead_at_its_counter() {
    let story = [
        (A, create(A, Some(0))),
        (A, destroy(Some(0))),
        (A, create(A, Some(0))),
    ];
    assert_eq!(believes(Mode::Owner, &story), None);
    let unknown = [
        (B, destroy(Some(1))),
        (A, create(A, Some(0))),
        (B, migrate(B, Some(1))),
    ];
    assert_eq!(
        believes(Mode::Owner, &unknown),
        None,
        "a tombstone of what was never known"
    );
    let newer = [
        (A, create(A, Some(0))),
        (A, destroy(Some(0))),
        (B, migrate(B, Some(1))),
    ];
    assert_eq!(
        believes(Mode::Owner, &newer),
        Some((B, 1)),
        "a higher counter is newer"
    );
}

#[test]
fn in_mode_owner_a_message_without_a_counter_is_unfit() {
    assert_eq!(believes(Mode::Owner, &[(A, create(A, C))]), None);
    let story = [(A, create(A, Some(0))), (B, migrate(B, C)), (A, destroy(C))];
    assert_eq!(believes(Mode::Owner, &story), Some((A, 1)));
}

#[test]
fn in_mode_host_migrate_before_create_makes_a_zombie() {
    let story = [(A, create(A, C)), (HOST, migrate(B, C)), (B, destroy(C))];
    let zombies = |order: &Vec<(Peer, Body)>| believes(Mode::Host, order) == Some((A, 1));
    let orders = legal_orders(&story);
    let all: Vec<bool> = orders.iter().map(zombies).collect();
    let create_is_last = |order: &Vec<(Peer, Body)>| matches!(order[2].1, Body::Create { .. });
    assert_eq!(all, orders.iter().map(create_is_last).collect::<Vec<_>>());
    assert_eq!(
        all.iter().filter(|&&zombie| zombie).count(),
        2,
        "M D C and D M C"
    );
}

#[test]
fn in_mode_host_what_is_said_of_an_unknown_object_is_dropped() {
    for (peer, body) in [(HOST, migrate(B, C)), (B, update(C, 5)), (B, destroy(C))] {
        assert_eq!(believes(Mode::Host, &[(peer, body.clone())]), None);
        let late = [(peer, body), (A, create(A, C))];
        assert_eq!(believes(Mode::Host, &late), Some((A, 1)));
    }
}

#[test]
fn in_mode_host_create_always_creates() {
    let story = [(A, create(A, C)), (A, destroy(C)), (A, create(A, C))];
    assert_eq!(believes(Mode::Host, &story), Some((A, 1)));
}

#[test]
fn in_mode_host_anybody_updates() {
    let story = [
        (A, create(A, C)),
        (HOST, migrate(B, C)),
        (A, update(C, 5)),
        (B, update(C, 6)),
    ];
    assert_eq!(believes(Mode::Host, &story[..3]), Some((B, 5)));
    assert_eq!(believes(Mode::Host, &story), Some((B, 6)));
}

/// A stage on which the node knows A's object.
pub(super) fn knowing(own: Peer, mode: Mode) -> Stage {
    let mut stage = Stage::new(own, mode);
    stage.say(A, create(A, mode.counts().then_some(0)));
    stage.tick();
    stage.ack_all();
    stage.tick();
    for peer in [HOST, A, B, X] {
        stage.heard(peer);
    }
    stage
}

pub(super) fn bodies(stage: &mut Stage, peer: Peer) -> Vec<Body> {
    stage
        .heard(peer)
        .into_iter()
        .map(|(_, message)| message.body)
        .collect()
}

#[test]
fn in_mode_owner_host_orders_the_new_owner_alone_and_raises_the_counter() {
    let mut stage = knowing(HOST, Mode::Owner);
    stage.call(&Call::Migrate {
        object: OBJECT,
        to: B,
    });
    let object = stage.layer.object(OBJECT).expect("it lives");
    assert_eq!(
        (object.owner, object.counter),
        (B, Counter(1)),
        "HOST believes at once"
    );
    stage.tick();
    assert_eq!(bodies(&mut stage, B), [Body::Order(migration(B, Some(1)))]);
    assert_eq!(bodies(&mut stage, A), []);
    assert_eq!(bodies(&mut stage, X), []);
}

#[test]
fn in_mode_owner_the_new_owner_tells_everybody_and_waits_for_each_ack() {
    let mut stage = knowing(B, Mode::Owner);
    stage.say(HOST, Body::Order(migration(B, Some(1))));
    stage.tick();
    stage.set(OBJECT, COLOR, Value::Integer(9));
    stage.ticks(2);
    for peer in [HOST, A, X] {
        assert_eq!(stage.belief(), Some((B, 9)));
        let told = stage.layer.links[&peer].out.is_empty();
        assert!(!told, "{peer:?} has not acked");
    }
    let packets: Vec<(u16, Body)> = stage
        .heard(X)
        .into_iter()
        .map(|(packet, message)| (packet, message.body))
        .collect();
    let [(packet, Body::Migrate(said))] = &packets[..] else {
        panic!("{packets:?}")
    };
    assert_eq!(*said, migration(B, Some(1)));
    stage.ack(X, *packet);
    stage.tick();
    assert_eq!(
        stage.updates(X),
        [[0, 1, 2, 3, 4]],
        "every field counts as unacked"
    );
    assert_eq!(stage.updates(A), Vec::<Vec<usize>>::new());
}

#[test]
fn in_mode_owner_an_order_creates_what_the_new_owner_does_not_know() {
    let mut stage = Stage::new(B, Mode::Owner);
    stage.say(HOST, Body::Order(migration(B, Some(1))));
    assert_eq!(
        stage.tick(),
        [Event::Migrated {
            object: OBJECT,
            owner: B,
            created: true
        }]
    );
    stage.say(A, create(A, Some(0)));
    stage.tick();
    assert_eq!(stage.belief(), Some((B, 1)));
}

#[test]
fn in_mode_owner_an_old_order_is_stale() {
    let mut stage = Stage::new(B, Mode::Owner);
    stage.say(X, migrate(X, Some(2)));
    stage.say(HOST, Body::Order(migration(B, Some(1))));
    stage.tick();
    assert_eq!(stage.belief(), Some((X, 1)));
}

#[test]
fn in_mode_owner_the_old_owner_stops_when_it_hears_of_the_new_one() {
    let mut stage = Stage::new(A, Mode::Owner);
    let object = stage.spawn();
    stage.tick();
    stage.ack_all();
    stage.tick();
    let full = Some((Counter(1), cube(1)));
    stage.say(
        B,
        Body::Migrate(Migration {
            object,
            new_owner: B,
            full,
        }),
    );
    stage.tick();
    stage.heard(X);
    stage.set(object, COLOR, Value::Integer(9));
    stage.ticks(3);
    assert_eq!(stage.updates(X), Vec::<Vec<usize>>::new());
}

#[test]
fn in_mode_host_host_tells_everybody() {
    let mut stage = knowing(HOST, Mode::Host);
    stage.call(&Call::Migrate {
        object: OBJECT,
        to: B,
    });
    assert_eq!(stage.belief(), Some((B, 1)), "HOST believes at once");
    stage.tick();
    for peer in [A, B, X] {
        assert_eq!(bodies(&mut stage, peer), [migrate(B, C)]);
    }
}

#[test]
fn in_mode_host_the_new_owner_waits_for_nobody() {
    let mut stage = knowing(B, Mode::Host);
    stage.say(HOST, migrate(B, C));
    stage.tick();
    stage.heard(X);
    stage.set(OBJECT, POSITION, Value::Vector(vec![1.0, 2.0, 3.0]));
    stage.tick();
    assert_eq!(stage.updates(X).len(), 1);
}

#[test]
fn host_alone_migrates() {
    let mut stage = knowing(B, Mode::Owner);
    stage.call(&Call::Migrate {
        object: OBJECT,
        to: B,
    });
    let refused = stage.layer.poll_event();
    assert_eq!(
        refused,
        Some(Event::Refused {
            because: Refusal::NotHost
        })
    );
    assert_eq!(stage.belief(), Some((A, 1)));
}

#[test]
fn host_hears_of_a_request_also_for_what_it_does_not_know_yet() {
    let mut stage = Stage::new(HOST, Mode::Owner);
    stage.say(B, Body::Request { object: OBJECT });
    assert_eq!(
        stage.tick(),
        [Event::Requested {
            object: OBJECT,
            by: B
        }]
    );
}
