//! Any bytes as the body of a block.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netreel_reel::{Header, OwnedRecord, Reel, ReelWriter};

fuzz_target!(|body: &[u8]| {
    let Ok(writer) = ReelWriter::create(Vec::new(), &Header::default()) else {
        return;
    };
    let start = writer.length() as usize;
    let Ok(mut bytes) = writer.finish() else {
        return;
    };
    bytes.truncate(start);
    bytes.extend_from_slice(&netreel_reel::block_frame(body));
    let Ok(reel) = Reel::from_bytes(bytes.clone()) else {
        panic!("its header is whole")
    };
    let mut records = Vec::new();
    reel.for_each(|record| records.push(OwnedRecord::copy_of(record)));

    // What was read, written again and read again, is the same.
    let Ok(mut writer) = ReelWriter::create(Vec::new(), &Header::default()) else {
        return;
    };
    let mut written = Vec::new();
    for record in &records {
        if writer.push(&record.as_record()).is_ok() {
            written.push(record);
        }
    }
    let Ok(again) = writer.finish() else { return };
    let Ok(reel) = Reel::from_bytes(again) else {
        panic!("it was just written")
    };
    let mut read = Vec::new();
    reel.for_each(|record| read.push(OwnedRecord::copy_of(record)));
    assert!(read.iter().eq(written), "{read:?}");

    // Compressed, it is the same.
    if let Ok(mut writer) = ReelWriter::create(Vec::new(), &Header::default()) {
        writer.compress();
        for record in &read {
            let _ = writer.push(&record.as_record());
        }
        let Ok(bytes) = writer.finish() else { return };
        let Ok(reel) = Reel::from_bytes(bytes) else {
            panic!("it was just written")
        };
        let mut records = read.iter();
        reel.for_each(|record| assert_eq!(records.next(), Some(&OwnedRecord::copy_of(record))));
        assert_eq!(records.next(), None);
    }

    // The same bytes as a compressed body.
    let mut compressed = bytes.clone();
    compressed.truncate(start);
    compressed.extend_from_slice(&netreel_reel::compressed_frame(body));
    if let Ok(reel) = Reel::from_bytes(compressed) {
        reel.for_each(|_| {});
    }

    // The same as a torn block, which no checksum covers.
    bytes.pop();
    if let Ok(reel) = Reel::from_bytes(bytes) {
        reel.for_each(|_| {});
    }
});
