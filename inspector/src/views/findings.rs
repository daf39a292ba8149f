//! What the session did wrong or oddly, each finding with the packets that prove it.

use egui::{Rect, Response, Role, ScrollArea, Sense, Ui, pos2, vec2};
use netreel_inspector_model::{Command, Commands, FindingRow, Model, text};
use netreel_protocol::history::Level;

use super::copy::{self, Offers, What};
use super::label::{self, elided};
use super::{control, head, muted, why};
use crate::{glyph, theme};

/// Height of a finding in a view of this width: as many lines as a long sentence needs, and one of
/// what else there is.
fn row_height(width: f32) -> f32 {
    if width > 1000.0 { 46.0 } else { 74.0 }
}

/// Draws the list. A click on a finding selects it and shows its proof; a click on a piece of the
/// proof selects its packet.
pub fn show(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    if let Some(why) = model.why_not_yet() {
        let sentence =
            format!("Findings, objects, acks and resends follow from all packets together: {why}.");
        return nothing(ui, "findings", why, &sentence);
    }
    let piece = |level: Level| {
        let filter = format!("level == {}", level.name());
        Some((model.findings_counted(level)?, Some(filter)))
    };
    let levels = [Level::Error, Level::Warning, Level::Info];
    let mut pieces: Vec<head::Piece> = levels.into_iter().filter_map(piece).collect();
    let (all, count) = (model.history().findings.len(), model.finding_rows_count());
    if count < all {
        pieces = vec![(format!("{count} of {all}"), None)];
    }
    head::with_numbers(ui, "findings", &pieces, model, commands);
    let muted = model.muted_rows();
    muted::show(ui, &muted, commands);
    if count == 0 && all > 0 {
        empty(
            ui,
            match muted.iter().map(|row| row.findings).sum::<usize>() == all {
                true => "All findings are muted.",
                false if muted.is_empty() => "The filter takes no finding.",
                false => "The filter takes no finding that is not muted.",
            },
        );
        return;
    }
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
fn rows(ui: &mut Ui, viewport: Rect, model: &Model, count: usize, commands: &mut Commands) {
    let height = row_height(ui.available_width());
    let opened = model
        .selection()
        .finding
        .and_then(|finding| model.finding_place(finding));
    let pieces = model
        .selection()
        .finding
        .map_or(0, |finding| model.evidence_rows(finding).len());
    // Where it began stands first: below the proof there may be no room for it.
    let (cause, told) = (why::cause(ui, model), why::lines(ui, model));
    let proof_height = pieces as f32 * theme::ROW + 8.0;
    let extra = match opened {
        Some(_) => why::height(&cause) + proof_height + why::height(&told),
        None => 0.0,
    };
    let top_of = |row: usize| {
        row as f32 * height
            + if opened.is_some_and(|opened| row > opened) {
                extra
            } else {
                0.0
            }
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
        let response = one(ui, rect, &finding);
        if response.clicked() {
            commands.push(Command::SelectFinding(finding.finding));
        }
        copy::menu(&response, model, commands, || offers(model, &finding));
        if opened == Some(row) {
            why::show(ui, model, rect.left_bottom(), &cause, commands);
            let top = rect.left_bottom() + vec2(0.0, why::height(&cause));
            let below = Rect::from_min_size(top, vec2(rect.width(), proof_height));
            proof(ui, below, model, finding.finding, commands);
            why::show(ui, model, below.left_bottom(), &told, commands);
        }
    }
}

/// What can be done with a finding.
fn offers(model: &Model, finding: &FindingRow) -> Offers {
    let story = model.story_text(finding.finding).unwrap_or_default();
    let mut offers = vec![
        ("copy the sentence", What::Copy(finding.sentence.clone())),
        ("copy it with its proof", What::Copy(story)),
    ];
    if let Some(filter) = model.finding_filter(finding.finding) {
        offers.push(("filter by it", What::Filter(filter)));
    }
    offers.push((
        "mute its rule",
        What::Do(Command::Mute(finding.rule.to_owned(), true)),
    ));
    offers
}

fn one(ui: &mut Ui, rect: Rect, finding: &FindingRow) -> Response {
    let response = control::choice(
        ui,
        rect,
        ("finding", finding.finding),
        finding.selected,
        &format!("finding {}: {}", finding.rule, finding.sentence),
    );
    let painter = ui.painter_at(rect);
    let fill = match (finding.selected, response.hovered()) {
        (true, _) => theme::selected(),
        (false, true) => theme::related(),
        (false, false) => theme::panel(),
    };
    painter.rect_filled(rect, 0.0, fill);
    painter.hline(rect.x_range(), rect.bottom() - 0.5, (1.0, theme::faint()));
    glyph::level(&painter, rect.min + vec2(17.0, 14.0), 13.0, finding.level);
    let left = rect.left() + 32.0;
    let room = rect.right() - left - 8.0;
    let mut job = egui::text::LayoutJob::simple(
        theme::two_dashes(&finding.sentence),
        theme::body(),
        theme::text(),
        room,
    );
    job.wrap.max_rows = if rect.height() > 60.0 { 3 } else { 1 };
    let galley = painter.layout_job(job);
    let (below, is_cut) = (galley.size().y, galley.elided);
    painter.galley(pos2(left, rect.top() + 6.0), galley, theme::text());
    let weak = format!(
        "{}   at {}   {} s",
        finding.rule, finding.node, finding.time
    );
    let at = pos2(left, rect.top() + 9.0 + below);
    label::below(&painter, at, room, &weak, theme::small(), theme::weak());
    // What stands there whole needs nothing that hides the rows below it.
    if is_cut {
        response.on_hover_text(&finding.sentence)
    } else {
        response
    }
}

fn proof(ui: &mut Ui, rect: Rect, model: &Model, finding: usize, commands: &mut Commands) {
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0.0, theme::related());
    // How many characters the latest time of the session has.
    let times = text::seconds(model.span().end).len();
    for (place, piece) in model.evidence_rows(finding).into_iter().enumerate() {
        let top = rect.top() + 4.0 + place as f32 * theme::ROW;
        let line = Rect::from_min_size(pos2(rect.left(), top), vec2(rect.width(), theme::ROW));
        let of = piece
            .of
            .map_or_else(String::new, |rule| format!(", of {rule}"));
        let label = format!("evidence packet {}: {}{of}", piece.packet.0, piece.what);
        let response = control::button(ui, line, ("evidence", finding, place), &label);
        if piece.selected || response.hovered() {
            painter.rect_filled(line, 0.0, theme::selected());
        }
        // Each column is as wide as what can stand in it; the last one has the rest.
        let character = 7.3;
        let columns = [
            (
                piece.step.map_or_else(String::new, |step| step.to_string()),
                2,
                theme::dim(),
            ),
            (format!("#{}", piece.packet.0), 7, theme::accent()),
            (piece.time.clone(), times, theme::weak()),
            (piece.node.clone(), model.short_name_length(), theme::text()),
        ];
        let mut x = rect.left() + 8.0;
        for (text, characters, color) in columns {
            let width = characters as f32 * character;
            let galley = elided(&painter, &text, theme::mono(), width + 4.0, color);
            let left = if text.starts_with(|c: char| c.is_ascii_digit() || c == '#') {
                x + width - galley.size().x
            } else {
                x
            };
            let top = line.center().y - galley.size().y / 2.0;
            painter.galley(pos2(left.max(x), top), galley, color);
            x += width + 11.0;
        }
        let (what, color) = match piece.of {
            None => match piece.object {
                Some(object) => (format!("object {object}: {}", piece.what), theme::text()),
                None => (piece.what.clone(), theme::text()),
            },
            Some(rule) => (format!("{}  ({rule})", piece.what), theme::weak()),
        };
        let room = rect.right() - x - 6.0;
        let galley = elided(&painter, &what, theme::mono(), room, color);
        let is_cut = galley.elided;
        let at = pos2(x, line.center().y - galley.size().y / 2.0);
        painter.galley(at, galley, color);
        let proves = piece.of.map_or_else(String::new, |rule| {
            format!("\nproves {rule}, which tells the same story")
        });
        let response = if is_cut || piece.of.is_some() {
            response.on_hover_text(format!(
                "{} at {}, {} s{proves}",
                piece.what, piece.node, piece.time
            ))
        } else {
            response
        };
        if response.clicked() {
            commands.push(Command::SelectEvidence(finding, place));
        }
    }
}

/// A pane that has nothing to show but a sentence, below its head.
pub fn nothing(ui: &mut Ui, title: &str, more: &str, sentence: &str) {
    head::show(ui, title, more);
    empty(ui, sentence);
}

/// A sentence where there is nothing else to show.
pub fn empty(ui: &mut Ui, sentence: &str) {
    let (rect, response) = ui.allocate_exact_size(ui.available_size(), Sense::hover());
    control::named(&response, Role::Label, sentence);
    let painter = ui.painter();
    let galley = painter.layout(
        theme::two_dashes(sentence),
        theme::body(),
        theme::dim(),
        rect.width() - 24.0,
    );
    painter.galley(rect.min + vec2(12.0, 10.0), galley, theme::dim());
}
