//! Panes beside and below each other: in shares of the window, so that they keep their proportions
//! whatever its size, with dividers that can be dragged.

use egui::{CursorIcon, Rect, Role, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};

use crate::settings::Settings;
use crate::theme;

/// How far from a divider it can be taken.
const REACH: f32 = 4.0;

/// What a divider moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Divider {
    Details,
    Objects,
    Table,
    Tree,
    Bytes,
    Findings,
}

impl Divider {
    /// For people.
    fn name(self) -> &'static str {
        match self {
            Divider::Details => "divider above the packets",
            Divider::Objects => "divider above the objects",
            Divider::Table => "divider beside the packets",
            Divider::Tree => "divider beside the fields",
            Divider::Bytes => "divider below the bytes",
            Divider::Findings => "divider above the findings",
        }
    }

    /// Whether the pane that has the share is the second of the two.
    fn is_of_second(self) -> bool {
        matches!(
            self,
            Divider::Details | Divider::Objects | Divider::Findings
        )
    }

    /// Whether it lies between panes that are above each other.
    fn is_flat(self) -> bool {
        !matches!(self, Divider::Table | Divider::Tree)
    }

    fn set(self, settings: &mut Settings, share: Option<f32>) {
        let usual = Settings::default();
        match self {
            Divider::Details => settings.details = share.unwrap_or(usual.details),
            Divider::Objects => settings.objects = share,
            Divider::Table => settings.table = share,
            Divider::Tree => settings.tree = share.unwrap_or(usual.tree),
            Divider::Bytes => settings.bytes = share,
            Divider::Findings => settings.findings = share.unwrap_or(usual.findings),
        }
    }
}

/// The dividers of a frame. They are drawn and asked when all panes are, so that they lie above them.
#[derive(Default)]
pub struct Dividers {
    all: Vec<(Divider, Rect, (f32, f32))>,
}

impl Dividers {
    /// Cuts a rectangle in two. The pane of the divider gets `share` of it; none gets less than its
    /// `least`, the first pane's and the second's, as long as there is room for both.
    pub fn cut(
        &mut self,
        divider: Divider,
        rect: Rect,
        share: f32,
        (first, second): (f32, f32),
    ) -> (Rect, Rect) {
        let length = match divider.is_flat() {
            true => rect.height(),
            false => rect.width(),
        };
        let of_first = match divider.is_of_second() {
            true => length * (1.0 - share),
            false => length * share,
        };
        let least = first.min(length * 0.7);
        let most = (length - second).max(length * 0.3).max(least);
        let at = of_first.clamp(least, most).round();
        self.all.push((divider, rect, (at, length)));
        match divider.is_flat() {
            true => rect.split_top_bottom_at_y(rect.top() + at),
            false => rect.split_left_right_at_x(rect.left() + at),
        }
    }

    /// Draws the dividers. A drag moves one; a double click puts it where it was at first.
    pub fn show(self, ui: &Ui, settings: &mut Settings) {
        for (divider, rect, (at, length)) in self.all {
            let line = Stroke::new(1.0, theme::line());
            let (strip, cursor) = match divider.is_flat() {
                true => {
                    let y = rect.top() + at;
                    ui.painter().hline(rect.x_range(), y, line);
                    let centre = pos2(rect.center().x, y);
                    let size = vec2(rect.width(), 2.0 * REACH);
                    (Rect::from_center_size(centre, size), CursorIcon::ResizeRow)
                }
                false => {
                    let x = rect.left() + at;
                    ui.painter().vline(x, rect.y_range(), line);
                    let centre = pos2(x, rect.center().y);
                    let size = vec2(2.0 * REACH, rect.height());
                    (
                        Rect::from_center_size(centre, size),
                        CursorIcon::ResizeColumn,
                    )
                }
            };
            let id = ui.scope_id().with(divider.name());
            let response = ui.interact(strip, id, Sense::click_and_drag());
            let response = response.on_hover_cursor(cursor);
            response.widget_info(|| WidgetInfo::labeled(Role::Splitter, true, divider.name()));
            if response.hovered() || response.dragged() {
                let strong = Stroke::new(2.0, theme::accent());
                match divider.is_flat() {
                    true => ui.painter().hline(rect.x_range(), rect.top() + at, strong),
                    false => ui.painter().vline(rect.left() + at, rect.y_range(), strong),
                };
            }
            if response.dragged()
                && let Some(pointer) = response.interact_pointer_pos()
            {
                let now = match divider.is_flat() {
                    true => pointer.y - rect.top(),
                    false => pointer.x - rect.left(),
                };
                let part = (now / length.max(1.0)).clamp(0.02, 0.98);
                let share = match divider.is_of_second() {
                    true => 1.0 - part,
                    false => part,
                };
                let before = settings.clone();
                divider.set(settings, Some(share));
                if *settings != before {
                    ui.ctx().request_repaint();
                }
            }
            if response.double_clicked() {
                divider.set(settings, None);
                ui.ctx().request_repaint();
            }
        }
    }
}
