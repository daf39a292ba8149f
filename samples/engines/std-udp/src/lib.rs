//! A program on the standard library's `UdpSocket`, recorded.
//!
//! What to take over: `netreel_record::RecordedSocket` has the methods of the socket, waiting ones
//! included, so that the type is all that changes. Beside it, the `Journal` takes what the packets
//! do not say: ticks, inputs, random draws. One journal a thread.
//!
//! The example: a server that answers each question, on a thread of its own, and two clients that
//! wait for each answer before they ask again. `cargo run -p std-udp -- --out DIR`

use std::io;
use std::path::Path;
use std::time::Duration;

use netreel_record::{Journal, Options, RecordedSocket, Recorder, clock_anchor};
use netreel_reel::{Header, Time, WireText};

/// How many questions each client asks.
pub const QUESTIONS: u16 = 50;

/// A question and its answer have the same number.
const WIRE: &str = "\
wire questions { version = 1; byte_order = big; bit_order = msb; root = Packet; }
enum Kind : u8 { question = 0, answer = 1, enough = 2 }
struct Packet { number: u16 @sequence; message: Message; }
struct Message @message { kind: Kind @message_kind; text: bytes(rest); }
";

fn recorder(out: &Path, node: &str) -> Result<Recorder, Box<dyn std::error::Error + Send + Sync>> {
    let header = Header {
        node: node.to_owned(),
        clock: clock_anchor(),
        engine: "std-udp example".to_owned(),
        wires: vec![WireText {
            name: "questions.wire".to_owned(),
            text: WIRE.to_owned(),
        }],
        ..Header::default()
    };
    let path = out.join(format!("{node}.reel"));
    Ok(Recorder::create(path, &header, Options::default())?)
}

/// Answers until both clients have had enough.
fn serve(socket: &RecordedSocket) -> io::Result<()> {
    let mut buffer = [0; 2048];
    let mut clients = 2;
    while clients > 0 {
        let (length, from) = socket.recv_from(&mut buffer)?;
        match &mut buffer[..length] {
            [_, _, 2, ..] => clients -= 1,
            [_, _, kind, text @ ..] => {
                *kind = 1;
                text.reverse();
                socket.send_to(&buffer[..length], from)?;
            }
            _ => socket.journal().note("a packet that is too short"),
        }
    }
    Ok(())
}

/// Asks, waits, and asks again where no answer came in time; the socket has its peer.
fn ask(socket: &RecordedSocket) -> io::Result<()> {
    socket.set_read_timeout(Some(Duration::from_secs(2)))?;
    let mut buffer = [0; 2048];
    for number in 0..QUESTIONS {
        // What makes the program do what it does belongs into the reel as well.
        let now = socket.journal().now();
        socket
            .journal()
            .tick(u64::from(number), Time(u64::from(number) * 1_000_000));
        let text = format!("question {number} at {} ns", now.nanos());
        socket.journal().input(text.as_bytes());
        let packet = [&number.to_be_bytes()[..], &[0], text.as_bytes()].concat();
        socket.send(&packet)?;
        loop {
            match socket.recv(&mut buffer) {
                Ok(3..) if buffer[..2] == number.to_be_bytes() => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    socket.send(&packet)?;
                }
                Err(error) => return Err(error),
            }
        }
    }
    socket.send(&[0xff, 0xff, 2])?;
    Ok(())
}

/// Plays and records a session: `out/server.reel`, `out/a.reel`, `out/b.reel`.
pub fn record(out: &Path) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let server = recorder(out, "server")?;
    let journal = Journal::new(server.pusher()?);
    let socket = RecordedSocket::bind("127.0.0.1:0", &journal)?;
    let address = socket.local_addr()?;
    let serving = std::thread::spawn(move || serve(&socket));
    for node in ["a", "b"] {
        let recorder = recorder(out, node)?;
        let journal = Journal::new(recorder.pusher()?);
        let socket = RecordedSocket::bind("127.0.0.1:0", &journal)?;
        socket.connect(address)?;
        ask(&socket)?;
        drop(socket);
        recorder.finish()?;
    }
    serving
        .join()
        .map_err(|_| "the server's thread panicked")??;
    server.finish()?;
    Ok(())
}
