//! All links: from whom, to whom, and what is to be known of each. A click opens one.

use egui::{Color32, Painter, Pos2, Rect, Role, Sense, StrokeKind, Ui, Vec2, pos2, vec2};
use netreel_inspector_model::{Command, Commands, LinkEnds, Model, text};
use netreel_protocol::history::Level;
use netreel_protocol::session::NodeId;
use netreel_protocol::stats::{LinkStats, Stats};

use super::copy::{self, Offers, What};
use super::{control, findings, head, label, scroll};
use crate::{glyph, theme};

/// Up to this many nodes have a matrix; more have a list.
const MATRIX_MAX: usize = 16;
/// A smaller cell has nothing in it.
const CELL: Vec2 = vec2(58.0, 24.0);
/// A larger one has larger letters.
const LARGE: Vec2 = vec2(220.0, 84.0);
/// What stands in a higher one would be lost in it.
const CELL_HEIGHT_MAX: f32 = 132.0;
const ROW: f32 = 19.0;

/// Draws the links.
pub fn show(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    let Some(stats) = model.bandwidth() else {
        let why = model.why_waits();
        let sentence = format!("What links carried: {why}.");
        return findings::nothing(ui, "links", why, &sentence);
    };
    let mut pieces = match stats.links.len() {
        0 => vec![("none".to_owned(), None)],
        count => vec![
            (count.to_string(), None),
            (text::bytes(stats.all.bytes), None),
        ],
    };
    if !stats.links.is_empty() {
        pieces.extend(lost(model, &stats.all, None));
    }
    head::with_numbers(ui, "links", &pieces, model, commands);
    if stats.links.is_empty() {
        findings::empty(ui, "Nobody sent anything that is shown.");
        return;
    }
    let is_end = |node: NodeId| {
        stats
            .links
            .keys()
            .any(|link| link.0 == node || link.1 == node)
    };
    let nodes: Vec<NodeId> = model
        .lanes()
        .iter()
        .copied()
        .filter(|&node| is_end(node))
        .collect();
    let room = ui.available_size();
    let names = (model.lane_name_length() as f32 * 7.4 + 30.0).clamp(64.0, 160.0);
    let cell = vec2(
        (room.x - names - 8.0) / nodes.len() as f32,
        ((room.y - ROW - 8.0) / nodes.len() as f32).min(CELL_HEIGHT_MAX),
    );
    let fits = cell.x >= CELL.x && cell.y >= CELL.y && nodes.len() <= MATRIX_MAX;
    if fits {
        matrix(ui, model, &stats, &nodes, (names, cell), commands)
    } else {
        list(ui, model, &stats, commands)
    }
}

/// What was lost, and what became of nobody knows what, each with the filter that takes it of these
/// packets.
pub fn lost(model: &Model, stats: &LinkStats, of: Option<&str>) -> Vec<head::Piece> {
    let filter = |word: &str| match of {
        Some(of) => format!("{of} && {word}"),
        None => word.to_owned(),
    };
    if stats.unknown == 0 || stats.unknown == stats.packets {
        let lost = (stats.lost > 0).then(|| filter("lost"));
        return vec![(model.lost_text(stats), lost)];
    }
    let known = LinkStats {
        unknown: 0,
        ..stats.clone()
    };
    let unknown = format!("{} unknown", text::count(stats.unknown));
    let mut pieces = lost(model, &known, of);
    pieces.push((unknown, Some(filter("unknown"))));
    pieces
}

fn matrix(
    ui: &mut Ui,
    model: &Model,
    stats: &Stats,
    nodes: &[NodeId],
    (names, cell): (f32, Vec2),
    commands: &mut Commands,
) {
    let view = ui.available_rect_before_wrap();
    ui.advance_cursor_after_rect(view);
    let painter = ui.painter_at(view);
    let most = stats.links.values().map(|it| it.bytes).max().unwrap_or(1);
    let origin = view.min + vec2(names, ROW + 2.0);
    heads(&painter, model, nodes, (view, origin, names, cell));
    let (selected, worst) = (model.link(), model.worst_link());
    for (row, &from) in nodes.iter().enumerate() {
        for (column, &to) in nodes.iter().enumerate() {
            let min = origin + vec2(column as f32 * cell.x, row as f32 * cell.y);
            let rect = Rect::from_min_size(min, cell).shrink(1.0);
            let Some(link) = stats.links.get(&(from, to)) else {
                painter.rect_filled(rect, 2.0, theme::stripe());
                continue;
            };
            let ends = (from, to);
            let square = Square {
                rect,
                ends,
                link,
                bytes_max: most,
                is_selected: selected == Some(ends),
                is_worst: worst == Some(ends),
            };
            square.show(ui, (&painter, model), commands);
        }
    }
}

/// Names of nodes: senders at the left of the squares, receivers above them.
fn heads(
    painter: &Painter,
    model: &Model,
    nodes: &[NodeId],
    (view, origin, names, cell): (Rect, Pos2, f32, Vec2),
) {
    let corner = pos2(view.left() + 10.0, view.top() + ROW / 2.0 + 1.0);
    label::text(painter, corner, "from \\ to", theme::small(), theme::dim());
    for (place, &node) in nodes.iter().enumerate() {
        let (name, font, color) = (model.lane_name(node), theme::body(), theme::text());
        let above = label::elided(painter, name, font.clone(), cell.x - 8.0, color);
        let centre = origin.x + (place as f32 + 0.5) * cell.x;
        let at = pos2(centre - above.size().x / 2.0, view.top() + 2.0);
        painter.galley(at, above, color);
        let y = origin.y + (place as f32 + 0.5) * cell.y;
        let at = pos2(view.left() + 14.0, y);
        chip(painter, at, node_color(model, node));
        label::write(
            painter,
            at + vec2(10.0, 0.0),
            names - 28.0,
            name,
            font,
            color,
        );
    }
}

/// A link, as a square.
struct Square<'a> {
    rect: Rect,
    ends: LinkEnds,
    link: &'a LinkStats,
    /// How many bytes the link carried that carried the most.
    bytes_max: u64,
    is_selected: bool,
    is_worst: bool,
}

impl Square<'_> {
    fn show(&self, ui: &mut Ui, (painter, model): (&Painter, &Model), commands: &mut Commands) {
        let Square {
            rect,
            ends,
            link,
            bytes_max,
            is_selected,
            is_worst,
        } = *self;
        let said = words(model, ends, link);
        let label = format!("link {}: {said}", model.link_label(ends));
        let response = control::choice(ui, rect, ends, is_selected, &label);
        // The square root keeps quiet links from all being alike.
        let part = (link.bytes as f32 / bytes_max.max(1) as f32).sqrt();
        let fill = theme::panel().lerp_to_gamma(theme::accent(), 0.08 + 0.22 * part);
        // What was lost or late is seen from afar, and of the worst link most.
        let bad = bad_part(model, ends, link);
        let fill = if bad > 0.0 {
            let strength = 0.12 + 0.14 * bad.sqrt() + if is_worst { 0.06 } else { 0.0 };
            theme::panel().lerp_to_gamma(theme::warning(), strength)
        } else {
            fill
        };
        painter.rect_filled(rect, 2.0, fill);
        if is_worst {
            let edge = Rect::from_min_size(rect.min, vec2(4.0, rect.height()));
            painter.rect_filled(edge, 0.0, theme::warning());
            if rect.height() > 30.0 {
                let at = rect.right_top() + vec2(-11.0, 11.0);
                glyph::level(painter, at, 11.0, Level::Warning);
            }
        }
        if is_selected || response.hovered() {
            let edge = (if is_selected { 2.0 } else { 1.0 }, theme::accent());
            painter.rect_stroke(rect, 2.0, edge, StrokeKind::Inside);
        }
        let fates = lines(painter, model, rect, (ends, link));
        let is_number = number(ui, model, (ends, link), fates, commands);
        if response.clicked() && !is_number {
            commands.push(Command::SelectLink(Some(ends)));
        }
        copy::menu(&response, model, commands, || offers(model, ends, link));
        let worst = if is_worst { "\nthe worst of all" } else { "" };
        let said = said.replace(", ", "\n");
        let said = format!("{}{worst}\n{said}", model.link_label(ends));
        response.on_hover_text(label::mono(said));
    }
}

/// A small square in the colour of what stands beside it.
pub fn chip(painter: &Painter, centre: Pos2, color: Color32) {
    painter.rect_filled(Rect::from_center_size(centre, vec2(8.0, 8.0)), 2.0, color);
}

/// The colour of a node, wherever it is shown.
pub fn node_color(model: &Model, node: NodeId) -> Color32 {
    let known = model.session().node(node);
    theme::owner(known.and_then(|it| it.peer).unwrap_or(u64::from(node.0)))
}

/// How much of what a link carried was lost or late, from 0 to 1.
fn bad_part(model: &Model, ends: LinkEnds, link: &LinkStats) -> f32 {
    let bad = link.lost + late(model, ends);
    (bad as f32 / link.packets.max(1) as f32).min(1.0)
}

/// How many packets were late; what the filter takes of them nobody has counted.
fn late(model: &Model, ends: LinkEnds) -> u64 {
    if model.filter().is_narrow() {
        0
    } else {
        model.late_packets(ends)
    }
}

/// What became of packets that did not arrive as they should.
fn fates(model: &Model, ends: LinkEnds, link: &LinkStats) -> String {
    let late = late(model, ends);
    match (late, link.lost) {
        (0, _) => model.lost_text(link),
        (late, 0) => format!("{} late, {}", text::count(late), model.lost_text(link)),
        (late, _) => format!("{}, {} late", model.lost_text(link), text::count(late)),
    }
}

/// What a cell says of lost or late packets leads to these: whether it was clicked.
fn number(
    ui: &Ui,
    model: &Model,
    (ends, link): (LinkEnds, &LinkStats),
    place: Option<Rect>,
    commands: &mut Commands,
) -> bool {
    let filter = match link.lost {
        0 if late(model, ends) > 0 => model.filter_of_late(ends),
        0 => None,
        _ => model
            .filter_of_link(ends)
            .map(|link| format!("{link} && lost")),
    };
    let Some((filter, place)) = filter.zip(place) else {
        return false;
    };

    let label = format!("what was lost or late on {}", model.link_label(ends));
    let response = control::button(ui, place, ("number of a link", ends), &label);
    let strength = if response.hovered() { 1.0 } else { 0.4 };
    let line = theme::faded(theme::text(), strength);
    ui.painter()
        .hline(place.x_range(), place.bottom(), (1.0, line));
    copy::narrows(response, model, &filter, commands)
}

/// As much of it as there is room for; where it says what was lost or late.
fn lines(
    painter: &Painter,
    model: &Model,
    rect: Rect,
    (ends, link): (LinkEnds, &LinkStats),
) -> Option<Rect> {
    // The most telling first: there is room for a word or two.
    let lost = match (late(model, ends), link.lost) {
        (late, 0) if late > 0 => format!("{} late", text::count(late)),
        _ => fates(model, ends, link),
    };
    // Faint letters cannot be read on what stands out.
    let color = if bad_part(model, ends, link) > 0.0 {
        theme::text()
    } else {
        theme::weak()
    };
    let one_way = |delay: i64| format!("one way {}", text::duration(delay));
    let delay = link.delay_ns.map(|it| one_way(it.median));
    let (time, other_time) = match (link.rtt_ns, delay) {
        (Some(rtt), delay) => (format!("rtt {}", text::duration(rtt.median)), delay),
        (None, delay) => (delay.unwrap_or_default(), None),
    };
    let again = match link.resent {
        0 => String::new(),
        count => format!("{} again", text::many(count, "message")),
    };
    let fate = lost.clone();
    let all = [
        (time, theme::text()),
        (lost, color),
        (text::bytes(link.bytes), color),
        (text::packets(link.packets), color),
        (other_time.unwrap_or_default(), color),
        (again, color),
    ];
    let is_large = rect.width() >= LARGE.x && rect.height() >= LARGE.y;
    let (font, line) = if is_large {
        (theme::body(), 18.0)
    } else {
        (theme::small(), 14.0)
    };
    let lines: Vec<_> = all
        .into_iter()
        .filter(|(text, _)| !text.is_empty())
        .collect();
    let fit = ((rect.height() - 4.0) / line).floor().max(1.0) as usize;
    let count = lines.len().min(fit);
    let mut y = rect.center().y - count as f32 * line / 2.0;
    let mut place = None;
    for (text, color) in lines.into_iter().take(count) {
        let galley = label::elided(painter, &text, font.clone(), rect.width() - 8.0, color);
        let at = pos2(rect.left() + 6.0, y);
        if text == fate {
            place = Some(Rect::from_min_size(at, galley.size()));
        }
        painter.galley(at, galley, color);
        y += line;
    }
    place
}

/// How long packets were on their way, and how far the clocks of both ends may be off.
pub fn one_way(link: &LinkStats) -> Option<String> {
    let error = match link.clock_error_ns {
        Some(0) | None => String::new(),
        Some(error) => format!(" ± {}", text::duration(error as i64)),
    };
    Some(format!(
        "one way {}{error}",
        text::duration(link.delay_ns?.median)
    ))
}

/// A link in words, for whoever cannot see the matrix.
fn words(model: &Model, ends: LinkEnds, link: &LinkStats) -> String {
    let mut words = vec![
        text::packets(link.packets),
        text::bytes(link.bytes),
        fates(model, ends, link),
    ];
    if let Some(rtt) = link.rtt_ns {
        words.push(format!("round trip {}", text::duration(rtt.median)));
    }
    words.extend(one_way(link));
    words.extend(model.resent_text(link).map(|causes| {
        let count = text::many(link.resent, "message");
        format!("{count} again; their senders had heard: {causes}")
    }));
    words.join(", ")
}

/// Too many for a matrix: a row each, the worst first, then those with most bytes.
fn list(ui: &mut Ui, model: &Model, stats: &Stats, commands: &mut Commands) {
    let mut links: Vec<(&LinkEnds, &LinkStats)> = stats.links.iter().collect();
    let worst = model.worst_link();
    links.sort_by_key(|(ends, link)| {
        let is_worst = worst == Some(**ends);
        (!is_worst, std::cmp::Reverse(link.bytes), **ends)
    });
    let selected = model.link();
    scroll::rows(ui, "links", ROW, &links, None, |ui, (ends, link)| {
        let (rect, response) = control::row(ui, ROW, Sense::click());
        let is_selected = selected == Some(**ends);
        let name = model.link_label(**ends);
        let said = words(model, **ends, link);
        let label = format!("link {name}: {said}");
        control::selectable(&response, Role::Button, is_selected, &label);
        let painter = ui.painter_at(rect);
        control::shade(&painter, rect, 0.0, is_selected, &response);
        let split = (rect.width() * 0.45).min(360.0);
        label::cell(&painter, rect, 10.0, split - 18.0, &name, theme::text());
        let is_bad = bad_part(model, **ends, link) > 0.0;
        let color = if is_bad {
            theme::warning()
        } else {
            theme::weak()
        };
        let room = rect.width() - split - 6.0;
        label::cell(&painter, rect, split, room, &said, color);
        if response.clicked() {
            commands.push(Command::SelectLink(Some(**ends)));
        }
        copy::menu(&response, model, commands, || offers(model, **ends, link));
    });
}

/// The packets that its numbers count.
fn offers(model: &Model, ends: LinkEnds, link: &LinkStats) -> Offers {
    let Some(filter) = model.filter_of_link(ends) else {
        return Vec::new();
    };
    let lost = (link.lost > 0).then(|| format!("{filter} && lost"));
    let late = model.filter_of_late(ends).filter(|_| late(model, ends) > 0);
    let mut offers = vec![("filter by this link", What::Filter(filter))];
    offers.extend(lost.map(|it| ("filter by what it lost", What::Filter(it))));
    offers.extend(late.map(|it| ("filter by what was late on it", What::Filter(it))));
    let said = words(model, ends, link).replace(", ", "\n");
    let said = format!("{}\n{said}", model.link_label(ends));
    offers.push(("copy what is known of it", What::Copy(said)));
    offers
}
