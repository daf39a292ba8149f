//! What goes wrong in a world outside its layers, and the rule of `netreel check` that is meant to find
//! it.

use std::net::SocketAddr;
use std::time::Duration;

use netreel_sample_engine::{Peer, SimWorld, SimWorldStart};
use netreel_transport::LinkFaults;

/// Something that happens to machines and links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// X ends at once after the fifth second, and HOST still waits for it when the recording ends.
    Crash,
    /// For two seconds nothing that A sends B arrives.
    Silence,
    /// The clock of A's machine is set forward by two seconds after the fourth second.
    ClockSet,
    /// From the first second on nothing that A sends B and that has more than 40 bytes arrives.
    LargeLost,
}

/// All of them, with the rules that are meant.
pub const TROUBLES: [(Trouble, &str); 4] = [
    (Trouble::Crash, "nobody-owns"),
    (Trouble::Silence, "silent-link"),
    (Trouble::ClockSet, "clock-set"),
    (Trouble::LargeLost, "loss-pattern"),
];

const SECOND: u64 = 60; // ticks

impl Trouble {
    /// The boot id of a node's machine.
    pub fn boot(self, node: &str) -> String {
        match self {
            Trouble::ClockSet => format!("the machine of {node}"),
            _ => "a simulated world".to_owned(),
        }
    }

    /// Plays this many ticks.
    pub fn play(self, start: &SimWorldStart, world: &mut SimWorld, ticks: u64) {
        let at = |peer: u8| -> SocketAddr {
            let peers = start.start(Peer(peer)).peers;
            peers[usize::from(peer)].endpoint
        };
        let until = ticks;
        let to = |world: &mut SimWorld, second: u64| {
            let tick = second.saturating_mul(SECOND).min(until);
            world.run(tick.saturating_sub(world.tick()));
        };
        match self {
            Trouble::Crash => {
                to(world, 5);
                world.stop(Peer(3));
            }
            Trouble::Silence => {
                to(world, 3);
                let silent = LinkFaults {
                    loss: 1.0,
                    ..LinkFaults::default()
                };
                world.net().set_link(at(1), at(2), silent);
                to(world, 5);
                let open = LinkFaults::delayed(start.latency);
                world.net().set_link(at(1), at(2), open);
            }
            Trouble::LargeLost => {
                to(world, 1);
                let narrow = LinkFaults {
                    bytes_max: Some(40),
                    ..LinkFaults::delayed(start.latency)
                };
                world.net().set_link(at(1), at(2), narrow);
            }
            Trouble::ClockSet => {
                to(world, 4);
                world.net().set_clock(at(1), Duration::from_secs(2));
            }
        }
        to(world, u64::MAX);
    }
}
