//! Where the links of two sessions part by their bytes, packet by packet. What differs by its meaning is
//! another question, which [`netreel_protocol::diff`] answers: no two runs are equal by their bytes, but
//! one that was played on is, up to where it parts, and sessions without a wire have nothing else.

use std::collections::{BTreeMap, BTreeSet};

use netreel_protocol::session::{PacketId, Session, SessionTime};
use netreel_system::Cancel;

use crate::times::first_time;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ByBytes {
    /// What is added to a time of the other session to get one of this: their first packets that
    /// differ lie above each other, or their begins where none does.
    pub offset_ns: i64,
    /// Where they part first.
    pub first: Option<LinkBytes>,
    /// Each link of either.
    pub links: Vec<LinkBytes>,
}

/// How a link of the one session goes on as in the other, and from where on not.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkBytes {
    /// From whom to whom.
    pub name: String,
    /// How many packets, from the first on, have the same bytes.
    pub equal: u64,
    /// How many packets it has, here and in the other one.
    pub packets: [u64; 2],
    /// The first packet that the other one has otherwise or not at all, here and there.
    pub at: [Option<PacketId>; 2],
    /// When those left.
    pub time: [Option<SessionTime>; 2],
}

impl LinkBytes {
    /// Whether both have the same packets.
    pub fn is_same(&self) -> bool {
        self.at == [None, None]
    }
}

impl ByBytes {
    pub(crate) fn new(sessions: [&Session; 2], cancel: &Cancel) -> ByBytes {
        let [mine, theirs] = sessions.map(by_link);
        let names: BTreeSet<&String> = mine.keys().chain(theirs.keys()).collect();
        let none = Vec::new();
        let links: Vec<LinkBytes> = names
            .into_iter()
            .map(|name| {
                let packets = [&mine, &theirs].map(|links| links.get(name).unwrap_or(&none));
                link(name, sessions, packets, cancel)
            })
            .collect();
        let when = |link: &&LinkBytes| link.time[0].or(link.time[1]);
        let first = links
            .iter()
            .filter(|link| !link.is_same())
            .min_by_key(when)
            .cloned();
        let both = first.as_ref().and_then(|it| it.time[0].zip(it.time[1]));
        let [one, other] = sessions.map(|session| session.span.start);
        let (here, there) = both.unwrap_or((one, other));
        ByBytes {
            offset_ns: here.0.saturating_sub(there.0),
            first,
            links,
        }
    }
}

/// The packets of each link, by the names of its ends.
fn by_link(session: &Session) -> BTreeMap<String, Vec<PacketId>> {
    let mut links: BTreeMap<_, Vec<PacketId>> = BTreeMap::new();
    for id in (0..session.packet_count()).map(|id| PacketId(id as u32)) {
        if let Some(ends) = session.link(id) {
            links.entry(ends).or_default().push(id);
        }
    }
    let mut named: BTreeMap<String, Vec<PacketId>> = BTreeMap::new();
    for ((from, to), packets) in links {
        let name = format!("{} → {}", session.name(from), session.name(to));
        named.entry(name).or_default().extend(packets);
    }
    // Of several nodes of one name, in the order of sending.
    named
        .values_mut()
        .for_each(|packets| packets.sort_unstable());
    named
}

fn link(
    name: &str,
    sessions: [&Session; 2],
    packets: [&Vec<PacketId>; 2],
    cancel: &Cancel,
) -> LinkBytes {
    let [mine, theirs] = packets;
    let payload = |side: usize, id: &PacketId| sessions[side].payload(*id);
    let equal = mine
        .iter()
        .zip(theirs)
        .take_while(|(one, other)| cancel.goes_on() && payload(0, one) == payload(1, other))
        .count();
    let at = packets.map(|packets| packets.get(equal).copied());
    let time = |side: usize| first_time(sessions[side], at[side]?);
    LinkBytes {
        name: name.to_owned(),
        equal: equal as u64,
        packets: packets.map(|packets| packets.len() as u64),
        time: [time(0), time(1)],
        at,
    }
}
