//! Names of items, file by file: a file sees its own and those of the files that it imports.

use std::collections::{BTreeMap, BTreeSet};

use crate::report::Span;
use crate::syntax::ast::Ident;

/// What names stand for, with the file and the place that declare each.
pub(super) struct Names<'a, T> {
    declared: BTreeMap<&'a str, Vec<(usize, Span, T)>>,
}

/// The files whose names can be used at a place.
#[derive(Clone, Copy)]
pub(super) struct Seen<'s> {
    own: usize,
    imported: &'s BTreeSet<usize>,
}

impl<'s> Seen<'s> {
    /// What a file sees that imports these.
    pub(super) fn new(own: usize, imported: &'s BTreeSet<usize>) -> Seen<'s> {
        Seen { own, imported }
    }

    pub(super) fn has(self, file: usize) -> bool {
        self.own == file || self.imported.contains(&file)
    }
}

impl<T> Default for Names<'_, T> {
    fn default() -> Self {
        Names {
            declared: BTreeMap::new(),
        }
    }
}

impl<'a, T: Copy> Names<'a, T> {
    /// Notes what a name stands for. Where the file has declared it before, that stays, and its place is
    /// given.
    pub(super) fn insert(&mut self, name: Ident<'a>, file: usize, value: T) -> Option<Span> {
        let declared = self.declared.entry(name.text).or_default();
        let first = declared.iter().find(|(other, ..)| *other == file);
        let first = first.map(|&(_, span, _)| span);
        if first.is_none() {
            declared.push((file, name.span, value));
        }
        first
    }

    /// All that a name can stand for, with the places that declare it.
    pub(super) fn all(&self, name: &str, seen: Seen<'_>) -> impl Iterator<Item = (Span, T)> {
        let declared = self.declared.get(name).into_iter().flatten();
        let seen = declared.filter(move |(file, ..)| seen.has(*file));
        seen.map(|&(_, span, value)| (span, value))
    }

    /// What a name stands for.
    pub(super) fn get(&self, name: &str, seen: Seen<'_>) -> Option<T> {
        self.all(name, seen).next().map(|(_, value)| value)
    }

    /// The names that can be used.
    pub(super) fn seen(&self, seen: Seen<'_>) -> Vec<&'a str> {
        self.seen_of(seen, |_| true)
    }

    /// Those that stand for something of a sort.
    pub(super) fn seen_of(&self, seen: Seen<'_>, is_of: impl Fn(T) -> bool) -> Vec<&'a str> {
        let is_seen = |(file, _, value): &(usize, Span, T)| seen.has(*file) && is_of(*value);
        let names = self.declared.iter();
        let names = names.filter(|(_, declared)| declared.iter().any(is_seen));
        names.map(|(name, _)| *name).collect()
    }
}
