//! What lightyear sent and received is in the reels, as lightyear itself counts it, and is played back to the
//! byte.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::OnceLock;

use lightyear_recorded::example::{Game, Plan, Told, record};
use netreel_protocol::history::Belief;
use netreel_protocol::session::{Packet, PacketId};
use netreel_reel::EventKind;
use netreel_replay::{Driver, Outcome, Report};
use proof::Proof;

const NODES: [&str; 3] = ["server", "a", "b"];

/// A session, and what lightyear said at each node.
struct Played {
    folder: tempfile::TempDir,
    proof: Proof,
    told: [(SocketAddr, Told); 3],
}

impl Played {
    fn new(plan: Plan) -> Played {
        let folder = tempfile::tempdir().expect("a folder");
        let told = record(folder.path(), plan).expect("a session");
        let proof = proof::open(folder.path());
        Played {
            folder,
            proof,
            told,
        }
    }

    /// The packets of the link between two nodes, by their places, with their numbers.
    fn link(&self, from: usize, to: usize) -> impl Iterator<Item = (PacketId, Packet, u16)> {
        let session = &self.proof.session;
        let (from, to) = (self.proof.node(NODES[from]), self.proof.node(NODES[to]));
        let packets = session.packets().enumerate();
        let packets = packets.filter(move |(_, it)| it.from == from && it.to == to);
        packets.map(|(place, packet)| {
            let id = PacketId(place as u32);
            let said = session.said(id).expect("the packet");
            let number = said.sequence.expect("its number").value as u16;
            (id, packet, number)
        })
    }

    fn replay(&self, node: &str, start: impl FnOnce(&mut Vec<u8>)) -> Report {
        let reel = self.proof.reel(node);
        let mut conditions = reel.header().start.clone();
        start(&mut conditions);
        let driver = Driver::new(reel).expect("a reel that can be replayed");
        let mut game = Game::over(driver.transport(), &conditions).expect("start conditions");
        driver.run(&mut game)
    }
}

/// A session in which nothing is lost, and one in which one packet in twelve is; each once for all tests.
fn sessions() -> [&'static Played; 2] {
    static SESSIONS: [OnceLock<Played>; 2] = [OnceLock::new(), OnceLock::new()];
    let played = |place: usize, loss| {
        SESSIONS[place].get_or_init(|| {
            Played::new(Plan {
                loss,
                ..Plan::default()
            })
        })
    };
    [played(0, 0.0), played(1, 1.0 / 12.0)]
}

#[test]
fn every_packet_was_received_or_lost() {
    let [clean, lossy] = sessions().map(|it| it.proof.sent_and_lost());
    // What is sent in the last frame nobody reads.
    assert!(clean.0 > 300 && clean.1 <= 2, "{clean:?}");
    assert!(lossy.0 > 300 && lossy.1 > 10, "{lossy:?}");
}

#[test]
fn the_wire_reads_every_packet_and_nothing_is_wrong() {
    for played in sessions() {
        played.proof.decodes();
        assert_eq!(played.proof.faults(), Vec::<&_>::new());
    }
    sessions()[0].proof.in_order();
}

#[test]
fn what_was_lost_was_sent_again_and_arrived() {
    let again = |proof: &Proof| -> u64 {
        let links = proof.history.links(&proof.session).values();
        links.map(|link| link.resent).sum()
    };
    let [_, lossy] = sessions();
    assert!(again(&lossy.proof) > 0);
    assert_eq!(lossy.proof.history.undelivered.len(), 0);
    println!("{:?}", sessions().map(|it| again(&it.proof)));
}

/// What it had taken for lost already, and what it does not wait for (a packet of acks alone), lightyear does
/// not say to be acked.
#[test]
fn the_packets_that_were_acked_are_those_of_lightyear() {
    for played in sessions() {
        for (from, to) in [(0, 1), (0, 2), (1, 0), (2, 0)] {
            let of = |all: &[(SocketAddr, u16)]| -> BTreeSet<u16> {
                let peer = played.told[to].0;
                let own = all.iter().filter(|it| it.0 == peer);
                own.map(|it| it.1).collect()
            };
            let (acked, lost) = (
                of(&played.told[from].1.acked),
                of(&played.told[from].1.lost),
            );
            let session = &played.proof.session;
            let (mut known, mut others) = (BTreeSet::new(), BTreeSet::new());
            for (id, _, number) in played.link(from, to) {
                let is_acked = played.proof.history.acked(session, id).is_some();
                let is_awaited = session.payload(id).expect("its bytes")[0] != 4;
                match is_acked {
                    true if is_awaited && !lost.contains(&number) => known.insert(number),
                    true => others.insert(number),
                    false => false,
                };
            }
            assert!(acked.len() > 50, "{acked:?}");
            let late: BTreeSet<u16> = acked.difference(&others).copied().collect();
            assert_eq!(known, late, "{from} to {to}");
        }
    }
}

#[test]
fn the_packets_that_came_are_those_of_lightyear() {
    for played in sessions() {
        for (node, others) in [(0, [1, 2].as_slice()), (1, &[0]), (2, &[0])] {
            let mut told: Vec<_> = played.told[node].1.received.clone();
            let mut came = Vec::new();
            for &from in others {
                for (id, packet, _) in played.link(from, node) {
                    let tick = played.proof.session.said(id).and_then(|it| it.tick);
                    let copies = usize::from(packet.received.is_some()) + packet.duplicates.len();
                    let tick = tick.expect("a tick").value as u32;
                    came.extend([(played.told[from].0, tick)].repeat(copies));
                }
            }
            told.sort_unstable();
            came.sort_unstable();
            assert_eq!(told, came, "{}", NODES[node]);
        }
    }
}

#[test]
fn what_was_said_was_heard_and_the_long_of_it_is_whole_in_the_reel() {
    for played in sessions() {
        let [server, a, b] = &played.told;
        assert_eq!((&server.1.heard, &server.1.heard), (&a.1.heard, &b.1.heard));
        let proof = &played.proof;
        let joined = proof.history.joined.iter();
        let wholes = joined.map(|each| proof.history.payload(&proof.session, each));
        let long: Vec<_> = wholes.filter(|it| it.len() > 5000).collect();
        // Once from each client, and from the server to both for each; before it its type and its length.
        assert_eq!(long.len(), 6);
        assert!(server.1.heard.iter().any(|it| long[0].ends_with(it)));
    }
}

#[test]
fn boxes_live_as_long_as_in_the_game() {
    for played in sessions() {
        let seen = played.told.iter().map(|it| &it.1.seen);
        let last = seen.map(|it| it.iter().rfind(|it| !it.is_empty()).expect("boxes"));
        let last: Vec<_> = last.collect();
        assert!(
            last.iter().all(|it| *it == last[0] && it[0] > 10),
            "{last:?}"
        );
        assert!(
            played
                .told
                .iter()
                .all(|it| it.1.seen.last().is_some_and(Vec::is_empty))
        );
        let objects = &played.proof.history.objects;
        assert_eq!(objects.len(), 2);
        for object in objects.values() {
            assert_eq!(object.lanes.len(), 3, "the server's and both clients'");
            for lane in object.lanes.values() {
                assert_eq!(lane.last().map(|it| it.belief), Some(Belief::Destroyed));
            }
        }
    }
}

#[test]
fn every_node_is_replayed_exactly() {
    for played in sessions() {
        for node in NODES {
            let report = played.replay(node, |_| {});
            assert_eq!(report.outcome, Outcome::Exact, "{node}");
            let sent = played.proof.reel(node).counts()[&EventKind::Sent];
            assert_eq!(report.sends, sent, "{node}");
        }
    }
}

#[test]
fn a_longer_step_is_a_divergence_down_to_the_field() {
    let played = sessions()[0];
    let report = played.replay("server", |start| start[0] = 2);
    let explained = played.proof.explained(&report);
    let field = explained.field.expect("a field");
    assert!(field.path.ends_with("components"), "{field:?}");
}

#[test]
fn packets_that_are_compressed_are_read_and_replayed() {
    let played = Played::new(Plan {
        lz4: true,
        ..Plan::default()
    });
    played.proof.decodes();
    assert_eq!(played.proof.faults(), Vec::<&_>::new());
    let session = &played.proof.session;
    let kinds = (0..session.packet_count()).map(|it| session.payload(PacketId(it as u32)));
    let packed = kinds.filter(|it| it.as_deref().is_some_and(|it| it[0] == 2));
    assert!(packed.count() > 0);
    for node in NODES {
        assert_eq!(
            played.replay(node, |_| {}).outcome,
            Outcome::Exact,
            "{node}"
        );
    }
}

#[test]
fn the_program_records_where_it_is_told_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = Path::new(env!("CARGO_BIN_EXE_lightyear-links"));
    let out = folder.path().join("session");
    let status = std::process::Command::new(program)
        .arg("--out")
        .arg(&out)
        .status();
    assert!(status.expect("it runs").success());
    assert_eq!(proof::open(&out).reels.len(), 3);
    assert!(sessions()[0].folder.path().exists());
}
