//! Whether what may be another in a copy is what it may be.

use std::collections::BTreeMap;

use netreel_reel::{Part, Reel};

use crate::forms::Form;
use crate::rules::{DROPPED, Texts};
use crate::survey::Survey;

/// What stands for what, and that no two things have one.
pub(crate) struct Pairs<T> {
    new: BTreeMap<T, T>,
    taken: BTreeMap<T, T>,
}

impl<T: Ord + Copy> Pairs<T> {
    pub fn new() -> Pairs<T> {
        Pairs {
            new: BTreeMap::new(),
            taken: BTreeMap::new(),
        }
    }

    /// Whether this is what stood for it before, and for nothing else.
    pub fn fits(&mut self, old: T, new: T) -> bool {
        *self.new.entry(old).or_insert(new) == new && *self.taken.entry(new).or_insert(old) == old
    }
}

/// Whether a text differs only in words in which something was to be removed.
pub(crate) fn text_fits(
    (rule, form): (Texts, Form),
    (old, new): (&[u8], &[u8]),
    survey: &Survey,
) -> bool {
    let stays = rule != Texts::Drop || old.is_empty();
    if old == new && stays || new == DROPPED.as_bytes() {
        return true;
    }
    let (Ok(old), Ok(new)) = (std::str::from_utf8(old), std::str::from_utf8(new)) else {
        return false;
    };
    let (olds, news) = (words(old), words(new));
    if !stays || olds.len() != news.len() {
        return false;
    }
    let (rules, map) = (&survey.rules, &survey.map);
    // A text that is removed may be several words.
    if rules.remove.iter().any(|text| old.contains(text.as_str())) {
        return true;
    }
    // Also in another spelling than the one that is searched for, `FD77::ABCD`.
    let word_at = |at: usize| words(old.get(..at).unwrap_or_default()).len() - 1;
    let mapped: Vec<_> = map
        .mapped(old, form)
        .into_iter()
        .map(|(range, _)| word_at(range.start)..=word_at(range.end))
        .collect();
    let named = |at: usize, word: &str| {
        mapped.iter().any(|words| words.contains(&at))
            || survey.stands_in(word.as_bytes()).is_some()
            || map
                .ports
                .keys()
                .any(|port| word.contains(&port.to_string()))
            || map.nodes.keys().any(|node| word.contains(node.as_str()))
    };
    let mut pairs = olds.iter().zip(&news).enumerate();
    pairs.all(|(at, (old, new))| old == new || named(at, old))
}

fn words(text: &str) -> Vec<&str> {
    text.split(char::is_whitespace).collect()
}

/// Whether parts of a recording are the same, their sockets' endpoints aside.
pub(crate) fn is_same_part(old: &Part, new: &Part) -> bool {
    let sockets = |part: &Part| part.sockets.iter().map(|(id, _)| *id).collect::<Vec<_>>();
    (old.number, old.first, old.on) == (new.number, new.first, new.on)
        && sockets(old) == sockets(new)
}

/// Whether the copy lacks what the reel lacks, and ends as it does.
pub(crate) fn missing(old: &Reel, new: &Reel) -> Result<(), String> {
    if old.missing_parts() != new.missing_parts() {
        return Err("other parts of the recording are missing".to_owned());
    }
    // What a ring file says of numbers behind the last event no reel can say.
    let last = new.blocks().checked_sub(1);
    let last = last.and_then(|last| new.block(last).ok());
    let end = last.and_then(|block| block.records().last().map(|record| record.number));
    let gaps = |reel: &Reel| {
        let gaps = reel.gaps().iter().filter(|gap| Some(gap.first) < end);
        gaps.map(|gap| (gap.first, gap.count)).collect::<Vec<_>>()
    };
    if gaps(old) != gaps(new) {
        return Err("other events are missing".to_owned());
    }
    let ends = |reel: &Reel| (reel.ending().goes_on(), reel.ending().is_closed());
    if ends(old) == ends(new) {
        Ok(())
    } else {
        Err("it ends in another way".to_owned())
    }
}
