//! A recording that is followed: its packets are shown as soon as they are read, and what followed from
//! them when that was worked out, beside, which takes longer the longer it is.
//!
//! What was worked out for one look is shown beside the packets of later looks, as far as it is about
//! packets that [stay](Session::same) the same ones.

use std::sync::Arc;

use netreel_protocol::history::History;
use netreel_protocol::session::{PacketId, Same, Session, SessionTime};

use crate::Model;
use crate::index::{Grown, Index};
use crate::judged::Judged;

/// Arranges one look after the other: packets that stay are arranged once.
#[derive(Default)]
pub struct Growth {
    indexes: Grown,
}

impl Growth {
    /// What the session alone tells, as [`Model::of_session`].
    pub fn look(&mut self, session: Arc<Session>, unread: &[String]) -> Model {
        let index: Index = self.indexes.look(&session);
        Model::indexed(session, unread, index)
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

/// What followed from packets that stay.
pub(crate) struct Early {
    judged: Judged,
    of: Same,
    until: SessionTime,
}

/// See [`Model::behind_ns`].
#[derive(Default)]
pub(crate) struct Behind {
    /// What holds at later looks, while all is known of this one.
    early: Option<Box<Early>>,
    /// Of which packets what is shown followed, and before when they were sent; `None` where that is
    /// all of them.
    known: Option<(Same, SessionTime)>,
}

impl Followed {
    /// Of a look's history. `is_latest` says that there may be no later look yet; `unread` has a
    /// sentence for each reel that could not be read.
    pub fn new(
        session: Arc<Session>,
        history: History,
        (unread, is_latest): (&[String], bool),
    ) -> Followed {
        let judge = |history| Judged::new(&session, Arc::new(history), unread);
        let whole = is_latest.then(|| judge(history.clone()));
        let same = session.same().filter(|same| same.packets() > 0).cloned();
        let early = same.map(|of| {
            let first = PacketId(of.packets());
            let packet = session.packet(first).and_then(|packet| packet.first());
            Early {
                judged: judge(history.before(&session, first)),
                until: packet.map_or(session.span.end, |stamp| stamp.time),
                of,
            }
        });
        Followed {
            of: session,
            whole,
            early,
        }
    }
}

impl Model {
    /// Takes in what followed, of the look that is shown or of an earlier one; what is not about the
    /// packets that are shown by now is left alone. Who looks at a finding goes on looking at it.
    pub fn take_followed(&mut self, followed: Followed) {
        let is_it = Arc::ptr_eq(&followed.of, &self.session);
        let whole = followed.whole.filter(|_| is_it);
        let early = followed.early.filter(|early| early.is_of(&self.session));
        let (judged, behind) = match (whole, early) {
            (Some(whole), early) => {
                let early = early.map(Box::new);
                (whole, Behind { early, known: None })
            }
            (None, Some(Early { judged, of, until })) => {
                let known = Some((of, until));
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
        let (_, until) = self.behind.known.as_ref()?;
        Some(self.session.span.end.0.saturating_sub(until.0).max(0))
    }

    /// Whether the filter still looks at packets: a session that is further on would have it begin anew.
    pub fn is_filtering(&self) -> bool {
        self.filter.is_looking()
    }

    /// A sentence about what followed, and how far that lags behind.
    pub(crate) fn with_age(&self, sentence: String) -> String {
        match self.behind_ns() {
            Some(ns) => format!("up to {:.1} s ago: {sentence}", ns as f64 / 1e9),
            None => sentence,
        }
    }

    /// What is known and holds at later looks too; nothing is known from then on.
    pub(crate) fn take_early(&mut self) -> Option<Early> {
        let Behind { early, known } = std::mem::take(&mut self.behind);
        let judged = std::mem::take(&mut self.judged);
        let shown = known.map(|(of, until)| Early { judged, of, until });
        shown.or(early.map(|early| *early))
    }

    /// Shows what was known at an earlier look, if it holds at the one that is shown now.
    pub(crate) fn go_on_with(&mut self, early: Option<Early>) {
        match early.filter(|early| early.is_of(&self.session)) {
            Some(Early { judged, of, until }) => {
                self.settle(judged);
                self.behind.known = Some((of, until));
            }
            None => {
                self.lack();
                self.set_filter(self.filter.text.clone());
            }
        }
    }
}

impl Early {
    /// Whether it is about packets of this session.
    fn is_of(&self, session: &Session) -> bool {
        let now = session.same();
        now.is_some_and(|now| self.of.goes_on_in(now))
    }
}
