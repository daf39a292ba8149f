//! Network layers in C as plugins, and a recording that one of them plays.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use netreel_plugin::abi::CEndpoint;
use netreel_reel::{
    Endpoint, Event, Header, Record, ReelWriter, SendOutcome, SocketId, ThreadId, Time,
};
use tempfile::TempDir;

use super::windows;

pub const CAPI: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/capi");

pub fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// Compiles a shared library.
pub fn library(folder: &Path, source: &Path, more: &[&str]) -> PathBuf {
    let (name, linked): (_, &[&str]) = match windows::folder() {
        None => ("layer.so", &["-fPIC"]),
        Some(_) => ("layer.dll", &["-lws2_32"]),
    };
    let library = folder.join(name);
    let compiled = Command::new(windows::compiler("cc"))
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-shared"])
        .args(more)
        .arg(source)
        .args(["-I", &format!("{CAPI}/include"), "-o"])
        .arg(&library)
        .args(linked)
        .status();
    assert!(compiled.expect("a C compiler").success());
    library
}

pub fn udp_layer(folder: &Path, more: &[&str]) -> PathBuf {
    library(folder, &Path::new(CAPI).join("examples/udp_layer.c"), more)
}

/// A library of a few lines of C.
pub fn of_text(folder: &Path, text: &str) -> PathBuf {
    let source = folder.join("layer.c");
    let whole = format!("#include <netreel_layer.h>\n#include <stdlib.h>\n{text}");
    std::fs::write(&source, whole).expect("a file");
    library(folder, &source, &["-Wno-unused-parameter"])
}

pub fn peer() -> Endpoint {
    Endpoint::from(([127, 0, 0, 1], 9000))
}

/// Writes what `udp.c` would have recorded that hears its peer on `socket` of this many.
pub fn record(folder: &Path, sockets: u16, socket: u16) -> PathBuf {
    record_but(folder, sockets, socket, 0..0)
}

/// The layer's state before this tick, as the plugin saves it.
pub fn state(tick: u32, position: i32, socket: u16) -> Vec<u8> {
    let of = CEndpoint::from(peer());
    let mut state = Vec::new();
    state.extend([of.family.to_ne_bytes(), of.port.to_ne_bytes()].concat());
    state.extend([of.flow.to_ne_bytes(), of.scope.to_ne_bytes()].concat());
    state.extend(of.address);
    for number in [tick, tick, position as u32, 5, socket.into()] {
        state.extend(number.to_ne_bytes());
    }
    state
}

/// The same with recording switched off for some ticks, and a snapshot where it is on again.
pub fn record_but(folder: &Path, sockets: u16, socket: u16, off: Range<u32>) -> PathBuf {
    let mut start = vec![0; 28 + 12];
    start.extend_from_slice(&5_i32.to_ne_bytes());
    let header = Header {
        node: "walker".to_owned(),
        engine: "udp example".to_owned(),
        start,
        ..Header::default()
    };
    let mut reel = ReelWriter::create(Vec::new(), &header).expect("memory");
    let mut push = |time: u64, event: Event<'_>| {
        let number = reel.next_number();
        let (time, thread) = (Time(time), ThreadId(0));
        let record = Record {
            number,
            time,
            thread,
            event,
        };
        reel.push(&record).expect("memory");
        number
    };
    for number in 0..sockets {
        let local = Endpoint::from(([127, 0, 0, 1], 7000 + number));
        push(
            0,
            Event::SocketOpened {
                socket: SocketId(number),
                local,
            },
        );
    }
    let mut position = 0_i32;
    for tick in 0..50_u32 {
        let ns = u64::from(tick) * 2_000_000;
        if tick == off.start && !off.is_empty() {
            push(ns, Event::Switched { on: false });
        }
        if tick == off.end && !off.is_empty() {
            push(ns, Event::Switched { on: true });
            let state = state(tick, position, socket);
            push(ns, Event::Snapshot { state: &state });
        }
        position += 5 * i32::from(tick % 3 == 0);
        if off.contains(&tick) {
            continue;
        }
        if tick % 3 == 0 {
            push(ns, Event::Input { call: &[1] });
        }
        push(
            ns,
            Event::Tick {
                tick: tick.into(),
                time: Time(ns),
            },
        );
        push(ns, Event::Clock { value: Time(ns) });
        for number in 0..sockets {
            if number == socket {
                let mut payload = [0; 20];
                payload[..4].copy_from_slice(&(tick + 1).to_be_bytes());
                let (socket, from) = (SocketId(number), peer());
                push(
                    ns,
                    Event::Received {
                        socket,
                        from,
                        payload: &payload,
                    },
                );
            }
            push(
                ns,
                Event::PollEmpty {
                    socket: SocketId(number),
                },
            );
        }
        let value = u64::from(tick) * 77;
        push(ns, Event::Random { value });
        let words = [tick + 1, tick + 1, tick * 2, tick * 77, position as u32];
        let payload: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        let (socket, to) = (SocketId(socket), peer());
        let of = push(
            ns,
            Event::Sent {
                socket,
                to,
                payload: &payload,
            },
        );
        push(
            ns,
            Event::SendResult {
                of,
                outcome: SendOutcome::Sent,
            },
        );
    }
    let path = folder.join("walker.reel");
    std::fs::write(&path, reel.finish().expect("memory")).expect("a file");
    path
}

/// A table around functions of C that a test gives.
pub fn table(functions: &str, create: &str, tick: &str) -> String {
    format!(
        "static int32_t create(const netreel_layer_start *s, const netreel_world *w, void **l) \
         {{ *l = (void *)&create; return 0; }}\n\
         static int32_t tick(void *l, const netreel_world *w, uint64_t n, uint64_t t) {{ return 0; }}\n\
         static int32_t input(void *l, const netreel_world *w, const void *c, uint64_t n) {{ return 0; }}\n\
         static void destroy(void *l) {{ }}\n{functions}\n\
         const netreel_layer_api *netreel_layer(uint32_t version) {{\n\
         static netreel_layer_api api = {{ .size = sizeof api, .version = 1, .name = \"udp example\", \
         .create = {create}, .tick = {tick}, .input = input, .destroy = destroy }};\n\
         (void)create; (void)tick; return &api; }}\n"
    )
}
