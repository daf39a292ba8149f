//! Whether something that was removed still stands in the bytes of a copy's file.

use netreel_reel::{ReadAt, ReadError, Start};

use crate::secrets::Place;
use crate::survey::Survey;

/// Looks through the bytes of a copy's file, this many at once. Where something stands that was removed,
/// and what it is.
///
/// # Errors
/// The bytes could not be read.
pub fn scan(
    survey: &Survey,
    file: &dyn ReadAt,
    piece_bytes: usize,
) -> Result<Option<(u64, &'static str)>, ReadError> {
    let secrets = &survey.secrets;
    // What is no reel has no header.
    let header_end = Start::read(file).map_or(0, |start| start.end);
    // What is cut at the end of a piece is looked at with the next.
    let mut bytes = vec![0; piece_bytes + secrets.longest()];
    let mut at = 0;
    loop {
        let filled = file.read_at(at, &mut bytes)?;
        let read = bytes.get(..filled).unwrap_or_default();
        let header = header_end.saturating_sub(at).min(filled as u64);
        let (header, rest) = read.split_at(header as usize);
        // The header's texts were looked at one by one; a wire among them has words of its own.
        let in_header = secrets.find(header, Place::Wire);
        let in_rest = secrets
            .find(rest, Place::Numbers)
            .map(|(at, what)| (header.len() + at, what));
        if let Some((place, what)) = in_header.or(in_rest) {
            return Ok(Some((at + place as u64, what.words())));
        }
        if filled < bytes.len() {
            return Ok(None);
        }
        at += piece_bytes as u64;
    }
}
