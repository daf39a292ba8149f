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
    let mut links: Firsts<(Link, u64), Unowned> = Firsts::new();
    for (object, place, _, effect) in case.telling() {
        if effect == Effect::IgnoredNotOwner
            && let Some((link, it)) = unowned(case, object, place)
        {
            note(&mut links, (link, object), it);
        }
    }
    of_each(links, |(link, object), it| {
        Some(it.found(case.session, link, object))
    })
}

/// The UPDATE of an object that a node sent another, which knew who owns it.
fn unowned(case: &Case<'_>, object: u64, place: u32) -> Option<(Link, Unowned)> {
    let update = case.handed(place).filter(|it| it.role == Role::Update)?;
    let link = case.session.link(update.packet)?;
    let own = case.peer(link.0)?;
    let left = case.first_sent(update.delivery.message)?;
    let span = case.history.belief_at(object, link.0, left.time)?;
    let Belief::Owned(owner) = span.belief else {
        return None;
    };
    let is_known = left.time.since(span.time.start) >= KNOWN_NS;
    let is_others = update.speaker == Some(own) && owner != own;
    let because = case.told(span.because);
    let it = Unowned {
        owner,
        because,
        update,
    };
    (is_known && is_others).then_some((link, it))
}

impl Unowned {
    fn found(&self, session: &Session, (from, to): Link, object: u64) -> Found {
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
             owns it{}; {other} dropped it",
            self.update.packet,
            told.unwrap_or_default()
        );
        let because = format!(
            "were updated by {name}, which knew that {owner} owns them; {other} dropped that"
        );
        // More may come, and they are counted.
        let time = self.update.delivery.at.time;
        let found = Found::new(Level::Warning, from, time, pieces, sentence);
        found.about([object]).because(because)
    }
}
