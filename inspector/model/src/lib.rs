//! What the inspector shows, as plain data.
