//! Rows whose columns are as wide as what stands in them.

use std::io::Write;

/// Where a cell stands in its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Prints rows, the first of them the heads, with two blanks between columns.
pub fn print(
    sides: &[Align],
    rows: &[Vec<String>],
    out: &mut dyn Write,
) -> Result<(), std::io::Error> {
    let widths: Vec<usize> = (0..sides.len())
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    for row in rows {
        let mut line = String::new();
        for ((cell, &width), side) in row.iter().zip(&widths).zip(sides) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_the_longest_cell() {
        let rows = [["name", "n"], ["a very long name", "7"], ["b", "1234"]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        let mut out = Vec::new();
        print(&[Align::Left, Align::Right], &rows, &mut out).unwrap();
        let expected = "name                 n\na very long name     7\nb                 1234\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
