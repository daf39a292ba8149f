//! Pictures of every view, made without a window.

#[path = "../model/tests/fixture/mod.rs"]
mod fixture;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fixture::ways;
use netreel_inspector::{
    Command, Inspector, Model, PictureError, Workspace, draw, photograph, screenshot,
};
use netreel_protocol::session::PacketId;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.png"))
}

/// Width, height and pixels of a picture of the race.
fn picture(name: &str, workspace: Workspace, size: (u32, u32)) -> (u32, u32, Vec<u8>) {
    let path = file(name);
    let (session, history) = fixture::race();
    screenshot(session, history, workspace, size, &path).expect("a picture");
    let file = std::io::BufReader::new(std::fs::File::open(&path).expect("a file"));
    let mut reader = png::Decoder::new(file).read_info().expect("a PNG file");
    let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
    let info = reader.next_frame(&mut pixels).expect("pixels");
    (info.width, info.height, pixels)
}

#[test]
fn every_workspace_has_a_picture_of_the_size_that_was_asked_for() {
    for (name, workspace) in Workspace::ALL {
        let (width, height, pixels) = picture(name, workspace, (1600, 1000));
        assert_eq!((width, height), (1600, 1000), "{name}");
        let colors: std::collections::BTreeSet<&[u8]> = pixels.chunks(4).collect();
        assert!(colors.len() > 200, "{name} has {} colours", colors.len());
        assert!(
            pixels.chunks(4).all(|pixel| pixel[3] == 255),
            "{name} is translucent"
        );
    }
}

#[test]
fn a_picture_is_the_same_every_time() {
    let size = (1100, 700);
    let first = picture("same-1", Workspace::Why, size);
    let second = picture("same-2", Workspace::Why, size);
    assert!(first == second);
}

#[test]
fn what_is_wrong_has_the_strong_colour() {
    let (_, _, pixels) = picture("wrong", Workspace::Why, (1600, 1000));
    let error = netreel_inspector::theme::error().to_array();
    let strong = pixels.chunks(4).filter(|pixel| *pixel == error).count();
    assert!(strong > 100, "{strong} pixels");
    // Little of it: what is strong everywhere is strong nowhere.
    assert!(strong * 100 < pixels.len() / 4, "{strong} pixels");
}

#[test]
fn a_small_window_can_be_drawn() {
    for (name, workspace) in Workspace::ALL {
        picture(&format!("small-{name}"), workspace, (320, 200));
    }
}

#[test]
fn an_empty_session_can_be_drawn() {
    for (name, workspace) in Workspace::ALL {
        let path = file(&format!("empty-{name}"));
        screenshot(
            Default::default(),
            Default::default(),
            workspace,
            (900, 600),
            &path,
        )
        .expect("a picture");
    }
}

#[test]
fn a_long_session_can_be_drawn() {
    let (session, history) = fixture::long(100_000);
    screenshot(
        session,
        history,
        Workspace::Why,
        (1600, 1000),
        &file("long"),
    )
    .expect("a picture");
}

#[test]
fn a_session_can_be_drawn_before_its_history_is_known() {
    let plain = Arc::new(fixture::fresh(100_001));
    let with_state = Arc::new(fixture::fresh_with_state(100_001));
    for (name, workspace) in Workspace::ALL {
        let model = Model::of_session(plain.clone(), &[]);
        let path = file(&format!("early-{name}"));
        draw(&mut Inspector::new(model, workspace), (1600, 1000), &path).expect("a picture");
    }
    for (name, session) in [("plain", &plain), ("state", &with_state)] {
        let mut model = Model::of_session(session.clone(), &[]);
        model.apply(Command::SelectPacket(PacketId(50_040)));
        model.apply(Command::Show(fixture::ms(5_000..5_040)));
        model.apply(Command::SetFilter("acked".to_owned()));
        let mut inspector = Inspector::new(model, Workspace::Why);
        let path = file(&format!("early-near-{name}"));
        draw(&mut inspector, (1600, 1000), &path).expect("a picture");
    }
    assert!(!plain.has_facts() && !with_state.has_facts());
}

#[test]
fn a_picture_waits_until_the_filter_has_looked_at_all_packets() {
    let picture = |name: &str, waits: bool| {
        let (session, history) = fixture::long(100_000);
        let mut model = Model::new(session, history);
        model.apply(Command::SetFilter("from == A".to_owned()));
        if waits {
            model.finish_filter();
        }
        let path = file(name);
        photograph(model, Workspace::Why, (1600, 1000), &path).expect("a picture");
        std::fs::read(&path).expect("a file")
    };
    assert!(picture("filtered-1", false) == picture("filtered-2", true));
}

#[test]
fn sessions_of_every_way_of_recording_can_be_drawn() {
    let pids = (0..60).map(|pid| format!("many.{}", 11_880 + pid));
    let sessions = [
        (
            "addresses",
            vec!["127.0.0.1:7000".into(), "127.0.0.1:7001".into()],
        ),
        ("forty", pids.collect()),
        (
            "scripts",
            vec!["游戏服务器".into(), "玩家".into(), "сервер".into()],
        ),
        (
            "long",
            vec!["[2001:db8::5555:6b7c]:7000".repeat(8), "A".into()],
        ),
    ];
    for (name, nodes) in sessions {
        let nodes: Vec<String> = nodes;
        for size in [(1600, 1000), (1280, 700), (320, 200)] {
            let nodes = nodes.iter().map(|name| ways::recorded(name)).collect();
            let path = file(&format!("{name}-{}", size.0));
            let model = ways::model(ways::talk(nodes));
            photograph(model, Workspace::Why, size, &path).expect("a picture");
        }
    }
}

#[test]
fn a_size_that_cannot_be_drawn_is_refused() {
    for size in [(0, 0), (100_000, 1000), (1600, u32::MAX)] {
        let (session, history) = fixture::race();
        let result = screenshot(session, history, Workspace::Why, size, &file("never"));
        assert!(matches!(result, Err(PictureError::Size { .. })), "{size:?}");
    }
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let (session, history) = fixture::race();
    let path = file("no-such-folder/picture");
    let error = screenshot(session, history, Workspace::Why, (640, 400), &path)
        .expect_err("no such folder")
        .to_string();
    assert!(error.contains("no-such-folder"), "{error}");
}
