//! An engine's network layer as a plugin: a shared library that `netreel replay --layer` loads.
//!
//! A Rust engine makes its crate a `cdylib` and says [`layer!`]: the name that its reels have for
//! the engine, and a function that makes its [`Layer`](netreel_transport::Layer) from the start
//! conditions.
//!
//! ```no_run
//! use netreel_plugin::{Start, World};
//! use netreel_transport::{InputError, Layer, Shared, Transport};
//!
//! struct MyLayer;
//!
//! impl Layer for MyLayer {
//!     fn tick(&mut self, io: &mut dyn Transport) {
//!         let mut packet = [0; 1500];
//!         while let Ok(Some(_)) = io.receive(&mut packet) {}
//!     }
//!
//!     fn input(&mut self, call: &[u8], io: &mut dyn Transport) -> Result<(), InputError> {
//!         Ok(()) // what the game asked for, as it was recorded
//!     }
//! }
//!
//! fn create(start: &Start<'_>, io: Shared<World>) -> Result<MyLayer, String> {
//!     // `io` is for a layer that keeps its transport; another one leaves it aside.
//!     Ok(MyLayer)
//! }
//!
//! netreel_plugin::layer!(c"my engine", create);
//! ```
//!
//! What [`layer!`] calls is the C table of `netreel_layer.h` ([`abi`]), so that engines in C
//! and C++ are plugins as well, and a plugin need not be built by the compiler that built netreel.
//!
//! Why it is so: `docs/decisions/replay.md`.

pub mod abi;
mod build;
pub mod guest;
#[cfg(feature = "host")]
mod host;
#[cfg(feature = "host")]
mod host_world;

pub use build::{file_build, own_build};
pub use guest::{Start, World};
#[cfg(feature = "host")]
pub use host::{Failed, LoadError, Plugin, PluginLayer};
#[cfg(feature = "host")]
pub use host_world::Sockets;
