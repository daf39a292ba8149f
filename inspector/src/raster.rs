//! Triangles to pixels on the processor, the same on every machine.
//!
//! egui hands out triangles with premultiplied sRGB colours that are blended as they are, without a
//! change to linear light (`epaint::Mesh`). Coverage is decided with whole numbers: positions are
//! rounded to 1/64 of a pixel, a pixel belongs to a triangle if its centre lies inside, and an edge
//! that two triangles share belongs to one of them (the top-left rule, as in Direct3D 11.3
//! Functional Specification, 3.4.2). Floats are used for texture coordinates alone, in operations
//! that IEEE 754 defines to the last bit.

use egui::epaint::{ClippedPrimitive, Mesh, Primitive, Vertex};

use crate::texture::{Texture, Textures};

/// Steps in a pixel.
const STEPS: i64 = 64;

/// Positions further out than this many pixels are moved here.
const FAR: f32 = 16_000.0;

/// A picture in memory: premultiplied red, green, blue, alpha, row by row from the top.
pub struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<[u8; 4]>,
}

/// A rectangle of pixels: from (left, top) to before (right, bottom).
#[derive(Clone, Copy)]
struct Clip {
    left: i64,
    top: i64,
    right: i64,
    bottom: i64,
}

/// A corner of a triangle: position in steps, texture coordinates in texels.
#[derive(Clone, Copy)]
struct Corner {
    x: i64,
    y: i64,
    u: f64,
    v: f64,
    color: [u8; 4],
}

/// The line function of a triangle's side: not negative inside, 0 on the line.
#[derive(Clone, Copy)]
struct TriangleSide {
    /// At the centre of pixel (0, 0).
    origin: i64,
    /// From a pixel to its right neighbour.
    right: i64,
    /// From a pixel to the one below.
    down: i64,
    /// The least value that counts as inside.
    least: i64,
}

impl Canvas {
    /// A picture filled with one colour.
    pub fn new(width: usize, height: usize, color: [u8; 4]) -> Canvas {
        Canvas {
            width,
            height,
            pixels: vec![color; width * height],
        }
    }

    /// The pixels as bytes: red, green, blue, alpha.
    pub fn bytes(&self) -> &[u8] {
        self.pixels.as_flattened()
    }

    /// Draws what egui's tessellator gave, in order.
    pub fn draw(&mut self, primitives: &[ClippedPrimitive], textures: &Textures, scale: f32) {
        for primitive in primitives {
            let Primitive::Mesh(mesh) = &primitive.primitive else {
                continue; // a callback needs a driver; the views make none
            };
            let Some(texture) = textures.get(mesh.texture_id) else {
                continue;
            };
            let rect = primitive.clip_rect;
            let clip = Clip {
                left: edge(rect.min.x * scale, self.width),
                top: edge(rect.min.y * scale, self.height),
                right: edge(rect.max.x * scale, self.width),
                bottom: edge(rect.max.y * scale, self.height),
            };
            self.mesh(mesh, texture, clip, scale);
        }
    }

    fn mesh(&mut self, mesh: &Mesh, texture: &Texture, clip: Clip, scale: f32) {
        for triangle in mesh.indices.as_chunks::<3>().0 {
            let corners = triangle.map(|index| {
                mesh.vertices
                    .get(index as usize)
                    .map(|vertex| corner(vertex, texture, scale))
            });
            if let [Some(a), Some(b), Some(c)] = corners {
                self.triangle([a, b, c], texture, clip);
            }
        }
    }

    fn triangle(&mut self, corners: [Corner; 3], texture: &Texture, clip: Clip) {
        let [a, mut b, mut c] = corners;
        let mut area = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
        if area == 0 {
            return;
        }
        if area < 0 {
            (b, c) = (c, b);
            area = -area;
        }
        // A side's function divided by the area is the weight of the corner opposite to it.
        let sides = [side(b, c), side(c, a), side(a, b)];
        let top = a.y.min(b.y).min(c.y).div_euclid(STEPS).max(clip.top);
        let bottom = (a.y.max(b.y).max(c.y).div_euclid(STEPS) + 1).min(clip.bottom);
        let flat_color = a.color == b.color && b.color == c.color;
        let flat_texture = (a.u, a.v) == (b.u, b.v) && (b.u, b.v) == (c.u, c.v);
        let flat = (flat_color && flat_texture).then(|| tint(texture.sample(a.u, a.v), a.color));
        for y in top..bottom {
            let Some((left, right)) = row(&sides, y, clip) else {
                continue;
            };
            let start = y as usize * self.width;
            let Some(pixels) = self
                .pixels
                .get_mut(start + left as usize..start + right as usize)
            else {
                continue;
            };
            if let Some(color) = flat {
                for pixel in pixels {
                    *pixel = over(color, *pixel);
                }
                continue;
            }
            let mut weights = sides.map(|s| s.origin + s.right * left + s.down * y);
            for pixel in pixels {
                let texel = if flat_texture {
                    texture.sample(a.u, a.v)
                } else {
                    let u = blend(weights, [a.u, b.u, c.u], area);
                    texture.sample(u, blend(weights, [a.v, b.v, c.v], area))
                };
                let color = if flat_color {
                    a.color
                } else {
                    mix(weights, [a.color, b.color, c.color], area)
                };
                *pixel = over(tint(texel, color), *pixel);
                for (weight, side) in weights.iter_mut().zip(&sides) {
                    *weight += side.right;
                }
            }
        }
    }
}

fn edge(position: f32, limit: usize) -> i64 {
    (position.clamp(-FAR, FAR).round() as i64).clamp(0, limit as i64)
}

fn corner(vertex: &Vertex, texture: &Texture, scale: f32) -> Corner {
    let steps = |position: f32| {
        let position = if position.is_finite() { position } else { 0.0 };
        ((position * scale).clamp(-FAR, FAR) * STEPS as f32).round() as i64
    };
    let [width, height] = texture.size();
    Corner {
        x: steps(vertex.pos.x),
        y: steps(vertex.pos.y),
        u: f64::from(vertex.uv.x) * width as f64,
        v: f64::from(vertex.uv.y) * height as f64,
        color: vertex.color.to_array(),
    }
}

fn side(from: Corner, to: Corner) -> TriangleSide {
    let (dx, dy) = (to.x - from.x, to.y - from.y);
    let centre = STEPS / 2;
    // With y down and the inside on the right, a left side goes up and a top side goes right.
    let owns = dy < 0 || (dy == 0 && dx > 0);
    TriangleSide {
        origin: dx * (centre - from.y) - dy * (centre - from.x),
        right: -dy * STEPS,
        down: dx * STEPS,
        least: if owns { 0 } else { 1 },
    }
}

/// The pixels of a row that lie inside all three sides, within the clip.
fn row(sides: &[TriangleSide; 3], y: i64, clip: Clip) -> Option<(i64, i64)> {
    let (mut left, mut right) = (clip.left, clip.right);
    for side in sides {
        // side.right * x + rest >= least
        let need = side.least - (side.origin + side.down * y);
        match side.right {
            0 if need > 0 => return None,
            0 => {}
            step if step > 0 => left = left.max(-(-need).div_euclid(step)),
            step => right = right.min((-need).div_euclid(-step) + 1),
        }
    }
    (left < right).then_some((left, right))
}

fn blend(weights: [i64; 3], values: [f64; 3], area: i64) -> f64 {
    let [a, b, c] = weights.map(|weight| weight as f64);
    (values[0] * a + values[1] * b + values[2] * c) / area as f64
}

fn mix(weights: [i64; 3], colors: [[u8; 4]; 3], area: i64) -> [u8; 4] {
    let [a, b, c] = colors;
    std::array::from_fn(|channel| {
        let sum = i64::from(a[channel]) * weights[0]
            + i64::from(b[channel]) * weights[1]
            + i64::from(c[channel]) * weights[2];
        ((sum + area / 2) / area).clamp(0, 255) as u8
    })
}

fn product(a: u8, b: u8) -> u8 {
    ((u32::from(a) * u32::from(b) + 127) / 255) as u8
}

fn tint(texel: [u8; 4], color: [u8; 4]) -> [u8; 4] {
    std::array::from_fn(|channel| product(texel[channel], color[channel]))
}

/// `source` over `below`, both premultiplied.
fn over(source: [u8; 4], below: [u8; 4]) -> [u8; 4] {
    match source[3] {
        255 => source,
        alpha => std::array::from_fn(|channel| {
            source[channel].saturating_add(product(below[channel], 255 - alpha))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::epaint::{Color32, ColorImage, ImageDelta, TextureId};
    use egui::{Pos2, Rect, TextureOptions, pos2};

    const WHITE: [u8; 4] = [255; 4];

    fn textures() -> Textures {
        let mut textures = Textures::default();
        let image = ColorImage::new([2, 1], vec![Color32::WHITE, Color32::BLACK]);
        textures.set(
            TextureId::default(),
            &ImageDelta::full(image, TextureOptions::LINEAR),
        );
        textures
    }

    fn draw(vertices: &[(Pos2, Pos2, Color32)], indices: &[u32], clip: Rect) -> Canvas {
        let mut mesh = Mesh::default();
        for &(pos, uv, color) in vertices {
            mesh.vertices.push(Vertex { pos, uv, color });
        }
        mesh.indices = indices.to_vec();
        let mut canvas = Canvas::new(8, 8, [0, 0, 0, 255]);
        let primitive = ClippedPrimitive {
            clip_rect: clip,
            primitive: Primitive::Mesh(mesh),
        };
        canvas.draw(&[primitive], &textures(), 1.0);
        canvas
    }

    fn lit(canvas: &Canvas) -> usize {
        canvas.pixels.iter().filter(|pixel| pixel[0] > 0).count()
    }

    const ALL: Rect = Rect::from_min_max(pos2(0.0, 0.0), pos2(8.0, 8.0));
    const CORNER: Pos2 = pos2(0.0, 0.0);

    #[test]
    fn two_triangles_cover_their_shared_edge_once() {
        let half = Color32::from_rgba_premultiplied(100, 100, 100, 100);
        let corners = [(1.3, 1.2), (6.7, 1.9), (5.1, 7.4), (0.4, 5.5)]
            .map(|(x, y)| (pos2(x, y), CORNER, half));
        let canvas = draw(&corners, &[0, 1, 2, 0, 2, 3], ALL);
        let colors: std::collections::BTreeSet<u8> =
            canvas.pixels.iter().map(|pixel| pixel[0]).collect();
        assert_eq!(colors.into_iter().collect::<Vec<_>>(), [0, 100]);
    }

    #[test]
    fn a_rectangle_covers_the_pixels_whose_centre_it_holds() {
        let corners = [(1.0, 1.0), (4.0, 1.0), (4.0, 3.0), (1.0, 3.0)]
            .map(|(x, y)| (pos2(x, y), CORNER, Color32::WHITE));
        for indices in [[0, 1, 2, 0, 2, 3], [2, 1, 0, 3, 2, 0]] {
            assert_eq!(lit(&draw(&corners, &indices, ALL)), 6, "{indices:?}");
        }
    }

    #[test]
    fn nothing_is_drawn_outside_the_clip() {
        let corners = [(-9.0, -9.0), (90.0, -9.0), (-9.0, 90.0)]
            .map(|(x, y)| (pos2(x, y), CORNER, Color32::WHITE));
        let clip = Rect::from_min_max(pos2(2.0, 2.0), pos2(5.0, 4.0));
        assert_eq!(lit(&draw(&corners, &[0, 1, 2], clip)), 6);
    }

    #[test]
    fn a_position_that_is_no_number_is_harmless() {
        let corners = [(f32::NAN, 0.0), (f32::INFINITY, 3.0), (1.0, 1.0)]
            .map(|(x, y)| (pos2(x, y), CORNER, Color32::WHITE));
        draw(&corners, &[0, 1, 2, 7, 8, 9], ALL);
    }

    #[test]
    fn a_translucent_colour_is_laid_over_what_is_there() {
        assert_eq!(
            over([50, 0, 0, 128], [200, 200, 200, 255]),
            [150, 100, 100, 255]
        );
        assert_eq!(over(WHITE, [1, 2, 3, 255]), WHITE);
    }

    #[test]
    fn a_texture_is_sampled_between_its_texels() {
        let corners = [
            (0.0, 0.0, 0.0),
            (8.0, 0.0, 1.0),
            (8.0, 8.0, 1.0),
            (0.0, 8.0, 0.0),
        ]
        .map(|(x, y, u)| (pos2(x, y), pos2(u, 0.5), Color32::WHITE));
        let canvas = draw(&corners, &[0, 1, 2, 0, 2, 3], ALL);
        let row: Vec<u8> = canvas.pixels.iter().take(8).map(|pixel| pixel[0]).collect();
        assert_eq!(row, [255, 255, 223, 159, 96, 32, 0, 0]);
    }
}
