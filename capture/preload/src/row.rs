//! Bytes that are put behind each other before they are pushed.

/// At most `N` of them.
pub struct Row<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Row<N> {
    pub fn new() -> Row<N> {
        Row {
            bytes: [0; N],
            length: 0,
        }
    }

    /// These parts, as far as they have room.
    pub fn of(parts: &[&[u8]]) -> Row<N> {
        let mut row = Row::new();
        parts.iter().for_each(|part| row.add(part));
        row
    }

    /// Adds a part, unless there is no room for all of it.
    pub fn add(&mut self, part: &[u8]) {
        let end = self.length + part.len();
        if let Some(place) = self.bytes.get_mut(self.length..end) {
            place.copy_from_slice(part);
            self.length = end;
        }
    }

    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&[])
    }
}
