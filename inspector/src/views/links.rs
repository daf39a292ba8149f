//! All links: from whom, to whom, and what is to be known of each. A click opens one.

use egui::{Align2, Rect, Role, ScrollArea, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2};
use netreel_inspector_model::{Command, LinkEnds, Model, text};
use netreel_protocol::session::NodeId;
use netreel_protocol::stats::{LinkStats, Stats};

use super::{findings, head};
use crate::theme;

/// Up to so many nodes have a matrix; more have a list.
const MATRIX_MAX: usize = 16;
/// A smaller cell has nothing in it.
const CELL: egui::Vec2 = vec2(58.0, 24.0);
const ROW: f32 = 19.0;

/// Draws the links.
pub fn show(ui: &mut Ui, model: &Model, commands: &mut Vec<Command>) {
    let Some(stats) = model.bandwidth() else {
        let why = model.why_waits();
        head::show(ui, "links", why);
        findings::empty(ui, &format!("What links carried: {why}."));
        return;
    };
    let more = match stats.links.len() {
        0 => "none".to_owned(),
        count => format!(
            "{count}   {}   {}",
            text::bytes(stats.all.bytes as f64),
            model.lost_text(&stats.all)
        ),
    };
    head::show(ui, "links", &more);
    if stats.links.is_empty() {
        findings::empty(ui, "Nobody sent anything that is shown.");
        return;
    }
    let is_end = |node: NodeId| {
        let mut links = stats.links.keys();
        links.any(|link| link.0 == node || link.1 == node)
    };
    let lanes = model.lanes().iter().copied();
    let nodes: Vec<NodeId> = lanes.filter(|&node| is_end(node)).collect();
    let room = ui.available_size();
    let names = name_width(model);
    let cell = vec2(
        ((room.x - names - 8.0) / nodes.len() as f32).min(190.0),
        ((room.y - ROW - 8.0) / nodes.len() as f32).min(74.0),
    );
    let fits = cell.x >= CELL.x && cell.y >= CELL.y && nodes.len() <= MATRIX_MAX;
    match fits {
        true => matrix(ui, model, &stats, &nodes, (names, cell), commands),
        false => list(ui, model, &stats, commands),
    }
}

fn name_width(model: &Model) -> f32 {
    (model.lane_name_length() as f32 * 7.4 + 30.0).clamp(64.0, 160.0)
}

fn matrix(
    ui: &mut Ui,
    model: &Model,
    stats: &Stats,
    nodes: &[NodeId],
    (names, cell): (f32, egui::Vec2),
    commands: &mut Vec<Command>,
) {
    let view = ui.available_rect_before_wrap();
    ui.advance_cursor_after_rect(view);
    let painter = ui.painter().with_clip_rect(view.intersect(ui.clip_rect()));
    let most = stats.links.values().map(|it| it.bytes).max().unwrap_or(1);
    let origin = view.min + vec2(names, ROW + 2.0);
    painter.text(
        pos2(view.left() + 10.0, view.top() + ROW / 2.0 + 1.0),
        Align2::LEFT_CENTER,
        "from \\ to",
        theme::small(),
        theme::dim(),
    );
    for (place, &node) in nodes.iter().enumerate() {
        let name = findings::elided(
            &painter,
            model.lane_name(node),
            theme::body(),
            cell.x - 8.0,
            theme::text(),
        );
        let centre = origin.x + (place as f32 + 0.5) * cell.x;
        let at = pos2(centre - name.size().x / 2.0, view.top() + 2.0);
        painter.galley(at, name, theme::text());
        let name = findings::elided(
            &painter,
            model.lane_name(node),
            theme::body(),
            names - 28.0,
            theme::text(),
        );
        let y = origin.y + (place as f32 + 0.5) * cell.y;
        let chip = Rect::from_center_size(pos2(view.left() + 14.0, y), vec2(8.0, 8.0));
        painter.rect_filled(chip, 2.0, node_color(model, node));
        let at = pos2(view.left() + 24.0, y - name.size().y / 2.0);
        painter.galley(at, name, theme::text());
    }
    let selected = model.link();
    for (row, &from) in nodes.iter().enumerate() {
        for (column, &to) in nodes.iter().enumerate() {
            let min = origin + vec2(column as f32 * cell.x, row as f32 * cell.y);
            let rect = Rect::from_min_size(min, cell).shrink(1.0);
            let Some(link) = stats.links.get(&(from, to)) else {
                painter.rect_filled(rect, 2.0, theme::stripe());
                continue;
            };
            let ends = (from, to);
            let response = ui.interact(rect, ui.scope_id().with((from, to)), Sense::click());
            let is_selected = selected == Some(ends);
            let label = format!("link {}: {}", model.link_label(ends), words(model, link));
            response.widget_info(|| WidgetInfo::selected(Role::Button, true, is_selected, &label));
            // The square root keeps quiet links from all being alike.
            let part = (link.bytes as f32 / most.max(1) as f32).sqrt();
            let fill = theme::panel().lerp_to_gamma(theme::accent(), 0.08 + 0.22 * part);
            painter.rect_filled(rect, 2.0, fill);
            if is_selected || response.hovered() {
                let edge = Stroke::new(if is_selected { 2.0 } else { 1.0 }, theme::accent());
                painter.rect_stroke(rect, 2.0, edge, StrokeKind::Inside);
            }
            lines(&painter, model, rect, link);
            if response.clicked() {
                commands.push(Command::SelectLink(Some(ends)));
            }
            let text = format!(
                "{}\n{}",
                model.link_label(ends),
                words(model, link).replace(", ", "\n")
            );
            response.on_hover_text(egui::RichText::new(text).font(theme::mono()));
        }
    }
}

/// The colour of a node, wherever it is shown.
pub fn node_color(model: &Model, node: NodeId) -> egui::Color32 {
    let known = model.session().nodes.get(usize::from(node.0));
    theme::owner(known.and_then(|it| it.peer).unwrap_or(u64::from(node.0)))
}

/// As much of it as there is room for.
fn lines(painter: &egui::Painter, model: &Model, rect: Rect, link: &LinkStats) {
    let lost = model.lost_text(link);
    let lost_color = match link.lost {
        0 => theme::weak(),
        _ => theme::warning(),
    };
    let time = match (link.rtt_ns, link.delay_ns) {
        (Some(rtt), _) => format!("rtt {}", text::duration(rtt.median)),
        (None, Some(delay)) => format!("one way {}", text::duration(delay.median)),
        (None, None) => String::new(),
    };
    let all = [
        (time, theme::text()),
        (lost, lost_color),
        (text::bytes(link.bytes as f64), theme::weak()),
        (text::packets(link.packets), theme::weak()),
    ];
    let lines: Vec<_> = all
        .into_iter()
        .filter(|(text, _)| !text.is_empty())
        .collect();
    let fit = ((rect.height() - 4.0) / 14.0).floor().max(1.0) as usize;
    let count = lines.len().min(fit);
    let mut y = rect.center().y - count as f32 * 7.0;
    for (text, color) in lines.into_iter().take(count) {
        let galley = findings::elided(painter, &text, theme::small(), rect.width() - 8.0, color);
        painter.galley(pos2(rect.left() + 6.0, y), galley, color);
        y += 14.0;
    }
}

/// A link in words, for whoever cannot see the matrix.
fn words(model: &Model, link: &LinkStats) -> String {
    let mut words = vec![
        text::packets(link.packets),
        text::bytes(link.bytes as f64),
        model.lost_text(link),
    ];
    if let Some(rtt) = link.rtt_ns {
        words.push(format!("round trip {}", text::duration(rtt.median)));
    }
    if let Some(delay) = link.delay_ns {
        let error = match link.clock_error_ns {
            Some(0) | None => String::new(),
            Some(error) => format!(" ± {}", text::duration(error as i64)),
        };
        words.push(format!("one way {}{error}", text::duration(delay.median)));
    }
    words.join(", ")
}

/// Too many for a matrix: a row each, those with most bytes first.
fn list(ui: &mut Ui, model: &Model, stats: &Stats, commands: &mut Vec<Command>) {
    let mut links: Vec<(&LinkEnds, &LinkStats)> = stats.links.iter().collect();
    links.sort_by_key(|(ends, link)| (std::cmp::Reverse(link.bytes), **ends));
    let selected = model.link();
    ui.spacing_mut().item_spacing.y = 0.0;
    let area = ScrollArea::vertical().id_salt("links").auto_shrink(false);
    area.show_rows(ui, ROW, links.len(), |ui, range| {
        for (ends, link) in links.get(range).unwrap_or_default() {
            let size = vec2(ui.available_width(), ROW);
            let (rect, response) = ui.allocate_exact_size(size, Sense::click());
            let is_selected = selected == Some(**ends);
            let name = model.link_label(**ends);
            let label = format!("link {name}: {}", words(model, link));
            response.widget_info(|| WidgetInfo::selected(Role::Button, true, is_selected, &label));
            let painter = ui.painter().with_clip_rect(rect.intersect(ui.clip_rect()));
            if is_selected || response.hovered() {
                let fill = if is_selected {
                    theme::selected()
                } else {
                    theme::related()
                };
                painter.rect_filled(rect, 0.0, fill);
            }
            let split = (rect.width() * 0.45).min(360.0);
            for (left, width, text, color) in [
                (10.0, split - 18.0, &name, theme::text()),
                (
                    split,
                    rect.width() - split - 6.0,
                    &words(model, link),
                    theme::weak(),
                ),
            ] {
                let galley = findings::elided(&painter, text, theme::mono(), width, color);
                let y = rect.center().y - galley.size().y / 2.0;
                painter.galley(pos2(rect.left() + left, y), galley, color);
            }
            if response.clicked() {
                commands.push(Command::SelectLink(Some(**ends)));
            }
        }
    });
}
