//! A recording, fed back into the network layer.
