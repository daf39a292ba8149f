//! A recording that is followed: packets at once, and beside them what followed from an earlier look.

mod fixture;

use std::sync::Arc;

use netreel_inspector_model::{Followed, Growth, Model};
use netreel_protocol::history::{History, Level};
use netreel_protocol::session::Session;

const MS: i64 = 1_000_000;
const SECONDS: i64 = 16;

/// Looks at the recording while it goes on, and once more when it is over.
fn looks(mut look: impl FnMut(Arc<Session>, History)) {
    let reels = fixture::race_that_goes_on(SECONDS);
    let mut growing = Session::builder().growing();
    let mut at = 0;
    while at < SECONDS * 1_000 * MS {
        // Each node's recorder has come a little further than another's.
        at += 470 * MS;
        let stood = reels.iter().zip(0..);
        let stood = stood.map(|(reel, nth)| fixture::stood(reel, at + nth * 13 * MS, 60));
        let session = growing.look(stood.collect()).expect("nodes that met");
        let history = History::build(&session);
        look(Arc::new(session), history);
    }
    let session = growing.look(reels).expect("nodes that met");
    let history = History::build(&session);
    look(Arc::new(session), history);
}

/// All that a window shows of a session before anybody knows what followed.
fn shown(model: &Model) -> String {
    let scale = model.scale(1500.0);
    let close = model.span().end.0;
    let mut near = Model::of_session(model.shared_session(), &[]);
    near.apply(netreel_inspector_model::Command::Show(fixture::ms(
        close / MS - 300..close / MS,
    )));
    format!(
        "{:?} {:?} {} {:?} {:?}",
        model.traffic(&scale),
        model.minimap(1500.0),
        model.status(),
        model.lanes(),
        near.traffic(&near.scale(1500.0)),
    )
}

#[test]
fn what_is_arranged_as_it_grows_is_what_is_arranged_at_once() {
    let mut growth = Growth::default();
    let (mut stayed, mut last) = (0, None::<Arc<Session>>);
    looks(|session, _| {
        let before = last.replace(session.clone());
        stayed += usize::from(before.is_some_and(|it| session.in_common(&it).1 > 1_000));
        let grown = growth.look(session.clone(), &[]);
        let at_once = Model::of_session(session, &[]);
        assert_eq!(shown(&grown), shown(&at_once));
    });
    assert!(stayed > 10, "in {stayed} looks packets stayed");
}

#[test]
fn findings_of_an_earlier_look_are_about_the_packets_that_are_shown() {
    let mut growth = Growth::default();
    let mut window = Model::of_session(Arc::default(), &[]);
    let mut before: Option<(Arc<Session>, History)> = None;
    let (mut behind, mut wrong, mut handed) = (0, 0, 0);
    looks(|session, history| {
        window.grow(growth.look(session.clone(), &[]));
        // What was known at the look before goes on to be shown.
        let known = window.behind_ns();
        if let Some((session, history)) = before.take() {
            let of = (&[][..], &growth.staying());
            window.take_followed(Followed::new(session, history, of));
        }
        if let Some(ns) = window.behind_ns() {
            behind += 1;
            // From look to look it is 470 ms. One link held packets for 880 ms: nobody waits twice that.
            assert!((200 * MS..1_200 * MS).contains(&ns), "{ns} ns behind");
            assert!(known.is_none_or(|known| known >= ns), "{known:?}, {ns}");
            assert!(
                window.verdict().1.starts_with("up to "),
                "{:?}",
                window.verdict()
            );
        }
        for finding in &window.history().findings {
            wrong += usize::from(finding.level == Level::Error);
            for piece in &finding.evidence {
                assert!(session.packet(piece.packet).is_some());
                let mut all = history.findings.iter();
                let same = all.any(|it| it.rule == finding.rule && it.evidence.contains(piece));
                assert!(same, "{finding:?}");
            }
        }
        handed += window.history().deliveries.len();
        for delivery in window.history().deliveries.iter() {
            let facts = session.message(delivery.message).expect("a message").facts;
            assert!(facts.kind.is_some());
        }
        before = Some((session, history));
    });
    assert!(behind > 20 && wrong > 20, "{behind} looks, {wrong} errors");
    assert!(handed > 10_000, "{handed} deliveries");
    // When nothing more comes all is told.
    let (session, history) = before.expect("a look");
    let all = History::build(&session).findings;
    let of = (&[][..], &growth.staying());
    window.take_followed(Followed::new(session, history, of));
    assert_eq!(window.behind_ns(), None);
    assert_eq!(window.history().findings, all);
    assert!(window.verdict().1.starts_with("wrong: "));
}

#[test]
fn a_recording_that_goes_on_is_not_called_cut() {
    let mut growth = Growth::default();
    let mut said = Vec::new();
    looks(|session, history| {
        let mut window = growth.look(session.clone(), &[]);
        let of = (&[][..], &growth.staying());
        window.take_followed(Followed::new(session, history, of));
        let lanes = window.lanes().iter();
        let notes = lanes.filter_map(|&node| window.lane_note(node));
        said.extend(notes.map(|note| note.text));
        assert_eq!(window.warnings(), Vec::<String>::new());
        let findings = window.history().findings.iter();
        said.extend(
            findings
                .map(|it| it.rule)
                .filter(|it| *it == "incomplete-reel"),
        );
    });
    said.dedup();
    assert_eq!(said, ["so far"]);
}

#[test]
fn what_followed_in_another_recording_is_not_shown() {
    let (session, history) = fixture::long(5_000);
    let mut window = Model::of_session(Arc::default(), &[]);
    let mut growth = Growth::default();
    growth.look(session.clone(), &[]);
    let of = (&[][..], &growth.staying());
    let told = Followed::new(session, History::clone(&history), of);
    window.take_followed(told);
    assert!(window.lacks_history());
}

#[test]
fn all_that_is_known_of_a_look_goes_on_to_be_shown_as_far_as_it_holds() {
    let mut growth = Growth::default();
    let mut window = Model::of_session(Arc::default(), &[]);
    let (mut whole, mut early) = (0, 0);
    looks(|session, history| {
        window.grow(growth.look(session.clone(), &[]));
        early += usize::from(window.behind_ns().is_some());
        let of = (&[][..], &growth.staying());
        window.take_followed(Followed::new(session, history, of));
        whole += usize::from(window.behind_ns().is_none() && !window.lacks_history());
    });
    assert!(early > 20, "{early}");
    assert!(whole > early, "{whole}, {early}");
}
