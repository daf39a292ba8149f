//! The operations that most packets have few of: apart from the loop, which is the faster for it.

use super::checksum::Checksum;
use super::keeping::{packed, unpacked};
use super::machine::{Frame, Machine, Stop};
use super::problem::Problem;
use super::sink::{Rest, Sink};
use super::tape::{Content, Tape};
use crate::arithmetic;
use crate::check::model::Circumstance;
use crate::facts::{RpcName, RulesId};
use crate::layout::ByteOrder;
use crate::limits::DEPTH_MAX;
use crate::operation::{Extent, MISSING, Operation};
use crate::values::codec::zigzag;
use crate::values::text::short_text;

impl<'p, T: Tape<'p>, S: Sink> Machine<'p, '_, T, S> {
    /// `next` is the place of the operation after this one; the result, where the run goes on.
    #[inline(never)]
    pub(super) fn operate_rarely(
        &mut self,
        operation: &Operation,
        mut next: usize,
    ) -> Result<usize, Stop> {
        let plan = self.plan;
        match *operation {
            Operation::Zigzag { to, field } => {
                let at = self.tape.at();
                let raw = self.read_leb128(field)?;
                self.sink.value(field, at..self.tape.at(), raw);
                self.keep(to, i128::from(zigzag(raw)));
            }
            Operation::Prefix { codec, to, field } => {
                let raw = self.read_prefix(codec, field)?;
                self.keep(to, i128::from(raw));
            }
            Operation::Circumstance { what, to } => {
                let value = match what {
                    Circumstance::SourcePort => i128::from(self.context.source_port),
                    Circumstance::DestinationPort => i128::from(self.context.destination_port),
                    Circumstance::FromFirst => i128::from(self.context.from_first),
                };
                self.keep(to, value);
            }
            Operation::Pass {
                parameter,
                from,
                frame,
            } => {
                let value = self.operand(from);
                let place = self.base + usize::from(frame) + usize::from(parameter);
                if let Some(register) = self.registers.get_mut(place) {
                    *register = value;
                }
            }
            Operation::Text {
                extent,
                encoding,
                fact,
                to,
                field,
            } => {
                let Content { whole, content } = self.take_content(extent, encoding, field)?;
                let end = match extent {
                    Extent::Padded(_) => self.tape.text_end(content.clone(), encoding),
                    _ => content.end,
                };
                let content = content.start..end;
                self.keep(to, packed(&content));
                if !self.tape.is_text(content.clone(), encoding) {
                    self.report(Some(field), whole.start, Problem::NotText { encoding });
                }
                self.sink.content(field, whole, content.clone());
                if fact.is_some() {
                    let mut text = None;
                    self.tape.with_bytes(content.clone(), |bytes| {
                        text = Some(short_text(bytes, encoding));
                    });
                    let place = self.place_of(content);
                    let text = text.unwrap_or_default();
                    self.message(|message| message.rpc_name = Some(RpcName { place, text }));
                }
            }
            Operation::Wide { order, field } => {
                let order = order.unwrap_or(self.tape.order_of_wide());
                let taken = self.tape.content(16, false, field);
                let Content { whole, .. } = taken.map_err(|problem| Stop::at(field, problem))?;
                self.sink
                    .value(field, whole, u64::from(order == ByteOrder::Big));
            }
            Operation::ExpectContent { value, field } => {
                let content = unpacked(self.register(value));
                let expected = self.program.dictionary.contents.get(&field);
                let mut same = false;
                self.tape.with_bytes(content, |found| {
                    same = expected.map(|e| &**e) == Some(found)
                });
                if !same {
                    let problem = Problem::Content { field };
                    self.report(Some(field), self.tape.at(), problem);
                }
            }
            Operation::Rules { value, table } => {
                let rules = self.member(value, table).and_then(|member| member.rules);
                self.facts.rules = rules.map(RulesId);
            }
            Operation::LayerBegin {
                place,
                catches,
                end,
            } => self.begin_layer(place, catches, end)?,
            Operation::LayerEnd => self.end_layer()?,
            Operation::Join { join, end } => {
                let Some(&join) = plan.joins.get(usize::from(join)) else {
                    return Ok(next);
                };
                next = self.join(join, next as u32, end)? as usize;
            }
            Operation::Follow { follow, end } => {
                let Some(&follow) = plan.follows.get(usize::from(follow)) else {
                    return Ok(next);
                };
                self.follow(follow, next as u32)?;
                next = end as usize;
            }
            Operation::StreamEnd => {
                let (at, left) = (self.tape.at(), self.tape.left());
                if left > 0 {
                    self.report(None, at, Problem::Trailing { bits: left });
                    let rest = self.tape.rest();
                    self.sink.rest_of_stream(rest, Rest::Unexplained);
                }
            }
            Operation::Known { to, from } => {
                let known = arithmetic::unresolved_field(self.operand(from)).is_none();
                self.keep(to, i128::from(known));
            }
            Operation::ByteOrder { big, before } => {
                let order = match self.needed(big)? {
                    0 => ByteOrder::Little,
                    _ => ByteOrder::Big,
                };
                let around = self.tape.byte_order();
                self.keep(before, i128::from(around == ByteOrder::Big));
                self.tape.set_byte_order(order);
            }
            Operation::Function { to, call } => self.call_function(to, call)?,
            Operation::Foresee { to, field } => {
                let present = self.tape.foresee(field);
                self.keep(to, i128::from(present));
            }
            Operation::Meet { to } => {
                let present = self.tape.meet(self.register(to) != 0);
                self.keep(to, i128::from(present));
            }
            Operation::Derive { slot, field } => {
                let number = self.tape.derive(field);
                self.keep(slot, i128::from(number));
            }
            Operation::CheckDerived {
                slot,
                value,
                derived,
                field,
            } => {
                let (found, derived) = (self.register(value), self.operand(derived));
                // Of what no packet has set nobody knows whether it is right.
                if arithmetic::unresolved_field(derived).is_some() {
                    return Ok(next);
                }
                let slot = u32::try_from(self.register(slot)).unwrap_or(0);
                if self.tape.is_derived(slot, found, derived) {
                    return Ok(next);
                }
                let at = self.tape.at();
                self.report(Some(field), at, Problem::Derived { derived, found });
            }
            Operation::ChecksumBegin { kind } => {
                self.checksum = Some(Checksum::new(kind));
                self.checksum_lacks = None;
            }
            Operation::ChecksumBits { from, to } => {
                let (from, to) = (self.register(from) as u32, self.register(to) as u32);
                if let Some(checksum) = &mut self.checksum {
                    self.tape.with_bytes(from..to, |bytes| checksum.add(bytes));
                }
            }
            Operation::KeepStream { to } => {
                let stream = self.tape.stream();
                let bytes = stream.bytes(0, stream.end());
                self.unpacked.push(bytes);
                self.keep(to, self.unpacked.len() as i128 - 1);
            }
            Operation::ChecksumUnpacked { kept, from, to } => {
                let kept = self.register(kept);
                let (from, to) = (self.register(from) as u32, self.register(to) as u32);
                if kept == MISSING && from < to {
                    // What could not be unpacked was told already.
                    self.checksum_lacks = Some(arithmetic::unresolved(u16::MAX));
                }
                let Some(checksum) = &mut self.checksum else {
                    return Ok(next);
                };
                match usize::try_from(kept).map(|kept| self.unpacked.get(kept)) {
                    Ok(bytes) => checksum.add(bytes.map_or(&[], Vec::as_slice)),
                    Err(_) => self.tape.with_bytes(from..to, |bytes| checksum.add(bytes)),
                }
            }
            Operation::ChecksumInteger { value, bytes, big } => {
                let value = self.operand(value);
                if arithmetic::unresolved_field(value).is_some() {
                    self.checksum_lacks = Some(value);
                }
                let mut value = (value as u64).to_le_bytes();
                let value = &mut value[..usize::from(bytes).min(8)];
                if big {
                    value.reverse();
                }
                if let Some(checksum) = &mut self.checksum {
                    checksum.add(value);
                }
            }
            Operation::ChecksumEnd { to } => {
                if let Some(checksum) = self.checksum.take() {
                    let value = i128::from(checksum.finish());
                    self.keep(to, self.checksum_lacks.unwrap_or(value));
                }
            }
            Operation::Call { to, frame, weight } => {
                if self.frames.len() + self.frames_around >= DEPTH_MAX {
                    return Err(Stop::here(Problem::TooDeep));
                }
                self.count_nodes(weight)?;
                self.frames.push(Frame {
                    back: next,
                    base: self.base,
                });
                self.base += usize::from(frame);
                next = to as usize;
            }
            // The loop has all others.
            _ => {}
        }
        Ok(next)
    }
}
