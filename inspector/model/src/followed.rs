//! A recording that is followed: its packets are shown as soon as they are read, and what followed from
//! them when that was worked out, beside, which takes longer the longer it is.
//!
//! What was worked out for one look is shown beside the packets of later looks, as far as it is about
//! packets that are the same ones there. That is looked at, and not waited for: how long a packet may be
//! on its way depends on the slowest one that ever arrived.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use netreel_protocol::history::History;
use netreel_protocol::session::{PacketId, Session, SessionTime};
use netreel_table::below;

use crate::Model;
use crate::index::{Grown, Index};
use crate::judged::Judged;
use crate::text;
use crate::times::first_time;

/// How many looks back the model still knows.
const LOOKS_MAX: usize = 512;

/// Packets that were sent this long before a reel ends may still be put in another order: what other
/// reels have of that time is read a moment later.
const LOOSE_NS: i64 = 200_000_000;

/// Arranges one look after the other: packets that stay are arranged once.
#[derive(Default)]
pub struct Growth {
    indexes: Grown,
    last: Option<Arc<Session>>,
    staying: Staying,
}

impl Growth {
    /// What the session alone tells, as [`Model::of_session`].
    pub fn look(&mut self, session: Arc<Session>, unread: &[String]) -> Model {
        let last = self.last.as_ref();
        let (same, unchanged) = last.map_or((0, 0), |last| session.in_common(last));
        let stand = stands(&session, session.longest_way_ns().max(LOOSE_NS));
        let index: Index = self.indexes.look(&session, (unchanged, stand));
        self.staying.look(same, &session);
        self.last = Some(Arc::clone(&session));
        let mut model = Model::indexed(session, unread, index);
        model.staying = self.staying.clone();
        model
    }

    /// What of earlier looks is so at the last one.
    pub fn staying(&self) -> Staying {
        self.staying.clone()
    }
}

/// How many of the first packets of each look are the same ones at the last.
#[derive(Clone, Default)]
pub struct Staying(VecDeque<(Weak<Session>, u32)>);

impl Staying {
    fn look(&mut self, same: u32, now: &Arc<Session>) {
        for (_, packets) in &mut self.0 {
            *packets = same.min(*packets);
        }
        if self.0.len() == LOOKS_MAX {
            self.0.pop_front();
        }
        let all = now.packet_count() as u32;
        self.0.push_back((Arc::downgrade(now), all));
    }

    /// Of a look; none where nothing is known of it.
    fn of(&self, look: &Weak<Session>) -> u32 {
        self.0
            .iter()
            .rev()
            .find(|(other, _)| other.ptr_eq(look))
            .map_or(0, |&(_, packets)| packets)
    }

    /// Whether there is no later look.
    fn is_last(&self, look: &Arc<Session>) -> bool {
        let last = self.0.back();
        last.is_some_and(|(last, _)| last.as_ptr() == Arc::as_ptr(look))
    }
}

/// What followed from the packets of one look, for a model of that look or of a later one.
pub struct Followed {
    of: Arc<Session>,
    /// For a model of the same look; `None` where a later one is shown by now.
    whole: Option<Judged>,
    /// For one of a later look; `None` where no packet stays.
    early: Option<Early>,
}

/// What followed from the first packets of a look.
pub struct Early {
    judged: Judged,
    of: First,
}

/// The first packets of a look.
struct First {
    look: Weak<Session>,
    packets: u32,
    /// Before when they were sent.
    until: SessionTime,
}

/// See [`Model::behind_ns`].
#[derive(Default)]
pub struct Behind {
    /// What holds at later looks, while all is known of this one.
    early: Option<Box<Early>>,
    /// Of which packets what is shown followed; `None` where that is all of them.
    known: Option<First>,
}

impl Followed {
    /// Of a look's history, for the last look and those behind it. `unread` has a sentence for each
    /// reel that could not be read.
    pub fn new(
        session: Arc<Session>,
        history: History,
        (unread, staying): (&[String], &Staying),
    ) -> Followed {
        let judge = |history| Judged::new(&session, Arc::new(history), unread);
        let whole = staying.is_last(&session).then(|| judge(history.clone()));
        let stand = stands(&session, LOOSE_NS);
        let packets = stand.min(staying.of(&Arc::downgrade(&session)));
        let early = (packets > 0).then(|| {
            let first = PacketId(packets);
            let until = first_time(&session, first).unwrap_or(session.span.end);
            Early {
                judged: judge(history.before(&session, first)),
                of: First {
                    look: Arc::downgrade(&session),
                    packets,
                    until,
                },
            }
        });
        Followed {
            of: session,
            whole,
            early,
        }
    }
}

/// How many of the first packets are hardly told otherwise at a later look: those that were sent so long
/// before the end.
fn stands(session: &Session, loose_ns: i64) -> u32 {
    let end = session.read_until(|reel| reel.ending().is_closed());
    let Some(end) = end else {
        return session.packet_count() as u32;
    };
    let until = SessionTime(end.0.saturating_sub(loose_ns));
    below(0..session.packet_count(), |packet| {
        first_time(session, PacketId(packet as u32)).is_some_and(|first| first < until)
    }) as u32
}

impl Model {
    /// Takes in what followed, of the look that is shown or of an earlier one; what is not about the
    /// packets that are shown by now is left alone. Who looks at a finding goes on looking at it.
    pub fn take_followed(&mut self, followed: Followed) {
        let is_it = Arc::ptr_eq(&followed.of, &self.session);
        let whole = followed.whole.filter(|_| is_it);
        let early = followed.early.filter(|early| early.is_of(&self.staying));
        let (judged, behind) = match (whole, early) {
            (Some(whole), early) => {
                let early = early.map(Box::new);
                (whole, Behind { early, known: None })
            }
            (None, Some(Early { judged, of })) => {
                let known = Some(of);
                (judged, Behind { early: None, known })
            }
            (None, None) => return,
        };
        let finding = self.known_finding(self.selection.finding);
        self.settle(judged);
        self.behind = behind;
        if self.is_looked_at {
            self.selection.finding = finding.and_then(|known| self.place_of(known));
            self.story = self.tell();
        }
    }

    /// By how much of the recording what followed lags behind its packets, in ns; `None` where all of
    /// it is known, or nothing yet.
    pub fn behind_ns(&self) -> Option<i64> {
        Some(
            self.session
                .span
                .end
                .0
                .saturating_sub(self.behind.known.as_ref()?.until.0)
                .max(0),
        )
    }

    /// Whether the filter still looks at packets: a session that is further on would have it begin anew.
    pub fn is_filtering(&self) -> bool {
        self.filter.is_looking()
    }

    /// A sentence about what followed, and how far that lags behind.
    pub(crate) fn with_age(&self, sentence: String) -> String {
        match self.behind_ns() {
            Some(ns) => format!("up to {} ago: {sentence}", text::duration(ns)),
            None => sentence,
        }
    }

    /// What is known and holds at later looks too; nothing is known from then on.
    pub(crate) fn take_early(&mut self) -> Option<Early> {
        let Behind { early, known } = std::mem::take(&mut self.behind);
        let judged = std::mem::take(&mut self.judged);
        known
            .map(|of| Early { judged, of })
            .or(early.map(|early| *early))
    }

    /// Shows what was known at an earlier look, if it holds at the one that is shown now.
    pub(crate) fn go_on_with(&mut self, early: Option<Early>) {
        match early.filter(|early| early.is_of(&self.staying)) {
            Some(Early { judged, of }) => {
                self.settle(judged);
                self.behind.known = Some(of);
            }
            None => {
                self.lack();
                self.set_filter(self.filter.text.clone());
            }
        }
    }
}

impl Early {
    /// Whether it is about packets of the last look.
    fn is_of(&self, staying: &Staying) -> bool {
        self.of.packets <= staying.of(&self.of.look)
    }
}
