//! The line in which a filter is typed, and what it can go on with.

use egui::text::{CCursor, CCursorRange};
use egui::text_edit::TextEditState;
use egui::{Area, Frame, Id, Key, Modifiers, Order, Pos2, RichText, TextEdit, Ui};
use netreel_inspector_model::{Command, Model, text};

use super::top::{Bar, small};
use crate::theme;

/// Room for what changes the visible time.
const ZOOM: f32 = 400.0;

/// So many words are listed.
const WORDS_MAX: usize = 12;

/// What the filter can go on with.
#[derive(Debug, Default)]
pub struct Completion {
    /// Whether somebody types.
    pub types: bool,
    /// Which of the words is picked.
    picked: usize,
}

/// Draws the line, how much the filter takes, and below it what it can go on with.
pub fn show(ui: &mut Ui, model: &Model, bar: &mut Bar, commands: &mut Vec<Command>) {
    let label = ui.label(RichText::new("filter").color(theme::weak()));
    let words = match bar.completion.types && !bar.filter.is_empty() {
        true => model.completions(&bar.filter),
        false => Vec::new(),
    };
    let chosen = keys(ui, &mut bar.completion, &words);
    let is_wrong = model.filter().error.is_some() && !bar.completion.types;
    let edit = TextEdit::singleline(&mut bar.filter)
        .id_salt("filter")
        .font(theme::mono())
        .hint_text(
            RichText::new("press /  ·  for example: object == 42 && lost").color(theme::dim()),
        )
        .text_color(match is_wrong {
            true => theme::error(),
            false => theme::text(),
        })
        .lock_focus(!words.is_empty())
        .desired_width((ui.available_width() - ZOOM - 200.0).max(180.0));
    let output = edit.show(ui);
    let response = output.response.response.labelled_by(label.id);
    if std::mem::take(&mut bar.wants_filter) {
        response.request_focus();
    }
    if response.changed() {
        bar.completion.picked = 0;
        commands.push(Command::SetFilter(bar.filter.clone()));
    }
    let end = bar.filter.chars().count();
    let at_end = output
        .cursor_range
        .is_none_or(|it| it.primary.index.0 == end);
    let is_list = bar.completion.types && at_end && !words.is_empty();
    let list = is_list.then(|| list(ui, response.rect.left_bottom(), &words, &bar.completion));
    let (clicked, held) = list.unwrap_or_default();
    if let Some(chosen) = clicked.or(chosen)
        && let Some((text, _)) = words.get(chosen)
    {
        bar.filter = format!("{text} ");
        bar.completion.picked = 0;
        commands.push(Command::SetFilter(bar.filter.clone()));
        to_end(ui, response.id, bar.filter.chars().count());
        response.request_focus();
    }
    bar.completion.types = response.has_focus() || held;
    if model.filter().is_narrow() {
        let rows = text::packets(model.row_count() as u64);
        let said = match model.filter().looked_at() {
            _ if model.filter().waits() => "waits for acks and findings".to_owned(),
            Some(0) => "none looked at yet".to_owned(),
            Some(looked_at) => format!(
                "{} of so far {}",
                text::count(model.row_count() as u64),
                text::count(looked_at as u64)
            ),
            None => rows,
        };
        ui.label(RichText::new(said).font(theme::mono()).color(theme::weak()));
    }
    if !bar.filter.is_empty() && small(ui, "clear", "clear the filter") {
        bar.filter.clear();
        commands.push(Command::SetFilter(String::new()));
    }
}

/// Moves through the words; the place of the one that a key chose.
fn keys(ui: &Ui, completion: &mut Completion, words: &[(String, String)]) -> Option<usize> {
    if words.is_empty() {
        return None;
    }
    let last = words.len().min(WORDS_MAX) - 1;
    ui.input_mut(|input| {
        if input.consume_key(Modifiers::NONE, Key::ArrowDown) {
            completion.picked = (completion.picked + 1).min(last);
        }
        if input.consume_key(Modifiers::NONE, Key::ArrowUp) {
            completion.picked = completion.picked.saturating_sub(1);
        }
        let is_chosen = input.consume_key(Modifiers::NONE, Key::Tab);
        is_chosen.then_some(completion.picked.min(last))
    })
}

/// Draws the words below the line: the place of the one that was clicked, and whether the pointer is
/// over them.
fn list(
    ui: &Ui,
    at: Pos2,
    words: &[(String, String)],
    completion: &Completion,
) -> (Option<usize>, bool) {
    let area = Area::new(Id::unique("what the filter can go on with"));
    let area = area.fixed_pos(at).order(Order::Foreground);
    let shown = area.show(ui.ctx(), |ui| {
        let frame = Frame::popup(ui.style()).show(ui, |ui| {
            let mut clicked = None;
            for (place, (_, word)) in words.iter().take(WORDS_MAX).enumerate() {
                let text = RichText::new(word).font(theme::mono());
                let row = ui.selectable_label(place == completion.picked, text);
                if row.clicked() {
                    clicked = Some(place);
                }
            }
            let more = words.len().saturating_sub(WORDS_MAX);
            let said = match more {
                0 => "Tab takes it".to_owned(),
                more => format!("Tab takes it; and {more} more"),
            };
            ui.label(RichText::new(said).font(theme::small()).color(theme::dim()));
            clicked
        });
        frame.inner
    });
    (shown.inner, shown.response.contains_pointer())
}

/// Puts the cursor behind all that is typed.
fn to_end(ui: &Ui, id: Id, end: usize) {
    if let Some(mut state) = TextEditState::load(ui.ctx(), id) {
        let end = CCursorRange::one(CCursor::new(end));
        state.cursor.set_char_range(Some(end));
        state.store(ui.ctx(), id);
    }
}
