//! Layers that do not return from a call.

use std::sync::atomic::{AtomicU64, Ordering};

/// A call into a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Whose: of those that play a session.
    pub player: usize,
    /// Which of its calls.
    pub number: u64,
    /// The node, by its place.
    pub node: usize,
    /// When it is, on the session's clock, in nanoseconds.
    pub at_ns: i64,
}

/// The call that somebody is in who plays a session. Two stores a turn.
#[derive(Debug, Default)]
pub(super) struct Watched {
    /// Odd while a call is under way.
    number: AtomicU64,
    /// Node and turn.
    place: AtomicU64,
}

/// While it lives the call is under way.
pub(super) struct UnderWay<'w>(&'w Watched);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.number.fetch_add(1, Ordering::Release);
    }
}

impl Watched {
    pub fn begin(&self, node: usize, turn: u32) -> UnderWay<'_> {
        let place = (node as u64) << 32 | u64::from(turn);
        self.place.store(place, Ordering::Relaxed);
        self.number.fetch_add(1, Ordering::Release);
        UnderWay(self)
    }

    /// Number, node and turn of the call that is under way.
    pub fn call(&self) -> Option<(u64, usize, u32)> {
        let number = self.number.load(Ordering::Acquire);
        let place = self.place.load(Ordering::Relaxed);
        let node = usize::try_from(place >> 32).ok()?;
        (number % 2 == 1).then_some((number, node, place as u32))
    }
}

/// Looks again and again whether calls return.
#[derive(Clone, Debug, Default)]
pub struct Stuck {
    /// Those of the last look, and at how many looks each was under way.
    last: Vec<(Call, u32)>,
}

impl Stuck {
    /// Takes the calls that are under way now; one that was so at this many looks next to each other.
    pub fn look(&mut self, calls: &[Call], looks: u32) -> Option<Call> {
        let seen = |call: &Call| {
            let key = |it: &Call| (it.player, it.number);
            let before = self.last.iter().find(|it| key(&it.0) == key(call));
            before.map_or(1, |it| it.1.saturating_add(1))
        };
        self.last = calls.iter().map(|call| (*call, seen(call))).collect();
        let stuck = self.last.iter().find(|it| it.1 >= looks);
        stuck.map(|it| it.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_is_under_way_at_look_after_look_is_stuck() {
        let watched = Watched::default();
        let mut stuck = Stuck::default();
        let mut look = || {
            let calls = watched.call().map(|(number, node, turn)| Call {
                player: 0,
                number,
                node,
                at_ns: turn.into(),
            });
            let calls: Vec<Call> = calls.into_iter().collect();
            stuck.look(&calls, 3).map(|it| (it.node, it.at_ns))
        };
        drop(watched.begin(1, 4));
        assert_eq!([look(), look(), look(), look()], [None; 4]);
        let first = watched.begin(1, 5);
        assert_eq!([look(), look()], [None; 2]);
        drop(first);
        let _second = watched.begin(2, 6);
        assert_eq!([look(), look(), look()], [None, None, Some((2, 6))]);
    }
}
