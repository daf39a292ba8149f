//! Any field of the wire over time.

mod fixture;

use std::collections::BTreeMap;

use netreel_inspector_model::{
    Command, LineOf, Model, PLOTTED_LINES_MAX, PLOTTED_PACKETS_MAX, Plot, PlotBy, Plotted,
};
use netreel_protocol::session::PacketId;
use netreel_wire::KindId;

fn draw(model: &mut Model, path: &str, by: PlotBy) -> Plot {
    model.apply(Command::Plot(Some(Plotted {
        path: path.to_owned(),
        by,
    })));
    model.apply(Command::ShowAll);
    shown(model)
}

/// As it is drawn over so many pixels that each value has its own.
fn shown(model: &mut Model) -> Plot {
    let scale = model.scale(1e6);
    if model.plot(&scale).is_none() {
        model.finish_beside();
    }
    model.plot(&scale).expect("it was waited for")
}

/// The moments and the values of each line.
fn numbers(plot: &Plot) -> BTreeMap<LineOf, Vec<(i64, f64)>> {
    let lines = plot.lines.iter().map(|line| {
        let pieces = line.pieces.iter();
        let numbers = pieces.map(|piece| {
            let number = piece.parts[0].expect("a number");
            assert_eq!(number.count, 1);
            (piece.time.start, number.mean)
        });
        (line.of, numbers.collect())
    });
    lines.collect()
}

fn time(model: &Model, id: PacketId) -> i64 {
    let packet = model.packet(id).expect("a packet");
    packet.first().expect("a time").time.0
}

#[test]
fn a_field_of_the_packet_is_a_line_for_each_link() {
    let mut model = fixture::race_model();
    let plot = draw(&mut model, "sequence", PlotBy::Link);
    let mut expected: BTreeMap<LineOf, Vec<(i64, f64)>> = BTreeMap::new();
    for id in model.packets_by_time() {
        let link = model.session().link(id).expect("a link");
        let said = model.session().said(id).and_then(|said| said.sequence);
        let sequence = said.expect("a sequence number").value as f64;
        let line = expected.entry(LineOf::Link(link)).or_default();
        line.push((time(&model, id), sequence));
    }
    assert_eq!(expected.len(), 12);
    assert_eq!(numbers(&plot), expected);
    let all = || expected.values().flatten().map(|(_, number)| *number);
    let range = (all().fold(f64::MAX, f64::min), all().fold(0.0, f64::max));
    assert_eq!(plot.range, Some(range));
    let packets = model.row_count();
    assert_eq!(plot.note, format!("{packets} values in {packets} packets"));
}

#[test]
fn a_field_of_messages_is_a_line_for_each_object_that_they_are_about() {
    let mut model = fixture::race_model();
    let plot = draw(&mut model, "messages.update.object", PlotBy::Object);
    let mut expected: BTreeMap<LineOf, Vec<(i64, f64)>> = BTreeMap::new();
    for id in model.packets_by_time() {
        for (_, facts) in model.messages_of(id) {
            if facts.kind == Some(KindId(fixture::UPDATE)) {
                let object = facts.object.expect("an object");
                let line = expected.entry(LineOf::Object(Some(object))).or_default();
                line.push((time(&model, id), object as f64));
            }
        }
    }
    assert!(expected.len() > 3);
    assert_eq!(numbers(&plot), expected);
}

#[test]
fn what_has_names_is_words_that_hold_until_the_next() {
    let mut model = fixture::race_model();
    let plot = draw(&mut model, "mode", PlotBy::Link);
    assert_eq!(plot.range, None);
    for line in &plot.lines {
        let words = line.pieces.iter().map(|piece| piece.words.as_deref());
        assert!(words.eq(vec![Some("host"); line.pieces.len()]));
        for two in line.pieces.windows(2) {
            assert_eq!(two[0].time.end, two[1].time.start);
        }
        let last = line.pieces.last().expect("a piece");
        assert_eq!(last.time.end, model.span().end.0);
    }
}

#[test]
fn only_what_the_filter_takes_is_drawn() {
    let mut model = fixture::race_model();
    draw(&mut model, "messages.update.object", PlotBy::Object);
    model.apply(Command::SetFilter("from == X".to_owned()));
    let plot = shown(&mut model);
    let objects: Vec<LineOf> = plot.lines.iter().map(|line| line.of).collect();
    assert_eq!(objects, [LineOf::Object(Some(fixture::PLAYERS + 3))]);
}

#[test]
fn a_line_says_what_it_was_at_the_cursor() {
    let mut model = fixture::race_model();
    let plot = draw(&mut model, "sequence", PlotBy::Link);
    let lines = numbers(&plot);
    for at in [0, 100, 400, 1_000] {
        let cursor = fixture::ms(at..at).start;
        model.apply(Command::SetCursor(Some(cursor)));
        for line in shown(&mut model).lines {
            let before = lines[&line.of].iter().rev();
            let last = { before }.find(|(time, _)| *time <= cursor.0);
            let expected = last.map(|(_, number)| number.to_string());
            assert_eq!(line.now, expected, "{:?} at {at} ms", line.of);
        }
    }
}

#[test]
fn a_field_of_the_selected_packet_is_drawn_by_what_its_message_is_about() {
    let mut model = fixture::race_model();
    let mut updates = model.session().messages();
    let update = updates.find(|message| message.kind() == Some(KindId(fixture::UPDATE)));
    let packet = update.expect("an update").packet;
    drop(updates);
    model.apply(Command::SelectPacket(packet));
    let field = |model: &Model, path: &str| {
        let rows = model.detail().rows();
        let row = rows.iter().find(|row| model.detail().path(row.id) == path);
        model.plot_of(row.expect("a field").id)
    };
    let of_message = field(&model, "messages[0].update.object").expect("it has a value");
    assert_eq!(of_message.path, "messages.update.object");
    assert_eq!(of_message.by, PlotBy::Object);
    let of_packet = field(&model, "sequence").expect("it has a value");
    assert_eq!(of_packet.by, PlotBy::Link);
    // What only lies around others has none.
    assert_eq!(field(&model, "messages"), None);
    // And each is offered by its name.
    let offers = model.plot_offers();
    let offered = offers
        .into_iter()
        .find(|(name, _)| name == "over time: sequence");
    let (_, command) = offered.expect("it is offered");
    assert_eq!(command, Command::Plot(Some(of_packet)));
}

#[test]
fn of_more_lines_than_have_room_those_with_most_values_stay_and_that_is_told() {
    let mut model = fixture::many_objects(500);
    let plot = draw(&mut model, "messages.create.object", PlotBy::Object);
    assert_eq!(plot.lines.len(), PLOTTED_LINES_MAX);
    assert!(
        plot.note.ends_with(", 484 lines with fewer left out"),
        "{}",
        plot.note
    );
}

#[test]
fn of_very_many_packets_some_that_lie_evenly_are_decoded_and_that_is_told() {
    let packets = PLOTTED_PACKETS_MAX * 3 / 2;
    let (session, history) = fixture::long(packets);
    let mut model = Model::new(session, history);
    let plot = draw(&mut model, "sequence", PlotBy::Link);
    let decoded: usize = plot.lines.iter().map(|line| line.pieces.len()).sum();
    assert!(decoded.abs_diff(PLOTTED_PACKETS_MAX) < 1_000, "{decoded}");
    let count = netreel_inspector_model::text::count(decoded as u64);
    assert_eq!(
        plot.note,
        format!("{count} values in {count} packets of 150 000, evenly taken: filter for all")
    );
    // Links that come in turns are all there.
    let links = model.session().links().len();
    assert_eq!(plot.lines.len(), links);
    let counts = plot.lines.iter().map(|line| line.pieces.len());
    let (least, most) = (counts.clone().min().unwrap(), counts.max().unwrap());
    assert!(least * 10 > most * 9, "from {least} to {most}");
}

#[test]
fn the_way_back_leads_to_what_was_drawn_before() {
    let mut model = fixture::race_model();
    draw(&mut model, "sequence", PlotBy::Link);
    let sequence = model.plotted().cloned();
    draw(&mut model, "mode", PlotBy::Link);
    model.apply(Command::Plot(None));
    model.apply(Command::Back);
    model.apply(Command::Back);
    assert_eq!(model.plotted().cloned(), sequence);
}
