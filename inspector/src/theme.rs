//! Colours, faces and distances: quiet for what is normal, strong for what is wrong.

use egui::style::ScrollAnimation;
use egui::{
    Color32, Context, CornerRadius, FontFamily, FontId, Shadow, Stroke, TextStyle, Visuals,
};
use netreel_inspector_model::Model;
use netreel_protocol::history::Level;
use netreel_wire::Kind;

use crate::named::named;
pub use crate::palette::colors::*;
use crate::palette::{self, DARK, HIGH_DARK, HIGH_LIGHT, LIGHT, contrast, readable};

named! {
    "theme"
    /// Which colours there are.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Theme {
        /// Light on dark.
        #[default]
        Dark = "dark",
        /// Dark on light.
        Light = "light",
        /// White on black, for whoever needs more contrast.
        Contrast = "contrast",
        /// Black on white, the same.
        ContrastLight = "contrast-light",
        /// As the system has it; dark where it does not say.
        System = "system",
    }
}

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

/// A sentence as the face of sentences is to write it, which would make one dash of two: `--wire`.
pub fn two_dashes(sentence: &str) -> String {
    sentence.replace("--", &format!("-{NON_JOINER}-"))
}

/// Keeps letters apart, and is not seen.
pub const NON_JOINER: char = '\u{200c}';

/// Makes a context look so. To be called again where the system's own theme may have changed.
pub fn apply_theme(ctx: &Context, theme: Theme) {
    let wanted = match theme {
        Theme::Dark => &DARK,
        Theme::Light => &LIGHT,
        Theme::System if ctx.system_theme() == Some(egui::Theme::Light) => &LIGHT,
        Theme::System => &DARK,
        Theme::Contrast => &HIGH_DARK,
        Theme::ContrastLight => &HIGH_LIGHT,
    };
    palette::show(wanted);
    let dark = wanted.is_dark;
    let key = egui::Id::unique("theme applied");
    let applied = (dark, wanted.text_least.to_bits());
    let drawn: Option<(bool, u32)> = ctx.data(|data| data.get_temp(key));
    if drawn == Some(applied) {
        return;
    }
    ctx.data_mut(|data| data.insert_temp(key, applied));
    ctx.set_theme(if dark {
        egui::Theme::Dark
    } else {
        egui::Theme::Light
    });
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
        style.visuals = visuals(dark);
    });
}

/// Makes a context look as it does where nobody chose.
pub fn apply(ctx: &Context) {
    apply_theme(ctx, Theme::default());
}

fn visuals(dark: bool) -> Visuals {
    let mut visuals = if dark {
        Visuals::dark()
    } else {
        Visuals::light()
    };
    visuals.panel_fill = background();
    visuals.window_fill = head();
    visuals.window_stroke = Stroke::new(1.0, line());
    visuals.extreme_bg_color = input();
    visuals.faint_bg_color = stripe();
    visuals.override_text_color = Some(text());
    visuals.selection.bg_fill = selected();
    visuals.selection.stroke = Stroke::new(1.0, accent());
    visuals.widgets.noninteractive.bg_stroke = Stroke::new(1.0, line());
    for state in [
        &mut visuals.widgets.inactive,
        &mut visuals.widgets.hovered,
        &mut visuals.widgets.active,
        &mut visuals.widgets.open,
    ] {
        state.corner_radius = CornerRadius::same(3);
        state.expansion = 0.0;
        state.weak_bg_fill = line();
        state.bg_fill = line();
    }
    visuals.widgets.inactive.weak_bg_fill = head();
    visuals.widgets.inactive.bg_stroke = Stroke::new(1.0, line());
    visuals.popup_shadow = Shadow::NONE;
    visuals.window_shadow = Shadow::NONE;
    visuals
}

/// The colour of a level of findings.
pub fn level(level: Level) -> Color32 {
    match level {
        Level::Error => error(),
        Level::Warning => warning(),
        Level::Info => info(),
    }
}

/// The colour of a message kind: the wire's, or else one of its place; as near to it as can be told
/// from the panel.
pub fn kind(kinds: &[Kind], kind: Option<netreel_wire::KindId>) -> Color32 {
    let Some(id) = kind else { return plain() };
    match kinds.get(usize::from(id.0)).and_then(|kind| kind.color) {
        Some([red, green, blue]) => readable(
            Color32::from_rgb(red, green, blue),
            panel(),
            palette::shown().line_least + 1.0,
        ),
        None => owner(u64::from(id.0)),
    }
}

/// The quiet colour of a peer, wherever its objects are shown.
pub fn owner(peer: u64) -> Color32 {
    let colors = &palette::shown().owners;
    let place = (peer % colors.len() as u64) as usize;
    colors.get(place).copied().unwrap_or(plain())
}

/// A colour laid thinly over what is there.
pub fn faded(color: Color32, part: f32) -> Color32 {
    color.gamma_multiply(part)
}

/// A colour mixed into that of the panel, this much of it; never so little that a line of it cannot be
/// seen.
pub fn quiet(color: Color32, part: f32) -> Color32 {
    mixed(color, part, palette::shown().line_least)
}

/// The same for text, which takes more.
pub fn quiet_text(color: Color32, part: f32) -> Color32 {
    mixed(color, part, palette::shown().text_least)
}

fn mixed(color: Color32, part: f32, least: f32) -> Color32 {
    let mut steps = (0..=10)
        .map(|step| part + (1.0 - part) * step as f32 / 10.0)
        .map(|part| panel().lerp_to_gamma(color, part));
    steps
        .find(|mixed| contrast(*mixed, panel()) >= least)
        .unwrap_or_else(|| readable(color, panel(), least))
}

/// Text in a colour on another: light or dark, whichever reads better.
pub fn ink_on(fill: Color32) -> Color32 {
    let [light, dark] = [
        Color32::from_rgb(0xff, 0xff, 0xff),
        Color32::from_rgb(0x0c, 0x0e, 0x11),
    ];
    if contrast(light, fill) >= contrast(dark, fill) {
        light
    } else {
        dark
    }
}
