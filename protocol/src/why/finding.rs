//! Why of a finding: what led to each piece of its proof, and what more the rule has to say.

use netreel_wire::Role;

use super::prelude::*;
use crate::history::{Effect, Evidence, Finding, Rule};
use crate::session::NodeId;

/// Of a finding with more proof, the first pieces are explained.
const PIECES_MAX: usize = 8;

/// Of a reel with more holes, the first are told.
const HOLES_MAX: usize = 4;

impl Telling<'_> {
    /// What led to a finding.
    pub fn finding(&mut self, place: usize) -> Vec<StepId> {
        let finding = place as u32;
        let known = self.history.findings.get(place);
        let found = self.step(Fact::Found { finding }, Certainty::Certain, |it| {
            known.map_or(Vec::new(), |known| it.led_to(finding, known))
        });
        vec![found]
    }

    fn led_to(&mut self, number: u32, finding: &Finding) -> Vec<StepId> {
        let mut because = Vec::new();
        for (piece, evidence) in (0u32..).zip(&finding.evidence).take(PIECES_MAX) {
            because.push(self.piece(number, piece, evidence));
        }
        let node = finding.node;
        match Rule::named(finding.rule) {
            Some(rule) if rule.is_unfit() => because.push(self.nothing(NotKnown::Wire)),
            Some(Rule::ReliableNotDelivered) => because.extend(self.given_up(finding)),
            Some(Rule::ResendStorm) => because.extend(self.storm(finding)),
            Some(Rule::BeliefDiffers) => {
                let about = finding.object().map(|object| (object, finding.time));
                because.extend(about.map(|(object, at)| self.believed(object, node, at)));
                because.push(self.nothing(NotKnown::Program(node)));
            }
            Some(
                Rule::AckOfUnreceived
                | Rule::AddressChanged
                | Rule::AnsweredFromElsewhere
                | Rule::ChecksumsDiffer
                | Rule::ConnectionRestarted
                | Rule::DuplicateSequence
                | Rule::NeverAcked
                | Rule::NumberSpaceExhausted
                | Rule::OldConnection
                | Rule::TickDrift
                | Rule::ToldTwice,
            ) => because.push(self.nothing(NotKnown::Program(node))),
            Some(Rule::ObjectsDifferAtRest) => because.extend(self.differs(finding)),
            Some(Rule::ClockSet) => because.push(self.nothing(NotKnown::Clock)),
            Some(Rule::SilentLink | Rule::LossPattern) => because.extend(self.silent(finding)),
            Some(Rule::ClockDisagreement) => because.extend(self.clocks(finding)),
            Some(Rule::IncompleteReel) => because.extend(self.incomplete(node)),
            Some(Rule::TwoOwners) => because.extend(self.not_told(finding)),
            // Their proof says all, but for the first arm's; of a team's own rule nothing else is known.
            None
            | Some(
                Rule::AckOfUnsent
                | Rule::CopiesDiffer
                | Rule::CounterFalls
                | Rule::DerivedFieldWrong
                | Rule::DestroyUntold
                | Rule::DifferenceLasts
                | Rule::FragmentsNeverJoin
                | Rule::HeadOfLineWait
                | Rule::InputLate
                | Rule::MigrateBeforeCreate
                | Rule::MigrateNotFromHost
                | Rule::NackOfReceived
                | Rule::NobodyOwns
                | Rule::OriginWrong
                | Rule::ReliableStuck
                | Rule::RollbackDeep
                | Rule::RttStep
                | Rule::StaleMessageIgnored
                | Rule::StreamGap
                | Rule::TickStall
                | Rule::UndecodablePacket
                | Rule::UpdateAfterDestroy
                | Rule::UpdateBeforeCreate
                | Rule::UpdateTwice
                | Rule::UpdateUnowned
                | Rule::ValuesDiffer
                | Rule::ZombieObject,
            ) => {}
        }
        if because.is_empty() {
            because.push(self.nothing(NotKnown::Program(node)));
        }
        because
    }

    /// What led to a piece of proof: the delivery that it is, or its packet's way.
    fn piece(&mut self, finding: u32, piece: u32, evidence: &Evidence) -> StepId {
        let deliveries = self.history.deliveries_of(evidence.message);
        let mut known = deliveries.filter_map(|place| Some((place, self.delivery(place)?)));
        let delivery =
            known.find(|(_, it)| it.node == evidence.node && it.at.number == evidence.number);
        drop(known);
        if let Some((delivery, _)) = delivery.filter(|(_, it)| it.effect != Effect::Plain) {
            return self.did(delivery);
        }
        let found = self.history.findings.get(finding as usize);
        let rule = found.and_then(|it| Rule::named(it.rule));
        let packet = evidence.packet;
        let fact = Fact::Evidence { finding, piece };
        self.step(fact, Certainty::Certain, |it| {
            vec![if rule.is_some_and(Rule::is_unfit) {
                it.certain(Fact::Unfit { packet })
            } else {
                it.fate(packet)
            }]
        })
    }

    /// The message that its sender gave up: what became of each copy, and whether the sender took it
    /// for arrived.
    fn given_up(&mut self, finding: &Finding) -> Vec<StepId> {
        let Some(last) = finding.evidence.first().map(|piece| piece.packet) else {
            return Vec::new();
        };
        let history = self.history;
        let link = self.session.link(last);
        let message = history.undelivered.iter().copied().find(|&message| {
            let packet = self.session.carrier(message);
            packet.and_then(|packet| self.session.link(packet)) == link
                && self.copies(message).last().map(|copy| copy.packet) == Some(last)
        });
        let unknown = NotKnown::Program(finding.node);
        let Some(message) = message else {
            return vec![self.nothing(unknown)];
        };
        let reached = self.reached(message);
        let acked = self.copies(message).into_iter().find_map(|copy| {
            let packet = copy.packet;
            let at = history.acked(self.session, packet)?.time;
            Some(Fact::Acked { packet, at })
        });
        let acked = acked.map(|acked| self.certain(acked));
        vec![reached, acked.unwrap_or_else(|| self.nothing(unknown))]
    }

    /// The first and the last times that a message was sent again, and why.
    fn storm(&mut self, finding: &Finding) -> Vec<StepId> {
        let ends = (finding.evidence.first(), finding.evidence.last());
        let (Some(first), Some(last)) = ends else {
            return Vec::new();
        };
        let mut messages = self.session.messages_of(first.packet);
        let copies = messages.find_map(|(message, _)| {
            let copies = self.copies(message);
            let is_it = copies.last().map(|copy| copy.packet) == Some(last.packet);
            is_it.then_some(copies)
        });
        let mut steps = Vec::new();
        let Some(copies) = copies else { return steps };
        let pairs: Vec<_> = copies.windows(2).collect();
        let told = pairs.len().min(2);
        let latest = pairs.last().filter(|_| pairs.len() > told);
        for pair in pairs.iter().take(told).chain(latest) {
            if let [before, copy] = **pair {
                steps.push(self.sent_again(copy, before));
            }
        }
        if pairs.len() > told + 1 {
            let (message, count) = (copies[0].message, (pairs.len() - told - 1) as u32);
            steps.push(self.certain(Fact::MoreCopies { message, count }));
        }
        steps.push(self.nothing(NotKnown::Program(finding.node)));
        steps
    }

    /// What the node that is wrong was told of the object and did not take, or never was told.
    fn differs(&mut self, finding: &Finding) -> Vec<StepId> {
        let (Some(object), node) = (finding.object(), finding.node) else {
            return Vec::new();
        };
        let Some(end) = self.session.node(node).map(|it| it.span.end) else {
            return Vec::new();
        };
        let mut steps = vec![self.believed(object, node, end)];
        for other in finding.evidence.iter().map(|piece| piece.node) {
            if other != node {
                steps.push(self.believed(object, other, end));
                steps.extend(self.was_told_last(object, other, node));
            }
        }
        steps
    }

    /// That nothing of what one node did last to an object was told to another.
    fn was_told_last(&mut self, object: u64, by: NodeId, node: NodeId) -> Option<StepId> {
        let lanes = &self.history.objects.get(&object)?.lanes;
        let last = self.told(lanes.get(&by)?.last()?.because)?;
        let is_told = self.about(object, node).any(|place| {
            let told = self.told(place);
            told.is_some_and(|told| {
                let is_after = told.delivery.at.time >= last.delivery.at.time;
                is_after && told.role != Role::Update
            })
        });
        (!is_told).then(|| self.never_came(object, node).first().copied())?
    }

    /// Of two owners: why the older one had not been told, where it was not before the reels end.
    fn not_told(&mut self, finding: &Finding) -> Option<StepId> {
        let [_, by] = &finding.evidence[..] else {
            return None;
        };
        self.was_told_last(finding.object()?, by.node, finding.node)
    }

    /// Nothing tells why a link let nothing through.
    fn silent(&mut self, finding: &Finding) -> Option<StepId> {
        let packet = finding.evidence.first()?.packet;
        let link = self.session.link(packet)?;
        Some(self.nothing(NotKnown::OnTheWay(link)))
    }

    fn clocks(&mut self, finding: &Finding) -> Vec<StepId> {
        let packet = finding.evidence.first().map(|piece| piece.packet);
        let link = packet.and_then(|packet| self.session.link(packet));
        let clocks = link.map(|link| self.certain(Fact::Clocks { link }));
        let nothing = self.nothing(NotKnown::Clock);
        clocks.into_iter().chain([nothing]).collect()
    }

    fn incomplete(&mut self, node: NodeId) -> Vec<StepId> {
        let Some(known) = self.session.node(node) else {
            return Vec::new();
        };
        let holes = known.holes.len().min(HOLES_MAX) as u32;
        let mut steps: Vec<StepId> = (0..holes)
            .map(|hole| self.certain(Fact::Hole { node, hole }))
            .collect();
        let reel = self.session.reel(node);
        if !known.window && reel.is_some_and(|reel| !crate::session::is_closed(reel)) {
            steps.push(self.certain(Fact::CutShort { node }));
        }
        steps.push(self.nothing(NotKnown::Reel(node)));
        steps
    }
}
