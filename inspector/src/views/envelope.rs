//! What a packet's envelope says, above its fields: when it left and came, how long it took or that it was
//! lost, how large it is.

use egui::{Role, Sense, Ui, vec2};
use netreel_inspector_model::{Command, Model};
use netreel_protocol::session::{Fate, PacketId};

use super::copy::{self, What};
use super::{control, label};
use crate::theme;

const ROW: f32 = 18.0;

/// Draws it in a line; what has no room there stands under the pointer.
pub fn show(ui: &mut Ui, model: &Model, id: PacketId, commands: &mut Vec<Command>) {
    let words = model.envelope(id);
    let line = words.join("  ");
    let (rect, response) = control::row(ui, ROW, Sense::click());
    control::named(&response, Role::Label, &line);
    let color = match model.packet(id).map(|packet| packet.fate) {
        Some(Fate::Lost | Fate::SendFailed) => theme::warning(),
        _ => theme::text(),
    };
    let painter = ui.painter_at(rect);
    let room = rect.width() - 20.0;
    let galley = label::elided(&painter, &line, theme::small(), room, color);
    painter.galley(rect.min + vec2(10.0, 2.0), galley, color);
    copy::menu(&response, model, commands, || {
        vec![("copy the line", What::Copy(line.clone()))]
    });
    response.on_hover_text(words.join("\n"));
    ui.add_space(-ui.spacing().item_spacing.y);
}
