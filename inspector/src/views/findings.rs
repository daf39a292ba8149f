//! What the session did wrong or oddly, each finding with the packets that prove it.

use egui::{Align2, FontId, Rect, Response, Role, ScrollArea, Sense, Ui, WidgetInfo, pos2, vec2};
use netreel_inspector_model::{Command, FindingRow, Model};
use netreel_protocol::history::Level;

use super::head;
use crate::{glyph, theme};

/// Height of a finding in a view of this width: as many lines as a long sentence needs, and one of
/// what else there is.
fn row_height(width: f32) -> f32 {
    if width > 1000.0 { 46.0 } else { 74.0 }
}

/// Draws the list. A click on a finding selects it and shows its proof; a click on a piece of the
/// proof selects its packet.
pub fn show(ui: &mut Ui, model: &Model, commands: &mut Vec<Command>) {
    let counts = [
        (Level::Error, "error", "errors"),
        (Level::Warning, "warning", "warnings"),
        (Level::Info, "info", "info"),
    ];
    let mut more = String::new();
    for (level, one, many) in counts {
        let count = model.finding_count(level);
        if count > 0 {
            let noun = if count == 1 { one } else { many };
            more.push_str(&format!("{count} {noun}   "));
        }
    }
    if let Some(why) = model.why_not_yet() {
        head::show(ui, "findings", why);
        let sentence =
            format!("Findings, objects, acks and resends follow from all packets together: {why}.");
        empty(ui, &sentence);
        return;
    }
    head::show(ui, "findings", &more);
    let count = model.history().findings.len();
    if count == 0 {
        let mut sentence = "No rule found anything wrong or odd.".to_owned();
        let reasons = model.judgement().map_or(&[][..], |it| &it.reasons);
        if !reasons.is_empty() {
            sentence.push_str("\nNot all could be judged:");
            for reason in reasons {
                sentence.push_str(&format!("\n- {}", reason.sentence));
            }
        }
        empty(ui, &sentence);
        return;
    }
    ScrollArea::vertical()
        .id_salt("findings")
        .auto_shrink(false)
        .show_viewport(ui, |ui, viewport| {
            ui.spacing_mut().item_spacing.y = 0.0;
            rows(ui, viewport, model, count, commands);
        });
}

/// Rows are equally high, so that only the visible ones are made; below the selected finding is room
/// for its proof.
fn rows(ui: &mut Ui, viewport: Rect, model: &Model, count: usize, commands: &mut Vec<Command>) {
    let height = row_height(ui.available_width());
    let opened = model
        .selection()
        .finding
        .and_then(|finding| model.finding_place(finding));
    let pieces = model
        .selection()
        .finding
        .map_or(0, |finding| model.evidence_rows(finding).len());
    let extra = if opened.is_some() {
        pieces as f32 * theme::ROW + 8.0
    } else {
        0.0
    };
    let top_of = |row: usize| {
        let below = opened.is_some_and(|opened| row > opened);
        row as f32 * height + if below { extra } else { 0.0 }
    };
    ui.set_height(count as f32 * height + extra);
    let origin = ui.max_rect().min;
    let first = ((viewport.top() - extra) / height).floor().max(0.0) as usize;
    let last = (viewport.bottom() / height).ceil().max(0.0) as usize + 1;
    for finding in model.finding_rows(first..last.min(count)) {
        let Some(row) = model.finding_place(finding.finding) else {
            continue;
        };
        let min = pos2(origin.x, origin.y + top_of(row));
        let rect = Rect::from_min_size(min, vec2(ui.available_width(), height));
        if one(ui, rect, &finding).clicked() {
            commands.push(Command::SelectFinding(finding.finding));
        }
        if opened == Some(row) {
            let below = Rect::from_min_size(rect.left_bottom(), vec2(rect.width(), extra));
            proof(ui, below, model, finding.finding, commands);
        }
    }
}

fn one(ui: &mut Ui, rect: Rect, finding: &FindingRow) -> Response {
    let id = ui.scope_id().with(("finding", finding.finding));
    let response = ui.interact(rect, id, Sense::click());
    let label = format!("finding {}: {}", finding.rule, finding.sentence);
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, finding.selected, &label));
    let painter = ui.painter().with_clip_rect(rect.intersect(ui.clip_rect()));
    let fill = match (finding.selected, response.hovered()) {
        (true, _) => theme::SELECTED,
        (false, true) => theme::RELATED,
        (false, false) => theme::PANEL,
    };
    painter.rect_filled(rect, 0.0, fill);
    painter.hline(rect.x_range(), rect.bottom() - 0.5, (1.0, theme::FAINT));
    glyph::level(&painter, rect.min + vec2(17.0, 14.0), 13.0, finding.level);
    let left = rect.left() + 32.0;
    let room = rect.right() - left - 8.0;
    let mut job =
        egui::text::LayoutJob::simple(finding.sentence.clone(), theme::body(), theme::TEXT, room);
    job.wrap.max_rows = if rect.height() > 60.0 { 3 } else { 1 };
    let galley = painter.layout_job(job);
    let below = galley.size().y;
    painter.galley(pos2(left, rect.top() + 6.0), galley, theme::TEXT);
    let weak = format!(
        "{}   at {}   {} s",
        finding.rule, finding.node, finding.time
    );
    let galley = elided(&painter, &weak, theme::small(), room, theme::WEAK);
    painter.galley(pos2(left, rect.top() + 9.0 + below), galley, theme::WEAK);
    response.on_hover_text(&finding.sentence)
}

fn proof(ui: &mut Ui, rect: Rect, model: &Model, finding: usize, commands: &mut Vec<Command>) {
    let painter = ui.painter().with_clip_rect(rect.intersect(ui.clip_rect()));
    painter.rect_filled(rect, 0.0, theme::RELATED);
    for (place, piece) in model.evidence_rows(finding).into_iter().enumerate() {
        let top = rect.top() + 4.0 + place as f32 * theme::ROW;
        let line = Rect::from_min_size(pos2(rect.left(), top), vec2(rect.width(), theme::ROW));
        let id = ui.scope_id().with(("evidence", finding, place));
        let response = ui.interact(line, id, Sense::click());
        let label = format!("evidence packet {}: {}", piece.packet.0, piece.what);
        response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &label));
        if piece.selected || response.hovered() {
            painter.rect_filled(line, 0.0, theme::SELECTED);
        }
        let y = line.center().y;
        let put = |x: f32, align, text: String, color| {
            painter.text(pos2(rect.left() + x, y), align, text, theme::mono(), color);
        };
        put(
            52.0,
            Align2::RIGHT_CENTER,
            piece.step.map_or_else(String::new, |step| step.to_string()),
            theme::DIM,
        );
        put(
            116.0,
            Align2::RIGHT_CENTER,
            format!("#{}", piece.packet.0),
            theme::ACCENT,
        );
        put(
            128.0,
            Align2::LEFT_CENTER,
            format!("{} s", piece.time),
            theme::WEAK,
        );
        put(216.0, Align2::LEFT_CENTER, piece.node.clone(), theme::TEXT);
        let node = (model.short_name_length() as f32 * 7.3 + 12.0).max(56.0);
        let what = piece.what.clone();
        put(216.0 + node, Align2::LEFT_CENTER, what, theme::TEXT);
        if response.clicked() {
            commands.push(Command::SelectEvidence(finding, place));
        }
    }
}

/// One line of text, cut with an ellipsis where it is too long.
pub fn elided(
    painter: &egui::Painter,
    text: &str,
    font: FontId,
    room: f32,
    color: egui::Color32,
) -> std::sync::Arc<egui::Galley> {
    let mut job = egui::text::LayoutJob::simple_singleline(text.to_owned(), font, color);
    job.wrap = egui::text::TextWrapping::truncate_at_width(room.max(0.0));
    painter.layout_job(job)
}

/// A sentence where there is nothing else to show.
pub fn empty(ui: &mut Ui, sentence: &str) {
    let (rect, _) = ui.allocate_exact_size(ui.available_size(), Sense::hover());
    let painter = ui.painter();
    let galley = painter.layout(
        sentence.to_owned(),
        theme::body(),
        theme::DIM,
        rect.width() - 24.0,
    );
    painter.galley(rect.min + vec2(12.0, 10.0), galley, theme::DIM);
}
