//! `libnetreel`: recording, replay and a console for engines in C and C++.
//!
//! [`netreel_load`] fills a table of functions; `include/netreel.h` describes them and is kept by
//! hand. Nothing here panics or unwinds over the boundary, and no pointer is trusted further than
//! the header asks for.

mod addresses;
mod believes;
mod console;
mod console_calls;
mod error;
mod handles;
mod memory;
mod options;
mod record;
mod replay;
mod table;
pub mod types;

pub use table::{Api, netreel_load};
pub use types::HANDLES_MAX;
