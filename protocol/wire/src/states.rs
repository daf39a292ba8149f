//! The states of many connections, which take a bounded memory together.

use crate::state::ConnectionState;
use crate::wire::Wire;

/// What each connection keeps, by its number. All of them together take this many bytes at most; then
/// the one that takes the most is forgotten: it goes on as if no packet had come before.
#[derive(Clone, Debug)]
pub struct States {
    bytes_max: usize,
    known: Vec<Option<ConnectionState>>,
    /// How many bytes each took when it was last looked at.
    bytes: Vec<usize>,
    /// Of all.
    sum: usize,
}

impl States {
    /// How many bytes the states of all connections of a file should take at most.
    pub const BYTES_MAX: usize = 256 << 20;

    /// Without connections; all together take this many bytes at most.
    pub fn new(bytes_max: usize) -> States {
        States {
            bytes_max,
            known: Vec::new(),
            bytes: Vec::new(),
            sum: 0,
        }
    }

    /// What a connection keeps.
    pub fn of(&mut self, wire: &Wire, connection: usize) -> &mut ConnectionState {
        if connection >= self.known.len() {
            self.known.resize_with(connection + 1, || None);
            self.bytes.resize(connection + 1, 0);
        }
        self.known[connection].get_or_insert_with(|| wire.new_state())
    }

    /// A packet of a connection has changed what that keeps. The connections that are forgotten for
    /// it.
    pub fn changed(&mut self, connection: usize) -> Vec<usize> {
        let state = self.known.get(connection).and_then(Option::as_ref);
        let now = state.map_or(0, ConnectionState::memory);
        self.note(connection, now);
        let mut forgotten = Vec::new();
        while self.sum > self.bytes_max {
            let all = self.bytes.iter().enumerate();
            let Some((largest, _)) = all.max_by_key(|&(place, &bytes)| (bytes, place)) else {
                break;
            };
            self.end(largest);
            forgotten.push(largest);
        }
        forgotten
    }

    /// No packet of a connection is left.
    pub fn end(&mut self, connection: usize) {
        self.note(connection, 0);
        if let Some(state) = self.known.get_mut(connection) {
            *state = None;
        }
    }

    fn note(&mut self, connection: usize, bytes: usize) {
        if let Some(known) = self.bytes.get_mut(connection) {
            self.sum = self.sum - *known + bytes;
            *known = bytes;
        }
    }
}
