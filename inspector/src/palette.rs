//! The colours themselves, and how far apart they are.

use std::cell::Cell;
use std::sync::LazyLock;

use egui::Color32;

thread_local! {
    /// The colours of the window that this thread draws.
    static SHOWN: Cell<&'static Palette> = const { Cell::new(&DARK) };
}

/// The colours that are shown now.
pub fn shown() -> &'static Palette {
    SHOWN.get()
}

/// Shows these colours from now on.
pub fn show(palette: &'static Palette) {
    SHOWN.set(palette);
}

/// Declares what there are colours for, and which they are: dark, light, and both with high contrast.
macro_rules! palettes {
    ($($(#[$what:meta])* $name:ident = $colors:expr;)*) => {
        /// A set of colours; [`colors`] says what each is for.
        #[derive(Debug)]
        pub struct Palette {
            $(pub $name: Color32,)*
            pub owners: [Color32; 8],
            /// Whether it is light on dark.
            pub is_dark: bool,
            /// The least contrast of text with what is behind it.
            pub text_least: f32,
            /// The least contrast of lines that mean something.
            pub line_least: f32,
        }

        const fn palette(column: usize, (text_least, line_least): (f32, f32)) -> Palette {
            let mut owners = [Color32::BLACK; 8];
            let mut place = 0;
            while place < owners.len() {
                owners[place] = rgb(OWNERS[place][column]);
                place += 1;
            }
            Palette {
                $($name: rgb($colors[column]),)*
                owners,
                is_dark: column.is_multiple_of(2),
                text_least,
                line_least,
            }
        }

        /// The colours that are shown now, by what they are for.
        pub mod colors {
            use egui::Color32;

            $($(#[$what])* pub fn $name() -> Color32 {
                crate::palette::shown().$name
            })*
        }
    };
}

palettes! {
    /// Behind everything.
    background = [0x14_171c, 0xe9_ecf0, 0x00_0000, 0xff_ffff];
    /// Behind lists and lanes.
    panel = [0x19_1d23, 0xfb_fcfd, 0x00_0000, 0xff_ffff];
    /// Behind the heads of panels.
    head = [0x20_252d, 0xee_f1f4, 0x10_1010, 0xf2_f2f2];
    /// Every second row.
    stripe = [0x1d_2128, 0xf4_f6f8, 0x0a_0a0a, 0xf7_f7f7];
    /// Lines between panels.
    line = [0x34_3c48, 0xc3_cad3, 0xa0_a0a0, 0x50_5050];
    /// Lines within a panel.
    faint = [0x25_2b33, 0xe2_e6eb, 0x3a_3a3a, 0xc8_c8c8];
    /// Text.
    text = [0xd3_d9e1, 0x1b_222c, 0xff_ffff, 0x00_0000];
    /// Text that explains.
    weak = [0x9d_a7b5, 0x48_5261, 0xe6_e6e6, 0x1e_1e1e];
    /// Text that hardly matters.
    dim = [0x94_9dad, 0x55_6070, 0xd0_d0d0, 0x30_3030];
    /// What is selected.
    selected = [0x22_3450, 0xcd_e0f6, 0x00_2f66, 0xc2_dcff];
    /// The selection's edge.
    accent = [0x6c_b2f0, 0x1f_6bb5, 0x7f_d0ff, 0x00_428a];
    /// What belongs to the selection.
    related = [0x22_2c39, 0xe6_eef8, 0x12_2338, 0xe2_edfb];
    /// What went wrong.
    error = [0xff_6a64, 0xc2_2620, 0xff_8a85, 0x98_0000];
    /// What may have gone wrong, and what was lost.
    warning = [0xf2_b134, 0x8a_5a00, 0xff_d24a, 0x60_3c00];
    /// What is odd, and handled.
    info = [0x8b_a3bd, 0x4a_627c, 0xb4_d4f4, 0x1f_3c5c];
    /// A packet without messages, or of no known kind.
    plain = [0x7b_8797, 0x6a_7483, 0xb8_c4d2, 0x3c_4653];
    /// Text on what stands out: a name over lines, a lit byte.
    ink = [0xf2_f5f8, 0x0e_131a, 0xff_ffff, 0x00_0000];
    /// Behind text that is typed.
    input = [0x0f_1216, 0xff_ffff, 0x00_0000, 0xff_ffff];
}

/// The quiet colours of peers, in the same order.
const OWNERS: [[u32; 4]; 8] = [
    [0x5a_7da6, 0x5a_7da6, 0x7f_b2ff, 0x1f_4f8f],
    [0x4c_9384, 0x3d_8575, 0x4f_d6b8, 0x00_5c50],
    [0x8a_73b0, 0x8a_73b0, 0xc7_9bff, 0x5b_3a96],
    [0xa1_854a, 0x95_793e, 0xff_c94d, 0x6b_4700],
    [0x6f_8f52, 0x62_8146, 0xa5_e05f, 0x33_5e18],
    [0x9c_6b80, 0x9c_6b80, 0xff_9ec0, 0x8a_2f57],
    [0x4f_8ca3, 0x41_7e95, 0x6f_d8ff, 0x0a_566f],
    [0x80_806a, 0x77_7761, 0xd8_d890, 0x4d_4d1a],
];

/// The least contrast of text and of lines (WCAG 2, level AA for text).
const USUAL: (f32, f32) = (4.5, 2.0);
/// The same where somebody wants more of it (level AAA for text).
const HIGH: (f32, f32) = (7.0, 4.5);

/// Light on dark.
pub static DARK: Palette = palette(0, USUAL);
/// Dark on light.
pub static LIGHT: Palette = palette(1, USUAL);
/// Light on black, as far apart as can be.
pub static HIGH_DARK: Palette = palette(2, HIGH);
/// Black on white.
pub static HIGH_LIGHT: Palette = palette(3, HIGH);

const fn rgb(color: u32) -> Color32 {
    Color32::from_rgb((color >> 16) as u8, (color >> 8) as u8, color as u8)
}

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
    steps
        .find(|mixed| contrast(*mixed, behind) >= least)
        .unwrap_or(towards)
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
