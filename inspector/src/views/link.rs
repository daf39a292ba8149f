//! One link over time, under the one ruler: how much it carried and lost, how long packets took, and
//! how many were under way.

use egui::{Color32, Painter, Rect, Stroke, Ui, pos2};
use netreel_inspector_model::{Command, Commands, Flow, Flows, LinkEnds, Model, Rate, Span, text};
use netreel_protocol::session::SessionTime;

use super::axis::{TimeRect, TimeView};
use super::plot::{self, Head, Strip};
use super::{fields, findings, head, label, links};
use crate::theme;

/// A lower strip shows nothing.
const STRIP_MIN: f32 = 46.0;

/// Draws the link in focus.
pub fn show(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    let Some(link) = model.link() else {
        let sentence = "The session has no packets, so no links.";
        return findings::nothing(ui, "link", "", sentence);
    };
    head::with_numbers(ui, "link", &pieces(model, link), model, commands);
    resent(ui, model, link);
    for pattern in model.loss_patterns(link) {
        fields::note(ui, pattern, theme::info());
    }
    if let Some(why) = model.why_not_yet() {
        let sentence = format!("Acks and round trips follow from all packets together: {why}.");
        return findings::empty(ui, &sentence);
    }
    let label = format!("link {} over time", model.link_label(link));
    let shown = TimeView::new(ui, model, "link", &label);
    let TimeView {
        view,
        time,
        painter,
        ..
    } = &shown;
    let flows = model.flows(link, &time.scale);
    match &flows {
        None => drop(painter.text(
            time.rect.center(),
            egui::Align2::CENTER_CENTER,
            model.why_waits(),
            theme::body(),
            theme::dim(),
        )),
        Some(flows) => {
            let above = model.late_above_ns(link).map(|ns| ns as f64);
            strips(painter, *view, time, flows, above);
        }
    }
    held(painter, model, link, time);
    if let Some(flows) = flows {
        bar(&shown, model, link, &flows, commands);
        if let Some(said) = at_pointer(&shown, &flows) {
            shown.response.clone().on_hover_text_at_pointer(said);
        }
    }
    shown.finish(ui, model, commands);
}

/// What the link was like where the pointer is: the rate of the bar there, and of the packets that left
/// last before it how long they took.
fn at_pointer(shown: &TimeView, flows: &Flows) -> Option<String> {
    let x = shown.response.hover_pos()?.x - shown.time.rect.left();
    let at = shown.time.scale.time(x).0;
    let mut said = Vec::new();
    if let Some(rate) = flows.rates.iter().find(|rate| rate.x.contains(&x)) {
        let bytes = text::bytes(rate.bytes_per_s as u64);
        let packets = text::packets(rate.packets.round() as u64);
        said.push(format!("rate {bytes}/s, {packets}"));
    }
    let piece = flows
        .pieces
        .partition_point(|piece| piece.time.start <= at)
        .checked_sub(1)
        .and_then(|it| flows.pieces.get(it));
    let span = |name: &str, span: Option<Span>, words: &dyn Fn(f64) -> String| {
        let span = span?;
        let (least, most) = (words(span.min), words(span.max));
        Some(match least == most {
            true => format!("{name} {most}"),
            false => format!("{name} {least} to {most}"),
        })
    };
    let long = |ns: f64| text::duration(ns as i64);
    let many = |count: f64| text::packets(count as u64);
    said.extend(piece.and_then(|it| span("round trip", it.rtt, &long)));
    said.extend(piece.and_then(|it| span("one way", it.delay, &long)));
    said.extend(piece.and_then(|it| span("under way", it.in_flight, &many)));
    (!said.is_empty()).then(|| said.join("\n"))
}

/// A double click on a bar of the rate leads to the packets that it counts.
fn bar(shown: &TimeView, model: &Model, link: LinkEnds, flows: &Flows, commands: &mut Commands) {
    let Some(at) = shown.response.hover_pos() else {
        return;
    };
    let x = at.x - shown.time.rect.left();
    let is_it = |rate: &&Rate| rate.x.contains(&x) && rate.packets > 0.0;
    let rate = flows.rates.iter().find(is_it);
    if let Some(rate) = rate.filter(|_| shown.response.double_clicked()) {
        let scale = &shown.time.scale;
        let time = scale.time(rate.x.start)..scale.time(rate.x.end);
        let filter = model.filter_of_link(link);
        commands.extend(filter.map(|filter| model.narrowed(&filter)));
        commands.push(Command::Show(time));
    }
}

/// Why messages were sent again, as `netreel stats` says it.
fn resent(ui: &mut Ui, model: &Model, link: LinkEnds) {
    let Some(stats) = model.bandwidth() else {
        return;
    };
    if let Some(stats) = stats.links.get(&link)
        && let Some(causes) = model.resent_text(stats)
    {
        let count = text::many(stats.resent, "message");
        let sentence =
            format!("{count} sent again; what their senders had heard by then: {causes}");
        fields::note(ui, &sentence, theme::info());
    }
}

/// The time over which the link held back what the pinned finding follows from.
fn held(painter: &Painter, model: &Model, link: LinkEnds, time: &TimeRect) {
    let Some(held) = model.held_on(link) else {
        return;
    };
    let across = time.x_inside(held.time.start)..=time.x_inside(held.time.end);
    let band = Rect::from_x_y_ranges(across, time.rect.y_range());
    if band.width() <= 0.0 {
        return;
    }
    painter.rect_filled(band, 0.0, theme::faded(theme::warning(), 0.08));
    painter.hline(band.x_range(), band.top() + 1.0, (2.0, theme::warning()));
    let said = format!("held {}", text::packets(u64::from(held.packets)));
    let room = band.width() - 10.0;
    let galley = label::elided(painter, &said, theme::small(), room, theme::warning());
    let left = band.right() - galley.size().x - 6.0;
    painter.galley(pos2(left, band.top() + 4.0), galley, theme::warning());
}

/// What there is to say of a link in a line, with the packets that its numbers count.
fn pieces(model: &Model, link: LinkEnds) -> Vec<head::Piece> {
    let mut pieces = vec![(model.link_label(link), None)];
    let Some(stats) = model.bandwidth() else {
        return pieces;
    };
    let Some(stats) = stats.links.get(&link) else {
        pieces.push(("the filter takes no packet of it".to_owned(), None));
        return pieces;
    };
    let filter = model.filter_of_link(link);
    pieces.push((text::packets(stats.packets), filter.clone()));
    pieces.push((text::bytes(stats.bytes), None));
    pieces.extend(links::lost(model, stats, filter.as_deref()));
    let late = model.late_packets(link);
    if late > 0 && !model.filter().is_narrow() {
        pieces.push((
            format!("{} late", text::count(late)),
            model.filter_of_late(link),
        ));
    }
    let mut said = Vec::new();
    if let Some(rtt) = stats.rtt_ns {
        said.push(format!(
            "round trip {} (99 %: {})",
            text::duration(rtt.median),
            text::duration(rtt.p99)
        ));
    }
    said.extend(links::one_way(stats));
    if let Some(jitter) = stats.jitter_ns {
        said.push(format!("jitter {}", text::duration(jitter)));
    }
    pieces.extend(said.into_iter().map(|it| (it, None)));
    pieces
}

/// Each measure a strip; packets that took longer than `late_above` ns stand out.
fn strips(painter: &Painter, view: Rect, time: &TimeRect, flows: &Flows, late_above: Option<f64>) {
    let all: [(&str, StripOf); 4] = [
        ("rate", StripOf::Rate),
        ("round trip", StripOf::Rtt),
        ("one way", StripOf::Delay),
        ("under way", StripOf::InFlight),
    ];
    let has = |of: StripOf| {
        of == StripOf::Rate || flows.pieces.iter().any(|piece| of.value(piece).is_some())
    };
    let mut shown: Vec<(&str, StripOf)> = all.into_iter().filter(|(_, of)| has(*of)).collect();
    shown.truncate((time.rect.height() / STRIP_MIN).floor().max(1.0) as usize);
    let height = time.rect.height() / shown.len().max(1) as f32;
    for (place, (name, of)) in shown.into_iter().enumerate() {
        let row = plot::row(view, time, place, height);
        match of {
            StripOf::Rate => rate(painter, row, time, flows),
            of => {
                let late_above = late_above.filter(|_| of == StripOf::Delay);
                measured(painter, row, time, (name, of, late_above), flows);
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum StripOf {
    Rate,
    Rtt,
    Delay,
    InFlight,
}

impl StripOf {
    fn value(self, piece: &Flow) -> Option<Span> {
        match self {
            StripOf::Rtt => piece.rtt,
            StripOf::Delay => piece.delay,
            StripOf::InFlight => piece.in_flight,
            StripOf::Rate => None,
        }
    }
}

fn rate(painter: &Painter, row: Rect, time: &TimeRect, flows: &Flows) {
    let most = plot::round_up(
        flows
            .rates
            .iter()
            .map(|rate| rate.bytes_per_s)
            .fold(0.0, f64::max),
    );
    let head = Head {
        name: "rate",
        note: match flows.rates.iter().any(|rate| rate.lost > 0.0) {
            true => "lost of it",
            false => "",
        },
        ends: (format!("{}/s", text::bytes(most as u64)), "0".to_owned()),
    };
    let strip = plot::strip(painter, row, time, &head, (0.0, most));
    let inside = painter.with_clip_rect(strip.time);
    for rate in &flows.rates {
        let x = |at: f32| strip.time.left() + at;
        let bar = |from: f64, to: f64, color| {
            let rect = Rect::from_min_max(
                pos2(x(rate.x.start), strip.y(to)),
                pos2(x(rate.x.end) - 1.0, strip.y(from)),
            );
            inside.rect_filled(rect, 0.0, color);
        };
        bar(0.0, rate.bytes_per_s, theme::quiet(theme::accent(), 0.6));
        let part = rate.lost / rate.packets.max(f64::MIN_POSITIVE);
        if part > 0.0 {
            // At least a pixel or two, so that one lost packet among many is seen.
            let pixel = 2.0 * most / f64::from(strip.time.height().max(1.0));
            bar(0.0, (rate.bytes_per_s * part).max(pixel), theme::warning());
        }
    }
    plot::ends(painter, &strip, &head);
}

fn measured(
    painter: &Painter,
    row: Rect,
    time: &TimeRect,
    (name, of, late_above): (&str, StripOf, Option<f64>),
    flows: &Flows,
) {
    let error = match of {
        StripOf::Delay => flows.clock_error_ns.unwrap_or(0) as f64,
        _ => 0.0,
    };
    let (least, most) = ends(of, flows, error);
    let words = |value: f64| match of {
        StripOf::InFlight => text::count(value as u64),
        _ => text::duration(value as i64),
    };
    let note = note(of, flows, error);
    let head = Head {
        name,
        note: &note,
        ends: (
            words(most),
            if least < 0.0 {
                words(least)
            } else {
                "0".to_owned()
            },
        ),
    };
    let strip = plot::strip(painter, row, time, &head, (least, most));
    let inside = painter.with_clip_rect(strip.time);
    let x = |at: i64| time.x(SessionTime(at));
    let color = match of {
        StripOf::Rtt => theme::owner(1),
        StripOf::Delay => theme::owner(3),
        _ => theme::owner(2),
    };
    let line_color = theme::quiet(color, 1.0);
    let pieces: Vec<Drawn> = flows
        .pieces
        .iter()
        .filter_map(|piece| {
            let (start, end) = (piece.time.start, piece.time.end);
            let x = [start, start + (end - start) / 2, end].map(x);
            Some(Drawn {
                x,
                span: of.value(piece)?,
            })
        })
        .collect();
    if error > 0.0 {
        bands(&inside, &strip, &pieces, error, theme::faded(color, 0.22));
    }
    bands(&inside, &strip, &pieces, 0.0, theme::quiet(color, 0.55));
    let points = pieces
        .iter()
        .map(|it| Some(pos2(it.x[1], strip.y(it.span.mean))));
    plot::line(&inside, points, Stroke::new(1.4, line_color));
    if let Some(above) = late_above {
        late(&inside, &strip, &pieces, above);
    }
    plot::ends(painter, &strip, &head);
}

/// What stands beside the name of a strip.
fn note(of: StripOf, flows: &Flows, error: f64) -> String {
    match of {
        StripOf::Delay if error > 0.0 => format!("clocks ± {}", text::duration(error as i64)),
        StripOf::Delay if flows.clock_error_ns.is_none() => "clocks unknown".to_owned(),
        StripOf::InFlight => "packets".to_owned(),
        _ => String::new(),
    }
}

/// What a strip reaches from and to, where each value may be wrong by `error`.
fn ends(of: StripOf, flows: &Flows, error: f64) -> (f64, f64) {
    let spans = || flows.pieces.iter().filter_map(|piece| of.value(piece));
    // With room above the highest.
    let highest = spans().map(|span| span.max).fold(0.0, f64::max) + error;
    let most = match of {
        StripOf::InFlight => plot::round_up(highest + 1.0),
        _ => plot::round_up(highest * 1.1),
    };
    let least = spans().map(|span| span.min).fold(0.0, f64::min) - error;
    let least = if least < 0.0 && of == StripOf::Delay && spans().any(|it| it.min < 0.0) {
        -plot::round_up(-least)
    } else {
        0.0
    };
    (least, most)
}

/// What packets that left together were like, and where their first, their middle and their last one lie.
struct Drawn {
    x: [f32; 3],
    span: Span,
}

/// Late packets, on top: where each left, as high as it took.
fn late(painter: &Painter, strip: &Strip, pieces: &[Drawn], above: f64) {
    let mut late = plot::Bands::default();
    for Drawn { x, span } in pieces.iter().filter(|it| it.span.max > above) {
        let high = (strip.y(span.max) - 1.0, strip.y(span.min.max(above)) + 1.0);
        late.add((x[0] - 1.0, x[2] + 1.0), high, theme::warning());
    }
    late.draw(painter);
}

/// From the least to the most of each piece, and so much `more`.
fn bands(painter: &Painter, strip: &Strip, pieces: &[Drawn], more: f64, color: Color32) {
    let mut bands = plot::Bands::default();
    let is_one = |it: &&Drawn| it.span.min == it.span.max && more == 0.0;
    for Drawn { x, span } in pieces.iter().filter(|it| !is_one(it)) {
        let high = (strip.y(span.max + more), strip.y(span.min - more));
        bands.add((x[0], x[2]), high, color);
    }
    bands.draw(painter);
}
