//! The recorded sessions of the repository stay readable, with their index, and have the wire that lies
//! beside them.
//!
//! Where that wire changes and the packets stay what they are,
//! `NETREEL_SAMPLES=write cargo test -p netreel-reel --test samples` puts it into them.

use std::path::{Path, PathBuf};

use netreel_reel::{Ending, Header, OwnedRecord, Reel, ReelWriter};

fn samples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples/sessions");
    let mut paths = Vec::new();
    for mode in ["host", "owner"] {
        for entry in std::fs::read_dir(folder.join(mode)).unwrap() {
            let path = entry.unwrap().path();
            if path
                .extension()
                .is_some_and(|extension| extension == "reel")
            {
                paths.push(path);
            }
        }
    }
    paths
}

/// The same events in the same blocks behind another header.
fn with_header(reel: &Reel, header: &Header) -> Vec<u8> {
    let mut writer = ReelWriter::create_with_identity(Vec::new(), header, reel.identity()).unwrap();
    for block in 0..reel.blocks() {
        for record in reel.block(block).unwrap().records() {
            writer.push(&record).unwrap();
        }
        writer.seal().unwrap();
    }
    writer.finish().unwrap()
}

/// The bytes of all blocks.
fn blocks<'a>(reel: &Reel, bytes: &'a [u8]) -> &'a [u8] {
    let [first, .., last] = reel.block_infos() else {
        panic!("a sample has several blocks");
    };
    &bytes[first.offset as usize..(last.offset + last.length) as usize]
}

#[test]
fn every_recorded_sample_has_the_wire_that_lies_here() {
    let wire = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples/wires/boxes.wire");
    let wire = std::fs::read_to_string(wire).unwrap();
    for path in samples() {
        let bytes = std::fs::read(&path).unwrap();
        let reel = Reel::from_bytes(bytes.clone()).unwrap();
        let mut header = reel.header().clone();
        let is_it = header.wires.len() == 1 && header.wires[0].text == wire;
        if !is_it && std::env::var_os("NETREEL_SAMPLES").is_some_and(|it| it == "write") {
            header.wires[0].text.clone_from(&wire);
            let written = with_header(&reel, &header);
            let again = Reel::from_bytes(written.clone()).unwrap();
            assert!(blocks(&reel, &bytes) == blocks(&again, &written));
            std::fs::write(&path, written).unwrap();
            continue;
        }
        assert!(
            is_it,
            "{} has another wire: see the top of this file",
            path.display()
        );
    }
}

/// What this version makes of the same events; the same events must come out.
fn write_again(reel: &Reel) -> Reel {
    let mut writer = ReelWriter::create(Vec::new(), reel.header()).unwrap();
    let mut expected = Vec::new();
    reel.for_each(|record| {
        writer.push(record).unwrap();
        expected.push(OwnedRecord::copy_of(record));
    });
    let again = Reel::from_bytes(writer.finish().unwrap()).unwrap();
    let mut expected = expected.into_iter();
    again.for_each(|record| assert_eq!(expected.next(), Some(OwnedRecord::copy_of(record))));
    assert_eq!(expected.next(), None);
    again
}

/// The length of the blocks of the same events, plain and compressed, and how long a compression of
/// all took, in nanoseconds.
fn compressed(reel: &Reel) -> (u64, u64, u128) {
    let length = |compress: bool| {
        let mut writer = ReelWriter::create(Vec::new(), reel.header()).unwrap();
        if compress {
            writer.compress();
        }
        let start = std::time::Instant::now();
        let header = writer.length();
        reel.for_each(|record| writer.push(record).unwrap());
        writer.seal().unwrap();
        (writer.length() - header, start.elapsed().as_nanos())
    };
    let ((plain, took), (compressed, longer)) = (length(false), length(true));
    (plain, compressed, longer.saturating_sub(took))
}

#[test]
fn every_recorded_sample_gets_shorter_by_compression() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples/sessions");
    for name in ["host/HOST.reel", "host/A.reel", "owner/HOST.reel"] {
        let reel = Reel::from_bytes(std::fs::read(samples.join(name)).unwrap()).unwrap();
        let (plain, shorter, ns) = compressed(&reel);
        let rate = plain as f64 * 1e3 / ns.max(1) as f64;
        println!("{name}: {plain} bytes, {shorter} compressed, {rate:.0} MB/s");
        assert!(shorter < plain, "{name}: {shorter} of {plain}");
    }
}

#[test]
fn every_recorded_sample_opens_clean_and_whole() {
    for path in samples() {
        let reel = Reel::from_bytes(std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(reel.ending(), &Ending::Clean, "{}", path.display());
        let walk = reel.for_each(|_| {});
        assert_eq!((walk.events, &walk.damaged[..]), (reel.len(), &[][..]));
        let packets = reel.totals().packets();
        assert!(packets > 0, "{}", path.display());
        write_again(&reel);
    }
    assert_eq!(samples().len(), 8);
}
