//! What the layer does, message by message.

mod cures;
mod hostile;
mod migration;
mod replication;
pub(crate) mod stage;
