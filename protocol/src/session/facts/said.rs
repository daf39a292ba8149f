//! What a wire says of a packet, without its messages.

use std::ops::Range;

use netreel_wire::{ProtocolId, Sequence, packet_facts};

macro_rules! said {
    ($($(#[$doc:meta])* $name:ident: $of:ty,)*) => {
        /// What a wire says of a packet, without its messages: what [`netreel_wire::PacketFacts`] have.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Said {
            /// The protocol of the wire that claims it; `None` where none does.
            pub protocol: Option<ProtocolId>,
            $($(#[$doc])* pub $name: Option<$of>,)*
            /// See [`netreel_wire::PacketFacts::ack_bits`].
            pub ack_bits: Option<(u64, u8)>,
            /// See [`netreel_wire::PacketFacts::ack_ranges`].
            pub ack_ranges: Vec<(u64, u64)>,
            /// The packets that its sender lacks, first and last:
            /// [`netreel_wire::PacketFacts::nack_ranges`], and [`netreel_wire::PacketFacts::nack`].
            pub lacks: Vec<(u64, u64)>,
            /// See [`netreel_wire::PacketFacts::range_bits`].
            pub range_bits: u8,
            /// Its messages, by their numbers in the session.
            pub messages: Range<u32>,
            /// How many things a full decode has to say of it.
            pub diagnostics: u32,
        }
    };
}

packet_facts!(said);

impl Said {
    /// Whether its sender says that it lacks the packet with a number.
    pub(crate) fn is_lacking(&self, sequence: Sequence) -> bool {
        let bits = match self.range_bits {
            0 => sequence.bits,
            bits => bits,
        };
        let mask = u64::MAX >> (64 - u32::from(bits.clamp(1, 64)));
        self.lacks.iter().any(|&(first, last)| {
            let span = last.wrapping_sub(first) & mask;
            sequence.value.wrapping_sub(first) & mask <= span
        })
    }
}

#[cfg(test)]
mod tests {
    use netreel_wire::Sequence;

    use super::Said;

    #[track_caller]
    fn check_lacking(ranges: &[(u64, u64)], bits: u8, number: u64, expected: bool) {
        let said = Said {
            lacks: ranges.to_vec(),
            range_bits: bits,
            ..Said::default()
        };
        let sequence = Sequence {
            value: number,
            bits: 24,
        };
        assert_eq!(said.is_lacking(sequence), expected);
    }

    #[test]
    fn a_range_of_what_is_lacked_has_its_ends() {
        check_lacking(&[(3, 5)], 24, 3, true);
        check_lacking(&[(3, 5)], 24, 5, true);
        check_lacking(&[(3, 5)], 24, 6, false);
    }

    #[test]
    fn a_range_of_what_is_lacked_reaches_over_the_wrap() {
        check_lacking(&[(0xFF_FFFE, 1)], 24, 0, true);
        check_lacking(&[(0xFF_FFFE, 1)], 24, 2, false);
    }

    #[test]
    fn a_single_number_is_as_wide_as_the_packets_are() {
        check_lacking(&[(7, 7)], 0, 7, true);
        check_lacking(&[(7, 7)], 0, 8, false);
    }
}
