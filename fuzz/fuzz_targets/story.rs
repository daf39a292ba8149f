//! The sample wires, and packets on them as a fuzzer's bytes.

use std::sync::LazyLock;

use netreel_wire::{Context, Wire};

macro_rules! samples {
    ($($name:literal),*) => {
        [$(($name, include_str!(concat!("../../samples/wires/", $name)))),*]
    };
}

/// In the order in which a story's first byte chooses; new ones come last, so that seeds stay.
const SAMPLES: [(&str, &str); 7] = samples![
    "boxes.wire",
    "enet.wire",
    "kcp.wire",
    "minetest.wire",
    "raknet.wire",
    "renet.wire",
    "teeworlds07.wire"
];

static WIRES: LazyLock<Vec<Wire>> = LazyLock::new(|| {
    let compile = |(name, text)| Wire::compile(name, text).expect("a sample wire");
    SAMPLES.into_iter().map(compile).collect()
});

/// Packets of one connection: a byte that chooses the wire, then for each packet a byte whose
/// lowest bit is the direction, the length in two bytes, the lower one first, and the bytes.
pub struct Story<'a> {
    pub wire: &'static Wire,
    packets: &'a [u8],
}

impl<'a> Story<'a> {
    pub fn new(bytes: &'a [u8]) -> Option<Story<'a>> {
        let (choice, packets) = bytes.split_first()?;
        let wire = &WIRES[usize::from(*choice) % WIRES.len()];
        Some(Story { wire, packets })
    }
}

impl<'a> Iterator for Story<'a> {
    type Item = (Context, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (head, rest) = self.packets.split_at_checked(3)?;
        let length = usize::from(u16::from_le_bytes([head[1], head[2]]));
        let (packet, rest) = rest.split_at(length.min(rest.len()));
        self.packets = rest;
        let from_first = head[0] & 1 == 0;
        let context = Context {
            source_port: if from_first { 40_000 } else { 27_960 },
            destination_port: if from_first { 27_960 } else { 40_000 },
            from_first,
        };
        Some((context, packet))
    }
}
