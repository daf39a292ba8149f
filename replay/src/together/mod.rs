//! Playing on: the layers of all nodes in one process, over the network that the recording had.
//!
//! A [`Plan`] is what is read of a recorded session: when each node's turns were, in which order
//! they are played, what became of each packet. [`play`] gives every played node its ticks and the
//! game's recorded calls at their times. As long as a node does what it did, it is *on its
//! recording*: every answer is the recorded one, so that nothing that was not changed changes. At
//! the first step that differs it leaves its recording, and nothing stops:
//!
//! - The nth clock read of a tick says what the nth read of that tick said; where there was none,
//!   the clock stands at the time of the tick, as far from the reel's as it last was.
//! - The nth random number is the nth recorded one; behind the last they follow from the seed.
//! - A packet that stands in the place of a recorded one has its fate and its time of arrival: the
//!   same bytes sent in the same tick on the same link, or else the next one of that tick and
//!   link, or else the same bytes sent within a second.
//! - Any other packet takes as long as the recorded packet of its link that was sent nearest to it,
//!   and does not overtake where the recorded ones did not: what is sent into a link that held its
//!   packets back is held. How probably it is lost is the share of lost ones among the 16 packets
//!   that were sent nearest to it; whether it is, follows from the seed.
//!
//! What nodes without a layer sent arrives as it did.

mod lane;
pub(crate) mod link;
pub(crate) mod plan;
mod play;
mod reels;
mod report;
mod stands_for;
mod world;

pub use plan::{Plan, Story, StoryNode, StoryPacket};
pub use play::{Layers, NodeIo, play, play_while};
pub use reels::{Reels, Sink};
pub use report::{Left, Played, PlayedNode, Refused, Why};
