//! What looks at packets left: states of a wire's connections, so that whoever looks at one packet after
//! the other goes on from there, and not from a checkpoint, which may be hundreds of packets before; and
//! the packets that were looked at last, for who holds one against another.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use netreel_wire::{ConnectionState, Decoded};

use crate::session::PacketId;

/// A connection: its reel's track, and its place there.
pub(crate) type ConnectionAt = (usize, usize);

/// What the latest looks left.
#[derive(Default)]
pub(crate) struct Looks {
    states: Mutex<Vec<Left>>,
    decoded: Mutex<Vec<(PacketId, Arc<Decoded>)>>,
}

struct Left {
    connection: ConnectionAt,
    /// How many packets of the connection are in it.
    before: usize,
    state: ConnectionState,
    /// Whether it stays when somebody goes on from it: for who looks back from there.
    stays: bool,
}

/// How many states are kept, of this many bytes together.
const LEFT_MAX: usize = 64;
const BYTES_MAX: usize = 16 << 20;

/// A state stays where so many packets more are in it than in one before that did.
const STAYS: usize = 16;

/// How many packets are kept as they were decoded.
const DECODED_MAX: usize = 4;

impl Looks {
    /// The state of a connection that is nearest before one of its packets, with the number of packets
    /// that are in it.
    pub fn take(&self, connection: ConnectionAt, place: usize) -> Option<(usize, ConnectionState)> {
        let mut all = lock(&self.states);
        let fits = |left: &Left| left.connection == connection && left.before <= place;
        let places = all.iter().enumerate().filter(|(_, left)| fits(left));
        let (found, left) = places.max_by_key(|(_, left)| left.before)?;
        if left.stays {
            return Some((left.before, left.state.clone()));
        }
        let left = all.remove(found);
        Some((left.before, left.state))
    }

    /// Keeps what is before a packet, where looks back may begin from it.
    pub fn pass(&self, connection: ConnectionAt, before: usize, state: &ConnectionState) {
        let is_it = |left: &Left| left.connection == connection && left.before == before;
        if before.is_multiple_of(STAYS) && !lock(&self.states).iter().any(is_it) {
            self.push(connection, before, state.clone(), true);
        }
    }

    /// Keeps what a look left: the state in which this many packets of the connection are.
    pub fn put(&self, connection: ConnectionAt, before: usize, state: ConnectionState) {
        self.push(connection, before, state, false);
    }

    fn push(&self, connection: ConnectionAt, before: usize, state: ConnectionState, stays: bool) {
        let mut all = lock(&self.states);
        all.push(Left {
            connection,
            before,
            state,
            stays,
        });
        let mut bytes = 0;
        let kept = all.iter().rev().take(LEFT_MAX).take_while(|left| {
            bytes += left.state.memory();
            bytes <= BYTES_MAX
        });
        let old = all.len() - kept.count();
        all.drain(..old);
    }

    /// A packet, where it was decoded among the last.
    pub fn decoded(&self, packet: PacketId) -> Option<Arc<Decoded>> {
        let all = lock(&self.decoded);
        let found = all.iter().find(|(id, _)| *id == packet);
        found.map(|(_, decoded)| Arc::clone(decoded))
    }

    /// Keeps a packet as it was decoded.
    pub fn keep(&self, packet: PacketId, decoded: &Arc<Decoded>) {
        let mut all = lock(&self.decoded);
        if all.len() == DECODED_MAX {
            all.remove(0);
        }
        all.push((packet, Arc::clone(decoded)));
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
