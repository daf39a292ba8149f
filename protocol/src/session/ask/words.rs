//! What the games of a session said that they believed.

use netreel_reel::EventNumber;

use crate::session::read::beliefs::{GameSays, GameWord, GameWords, value_said};
use crate::session::read::payloads;
use crate::session::{NodeId, Session, Stamp};

impl Session {
    /// What a node's game said of objects, in the order of its events.
    pub(crate) fn game_words(&self, node: NodeId) -> impl Iterator<Item = (Stamp, GameWord)> + '_ {
        self.track_of(node).into_iter().flat_map(|track| {
            track.words.iter().map(|word| {
                let stamp = Stamp {
                    number: word.number,
                    time: track.time_of(word.number, word.time),
                };
                (stamp, word)
            })
        })
    }

    /// Whether a node's game said anything of objects.
    pub fn game_speaks(&self, node: NodeId) -> bool {
        self.words(node).is_some_and(|words| !words.is_empty())
    }

    /// Whether a game said a value of an object.
    pub(crate) fn says_values(&self) -> bool {
        let mut nodes = (0u16..).map(NodeId).take(self.nodes.len());
        nodes.any(|node| {
            let mut words = self.words(node).into_iter().flat_map(GameWords::iter);
            words.any(|word| word.what == GameSays::Value)
        })
    }

    /// Hands on what a node's game said of the values of some objects, in order: when, the object, and
    /// the words of [`Believed::Value`](netreel_reel::Believed::Value). Reads the reel again.
    pub(crate) fn values_said(
        &self,
        node: NodeId,
        wanted: &dyn Fn(u64) -> bool,
        mut each: impl FnMut(Stamp, u64, &[u8]),
    ) {
        let Some(words) = self.words(node) else {
            return;
        };
        let said: Vec<(Stamp, GameWord)> = self
            .game_words(node)
            .filter(|(_, word)| word.what == GameSays::Value && wanted(word.object))
            .collect();
        let reel = node.of(&self.reels);
        let Some(reel) = reel.and_then(Option::as_ref).filter(|_| !said.is_empty()) else {
            return;
        };
        let numbers: Vec<EventNumber> = said.iter().map(|(at, _)| at.number).collect();
        let mut next = said.iter();
        let mut show = |at: EventNumber, text: Option<&[u8]>| {
            // Events come in order, and each that was read.
            for (stamp, word) in next.by_ref() {
                let joined = words.joined(word.row);
                let is_it = stamp.number == at;
                if let Some(text) = joined.or(text.filter(|_| is_it)) {
                    each(*stamp, word.object, text);
                }
                if is_it {
                    return;
                }
            }
        };
        payloads::records(reel, &numbers, |record| {
            show(record.number, value_said(&record.event));
        });
    }

    fn words(&self, node: NodeId) -> Option<&GameWords> {
        Some(&self.track_of(node)?.words)
    }
}
