//! What each room weighs: tokens of Rust and C that are neither comments nor there for tests. Lines
//! can be joined, tokens cannot.

use std::collections::BTreeMap;

use crate::sources::Source;

/// What a room holds.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Weight {
    pub product: usize,
    pub tests: usize,
    pub files: usize,
}

impl Weight {
    fn add(&mut self, other: Self) {
        self.product += other.product;
        self.tests += other.tests;
        self.files += other.files;
    }
}

/// The weight of one file.
pub fn of(source: &Source) -> Weight {
    let product = source.product.len();
    Weight {
        product,
        tests: source.tokens.len() - product,
        files: 1,
    }
}

/// The weights of all rooms, or, of one room, of the folders in it.
pub fn table(sources: &[Source], room: Option<&str>) -> BTreeMap<String, Weight> {
    let mut table: BTreeMap<String, Weight> = BTreeMap::new();
    for source in sources
        .iter()
        .filter(|it| room.is_none_or(|room| it.room == room))
    {
        let name = match room {
            None => source.room.clone(),
            Some(_) => source
                .path
                .parent()
                .unwrap_or(&source.path)
                .display()
                .to_string(),
        };
        table.entry(name).or_default().add(of(source));
    }
    table
}

/// The table as `./dev weight` prints it, with what each room may weigh.
pub fn printed(table: &BTreeMap<String, Weight>, limits: &BTreeMap<String, usize>) -> String {
    let mut all = Weight::default();
    let mut lines = vec![format!(
        "{:32}{:>10}{:>10}{:>10}{:>7}",
        "room", "tokens", "may", "in tests", "files"
    )];
    for (name, weight) in table {
        all.add(*weight);
        let may = limits.get(name).map(usize::to_string).unwrap_or_default();
        lines.push(line(name, *weight, &may));
    }
    let sum: usize = limits.values().sum();
    let may = if limits.is_empty() {
        String::new()
    } else {
        sum.to_string()
    };
    lines.push(line("all", all, &may));
    lines.join("\n")
}

fn line(name: &str, weight: Weight, may: &str) -> String {
    let Weight {
        product,
        tests,
        files,
    } = weight;
    format!("{name:32}{product:>10}{may:>10}{tests:>10}{files:>7}")
}
