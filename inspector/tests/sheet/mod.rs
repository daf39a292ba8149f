//! Workspaces as pictures, compared with small ones that are kept.
//!
//! Small ones are means of blocks. Letters that another font or renderer draws a little differently
//! change a mean by little; a pane that is empty, or elsewhere, changes many of them by much. All small
//! ones of a test are one file, a sheet: a row for each workspace.
//!
//! `./dev pictures` draws them anew (`NETREEL_DRAW=1`). The whole pictures are in `target/tmp/workspaces`
//! afterwards, to be looked at.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};

use netreel_inspector::{
    Answer, Command, Event, Inspector, Model, Settings, Standing, Workspace, draw,
};
use netreel_protocol::session::{PacketId, SessionTime};

/// A small picture is this many blocks wide, and at most this many high.
const ACROSS: usize = 80;
const DOWN: usize = 52;
/// A block is another one where a colour of it is so far off.
const OFF: u8 = 10;
/// Of a hundred blocks this many may be.
pub const BLOCKS_MAX: f64 = 2.0;

/// Rows of pixels, three bytes each.
#[derive(Clone, PartialEq)]
pub struct Picture {
    pub width: usize,
    pub pixels: Vec<[u8; 3]>,
}

/// A place in a replay: what a driver would say is made up of the session's packets.
fn standing(model: &Model) -> Standing {
    let session = model.session();
    let node = session.nodes.iter().find(|node| node.recorded);
    let at = session.packet_count() as u32 / 2;
    let event = |id: u32| {
        let packet = session.packet(PacketId(id)).expect("a packet");
        Event {
            number: u64::from(id),
            time: packet.first().expect("an end").time,
            kind: "received".to_owned(),
            words: format!("packet {id}, {} bytes", packet.length),
            packet: Some(PacketId(id)),
        }
    };
    let events =
        (at.saturating_sub(20)..at + 20).filter(|id| (*id as usize) < session.packet_count());
    Standing {
        node: node.map_or_else(String::new, |node| node.name.clone()),
        position: u64::from(at),
        time: session
            .packet(PacketId(at))
            .and_then(|it| it.first())
            .map(|it| it.time),
        packet: Some(PacketId(at)),
        events: events.map(event).collect(),
        last: session.packet_count() as u64,
        turn: u64::from(at),
        layer: (0..30)
            .map(|it| (format!("peer.{it}.sequence"), (it * 7).to_string()))
            .collect(),
        breaks: vec!["kind == migrate".to_owned()],
        said: "before the event behind the packet".to_owned(),
        ..Standing::default()
    }
}

/// A window on a model, laid out as it is at first.
pub fn inspector(
    mut model: Model,
    other: Option<Model>,
    workspace: Workspace,
    theme: &str,
) -> Inspector {
    if workspace == Workspace::State {
        let span = model.span();
        let middle = span.start.0 + (span.end.0 - span.start.0) / 2;
        model.apply(Command::SetCursor(Some(SessionTime(middle))));
    }
    let is_recorded = model.session().nodes.iter().any(|node| node.recorded);
    let has_packets = model.session().packet_count() > 0;
    let sits = workspace == Workspace::Replay && is_recorded && has_packets;
    let standing = sits.then(|| standing(&model));
    let mut inspector = Inspector::new(model, workspace);
    inspector.set_settings(Settings {
        theme: theme.to_owned(),
        ..Settings::default()
    });
    if let Some(other) = other {
        inspector.hear(Answer::Compared {
            model: Box::new(other),
            title: "the other".to_owned(),
        });
    }
    if let Some(standing) = standing {
        inspector.hear(Answer::Stands(Box::new(standing)));
    }
    inspector
}

/// Where the whole pictures are.
pub fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("workspaces");
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

pub fn read(path: &Path) -> Picture {
    let file = BufReader::new(File::open(path).expect("a picture"));
    let mut reader = png::Decoder::new(file).read_info().expect("a PNG file");
    let mut bytes = vec![0; reader.output_buffer_size().expect("a size")];
    let info = reader.next_frame(&mut bytes).expect("pixels");
    let each = info.color_type.samples();
    let pixels = bytes
        .chunks(each)
        .map(|pixel| [pixel[0], pixel[1], pixel[2]]);
    Picture {
        width: info.width as usize,
        pixels: pixels.collect(),
    }
}

fn write(picture: &Picture, path: &Path) {
    let file = BufWriter::new(File::create(path).expect("a file"));
    let height = picture.pixels.len() / picture.width;
    let mut encoder = png::Encoder::new(file, picture.width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::High);
    let mut writer = encoder.write_header().expect("a head");
    writer
        .write_image_data(picture.pixels.as_flattened())
        .expect("pixels");
}

/// Means of blocks.
pub fn small(picture: &Picture) -> Picture {
    let height = picture.pixels.len() / picture.width;
    let down = height * ACROSS / picture.width;
    let mut pixels = Vec::new();
    for row in 0..down {
        let rows = row * height / down..(row + 1) * height / down;
        for column in 0..ACROSS {
            let columns = column * picture.width / ACROSS..(column + 1) * picture.width / ACROSS;
            let mut sums = [0u64; 3];
            for y in rows.clone() {
                for pixel in &picture.pixels[y * picture.width..][columns.clone()] {
                    for (sum, part) in sums.iter_mut().zip(pixel) {
                        *sum += u64::from(*part);
                    }
                }
            }
            let count = (rows.len() * columns.len()) as u64;
            pixels.push(sums.map(|sum| (sum / count) as u8));
        }
    }
    Picture {
        width: ACROSS,
        pixels,
    }
}

/// How many of a hundred blocks are others.
pub fn apart(one: &Picture, other: &Picture) -> f64 {
    if one.width != other.width || one.pixels.len() != other.pixels.len() {
        return 100.0;
    }
    let pairs = one.pixels.iter().zip(&other.pixels);
    let is_off = |(one, other): &(&[u8; 3], &[u8; 3])| {
        let mut parts = one.iter().zip(other.iter());
        parts.any(|(one, other)| one.abs_diff(*other) > OFF)
    };
    100.0 * pairs.filter(is_off).count() as f64 / one.pixels.len() as f64
}

/// One of the small pictures that are kept in one file: a row for each workspace, a column for each
/// size.
fn part(sheet: &Picture, (row, column): (usize, usize), down: usize) -> Picture {
    let lines = (row * DOWN..row * DOWN + down).flat_map(|line| {
        let from = line * sheet.width + column * ACROSS;
        sheet.pixels[from..from + ACROSS].iter().copied()
    });
    Picture {
        width: ACROSS,
        pixels: lines.collect(),
    }
}

/// The small pictures of a test, as they are kept and as they are now.
pub struct Sheet {
    kept: PathBuf,
    before: Option<Picture>,
    now: Picture,
    wrong: Vec<String>,
}

impl Sheet {
    /// Kept at this path, with this many pictures of each workspace.
    pub fn open(kept: &Path, columns: usize) -> Sheet {
        let draws = std::env::var_os("NETREEL_DRAW").is_some();
        let width = columns * ACROSS;
        let now = Picture {
            width,
            pixels: vec![[0; 3]; width * DOWN * Workspace::ALL.len()],
        };
        let before = (!draws).then(|| read(kept));
        if let Some(before) = &before {
            let is_as_large = before.width == width && before.pixels.len() == now.pixels.len();
            assert!(is_as_large, "{}: draw it anew", kept.display());
        }
        Sheet {
            kept: kept.to_owned(),
            before,
            now,
            wrong: Vec::new(),
        }
    }

    /// Draws a window, and compares it with the small picture at a place: the workspace's, and one of
    /// the columns.
    pub fn check(
        &mut self,
        inspector: &mut Inspector,
        size: (u32, u32),
        (row, column): (usize, usize),
        name: &str,
    ) {
        let path = folder().join(format!("{name}.png"));
        draw(inspector, size, &path).expect("a picture");
        let now = small(&read(&path));
        let down = now.pixels.len() / ACROSS;
        if let Some(before) = &self.before {
            let apart = apart(&now, &part(before, (row, column), down));
            if apart > BLOCKS_MAX {
                self.wrong
                    .push(format!("{}: {apart:.1} % of it", path.display()));
            }
        }
        for (line, pixels) in now.pixels.chunks(ACROSS).enumerate() {
            let from = (row * DOWN + line) * self.now.width + column * ACROSS;
            self.now.pixels[from..from + ACROSS].copy_from_slice(pixels);
        }
    }

    /// Says what looks otherwise; keeps the sheet where it is drawn anew.
    #[track_caller]
    pub fn finish(self) {
        if self.before.is_none() {
            write(&self.now, &self.kept);
        }
        assert!(
            self.wrong.is_empty(),
            "these look otherwise; look at them, and if they are as they should be, draw the small \
             ones anew with `./dev pictures`:\n{}",
            self.wrong.join("\n")
        );
    }
}
