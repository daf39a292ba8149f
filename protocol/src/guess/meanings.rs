//! Which of the numbers that move number packets, which repeat the other side's, and bits of acks beside
//! those.

use std::collections::BTreeMap;

use super::fields::{Field, Order, Role};
use super::numbers::{Counter, PAIRS_MIN, Shape, is_free};
use super::packets::{Group, Packets};

/// An ack names one of so many numbers, the newest that were seen.
const LAG_MAX: u64 = 48;
/// A longer step is another number's, where a field is not in all packets.
const JUMP_MAX: u64 = 256;

impl Packets {
    /// What is believed of the moving numbers of each group.
    pub(super) fn meanings(&self, groups: &[Group], counters: &[Vec<Counter>]) -> Vec<Vec<Field>> {
        let mut all = self.sequences(groups, counters);
        let mut sequences: BTreeMap<Shape, Vec<usize>> = BTreeMap::new();
        for (group, meanings) in groups.iter().zip(&all) {
            for meaning in meanings {
                sequences
                    .entry(meaning.shape())
                    .or_default()
                    .extend(&group.members);
            }
        }
        let mut others: BTreeMap<Shape, Vec<usize>> = BTreeMap::new();
        for (group, found) in groups.iter().zip(counters) {
            for counter in found
                .iter()
                .filter(|counter| !sequences.contains_key(&counter.shape))
            {
                others
                    .entry(counter.shape)
                    .or_default()
                    .extend(&group.members);
            }
        }
        for (role, targets) in [(Role::Ack, sequences), (Role::Echo, others)] {
            for (target, mut members) in targets {
                members.sort_unstable();
                let newest = self.newest(&members, target);
                for place in 0..groups.len() {
                    let has_ack = |meanings: &Vec<Field>| {
                        meanings.iter().any(|meaning| meaning.role == Role::Ack)
                    };
                    let is_byte = role == Role::Echo && target.width == 1; // a byte follows anything
                    if !is_byte
                        && !(role == Role::Ack && (has_ack(&all[0]) || has_ack(&all[place])))
                    {
                        self.echo(&groups[place], target, &newest, role, &mut all[place]);
                    }
                }
            }
        }
        for ((group, found), meanings) in groups.iter().zip(counters).zip(&mut all) {
            self.ack_bits(group, meanings);
            for counter in found {
                if is_free(meanings, counter.shape) {
                    meanings.push(counter.meaning(Role::Counter));
                }
            }
            self.times(group, meanings);
        }
        all
    }

    /// One number in each kind numbers packets: the one that goes up most surely, the first of several. What
    /// follows a surer one of the other side is an ack, and what all kinds have is not in each again.
    fn sequences(&self, groups: &[Group], counters: &[Vec<Counter>]) -> Vec<Vec<Field>> {
        let mut all: Vec<Vec<Field>> = groups.iter().map(|_| Vec::new()).collect();
        let mut candidates: Vec<(usize, Counter)> = Vec::new();
        for (group, found) in counters.iter().enumerate() {
            candidates.extend(
                found
                    .iter()
                    .filter(|counter| counter.steps.numbers_packets())
                    .map(|counter| (group, *counter)),
            );
        }
        let share = |counter: &Counter| counter.steps.one * 20 / counter.steps.pairs.max(1);
        candidates.sort_by_key(|(group, counter)| {
            let is_head = groups[*group].kind.is_none();
            (
                !is_head,
                std::cmp::Reverse(share(counter)),
                std::cmp::Reverse(counter.steps.pairs),
                counter.shape,
            )
        });
        let mut heard: BTreeMap<Shape, Vec<Option<u64>>> = BTreeMap::new();
        for (group, counter) in candidates {
            let has_one = !all[0].is_empty() || !all[group].is_empty();
            let is_ack = |(shape, newest): (&Shape, &Vec<Option<u64>>)| {
                let (agree, total) = self.follows(&groups[group], counter.shape, newest);
                *shape != counter.shape && total >= PAIRS_MIN && agree * 100 >= total * 97
            };
            if has_one || heard.iter().any(is_ack) {
                continue;
            }
            all[group].push(counter.meaning(Role::Sequence));
            heard.entry(counter.shape).or_insert_with(|| {
                let has = |place: &usize| {
                    counters[*place]
                        .iter()
                        .any(|other| other.shape == counter.shape)
                };
                let sharing = (0..groups.len()).filter(has);
                let mut members: Vec<usize> = sharing
                    .flat_map(|group| groups[group].members.iter().copied())
                    .collect();
                members.sort_unstable();
                self.newest(&members, counter.shape)
            });
        }
        all
    }

    /// At each packet, the newest number that the other side had sent by then.
    fn newest(&self, members: &[usize], shape: Shape) -> Vec<Option<u64>> {
        let mut last: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        let mut newest = vec![None; self.packets.len()];
        let mut members = members.iter().copied().peekable();
        for (number, packet) in self.packets.iter().enumerate() {
            let (from, to) = packet.link;
            newest[number] = last.get(&(to, from)).copied();
            if members.next_if_eq(&number).is_some()
                && let Some(value) = shape.read(&packet.head)
            {
                last.insert(packet.link, value);
            }
        }
        newest
    }

    /// The field of a group that follows `newest` most closely.
    fn echo(
        &self,
        group: &Group,
        target: Shape,
        newest: &[Option<u64>],
        role: Role,
        meanings: &mut Vec<Field>,
    ) {
        let mut best: Option<(usize, usize, Shape)> = None;
        for place in group.begin..group.end {
            let shape = Shape { place, ..target };
            if !shape.fits(group) || !is_free(meanings, shape) {
                continue;
            }
            let (agree, total) = self.follows(group, shape, newest);
            if total >= PAIRS_MIN
                && agree * 10 >= total * 9
                && best.is_none_or(|(most, _, _)| agree > most)
            {
                best = Some((agree, total, shape));
            }
        }
        if let Some((agree, total, shape)) = best {
            let what = format!("follows the other side's number at byte {}", target.place);
            meanings.push(Field::of_most(
                shape,
                role,
                &what,
                (agree, total, "packets"),
            ));
        }
    }

    /// In how many packets the number is one of the newest of the other side, and of how many; none where it
    /// does not go on as the other side does.
    fn follows(&self, group: &Group, shape: Shape, newest: &[Option<u64>]) -> (usize, usize) {
        let (mut agree, mut total) = (0, 0);
        let lag_max = LAG_MAX.min(shape.mask() / 16);
        let steady = JUMP_MAX.min(shape.mask() / 2);
        let mut last: BTreeMap<(u32, u32), (u64, u64)> = BTreeMap::new();
        let (mut moved, mut theirs, mut changes, mut back) = (0_u64, 0_u64, 0_usize, 0_usize);
        for &member in &group.members {
            let (Some(value), Some(newest)) = (self.read(shape, member), newest[member]) else {
                continue;
            };
            total += 1;
            let lag = newest.wrapping_sub(value) & shape.mask();
            // Ahead by one: what is expected next, or clocks that differ by less than a way takes.
            agree += usize::from(lag <= lag_max || lag == shape.mask());
            if let Some((before, newest_before)) =
                last.insert(self.packets[member].link, (value, newest))
            {
                let own = value.wrapping_sub(before) & shape.mask();
                let other = newest.wrapping_sub(newest_before) & shape.mask();
                if own <= steady {
                    moved = moved.saturating_add(own);
                    changes += usize::from(own > 0);
                } else if own > shape.mask() / 2 {
                    back += 1;
                }
                if other <= steady {
                    theirs = theirs.saturating_add(other);
                }
            }
        }
        let goes_along =
            changes >= PAIRS_MIN && back * 10 <= changes && moved.abs_diff(theirs) <= theirs / 4;
        if goes_along {
            (agree, total)
        } else {
            (0, total)
        }
    }

    /// Looks beside an ack for bits that shift as the ack goes on.
    fn ack_bits(&self, group: &Group, meanings: &mut Vec<Field>) {
        let Some(ack) = meanings
            .iter()
            .find(|meaning| meaning.role == Role::Ack)
            .map(Field::shape)
        else {
            return;
        };
        for width in [8, 4, 2, 1] {
            for order in [ack.order, Order::Little, Order::Big] {
                let after = Some(ack.place + ack.width);
                for place in [after, ack.place.checked_sub(width)].into_iter().flatten() {
                    let shape = Shape {
                        place,
                        width,
                        order,
                    };
                    if !shape.fits(group) || !is_free(meanings, shape) {
                        continue;
                    }
                    let (agree, total) = self.shifts(group, ack, shape);
                    if total >= PAIRS_MIN && agree * 10 >= total * 9 {
                        let what = format!("moved up by as much as the ack at byte {}", ack.place);
                        let most = (agree, total, "steps");
                        meanings.push(Field::of_most(shape, Role::AckBits, &what, most));
                        return;
                    }
                }
            }
        }
    }

    /// How often the bits of a packet are those of the packet before, moved up by the ack's step, with the
    /// bit of the ack before; some may have been set since.
    fn shifts(&self, group: &Group, ack: Shape, bits: Shape) -> (usize, usize) {
        let (mut agree, mut total, mut highest) = (0, 0, 0);
        self.pairs(&group.members, |before, after| {
            let read = |shape: Shape| self.read(shape, before).zip(self.read(shape, after));
            let (Some((old_ack, new_ack)), Some((old, new))) = (read(ack), read(bits)) else {
                return;
            };
            let step = new_ack.wrapping_sub(old_ack) & ack.mask();
            if !(1..8 * bits.width as u64).contains(&step) {
                return;
            }
            total += 1;
            let moved = old << step & bits.mask();
            let of_ack = 1 << (step - 1);
            agree += usize::from(new & moved == moved && new & of_ack != 0);
            highest = highest.max(new.checked_ilog2().unwrap_or(0) as usize);
        });
        // The field is used: a narrower one would do otherwise.
        if highest + 8 < 8 * bits.width {
            (0, total)
        } else {
            (agree, total)
        }
    }
}
