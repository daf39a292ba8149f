//! The frames of a pcap or pcapng file. pcap-parser reads headers, frames and blocks; where one
//! ends and the next begins is found here, so that a broken block costs itself and not the file.

use std::io::{self, BufReader, Chain, Cursor, Read};

use pcap_parser::pcapng::{Block, PcapNGOption, parse_block_be, parse_block_le};
use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{InterfaceDescriptionBlock, OptionCode, PcapHeader, parse_pcap_header};

/// What is longer is stepped over: no link carries it, and most likely its length lies.
const FRAME_MAX: usize = 1 << 20;
const INTERFACES_MAX: usize = 1 << 16;
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const PACKET_OBSOLETE: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
/// Options of a statistics block: what the interface dropped, and what the system did.
const STATISTICS_DROPS: [u16; 2] = [5, 7];
/// The option of a packet: what was dropped between it and the one before.
const PACKET_DROPS: [u16; 1] = [4];
/// What an obsolete packet block says where it does not know what was dropped.
const DROPS_UNKNOWN: u16 = u16::MAX;
/// A longer name of an interface is cut.
const NAME_MAX: usize = 256;

/// How a capture ended.
#[derive(Debug)]
pub enum Ending {
    /// There is more to read.
    Open,
    /// With its last frame whole.
    Whole,
    /// In the middle of a frame or block, which starts at this byte.
    Cut {
        /// Bytes from the start of the file.
        offset: u64,
    },
    /// At a block whose length cannot be: what follows cannot be found.
    Broken {
        /// Where the block starts, in bytes from the start of the file.
        offset: u64,
        /// What its length says.
        length: u32,
    },
    /// With an error of the operating system.
    Failed {
        /// Bytes from the start of the file.
        offset: u64,
        /// What it said.
        error: io::Error,
    },
}

/// Why a file is not read as a capture.
#[derive(Debug, thiserror::Error)]
pub enum PcapError {
    /// It holds nothing.
    #[error("the file is empty; a capture starts with a header")]
    Empty,
    /// It starts with something else.
    #[error("not a pcap or pcapng file: it starts with {}", hex(.start))]
    NotACapture {
        /// Its first bytes, four at most.
        start: Vec<u8>,
    },
    /// gzip or zstd around it.
    #[error("the file is compressed ({format}); unpack it first")]
    Compressed {
        /// With what.
        format: &'static str,
    },
    /// A pcap file that ends in its header.
    #[error("the file ends inside its header, after {length} of 24 bytes")]
    HeaderCut {
        /// How many bytes there are.
        length: usize,
    },
    /// The operating system could not read it.
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
}

/// One frame, from a file or from an interface.
pub(crate) struct Frame<'a> {
    /// Its number, from 0.
    pub index: u64,
    /// Nanoseconds since 1970.
    pub time: u64,
    pub link_type: i32,
    /// The capture's name and number of the interface.
    pub interface: (&'a str, u32),
    /// Which section of the capture described it.
    pub section: u32,
    pub bytes: &'a [u8],
}

#[derive(Debug)]
pub(super) struct Frames<R> {
    source: Source<R>,
    format: Format,
    pub ending: Ending,
    pub count: u64,
    pub oversized: u64,
    pub broken_blocks: u64,
    pub dropped: u64,
    time: u64,
}

#[derive(Debug)]
enum Format {
    Pcap(PcapHeader),
    PcapNg {
        big_endian: bool,
        interfaces: Vec<Interface>,
        /// How many interfaces the sections before this one had.
        before: u32,
        section: u32,
    },
}

#[derive(Debug)]
struct Interface {
    name: String,
    link_type: i32,
    snap_length: u32,
    ticks: Ticks,
    drops: Drops,
}

/// What was dropped at an interface, which is told in two ways, of which each may tell less.
#[derive(Debug, Default)]
struct Drops {
    /// What its statistics said last, from the start on.
    statistics: u64,
    /// The sum of what its packets say.
    packets: u64,
}

impl Drops {
    fn count(&self) -> u64 {
        self.statistics.max(self.packets)
    }
}

/// How an interface counts time.
#[derive(Debug)]
struct Ticks {
    per_second: u128,
    offset_s: i64,
}

/// Where a frame's bytes stand in the source's buffer, or nothing to hand out.
struct Found {
    start: usize,
    length: usize,
    link_type: i32,
    /// The interface's place in its section.
    interface: usize,
    time: Option<u64>,
}

impl<R: Read> Frames<R> {
    pub fn new(mut reader: R) -> Result<Frames<R>, PcapError> {
        let mut start = Vec::new();
        (&mut reader).take(4).read_to_end(&mut start)?;
        let mut source = Source {
            reader: BufReader::with_capacity(1 << 16, Cursor::new(start.clone()).chain(reader)),
            offset: 0,
            buffer: Vec::new(),
        };
        let format = match start.as_slice() {
            [] => return Err(PcapError::Empty),
            [0x0a, 0x0d, 0x0d, 0x0a] => Format::PcapNg {
                big_endian: false,
                interfaces: Vec::new(),
                before: 0,
                section: 0,
            },
            _ => {
                if let Some(format) = compression(&start) {
                    return Err(PcapError::Compressed { format });
                }
                let length = source.read_more(24)?;
                match parse_pcap_header(&source.buffer) {
                    Ok((_, header)) => Format::Pcap(header),
                    Err(error) if error.is_incomplete() && start.len() == 4 => {
                        return Err(PcapError::HeaderCut { length });
                    }
                    Err(_) => return Err(PcapError::NotACapture { start }),
                }
            }
        };
        Ok(Frames {
            source,
            format,
            ending: Ending::Open,
            count: 0,
            oversized: 0,
            broken_blocks: 0,
            dropped: 0,
            time: 0,
        })
    }

    /// The next frame that can be handed out.
    pub fn next_frame(&mut self) -> Option<Frame<'_>> {
        let found = loop {
            if !matches!(self.ending, Ending::Open) {
                return None;
            }
            let start = self.source.offset;
            self.source.buffer.clear();
            let step = match self.format {
                Format::Pcap(_) => self.pcap_frame(),
                Format::PcapNg { .. } => self.block(),
            };
            match step {
                Ok(Some(found)) => break found,
                Ok(None) => {}
                Err(Stop::End) => self.ending = Ending::Whole,
                Err(Stop::Cut) => self.ending = Ending::Cut { offset: start },
                Err(Stop::Broken(length)) => {
                    self.ending = Ending::Broken {
                        offset: start,
                        length,
                    };
                }
                Err(Stop::Failed(error)) => {
                    let offset = self.source.offset;
                    self.ending = Ending::Failed { offset, error };
                }
            }
        };
        self.time = found.time.unwrap_or(self.time);
        let index = self.count;
        self.count += 1;
        let bytes = self.source.hand_out(found.start, found.length);
        let (interface, section) = match &self.format {
            Format::Pcap(_) => (("", 0), 0),
            Format::PcapNg {
                interfaces,
                before,
                section,
                ..
            } => {
                let name = interfaces.get(found.interface).map(|each| &each.name[..]);
                let number = before.saturating_add(found.interface as u32);
                ((name.unwrap_or_default(), number), *section)
            }
        };
        Some(Frame {
            index,
            time: self.time,
            link_type: found.link_type,
            interface,
            section,
            bytes,
        })
    }

    fn pcap_frame(&mut self) -> Result<Option<Found>, Stop> {
        let Format::Pcap(header) = &self.format else {
            return Err(Stop::End);
        };
        let head = if header.is_modified_format() { 24 } else { 16 };
        self.source.start(head)?;
        let order = Order {
            big_endian: header.is_bigendian(),
        };
        let field = |at| order.u32(&self.source.buffer, at).ok_or(Stop::Cut);
        let (seconds, fraction, length) = (field(0)?, field(4)?, field(8)?);
        let unit = if header.is_nanosecond_precision() {
            1
        } else {
            1000
        };
        let time = u64::from(seconds)
            .saturating_mul(1_000_000_000)
            .saturating_add(u64::from(fraction) * unit);
        let link_type = header.network.0 & 0xffff;
        let length = length as usize;
        if length > FRAME_MAX {
            self.count += 1;
            self.oversized += 1;
            self.source.skip(length as u64)?;
            return Ok(None);
        }
        self.source.whole(length)?;
        Ok(Some(Found {
            start: head,
            length,
            link_type,
            interface: 0,
            time: Some(time),
        }))
    }

    fn block(&mut self) -> Result<Option<Found>, Stop> {
        let Format::PcapNg {
            big_endian,
            interfaces,
            before,
            section: number,
        } = &mut self.format
        else {
            return Err(Stop::End);
        };
        self.source.start(8)?;
        let kind = Order::LITTLE.u32(&self.source.buffer, 0);
        let section = kind == Some(SECTION_HEADER);
        if section {
            self.source.whole(4)?;
            *big_endian = match self.source.buffer.get(8..12) {
                Some([0x1a, 0x2b, 0x3c, 0x4d]) => true,
                Some([0x4d, 0x3c, 0x2b, 0x1a]) => false,
                _ => return Err(Stop::Broken(0)),
            };
        }
        let order = Order {
            big_endian: *big_endian,
        };
        let kind = order.u32(&self.source.buffer, 0).ok_or(Stop::Cut)?;
        let length = order.u32(&self.source.buffer, 4).ok_or(Stop::Cut)?;
        if length < 12 || length % 4 != 0 {
            return Err(Stop::Broken(length));
        }
        let read = self.source.buffer.len();
        let rest = (length as usize)
            .checked_sub(read)
            .ok_or(Stop::Broken(length))?;
        let packet = matches!(kind, SIMPLE_PACKET | ENHANCED_PACKET | PACKET_OBSOLETE);
        let wanted = packet || section || matches!(kind, INTERFACE_DESCRIPTION | STATISTICS);
        if !wanted || rest > FRAME_MAX {
            self.count += u64::from(packet);
            self.oversized += u64::from(packet);
            self.source.skip(rest as u64)?;
            return Ok(None);
        }
        self.source.whole(rest)?;
        if section {
            *before = before.saturating_add(interfaces.len() as u32);
            *number = number.saturating_add(1);
        }
        let found = read_block(kind, &self.source.buffer, order, interfaces);
        let fresh = drops(kind, &self.source.buffer, order, interfaces);
        self.dropped = self.dropped.saturating_add(fresh);
        Ok(found.unwrap_or_else(|Contradiction| {
            self.count += u64::from(packet);
            self.broken_blocks += 1;
            None
        }))
    }
}

/// What a file that starts with these bytes is compressed with.
pub fn compression(start: &[u8]) -> Option<&'static str> {
    match start {
        [0x1f, 0x8b, ..] => Some("gzip"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some("zstd"),
        _ => None,
    }
}

/// A block whose parts do not fit each other.
struct Contradiction;

fn read_block(
    kind: u32,
    bytes: &[u8],
    order: Order,
    interfaces: &mut Vec<Interface>,
) -> Result<Option<Found>, Contradiction> {
    if kind == SECTION_HEADER {
        interfaces.clear();
        return Ok(None);
    }
    let whole = |start: usize, (place, of): (usize, &Interface), length: u32, time| {
        let room = bytes.len().saturating_sub(start + 4);
        let length = length as usize;
        let found = Found {
            start,
            length,
            link_type: of.link_type,
            interface: place,
            time,
        };
        (length <= room).then_some(Some(found)).ok_or(Contradiction)
    };
    if kind == PACKET_OBSOLETE {
        let place = usize::from(order.u16(bytes, 8).ok_or(Contradiction)?);
        let interface = interfaces.get(place).ok_or(Contradiction)?;
        let field = |at| order.u32(bytes, at).ok_or(Contradiction);
        let time = interface.ticks.nanoseconds(field(12)?, field(16)?);
        return whole(28, (place, interface), field(20)?, Some(time));
    }
    let parse = if order.big_endian {
        parse_block_be
    } else {
        parse_block_le
    };
    let (_, block) = parse(bytes).map_err(|_| Contradiction)?;
    match block {
        Block::InterfaceDescription(block) => {
            if interfaces.len() >= INTERFACES_MAX {
                return Err(Contradiction);
            }
            interfaces.push(described(&block, order));
            Ok(None)
        }
        Block::EnhancedPacket(block) => {
            let place = block.if_id as usize;
            let interface = interfaces.get(place).ok_or(Contradiction)?;
            let time = interface.ticks.nanoseconds(block.ts_high, block.ts_low);
            whole(28, (place, interface), block.caplen, Some(time))
        }
        Block::SimplePacket(block) => {
            let interface = interfaces.first().ok_or(Contradiction)?;
            // The length is that of the wire; how much was kept, the interface says.
            let kept = match interface.snap_length {
                0 => block.origlen,
                most => block.origlen.min(most),
            };
            let there = u32::try_from(block.raw_packet_data().len()).unwrap_or(u32::MAX);
            whole(12, (0, interface), kept.min(there), None)
        }
        _ => Ok(None),
    }
}

/// The interface that a block describes.
fn described(block: &InterfaceDescriptionBlock<'_>, order: Order) -> Interface {
    let named = |option: &&PcapNGOption<'_>| option.code == OptionCode::IfName;
    let name = block.options.iter().find(named);
    let name = name.and_then(|name| name.as_bytes().ok()).unwrap_or(&[]);
    let name = name.get(..NAME_MAX).unwrap_or(name);
    Interface {
        name: String::from_utf8_lossy(name)
            .trim_end_matches('\0')
            .to_owned(),
        link_type: block.linktype.0,
        snap_length: block.snaplen,
        ticks: Ticks::of(block, order),
        drops: Drops::default(),
    }
}

/// What a block says that was dropped at its interface, beyond what was known.
fn drops(kind: u32, bytes: &[u8], order: Order, interfaces: &mut [Interface]) -> u64 {
    // The obsolete packet block numbers its interface in two bytes, and has what was dropped before
    // it in the next two.
    let (id, before_it) = match kind {
        PACKET_OBSOLETE => (order.u16(bytes, 8).map(u32::from), order.u16(bytes, 10)),
        _ => (order.u32(bytes, 8), None),
    };
    let Some(interface) = id.and_then(|id| interfaces.get_mut(id as usize)) else {
        return 0;
    };
    let drops = &mut interface.drops;
    let before = drops.count();
    match kind {
        STATISTICS => {
            let total = sum(bytes, 20, &STATISTICS_DROPS, order);
            drops.statistics = total.max(drops.statistics);
        }
        ENHANCED_PACKET => {
            let length = order.u32(bytes, 20).map_or(usize::MAX, |it| it as usize);
            let options = length
                .checked_next_multiple_of(4)
                .and_then(|length| length.checked_add(28));
            let fresh = options.map_or(0, |at| sum(bytes, at, &PACKET_DROPS, order));
            drops.packets = drops.packets.saturating_add(fresh);
        }
        PACKET_OBSOLETE => {
            let fresh = before_it.filter(|count| *count != DROPS_UNKNOWN);
            let fresh = u64::from(fresh.unwrap_or(0));
            drops.packets = drops.packets.saturating_add(fresh);
        }
        _ => {}
    }
    drops.count() - before
}

/// The sum of these options, of eight bytes each, among those of a block from `at` on.
fn sum(bytes: &[u8], mut at: usize, codes: &[u16], order: Order) -> u64 {
    let mut total = 0u64;
    // The block ends with its length.
    let bytes = bytes.get(..bytes.len().saturating_sub(4)).unwrap_or(&[]);
    let u16 = |at: usize| order.u16(bytes, at);
    while let (Some(code), Some(length)) = (u16(at), u16(at.saturating_add(2))) {
        let value = order.u64(bytes, at + 4);
        if let (true, 8, Some(value)) = (codes.contains(&code), length, value) {
            total = total.saturating_add(value);
        }
        if code == 0 {
            break;
        }
        at += 4 + usize::from(length).next_multiple_of(4);
    }
    total
}

impl Ticks {
    fn of(block: &InterfaceDescriptionBlock<'_>, order: Order) -> Ticks {
        // pcap-parser reads the offset as little-endian always, and refuses binary resolutions.
        let mut options = block.options.iter();
        let offset = options.find(|option| option.code == OptionCode::IfTsoffset);
        let offset = offset.and_then(|option| order.u64(option.value(), 0));
        let exponent = u32::from(block.if_tsresol & 0x7f);
        let per_second = match block.if_tsresol & 0x80 {
            0 => 10u128.checked_pow(exponent).unwrap_or(u128::MAX),
            _ => 1 << exponent,
        };
        Ticks {
            per_second,
            offset_s: offset.unwrap_or(0) as i64,
        }
    }

    /// Nanoseconds since 1970; 0 for what was before, the most there is for what is too late.
    fn nanoseconds(&self, high: u32, low: u32) -> u64 {
        let ticks = (u128::from(high) << 32) | u128::from(low);
        let since = (ticks * 1_000_000_000 / self.per_second) as i128;
        let time = since + i128::from(self.offset_s) * 1_000_000_000;
        u64::try_from(time.max(0)).unwrap_or(u64::MAX)
    }
}

#[derive(Clone, Copy)]
struct Order {
    big_endian: bool,
}

impl Order {
    const LITTLE: Order = Order { big_endian: false };

    /// The bytes of a number, the lowest first.
    fn number<const N: usize>(self, bytes: &[u8], at: usize) -> Option<[u8; N]> {
        let mut number = *bytes.get(at..)?.first_chunk()?;
        if self.big_endian {
            number.reverse();
        }
        Some(number)
    }

    fn u64(self, bytes: &[u8], at: usize) -> Option<u64> {
        self.number(bytes, at).map(u64::from_le_bytes)
    }

    fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        self.number(bytes, at).map(u32::from_le_bytes)
    }

    fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        self.number(bytes, at).map(u16::from_le_bytes)
    }
}

/// Why there is no further frame.
enum Stop {
    End,
    Cut,
    Broken(u32),
    Failed(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Failed(error)
    }
}

/// The file, read forward into one buffer.
#[derive(Debug)]
struct Source<R> {
    /// What was read to recognise the file, then the rest of it.
    reader: BufReader<Chain<Cursor<Vec<u8>>, R>>,
    offset: u64,
    buffer: Vec<u8>,
}

impl<R: Read> Source<R> {
    /// Up to `length` bytes more, behind what the buffer holds. The buffer grows with what is
    /// there, not with what was asked for.
    fn read_more(&mut self, length: usize) -> io::Result<usize> {
        let read = (&mut self.reader)
            .take(length as u64)
            .read_to_end(&mut self.buffer)?;
        self.offset += read as u64;
        Ok(read)
    }

    /// The first bytes of a frame or block: where there are none, the file ends well.
    fn start(&mut self, length: usize) -> Result<(), Stop> {
        match self.read_more(length)? {
            0 => Err(Stop::End),
            read if read < length => Err(Stop::Cut),
            _ => Ok(()),
        }
    }

    fn whole(&mut self, length: usize) -> Result<(), Stop> {
        let is_whole = self.read_more(length)? == length;
        is_whole.then_some(()).ok_or(Stop::Cut)
    }

    fn skip(&mut self, length: u64) -> Result<(), Stop> {
        let skipped = io::copy(&mut (&mut self.reader).take(length), &mut io::sink())?;
        self.offset += skipped;
        (skipped == length).then_some(()).ok_or(Stop::Cut)
    }

    fn hand_out(&mut self, start: usize, length: usize) -> &[u8] {
        self.buffer.get(start..start + length).unwrap_or(&[])
    }
}

fn hex(bytes: &[u8]) -> String {
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.join(" ")
}
