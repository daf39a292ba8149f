//! The panes of a game that is played by hand: they draw what is [`Seen`] and emit [`Command`]s.

mod board;
mod button;
mod floor;
mod keys;
mod links;
mod pane;

use egui::{
    Align, CentralPanel, Frame, Layout, Margin, Panel, Rect, RichText, Ui, UiBuilder, pos2, vec2,
};
use netreel_inspector::theme;

use crate::script::TICKS_A_SECOND;
use crate::seen::Seen;
pub use board::{Board, Command};

impl Board {
    /// One frame.
    pub fn show(&mut self, ui: &mut Ui, seen: &[Seen]) {
        self.look(seen);
        keys::read(self, ui, seen);
        Panel::top("bar")
            .frame(bar_frame())
            .show(ui, |ui| self.bar(ui, seen));
        Panel::bottom("keys")
            .frame(bar_frame())
            .show(ui, keys::show);
        let width = links::width(ui.ctx().content_rect().width());
        Panel::right("links")
            .frame(
                Frame::NONE
                    .fill(theme::panel())
                    .inner_margin(Margin::same(10)),
            )
            .exact_size(width)
            .show(ui, |ui| links::show(self, ui, seen));
        CentralPanel::default()
            .frame(Frame::NONE.fill(theme::background()))
            .show(ui, |ui| self.panes(ui, seen));
    }

    fn bar(&mut self, ui: &mut Ui, seen: &[Seen]) {
        ui.horizontal(|ui| {
            ui.label(RichText::new("boxes").font(theme::body()).strong());
            ui.label(RichText::new(&self.about).color(theme::weak()));
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                if ui.button("Inspector").clicked() {
                    self.commands.push(Command::Inspect(None));
                }
                let time = seen
                    .first()
                    .map_or(0.0, |node| node.tick as f64 / TICKS_A_SECOND);
                let clock = format!("● {time:.1} s recorded");
                ui.label(
                    RichText::new(clock)
                        .font(theme::mono())
                        .color(theme::error()),
                );
                if let Some(said) = &self.said {
                    ui.label(RichText::new(said).color(theme::warning()));
                }
            });
        });
    }

    fn panes(&mut self, ui: &mut Ui, seen: &[Seen]) {
        let whole = ui.available_rect_before_wrap();
        let columns = match seen.len() {
            0 | 1 => 1,
            2..=4 => 2,
            _ => 3,
        };
        let rows = seen.len().div_ceil(columns).max(1);
        let size = vec2(whole.width() / columns as f32, whole.height() / rows as f32);
        for (place, node) in seen.iter().enumerate() {
            let (column, row) = (place % columns, place / columns);
            let corner = pos2(
                whole.left() + column as f32 * size.x,
                whole.top() + row as f32 * size.y,
            );
            let rect = Rect::from_min_size(corner, size).shrink(3.0);
            let builder = UiBuilder::new()
                .id_salt(("pane", node.peer.0))
                .max_rect(rect)
                .layout(Layout::top_down(Align::Min));
            ui.scope_builder(builder, |ui| {
                ui.set_clip_rect(rect.intersect(ui.clip_rect()));
                pane::show(self, ui, node);
            });
        }
        ui.advance_cursor_after_rect(whole);
    }
}

fn bar_frame() -> Frame {
    Frame::NONE
        .fill(theme::head())
        .inner_margin(Margin::symmetric(10, 5))
}
