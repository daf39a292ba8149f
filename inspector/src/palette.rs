//! The colours themselves, and how far apart they are.

use std::sync::LazyLock;

use egui::Color32;

/// A set of colours; [`crate::theme`] says what each is for.
#[derive(Debug)]
pub struct Palette {
    pub background: Color32,
    pub panel: Color32,
    pub head: Color32,
    pub stripe: Color32,
    pub line: Color32,
    pub faint: Color32,
    pub text: Color32,
    pub weak: Color32,
    pub dim: Color32,
    pub selected: Color32,
    pub accent: Color32,
    pub related: Color32,
    pub error: Color32,
    pub warning: Color32,
    pub info: Color32,
    pub plain: Color32,
    pub ink: Color32,
    /// Behind text that is typed.
    pub input: Color32,
    pub owners: [Color32; 8],
    /// Whether it is light on dark.
    pub is_dark: bool,
    /// The least contrast of text with what is behind it.
    pub text_least: f32,
    /// The least contrast of lines that mean something.
    pub line_least: f32,
}

/// The least contrast of text and of lines (WCAG 2, level AA for text).
const USUAL: (f32, f32) = (4.5, 2.0);
/// The same where somebody wants more of it (level AAA for text).
const HIGH: (f32, f32) = (7.0, 4.5);

const fn rgb(color: u32) -> Color32 {
    Color32::from_rgb((color >> 16) as u8, (color >> 8) as u8, color as u8)
}

/// Light on dark.
pub static DARK: Palette = Palette {
    background: rgb(0x14_171c),
    panel: rgb(0x19_1d23),
    head: rgb(0x20_252d),
    stripe: rgb(0x1d_2128),
    line: rgb(0x34_3c48),
    faint: rgb(0x25_2b33),
    text: rgb(0xd3_d9e1),
    weak: rgb(0x9d_a7b5),
    dim: rgb(0x94_9dad),
    selected: rgb(0x22_3450),
    accent: rgb(0x6c_b2f0),
    related: rgb(0x22_2c39),
    error: rgb(0xff_6a64),
    warning: rgb(0xf2_b134),
    info: rgb(0x8b_a3bd),
    plain: rgb(0x7b_8797),
    ink: rgb(0xf2_f5f8),
    input: rgb(0x0f_1216),
    owners: [
        rgb(0x5a_7da6),
        rgb(0x4c_9384),
        rgb(0x8a_73b0),
        rgb(0xa1_854a),
        rgb(0x6f_8f52),
        rgb(0x9c_6b80),
        rgb(0x4f_8ca3),
        rgb(0x80_806a),
    ],
    is_dark: true,
    text_least: USUAL.0,
    line_least: USUAL.1,
};

/// Dark on light.
pub static LIGHT: Palette = Palette {
    background: rgb(0xe9_ecf0),
    panel: rgb(0xfb_fcfd),
    head: rgb(0xee_f1f4),
    stripe: rgb(0xf4_f6f8),
    line: rgb(0xc3_cad3),
    faint: rgb(0xe2_e6eb),
    text: rgb(0x1b_222c),
    weak: rgb(0x48_5261),
    dim: rgb(0x55_6070),
    selected: rgb(0xcd_e0f6),
    accent: rgb(0x1f_6bb5),
    related: rgb(0xe6_eef8),
    error: rgb(0xc2_2620),
    warning: rgb(0x8a_5a00),
    info: rgb(0x4a_627c),
    plain: rgb(0x6a_7483),
    ink: rgb(0x0e_131a),
    input: rgb(0xff_ffff),
    owners: [
        rgb(0x5a_7da6),
        rgb(0x3d_8575),
        rgb(0x8a_73b0),
        rgb(0x95_793e),
        rgb(0x62_8146),
        rgb(0x9c_6b80),
        rgb(0x41_7e95),
        rgb(0x77_7761),
    ],
    is_dark: false,
    text_least: USUAL.0,
    line_least: USUAL.1,
};

/// Light on black, as far apart as can be.
pub static HIGH_DARK: Palette = Palette {
    background: rgb(0x00_0000),
    panel: rgb(0x00_0000),
    head: rgb(0x10_1010),
    stripe: rgb(0x0a_0a0a),
    line: rgb(0xa0_a0a0),
    faint: rgb(0x3a_3a3a),
    text: rgb(0xff_ffff),
    weak: rgb(0xe6_e6e6),
    dim: rgb(0xd0_d0d0),
    selected: rgb(0x00_2f66),
    accent: rgb(0x7f_d0ff),
    related: rgb(0x12_2338),
    error: rgb(0xff_8a85),
    warning: rgb(0xff_d24a),
    info: rgb(0xb4_d4f4),
    plain: rgb(0xb8_c4d2),
    ink: rgb(0xff_ffff),
    input: rgb(0x00_0000),
    owners: [
        rgb(0x7f_b2ff),
        rgb(0x4f_d6b8),
        rgb(0xc7_9bff),
        rgb(0xff_c94d),
        rgb(0xa5_e05f),
        rgb(0xff_9ec0),
        rgb(0x6f_d8ff),
        rgb(0xd8_d890),
    ],
    is_dark: true,
    text_least: HIGH.0,
    line_least: HIGH.1,
};

/// Black on white.
pub static HIGH_LIGHT: Palette = Palette {
    background: rgb(0xff_ffff),
    panel: rgb(0xff_ffff),
    head: rgb(0xf2_f2f2),
    stripe: rgb(0xf7_f7f7),
    line: rgb(0x50_5050),
    faint: rgb(0xc8_c8c8),
    text: rgb(0x00_0000),
    weak: rgb(0x1e_1e1e),
    dim: rgb(0x30_3030),
    selected: rgb(0xc2_dcff),
    accent: rgb(0x00_428a),
    related: rgb(0xe2_edfb),
    error: rgb(0x98_0000),
    warning: rgb(0x60_3c00),
    info: rgb(0x1f_3c5c),
    plain: rgb(0x3c_4653),
    ink: rgb(0x00_0000),
    input: rgb(0xff_ffff),
    owners: [
        rgb(0x1f_4f8f),
        rgb(0x00_5c50),
        rgb(0x5b_3a96),
        rgb(0x6b_4700),
        rgb(0x33_5e18),
        rgb(0x8a_2f57),
        rgb(0x0a_566f),
        rgb(0x4d_4d1a),
    ],
    is_dark: false,
    text_least: HIGH.0,
    line_least: HIGH.1,
};

/// How far apart two colours are, from 1 to 21: the contrast ratio of WCAG 2.
pub fn contrast(a: Color32, b: Color32) -> f32 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// The relative luminance of WCAG 2, from 0 to 1.
fn luminance(color: Color32) -> f32 {
    let linear = |part: u8| LINEAR[usize::from(part)];
    0.2126 * linear(color.r()) + 0.7152 * linear(color.g()) + 0.0722 * linear(color.b())
}

/// A part of a colour as light: thousands are asked for in a frame.
static LINEAR: LazyLock<[f32; 256]> = LazyLock::new(|| {
    std::array::from_fn(|part| {
        let part = part as f32 / 255.0;
        if part <= 0.040_45 {
            part / 12.92
        } else {
            ((part + 0.055) / 1.055).powf(2.4)
        }
    })
});

/// A colour that has at least this contrast with what is behind it: itself, or as much of it as
/// leaves room for the light or the dark that it lacks.
pub fn readable(color: Color32, behind: Color32, least: f32) -> Color32 {
    let towards = if luminance(behind) < 0.18 {
        Color32::WHITE
    } else {
        Color32::BLACK
    };
    let mut steps = (0..=20)
        .map(|step| color.lerp_to_gamma(towards, step as f32 / 20.0))
        .map(|mixed| mixed.to_opaque());
    let found = steps.find(|mixed| contrast(*mixed, behind) >= least);
    found.unwrap_or(towards)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [(&str, &Palette); 4] = [
        ("dark", &DARK),
        ("light", &LIGHT),
        ("contrast", &HIGH_DARK),
        ("contrast-light", &HIGH_LIGHT),
    ];

    #[track_caller]
    fn check(what: &str, color: Color32, behind: Color32, least: f32) {
        let ratio = contrast(color, behind);
        assert!(ratio >= least, "{what}: {ratio:.2}, not {least}");
    }

    #[test]
    fn text_can_be_read_on_everything_that_it_stands_on() {
        for (name, palette) in ALL {
            let least = palette.text_least;
            let behind = [
                ("background", palette.background),
                ("panel", palette.panel),
                ("head", palette.head),
                ("stripe", palette.stripe),
                ("selected", palette.selected),
                ("related", palette.related),
            ];
            let texts = [
                ("text", palette.text),
                ("weak", palette.weak),
                ("dim", palette.dim),
                ("ink", palette.ink),
            ];
            for (under, fill) in behind {
                for (over, color) in texts {
                    check(&format!("{name}: {over} on {under}"), color, fill, least);
                }
            }
            for (over, color) in [
                ("error", palette.error),
                ("warning", palette.warning),
                ("accent", palette.accent),
            ] {
                let what = format!("{name}: {over} on panel");
                check(&what, color, palette.panel, least);
            }
        }
    }

    #[test]
    fn ribbons_are_told_from_the_panel_and_carry_text() {
        for (_, palette) in ALL {
            for (peer, color) in palette.owners.into_iter().enumerate() {
                check(
                    &format!("owner {peer}"),
                    color,
                    palette.panel,
                    palette.line_least,
                );
                let what = format!("text on owner {peer}");
                check(&what, crate::theme::ink_on(color), color, 4.2);
            }
        }
    }

    #[test]
    fn a_colour_that_cannot_be_seen_becomes_one_that_can() {
        for behind in [DARK.panel, LIGHT.panel, Color32::from_rgb(0x80, 0x80, 0x80)] {
            for color in [Color32::WHITE, Color32::BLACK, behind, Color32::RED] {
                check("readable", readable(color, behind, 4.5), behind, 3.9);
            }
        }
        assert_eq!(
            readable(Color32::WHITE, Color32::BLACK, 4.5),
            Color32::WHITE
        );
    }
}
