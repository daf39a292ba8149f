//! Messages about one object that came to a node in another order in another session.

use std::collections::BTreeMap;

use netreel_protocol::session::{PacketId, Session, Stamp};
use netreel_system::Cancel;
use netreel_wire::Role;

/// Two messages of different senders that came to a node in one order here, and in the other one there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swapped {
    /// For people.
    pub words: String,
    /// Here and there, the packet that brought what came second.
    pub packets: [PacketId; 2],
    /// When that was here.
    pub at: Stamp,
}

/// A message at a receiver: its kind, and its sender by name.
type Message = (String, String);

/// At a node, of an object: each message with when it came first, and in which packet.
type Arrived = BTreeMap<(String, u64), BTreeMap<Message, (Stamp, PacketId)>>;

/// The pairs that came the other way round, in the order of nodes and objects; UPDATEs, of which there are
/// many, are left out. Nothing where it is no longer wanted.
pub fn swapped(sides: [&Session; 2], cancel: &Cancel) -> Vec<Swapped> {
    let [here, there] = sides.map(|session| arrived(session, cancel));
    let mut found = Vec::new();
    for ((node, object), messages) in &here {
        let Some(others) = there.get(&(node.clone(), *object)) else {
            continue;
        };
        let mut both: Vec<_> = messages.iter().collect();
        both.sort_by_key(|(_, it)| it.0.number);
        for (place, (early, _)) in both.iter().enumerate() {
            for (late, came) in &both[place + 1..] {
                let (Some(first), Some(second)) = (others.get(*early), others.get(*late)) else {
                    continue;
                };
                let is_swapped = early.1 != late.1 && first.0.number > second.0.number;
                if is_swapped {
                    found.push(Swapped {
                        words: format!(
                            "at {node}, {} of {} comes before {} of {} here, and behind it there, of object {object}",
                            early.0, early.1, late.0, late.1
                        ),
                        packets: [came.1, first.1],
                        at: came.0,
                    });
                }
            }
        }
    }
    found
}

fn arrived(session: &Session, cancel: &Cancel) -> Arrived {
    let mut arrived = Arrived::new();
    for (place, packet) in session.packets().enumerate() {
        if !cancel.goes_on() {
            return Arrived::new();
        }
        let Some(came) = packet.received else {
            continue;
        };
        let id = PacketId(u32::try_from(place).unwrap_or(u32::MAX));
        let (from, to) = (session.name(packet.from), session.name(packet.to));
        for message in &session.look(id).messages {
            let Some((object, kind)) = message.object.zip(session.kind_of(message)) else {
                continue;
            };
            if kind.role == Role::Update {
                continue;
            }
            let known = arrived
                .entry((to.clone(), object))
                .or_default()
                .entry((kind.name.clone(), from.clone()))
                .or_insert((came, id));
            if came.number < known.0.number {
                *known = (came, id);
            }
        }
    }
    arrived
}
