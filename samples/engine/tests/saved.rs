//! The state of a layer as bytes: read back, and read from hands that mean no good.

use netreel_sample_engine::{
    Call, Mode, NetLayer, Peer, Script, SimWorld, SimWorldStart, Topology, Tuning,
};
use netreel_transport::{Draw, Layer, LinkFaults, RestoreError, SimNet};

const WAYS: [(Mode, Topology); 12] = [
    (Mode::Host, Topology::PeerToPeer),
    (Mode::Host, Topology::ClientServer),
    (Mode::Owner, Topology::PeerToPeer),
    (Mode::Owner, Topology::ClientServer),
    (Mode::Counter, Topology::PeerToPeer),
    (Mode::Counter, Topology::ClientServer),
    (Mode::Queue, Topology::PeerToPeer),
    (Mode::Queue, Topology::ClientServer),
    (Mode::Handshake, Topology::PeerToPeer),
    (Mode::Handshake, Topology::ClientServer),
    (Mode::Order, Topology::PeerToPeer),
    (Mode::Order, Topology::ClientServer),
];

fn start(seed: u64) -> SimWorldStart {
    let (mode, topology) = WAYS[(seed % 12) as usize];
    let mut start = SimWorldStart::new(seed, mode, topology, Script::Boxes { ticks: 200 });
    start.faults = LinkFaults {
        loss: 0.2,
        reorder: 0.2,
        reorder_by: std::time::Duration::from_millis(80),
        ..LinkFaults::default()
    };
    // Small packets: messages in pieces.
    start.tuning = Tuning {
        packet_bytes: 300,
        ..Tuning::default()
    };
    start
}

/// The states of all nodes, every few ticks.
fn states(seed: u64) -> Vec<(Peer, Vec<u8>)> {
    let mut world = SimWorld::new(&start(seed)).unwrap();
    let mut states = Vec::new();
    for round in 0..8 {
        // Off, on again and off in every other world.
        if seed % 2 == 1 && round > 1 {
            let on = round % 2 == 1;
            for peer in world.running() {
                world.call(peer, &Call::TimeOuts { on });
            }
        }
        world.run(13);
        for peer in world.running() {
            let state = world.layer(peer).and_then(Layer::save);
            states.push((peer, state.expect("this engine offers it")));
        }
    }
    states
}

fn layer(seed: u64, peer: Peer) -> NetLayer {
    NetLayer::new(start(seed).start(peer)).unwrap()
}

#[test]
fn a_restored_layer_saves_the_same_bytes() {
    for seed in 0..WAYS.len() as u64 {
        for (peer, state) in states(seed) {
            let mut layer = layer(seed, peer);
            layer.restore(&state).unwrap();
            assert_eq!(layer.save().unwrap(), state, "seed {seed}, {peer:?}");
        }
    }
}

#[test]
fn a_state_knows_whether_the_game_turned_time_outs_off() {
    let peer = Peer(1);
    let mut off = layer(1, peer);
    let never = off.save().unwrap();
    let mut io = SimNet::new(1, std::time::Duration::ZERO).join(off.start().peers[1].endpoint);
    off.input(&Call::TimeOuts { on: false }.encode(), &mut io)
        .unwrap();
    let thrown = off.save().unwrap();
    assert_ne!(never, thrown);
    for state in [thrown, never] {
        let mut other = layer(1, peer);
        other.restore(&state).unwrap();
        assert_eq!(other.save().unwrap(), state);
    }
}

#[test]
fn a_state_does_not_know_whether_a_debugger_holds_time_outs_off() {
    let mut layer = layer(1, Peer(1));
    let before = layer.save().unwrap();
    assert!(layer.time_outs(false), "it has the switch");
    assert_eq!(layer.save().unwrap(), before);
    let held = |layer: &NetLayer| {
        let told = layer.describe();
        told.contains(&("time_outs".into(), "on, and held off in this replay".into()))
    };
    layer.restore(&before).unwrap();
    assert!(held(&layer), "a state that is restored does not throw it");
    layer.time_outs(true);
    assert!(!held(&layer));
}

#[test]
fn a_layer_restores_over_whatever_it_was() {
    let states = states(1);
    let mut of_one = states.iter().filter(|(peer, _)| *peer == Peer(2));
    let (first, last) = (of_one.next().unwrap(), of_one.next_back().unwrap());
    let mut layer = layer(1, Peer(2));
    layer.restore(&last.1).unwrap();
    layer.restore(&first.1).unwrap();
    assert_eq!(layer.save().unwrap(), first.1);
}

#[test]
fn the_state_of_another_node_is_refused_and_changes_nothing() {
    let states = states(2);
    let (peer, state) = states.last().unwrap();
    let other = Peer(peer.0 - 1);
    let mut layer = layer(2, other);
    let before = layer.save().unwrap();
    let refused = layer.restore(state).unwrap_err();
    assert!(refused.to_string().contains("another node"), "{refused}");
    assert_eq!(layer.save().unwrap(), before);
}

/// FNV-1a, 64 bits.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn change(bytes: &mut Vec<u8>, draw: &mut Draw) {
    let place = draw.below(bytes.len() as u64) as usize;
    match draw.below(4) {
        0 => bytes[place] ^= 1 << draw.below(8),
        1 => bytes[place] = draw.bits() as u8,
        2 => bytes.insert(place, [0x00, 0x7f, 0x80, 0xff][draw.below(4) as usize]),
        _ => {
            bytes.remove(place);
        }
    }
}

#[test]
fn changed_bytes_are_refused() {
    let mut draw = Draw::new(1);
    for (peer, state) in states(3) {
        let mut layer = layer(3, peer);
        for _ in 0..20 {
            let mut changed = state.clone();
            change(&mut changed, &mut draw);
            if changed != state {
                let refused = layer.restore(&changed);
                assert!(
                    matches!(refused, Err(RestoreError::Refused(_))),
                    "{refused:?}"
                );
            }
        }
    }
}

/// Whoever forges a state forges its checksum too. The layer then refuses it, or is in a state from
/// which it goes on without harm.
#[test]
fn a_forged_state_does_no_harm() {
    let mut draw = Draw::new(2);
    let mut taken = 0;
    for seed in 0..4 {
        for (peer, state) in states(seed) {
            for _ in 0..60 {
                let mut forged = state[..state.len() - 8].to_vec();
                for _ in 0..=draw.below(3) {
                    change(&mut forged, &mut draw);
                }
                forged.extend(checksum(&forged).to_le_bytes());
                let mut layer = layer(seed, peer);
                if layer.restore(&forged).is_err() {
                    continue;
                }
                taken += 1;
                assert_eq!(layer.save().unwrap(), forged);
                let start = start(seed).start(peer);
                let net = SimNet::new(seed, std::time::Duration::ZERO);
                let mut io = net.join(start.peers[usize::from(peer.0)].endpoint);
                for _ in 0..5 {
                    layer.tick(&mut io);
                    net.advance(std::time::Duration::from_secs(1));
                }
                layer.describe();
            }
        }
    }
    assert!(taken > 100, "only {taken} were taken");
}
