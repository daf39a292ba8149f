//! Whether anything times out, and since when its time runs.

/// The one switch of all time-outs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// As the start conditions have it, or the latest call of the game.
    pub is_on: bool,
    /// When the game turned them on, on the transport's clock; 0 where it never did. ns.
    pub on_since_ns: u64,
    /// Whether somebody looks at the layer in a debugger: then nothing times out. No part of the
    /// saved state.
    pub is_held: bool,
}

impl Patience {
    /// As it is at the start.
    pub fn new(is_on: bool) -> Patience {
        Patience {
            is_on,
            on_since_ns: 0,
            is_held: false,
        }
    }

    /// The game turns them on or off.
    pub fn throw(&mut self, on: bool, now_ns: u64) {
        if on && !self.is_on {
            self.on_since_ns = now_ns;
        }
        self.is_on = on;
    }

    /// Whether what began at `since_ns` has lasted too long. Time in which nothing could time out
    /// does not count.
    pub fn is_over(&self, since_ns: u64, limit_ns: u64, now_ns: u64) -> bool {
        let since_ns = since_ns.max(self.on_since_ns);
        self.is_on && !self.is_held && now_ns.saturating_sub(since_ns) >= limit_ns
    }
}
