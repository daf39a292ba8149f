//! Names of items, file by file: a file sees its own and those of the files that it imports.

use std::collections::{BTreeMap, BTreeSet};

/// What names stand for, with the file that declares each.
pub(super) struct Names<'a, T> {
    declared: BTreeMap<&'a str, Vec<(usize, T)>>,
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

    fn has(self, file: usize) -> bool {
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

impl<'a, T> Names<'a, T> {
    /// Notes what a name stands for; a second one in the same file is reported elsewhere.
    pub(super) fn insert(&mut self, name: &'a str, file: usize, value: T) {
        let declared = self.declared.entry(name).or_default();
        if declared.iter().all(|(other, _)| *other != file) {
            declared.push((file, value));
        }
    }

    /// What a name stands for.
    pub(super) fn get(&self, name: &str, seen: Seen<'_>) -> Option<&T> {
        let mut declared = self.declared.get(name)?.iter();
        let found = declared.find(|(file, _)| seen.has(*file));
        found.map(|(_, value)| value)
    }

    /// All that a name can stand for: more than one is a mistake.
    pub(super) fn all(&self, name: &str, seen: Seen<'_>) -> Vec<T>
    where
        T: Copy,
    {
        let declared = self.declared.get(name).into_iter().flatten();
        let seen = declared.filter(|(file, _)| seen.has(*file));
        seen.map(|&(_, value)| value).collect()
    }

    /// The names that can be used.
    pub(super) fn seen<'s>(&'s self, seen: Seen<'s>) -> impl Iterator<Item = &'a str> + 's {
        let any =
            move |declared: &Vec<(usize, T)>| declared.iter().any(|(file, _)| seen.has(*file));
        let names = self.declared.iter();
        names
            .filter(move |(_, declared)| any(declared))
            .map(|(name, _)| *name)
    }
}
