//! Who talks to whom, and how objects change owner.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Who talks to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    /// Everybody to everybody.
    #[serde(rename = "p2p")]
    PeerToPeer,
    /// Everybody to HOST, who relays.
    ClientServer,
}

/// How objects change owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// HOST tells everybody. Racy, as it was historically.
    Host,
    /// HOST orders the new owner, who tells everybody, with a migration counter that UPDATEs carry
    /// as well.
    Owner,
    /// The same as it was published: UPDATEs carry no counter, and anybody's are taken.
    Counter,
    /// HOST tells everybody; what is early at a receiver waits there.
    Queue,
    /// HOST tells everybody but the new owner, who takes over when all have confirmed that.
    Handshake,
    /// Everybody hears of CREATE, MIGRATE and DESTROY from HOST alone, in one order.
    Order,
}

impl Mode {
    /// All of them, the historic one first.
    pub const ALL: [Mode; 6] = [
        Mode::Host,
        Mode::Counter,
        Mode::Owner,
        Mode::Queue,
        Mode::Handshake,
        Mode::Order,
    ];

    /// As start conditions and arguments spell it.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Host => "host",
            Mode::Counter => "counter",
            Mode::Owner => "owner",
            Mode::Queue => "queue",
            Mode::Handshake => "handshake",
            Mode::Order => "order",
        }
    }

    /// The mode with this name.
    pub fn named(name: &str) -> Option<Mode> {
        Mode::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// The number that every packet carries: its lowest bit in one place, the others in another.
    /// Those of `host` and `owner` were there first.
    pub(crate) fn number(self) -> u64 {
        match self {
            Mode::Host => 0,
            Mode::Owner => 1,
            Mode::Queue => 2,
            Mode::Counter => 3,
            Mode::Handshake => 4,
            Mode::Order => 6,
        }
    }

    /// The mode with this number.
    pub(crate) fn of_number(number: u64) -> Option<Mode> {
        Mode::ALL.into_iter().find(|mode| mode.number() == number)
    }

    /// Whether CREATE, MIGRATE and DESTROY carry a migration counter, and old ones are ignored.
    pub fn counts(self) -> bool {
        self != Mode::Host
    }

    /// Whether UPDATEs carry it as well: only the believed owner's at that counter are taken.
    pub fn counts_updates(self) -> bool {
        !matches!(self, Mode::Host | Mode::Counter)
    }

    /// Whether a MIGRATE says all that an object is, and creates what does not exist.
    pub fn migrate_creates(self) -> bool {
        matches!(self, Mode::Counter | Mode::Owner | Mode::Handshake)
    }

    /// Whether all hear of the new owner from HOST, the new owner with them.
    pub fn host_tells_all(self) -> bool {
        matches!(self, Mode::Host | Mode::Queue | Mode::Order)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
