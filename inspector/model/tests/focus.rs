//! One focus beside one story, the way back, and what a filter leaves out.

mod fixture;

use std::sync::Arc;

use fixture::{B, BOX, DESTROY, X};
use netreel_inspector_model::{Command, MinimapColumn, Model, Row, Step};
use netreel_protocol::session::{Message, NodeId, PacketId};
use netreel_wire::KindId;

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
fn a_story_stays_until_somebody_ends_it() {
    let mut model = fixture::race_model();
    let told = model.selection().finding;
    for id in [packet(&model, DESTROY, B, X), PacketId(0)] {
        model.apply(Command::SelectPacket(id));
        assert_eq!(model.selection().finding, told);
        assert!(!model.story().is_empty());
    }
    model.apply(Command::EndStory);
    assert_eq!(model.selection().finding, None);
    assert!(model.story().is_empty());
    assert_eq!(model.selection().packet, Some(PacketId(0)));
}

#[test]
fn letting_go_takes_the_cursor_then_the_focus_then_the_story() {
    let mut model = fixture::race_model();
    let told = model.selection().finding;
    model.apply(Command::SetCursor(Some(fixture::ms(300..301).start)));
    model.apply(Command::LetGo);
    assert_eq!(model.cursor(), None);
    assert!(model.selection().packet.is_some());
    model.apply(Command::LetGo);
    assert_eq!(model.selection().packet, None);
    assert_eq!(model.selection().object, None);
    assert_eq!(model.selection().finding, told);
    model.apply(Command::LetGo);
    assert_eq!(model.selection(), Default::default());
    assert!(model.story().is_empty());
}

#[test]
fn an_object_brings_a_packet_about_it() {
    let mut model = fixture::race_model();
    for object in [fixture::PLAYERS, fixture::PLAYERS + 2] {
        model.apply(Command::SelectObject(Some(object)));
        assert_eq!(model.selection().object, Some(object));
        let packet = model.selection().packet.expect("a packet about it");
        let mut messages = model.messages_of(packet);
        assert!(messages.any(|(_, facts)| facts.object == Some(object)));
        let message = model.selection().message.expect("its message");
        let message = model.session().message(message).expect("a message");
        assert_eq!(
            (message.packet, message.facts.object),
            (packet, Some(object))
        );
    }
}

#[test]
fn back_and_forward_go_through_what_was_looked_at() {
    let mut model = fixture::race_model();
    let at_first = (model.selection(), model.visible());
    model.apply(Command::SelectPacket(PacketId(3)));
    let packet = (model.selection(), model.visible());
    for _ in 0..5 {
        model.apply(Command::Pan(1_000_000));
    }
    model.apply(Command::SetFilter("from == A".to_owned()));
    let filtered = (model.selection(), model.visible());
    model.apply(Command::Deselect);
    let stands = |model: &Model| (model.selection(), model.visible());
    model.apply(Command::Back);
    assert_eq!(stands(&model), filtered);
    model.apply(Command::Back);
    assert_eq!(model.filter().text, "");
    // Many small moves are one step.
    model.apply(Command::Back);
    assert_eq!(stands(&model), packet);
    assert_eq!(
        model.detail().bytes(),
        model.session().payload(PacketId(3)).as_deref()
    );
    model.apply(Command::Back);
    assert_eq!(stands(&model), at_first);
    assert!(!model.story().is_empty());
    model.apply(Command::Back);
    assert_eq!(stands(&model), at_first);
    for _ in 0..3 {
        model.apply(Command::Forward);
    }
    assert_eq!(stands(&model), filtered);
    assert_eq!(model.filter().text, "from == A");
}

#[test]
fn the_verdict_quotes_the_finding_that_is_looked_at() {
    let mut model = fixture::race_model();
    for rule in ["zombie-object", "migrate-before-create"] {
        let place = finding(&model, rule);
        model.apply(Command::SelectFinding(place));
        let sentence = model.history().findings[place].sentence.clone();
        let (_, verdict) = model.verdict();
        assert!(verdict.ends_with(&sentence), "{verdict}");
    }
}

#[test]
fn the_steps_below_a_finding_are_those_of_the_timeline() {
    let mut model = fixture::race_model();
    for rule in ["zombie-object", "migrate-before-create"] {
        let place = finding(&model, rule);
        model.apply(Command::SelectFinding(place));
        let rows = model.evidence_rows(place);
        let steps: Vec<usize> = rows.iter().filter_map(|row| row.step).collect();
        assert_eq!(
            steps,
            (1..=model.story().len()).collect::<Vec<_>>(),
            "{rule}"
        );
        // What proves another finding of the same story says which.
        let proof = &model.history().findings[place].evidence;
        for row in &rows {
            let is_own = proof.iter().any(|piece| piece.packet == row.packet);
            assert_eq!(is_own, row.of.is_none(), "{rule}: {row:?}");
            assert_ne!(row.of, Some(rule));
        }
        assert!(rows.iter().any(|row| row.of.is_none()));
    }
}

#[test]
fn the_cause_is_the_last_certain_step_of_the_chain() {
    let mut model = fixture::race_model();
    let place = finding(&model, "migrate-before-create");
    model.apply(Command::SelectFinding(place));
    let cause = model.why_cause().expect("a cause");
    let rows = model.why_rows();
    assert!(cause.is_certain && rows.contains(&cause), "{cause:?}");
    assert!(cause.depth > 0, "{cause:?}");
    for place in 0..model.history().findings.len() {
        model.apply(Command::SelectFinding(place));
        let cause = model.why_cause();
        let is_usual = cause.is_some_and(|cause| cause.sentence.contains("nothing unusual"));
        assert!(!is_usual, "{place}");
    }
    model.apply(Command::SelectFinding(place));
    // The link that it speaks of is in focus, though the finding brought a packet of another.
    let link = model.link().expect("a link");
    assert_eq!(model.link_label(link), "A → X", "{cause:?}");
    let packet = model.selection().packet.expect("a packet");
    assert_ne!(model.session().link(packet), Some(link));
    model.apply(Command::SelectFinding(place));
    model.apply(Command::EndStory);
    model.apply(Command::Deselect);
    assert_eq!(model.link(), model.worst_link());
}

#[test]
fn a_filter_narrows_findings_objects_and_the_strip_of_the_session() {
    let mut model = fixture::race_model();
    model.apply(Command::Deselect);
    let (findings, objects) = (model.finding_rows_count(), model.shown_object_count());
    assert!(model.minimap_taken(500.0).is_none());
    let player = fixture::PLAYERS;
    model.apply(Command::SetFilter(format!("object == {player}")));
    assert_eq!(model.finding_rows_count(), 0);
    assert_eq!(model.object_rows(), [Row::Object(player)]);
    let taken = model.minimap_taken(500.0).expect("some are left out");
    let events =
        |columns: &[MinimapColumn]| columns.iter().map(|column| column.events).sum::<u32>();
    assert!(events(&taken) < events(&model.minimap(500.0)));
    model.apply(Command::SetFilter(format!("object == {BOX}")));
    assert_eq!(model.finding_rows_count(), findings);
    model.apply(Command::SetFilter(String::new()));
    assert_eq!(model.shown_object_count(), objects);
}

#[test]
fn the_findings_of_a_muted_rule_leave_the_list_and_the_marks_and_the_verdict_stays() {
    let mut model = fixture::race_model();
    model.apply(Command::Deselect);
    model.apply(Command::ShowAll);
    let place = finding(&model, "zombie-object");
    let proof = model.history().findings[place].evidence[0].packet;
    let scale = model.scale(1_000.0);
    let flagged = |model: &Model| {
        let flags = model.flags(&scale, 1.0);
        flags.iter().map(|flag| flag.count).sum::<usize>()
    };
    let stands = |model: &Model| {
        let level = model.arrow(proof).expect("an arrow").level;
        (model.finding_place(place), flagged(model), level)
    };
    let (at_first, listed) = (stands(&model), model.finding_rows_count());
    let verdict = model.verdict();
    assert!(at_first.0.is_some() && at_first.2.is_some());
    assert_eq!(at_first.1, listed);

    model.apply(Command::Mute("zombie-object".to_owned(), true));
    let rows = model.muted_rows();
    assert_eq!((rows[0].rule, rows.len()), ("zombie-object", 1));
    assert_eq!(model.finding_rows_count(), listed - rows[0].findings);
    let (row, flags, level) = stands(&model);
    assert_eq!((row, flags), (None, listed - rows[0].findings));
    let others = model.history().findings.iter();
    let mut others = others.filter(|it| it.rule != "zombie-object");
    let proves_another = others.any(|it| it.evidence.iter().any(|it| it.packet == proof));
    assert_eq!(level.is_some(), proves_another);
    let minimap = model.minimap_flags(1_000.0);
    assert!(minimap.iter().all(|flag| flag.finding != place));
    assert_eq!(model.verdict(), verdict);

    model.apply(Command::Back);
    assert_eq!(stands(&model), at_first);
    assert!(model.muted_rows().is_empty());
    model.apply(Command::Forward);
    model.apply(Command::Mute("zombie-object".to_owned(), false));
    assert_eq!(stands(&model), at_first);
}

#[test]
fn a_filter_and_a_muted_rule_narrow_the_findings_together() {
    let mut model = fixture::race_model();
    let zombies = "rule == zombie-object".to_owned();
    model.apply(Command::SetFilter(zombies.clone()));
    assert!(model.finding_rows_count() > 0);
    model.apply(Command::Mute("zombie-object".to_owned(), true));
    assert_eq!(model.finding_rows_count(), 0);
    model.apply(Command::SetFilter(String::new()));
    let left = model.finding_rows_count();
    assert!(left > 0 && left < model.history().findings.len());
    model.apply(Command::SetFilter(zombies));
    assert_eq!(model.finding_rows_count(), 0);
    assert_eq!(model.finding_rows(0..9), []);
}

#[test]
fn stepping_goes_past_muted_findings_and_their_story_ends() {
    let mut model = fixture::race_model();
    let place = finding(&model, "zombie-object");
    model.apply(Command::SelectFinding(place));
    let packet = model.selection().packet;
    model.apply(Command::Mute("zombie-object".to_owned(), true));
    assert_eq!(model.selection().finding, None);
    assert!(model.story().is_empty());
    // What is looked at stays.
    assert_eq!(model.selection().packet, packet);
    for _ in 0..model.history().findings.len() {
        model.apply(Command::Step(Step::NextFinding));
        let told = model.selection().finding.expect("a finding");
        assert_ne!(model.history().findings[told].rule, "zombie-object");
    }
    // Who asks for one gets it.
    model.apply(Command::SelectFinding(place));
    assert_eq!(model.selection().finding, Some(place));
    for (place, finding) in model.history().findings.iter().enumerate() {
        let text = model.story_text(place).expect("its text");
        assert!(text.contains(&finding.sentence), "{text}");
    }
}

#[test]
fn a_session_opens_with_the_worst_story_that_is_not_muted() {
    let mut model = fixture::race_model();
    let told = model.selection().finding.expect("a story");
    let rule = model.history().findings[told].rule;
    model.set_muted(Arc::new([rule.to_owned()].into()));
    let told = model.selection().finding.expect("another story");
    assert_ne!(model.history().findings[told].rule, rule);
    let rules = model.history().findings.iter();
    let rules = rules.map(|finding| finding.rule.to_owned()).collect();
    model.set_muted(Arc::new(rules));
    assert_eq!(model.selection().finding, None);
    assert_eq!(model.visible(), model.whole());
}

#[test]
fn the_rows_in_view_are_those_of_the_visible_time() {
    let mut model = fixture::race_model();
    model.apply(Command::Show(fixture::ms(300..400)));
    let rows = model.rows_in_view();
    assert!(!rows.is_empty() && rows.end < model.row_count());
    for row in 0..model.row_count() {
        let packet = model.packet_at(row).and_then(|id| model.packet(id));
        let begins = packet
            .and_then(|packet| packet.first())
            .expect("a time")
            .time;
        let is_in_view = model.visible().contains(&begins);
        assert_eq!(rows.contains(&row), is_in_view, "row {row} at {begins:?}");
    }
}
