//! What the wire says of the packets of all reels, in pieces.

use std::sync::Arc;

use super::asking::Piece;
use super::shape::Shapes;
use crate::session::index::plain::indexed;
use crate::session::read::ends::EndAt;
use crate::session::weave::rows::Rows;

/// See the module.
#[derive(Default)]
pub(crate) struct Pieces {
    /// For each track its pieces, in order.
    pub tracks: Vec<Vec<Arc<Piece>>>,
    /// For each track pieces that have what those lack, of packets that depend on others: of so many, the nth
    /// connection's is the piece `n % pieces`.
    pub dependent: Vec<Vec<Arc<Piece>>>,
}

indexed!(Pieces: tracks, dependent);

/// The pieces of a track.
pub(super) type OfTrack<'a> =
    std::iter::Chain<std::slice::Iter<'a, Arc<Piece>>, std::slice::Iter<'a, Arc<Piece>>>;

impl Pieces {
    /// Of each track its pieces.
    pub fn tracks(&self) -> impl ExactSizeIterator<Item = OfTrack<'_>> + '_ {
        let tracks = self.tracks.iter().zip(&self.dependent);
        tracks.map(|(pieces, dependent)| pieces.iter().chain(dependent))
    }

    /// All.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Piece>> + '_ {
        self.tracks.iter().chain(&self.dependent).flatten()
    }

    /// The facts of an end, and the shapes that read them.
    pub fn facts(&self, rows: &Rows, end: EndAt) -> Option<(&Shapes, &[u8])> {
        let (piece, bytes, _) = self.find(rows, end)?;
        Some((&piece.shapes, bytes))
    }

    /// The piece that an end is of, by its place among its track's.
    pub fn piece(&self, (track, side, place): EndAt) -> Option<(usize, &Piece)> {
        let pieces = self.tracks.get(track)?;
        let starts = |piece: &Arc<Piece>| piece.rows[side as usize].start <= place;
        let at = pieces.partition_point(starts).checked_sub(1)?;
        Some((at, pieces.get(at)?))
    }

    /// The piece that has the facts of an end, those, and where they are: the piece by its place among its
    /// track's, and the row there.
    pub fn find(&self, rows: &Rows, end: EndAt) -> Option<(&Piece, &[u8], (usize, usize))> {
        let (track, side, place) = end;
        let at_row = |at: usize, piece: &'_ Piece| {
            let row = place.checked_sub(piece.rows[side as usize].start)?;
            Some((at, row))
        };
        let (at, piece) = self.piece(end)?;
        let found = at_row(at, piece)?;
        let bytes = piece.facts[side as usize].get(found.1);
        let dependent = self.dependent.get(track).map_or(&[][..], Vec::as_slice);
        if !bytes.is_empty() || dependent.is_empty() {
            return Some((piece, bytes, found));
        }
        let connection = rows.tracks.get(track)?.side(side).connection(place);
        let nth = connection as usize % dependent.len();
        let piece = &**dependent.get(nth)?;
        let found = at_row(self.tracks.get(track)?.len() + nth, piece)?;
        Some((piece, piece.facts[side as usize].get(found.1), found))
    }

    /// Whether it is known what the wire says of the packet of an end.
    pub fn is_answered(&self, end: EndAt) -> bool {
        let facts = self.piece(end).map(|(_, piece)| {
            let row = end.2.saturating_sub(piece.rows[end.1 as usize].start);
            piece.facts[end.1 as usize].get(row)
        });
        facts.is_some_and(|facts| !facts.is_empty())
    }
}
