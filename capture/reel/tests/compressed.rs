//! Blocks in compressed form read like others, stand alone, and say it where they are cut.

mod sample;

use netreel_reel::{
    CutWhy, Ending, Event, EventNumber, Header, Reel, ReelWriter, Time, compressed_frame,
};
use netreel_reel::{Record, ThreadId};
use sample::{header, open, read, sample, write};

/// The same as [`write`], compressed.
fn write_compressed(events: &[(u64, u16, Event<'_>)], seal_every: usize) -> Vec<u8> {
    let mut writer = ReelWriter::create(Vec::new(), &header()).unwrap();
    writer.compress();
    for (index, (time, thread, event)) in events.iter().enumerate() {
        let record = Record {
            number: EventNumber(index as u64),
            time: Time(*time),
            thread: ThreadId(*thread),
            event: *event,
        };
        writer.push(&record).unwrap();
        if index % seal_every == seal_every - 1 {
            writer.seal().unwrap();
        }
    }
    writer.finish().unwrap()
}

/// Every kind of event with a payload that gets shorter.
fn long() -> Vec<u8> {
    b"position and velocity ".repeat(40)
}

fn check_same(one: &Reel, other: &Reel) {
    assert_eq!(read(one), read(other));
    assert_eq!(one.totals(), other.totals());
    assert_eq!(one.blocks(), other.blocks());
}

#[test]
fn compressed_or_not_a_reel_reads_the_same_and_takes_less() {
    let payload = long();
    let events = sample(&payload);
    for seal_every in [1, 3, 1000] {
        let plain = write(&events, seal_every);
        let compressed = write_compressed(&events, seal_every);
        check_same(&open(&compressed).unwrap(), &open(&plain).unwrap());
        if seal_every == 1000 {
            assert!(compressed.len() < plain.len() / 4, "{}", compressed.len());
        }
    }
}

#[test]
fn without_its_index_a_compressed_reel_says_the_same() {
    let payload = long();
    let bytes = write_compressed(&sample(&payload), 5);
    let whole = open(&bytes).unwrap();
    let cut = open(&bytes[..bytes.len() - 1]).unwrap();
    assert!(matches!(cut.ending(), Ending::Cut { .. }));
    check_same(&cut, &whole);
}

#[test]
fn a_block_that_would_not_get_shorter_stays_as_it_is() {
    let events = [(
        1,
        0,
        Event::Random {
            value: 0x1234_5678_9abc_def0,
        },
    )];
    assert_eq!(write_compressed(&events, 1), write(&events, 1));
}

#[test]
fn cut_at_any_byte_a_compressed_reel_holds_the_whole_blocks_before() {
    let payload = long();
    let events = sample(&payload);
    let bytes = write_compressed(&events, 5);
    let whole = open(&bytes).unwrap();
    let infos = whole.block_infos().to_vec();
    let header_end = infos[0].offset as usize;
    let mut torn = 0;
    for length in header_end..bytes.len() {
        let reel = open(&bytes[..length]).unwrap();
        let whole_blocks = infos
            .iter()
            .filter(|info| info.offset + info.length <= length as u64);
        let expected: u64 = whole_blocks.map(|info| info.events).sum();
        let Ending::Cut { why, .. } = *reel.ending() else {
            panic!("cut at {length}")
        };
        if why == CutWhy::TornCompressed {
            torn += 1;
            assert_eq!(reel.len(), expected, "cut at {length}");
        } else {
            assert!(reel.len() >= expected);
        }
    }
    assert!(torn > 100, "{torn}");
    let said = CutWhy::TornCompressed.to_string();
    assert!(said.contains("cannot be read without its end"), "{said}");
}

#[test]
fn a_flipped_bit_costs_one_compressed_block() {
    let payload = long();
    let bytes = write_compressed(&sample(&payload), 10);
    let whole = open(&bytes).unwrap();
    let info = whole.block_infos()[1];
    for at in info.offset..info.offset + info.length {
        let mut broken = bytes.clone();
        broken[at as usize] ^= 4;
        let reel = open(&broken).unwrap();
        let walk = reel.for_each(|_| {});
        assert_eq!(walk.events, whole.len() - info.events, "byte {at}");
        assert_eq!(walk.gaps[0].first, info.first);
    }
}

/// A reel with one frame behind its header.
fn with_frame(stored: &[u8]) -> Reel {
    let writer = ReelWriter::create(Vec::new(), &Header::default()).unwrap();
    let start = writer.length() as usize;
    let mut bytes = writer.finish().unwrap();
    bytes.truncate(start);
    bytes.extend_from_slice(&compressed_frame(stored));
    Reel::from_bytes(bytes).unwrap()
}

#[test]
fn a_length_that_lies_is_not_trusted() {
    let body = [&[0, 0][..], &[0x42; 5000]].concat();
    let good = zstd::bulk::compress(&body, 1).unwrap();
    let stored = |claimed: u32| [&claimed.to_le_bytes()[..], &good].concat();
    assert_eq!(with_frame(&stored(body.len() as u32)).len(), 5000);
    for claimed in [0, 1, 4999, 5003, 16 << 20, u32::MAX] {
        let reel = with_frame(&stored(claimed));
        assert_eq!(reel.len(), 0, "{claimed}");
        assert_eq!(reel.damage().len(), 1);
    }
    // 64 MiB of zeros in a few kB: no more is inflated than was claimed.
    let bomb = zstd::bulk::compress(&vec![0; 64 << 20], 1).unwrap();
    let reel = with_frame(&[&(16u32 << 20).to_le_bytes()[..], &bomb].concat());
    assert_eq!(reel.len(), 0);
}
