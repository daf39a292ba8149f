//! An engine's network layer as a plugin: a shared library that `netreel replay --layer` loads.
//!
//! A Rust engine makes its crate a `cdylib` and says [`layer!`]: the name that its reels have for
//! the engine, and a function that makes its [`Layer`](netreel_transport::Layer) from the start
//! conditions. What it calls is the C table of `netreel_layer.h` ([`abi`]), so that engines in C
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
