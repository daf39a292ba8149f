//! Until when what nodes said can be judged.
//!
//! Every recording ends amid something. Whether a message gets through that is on its way at the end, and
//! what comes of a word that was said just before it, no reel shows; nor whether what nodes differ in comes
//! right. All that was said earlier has come to rest, so that a verdict holds until then.

use super::History;
use super::existence::ExistenceAtRest;
use super::lanes::departures_of_nodes;
use super::settled::{answer_ns, take_ns, there};
use crate::session::{MessageId, NodeId, Session, SessionTime};

/// What of the end of a session nobody can judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unjudged {
    /// When the first of it was said.
    pub since: SessionTime,
    /// When the first of the reels ends.
    pub end: SessionTime,
    /// What that was, for people.
    pub why: String,
    /// How long it takes at most until what is said has come to rest, in ns.
    pub answer_ns: i64,
}

impl Unjudged {
    /// How long before the end it begins, in ns.
    pub fn length_ns(&self) -> i64 {
        self.end.0.saturating_sub(self.since.0)
    }

    /// What was said before this moment had the time to come to rest, also where some of it was lost.
    pub fn old_before(&self) -> SessionTime {
        SessionTime(self.end.0.saturating_sub(self.answer_ns))
    }

    fn earlier(&mut self, since: SessionTime, why: impl FnOnce() -> String) {
        if since < self.since {
            self.since = since;
            self.why = why();
        }
    }
}

/// The first that was said and of which nobody can say what came of it; `None` where all came to rest.
pub(crate) fn unjudged(
    session: &Session,
    history: &History,
    rest: &ExistenceAtRest,
) -> Option<Unjudged> {
    let there = there(session, history);
    let ends = there.iter().filter_map(|node| {
        let node = session.node(*node)?;
        Some(node.span.end)
    });
    let end = ends.min()?;
    let mut found = Unjudged {
        since: SessionTime::MAX,
        end,
        why: String::new(),
        answer_ns: answer_ns(session),
    };
    under_way(session, history, &there, &mut found);
    let since = SessionTime(end.0.saturating_sub(take_ns(session)));
    just_said(session, history, since, &mut found);
    just_believed(session, history, (since, &there), &mut found);
    for &(object, since, _) in &rest.open {
        found.earlier(since, || {
            format!("object {object} lives at some nodes alone, and may be told of to others")
        });
    }
    for standing in &history.standing {
        found.earlier(standing.since, || standing.words.clone());
    }
    (found.since <= end).then_some(found)
}

/// Reliable messages that did not get through to a node that is there.
fn under_way(session: &Session, history: &History, there: &[NodeId], found: &mut Unjudged) {
    let left = departures_of_nodes(session, history);
    for &message in &history.undelivered {
        let Some(packet) = session.carrier(message) else {
            continue;
        };
        let (Some((from, to)), Some((_, sent))) = (session.link(packet), session.departed(packet))
        else {
            continue;
        };
        if there.contains(&to) && !left.contains_key(&from) {
            found.earlier(sent.time, || {
                let object = history.facts(session, message).and_then(|it| it.object);
                let about = object.map_or(String::new(), |it| format!(" about object {it}"));
                format!(
                    "a message{about} to {} did not get through",
                    session.name(to)
                )
            });
        }
    }
}

/// Messages about objects that were said so late that what they lead to may come after the end.
fn just_said(session: &Session, history: &History, since: SessionTime, found: &mut Unjudged) {
    // A node's packets are in its own order, also where its clock was set back.
    let stop = since.0.saturating_sub(found.answer_ns);
    for packet in session.packets_since(SessionTime(stop)) {
        let Some((_, sent)) = session.departed(packet) else {
            continue;
        };
        if sent.time < since || sent.time >= found.since {
            continue;
        }
        let mut about = session.messages_of(packet).filter_map(|(message, facts)| {
            let object = facts.object?;
            history.resend_of(message).is_none().then_some(object)
        });
        if let Some(object) = about.next() {
            found.earlier(sent.time, || too_late(object));
        }
    }
}

/// Beliefs that began so late that what they lead to may come after the end.
fn just_believed(
    session: &Session,
    history: &History,
    (since, there): (SessionTime, &[NodeId]),
    found: &mut Unjudged,
) {
    for (&id, object) in &history.objects {
        let lanes = object.lanes.iter();
        let lasts = lanes.filter(|(node, _)| there.contains(node));
        for last in lasts.filter_map(|(_, lane)| lane.last()) {
            if last.time.start < since || last.time.start > found.end {
                continue;
            }
            let told = history
                .deliveries
                .get(last.because as usize)
                .filter(|_| last.said.is_none());
            let said = told.and_then(|it| said_at(session, it.message));
            let at = said.map_or(last.time.start, |said| said.min(last.time.start));
            found.earlier(at, || too_late(id));
        }
    }
}

fn said_at(session: &Session, message: MessageId) -> Option<SessionTime> {
    let (_, sent) = session.departed(session.carrier(message)?)?;
    Some(sent.time)
}

fn too_late(object: u64) -> String {
    format!("the reels end too soon after a word about object {object}")
}
