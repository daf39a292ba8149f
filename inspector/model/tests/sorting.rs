//! The packet table in another order than that of time.

mod fixture;

use std::collections::BTreeMap;
use std::sync::Arc;

use netreel_inspector_model::{Column, Command, Growth, Model, OwnColumns, Sorting, Step};
use netreel_protocol::packet_fields::PacketField;
use netreel_protocol::session::{Fate, NodeId, PacketId, Session};
use netreel_wire::KindId;

/// The race, with all columns that are not of fields.
fn model() -> Model {
    let mut model = fixture::race_model();
    model.apply(Command::SetColumns(OwnColumns {
        since: true,
        on_link: true,
        ..OwnColumns::default()
    }));
    model
}

fn sort(model: &mut Model, by: Column, down: bool) {
    model.apply(Command::Sort(Some(Sorting { by, down })));
}

fn rows(model: &Model) -> Vec<PacketId> {
    let rows = 0..model.row_count();
    rows.filter_map(|row| model.packet_at(row)).collect()
}

/// The rows are in the order of what `key` says of packets; those of which it says nothing are last, and
/// those of which it says the same are in the order of time.
#[track_caller]
fn check<K: Ord + Clone>(
    model: &mut Model,
    by: Column,
    key: impl Fn(&Model, PacketId) -> Option<K>,
) {
    for down in [false, true] {
        sort(model, by, down);
        let shown = rows(model);
        let mut expected: Vec<PacketId> = model.packets_by_time().collect();
        expected.sort_by(|&one, &other| match (key(model, one), key(model, other)) {
            (Some(one), Some(other)) if down => other.cmp(&one),
            (Some(one), Some(other)) => one.cmp(&other),
            (one, other) => other.is_some().cmp(&one.is_some()),
        });
        assert_eq!(shown, expected, "by {by:?}, down: {down}");
        for (row, packet) in shown.into_iter().enumerate() {
            assert_eq!(model.row_of(packet), Some(row));
        }
    }
}

fn time(model: &Model, id: PacketId) -> Option<i64> {
    Some(model.packet(id)?.first()?.time.0)
}

#[test]
fn rows_are_sorted_by_what_stands_in_a_column() {
    let mut model = model();
    check(&mut model, Column::Of(PacketField::Time), time);
    check(&mut model, Column::Of(PacketField::Packet), |_, id| {
        Some(id)
    });
    check(&mut model, Column::Of(PacketField::Length), |model, id| {
        model.packet(id).map(|packet| packet.length)
    });
    check(&mut model, Column::Of(PacketField::Link), |model, id| {
        model.packet(id).map(|packet| model.link_name(&packet))
    });
    check(&mut model, Column::Of(PacketField::Late), |model, id| {
        let packet = model.packet(id)?;
        let arrived = packet.fate == Fate::Received;
        let took = packet.received?.time.0 - packet.sent?.time.0;
        arrived.then_some(took)
    });
    check(&mut model, Column::Of(PacketField::Objects), |model, id| {
        let objects = model.messages_of(id).filter_map(|(_, facts)| facts.object);
        objects.min()
    });
    check(
        &mut model,
        Column::Of(PacketField::Sequence),
        |model, id| model.session().said(id)?.sequence.map(|it| it.value),
    );
}

#[test]
fn rows_are_sorted_by_the_kinds_of_their_messages_and_then_by_how_many() {
    let mut model = model();
    check(
        &mut model,
        Column::Of(PacketField::Messages),
        |model, id| {
            let mut kinds: Vec<(String, u32)> = Vec::new();
            for (_, facts) in model.messages_of(id) {
                let name = model.kind_name(facts.kind).to_owned();
                match kinds.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, count)) => *count += 1,
                    None => kinds.push((name, 1)),
                }
            }
            let known = !kinds.is_empty();
            known.then(|| kinds.into_iter().unzip::<_, _, Vec<_>, Vec<_>>())
        },
    );
}

#[test]
fn rows_are_sorted_by_the_time_since_the_packet_before() {
    let mut model = model();
    check(&mut model, Column::Since, |model, id| {
        let before = PacketId(id.0.checked_sub(1)?);
        Some(time(model, id)? - time(model, before)?)
    });
    let mut last: BTreeMap<(NodeId, NodeId), i64> = BTreeMap::new();
    let mut since: BTreeMap<PacketId, i64> = BTreeMap::new();
    for id in model.packets_by_time() {
        let link = model.session().link(id).expect("a link");
        let now = time(&model, id).expect("a time");
        if let Some(before) = last.insert(link, now) {
            since.insert(id, now - before);
        }
    }
    assert!(since.len() > 20, "{}", since.len());
    check(&mut model, Column::OnLink, |_, id| since.get(&id).copied());
    // Which is what stands there.
    let text = netreel_inspector_model::text::duration;
    for id in model.packets_by_time() {
        let expected = since.get(&id).map_or_else(String::new, |ns| text(*ns));
        assert_eq!(model.since_on_link(id), expected, "{id:?}");
    }
}

#[test]
fn what_went_wrong_comes_first_by_fate() {
    let mut model = model();
    sort(&mut model, Column::Of(PacketField::Fate), false);
    let fates = rows(&model).into_iter().map(|id| {
        let packet = model.packet(id).expect("a packet");
        packet.fate == Fate::Received
    });
    let fates: Vec<bool> = fates.collect();
    assert!(fates.contains(&false) && fates.is_sorted(), "{fates:?}");
}

#[test]
fn rows_are_sorted_by_a_field_that_is_a_column() {
    let mut model = model();
    let creates = model
        .session()
        .messages()
        .find(|message| message.kind() == Some(KindId(fixture::CREATE)));
    let packet = creates.expect("a packet that creates something").packet;
    model.apply(Command::SelectPacket(packet));
    let rows = model.detail().rows();
    let row = rows
        .iter()
        .find(|it| it.annotation.as_deref() == Some("object"));
    let path = model
        .path_for_column(row.expect("a field").id)
        .expect("a path");
    let columns = model
        .own_columns()
        .with("messages.of_another_wire")
        .with(&path);
    model.apply(Command::SetColumns(columns));
    let created = |model: &Model, id: PacketId| {
        let mut messages = model.messages_of(id);
        let first = messages.find(|(_, facts)| facts.kind == Some(KindId(fixture::CREATE)));
        first?.1.object
    };
    check(&mut model, Column::Field(1), created);
    // It is the same field when it has another place, and none when it is gone.
    let columns = model.own_columns().without("messages.of_another_wire");
    model.apply(Command::SetColumns(columns));
    let down = true;
    let by = Column::Field(0);
    assert_eq!(model.sorting(), Some(Sorting { by, down }));
    assert!(model.is_in_order());
    let columns = model.own_columns().without(&path);
    model.apply(Command::SetColumns(columns));
    assert_eq!(model.sorting(), None);
}

#[test]
fn steps_go_from_row_to_row_as_they_are_sorted() {
    let mut model = model();
    sort(&mut model, Column::Of(PacketField::Length), true);
    let shown = rows(&model);
    model.apply(Command::Step(Step::FirstPacket));
    for packet in &shown {
        assert_eq!(model.selection().packet, Some(*packet));
        model.apply(Command::Step(Step::NextPacket));
    }
    assert_eq!(model.selection().packet, shown.last().copied());
    model.apply(Command::Step(Step::PreviousPacket));
    assert_eq!(model.selection().packet, shown.iter().nth_back(1).copied());
    model.apply(Command::Step(Step::FirstPacket));
    model.apply(Command::Step(Step::LastPacket));
    assert_eq!(model.selection().packet, shown.last().copied());
}

#[test]
fn a_filter_leaves_the_order_as_it_is() {
    let mut model = model();
    sort(&mut model, Column::Of(PacketField::Length), true);
    let all = rows(&model);
    model.apply(Command::SetFilter("object == 42".to_owned()));
    let some = rows(&model);
    assert!(!some.is_empty() && some.len() < all.len());
    let left = all.iter().filter(|id| some.contains(id));
    assert!(left.eq(some.iter()));
    model.apply(Command::SetFilter(String::new()));
    assert_eq!(rows(&model), all);
}

#[test]
fn the_way_back_leads_to_the_order_of_time() {
    let mut model = model();
    let before = rows(&model);
    sort(&mut model, Column::Of(PacketField::Length), true);
    let sorted = rows(&model);
    assert_ne!(sorted, before);
    model.apply(Command::Back);
    assert_eq!((model.sorting(), rows(&model)), (None, before));
    model.apply(Command::Forward);
    assert_eq!(rows(&model), sorted);
}

#[test]
fn clicks_on_a_head_go_from_way_to_way_and_back_to_time() {
    let mut model = model();
    for (by, ways) in [
        (Column::Of(PacketField::Length), &[true, false][..]),
        (Column::Of(PacketField::Link), &[false, true]),
        (Column::Of(PacketField::Packet), &[true]),
    ] {
        for &down in ways {
            let next = model.sorting_after(by);
            assert_eq!(next, Some(Sorting { by, down }));
            model.apply(Command::Sort(next));
        }
        let next = model.sorting_after(by);
        assert_eq!(next, None);
        model.apply(Command::Sort(next));
    }
}

#[test]
fn a_long_table_is_shown_by_time_until_its_order_is_known() {
    let (session, history) = fixture::long(50_000);
    let mut model = Model::new(session, history);
    sort(&mut model, Column::Of(PacketField::Late), true);
    if !model.is_in_order() {
        assert!(model.why_not_sorted().is_some());
        assert_eq!(model.packet_at(7), Some(PacketId(7)));
    }
    model.finish_beside();
    model.advance();
    assert!(model.is_in_order() && model.why_not_sorted().is_none());
    // The first one is under way until all others were sent.
    assert_eq!(model.packet_at(0), Some(PacketId(0)));
    assert_eq!(model.row_of(PacketId(0)), Some(0));
    let lost = rows(&model).into_iter().rev().take(500);
    assert!(lost.into_iter().all(|id| id.0 % 100 == 50));
}

#[test]
fn what_somebody_gives_up_is_not_sorted_until_it_is_gone_on_with() {
    let (session, history) = fixture::long(50_000);
    let mut model = Model::new(session, history);
    sort(&mut model, Column::Of(PacketField::Messages), true);
    model.apply(Command::GiveUp);
    if !model.is_in_order() {
        model.advance();
        assert_eq!(model.given_up(), Some("the order of the table"));
        assert_eq!(model.packet_at(7), Some(PacketId(7)));
    }
    model.apply(Command::GoOn);
    model.advance();
    model.finish_beside();
    model.advance();
    assert!(model.is_in_order());
}

#[test]
fn of_a_recording_that_goes_on_new_rows_stand_at_the_end_until_the_order_is_made_anew() {
    const MS: i64 = 1_000_000;
    let reels = fixture::race_that_goes_on(16);
    let mut growing = Session::builder().growing();
    let mut growth = Growth::default();
    let mut window = Model::of_session(Arc::default(), &[]);
    let is_sorted = |model: &Model, all: &[PacketId]| {
        let length = |id| model.packet(id).expect("a packet").length;
        all.is_sorted_by_key(|&id| (std::cmp::Reverse(length(id)), id))
    };
    let mut before: Vec<PacketId> = Vec::new();
    for second in 14..=16 {
        let stood = reels.iter();
        let stood = stood.map(|reel| fixture::stood(reel, second * 1_000 * MS, 60));
        let session = growing.look(stood.collect()).expect("nodes that met");
        window.grow(growth.look(Arc::new(session), &[]));
        let mut all = rows(&window);
        assert!(all.len() > before.len() && all.len() > 4_096);
        let (old, new) = all.split_at(before.len());
        assert!(old == before && new.is_sorted());
        let is_first = std::mem::take(&mut before).is_empty();
        assert!(is_first || !is_sorted(&window, &all));
        all.sort_unstable();
        assert!(all.into_iter().eq(window.packets_by_time()));
        if is_first {
            sort(&mut window, Column::Of(PacketField::Length), true);
        }
        window.finish_beside();
        window.advance();
        before = rows(&window);
        assert!(is_sorted(&window, &before));
    }
}
