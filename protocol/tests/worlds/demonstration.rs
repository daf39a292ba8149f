//! The race of the demonstration, found in its packets.
