//! Copies of reels without what must not leave the house.
//!
//! [`Survey`] looks at all reels and gives each thing that is mapped another one; [`Survey::copy`]
//! writes a reel anew with it, file by file. [`Checker`] reads a copy beside what it was made from,
//! with rules of its own, and says where they differ in more than they may; [`scan`] looks through
//! its bytes. [`Copies`] does all of it for a session.
//!
//! Why it is so: `docs/decisions/leaving.md`.

mod alike;
mod blank;
mod calls;
mod check;
mod content;
mod copies;
mod copy;
mod events;
mod fields;
mod follow;
mod forms;
mod fragments;
mod header;
mod map;
mod pieces;
mod report;
mod rewrite;
mod rules;
mod scan;
mod secrets;
mod story;
mod survey;
mod texts;
mod word;

pub use check::{Broken, Checker};
pub use copies::{Blank, Copies, Copy, CopyError, Folder, Source};
pub use fields::Field;
pub use map::key_of;
pub use report::{HeldBack, ReelReport};
pub use rules::{Bytes, RedactError, Redaction, Texts};
pub use scan::scan;
pub use story::Story;
pub use survey::Survey;
