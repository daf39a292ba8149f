//! Migrations as sequences, against what the engines' own logs say.

use std::collections::BTreeMap;

use netreel_protocol::history::{Effect, Migration, MigrationStep, MigrationWhat};
use netreel_protocol::session::NodeId;
use netreel_sample_engine::{Event, Mode, Peer, Topology};

use crate::played::{Played, WAYS, boxes};

fn migrations(played: &Played) -> Vec<Migration> {
    let objects = played.history.objects.keys();
    let all = objects.flat_map(|&object| played.history.migrations(&played.session, object));
    all.collect()
}

fn steps(migration: &Migration, what: MigrationWhat) -> impl Iterator<Item = &MigrationStep> {
    let steps = migration.steps.iter();
    steps.filter(move |step| step.what == what)
}

/// Where a migration changed what a node believed.
fn changed(migration: &Migration) -> impl Iterator<Item = NodeId> {
    let ordered = steps(migration, MigrationWhat::Ordered).next().is_some();
    let steps = migration.steps.iter();
    let changes = steps.filter(move |step| match step.what {
        MigrationWhat::Ordered | MigrationWhat::OrderCame => true,
        // Who was ordered had changed its mind before.
        MigrationWhat::Announced => !ordered,
        MigrationWhat::Told(effect) => {
            matches!(effect, Effect::Migrated | Effect::CreatedByMigrate)
        }
        _ => false,
    });
    changes.map(|step| step.node)
}

/// How often each node took each migration, by object and new owner.
type Taken = BTreeMap<(NodeId, u64, u64), u64>;

#[test]
fn every_migration_is_taken_where_the_engines_took_it() {
    let mut count = 0;
    for seed in 0..8 {
        for (mode, topology) in WAYS {
            let played = Played::to_rest(&boxes(seed, mode, topology));
            let mut found = Taken::new();
            for migration in migrations(&played) {
                for node in changed(&migration) {
                    let key = (node, migration.object, migration.to);
                    *found.entry(key).or_default() += 1;
                }
            }
            let mut real = Taken::new();
            for peer in played.world.running() {
                for event in played.world.events(peer) {
                    if let Event::Migrated { object, owner, .. } = event {
                        let key = (played.node(peer), object.0, u64::from(owner.0));
                        *real.entry(key).or_default() += 1;
                    }
                }
            }
            count += real.len();
            assert_eq!(found, real, "seed {seed} {mode:?} {topology:?}");
        }
    }
    assert!(count > 100, "{count}");
}

#[test]
fn what_a_migration_is_made_of_comes_in_its_order() {
    let mut whole = 0;
    for seed in 0..8 {
        let start = boxes(seed, Mode::Owner, Topology::PeerToPeer);
        let played = Played::to_rest(&start);
        let host = played.node(Peer(0));
        for migration in migrations(&played) {
            let at = |what| steps(&migration, what).map(|step| step.at).min();
            let row = [
                at(MigrationWhat::Ordered),
                at(MigrationWhat::OrderCame),
                at(MigrationWhat::Announced),
            ];
            let known: Vec<_> = row.into_iter().flatten().collect();
            assert!(known.is_sorted(), "{migration:#?}");
            let mut asked = migration.steps.iter();
            if let Some(asked) = asked.find(|it| matches!(it.what, MigrationWhat::Asked(_))) {
                assert_eq!(asked.node, host);
                assert!(known.iter().all(|&it| asked.at <= it), "{migration:#?}");
            }
            for told in &migration.steps {
                if !matches!(told.what, MigrationWhat::Told(_)) {
                    continue;
                }
                assert!(known.iter().all(|&it| it <= told.at), "{migration:#?}");
                let acked = steps(&migration, MigrationWhat::Acked);
                let mut acked = acked.filter(|it| it.packet == told.packet);
                let of_it = acked.find(|it| it.other == Some(told.node));
                // What came may have waited for what stands before it in its stream.
                let came = played
                    .session
                    .packet(told.packet)
                    .and_then(|it| it.received);
                let came = came.expect("it was told").time;
                assert!(came <= told.at, "{migration:#?}");
                assert!(of_it.is_some_and(|it| it.at >= came), "{migration:#?}");
            }
            let updated = at(MigrationWhat::Updated);
            for taken in steps(&migration, MigrationWhat::UpdateTaken) {
                assert!(updated.is_some_and(|it| it <= taken.at), "{migration:#?}");
            }
            let is_whole = row.iter().all(Option::is_some) && updated.is_some();
            whole += u64::from(is_whole);
        }
    }
    assert!(
        whole > 5,
        "{whole} migrations from the order to the first UPDATE"
    );
}
