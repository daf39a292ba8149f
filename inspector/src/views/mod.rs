//! One file a view. Each takes what it shows and a list to put commands into.

pub mod arrows;
pub mod axis;
pub mod bytes;
pub mod dialogs;
pub mod fields;
pub mod findings;
pub mod head;
pub mod lanes;
pub mod legend;
pub mod minimap;
pub mod objects;
pub mod packets;
pub mod scroll;
pub mod status;
pub mod story;
pub mod timeline;
pub mod top;
mod why;
