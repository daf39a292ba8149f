//! The inspector's window.
