//! The real window, for a few frames, where there is a display: `xvfb-run -a cargo test -p
//! netreel-inspector --test window`. Without one: the sentence that says so.

#[path = "../model/tests/fixture/mod.rs"]
mod fixture;

use netreel_inspector::{Alone, Options, Workspace, run};

fn main() {
    let display = ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    let options = Options {
        workspace: Workspace::Why,
        title: "test".to_owned(),
        size: (900, 600),
        frames: Some(5),
        ..Options::default()
    };
    let result = run(fixture::race_model(), options, Box::new(Alone::default()));
    if display {
        result.expect("a window that draws five frames and closes");
        println!("test the_window_draws_and_closes ... ok");
    } else if cfg!(all(unix, not(target_os = "macos"))) {
        let error = result.expect_err("there is no display").to_string();
        assert!(error.contains("--screenshot"), "{error}");
        println!("test without_a_display_the_error_says_what_to_do ... ok");
    }
}
