//! Textures on the processor: what egui asks for, kept as bytes.

use std::collections::BTreeMap;

use egui::TextureId;
use egui::epaint::{ColorImage, ImageData, ImageDelta};

/// All textures that egui has set and not yet freed.
#[derive(Default)]
pub struct Textures {
    textures: BTreeMap<(bool, u64), Texture>,
}

/// One texture, sampled linearly and clamped at its edges.
pub struct Texture {
    width: usize,
    height: usize,
    texels: Vec<[u8; 4]>,
}

impl Textures {
    /// A texture that was set.
    pub fn get(&self, id: TextureId) -> Option<&Texture> {
        self.textures.get(&key(id))
    }

    /// Sets a texture or a part of one.
    pub fn set(&mut self, id: TextureId, delta: &ImageDelta) {
        let ImageData::Color(image) = &delta.image;
        match delta.pos {
            None => {
                self.textures.insert(key(id), Texture::new(image));
            }
            Some(at) => {
                if let Some(texture) = self.textures.get_mut(&key(id)) {
                    texture.patch(at, image);
                }
            }
        }
    }

    /// Forgets a texture.
    pub fn free(&mut self, id: TextureId) {
        self.textures.remove(&key(id));
    }
}

impl Texture {
    fn new(image: &ColorImage) -> Texture {
        let [width, height] = image.size;
        Texture {
            width,
            height,
            texels: image.pixels.iter().map(|texel| texel.to_array()).collect(),
        }
    }

    fn patch(&mut self, [left, top]: [usize; 2], image: &ColorImage) {
        let [width, _] = image.size;
        if width == 0 {
            return;
        }
        for (row, texels) in image.pixels.chunks(width).enumerate() {
            let start = (top + row) * self.width + left;
            if let Some(line) = self.texels.get_mut(start..start + width) {
                for (old, new) in line.iter_mut().zip(texels) {
                    *old = new.to_array();
                }
            }
        }
    }

    /// Width and height in texels.
    pub fn size(&self) -> [usize; 2] {
        [self.width, self.height]
    }

    /// The colour at a place in texels; the centre of the first texel is at 0.5, 0.5. Distances
    /// between texels are rounded to 1/256.
    pub fn sample(&self, u: f64, v: f64) -> [u8; 4] {
        let (left, part_x) = split(u);
        let (top, part_y) = split(v);
        let first = self.texel(left, top);
        if part_x == 0 && part_y == 0 {
            return first;
        }
        let right = self.texel(left + 1, top);
        let below = self.texel(left, top + 1);
        let last = self.texel(left + 1, top + 1);
        std::array::from_fn(|channel| {
            let line = |a: u8, b: u8| u32::from(a) * (256 - part_x) + u32::from(b) * part_x;
            let upper = line(first[channel], right[channel]);
            let lower = line(below[channel], last[channel]);
            ((upper * (256 - part_y) + lower * part_y + (1 << 15)) >> 16) as u8
        })
    }

    fn texel(&self, x: i64, y: i64) -> [u8; 4] {
        let x = x.max(0).min(self.width as i64 - 1).max(0) as usize;
        let y = y.max(0).min(self.height as i64 - 1).max(0) as usize;
        self.texels
            .get(y * self.width + x)
            .copied()
            .unwrap_or([255; 4])
    }
}

/// The texel whose centre is at or before a place, and how far beyond it, in 1/256.
fn split(place: f64) -> (i64, u32) {
    let steps = (place * 256.0).round() as i64 - 128;
    (steps.div_euclid(256), steps.rem_euclid(256) as u32)
}

fn key(id: TextureId) -> (bool, u64) {
    match id {
        TextureId::Managed(number) => (true, number),
        TextureId::User(number) => (false, number),
    }
}
