//! `objects --migrations`: how objects changed their owners.

use serde::Serialize;

use crate::history::{History, Migration, MigrationStep, MigrationWhat};
use crate::session::Session;

/// The answer of `netreel objects --migrations --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Migrations {
    /// By object, and in the order in which they began.
    pub migrations: Vec<MigrationJson>,
}

/// A change of an object's owner.
#[derive(Clone, Debug, Serialize)]
pub struct MigrationJson {
    /// The object.
    pub object: u64,
    /// The new owner.
    pub to: String,
    /// The counter, where the protocol has one.
    pub counter: Option<u64>,
    /// What happened, in order of time.
    pub steps: Vec<MigrationStepJson>,
}

/// Something that happened on the way.
#[derive(Clone, Debug, Serialize)]
pub struct MigrationStepJson {
    /// `asked`, `ordered`, `order-came`, `announced`, `told`, `acked`, `not-delivered`, `updated`,
    /// `update-taken`.
    pub step: &'static str,
    /// Where.
    pub node: String,
    /// The other end of the packet; `null` of what a node did itself.
    pub other: Option<String>,
    /// When.
    pub time_ns: i64,
    /// The packet.
    pub packet: u32,
    /// What a node that was told did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<&'static str>,
}

/// The migrations of the history's objects.
pub fn migrations(session: &Session, history: &History) -> Migrations {
    let objects = history.objects.keys();
    let all = objects.flat_map(|&object| history.migrations(session, object));
    Migrations {
        migrations: all.map(|each| migration(session, &each)).collect(),
    }
}

fn migration(session: &Session, migration: &Migration) -> MigrationJson {
    let steps = migration.steps.iter();
    MigrationJson {
        object: migration.object,
        to: session.peer_name(migration.to),
        counter: migration.counter,
        steps: steps.map(|each| step(session, each)).collect(),
    }
}

fn step(session: &Session, step: &MigrationStep) -> MigrationStepJson {
    MigrationStepJson {
        step: step.what.name(),
        node: session.name(step.node),
        other: step.other.map(|node| session.name(node)),
        time_ns: step.at.0,
        packet: step.packet.0,
        effect: match step.what {
            MigrationWhat::Told(effect) => Some(effect.name()),
            _ => None,
        },
    }
}
