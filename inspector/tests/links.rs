//! The workspace of links: the matrix, one link over time, the ledger.

mod drive;
#[path = "../model/tests/fixture/mod.rs"]
mod fixture;

use drive::Window;
use egui_kittest::kittest::{NodeT, Queryable};
use netreel_inspector::Workspace;
use netreel_inspector_model::{Command, LedgerBy, Model, squarify};
use netreel_protocol::session::{NodeId, PacketId};
use netreel_protocol::stats::{LinkStats, Stats};

fn open(model: Model) -> Window {
    drive::open(model, Workspace::Links)
}

fn labels(harness: &Window, begin: &str) -> Vec<String> {
    let labels = drive::buttons(harness).into_iter();
    labels.filter(|label| label.starts_with(begin)).collect()
}

#[test]
fn the_matrix_has_every_link_with_what_netreel_stats_says_of_it() {
    let harness = open(fixture::race_model());
    let (session, history) = fixture::race();
    let all: Vec<PacketId> = (0..session.packet_count() as u32).map(PacketId).collect();
    let stats = Stats::new(&session, &history, &all);
    let shown = labels(&harness, "link ");
    assert_eq!(shown.len(), stats.links.len());
    for (&(from, to), link) in &stats.links {
        let (from, to) = (session.name(from), session.name(to));
        let begin = format!("link {from} → {to}: {} packets, ", link.packets);
        let lost = match (link.lost, link.unknown) {
            (0, 0) => ", none lost, ".to_owned(),
            (0, unknown) => format!(", none lost, {unknown} unknown"),
            (lost, _) => format!(", {lost} lost ("),
        };
        let found = shown.iter().find(|label| label.starts_with(&begin));
        let found = found.unwrap_or_else(|| panic!("{begin}: {shown:?}"));
        assert!(found.contains(&lost), "{found}");
    }
}

#[test]
fn a_click_on_a_link_opens_it_and_a_packet_brings_its_own() {
    let mut harness = open(fixture::race_model());
    harness.get_by_label_contains("link B → X:").click();
    harness.run();
    assert!(harness.query_by_label("link B → X over time").is_some());
    let own = harness.state().model().session().link(PacketId(30));
    let model = harness.state_mut().model_mut();
    model.apply(Command::SelectPacket(PacketId(30)));
    assert_eq!(model.link(), own);
    model.apply(Command::Back);
    assert_eq!(model.link(), Some((NodeId(2), NodeId(3))));
    harness.run();
}

/// What a click on a button leads to is what its number counts.
#[track_caller]
fn leads_to(harness: &mut Window, label: &str, filter: &str, packets: u64) {
    harness.get_by_label(label).click();
    harness.run();
    let model = harness.state().model();
    assert_eq!(model.filter().text, filter);
    assert_eq!(model.filter().error, None);
    assert_eq!(model.row_count() as u64, packets, "{label}");
}

#[test]
fn numbers_of_links_lead_to_the_packets_that_they_count() {
    let model = fixture::race_model();
    let stats = model.bandwidth().expect("stats");
    let lost = stats.links.iter().find(|(_, link)| link.lost > 0);
    let (&ends, link) = lost.expect("a link that lost something");
    let (name, filter) = (model.link_label(ends), model.filter_of_link(ends));
    let filter = filter.expect("a filter");
    let label = format!("what was lost or late on {name}");
    let of_link = format!("{filter} && lost");
    leads_to(
        &mut open(fixture::race_model()),
        &label,
        &of_link,
        link.lost,
    );

    let only_lost = |stats: &LinkStats| {
        let stats = LinkStats {
            unknown: 0,
            ..stats.clone()
        };
        model.lost_text(&stats)
    };
    let all = format!("{}: show these alone", only_lost(&stats.all));
    leads_to(
        &mut open(fixture::race_model()),
        &all,
        "lost",
        stats.all.lost,
    );

    let mut harness = open(fixture::race_model());
    let select = Command::SelectLink(Some(ends));
    drive::apply(&mut harness, select.clone());
    let one = format!("{}: show these alone", only_lost(link));
    let label = match only_lost(link) == only_lost(&stats.all) {
        true => return,
        false => one,
    };
    leads_to(&mut harness, &label, &of_link, link.lost);
}

#[test]
fn parts_of_a_filter_have_chips_that_take_them_away() {
    let mut harness = open(fixture::race_model());
    for (filter, label, rest) in [
        (
            "from == A && lost",
            "remove lost from the filter",
            "from == A",
        ),
        (
            "from == A && (to == X || to == B) && length > 20",
            "remove (to == X || to == B) from the filter",
            "from == A && length > 20",
        ),
    ] {
        drive::apply(&mut harness, Command::SetFilter(filter.to_owned()));
        harness.run();
        harness.get_by_label(label).click();
        harness.run();
        assert_eq!(harness.state().model().filter().text, rest);
    }
    drive::apply(&mut harness, Command::SetFilter("lost".to_owned()));
    harness.run();
    assert!(
        harness
            .query_by_label("remove lost from the filter")
            .is_none()
    );
}

#[test]
fn a_click_on_a_kind_of_the_ledger_filters_by_it() {
    let mut harness = open(fixture::race_model());
    let all = labels(&harness, "update: ");
    assert_eq!(all.len(), 1, "{all:?}");
    harness.get_by_label(&all[0]).click();
    harness.run();
    let model = harness.state().model();
    assert_eq!(model.filter().text, "kind == update");
    assert_eq!(model.filter().error, None);
    // The links count what the filter takes.
    let stats = model.bandwidth().expect("stats");
    assert_eq!(stats.all.packets, model.row_count() as u64);
}

#[test]
fn the_ledger_of_what_a_filter_takes_leads_to_packets_that_it_takes() {
    let mut harness = open(fixture::race_model());
    let of = "from == A && received";
    drive::apply(&mut harness, Command::SetFilter(of.to_owned()));
    let model = harness.state().model();
    let stats = model.bandwidth().expect("stats");
    let rows = model.ledger_rows(&stats, LedgerBy::Kind);
    let row = rows.iter().find(|row| row.kind.is_some()).expect("a kind");
    let (name, packets) = (row.name.clone(), row.packets);
    let label = labels(&harness, &format!("{name}: "));
    let joined = format!("{of} && kind == {name}");
    leads_to(&mut harness, &label[0], &joined, packets);
    // Twice is as once.
    let label = labels(&harness, &format!("{name}: "));
    leads_to(&mut harness, &label[0], &joined, packets);
}

#[test]
fn the_rows_of_the_ledger_are_all_bits_of_the_packets() {
    let model = fixture::race_model();
    let stats = model.bandwidth().expect("stats");
    for (_, by) in LedgerBy::ALL {
        let mut rows = match by {
            LedgerBy::Field => model.by_field().expect("fields").rows(),
            by => model.ledger_rows(&stats, by),
        };
        let bits: u64 = rows.iter().map(|row| row.bits).sum();
        assert_eq!(bits, stats.all.bytes * 8);
        squarify(&mut rows, 800.0, 300.0);
        let areas = rows.iter().map(|row| row.place[2] * row.place[3]);
        assert!((areas.sum::<f32>() - 240_000.0).abs() < 50.0);
    }
}

#[test]
fn a_link_over_time_has_each_packet_once_at_every_zoom() {
    let (session, history) = fixture::long(20_000);
    let model = Model::new(session, history);
    let link = model.link().expect("a link");
    let ids = (0..model.session().packet_count() as u32).map(PacketId);
    let of_link = ids.filter(|&id| model.session().link(id) == Some(link));
    let (packets, bytes) = of_link.fold((0, 0), |(packets, bytes), id| {
        let length = model.packet(id).map_or(0, |packet| packet.length);
        (packets + 1, bytes + u64::from(length))
    });
    for width in [100.0, 1_600.0, 100_000.0] {
        let scale = model.whole_scale(width);
        while model.flows(link, &scale).is_none() {
            model.finish_beside();
        }
        let flows = model.flows(link, &scale).expect("flows");
        assert_eq!(
            flows.pieces.iter().map(|it| it.packets).sum::<u64>(),
            packets
        );
        assert_eq!(flows.pieces.iter().map(|it| it.bytes).sum::<u64>(), bytes);
        let most = (2.0 * width) as usize + 16;
        assert!(flows.pieces.len() <= most.min(packets as usize));
    }
}

#[test]
fn the_pointer_over_a_link_says_what_it_was_like_there() {
    let mut harness = open(fixture::race_model());
    let link = harness.state().model().link().expect("a link");
    let name = harness.state().model().link_label(link);
    let label = format!("link {name} over time");
    harness.get_by_label(&label).hover();
    harness.run();
    let said = harness.get_by_label_contains("under way ");
    let said = said.accesskit_node();
    let said = said.label().or(said.value()).unwrap_or_default();
    let lines: Vec<&str> = said.lines().collect();
    let begins = |begin: &str| lines.iter().any(|line| line.starts_with(begin));
    assert!(begins("one way ") && begins("under way "), "{said}");
}

#[test]
fn the_worst_link_is_opened_and_says_how_many_packets_were_late() {
    let mut model = fixture::race_model();
    model.apply(Command::Deselect);
    let worst = model.worst_link().expect("a link");
    assert!(model.bad_packets(worst) > 0);
    let others = model.session().traffic().keys();
    let most = others.map(|&link| model.bad_packets(link)).max();
    assert_eq!(Some(model.bad_packets(worst)), most);
    let label = model.link_label(worst);
    let harness = open(model);
    let over_time = format!("link {label} over time");
    assert!(harness.query_by_label(&over_time).is_some(), "{over_time}");
}

#[test]
fn what_is_too_small_for_its_name_is_named_below_the_areas() {
    let mut harness = open(fixture::many_objects(400));
    harness.set_size(egui::vec2(760.0, 620.0));
    harness.run();
    harness.get_by_label("objects").click();
    harness.run();
    let mut small = drive::buttons(&harness);
    small.retain(|label| label.contains(" player in the list: "));
    assert!(!small.is_empty());
    harness.get_by_label(&small[0]).click();
    harness.run();
    let filter = harness.state().model().filter().text.clone();
    let object = filter.strip_prefix("object == ").expect("a filter");
    assert!(small[0].contains(object), "{}: {filter}", small[0]);
}
