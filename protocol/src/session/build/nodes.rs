//! The nodes of a session: who took part, and what is known of each.

use netreel_reel::{Endpoint, Header};
use netreel_wire::{Context, PacketFacts, RulesId, Wire};

use super::Builder;
use crate::session::read::connections::payload;
use crate::session::read::ends::{RawEnd, Side};
use crate::session::read::scan::{RawHole, Scan};
use crate::session::read::source::{Source, is_closed, window};
use crate::session::who::cast::{is_group, utc_ns};
use crate::session::who::watched;
use crate::session::{Hole, Node, NodeId, SessionTime, Triggered};

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
            let reel = reel.map(|reel| self.sources[reel].reel.clone());
            self.session.reels.push(reel);
        }
        let node = |reel| self.node(reel, None, None);
        self.session.observers = watched::observers(self.sources, self.scans, node);
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
        node.goes_on = self.sources[reel].reel.ending().is_still_recorded();
        node.span = match scan.span {
            Some(span) => self.span(reel, span),
            None => SessionTime(0)..SessionTime(0),
        };
        node.clock_error_ns = self.clocks[reel].error_ns;
        node.clock_steps = self.steps(reel);
        node.window = window(&self.sources[reel].reel, scan).is_some();
        node.kernel_drops.clone_from(&scan.kernel_drops);
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
        let mut words = Words {
            said: vec![(None, None); self.cast.members.len()],
            looked_at: vec![0; self.cast.members.len()],
            facts: PacketFacts::default(),
        };
        let Some(wire) = self.session.wire.as_deref() else {
            return words.said;
        };
        for (reel, (scan, source)) in self.scans.iter().zip(self.sources).enumerate() {
            for send in scan.sends.iter().take(LOOKED_AT) {
                words.look(reel, wire, (source, scan), (&send, true));
            }
        }
        let unrecorded = |member: usize| self.cast.members[member].reel.is_none();
        if !(0..self.cast.members.len()).any(unrecorded) {
            return words.said;
        }
        for (scan, source) in self.scans.iter().zip(self.sources) {
            let sender = |peer: Option<Endpoint>, time| {
                let member = self
                    .cast
                    .member_at(peer?, utc_ns(source.reel.header(), time))?;
                unrecorded(member).then_some(member)
            };
            // Packets of one connection follow each other, and most say nothing new.
            let mut heard = vec![[false; 2]; scan.connections.len()];
            for (side, ends) in [(Side::Seen, &scan.seen), (Side::Receive, &scan.receives)] {
                for (place, (connection, forward)) in ends.ways().enumerate() {
                    let known = &mut heard[connection as usize][usize::from(forward)];
                    if *known {
                        continue;
                    }
                    let Some(raw) = ends.get(place) else { continue };
                    let from = match side {
                        Side::Seen => scan.source(&raw),
                        _ => scan.peer(&raw),
                    };
                    let is_new = sender(from, raw.time).is_some_and(|member| {
                        words.look(member, wire, (source, scan), (&raw, side.is_out(&raw)))
                    });
                    if !is_new {
                        // Nobody else has had the endpoint at another time.
                        *known = from.is_none_or(|from| self.cast.only_member(from).is_some());
                    }
                }
                heard.fill([false; 2]);
            }
        }
        words.said
    }
}

/// What the first packets of members say.
struct Words {
    said: Vec<(Option<u64>, Option<RulesId>)>,
    looked_at: Vec<usize>,
    facts: PacketFacts,
}

impl Words {
    /// Looks at a packet of a member, unless enough is known; whether it was looked at.
    fn look(
        &mut self,
        member: usize,
        wire: &Wire,
        (source, scan): (&Source, &Scan),
        (raw, out): (&RawEnd, bool),
    ) -> bool {
        let (said, looked_at) = (&mut self.said[member], &mut self.looked_at[member]);
        if *looked_at >= LOOKED_AT || (said.0.is_some() && said.1.is_some()) {
            return false;
        }
        *looked_at += 1;
        let connection = scan.connection(raw);
        let context = connection.map_or_else(Context::default, |each| each.context(out));
        let record = source.reel.record(raw.number);
        if let Some(record) = record
            && let Some(payload) = payload(&record.as_record().event)
        {
            wire.facts_in(&context, &mut wire.new_state(), payload, &mut self.facts);
            said.0 = said.0.or(self.facts.sender);
            said.1 = said.1.or(self.facts.rules);
        }
        true
    }
}
