//! The filter of a session that is not short: looked at slice by slice, the same answer at the end.

mod fixture;

use std::sync::Arc;

use fixture::{A, long};
use netreel_inspector_model::{Command, Model, Step};
use netreel_protocol::history::History;
use netreel_protocol::query::Query;
use netreel_protocol::session::{NodeId, PacketId, Session};

const PACKETS: usize = 100_000;

/// At most this many packets are taken in for a frame.
const FRAME: usize = 32 * 1024;

const FILTERS: [&str; 6] = [
    "lost",
    "object == 42",
    "from == A && kind == update",
    "late > 2.5ms || packet < 9",
    "!received",
    "packet == 99999",
];

fn open() -> (Arc<Session>, Arc<History>, Model) {
    let (session, history) = long(PACKETS);
    let model = Model::new(session.clone(), history.clone());
    (session, history, model)
}

fn set(model: &mut Model, filter: &str) {
    model.apply(Command::SetFilter(filter.to_owned()));
}

/// What a walk over all packets takes.
fn expected(session: &Session, history: &History, filter: &str) -> Vec<PacketId> {
    let query = Query::parse(filter).expect("a filter");
    let packets = (0..session.packet_count()).map(|place| PacketId(place as u32));
    packets
        .filter(|&packet| query.packet(session, history, packet))
        .collect()
}

fn rows(model: &Model) -> Vec<PacketId> {
    let rows = 0..model.row_count();
    rows.filter_map(|row| model.packet_at(row)).collect()
}

#[test]
fn in_the_end_a_filter_takes_what_a_walk_over_all_packets_takes() {
    let (session, history, mut model) = open();
    for filter in FILTERS {
        set(&mut model, filter);
        model.finish_filter();
        assert_eq!(model.filter().looked_at(), None);
        assert!(!model.advance());
        let expected = expected(&session, &history, filter);
        assert_eq!(rows(&model), expected, "{filter}");
        for (row, &packet) in expected.iter().enumerate().step_by(997) {
            assert_eq!(model.row_of(packet), Some(row));
        }
    }
}

#[test]
fn what_was_found_so_far_is_shown_and_no_frame_waits() {
    let (session, history, mut model) = open();
    let expected = expected(&session, &history, "lost");
    set(&mut model, "lost");
    let mut before = 0;
    let mut frames = 0;
    while model.advance() {
        let looked_at = model.filter().looked_at().expect("there is more");
        assert!((before..=before + FRAME).contains(&looked_at));
        let so_far = expected.partition_point(|packet| (packet.0 as usize) < looked_at);
        assert_eq!(rows(&model), expected[..so_far]);
        if looked_at == before {
            std::thread::yield_now();
        }
        (before, frames) = (looked_at, frames + 1);
    }
    assert!(frames >= PACKETS / FRAME, "{frames} frames");
    assert_eq!(rows(&model), expected);
}

#[test]
fn density_and_arrows_are_those_of_the_packets_that_were_taken() {
    let (session, history, mut model) = open();
    model.apply(Command::ShowAll);
    set(&mut model, "from == A");
    model.finish_filter();
    let traffic = model.traffic(&model.scale(1_500.0));
    assert!(traffic.arrows.is_empty() && !traffic.density_is_rest);
    let taken = expected(&session, &history, "from == A");
    let of_lane = |node: u16| {
        let sent = taken.iter().filter_map(|&id| session.packet(id));
        let events = sent.map(|packet| {
            usize::from(packet.from == NodeId(node))
                + usize::from(packet.to == NodeId(node) && packet.received.is_some())
        });
        events.sum::<usize>()
    };
    for (node, lane) in (0..).zip(&traffic.density) {
        let events: u32 = lane.iter().map(|bucket| bucket.events).sum();
        assert_eq!(events as usize, of_lane(node), "node {node}");
    }
    assert!(of_lane(A) > 20_000);
    // Near by, those that are not taken are arrows too.
    model.apply(Command::Show(fixture::ms(5_000..5_100)));
    let arrows = model.traffic(&model.scale(1_500.0)).arrows;
    let matching = arrows.iter().filter(|arrow| arrow.matches);
    assert!(matching.clone().all(|arrow| arrow.from == NodeId(A)));
    assert!(matching.count() * 3 < arrows.len());
}

#[test]
fn a_new_text_takes_the_place_of_one_that_is_under_way() {
    let (session, history, mut model) = open();
    for filter in FILTERS {
        set(&mut model, filter);
        model.advance();
    }
    set(&mut model, "lost");
    // It goes on while there is a mistake in the text.
    set(&mut model, "lost &&");
    assert!(model.filter().error.is_some());
    model.finish_filter();
    assert_eq!(rows(&model), expected(&session, &history, "lost"));
    set(&mut model, "object == 42");
    set(&mut model, "");
    assert!(!model.advance());
    assert_eq!(model.row_count(), PACKETS);
}

#[test]
fn packets_can_be_walked_over_while_the_filter_looks_at_others() {
    let (_, _, mut model) = open();
    set(&mut model, "lost");
    loop {
        let goes_on = model.advance();
        model.apply(Command::Step(Step::LastPacket));
        if let Some(packet) = model.selection().packet {
            let row = model.row_count() - 1;
            assert_eq!(model.row_of(packet), Some(row));
        }
        if !goes_on {
            break;
        }
    }
    let last = model.selection().packet.expect("a packet was lost");
    assert!(last.0 as usize > PACKETS - 200, "{last:?}");
}

#[test]
fn a_window_may_close_while_its_filter_is_under_way() {
    let (_, _, mut closed) = open();
    set(&mut closed, "lost");
    drop(closed);
    let (_, _, mut model) = open();
    set(&mut model, "lost");
    model.finish_filter();
    assert_eq!(model.row_count(), PACKETS / 100);
}

#[test]
fn what_is_typed_behind_a_filter_that_can_be_read_has_nothing_looked_at_again() {
    let (session, history, mut model) = open();
    let type_on = |model: &mut Model, text: &str| {
        model.apply(Command::TypeFilter(text.to_owned()));
        model.filter().looked_at()
    };
    assert_eq!(type_on(&mut model, "lost"), Some(0));
    while model.advance() && model.filter().looked_at() == Some(0) {
        std::thread::yield_now();
    }
    let so_far = model.filter().looked_at();
    assert_eq!(type_on(&mut model, "lost "), so_far);
    model.finish_filter();
    for text in ["lost &&", "lost && f", "lost && from == ", "lost"] {
        assert_eq!(type_on(&mut model, text), None, "{text}");
        assert_eq!(rows(&model), expected(&session, &history, "lost"), "{text}");
    }
    let narrower = "lost && from == A";
    assert_eq!(type_on(&mut model, narrower), Some(0));
    model.finish_filter();
    assert_eq!(rows(&model), expected(&session, &history, narrower));
}
