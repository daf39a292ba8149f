//! What the history says that engines were handed, did and believed is what they tell themselves.

use netreel_protocol::history::{Effect, Level};
use netreel_protocol::session::PacketId;
use netreel_sample_engine::{Call, Event, Idle, IgnoreReason, ObjectMessage, Peer};
use netreel_wire::Role;

use crate::played::{Played, WAYS, boxes};

#[test]
fn at_rest_every_lane_ends_as_the_engines_table_says() {
    for seed in 0..100 {
        for (mode, topology) in WAYS {
            let played = Played::to_rest(&boxes(seed, mode, topology));
            check_tables(&played, &format!("seed {seed}, {mode:?}, {topology:?}"));
        }
    }
}

#[test]
fn in_the_middle_of_play_every_lane_ends_as_the_engines_table_says() {
    for seed in 0..100 {
        for (mode, topology) in WAYS {
            let played = Played::new(&boxes(seed, mode, topology), |world| {
                world.run(20 + seed);
                // One tick in which nobody calls anything sends what the last calls led to.
                for peer in world.running() {
                    world.set_game(peer, Box::new(Idle));
                }
                world.step();
            });
            check_tables(&played, &format!("seed {seed}, {mode:?}, {topology:?}"));
        }
    }
}

fn check_tables(played: &Played, what: &str) {
    for peer in played.world.running() {
        assert_eq!(played.believed(peer), played.real(peer), "{what}, {peer:?}");
    }
}

#[test]
fn every_effect_is_what_the_engine_told_its_game() {
    for seed in 0..60 {
        for (mode, topology) in WAYS {
            let played = Played::to_rest(&boxes(seed, mode, topology));
            for peer in played.world.running() {
                let (told, found) = (told(&played, peer), found(&played, peer));
                let differs = told
                    .iter()
                    .zip(&found)
                    .position(|(told, found)| told != found);
                assert_eq!(
                    differs.map(|at| (&told[at], &found[at])),
                    None,
                    "seed {seed}, {mode:?}, {topology:?}, {peer:?}"
                );
                assert_eq!(
                    told.len(),
                    found.len(),
                    "seed {seed} {mode:?} {topology:?} {peer:?}"
                );
            }
        }
    }
}

/// What the engine told its game of the messages that it was handed: role, object, effect.
fn told(played: &Played, peer: Peer) -> Vec<(Role, u64, Effect)> {
    let told = played
        .world
        .events(peer)
        .iter()
        .filter_map(|event| match event {
            Event::Created { object, .. } => Some((Role::Create, object.0, Effect::Created)),
            Event::Destroyed { object } => Some((Role::Destroy, object.0, Effect::Destroyed)),
            Event::Updated { object } => Some((Role::Update, object.0, Effect::Updated)),
            Event::Migrated {
                object,
                created: true,
                ..
            } => Some((Role::Migrate, object.0, Effect::CreatedByMigrate)),
            // HOST tells its game also of what it did itself.
            Event::Migrated { object, .. } if peer != Peer::HOST => {
                Some((Role::Migrate, object.0, Effect::Migrated))
            }
            Event::Ignored {
                message,
                object,
                because,
            } => {
                let role = match message {
                    ObjectMessage::Create => Role::Create,
                    ObjectMessage::Update => Role::Update,
                    ObjectMessage::Destroy => Role::Destroy,
                    ObjectMessage::Migrate | ObjectMessage::Order => Role::Migrate,
                };
                let effect = match because {
                    IgnoreReason::Early => Effect::Queued,
                    IgnoreReason::Unknown => Effect::IgnoredUnknown,
                    IgnoreReason::Stale => Effect::IgnoredStale,
                    IgnoreReason::NotOwner => Effect::IgnoredNotOwner,
                    IgnoreReason::OutOfOrder => Effect::IgnoredOutOfOrder,
                    IgnoreReason::Unfit => Effect::Unknown,
                };
                Some((role, object.0, effect))
            }
            _ => None,
        });
    told.collect()
}

/// The same from the packets.
fn found(played: &Played, peer: Peer) -> Vec<(Role, u64, Effect)> {
    let (session, history) = (&played.session, &played.history);
    let node = played.node(peer);
    let deliveries = history.deliveries.iter();
    let found = deliveries
        .filter(|each| each.node == node && !each.local)
        .filter_map(|each| {
            let facts = history.facts(session, each.message)?;
            let role = match session.role(&facts) {
                Role::MigrateOrder => Role::Migrate,
                role => role,
            };
            let effect = match each.effect {
                Effect::Plain => return None,
                Effect::Migrated if peer == Peer::HOST => return None,
                // The engine tells its game that it does not know the object, and remembers DESTROY.
                Effect::Tombstoned => Effect::IgnoredUnknown,
                effect => effect,
            };
            Some((role, facts.object?, effect))
        });
    found.collect()
}

#[test]
fn nothing_of_a_simulated_world_is_undecodable_or_unknown() {
    for seed in 0..20 {
        for (mode, topology) in WAYS {
            let played = Played::to_rest(&boxes(seed, mode, topology));
            assert_eq!(
                played.session.warnings(),
                Vec::<String>::new(),
                "seed {seed}"
            );
            let session = &played.session;
            let mut ids = (0..session.packet_count() as u32).map(PacketId);
            let unfit = ids.find(|&id| session.said(id).is_none_or(|said| said.diagnostics > 0));
            assert_eq!(unfit, None, "seed {seed}");
            assert_eq!(played.findings("undecodable-packet"), Vec::<&_>::new());
            assert_eq!(
                played.history.undelivered,
                Vec::new(),
                "seed {seed} {mode:?} {topology:?}"
            );
        }
    }
}

#[test]
fn when_a_player_leaves_the_others_believe_what_their_engines_believe() {
    for seed in 0..40 {
        for (mode, topology) in WAYS {
            let mut start = boxes(seed, mode, topology);
            start.nodes = 4;
            let played = Played::new(&start, |world| {
                world.run(60 + seed);
                world.call(Peer(1), &Call::Leave);
                assert!(
                    world.run_until_idle(60 * 120),
                    "seed {seed}: it comes to rest"
                );
            });
            for peer in [Peer(0), Peer(2), Peer(3)] {
                assert_eq!(
                    played.believed(peer),
                    played.real(peer),
                    "seed {seed}, {mode:?}, {topology:?}, {peer:?}"
                );
            }
            let two_owners = played.findings("two-owners");
            let worse = two_owners
                .iter()
                .find(|finding| finding.level != Level::Info);
            assert_eq!(worse, None, "seed {seed}, {mode:?}, {topology:?}");
        }
    }
}
