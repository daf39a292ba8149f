//! A proxy is killed with SIGKILL at random moments while packets go through it. Every reel opens,
//! says that it was cut, and holds all that the server and the client had got, in order.
//!
//! The proxy is this test's own program, started again with a folder in its environment.
//! `NETREEL_KILLS` says how often.

use std::net::UdpSocket;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use netreel_capture::proxy::{FaultSpec, Proxy, Wanted};
use netreel_capture::{Options, open};
use netreel_reel::{Ending, Event, SocketId};
use netreel_transport::Draw;

const FOLDER: &str = "NETREEL_TEST_PROXY_FOLDER";
const TARGET: &str = "NETREEL_TEST_PROXY_TARGET";
const PATIENCE: Duration = Duration::from_secs(30);

/// Not a test of its own: what the killed process does.
#[test]
fn child() {
    let (Ok(folder), Ok(target)) = (std::env::var(FOLDER), std::env::var(TARGET)) else {
        return;
    };
    let folder = Path::new(&folder);
    let wanted = Wanted {
        routes: vec![format!("127.0.0.1:0={target}").parse().unwrap()],
        faults: FaultSpec::default(),
        seed: 1,
        clients_max: 4,
        idle: PATIENCE,
        reel: folder.join("proxy.reel"),
        // Small enough that it wraps and blocks are sealed meanwhile.
        options: Options {
            ring_capacity: 256 << 10,
            ..Options::default()
        },
    };
    let proxy = Proxy::open(wanted).unwrap();
    let listening = proxy.listening()[0].to_string();
    std::fs::write(folder.join("listening.new"), listening).unwrap();
    std::fs::rename(folder.join("listening.new"), folder.join("listening")).unwrap();
    proxy.run(|| false, &mut |_| {}).unwrap();
}

/// What the two ends got, in order.
#[derive(Default)]
struct Got {
    server: Vec<Vec<u8>>,
    client: Vec<Vec<u8>>,
}

/// A client that sends as fast as it can and a server that answers every second packet, until
/// `stop`; what each got. The client sends no more than a few ahead, so that nothing is dropped.
fn talk(client: &UdpSocket, server: &UdpSocket, stop: &AtomicBool) -> Got {
    let mut got = Got::default();
    let mut buffer = [0; 2000];
    let mut sent = 0u64;
    while !stop.load(Ordering::Relaxed) {
        if sent < got.server.len() as u64 + 32 {
            let mut packet = [b'.'; 300];
            packet[..8].copy_from_slice(&sent.to_le_bytes());
            let length = 8 + (sent as usize * 37) % 292;
            // Once the proxy is dead, the port is refused.
            sent += u64::from(client.send(&packet[..length]).is_ok());
        }
        while let Ok((length, from)) = server.recv_from(&mut buffer) {
            got.server.push(buffer[..length].to_vec());
            if got.server.len() % 2 == 0 {
                let _ = server.send_to(&buffer[..length], from);
            }
        }
        while let Ok(length) = client.recv(&mut buffer) {
            got.client.push(buffer[..length].to_vec());
        }
    }
    // What was on its way when the proxy died is in the sockets by now.
    for (socket, got) in [(server, &mut got.server), (client, &mut got.client)] {
        loop {
            match socket.recv(&mut buffer) {
                Ok(length) => got.push(buffer[..length].to_vec()),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {}
                Err(_) => break,
            }
        }
    }
    got
}

fn kill_once(after: Duration) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["child", "--exact", "--nocapture"])
        .env(FOLDER, folder.path())
        .env(TARGET, server.local_addr().unwrap().to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    let listening = loop {
        if let Ok(listening) = std::fs::read_to_string(folder.path().join("listening")) {
            break listening;
        }
        assert!(start.elapsed() < PATIENCE, "the proxy did not start");
        std::thread::sleep(Duration::from_millis(2));
    };
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.connect(&listening).unwrap();
    for socket in [&client, &server] {
        socket.set_nonblocking(true).unwrap();
    }
    let stop = AtomicBool::new(false);
    let got = std::thread::scope(|scope| {
        let talking = scope.spawn(|| talk(&client, &server, &stop));
        std::thread::sleep(after);
        child.kill().unwrap();
        child.wait().unwrap();
        stop.store(true, Ordering::Relaxed);
        talking.join().unwrap()
    });

    let reel = open(folder.path().join("proxy.reel")).expect("the reel opens");
    assert!(matches!(reel.ending(), Ending::Cut { .. }));
    let (mut up, mut down) = (Vec::new(), Vec::new());
    let walk = reel.for_each(|record| {
        if let Event::Sent {
            socket, payload, ..
        } = record.event
        {
            let to = if socket == SocketId(0) {
                &mut down
            } else {
                &mut up
            };
            to.push(payload.to_vec());
        }
    });
    assert!(walk.damaged.is_empty(), "{:?}", walk.damaged);
    assert!(
        up.starts_with(&got.server),
        "{} of {}",
        up.len(),
        got.server.len()
    );
    assert!(
        down.starts_with(&got.client),
        "{} of {}",
        down.len(),
        got.client.len()
    );
    // A send is pushed before it is done: at most the one under way is in the reel alone.
    assert!(up.len() <= got.server.len() + 1 && down.len() <= got.client.len() + 1);
    got.server.len()
}

#[test]
fn all_that_a_killed_proxy_had_passed_on_is_in_its_reel() {
    let kills: u64 = match std::env::var("NETREEL_KILLS") {
        Ok(count) => count.parse().expect("NETREEL_KILLS is a number"),
        Err(_) => 8,
    };
    let mut draw = Draw::new(4);
    let mut packets = 0;
    for _ in 0..kills {
        packets += kill_once(Duration::from_micros(draw.below(400_000)));
    }
    println!("{kills} kills, {packets} packets had arrived");
}
