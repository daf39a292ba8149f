//! Back along what led to something: to a packet's fate, a finding, what a node believes.
//!
//! A [`Why`] is a list of [`Step`]s. Each states a [`Fact`] and names the steps that led to it, so
//! that it is told once however much followed from it. The edges are those of happens-before that
//! packets show: a delivery follows from the packet that closed the last gap before it, a copy from
//! what its sender had heard by then, what a node did with a message from what it had been told, and
//! what it was told from what the teller had been told. Why a program did what it did of its own no
//! packet shows: there a step says so, or says nothing.

mod arrival;
mod delivery;
mod fact;
mod finding;
mod late;
mod object;
mod packet;
mod prelude;
mod resend;
mod step;
mod telling;
mod transit;
mod words;
mod would;

pub use fact::{Cause, Fact, Link, NotKnown, RuleWord, Unseen};
pub use resend::{Resend, Resends};
pub use step::{Certainty, Step, StepId, Why};

use crate::history::History;
use crate::session::{NodeId, PacketId, Session, SessionTime};
use telling::Telling;

impl Why {
    /// Why a packet was sent as far as that shows, what became of it, and what its messages did.
    /// `None` where there is no such packet.
    pub fn of_packet(session: &Session, history: &History, packet: PacketId) -> Option<Why> {
        session.packet(packet)?;
        let mut telling = Telling::new(session, history);
        let roots = telling.packet(packet);
        Some(telling.finish(roots))
    }

    /// What led to a finding, by its place in [`History::findings`]. `None` where there is none.
    pub fn of_finding(session: &Session, history: &History, finding: usize) -> Option<Why> {
        history.findings.get(finding)?;
        let mut telling = Telling::new(session, history);
        let roots = telling.finding(finding);
        Some(telling.finish(roots))
    }

    /// Why a node believed of an object what it believed at a moment.
    pub fn of_object(
        session: &Session,
        history: &History,
        object: u64,
        node: NodeId,
        at: SessionTime,
    ) -> Why {
        let mut telling = Telling::new(session, history);
        let roots = telling.object(object, node, at);
        telling.finish(roots)
    }
}
