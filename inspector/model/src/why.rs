//! What led to the selected finding, as rows.

use std::sync::{Arc, PoisonError};

use netreel_protocol::session::PacketId;
use netreel_protocol::why::{Certainty, Fact, Why};

use crate::Model;

/// Something that led to a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhyRow {
    /// How many steps lie between it and the finding.
    pub depth: usize,
    /// For people.
    pub sentence: String,
    /// Whether it follows from what the reels hold.
    pub is_certain: bool,
    /// A packet that shows it.
    pub packet: Option<PacketId>,
}

/// What led to one finding.
pub(crate) type Known = Option<(usize, Arc<[WhyRow]>)>;

impl Model {
    /// What led to the selected finding, what followed before what it followed from. Nothing of a
    /// session of many packets, where it may take longer than a frame.
    pub fn why_rows(&self) -> Arc<[WhyRow]> {
        let Some(finding) = self.selection.finding.filter(|_| self.session.is_small()) else {
            return Arc::default();
        };
        let mut known = self
            .judged
            .why
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some((_, rows)) = known.as_ref().filter(|(of, _)| *of == finding) {
            return Arc::clone(rows);
        }
        let rows: Arc<[WhyRow]> = self.find_why(finding).into();
        *known = Some((finding, Arc::clone(&rows)));
        rows
    }

    fn find_why(&self, finding: usize) -> Vec<WhyRow> {
        let (session, history) = (&self.session, self.history());
        let Some(why) = Why::of_finding(session, history, finding) else {
            return Vec::new();
        };
        // The finding itself stands above.
        let order = why.in_order().into_iter().filter(|&(_, _, again)| !again);
        let rows = order.filter_map(|(id, depth, _)| {
            let step = why.step(id)?;
            if matches!(step.fact, Fact::Found { .. }) {
                return None;
            }
            let mark = match step.certainty {
                Certainty::Certain | Certainty::Unknown => "",
                Certainty::Doubtful => " (doubtful)",
                Certainty::WouldHave => " (not what happened)",
            };
            Some(WhyRow {
                depth: depth.saturating_sub(1),
                sentence: step.fact.sentence(session, history) + mark,
                is_certain: step.certainty == Certainty::Certain,
                packet: step.fact.packets(session, history).first().copied(),
            })
        });
        rows.collect()
    }
}
