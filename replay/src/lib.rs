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
//! Why it is so: `docs/decisions/replay.md`.

mod agreed;
mod before;
mod cause;
mod checkpoints;
mod cursor;
mod difference;
mod driver;
pub mod explore;
pub mod onto;
pub mod program;
mod replayable;
mod said_before;
mod states;
mod stepper;
mod stretches;
mod tape;
pub mod together;

pub use agreed::{Agreed, agreed};
pub use before::netreel_before_event;
pub use cause::{Cause, Deed, cause};
pub use cursor::ReelEvents;
pub use difference::{Explanation, FieldDifference, carries, explain};
pub use driver::{Driver, Outcome, Report, Turn, TurnKind};
pub use replayable::{
    NotReplayable, check_replayable, check_replayable_sockets, check_replayable_whole,
};
pub use stepper::{Current, MakeLayer, Moved, StepError, Stepper, Stop};
pub use stretches::Stretch;
