//! The wire language: a protocol's bytes, described once.
