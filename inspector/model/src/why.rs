//! What led to the selected finding, as rows.

use std::sync::Arc;

use netreel_protocol::why::{Certainty, Fact, Step, Why};

use crate::Model;
use crate::links::LinkEnds;
use crate::why_rows::{Held, Led, WhyRow};

impl Model {
    /// What led to the selected finding, what followed before what it followed from. Nothing of a
    /// session of many packets, where it may take longer than a frame.
    pub fn why_rows(&self) -> Arc<[WhyRow]> {
        Arc::clone(&self.led().rows)
    }

    /// Where what led to the selected finding begins: the last certain step of the most telling chain of
    /// which something is unusual.
    /// `None` where that is no longer than a step.
    pub fn why_cause(&self) -> Option<WhyRow> {
        self.led().cause.clone()
    }

    /// The link that delayed or lost what the selected finding follows from.
    pub(crate) fn blamed_link(&self) -> Option<LinkEnds> {
        self.led().link
    }

    /// What a link held back, where the selected finding follows from that.
    pub fn held_on(&self, link: LinkEnds) -> Option<Held> {
        self.led().held.clone().filter(|held| held.link == link)
    }

    fn led(&self) -> Arc<Led> {
        let Some(finding) = self.selection.finding.filter(|_| self.session.is_small()) else {
            return Arc::default();
        };
        self.judged
            .why
            .of(finding, || Arc::new(self.find_led(finding)))
    }

    fn find_led(&self, finding: usize) -> Led {
        let (session, history) = (&self.session, self.history());
        let Some(why) = Why::of_finding(session, history, finding) else {
            return Led::default();
        };
        // The finding itself stands above.
        let rows: Arc<[WhyRow]> = why
            .in_order()
            .into_iter()
            .filter(|&(_, _, again)| !again)
            .filter_map(|(id, depth, _)| self.why_row(why.step(id)?, depth))
            .collect();
        let chain = chain(&why);
        // That a packet took no longer than others is where a chain ends that leads to nothing.
        let cause = chain
            .iter()
            .rposition(|step| !is_usual(&step.fact))
            .and_then(|place| self.why_row(chain.get(place)?, place));
        let transit = chain.iter().rev().copied().chain(&why.steps);
        let held = transit.clone().find_map(|step| match step.fact {
            Fact::Held {
                link,
                sent,
                at,
                count,
                ..
            } => Some(Held {
                link,
                time: sent.0..at,
                packets: count,
            }),
            _ => None,
        });
        let of_packet = |step: &Step| match step.fact {
            Fact::Late { packet, .. } | Fact::Lost { packet, .. } => session.link(packet),
            _ => None,
        };
        Led {
            link: held
                .as_ref()
                .map(|held| held.link)
                .or_else(|| transit.clone().find_map(of_packet)),
            cause: cause.filter(|cause| rows.first() != Some(cause)),
            rows,
            held,
        }
    }

    fn why_row(&self, step: &Step, depth: usize) -> Option<WhyRow> {
        if matches!(step.fact, Fact::Found { .. }) {
            return None;
        }
        let (session, history) = (&self.session, self.history());
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
    }
}

/// Whether nothing is unusual about a step.
fn is_usual(fact: &Fact) -> bool {
    matches!(fact, Fact::InTime { .. } | Fact::Sent { .. })
}

/// The most telling chain: from what was asked about back as far as it is certain.
fn chain(why: &Why) -> Vec<&Step> {
    let mut chain: Vec<&Step> = Vec::new();
    let mut at = why.roots.first().copied();
    while let Some(step) = at.and_then(|id| why.step(id))
        && step.certainty == Certainty::Certain
        // Steps may name one that was told before.
        && chain.len() < why.steps.len()
    {
        chain.push(step);
        at = step.because.first().copied();
    }
    chain
}
