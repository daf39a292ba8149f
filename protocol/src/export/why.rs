//! `why`: what led to something.

use serde::Serialize;

use crate::history::History;
use crate::session::Session;
use crate::why::{StepId, Why};

/// The answer of `netreel why --json`.
#[derive(Clone, Debug, Serialize)]
pub struct WhyJson {
    /// What was asked.
    pub of: WhyOf,
    /// The numbers of the steps that answer it.
    pub roots: Vec<u32>,
    /// A step stands before those that led to it.
    pub steps: Vec<StepJson>,
    /// Whether there were more steps than are told.
    pub cut: bool,
}

/// What was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum WhyOf {
    /// About a packet.
    Packet {
        /// Its number.
        packet: u32,
    },
    /// About a finding.
    Finding {
        /// Its number, from 1.
        finding: u32,
    },
    /// About what a node believed.
    Object {
        /// Of which object.
        object: u64,
        /// Who.
        node: String,
        /// When.
        at_ns: i64,
    },
}

/// Something that was so.
#[derive(Clone, Debug, Serialize)]
pub struct StepJson {
    /// Its number, from 1.
    pub step: u32,
    /// `did`, `late`, `held`, `lost`, ...
    pub kind: &'static str,
    /// For people.
    pub sentence: String,
    /// `certain`, `doubtful`, `would-have`, `unknown`.
    pub certainty: &'static str,
    /// Where it was so.
    pub node: Option<String>,
    /// When.
    pub time_ns: Option<i64>,
    /// The packets that it cites.
    pub packets: Vec<u32>,
    /// The numbers of the steps that led to it.
    pub because: Vec<u32>,
}

/// What led to something.
pub fn why(session: &Session, history: &History, of: WhyOf, why: &Why) -> WhyJson {
    let number = |id: &StepId| id.0 + 1;
    let steps = (1..).zip(&why.steps).map(|(step, known)| {
        let (node, time) = known.fact.at(session, history);
        let packets = known.fact.packets(session, history);
        StepJson {
            step,
            kind: known.fact.kind(),
            sentence: known.fact.sentence(session, history),
            certainty: known.certainty.name(),
            node: node.map(|node| session.name(node)),
            time_ns: time.map(|time| time.0),
            packets: packets.iter().map(|packet| packet.0).collect(),
            because: known.because.iter().map(number).collect(),
        }
    });
    WhyJson {
        of,
        roots: why.roots.iter().map(number).collect(),
        steps: steps.collect(),
        cut: why.cut,
    }
}
