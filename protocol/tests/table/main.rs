//! A session is a table of many rows: it is the same on any number of processors, its rows take few
//! bytes, and equal payloads are matched in time that grows as their number does.

mod anew;
mod growing;
mod index;
mod matching;
mod memory;
#[allow(dead_code)]
#[path = "../worlds/played.rs"]
mod played;
mod processors;
mod story;
mod tape;
