//! What the rules go by, and what they find.

use std::sync::OnceLock;

use crate::history::ambiguous::HalfApart;
use crate::history::claims::Claims;
use crate::history::state::States;
use crate::history::streams::Streams;
use crate::history::{Finding, History};
use crate::session::{Session, SessionTime};

/// What the rules go by.
#[derive(Clone, Copy)]
pub(in crate::history) struct Case<'a> {
    pub session: &'a Session,
    pub history: &'a History,
    pub streams: &'a Streams,
    pub claims: &'a Claims,
    /// Messages that half of all numbers lie between, with both under way.
    pub half_apart: &'a [HalfApart],
    /// See [`Case::states`].
    pub states: &'a OnceLock<States>,
}

impl<'a> Case<'a> {
    /// What all nodes believed of all objects. Worked out when a rule first asks.
    pub(super) fn states(&self) -> &'a States {
        let build = || States::build(self.session, self.history);
        self.states.get_or_init(build)
    }
}

/// What a rule found.
pub(in crate::history) struct Found {
    pub finding: Finding,
    /// Nothing that comes after this moment changes it, once all is read up to there; `None` where
    /// the end of the reels tells.
    pub fixed: Option<SessionTime>,
    /// What it comes of, in words that go on after `9 objects`: see [`together`](super::together).
    pub(super) because: Option<String>,
}

impl From<Finding> for Found {
    fn from(finding: Finding) -> Found {
        Found {
            finding,
            fixed: None,
            because: None,
        }
    }
}

impl Found {
    /// See [`Found::fixed`].
    pub fn fixed(mut self, fixed: Option<SessionTime>) -> Found {
        self.fixed = fixed;
        self
    }

    /// That others of the same rule, level and node, which say the same and are fixed at the same moment,
    /// are of the same cause. The words go on after `9 objects`.
    pub fn because(mut self, words: String) -> Found {
        self.because = Some(words);
        self
    }
}
