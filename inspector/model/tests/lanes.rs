//! Lanes: their order, which of them are shown, which stand together.

mod fixture;

use std::sync::Arc;

use fixture::ways::{model, recorded, seen, talk};
use fixture::{A, B, HOST, X};
use netreel_inspector_model::{Command, LaneMove, LanePlan, Model};
use netreel_protocol::history::{Evidence, Finding, History, Level};
use netreel_protocol::session::{MessageId, NodeId, PacketId};

fn names(model: &Model) -> Vec<String> {
    let rows = model.lane_rows().iter();
    rows.map(|row| model.lane_title(row)).collect()
}

fn after(model: &mut Model, change: LaneMove) -> Vec<String> {
    model.apply(Command::Lanes(change));
    names(model)
}

/// Two hosts, of which one has three nodes.
fn hosts() -> Model {
    let names = [
        "10.0.0.31:49152",
        "10.0.0.5:7000",
        "10.0.0.31:49153",
        "10.0.0.31:49154",
    ];
    model(talk(names.map(recorded).to_vec()))
}

#[test]
fn a_lane_goes_where_it_is_put() {
    let mut model = fixture::race_model();
    assert_eq!(names(&model), ["HOST", "A", "B", "X"]);
    let to = LaneMove::To(NodeId(X), NodeId(HOST));
    assert_eq!(after(&mut model, to), ["X", "HOST", "A", "B"]);
    let to = LaneMove::To(NodeId(X), NodeId(A));
    assert_eq!(after(&mut model, to), ["HOST", "A", "X", "B"]);
    assert_eq!(
        after(&mut model, LaneMove::Down(NodeId(X))),
        ["HOST", "A", "B", "X"]
    );
    // There is nothing below it.
    assert_eq!(
        after(&mut model, LaneMove::Down(NodeId(X))),
        ["HOST", "A", "B", "X"]
    );
    assert_eq!(
        after(&mut model, LaneMove::Up(NodeId(A))),
        ["A", "HOST", "B", "X"]
    );
}

#[test]
fn a_hidden_lane_keeps_its_place() {
    let mut model = fixture::race_model();
    assert_eq!(
        after(&mut model, LaneMove::Toggle(NodeId(A))),
        ["HOST", "B", "X"]
    );
    assert_eq!(model.hidden_lanes(), [NodeId(A)]);
    let to = LaneMove::To(NodeId(X), NodeId(HOST));
    assert_eq!(after(&mut model, to), ["X", "HOST", "B"]);
    assert_eq!(
        after(&mut model, LaneMove::Toggle(NodeId(A))),
        ["X", "HOST", "A", "B"]
    );
}

#[test]
fn the_last_lane_stays() {
    let mut model = fixture::race_model();
    for node in [HOST, A, B, X] {
        model.apply(Command::Lanes(LaneMove::Toggle(NodeId(node))));
    }
    assert_eq!(names(&model), ["X"]);
}

#[test]
fn a_lane_alone_gets_company_and_gives_it_up() {
    let mut model = fixture::race_model();
    model.apply(Command::Lanes(LaneMove::Toggle(NodeId(B))));
    assert_eq!(after(&mut model, LaneMove::Alone(NodeId(A))), ["A"]);
    assert_eq!(after(&mut model, LaneMove::Toggle(NodeId(X))), ["A", "X"]);
    assert_eq!(after(&mut model, LaneMove::Alone(NodeId(X))), ["X"]);
    // What was hidden before is hidden again.
    assert_eq!(
        after(&mut model, LaneMove::Alone(NodeId(X))),
        ["HOST", "A", "X"]
    );
}

#[test]
fn nodes_of_a_host_stand_together_and_share_a_lane() {
    let mut model = hosts();
    let lanes = [
        "10.0.0.31:49152",
        "10.0.0.5:7000",
        "10.0.0.31:49153",
        "10.0.0.31:49154",
    ];
    assert_eq!(names(&model), lanes);
    let together = [lanes[0], lanes[2], lanes[3], lanes[1]];
    assert_eq!(after(&mut model, LaneMove::ByHost(true)), together);
    let folded = after(&mut model, LaneMove::Fold(NodeId(2)));
    assert_eq!(folded, ["10.0.0.31 · 3", "10.0.0.5:7000"]);
    assert_eq!(
        model.lane_rows()[0].nodes,
        [NodeId(0), NodeId(2), NodeId(3)]
    );
    assert_eq!(after(&mut model, LaneMove::Fold(NodeId(0))), together);
    assert_eq!(after(&mut model, LaneMove::ByHost(false)), lanes);
}

#[test]
fn all_of_a_host_go_along_to_another_host() {
    let mut model = hosts();
    model.apply(Command::Lanes(LaneMove::ByHost(true)));
    let to = LaneMove::To(NodeId(1), NodeId(3));
    let moved = [
        "10.0.0.5:7000",
        "10.0.0.31:49152",
        "10.0.0.31:49153",
        "10.0.0.31:49154",
    ];
    assert_eq!(after(&mut model, to), moved);
    let within = [moved[0], moved[3], moved[1], moved[2]];
    assert_eq!(
        after(&mut model, LaneMove::To(NodeId(3), NodeId(0))),
        within
    );
    let back = [within[1], within[2], within[3], within[0]];
    assert_eq!(after(&mut model, LaneMove::Down(NodeId(1))), back);
}

#[test]
fn lanes_have_a_way_back() {
    let mut model = fixture::race_model();
    model.apply(Command::Lanes(LaneMove::Up(NodeId(X))));
    model.apply(Command::Lanes(LaneMove::Toggle(NodeId(HOST))));
    assert_eq!(names(&model), ["A", "X", "B"]);
    model.apply(Command::Back);
    assert_eq!(names(&model), ["HOST", "A", "X", "B"]);
    model.apply(Command::Back);
    assert_eq!(names(&model), ["HOST", "A", "B", "X"]);
    model.apply(Command::Forward);
    assert_eq!(names(&model), ["HOST", "A", "X", "B"]);
}

#[test]
fn a_plan_of_other_nodes_hides_nobody() {
    let mut model = fixture::race_model();
    let of = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    model.set_lanes(Arc::new(LanePlan {
        order: vec!["X".to_owned(), "nobody".to_owned(), "B".to_owned()],
        ..LanePlan::default()
    }));
    // Who is not named stands behind those who are.
    assert_eq!(names(&model), ["X", "B", "HOST", "A"]);
    model.set_lanes(Arc::new(LanePlan {
        alone: of(&["nobody"]),
        ..LanePlan::default()
    }));
    assert_eq!(names(&model), ["HOST", "A", "B", "X"]);
}

#[test]
fn nodes_of_one_name_have_lanes_of_their_own() {
    let nodes = ["bot", "bot", "server"].map(recorded).to_vec();
    let mut model = model(talk(nodes));
    model.apply(Command::Lanes(LaneMove::Toggle(NodeId(1))));
    assert_eq!(model.hidden_lanes(), [NodeId(1)]);
}

#[test]
fn a_recording_that_goes_on_keeps_its_lanes() {
    let mut model = fixture::race_model();
    model.apply(Command::Lanes(LaneMove::Up(NodeId(X))));
    model.grow(fixture::race_model());
    assert_eq!(names(&model), ["HOST", "A", "X", "B"]);
}

/// A client whose port changes, as the history tells: from its second endpoint to its third.
fn moved() -> Model {
    let names = ["10.0.0.5:7000", "203.0.113.9:40001", "203.0.113.9:51777"];
    let session = talk(names.map(seen).to_vec());
    let mut history = History::build(&session);
    let last = (0..session.packet_count() as u32).map(PacketId);
    let mut last = last.filter(|&it| session.link(it).is_some_and(|link| link.0 == NodeId(1)));
    let packet = last.next_back().unwrap();
    let piece = Evidence {
        what: "the last packet from the old port".to_owned(),
        message: MessageId(0),
        packet,
        node: NodeId(1),
        number: Default::default(),
        time: Default::default(),
    };
    history.add_findings(vec![Finding {
        rule: "address-changed",
        level: Level::Info,
        node: NodeId(2),
        objects: Vec::new(),
        each: Vec::new(),
        time: Default::default(),
        sentence: String::new(),
        evidence: vec![piece],
    }]);
    Model::new(Arc::new(session), Arc::new(history))
}

#[test]
fn who_goes_on_from_another_port_has_one_lane() {
    let mut model = moved();
    let client = "203.0.113.9:40001, :51777";
    let mut both = names(&model);
    both.sort();
    assert_eq!(both, ["10.0.0.5:7000", client]);
    assert_eq!(model.lane_name_length(), client.chars().count());
    // It is hidden, and comes back, as a whole.
    assert_eq!(
        after(&mut model, LaneMove::Toggle(NodeId(2))),
        ["10.0.0.5:7000"]
    );
    after(&mut model, LaneMove::AsAtFirst);
    assert!(names(&model).contains(&client.to_owned()));
}

#[test]
fn who_ran_the_nodes_has_a_lane_for_its_notes_and_believes_nothing() {
    let model = fixture::race_with_runner([100, 200]);
    let runner = model.lanes().iter().copied();
    let runner = runner.max().expect("lanes");
    assert_eq!(model.lane_name(runner), "RUNNER");
    assert_eq!(names(&model), ["HOST", "A", "B", "X", "RUNNER"]);
    assert!(!model.believers().contains(&runner));
    assert!(model.status().starts_with("5 nodes, 1 without packets"));
    let lines = model.log_lines(true).expect("read within the frame");
    let own = lines.lines.iter().filter(|line| line.node == Some(runner));
    let own: Vec<_> = own.map(|line| line.text.as_str()).collect();
    assert_eq!(own, ["say A: spawn", "kill B"]);
}
