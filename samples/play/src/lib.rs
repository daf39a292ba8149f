//! The sample game *boxes*, played by hand: nodes with a person's players, what their panes show, and
//! the panes themselves.
//!
//! A [`Node`] is one layer with its player, recorded through the same seam as any engine. A [`Stage`]
//! is where nodes are played: [`LiveStage`] over UDP and the clock, [`SimStage`] in virtual time. It is
//! given [`Order`]s and shows what is [`Seen`]. The [`Script`] and the [`view`] do the same with it: they
//! look, and give orders.

mod commanded;
mod free;
mod ghosts;
mod link_setting;
mod live;
mod lobby;
mod node;
mod script;
mod seen;
mod setup;
mod sim;
mod stage;
#[cfg(feature = "window")]
pub mod view;
mod words;

pub use commanded::{Choice, Commanded};
pub use free::free;
pub use ghosts::Ghosts;
pub use link_setting::LinkSetting;
pub use live::{LiveError, LiveStage};
pub use lobby::{LobbyError, Seats, host, join};
pub use node::{Node, Order};
pub use script::{Progress, Reader, Script, ScriptError, ZOMBIE};
pub use seen::{Seen, Thing, What};
pub use setup::Setup;
pub use sim::SimStage;
pub use stage::Stage;
pub use words::{color, sentence};
