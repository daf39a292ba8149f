//! What a packet says otherwise than those before it on its link.

mod fixture;

use std::collections::BTreeMap;

use netreel_inspector_model::{Change, Command, Model};
use netreel_protocol::session::{NodeId, PacketId};
use netreel_wire::KindId;

/// The race, with a packet selected.
fn select(model: &mut Model, packet: PacketId) {
    model.apply(Command::SelectPacket(packet));
}

/// The packets of the race on each link, in order.
fn links(model: &Model) -> BTreeMap<(NodeId, NodeId), Vec<PacketId>> {
    let mut links: BTreeMap<_, Vec<PacketId>> = BTreeMap::new();
    for id in model.packets_by_time() {
        let link = model.session().link(id).expect("a link");
        links.entry(link).or_default().push(id);
    }
    links
}

fn kinds(model: &Model, id: PacketId) -> Vec<KindId> {
    let messages = model.messages_of(id);
    messages.filter_map(|(_, facts)| facts.kind).collect()
}

/// The values of a packet's fields by their paths.
fn values(model: &mut Model, packet: PacketId) -> BTreeMap<String, String> {
    select(model, packet);
    let detail = model.detail();
    let rows = detail
        .rows()
        .into_iter()
        .filter(|row| !row.value.is_empty());
    rows.map(|row| (detail.path(row.id), row.value)).collect()
}

/// What is marked of a packet, by path.
fn marked(model: &mut Model, packet: PacketId) -> BTreeMap<String, Change> {
    select(model, packet);
    let changes = model.changes().expect("the wire describes it");
    let fields = changes.fields.iter();
    let fields = fields.map(|(id, change)| (model.detail().path(*id), change.clone()));
    fields.collect()
}

#[test]
fn what_is_around_messages_is_held_against_the_last_packet_of_the_link() {
    let mut model = fixture::race_model();
    let (mut changed, mut new) = (0, 0);
    for packets in links(&model).into_values() {
        for two in packets.windows(2) {
            let around = |(path, _): &(String, String)| !path.starts_with("messages[");
            let was = values(&mut model, two[0]);
            let is = values(&mut model, two[1]).into_iter().filter(around);
            let mut expected = BTreeMap::new();
            for (path, value) in is {
                let change = match was.get(&path) {
                    Some(was) if *was == value => continue,
                    Some(was) => Change::Was(was.clone()),
                    None => Change::New,
                };
                changed += usize::from(change != Change::New);
                new += usize::from(change == Change::New);
                expected.insert(path, change);
            }
            let mut marked = marked(&mut model, two[1]);
            marked.retain(|path, _| !path.starts_with("messages["));
            assert_eq!(marked, expected, "{:?}", two[1]);
        }
    }
    assert!(changed > 300, "{changed} changed, {new} new");
}

#[test]
fn a_message_is_held_against_the_last_one_about_its_object_or_else_of_its_kind() {
    let mut model = fixture::race_model();
    let update = KindId(fixture::UPDATE);
    let (mut of_object, mut of_kind) = (0, 0);
    for packets in links(&model).into_values() {
        for (place, &now) in packets.iter().enumerate() {
            if kinds(&model, now) != [update] {
                continue;
            }
            let objects = |id: PacketId| -> Vec<Option<u64>> {
                let messages = model.messages_of(id);
                let updates = messages.filter(|(_, facts)| facts.kind == Some(update));
                updates.map(|(_, facts)| facts.object).collect()
            };
            let before = || packets[..place].iter().rev();
            let object = objects(now)[0];
            let same = before().find(|id| objects(**id).contains(&object));
            let near = before().find(|id| !objects(**id).is_empty());
            let (Some(near), Some(last)) = (near, packets[..place].last()) else {
                continue;
            };
            of_object += usize::from(same.is_some_and(|same| same != near));
            of_kind += usize::from(same.is_none());
            let was = *same.unwrap_or(near);
            let mut expected = vec![*last, was];
            expected.dedup();
            let said = |id: PacketId| objects(id).iter().position(|it| *it == object);
            let nth = said(was).unwrap_or(0);
            let marked = marked(&mut model, now);
            let before = model.changes().map(|it| it.before.clone());
            assert_eq!(before, Some(expected), "{now:?}");
            // What it says of the position is what it was there.
            for (path, change) in marked {
                let Some(rest) = path.strip_prefix("messages[0]") else {
                    continue;
                };
                let path = format!("messages[{nth}]{rest}");
                let old = values(&mut model, was).remove(&path);
                let old = old.map_or(Change::New, Change::Was);
                assert_eq!(change, old, "{now:?}: {path}");
            }
        }
    }
    assert!(of_object > 2, "{of_object} of another object between");
    assert!(
        of_kind > 0,
        "{of_kind} of objects that come for the first time"
    );
}

#[test]
fn the_first_packet_of_a_link_is_held_against_nothing_and_that_is_told() {
    let mut model = fixture::race_model();
    let first = links(&model).into_values().next().expect("a link")[0];
    assert_eq!(marked(&mut model, first), BTreeMap::new());
    assert_eq!(
        model.changes_text().as_deref(),
        Some("the first packet, connect of the link")
    );
}

#[test]
fn what_no_wire_describes_is_held_against_nothing() {
    let mut model = fixture::ways::model(fixture::ways::talk(vec![
        fixture::ways::recorded("A"),
        fixture::ways::recorded("B"),
    ]));
    select(&mut model, PacketId(3));
    assert_eq!(model.changes(), None);
    assert_eq!(model.changes_text(), None);
}

#[test]
fn a_closed_field_has_the_mark_of_what_is_below_it() {
    let mut model = fixture::race_model();
    let packets = links(&model).into_values().flatten();
    let changed = { packets }.find(|id| {
        select(&mut model, *id);
        let changes = model.changes().expect("changes");
        let mut paths = changes.fields.keys().map(|id| model.detail().path(*id));
        paths.any(|path| path.starts_with("messages[0]."))
    });
    changed.expect("a message that changed");
    let rows = model.detail().rows();
    let around = &model.changes().expect("changes").around;
    for row in rows {
        let path = model.detail().path(row.id);
        if ["messages", "messages[0]"].contains(&path.as_str()) {
            assert!(around.contains(&row.id), "{path}");
        }
    }
}
