//! The inspector's window: views over [`netreel_inspector_model`], and nothing that thinks.
//!
//! [`run`] opens a real window. [`screenshot`] draws the same views without a window and without a
//! graphics driver, so that they can be looked at and tested anywhere.
//!
//! Why it is so: `docs/decisions/window.md`.

mod app;
mod ask;
mod following;
mod glyph;
mod kept_run;
mod keys;
mod layout;
mod named;
mod palette;
mod panes;
mod picture;
mod pixels;
mod raster;
mod rhythm;
mod settings;
mod stage;
mod texture;
pub mod theme;
mod views;
mod window;

pub use app::Inspector;
pub use ask::{
    Alone, Answer, Candidate, Cut as PartOf, Event, Host, Parting, PathKind, Picks, Request, Shown,
    Standing, Wake,
};
pub use following::{Follower, Look};
pub use kept_run::{KeptMatch, KeptRun};
pub use layout::{Axis, Cut, Edge, Pane, Tree, Workspace};
pub use netreel_inspector_model::{Bookmark, Command, Followed, Growth, Model, Spot};
pub use picture::{draw, draw_views, photograph, screenshot};
pub use pixels::{PictureError, SIDE_MAX};
pub use rhythm::Rhythm;
pub use settings::{SCALE_MAX, SCALE_MIN, Settings};
pub use stage::{Stage, Staged};
pub use window::{Options, Place, WindowError, run, run_views};
