//! A picture of the window, for whoever is to see the same: asked for, taken, written.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use egui::{ColorImage, Context};

use crate::ask::Answer;
use crate::pixels;

/// Frames until whatever asked for the picture no longer lies over the window.
const FRAMES: u32 = 2;

/// Pictures under way.
#[derive(Default)]
pub(super) struct Photo {
    /// Where the next one goes, and in how many frames it is taken.
    waits: Option<(PathBuf, u32)>,
    said: Arc<Mutex<Vec<Answer>>>,
}

impl Photo {
    /// Has one taken.
    pub fn ask(&mut self, path: PathBuf) {
        self.waits = Some((path, FRAMES));
    }

    /// Takes it, when it is time.
    pub fn take(&mut self, ctx: &Context) {
        let Some((path, frames)) = self.waits.take() else {
            return;
        };
        ctx.request_repaint();
        if let Some(left) = frames.checked_sub(1) {
            self.waits = Some((path, left));
            return;
        }
        let (said, again) = (Arc::clone(&self.said), ctx.clone());
        let tell = move |answer: Answer| {
            let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
            said.push(answer);
            again.request_repaint();
        };
        ctx.request_screenshot(move |image: Arc<ColorImage>| {
            // It takes longer than a frame.
            let write = {
                let (path, tell) = (path.clone(), tell.clone());
                move || tell(written(&path, &image))
            };
            let spawned = thread::Builder::new()
                .name("picture".to_owned())
                .spawn(write);
            if let Err(error) = spawned {
                let path = path.display();
                tell(Answer::Failed(format!(
                    "cannot write the picture {path}: {error}"
                )));
            }
        });
    }

    /// What became of pictures since.
    pub fn said(&mut self) -> Vec<Answer> {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *said)
    }
}

fn written(path: &std::path::Path, image: &ColorImage) -> Answer {
    let [width, height] = image
        .size
        .map(|side| u32::try_from(side).unwrap_or(u32::MAX));
    match pixels::write(image.as_raw(), (width, height), path) {
        Ok(()) => Answer::Done(format!("{}: the picture was written", path.display())),
        Err(error) => Answer::Failed(error.to_string()),
    }
}
