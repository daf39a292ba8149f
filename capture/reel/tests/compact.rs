//! How many bytes a recorded packet costs beyond its payload: goal 6 of the design.

use netreel_reel::{
    CallId, ClockId, Ending, Event, EventNumber, Header, Record, Reel, ReelWriter, SendOutcome,
};
use netreel_reel::{SocketId, ThreadId, Time};

/// Cheap and repeatable.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// What one node of the boxes game does: at 60 Hz a tick, a clock read, packets received, an
/// empty poll, packets sent. Gaps as measured on loopback, with a sleep that wakes up late.
struct Workload {
    peers: u64,
    payload: std::ops::Range<u64>,
    ticks: u64,
}

struct Measured {
    packets: u64,
    payload: u64,
    /// The reel without its header, which does not grow.
    bytes: u64,
}

fn record(workload: &Workload) -> (Vec<u8>, Measured) {
    let mut dice = Dice(7);
    let mut writer = ReelWriter::create(Vec::new(), &Header::default()).unwrap();
    let header = writer.length();
    let (mut number, mut payload_bytes, mut packets) = (0, 0, 0);
    let mut push = |time: u64, event: Event<'_>| {
        let record = Record {
            number: EventNumber(number),
            time: Time(time),
            thread: ThreadId(0),
            event,
        };
        writer.push(&record).unwrap();
        number += 1;
        EventNumber(number - 1)
    };
    let socket = SocketId(0);
    let bytes = [5; 2000];
    let start = 86_400_123_456_789;
    for tick in 0..workload.ticks {
        let virtual_ns = tick * 1_000_000_000 / 60;
        let mut time = start + virtual_ns + 50_000 + dice.below(120_000);
        push(
            time,
            Event::Tick {
                tick,
                time: Time(virtual_ns),
            },
        );
        time += 100 + dice.below(200);
        push(time, Event::Clock { value: Time(time) });
        for received in [true, false] {
            for peer in 0..workload.peers {
                let endpoint = format!("127.0.0.1:{}", 7001 + peer).parse().unwrap();
                let length = workload.payload.start
                    + dice.below(workload.payload.end - workload.payload.start);
                let payload = &bytes[..length as usize];
                payload_bytes += length;
                packets += 1;
                time += 2_000 + dice.below(8_000);
                if received {
                    push(
                        time,
                        Event::Received {
                            socket,
                            from: endpoint,
                            payload,
                        },
                    );
                } else {
                    let of = push(
                        time,
                        Event::Sent {
                            socket,
                            to: endpoint,
                            payload,
                        },
                    );
                    push(
                        time,
                        Event::SendResult {
                            of,
                            outcome: SendOutcome::Sent,
                        },
                    );
                }
            }
            if received {
                push(time, Event::PollEmpty { socket });
            }
        }
    }
    let reel = writer.finish().unwrap();
    let bytes = reel.len() as u64 - header;
    (
        reel,
        Measured {
            packets,
            payload: payload_bytes,
            bytes,
        },
    )
}

fn check_cost(workload: &Workload, bytes_max: f64) {
    let (reel, measured) = record(workload);
    let over = (measured.bytes - measured.payload) as f64 / measured.packets as f64;
    let rate = measured.packets as f64 / (workload.ticks as f64 / 60.0);
    println!("{rate:.0} packets/s: {over:.2} bytes over the payload a packet");
    assert!(
        over <= bytes_max,
        "{rate:.0} packets/s: {over:.2} bytes over the payload a packet"
    );
    let reel = Reel::from_bytes(reel).unwrap();
    assert_eq!(reel.ending(), &Ending::Clean);
    assert_eq!(reel.for_each(|_| {}).events, reel.len());
}

/// Three peers at 60 Hz, payloads as the boxes game has them (half of them have 22 bytes).
#[test]
fn the_boxes_workload_costs_at_most_6_bytes_a_packet() {
    check_cost(
        &Workload {
            peers: 3,
            payload: 11..30,
            ticks: 3600,
        },
        5.0,
    );
}

#[test]
fn at_240_packets_a_second_a_packet_costs_at_most_6_bytes() {
    check_cost(
        &Workload {
            peers: 2,
            payload: 11..30,
            ticks: 3600,
        },
        6.0,
    );
}

#[test]
fn packets_of_up_to_120_bytes_cost_at_most_6_bytes() {
    check_cost(
        &Workload {
            peers: 3,
            payload: 20..120,
            ticks: 3600,
        },
        6.0,
    );
}

#[test]
fn a_busy_server_pays_less() {
    check_cost(
        &Workload {
            peers: 14,
            payload: 20..120,
            ticks: 3600,
        },
        5.0,
    );
    check_cost(
        &Workload {
            peers: 14,
            payload: 20..1200,
            ticks: 600,
        },
        6.0,
    );
}

/// What a busy server of the Quake 3 family does in 27 seconds: 1.7 million reads of
/// gettimeofday, a select and an empty receive for every eighth of them, 300 packets a second.
fn spinning(clock: ClockId) -> u64 {
    let mut dice = Dice(11);
    let mut writer = ReelWriter::create(Vec::new(), &Header::default()).unwrap();
    let header = writer.length();
    let socket = SocketId(0);
    let peer = "127.0.0.1:27960".parse().unwrap();
    let (ahead, mut time, mut number) = (1_700_000_000_123_456_789, 5_000_000_000, 0);
    let bytes = [9; 1400];
    let mut payload_bytes = 0;
    let mut push = |time: u64, event: Event<'_>| {
        let record = Record {
            number: EventNumber(number),
            time: Time(time),
            thread: ThreadId(0),
            event,
        };
        writer.push(&record).unwrap();
        number += 1;
    };
    for read in 0..1_700_000u64 {
        time += 60 + dice.below(31_600);
        let (at, value) = match clock {
            ClockId::GETTIMEOFDAY => {
                let value = (time + ahead) / 1000 * 1000;
                (value - ahead, value)
            }
            _ => (time, time),
        };
        push(at, Event::ClockRead { clock, value });
        if read % 8 == 0 {
            let call = CallId::SELECT;
            let (result, details) = (0, &[][..]);
            push(
                time,
                Event::Called {
                    call,
                    result,
                    details,
                },
            );
            push(time, Event::PollEmpty { socket });
        }
        if read % 210 == 0 {
            let payload = &bytes[..40 + dice.below(500) as usize];
            payload_bytes += payload.len() as u64;
            let from = peer;
            push(
                time + 900,
                Event::Received {
                    socket,
                    from,
                    payload,
                },
            );
        }
    }
    writer.finish().unwrap().len() as u64 - header - payload_bytes
}

#[test]
fn a_million_and_seven_hundred_thousand_clock_reads_cost_at_most_5_mb() {
    let bytes = spinning(ClockId::GETTIMEOFDAY);
    println!("1.7 million reads in microseconds, beyond the payload: {bytes} bytes");
    assert!(bytes <= 5_000_000, "{bytes} bytes");
}

#[test]
fn clock_reads_in_nanoseconds_cost_about_three_bytes_each() {
    let bytes = spinning(ClockId::MONOTONIC);
    println!("1.7 million reads in nanoseconds, beyond the payload: {bytes} bytes");
    assert!(bytes <= 6_500_000, "{bytes} bytes");
}

#[test]
fn a_packet_that_an_observer_saw_costs_at_most_10_bytes() {
    let mut writer = ReelWriter::create(Vec::new(), &Header::default()).unwrap();
    let header = writer.length();
    let mut dice = Dice(7);
    let (mut time, mut payload_bytes) = (1_000_000u64, 0u64);
    let bytes = [0x5a; 600];
    let at = |port: u64| -> netreel_reel::Endpoint {
        format!("10.0.0.{}:{}", port % 200, 7000 + port)
            .parse()
            .unwrap()
    };
    for number in 0..100_000u64 {
        time += dice.below(1_000_000);
        let payload = &bytes[..20 + dice.below(500) as usize];
        payload_bytes += payload.len() as u64;
        // A server, and 63 clients.
        let (client, server) = (at(1 + dice.below(63)), at(0));
        let (from, to) = match number % 2 {
            0 => (client, server),
            _ => (server, client),
        };
        writer
            .push(&Record {
                number: EventNumber(number),
                time: Time(time),
                thread: ThreadId(0),
                event: Event::Seen { from, to, payload },
            })
            .unwrap();
    }
    let over = writer.finish().unwrap().len() as u64 - header - payload_bytes;
    println!("beyond the payload: {} bytes a packet", over as f64 / 1e5);
    assert!(over <= 1_000_000, "{over} bytes for 100 000 packets");
}
