//! What is tried besides holding links.

/// What is tried besides holding links.
#[derive(Clone, Copy, Debug)]
pub struct Tries {
    /// A link is held for no longer than this. ns.
    pub hold_max_ns: i64,
    /// How many packets are lost in a run at most.
    pub losses: usize,
    /// Whether packets come twice.
    pub repeats: bool,
    /// Whether packets of one link overtake each other.
    pub overtakes: bool,
    /// Whether nodes die.
    pub deaths: bool,
    /// Whether what a node does itself comes before or behind what it receives, also by standing still.
    pub ticks: bool,
    /// The only node whose deliveries are moved.
    pub only: Option<usize>,
    /// The only object whose messages are moved.
    pub object: Option<u64>,
}

impl Default for Tries {
    /// Nothing besides, and links are held for as long as there is something to wait for.
    fn default() -> Tries {
        Tries {
            hold_max_ns: i64::MAX,
            losses: 0,
            repeats: false,
            overtakes: false,
            deaths: false,
            ticks: false,
            only: None,
            object: None,
        }
    }
}
