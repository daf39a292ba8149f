//! A header that is whole, and any bytes behind it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netreel_reel::{EventNumber, Header, Reel, ReelWriter};

fuzz_target!(|bytes: &[u8]| {
    // Alone they are a file too: most likely one that is refused.
    let _ = Reel::from_bytes(bytes.to_vec());
    let Ok(writer) = ReelWriter::create(Vec::new(), &Header::default()) else {
        return;
    };
    let start = writer.length() as usize;
    let Ok(mut file) = writer.finish() else {
        return;
    };
    file.truncate(start);
    file.extend_from_slice(bytes);
    let Ok(reel) = Reel::from_bytes(file) else {
        panic!("its header is whole")
    };
    let walk = reel.for_each(|_| {});
    let _ = reel.record(EventNumber(walk.events / 2));
    let _ = format!("{:?} {:?} {:?}", reel.totals(), reel.gaps(), reel.ending());
});
