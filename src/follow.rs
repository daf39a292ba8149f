//! `netreel packets --follow`: what is sent and received, while it is recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use netreel_capture::{FollowEnd, Follower, reel_files, reels_at};
use netreel_protocol::packet_fields::{FieldValue, FieldsJson, PacketField, SHOWN};
use netreel_protocol::session::{Live, LiveEvent, LivePacket, LiveWhat, SessionTime};
use serde::Serialize;

use crate::arguments::Read;
use crate::outcome::{Answer, Result, fail};
use crate::packets::{MESSAGES_MAX, json, kinds_of};
use crate::{open, text};

/// The pause after a look that found nothing.
const PAUSE: Duration = Duration::from_millis(50);

/// A reel that cannot be opened for this long is named: no recorder takes that long to write a header.
const UNOPENED: Duration = Duration::from_secs(1);

pub fn run(arguments: &Read, out: &mut dyn Write) -> Result<Answer> {
    let source = &arguments.source;
    let keys = open::keys(source.keys.as_deref(), &source.paths)?;
    let wire = open::wire_given(&source.wire)?;
    let wire = wire.map(|wire| std::sync::Arc::new((*wire).clone().with_keys(keys)));
    let mut following = Following {
        live: Live::new(wire),
        reels: Vec::new(),
        known: BTreeSet::new(),
        unopened: BTreeMap::new(),
        recordings: BTreeSet::new(),
        start_utc_ns: None,
    };
    let mut is_spent = false;
    let mut columns = Columns::default();
    loop {
        following.find(&source.paths)?;
        following.tell_unopened(UNOPENED);
        let mut events = following.look()?;
        events.sort_by_key(|event| (event.utc_ns, event.node, event.event));
        if arguments.json {
            for event in &events {
                let time = following.time(event);
                json(&following.row(event, time), out)?;
            }
        } else {
            let lines = events.iter().map(|event| following.line(event));
            columns.print(&lines.collect::<Vec<_>>(), out)?;
        }
        out.flush()?;
        if following.live.unread() > 0 && !std::mem::replace(&mut is_spent, true) {
            anstream::eprintln!(
                "netreel: the wire's scripts took all steps that they may take: \
                 packets from here on are not read"
            );
        }
        if !events.is_empty() {
            continue;
        }
        if !following.reels.is_empty() && following.reels.iter().all(|reel| reel.end.is_some()) {
            following.tell_unopened(Duration::ZERO);
            return Ok(Answer::Clean);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Reels that are followed, and those that have ended.
struct Following {
    live: Live,
    reels: Vec<Reel>,
    known: BTreeSet<PathBuf>,
    unopened: BTreeMap<PathBuf, Unopened>,
    /// What ties the files of each recording together.
    recordings: BTreeSet<u64>,
    /// The time of the first event.
    start_utc_ns: Option<i128>,
}

/// A file that could not be opened, now or yet.
struct Unopened {
    since: Instant,
    why: String,
    is_told: bool,
}

struct Reel {
    follower: Follower,
    /// Its place among the nodes.
    node: usize,
    end: Option<FollowEnd>,
}

impl Following {
    /// Opens what is new below the paths.
    fn find(&mut self, paths: &[PathBuf]) -> Result {
        let mut unopened = BTreeMap::new();
        let mut fresh = Vec::new();
        for path in paths {
            // What is followed goes on, also where its first file was deleted to keep the later ones.
            if self.known.contains(path) {
                continue;
            }
            for file in files(path)
                .map_err(|error| format!("{}: cannot open it: {error}", path.display()))?
            {
                if self.known.contains(&file) {
                    continue;
                }
                match Follower::open(&file) {
                    Ok(follower) => {
                        if !path.is_dir() {
                            self.known.insert(path.clone());
                        }
                        fresh.push((follower.part(), file, follower));
                    }
                    // Its recorder may be about to write the header.
                    Err(error) => drop(unopened.insert(file, error.to_string())),
                }
            }
        }
        // A follower goes on to later parts of its recording by itself.
        fresh.sort_by_key(|((_, part), ..)| *part);
        for ((recording, _), file, follower) in fresh {
            let name = file.file_stem().unwrap_or_default().to_string_lossy();
            if recording == 0 || self.recordings.insert(recording) {
                tell_missing(&file, &follower);
                let node = self.live.add(follower.header(), &name);
                for &(socket, local) in follower.sockets() {
                    self.live.opened_before(node, socket, local);
                }
                self.reels.push(Reel {
                    follower,
                    node,
                    end: None,
                });
            }
            self.known.insert(file);
        }
        if let Some(why) = unopened.values().next()
            && self.reels.is_empty()
            && paths.iter().all(|path| path.is_file())
        {
            return fail(why);
        }
        self.unopened.retain(|file, _| unopened.contains_key(file));
        for (file, why) in unopened {
            let fresh = Unopened {
                since: Instant::now(),
                why: String::new(),
                is_told: false,
            };
            self.unopened.entry(file).or_insert(fresh).why = why;
        }
        Ok(())
    }

    /// Names what could not be opened for this long, once.
    fn tell_unopened(&mut self, after: Duration) {
        for unopened in self.unopened.values_mut() {
            if !unopened.is_told && unopened.since.elapsed() >= after {
                unopened.is_told = true;
                anstream::eprintln!("netreel: {}", unopened.why);
            }
        }
    }

    /// What came since the last look.
    fn look(&mut self) -> Result<Vec<LiveEvent>> {
        let mut events = Vec::new();
        for reel in &mut self.reels {
            if reel.end.is_some() {
                continue;
            }
            let (live, node) = (&mut self.live, reel.node);
            let looked = reel.follower.look(&mut |record| {
                events.extend(live.take(node, record));
            });
            reel.end = looked?;
            if reel.end.is_some() {
                live.ended(node);
            }
            if let Some(FollowEnd::Cut(why)) = reel.end {
                let path = reel.follower.path().display();
                anstream::eprintln!("netreel: {path} ends without its end: {why}");
            }
        }
        Ok(events)
    }

    /// When it was, in ns from the first event.
    fn time(&mut self, event: &LiveEvent) -> i64 {
        let start = *self.start_utc_ns.get_or_insert(event.utc_ns);
        i64::try_from(event.utc_ns - start).unwrap_or(i64::MAX)
    }

    fn line(&mut self, event: &LiveEvent) -> Line {
        let time = text::seconds(SessionTime(self.time(event)));
        let node = self.live.name(event.node).to_owned();
        let mut cells = vec![time, node];
        let words = match &event.what {
            LiveWhat::Packet(packet) => {
                let fields = columns().map(|(field, value)| match field {
                    PacketField::Messages => {
                        let kinds = self.live.wire().map_or(&[][..], |wire| wire.kinds());
                        let calls = packet.rpcs.iter();
                        let calls: Vec<Option<String>> =
                            calls.map(|rpc| Some(rpc.as_ref()?.short())).collect();
                        kinds_of(kinds, packet.facts.messages.iter(), &calls)
                    }
                    _ => field.words(&value(packet)),
                });
                cells.push(packet.way.name().to_owned());
                cells.extend(fields);
                None
            }
            LiveWhat::SendFailed { of, why } => {
                Some(format!("the send of event {of} failed: {why}"))
            }
            LiveWhat::Lacks(why) => Some(why.clone()),
        };
        Line { cells, words }
    }

    fn row(&self, event: &LiveEvent, time_ns: i64) -> Row {
        let mut row = Row {
            node: self.live.name(event.node).to_owned(),
            event: event.event.0,
            time_ns,
            what: "lacks",
            packet: keys(|_| FieldValue::Nothing),
            ..Row::default()
        };
        match &event.what {
            LiveWhat::Packet(packet) => {
                let kinds = self.live.wire().map_or(&[][..], |wire| wire.kinds());
                let name = |kind: netreel_wire::KindId| kinds.get(usize::from(kind.0));
                row.what = packet.way.name();
                row.packet = keys(|value| value(packet));
                row.kinds = packet
                    .facts
                    .messages
                    .iter()
                    .map(|message| Some(message.kind.and_then(name)?.name.clone()))
                    .collect();
                row.rpcs = packet
                    .rpcs
                    .iter()
                    .map(|rpc| Some(rpc.as_ref()?.name.clone()))
                    .collect();
            }
            LiveWhat::SendFailed { of, why } => {
                row.what = "send-failed";
                row.of = Some(of.0);
                row.why = Some(why.clone());
            }
            LiveWhat::Lacks(why) => row.why = Some(why.clone()),
        }
        row
    }
}

/// One line of `packets --follow`: the time and the node; then the columns of a packet, or words.
struct Line {
    cells: Vec<String>,
    words: Option<String>,
}

/// Where a field of a packet is read.
type ReadLive = fn(&LivePacket) -> FieldValue;

/// The columns of packets.
fn columns() -> impl Iterator<Item = (PacketField, ReadLive)> {
    let printed = SHOWN.into_iter().filter(|it| it.declared().printed);
    printed.filter_map(|field| Some((field, field.declared().live?)))
}

/// The keys of packets in JSON.
fn keys(value: impl Fn(ReadLive) -> FieldValue) -> FieldsJson {
    FieldsJson::new(|field| Some(value(field.declared().live?)))
}

/// How many of the cells stand before those of a packet.
const BEGIN: usize = 2;

/// How wide columns are: as wide as what has come so far. What is wider moves the lines behind it.
#[derive(Default)]
struct Columns {
    widths: Vec<usize>,
    begun: bool,
}

impl Columns {
    /// Prints what came together, and before the first of it the heads.
    fn print(&mut self, lines: &[Line], out: &mut dyn Write) -> Result {
        if lines.is_empty() {
            return Ok(());
        }
        lines.iter().for_each(|line| self.fit(line));
        if !self.begun {
            self.begun = true;
            let fields = columns().map(|(field, _)| field.declared().head);
            let begin = [PacketField::Time.declared().head, "node", ""];
            let heads = Line {
                cells: begin.into_iter().chain(fields).map(str::to_owned).collect(),
                words: None,
            };
            self.fit(&heads);
            self.line(&heads, out)?;
        }
        lines.iter().try_for_each(|line| self.line(line, out))
    }

    fn fit(&mut self, line: &Line) {
        let columns = self.widths.len().max(line.cells.len());
        self.widths.resize(columns, 0);
        for (place, (cell, width)) in line.cells.iter().zip(&mut self.widths).enumerate() {
            let chars = cell.chars().count();
            if place < BEGIN || chars <= MESSAGES_MAX {
                *width = chars.max(*width);
            }
        }
    }

    fn line(&self, line: &Line, out: &mut dyn Write) -> Result {
        let fields = columns().map(|(field, _)| field.declared().of.is_number());
        let are_numbers = [true, false, false].into_iter().chain(fields);
        let mut gap = "";
        for ((cell, width), is_number) in line.cells.iter().zip(&self.widths).zip(are_numbers) {
            if is_number {
                write!(out, "{gap}{cell:>width$}")?
            } else {
                write!(out, "{gap}{cell:<width$}")?
            }
            gap = "  ";
        }
        match &line.words {
            Some(words) => writeln!(out, "  {words}")?,
            None => writeln!(out)?,
        }
        Ok(())
    }
}

/// One line of `packets --follow --json`.
#[derive(Default, Serialize)]
struct Row {
    node: String,
    event: u64,
    time_ns: i64,
    what: &'static str,
    #[serde(flatten)]
    packet: FieldsJson,
    kinds: Vec<Option<String>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rpcs: Vec<Option<String>>,
    of: Option<u64>,
    why: Option<String>,
}

/// Says which parts of a recording are not there any more, where it is followed from a later one on.
fn tell_missing(file: &Path, follower: &Follower) {
    let parts = match follower.part() {
        (_, 0) => return,
        (_, 1) => "part 0 of the recording is".to_owned(),
        (_, first) => format!("parts 0 to {} of the recording are", first - 1),
    };
    anstream::eprintln!(
        "netreel: {} begins with event {}: {parts} not there, deleted while it was recorded or since",
        file.display(),
        follower.next_number()
    );
}

/// The reels at a path, in the order of their names; where the first file of a recording is gone,
/// the oldest of those that are there.
fn files(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    reels_at(path).or_else(|error| {
        let parts = reel_files(path).unwrap_or_default();
        let oldest = parts.into_iter().next();
        oldest.map(|oldest| vec![oldest]).ok_or(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(time: &str, node: &str, cells: [&str; 5]) -> Line {
        let cells = [time, node].into_iter().chain(cells);
        Line {
            cells: cells.map(str::to_owned).collect(),
            words: None,
        }
    }

    #[test]
    fn columns_are_as_wide_as_what_has_come() {
        let mut columns = Columns::default();
        let mut out = Vec::new();
        let first = line("0.1", "A", ["sent", "A -> B", "ping", "1", "9"]);
        columns.print(&[first], &mut out).unwrap();
        let node = "10.0.0.31:49152";
        let cells = ["received", "A -> 10.0.0.31:49152", "ping", "1", "9"];
        let second = line("12345.000001", node, cells);
        let third = line("2.0", "A", ["sent", "A -> B", "ping", "2", "9"]);
        columns.print(&[second, third], &mut out).unwrap();
        let expected = "time s  node        link    messages  seq  bytes\n   \
             0.1  A     sent  A -> B  ping        1      9\n\
             12345.000001  10.0.0.31:49152  received  A -> 10.0.0.31:49152  ping        1      9\n\
             \x20        2.0  A                sent      A -> B                ping        2      9\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
