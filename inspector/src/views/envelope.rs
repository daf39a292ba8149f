//! What a packet's envelope says, above its fields: when it left and came, how long it took or that it was
//! lost, how large it is.

use egui::{Role, Sense, Ui, vec2};
use netreel_inspector_model::{Commands, Model};
use netreel_protocol::session::{Fate, PacketId};

use super::copy::{self, What};
use super::{control, label};
use crate::theme;

const ROW: f32 = 18.0;

/// Draws it in a line; what has no room there stands under the pointer.
pub fn show(ui: &mut Ui, model: &Model, id: PacketId, commands: &mut Commands) {
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
    let at = rect.min + vec2(10.0, 2.0);
    label::below(&painter, at, room, &line, theme::small(), color);
    copy::menu(&response, model, commands, || {
        vec![("copy the line", What::Copy(line.clone()))]
    });
    response.on_hover_text(words.join("\n"));
    control::close_up(ui);
}
