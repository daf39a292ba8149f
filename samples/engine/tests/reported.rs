//! Faults from public reports, each in one node's layer: it does something. The report stands above
//! each test, by repository and number.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fault::Planted;
use netreel_sample_engine::{Fault, ObjectId, Peer, Script, SimWorld, SimWorldStart, TableRow};
use netreel_transport::{Datagram, LinkFaults, ReceiveError, SendError, Time, Transport};
use reported::REPORTED;

#[path = "../examples/planted/fault.rs"]
mod fault;
#[path = "../examples/planted/reported.rs"]
mod reported;

const SEEDS: u64 = 6;

/// Eight seconds, of which the last six are quiet.
const TICKS: u64 = 480;

/// What came of a world.
#[derive(PartialEq)]
struct Played {
    /// All packets, in order: of whom, to whom, and what.
    packets: Vec<(Peer, SocketAddr, Vec<u8>)>,
    tables: Vec<BTreeMap<ObjectId, TableRow>>,
}

type Sent = Arc<Mutex<Vec<(Peer, SocketAddr, Vec<u8>)>>>;

fn play(seed: u64, reported: &Planted, with: bool) -> Played {
    let script = Script::Boxes { ticks: 120 };
    let mut start = SimWorldStart::new(seed, reported.mode, reported.topology, script);
    start.faults = LinkFaults {
        delay: Duration::from_millis(90),
        loss: 0.05,
        ..LinkFaults::default()
    };
    if with {
        start.planted.insert(reported.at, reported.fault);
    }
    let sent = Sent::default();
    let mut world = SimWorld::wrapped(&start, |node, inner| {
        let (peer, sent) = (node.peer, sent.clone());
        Box::new(Watched { inner, peer, sent })
    })
    .expect("good conditions");
    world.run(TICKS);
    let tables = world.running().into_iter().map(|peer| world.table(peer));
    Played {
        tables: tables.collect(),
        packets: sent.lock().expect("one thread").clone(),
    }
}

/// With the fault, packets or tables are not those of the same world without it, in at least half of
/// the worlds.
fn check(fault: Fault) {
    let reported = REPORTED.iter().find(|it| it.0.fault == fault);
    let (reported, source) = reported.expect("a row for each fault");
    assert_eq!(reported.rule, None, "which rules find it is counted");
    let differs = |&seed: &u64| play(seed, reported, true) != play(seed, reported, false);
    let worlds = (0..SEEDS).filter(differs).count();
    assert!(
        worlds as u64 * 2 >= SEEDS,
        "{fault:?} ({source}) does something in {worlds} of {SEEDS} worlds"
    );
}

/// cBournhonesque/lightyear#1684
#[test]
fn an_ack_that_comes_after_the_packet_was_judged_lost_is_not_taken() {
    check(Fault::IgnoreLateAcks);
}

/// whirvis/JRakNet#17
#[test]
fn what_is_sent_again_has_the_number_that_it_had() {
    check(Fault::ResendOldNumber);
}

/// Sandertv/go-raknet#1
#[test]
fn a_packet_that_only_acks_counts_one_too_many() {
    check(Fault::EmptyCount);
}

/// DMeville/Steamworks-P2P-Plus#3
#[test]
fn a_link_without_messages_is_not_kept_alive() {
    check(Fault::NoKeepAlive);
}

/// TheRandomLabs/RandomPatches#131
#[test]
fn seconds_of_patience_are_counted_in_a_smaller_unit() {
    check(Fault::TimeOutShort);
}

/// lidgren/lidgren-network-gen3#62
#[test]
fn a_message_beyond_the_window_is_acked_and_dropped() {
    check(Fault::DropEarly);
}

/// kinnay/NintendoClients#14
#[test]
fn numbers_begin_again_elsewhere_than_the_receivers_think() {
    check(Fault::StreamWrapsEarly);
}

/// IntQuant/noita_entangled_worlds#515
#[test]
fn a_full_queue_drops_reliable_messages() {
    check(Fault::DropAtFullQueue);
}

/// whirvis/JRakNet#1
#[test]
fn ordered_messages_are_not_put_in_order() {
    check(Fault::DeliverAsTheyCome);
}

/// mas-bandwidth/reliable#27
#[test]
fn a_packet_near_the_longest_is_refused() {
    check(Fault::RefuseFullPackets);
}

/// blue-nebula/base#241
#[test]
fn a_throttle_that_falls_lets_no_update_through_in_the_end() {
    check(Fault::ThrottleFalls);
}

/// Unity-Technologies/com.unity.netcode.gameobjects#214
#[test]
fn the_id_of_a_destroyed_object_is_used_again_at_once() {
    check(Fault::IdAgain);
}

/// BeardedManStudios/ForgeNetworkingRemastered#270
#[test]
fn what_was_created_while_a_peer_joined_is_not_told_it() {
    check(Fault::CreateToJoined);
}

/// Unity-Technologies/com.unity.netcode.gameobjects#915
#[test]
fn a_hidden_object_is_updated_all_the_same() {
    check(Fault::HiddenUpdated);
}

/// luanti-org/luanti#3713
#[test]
fn a_change_while_an_update_was_under_way_counts_as_acked() {
    check(Fault::AckOfNewest);
}

/// cBournhonesque/lightyear#740
#[test]
fn an_ack_covers_a_lost_update_before_it() {
    check(Fault::AckOfAllBefore);
}

/// MirrorNetworking/Mirror#3458
#[test]
fn a_change_marks_the_bit_of_another_field() {
    check(Fault::WrongDirtyField);
}

/// ddnet/ddnet#4379
#[test]
fn what_is_beyond_the_most_objects_is_left_out() {
    check(Fault::FirstObjectsOnly);
}

/// Unity-Technologies/com.unity.netcode.gameobjects#2851
#[test]
fn a_message_to_all_others_comes_back() {
    check(Fault::RelayBack);
}

/// FirstGearGames/FishNet#1067
#[test]
fn negative_numbers_are_read_two_steps_too_high() {
    check(Fault::NegativesOff);
}

/// A transport that keeps a copy of every packet sent.
struct Watched<T> {
    inner: T,
    peer: Peer,
    sent: Sent,
}

impl<T: Transport> Transport for Watched<T> {
    fn now(&mut self) -> Time {
        self.inner.now()
    }

    fn random(&mut self) -> u64 {
        self.inner.random()
    }

    fn send(&mut self, to: SocketAddr, packet: &[u8]) -> Result<(), SendError> {
        let mut sent = self.sent.lock().expect("one thread");
        sent.push((self.peer, to, packet.to_vec()));
        self.inner.send(to, packet)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<Datagram>, ReceiveError> {
        self.inner.receive(buffer)
    }

    fn tick(&mut self, tick: u64, time: Time) {
        self.inner.tick(tick, time);
    }

    fn input(&mut self, call: &[u8]) {
        self.inner.input(call);
    }

    fn note(&mut self, text: &str) {
        self.inner.note(text);
    }
}
