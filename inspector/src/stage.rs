//! Frames without a window: what pictures are drawn from, and what a frame costs.

use std::time::Duration;

use egui::epaint::ClippedPrimitive;
use egui::{Context, Event, Pos2, RawInput, Rect, TexturesDelta, Ui, Vec2, ViewportId};

use crate::theme;

/// A screen of some size on which views are laid out, frame after frame; nothing is drawn.
pub struct Stage {
    ctx: Context,
    size: Vec2,
    /// Frames so far: a frame is so many seconds after the first, so that nothing depends on a clock.
    frames: u32,
}

/// A frame, as far as a graphics card would be handed it.
pub struct Staged {
    /// Triangles.
    pub primitives: Vec<ClippedPrimitive>,
    /// What became of textures.
    pub textures: TexturesDelta,
    /// Pixels per point.
    pub scale: f32,
    /// After how long there is to be another one, whatever a hand does; `None`: never.
    pub again: Option<Duration>,
}

impl Stage {
    /// A screen of this many points, which are pixels.
    pub fn new(width: u32, height: u32) -> Stage {
        let ctx = Context::default();
        theme::apply(&ctx);
        let size = Vec2::new(width as f32, height as f32);
        Stage {
            ctx,
            size,
            frames: 0,
        }
    }

    /// One frame of the views that `show` lays out, with what a hand did since the last.
    pub fn frame(&mut self, events: Vec<Event>, show: &mut dyn FnMut(&mut Ui)) -> Staged {
        // What is drawn larger has less room.
        let room = self.size / self.ctx.zoom_factor();
        let input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, room)),
            time: Some(f64::from(self.frames)),
            events,
            ..RawInput::default()
        };
        self.frames += 1;
        let output = self.ctx.run_ui(input, |ui| show(ui));
        let scale = output.pixels_per_point;
        let again = output
            .viewport_output
            .get(&ViewportId::ROOT)
            .map_or(Duration::MAX, |it| it.repaint_delay);
        Staged {
            primitives: self.ctx.tessellate(output.shapes, scale),
            textures: output.textures_delta,
            scale,
            again: (again < Duration::MAX).then_some(again),
        }
    }
}
