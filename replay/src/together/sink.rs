//! Who takes what nodes do.

use netreel_reel::Record;

/// Takes the events of the nodes that are played, each node's in order.
pub trait Sink: Send {
    /// An event of a node, by its place in the story.
    fn write(&mut self, node: usize, record: &Record<'_>);
}

/// Nobody keeps them.
impl Sink for () {
    fn write(&mut self, _node: usize, _record: &Record<'_>) {}
}
