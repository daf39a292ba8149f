//! What is asked of the language as a whole.

mod highlighting;
