//! A small network layer in the manner of the Bitsquid engine, and a game on it.
