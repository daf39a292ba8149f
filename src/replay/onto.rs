//! `netreel replay --node NODE --to HOST:PORT`: what a node said, said to a live endpoint.

use std::io::{ErrorKind, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::time::{Duration, Instant};

use netreel_protocol::figures::moment;
use netreel_protocol::session::{ReelInput, SessionTime};
use netreel_reel::{Endpoint, Time};
use netreel_replay::carries;
use netreel_replay::onto::{self, Next, Onto, Pace};
use serde_json::{Value as Json, json};

use super::reels::{choose, names, wire_of};
use crate::arguments::Replay;
use crate::open::{self, Reels};
use crate::outcome::{Answer, Failure, Result, fail};
use crate::text;

/// The largest datagram.
const DATAGRAM_MAX: usize = 65_536;
/// A socket's time-out must not be 0.
const WAIT_MIN: Duration = Duration::from_micros(50);

/// How long what does not come is waited for, in seconds.
const PATIENCE_S: f64 = 1.0;

pub fn run(arguments: &Replay, to: &str, out: &mut dyn Write) -> Result<Answer> {
    let reels = open::reels(&arguments.read.source.paths)?;
    text::warn(&reels.unread);
    let chosen = choose(&reels.inputs, arguments.node.as_deref())?;
    let [input] = chosen.as_slice() else {
        let names = reels.inputs.iter().map(|it| it.reel.header().node.as_str());
        return fail(format!(
            "one node at a time can speak to a live endpoint; name it with --node: {}",
            text::joined(names, ", ")
        ));
    };
    let given = open::wire_given(&arguments.read.source.wire)?;
    let wire = wire_of(&given, &input.reel)?;
    let peer = peer(arguments, input, &reels)?;
    let said = onto::said(&input.reel, peer);
    let options = &arguments.onto;
    let pace = if options.as_answered {
        Pace::Answers
    } else {
        Pace::Recorded {
            speed: options.speed,
        }
    };
    let patience = Duration::from_secs_f64(arguments.patience.unwrap_or(PATIENCE_S));
    let live = resolve(to)?;
    let mut onto = Onto::new(wire.as_deref(), said, peer, (pace, patience));
    let refused = speak(&mut onto, live)?;
    let node = &input.reel.header().node;
    if arguments.read.json {
        writeln!(out, "{}", as_json(node, (peer, live), &onto, refused))?
    } else {
        print(node, &onto, refused, out)?
    }
    if refused && onto.came().is_empty() {
        return fail(format!(
            "nobody listens at {live}: start what is to be spoken to"
        ));
    }
    Ok(match onto.missing().next() {
        None => Answer::Clean,
        Some(_) => Answer::Wrong,
    })
}

/// Whom the node spoke to.
fn peer(arguments: &Replay, input: &ReelInput, reels: &Reels) -> Result<Endpoint> {
    let name = names(&reels.reels());
    let peers = onto::peers(&input.reel);
    let node = &input.reel.header().node;
    let listed = || {
        let peers = peers.iter().map(|(endpoint, peer)| {
            let known = name(*endpoint).map_or(String::new(), |name| format!("{name} at "));
            format!("{known}{endpoint} ({})", text::counted(peer.sent, "packet"))
        });
        text::joined(peers, ", ")
    };
    let Some(asked) = &arguments.onto.peer else {
        let mut all = peers.keys();
        return match (all.next(), all.next()) {
            (Some(only), None) => Ok(*only),
            (None, _) => fail(format!("{node} sent no packet: there is nothing to say")),
            _ => fail(format!(
                "{node} spoke to several; name one with --peer: {}",
                listed()
            )),
        };
    };
    let is_asked = |endpoint: &&Endpoint| {
        name(**endpoint).as_deref() == Some(asked) || endpoint.to_string() == *asked
    };
    let found = peers.keys().find(is_asked);
    found
        .copied()
        .ok_or_else(|| Failure::new(format!("--peer {asked}: {node} spoke to: {}", listed())))
}

fn resolve(to: &str) -> Result<SocketAddr> {
    let failed = |why: String| {
        Failure::new(format!(
            "--to {to}: {why}; write an address or a host's name, and a port: 127.0.0.1:7000"
        ))
    };
    let mut found = to
        .to_socket_addrs()
        .map_err(|error| failed(error.to_string()))?;
    found
        .next()
        .ok_or_else(|| failed("no such host".to_owned()))
}

/// Says all of it; whether the other machine said that nobody listens there.
fn speak(onto: &mut Onto<'_>, live: SocketAddr) -> Result<bool> {
    let failed = |error: std::io::Error| Failure::new(format!("{live}: {error}"));
    let any: SocketAddr = match live {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any).map_err(failed)?;
    socket.connect(live).map_err(failed)?;
    let begun = Instant::now();
    let now = || Time(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX));
    let mut buffer = vec![0; DATAGRAM_MAX];
    let mut refused = false;
    loop {
        let at = now();
        let until = match onto.next(at) {
            Next::Over => return Ok(refused),
            Next::Send(packet) => {
                match socket.send(&packet) {
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::ConnectionRefused => refused = true,
                    Err(error) => return Err(failed(error)),
                }
                continue;
            }
            Next::Wait(until) => until,
        };
        let wait = Duration::from_nanos(until.nanos().saturating_sub(at.nanos()));
        socket
            .set_read_timeout(Some(wait.max(WAIT_MIN)))
            .map_err(failed)?;
        match socket.recv(&mut buffer) {
            Ok(length) => onto.hear(now(), buffer.get(..length).unwrap_or_default()),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {}
                ErrorKind::ConnectionRefused => refused = true,
                _ => return Err(failed(error)),
            },
        }
    }
}

/// A line a packet, in the order in which they were sent and came.
fn print(node: &str, onto: &Onto<'_>, refused: bool, out: &mut dyn Write) -> Result {
    let mut lines: Vec<(Duration, String)> = Vec::new();
    for sent in onto.sent() {
        let mut line = format!(
            "-> event {:<6} {}{}",
            sent.number.0,
            text::bytes(sent.packet.len() as u64),
            carries(&sent.packet, onto.wire())
        );
        match &sent.changed {
            Ok(changed) => {
                for it in changed {
                    line += &format!("; {} {} instead of {}", it.path, it.to, it.from);
                }
            }
            Err(why) => line += &format!("; {why}"),
        }
        lines.push((sent.at, line));
    }
    for came in onto.came() {
        let beside = match came.instead_of {
            Some(number) => format!("event {:<6}", number.0),
            None => "not recorded".to_owned(),
        };
        let mut line = format!(
            "<- {beside} {}{}",
            text::bytes(came.packet.len() as u64),
            carries(&came.packet, onto.wire())
        );
        let recorded = came.instead_of.and_then(|number| onto.recorded(number));
        if let Some(recorded) = recorded {
            line += &format!("; recorded at {}", seconds(onto.recorded_at(recorded)));
            match &came.difference {
                None => line += ", the same bytes",
                Some(it) => {
                    line += &format!(", {}: {}, came {}", it.path, it.expected, it.came);
                }
            }
        }
        lines.push((came.at, line));
    }
    // Sends come before what came at the same time.
    lines.sort_by_key(|(at, _)| *at);
    for (at, line) in lines {
        writeln!(out, "{:>10}  {line}", seconds(at))?;
    }
    for said in onto.missing() {
        writeln!(
            out,
            "{:>10}  <- event {:<6} {}{} did not come",
            "",
            said.number.0,
            text::bytes(said.packet.len() as u64),
            carries(&said.packet, onto.wire())
        )?;
    }
    let counts = Counts::of(onto);
    writeln!(
        out,
        "{node}: {} sent, {} of them with live values; {} came: {} as recorded, {} of them to the \
         byte; {} not recorded; {} did not come",
        text::counted(counts.sent, "packet"),
        counts.live,
        counts.came,
        counts.paired,
        counts.equal,
        counts.more,
        counts.missing
    )?;
    if refused {
        writeln!(out, "{node}: at times nobody listened there")?;
    }
    Ok(())
}

struct Counts {
    sent: u64,
    live: u64,
    came: u64,
    paired: u64,
    equal: u64,
    more: u64,
    missing: u64,
}

impl Counts {
    fn of(onto: &Onto<'_>) -> Counts {
        let is_live = |sent: &&onto::Sent| sent.changed.as_ref().is_ok_and(|it| !it.is_empty());
        let is_paired = |came: &&onto::Came| came.instead_of.is_some();
        let came = onto.came().len() as u64;
        let paired = onto.came().iter().filter(is_paired).count() as u64;
        let equal = onto.came().iter().filter(is_paired);
        Counts {
            sent: onto.sent().len() as u64,
            live: onto.sent().iter().filter(is_live).count() as u64,
            came,
            paired,
            equal: equal.filter(|came| came.difference.is_none()).count() as u64,
            more: came - paired,
            missing: onto.missing().count() as u64,
        }
    }
}

fn as_json(
    node: &str,
    (peer, live): (Endpoint, SocketAddr),
    onto: &Onto<'_>,
    refused: bool,
) -> Json {
    let counts = Counts::of(onto);
    let sent = onto.sent().iter().map(|sent| {
        let (changed, why) = match &sent.changed {
            Ok(changed) => (changed.as_slice(), Json::Null),
            Err(why) => (&[][..], why.to_string().into()),
        };
        let changed = changed
            .iter()
            .map(|it| json!({ "path": it.path, "recorded": it.from, "sent": it.to }));
        json!({
            "event": sent.number.0,
            "at_ns": nanos(sent.at),
            "recorded_at_ns": nanos(sent.recorded_at),
            "bytes": text::hex(&sent.packet),
            "changed": changed.collect::<Vec<_>>(),
            "not_changed_because": why,
        })
    });
    let came = onto.came().iter().map(|came| {
        let recorded = came.instead_of.and_then(|number| onto.recorded(number));
        let difference = came
            .difference
            .as_ref()
            .map(|it| json!({ "path": it.path, "recorded": it.expected, "came": it.came }));
        json!({
            "event": came.instead_of.map(|number| number.0),
            "at_ns": nanos(came.at),
            "recorded_at_ns": recorded.map(|it| nanos(onto.recorded_at(it))),
            "bytes": text::hex(&came.packet),
            "recorded_bytes": recorded.map(|it| text::hex(&it.packet)),
            "difference": difference,
        })
    });
    let missing = onto.missing().map(|said| {
        json!({
            "event": said.number.0,
            "recorded_at_ns": nanos(onto.recorded_at(said)),
            "bytes": text::hex(&said.packet),
        })
    });
    json!({
        "node": node,
        "peer": peer.to_string(),
        "to": live.to_string(),
        "refused": refused,
        "packets_sent": counts.sent,
        "with_live_values": counts.live,
        "packets_came": counts.came,
        "as_recorded": counts.paired,
        "equal": counts.equal,
        "not_recorded": counts.more,
        "did_not_come": counts.missing,
        "sent": sent.collect::<Vec<_>>(),
        "came": came.collect::<Vec<_>>(),
        "missing": missing.collect::<Vec<_>>(),
    })
}

fn seconds(length: Duration) -> String {
    moment(SessionTime(
        i64::try_from(length.as_nanos()).unwrap_or(i64::MAX),
    ))
}

fn nanos(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}
