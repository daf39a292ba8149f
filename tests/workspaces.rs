//! Every workspace as a picture: two recorded sessions and three captures, dark and light, in three
//! sizes, compared with small ones that are kept in `tests/workspaces`.
//!
//! Small ones are means of blocks. Letters that another font or renderer draws a little differently
//! change a mean by little; a pane that is empty, or elsewhere, changes many of them by much.
//!
//! `./dev pictures` draws them anew (`NETREEL_DRAW=1`). The whole pictures are in `target/tmp/workspaces`
//! afterwards, to be looked at.
#![cfg(feature = "gui")]

use std::fs::{self, File};
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use netreel_inspector::{
    Answer, Command, Event, Inspector, Model, Settings, Standing, Workspace, draw,
};
use netreel_protocol::history::History;
use netreel_protocol::session::{PacketId, ReelInput, Session};
use netreel_wire::Wire;

const SIZES: [(u32, u32); 3] = [(1000, 640), (1600, 1000), (3840, 2160)];
/// A small picture is so many blocks wide, and at most so many high.
const ACROSS: usize = 80;
const DOWN: usize = 52;
/// A block is another one where a colour of it is so far off.
const OFF: u8 = 10;
/// Of a hundred blocks so many may be.
const BLOCKS_MAX: f64 = 2.0;

type Known = (Arc<Session>, Arc<History>);

/// Rows of pixels, three bytes each.
#[derive(Clone, PartialEq)]
struct Picture {
    width: usize,
    pixels: Vec<[u8; 3]>,
}

fn open(path: &str, wire: Option<&str>) -> Known {
    let opened = netreel_capture::open_session(&[path]).expect("a session");
    let reels = opened.reels.into_iter().map(|opened| ReelInput {
        name: opened.path.display().to_string(),
        reel: opened.reel,
    });
    let wire = wire.map(|path| {
        let text = fs::read_to_string(path).expect("a wire");
        Arc::new(Wire::compile(path, &text).expect("it compiles"))
    });
    let session = Arc::new(Session::build(reels.collect(), wire).expect("a session"));
    let history = Arc::new(History::build(&session));
    (session, history)
}

fn model((session, history): &Known) -> Model {
    let mut model = Model::new(session.clone(), history.clone());
    model.finish();
    model
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

fn inspector(of: &Known, other: &Known, workspace: Workspace, theme: &str) -> Inspector {
    let mut model = model(of);
    if workspace == Workspace::State {
        let span = model.span();
        let middle = span.start.0 + (span.end.0 - span.start.0) / 2;
        let at = netreel_protocol::session::SessionTime(middle);
        model.apply(Command::SetCursor(Some(at)));
    }
    let is_recorded = of.0.nodes.iter().any(|node| node.recorded);
    let standing = (workspace == Workspace::Replay && is_recorded).then(|| standing(&model));
    let mut inspector = Inspector::new(model, workspace);
    inspector.set_settings(Settings {
        theme: theme.to_owned(),
        ..Settings::default()
    });
    if workspace == Workspace::Compare {
        inspector.hear(Answer::Compared {
            model: Box::new(self::model(other)),
            title: "the other".to_owned(),
        });
    }
    if let Some(standing) = standing {
        inspector.hear(Answer::Stands(Box::new(standing)));
    }
    inspector
}

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("workspaces");
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn read(path: &Path) -> Picture {
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
fn small(picture: &Picture) -> Picture {
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
fn apart(one: &Picture, other: &Picture) -> f64 {
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

#[track_caller]
fn check(name: &str, theme: &str, of: &Known, other: &Known) {
    let kept = Path::new("tests/workspaces").join(format!("{name}.png"));
    let draws = std::env::var_os("NETREEL_DRAW").is_some();
    let width = SIZES.len() * ACROSS;
    let mut sheet = Picture {
        width,
        pixels: vec![[0; 3]; width * DOWN * Workspace::ALL.len()],
    };
    let before = (!draws).then(|| read(&kept));
    let mut wrong = Vec::new();
    for (row, (workspace_name, workspace)) in Workspace::ALL.into_iter().enumerate() {
        for (column, size) in SIZES.into_iter().enumerate() {
            let file = format!("{name}-{workspace_name}-{}.png", size.0);
            let path = folder().join(&file);
            let mut inspector = inspector(of, other, workspace, theme);
            draw(&mut inspector, size, &path).expect("a picture");
            let now = small(&read(&path));
            let down = now.pixels.len() / ACROSS;
            if let Some(before) = &before {
                let apart = apart(&now, &part(before, (row, column), down));
                if apart > BLOCKS_MAX {
                    wrong.push(format!("{}: {apart:.1} % of it", path.display()));
                }
            }
            for (line, pixels) in now.pixels.chunks(ACROSS).enumerate() {
                let from = (row * DOWN + line) * width + column * ACROSS;
                sheet.pixels[from..from + ACROSS].copy_from_slice(pixels);
            }
        }
    }
    if draws {
        write(&sheet, &kept);
    }
    assert!(
        wrong.is_empty(),
        "these look otherwise; look at them, and if they are as they should be, draw the small ones \
         anew with `./dev pictures`:\n{}",
        wrong.join("\n")
    );
}

fn sample(name: &str) -> Known {
    open(
        &format!("samples/sessions/{name}"),
        Some("samples/wires/boxes.wire"),
    )
}

fn capture(name: &str, wire: &str) -> Known {
    let path = format!("protocol/wire/tests/recordings/{name}.pcap");
    open(&path, Some(&format!("samples/wires/{wire}.wire")))
}

#[test]
fn the_race_looks_as_it_did() {
    check("host", "dark", &sample("host"), &sample("owner"));
}

#[test]
fn the_race_in_owner_mode_looks_as_it_did_in_light_colours() {
    check("owner", "light", &sample("owner"), &sample("host"));
}

#[test]
fn a_capture_of_raknet_looks_as_it_did() {
    let known = capture("raknet", "raknet");
    check("raknet", "dark", &known, &known);
}

#[test]
fn a_capture_of_quake_3_looks_as_it_did_in_light_colours() {
    let known = capture("quake3", "quake3");
    check("quake3", "light", &known, &known);
}

#[test]
fn a_capture_of_minetest_looks_as_it_did() {
    let known = capture("minetest", "minetest");
    check("minetest", "dark", &known, &known);
}

#[test]
fn another_renderer_is_not_seen_and_a_broken_pane_is() {
    let of = sample("host");
    let path = folder().join("tolerance.png");
    draw(
        &mut inspector(&of, &of, Workspace::Why, "dark"),
        SIZES[1],
        &path,
    )
    .expect("a picture");
    let whole = read(&path);
    let kept = small(&whole);
    // All of it a little aside, and a little lighter: as letters of another renderer are.
    let mut shifted = whole.clone();
    shifted.pixels.rotate_right(1);
    for pixel in &mut shifted.pixels {
        *pixel = pixel.map(|part| part.saturating_add(3));
    }
    let little = apart(&small(&shifted), &kept);
    assert!(little <= BLOCKS_MAX / 2.0, "{little} %");
    // Each of the panes left empty: timeline, objects, findings, fields.
    for (x, y, width, height) in [
        (0, 130, 1600, 300),
        (0, 450, 1600, 170),
        (0, 650, 660, 310),
        (680, 650, 400, 310),
    ] {
        let mut broken = whole.clone();
        for row in y..y + height {
            let from = row * whole.width + x;
            let empty = broken.pixels[from];
            broken.pixels[from..from + width].fill(empty);
        }
        let much = apart(&small(&broken), &kept);
        assert!(much > BLOCKS_MAX, "{much} % at {x}, {y}");
    }
}
