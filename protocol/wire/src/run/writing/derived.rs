//! Fields that are worked out, and what earlier runs know of them.

use super::Writing;
use super::asked::Asked;
use crate::bit_writer::BitWriter;
use crate::bits::BitReader;
use crate::check::model::Look;
use crate::json::{Leaf, integer_of, raw_of, raw_of_integer};
use crate::program::FieldInfo;

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

    /// The window that is about to end says where what was asked in it had to end; `None`: with the
    /// stream. What it is shows when all of the stream is written: blocks elsewhere write over it.
    pub(super) fn close_looks(&mut self, end: Option<u32>, depth: usize) {
        let stream = self.streams();
        let (closed, open) = std::mem::take(&mut self.looks)
            .into_iter()
            .partition::<Vec<Asked>, _>(|look| look.depth >= depth);
        self.looks = open;
        let closed = closed.into_iter().map(|look| Asked { end, ..look });
        self.closed_looks.extend(closed.map(|look| (stream, look)));
    }

    /// A layer was left half written: nobody knows what was asked inside it.
    pub(super) fn forget_looks(&mut self) {
        let stream = self.streams();
        self.closed_looks.retain(|(of, _)| *of <= stream);
    }

    /// How many layers are open.
    pub(super) fn streams(&self) -> usize {
        let layers = self.windows.iter().filter(|window| window.layer.is_some());
        layers.count()
    }

    /// Works out what was asked of a stream whose bytes are all there. `stream`: how many layers are
    /// around it.
    pub(super) fn settle_looks(&mut self, stream: usize, bytes: &[u8], around: &BitWriter) {
        let (settled, open) = std::mem::take(&mut self.closed_looks)
            .into_iter()
            .partition::<Vec<_>, _>(|(of, _)| *of >= stream);
        self.closed_looks = open;
        let whole = bytes.len() as u32 * 8;
        for (_, look) in settled {
            let end = look.end.unwrap_or(whole).min(whole);
            let worked_out = match look.look {
                Look::Left => Some(i128::from(end.saturating_sub(look.at))),
                Look::Integer(codec) => {
                    let reader = BitReader::new(bytes, around.order());
                    let mut reader = reader.coded(around.coding());
                    reader.set_byte_order(look.order);
                    reader.set_end(end);
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
    }

    /// The bytes of the packet; works out what was asked of them.
    pub(crate) fn finished(&mut self) -> Vec<u8> {
        let writer = std::mem::replace(&mut self.writer, BitWriter::new(self.dictionary.order));
        let around = writer.without_bytes();
        let bytes = writer.into_bytes();
        self.close_looks(None, 0);
        self.settle_looks(0, &bytes, &around);
        bytes
    }
}
