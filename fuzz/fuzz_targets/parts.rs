//! Any bytes behind the starts of up to four parts of a recording, opened as one reel.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use netreel_reel::{EventNumber, Header, Part, ReadAt, Reel, ReelWriter, block_frame};
use netreel_reel::{SocketId, compressed_frame};

fuzz_target!(|bytes: &[u8]| {
    let mut sources: Vec<Arc<dyn ReadAt>> = Vec::new();
    let mut rest = bytes;
    // For each: the part's number, its first event, how it is framed, how long it is.
    while let [number, first, how, length, after @ ..] = rest
        && sources.len() < 4
    {
        let (own, after) = after.split_at(after.len().min(usize::from(*length)));
        rest = after;
        let part = Part {
            number: u32::from(number % 8),
            first: EventNumber(u64::from(*first)),
            sockets: vec![(SocketId(0), ([127, 0, 0, 1], 7000).into())],
            on: how & 1 == 0,
            begun: Vec::new(),
        };
        let writer = ReelWriter::create_part(Vec::new(), &Header::default(), 1, &part);
        let Ok(writer) = writer else { return };
        let start = writer.length() as usize;
        let Ok(mut file) = writer.finish_part() else {
            return;
        };
        let end = file.split_off(start);
        match how % 4 {
            0 => file.extend_from_slice(&block_frame(own)),
            1 => file.extend_from_slice(&compressed_frame(own)),
            2 => file.extend_from_slice(own),
            // An end without events.
            _ => file.extend_from_slice(&end),
        }
        sources.push(Arc::new(file));
    }
    if sources.is_empty() {
        return;
    }
    let Ok(reel) = Reel::open_parts(sources, None) else {
        panic!("every start is whole")
    };
    let walk = reel.for_each(|_| {});
    let _ = reel.record(EventNumber(walk.events / 2));
    for block in reel.block_infos() {
        assert!(reel.place(block.offset).is_some());
    }
    let _ = format!("{:?} {:?} {:?}", reel.parts(), reel.gaps(), reel.ending());
    reel.missing_parts()
        .iter()
        .for_each(|it| drop(it.to_string()));
});
