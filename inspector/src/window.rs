//! The real window.

use std::sync::Arc;

use eframe::{NativeOptions, Renderer};
use egui::{Ui, ViewportBuilder, vec2};
use netreel_inspector_model::Model;

use crate::app::Inspector;
use crate::ask::{Answer, Host, Wake};
use crate::layout::{Pane, Workspace};
use crate::settings::Settings;
use crate::theme;

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
    /// Its first size in points.
    pub size: (u32, u32),
    /// Close after so many frames: for a test of the real window.
    pub frames: Option<u32>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            workspace: None,
            alone: None,
            title: String::new(),
            settings: Settings::default(),
            size: (1600, 1000),
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
    let frames = options.frames;
    eframe::run_native(
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
            };
            window.wake();
            Ok(Box::new(window))
        }),
    )
    .map_err(|error| WindowError(without_place(&error.to_string()).to_owned()))
}

/// Opens a window with other views, in the same colours and faces; returns when it is closed. Call it
/// on the main thread. `show` draws a frame; it says when there is to be another one
/// (`Context::request_repaint_after`).
///
/// # Errors
/// There is no display, or no way to draw on it.
pub fn run_views(
    title: &str,
    size: (u32, u32),
    mut show: Box<dyn FnMut(&mut Ui)>,
) -> Result<(), WindowError> {
    display()?;
    let drawn = eframe::run_ui_native(&titled(title), native(size), move |ui, _| {
        theme::apply(ui.ctx());
        show(ui);
    });
    drawn.map_err(|error| WindowError(without_place(&error.to_string()).to_owned()))
}

fn display() -> Result<(), WindowError> {
    match has_display() {
        true => Ok(()),
        false => Err(WindowError(
            "neither DISPLAY nor WAYLAND_DISPLAY is set".to_owned(),
        )),
    }
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
    let behind_file = error.rsplit_once(".rs:").map(|(_, behind)| behind);
    let said = behind_file.and_then(|behind| behind.split_once(": "));
    said.map_or(error, |(_, said)| said)
}

/// Whether there is a display to open a window on.
fn has_display() -> bool {
    if !cfg!(all(unix, not(target_os = "macos"))) {
        return true;
    }
    ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

struct Window {
    inspector: Inspector,
    host: Box<dyn Host>,
    wake: Wake,
    frames: Option<u32>,
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
        self.inspector.show(ui);
        for request in self.inspector.take_requests() {
            self.host.ask(request);
        }
        if let Some(title) = self.inspector.take_title() {
            let title = egui::ViewportCommand::Title(titled(&title));
            ui.ctx().send_viewport_cmd(title);
        }
        if let Some(left) = &mut self.frames {
            *left = left.saturating_sub(1);
            if *left == 0 {
                ui.ctx().send_viewport_cmd(egui::ViewportCommand::Close);
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
    fn an_error_loses_its_place_in_a_library() {
        let error = "winit EventLoopError: os error at src/x11/mod.rs:788: no such display";
        assert_eq!(without_place(error), "no such display");
    }

    #[test]
    fn an_error_without_a_place_stays_whole() {
        assert_eq!(without_place("no such display: :9"), "no such display: :9");
    }
}
