//! The nodes of a session: who took part, and what is known of each.

use netreel_reel::Header;
use netreel_wire::{Context, PacketFacts, RulesId};

use super::super::cast::{is_group, utc_ns};
use super::super::scan::{RawHole, RawPacket, Scan};
use super::super::source::{is_closed, window};
use super::super::{Hole, Node, NodeId, SessionTime, Stamp, Triggered, Turn, watched};
use super::Builder;

/// How many packets of a node are looked at to learn its number in the protocol.
const LOOKED_AT: usize = 32;

impl Builder<'_> {
    /// Fills in the nodes, ordered, and the session's span.
    pub(super) fn nodes(&mut self) {
        let said = self.first_words();
        let members = self.cast.members.iter().enumerate();
        let mut order: Vec<usize> = members
            .filter(|(_, member)| !member.observer)
            .map(|(place, _)| place)
            .collect();
        order.sort_by_key(|&member| {
            let peer = said[member].0;
            (
                peer.is_none(),
                peer,
                &self.cast.members[member].name,
                member,
            )
        });
        self.node_of = vec![NodeId(0); self.cast.members.len()];
        for (place, &member) in order.iter().enumerate() {
            self.node_of[member] = NodeId(place as u16);
            let (peer, rules) = said[member];
            let node = self.node(member, peer, rules);
            self.session.nodes.push(node);
            let reel = self.cast.members[member].reel;
            let turns = reel.map_or(Vec::new(), |reel| self.turns(reel));
            self.session.turns.push(turns);
            self.session.reels.push(
                reel.and_then(|reel| self.sources.get(reel))
                    .map(|each| each.reel.clone()),
            );
        }
        let node = |reel| self.node(reel, None, None);
        self.session.observers = watched::observers(self.sources, &self.scans, node);
        let spans = || {
            let nodes = self.session.nodes.iter().filter(|node| node.recorded);
            let observers = self.session.observers.iter();
            nodes
                .map(|node| &node.span)
                .chain(observers.map(|observer| &observer.span))
        };
        let first = spans().map(|span| span.start).min().unwrap_or_default();
        let last = spans().map(|span| span.end).max().unwrap_or_default();
        self.session.span = first..last;
    }

    fn node(&self, member: usize, peer: Option<u64>, rules: Option<RulesId>) -> Node {
        let member = &self.cast.members[member];
        let mut node = Node {
            name: member.name.clone(),
            peer,
            endpoints: member.endpoints.clone(),
            group: member.reel.is_none() && member.endpoints.iter().any(|each| is_group(*each)),
            rules,
            ..Node::default()
        };
        let Some(reel) = member.reel else { return node };
        let scan = &self.scans[reel];
        node.recorded = true;
        node.proxied = self.sources[reel].proxied;
        node.interfaces = scan.interfaces.list().to_vec();
        node.captured = self.sources[reel].reel.header().engine == Header::CAPTURED;
        let closed = is_closed(&self.sources[reel].reel);
        node.complete = closed && !scan.open_end && !scan.damaged;
        node.span = match scan.span {
            Some((first, last)) => self.time(reel, first)..self.time(reel, last),
            None => SessionTime(0)..SessionTime(0),
        };
        node.clock_error_ns = self.clocks[reel].error_ns;
        node.window = window(&self.sources[reel].reel, scan).is_some();
        node.limit.clone_from(&scan.limit);
        node.notes.clone_from(&scan.notes);
        node.triggers = scan
            .triggers
            .iter()
            .map(|(time, trigger, text)| Triggered {
                time: self.time(reel, *time),
                trigger: *trigger,
                text: text.clone(),
            })
            .collect();
        node.holes = scan
            .holes
            .iter()
            .map(|hole| self.hole(reel, hole))
            .collect();
        node
    }

    fn turns(&self, reel: usize) -> Vec<Turn> {
        let turns = self.scans.get(reel).map_or(&[][..], |scan| &scan.turns);
        let stamp = |(number, time)| Stamp {
            number,
            time: self.time(reel, time),
        };
        turns
            .iter()
            .map(|&(begins, asked)| Turn {
                begins,
                asked: asked.map(stamp),
            })
            .collect()
    }

    fn hole(&self, reel: usize, hole: &RawHole) -> Hole {
        let until = self.time(reel, hole.until);
        // Where nothing is around, the node may have taken part from the session's start.
        let from = match hole.from {
            Some(from) => self.time(reel, from),
            None => SessionTime(0).min(until),
        };
        let time = from..until;
        Hole {
            time,
            before: hole.before,
            why: hole.why.clone(),
        }
    }

    /// What each member's first packets say of their sender: its number and its rules.
    fn first_words(&self) -> Vec<(Option<u64>, Option<RulesId>)> {
        let mut said = vec![(None, None); self.cast.members.len()];
        let Some(wire) = self.session.wire.clone() else {
            return said;
        };
        let mut looked_at = vec![0; said.len()];
        let mut facts = PacketFacts::default();
        let mut look = |member: usize, scan: &Scan, raw: &RawPacket, out: bool| {
            let (Some(said), Some(looked_at)) = (said.get_mut(member), looked_at.get_mut(member))
            else {
                return;
            };
            if *looked_at < LOOKED_AT && (said.0.is_none() || said.1.is_none()) {
                *looked_at += 1;
                let connection = scan.connections.get(raw.connection as usize);
                let context = connection.map_or_else(Context::default, |each| each.context(out));
                let payload = scan.payload(raw);
                wire.facts_in(&context, &mut wire.new_state(), payload, &mut facts);
                said.0 = said.0.or(facts.sender);
                said.1 = said.1.or(facts.rules);
            }
        };
        for (reel, scan) in self.scans.iter().enumerate() {
            for send in scan.sends.iter().take(LOOKED_AT) {
                look(reel, scan, send, true);
            }
        }
        for (scan, source) in self.scans.iter().zip(self.sources) {
            for seen in &scan.seen {
                let utc = utc_ns(source.reel.header(), seen.time);
                let from = scan.source(seen);
                if let Some(member) = from.and_then(|from| self.cast.member_at(from, utc))
                    && self.cast.members[member].reel.is_none()
                {
                    look(member, scan, seen, seen.forward);
                }
            }
            for receive in &scan.receives {
                let utc = utc_ns(source.reel.header(), receive.time);
                if let Some(member) = self.cast.member_at(receive.peer, utc)
                    && self.cast.members[member].reel.is_none()
                {
                    look(member, scan, receive, false);
                }
            }
        }
        said
    }
}
