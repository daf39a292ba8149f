//! `update-unowned`: a node sent UPDATE of an object that another one owned, as the node itself believed.
//!
//! Where the rules of the wire say that only the owner's UPDATEs count, the receiver drops it: a warning.
//! Who was told of a new owner a moment ago may have said it before it read that, and is not meant; nor
//! is a relay that passes on what the owner said.

use super::prelude::*;

/// What a node has believed for this long it knew when it sent something.
const KNOWN_NS: i64 = 250_000_000;

/// What one node told another of an object that it did not own.
struct Unowned {
    owner: u64,
    because: Option<Told>,
    update: Told,
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let (session, history) = (case.session, case.history);
    let mut links: Firsts<(Link, u64), Unowned> = Firsts::new();
    for &object in history.objects.keys() {
        for &place in history.telling(object) {
            let (_, effect) = history.deliveries.effect(place);
            if effect != Effect::IgnoredNotOwner {
                continue;
            }
            let update = case.told(place).filter(|it| it.role == Role::Update);
            let Some(update) = update.filter(|it| !it.delivery.local) else {
                continue;
            };
            let Some(link) = session.link(update.packet) else {
                continue;
            };
            let own = case.peer(link.0);
            let left = case.first_sent(update.delivery.message);
            let Some(left) = left.filter(|_| own.is_some() && update.speaker == own) else {
                continue;
            };
            let Some(span) = history.belief_at(object, link.0, left.time) else {
                continue;
            };
            let is_known = left.time.since(span.time.start) >= KNOWN_NS;
            let Belief::Owned(owner) = span.belief else {
                continue;
            };
            if Some(owner) == own || !is_known {
                continue;
            }
            let it = Unowned {
                owner,
                because: case.told(span.because),
                update,
            };
            note(&mut links, (link, object), it);
        }
    }
    let found = links.into_iter();
    let found = found.map(|((link, object), (count, it))| it.found(session, link, object, count));
    found.collect()
}

impl Unowned {
    fn found(&self, session: &Session, (from, to): Link, object: u64, count: u64) -> Found {
        let because = self.because.filter(|because| because.delivery.node == from);
        let told = because.map(|because| format!(" (packet {})", because.packet));
        let pieces = [
            because.map(|because| because.evidence("told")),
            sent(session, self.update.packet, "UPDATE sent"),
            Some(self.update.evidence("dropped")),
        ];
        let (name, other) = (session.name(from), session.name(to));
        let owner = session.peer_name(self.owner);
        let sentence = format!(
            "{name} sent {other} UPDATE of object {object} (packet {}), and knew that {owner} \
             owns it{}; {other} dropped it{}",
            self.update.packet,
            told.unwrap_or_default(),
            and_more(count)
        );
        let because = format!(
            "were updated by {name}, which knew that {owner} owns them; {other} dropped that"
        );
        // More may come, and they are counted.
        let found = Found::new(
            Level::Warning,
            from,
            self.update.delivery.at.time,
            pieces,
            sentence,
        );
        found.about([object]).because(because)
    }
}
