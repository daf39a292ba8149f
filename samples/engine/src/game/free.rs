//! Free play: no step waits for another, and no link is held. What each link is like follows from a
//! seed, what each player does from the same one, and a race comes when it comes.

use std::time::Duration;

use netreel_transport::{Draw, LinkFaults};

use crate::message::Peer;
use crate::message::node_name;

/// The part of all links that are much slower than the others.
const SLOW: f64 = 0.2;

/// What becomes of packets on one directed link of a session that is played freely: 5 to 60 ms of
/// delay, on one link in five 100 to 300 ms more; up to 20 ms of jitter; up to 3 % of loss.
pub fn free_link(seed: u64, from: Peer, to: Peer) -> LinkFaults {
    let name = format!("link {} -> {}", node_name(from), node_name(to));
    let mut draw = Draw::named(seed, &name);
    let mut ms = |low: u64, high: u64| Duration::from_millis(low + draw.below(high - low + 1));
    let (delay, jitter, more) = (ms(5, 60), ms(0, 20), ms(100, 300));
    let is_slow = draw.chance(SLOW);
    LinkFaults {
        delay: if is_slow { delay + more } else { delay },
        jitter,
        loss: draw.unit() * 0.03,
        ..LinkFaults::default()
    }
}
