//! Huffman codes with a fixed table: whole bytes, or single reads as Quake 3 has them.

use super::argument::Failure;
use super::compression::nothing_left;
use crate::layout::BitOrder;

/// The longest code, in bits.
pub(crate) const CODE_BITS_MAX: usize = 32;

/// The most symbols that a table has: all bytes, and an end.
pub(crate) const SYMBOLS_MAX: usize = 257;

/// Codes that are looked up at once have at most this many bits.
const LOOKUP_BITS: u32 = 11;

/// A code for each symbol; symbols up to 255 are bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HuffmanTable {
    /// By symbol: the bits, the first to come the lowest, and how many there are.
    codes: Vec<(u32, u8)>,
    /// By the next [`LOOKUP_BITS`] bits, the first the lowest: the symbol, and the bits that it
    /// takes; 0 bits: look in the tree.
    lookup: Vec<(u16, u8)>,
    /// Two branches a node: the index of a node, or [`LEAF`] and a symbol; 0: nothing.
    tree: Vec<[u32; 2]>,
    /// The symbol that ends a text.
    eof: Option<u16>,
}

const LEAF: u32 = 1 << 31;

/// One code begins with another one, so that nobody can tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodeConflict {
    pub first: usize,
    pub second: usize,
}

impl HuffmanTable {
    /// The table of these codes: at most [`SYMBOLS_MAX`] of at most [`CODE_BITS_MAX`] bits, in the
    /// order in which they come.
    pub(crate) fn new(codes: &[Vec<bool>], eof: Option<u16>) -> Result<HuffmanTable, CodeConflict> {
        let mut tree: Vec<[u32; 2]> = vec![[0, 0]];
        let mut table = HuffmanTable {
            codes: Vec::new(),
            lookup: vec![(0, 0); 1 << LOOKUP_BITS],
            tree: Vec::new(),
            eof,
        };
        for (symbol, code) in codes.iter().enumerate() {
            let mut node = 0;
            for (place, &bit) in code.iter().enumerate() {
                let branch = tree[node][usize::from(bit)];
                let is_last = place + 1 == code.len();
                if branch & LEAF != 0 || (is_last && branch != 0) {
                    let first = first_leaf(&tree, branch);
                    return Err(CodeConflict {
                        first,
                        second: symbol,
                    });
                }
                if is_last {
                    tree[node][usize::from(bit)] = LEAF | symbol as u32;
                } else if branch == 0 {
                    tree.push([0, 0]);
                    let next = tree.len() - 1;
                    tree[node][usize::from(bit)] = next as u32;
                    node = next;
                } else {
                    node = branch as usize;
                }
            }
            let bits = (0u32..)
                .zip(code)
                .map(|(place, &bit)| u32::from(bit) << place);
            table.codes.push((bits.sum(), code.len() as u8));
        }
        table.tree = tree;
        for next in 0..1u32 << LOOKUP_BITS {
            if let Some((symbol, bits)) = table.walk(next, LOOKUP_BITS) {
                table.lookup[next as usize] = (symbol, bits);
            }
        }
        Ok(table)
    }

    /// A table in which every symbol has a code of this many bits, for tests.
    #[cfg(test)]
    pub(crate) fn of_depths(bits: usize) -> HuffmanTable {
        let code = |symbol: usize| (0..bits).rev().map(|bit| symbol >> bit & 1 == 1).collect();
        let codes: Vec<Vec<bool>> = (0..256).map(code).collect();
        HuffmanTable::new(&codes, None).unwrap_or_else(|conflict| panic!("{conflict:?}"))
    }

    /// The symbol that the next bits are, the first of them the lowest, and how many it takes;
    /// `None` where no code begins so within `there` bits. `next` has up to 32 bits.
    #[inline]
    pub(crate) fn decode(&self, next: u32, there: u32) -> Option<(u16, u8)> {
        let place = next & ((1 << LOOKUP_BITS) - 1);
        match self.lookup.get(place as usize) {
            Some(&(symbol, bits)) if bits > 0 => {
                (u32::from(bits) <= there).then_some((symbol, bits))
            }
            _ => self.walk(next, there.min(32)),
        }
    }

    /// The byte that the next bits are, where its code is looked up at once.
    #[inline]
    pub(crate) fn decode_short(&self, next: u64) -> Option<(u8, u8)> {
        let place = next & ((1 << LOOKUP_BITS) - 1);
        let &(symbol, bits) = self.lookup.get(place as usize)?;
        let symbol = u8::try_from(symbol).ok().filter(|_| bits > 0)?;
        Some((symbol, bits))
    }

    fn walk(&self, next: u32, there: u32) -> Option<(u16, u8)> {
        let mut node = 0;
        for place in 0..there {
            let branch = self.tree.get(node)?[(next >> place & 1) as usize];
            if branch & LEAF != 0 {
                return Some(((branch & !LEAF) as u16, place as u8 + 1));
            }
            if branch == 0 {
                return None;
            }
            node = branch as usize;
        }
        None
    }

    /// The bits of a symbol, the first to come the lowest, and how many there are.
    pub(crate) fn code(&self, symbol: u16) -> Option<(u32, u8)> {
        let code = self.codes.get(usize::from(symbol)).copied();
        code.filter(|&(_, bits)| bits > 0)
    }

    /// The bytes that whole packed bytes hold, up to the end symbol, or up to bits that fill up the
    /// last byte.
    pub(super) fn unpack(
        &self,
        packed: &[u8],
        order: BitOrder,
        max: usize,
    ) -> Result<Vec<u8>, Failure> {
        let mut inner = Vec::new();
        let end = packed.len().saturating_mul(8);
        let mut at = 0;
        loop {
            let there = (end - at).min(32) as u32;
            let next = peek(packed, order, at);
            let Some((symbol, bits)) = self.decode(next, there) else {
                return match (self.eof, end - at) {
                    (None, 0..8) => Ok(inner),
                    (Some(_), 0..32) => Err(Failure::because("the text has no end")),
                    _ => Err(Failure::because(format!("no code begins so, at bit {at}"))),
                };
            };
            at += usize::from(bits);
            if Some(symbol) == self.eof {
                let after = packed.get(at.div_ceil(8)..).unwrap_or_default();
                // Teeworlds writes a zero more where the code fills its last byte.
                if after != [0] || !at.is_multiple_of(8) {
                    nothing_left(after)?;
                }
                return Ok(inner);
            }
            if inner.len() >= max {
                return Err(Failure::TooLong { max });
            }
            inner.push(byte(symbol)?);
        }
    }

    pub(super) fn pack(&self, inner: &[u8], order: BitOrder) -> Result<Vec<u8>, Failure> {
        let mut packed: Vec<u8> = Vec::new();
        let mut at = 0usize;
        let symbols = inner.iter().map(|&byte| u16::from(byte));
        for symbol in symbols.chain(self.eof) {
            let Some((code, bits)) = self.code(symbol) else {
                return Err(Failure::because(format!("there is no code for {symbol}")));
            };
            for place in 0..bits {
                let shift = at % 8;
                if shift == 0 {
                    packed.push(0);
                }
                let bit = (code >> place & 1) as u8;
                if let Some(last) = packed.last_mut() {
                    *last |= match order {
                        BitOrder::Lsb => bit << shift,
                        BitOrder::Msb => bit << (7 - shift),
                    };
                }
                at += 1;
            }
        }
        Ok(packed)
    }
}

/// The first symbol below a branch.
fn first_leaf(tree: &[[u32; 2]], mut branch: u32) -> usize {
    while branch & LEAF == 0 {
        let [zero, one] = tree[branch as usize];
        branch = if zero == 0 { one } else { zero };
    }
    (branch & !LEAF) as usize
}

fn byte(symbol: u16) -> Result<u8, Failure> {
    u8::try_from(symbol).map_err(|_| Failure::because(format!("the symbol {symbol} is no byte")))
}

/// Up to 32 bits from a bit on, the first the lowest; those past the end are 0.
fn peek(bytes: &[u8], order: BitOrder, at: usize) -> u32 {
    let mut next = 0u64;
    for place in 0..5 {
        let byte = bytes.get(at / 8 + place).copied().unwrap_or(0);
        let byte = match order {
            BitOrder::Lsb => byte,
            BitOrder::Msb => byte.reverse_bits(),
        };
        next |= u64::from(byte) << (8 * place);
    }
    (next >> (at % 8)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(codes: &[&str], eof: Option<u16>) -> Result<HuffmanTable, CodeConflict> {
        let codes: Vec<Vec<bool>> = codes
            .iter()
            .map(|code| code.chars().map(|bit| bit == '1').collect())
            .collect();
        HuffmanTable::new(&codes, eof)
    }

    #[test]
    fn bits_come_in_the_order_of_the_code() {
        let table = table(&["0", "10", "110", "111"], Some(3)).expect("a table");
        let packed = table.pack(&[1, 2, 0], BitOrder::Lsb).expect("has codes");
        // 10 110 0 111, the first bit the lowest.
        assert_eq!(packed, [0b1100_1101, 0b1]);
        assert_eq!(table.unpack(&packed, BitOrder::Lsb, 10), Ok(vec![1, 2, 0]));
        let packed = table.pack(&[1, 2, 0], BitOrder::Msb).expect("has codes");
        assert_eq!(packed, [0b1011_0011, 0b1000_0000]);
        assert_eq!(table.unpack(&packed, BitOrder::Msb, 10), Ok(vec![1, 2, 0]));
    }

    #[test]
    fn long_codes_are_found_in_the_tree() {
        let long = format!("{}1", "0".repeat(30));
        let other = "0".repeat(31);
        let table = table(&["1", &long, &other], None).expect("a table");
        let packed = table.pack(&[1, 0, 2, 0], BitOrder::Lsb).expect("has codes");
        let unpacked = table.unpack(&packed, BitOrder::Lsb, 10);
        assert_eq!(unpacked, Ok(vec![1, 0, 2, 0]));
    }

    #[test]
    fn a_code_that_begins_with_another_is_found() {
        let conflict = |first, second| Err(CodeConflict { first, second });
        assert_eq!(table(&["0", "10", "101"], None), conflict(1, 2));
        assert_eq!(table(&["000", "00"], None), conflict(0, 1));
        assert_eq!(table(&["0", "0"], None), conflict(0, 1));
    }

    #[test]
    fn what_is_no_code_is_said() {
        let table = table(&["00", "01", "10"], Some(2)).expect("a table");
        let why = |packed: &[u8]| {
            table
                .unpack(packed, BitOrder::Lsb, 100)
                .map_err(|f| f.to_string())
        };
        assert_eq!(
            why(&[0b0000_0011, 0, 0, 0]),
            Err("no code begins so, at bit 0".to_owned())
        );
        assert_eq!(why(&[0]), Err("the text has no end".to_owned()));
        assert_eq!(
            why(&[0b0000_0001, 0]),
            Err("1 byte is left after the end".to_owned())
        );
    }
}
