//! `netreel wire lsp`: the language server, which gets the packets of recordings from here.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use netreel_capture::pcap::{PcapError, UdpPayloads};
use netreel_protocol::session::{NodeId, PacketId, Session};
use netreel_wire_lsp::{
    BYTES_MAX, Capture, CapturedPacket, OpenCapture, PACKETS_MAX, Server, serve,
};

use super::source::any;
use crate::arguments::WireLsp;
use crate::open;
use crate::outcome::{Answer, Failure, Result};

pub fn run(arguments: &WireLsp) -> Result<Answer> {
    let mut opener = Recordings;
    let mut server = Server::new(&mut opener);
    if let Some(path) = &arguments.capture {
        let opened = server.open_capture(path);
        opened.map_err(|why| Failure::at(path, why))?;
    }
    let in_order = serve(server).map_err(Failure::new)?;
    // The protocol wants 1 where nobody said `shutdown` before `exit`.
    Ok(Answer::clean_if(in_order))
}

/// Reels, folders of them, and packet captures.
struct Recordings;

impl OpenCapture for Recordings {
    fn open(&mut self, path: &Path) -> Result<Capture, String> {
        let name = path.file_name().map_or(path.as_os_str(), |name| name);
        let mut capture = Capture {
            name: name.to_string_lossy().into_owned(),
            ..Capture::default()
        };
        let mut bytes = 0;
        let mut add = |packet: CapturedPacket| {
            bytes += packet.payload.len();
            capture.has_more = bytes > BYTES_MAX || capture.packets.len() >= PACKETS_MAX;
            if !capture.has_more {
                capture.packets.push(packet);
            }
            !capture.has_more
        };
        let metadata = std::fs::metadata(path).map_err(|error| error.to_string())?;
        if metadata.is_file() {
            let file = File::open(path).map_err(|error| error.to_string())?;
            match UdpPayloads::new(file) {
                Ok(payloads) => {
                    for udp in payloads {
                        let packet = CapturedPacket {
                            from: udp.source,
                            to: udp.destination,
                            payload: udp.payload,
                        };
                        if !add(packet) {
                            break;
                        }
                    }
                    return Ok(capture);
                }
                Err(PcapError::NotACapture { .. }) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        of_reels(path, &mut add)?;
        Ok(capture)
    }
}

/// The packets of a session, in its order, until nobody wants more.
fn of_reels(path: &Path, add: &mut dyn FnMut(CapturedPacket) -> bool) -> Result<(), String> {
    let reels = open::reels(&[path]).map_err(|failure| failure.to_string())?;
    let wire = any().map_err(|failure| failure.to_string())?;
    let session = Session::builder().wire(wire).build(reels.inputs);
    let session = session.map_err(|error| error.to_string())?;
    for number in 0..session.packet_count() {
        let id = PacketId(number as u32);
        let way = session.packet(id).zip(session.surroundings(id));
        let (Some((packet, (context, _))), Some(payload)) = (way, session.payload(id)) else {
            return Err(format!("packet {number} cannot be read again"));
        };
        let packet = CapturedPacket {
            from: address(packet.from, context.source_port),
            to: address(packet.to, context.destination_port),
            payload,
        };
        if !add(packet) {
            break;
        }
    }
    Ok(())
}

/// Tells nodes apart, as far as a wire does: by ports, and by which packets are of one connection.
fn address(node: NodeId, port: u16) -> SocketAddr {
    let number = Ipv4Addr::from(0x0a00_0000 | (u32::from(node.0) & 0x00ff_ffff));
    SocketAddr::from((number, port))
}
