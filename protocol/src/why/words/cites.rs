//! What steps cite: packets, a place, a time.

use crate::history::{Evidence, History};
use crate::session::{MessageId, NodeId, PacketId, Session, SessionTime};
use crate::why::Fact;
use crate::why::telling::once_each;

impl Fact {
    /// The packet whose way it is about, or with which it came.
    pub(super) fn packet(&self) -> Option<PacketId> {
        match *self {
            Fact::Sent { packet }
            | Fact::InTime { packet, .. }
            | Fact::Late { packet, .. }
            | Fact::NotRead { packet, .. }
            | Fact::Fault { packet, .. }
            | Fact::Lost { packet, .. }
            | Fact::SendFailed { packet }
            | Fact::Unread { packet }
            | Fact::FateUnknown { packet, .. }
            | Fact::Reached { packet, .. }
            | Fact::Nacked { packet, .. }
            | Fact::AckGap { packet, .. }
            | Fact::Silence { packet, .. }
            | Fact::Eager { packet, .. }
            | Fact::AcksAway { packet, .. }
            | Fact::Acked { packet, .. }
            | Fact::Asked { packet, .. }
            | Fact::Unfit { packet } => Some(packet),
            Fact::Found { .. }
            | Fact::Evidence { .. }
            | Fact::Held { .. }
            | Fact::NeverReached { .. }
            | Fact::SentAgain { .. }
            | Fact::Ambiguous { .. }
            | Fact::MoreCopies { .. }
            | Fact::HandedOverLate { .. }
            | Fact::Waited { .. }
            | Fact::StillWaits { .. }
            | Fact::Did { .. }
            | Fact::Later { .. }
            | Fact::Rule { .. }
            | Fact::Believed { .. }
            | Fact::NeverTold { .. }
            | Fact::Would { .. }
            | Fact::Hole { .. }
            | Fact::CutShort { .. }
            | Fact::Clocks { .. }
            | Fact::NoRules { .. }
            | Fact::Nothing { .. } => None,
        }
    }

    /// The piece of a finding's proof that it is.
    pub(super) fn piece<'h>(&self, history: &'h History) -> Option<&'h Evidence> {
        let &Fact::Evidence { finding, piece } = self else {
            return None;
        };
        let finding = history.findings.get(finding as usize)?;
        finding.evidence.get(piece as usize)
    }

    /// The packets that it cites, in the order in which the sentence names them.
    pub fn packets(&self, session: &Session, history: &History) -> Vec<PacketId> {
        let carrier = |message: MessageId| session.carrier(message);
        let delivered = |place: u32| {
            let delivery = history.deliveries.get(place as usize)?;
            carrier(delivery.message)
        };
        let cited: Vec<Option<PacketId>> = match *self {
            Fact::Found { finding } => {
                let finding = history.findings.get(finding as usize);
                let pieces = finding.into_iter().flat_map(|it| &it.evidence);
                pieces.map(|piece| Some(piece.packet)).collect()
            }
            Fact::Evidence { .. } => vec![self.piece(history).map(|piece| piece.packet)],
            Fact::Lost { packet, next } => vec![Some(packet), next],
            Fact::Held { packets, .. } => vec![Some(packets.0), Some(packets.1)],
            Fact::Reached {
                message, packet, ..
            } => vec![carrier(message), Some(packet)],
            Fact::NeverReached { message, .. } | Fact::MoreCopies { message, .. } => {
                vec![carrier(message)]
            }
            Fact::Ambiguous { message, other, .. } => vec![carrier(message), carrier(other)],
            Fact::StillWaits { message, behind } => vec![carrier(message), carrier(behind)],
            Fact::SentAgain { copy, before, .. } => vec![carrier(copy), carrier(before)],
            Fact::Nacked { packet, nack, .. } => vec![Some(nack), Some(packet)],
            Fact::AckGap { packet, later, .. } => vec![Some(later), Some(packet)],
            Fact::HandedOverLate { lost, again, .. } => vec![Some(lost), Some(again)],
            Fact::Waited {
                arrived, closed_by, ..
            } => vec![Some(arrived), Some(closed_by)],
            Fact::Did { delivery } => vec![delivered(delivery)],
            Fact::Later { later, .. } => vec![delivered(later)],
            Fact::Would { first, second, .. } => vec![delivered(first), delivered(second)],
            Fact::Believed { node, object, at } => {
                let span = history.belief_at(object, node, at);
                vec![span.and_then(|span| delivered(span.because))]
            }
            Fact::Rule { .. }
            | Fact::NeverTold { .. }
            | Fact::Hole { .. }
            | Fact::CutShort { .. }
            | Fact::Clocks { .. }
            | Fact::NoRules { .. }
            | Fact::Nothing { .. } => Vec::new(),
            _ => vec![self.packet()],
        };
        once_each(cited.into_iter().flatten())
    }

    /// Where and when it was so; nothing where it is no event.
    pub fn at(
        &self,
        session: &Session,
        history: &History,
    ) -> (Option<NodeId>, Option<SessionTime>) {
        let sender = |packet: PacketId| session.link(packet).map(|(from, _)| from);
        let receiver = |packet: PacketId| session.link(packet).map(|(_, to)| to);
        let came = |packet| Some(session.packet(packet)?.received?.time);
        let left = |packet| session.left(packet).map(|at| at.time);
        let carrier = |message: MessageId| session.carrier(message);
        let handed = |place: u32| {
            let delivery = history.deliveries.get(place as usize);
            (delivery.map(|it| it.node), delivery.map(|it| it.at.time))
        };
        match *self {
            Fact::Found { finding } => {
                let finding = history.findings.get(finding as usize);
                (finding.map(|it| it.node), finding.map(|it| it.time))
            }
            Fact::Evidence { .. } => {
                let piece = self.piece(history);
                (piece.map(|it| it.node), piece.map(|it| it.time))
            }
            Fact::Sent { packet }
            | Fact::SendFailed { packet }
            | Fact::Lost { packet, .. }
            | Fact::FateUnknown { packet, .. }
            | Fact::Unread { packet }
            | Fact::Fault { packet, .. }
            | Fact::Unfit { packet } => (sender(packet), left(packet)),
            Fact::InTime { packet, .. }
            | Fact::Late { packet, .. }
            | Fact::Reached { packet, .. }
            | Fact::AcksAway { packet, .. } => (receiver(packet), came(packet)),
            Fact::NotRead { packet, until, .. } => (receiver(packet), Some(until)),
            Fact::Held { link, at, .. } => (Some(link.1), Some(at)),
            Fact::NeverReached { message, .. } | Fact::StillWaits { message, .. } => {
                (carrier(message).and_then(receiver), None)
            }
            Fact::SentAgain { copy, .. } | Fact::Ambiguous { message: copy, .. } => {
                let packet = carrier(copy);
                (packet.and_then(sender), packet.and_then(left))
            }
            Fact::Nacked { packet, at, .. }
            | Fact::AckGap { packet, at, .. }
            | Fact::Acked { packet, at } => (sender(packet), Some(at)),
            Fact::Waited { delivery, at, .. } => (handed(delivery).0, Some(at)),
            Fact::Did { delivery } | Fact::HandedOverLate { delivery, .. } => handed(delivery),
            Fact::Later { later, .. } => handed(later),
            Fact::Would { delivery, .. } => (handed(delivery).0, None),
            Fact::Asked { packet, at, .. } => (receiver(packet), Some(at)),
            Fact::Believed { node, at, .. } => (Some(node), Some(at)),
            Fact::Rule { node, .. }
            | Fact::NeverTold { node, .. }
            | Fact::CutShort { node }
            | Fact::NoRules { node } => (Some(node), None),
            Fact::Hole { node, hole } => {
                let known = session.node(node);
                let hole = known.and_then(|it| it.holes.get(hole as usize));
                (Some(node), hole.map(|hole| hole.time.start))
            }
            Fact::Silence { packet, .. } | Fact::Eager { packet, .. } => (sender(packet), None),
            Fact::MoreCopies { .. } | Fact::Clocks { .. } | Fact::Nothing { .. } => (None, None),
        }
    }
}
