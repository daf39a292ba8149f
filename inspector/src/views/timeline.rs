//! A lane a node, time to the right, an arrow from each send to its receive.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use egui::{Mesh, Painter, Pos2, Rect, Response, Role, Shape, Ui, Vec2, WidgetInfo, pos2, vec2};
use netreel_inspector_model::{
    Arrow, Bucket, Command, Commands, Flag, Hover, LaneRow, Model, Traffic, text,
};
use netreel_protocol::session::{NodeId, PacketId};
use netreel_wire::KindId;

use super::arrows::{self, Labels, Line};
use super::axis::{TimeRect, TimeView};
use super::lanes::{self, Lanes};
use super::story::Story;
use super::{axis, control, edges, findings, head, label, lane_hands, legend, signs};
use crate::{glyph, theme};

/// How near the pointer must be to an arrow, in points.
const NEAR: f32 = 6.0;

/// What is said again within this many points of the last time is not named again.
const STRETCH: f32 = 70.0;

/// Names beside arrows, where there is room: tried for the most telling this many.
const NAMED_MAX: usize = 240;

/// Up to this many arrows each is drawn at its full strength.
const ARROWS_CLEAR: f32 = 600.0;

/// How near two flags may be, in points, before one stands for both.
const FLAG_FOLD: f32 = 7.0;

/// Draws the lanes. A click on an arrow selects its packet, elsewhere it puts the time cursor.
pub fn show(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    named(ui, "timeline", model, commands);
}

/// The same under another name.
pub fn named(ui: &mut Ui, title: &str, model: &Model, commands: &mut Commands) {
    if model.lanes().is_empty() {
        let sentence = "Nobody took part: the reels hold no packets.";
        return findings::nothing(ui, title, "", sentence);
    }
    let signs = head::bar(ui, title);
    legend::show(ui, signs, model);
    let shown = TimeView::new(ui, model, "timeline", title);
    let TimeView {
        view,
        ruler,
        time,
        response,
        painter,
    } = &shown;
    let lanes = Lanes::new(model, time);
    lanes::show(painter, model, *view, &lanes);
    let inside = painter.with_clip_rect(time.rect);
    let mut labels = Labels::default();
    lanes::triggers(&inside, model, &lanes, &mut labels);
    let mut flags = model.flags(&time.scale, FLAG_FOLD);
    flags.retain(|flag| lanes.has(flag.node));
    for flag in &flags {
        labels.block(flag_rect(&lanes, flag));
    }
    edges::block(model, &lanes, &mut labels);
    let points: Vec<Pos2> = model
        .story()
        .iter()
        .map(|piece| lanes.point(piece.node, piece.time))
        .collect();
    let story = Story::plan(&inside, model, time.rect, &points, &mut labels);
    let pointer = response.hover_pos();
    let near = traffic(&inside, model, &lanes, response, &mut labels);
    let written = signs::lines(&inside, model, &lanes, pointer, &mut labels);
    story.draw(&inside);
    signs::bookmarks(ui, painter, model, (*ruler, time), &mut labels, commands);
    if let Some((range, words)) = model.measured_time().zip(model.measured_text()) {
        axis::measured(&inside, time, (&range, words));
    }
    axis::cursor(&inside, time, model);
    let on_flag = flags_view(ui, &inside, model, &lanes, &flags, commands);
    let on_sign = edges::show(ui, &inside, model, &lanes, commands);
    lane_hands::show(ui, painter, model, (*view, *ruler), &lanes, commands);
    input(
        ui,
        model,
        response,
        time,
        near.filter(|_| !on_flag && !on_sign),
        commands,
    );
    if let Some(written) = written.filter(|_| near.is_none() && !on_flag && !on_sign) {
        response
            .clone()
            .on_hover_text_at_pointer(label::mono(written));
    }
}

/// Arrows or density. Returns the packet near the pointer.
fn traffic(
    painter: &Painter,
    model: &Model,
    lanes: &Lanes,
    response: &Response,
    labels: &mut Labels,
) -> Option<PacketId> {
    let (time, scale) = (lanes.time.rect, &lanes.time.scale);
    let mut traffic = model.traffic(scale);
    density(painter, lanes, &traffic);
    let mut shown = std::mem::take(&mut traffic.arrows);
    shown.retain(|arrow| lanes.has(arrow.from) || lanes.has(arrow.to));
    let quiet = model.selection().finding.is_some();
    // Beside a story everything else is dim, unless a filter says what is to be seen beside it.
    let is_aside = quiet && !model.filter().is_narrow();
    if is_aside {
        shown.iter_mut().for_each(|arrow| arrow.matches = false);
    }
    let pointer = response.hover_pos().filter(|at| time.contains(*at));
    shown.sort_by_cached_key(|arrow| arrows::prominence(model, arrow));
    let mut nearest: Option<(f32, PacketId, Line)> = None;
    // Many arrows are drawn faintly, so that what stands out among them still does.
    let crowd = (ARROWS_CLEAR / shown.len().max(1) as f32).clamp(0.2, 1.0);
    // Those that are drawn together lie behind the others: the place for them is kept.
    let behind = painter.add(Shape::Noop);
    let mut together = Mesh::default();
    for arrow in &shown {
        let Some(line) = lanes.line(arrow) else {
            continue;
        };
        let strength = (quiet, crowd);
        arrows::draw(painter, model, arrow, line, strength, &mut together);
        if let Some(at) = pointer.filter(|_| arrow.matches || is_aside) {
            let distance = arrows::distance(line, at);
            if distance < NEAR && nearest.is_none_or(|(least, ..)| distance <= least) {
                nearest = Some((distance, arrow.packet, line));
            }
        }
    }
    painter.set(behind, together);
    // Among bars of density single marks would hide more than they tell.
    if traffic.density.is_empty() {
        for (node, time, _) in model.duplicates(scale) {
            glyph::twice(painter, lanes.point(node, time), theme::warning());
        }
    }
    let outside = match model.hover() {
        Some(Hover::Packet(packet)) if nearest.is_none() => model.arrow(packet),
        _ => None,
    };
    let hovered = nearest
        .map(|(_, _, line)| line)
        .or_else(|| lanes.line(&outside?));
    if let Some(line) = hovered {
        let glow = (5.0, theme::faded(theme::ink(), 0.25));
        painter.line_segment([line.start, line.end], glow);
    }
    names(painter, model, lanes, &shown, labels);
    nearest.map(|(_, packet, _)| packet)
}

/// What packets carry, beside where they leave: the most telling first. What a node says again and
/// again is named where that begins.
fn names(painter: &Painter, model: &Model, lanes: &Lanes, arrows: &[Arrow], labels: &mut Labels) {
    let told = model.selection().finding.is_some();
    let mut wanted: Vec<(Reverse<u8>, &Arrow)> = arrows
        .iter()
        .filter(|arrow| arrow.kind.is_some())
        .map(|arrow| (Reverse(arrows::prominence(model, arrow)), arrow))
        .filter(|(Reverse(prominence), _)| *prominence >= 2)
        .collect();
    wanted.sort_by_key(|(prominence, arrow)| (*prominence, arrow.start));
    let mut said_at: BTreeMap<(Option<KindId>, u16), f32> = BTreeMap::new();
    let mut told_at: BTreeSet<(String, u16, i64)> = BTreeSet::new();
    let mut named = 0;
    for (Reverse(prominence), arrow) in wanted {
        let Some(line) = lanes.line(arrow) else {
            continue;
        };
        if !lanes.time.has(line.start.x) {
            continue;
        }
        // What is not new where it stands need not be read.
        let before = said_at.get(&(arrow.kind, arrow.from.0));
        if prominence < 4 && before.is_some_and(|before| line.start.x - before < STRETCH) {
            said_at.insert((arrow.kind, arrow.from.0), line.start.x);
            continue;
        }
        let text = model.lead_text(arrow.packet);
        // The same said to several nodes at once has its name once.
        let about = (line.start.x / 8.0).round() as i64;
        let is_new = told_at.insert((text.clone(), arrow.from.0, about));
        if prominence < 4 {
            said_at.insert((arrow.kind, arrow.from.0), line.start.x);
            if !is_new {
                continue;
            }
        }
        let color = arrows::color(model, arrow);
        let strong = prominence >= 4 || !told;
        let color = theme::quiet_text(color, if strong { 1.0 } else { 0.75 });
        labels.place(painter, lanes.time.rect, line.start, &text, color);
        named += 1;
        if named == NAMED_MAX {
            break;
        }
    }
}

/// Traffic that is too dense for arrows; `rest` is what the filter leaves out.
fn density(painter: &Painter, lanes: &Lanes, traffic: &Traffic) {
    let TimeRect { rect, scale } = &lanes.time;
    let strength = if traffic.density_is_rest { 0.35 } else { 1.0 };
    let buckets = folded(lanes, &traffic.density);
    let most = buckets
        .iter()
        .flat_map(|(_, lane)| lane.iter().map(|b| b.events))
        .max()
        .unwrap_or(1)
        .max(1);
    let room = (lanes.height * 0.36).max(3.0);
    let left = rect.left() + traffic.density_left;
    let lost = theme::faded(theme::warning(), strength);
    // One shape for all: thousands of lines would each be smoothed.
    let mut mesh = Mesh::default();
    for (place, lane) in &buckets {
        let y = lanes.middle(*place);
        for bucket in lane.iter() {
            let x = (left + bucket.column as f32).round();
            let part = (bucket.events as f32 / most as f32).sqrt();
            let half = (part * room).max(1.0);
            let color = theme::faded(theme::info(), (0.25 + 0.5 * part) * strength);
            mesh.add_colored_rect(bar(x, y - half, y + half), color);
            if bucket.lost > 0 {
                mesh.add_colored_rect(bar(x, y + room + 2.0, y + room + 7.0), lost);
            }
        }
    }
    painter.add(mesh);
    if buckets.iter().any(|(_, lane)| !lane.is_empty()) {
        let (most, each) = (text::count(most.into()), text::duration(scale.ns(1.0)));
        let said = format!("bars up to {most} in {each}");
        let galley = painter.layout_no_wrap(said, theme::small(), theme::dim());
        let at = rect.right_top() + vec2(-galley.size().x - 6.0, 2.0);
        let patch = (Vec2::splat(2.0), 2.0, theme::faded(theme::panel(), 0.85));
        label::over(painter, at, galley, patch, theme::dim());
    }
}

/// The busy columns of each lane: of a host's those of all its nodes together.
fn folded<'a>(lanes: &Lanes, of_nodes: &'a [Vec<Bucket>]) -> Vec<(usize, Cow<'a, [Bucket]>)> {
    let of = |node: &NodeId| {
        of_nodes
            .get(usize::from(node.0))
            .map_or(&[][..], Vec::as_slice)
    };
    let row = |(place, row): (usize, &LaneRow)| {
        if let [node] = row.nodes.as_slice() {
            return (place, Cow::Borrowed(of(node)));
        }
        let together = Bucket::together(row.nodes.iter().flat_map(of).copied());
        (place, Cow::Owned(together))
    };
    lanes.rows().iter().enumerate().map(row).collect()
}

/// A column of pixels.
pub fn bar(x: f32, top: f32, bottom: f32) -> Rect {
    Rect::from_min_max(pos2(x, top), pos2(x + 1.0, bottom))
}

fn flag_rect(lanes: &Lanes, flag: &Flag) -> Rect {
    let foot = flag_foot(lanes, flag);
    Rect::from_min_max(foot + vec2(-3.0, -24.0), foot + vec2(15.0, 0.0))
}

fn flag_foot(lanes: &Lanes, flag: &Flag) -> Pos2 {
    lanes.point(flag.node, flag.time) - vec2(0.0, 8.0)
}

/// Findings at their node and time. Returns whether the pointer is on one.
fn flags_view(
    ui: &Ui,
    painter: &Painter,
    model: &Model,
    lanes: &Lanes,
    flags: &[Flag],
    commands: &mut Commands,
) -> bool {
    let mut on_flag = false;
    // The worst last, on top.
    for flag in flags.iter().rev() {
        let rect = flag_rect(lanes, flag).intersect(lanes.time.rect);
        let foot = flag_foot(lanes, flag);
        glyph::flag(painter, foot, flag.level, flag.selected);
        let response = control::clickable(ui, rect, ("flag", flag.finding));
        response.widget_info(|| {
            let label = model
                .finding_row(flag.finding)
                .map_or_else(String::new, |it| format!("flag {} at {}", it.rule, it.node));
            WidgetInfo::selected(Role::Button, true, flag.selected, &label)
        });
        on_flag |= response.hovered();
        if response.clicked() {
            commands.push(Command::SelectFinding(flag.finding));
        }
        // What it says is made for the one that the pointer is at.
        response.on_hover_ui(|ui| {
            let Some(finding) = model.finding_row(flag.finding) else {
                return;
            };
            let more = match flag.count {
                0 | 1 => String::new(),
                count => format!("\nand {} more near it", count - 1),
            };
            ui.label(format!("{}\n{}{more}", finding.rule, finding.sentence));
        });
    }
    on_flag
}

fn input(
    ui: &Ui,
    model: &Model,
    response: &Response,
    time: &TimeRect,
    near: Option<PacketId>,
    commands: &mut Commands,
) {
    axis::navigate(ui, response, time, commands);
    if let Some(packet) = near.filter(|_| !response.dragged()) {
        commands.push(Command::Hover(Some(Hover::Packet(packet))));
        response
            .clone()
            .on_hover_text_at_pointer(label::mono(model.packet_text(packet)));
    }
    if response.clicked() {
        match near {
            Some(packet) => commands.push(Command::SelectPacket(packet)),
            None => commands.push(Command::SetCursor(axis::time_at(response, time))),
        }
    }
    if response.secondary_clicked() {
        commands.push(Command::SetCursor(None));
    }
    if response.double_clicked() {
        commands.push(Command::FrameSelection);
    }
}
