//! Pictures of every view, made without a window.

#[path = "../model/tests/fixture/mod.rs"]
mod fixture;

use std::path::{Path, PathBuf};

use netreel_inspector::{View, screenshot};

fn picture(name: &str, view: View) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.png"));
    let (session, history) = fixture::race();
    screenshot(session, history, view, (1600, 1000), &path).expect("a picture");
    path
}

#[test]
fn every_view_has_a_picture() {
    for (name, view) in View::ALL {
        let path = picture(name, view);
        let bytes = std::fs::metadata(&path).expect("a file").len();
        assert!(bytes > 20_000, "{name}: {bytes} bytes");
    }
}
