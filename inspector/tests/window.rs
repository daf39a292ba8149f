//! The real window, for a few frames, where there is a display: `xvfb-run -a cargo test -p
//! netreel-inspector --test window`. Without one: the sentence that says so.

#[path = "../model/tests/fixture/mod.rs"]
mod fixture;

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use egui::{Label, RichText, Ui, ViewportCommand};
use netreel_inspector::{Alone, Options, Place, Workspace, run, run_views, theme};

/// A letter of each script that names of players are written in, which no face of the inspector has.
const LETTERS: [char; 7] = ['名', 'あ', '이', 'ع', 'א', 'ก', 'क'];

/// Whether a font of the system has a letter, by fontconfig's own tool; `None` where there is none.
fn is_known(letter: char) -> Option<bool> {
    let asked = format!(":charset={:x}", u32::from(letter));
    let found = Command::new("fc-list").arg(asked).output().ok()?;
    Some(!found.stdout.is_empty())
}

/// What the window can draw of these letters.
fn drawn() -> Vec<char> {
    let has: Arc<[AtomicBool]> = LETTERS.map(|_| AtomicBool::new(false)).into();
    let (seen, frames) = (has.clone(), AtomicU32::new(0));
    let show = move |ui: &mut Ui| {
        for (letter, has) in LETTERS.iter().zip(seen.iter()) {
            let text = RichText::new(letter.to_string()).font(theme::mono());
            ui.add(Label::new(text));
            let is_there = ui.fonts_mut(|fonts| fonts.has_glyph(&theme::mono(), *letter));
            has.store(is_there, Ordering::Relaxed);
        }
        match frames.fetch_add(1, Ordering::Relaxed) {
            0..5 => ui.ctx().request_repaint(),
            _ => ui.ctx().send_viewport_cmd(ViewportCommand::Close),
        }
    };
    run_views("letters", ((400, 300), Place::Anywhere), Box::new(show))
        .expect("a window of letters");
    let letters = LETTERS.iter().zip(has.iter());
    let drawn = letters.filter(|(_, has)| has.load(Ordering::Relaxed));
    drawn.map(|(letter, _)| *letter).collect()
}

fn main() {
    let display = ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    let options = Options {
        workspace: Some(Workspace::Why),
        title: "test".to_owned(),
        size: (900, 600),
        frames: Some(5),
        ..Options::default()
    };
    let result = run(fixture::race_model(), options, Box::new(Alone::default()));
    if display {
        result.expect("a window that draws five frames and closes");
        println!("test the_window_draws_and_closes ... ok");
        let drawn = drawn();
        for letter in LETTERS {
            match is_known(letter) {
                Some(true) => assert!(drawn.contains(&letter), "{letter} of {drawn:?}"),
                Some(false) => println!("no font of this system has {letter}"),
                None => println!("whether a font of this system has {letter} is not known"),
            }
        }
        println!("test the_window_draws_what_the_systems_fonts_have ... ok");
    } else if cfg!(all(unix, not(target_os = "macos"))) {
        let error = result.expect_err("there is no display").to_string();
        assert!(error.contains("--screenshot"), "{error}");
        println!("test without_a_display_the_error_says_what_to_do ... ok");
    }
}
