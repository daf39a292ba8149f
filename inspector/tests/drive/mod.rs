//! The inspector without a window, driven as somebody would.

// Each test takes what it needs.
#![allow(dead_code)]

use egui::accesskit::Role;
use egui::vec2;
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use netreel_inspector::{Inspector, Workspace, theme};
use netreel_inspector_model::{Command, Model};

/// A window of 1600x1000 points.
pub type Window = Harness<'static, Inspector>;

/// Shows a model and waits until nothing changes any more.
pub fn open(model: Model, workspace: impl Into<Option<Workspace>>) -> Window {
    let inspector = Inspector::new(model, workspace);
    let mut harness = Harness::builder()
        .with_size(vec2(1600.0, 1000.0))
        .with_max_steps(16)
        .with_context_setup(theme::apply)
        .build_ui_state(
            |ui, inspector: &mut Inspector| inspector.show(ui),
            inspector,
        );
    harness.run();
    harness
}

/// Does what a view could ask for.
pub fn apply(window: &mut Window, command: Command) {
    window.state_mut().model_mut().apply(command);
    window.run();
}

/// The accessible names of buttons.
pub fn buttons(window: &Window) -> Vec<String> {
    let buttons = window.query_all_by_role(Role::Button);
    let labels = buttons.filter_map(|node| node.accesskit_node().label());
    labels.collect()
}
