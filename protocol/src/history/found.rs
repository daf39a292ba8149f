//! What the rules found: how bad it is, whom and what it is about, and what proves it.

use netreel_reel::EventNumber;
use serde::{Deserialize, Serialize};

use crate::session::{MessageId, NodeId, PacketId, SessionTime};

named! {
    /// How bad a finding is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum Level {
        /// Odd, and handled.
        "info" Info,
        /// Suspicious, or the evidence is incomplete.
        "warning" Warning,
        /// The session went wrong.
        "error" Error,
    }
}

/// Something that the session did wrong or oddly, with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule's id: `zombie-object`. An index has it beside.
    #[serde(skip)]
    pub rule: &'static str,
    /// How bad.
    pub level: Level,
    /// The node that saw it.
    pub node: NodeId,
    /// The objects that it is about, each once; none where it is about something else.
    pub objects: Vec<u64>,
    /// When the last piece of evidence was seen.
    pub time: SessionTime,
    /// One sentence for people.
    pub sentence: String,
    /// The packets that prove it, in the order of the story; of several instances those of the first.
    pub evidence: Vec<Evidence>,
    /// What one cause led to, where that is more than one thing: in order of time, the first included.
    /// Empty where it is one.
    pub each: Vec<Instance>,
}

/// One of several things that one cause led to: what would be a finding if it were the only one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instance {
    /// The node that saw it.
    pub node: NodeId,
    /// The object, where it is about one.
    pub object: Option<u64>,
    /// When the last piece of its evidence was seen.
    pub time: SessionTime,
    /// One sentence for people.
    pub sentence: String,
    /// The packets that prove it, in the order of the story.
    pub evidence: Vec<Evidence>,
}

impl Finding {
    /// The object that it is about, or the first of several.
    pub fn object(&self) -> Option<u64> {
        self.objects.first().copied()
    }

    /// Whether it is about an object, be it one of several.
    pub fn is_about(&self, object: u64) -> bool {
        self.objects.contains(&object)
    }

    /// The packets that prove it, of all its instances.
    pub fn proof(&self) -> impl Iterator<Item = &Evidence> {
        let own = self.evidence.iter().filter(|_| self.each.is_empty());
        own.chain(self.each.iter().flat_map(|it| &it.evidence))
    }

    /// What it tells of, one by one: the sentence of each, its object, and its proof.
    pub fn told(&self) -> impl Iterator<Item = (&str, Option<u64>, &[Evidence])> {
        let alone = (self.sentence.as_str(), self.object(), &self.evidence[..]);
        let alone = std::iter::once(alone).filter(|_| self.each.is_empty());
        let each = self.each.iter();
        alone.chain(each.map(|it| (it.sentence.as_str(), it.object, &it.evidence[..])))
    }
}

/// A piece of a finding's proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// What it is: `MIGRATE dropped`, `CREATE delivered`.
    pub what: String,
    /// The message.
    pub message: MessageId,
    /// The packet that carried it.
    pub packet: PacketId,
    /// The node that it is seen at.
    pub node: NodeId,
    /// The event in that node's reel.
    pub number: EventNumber,
    /// When.
    pub time: SessionTime,
}

/// For each packet that is evidence of findings these, by their places, in the order of the packets.
pub(super) fn proofs(findings: &[Finding]) -> Vec<(PacketId, u32)> {
    let mut proofs: Vec<(PacketId, u32)> = (0u32..)
        .zip(findings)
        .flat_map(|(place, finding)| {
            let evidence = finding.proof();
            evidence.map(move |evidence| (evidence.packet, place))
        })
        .collect();
    proofs.sort_unstable();
    proofs.dedup();
    proofs
}
