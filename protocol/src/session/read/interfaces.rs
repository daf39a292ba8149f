//! At which of its interfaces an observer saw a packet.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use netreel_reel::ThreadId;

/// An interface of a packet capture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interface {
    /// What the capture calls it: `eth0`. Empty where it says nothing.
    pub name: String,
    /// A `LINKTYPE_` number of the tcpdump group's registry; `None` where the reel does not say.
    pub link_type: Option<u32>,
    /// How many packets were seen at it.
    pub packets: u64,
}

/// The interfaces of one reel, found in the order of its events. The same events give the same
/// places.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interfaces {
    list: Vec<Interface>,
    /// Where each thread is.
    at: BTreeMap<ThreadId, u16>,
    /// A thread that has come back to an interface, and one that is told again where it is.
    known: BTreeMap<(ThreadId, Option<u32>, String), u16>,
}

impl Interfaces {
    /// In the order in which the reel names them.
    pub fn list(&self) -> &[Interface] {
        &self.list
    }

    /// What the thread sees from here on passes this interface.
    pub fn told(&mut self, thread: ThreadId, link_type: u32, name: &[u8]) {
        let name = String::from_utf8_lossy(name).into_owned();
        // A file of a recording may begin with packets before it is told again where they were.
        let nameless = self.at.get(&thread).copied();
        if let Some(place) = nameless
            && let Some(interface) = self.list.get_mut(usize::from(place))
            && interface.link_type.is_none()
        {
            interface.link_type = Some(link_type);
            interface.name.clone_from(&name);
            self.known.insert((thread, Some(link_type), name), place);
            return;
        }
        let place = self.place(thread, Some(link_type), name);
        self.at.insert(thread, place);
    }

    /// The place in the list of the interface at which a packet was seen now.
    pub fn seen(&mut self, thread: ThreadId) -> u16 {
        let place = match self.at.get(&thread) {
            Some(&place) => place,
            // A reel from before interfaces were told.
            None => {
                let place = self.place(thread, None, String::new());
                self.at.insert(thread, place);
                place
            }
        };
        self.list[usize::from(place)].packets += 1;
        place
    }

    fn place(&mut self, thread: ThreadId, link_type: Option<u32>, name: String) -> u16 {
        let key = (thread, link_type, name);
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        // More than can be numbered share the last.
        let last = self.list.len().min(usize::from(u16::MAX)) as u16;
        if self.list.len() <= usize::from(u16::MAX) {
            self.list.push(Interface {
                name: key.2.clone(),
                link_type,
                packets: 0,
            });
        }
        self.known.insert(key, last);
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(interfaces: &Interfaces, expected: &[(&str, u64)]) {
        let list = interfaces.list().iter();
        let list: Vec<(&str, u64)> = list.map(|it| (it.name.as_str(), it.packets)).collect();
        assert_eq!(list, expected);
    }

    #[test]
    fn what_is_told_again_is_the_same_interface() {
        let mut interfaces = Interfaces::default();
        for name in ["eth0", "wlan0", "eth0"] {
            interfaces.told(ThreadId(0), 1, name.as_bytes());
            interfaces.seen(ThreadId(0));
        }
        check(&interfaces, &[("eth0", 2), ("wlan0", 1)]);
    }

    #[test]
    fn two_interfaces_may_have_one_name() {
        let mut interfaces = Interfaces::default();
        for thread in [ThreadId(0), ThreadId(1)] {
            interfaces.told(thread, 1, b"eth0");
            interfaces.seen(thread);
        }
        check(&interfaces, &[("eth0", 1), ("eth0", 1)]);
    }

    #[test]
    fn what_came_before_the_first_word_of_its_interface_was_there_too() {
        let mut interfaces = Interfaces::default();
        interfaces.seen(ThreadId(0));
        for _ in 0..2 {
            interfaces.told(ThreadId(0), 1, b"eth0");
            interfaces.seen(ThreadId(0));
        }
        interfaces.told(ThreadId(0), 1, b"wlan0");
        interfaces.seen(ThreadId(0));
        check(&interfaces, &[("eth0", 3), ("wlan0", 1)]);
    }

    #[test]
    fn a_thread_that_was_never_told_of_is_an_interface_without_a_name() {
        let mut interfaces = Interfaces::default();
        interfaces.seen(ThreadId(3));
        interfaces.seen(ThreadId(3));
        check(&interfaces, &[("", 2)]);
    }
}
