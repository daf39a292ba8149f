//! Other orders of what a session delivered: what would have gone wrong, had a link been slower.
//!
//! A [`Ground`] is a recorded session that is played any number of times: the layers of all nodes over the
//! network that the recording had, as [`together`](crate::together) plays them, with [`Change`]s: a link that
//! is held for a while, a packet that is lost or comes twice, a node that stands still or dies. Whatever an
//! engine does under them it could have done: all nodes are live, and the network does only what networks do.
//!
//! - No order holds between packets of different senders: [`explore`] holds one link until something of
//!   another one has come, for all pairs at a node that are about one object. Pairs that commute are not
//!   tried; an order that was seen, or waits, is not tried again.
//! - A run begins at the last state that was kept before its first change, and is left when all nodes
//!   believe for a while what they believe in the recording at that time, or agree on something else. What it
//!   costs does not grow with what was recorded before.
//! - A run is wrong where nodes part when all is delivered (as the layers, or their games, say what they
//!   believe), where a layer says that something in it is broken (a note that begins with [`BROKEN`]), or
//!   where it panics. What is wrong without changes is not counted.
//!
//! What is found is played once more from its beginning and written as a session: see
//! [`Runner::write`].

mod base_order;
mod by_hand;
mod chance;
mod change;
mod cut;
mod ground;
mod kept;
mod looks;
mod marks;
mod net;
mod races;
mod run;
mod script;
mod search;
mod shrink;
mod stuck;
mod tables;
mod waiting;

pub use by_hand::{Arrival, in_order, legal_orders};
pub use chance::ByChance;
pub use change::{Change, ChangeKind, Moment};
pub use cut::{Cut, PacketId};
pub use ground::{Begins, Ground, GroundOptions, Natural, number_of};
pub use kept::Kept;
pub use marks::Swap;
pub use net::{BROKEN, Broken, NodeSocket};
pub use races::Tries;
pub use run::{MakeNode, Outcome, Ran, Runner, Unlike};
pub use script::{Script, ScriptLink, ScriptNode, ScriptSend, ScriptTurn};
pub use search::{Explored, Limits, Makers, Told, Wrong, explore, explore_on};
pub use shrink::{Heals, Shrunk, Try, cure, shrink, tighten};
pub use stuck::{Call, Stuck};
pub use tables::{Belief, Difference, Parting, Table, differences};
pub use waiting::Counts;
