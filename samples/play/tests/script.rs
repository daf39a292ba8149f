//! The game by script, in virtual time: what players do, and what becomes of it.

mod support;

use netreel_play::{Script, Seen, Stage, What, ZOMBIE};
use netreel_replay::Outcome;
use netreel_sample_engine::{Mode, ObjectId, Peer};
use support::{A, B, X, errors, play, replayed, stage};

/// A's first box: the player itself is 40.
const BOX: ObjectId = ObjectId(41);

/// What the four nodes believe after a script.
#[track_caller]
fn after(script: &str) -> Vec<Seen> {
    let mut stage = stage(Mode::Host);
    play(&mut stage, script);
    stage.seen()
}

fn node(seen: &[Seen], peer: Peer) -> &Seen {
    let found = seen.iter().find(|node| node.peer == peer);
    found.expect("a node")
}

fn owners(seen: &[Seen]) -> Vec<Option<Peer>> {
    let of = |node: &Seen| node.thing(BOX).map(|thing| thing.owner);
    seen.iter().map(of).collect()
}

#[test]
fn a_box_that_is_made_is_seen_by_all() {
    let seen = after("wait all\nA spawn\nwait A has 41\nrest 500ms");
    assert_eq!(owners(&seen), vec![Some(A); 4]);
}

#[test]
fn who_picks_a_box_up_goes_there_owns_it_and_carries_it_along() {
    let seen =
        after("wait all\nA spawn\nwait B has 41\nB pick up 41\nwait B holds 41\nB go 0 0\nrest 3s");
    assert_eq!(owners(&seen), vec![Some(B); 4]);
    let at = node(&seen, X).thing(BOX).expect("the box").at;
    let far = at[0].hypot(at[1]);
    assert!(
        far < 15.0,
        "B stands in the middle, and the box is {far} away"
    );
    assert_eq!(node(&seen, A).held, None);
}

#[test]
fn what_is_held_is_seen_to_be_held_until_it_is_put_down() {
    let held = |script: &str| {
        let seen = after(script);
        let thing = node(&seen, X).thing(BOX).expect("the box").what.clone();
        matches!(thing, What::Box { held: true, .. })
    };
    let script = "wait all\nA spawn\nwait A has 41\nA pick up\nwait A holds 41\nrest 500ms\n";
    assert!(held(script));
    assert!(!held(&format!("{script}A put down\nrest 500ms")));
}

#[test]
fn who_pushes_a_box_moves_it_away_from_where_it_stands() {
    let before = after("wait all\nA spawn\nwait B has 41\nrest 500ms");
    let pushed = after("wait all\nA spawn\nwait B has 41\nB push 41\nwait B owns 41\nrest 3s");
    let at = |seen: &[Seen]| node(seen, X).thing(BOX).expect("the box").at;
    let (from, to) = (at(&before), at(&pushed));
    assert!((to[0] - from[0]).hypot(to[1] - from[1]) > 10.0);
    let b = node(&pushed, B).at;
    let far = |place: [f64; 2]| (place[0] - b[0]).hypot(place[1] - b[1]);
    assert!(far(to) > far(from), "away from B");
}

#[test]
fn what_is_thrown_away_is_gone_everywhere() {
    let seen = after("wait all\nA spawn\nwait B has 41\nB throw away 41\nwait B lacks 41\nrest 1s");
    assert_eq!(owners(&seen), vec![None; 4]);
}

#[test]
fn nobody_throws_players_away() {
    let seen = after("wait all\nB throw away 40\nrest 3s");
    assert!(node(&seen, A).thing(ObjectId(40)).is_some());
    assert_eq!(node(&seen, B).errand, None);
}

#[test]
fn a_slow_link_makes_a_zombie_in_mode_host() {
    let mut stage = stage(Mode::Host);
    play(&mut stage, ZOMBIE);
    let seen = stage.seen();
    assert_eq!(owners(&seen), vec![None, None, None, Some(A)]);
    let reels = stage.finish();
    let found = errors(&reels);
    assert!(found.contains(&"zombie-object X".to_owned()), "{found:?}");
    for reel in &reels {
        assert_eq!(replayed(reel), Outcome::Exact);
    }
}

#[test]
fn the_same_hands_make_no_zombie_in_mode_owner() {
    let mut stage = stage(Mode::Owner);
    let lines = ZOMBIE.lines().filter(|line| *line != "wait X has 41");
    play(&mut stage, &lines.collect::<Vec<_>>().join("\n"));
    assert_eq!(owners(&stage.seen()), vec![None; 4]);
    assert_eq!(errors(&stage.finish()), Vec::<String>::new());
}

#[test]
fn a_link_that_loses_half_of_all_packets_still_brings_everything() {
    let seen = after("wait all\nlink A X loss 50% jitter 30ms\nA spawn\nwait X has 41");
    assert_eq!(owners(&seen)[3], Some(A));
}

#[test]
fn the_same_script_gives_the_same_bytes() {
    let reels = || {
        let mut stage = stage(Mode::Host);
        play(&mut stage, ZOMBIE);
        stage.finish()
    };
    assert_eq!(reels(), reels());
}

#[test]
fn a_line_that_cannot_be_read_is_named() {
    let names = ["HOST", "A"].map(String::from);
    let refused = |text: &str| Script::parse(text, &names).expect_err("wrong").to_string();
    assert!(refused("# so\nC spawn").starts_with("line 2: there is no node \"C\""));
    assert!(refused("rest 3 s").starts_with("line 1: "));
    assert!(refused("link A HOST loss 5").contains("100%"));
    assert!(refused("A dance").contains("throw away"));
    assert!(refused("A push it").contains("\"it\" is no box"));
}
