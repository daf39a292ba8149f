//! What the timeline's signs mean.

use egui::{Align2, Sense, Ui, pos2, vec2};
use netreel_inspector_model::Model;
use netreel_protocol::history::Level;

use crate::{glyph, theme};

/// Draws one line: the message kinds that the wire declares, then what can become of a packet.
pub fn show(ui: &mut Ui, model: &Model) {
    let (rect, _) = ui.allocate_exact_size(ui.available_size(), Sense::hover());
    let painter = ui.painter().with_clip_rect(rect);
    painter.hline(rect.x_range(), rect.top() + 0.5, (1.0, theme::FAINT));
    let y = rect.center().y;
    let mut x = rect.left() + 14.0;
    let label = |x: f32, text: &str| {
        let at = pos2(x + 9.0, y);
        let end = painter.text(at, Align2::LEFT_CENTER, text, theme::small(), theme::WEAK);
        end.right() + 18.0
    };
    for (place, kind) in model.kinds().iter().enumerate() {
        let id = netreel_wire::KindId(place as u16);
        let color = theme::kind(model.kinds(), Some(id));
        glyph::kind(&painter, pos2(x, y), 9.0, Some(kind.role), color);
        x = label(x, &kind.name);
    }
    glyph::kind(&painter, pos2(x, y), 9.0, None, theme::PLAIN);
    x = label(x, "acks only");
    x += 12.0;
    glyph::cross(&painter, pos2(x, y), 7.0, theme::WARNING);
    x = label(x, "lost");
    glyph::twice(&painter, pos2(x, y), theme::WARNING);
    x = label(x, "received twice");
    glyph::unknown(&painter, pos2(x, y), theme::WEAK);
    x = label(x, "fate unknown");
    glyph::level(&painter, pos2(x, y), 10.0, Level::Error);
    x = label(x, "error");
    glyph::level(&painter, pos2(x, y), 10.0, Level::Warning);
    x = label(x, "warning");
    glyph::level(&painter, pos2(x, y), 10.0, Level::Info);
    x = label(x, "info");
    let _ = (x, vec2(0.0, 0.0));
}
