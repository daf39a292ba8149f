//! Sessions and histories of simulated worlds: what the packets tell is what happened.

mod alone;
mod beliefs;
mod clean;
mod counts;
mod cures;
mod cut;
mod damaged;
mod demonstration;
mod differ;
mod exports;
mod faults;
mod filters;
mod migrations;
mod missing;
mod newer;
mod outcomes;
mod owners;
mod planted;
mod played;
mod said;
mod states;
mod unknown;
mod why;
