//! Places: bytes of a text and the positions of the protocol, which count UTF-16 units; paths and the
//! names that the protocol gives files.

use std::ops::Range;
use std::path::{Path, PathBuf};

use lsp_types::{Position, Range as LspRange};

/// Where lines of a text begin.
#[derive(Clone, Debug)]
pub struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    /// The lines of a text. A line ends with `\n`, `\r\n` or `\r`.
    pub fn new(text: &'t str) -> Lines<'t> {
        let mut starts = vec![0];
        let bytes = text.as_bytes();
        for (at, byte) in bytes.iter().enumerate() {
            let is_end = match byte {
                b'\n' => true,
                b'\r' => bytes.get(at + 1) != Some(&b'\n'),
                _ => false,
            };
            if is_end {
                starts.push(at + 1);
            }
        }
        Lines { text, starts }
    }

    /// The position of a byte; inside of a character, that of the character.
    pub fn position(&self, offset: usize) -> Position {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.starts.partition_point(|&start| start <= offset) - 1;
        let before = self.text.get(self.starts[line]..offset).unwrap_or_default();
        Position {
            line: line as u32,
            character: before.encode_utf16().count() as u32,
        }
    }

    /// The byte of a position; behind a line's end, that end.
    pub fn offset(&self, position: Position) -> usize {
        let Some(&start) = self.starts.get(position.line as usize) else {
            return self.text.len();
        };
        let next = self.starts.get(position.line as usize + 1);
        let end = next.copied().unwrap_or(self.text.len());
        let line = self.text.get(start..end).unwrap_or_default();
        let line = line.trim_end_matches(['\n', '\r']);
        let mut units = position.character as usize;
        for (at, character) in line.char_indices() {
            if units < character.len_utf16() {
                return start + at;
            }
            units -= character.len_utf16();
        }
        start + line.len()
    }

    /// The positions of a range of bytes.
    pub fn range(&self, range: Range<usize>) -> LspRange {
        LspRange {
            start: self.position(range.start),
            end: self.position(range.end),
        }
    }
}

/// The path that a `file:` name stands for.
pub fn path_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    if !rest.starts_with('/') {
        return None;
    }
    let mut bytes = Vec::with_capacity(rest.len());
    let mut left = rest.bytes();
    while let Some(byte) = left.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        bytes.push((digit(left.next())? << 4 | digit(left.next())?) as u8);
    }
    let path = String::from_utf8(bytes).ok()?;
    // `/c:/wires` on systems with drives.
    let is_drive = cfg!(windows) && path.as_bytes().get(2) == Some(&b':');
    let path = if is_drive {
        path.get(1..).unwrap_or_default()
    } else {
        path.as_str()
    };
    Some(PathBuf::from(path))
}

/// The `file:` name of a path.
pub fn uri_of(path: &Path) -> Option<String> {
    let path = path.to_str()?;
    let mut uri = String::from("file://");
    if !path.starts_with('/') {
        uri.push('/');
    }
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            b'\\' if cfg!(windows) => uri.push('/'),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    Some(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_utf16_units() {
        let text = "a\u{e9}\u{1f600}b\r\nc";
        let lines = Lines::new(text);
        let check = |offset, line, character| {
            let position = Position { line, character };
            assert_eq!(lines.position(offset), position);
            assert_eq!(lines.offset(position), offset);
        };
        check(0, 0, 0);
        check(3, 0, 2);
        check(7, 0, 4);
        check(8, 0, 5);
        check(10, 1, 0);
        check(11, 1, 1);
        // In the middle of a pair, behind a line, behind the text.
        assert_eq!(lines.offset(Position::new(0, 3)), 3);
        assert_eq!(lines.offset(Position::new(0, 99)), 8);
        assert_eq!(lines.offset(Position::new(9, 0)), 11);
    }

    #[test]
    fn names_of_files_are_paths() {
        let path = Path::new("/a b/c\u{e9}%.wire");
        let uri = uri_of(path).expect("a name");
        assert_eq!(uri, "file:///a%20b/c%C3%A9%25.wire");
        assert_eq!(path_of(&uri).as_deref(), Some(path));
        assert_eq!(path_of("untitled:1"), None);
        assert_eq!(path_of("file:///a%2"), None);
    }
}
