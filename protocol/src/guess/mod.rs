//! What the bytes of an unknown protocol look like: the wire that its packets suggest.
//!
//! [`Packets`] takes the packets of a recording, [`Packets::guess`] says of each place what it looks like and
//! on what evidence, [`Guess::wire`] writes that as a wire that reads these packets without a diagnostic.
//! Nothing here knows a protocol: a field is named for how its values move. The same packets give the same
//! text.

mod fields;
mod meanings;
mod numbers;
mod packets;
mod places;
mod text;
mod times;

use std::collections::BTreeMap;

pub use fields::{Field, Guess, Layout, Order, Role};
use numbers::{Counter, is_free};
use packets::Group;
pub use packets::Packets;

/// A kind with fewer packets is not looked at by itself.
const KIND_PACKETS_MIN: usize = 8;
/// The byte that says what kind a packet is stands among so many.
const KIND_PLACES: usize = 8;
const KINDS_MAX: usize = 24;
/// So many bytes after the last number that moves are named; what follows is the payload.
const AFTER_BYTES: usize = 8;

impl Packets {
    /// The wire that they suggest.
    pub fn guess(&self) -> Guess {
        let groups = self.groups();
        let mut counters: Vec<Vec<Counter>> =
            groups.iter().map(|group| self.counters(group)).collect();
        self.merge(&groups, &mut counters);
        let meanings = self.meanings(&groups, &counters);
        let mut layouts = groups
            .iter()
            .zip(meanings)
            .map(|(group, meanings)| self.layout(group, meanings));
        let head = layouts.next().unwrap_or_default();
        let outside = self.packets.len() - self.inside().len();
        Guess {
            head,
            kinds: layouts.collect(),
            outside,
            looked_at: (self.packets.len(), self.given),
        }
    }

    /// The first has all packets, up to the byte that says the kind; each other one a kind.
    fn groups(&self) -> Vec<Group> {
        let all = self.inside();
        let end = self.shortest(&all);
        let whole = Group {
            kind: None,
            members: all,
            begin: 0,
            end,
            ends_with_kind: false,
        };
        let moving = self.moving(&whole);
        let Some(place) = self.kind_place(&whole, &moving) else {
            return vec![whole];
        };
        let mut by_kind: BTreeMap<u8, Vec<usize>> = BTreeMap::new();
        for member in &whole.members {
            if let Some(kind) = self.byte(*member, place) {
                by_kind.entry(kind).or_default().push(*member);
            }
        }
        let mut groups = vec![Group {
            end: place,
            ends_with_kind: true,
            ..whole
        }];
        for (kind, members) in by_kind {
            if members.len() >= KIND_PACKETS_MIN {
                let end = self.shortest(&members).max(place + 1);
                groups.push(Group {
                    kind: Some(kind),
                    members,
                    begin: place + 1,
                    end,
                    ends_with_kind: false,
                });
            }
        }
        groups
    }

    /// What nearly all have: one packet in fifty may be shorter.
    fn shortest(&self, members: &[usize]) -> usize {
        let mut lengths: Vec<usize> = members
            .iter()
            .map(|member| self.packets[*member].head.len())
            .collect();
        lengths.sort_unstable();
        lengths.get(lengths.len() / 50).copied().unwrap_or(0)
    }

    /// The bytes of numbers that move in all packets alike: none of them says the kind.
    fn moving(&self, whole: &Group) -> Vec<bool> {
        let mut moving = vec![false; whole.end];
        let groups = std::slice::from_ref(whole);
        for meaning in self
            .meanings(groups, &[self.counters(whole)])
            .into_iter()
            .flatten()
        {
            if meaning.role != Role::Counter {
                moving[meaning.place..meaning.place + meaning.width].fill(true);
            }
        }
        moving
    }

    /// The place of the byte that decides how the rest is laid out.
    fn kind_place(&self, group: &Group, moving: &[bool]) -> Option<usize> {
        let mut best: Option<(usize, f64)> = None;
        for place in (0..group.end.min(KIND_PLACES)).filter(|place| !moving[*place]) {
            let told = self.told_by(group, place);
            if told > best.map_or(0.1, |(_, most)| most * 1.3) {
                best = Some((place, told));
            }
        }
        best.map(|(place, _)| place)
    }

    /// How many bits this byte tells of the length or of a byte after it; 0 where it is no enumeration.
    fn told_by(&self, group: &Group, place: usize) -> f64 {
        let lead = |member: usize| self.byte(member, place).map(usize::from);
        let count = self.histogram(group, place);
        let common = count
            .iter()
            .filter(|count| **count >= KIND_PACKETS_MIN)
            .count();
        let rare: usize = count
            .iter()
            .filter(|count| **count < KIND_PACKETS_MIN)
            .sum();
        let all = count.iter().filter(|count| **count > 0).count();
        if common < 2 || all > KINDS_MAX || rare * 5 > group.members.len() {
            return 0.0;
        }
        // A counter's upper byte has few values as well, but does not go back and forth.
        let mut last: BTreeMap<(u32, u32), usize> = BTreeMap::new();
        let mut changes = 0;
        for &member in &group.members {
            if let Some(kind) = lead(member) {
                let before = last.insert(self.packets[member].link, kind);
                changes += usize::from(before.is_some_and(|before| before != kind));
            }
        }
        if changes < 4 * common * last.len().min(8) {
            return 0.0;
        }
        let own = self.shared(group, lead, lead);
        let mut most = self.shared(group, lead, |member| {
            Some(self.packets[member].length.min(255))
        });
        for other in place + 1..group.end.min(place + 13) {
            let value = |member: usize| self.byte(member, other).map(usize::from);
            most = most.max(self.shared(group, lead, value));
        }
        if most < 0.4 * own { 0.0 } else { most }
    }

    /// What two values of each packet tell of each other, in bits: their mutual information, less what
    /// chance gives (Miller 1955).
    fn shared(
        &self,
        group: &Group,
        left: impl Fn(usize) -> Option<usize>,
        right: impl Fn(usize) -> Option<usize>,
    ) -> f64 {
        let mut both = BTreeMap::new();
        let (mut lefts, mut rights) = ([0_usize; 256], [0_usize; 256]);
        let mut total = 0;
        for &member in &group.members {
            if let (Some(left), Some(right)) = (left(member), right(member)) {
                *both.entry((left, right)).or_insert(0_usize) += 1;
                lefts[left] += 1;
                rights[right] += 1;
                total += 1;
            }
        }
        if total == 0 {
            return 0.0;
        }
        let all = total as f64;
        let mut bits = 0.0;
        for (&(left, right), &count) in &both {
            let expected = lefts[left] as f64 * rights[right] as f64 / all;
            bits += count as f64 / all * (count as f64 / expected).log2();
        }
        let distinct = |counts: &[usize]| counts.iter().filter(|count| **count > 0).count() as f64;
        let chance = (both.len() as f64 - distinct(&lefts) - distinct(&rights) + 1.0)
            / (2.0 * all * 2_f64.ln());
        bits - chance.max(0.0)
    }

    /// The fields of a group: what moves in a way that is known, and between it what single bytes show.
    fn layout(&self, group: &Group, mut taken: Vec<Field>) -> Layout {
        let noise_from = self.noise_from(group);
        for length in self.lengths(group) {
            if is_free(&taken, length.shape()) {
                taken.push(length);
            }
        }
        taken.sort_by_key(|field| field.place);
        let mut fields = Vec::new();
        let mut place = group.begin;
        for field in taken {
            self.singles(group, place..field.place, noise_from, &mut fields);
            place = field.place + field.width;
            fields.push(field);
        }
        // What follows the last number that moves is soon the payload.
        let end = if group.ends_with_kind {
            group.end + 1
        } else {
            group.end.min(place + AFTER_BYTES)
        };
        self.singles(group, place..end, noise_from, &mut fields);
        while fields.last().is_some_and(|field| field.role == Role::Bytes) {
            fields.pop();
        }
        let end = fields
            .last()
            .map_or(group.begin, |field| field.place + field.width);
        Layout {
            kind: group.kind,
            packets: group.members.len(),
            fields,
            end,
            rest_bits: self.rest_bits(group, end),
            noise_from,
        }
    }
}
