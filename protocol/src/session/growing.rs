//! A session whose reels grow: each look reads what is new of them.

use std::cmp::Reverse;
use std::sync::Arc;

use netreel_wire::Wire;

use super::builder::SessionBuilder;
use super::read::grown::{Grown, Look};
use super::read::source::{ReelInput, wire_inside, wires_inside};
use super::{Session, SessionError, parallel};

/// The reels of a play-through that goes on.
///
/// Call [`look`](Growing::look) with the reels as they are now, opened again, whenever somebody
/// asks; the answer is what [`SessionBuilder::build`] would say of the same reels, to the byte. Events that
/// stand in whole blocks of a reel are scanned once, and the wire is asked about each of their
/// packets once.
pub struct Growing {
    how: SessionBuilder,
    inside: Option<Inside>,
    reels: Vec<(String, Grown)>,
}

/// The wire inside the reels.
struct Inside {
    /// What it was found in: file, name and text of each wire.
    texts: Vec<[String; 3]>,
    wire: Option<Arc<Wire>>,
    warnings: Vec<String>,
}

impl SessionBuilder {
    /// Reads the reels of one play-through.
    ///
    /// # Errors
    /// There is no reel, the reels belong to different sessions or never met, or there is more in
    /// them than ids can number; [`SessionError::GivenUp`] where it was cancelled. All else that is
    /// wrong is in [`Session::warnings`].
    pub fn build(self, reels: Vec<ReelInput>) -> Result<Session, SessionError> {
        self.growing().once(reels)
    }

    /// A session whose reels grow.
    pub fn growing(mut self) -> Growing {
        let wire = self.wire.take();
        self.wire = self.with_keys(wire);
        Growing {
            how: self,
            inside: None,
            reels: Vec::new(),
        }
    }
}

impl Growing {
    /// From here on works on this many processors at most; `None`: on all that there are.
    pub fn work_on(&mut self, workers: Option<usize>) {
        self.how = std::mem::take(&mut self.how).workers(workers);
    }

    /// The session as far as its reels tell now. Reels are known by their names.
    ///
    /// # Errors
    /// As for [`SessionBuilder::build`]: a look at reels of which one was just begun may fail, and a later
    /// one not.
    pub fn look(&mut self, reels: Vec<ReelInput>) -> Result<Session, SessionError> {
        let (wire, about_wire) = self.wire(&reels);
        let mut known = std::mem::take(&mut self.reels);
        let grown = |input: &ReelInput| {
            let place = known.iter().position(|(name, _)| *name == input.name);
            let grown = place.map(|place| known.swap_remove(place).1);
            (grown, input.reel.clone())
        };
        let grown = reels.iter().map(grown).collect();
        let looks = parallel::map(grown, self.how.processors(), |(grown, reel)| {
            let mut grown: Grown = grown.unwrap_or_else(|| Grown::new(reel.clone()));
            let look = grown.look(reel, wire.as_ref());
            (grown, look)
        });
        let mut looked = Vec::new();
        for (input, (grown, look)) in reels.into_iter().zip(looks) {
            self.reels.push((input.name.clone(), grown));
            looked.push((input, look));
        }
        Session::put_together(&self.how, looked, (wire, about_wire))
    }

    /// The session of reels that are looked at once. What the wire says is left for whoever asks.
    fn once(mut self, reels: Vec<ReelInput>) -> Result<Session, SessionError> {
        let wire = self.wire(&reels);
        let looks = self.scanned(&reels, wire.0.as_ref().filter(|_| self.how.with_facts));
        if !self.how.cancel.goes_on() {
            return Err(SessionError::GivenUp);
        }
        let looked = reels.into_iter().zip(looks).collect();
        Session::put_together(&self.how, looked, wire)
    }

    /// Scans all reels: the longest ones first, so that none of them is left when the others are done. A
    /// wire is asked about what they sent.
    fn scanned(&self, reels: &[ReelInput], wire: Option<&Arc<Wire>>) -> Vec<Look> {
        let workers = self.how.processors();
        let length = |at: usize| reels[at].reel.len();
        let mut order: Vec<usize> = (0..reels.len()).collect();
        order.sort_by_key(|&at| Reverse(length(at)));
        let all: u64 = (0..reels.len()).map(length).sum();
        let scanned = parallel::map(order.clone(), workers, |at| {
            // One that has more than five eighths of all events is still read when the others are
            // done: then a processor is free to read ahead.
            let is_long = length(at) > all / 2 + all / 8;
            // All processors ask about such a one later.
            let wire = wire.filter(|_| !is_long);
            let reel = reels[at].reel.clone();
            let ahead = is_long && workers > 1;
            Grown::whole(reel, ahead, wire, reels.len(), &self.how.cancel)
        });
        let mut looks: Vec<(usize, Look)> = order.into_iter().zip(scanned).collect();
        looks.sort_by_key(|&(at, _)| at);
        looks.into_iter().map(|(_, look)| look).collect()
    }

    /// The wire that packets are read by, and what there is to say of it.
    fn wire(&mut self, reels: &[ReelInput]) -> (Option<Arc<Wire>>, Vec<String>) {
        if self.how.wire.is_some() || reels.is_empty() {
            return (self.how.wire.clone(), Vec::new());
        }
        let texts = wires_inside(reels).into_iter();
        let texts: Vec<[String; 3]> = texts
            .map(|(reel, name, text)| [reel.name.clone(), name.to_owned(), text.to_owned()])
            .collect();
        let known = self.inside.take().filter(|inside| inside.texts == texts);
        let inside = known.unwrap_or_else(|| {
            let mut warnings = Vec::new();
            let wire = self.how.with_keys(wire_inside(reels, &mut warnings));
            Inside {
                texts,
                wire,
                warnings,
            }
        });
        let found = (inside.wire.clone(), inside.warnings.clone());
        self.inside = Some(inside);
        found
    }
}
