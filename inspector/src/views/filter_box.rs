//! The line in which a filter is typed, and what it can go on with.

use egui::text::{CCursor, CCursorRange};
use egui::text_edit::TextEditState;
use egui::{
    Align, Area, Frame, Id, Key, Layout, Modifiers, Order, Pos2, RichText, Sense, Ui, pos2, vec2,
};
use netreel_inspector_model::{Command, Commands, Model, text};

use super::bar::{Bar, Completion, small};
use super::{control, label};
use crate::{glyph, theme};

/// Room for what changes the visible time.
const ZOOM: f32 = 400.0;

/// How many parts of a filter have a chip.
const CHIPS_MAX: usize = 4;

/// How many words are listed.
const WORDS_MAX: usize = 12;

/// Draws the line, how much the filter takes, and below it what it can go on with.
pub fn show(ui: &mut Ui, model: &Model, bar: &mut Bar, commands: &mut Commands) {
    let label = ui.label(RichText::new("filter").color(theme::weak()));
    let mut parts = model.filter_parts();
    if bar.completion.types || model.filter().error.is_some() {
        parts.clear();
    }
    let room = (ui.available_width() - ZOOM - 200.0).max(180.0);
    let chips = match parts.len() {
        0 => 0.0,
        _ => (room * 0.6).min(room - 120.0).max(0.0),
    };
    let words = if bar.completion.types && !bar.filter.is_empty() {
        model.completions(&bar.filter)
    } else {
        Vec::new()
    };
    let chosen = keys(ui, &mut bar.completion, &words);
    let is_wrong = model.filter().error.is_some() && !bar.completion.types;
    let output = label::typed(
        &mut bar.filter,
        "press /  ·  for example: object == 42 && lost",
    )
    .id_salt("filter")
    .text_color(if is_wrong {
        theme::error()
    } else {
        theme::text()
    })
    .lock_focus(!words.is_empty())
    .desired_width(room - chips)
    .show(ui);
    let response = output.response.response.labelled_by(label.id);
    if std::mem::take(&mut bar.wants_filter) {
        response.request_focus();
    }
    if response.changed() {
        bar.completion.picked = 0;
        commands.push(Command::TypeFilter(bar.filter.clone()));
    }
    // Whoever leaves the line, by Enter too, means what stands there.
    if response.lost_focus() && (model.filter().amid_a_word || response.changed()) {
        commands.push(Command::SetFilter(bar.filter.clone()));
    }
    let end = bar.filter.chars().count();
    let at_end = output
        .cursor_range
        .is_none_or(|it| it.primary.index.0 == end);
    let is_list = bar.completion.types && at_end && !words.is_empty();
    let (clicked, held) = if is_list {
        list(ui, response.rect.left_bottom(), &words, &bar.completion)
    } else {
        (None, false)
    };
    if let Some(chosen) = clicked.or(chosen)
        && let Some((text, _)) = words.get(chosen)
    {
        bar.filter = format!("{text} ");
        bar.completion.picked = 0;
        commands.push(Command::SetFilter(bar.filter.clone()));
        to_end(ui, response.id, bar.filter.chars().count());
        // Enter behind it in the same frame has ended the line.
        if !ui.input(|input| input.key_pressed(Key::Enter)) {
            response.request_focus();
        }
    }
    bar.completion.types = response.has_focus() || held;
    if chips > 0.0
        && let Some(without) = self::chips(ui, &parts, chips)
    {
        bar.filter.clone_from(&without);
        commands.push(Command::SetFilter(without));
    }
    if model.filter().is_narrow() {
        ui.label(
            RichText::new(taken(model))
                .font(theme::mono())
                .color(theme::weak()),
        );
    }
    if !bar.filter.is_empty() && small(ui, "clear", "clear the filter") {
        bar.filter.clear();
        commands.push(Command::SetFilter(String::new()));
    }
}

/// How many packets the filter takes.
fn taken(model: &Model) -> String {
    let taken = model.row_count() as u64;
    match model.filter().looked_at() {
        _ if model.filter().waits() => "waits for acks and findings".to_owned(),
        Some(0) => "none looked at yet".to_owned(),
        Some(looked_at) => {
            let of = text::count(looked_at as u64);
            format!("{} of so far {of}", text::count(taken))
        }
        None => text::packets(taken),
    }
}

/// A chip for each part of the filter, as many as there is room for; the filter without the one whose
/// cross was clicked.
fn chips(ui: &mut Ui, parts: &[(String, String)], room: f32) -> Option<String> {
    let mut chosen = None;
    ui.allocate_ui_with_layout(
        vec2(room, 20.0),
        Layout::left_to_right(Align::Center),
        |ui| {
            ui.set_min_width(room);
            ui.spacing_mut().item_spacing.x = 4.0;
            let each = room / parts.len().min(CHIPS_MAX) as f32 - 4.0;
            for (part, without) in parts.iter().take(CHIPS_MAX) {
                let galley = label::elided(
                    ui.painter(),
                    part,
                    theme::mono(),
                    each - 26.0,
                    theme::text(),
                );
                let (rect, _) =
                    ui.allocate_exact_size(vec2(galley.size().x + 26.0, 18.0), Sense::hover());

                let response = control::button(
                    ui,
                    rect,
                    ("part of the filter", part),
                    &format!("remove {part} from the filter"),
                );
                let fill = if response.hovered() {
                    theme::selected()
                } else {
                    theme::related()
                };
                ui.painter().rect_filled(rect, 9.0, fill);
                let y = rect.center().y - galley.size().y / 2.0;
                ui.painter()
                    .galley(pos2(rect.left() + 8.0, y), galley, theme::text());
                let cross = pos2(rect.right() - 9.0, rect.center().y);
                glyph::cross(ui.painter(), cross, 6.0, theme::weak());
                if response
                    .on_hover_text(format!("{part}\nclick: without it"))
                    .clicked()
                {
                    chosen = Some(without.clone());
                }
            }
            let more = parts.len().saturating_sub(CHIPS_MAX);
            if more > 0 {
                ui.label(RichText::new(format!("+{more}")).color(theme::dim()));
            }
        },
    );
    chosen
}

/// Moves through the words; the place of the one that a key chose.
fn keys(ui: &Ui, completion: &mut Completion, words: &[(String, String)]) -> Option<usize> {
    if words.is_empty() {
        return None;
    }
    let last = words.len().min(WORDS_MAX) - 1;
    picked_by_keys(ui, &mut completion.picked, last)
}

/// Moves through a list up to its place `last`; the place that a key chose.
pub(super) fn picked_by_keys(ui: &Ui, picked: &mut usize, last: usize) -> Option<usize> {
    moved_by_keys(ui, picked, last);
    ui.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Tab))
        .then_some((*picked).min(last))
}

/// Moves through it.
pub(super) fn moved_by_keys(ui: &Ui, picked: &mut usize, last: usize) {
    ui.input_mut(|input| {
        if input.consume_key(Modifiers::NONE, Key::ArrowDown) {
            *picked = (*picked + 1).min(last);
        }
        if input.consume_key(Modifiers::NONE, Key::ArrowUp) {
            *picked = picked.saturating_sub(1);
        }
    });
}

/// Draws the words below the line: the place of the one that was clicked, and whether the pointer is
/// over them.
fn list(
    ui: &Ui,
    at: Pos2,
    words: &[(String, String)],
    completion: &Completion,
) -> (Option<usize>, bool) {
    let shown = Area::new(Id::unique("what the filter can go on with"))
        .fixed_pos(at)
        .order(Order::Foreground)
        .show(ui.ctx(), |ui| {
            Frame::popup(ui.style())
                .show(ui, |ui| {
                    ui.style_mut().wrap_mode = Some(egui::TextWrapMode::Extend);
                    let mut clicked = None;
                    for (place, (_, word)) in words.iter().take(WORDS_MAX).enumerate() {
                        let text = label::mono(word);
                        if ui
                            .selectable_label(place == completion.picked, text)
                            .clicked()
                        {
                            clicked = Some(place);
                        }
                    }
                    let more = words.len().saturating_sub(WORDS_MAX);
                    let said = match more {
                        0 => "Tab takes it".to_owned(),
                        more => format!("Tab takes it; and {more} more"),
                    };
                    ui.label(label::small(said).color(theme::dim()));
                    clicked
                })
                .inner
        });
    (shown.inner, shown.response.contains_pointer())
}

/// Puts the cursor behind all that is typed.
pub(super) fn to_end(ui: &Ui, id: Id, end: usize) {
    if let Some(mut state) = TextEditState::load(ui.ctx(), id) {
        state
            .cursor
            .set_char_range(Some(CCursorRange::one(CCursor::new(end))));
        state.store(ui.ctx(), id);
    }
}
