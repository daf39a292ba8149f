//! A stretch of time that somebody has measured.

mod fixture;

use netreel_inspector_model::{Command, Measured, Model};
use netreel_protocol::session::{Fate, PacketId};

fn measure(model: &mut Model, from_ms: i64, to_ms: i64) {
    model.apply(Command::Measure(Some(fixture::ms(from_ms..to_ms))));
}

/// The packets that begin in the measured time, one after the other.
fn counted(model: &Model) -> Measured {
    let time = model.measured_time().expect("it is measured");
    let mut sum = Measured::default();
    let packets: Vec<PacketId> = model.packets_by_time().collect();
    for id in packets {
        let packet = model.packet(id).expect("a packet");
        let begins = packet.first().expect("a time").time;
        if time.contains(&begins) {
            sum.packets += 1;
            sum.bytes += u64::from(packet.length);
            sum.lost += u64::from(packet.fate == Fate::Lost);
        }
    }
    sum
}

#[test]
fn what_was_sent_in_it_is_what_begins_in_it() {
    let mut model = fixture::race_model();
    for (from, to) in [(0, 1_000), (100, 500), (500, 501)] {
        measure(&mut model, from, to);
        let expected = counted(&model);
        assert_eq!(model.measured_packets().as_deref(), Some(&expected));
    }
    measure(&mut model, 0, 1_000);
    assert!(counted(&model).lost > 0);
}

#[test]
fn it_counts_what_the_filter_takes() {
    let mut model = fixture::race_model();
    measure(&mut model, 100, 600);
    let all = counted(&model);
    model.apply(Command::SetFilter("object == 42".to_owned()));
    let some = counted(&model);
    assert!(some.packets > 0 && some.packets < all.packets);
    assert_eq!(model.measured_packets().as_deref(), Some(&some));
}

#[test]
fn its_words_say_how_long_it_is_and_what_was_sent() {
    let mut model = fixture::race_model();
    assert_eq!(model.measured_text(), None);
    measure(&mut model, 100, 600);
    let sum = counted(&model);
    let text = model.measured_text().expect("words");
    let expected = format!("500.0 ms · {} packets · ", sum.packets);
    assert!(text.starts_with(&expected), "{text}");
    let rate = netreel_inspector_model::text::bytes(sum.bytes * 2);
    assert!(text.contains(&format!(" · {rate}/s")), "{text}");
}

#[test]
fn it_stays_until_somebody_lets_go_of_it_behind_the_cursor_and_comes_back() {
    let mut model = fixture::race_model();
    measure(&mut model, 100, 600);
    let time = model.measured_time();
    model.apply(Command::ShowAll);
    model.apply(Command::SelectPacket(PacketId(3)));
    model.apply(Command::SetCursor(Some(fixture::ms(300..300).start)));
    model.apply(Command::LetGo);
    assert_eq!(
        (model.cursor(), model.measured_time()),
        (None, time.clone())
    );
    model.apply(Command::LetGo);
    assert_eq!(model.measured_time(), None);
    assert_eq!(model.selection().packet, Some(PacketId(3)));
    model.apply(Command::Back);
    assert_eq!(model.measured_time(), time);
}

#[test]
fn nothing_is_measured_that_has_no_length() {
    let mut model = fixture::race_model();
    measure(&mut model, 100, 100);
    assert_eq!(model.measured_time(), None);
}

#[test]
fn of_very_many_packets_it_is_worked_out_beside_the_window() {
    const PACKETS: usize = 50_000;
    let (session, history) = fixture::long(PACKETS);
    let mut model = Model::new(session, history);
    let whole = model.whole();
    model.apply(Command::Measure(Some(whole)));
    if model.measured_packets().is_none() {
        let text = model.measured_text().expect("words");
        assert!(text.ends_with("being worked out"), "{text}");
    }
    model.finish_beside();
    let sum = model.measured_packets().expect("it was waited for");
    assert_eq!(sum.packets, PACKETS as u64);
    assert_eq!(sum.lost, PACKETS as u64 / 100);
    assert_eq!(*sum, counted(&model));
}
