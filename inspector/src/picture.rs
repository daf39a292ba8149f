//! The inspector photographed: no window, no driver, the same pixels on every machine.

use std::path::Path;
use std::sync::Arc;

use egui::Ui;
use netreel_inspector_model::Model;
use netreel_protocol::history::History;
use netreel_protocol::session::Session;

use crate::app::Inspector;
use crate::layout::Workspace;
use crate::pixels::{PictureError, SIDE_MAX, write};
use crate::raster::Canvas;
use crate::stage::Stage;
use crate::texture::Textures;
use crate::theme;

/// Frames until layout that depends on earlier frames has settled.
const FRAMES: u32 = 4;

/// Draws a workspace of a session as it is when it is opened, and writes it as a PNG file.
///
/// # Errors
/// A size that cannot be drawn; a file that cannot be written.
pub fn screenshot(
    session: Arc<Session>,
    history: Arc<History>,
    workspace: Workspace,
    size: (u32, u32),
    path: &Path,
) -> Result<(), PictureError> {
    photograph(Model::new(session, history), workspace, size, path)
}

/// Draws a workspace of a model as it stands, once its history is known and its filter has looked at all
/// packets, and writes it as a PNG file.
///
/// # Errors
/// A size that cannot be drawn; a file that cannot be written.
pub fn photograph(
    mut model: Model,
    workspace: Workspace,
    size: (u32, u32),
    path: &Path,
) -> Result<(), PictureError> {
    model.finish();
    draw(&mut Inspector::new(model, workspace), size, path)
}

/// Draws the window as it stands, whatever is still being worked out, and writes it as a PNG file.
///
/// # Errors
/// A size that cannot be drawn; a file that cannot be written.
pub fn draw(inspector: &mut Inspector, size: (u32, u32), path: &Path) -> Result<(), PictureError> {
    // A picture has the whole of what it is compared with, and what panes work out.
    for model in inspector.models_mut().skip(1) {
        model.finish();
    }
    let mut show = |ui: &mut Ui| {
        inspector.show(ui);
        inspector.model_mut().finish_beside();
    };
    draw_views(&mut show, size, path)
}

/// Draws any views in the same way: `show` is called for a few frames, and the last one is written.
///
/// # Errors
/// A size that cannot be drawn; a file that cannot be written.
pub fn draw_views(
    show: &mut dyn FnMut(&mut Ui),
    (width, height): (u32, u32),
    path: &Path,
) -> Result<(), PictureError> {
    if !(320..=SIDE_MAX).contains(&width) || !(200..=SIDE_MAX).contains(&height) {
        return Err(PictureError::Size { width, height });
    }
    let mut stage = Stage::new(width, height);
    let mut textures = Textures::default();
    let (mut primitives, mut scale) = (Vec::new(), 1.0);
    for _ in 0..FRAMES {
        let mut frame = stage.frame(Vec::new(), show);
        for (id, deltas) in frame.textures.set.drain() {
            for image in &deltas {
                textures.set(id, image);
            }
        }
        for id in frame.textures.free.drain() {
            textures.free(id);
        }
        (primitives, scale) = (frame.primitives, frame.scale);
    }
    let behind = theme::background().to_array();
    let mut canvas = Canvas::new(width as usize, height as usize, behind);
    canvas.draw(&primitives, &textures, scale);
    write(canvas.bytes(), (width, height), path)
}
