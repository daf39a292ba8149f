//! The race of the demonstration, found in its packets.

use netreel_protocol::history::{Belief, Effect, Level};
use netreel_sample_engine::{Demonstration, Mode, Peer, Script, SimWorldStart, Topology};
use netreel_wire::Role;

use crate::played::{Played, boxes};

const X: Peer = Peer(3);
const OBJECT: u64 = Demonstration::OBJECT.0;

fn played(mode: Mode, topology: Topology) -> Played {
    Played::to_rest(&SimWorldStart::new(
        7,
        mode,
        topology,
        Script::Demonstration,
    ))
}

#[test]
fn in_mode_host_x_drops_migrate_and_keeps_a_zombie_and_nothing_else_is_wrong() {
    let played = played(Mode::Host, Topology::PeerToPeer);
    assert_eq!(
        played.named(Level::Error),
        ["migrate-before-create at X", "zombie-object at X"]
    );
    assert_eq!(played.named(Level::Warning), Vec::<String>::new());
}

#[test]
fn in_mode_owner_nothing_is_wrong() {
    let played = played(Mode::Owner, Topology::PeerToPeer);
    assert_eq!(played.named(Level::Error), Vec::<String>::new());
    assert_eq!(played.named(Level::Warning), Vec::<String>::new());
}

#[test]
fn in_mode_owner_x_ignores_create_at_counter_0_after_destroy_at_counter_1() {
    let played = played(Mode::Owner, Topology::PeerToPeer);
    let stale = played.findings("stale-message-ignored");
    let late_create = stale.iter().find(|finding| {
        finding.is_about(OBJECT)
            && finding
                .evidence
                .iter()
                .any(|e| e.what.starts_with("CREATE"))
    });
    let sentence = &late_create.expect("the late CREATE is told of").sentence;
    assert!(
        sentence.starts_with("X ignored CREATE by A at counter 0 of object 42 (packet ")
            && sentence.contains("as old: it had got DESTROY by B at counter 1 (packet "),
        "{sentence}"
    );
}

#[test]
fn in_mode_owner_migrate_makes_the_object_at_x() {
    let played = played(Mode::Owner, Topology::PeerToPeer);
    let early = played.findings("migrate-before-create");
    let (levels, nodes): (Vec<_>, Vec<_>) = early
        .iter()
        .map(|each| (each.level, played.session.name(each.node)))
        .unzip();
    assert_eq!((levels, nodes), (vec![Level::Info], vec!["X".to_owned()]));
}

#[test]
fn through_a_server_the_race_does_not_show() {
    for mode in [Mode::Host, Mode::Owner] {
        let played = played(mode, Topology::ClientServer);
        assert_eq!(played.named(Level::Error), Vec::<String>::new());
        assert_eq!(played.findings("migrate-before-create"), Vec::<&_>::new());
    }
}

#[test]
fn the_zombies_sentence_names_node_object_and_packets() {
    let played = played(Mode::Host, Topology::PeerToPeer);
    let zombie = played.findings("zombie-object")[0];
    let [destroy, create] = &zombie.evidence[..] else {
        panic!("{:?}", zombie.evidence)
    };
    assert_eq!(
        zombie.sentence,
        format!(
            "X created object 42 (CREATE by A, packet {}) after DESTROY by B (packet {}), which it \
             had dropped because it did not know the object; it still lives at X when all is \
             delivered",
            create.packet.0, destroy.packet.0
        )
    );
}

#[test]
fn the_evidence_is_at_x_and_its_packets_carry_what_it_says() {
    let played = played(Mode::Host, Topology::PeerToPeer);
    let session = &played.session;
    for finding in played
        .history
        .findings
        .iter()
        .filter(|each| each.level == Level::Error)
    {
        for evidence in &finding.evidence {
            let packet = session.packet(evidence.packet).expect("it exists");
            assert_eq!(session.name(packet.to), "X");
            let mut carried = session.messages_of(evidence.packet);
            assert!(carried.any(|(message, _)| message == evidence.message));
            let kind = session.kind(evidence.message).expect("it has a kind");
            let word = evidence
                .what
                .split(' ')
                .next()
                .unwrap_or_default()
                .to_lowercase();
            assert_eq!(kind.name, word);
            assert!(session.record(evidence.node, evidence.number).is_some());
        }
    }
}

#[test]
fn xs_lane_ends_orphaned_and_all_others_end_destroyed() {
    let played = played(Mode::Host, Topology::PeerToPeer);
    let last = |peer| played.history.last_belief(OBJECT, played.node(peer));
    assert_eq!(last(X), Some(Belief::Orphaned(1)));
    for peer in [Peer(0), Peer(1), Peer(2)] {
        assert_eq!(last(peer), Some(Belief::Destroyed), "{peer:?}");
    }
}

#[test]
fn the_reliable_messages_of_the_object_reach_x_in_the_order_of_the_race() {
    let played = played(Mode::Host, Topology::PeerToPeer);
    let (session, history) = (&played.session, &played.history);
    let node = played.node(X);
    let story: Vec<(Role, Effect)> = history.objects[&OBJECT]
        .deliveries
        .iter()
        .filter_map(|&place| history.deliveries.get(place as usize))
        .filter(|delivery| delivery.node == node)
        .filter_map(|each| {
            Some((
                session.role(&history.facts(session, each.message)?),
                each.effect,
            ))
        })
        .filter(|(role, _)| *role != Role::Update)
        .collect();
    assert_eq!(
        story,
        [
            (Role::Migrate, Effect::IgnoredUnknown),
            (Role::Destroy, Effect::IgnoredUnknown),
            (Role::Create, Effect::Created),
        ]
    );
}

#[test]
fn the_findings_are_the_same_under_all_faults() {
    for seed in 0..30 {
        let faults = boxes(seed, Mode::Host, Topology::PeerToPeer).faults;
        let play = |mode| {
            let mut start =
                SimWorldStart::new(seed, mode, Topology::PeerToPeer, Script::Demonstration);
            start.faults = faults;
            Played::to_rest(&start)
        };
        let host = play(Mode::Host).named(Level::Error);
        assert_eq!(
            host,
            ["migrate-before-create at X", "zombie-object at X"],
            "seed {seed}"
        );
        let owner = play(Mode::Owner);
        assert_eq!(
            owner.named(Level::Error),
            Vec::<String>::new(),
            "seed {seed}"
        );
        let late_create = owner
            .findings("stale-message-ignored")
            .into_iter()
            .find(|finding| {
                finding
                    .sentence
                    .contains("CREATE by A at counter 0 of object 42")
                    && finding.sentence.contains("DESTROY by B at counter 1")
            });
        assert_eq!(
            late_create.map(|each| owner.session.name(each.node)),
            Some("X".to_owned())
        );
    }
}

#[test]
fn chance_play_in_mode_owner_goes_never_wrong() {
    for seed in 0..60 {
        for topology in [Topology::PeerToPeer, Topology::ClientServer] {
            let played = Played::to_rest(&boxes(seed, Mode::Owner, topology));
            assert_eq!(
                played.named(Level::Error),
                Vec::<String>::new(),
                "seed {seed} {topology:?}"
            );
        }
    }
}

#[test]
fn chance_play_through_a_server_never_shows_the_race() {
    for seed in 0..60 {
        let played = Played::to_rest(&boxes(seed, Mode::Host, Topology::ClientServer));
        assert_eq!(
            played.findings("migrate-before-create"),
            Vec::<&_>::new(),
            "seed {seed}"
        );
        assert_eq!(
            played.findings("zombie-object"),
            Vec::<&_>::new(),
            "seed {seed}"
        );
    }
}
