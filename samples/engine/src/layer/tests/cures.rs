//! The other cures of the race, message by message: `counter`, `queue`, `handshake` and `order`.

use super::migration::{believes, bodies, knowing, legal_orders};
use super::stage::{
    A, B, COLOR, HOST, OBJECT, Stage, X, assign, create, cube, destroy, migrate, migration, update,
};
use crate::call::Call;
use crate::event::{Event, IgnoreReason, ObjectMessage};
use crate::message::{Body, Counter, ObjectId, Peer};
use crate::mode::{Mode, Topology};
use crate::types::Value;

fn confirm(counter: u64) -> Body {
    Body::Confirm {
        object: OBJECT,
        counter: Counter(counter),
    }
}

/// A's third object ends at X as it should in every order of these messages, by whom they are said.
fn every_order(mode: Mode, story: &[(Peer, Body)], orders: usize, end: Option<(Peer, i64)>) {
    let all = legal_orders(story);
    assert_eq!(all.len(), orders, "{mode}");
    for order in all {
        assert_eq!(believes(mode, &order), end, "{mode}: {order:?}");
    }
}

#[test]
fn the_table_of_the_source_holds_for_every_cure() {
    let by_new_owner = [
        (A, create(A, Some(0))),
        (B, migrate(B, Some(1))),
        (B, destroy(Some(1))),
    ];
    every_order(Mode::Counter, &by_new_owner, 3, None);
    every_order(Mode::Counter, &by_new_owner[..2], 2, Some((B, 1)));
    let by_host = [
        (A, create(A, Some(0))),
        (HOST, assign(B, 1)),
        (B, destroy(Some(1))),
    ];
    every_order(Mode::Queue, &by_host, 6, None);
    every_order(Mode::Queue, &by_host[..2], 2, Some((B, 1)));
    // B says nothing before X has confirmed.
    let asked = [(A, create(A, Some(0))), (HOST, migrate(B, Some(1)))];
    every_order(Mode::Handshake, &asked, 2, Some((B, 1)));
    let ended = [(HOST, migrate(B, Some(1))), (B, destroy(Some(1)))];
    assert_eq!(believes(Mode::Handshake, &ended), None);
}

#[test]
fn two_migrations_end_the_same_in_every_order() {
    let counted = [
        (A, create(A, Some(0))),
        (B, migrate(B, Some(1))),
        (X, migrate(X, Some(2))),
        (X, destroy(Some(2))),
    ];
    let at_host = |mode| {
        for order in legal_orders(&counted) {
            let mut stage = Stage::new(HOST, mode);
            for (peer, body) in &order {
                stage.say(*peer, body.clone());
                stage.tick();
            }
            assert_eq!(stage.belief(), None, "{mode}: {order:?}");
        }
    };
    at_host(Mode::Counter);
    at_host(Mode::Owner);
    let queued = [
        (A, create(A, Some(0))),
        (HOST, assign(B, 1)),
        (HOST, assign(A, 2)),
        (A, destroy(Some(2))),
    ];
    every_order(Mode::Queue, &queued, 6, None);
}

#[test]
fn as_published_a_late_update_counts_after_there_and_back_again() {
    let story = |counter| {
        [
            (A, create(A, Some(0))),
            (B, migrate(B, Some(1))),
            (A, migrate(A, Some(2))),
            (A, update(counter, 50)),
        ]
    };
    assert_eq!(
        believes(Mode::Counter, &story(None)),
        Some((A, 50)),
        "the hole"
    );
    assert_eq!(believes(Mode::Owner, &story(Some(0))), Some((A, 1)));
    let queued = [
        (A, create(A, Some(0))),
        (HOST, assign(B, 1)),
        (HOST, assign(A, 2)),
        (A, update(Some(0), 50)),
    ];
    assert_eq!(believes(Mode::Queue, &queued), Some((A, 1)));
}

#[test]
fn as_published_a_former_owner_updates() {
    let story = [
        (A, create(A, Some(0))),
        (B, migrate(B, Some(1))),
        (B, update(None, 60)),
        (A, update(None, 50)),
    ];
    assert_eq!(believes(Mode::Counter, &story), Some((B, 50)));
}

#[test]
fn what_is_early_waits_in_a_queue_and_is_taken_in_order() {
    let mut stage = Stage::new(X, Mode::Queue);
    stage.mumble(B, update(Some(1), 60));
    stage.say(HOST, assign(B, 1));
    stage.mumble(B, update(Some(1), 61));
    stage.say(B, destroy(Some(1)));
    let early = |message| Event::Ignored {
        message,
        object: OBJECT,
        because: IgnoreReason::Early,
    };
    use ObjectMessage::{Destroy, Migrate, Update};
    assert_eq!(
        stage.tick(),
        [Update, Migrate, Update, Destroy].map(early),
        "nothing is known of the object"
    );
    stage.say(A, create(A, Some(0)));
    let object = OBJECT;
    assert_eq!(
        stage.tick(),
        [
            Event::Created { object, owner: A },
            Event::Migrated {
                object,
                owner: B,
                created: false
            },
            Event::Updated { object },
            Event::Updated { object },
            Event::Destroyed { object },
        ]
    );
    assert!(stage.layer.early.is_empty());
}

#[test]
fn a_destroy_waits_for_the_migrate_that_made_its_sender_the_owner() {
    let mut stage = knowing(X, Mode::Queue);
    stage.say(B, destroy(Some(1)));
    stage.mumble(B, update(Some(1), 60));
    stage.tick();
    assert_eq!(stage.belief(), Some((A, 1)), "not yet");
    stage.say(HOST, assign(B, 1));
    stage.tick();
    assert_eq!(stage.belief(), None);
    assert!(stage.layer.early.is_empty());
}

#[test]
fn what_waits_is_in_the_saved_state() {
    use netreel_transport::Layer;
    let mut stage = Stage::new(X, Mode::Queue);
    stage.say(HOST, assign(B, 1));
    stage.mumble(B, update(Some(1), 60));
    stage.tick();
    let saved = stage.layer.save().expect("this engine offers it");
    stage.say(A, create(A, Some(0)));
    stage.tick();
    assert_eq!(stage.belief(), Some((B, 60)));
    stage.layer.restore(&saved).expect("its own state");
    assert_eq!(stage.layer.early[&OBJECT].len(), 2);
    assert_eq!(stage.layer.save(), Some(saved));
}

#[test]
fn in_mode_queue_nothing_waits_for_who_has_left() {
    let mut stage = Stage::new(X, Mode::Queue);
    let object = ObjectId(41);
    let counter = Some(Counter(1));
    stage.say(B, Body::Destroy { object, counter });
    stage.tick();
    assert_eq!(stage.layer.early.len(), 1);
    stage.pass_on(HOST, A, Body::Leave);
    stage.tick();
    assert!(stage.layer.early.is_empty());
}

#[test]
fn in_mode_queue_host_creates_anew_what_a_peer_that_dies_may_not_have_told() {
    let mut stage = knowing(HOST, Mode::Queue);
    stage.call(&Call::Migrate {
        object: OBJECT,
        to: B,
    });
    stage.tick();
    assert_eq!(bodies(&mut stage, X), [assign(B, 1)]);
    stage.say(A, Body::Leave);
    stage.tick();
    let anew = Body::Create {
        object: OBJECT,
        counter: Some(Counter(2)),
        owner: B,
        state: cube(1),
    };
    assert_eq!(bodies(&mut stage, X), [anew, Body::Leave]);
}

#[test]
fn a_destroy_that_crosses_a_migrate_without_state_ends_the_object_for_all() {
    for mode in [Mode::Queue, Mode::Order] {
        let mut stage = knowing(HOST, mode);
        stage.call(&Call::Migrate {
            object: OBJECT,
            to: B,
        });
        stage.tick();
        stage.heard(X);
        stage.say(A, destroy(Some(0)));
        stage.tick();
        assert_eq!(stage.belief(), None, "{mode}");
        assert_eq!(bodies(&mut stage, X), [destroy(Some(1))], "{mode}");
    }
}

#[test]
fn a_handshake_leaves_the_object_in_limbo_until_all_have_confirmed() {
    let mut stage = knowing(HOST, Mode::Handshake);
    stage.call(&Call::Migrate {
        object: OBJECT,
        to: B,
    });
    stage.tick();
    for peer in [A, X] {
        assert_eq!(bodies(&mut stage, peer), [migrate(B, Some(1))]);
    }
    assert_eq!(bodies(&mut stage, B), []);
    stage.say(A, confirm(1));
    stage.say(X, confirm(0));
    stage.tick();
    assert_eq!(bodies(&mut stage, B), [], "X confirmed what was before");
    assert!(!stage.layer.is_settled());
    stage.say(X, confirm(1));
    stage.tick();
    assert_eq!(bodies(&mut stage, B), [Body::Order(migration(B, Some(1)))]);
    assert!(stage.layer.limbo.is_empty());
}

#[test]
fn in_a_handshake_the_old_owner_stops_before_the_new_one_starts() {
    let mut old = Stage::new(A, Mode::Handshake);
    let object = old.spawn();
    old.tick();
    old.ack_all();
    old.tick();
    let mut told = migration(B, Some(1));
    told.object = object;
    old.say(HOST, Body::Migrate(told));
    old.tick();
    old.heard(X);
    old.set(object, COLOR, Value::Integer(9));
    old.ticks(3);
    assert_eq!(old.updates(X), Vec::<Vec<usize>>::new());
    let counter = Counter(1);
    let confirmed = old.heard(HOST).into_iter();
    let mut confirmed = confirmed.map(|(_, message)| message.body);
    assert!(confirmed.any(|body| body == Body::Confirm { object, counter }));

    let mut new = knowing(B, Mode::Handshake);
    new.set(OBJECT, COLOR, Value::Integer(9));
    assert_eq!(new.belief(), Some((A, 1)), "not its own yet");
    new.say(HOST, Body::Order(migration(B, Some(1))));
    new.tick();
    assert_eq!(new.belief(), Some((B, 1)));
    assert_eq!(new.updates(X), [[0, 1, 2, 3, 4]], "it waits for nobody");
}

#[test]
fn a_handshake_does_not_wait_for_the_dead() {
    let mut stage = knowing(HOST, Mode::Handshake);
    let (object, to) = (OBJECT, B);
    stage.call(&Call::Migrate { object, to });
    stage.say(A, confirm(1));
    stage.tick();
    assert_eq!(bodies(&mut stage, B), []);
    stage.say(X, Body::Leave);
    stage.tick();
    let told = bodies(&mut stage, B);
    assert_eq!(told.last(), Some(&Body::Order(migration(B, Some(1)))));

    // The new owner dies in limbo: the object goes on to another.
    let mut stage = knowing(HOST, Mode::Handshake);
    stage.call(&Call::Migrate { object, to });
    stage.say(B, Body::Leave);
    stage.tick();
    let heir = stage.layer.object(object).expect("it lives");
    assert_eq!((heir.owner, heir.counter), (HOST, Counter(2)));
    assert!(stage.layer.limbo.is_empty());
}

#[test]
fn in_mode_order_all_is_told_to_host_alone_who_passes_it_on() {
    let mut owner = Stage::new(A, Mode::Order);
    let object = owner.spawn();
    owner.tick();
    assert_eq!(bodies(&mut owner, X), []);
    let told = bodies(&mut owner, HOST);
    assert!(matches!(told[..], [Body::Create { .. }]));

    let mut host = knowing(HOST, Mode::Order);
    let _ = object;
    host.say(A, destroy(Some(0)));
    host.tick();
    for peer in [B, X] {
        let passed = host.heard(peer);
        let [(_, message)] = &passed[..] else {
            panic!("{passed:?}")
        };
        assert_eq!((message.origin, &message.body), (A, &destroy(Some(0))));
    }
    assert_eq!(bodies(&mut host, A), []);
}

#[test]
fn in_mode_order_an_owner_updates_who_has_confirmed() {
    let mut stage = Stage::new(A, Mode::Order);
    let object = stage.spawn();
    stage.tick();
    stage.ack_all();
    stage.set(object, COLOR, Value::Integer(9));
    stage.ticks(2);
    assert_eq!(stage.updates(HOST), [[COLOR]], "its ack is enough");
    assert_eq!(stage.updates(X), Vec::<Vec<usize>>::new());
    let counter = Counter(0);
    stage.say(X, Body::Confirm { object, counter });
    stage.tick();
    assert_eq!(stage.updates(X), [[COLOR]]);
}

#[test]
fn in_mode_order_what_host_passes_on_is_confirmed_to_the_owner() {
    let mut stage = Stage::new(X, Mode::Order);
    stage.pass_on(HOST, A, create(A, Some(0)));
    stage.tick();
    assert_eq!(bodies(&mut stage, A), [confirm(0)]);
    stage.say(HOST, assign(B, 1));
    stage.tick();
    assert_eq!(bodies(&mut stage, B), [confirm(1)]);
    assert_eq!(stage.belief(), Some((B, 1)));
    // Through a server it looks after the copies itself.
    let mut client = Stage::with(X, Mode::Order, Topology::ClientServer, |_| {});
    client.pass_on(HOST, A, create(A, Some(0)));
    client.tick();
    assert_eq!(bodies(&mut client, HOST), []);
}

#[test]
fn a_mode_takes_no_message_of_another() {
    for mode in [Mode::Queue, Mode::Order] {
        let mut stage = knowing(X, mode);
        stage.say(HOST, migrate(B, Some(1)));
        stage.say(HOST, migrate(B, None));
        stage.say(A, assign(B, 1));
        stage.tick();
        assert_eq!(stage.belief(), Some((A, 1)), "{mode}");
    }
    for mode in [Mode::Counter, Mode::Owner, Mode::Handshake] {
        let mut stage = knowing(X, mode);
        stage.say(HOST, assign(B, 1));
        stage.say(HOST, migrate(B, None));
        stage.tick();
        assert_eq!(stage.belief(), Some((A, 1)), "{mode}");
    }
}
