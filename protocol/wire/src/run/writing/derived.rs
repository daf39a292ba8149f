//! Fields that are worked out, and what earlier runs know of them.

use super::Writing;
use crate::check::model::Look;
use crate::json::{Leaf, integer_of, raw_of, raw_of_integer};
use crate::program::FieldInfo;

/// A derived field as a run wrote it.
#[derive(Clone, Debug)]
pub(crate) struct Derived {
    pub(crate) path: String,
    /// What the JSON says it is.
    pub(crate) given: Option<i128>,
    pub(crate) written: i128,
    /// What it should have been.
    pub(crate) worked_out: Option<i128>,
    /// It stays what the JSON says.
    pub(super) keeps: bool,
}

impl Derived {
    pub(crate) fn is_settled(&self) -> bool {
        self.keeps
            || self
                .worked_out
                .is_none_or(|worked_out| worked_out == self.written)
    }
}

/// Something that was asked of what comes.
pub(super) struct Asked {
    /// Among the derived fields.
    pub(super) number: usize,
    pub(super) look: Look,
    pub(super) at: u32,
    pub(super) ahead: i128,
    /// How many windows were open.
    pub(super) depth: usize,
}

impl<'j> Writing<'j> {
    /// What a derived field has on the wire.
    pub(super) fn derived_raw(
        &mut self,
        number: usize,
        info: &FieldInfo,
        leaf: Option<Leaf<'j>>,
    ) -> Result<(u64, Option<u32>), String> {
        let given = leaf.map(|leaf| raw_of(leaf, info.shown, self.dictionary));
        let keeps = leaf.is_some_and(|leaf| leaf.keeps);
        let raw = match (self.settled.get(number), given.clone()) {
            (Some(&settled), _) if !keeps => raw_of_integer(settled, info.shown),
            (_, Some(given)) => given,
            (_, None) => Ok(0),
        }?;
        if let Some(derived) = self.derived.get_mut(number) {
            let given = given.clone().and_then(Result::ok);
            derived.given = given.and_then(|raw| integer_of(raw, info.shown));
            derived.written = integer_of(raw, info.shown).unwrap_or(0);
            derived.keeps = keeps;
        }
        // A width that somebody chose goes with the value that they chose.
        let bits = leaf.and_then(|leaf| leaf.bits);
        let same = given.is_some_and(|given| given == Ok(raw));
        Ok((raw, bits.filter(|_| same)))
    }

    /// Works out what was asked of what came, as far as the window that is about to end says it.
    pub(super) fn settle_looks(&mut self, end: u32, depth: usize) {
        for look in self.looks.iter().filter(|look| look.depth == depth) {
            let worked_out = match look.look {
                Look::Left => Some(i128::from(end.saturating_sub(look.at))),
                Look::Integer(codec) => {
                    let mut reader = self.writer.reader();
                    let ahead = u32::try_from(look.ahead).ok();
                    let there =
                        ahead.is_some_and(|ahead| reader.skip(look.at) && reader.skip_read(ahead));
                    let raw = codec.read(reader.order(), |bits| reader.read(bits));
                    raw.ok().filter(|_| there).map(i128::from)
                }
            };
            if let Some(derived) = self.derived.get_mut(look.number) {
                derived.worked_out = worked_out;
            }
        }
        self.looks.retain(|look| look.depth != depth);
    }

    /// The same, at the end of the packet.
    pub(crate) fn settle_last_looks(&mut self) {
        let end = 8 * self.writer.bytes().len() as u32;
        self.settle_looks(end, 0);
    }
}
