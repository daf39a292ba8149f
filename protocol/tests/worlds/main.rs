//! Sessions and histories of simulated worlds: what the packets tell is what happened.

mod beliefs;
mod counts;
mod cut;
mod damaged;
mod demonstration;
mod exports;
mod filters;
mod owners;
mod played;
