//! Descriptors that change hands: closed under a waiting thread, closed inside the C library, handed
//! over by another process, used again for something else.

mod support;

use netreel_reel::{Event, EventKind};
use support::programs::{Bench, count, sent, text};

#[test]
fn a_packet_that_comes_after_the_close_is_received_at_the_closed_socket() {
    let bench = Bench::new();
    let late = bench.compile("late");
    for command in [vec![text(&late)], vec![text(&late), "used again"]] {
        bench.record(&[], &command).expect(0);
        let reel = bench.reel();
        assert_eq!(sent(&reel), [b"late".to_vec()]);
        let (mut first, mut at) = (None, None);
        reel.for_each(|record| match record.event {
            Event::SocketOpened { socket, .. } => first = first.or(Some(socket)),
            Event::Received { socket, .. } => at = Some(socket),
            _ => {}
        });
        assert!(at.is_some() && at == first, "{at:?}, not {first:?}");
        std::fs::remove_dir_all(bench.out()).unwrap();
    }
}

#[test]
fn a_socket_that_is_handed_over_is_recorded_whatever_had_its_number() {
    let bench = Bench::new();
    let handed = bench.compile("handed");
    for command in [vec![text(&handed)], vec![text(&handed), "many"]] {
        bench.record(&[], &command).expect(0);
        let reels = bench.reels();
        let all: usize = reels.iter().map(|(_, reel)| sent(reel).len()).sum();
        assert_eq!(all, 5);
        std::fs::remove_dir_all(bench.out()).unwrap();
    }
}

#[test]
fn connections_under_the_numbers_of_closed_sockets_send_no_packets() {
    let bench = Bench::new();
    let reused = bench.compile("reused");
    bench.record(&[], &[text(&reused)]).expect(0);
    let reel = bench.reel();
    assert!(sent(&reel).iter().all(|payload| payload == b"udp"));
    assert_eq!(count(&reel, EventKind::Sent), 3000);
}
