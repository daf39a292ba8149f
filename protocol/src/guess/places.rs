//! What single bytes show, and fields that go with the packet's length.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::fields::{Field, Order, Role};
use super::numbers::{Shape, is_free, percent, trust};
use super::packets::{Group, HEAD_BYTES, Packets};

/// Of bits a byte; evenly spread bytes have 8.
const NOISE_BITS: f64 = 5.0;
const VALUES_MAX: usize = 16;

impl Packets {
    /// How evenly the values of a byte are spread, in bits: what two packets that are picked by chance
    /// have in common (Rényi's entropy of order 2), which few packets do not make smaller.
    fn entropy(&self, group: &Group, place: usize) -> f64 {
        let counts = self.histogram(group, place);
        let total: usize = counts.iter().sum();
        let pairs: usize = counts
            .iter()
            .map(|count| count * count.saturating_sub(1))
            .sum();
        let all = total * total.saturating_sub(1);
        if pairs == 0 {
            if all == 0 { 0.0 } else { 8.0 }
        } else {
            (all as f64 / pairs as f64).log2().min(8.0)
        }
    }

    /// Where the bytes end that at least half of the packets have.
    fn common_end(&self, group: &Group) -> usize {
        let present = |place: &usize| {
            let count: usize = self.histogram(group, *place).iter().sum();
            count * 2 >= group.members.len() && count >= 64
        };
        (group.begin..HEAD_BYTES)
            .take_while(present)
            .last()
            .map_or(group.begin, |last| last + 1)
    }

    /// The least and the most entropy of a byte from `begin` on.
    pub(super) fn rest_bits(&self, group: &Group, begin: usize) -> Option<(f64, f64)> {
        let bits = (begin..self.common_end(group)).map(|place| self.entropy(group, place));
        let ends = bits.fold((f64::MAX, f64::MIN), |(low, high), bits| {
            (bits.min(low), bits.max(high))
        });
        (!group.ends_with_kind && ends.0 <= ends.1).then_some(ends)
    }

    /// From where on every byte is spread evenly.
    pub(super) fn noise_from(&self, group: &Group) -> Option<usize> {
        if group.ends_with_kind {
            return None;
        }
        let end = self.common_end(group);
        let noisy = |place: &usize| self.entropy(group, *place) >= NOISE_BITS;
        let start = (group.begin..end).rev().take_while(noisy).last()?;
        (end - start >= 4).then_some(start)
    }

    /// What the bytes of a range are, one by one; neighbours of the same sort are one field.
    pub(super) fn singles(
        &self,
        group: &Group,
        places: Range<usize>,
        noise_from: Option<usize>,
        fields: &mut Vec<Field>,
    ) {
        let first = fields.len();
        for place in places {
            let field = self.single(group, place);
            let noisy = |place: usize| noise_from.is_some_and(|from| from <= place);
            if let Some(last) = fields.get_mut(first..).and_then(|fields| fields.last_mut()) {
                let together = match field.role {
                    Role::Bytes => noisy(last.place) == noisy(place),
                    Role::Constant => last.width < 4 && last.confidence == field.confidence,
                    Role::OfLink => last.width < 8,
                    _ => false,
                };
                if together && last.role == field.role {
                    last.width += 1;
                    last.values.extend(field.values);
                    if last.role == Role::Bytes {
                        last.evidence.push_str(&format!(", {}", field.evidence));
                    }
                    continue;
                }
            }
            fields.push(field);
        }
        for field in &mut fields[first..] {
            field.explain();
        }
    }

    fn single(&self, group: &Group, place: usize) -> Field {
        let counts = self.histogram(group, place);
        let total: usize = counts.iter().sum();
        let values: Vec<u64> = (0..256)
            .filter(|value| counts[*value] > 0)
            .map(|value| value as u64)
            .collect();
        let most = counts.iter().max().copied().unwrap_or(0);
        let shape = Shape {
            place,
            width: 1,
            order: Order::Big,
        };
        let entropy = format!("{:.1}", self.entropy(group, place));
        let mut field = Field::new(shape, Role::Bytes, entropy, 0.0);
        if group.ends_with_kind && place == group.end {
            field.role = Role::Kind;
        } else if values.len() == 1 {
            field.role = Role::Constant;
        } else if self.of_link(group, place) {
            field.role = Role::OfLink;
        } else if values.len() <= VALUES_MAX && total >= 8 * values.len() {
            field.role = Role::Enumeration;
        } else {
            return field;
        }
        field.confidence = trust(total, total);
        field.evidence = match field.role {
            Role::Constant => format!("the same in {total} packets"),
            Role::OfLink => format!("the same in all packets of a link, {} values", values.len()),
            _ => format!(
                "{} values in {total} packets, the most frequent {:.1} %",
                values.len(),
                percent(most, total.max(1))
            ),
        };
        field.values = values;
        if field.role == Role::Enumeration || field.role == Role::Kind {
            field.evidence.push_str(&self.by_direction(group, place));
        }
        field
    }

    /// Whether a byte stays as it is on each of several links.
    fn of_link(&self, group: &Group, place: usize) -> bool {
        let mut seen: BTreeMap<(u32, u32), (u8, usize)> = BTreeMap::new();
        for &member in &group.members {
            let Some(byte) = self.byte(member, place) else {
                continue;
            };
            let link = self.packets[member].link;
            let (first, count) = seen.entry(link).or_insert((byte, 0));
            if *first != byte {
                return false;
            }
            *count += 1;
        }
        seen.len() > 1 && seen.values().filter(|(_, count)| *count >= 8).count() > 1
    }

    /// What goes one way alone: from the side of a link that was heard first, or from the other one.
    fn by_direction(&self, group: &Group, place: usize) -> String {
        let mut ways = [BTreeSet::new(), BTreeSet::new()];
        let mut firsts = BTreeSet::new();
        for packet in &self.packets {
            let (from, to) = packet.link;
            if !firsts.contains(&(to, from)) {
                firsts.insert((from, to));
            }
        }
        for &member in &group.members {
            if let Some(byte) = self.byte(member, place) {
                let is_answer = !firsts.contains(&self.packets[member].link);
                ways[usize::from(is_answer)].insert(byte);
            }
        }
        let list = |values: Vec<&u8>| {
            values
                .iter()
                .map(|value| format!("{value:#04x}"))
                .collect::<Vec<_>>()
                .join(" ")
        };
        let mut text = String::new();
        for (way, who) in [(0, "who spoke first"), (1, "who answered")] {
            let alone: Vec<&u8> = ways[way].difference(&ways[1 - way]).collect();
            if !alone.is_empty() && alone.len() <= 6 {
                text.push_str(&format!("; from {who} alone: {}", list(alone)));
            }
        }
        text
    }

    /// The fields that go with the packet's length, the surest first.
    pub(super) fn lengths(&self, group: &Group) -> Vec<Field> {
        let mut found: Vec<Field> = Vec::new();
        for place in group.begin..group.end {
            for (width, order) in [(2, Order::Big), (2, Order::Little), (1, Order::Big)] {
                for unit in [1, 8] {
                    let shape = Shape {
                        place,
                        width,
                        order,
                    };
                    if shape.fits(group) {
                        found.extend(self.length(group, shape, unit));
                    }
                }
            }
        }
        found.sort_by(|left, right| {
            right
                .confidence
                .total_cmp(&left.confidence)
                .then(right.width.cmp(&left.width))
        });
        let mut kept: Vec<Field> = Vec::new();
        for field in found {
            if is_free(&kept, field.shape()) {
                kept.push(field);
            }
        }
        kept
    }

    fn length(&self, group: &Group, shape: Shape, unit: i64) -> Option<Field> {
        let (mut beyond, mut lengths) = (BTreeMap::new(), BTreeSet::new());
        let mut total = 0;
        for &member in &group.members {
            let length = self.packets[member].length;
            let Some(value) = self.read(shape, member) else {
                continue;
            };
            total += 1;
            let value = value as i64;
            if value % unit == 0 {
                let (count, seen): &mut (usize, BTreeSet<usize>) =
                    beyond.entry(length as i64 - value / unit).or_default();
                *count += 1;
                seen.insert(length);
            }
            lengths.insert(length);
        }
        let (beyond, (agree, seen)) = beyond.into_iter().max_by_key(|(_, (count, _))| *count)?;
        let after = (shape.place + shape.width) as i64;
        if seen.len() < 4
            || agree * 100 < total * 95
            || total < 24
            || !(0..=after + 16).contains(&beyond)
        {
            return None;
        }
        let what = match beyond - after {
            0 => "what remains after it".to_owned(),
            _ if beyond == 0 => "the whole packet".to_owned(),
            more if more > 0 => format!("what remains after {more} bytes more"),
            more => format!("what remains after it and {} bytes before", -more),
        };
        let evidence = format!(
            "{}{what}, in {:.1} % of {total} packets of {} lengths",
            if unit == 8 { "in bits: " } else { "" },
            percent(agree, total),
            lengths.len()
        );
        Some(Field::new(
            shape,
            Role::Length,
            evidence,
            trust(agree, total),
        ))
    }
}

impl Field {
    /// Says what is left to say once its neighbours have joined it.
    fn explain(&mut self) {
        if self.role == Role::Bytes {
            let many = self.evidence.split(", ").count();
            if many > 4 {
                let bits = self.evidence.split(", ");
                let bits = bits.filter_map(|bits| bits.parse::<f64>().ok());
                let (low, high) = bits.fold((8.0_f64, 0.0_f64), |(low, high), bits| {
                    (low.min(bits), high.max(bits))
                });
                self.evidence = format!("entropy {low:.1} to {high:.1} bits a byte");
            } else {
                self.evidence = format!("entropy {} bits", self.evidence);
            }
        }
    }
}
