//! How numbers, times, names and tables look in print.

use std::io::Write;
use std::path::PathBuf;

use netreel_protocol::session::{NodeId, Session};

use crate::outcome::Result;

pub use netreel_protocol::figures::{bytes, duration, moment, percent, seconds};

/// Words one behind the other, with what stands between them.
pub fn joined(words: impl IntoIterator<Item = impl AsRef<str>>, between: &str) -> String {
    let words: Vec<_> = words.into_iter().collect();
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    words.join(between)
}

/// Says these sentences on the error output, a line each.
pub fn warn(sentences: impl IntoIterator<Item = impl std::fmt::Display>) {
    for sentence in sentences {
        anstream::eprintln!("netreel: {sentence}");
    }
}

/// A style where the standard output shows colours; none where it goes to a file or another program.
pub fn style(style: anstyle::Style) -> anstyle::Style {
    match anstream::AutoStream::choice(&std::io::stdout()) {
        anstream::ColorChoice::Never => anstyle::Style::new(),
        _ => style,
    }
}

/// A node's name.
pub fn node(session: &Session, node: NodeId) -> &str {
    session.node(node).map_or("?", |node| node.name.as_str())
}

/// How wide the longest link between two nodes may be, at least `least` characters.
pub fn link_width(session: &Session, least: usize) -> usize {
    let width = |id| node(session, id).chars().count();
    let links = session.links().iter();
    let widths = links.map(|&(from, to)| width(from) + 4 + width(to));
    widths.fold(least, usize::max)
}

/// `A -> X`
pub fn link(session: &Session, from: NodeId, to: NodeId) -> String {
    format!("{} -> {}", node(session, from), node(session, to))
}

/// Where a cell stands in its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Rows of cells, with two blanks between columns.
pub struct Table {
    sides: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(sides: impl Into<Vec<Align>>) -> Table {
        Table {
            sides: sides.into(),
            rows: Vec::new(),
        }
    }

    /// With names in its first column, and numbers in all others.
    pub fn of_numbers(heads: impl IntoIterator<Item = &'static str>) -> Table {
        let mut table = Table::new([]);
        table.row(heads);
        table.sides = vec![Align::Right; table.rows[0].len()];
        table.sides[0] = Align::Left;
        table
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    pub fn print(&self, out: &mut dyn Write) -> Result {
        let widths: Vec<usize> = (0..self.sides.len())
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
            })
            .collect();
        for row in &self.rows {
            let mut line = String::new();
            for ((cell, &width), side) in row.iter().zip(&widths).zip(&self.sides) {
                if !line.is_empty() {
                    line += "  ";
                }
                match side {
                    Align::Left => line += &format!("{cell:<width$}"),
                    Align::Right => line += &format!("{cell:>width$}"),
                }
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// `1 packet`, `2 packets`: a number and what there is this many of.
pub fn counted(number: impl TryInto<u64>, one: &str) -> String {
    netreel_protocol::figures::counted(number.try_into().unwrap_or(u64::MAX), one)
}

/// `0a1b`
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Paths as they were written, one behind the other.
pub fn paths(paths: &[PathBuf]) -> String {
    joined(paths.iter().map(|path| path.display().to_string()), " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_the_longest_cell() {
        let mut table = Table::new([Align::Left, Align::Right]);
        let rows = [["name", "n"], ["a very long name", "7"], ["b", "1234"]];
        for row in rows {
            table.row(row);
        }
        let mut out = Vec::new();
        table.print(&mut out).unwrap();
        let expected = "name                 n\na very long name     7\nb                 1234\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
