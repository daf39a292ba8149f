//! Pixels as a PNG file.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// The largest picture, in pixels a side.
pub const SIDE_MAX: u32 = 8192;

/// A picture that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// The size cannot be drawn.
    #[error(
        "a picture of {width}x{height} pixels cannot be drawn; ask for 320x200 to \
         {SIDE_MAX}x{SIDE_MAX}"
    )]
    Size {
        /// In pixels.
        width: u32,
        /// In pixels.
        height: u32,
    },
    /// The file cannot be made or written.
    #[error(
        "cannot write the picture {path}: {error}; give a file in a folder that can be written"
    )]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

/// Writes pixels as a PNG file: four bytes each, row by row.
///
/// # Errors
/// A file that cannot be written.
pub(crate) fn write(
    pixels: &[u8],
    (width, height): (u32, u32),
    path: &Path,
) -> Result<(), PictureError> {
    encode(pixels, width, height, path).map_err(|error| PictureError::Write {
        path: path.to_owned(),
        error,
    })
}

fn encode(pixels: &[u8], width: u32, height: u32, path: &Path) -> io::Result<()> {
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(path)?), width, height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    // Lines and letters on plain colour are smallest as they are.
    encoder.set_filter(png::Filter::NoFilter);
    let mut writer = encoder.write_header().map_err(io::Error::from)?;
    writer.write_image_data(pixels).map_err(io::Error::from)?;
    writer.finish().map_err(io::Error::from)
}
