//! The wire is asked about packets: first about each alone, then about those that depend on others.

use std::sync::Arc;

use netreel_wire::Wire;

use super::alone::{Job, by_blocks};
use super::asking::{Answers, Piece};
use super::dependent::{Dependent, take_unlike};
use super::kept::Checkpoints;
use super::pieces::Pieces;
use super::reader::Reader;
use crate::session::bits::Bits;
use crate::session::read::ends::Side;
use crate::session::weave::rows::Rows;
use crate::session::{PacketId, parallel};

/// They take no more than this many bytes for each packet, where there are enough of them.
const CHECKPOINT_BYTES: usize = 16;
const CHECKPOINTS_MIN: usize = 4 << 20;

/// Asks the wire about the packets of which it is not known yet what it says.
pub(super) fn ask(
    rows: &Rows,
    wire: &Wire,
    workers: usize,
    checkpoints: Checkpoints,
    mut known: Vec<Option<Answers>>,
) -> Pieces {
    known.resize_with(rows.tracks.len(), || None);
    // The tracks of which not all is known, each with whether what was sent is.
    let mut open = Vec::new();
    // How many steps the wire's scripts took so far.
    let mut taken = 0u64;
    let mut told = Pieces {
        tracks: Vec::new(),
        dependent: vec![Vec::new(); rows.tracks.len()],
    };
    for (at, (known, track)) in known.into_iter().zip(&rows.tracks).enumerate() {
        let is_of = |piece: &Piece| {
            let ends = Side::ALL.map(|side| track.side(side).len());
            piece.rows.clone().map(|rows| rows.end) == ends
        };
        told.tracks.push(match known {
            Some(Answers::Every(pieces)) => pieces,
            Some(Answers::Sent(piece, steps)) if is_of(&piece) => {
                open.push((at, true));
                taken = taken.saturating_add(steps);
                vec![piece]
            }
            _ => {
                open.push((at, false));
                Vec::new()
            }
        });
    }
    let mut depend = Bits::default();
    take_unanswered(&mut told, rows, wire.has_state(), &mut open, &mut depend);
    if wire.has_state() {
        take_told_elsewhere(rows, &open, &mut depend);
    }
    let tracks = || {
        open.iter()
            .filter_map(|&(at, is_sent)| Some((at, is_sent, rows.tracks.get(at)?)))
    };
    let unread = tracks().filter(|(_, is_sent, _)| !is_sent);
    let jobs: Vec<Job> = unread
        .flat_map(|(at, _, track)| by_blocks(at, track))
        .collect();
    let packets = rows.len().saturating_mul(CHECKPOINT_BYTES);
    let bytes_max = checkpoints.bytes_max.min(packets.max(CHECKPOINTS_MIN));
    let part = |jobs: usize, taken: u64| Checkpoints {
        bytes_max: bytes_max / jobs.max(1),
        budget: checkpoints.budget.without(taken).part(jobs),
        ..checkpoints
    };
    let each = part(jobs.len(), taken);
    let pieces = parallel::map(jobs, workers, |job| (job.track, job.run(rows, wire, each)));
    for (track, (piece, left, steps)) in pieces {
        taken = taken.saturating_add(steps);
        for packet in left {
            depend.insert(packet);
        }
        told.tracks[track].push(Arc::new(piece));
    }
    if depend.is_empty() {
        return told;
    }
    let jobs: Vec<Dependent> = tracks()
        .flat_map(|(at, _, track)| Dependent::of(at, track, &depend))
        .collect();
    let each = part(jobs.len(), taken);
    let pieces = parallel::map(jobs, workers, |job| {
        (job.track, job.run((rows, &told), wire, &depend, each))
    });
    for (track, piece) in pieces {
        told.dependent[track].push(Arc::new(piece));
    }
    told
}

/// Takes the packets of open tracks that others of their ends have to be asked about as well: those that
/// a track tells of which all is known, and those that their ends see otherwise.
fn take_told_elsewhere(rows: &Rows, open: &[(usize, bool)], depend: &mut Bits) {
    if open.is_empty() {
        return;
    }
    let mut is_open = vec![false; rows.tracks.len()];
    open.iter().for_each(|&(at, _)| is_open[at] = true);
    if is_open.contains(&false) {
        let ends = (0u32..).zip(rows.told.iter());
        for (packet, end) in ends {
            let (track, ..) = rows.find(end);
            if !is_open[track] {
                depend.insert(packet);
            }
        }
    }
    for &(at, _) in open {
        if let Some(track) = rows.tracks.get(at) {
            take_unlike(rows, (at, track), depend);
        }
    }
}

/// Of tracks whose sends are answered, takes the packets that are told by other ends, or depend on others,
/// into `depend`. Where many are and none can depend on others, the track is read as a whole instead.
fn take_unanswered(
    told: &mut Pieces,
    rows: &Rows,
    has_state: bool,
    open: &mut [(usize, bool)],
    depend: &mut Bits,
) {
    if open.iter().all(|(_, is_sent)| !is_sent) {
        return;
    }
    let mut lacking: Vec<(usize, Vec<u32>)> = vec![Default::default(); rows.tracks.len()];
    let mut reader = Reader::new(rows, told, None);
    for packet in 0..rows.len() as u32 {
        let (track, is_answered) = reader.answer(PacketId(packet));
        if let Some((all, without)) = lacking.get_mut(track) {
            *all += 1;
            without.extend((!is_answered).then_some(packet));
        }
    }
    for (at, is_sent) in open.iter_mut().filter(|(_, is_sent)| *is_sent) {
        let (all, without) = std::mem::take(&mut lacking[*at]);
        *is_sent = has_state || without.len() * 4 <= all;
        match is_sent {
            true => without.into_iter().for_each(|packet| {
                depend.insert(packet);
            }),
            false => told.tracks[*at].clear(),
        }
    }
}
