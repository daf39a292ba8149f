//! What a frame costs while somebody pans: counted, not timed.

mod fixture;

use netreel_inspector_model::{Command, Model, Traffic};

const WIDTH: f32 = 1_500.0;
/// How far the visible time moves in a frame, in pixels.
const STEP: f32 = 6.0;

fn open(packets: usize, visible: std::ops::Range<i64>) -> Model {
    let (session, history) = fixture::long(packets);
    let mut model = Model::new(session, history);
    model.apply(Command::Show(fixture::ms(visible)));
    model
}

fn frame(model: &Model) -> Traffic {
    model.kinds_that_lead();
    model.minimap(WIDTH);
    model.minimap_flags(WIDTH);
    model.traffic(&model.scale(WIDTH))
}

/// How many columns are counted, and how many packets looked at, in each frame of a pan.
fn panned(model: &mut Model, frames: u64) -> (u64, u64) {
    frame(model);
    let before = model.counted();
    for _ in 0..frames {
        let step = model.scale(WIDTH).ns(STEP);
        model.apply(Command::Pan(step));
        frame(model);
    }
    let after = model.counted();
    let each = |before: u64, after: u64| (after - before) / frames;
    (each(before.0, after.0), each(before.1, after.1))
}

#[test]
fn who_pans_counts_what_comes_into_view_alone() {
    for packets in [50_000, 200_000] {
        // 20 000 packets in view: bars.
        let mut model = open(packets, 500..2_500);
        let (columns, looked) = panned(&mut model, 60);
        // Four lanes, six columns a frame and one that was half in view.
        assert!((20..=28).contains(&columns), "{packets}: {columns}");
        // Those at the edges, to find out that there are too many.
        assert!(looked <= 100, "{packets}: {looked}");
    }
}

#[test]
fn a_column_of_a_field_decodes_the_rows_that_come_into_view_alone() {
    for packets in [50_000, 200_000] {
        let mut model = open(packets, 500..600);
        let columns = model.own_columns().with("messages.kind");
        model.apply(Command::SetColumns(columns));
        let rows = model.packet_rows(1_000..1_060);
        assert!(rows.iter().any(|row| !row.own[0].is_empty()));
        assert_eq!(model.decoded_for_columns(), 60, "{packets}");
        model.packet_rows(1_000..1_060);
        assert_eq!(model.decoded_for_columns(), 60, "{packets}");
        model.packet_rows(1_003..1_063);
        assert_eq!(model.decoded_for_columns(), 63, "{packets}");
    }
}

#[test]
fn arrows_that_stay_in_view_are_not_worked_out_again() {
    for packets in [50_000, 200_000] {
        // 1000 packets in view: arrows, four of which come with each frame.
        let mut model = open(packets, 500..600);
        let (columns, looked) = panned(&mut model, 60);
        assert_eq!(columns, 0, "{packets}");
        assert!((3..=12).contains(&looked), "{packets}: {looked}");
    }
}

#[test]
fn what_is_kept_from_frame_to_frame_is_what_would_be_counted_anew() {
    let kept = &mut open(50_000, 500..2_500);
    let pans = [6.0, -3.3, 700.0, -40.0, 0.4, 2_000.0, -1_999.0, 1.0];
    let zooms = [1.0, 1.0, 1.7, 0.6, 1.0, 12.0, 0.1, 1.0];
    for (pan, factor) in pans.into_iter().zip(zooms) {
        let visible = kept.visible();
        let at = visible.start;
        kept.apply(Command::Zoom { at, factor });
        let step = kept.scale(WIDTH).ns(pan);
        kept.apply(Command::Pan(step));
        let anew = &mut open(50_000, 0..1);
        anew.apply(Command::Show(kept.visible()));
        assert_eq!(frame(kept), frame(anew), "after {pan} and {factor}");
    }
}

#[test]
fn a_filter_that_finds_more_is_counted_again() {
    let mut model = open(50_000, 500..2_500);
    let events = |model: &Model| {
        let traffic = frame(model);
        let lanes = traffic.density.iter().flatten();
        lanes.map(|bucket| bucket.events).sum::<u32>()
    };
    let all = events(&model);
    model.apply(Command::SetFilter("from == A".to_owned()));
    model.finish_filter();
    let of_one = events(&model);
    assert!(of_one > 0 && of_one < all / 2, "{of_one} of {all}");
    model.apply(Command::SetFilter("from == A || from == B".to_owned()));
    model.finish_filter();
    assert!(events(&model) > of_one);
    model.apply(Command::SetFilter(String::new()));
    assert_eq!(events(&model), all);
}

#[test]
fn the_way_of_an_object_is_looked_up_where_it_comes_into_view_alone() {
    let mut model = fixture::race_model();
    model.apply(Command::SelectObject(Some(fixture::BOX)));
    model.apply(Command::Show(fixture::ms(200..600)));
    let believed = model.believed().expect("values");
    assert!(model.way(&believed).iter().any(|(_, way)| !way.is_empty()));
    let all = believed.looked();
    assert!((400..=802).contains(&all), "{all}");
    model.apply(Command::Pan(model.scale(WIDTH).ns(STEP)));
    let panned = model.way(&believed);
    let more = believed.looked() - all;
    assert!((1..=5).contains(&more), "{more}");
    // It is what would be looked up anew.
    let mut anew = fixture::race_model();
    anew.apply(Command::SelectObject(Some(fixture::BOX)));
    anew.apply(Command::Show(model.visible()));
    let believed = anew.believed().expect("values");
    assert_eq!(anew.way(&believed), panned);
}
