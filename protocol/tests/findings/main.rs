//! Findings in sessions made by hand, each with a session that is almost the same and has none; and
//! that no rule is without both.

mod acked;
mod anew;
mod every_rule;
mod lockstep;
mod machines;
mod named;
mod objects;
mod reels;
