//! What is to be known of a node's recording before its lane is believed.

use std::collections::BTreeMap;
use std::ops::Range;

use netreel_protocol::session::{
    Hole, Node, NodeId, Observer, Packet, PacketId, SessionTime, Triggered,
};
use netreel_reel::{Reel, Removed, Trigger};

use crate::{Model, text};

/// Most gaps and triggers that one text names.
const NAMED_MAX: usize = 6;

/// A word beside a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneNote {
    /// `no reel`
    pub text: &'static str,
    /// Whether what the lane shows is not all that happened.
    pub lacks: bool,
}

impl Model {
    /// The most important thing to know of a node's recording; `None`: it was recorded at the node,
    /// whole.
    pub fn lane_note(&self, node: NodeId) -> Option<LaneNote> {
        let node = self.session.node(node)?;
        let is_begun = self.is_beginning && !node.complete;
        let (text, lacks) = if is_begun {
            ("so far", false)
        } else {
            note(node)?
        };
        Some(LaneNote { text, lacks })
    }

    /// The stretches that touch `time` and are missing at a node: from its reel, or of a node that was
    /// only seen from those of its observers.
    pub fn holes(&self, node: NodeId, time: &Range<SessionTime>) -> impl Iterator<Item = &Hole> {
        let lists = self.told_by(node, |it| &it.holes, |it| &it.holes);
        let (start, end) = (time.start, time.end);
        lists.into_iter().flat_map(move |holes| {
            let first = holes.partition_point(|hole| hole.time.end < start);
            holes
                .get(first..)
                .unwrap_or_default()
                .iter()
                .take_while(move |hole| hole.time.start <= end)
        })
    }

    /// Whether anybody's recording has gaps.
    pub fn has_holes(&self) -> bool {
        let session = &self.session;
        session.nodes.iter().any(|node| !node.holes.is_empty())
            || session.observers.iter().any(|it| !it.holes.is_empty())
    }

    /// What triggers said at a node; of a node that was only seen, at its observers.
    pub fn triggers(&self, node: NodeId) -> impl Iterator<Item = &Triggered> {
        self.told_by(node, |it| &it.triggers, |it| &it.triggers)
            .into_iter()
            .flatten()
    }

    /// What the recording of a node has; of a node that was only seen, those of its observers.
    fn told_by<T>(
        &self,
        node: NodeId,
        of_node: impl Fn(&Node) -> &[T],
        of_observer: impl Fn(&Observer) -> &[T],
    ) -> Vec<&[T]> {
        match self.session.node(node) {
            Some(node) if node.recorded => vec![of_node(node)],
            Some(node) if node.seen => self.session.observers.iter().map(of_observer).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether a trigger is told at this node: at the first with a lane of those that it was pulled
    /// at, else of those that were asked for the same window.
    pub fn is_told_at(&self, node: NodeId, trigger: &Trigger) -> bool {
        self.trigger_lanes.get(&trigger.id) == Some(&node)
    }

    /// Where each trigger is told, by its id.
    pub(crate) fn trigger_lanes(&self) -> BTreeMap<u64, NodeId> {
        let mut asked = BTreeMap::new();
        let mut pulled = BTreeMap::new();
        for &node in self.lane_rows().iter().flat_map(|row| &row.nodes) {
            for Triggered { trigger, .. } in self.triggers(node) {
                let told = if trigger.from_peer {
                    &mut asked
                } else {
                    &mut pulled
                };
                told.entry(trigger.id).or_insert(node);
            }
        }
        asked.extend(pulled);
        asked
    }

    /// Whether anybody's recording holds a trigger.
    pub fn has_triggers(&self) -> bool {
        let session = &self.session;
        session.nodes.iter().any(|node| !node.triggers.is_empty())
            || session.observers.iter().any(|it| !it.triggers.is_empty())
    }

    /// All that is known of a node, a line each.
    pub fn node_text(&self, id: NodeId) -> String {
        let Some(node) = self.session.node(id) else {
            return String::new();
        };
        let mut lines = vec![node.name.clone()];
        let endpoints: Vec<String> = node
            .endpoints
            .iter()
            .map(ToString::to_string)
            .filter(|it| *it != node.name)
            .collect();
        if !endpoints.is_empty() {
            lines.push(endpoints.join(" "));
        }
        lines.push(told(node).to_owned());
        let from_to = |time: &Range<SessionTime>| {
            format!(
                "from {} to {} s",
                text::seconds(time.start),
                text::seconds(time.end)
            )
        };
        if node.recorded || node.seen {
            let how = if node.recorded { "recorded" } else { "seen" };
            lines.push(format!("{how} {}", from_to(&node.span)));
        }
        if let Some(limit) = &node.limit {
            lines.push(format!("ended because {limit}"));
        }
        match node.clock_error_ns {
            _ if !node.recorded => {}
            0 => {}
            u64::MAX => lines.push("how far its clock is off is unknown".to_owned()),
            error => lines.push(format!(
                "its clock may be {} off",
                text::duration(error as i64)
            )),
        }
        if let Some(sentence) = self.reel(id).and_then(redacted) {
            lines.push(sentence);
        }
        let holes = || self.holes(id, &self.session.span);
        for hole in holes().take(NAMED_MAX) {
            lines.push(format!("missing {}: {}", from_to(&hole.time), hole.why));
        }
        match holes().skip(NAMED_MAX).count() {
            0 => {}
            more => lines.push(format!("and {more} more gaps")),
        }
        for it in self.triggers(id).take(NAMED_MAX) {
            let (at, cause) = (text::seconds(it.time), it.trigger.cause.name());
            lines.push(format!("trigger at {at} s ({cause}): {}", it.text));
        }
        lines.join("\n")
    }

    /// Why a packet's bytes are not those that were on the wire, if they are not.
    pub fn payload_note(&self, id: PacketId) -> Option<String> {
        let packet = self.packet(id)?;
        if let Some(kept) = packet.cut {
            return Some(format!(
                "the capture kept the first {} of {} bytes",
                text::count(kept.into()),
                text::count(packet.length.into())
            ));
        }
        let redacted = self.teller(&packet)?.header().redacted.as_ref()?;
        let bytes = self.session.payload(id).unwrap_or_default();
        let is_without = redacted.has(Removed::Payloads);
        let said = if is_without && bytes.is_empty() {
            "redacted: the payload was taken out"
        } else if is_without && bytes.iter().all(|&byte| byte == 0) {
            "redacted: zeros stand for the payload"
        } else if redacted.has(Removed::Fields) {
            "redacted: fields may be blanked"
        } else {
            return None;
        };
        Some(said.to_owned())
    }

    /// `4 nodes · 12 481 packets · 31 lost`
    pub fn status(&self) -> String {
        self.status_pieces()
            .into_iter()
            .map(|(said, _)| said)
            .collect()
    }

    /// The same in pieces, with the filter that takes what a number counts.
    pub fn status_pieces(&self) -> Vec<(String, Option<&'static str>)> {
        let session = &self.session;
        let total = session.packet_count();
        let mut nodes = text::many(session.nodes.len() as u64, "node");
        match self.quiet_nodes() {
            0 => {}
            quiet => nodes.push_str(&format!(", {quiet} without packets")),
        }
        let packets = text::packets(total as u64);
        let (lost, unknown) = (self.index.lost, self.index.unknown);
        let mut pieces = vec![(format!("{nodes} · {packets} · "), None)];
        // Who only saw packets pass cannot know.
        if unknown > 0 && unknown == total {
            pieces.push(("losses unknown".to_owned(), None))
        } else {
            let said = format!("{} lost", text::count(lost as u64));
            let filter = match self.index.failed {
                0 => "lost",
                _ => "lost || failed",
            };
            pieces.push((said, (lost > 0).then_some(filter)));
        }
        if unknown > 0 && unknown < total {
            let said = format!("{} unknown", text::count(unknown as u64));
            pieces.extend([(", ".to_owned(), None), (said, Some("unknown"))]);
        }
        let mut parts = vec![String::new()];
        match session.observers.as_slice() {
            [] => {}
            [one] => {
                let window = if one.window { ", a window" } else { "" };
                parts.push(format!("seen by {}{window}", one.name));
            }
            several => parts.push(format!("seen by {} observers", several.len())),
        }
        match session.observers.iter().map(|it| it.missed).sum::<u64>() {
            0 => {}
            missed => parts.push(format!("at least {} missed", text::count(missed))),
        }
        if session.nodes.iter().any(|node| node.proxied) {
            parts.push(match session.proxies.len() {
                0 | 1 => "told by a proxy".to_owned(),
                several => format!("told by {several} proxies"),
            });
        }
        let silent = session
            .nodes
            .iter()
            .filter(|node| !node.recorded && !node.seen && !node.group);
        match silent.count() {
            0 => {}
            silent => parts.push(format!("{silent} without a recording")),
        }
        let reels = session.reels.iter().flatten();
        let seen = session.observers.iter().map(|it| &it.reel);
        if reels
            .chain(seen)
            .any(|reel| reel.header().redacted.is_some())
        {
            parts.push("a redacted copy".to_owned());
        }
        pieces.push((parts.join(" · "), None));
        pieces
    }

    fn reel(&self, node: NodeId) -> Option<&Reel> {
        self.session.reels.get(usize::from(node.0))?.as_deref()
    }

    /// The reel that a packet's bytes come from.
    fn teller(&self, packet: &Packet) -> Option<&Reel> {
        if packet.sent.is_some() {
            return self.reel(packet.from);
        }
        match packet.seen.first() {
            Some(seen) => self
                .session
                .observers
                .get(usize::from(seen.observer.0))
                .map(|it| &*it.reel),
            None => self.reel(packet.to),
        }
    }
}

fn note(node: &Node) -> Option<(&'static str, bool)> {
    let notes = [
        (node.group, "a group", false),
        (!node.recorded && node.seen, "seen", false),
        (!node.recorded, "no reel", true),
        (node.window, "a window", false),
        (node.goes_on, "so far", false),
        (!node.complete, "cut short", true),
        (!node.holes.is_empty(), "has gaps", true),
        (node.limit.is_some(), "ended at a limit", false),
        (node.captured, "of a capture", false),
        (node.proxied, "at the proxy", false),
    ];
    let first = notes.into_iter().find(|(is_so, ..)| *is_so);
    first.map(|(_, text, lacks)| (text, lacks))
}

/// Where what is known of a node comes from.
fn told(node: &Node) -> &'static str {
    match node {
        Node { group: true, .. } => "everybody behind this address",
        Node {
            recorded: false,
            seen: true,
            ..
        } => "not recorded itself: an observer saw its packets pass",
        _ if !node.recorded => "not recorded: the others tell of it",
        _ if node.proxied => "told by a proxy: what came to it and what it passed on",
        _ if node.captured => "from a packet capture: what came by at the wire",
        _ if node.window => "a window of a recording that began before it and went on after it",
        _ if node.goes_on => {
            "recorded at the node, and it goes on: what it shows at its end is not an outcome yet"
        }
        _ if !node.complete => {
            "its recording was cut short: what it shows at its end is not an outcome"
        }
        _ => "recorded at the node",
    }
}

/// What was taken out of a copy, in words.
fn redacted(reel: &Reel) -> Option<String> {
    let kinds: Vec<&str> = reel
        .header()
        .redacted
        .as_ref()?
        .removed
        .iter()
        .map(|(what, _)| what.as_str())
        .collect();
    Some(match kinds.as_slice() {
        [] => "a redacted copy, of which nothing had to be taken out".to_owned(),
        kinds => format!("a redacted copy, changed in: {}", kinds.join(", ")),
    })
}
