//! What is said beside a frame. Each comment starts with a word in brackets, for Wireshark's
//! filter: `frame.comment contains "[lost]"`.

use std::collections::BTreeMap;

use netreel_reel::{EventNumber, FaultVerdict, SendOutcome, os_code_words};

use super::lane::{Item, What};
use super::options::{Comments, Frames, PcapngOptions};
use super::proxies::Proxies;
use super::whose::Whose;
use crate::figures::{duration, length};
use crate::history::{Evidence, History};
use crate::session::packets;
use crate::session::{
    Crossing, Fate, Measured, MessageId, NodeId, Packet, PacketId, Session, SessionTime, Way,
};

/// More messages of one packet are counted, not listed.
const RESENT_TOLD: usize = 4;

/// Finds the words for each frame.
pub(super) struct Commenter<'a> {
    session: &'a Session,
    history: &'a History,
    proxies: &'a Proxies<'a>,
    options: PcapngOptions,
    findings: BTreeMap<(Whose, EventNumber), Vec<String>>,
    /// On each link, the last send that has arrived so far.
    newest: BTreeMap<(NodeId, NodeId), (EventNumber, SessionTime)>,
    /// For each reel how many of its holes were told.
    holes_told: BTreeMap<Whose, usize>,
}

impl<'a> Commenter<'a> {
    pub fn new(
        session: &'a Session,
        history: &'a History,
        proxies: &'a Proxies<'a>,
        options: PcapngOptions,
    ) -> Commenter<'a> {
        let mut commenter = Commenter {
            session,
            history,
            proxies,
            options,
            findings: BTreeMap::new(),
            newest: BTreeMap::new(),
            holes_told: BTreeMap::new(),
        };
        if options.comments != Comments::None {
            commenter.place_findings();
        }
        commenter
    }

    /// The comments on the frame of an event; to be asked for every event of a node, in its order.
    /// `cut`: bytes of the payload that an IP packet has no room for.
    pub fn of(&mut self, whose: Whose, item: &Item, cut: usize) -> Vec<String> {
        let mut comments = self
            .findings
            .remove(&(whose, item.number))
            .unwrap_or_default();
        if self.options.comments != Comments::All {
            return comments;
        }
        self.holes(whose, item, &mut comments);
        if let What::Out { outcome, .. } = item.what {
            comments.extend(outcome.and_then(failed));
        }
        comments.extend(item.faults.iter().map(|&verdict| fault(verdict)));
        if item.missed > 0 {
            comments.push(format!(
                "[hole] not captured before this: {}",
                packets(item.missed)
            ));
        }
        let known = item.crossing;
        let known = known.and_then(|known| Some((known, self.session.packet(known.packet)?)));
        if let Some((crossing, packet)) = known {
            match crossing.way {
                // Who has a reel says it there.
                Way::Passing if packet.sent.is_some() => {}
                Way::Out | Way::Passing => {
                    comments.extend(self.lost(&packet));
                    comments.extend(self.resent(crossing.packet, &packet));
                }
                Way::In => comments.extend(self.late(&packet)),
                Way::Again => comments.push(again(&packet, item.time)),
            }
        }
        if let Some(length) = item.length {
            comments.push(format!(
                "[cut] the recording holds the first bytes only: the payload had {length} bytes"
            ));
        }
        if cut > 0 {
            comments.push(format!(
                "[cut] an IP packet has no room for the last {cut} bytes of the payload"
            ));
        }
        comments
    }

    /// Puts each finding on the frames of the packets that prove it.
    fn place_findings(&mut self) {
        let findings = self.history.findings.iter();
        let told = findings.flat_map(|finding| finding.told().map(move |told| (finding, told)));
        for (finding, (sentence, _, evidence)) in told {
            let mut places: Vec<((Whose, EventNumber), Vec<&str>)> = Vec::new();
            for evidence in evidence {
                let Some(place) = self.place(evidence) else {
                    continue;
                };
                match places.iter_mut().find(|(known, _)| *known == place) {
                    Some((_, what)) if what.contains(&evidence.what.as_str()) => {}
                    Some((_, what)) => what.push(&evidence.what),
                    None => places.push((place, vec![&evidence.what])),
                }
            }
            for (place, what) in places {
                let comment = format!(
                    "[{}] {}: {}. This packet: {}",
                    finding.level.name(),
                    finding.rule,
                    sentence,
                    what.join(", "),
                );
                self.findings.entry(place).or_default().push(comment);
            }
        }
    }

    /// The frame that shows a piece of evidence: at its node where that sent or received the packet,
    /// or else at the other end.
    fn place(&self, evidence: &Evidence) -> Option<(Whose, EventNumber)> {
        let packet = self.session.packet(evidence.packet)?;
        let shows = |way| self.options.frames.shows(way, &packet);
        let again = packet.duplicates.iter().filter(|_| shows(Way::Again));
        let received = packet.received.iter().filter(|_| shows(Way::In));
        let sent = packet.sent.iter().filter(|_| shows(Way::Out));
        let seen = packet.seen.iter().filter(|_| shows(Way::Passing));
        let whose = |node| self.proxies.whose(node);
        let (from, to) = (whose(packet.from), whose(packet.to));
        let places: Vec<(Whose, EventNumber)> = sent
            .map(|stamp| (from, stamp.number))
            .chain(received.chain(again).map(|stamp| (to, stamp.number)))
            .chain(seen.map(|seen| (Whose::Observer(seen.observer), seen.stamp.number)))
            .collect();
        let node = whose(evidence.node);
        let exact = (node, evidence.number);
        let same_node = || places.iter().find(|(whose, _)| *whose == node);
        places
            .iter()
            .find(|place| **place == exact)
            .or_else(same_node)
            .or(places.first())
            .copied()
    }

    /// What the reel lacks before this event.
    fn holes(&mut self, whose: Whose, item: &Item, comments: &mut Vec<String>) {
        let session = self.session;
        let holes = match whose {
            Whose::Observer(id) => {
                let known = session.observers.get(usize::from(id.0));
                known.map(|known| &known.holes)
            }
            whose => {
                let known = self.proxies.node(whose).and_then(|it| session.node(it));
                known.map(|known| &known.holes)
            }
        };
        let holes = holes.map_or(&[][..], Vec::as_slice);
        let told = self.holes_told.entry(whose).or_insert(0);
        while let Some(hole) = holes.get(*told).filter(|hole| hole.before <= item.number) {
            *told += 1;
            // Not nothing was recorded then, only less than came.
            if item.missed_at.contains(&hole.before) {
                continue;
            }
            // What lacks at the start of a session has no length that anybody knows.
            let length_ns = hole.time.end.since(hole.time.start);
            comments.push(match length_ns {
                ..=0 => format!("[hole] the recording has a hole before this: {}", hole.why),
                _ => format!(
                    "[hole] nothing was recorded for {} before this: {}",
                    duration(length_ns),
                    hole.why
                ),
            });
        }
    }

    fn lost(&self, packet: &Packet) -> Option<String> {
        let to = self
            .session
            .node(packet.to)
            .filter(|_| packet.fate == Fate::Lost)?;
        Some(if to.captured {
            format!("[lost] it never came by at the capture of {}", to.name)
        } else {
            format!("[lost] {} never received it", to.name)
        })
    }

    fn resent(&self, id: PacketId, packet: &Packet) -> Option<String> {
        let mut told = Vec::new();
        let mut more = 0;
        let messages = self.session.said(id)?.messages.map(MessageId);
        for message in messages {
            let Some(earlier) = self.history.resend_of(message) else {
                continue;
            };
            if told.len() == RESENT_TOLD {
                more += 1;
                continue;
            }
            let first = self.session.carrier(earlier);
            told.push(format!(
                "{}{}",
                self.words(message),
                self.first(packet, first)
            ));
        }
        if told.is_empty() {
            return None;
        }
        let more = match more {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        Some(format!("[resent] {}{more}", told.join(", ")))
    }

    /// `, sent first in packet 71, 250.0 ms before`
    fn first(&self, packet: &Packet, first: Option<PacketId>) -> String {
        let Some(id) = first else {
            return String::new();
        };
        let times = self.session.packet(id).and_then(|packet| packet.departed());
        match times.zip(packet.departed()) {
            Some((then, now)) => format!(
                ", sent first in packet {id}, {} before",
                duration(now.time.since(then.time))
            ),
            None => format!(", sent first in packet {id}"),
        }
    }

    /// `create 42`
    fn words(&self, message: MessageId) -> String {
        let kind = self.session.kind(message);
        let kind = kind.map_or("a message", |kind| kind.name.as_str());
        let known = self.session.message(message);
        match known.and_then(|message| message.facts.object) {
            Some(object) => format!("{kind} {object}"),
            None => kind.to_owned(),
        }
    }

    fn late(&mut self, packet: &Packet) -> Option<String> {
        let (sent, received) = packet.sent.zip(packet.received)?;
        let late_ns = received.time.since(sent.time);
        let newest = self.newest.entry((packet.from, packet.to));
        let newest = newest.or_insert((sent.number, sent.time));
        let overtaken = (sent.number < newest.0).then_some(newest.1);
        *newest = (*newest).max((sent.number, sent.time));
        let from = self.session.name(packet.from);
        let way = match self.session.measured(packet.from, packet.to) {
            Measured::Whole => format!("on its way from {from}"),
            Measured::ToProxy => format!("on its way from {from} and in the proxy"),
            Measured::FromProxy => "on its way from the proxy".to_owned(),
            Measured::InProxy => "in the proxy".to_owned(),
        };
        match overtaken {
            Some(newest) => Some(format!(
                "[late] {} {way}; what {from} sent {} later was here before it",
                duration(late_ns),
                duration(newest.since(sent.time)),
            )),
            None if late_ns >= self.options.late_ns => {
                Some(format!("[late] {} {way}", duration(late_ns)))
            }
            None => None,
        }
    }
}

fn failed(outcome: SendOutcome) -> Option<String> {
    match outcome {
        SendOutcome::Sent => None,
        SendOutcome::Short(taken) => Some(format!(
            "[send failed] only {taken} bytes of the payload were taken"
        )),
        SendOutcome::Failed(code) => Some(format!(
            "[send failed] {}: it never left the node",
            os_code_words(code)
        )),
    }
}

fn fault(verdict: FaultVerdict) -> String {
    let what = match verdict {
        FaultVerdict::Lost => "dropped it".to_owned(),
        FaultVerdict::Delayed { nanos } => format!("held it back for {}", length(nanos)),
        FaultVerdict::Reordered { nanos } => {
            format!("held it back for {} and let others pass", length(nanos))
        }
        FaultVerdict::Duplicated { nanos } => {
            format!("sent it again, {} after it came", length(nanos))
        }
        FaultVerdict::Queued { nanos } => {
            format!("let it wait {} for a slow link", length(nanos))
        }
        FaultVerdict::QueueFull { nanos } => format!(
            "dropped it: it would have waited {} for a slow link",
            length(nanos)
        ),
        FaultVerdict::Refused => "did not serve its sender".to_owned(),
        FaultVerdict::Corrupted { bit } => format!("turned bit {bit} of it"),
    };
    format!("[fault] the proxy {what}")
}

fn again(packet: &Packet, time: SessionTime) -> String {
    let first = packet.received.map(|first| first.time);
    let since = first.map_or(0, |first| time.since(first));
    format!(
        "[duplicate] the same packet was received {} before",
        duration(since)
    )
}

impl Frames {
    /// Whether a packet has a frame where it goes this way.
    pub(super) fn shows(self, way: Way, packet: &Packet) -> bool {
        match self {
            Frames::Both => true,
            Frames::Sent => way == Way::Out,
            Frames::Received => matches!(way, Way::In | Way::Again),
            Frames::Once => match way {
                Way::Out => true,
                Way::Passing => packet.sent.is_none(),
                Way::In => packet.departed().is_none(),
                Way::Again => false,
            },
        }
    }

    /// The same of a crossing.
    pub(super) fn shows_crossing(self, session: &Session, crossing: Crossing) -> bool {
        let packet = session.packet(crossing.packet);
        packet.is_some_and(|packet| self.shows(crossing.way, &packet))
    }
}
