//! What does not fit a wire, in many packets: the same said of the same field is one line.

use std::collections::BTreeMap;

use crate::tree::Diagnostic;

/// More groups are counted, not shown.
const SHOWN: usize = 40;

/// What was said of packets.
#[derive(Clone, Debug, Default)]
pub struct Misfits {
    groups: BTreeMap<(String, String), Group>,
    packets: usize,
    unfit: usize,
}

/// The same said of the same field of several packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The field, without the places in repeats: `actions[].ticks`.
    pub path: String,
    /// What is wrong, with `…` for numbers that differ.
    pub message: String,
    /// How often it was said.
    pub times: usize,
    /// Of how many packets it was said.
    pub packets: usize,
    /// The first of them.
    pub example: usize,
}

/// Diagnostics that differ in numbers alone.
#[derive(Clone, Debug)]
struct Group {
    times: usize,
    packets: usize,
    /// The first packet.
    example: usize,
    /// The last packet that was counted.
    last: usize,
    /// The sentence, in pieces of digits and of other characters; `None` where numbers differ.
    pieces: Vec<Option<String>>,
}

impl Misfits {
    /// Takes what was said of a packet; nothing where it fits.
    pub fn take(&mut self, packet: usize, diagnostics: &[Diagnostic]) {
        self.packets += 1;
        self.unfit += usize::from(!diagnostics.is_empty());
        for diagnostic in diagnostics {
            let path = without_places(&diagnostic.path);
            let pieces = pieces(&diagnostic.message);
            let key = (path, skeleton(&pieces));
            let group = self.groups.entry(key).or_insert_with(|| Group {
                times: 0,
                packets: 0,
                example: packet,
                last: usize::MAX,
                pieces: pieces
                    .iter()
                    .map(|piece| Some((*piece).to_owned()))
                    .collect(),
            });
            group.times += 1;
            if group.last != packet {
                group.packets += 1;
                group.last = packet;
            }
            for (known, piece) in group.pieces.iter_mut().zip(&pieces) {
                if known.as_deref().is_some_and(|known| known != *piece) {
                    *known = None;
                }
            }
        }
    }

    /// How many packets there were.
    pub fn packets(&self) -> usize {
        self.packets
    }

    /// How many of them do not fit.
    pub fn unfit(&self) -> usize {
        self.unfit
    }

    /// What does not fit, the most frequent first.
    pub fn groups(&self) -> Vec<Misfit> {
        let mut groups: Vec<(&(String, String), &Group)> = self.groups.iter().collect();
        groups.sort_by_key(|(key, group)| (std::cmp::Reverse(group.times), *key));
        let misfit = |((path, _), group): (&(String, String), &Group)| {
            let words = group.pieces.iter();
            Misfit {
                path: path.clone(),
                message: words.map(|piece| piece.as_deref().unwrap_or("…")).collect(),
                times: group.times,
                packets: group.packets,
                example: group.example,
            }
        };
        groups.into_iter().map(misfit).collect()
    }

    /// How many packets do not fit, then a line for each group; none where all packets fit.
    pub fn lines(&self) -> Vec<String> {
        if self.groups.is_empty() {
            return Vec::new();
        }
        let headline = format!(
            "{} of {} packets do not fit the wire:",
            self.unfit, self.packets
        );
        let mut lines = vec![headline];
        lines.extend(self.group_lines());
        lines
    }

    /// A line for each group, the most frequent first.
    pub fn group_lines(&self) -> Vec<String> {
        let groups = self.groups();
        let width = groups.first().map_or(0, |it| it.times.to_string().len());
        let line = |group: &Misfit| {
            let path = match group.path.as_str() {
                "" => String::new(),
                path => format!("{path}: "),
            };
            format!(
                "  {:>width$} x {path}{}  (packet {})",
                group.times, group.message, group.example
            )
        };
        let mut lines: Vec<String> = groups.iter().take(SHOWN).map(line).collect();
        if groups.len() > SHOWN {
            lines.push(format!("  and {} more", groups.len() - SHOWN));
        }
        lines
    }
}

/// `actions[3].ticks` as `actions[].ticks`.
fn without_places(path: &str) -> String {
    let mut is_place = false;
    let kept = path.chars().filter(|&character| {
        is_place &= character.is_ascii_digit();
        let is_kept = !is_place;
        is_place |= character == '[';
        is_kept
    });
    kept.collect()
}

/// A sentence in pieces: numbers, and what stands between them. What the wire says, in backticks, is
/// one piece.
fn pieces(sentence: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut before, mut is_quoted) = (0, None, false);
    for (at, character) in sentence.char_indices() {
        is_quoted ^= character == '`';
        let is_number = character.is_ascii_digit() && !is_quoted;
        if before.is_some_and(|before| before != is_number) {
            pieces.extend(sentence.get(start..at));
            start = at;
        }
        before = Some(is_number);
    }
    pieces.extend(sentence.get(start..));
    pieces
}

/// What sentences share that differ in numbers alone.
fn skeleton(pieces: &[&str]) -> String {
    let is_number = |piece: &str| piece.bytes().all(|byte| byte.is_ascii_digit());
    let pieces = pieces.iter();
    pieces
        .map(|piece| if is_number(piece) { "0" } else { piece })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_left_out_of_paths() {
        assert_eq!(
            without_places("actions[12].x2[0].ticks"),
            "actions[].x2[].ticks"
        );
    }

    #[test]
    fn sentences_differ_in_numbers_outside_of_what_the_wire_says() {
        let skeleton = |sentence| skeleton(&pieces(sentence));
        assert_eq!(
            skeleton("`u32` needs 32 bits, 8 are left"),
            "`u32` needs 0 bits, 0 are left"
        );
        assert_ne!(
            skeleton("`u32` needs 4 bits"),
            skeleton("`u16` needs 4 bits")
        );
    }
}
