//! What is written in a pane, as text: so that all that can be read can be copied.

use egui::epaint::ClippedShape;
use egui::{Pos2, Rect, Shape, Ui};

use crate::theme;

/// Texts whose middles are no further apart in height stand in one line, in points.
const LINE: f32 = 6.0;

/// How much was drawn so far on the layer that is drawn on.
pub fn count(ui: &Ui) -> usize {
    let layer = ui.layer_id();
    ui.ctx()
        .graphics(|all| all.get(layer).map_or(0, |list| list.all_entries().len()))
}

/// All text that was drawn behind the first this many shapes, line by line: tabs stand between what stands
/// apart. What is cut off for want of room is there whole; what lies out of sight is not there.
pub fn since(ui: &Ui, first: usize) -> String {
    let layer = ui.layer_id();
    let mut texts: Vec<(Pos2, String)> = Vec::new();
    ui.ctx().graphics(|all| {
        let shapes = all
            .get(layer)
            .into_iter()
            .flat_map(|list| list.all_entries());
        for ClippedShape {
            clip_rect, shape, ..
        } in shapes.skip(first)
        {
            gather(shape, *clip_rect, &mut texts);
        }
    });
    lines(texts)
}

fn gather(shape: &Shape, seen: Rect, texts: &mut Vec<(Pos2, String)>) {
    match shape {
        Shape::Vec(shapes) => {
            for shape in shapes {
                gather(shape, seen, texts);
            }
        }
        Shape::Text(text) => {
            let middle = text.pos + text.galley.rect.center().to_vec2();
            let begin = Pos2::new(text.pos.x + text.galley.rect.left(), middle.y);
            let is_seen = seen.y_range().contains(middle.y)
                && begin.x < seen.right()
                && begin.x + text.galley.rect.width() > seen.left();
            let words = text.galley.text().trim().replace(theme::NON_JOINER, "");
            if is_seen && !words.is_empty() {
                texts.push((begin, words));
            }
        }
        _ => {}
    }
}

fn lines(mut texts: Vec<(Pos2, String)>) -> String {
    texts.sort_by(|(one, _), (other, _)| one.y.total_cmp(&other.y));
    let mut lines: Vec<(f32, Vec<(Pos2, String)>)> = Vec::new();
    for (at, words) in texts {
        match lines.last_mut().filter(|(y, _)| at.y - *y <= LINE) {
            Some((_, line)) => line.push((at, words)),
            None => lines.push((at.y, vec![(at, words)])),
        }
    }
    let mut text = String::new();
    for (_, mut line) in lines {
        line.sort_by(|(one, _), (other, _)| one.x.total_cmp(&other.x));
        let words: Vec<String> = line.into_iter().map(|(_, words)| words).collect();
        text.push_str(&words.join("\t"));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_beside_each_other_is_one_line() {
        let at = |x: f32, y: f32, words: &str| (Pos2::new(x, y), words.to_owned());
        let texts = vec![
            at(90.0, 11.0, "b"),
            at(10.0, 40.0, "below"),
            at(10.0, 10.0, "a"),
        ];
        assert_eq!(lines(texts), "a\tb\nbelow\n");
    }
}
