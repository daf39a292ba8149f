//! The real window.

use std::sync::Arc;

use eframe::{NativeOptions, Renderer};
use egui::{Context, Ui, Vec2, ViewportBuilder, ViewportCommand, pos2, vec2};
use netreel_inspector_model::Model;

use crate::app::Inspector;
use crate::ask::{Answer, Host, Wake};
use crate::layout::{Pane, Workspace};
use crate::settings::Settings;
use crate::theme;

/// Where a window lies on the screen at first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// All of it.
    #[default]
    Whole,
    /// Its left half.
    Left,
    /// Its right half.
    Right,
    /// Wherever the system puts it.
    Anywhere,
}

impl Place {
    /// What a window is asked to do, on a screen of this many points.
    fn commands(self, screen: Vec2) -> Vec<ViewportCommand> {
        let half = vec2(screen.x / 2.0, (screen.y - BARS).max(1.0));
        let lies = |x: f32| {
            vec![
                ViewportCommand::OuterPosition(pos2(x, 0.0)),
                ViewportCommand::InnerSize(half),
            ]
        };
        match self {
            Place::Whole => vec![ViewportCommand::Maximized(true)],
            Place::Left => lies(0.0),
            Place::Right => lies(half.x),
            Place::Anywhere => Vec::new(),
        }
    }
}

/// What the system's bars and the window's title take of a screen's height, in points.
const BARS: f32 = 64.0;

/// How the window opens.
#[derive(Clone, Debug)]
pub struct Options {
    /// What it shows; `None`: what there is most to see in.
    pub workspace: Option<Workspace>,
    /// The pane that has all of the window.
    pub alone: Option<Pane>,
    /// What stands in its title, after `netreel`.
    pub title: String,
    /// How it is laid out.
    pub settings: Settings,
    /// Its first size in points, before it takes its place.
    pub size: (u32, u32),
    /// Where it lies.
    pub place: Place,
    /// Whether nothing is open: what can be opened is said.
    pub welcomes: bool,
    /// Close after this many frames: for a test of the real window.
    pub frames: Option<u32>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            workspace: None,
            alone: None,
            title: String::new(),
            settings: Settings::default(),
            size: (1280, 800),
            place: Place::default(),
            welcomes: false,
            frames: None,
        }
    }
}

/// A window that could not be opened.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot open a window: {0}; where there is no display, `netreel inspect --screenshot FILE.png` \
     draws into a file"
)]
pub struct WindowError(String);

/// Opens the window and returns when it is closed. Call it on the main thread. What the window cannot
/// do itself it asks of `host`.
///
/// # Errors
/// There is no display, or no way to draw on it.
pub fn run(model: Model, options: Options, mut host: Box<dyn Host>) -> Result<(), WindowError> {
    display()?;
    let title = titled(&options.title);
    let native = native(options.size);
    let mut inspector = Inspector::new(model, options.workspace);
    inspector.set_settings(options.settings);
    inspector.show_alone(options.alone);
    inspector.set_name(&options.title);
    if options.welcomes {
        inspector.welcome();
    }
    let (frames, place) = (options.frames, Some(options.place));
    let opened = eframe::run_native(
        &title,
        native,
        Box::new(move |creation| {
            theme::apply(&creation.egui_ctx);
            let ctx = creation.egui_ctx.clone();
            let wake: Wake = Arc::new(move || ctx.request_repaint());
            host.wake_with(wake.clone());
            let mut window = Window {
                inspector,
                host,
                wake,
                frames,
                place,
            };
            window.wake();
            Ok(Box::new(window))
        }),
    );
    told(opened)
}

/// Opens a window with other views, in the same colours and faces; returns when it is closed. Call it
/// on the main thread. `show` draws a frame; it says when there is to be another one
/// (`Context::request_repaint_after`).
///
/// # Errors
/// There is no display, or no way to draw on it.
pub fn run_views(
    title: &str,
    (size, place): ((u32, u32), Place),
    mut show: Box<dyn FnMut(&mut Ui)>,
) -> Result<(), WindowError> {
    display()?;
    let mut place = Some(place);
    told(eframe::run_ui_native(
        &titled(title),
        native(size),
        move |ui, _| {
            theme::apply(ui.ctx());
            put(ui.ctx(), &mut place);
            show(ui);
        },
    ))
}

fn told(opened: eframe::Result) -> Result<(), WindowError> {
    opened.map_err(|error| WindowError(without_place(&error.to_string()).to_owned()))
}

/// Looks whether there is a display to open a window on.
fn display() -> Result<(), WindowError> {
    let why = "neither DISPLAY nor WAYLAND_DISPLAY is set";
    let has_display = !cfg!(all(unix, not(target_os = "macos")))
        || ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"]
            .iter()
            .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    has_display
        .then_some(())
        .ok_or_else(|| WindowError(why.to_owned()))
}

fn native((width, height): (u32, u32)) -> NativeOptions {
    NativeOptions {
        viewport: ViewportBuilder::default()
            .with_app_id("netreel")
            .with_inner_size(vec2(width as f32, height as f32))
            .with_min_inner_size(vec2(800.0, 500.0)),
        renderer: Renderer::Glow,
        ..NativeOptions::default()
    }
}

fn titled(title: &str) -> String {
    match title {
        "" => "netreel".to_owned(),
        title => format!("netreel · {title}"),
    }
}

/// What an error says, without the place in a library's source where it was made.
fn without_place(error: &str) -> &str {
    let said = error
        .rsplit_once(".rs:")
        .map(|(_, behind)| behind)
        .and_then(|behind| behind.split_once(": "));
    said.map_or(error, |(_, said)| said)
}

struct Window {
    inspector: Inspector,
    host: Box<dyn Host>,
    wake: Wake,
    frames: Option<u32>,
    /// Where it is to lie; `None` once it lies there.
    place: Option<Place>,
}

/// Puts a window in its place, as soon as the screen is known.
fn put(ctx: &Context, place: &mut Option<Place>) {
    let screen = ctx.input(|input| input.viewport().monitor_size);
    if let Some((screen, place)) = screen.zip(place.take_if(|_| screen.is_some())) {
        place
            .commands(screen)
            .into_iter()
            .for_each(|command| ctx.send_viewport_cmd(command));
    }
}

impl Window {
    /// Has the models call when there is something new to show.
    fn wake(&mut self) {
        for model in self.inspector.models_mut() {
            let wake = self.wake.clone();
            model.wake_with(move || wake());
        }
    }
}

impl eframe::App for Window {
    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        for answer in self.host.answers() {
            let is_other = matches!(
                answer,
                Answer::Opened { .. } | Answer::Reread { .. } | Answer::Compared { .. }
            );
            self.inspector.hear(answer);
            if is_other {
                self.wake();
            }
        }
        put(ui.ctx(), &mut self.place);
        self.inspector.show(ui);
        for request in self.inspector.take_requests() {
            self.host.ask(request);
        }
        if let Some(title) = self.inspector.take_title() {
            ui.ctx()
                .send_viewport_cmd(ViewportCommand::Title(titled(&title)));
        }
        if let Some(left) = &mut self.frames {
            *left = left.saturating_sub(1);
            if *left == 0 {
                ui.ctx().send_viewport_cmd(ViewportCommand::Close);
            } else {
                ui.ctx().request_repaint();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_windows_lie_side_by_side_on_any_screen() {
        for (width, height) in [(1366.0, 768.0), (1920.0, 1080.0)] {
            let of = |place: Place| match place.commands(vec2(width, height)).as_slice() {
                [
                    ViewportCommand::OuterPosition(at),
                    ViewportCommand::InnerSize(size),
                ] => (at.x, at.x + size.x, size.y),
                other => panic!("{other:?}"),
            };
            let (left, right) = (of(Place::Left), of(Place::Right));
            assert_eq!((left.0, left.1, right.1), (0.0, right.0, width));
            assert!(left.2 < height && left.2 == right.2);
        }
    }

    #[test]
    fn an_error_loses_its_place_in_a_library() {
        let error = "winit EventLoopError: os error at src/x11/mod.rs:788: no such display";
        assert_eq!(without_place(error), "no such display");
    }

    #[test]
    fn an_error_without_a_place_stays_whole() {
        assert_eq!(without_place("no such display: :9"), "no such display: :9");
    }
}
