//! The model without a window.

mod fixture;

use fixture::{A, B, BOX, CREATE, DESTROY, HOST, MIGRATE, X};
use netreel_inspector_model::{
    ARROWS_MAX, Command, Hover, Model, Row, Scale, Shown, Step, Traffic, ticks,
};
use netreel_protocol::history::{Belief, Level};
use netreel_protocol::packet_fields::PacketField;
use netreel_protocol::session::{Fate, Message, MessageId, NodeId, PacketId, Session, SessionTime};
use netreel_wire::{KindId, StreamId, TreeId};

fn packet(model: &Model, kind: u16, from: u16, to: u16) -> PacketId {
    let about = |message: &Message| {
        message.kind() == Some(KindId(kind)) && message.facts.object == Some(BOX)
    };
    let links = |id: PacketId| {
        model
            .packet(id)
            .is_some_and(|p| (p.from, p.to) == (NodeId(from), NodeId(to)))
    };
    let mut messages = model.session().messages();
    messages
        .find(|message| about(message) && links(message.packet))
        .map(|message| message.packet)
        .expect("the script says it")
}

fn finding(model: &Model, rule: &str) -> usize {
    let findings = &model.history().findings;
    findings
        .iter()
        .position(|finding| finding.rule == rule)
        .unwrap_or_else(|| panic!("no {rule} among {findings:?}"))
}

#[test]
fn a_session_with_errors_opens_on_their_story() {
    let model = fixture::race_model();
    let selection = model.selection();
    assert_eq!(selection.object, Some(BOX));
    let selected = selection.finding.expect("a finding");
    assert_eq!(model.history().findings[selected].level, Level::Error);
    let visible = model.visible();
    for piece in model.story() {
        assert!(
            visible.contains(&piece.time),
            "{} is out of view",
            piece.what
        );
    }
    for proof in [
        packet(&model, MIGRATE, HOST, X),
        packet(&model, DESTROY, B, X),
        packet(&model, CREATE, A, X),
    ] {
        assert!(
            model.story().iter().any(|piece| piece.packet == proof),
            "{proof:?}"
        );
    }
}

#[test]
fn a_session_without_findings_opens_whole() {
    let (session, _) = fixture::race();
    let model = Model::new(session, Default::default());
    assert_eq!(model.visible(), model.whole());
    assert_eq!(model.selection(), Default::default());
}

#[test]
fn an_empty_session_can_be_shown() {
    let mut model = Model::new(Default::default(), Default::default());
    for command in [
        Command::ShowAll,
        Command::FrameSelection,
        Command::Step(Step::NextPacket),
        Command::Step(Step::LastPacket),
        Command::Step(Step::NextFinding),
        Command::SelectPacket(PacketId(3)),
        Command::SelectFinding(3),
        Command::SelectEvidence(3, 3),
        Command::SetFilter("object == 42".to_owned()),
        Command::Hover(Some(Hover::Byte(u32::MAX))),
        Command::SetCursor(Some(SessionTime(5))),
        Command::Zoom {
            at: SessionTime(0),
            factor: 0.0,
        },
        Command::Pan(i64::MAX),
    ] {
        model.apply(command);
    }
    assert!(model.traffic(&model.scale(1000.0)).arrows.is_empty());
    assert_eq!(model.selection(), Default::default());
}

#[test]
fn the_longest_session_there_can_be_is_shown_and_zoomed() {
    let mut session = Session::default();
    session.span = SessionTime(0)..SessionTime::MAX;
    let mut model = Model::new(session.into(), Default::default());
    for (at, factor) in [(SessionTime::MAX, 1e-9), (SessionTime(0), 1e9)] {
        model.apply(Command::Zoom { at, factor });
        let scale = model.scale(800.0);
        assert!(!ticks(&scale, 100.0).is_empty());
        assert!(scale.time(800.0) > scale.time(0.0));
    }
}

#[test]
fn selecting_a_finding_selects_its_first_packet_its_object_and_its_message() {
    let mut model = fixture::race_model();
    let zombie = finding(&model, "zombie-object");
    model.apply(Command::ShowAll);
    model.apply(Command::SelectFinding(zombie));
    let first = model.history().findings[zombie].evidence[0].clone();
    let selection = model.selection();
    assert_eq!(selection.packet, Some(first.packet));
    assert_eq!(selection.message, Some(first.message));
    assert_eq!(selection.object, Some(BOX));
}

#[test]
fn next_and_previous_finding_go_round() {
    let mut model = fixture::race_model();
    let count = model.history().findings.len();
    assert!(count >= 2);
    let start = model.selection().finding;
    for _ in 0..count {
        model.apply(Command::Step(Step::NextFinding));
    }
    assert_eq!(model.selection().finding, start);
    model.apply(Command::Step(Step::NextFinding));
    model.apply(Command::Step(Step::PreviousFinding));
    assert_eq!(model.selection().finding, start);
}

#[test]
fn arrow_keys_stay_on_the_filter_and_on_the_link() {
    let mut model = fixture::race_model();
    model.apply(Command::SetFilter("object == 42".to_owned()));
    model.apply(Command::Step(Step::FirstPacket));
    let mut seen = 0;
    loop {
        let id = model.selection().packet.expect("a packet");
        let about = model
            .messages_of(id)
            .any(|(_, facts)| facts.object == Some(BOX));
        assert!(about, "{id:?} is not about the box");
        seen += 1;
        model.apply(Command::Step(Step::NextPacket));
        if model.selection().packet == Some(id) {
            break;
        }
    }
    assert_eq!(seen, model.row_count());

    let create = packet(&model, CREATE, A, X);
    model.apply(Command::SelectPacket(create));
    model.apply(Command::Step(Step::NextOnLink));
    let next = model
        .selection()
        .packet
        .and_then(|id| model.packet(id))
        .expect("a packet");
    assert_eq!((next.from, next.to), (NodeId(A), NodeId(X)));
    model.apply(Command::Step(Step::PreviousOnLink));
    assert_eq!(model.selection().packet, Some(create));
}

#[test]
fn zoom_keeps_the_time_under_the_pointer() {
    let mut model = fixture::race_model();
    for (x, factor) in [(0.0_f32, 2.0), (333.0, 1.7), (1200.0, 0.4), (799.0, 3.0)] {
        model.apply(Command::Show(fixture::ms(300..500)));
        let at = model.scale(1200.0).time(x);
        model.apply(Command::Zoom { at, factor });
        let after = model.scale(1200.0).x(at);
        assert!((after - x).abs() < 0.5, "{x} went to {after} at {factor}");
    }
}

#[test]
fn nothing_outside_the_session_can_be_brought_into_view() {
    let mut model = fixture::race_model();
    let whole = model.whole();
    let at = SessionTime(400_000_000);
    for command in [
        Command::Pan(i64::MAX / 2),
        Command::Pan(i64::MIN / 2),
        Command::Zoom { at, factor: 1e-9 },
        Command::Zoom { at, factor: 1e30 },
        Command::Zoom {
            at,
            factor: f64::NAN,
        },
        Command::Show(SessionTime(i64::MIN)..SessionTime(i64::MAX)),
        Command::Show(SessionTime(9)..SessionTime(-9)),
    ] {
        model.apply(command.clone());
        let visible = model.visible();
        assert!(visible.start < visible.end, "{command:?}");
        assert!(
            whole.start <= visible.start && visible.end <= whole.end,
            "{command:?}"
        );
    }
}

#[test]
fn a_filter_with_a_mistake_leaves_the_last_good_one_in_force() {
    let mut model = fixture::race_model();
    let all = model.row_count();
    model.apply(Command::SetFilter("object == 42".to_owned()));
    let narrowed = model.row_count();
    assert!(narrowed > 0 && narrowed < all);
    model.apply(Command::SetFilter("object == ".to_owned()));
    assert!(model.filter().error.is_some());
    assert_eq!(model.row_count(), narrowed);
    model.apply(Command::SetFilter(String::new()));
    assert_eq!(model.filter().error, None);
    assert_eq!(model.row_count(), all);
}

/// Letters may come several in a frame: which of the texts on the way were seen plays no part.
#[test]
fn what_a_filter_takes_while_it_is_typed_follows_from_its_text_alone() {
    let mut model = fixture::race_model();
    let all = model.row_count();
    let mut rows = |text: &str, typed: bool| {
        let text = text.to_owned();
        model.apply(match typed {
            true => Command::TypeFilter(text),
            false => Command::SetFilter(text),
        });
        model.row_count()
    };
    let narrowed = rows("object == 42", false);
    assert!(narrowed > 0 && narrowed < all);
    rows("object == 4", false);
    for head in [
        "object == 42 && ",
        "object == 42 && kin",
        "object == 42 && kind == mig",
    ] {
        assert_eq!(rows(head, true), narrowed, "{head}");
    }
    let migrated = rows("object == 42 && kind == migrate", true);
    assert!(migrated > 0 && migrated < narrowed);
    // A word alone that is not whole yet hides nothing; whoever means it says so.
    assert_eq!(rows("", true), all);
    assert_eq!(rows("kind == mig", true), all);
    assert_eq!(rows("kind == mig", false), 0);
}

#[test]
fn a_filter_dims_the_arrows_that_it_does_not_take() {
    let mut model = fixture::race_model();
    model.apply(Command::SetFilter("object == 42".to_owned()));
    let arrows = model.traffic(&model.scale(1000.0)).arrows;
    let taken = arrows.iter().filter(|arrow| arrow.matches).count();
    assert!(taken > 0 && taken < arrows.len());
}

#[test]
fn the_object_that_the_nodes_disagree_about_has_a_row_for_each_node() {
    let mut model = fixture::race_model();
    model.apply(Command::Deselect);
    let rows = model.object_rows();
    let expected: Vec<Row> = std::iter::once(Row::Object(BOX))
        .chain((0..4).map(|node| Row::Node(BOX, NodeId(node))))
        .collect();
    assert_eq!(&rows[..5], expected);
    assert_eq!(rows[5], Row::Object(fixture::PLAYERS));
    assert!(!rows.contains(&Row::Node(fixture::PLAYERS, NodeId(A))));
}

#[test]
fn the_orphan_is_shown_at_its_node_and_at_its_object() {
    let model = fixture::race_model();
    let scale = Scale::new(&model.whole(), 1000.0);
    let last = |row| model.stretches(row, &scale).pop().expect("a stretch").shown;
    let orphan = Belief::Orphaned(1);
    assert_eq!(last(Row::Node(BOX, NodeId(X))), Shown::Agreed(orphan));
    assert_eq!(last(Row::Object(BOX)), Shown::Somewhere(orphan));
    assert_eq!(
        last(Row::Node(BOX, NodeId(A))),
        Shown::Agreed(Belief::Destroyed)
    );
}

#[test]
fn a_node_believes_nothing_of_an_object_before_it_heard_of_it() {
    let model = fixture::race_model();
    let at = |ms: i64, node: u16| {
        let span = model.belief(BOX, NodeId(node), SessionTime(ms * 1_000_000));
        span.map(|span| span.belief)
    };
    assert_eq!(at(400, X), None);
    assert_eq!(at(400, A), Some(Belief::Owned(2)));
    assert_eq!(at(250, A), Some(Belief::Owned(1)));
    assert_eq!(at(150, A), None);
}

#[test]
fn objects_have_the_names_of_their_types() {
    let model = fixture::race_model();
    assert_eq!(model.object_name(BOX), "42 box");
    assert_eq!(model.object_name(fixture::PLAYERS), "100 player");
}

#[test]
fn a_field_and_its_byte_light_each_other() {
    let mut model = fixture::race_model();
    model.apply(Command::SelectPacket(packet(&model, MIGRATE, HOST, X)));
    let rows = model.detail().rows();
    let sequence = rows
        .iter()
        .find(|row| row.name == "sequence")
        .expect("a field");
    assert_eq!(sequence.bits, 16..32);
    model.apply(Command::Hover(Some(Hover::Field(sequence.id))));
    let lit = model.lit_bits().expect("bits");
    let masks: Vec<u8> = (0..5)
        .map(|byte| model.detail().mask(&lit, byte, StreamId(0)))
        .collect();
    assert_eq!(masks, [0, 0, 0xff, 0xff, 0]);
    model.apply(Command::Hover(Some(Hover::Byte(3))));
    assert_eq!(model.lit_fields(), [sequence.id]);
    // mode, has_ack, cure, what mode and cure come to, and sender share the second byte.
    model.apply(Command::Hover(Some(Hover::Byte(1))));
    assert_eq!(model.lit_fields().len(), 5);
}

#[test]
fn the_selected_message_lights_its_bits() {
    let mut model = fixture::race_model();
    let create = packet(&model, CREATE, A, X);
    let (message, facts) = model.messages_of(create).next().expect("a message");
    model.apply(Command::SelectMessage(message));
    assert_eq!(model.lit_bits(), Some(facts.bits));
}

#[test]
fn a_closed_field_hides_what_is_below_it() {
    let mut model = fixture::race_model();
    model.apply(Command::SelectPacket(packet(&model, CREATE, A, X)));
    let rows = model.detail().rows();
    let messages = rows
        .iter()
        .find(|row| row.name == "messages")
        .expect("a field");
    let inside = rows
        .iter()
        .filter(|row| row.bits.start >= messages.bits.start && row.depth > messages.depth)
        .count();
    assert!(inside > 5);
    let id = messages.id;
    model.apply(Command::ToggleField(id));
    assert_eq!(model.detail().rows().len(), rows.len() - inside);
    model.apply(Command::ToggleField(id));
    assert_eq!(model.detail().rows(), rows);
}

#[test]
fn the_table_says_what_is_late_and_what_is_lost() {
    let model = fixture::race_model();
    let row = model
        .packet_row(packet(&model, CREATE, A, X))
        .expect("a row");
    assert_eq!(
        (row.cell(PacketField::Link), row.cell(PacketField::Messages)),
        ("A → X", "create")
    );
    assert_eq!(row.cell(PacketField::Objects), "42");
    assert_eq!(row.level, Some(Level::Error));
    let rows = model.packet_rows(0..model.row_count());
    let lost = rows.iter().filter(|row| row.missing).count();
    assert_eq!(
        lost,
        model
            .session()
            .packets()
            .filter(|p| p.received.is_none())
            .count()
    );
    assert!(lost > 0);
    assert!(
        rows.iter()
            .any(|row| row.cell(PacketField::Fate) == "2 copies")
    );
}

#[test]
fn the_status_counts() {
    let model = fixture::race_model();
    let packets = model.session().packets();
    let lost = packets.filter(|p| p.received.is_none()).count();
    let packets = model.session().packet_count();
    assert_eq!(
        model.status(),
        format!("4 nodes · {packets} packets · {lost} lost")
    );
    let (level, text) = model.verdict();
    assert_eq!(level, Some(Level::Error));
    assert!(text.starts_with("wrong: 2 errors · "), "{text}");
}

#[test]
fn the_verdict_is_unknown_where_a_reel_could_not_be_read_and_clean_where_nothing_lacks() {
    let (session, _) = fixture::race();
    let model = Model::new(session.clone(), Default::default());
    let (level, clean) = model.verdict();
    let said =
        "clean until 0.891700 s: no errors; what was said in the last 108.3 ms is not judged";
    assert_eq!((level, clean.as_str()), (None, said));
    let unread = ["Y.reel: it is not a reel".to_owned()];
    let model = Model::without(session, Default::default(), &unread);
    let unknown = "unknown: no errors, but not all could be judged: a reel could not be read: \
                   Y.reel: it is not a reel";
    assert_eq!(model.verdict(), (Some(Level::Warning), unknown.to_owned()));
}

/// What a frame of a session of `packets` packets consists of, at 1500 pixels.
fn frame(model: &Model) -> usize {
    let scale = model.scale(1500.0);
    let Traffic {
        density, arrows, ..
    } = model.traffic(&scale);
    let spans: usize = model
        .object_rows()
        .iter()
        .take(20)
        .map(|&row| model.stretches(row, &scale).len())
        .sum();
    density.iter().map(Vec::len).sum::<usize>()
        + arrows.len()
        + model.flags(&scale, 1.0).len()
        + model.duplicates(&scale).len()
        + model.minimap(1500.0).len()
        + model.packet_rows(0..30).len()
        + spans
}

#[test]
fn above_a_few_thousand_packets_there_is_density() {
    let (session, history) = fixture::long(100_000);
    let mut model = Model::new(session, history);
    model.apply(Command::ShowAll);
    let all = model.traffic(&model.scale(1500.0));
    assert!(all.arrows.is_empty());
    assert_eq!(all.density.len(), 4);
    let events: u32 = all
        .density
        .iter()
        .flatten()
        .map(|bucket| bucket.events)
        .sum();
    let lost: u32 = all.density.iter().flatten().map(|bucket| bucket.lost).sum();
    assert_eq!((events, lost), (199_000, 1_000));

    // 100 ms hold a thousand packets, and the one that is under way all the time.
    model.apply(Command::Show(fixture::ms(5_000..5_100)));
    let near = model.traffic(&model.scale(1500.0));
    assert!(near.density.is_empty());
    assert!(
        (1_000..1_100).contains(&near.arrows.len()),
        "{}",
        near.arrows.len()
    );
    assert!(near.arrows.iter().any(|arrow| arrow.packet == PacketId(0)));
}

#[test]
fn a_filter_brings_arrows_back_where_there_was_density() {
    let (session, history) = fixture::long(100_000);
    let mut model = Model::new(session, history);
    model.apply(Command::ShowAll);
    model.apply(Command::SetFilter("lost".to_owned()));
    model.finish_filter();
    let traffic = model.traffic(&model.scale(1500.0));
    assert_eq!(traffic.arrows.len(), 1_000);
    assert!(traffic.density_is_rest);
}

#[test]
fn a_frame_does_not_grow_with_the_recording() {
    let count = |packets: usize| {
        let (session, history) = fixture::long(packets);
        let mut model = Model::new(session, history);
        model.apply(Command::ShowAll);
        let whole = frame(&model);
        model.apply(Command::Show(fixture::ms(500..1_500)));
        (whole, frame(&model))
    };
    let (whole_small, near_small) = count(20_000);
    let (whole_large, near_large) = count(100_000);
    // Four lanes, flags, the minimap and twenty rows of objects: one thing a pixel each at most.
    let bound = ARROWS_MAX + (4 + 4 + 1 + 20) * 1_500;
    for frame in [whole_small, near_small, whole_large, near_large] {
        assert!(frame < bound, "{frame} things to draw");
    }
    assert!(
        whole_large < whole_small * 2,
        "{whole_small} became {whole_large}"
    );
}

#[test]
fn there_are_no_more_arrows_than_pixels() {
    let (session, history) = fixture::long(2_000);
    let mut model = Model::new(session, history);
    model.apply(Command::ShowAll);
    let drawn = |pixels: f32| {
        let traffic = model.traffic(&model.scale(pixels));
        (!traffic.arrows.is_empty(), !traffic.density.is_empty())
    };
    assert_eq!(drawn(2_000.0), (true, false));
    assert_eq!(drawn(1_900.0), (false, true));
}

#[test]
fn the_most_telling_message_of_a_packet_stands_first() {
    let model = fixture::update_and_create();
    let row = model.packet_rows(0..1).pop().expect("a packet");
    assert_eq!(row.cell(PacketField::Messages), "create, update");
}

#[test]
fn an_envelope_says_when_a_packet_left_and_came_and_what_became_of_it() {
    let (session, history) = fixture::long(2_000);
    let model = Model::new(session, history);
    let of = |fate: Fate| {
        let mut packets = model.packets_by_time();
        let found = packets.find(|&id| model.packet(id).is_some_and(|it| it.fate == fate));
        model.envelope(found.expect("a packet")).join(", ")
    };
    let clock = "2023-11-14 22:13:20";
    assert_eq!(
        of(Fate::Received),
        format!("sent 0.000000, received 0.200000, 200.0 ms, 16 bytes, {clock}.000000 UTC")
    );
    assert_eq!(
        of(Fate::Lost),
        format!("sent 0.005000, lost, 16 bytes, {clock}.005000 UTC")
    );
}

#[test]
fn a_message_says_what_the_receiver_made_of_it() {
    let model = fixture::race_model();
    let said = |kind: u16, from: u16| {
        let outcomes = model.outcomes(packet(&model, kind, from, X), 9);
        let outcome = outcomes.into_iter().next().expect("an outcome");
        (
            outcome.message.clone(),
            outcome.node.clone(),
            outcome.effect,
            outcome.ignored,
        )
    };
    let unknown = "ignored, the object is unknown here";
    let at_x =
        |message: &str, effect, ignored| (message.to_owned(), "X".to_owned(), effect, ignored);
    assert_eq!(said(MIGRATE, HOST), at_x("migrate 42", unknown, true));
    assert_eq!(said(DESTROY, B), at_x("destroy 42", unknown, true));
    assert_eq!(
        said(CREATE, A),
        at_x("create 42", "created the object", false)
    );
}

/// Numbers that look random and are the same every time (Knuth's MMIX generator).
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

#[test]
fn no_order_of_commands_brings_the_model_out_of_step() {
    let mut model = fixture::race_model();
    let mut draws = Draws(7);
    let steps = [
        Step::NextPacket,
        Step::PreviousPacket,
        Step::NextOnLink,
        Step::PreviousOnLink,
        Step::FirstPacket,
        Step::LastPacket,
        Step::NextFinding,
        Step::PreviousFinding,
    ];
    let filters = [
        "",
        "object == 42",
        "lost",
        "kind == create",
        "(",
        "object == 7777",
    ];
    for _ in 0..3_000 {
        let at = SessionTime(draws.below(2_000_000_000) as i64 - 500_000_000);
        let number = draws.below(800) as u32;
        let command = match draws.below(14) {
            0 => Command::SelectPacket(PacketId(number)),
            1 => Command::SelectMessage(MessageId(number)),
            2 if number.is_multiple_of(8) => Command::ShowStream(StreamId(number as u16)),
            2 => Command::PinField(Some(TreeId(number))),
            3 => Command::SelectFinding(draws.below(4) as usize),
            4 => Command::SelectEvidence(draws.below(4) as usize, draws.below(4) as usize),
            5 => Command::SelectObject(Some(draws.below(110))),
            6 => Command::Hover(Some(Hover::Byte(number))),
            7 => Command::Hover(Some(Hover::Field(TreeId(number)))),
            8 => Command::SetCursor(Some(at)),
            9 => Command::Pan(at.0),
            10 => Command::Zoom {
                at,
                factor: f64::from(number) / 100.0,
            },
            11 => Command::FrameSelection,
            12 => Command::SetFilter(filters[draws.below(6) as usize].to_owned()),
            _ => Command::Step(steps[draws.below(8) as usize]),
        };
        model.apply(command.clone());
        let (visible, whole) = (model.visible(), model.whole());
        assert!(
            whole.start <= visible.start && visible.end <= whole.end,
            "{command:?}"
        );
        let selection = model.selection();
        if let Some(packet) = selection.packet {
            assert!(model.packet(packet).is_some(), "{command:?}");
        }
        if let Some(message) = selection.message {
            let of = model.session().carrier(message);
            assert_eq!(of, selection.packet, "{command:?}");
        }
        assert_eq!(
            model.story().is_empty(),
            model.evidence().is_empty(),
            "{command:?}"
        );
        frame(&model);
        model.lit_bits();
        model.lit_fields();
    }
}
