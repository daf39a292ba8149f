//! What tasks sent and received on tokio's sockets is in the reels.

use std::path::Path;
use std::task::{Context, Waker};
use std::time::Duration;

use netreel_record::tokio::RecordedSocket;
use netreel_record::{Journal, MemoryRecorder};
use netreel_reel::{Event, EventKind, Header, OwnedRecord, Reel};
use proof::Proof;
use tokio_udp_recorded::{STEPS, record};

fn session() -> (tempfile::TempDir, Proof) {
    let folder = tempfile::tempdir().expect("a folder");
    record(folder.path()).expect("a session");
    let proof = proof::open(folder.path());
    (folder, proof)
}

#[test]
fn every_step_is_in_both_reels_in_order() {
    let (_folder, proof) = session();
    let (sent, lost) = proof.sent_and_lost();
    assert!(sent > 4 * usize::from(STEPS), "{sent} sent");
    proof.in_order();
    proof.decodes();
    assert_eq!(proof.faults(), Vec::<&_>::new());
    // A client leaves when it has heard of its own steps: what it was told after that is lost.
    for client in ["a", "b"] {
        assert_eq!(proof.link(client, "server").len(), usize::from(STEPS) + 1);
        let told = proof.link("server", client);
        let heard = told
            .iter()
            .filter(|packet| packet.received.is_some())
            .count();
        assert!(heard >= usize::from(STEPS), "{client} heard of {heard}");
        assert!(lost <= told.len());
    }
}

/// Records one socket that talks to itself.
fn alone<F: AsyncFnOnce(&RecordedSocket)>(play: F) -> Vec<OwnedRecord> {
    let recorder = MemoryRecorder::create(&Header::default()).expect("a reel");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async {
        let journal = Journal::new(recorder.pusher());
        let socket = RecordedSocket::bind("127.0.0.1:0", &journal)
            .await
            .expect("a socket");
        play(&socket).await;
    });
    let reel = Reel::from_bytes(recorder.finish()).expect("a reel");
    let mut records = Vec::new();
    reel.for_each(|record| records.push(OwnedRecord::copy_of(record)));
    records
}

fn kinds(records: &[OwnedRecord]) -> Vec<EventKind> {
    records
        .iter()
        .map(|record| record.as_record().event.kind())
        .collect()
}

#[test]
fn a_receive_that_was_given_up_leaves_no_event_and_takes_no_packet() {
    use EventKind::{Received, SendResult, Sent, SocketClosed, SocketOpened};
    let records = alone(async |socket| {
        let mut buffer = [0; 16];
        let waited = tokio::time::timeout(Duration::from_millis(5), socket.recv_from(&mut buffer));
        assert!(waited.await.is_err(), "there is no packet yet");
        let own = socket.local_addr().expect("an address");
        socket.send_to(b"hello", own).await.expect("sent");
        let (length, from) = socket.recv_from(&mut buffer).await.expect("a packet");
        assert_eq!((&buffer[..length], from), (&b"hello"[..], own));
    });
    assert_eq!(
        kinds(&records),
        [SocketOpened, Sent, SendResult, Received, SocketClosed]
    );
}

#[test]
fn a_try_that_finds_nothing_is_an_empty_poll() {
    let records = alone(async |socket| {
        let own = socket.local_addr().expect("an address");
        let mut buffer = [0; 16];
        assert!(socket.try_recv_from(&mut buffer).is_err());
        socket.writable().await.expect("room");
        assert_eq!(socket.try_send_to(b"one", own).expect("sent"), 3);
        socket.readable().await.expect("a packet");
        assert_eq!(
            socket.try_recv_from(&mut buffer).expect("a packet"),
            (3, own)
        );
    });
    assert_eq!(kinds(&records)[1], EventKind::PollEmpty);
    let last = records[records.len() - 2].as_record().event;
    assert!(
        matches!(
            last,
            Event::Received {
                payload: b"one",
                ..
            }
        ),
        "{last:?}"
    );
}

#[test]
fn polls_by_hand_are_recorded_as_well() {
    let records = alone(async |socket| {
        let own = socket.local_addr().expect("an address");
        let mut bytes = [0; 16];
        let mut buffer = tokio::io::ReadBuf::new(&mut bytes);
        let mut idle = Context::from_waker(Waker::noop());
        assert!(socket.poll_recv_from(&mut idle, &mut buffer).is_pending());
        let sent = std::future::poll_fn(|context| socket.poll_send_to(context, b"two", own));
        assert_eq!(sent.await.expect("sent"), 3);
        let came = std::future::poll_fn(|context| socket.poll_recv_from(context, &mut buffer));
        assert_eq!(came.await.expect("a packet"), own);
        assert_eq!(buffer.filled(), b"two");
    });
    let last = records[records.len() - 2].as_record().event;
    assert!(
        matches!(
            last,
            Event::Received {
                payload: b"two",
                ..
            }
        ),
        "{last:?}"
    );
}

#[test]
fn the_program_records_where_it_is_told_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = Path::new(env!("CARGO_BIN_EXE_tokio-udp"));
    let out = folder.path().join("session");
    let status = std::process::Command::new(program)
        .arg("--out")
        .arg(&out)
        .status();
    assert!(status.expect("it runs").success());
    assert_eq!(proof::open(&out).reels.len(), 3);
}
