//! What the timeline's signs mean.

use egui::{Painter, Pos2, Rect, Ui, pos2, vec2};
use netreel_inspector_model::Model;
use netreel_protocol::history::Level;

use super::label;
use crate::{glyph, theme};

/// Between two signs.
const GAP: f32 = 18.0;

/// A sign and what it means.
type Sign<'a> = (String, Box<dyn Fn(&Painter, Pos2) + 'a>);

/// Draws into a line: the message kinds that the session has, as many as there is room for, then what can
/// become of a packet.
pub fn show(ui: &Ui, rect: Rect, model: &Model) {
    let painter = ui.painter_at(rect);
    let width = |text: &str| 9.0 + label::width(&painter, text, theme::small()) + GAP;
    let fates = fates(model);
    let needed: f32 = fates.iter().map(|(text, _)| width(text)).sum();
    let mut x = rect.left() + 14.0;
    let draw = |x: &mut f32, (text, sign): &Sign<'_>| {
        let y = rect.center().y;
        sign(&painter, pos2(*x, y));
        label::text(
            &painter,
            pos2(*x + 9.0, y),
            text,
            theme::small(),
            theme::weak(),
        );
        *x += width(text);
    };
    let kinds = kinds(model);
    let mut room = rect.width() - 14.0 - needed - 12.0;
    let all = kinds.iter().map(|(text, _)| width(text)).sum::<f32>() <= room;
    if !all {
        room -= width("and 99 more");
    }
    for (place, kind) in kinds.iter().enumerate() {
        room -= width(&kind.0);
        if room < 0.0 {
            let more = format!("and {} more", kinds.len() - place);
            let at = pos2(x - 5.0, rect.center().y);
            label::text(&painter, at, &more, theme::small(), theme::dim());
            x += width(&more) - 14.0;
            break;
        }
        draw(&mut x, kind);
    }
    x += 12.0;
    for fate in &fates {
        draw(&mut x, fate);
    }
}

fn kinds(model: &Model) -> Vec<Sign<'_>> {
    let mut signs: Vec<Sign<'_>> = Vec::new();
    for id in model.kinds_that_lead() {
        let Some(kind) = model.kind(id) else {
            continue;
        };
        let color = theme::kind(model.kinds(), Some(id));
        let sign = move |painter: &Painter, at: Pos2| {
            glyph::kind(painter, at, 9.0, Some(kind.role), color);
        };
        signs.push((kind.name.to_string(), Box::new(sign)));
    }
    let plain = match model.session().wire {
        Some(_) => "acks only",
        None => "packet",
    };
    let sign = |painter: &Painter, at: Pos2| glyph::kind(painter, at, 9.0, None, theme::plain());
    signs.push((plain.to_owned(), Box::new(sign)));
    signs
}

fn fates(model: &Model) -> Vec<Sign<'static>> {
    let mut signs: Vec<Sign<'static>> = Vec::new();
    let mut add = |text: &str, sign: fn(&Painter, Pos2)| {
        signs.push((text.to_owned(), Box::new(sign)));
    };
    add("lost", |it, at| glyph::cross(it, at, 7.0, theme::warning()));
    add("received twice", |it, at| {
        glyph::twice(it, at, theme::warning());
    });
    add("fate unknown", |it, at| {
        glyph::unknown(it, at, theme::weak());
    });
    add("error", |it, at| glyph::level(it, at, 10.0, Level::Error));
    add("warning", |it, at| {
        glyph::level(it, at, 10.0, Level::Warning);
    });
    add("info", |it, at| glyph::level(it, at, 10.0, Level::Info));
    if model.has_holes() {
        add("not recorded", |it, at| {
            let rect = Rect::from_center_size(at, vec2(11.0, 10.0));
            glyph::hatch(it, rect, 4.0, (1.0, theme::warning()));
        });
    }
    if model.has_triggers() {
        add("trigger", |it, at| glyph::trigger(it, at, 12.0));
    }
    signs
}
