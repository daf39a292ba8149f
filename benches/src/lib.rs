//! What the docs claim about speed: run with `./dev bench`.
