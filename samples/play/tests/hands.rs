//! The game by hand: clicks and keys as a person's, through what the panes tell of themselves.

mod support;

use std::sync::Arc;

use egui::{Key, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use netreel_inspector::{Inspector, Model, Workspace, theme};
use netreel_play::view::{Board, Command};
use netreel_play::{LinkSetting, Order, Seen, SimStage, Stage};
use netreel_protocol::history::History;
use netreel_protocol::session::{ReelInput, Session};
use netreel_reel::Reel;
use netreel_replay::Outcome;
use netreel_sample_engine::{Deed, Mode, ObjectId, Peer};
use support::{A, B, HOST, X, errors, replayed, stage};

/// A's first box: the player itself is 40.
const BOX: ObjectId = ObjectId(41);

/// A window over a simulated game.
struct Table {
    stage: SimStage,
    board: Board,
    commands: Vec<Command>,
}

struct Hands {
    harness: Harness<'static, Table>,
}

impl Hands {
    fn new(mode: Mode) -> Hands {
        let stage = stage(mode);
        let here = vec![HOST, A, B, X];
        let board = Board::new(stage.names().to_vec(), here, "by hand".to_owned());
        let table = Table {
            stage,
            board,
            commands: Vec::new(),
        };
        let harness = Harness::builder()
            .with_size(vec2(1400.0, 860.0))
            .with_max_steps(16)
            .with_context_setup(theme::apply)
            .build_ui_state(
                |ui, table: &mut Table| {
                    let seen = table.stage.seen();
                    table.board.show(ui, &seen);
                    for command in table.board.take_commands() {
                        if let Command::Order(to, order) = command {
                            table.stage.order(to, order);
                        }
                        table.commands.push(command);
                    }
                },
                table,
            );
        let mut hands = Hands { harness };
        hands.wait(60);
        hands
    }

    /// Lets this many ticks pass.
    fn wait(&mut self, ticks: u64) {
        self.harness.state_mut().stage.run(ticks);
        self.harness.run();
    }

    fn click(&mut self, name: &str) {
        self.harness.get_by_label(name).click();
        self.harness.run();
    }

    fn seen(&mut self, peer: Peer) -> Seen {
        let seen = self.harness.state_mut().stage.seen();
        seen.into_iter()
            .find(|node| node.peer == peer)
            .expect("a node")
    }

    /// Lets time pass until something is so at a node.
    #[track_caller]
    fn until(&mut self, peer: Peer, is_so: impl Fn(&Seen) -> bool) {
        for _ in 0..600 {
            if is_so(&self.seen(peer)) {
                return;
            }
            self.wait(1);
        }
        panic!("it does not come to that: {:?}", self.seen(peer));
    }
}

#[test]
fn whoever_slows_a_link_makes_the_zombie_with_a_slider_and_three_clicks() {
    let mut hands = Hands::new(Mode::Host);
    let slider = hands.harness.get_by_label("A to X: delay");
    slider.set_value_accesskit(4000.0);
    hands.harness.run();
    hands.click("A: spawn");
    hands.until(B, |node| node.thing(BOX).is_some());
    hands.click("B: box 41 of A");
    hands.until(B, |node| node.held == Some(BOX));
    hands.click("B: throw away");
    hands.until(B, |node| node.thing(BOX).is_none());
    assert!(hands.seen(X).thing(BOX).is_none(), "X has heard of nothing");
    hands.until(X, |node| node.thing(BOX).is_some());
    hands.wait(90);
    let _ = hands.harness.get_by_label("X: box 41 of A");
    let table = hands.harness.into_state();
    let reels = table.stage.finish();
    let found = errors(&reels);
    assert!(found.contains(&"zombie-object X".to_owned()), "{found:?}");
    for reel in &reels {
        assert_eq!(replayed(reel), Outcome::Exact);
    }
}

#[test]
fn a_zombie_is_marked_and_told() {
    let mut hands = Hands::new(Mode::Host);
    let told = "X believes in box 41 of A, which nobody else has: a zombie.";
    hands.click("A to X: hold");
    hands.click("A: spawn");
    hands.until(B, |node| node.thing(BOX).is_some());
    hands.click("B: throw away");
    hands.until(B, |node| node.thing(BOX).is_none());
    hands.wait(30);
    hands.click("A to X: hold");
    hands.until(X, |node| node.thing(BOX).is_some());
    assert!(hands.harness.query_by_label_contains(told).is_none());
    hands.wait(90);
    assert!(hands.harness.query_by_label_contains(told).is_some());
}

#[test]
fn keys_move_the_player_of_the_pane_that_was_chosen() {
    let mut hands = Hands::new(Mode::Host);
    hands.harness.key_press(Key::Num3);
    hands.harness.run();
    let before = hands.seen(B).at;
    hands.harness.key_down(Key::D);
    hands.harness.run();
    hands.wait(20);
    hands.harness.key_up(Key::D);
    hands.harness.run();
    let after = hands.seen(B).at;
    assert!(after[0] > before[0] + 10.0, "{before:?} {after:?}");
    hands.wait(20);
    let rests = hands.seen(B).at;
    assert!(rests[0] < after[0] + 3.0, "{after:?} {rests:?}");
}

#[test]
fn whoever_changes_panes_leaves_nobody_walking() {
    let mut hands = Hands::new(Mode::Host);
    hands.harness.key_press(Key::Num2);
    hands.harness.key_down(Key::W);
    hands.harness.run();
    hands.harness.key_press(Key::Num3);
    hands.harness.run();
    let stops = Command::Order(A, Order::Deed(Deed::Walk([0.0, 0.0])));
    assert!(hands.harness.state().commands.contains(&stops));
}

#[test]
fn a_slider_changes_its_own_link_and_no_other() {
    let mut hands = Hands::new(Mode::Host);
    hands
        .harness
        .get_by_label("B to HOST: loss")
        .set_value_accesskit(25.0);
    hands.harness.run();
    let setting = LinkSetting {
        loss: 0.25,
        ..LinkSetting::default()
    };
    let order = Order::Link { from: B, setting };
    assert_eq!(
        hands.harness.state().commands,
        [Command::Order(HOST, order)]
    );
}

#[test]
fn half_a_screen_has_room_for_the_floors_and_for_every_link() {
    let mut hands = Hands::new(Mode::Host);
    hands.harness.set_size(vec2(800.0, 936.0));
    hands.harness.run();
    let rect = |hands: &Hands, name: &str| hands.harness.get_by_label(name).rect();
    let [a, loss, hold] = ["A: play", "B to HOST: loss", "B to HOST: hold"];
    assert!(rect(&hands, a).width() > 200.0);
    assert!(rect(&hands, a).right() < rect(&hands, loss).left());
    assert!(rect(&hands, hold).right() < 800.0);
    let number = hands.harness.get_by_label(loss);
    number.set_value_accesskit(25.0);
    hands.harness.run();
    let loss = hands.harness.state().board.link(B, HOST).loss;
    assert_eq!(loss, 0.25);
}

#[test]
fn a_script_that_changes_a_link_is_seen_on_its_slider() {
    let mut hands = Hands::new(Mode::Host);
    let setting = LinkSetting {
        delay: std::time::Duration::from_millis(1500),
        ..LinkSetting::default()
    };
    let order = Order::Link { from: A, setting };
    hands.harness.state_mut().stage.order(X, order);
    hands.harness.run();
    assert_eq!(hands.harness.state().board.link(A, X), setting);
    assert_eq!(hands.harness.state().commands, []);
}

#[test]
fn the_inspector_is_asked_for_by_a_click() {
    let mut hands = Hands::new(Mode::Host);
    hands.click("Inspector");
    assert_eq!(hands.harness.state().commands, [Command::Inspect(None)]);
}

/// The recordings as the inspector shows them that is asked for.
fn inspector(reels: &[Vec<u8>], object: Option<ObjectId>) -> Harness<'static, Inspector> {
    let inputs = reels.iter().enumerate().map(|(place, bytes)| {
        let reel = Reel::from_bytes(bytes.clone()).expect("a reel");
        ReelInput {
            name: place.to_string(),
            reel: Arc::new(reel),
        }
    });
    let session = Arc::new(
        Session::builder()
            .build(inputs.collect())
            .expect("a session"),
    );
    let history = Arc::new(History::build(&session));
    let mut model = Model::new(session, history);
    if let Some(object) = object {
        let filter = format!("object == {}", object.0);
        model.apply(netreel_inspector::Command::SetFilter(filter));
    }
    model.finish();
    let mut harness = Harness::builder()
        .with_size(vec2(1600.0, 1000.0))
        .with_max_steps(16)
        .with_context_setup(theme::apply)
        .build_ui_state(
            |ui, inspector: &mut Inspector| inspector.show(ui),
            Inspector::new(model, Workspace::Why),
        );
    harness.run();
    harness
}

#[test]
fn from_a_zombie_by_hand_it_is_one_click_to_why() {
    let mut hands = Hands::new(Mode::Host);
    let slider = hands.harness.get_by_label("A to X: delay");
    slider.set_value_accesskit(4000.0);
    hands.harness.run();
    hands.click("A: spawn");
    hands.until(B, |node| node.thing(BOX).is_some());
    hands.click("B: throw away");
    hands.until(B, |node| node.thing(BOX).is_none());
    hands.until(X, |node| node.thing(BOX).is_some());
    hands.wait(90);
    // The zombie is there, and the pane says so.
    let clicks = ["why box 41"];
    clicks.iter().for_each(|name| hands.click(name));
    assert!(clicks.len() <= 3);
    let asked = hands.harness.state().commands.last().cloned();
    let Some(Command::Inspect(object)) = asked else {
        panic!("{asked:?}");
    };
    let reels = hands.harness.into_state().stage.finish();
    let inspector = inspector(&reels, object);
    let said = inspector.query_all_by_label_contains("because ");
    let said: Vec<String> = said.filter_map(|it| it.accesskit_node().label()).collect();
    let is_it = |said: &String| said.contains(" took 4.") && said.contains("from A to X");
    assert!(said.iter().any(is_it), "{said:?}");
}
