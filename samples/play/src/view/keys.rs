//! The keyboard moves the active player.

use egui::{Key, RichText, Ui};
use netreel_inspector::theme;
use netreel_sample_engine::{Deed, Peer};

use super::board::Board;
use crate::node::Order;
use crate::seen::Seen;

/// All keys: what to press, and what it does.
const LIST: &[(&str, &str)] = &[
    ("1 to 9", "whose player"),
    ("arrows, WASD", "walk"),
    ("space", "spawn"),
    ("E", "pick up, put down"),
    ("F", "push"),
    ("X", "throw away"),
    ("click", "a box: pick it up; the floor: go there"),
];

/// Draws the list.
pub fn show(ui: &mut Ui) {
    ui.horizontal(|ui| {
        for (key, what) in LIST {
            ui.label(
                RichText::new(*key)
                    .font(theme::small())
                    .color(theme::text()),
            );
            ui.label(
                RichText::new(*what)
                    .font(theme::small())
                    .color(theme::dim()),
            );
            ui.add_space(6.0);
        }
    });
}

/// Does what was pressed in this frame, unless a number is being typed.
pub fn read(board: &mut Board, ui: &Ui, seen: &[Seen]) {
    if ui.ctx().text_edit_focused() {
        return;
    }
    let choices = ('1'..='9').filter_map(|number| Key::from_name(&number.to_string()));
    let mut deeds = Vec::new();
    let mut chosen: Option<Peer> = None;
    let walks = ui.input(|input| {
        for (key, node) in choices.zip(seen) {
            if input.key_pressed(key) {
                chosen = Some(node.peer);
            }
        }
        let active = chosen.unwrap_or(board.active);
        let holds = seen
            .iter()
            .any(|node| node.peer == active && node.held.is_some());
        let take = if holds {
            Deed::PutDown
        } else {
            Deed::PickUp(None)
        };
        for (key, deed) in [
            (Key::Space, Deed::Spawn),
            (Key::E, take),
            (Key::F, Deed::Push(None)),
            (Key::X, Deed::ThrowAway(None)),
        ] {
            if input.key_pressed(key) {
                deeds.push(deed);
            }
        }
        let held =
            |keys: [Key; 2]| f64::from(u8::from(keys.iter().any(|key| input.key_down(*key))));
        [
            held([Key::ArrowRight, Key::D]) - held([Key::ArrowLeft, Key::A]),
            held([Key::ArrowUp, Key::W]) - held([Key::ArrowDown, Key::S]),
        ]
    });
    if let Some(chosen) = chosen.filter(|chosen| *chosen != board.active) {
        // Whoever is left stands still.
        if board.walks != [0.0; 2] {
            board.order(board.active, Order::Deed(Deed::Walk([0.0; 2])));
            board.walks = [0.0; 2];
        }
        board.active = chosen;
    }
    if walks != board.walks {
        board.walks = walks;
        board.order(board.active, Order::Deed(Deed::Walk(walks)));
    }
    for deed in deeds {
        board.order(board.active, Order::Deed(deed));
    }
}
