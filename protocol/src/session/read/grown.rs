//! A reel that is read as it grows: what was read once is not read again.

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use netreel_reel::{Block, BlockError, EventNumber, Record, Reel, Walk};
use netreel_system::Cancel;
use netreel_wire::Wire;

use super::pass::Pass;
use super::scan::Scan;
use crate::session::facts::asking::{Answers, Piece, Telling};
use crate::session::facts::kept::Checkpoints;
use crate::session::facts::told::CHECKPOINTS;

/// How many blocks are scanned, or read ahead, between two questions whether anybody still wants it.
const BLOCKS: usize = 32;

/// How many times [`BLOCKS`] are read ahead.
const AHEAD: usize = 2;

/// A reel, as far as it was read.
pub(crate) struct Grown {
    /// As it was when it was last opened.
    reel: Arc<Reel>,
    pass: Pass,
    walk: Walk,
    /// How many blocks were scanned.
    scanned: usize,
    /// What the wire says, and of how many blocks.
    telling: Option<(Telling, usize)>,
}

/// What is known of a reel at a moment.
pub(crate) struct Look {
    pub scan: Scan,
    /// What the wire says; `None` where it was not asked.
    pub answers: Option<Answers>,
    /// The first event that may be read anew at the next look; `None` where the reel is read once.
    pub firm: Option<EventNumber>,
}

impl Grown {
    /// Nothing of it was read yet.
    pub fn new(reel: Arc<Reel>) -> Grown {
        Grown {
            pass: Pass::new(&reel),
            reel,
            walk: Walk::default(),
            scanned: 0,
            telling: None,
        }
    }

    /// Reads all that is there, and nothing that comes later; no further where nobody wants it. Another
    /// processor reads blocks `ahead`. A wire is asked about what was sent, as far as that says the same
    /// whatever came before; the reel is one of so many.
    pub fn whole(
        reel: Arc<Reel>,
        ahead: bool,
        wire: Option<&Arc<Wire>>,
        reels: usize,
        cancel: &Cancel,
    ) -> Look {
        let mut grown = Grown::new(reel.clone());
        let budget = CHECKPOINTS.budget.part(reels);
        let checkpoints = Checkpoints {
            budget,
            ..CHECKPOINTS
        };
        let mut asked = wire.map(|wire| Telling::new(wire.clone(), checkpoints));
        let blocks = (0..reel.blocks()).map(|index| (index, reel.block(index)));
        if ahead {
            std::thread::scope(|scope| {
                let (sender, receiver) = sync_channel(AHEAD);
                let mut blocks = blocks;
                let mut some = std::iter::from_fn(move || {
                    let some: Vec<_> = blocks.by_ref().take(BLOCKS).collect();
                    (!some.is_empty()).then_some(some)
                });
                scope.spawn(move || some.all(|some| sender.send(some).is_ok()));
                grown.take(receiver.into_iter().flatten(), &mut asked, cancel);
            });
        } else {
            grown.take(blocks, &mut asked, cancel);
        }
        let scan = grown.pass.finish(&grown.reel, &grown.walk);
        let asked = asked.filter(|_| grown.walk.damaged.is_empty());
        Look {
            scan,
            answers: asked.map(Telling::sent),
            firm: None,
        }
    }

    /// Takes the events of blocks, as long as somebody wants it.
    fn take(
        &mut self,
        mut blocks: impl Iterator<Item = (usize, Result<Block, BlockError>)>,
        asked: &mut Option<Telling>,
        cancel: &Cancel,
    ) {
        let Grown { reel, pass, .. } = self;
        let mut show = |record: &Record<'_>| {
            let taken = pass.take(record);
            if let Some((asked, (side, raw))) = asked.as_mut().zip(taken) {
                asked.take_sent(&pass.scan, (side, &raw), record);
            }
        };
        while cancel.goes_on()
            && let Some(first) = blocks.next()
        {
            let some = std::iter::once(first).chain(blocks.by_ref().take(BLOCKS - 1));
            reel.for_each_of(some, &mut self.walk, &mut show);
        }
    }

    /// Reads what came since the last look at this recording, which was opened again as `reel`, and
    /// asks the wire about it.
    pub fn look(&mut self, reel: Arc<Reel>, wire: Option<&Arc<Wire>>) -> Look {
        if !self.goes_on_in(&reel) {
            *self = Grown::new(reel);
        } else {
            self.reel = reel;
        }
        let written = self.reel.written_blocks();
        scan(
            &self.reel,
            self.scanned..written,
            &mut self.pass,
            &mut self.walk,
        );
        self.scanned = written;
        // What is not written yet may come again with other numbers before it.
        let (mut pass, mut walk) = (self.pass.clone(), self.walk.clone());
        scan(
            &self.reel,
            written..self.reel.blocks(),
            &mut pass,
            &mut walk,
        );
        let scan = pass.finish(&self.reel, &walk);
        let pieces = wire.and_then(|wire| self.tell(wire, &scan, written));
        let is_firm = self.pass.scan.span.is_some() && (pieces.is_some() || wire.is_none());
        let firm = is_firm.then_some(self.pass.scan.expected);
        let answers = pieces.map(Answers::Every);
        Look {
            scan,
            answers,
            firm,
        }
    }

    /// Whether `reel` is this one, and what was read of it has stayed as it was.
    fn goes_on_in(&mut self, reel: &Reel) -> bool {
        let key = |reel: &Reel| (reel.identity(), reel.first_number(), reel.header().clone());
        let last = |reel: &Reel| {
            let block = reel.block_infos().get(self.scanned.checked_sub(1)?)?;
            Some((block.offset, block.length, block.first))
        };
        let whole = |reel: &Reel| reel.damage().is_empty();
        self.walk.damaged.is_empty()
            && whole(&self.reel)
            && whole(reel)
            && self.scanned <= reel.written_blocks()
            && key(&self.reel) == key(reel)
            && last(&self.reel) == last(reel)
            && self.pass.add_parts(reel)
    }

    /// What the wire says of all ends of a scan; of those in written blocks it is asked once.
    fn tell(&mut self, wire: &Arc<Wire>, scan: &Scan, written: usize) -> Option<Vec<Arc<Piece>>> {
        if !self.walk.damaged.is_empty() || !self.reel.damage().is_empty() {
            return None;
        }
        let same = |(telling, _): &(Telling, usize)| Arc::ptr_eq(&telling.wire, wire);
        let mut known = self.telling.take().filter(same);
        // Where a socket is bound may show after its first packets, of which the wire was asked
        // with another port then.
        let spoken = known.as_ref().map_or(0, |(telling, _)| telling.connections);
        let connections = &mut self.pass.scan.connections;
        for (place, (own, found)) in connections.iter_mut().zip(&scan.connections).enumerate() {
            if own.port != found.port {
                own.port = found.port;
                known = known.filter(|_| place >= spoken);
            }
        }
        let (mut telling, told) = known.unwrap_or_else(|| {
            let telling = Telling::new(wire.clone(), CHECKPOINTS);
            (telling, 0)
        });
        tell(&self.reel, told..written, &mut telling, scan);
        let mut ahead = telling.clone();
        self.telling = Some((telling, written));
        tell(&self.reel, written..self.reel.blocks(), &mut ahead, scan);
        Some(ahead.pieces())
    }
}

fn scan(reel: &Reel, blocks: Range<usize>, pass: &mut Pass, walk: &mut Walk) {
    let mut show = |record: &Record<'_>| {
        pass.take(record);
    };
    reel.for_each_in(blocks, walk, &mut show);
}

fn tell(reel: &Reel, blocks: Range<usize>, telling: &mut Telling, scan: &Scan) {
    for index in blocks {
        if let Ok(block) = reel.block(index) {
            let mut records = block.records();
            records
                .by_ref()
                .for_each(|record| telling.take(scan, &record));
        }
    }
}
