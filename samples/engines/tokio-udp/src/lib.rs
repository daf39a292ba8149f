//! A server and clients on tokio, recorded.
//!
//! What to take over: `netreel_record::tokio::RecordedSocket` (feature `tokio`) has the methods of
//! tokio's socket: `send_to`, `recv_from`, `try_*`, `poll_*`, `readable`. A future that is dropped
//! before the operating system was asked leaves no event. Tasks may share a socket; the reel has
//! the order in which they reached the operating system.
//!
//! The example: a server on the waiting calls, and two clients that select between a timer and
//! their socket. `cargo run -p tokio-udp -- --out DIR`

use std::io;
use std::path::Path;
use std::time::Duration;

use netreel_record::tokio::RecordedSocket;
use netreel_record::{Journal, Options, Recorder, clock_anchor};
use netreel_reel::{Header, Time, WireText};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How many steps each client makes.
pub const STEPS: u16 = 40;

/// A step of one client goes to the server, which tells everybody.
const WIRE: &str = "\
wire steps { version = 1; byte_order = big; bit_order = msb; root = Packet; }
enum Kind : u8 { step = 0, told = 1, leave = 2 }
struct Packet { number: u16 @sequence; message: Message; }
struct Message @message { kind: Kind @message_kind; who: u8; where: bytes(rest); }
";

fn recorder(out: &Path, node: &str) -> Result<Recorder, Failure> {
    let header = Header {
        node: node.to_owned(),
        clock: clock_anchor(),
        engine: "tokio-udp example".to_owned(),
        wires: vec![WireText {
            name: "steps.wire".to_owned(),
            text: WIRE.to_owned(),
        }],
        ..Header::default()
    };
    let path = out.join(format!("{node}.reel"));
    Ok(Recorder::create(path, &header, Options::default())?)
}

/// Tells every client of each step, until all have left.
async fn serve(socket: RecordedSocket, clients: usize) -> io::Result<RecordedSocket> {
    let mut buffer = [0; 2048];
    let (mut known, mut left) = (Vec::new(), 0);
    let mut number = 0_u16;
    while left < clients {
        let (length, from) = socket.recv_from(&mut buffer).await?;
        if !known.contains(&from) {
            known.push(from);
        }
        let [_, _, kind, step @ ..] = &buffer[..length] else {
            continue;
        };
        if *kind == 2 {
            left += 1;
            known.retain(|client| *client != from);
            continue;
        }
        let told = [&number.to_be_bytes()[..], &[1], step].concat();
        number = number.wrapping_add(1);
        for client in &known {
            // What finds no room waits for it; what is not waited for is sent at once.
            match socket.try_send_to(&told, *client) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    socket.send_to(&told, *client).await?;
                }
                result => drop(result?),
            }
        }
    }
    Ok(socket)
}

/// Makes a step whenever the timer says so, hears of others meanwhile, and at last of its own.
async fn walk(socket: RecordedSocket, who: u8) -> io::Result<RecordedSocket> {
    let mut timer = tokio::time::interval(Duration::from_millis(2));
    let mut buffer = [0; 2048];
    let (mut made, mut heard) = (0_u16, 0_u16);
    while heard < STEPS {
        tokio::select! {
            _ = timer.tick(), if made < STEPS => {
                let now = socket.journal().now();
                socket.journal().tick(u64::from(made), Time(u64::from(made) * 2_000_000));
                let step = [&made.to_be_bytes()[..], &[0, who], &now.nanos().to_be_bytes()].concat();
                socket.send(&step).await?;
                made += 1;
            }
            came = socket.recv(&mut buffer) => {
                heard += u16::from(came? > 3 && buffer[3] == who);
            }
        }
    }
    let leave = [&made.to_be_bytes()[..], &[2, who]].concat();
    socket.send(&leave).await?;
    Ok(socket)
}

/// Plays and records a session: `out/server.reel`, `out/a.reel`, `out/b.reel`.
pub fn record(out: &Path) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), play(out)).await? })
}

async fn play(out: &Path) -> Result<(), Failure> {
    let server = recorder(out, "server")?;
    let journal = Journal::new(server.pusher()?);
    let socket = RecordedSocket::bind("127.0.0.1:0", &journal).await?;
    let address = socket.local_addr()?;
    let mut nodes = vec![(tokio::spawn(serve(socket, 2)), server)];
    for (who, node) in [(0, "a"), (1, "b")] {
        let recorder = recorder(out, node)?;
        let journal = Journal::new(recorder.pusher()?);
        let socket = RecordedSocket::bind("127.0.0.1:0", &journal).await?;
        socket.connect(address).await?;
        nodes.push((tokio::spawn(walk(socket, who)), recorder));
    }
    let mut ended = Vec::new();
    for (task, recorder) in nodes {
        ended.push((task.await??, recorder));
    }
    // What nobody has read by then is known to be lost.
    tokio::time::sleep(Duration::from_millis(300)).await;
    for (socket, recorder) in ended {
        drop(socket);
        recorder.finish()?;
    }
    Ok(())
}
