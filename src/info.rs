//! `netreel info`: what a recording is.

use std::collections::BTreeSet;
use std::io::Write;

use netreel_protocol::export;
use netreel_protocol::history::{Connection, History};
use netreel_protocol::session::{
    Fate, Interface, NodeId, Observer, PacketId, Session, SessionReel, Traffic, Triggered,
};
use netreel_reel::{EndHint, Endpoint, Header, ProcessEnd};
use serde_json::{Value, json};

use crate::arguments::Info;
use crate::outcome::{Answer, Result};
use crate::packets::json as print_json;
use crate::text::Align::{Left, Right};
use crate::text::Table;
use crate::{bookmarks, open, text, tree};

pub fn run(arguments: &Info, out: &mut dyn Write) -> Result<Answer> {
    let story = open::story(&arguments.read.source)?;
    let session = &story.session;
    // What the wire says of very many packets takes a while, and is not what `info` is for.
    let is_whole = arguments.all || session.is_small();
    let history = is_whole.then(|| story.history());
    if is_whole {
        tree::say_misfits(session);
    }
    if arguments.read.json {
        print_info(session, history, out)?;
        return story.answered(out);
    }
    summary(session, history, out)?;
    writeln!(out)?;
    for observer in &session.observers {
        observed(observer, out)?;
    }
    let folded = if arguments.all {
        Folded::default()
    } else {
        Folded::of(session)
    };
    if !session.nodes.is_empty() {
        nodes(session, &folded, arguments.all, out)?;
    }
    ended(session, out)?;
    triggers(session, out)?;
    if !session.traffic().is_empty() {
        links(session, history, &folded, out)?;
        if let Some(history) = history {
            connections(session, history, out)?;
        }
    }
    notes(session, out)?;
    bookmarks::print(&arguments.read.source.paths, out)?;
    story.answered(out)
}

/// All of it as JSON.
fn print_info(session: &Session, history: Option<&History>, out: &mut dyn Write) -> Result {
    let info = match history {
        Some(history) => export::info(session, history),
        None => export::info_of_packets(session),
    };
    let mut info = serde_json::to_value(&info)?;
    let ends: Vec<Value> = programs(session)
        .map(|it| {
            let end = ProcessEnd::of(it.reel).map(end_json);
            json!({ "node": it.name, "ended": end })
        })
        .collect();
    if !ends.is_empty() {
        info["ended"] = ends.into();
    }
    print_json(&info, out)
}

/// When it was recorded, and how much there is.
fn summary(session: &Session, history: Option<&History>, out: &mut dyn Write) -> Result {
    let start = chrono::DateTime::from_timestamp_nanos(session.start_utc_ns);
    let length = session.span.end.0 - session.span.start.0;
    writeln!(
        out,
        "recorded   {} UTC",
        start.format("%Y-%m-%d %H:%M:%S%.3f")
    )?;
    writeln!(out, "length     {}", text::duration(length))?;
    if let Some(wire) = &session.wire {
        writeln!(out, "wire       {}", wire.names())?;
    }
    let sum = |part: &dyn Fn(&Traffic) -> u64| session.traffic().values().map(part).sum::<u64>();
    let unknown = match sum(&|link| link.fate(Fate::Unknown)) {
        0 => String::new(),
        number => format!(", {number} with an unknown fate"),
    };
    let unknown = match history.map_or(0, |history| acked(session, history)) {
        0 => unknown,
        number => format!("{unknown}, {number} of them acked"),
    };
    let lost = sum(&|link| link.fate(Fate::Lost));
    let unread = match sum(&|link| link.fate(Fate::Unread)) {
        0 => String::new(),
        number => format!(", {number} unread"),
    };
    let dropped = dropped(
        session,
        lost + sum(&|link| link.fate(Fate::Unread) + link.fate(Fate::Unknown)),
    );
    writeln!(
        out,
        "packets    {} of {}, {lost} lost{unread}{unknown}{dropped}",
        session.packet_count(),
        text::bytes(sum(&|link| link.bytes))
    )?;
    match history {
        Some(history) => {
            writeln!(out, "messages   {}", session.message_count())?;
            writeln!(out, "objects    {}", history.objects.len())?;
        }
        None => writeln!(
            out,
            "messages   not counted; --all counts them, and objects, resends and round trips"
        )?,
    }
    Ok(())
}

/// The reels of programs that were recorded as they are, by their nodes.
fn programs(session: &Session) -> impl Iterator<Item = SessionReel<'_>> {
    let reels = session.session_reels().into_iter();
    reels.filter(|it| it.reel.header().engine == Header::UNMODIFIED)
}

fn end_json(end: ProcessEnd) -> Value {
    match end {
        ProcessEnd::Code(code) => json!({ "code": code }),
        ProcessEnd::Signal(signal) => json!({ "signal": signal }),
    }
}

/// How each program ended.
fn ended(session: &Session, out: &mut dyn Write) -> Result {
    for it in programs(session) {
        let how = match (ProcessEnd::of(it.reel), ProcessEnd::hint(it.reel)) {
            (Some(end), _) => format!("with {end}"),
            (None, EndHint::ByItself) => "by itself; its exit code is not known".to_owned(),
            (None, EndHint::Becomes) => "as this program; it became another one".to_owned(),
            (None, EndHint::None) => "nobody knows how: its recording ended before it, or its \
                                      parent alone was told"
                .to_owned(),
        };
        writeln!(out, "ended      {}: {how}", it.name)?;
    }
    Ok(())
}

/// How many packets whose fate is unknown are known by an ack to have arrived.
fn acked(session: &Session, history: &History) -> usize {
    let packets = (0..).map(PacketId).zip(session.packets());
    let open = packets.filter(|(_, packet)| packet.fate == Fate::Unknown);
    open.filter(|(id, _)| history.acked(session, *id).is_some())
        .count()
}

/// What is told in one line instead of one each: links to groups and broadcast addresses, and those
/// on which every send failed, as a game makes them that looks for servers.
#[derive(Default)]
struct Folded {
    links: BTreeSet<(NodeId, NodeId)>,
    /// Nodes that have no other link.
    nodes: BTreeSet<NodeId>,
}

/// So few have a line each.
const FOLDED_MIN: usize = 4;

impl Folded {
    fn of(session: &Session) -> Folded {
        let node = |id: NodeId| session.node(id);
        let mut folded = Folded::default();
        let mut others = BTreeSet::new();
        for (&(from, to), link) in session.traffic() {
            let nobody = node(to).is_some_and(|to| !to.recorded);
            let group = node(to).is_some_and(|to| to.group);
            let failed = link.packets > 0 && link.fate(Fate::SendFailed) == link.packets;
            if nobody && (group || failed) {
                folded.links.insert((from, to));
            } else {
                others.extend([from, to]);
            }
        }
        if folded.links.len() < FOLDED_MIN {
            return Folded::default();
        }
        let nodes = folded.links.iter().map(|(_, to)| *to);
        folded.nodes = nodes.filter(|to| !others.contains(to)).collect();
        folded
    }
}

/// What kernels dropped, beside how many packets did not reach a program, as far as is known.
fn dropped(session: &Session, missing: u64) -> String {
    let dropped = session.kernel_drops_of_all();
    let told: Vec<NodeId> = (0..)
        .map(NodeId)
        .take(session.nodes.len())
        .filter(|&node| session.kernel_drops(node) > 0)
        .collect();
    let whose = match told[..] {
        [] => return String::new(),
        [only] => format!(
            "the kernel of {}, whose receive buffer was",
            session.name(only)
        ),
        _ => "kernels whose receive buffers were".to_owned(),
    };
    let of_these = if missing >= dropped { "of these " } else { "" };
    format!("; {of_these}{dropped} dropped by {whose} full")
}

/// How many endpoints of a node are listed, unless all are asked for.
const ENDPOINTS_MAX: usize = 8;

/// The first endpoints, and how many more there are.
fn endpoints(of: &[Endpoint], all: bool) -> String {
    let listed = match of.len() {
        // One more takes no more room than the word about it.
        count if all || count <= ENDPOINTS_MAX + 1 => count,
        _ => ENDPOINTS_MAX,
    };
    let (listed, others) = of.split_at(listed);
    let mut words: Vec<String> = listed.iter().map(ToString::to_string).collect();
    if !others.is_empty() {
        words.push(format!("and {} others; --all lists them", others.len()));
    }
    words.join(" ")
}

fn nodes(session: &Session, folded: &Folded, all: bool, out: &mut dyn Write) -> Result {
    // Where all share one clock nothing is to be said of it.
    let off = session
        .nodes
        .iter()
        .map(|node| node.clock_error_ns)
        .chain(session.observers.iter().map(|it| it.clock_error_ns));
    let are_several = off.max().is_some_and(|off| off > 0);
    let mut heads = vec!["node", "from s", "to s", "endpoints", "reel"];
    let mut sides = vec![Left, Right, Right, Left, Left];
    if are_several {
        heads.insert(3, "clock");
        sides.insert(3, Right);
    }
    let mut table = Table::new(sides);
    table.row(heads);
    for (id, node) in (0..).map(NodeId).zip(&session.nodes) {
        if folded.nodes.contains(&id) {
            continue;
        }
        let reel = match (node.recorded, node.complete) {
            (false, _) if node.seen => "none, seen".to_owned(),
            (false, _) => "none".to_owned(),
            (true, _) if node.window => "window".to_owned(),
            (true, complete) => {
                let limit =
                    node.limit
                        .as_ref()
                        .map(|limit| match limit.strip_prefix("it has reached ") {
                            Some(reached) => format!("ended at {reached}"),
                            None => limit.clone(),
                        });
                match (!node.holes.is_empty(), complete, limit) {
                    (true, _, None) => "has holes".to_owned(),
                    (true, _, Some(limit)) => format!("has holes, {limit}"),
                    (false, false, _) if node.goes_on => "so far".to_owned(),
                    (false, false, _) => "cut".to_owned(),
                    (false, true, None) => "complete".to_owned(),
                    (false, true, Some(limit)) => limit,
                }
            }
        };
        let captured = if node.captured { ", of a capture" } else { "" };
        let mut row = vec![
            node.name.clone(),
            text::seconds(node.span.start),
            text::seconds(node.span.end),
            endpoints(&node.endpoints, all),
            format!("{reel}{captured}"),
        ];
        if are_several {
            let known = node.recorded.then(|| off_by(node.clock_error_ns));
            row.insert(3, known.unwrap_or_default());
        }
        table.row(row);
    }
    table.print(out)?;
    if !folded.nodes.is_empty() {
        let nodes = folded.nodes.len();
        writeln!(
            out,
            "and {nodes} groups, broadcast addresses and addresses that nothing could be sent to; \
             --all lists them"
        )?;
    }
    Ok(())
}

/// How far a clock may be off the session's.
fn off_by(clock_error_ns: u64) -> String {
    match clock_error_ns {
        0 => "exact".to_owned(),
        u64::MAX => "unknown".to_owned(),
        error_ns => format!(
            "\u{b1} {}",
            text::duration(i64::try_from(error_ns).unwrap_or(i64::MAX))
        ),
    }
}

fn links(
    session: &Session,
    history: Option<&History>,
    folded: &Folded,
    out: &mut dyn Write,
) -> Result {
    writeln!(out)?;
    let mut table = Table::of_numbers([
        "link", "packets", "bytes", "lost", "dupl.", "reord.", "resent", "latency", "rtt",
    ]);
    let (mut packets, mut bytes) = (0, 0);
    for (&(from, to), link) in session.traffic() {
        if folded.links.contains(&(from, to)) {
            packets += link.packets;
            bytes += link.bytes;
            continue;
        }
        let told = history.and_then(|history| history.links(session).get(&(from, to)));
        let middle = |values: Option<(i64, i64, i64)>| {
            values.map_or_else(
                || "unknown".to_owned(),
                |(_, middle, _)| text::duration(middle),
            )
        };
        let mut latency = middle(link.latency_ns);
        if let (Some(stretch), Some(_)) = (session.measured(from, to).words(), link.latency_ns) {
            latency += &format!(" {stretch}");
        }
        table.row([
            text::link(session, from, to),
            link.packets.to_string(),
            text::bytes(link.bytes),
            link.fate(Fate::Lost).to_string(),
            link.duplicated.to_string(),
            link.reordered.to_string(),
            told.map_or_else(String::new, |link| link.resent.to_string()),
            latency,
            told.map_or_else(String::new, |link| middle(link.rtt_ns)),
        ]);
    }
    table.print(out)?;
    if !folded.links.is_empty() {
        writeln!(
            out,
            "and {} to groups, broadcast addresses and addresses that nothing could be sent to: \
             {}, {}; --all lists them",
            text::counted(folded.links.len(), "link"),
            text::counted(packets, "packet"),
            text::bytes(bytes)
        )?;
    }
    Ok(())
}

/// Connections, where there is more to say of them than that nodes talk: some met anew, or an address
/// changed.
fn connections(session: &Session, history: &History, out: &mut dyn Write) -> Result {
    let all = history.connections(session);
    let is_more = |it: &Connection| it.epoch > 1 || it.goes_on.is_some();
    let telling: BTreeSet<(NodeId, NodeId)> = all
        .iter()
        .filter(|it| is_more(it))
        .map(|it| it.nodes)
        .collect();
    if telling.is_empty() {
        return Ok(());
    }
    let mut table = Table::new([Left, Right, Right, Right, Right, Left]);
    table.row(["connection", "epoch", "from s", "to s", "packets", ""]);
    for each in all.iter().filter(|it| telling.contains(&it.nodes)) {
        let (one, other) = each.nodes;
        let goes_on = each
            .goes_on
            .map(|node| format!("goes on for {}", text::node(session, node)));
        table.row([
            format!(
                "{} <-> {}",
                text::node(session, one),
                text::node(session, other)
            ),
            each.epoch.to_string(),
            text::seconds(each.time.start),
            text::seconds(each.time.end),
            each.packets.iter().sum::<u64>().to_string(),
            goes_on.unwrap_or_default(),
        ]);
    }
    writeln!(out)?;
    table.print(out)
}

fn observed(observer: &Observer, out: &mut dyn Write) -> Result {
    writeln!(
        out,
        "observer   {}: {} from {} to {} s{}",
        observer.name,
        text::counted(observer.packets, "packet"),
        text::seconds(observer.span.start),
        text::seconds(observer.span.end),
        if observer.window { ", a window" } else { "" },
    )?;
    if observer.clock_error_ns > 0 {
        let off = off_by(observer.clock_error_ns);
        writeln!(out, "           clock {off}")?;
    }
    if observer.missed > 0 {
        writeln!(out, "           missed {}", observer.missed)?;
    }
    if observer.cut > 0 {
        let kept = "kept the first bytes alone of";
        writeln!(out, "           {kept} {}", observer.cut)?;
    }
    for interface in &observer.interfaces {
        writeln!(out, "           {}", passed(interface))?;
    }
    for note in &observer.notes {
        writeln!(out, "           {note}")?;
    }
    Ok(writeln!(out)?)
}

/// Each trigger once, whichever nodes it was told to.
fn triggers(session: &Session, out: &mut dyn Write) -> Result {
    let nodes = session.nodes.iter().map(|it| (&it.name, &it.triggers));
    let observers = session.observers.iter();
    let told = nodes.chain(observers.map(|it| (&it.name, &it.triggers)));
    let (mut own, mut others) = (Vec::new(), Vec::new());
    for (name, triggers) in told {
        for it in triggers {
            let same = |(_, other): &(&String, &Triggered)| other.trigger.id == it.trigger.id;
            // The ends that a proxy tells of have the same.
            if it.trigger.from_peer {
                others.push((name, it));
            } else if !own.iter().any(same) {
                own.push((name, it));
            }
        }
    }
    for (name, it) in others {
        if own.iter().all(|(_, own)| own.trigger.id != it.trigger.id) {
            own.push((name, it));
        }
    }
    own.sort_by_key(|(_, it)| (it.time, it.trigger.id));
    for (name, it) in own {
        writeln!(
            out,
            "trigger    at {} s at {name} ({}): {}",
            text::seconds(it.time),
            it.trigger.cause.name(),
            it.text
        )?;
    }
    Ok(())
}

/// How many packets passed where, in words.
fn passed(interface: &Interface) -> String {
    let name = match interface.name.as_str() {
        "" => "an interface without a name",
        name => name,
    };
    let link_type = interface.link_type.map(|it| format!(", link type {it}"));
    let packets = text::counted(interface.packets, "packet");
    format!("at {name}: {packets}{}", link_type.unwrap_or_default())
}

/// What stands in the reels for people, each sentence once, with the nodes that say it.
fn notes(session: &Session, out: &mut dyn Write) -> Result {
    let nodes = session.nodes.iter();
    let captured: Vec<Vec<String>> = nodes
        .map(|node| node.interfaces.iter().map(passed).collect())
        .collect();
    let mut notes: Vec<(&str, Vec<&str>)> = Vec::new();
    for (node, captured) in session.nodes.iter().zip(&captured) {
        for note in node.notes.iter().chain(captured) {
            match notes.iter_mut().find(|(known, _)| known == note) {
                Some((_, nodes)) => nodes.push(&node.name),
                None => notes.push((note, vec![&node.name])),
            }
        }
    }
    if !notes.is_empty() {
        writeln!(out)?;
    }
    for (note, nodes) in notes {
        writeln!(out, "note       {}: {}", nodes.join(", "), short(note))?;
    }
    Ok(())
}

/// Most characters of a note here.
const NOTE_MAX: usize = 200;

/// A note, or the start of a long one and where the rest is.
fn short(note: &str) -> String {
    if note.chars().count() <= NOTE_MAX {
        return note.to_owned();
    }
    let start: String = note.chars().take(NOTE_MAX).collect();
    let words = start
        .rsplit_once(' ')
        .map_or(start.as_str(), |(words, _)| words);
    format!("{words} ... (--json has all of it; docs/record.md explains)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_very_many_endpoints_the_first_are_listed() {
        let all: Vec<Endpoint> = (1..=1000)
            .map(|port| Endpoint::from(([10, 0, 0, 1], port)))
            .collect();
        let listed = |count: usize| endpoints(&all[..count], false);
        assert_eq!(listed(0), "");
        assert_eq!(listed(2), "10.0.0.1:1 10.0.0.1:2");
        assert!(listed(9).ends_with(" 10.0.0.1:9"));
        assert!(listed(1000).ends_with(" 10.0.0.1:8 and 992 others; --all lists them"));
        assert!(endpoints(&all, true).ends_with(" 10.0.0.1:1000"));
    }
}
