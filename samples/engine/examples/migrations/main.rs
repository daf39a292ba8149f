//! What each way to migrate costs, and which orders break it: the tables of `docs/migration.md`.
//!
//! ```sh
//! cargo run --release -p netreel-sample-engine --example migrations
//! ```

mod costs;
mod orders;
mod page;

fn main() {
    print!("{}", page::tables());
}
