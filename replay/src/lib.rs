//! A recording, fed back into the network layer.
//!
//! [`Driver`] is the loop around a sans-IO layer: it gives the layer the recorded calls, packets,
//! clock reads and random draws in the recorded order and compares every send with the reel. The
//! outcome is exact, or the first [`Divergence`](netreel_transport::Divergence), which
//! [`explain`] decodes to the field. [`together`] plays all nodes of a session at once, and goes on
//! where they do something else. [`explore`] plays it many times, over networks that are slower here and
//! there. [`onto`] plays one node's packets at a live endpoint. [`program`]
//! makes of an unmodified program's reel what the program is answered when it is started again.
//!
//! A layer of two lines, recorded and replayed:
//!
//! ```
//! use std::sync::Arc;
//!
//! use netreel_reel::{Header, Reel};
//! use netreel_replay::{Driver, Outcome};
//! use netreel_transport::{
//!     Duration, Endpoint, InputError, Layer, MemoryRecorder, Recorded, SimNet, Transport,
//! };
//!
//! /// Sends the clock to its peer in each tick, and `by` nanoseconds more.
//! struct Beacon(Endpoint, u64);
//!
//! impl Layer for Beacon {
//!     fn tick(&mut self, io: &mut dyn Transport) {
//!         let now = io.now().0 + self.1;
//!         let _ = io.send(self.0, &now.to_le_bytes());
//!     }
//!     fn input(&mut self, _: &[u8], _: &mut dyn Transport) -> Result<(), InputError> {
//!         Ok(())
//!     }
//! }
//!
//! let net = SimNet::new(7, Duration::from_millis(20));
//! let [a, b] = ["10.0.0.1:7000", "10.0.0.2:7000"].map(|it| it.parse().unwrap());
//! let header = Header { start: b"a beacon".to_vec(), ..Header::default() };
//! let recorder = MemoryRecorder::create(&header)?;
//! let mut io = Recorded::new(net.join(a), recorder.pusher(), a);
//! let mut layer = Beacon(b, 0);
//! for tick in 0..10 {
//!     net.advance(Duration::from_millis(16));
//!     io.tick(tick, net.now());
//!     layer.tick(&mut io);
//! }
//! let reel = Arc::new(Reel::from_bytes(recorder.finish())?);
//!
//! let same = Driver::new(reel.clone())?.run(&mut Beacon(b, 0));
//! assert!(matches!(same.outcome, Outcome::Exact));
//! let other = Driver::new(reel)?.run(&mut Beacon(b, 1));
//! assert!(other.divergence().is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Why it is so: `docs/decisions/replay.md`.

mod agreed;
mod cause;
mod checkpoints;
mod cursor;
mod difference;
mod driver;
mod explanation;
pub mod explore;
mod node_transport;
pub mod onto;
mod player;
pub mod program;
mod replayable;
mod said_before;
mod states;
mod stepper;
pub mod together;

pub use agreed::{Agreed, agreed, carries};
pub use cause::{Cause, Deed, cause};
pub use cursor::{ReelEvents, netreel_before_event};
pub use difference::FieldDifference;
pub use driver::{Driver, Outcome, Report, Turn, TurnKind};
pub use explanation::{Explanation, explain};
pub use player::{Moved, Player, Predicate, StepError, Stop};
pub use replayable::{
    NotReplayable, Stretch, check_replayable, check_replayable_sockets, check_replayable_whole,
};
pub use stepper::{Current, MakeLayer, Stepper};
