//! Reels of a session that is made, written to files as it goes: nothing of it stays in memory.

use std::fs::File;
use std::path::Path;

use netreel_capture::FileAppend;
use netreel_reel::{
    ClockAnchor, Event, EventNumber, Header, Record, ReelWriter, SendOutcome, ThreadId, Time,
    WireText,
};

/// The calendar's time at the session's first moment: 2025-01-01, 00:00:00 UTC.
pub const START_UTC_NS: u64 = 1_735_689_600_000_000_000;

/// The reel of one node, or what would be that of one that is not recorded.
pub struct NodeReel {
    writer: Option<ReelWriter<FileAppend>>,
}

/// A header whose node has the same clock as all others of the session.
pub fn header(node: &str, engine: &str, wire: &str, text: &str) -> Header {
    Header {
        node: node.to_owned(),
        session: [1; 16],
        clock: ClockAnchor {
            monotonic: Time::ZERO,
            utc_ns: START_UTC_NS as i64,
            boot_id: "one machine".to_owned(),
        },
        engine: engine.to_owned(),
        wires: vec![WireText {
            name: format!("{wire}.wire"),
            text: text.to_owned(),
        }],
        ..Header::default()
    }
}

impl NodeReel {
    /// Starts `NAME.reel` in a folder.
    pub fn create(folder: &Path, header: &Header) -> NodeReel {
        let path = folder.join(format!("{}.reel", header.node));
        let file = File::create(path).expect("a file in the bench's folder");
        let writer = ReelWriter::create(FileAppend::new(file), header).expect("a small header");
        NodeReel {
            writer: Some(writer),
        }
    }

    /// Of a node that is not recorded.
    pub fn none() -> NodeReel {
        NodeReel { writer: None }
    }

    /// Appends an event of the node's only thread.
    pub fn push(&mut self, time: Time, event: Event<'_>) -> EventNumber {
        let Some(writer) = &mut self.writer else {
            return EventNumber(0);
        };
        let number = writer.next_number();
        let record = Record {
            number,
            time,
            thread: ThreadId(0),
            event,
        };
        writer.push(&record).expect("room for the session");
        number
    }

    /// Appends a send, and that it was taken.
    pub fn sent(&mut self, time: Time, event: Event<'_>) {
        let of = self.push(time, event);
        let outcome = SendOutcome::Sent;
        self.push(time, Event::SendResult { of, outcome });
    }

    /// Ends the reel; how many events it holds.
    pub fn finish(self) -> u64 {
        let Some(writer) = self.writer else {
            return 0;
        };
        let events = writer.next_number().0;
        writer.finish().expect("room for the session");
        events
    }
}
