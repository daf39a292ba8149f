//! A Huffman code that knows no byte at first and learns from each that comes: that of Quake 3's
//! connection requests (ioquake3, `huffman.c`; Sayood, Introduction to Data Compression, 3.4).

use super::argument::Failure;

/// No node.
const NONE: usize = usize::MAX;

/// The node that stands for all bytes that have not come yet.
const NEW: usize = 0;

struct Node {
    parent: usize,
    /// Both [`NONE`] of a leaf.
    branches: [usize; 2],
    weight: u32,
    /// Among all nodes by weight, the lightest first.
    rank: usize,
    byte: u8,
}

struct Tree {
    nodes: Vec<Node>,
    ranks: Vec<usize>,
    leaves: [usize; 256],
    root: usize,
}

impl Tree {
    fn new() -> Tree {
        let mut tree = Tree {
            nodes: Vec::new(),
            ranks: vec![NEW],
            leaves: [NEW; 256],
            root: NEW,
        };
        tree.add([NONE; 2], 0, 0);
        tree
    }

    fn add(&mut self, branches: [usize; 2], weight: u32, byte: u8) -> usize {
        self.nodes.push(Node {
            parent: NONE,
            branches,
            weight,
            rank: 0,
            byte,
        });
        self.nodes.len() - 1
    }

    fn trade_ranks(&mut self, a: usize, b: usize) {
        let ranks = [b, a].map(|id| self.nodes[id].rank);
        for (id, rank) in [a, b].into_iter().zip(ranks) {
            self.nodes[id].rank = rank;
            self.ranks[rank] = id;
        }
    }

    /// Puts a node in the place of another one.
    fn hang(&mut self, parent: usize, old: usize, new: usize) {
        match self.nodes.get_mut(parent) {
            Some(Node { branches, .. }) => branches[usize::from(branches[0] != old)] = new,
            None => self.root = new,
        }
        self.nodes[new].parent = parent;
    }

    /// A byte below a node has come once more.
    fn count(&mut self, id: usize) {
        let Some(node) = self.nodes.get(id) else {
            return;
        };
        let (above, weight) = (node.parent, node.weight);
        let from = self.ranks[node.rank..].iter();
        let equal = from.take_while(|&&it| self.nodes[it].weight == weight);
        let highest = equal.last().copied().unwrap_or(id);
        if highest != id {
            let other = self.nodes[highest].parent;
            if highest != above && above == other {
                self.nodes[above].branches.reverse();
            } else if highest != above {
                self.hang(above, id, highest);
                self.hang(other, highest, id);
            }
            self.trade_ranks(id, highest);
        }
        self.nodes[id].weight += 1;
        let parent = self.nodes[id].parent;
        self.count(parent);
        let before = self.nodes[id].rank.checked_sub(1);
        if parent != NONE && before.is_some_and(|before| self.ranks[before] == parent) {
            self.trade_ranks(id, parent);
        }
    }

    fn learn(&mut self, byte: u8) {
        let known = self.leaves[usize::from(byte)];
        if known != NEW {
            return self.count(known);
        }
        let above = self.nodes[NEW].parent;
        let leaf = self.add([NONE; 2], 1, byte);
        let fork = self.add([NEW, leaf], 1, 0);
        self.hang(above, NEW, fork);
        self.nodes[NEW].parent = fork;
        self.nodes[leaf].parent = fork;
        self.leaves[usize::from(byte)] = leaf;
        self.ranks.splice(1..1, [leaf, fork]);
        for (rank, &id) in self.ranks.iter().enumerate() {
            self.nodes[id].rank = rank;
        }
        self.count(above);
    }
}

/// The number of bytes, the higher one of the two first, then a code for each; the first bit is the lowest
/// of its byte. A byte that is new comes as it is behind the code for that, its highest bit first.
pub(super) fn unpack(packed: &[u8], max: usize) -> Result<Vec<u8>, Failure> {
    let too_short = || Failure::because("the packed bytes end too early");
    let (size, codes) = packed.split_first_chunk().ok_or_else(too_short)?;
    let size = usize::from(u16::from_be_bytes(*size));
    if size > max {
        return Err(Failure::TooLong { max });
    }
    let mut bits = codes
        .iter()
        .flat_map(|byte| (0..8).map(move |at| byte >> at & 1));
    let mut bit = || bits.next().ok_or_else(too_short);
    let (mut tree, mut inner) = (Tree::new(), Vec::new());
    while inner.len() < size {
        let mut id = tree.root;
        while tree.nodes[id].branches[0] != NONE {
            id = tree.nodes[id].branches[usize::from(bit()?)];
        }
        let mut byte = tree.nodes[id].byte;
        if id == NEW {
            for _ in 0..8 {
                byte = byte << 1 | bit()?;
            }
        }
        inner.push(byte);
        tree.learn(byte);
    }
    Ok(inner)
}

/// The same the other way; ends with a bit more, as the engine does.
pub(super) fn pack(inner: &[u8]) -> Result<Vec<u8>, Failure> {
    let size = u16::try_from(inner.len())
        .map_err(|_| Failure::because(format!("{} bytes are too many", inner.len())))?;
    let (mut tree, mut bits) = (Tree::new(), Vec::new());
    for &byte in inner {
        let (leaf, start) = (tree.leaves[usize::from(byte)], bits.len());
        let mut id = leaf;
        while let Some(above) = tree.nodes.get(tree.nodes[id].parent) {
            bits.push(above.branches[1] == id);
            id = tree.nodes[id].parent;
        }
        bits[start..].reverse();
        if leaf == NEW {
            bits.extend((0..8).rev().map(|at| byte >> at & 1 == 1));
        }
        tree.learn(byte);
    }
    bits.push(false);
    let mut packed = size.to_be_bytes().to_vec();
    packed.extend(bits.chunks(8).map(|bits| {
        let places = (0..).zip(bits);
        places.fold(0, |byte, (at, &bit)| byte | u8::from(bit) << at)
    }));
    Ok(packed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_that_has_come_takes_fewer_bits() {
        // 'a' as it is; then 1; then 0 and 'b' as it is.
        let packed = pack(b"aab").expect("three bytes");
        assert_eq!(packed, [0, 3, 0b1000_0110, 0b0001_1001, 0b0000_0001]);
        assert_eq!(unpack(&packed, 3), Ok(b"aab".to_vec()));
        assert_eq!(unpack(&packed, 2), Err(Failure::TooLong { max: 2 }));
        assert!(unpack(&packed[..4], 3).is_err());
        assert!(unpack(&[0], 3).is_err());
        assert_eq!(pack(b""), Ok(vec![0, 0, 0]));
    }
}
