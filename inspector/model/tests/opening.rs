//! A large session is shown before its history is known.

mod fixture;

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use netreel_inspector_model::{Column, Command, Model};
use netreel_protocol::history::History;
use netreel_protocol::packet_fields::PacketField;
use netreel_protocol::session::{PacketId, Session};

/// More than are small.
const PACKETS: usize = 100_004;

/// A session of which nobody has asked yet what its packets carry.
fn large() -> Arc<Session> {
    let session = fixture::fresh(PACKETS);
    assert!(!session.is_small() && !session.has_facts());
    Arc::new(session)
}

/// All that the first frame shows of the session, and packets from close up.
fn look_around(model: &mut Model) {
    let scale = model.scale(1500.0);
    assert_eq!(model.traffic(&scale).density.len(), 4);
    assert!(model.flags(&scale, 7.0).is_empty());
    assert!(!model.minimap(1500.0).is_empty());
    assert!(model.lanes().len() == 4 && model.status().contains("1 000 lost"));
    assert!(model.columns().contains(&Column::Of(PacketField::Objects)));
    let rows = model.packet_rows(0..30);
    assert!(
        rows.iter()
            .all(|row| row.is_told && row.cell(PacketField::Messages) == "update")
    );
    assert!(model.kinds_that_lead().is_empty());
    model.apply(Command::Show(fixture::ms(5_000..5_100)));
    let arrows = model.traffic(&model.scale(1500.0)).arrows;
    assert!(arrows.len() > 1_000 && arrows.iter().all(|arrow| arrow.kind.is_some()));
    model.apply(Command::SelectPacket(PacketId(77)));
    assert!(model.detail().rows().iter().any(|row| row.name == "kind"));
    assert!(model.outcomes(PacketId(77), 3).is_empty());
    assert!(model.packet_text(PacketId(77)).contains("\nupdate\n"));
    assert_eq!(model.lead_text(PacketId(77)), "update 27");
}

#[test]
fn the_first_frame_asks_nobody_what_all_packets_carry() {
    let session = large();
    let mut model = Model::of_session(session.clone(), &[]);
    assert_eq!(model.why_not_yet(), Some("being worked out"));
    let waits = (None, "findings: being worked out".to_owned());
    assert_eq!(model.verdict(), waits);
    look_around(&mut model);
    assert!(!session.has_facts());
}

#[test]
fn what_came_later_is_what_was_there_at_once() {
    let session = large();
    let history = Arc::new(History::build(&session));
    let at_once = Model::new(session.clone(), history);
    let mut later = Model::of_session(session, &[]);
    later.finish();
    let told = |model: &Model| {
        let rows = model.packet_rows(4_000..4_050);
        let objects = model.object_rows().to_vec();
        let seen = (model.visible(), model.selection(), model.verdict());
        (rows, objects, seen, model.finding_rows(0..100))
    };
    assert!(told(&at_once) == told(&later));
    assert!(!later.lacks_history());
}

#[test]
fn the_thread_says_when_the_history_has_come() {
    let (woken, told) = channel();
    let mut model = Model::open(large(), &[]);
    model.wake_with(move || woken.send(()).unwrap_or_default());
    while model.lacks_history() {
        // Whoever came too early to be called looks anyway.
        let _ = told.recv_timeout(Duration::from_millis(100));
        model.advance();
    }
    assert_eq!(model.verdict().1.split(':').next(), Some("clean"));
}

#[test]
fn who_keeps_the_history_gets_it_when_it_is_there() {
    let (keep, kept) = channel();
    let mut model = Model::open_and(large(), &[], move |history| {
        let findings = history.map(|it| it.findings.len());
        keep.send(findings).unwrap_or_default();
    });
    model.finish();
    // What the session alone tells is kept before.
    assert_eq!(kept.recv(), Ok(None));
    assert_eq!(kept.recv(), Ok(Some(model.history().findings.len())));
}

#[test]
fn who_has_looked_around_is_left_where_they_are() {
    let mut model = Model::of_session(large(), &[]);
    let visible = fixture::ms(5_000..5_100);
    model.apply(Command::Show(visible.clone()));
    model.apply(Command::SelectPacket(PacketId(50_000)));
    model.finish();
    assert_eq!(model.visible(), visible);
    assert_eq!(model.selection().packet, Some(PacketId(50_000)));
}

#[test]
fn a_filter_that_speaks_of_history_waits_for_it() {
    let mut model = Model::of_session(large(), &[]);
    model.apply(Command::SetFilter("acked".to_owned()));
    assert!(model.filter().waits());
    // Another text that cannot be read does not let go of it.
    model.apply(Command::SetFilter("acked &&".to_owned()));
    assert!(model.filter().waits() && model.filter().error.is_some());
    assert_eq!(model.row_count(), 0);
    model.finish();
    assert!(!model.filter().waits());
    let history = model.history();
    let acked = (0..PACKETS as u32).filter(|&id| {
        let acked = history.acked(model.session(), PacketId(id));
        acked.is_some()
    });
    assert_eq!(model.row_count(), acked.count());
}

#[test]
fn a_filter_on_fates_waits_for_nothing() {
    let session = large();
    let mut model = Model::of_session(session.clone(), &[]);
    model.apply(Command::SetFilter("lost".to_owned()));
    assert!(!model.filter().waits());
    model.finish_filter();
    assert_eq!(model.row_count(), PACKETS / 100);
    assert!(!session.has_facts() && model.lacks_history());
}

#[test]
fn what_depends_on_packets_before_it_is_told_when_they_were_read() {
    let session = Arc::new(fixture::fresh_with_state(PACKETS));
    let mut model = Model::of_session(session.clone(), &[]);
    model.apply(Command::SelectPacket(PacketId(77)));
    assert!(model.detail().waits() && model.detail().bytes().is_some());
    let rows = model.packet_rows(0..30);
    assert!(
        rows.iter()
            .all(|row| !row.is_told && row.cell(PacketField::Fate) == "received")
    );
    let text = model.packet_text(PacketId(77));
    assert!(text.contains("\nmessages: being worked out\n"), "{text}");
    assert!(!session.has_facts());

    assert_eq!(session.message_count(), PACKETS);
    model.advance();
    assert!(!model.detail().waits() && !model.detail().rows().is_empty());
    assert_eq!(model.lead_text(PacketId(77)), "update 27");
    let row = model.packet_row(PacketId(77)).expect("a packet");
    assert!(row.is_told && row.cell(PacketField::Messages) == "update");
}

#[test]
fn a_history_is_given_up_and_gone_on_with() {
    let (keep, kept) = channel();
    let mut model = Model::open_and(large(), &[], move |history| {
        if let Some(history) = history {
            keep.send(history.findings.len()).unwrap_or_default();
        }
    });
    assert_eq!(model.works_on(), Some("what followed"));
    model.apply(Command::GiveUp);
    assert_eq!(
        (model.works_on(), model.given_up()),
        (None, Some("what followed"))
    );
    let (_, verdict) = model.verdict();
    assert!(verdict.starts_with("findings: given up"), "{verdict}");
    // What is given up is not waited for.
    model.finish();
    assert!(model.lacks_history());
    model.apply(Command::GoOn);
    assert_eq!(
        (model.works_on(), model.given_up()),
        (Some("what followed"), None)
    );
    model.finish();
    assert!(!model.lacks_history());
    assert_eq!(kept.recv(), Ok(model.history().findings.len()));
}

/// Gives something up that a pane asks for, and goes on with it.
#[track_caller]
fn check_given_up(name: &str, model: &mut Model, ask: impl Fn(&Model) -> bool) {
    assert!(!ask(model), "{name} took no time");
    if model.works_on() != Some(name) {
        // A busy machine let the other thread end first: there is nothing to give up.
        model.finish_beside();
        return assert!(ask(model), "{name} was never worked on");
    }
    model.apply(Command::GiveUp);
    // The pane asks with each frame.
    assert!(!ask(model));
    assert_eq!((model.works_on(), model.given_up()), (None, Some(name)));
    assert!(model.why_waits().starts_with("given up"));
    model.apply(Command::GoOn);
    // It may be there by now.
    assert!(ask(model) || model.works_on() == Some(name) || ask(model));
    assert_eq!(model.given_up(), None);
    model.finish_beside();
    assert!(ask(model));
}

#[test]
fn what_panes_work_out_is_given_up_and_gone_on_with() {
    let (session, history) = fixture::long(20_000);
    let mut model = Model::new(session, history);
    check_given_up("what nodes believed", &mut model, |it| {
        it.believed().is_some()
    });
    check_given_up("what the bytes were", &mut model, |it| {
        it.bandwidth().is_some()
    });
    check_given_up("what fields take", &mut model, |it| it.by_field().is_some());
    let link = model.link().expect("a link");
    let scale = model.scale(1_000.0);
    check_given_up("the link over time", &mut model, |it| {
        it.flows(link, &scale).is_some()
    });
    check_given_up("what nodes wrote", &mut model, |it| {
        it.log_lines(true).is_some()
    });
}

#[test]
fn a_comparison_is_given_up_and_gone_on_with() {
    let [mut model, other] = [(); 2].map(|()| {
        let (session, history) = fixture::long(20_000);
        Model::new(session, history)
    });
    check_given_up("the comparison", &mut model, |it| {
        it.compared(&other).is_some()
    });
}
