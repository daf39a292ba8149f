//! What a program does with a recorded socket is in the reel, as it would be of a plain one.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::time::Duration;

use netreel_reel::{
    Endpoint, Event, EventKind, EventNumber, Header, OwnedRecord, Reel, SendOutcome, SocketId,
    ThreadId, Time,
};
use netreel_transport::{Journal, MemoryRecorder, RecordedSocket, Shared, SimNet, Transport};

/// A socket on loopback, its journal, and what the reel holds in the end.
fn record(play: impl FnOnce(RecordedSocket, &MemoryRecorder)) -> Vec<OwnedRecord> {
    let recorder = MemoryRecorder::create(&Header::default()).unwrap();
    let journal = Journal::new(recorder.pusher());
    play(
        RecordedSocket::bind("127.0.0.1:0", &journal).unwrap(),
        &recorder,
    );
    drop(journal);
    let reel = Reel::from_bytes(recorder.finish()).unwrap();
    let mut records = Vec::new();
    reel.for_each(|record| records.push(OwnedRecord::copy_of(record)));
    records
}

fn events(records: &[OwnedRecord]) -> Vec<Event<'_>> {
    records.iter().map(|it| it.as_record().event).collect()
}

fn peer() -> (UdpSocket, Endpoint) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address)
}

const SOCKET: SocketId = SocketId(0);

#[test]
fn a_packet_there_and_one_back() {
    let (other, address) = peer();
    let mut local = None;
    let records = record(|socket, _| {
        local = socket.local_addr().ok();
        assert_eq!(socket.send_to(b"ping", address).unwrap(), 4);
        other
            .send_to(b"pong", socket.local_addr().unwrap())
            .unwrap();
        let mut buffer = [0; 16];
        assert_eq!(socket.recv_from(&mut buffer).unwrap(), (4, address));
        assert_eq!(&buffer[..4], b"pong");
    });
    let expected = [
        Event::SocketOpened {
            socket: SOCKET,
            local: local.unwrap(),
        },
        Event::Sent {
            socket: SOCKET,
            to: address,
            payload: b"ping",
        },
        Event::SendResult {
            of: EventNumber(1),
            outcome: SendOutcome::Sent,
        },
        Event::Received {
            socket: SOCKET,
            from: address,
            payload: b"pong",
        },
        Event::SocketClosed { socket: SOCKET },
    ];
    assert_eq!(events(&records), expected);
}

#[test]
fn a_connected_socket_names_its_peer() {
    let (other, address) = peer();
    let records = record(|socket, _| {
        socket.connect(address).unwrap();
        assert_eq!(socket.peer_addr().unwrap(), address);
        socket.send(b"one").unwrap();
        other.send_to(b"two", socket.local_addr().unwrap()).unwrap();
        let mut buffer = [0; 16];
        assert_eq!(socket.recv(&mut buffer).unwrap(), 3);
    });
    let events = events(&records);
    assert!(matches!(events[1], Event::Sent { to, payload: b"one", .. } if to == address));
    assert!(matches!(events[3], Event::Received { from, payload: b"two", .. } if from == address));
}

#[test]
fn what_fails_is_in_the_reel_and_fails_all_the_same() {
    let records = record(|socket, _| {
        let mut buffer = [0; 16];
        // Not connected.
        let refused = socket.send(b"nowhere").unwrap_err().raw_os_error().unwrap();
        assert_eq!(refused, rustix::io::Errno::DESTADDRREQ.raw_os_error());
        assert!(socket.send_to(b"", &[][..]).is_err(), "no address at all");
        socket.set_nonblocking(true).unwrap();
        let nothing = socket.recv_from(&mut buffer).unwrap_err();
        assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
        socket.set_nonblocking(false).unwrap();
        let short = Duration::from_millis(1);
        socket.set_read_timeout(Some(short)).unwrap();
        assert!(socket.recv_from(&mut buffer).is_err(), "the time is over");
    });
    let events = events(&records);
    let code = rustix::io::Errno::DESTADDRREQ.raw_os_error();
    let failed = SendOutcome::Failed(code);
    assert!(matches!(events[2], Event::SendResult { outcome, .. } if outcome == failed));
    assert_eq!(events[3], Event::PollEmpty { socket: SOCKET });
    assert_eq!(events[4], Event::PollEmpty { socket: SOCKET });
    assert_eq!(events.len(), 6);
}

#[test]
fn a_datagram_that_is_cut_is_recorded_as_it_was_given() {
    let (other, address) = peer();
    let records = record(|socket, _| {
        other
            .send_to(b"long", socket.local_addr().unwrap())
            .unwrap();
        assert_eq!(socket.recv_from(&mut [0; 2]).unwrap(), (2, address));
    });
    assert!(matches!(
        events(&records)[1],
        Event::Received { payload: b"lo", .. }
    ));
}

#[test]
fn two_threads_share_a_socket_and_it_is_closed_once() {
    let (_other, address) = peer();
    let records = record(|socket, recorder| {
        let theirs = Journal::new(recorder.pusher());
        let clone = socket.try_clone(&theirs).unwrap();
        let thread = std::thread::spawn(move || {
            for _ in 0..100 {
                clone.send_to(b"theirs", address).unwrap();
            }
        });
        for _ in 0..100 {
            socket.send_to(b"ours", address).unwrap();
        }
        drop(socket);
        thread.join().unwrap();
    });
    let events = events(&records);
    let is = |kind| events.iter().filter(|event| event.kind() == kind).count();
    assert_eq!(is(EventKind::Sent), 200);
    assert_eq!(is(EventKind::SocketClosed), 1);
    assert_eq!(events.last().unwrap().kind(), EventKind::SocketClosed);
    for record in &records {
        let record = record.as_record();
        if let Event::Sent { payload, .. } = record.event {
            let thread = ThreadId(u16::from(payload == b"theirs"));
            assert_eq!(record.thread, thread);
        }
    }
}

#[test]
fn an_engine_writes_down_what_its_packets_do_not_say() {
    let records = record(|socket, _| {
        let journal = socket.journal();
        journal.tick(3, Time(300));
        journal.input(b"jump");
        journal.random(7);
        journal.clock(Time(12));
        journal.note("here");
        journal.snapshot(b"state");
        journal.switch(false);
        journal.note("nobody hears this");
        let none = journal.sent(socket.id(), socket.local_addr().unwrap(), b"nor this");
        journal.send_result(none, SendOutcome::Sent);
        journal.switch(true);
    });
    let expected = [
        Event::Tick {
            tick: 3,
            time: Time(300),
        },
        Event::Input { call: b"jump" },
        Event::Random { value: 7 },
        Event::Clock { value: Time(12) },
        Event::Note { text: b"here" },
        Event::Snapshot { state: b"state" },
        Event::Switched { on: false },
        Event::Switched { on: true },
    ];
    assert_eq!(events(&records)[1..9], expected);
}

#[test]
fn a_clock_read_of_the_journal_is_in_the_reel_at_its_own_time() {
    let mut told = Time::ZERO;
    let records = record(|socket, _| told = socket.journal().now());
    let record = records[1].as_record();
    assert_eq!(
        (record.event, record.time),
        (Event::Clock { value: told }, told)
    );
}

#[test]
fn the_owners_of_a_shared_transport_reach_the_same_one() {
    let net = SimNet::new(1, Duration::ZERO);
    let here: Endpoint = "10.0.0.1:1".parse().unwrap();
    let mut one = Shared::new(net.join(here));
    let mut two = one.clone();
    one.send(here, b"to myself").unwrap();
    let drawn = one.random();
    assert_ne!(drawn, two.random(), "one sequence of draws for both");
    assert_eq!(one.now(), two.now());
}
