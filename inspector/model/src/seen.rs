//! Arrows that were drawn lately: who pans sees most of them again, and what they look like does not
//! change.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

use netreel_protocol::history::Level;
use netreel_protocol::session::{Fate, NodeId, PacketId, SessionTime};
use netreel_wire::KindId;

use crate::latest::lock;

/// Above this many packets in the visible time there is density instead of arrows.
pub const ARROWS_MAX: usize = 3_000;

/// One packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrow {
    /// Which.
    pub packet: PacketId,
    /// The lane that it leaves.
    pub from: NodeId,
    /// The lane that it goes to.
    pub to: NodeId,
    /// When it was sent; where that is not known, a guess from the link's usual latency.
    pub start: SessionTime,
    /// When it was received; where it was not, a guess from the link's usual latency.
    pub end: SessionTime,
    /// Whether the send was recorded.
    pub start_known: bool,
    /// What became of it.
    pub fate: Fate,
    /// The kind of its most telling message.
    pub kind: Option<KindId>,
    /// Whether the filter takes it.
    pub matches: bool,
    /// Whether it is the selected packet.
    pub selected: bool,
    /// Whether it proves the selected finding.
    pub evidence: bool,
    /// The worst finding that it proves.
    pub level: Option<Level>,
}

/// How many packets' answers are kept.
const KNOWN_MAX: usize = 4 * ARROWS_MAX;

/// What was worked out for the frames before.
#[derive(Debug, Default)]
pub struct Seen {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// As they are where nothing is picked out.
    arrows: HashMap<PacketId, Arrow>,
    /// Those of the visible time that was asked for last, if there were not too many: of all packets,
    /// and of those that the filter takes.
    visible: [Visible; 2],
    looked: u64,
}

type Visible = Option<(Key, Option<Arc<[PacketId]>>)>;

/// The visible time, how many packets are too many, and how often the filter had changed; none of all
/// packets.
pub type Key = (Range<i64>, usize, Option<u64>);

impl Seen {
    /// A packet's arrow; `make` works it out, and says whether it stays so.
    pub fn arrow(
        &self,
        id: PacketId,
        make: impl FnOnce() -> Option<(Arrow, bool)>,
    ) -> Option<Arrow> {
        if let Some(arrow) = self.lock().arrows.get(&id) {
            return Some(arrow.clone());
        }
        let (arrow, stays) = make()?;
        let mut known = self.lock();
        known.looked += 1;
        if stays {
            if known.arrows.len() >= KNOWN_MAX {
                known.forget();
            }
            known.arrows.insert(id, arrow.clone());
        }
        Some(arrow)
    }

    /// The packets that touch the visible time; `find` looks for them where others were asked for
    /// last. `None` where they are too many.
    pub fn visible(
        &self,
        key: Key,
        find: impl FnOnce() -> Option<Vec<PacketId>>,
    ) -> Option<Arc<[PacketId]>> {
        let place = usize::from(key.2.is_some());
        if let Some((of, packets)) = &self.lock().visible[place]
            && *of == key
        {
            return packets.clone();
        }
        let packets: Option<Arc<[PacketId]>> = find().map(Arc::from);
        self.lock().visible[place] = Some((key, packets.clone()));
        packets
    }

    /// Of how many packets an arrow was worked out so far.
    pub fn looked(&self) -> u64 {
        self.lock().looked
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        lock(&self.known)
    }
}

impl Known {
    /// All but those that were seen last.
    fn forget(&mut self) {
        let mut kept: Vec<PacketId> = self
            .visible
            .iter()
            .flatten()
            .filter_map(|(_, packets)| packets.as_deref())
            .flatten()
            .copied()
            .collect();
        kept.sort_unstable();
        self.arrows.retain(|id, _| kept.binary_search(id).is_ok());
    }
}
