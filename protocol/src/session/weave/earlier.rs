//! What looks before found of reels that grow, with which the next look goes on.

use std::sync::Arc;

use super::kept::Kept;
use super::odd::Odd;
use super::order::{Order, Ordered};
use super::settled::{SURE_NS, Settled};
use super::woven::Woven;
use crate::session::ask::firm::{Firm, Same};
use crate::session::facts::numbered::Numbered;
use crate::session::read::ends::Side;
use crate::session::read::scan::Scan;
use crate::session::read::source::Source;
use crate::session::who::roads::Roads;
use crate::session::{SessionError, SessionTime};

/// See the module.
#[derive(Default)]
pub(crate) struct EarlierLooks {
    /// The ends that are packets for good.
    pub settled: Settled,
    /// The packets that stay in order.
    kept: Option<Kept>,
    /// How many of them the last look found in their places.
    known: u32,
    /// How far their messages are numbered.
    pub numbered: Numbered,
}

impl EarlierLooks {
    /// Goes on with these reels; keeps no packet that may not be one any more. Whether packets can be
    /// kept at all: `is_plain` says that there is one clock, and no proxy.
    pub fn go_on(&mut self, is_plain: bool, roads: &Roads<'_>, sources: &[Source]) -> bool {
        let firm = sources.iter().map(|source| source.firm.clone());
        let is_plain = is_plain && roads.is_direct() && roads.scans.iter().all(is_whole);
        let firm = firm.collect::<Option<Vec<Firm>>>().filter(|_| is_plain);
        let Some(firm) = firm.filter(|_| roads.is_fixed()) else {
            *self = EarlierLooks::default();
            return false;
        };
        let links = roads.between_reels();
        if !self.settled.holds(&firm, &links) {
            *self = EarlierLooks::default();
        }
        self.settled.go_on(firm, links, roads.scans);
        true
    }

    /// Forgets all; the packets that were to stay and are more than a send and a receipt.
    pub fn give_up(&mut self) -> Vec<Odd> {
        let EarlierLooks {
            mut settled, kept, ..
        } = std::mem::take(self);
        if let Some(kept) = kept {
            settled
                .odd
                .retain(|odd| !kept.odd().any(|known| known.source() == odd.source()));
            settled.take_back(kept.odd());
        }
        settled.odd
    }

    /// All packets, in order: what is new behind what is kept.
    ///
    /// # Errors
    /// There are more than ids can number.
    pub fn order(&mut self, order: &Order<'_>, mut woven: Woven) -> Result<Ordered, SessionError> {
        let wait_ns = self
            .kept
            .as_ref()
            .map_or(SURE_NS, Kept::wait_ns)
            .max(SURE_NS);
        let until = self.settled.firm_until(order);
        let until = until.map_or(i64::MIN, |until| until.0);
        let until = SessionTime(until.saturating_sub(wait_ns));
        let kept = self.kept.as_ref();
        let before = kept.map(|kept| (kept.since.clone(), kept.len()));
        let ordered = self.rows_behind(order, &mut woven, until)?;
        let is_same = |since: &Arc<()>| {
            let now = self.kept.as_ref();
            now.is_some_and(|now| Arc::ptr_eq(since, &now.since))
        };
        let known = before.filter(|(since, _)| is_same(since));
        self.known = known.map_or(0, |(_, known)| known);
        self.settled.keep(&mut woven);
        self.settled.partners = woven.partners;
        Ok(ordered)
    }

    /// All packets, in order, behind those that are kept; see [`Kept`].
    fn rows_behind(
        &mut self,
        order: &Order<'_>,
        woven: &mut Woven,
        until: SessionTime,
    ) -> Result<Ordered, SessionError> {
        let settled = &mut self.settled;
        if let Some(mut own) = self.kept.take() {
            settled.odd.retain(|odd| own.is_new(order, odd));
            if own.holds(order, woven, settled)
                && let Some(ordered) = own.go_on(order, woven, settled, until)?
            {
                self.kept = Some(own);
                return Ok(ordered);
            }
            settled.take_back(own.odd());
        }
        let mut own = Kept::new(order);
        let ordered = own.go_on(order, woven, settled, until)?;
        self.kept = Some(own);
        Ok(ordered.unwrap_or_default())
    }

    /// How many packets the last look found in their places.
    pub fn known(&self) -> u32 {
        self.known
    }

    /// How many packets are the same ones at the next look, if nothing is read anew.
    pub fn same(&self) -> Option<Same> {
        let kept = self.kept.as_ref()?;
        Some(Same {
            since: kept.since.clone(),
            packets: kept.len(),
        })
    }
}

/// Whether a reel lacks nothing before its end, and its ends are what they seem.
fn is_whole(scan: &Scan) -> bool {
    let is_cut = Side::ALL.iter().any(|&side| scan.side(side).cut() > 0);
    let is_holed = !scan.holes.is_empty() || !scan.from_start || scan.begins_later;
    let is_watched = scan.observer || scan.captured || !scan.seen.is_empty();
    !is_cut && !is_holed && !is_watched && !scan.told && scan.faults.is_empty()
}
