//! What can be told of packets that no wire describes: how each byte varies among the packets of a
//! link.

use std::collections::BTreeSet;

use netreel_protocol::session::PacketId;

use crate::detail::ByteColumn;
use crate::{Model, text};

/// How many packets of a link are looked at, half of them before the selected one.
const PACKETS_MAX: usize = 128;

/// How many bytes of each.
const BYTES_MAX: usize = 64;

/// Up to this many values are few.
const FEW: usize = 8;

impl Model {
    /// How the bytes of the packets of the selected packet's link vary, of those near it.
    pub(crate) fn byte_columns(&self, id: PacketId) -> Vec<ByteColumn> {
        let payloads: Vec<Vec<u8>> = self
            .near_on_link(id)
            .into_iter()
            .filter_map(|id| self.session.payload(id))
            .collect();
        columns(&payloads)
    }

    /// The packets of a packet's link near it, in order.
    fn near_on_link(&self, id: PacketId) -> Vec<PacketId> {
        let links = &self.index.links;
        let walk = |forward: bool| {
            let mut at = id;
            std::iter::from_fn(move || {
                at = links.neighbour(&self.session, at, forward)?;
                Some(at)
            })
            .take(PACKETS_MAX / 2)
        };
        let mut near: Vec<PacketId> = walk(false).collect();
        near.reverse();
        near.push(id);
        near.extend(walk(true));
        near
    }

    /// What is known of the selected packet's link without a wire: how many packets, how long they
    /// are, how many a second.
    pub fn link_text(&self, id: PacketId) -> String {
        let packets: Vec<_> = self
            .near_on_link(id)
            .iter()
            .filter_map(|&id| self.packet(id))
            .collect();
        let lengths = packets.iter().map(|packet| packet.length);
        let (least, most) = (
            lengths.clone().min().unwrap_or(0),
            lengths.max().unwrap_or(0),
        );
        let times: Vec<i64> = packets
            .iter()
            .filter_map(|it| it.first())
            .map(|stamp| stamp.time.0)
            .collect();
        let spread = match (times.first(), times.last()) {
            (Some(first), Some(last)) => last.saturating_sub(*first),
            _ => 0,
        };
        let lengths = if least == most {
            format!("{} each", text::counted(least as u64, "byte"))
        } else {
            format!("{least} to {most} bytes")
        };
        let rate = match spread {
            0 => String::new(),
            ns => format!(
                ", {:.1} a second",
                (times.len() - 1) as f64 * 1e9 / ns as f64
            ),
        };
        format!(
            "{} of this link near it: {lengths}{rate}",
            text::packets(packets.len() as u64)
        )
    }
}

fn columns(payloads: &[Vec<u8>]) -> Vec<ByteColumn> {
    let longest = payloads.iter().map(Vec::len).max().unwrap_or(0);
    let column = |offset: usize| {
        let bytes: Vec<u8> = payloads
            .iter()
            .filter_map(|it| it.get(offset).copied())
            .collect();
        let values: BTreeSet<u8> = bytes.iter().copied().collect();
        let steps = bytes.windows(2).filter_map(|pair| match pair {
            [before, after] => Some(after.wrapping_sub(*before)),
            _ => None,
        });
        let small = steps.clone().filter(|step| (1..=8).contains(step)).count();
        let all = steps.count();
        let few: Vec<u8> = values.iter().copied().take(FEW).collect();
        let shown = text::hex(&few);
        let what = match values.len() {
            1 if bytes.len() > 1 => format!("always {shown}"),
            _ if all >= 4 && small * 10 >= all * 8 => "counts up".to_owned(),
            count if count <= FEW => format!("{count} values: {shown}"),
            count if count * 2 >= bytes.len().min(256) => {
                format!("{count} values, nearly all differ")
            }
            count => format!("{count} values"),
        };
        let most = bytes.len().min(256).saturating_sub(1).max(1);
        ByteColumn {
            offset: offset as u32,
            packets: bytes.len(),
            values: values.len(),
            what,
            variety: values.len().saturating_sub(1) as f32 / most as f32,
        }
    };
    (0..longest.min(BYTES_MAX)).map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_magic_a_counter_a_kind_and_noise_are_told_apart() {
        let payload = |at: u32| {
            let noise = at.wrapping_mul(2_654_435_761).to_be_bytes()[0];
            vec![0x16, at as u8, (at % 3) as u8, noise]
        };
        let payloads: Vec<Vec<u8>> = (0..64).map(payload).collect();
        let what: Vec<String> = columns(&payloads).into_iter().map(|it| it.what).collect();
        assert_eq!(what[..3], ["always 16", "counts up", "3 values: 00 01 02"]);
        assert!(what[3].ends_with("nearly all differ"), "{what:?}");
    }

    #[test]
    fn packets_of_different_lengths_are_counted_as_far_as_they_reach() {
        let columns = columns(&[vec![1], vec![1, 2], vec![]]);
        let reach: Vec<usize> = columns.iter().map(|it| it.packets).collect();
        assert_eq!(reach, [2, 1]);
    }
}
