//! What fields look like, and the wire that they are together.

/// Which way the bytes of a number go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// The lowest byte first.
    Little,
    /// The highest byte first.
    Big,
}

named! {
    /// What a field looks like.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Role {
        /// It numbers the packets of a link.
        "sequence" Sequence,
        /// The newest number that was heard from the other side.
        "ack" Ack,
        /// The numbers before the acked one, a bit each.
        "ack bits" AckBits,
        /// It repeats a number of the other side that numbers no packets.
        "echo" Echo,
        /// It goes up, but not with each packet.
        "counter" Counter,
        /// It grows as time does.
        "time" Time,
        /// It goes with the packet's length.
        "length" Length,
        /// It says what the packet is.
        "kind" Kind,
        /// One of few values.
        "enumeration" Enumeration,
        /// Always the same.
        "constant" Constant,
        /// Always the same on one link.
        "of the link" OfLink,
        /// Nothing is known.
        "unknown" Bytes,
    }
}

/// A field, as it is believed to be.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its first byte, from the packet's start.
    pub place: usize,
    /// Bytes.
    pub width: usize,
    /// The order of its bytes, where it has several.
    pub order: Order,
    /// What it looks like.
    pub role: Role,
    /// Why, in words.
    pub evidence: String,
    /// From 0 to 1: the share of packets that agree, less where there are few.
    pub confidence: f64,
    /// The values of an enumeration or a constant, the lowest first.
    pub(super) values: Vec<u64>,
}

/// The packets of one kind.
#[derive(Default)]
pub struct Layout {
    /// What the kind's byte is; `None` where there is one kind alone, or for the fields before that byte.
    pub kind: Option<u8>,
    /// How many packets it was seen in.
    pub packets: usize,
    /// Its fields, without holes, in the order of their places.
    pub fields: Vec<Field>,
    /// Where the fields end: what a shorter packet is cannot be said.
    pub end: usize,
    /// The entropy of a byte, from the least to the most, of those that follow the fields.
    pub rest_bits: Option<(f64, f64)>,
    /// From which place on nothing but noise was seen: compressed, encrypted, or packed by the bit.
    pub noise_from: Option<usize>,
}

/// The wire that the packets suggest.
pub struct Guess {
    /// The fields of all packets, up to and with the byte that says the kind.
    pub head: Layout,
    /// What follows it, by kind; empty where all packets are of one.
    pub kinds: Vec<Layout>,
    /// How many packets begin with [`OUTSIDE`](super::packets::OUTSIDE), where others do not.
    pub outside: usize,
    /// How many packets were looked at, and how many there are.
    pub looked_at: (usize, usize),
}
