//! Whether something that was removed still stands in the bytes of a copy's file.

use super::secrets::Place;
use super::survey::Survey;

/// Looks through the bytes of a copy's file, in the order in which they come.
pub struct FileScan<'s> {
    survey: &'s Survey,
    /// The end of what came before.
    before: Vec<u8>,
    /// Where `before` starts in the file.
    at: u64,
    header_end: u64,
    found: Option<(u64, &'static str)>,
}

/// Texts are shorter; what is cut at the end of a piece is looked at with the next.
const OVERLAP: usize = 4096;

impl<'s> FileScan<'s> {
    /// Before the first byte. The first piece holds the header.
    pub fn new(survey: &'s Survey) -> FileScan<'s> {
        FileScan {
            survey,
            before: Vec::new(),
            at: 0,
            header_end: 0,
            found: None,
        }
    }

    /// The next bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.at == 0 && self.before.is_empty() {
            let length = bytes.get(12..16).and_then(|bytes| bytes.try_into().ok());
            self.header_end = 28 + u64::from(u32::from_le_bytes(length.unwrap_or_default()));
        }
        self.before.extend_from_slice(bytes);
        if self.found.is_none() {
            self.found = self.look();
        }
        let passed = self.before.len().saturating_sub(OVERLAP);
        self.before.drain(..passed);
        self.at += passed as u64;
    }

    fn look(&self) -> Option<(u64, &'static str)> {
        let header = self
            .header_end
            .saturating_sub(self.at)
            .min(self.before.len() as u64);
        let (header, rest) = self.before.split_at(header as usize);
        let secrets = &self.survey.secrets;
        // The header's texts were looked at one by one; a wire among them has words of its own.
        let in_header = secrets.find(header, Place::Wire);
        let in_rest = secrets.find(rest, Place::File);
        let in_rest = in_rest.map(|(at, what)| (header.len() + at, what));
        let (at, what) = in_header.or(in_rest)?;
        Some((self.at + at as u64, what.words()))
    }

    /// Where something stands that was removed, and what it is.
    pub fn found(&self) -> Option<(u64, &'static str)> {
        self.found
    }
}
