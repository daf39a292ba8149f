//! Any bytes that open as a reel become a session, a history, and packets that can be looked at,
//! without a panic.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use netreel_protocol::history::History;
use netreel_protocol::query::Query;
use netreel_protocol::session::{PacketId, ReelInput, Session};
use netreel_reel::Reel;

fuzz_target!(|bytes: &[u8]| {
    let Ok(reel) = Reel::from_bytes(bytes.to_vec()) else {
        return;
    };
    let input = ReelInput {
        name: "fuzzed".to_owned(),
        reel: Arc::new(reel),
    };
    let Ok(session) = Session::builder().build(vec![input]) else {
        return;
    };
    let history = History::build(&session);
    let query = Query::parse("late > 1ms || rule == zombie-object").expect("a good filter");
    for index in 0..session.packet_count().min(64) {
        let packet = PacketId(index as u32);
        session.decode(packet);
        query.packet(&session, &history, packet);
    }
});
