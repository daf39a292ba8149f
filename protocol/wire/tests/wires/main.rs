//! The wires of `samples/wires` on recorded traffic of the engines that they describe, beside
//! readers written by hand that know nothing of the wire language.

mod enet;
mod explained;
mod kcp;
mod minetest;
mod own_tests;
mod quake3;
mod raknet;
#[path = "../recordings/mod.rs"]
mod recordings;
mod renet;
mod round_trip;
mod teeworlds07;
