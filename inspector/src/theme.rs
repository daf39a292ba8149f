//! Colours, faces and distances: quiet for what is normal, strong for what is wrong.

use egui::style::ScrollAnimation;
use egui::{Color32, Context, CornerRadius, FontFamily, FontId, Stroke, TextStyle, Theme, Visuals};
use netreel_inspector_model::Model;
use netreel_protocol::history::Level;
use netreel_wire::Kind;

/// Behind everything.
pub const BACKGROUND: Color32 = Color32::from_rgb(0x14, 0x17, 0x1c);
/// Behind lists and lanes.
pub const PANEL: Color32 = Color32::from_rgb(0x19, 0x1d, 0x23);
/// Behind the heads of panels.
pub const HEAD: Color32 = Color32::from_rgb(0x20, 0x25, 0x2d);
/// Every second row.
pub const STRIPE: Color32 = Color32::from_rgb(0x1d, 0x21, 0x28);
/// Lines between panels.
pub const LINE: Color32 = Color32::from_rgb(0x2d, 0x34, 0x3e);
/// Lines within a panel.
pub const FAINT: Color32 = Color32::from_rgb(0x25, 0x2b, 0x33);
/// Text.
pub const TEXT: Color32 = Color32::from_rgb(0xd3, 0xd9, 0xe1);
/// Text that explains.
pub const WEAK: Color32 = Color32::from_rgb(0x8b, 0x96, 0xa5);
/// Text that hardly matters.
pub const DIM: Color32 = Color32::from_rgb(0x5b, 0x66, 0x75);
/// What is selected.
pub const SELECTED: Color32 = Color32::from_rgb(0x27, 0x3a, 0x52);
/// The selection's edge.
pub const ACCENT: Color32 = Color32::from_rgb(0x6c, 0xb2, 0xf0);
/// What belongs to the selection.
pub const RELATED: Color32 = Color32::from_rgb(0x22, 0x2c, 0x39);
/// What went wrong.
pub const ERROR: Color32 = Color32::from_rgb(0xff, 0x5c, 0x57);
/// What may have gone wrong, and what was lost.
pub const WARNING: Color32 = Color32::from_rgb(0xf2, 0xb1, 0x34);
/// What is odd, and handled.
pub const INFO: Color32 = Color32::from_rgb(0x8b, 0xa3, 0xbd);
/// A packet without messages, or of no known kind.
pub const PLAIN: Color32 = Color32::from_rgb(0x6b, 0x76, 0x85);

/// Height of a row of text.
pub const ROW: f32 = 19.0;
/// Room at the left of the timeline for short names.
pub const GUTTER: f32 = 108.0;

/// Room at the left of the timeline for the names of a session's nodes.
pub fn gutter(model: &Model) -> f32 {
    (40.0 + model.lane_name_length() as f32 * 7.4)
        .max(GUTTER)
        .round()
}

/// The one face for numbers.
pub fn mono() -> FontId {
    FontId::new(12.0, FontFamily::Monospace)
}

/// The small face of axes and of labels in drawings.
pub fn small() -> FontId {
    FontId::new(11.0, FontFamily::Monospace)
}

/// The face of sentences.
pub fn body() -> FontId {
    FontId::new(13.0, FontFamily::Proportional)
}

/// Makes a context look so.
pub fn apply(ctx: &Context) {
    ctx.set_theme(Theme::Dark);
    ctx.all_styles_mut(|style| {
        style.animation_time = 0.0;
        style.scroll_animation = ScrollAnimation::none();
        style.interaction.selectable_labels = false;
        style.interaction.tooltip_delay = 0.0;
        style.interaction.show_tooltips_only_when_still = false;
        style.spacing.item_spacing = egui::vec2(8.0, 3.0);
        style.spacing.scroll = egui::style::ScrollStyle::solid();
        style.spacing.scroll.bar_width = 7.0;
        style.spacing.scroll.fade.strength = 0.0;
        style.text_styles = [
            (TextStyle::Small, small()),
            (TextStyle::Body, body()),
            (TextStyle::Button, body()),
            (
                TextStyle::Heading,
                FontId::new(15.0, FontFamily::Proportional),
            ),
            (TextStyle::Monospace, mono()),
        ]
        .into();
        style.visuals = visuals();
    });
}

fn visuals() -> Visuals {
    let mut visuals = Visuals::dark();
    visuals.panel_fill = BACKGROUND;
    visuals.window_fill = HEAD;
    visuals.window_stroke = Stroke::new(1.0, LINE);
    visuals.extreme_bg_color = Color32::from_rgb(0x0f, 0x12, 0x16);
    visuals.faint_bg_color = STRIPE;
    visuals.override_text_color = Some(TEXT);
    visuals.selection.bg_fill = SELECTED;
    visuals.selection.stroke = Stroke::new(1.0, ACCENT);
    visuals.widgets.noninteractive.bg_stroke = Stroke::new(1.0, LINE);
    for state in [
        &mut visuals.widgets.inactive,
        &mut visuals.widgets.hovered,
        &mut visuals.widgets.active,
        &mut visuals.widgets.open,
    ] {
        state.corner_radius = CornerRadius::same(3);
        state.expansion = 0.0;
    }
    visuals.widgets.inactive.weak_bg_fill = HEAD;
    visuals.widgets.inactive.bg_fill = LINE;
    visuals.widgets.inactive.bg_stroke = Stroke::new(1.0, LINE);
    visuals.widgets.hovered.weak_bg_fill = LINE;
    visuals.popup_shadow = egui::Shadow::NONE;
    visuals.window_shadow = egui::Shadow::NONE;
    visuals
}

/// The colour of a level of findings.
pub fn level(level: Level) -> Color32 {
    match level {
        Level::Error => ERROR,
        Level::Warning => WARNING,
        Level::Info => INFO,
    }
}

/// The colour of a message kind: the wire's, or else one of its place.
pub fn kind(kinds: &[Kind], kind: Option<netreel_wire::KindId>) -> Color32 {
    let Some(id) = kind else { return PLAIN };
    match kinds.get(usize::from(id.0)).and_then(|kind| kind.color) {
        Some([red, green, blue]) => Color32::from_rgb(red, green, blue),
        None => owner(u64::from(id.0)),
    }
}

/// The quiet colour of a peer, wherever its objects are shown.
pub fn owner(peer: u64) -> Color32 {
    const COLORS: [Color32; 8] = [
        Color32::from_rgb(0x5a, 0x7d, 0xa6),
        Color32::from_rgb(0x4c, 0x93, 0x84),
        Color32::from_rgb(0x8a, 0x73, 0xb0),
        Color32::from_rgb(0xa1, 0x85, 0x4a),
        Color32::from_rgb(0x6f, 0x8f, 0x52),
        Color32::from_rgb(0x9c, 0x6b, 0x80),
        Color32::from_rgb(0x4f, 0x8c, 0xa3),
        Color32::from_rgb(0x80, 0x80, 0x6a),
    ];
    let place = (peer % COLORS.len() as u64) as usize;
    COLORS.get(place).copied().unwrap_or(PLAIN)
}

/// A colour laid thinly over the background.
pub fn faded(color: Color32, part: f32) -> Color32 {
    color.gamma_multiply(part)
}

/// Text on a filled colour.
pub fn ink() -> Color32 {
    Color32::from_rgb(0xf2, 0xf5, 0xf8)
}
