//! Every way to make a reel.
