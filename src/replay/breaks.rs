//! Where a replay is to stop: conditions, and a file that keeps them beside the session.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use netreel_protocol::query::{AtANode, Query};
use netreel_protocol::session::{PacketId, SessionReel};
use netreel_reel::{EventNumber, Record};

use crate::open::{self, Story};
use crate::whole;

/// What is looked for in the events of one reel.
pub struct Condition {
    /// As it was typed.
    pub text: String,
    met: Met,
}

enum Met {
    Event(EventNumber),
    Events(BTreeSet<EventNumber>),
    Packets(BTreeSet<PacketId>),
    /// For each of the queries that are left at some moment, the packets that fit.
    PacketsWhile(AtANode, Vec<BTreeSet<PacketId>>),
}

impl Condition {
    /// Reads `event 218`, `time 1.2s`, `finding`, `finding RULE`, a filter, or what the node is to
    /// believe of an object (`objects[42].owner == X`). The sentence says what is wrong.
    pub fn parse(text: &str, story: &Story, reel: &SessionReel<'_>) -> Result<Condition, String> {
        let text = text.trim();
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let rest = rest.trim();
        let met = match word {
            "" => {
                let ways = "a filter, `event N`, `time T`, `finding`, `objects[N].owner == NODE`";
                return Err(format!("say where: {ways}"));
            }
            "event" if !rest.is_empty() && !rest.starts_with(['=', '!', '<', '>']) => {
                Met::Event(number(rest)?)
            }
            "time" if rest.starts_with(|first: char| first.is_ascii_digit()) => {
                let time = open::time(rest).map_err(|failure| failure.to_string())?;
                let event = reel.event_at(time);
                Met::Event(event.ok_or_else(|| format!("the reel ends before {rest}"))?)
            }
            "finding" if rest.is_empty() || !rest.contains(['&', '|', ')']) => {
                Met::Events(findings(rest, story, reel)?)
            }
            _ => {
                let session = &story.session;
                let query = open::query_at_a_node(text, session)?;
                let packets = |query: &Query| {
                    let packets = story.packets(query).into_iter();
                    packets.collect::<BTreeSet<PacketId>>()
                };
                match query.is_about_beliefs_and_packets() {
                    (false, _) => Met::Packets(packets(&query)),
                    (true, about_packets) => {
                        let course = query.at_a_node(session, story.history(), reel)?;
                        if about_packets {
                            let sets = course.queries.iter().map(packets).collect();
                            Met::PacketsWhile(course, sets)
                        } else {
                            Met::Events(course.begins)
                        }
                    }
                }
            }
        };
        let text = text.to_owned();
        Ok(Condition { text, met })
    }

    /// Whether an event is what is looked for.
    pub fn is_met(&self, reel: &SessionReel<'_>, record: &Record<'_>) -> bool {
        match &self.met {
            Met::Event(number) => record.number == *number,
            Met::Events(numbers) => numbers.contains(&record.number),
            Met::Packets(packets) => is_of(packets, reel, record),
            Met::PacketsWhile(course, sets) => {
                let packets = course.at(reel.time(record)).and_then(|at| sets.get(at));
                packets.is_some_and(|packets| is_of(packets, reel, record))
            }
        }
    }

    /// The first event that fits.
    pub fn first(&self, reel: &SessionReel<'_>) -> Option<EventNumber> {
        let mut first = None;
        reel.reel.for_each(|record| {
            if first.is_none() && self.is_met(reel, record) {
                first = Some(record.number);
            }
        });
        first
    }
}

fn is_of(packets: &BTreeSet<PacketId>, reel: &SessionReel<'_>, record: &Record<'_>) -> bool {
    let packet = reel.packet(record.number);
    packet.is_some_and(|packet| packets.contains(&packet))
}

/// An event's number.
pub fn number(text: &str) -> Result<EventNumber, String> {
    let number = text
        .parse::<u64>()
        .map_err(|_| format!("`{text}` is not the number of an event"))?;
    Ok(EventNumber(number))
}

/// The evidence of findings in the reel of one node.
fn findings(
    rule: &str,
    story: &Story,
    reel: &SessionReel<'_>,
) -> Result<BTreeSet<EventNumber>, String> {
    let findings = &story.history().findings;
    let of_rule = findings
        .iter()
        .filter(|finding| rule.is_empty() || finding.rule == rule);
    let mut found = 0;
    let mut events = BTreeSet::new();
    for finding in of_rule {
        found += 1;
        let here = finding
            .proof()
            .filter(|piece| Some(piece.node) == reel.node);
        events.extend(here.map(|piece| piece.number));
    }
    if events.is_empty() {
        let what = match (found, rule) {
            (0, "") => "nothing was found in this session".to_owned(),
            (0, rule) => {
                let rules: BTreeSet<&str> = findings.iter().map(|it| it.rule).collect();
                let rules = if rules.is_empty() {
                    "nothing".to_owned()
                } else {
                    Vec::from_iter(rules).join(", ")
                };
                format!("nothing was found by the rule `{rule}`; this session has: {rules}")
            }
            _ => format!("no finding has evidence in the reel of {}", reel.name),
        };
        return Err(what);
    }
    Ok(events)
}

/// No file of breakpoints has more bytes; it may be somebody else's.
const BYTES_MAX: u64 = 64 << 10;

/// Breakpoints, as they stand in their file: one a line.
pub struct Breaks {
    file: PathBuf,
    pub list: Vec<Condition>,
}

impl Breaks {
    /// Those that lie beside a session. What is not understood is told, and stays in the file until
    /// the next change.
    pub fn beside(
        path: &Path,
        story: &Story,
        reel: &SessionReel<'_>,
        tell: &mut dyn FnMut(String),
    ) -> Breaks {
        let file = open::folder_of(path).join("breakpoints.txt");
        let text = whole::read(&file, BYTES_MAX).unwrap_or_default();
        let mut list = Vec::new();
        for line in text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .take(1000)
        {
            match Condition::parse(line, story, reel) {
                Ok(condition) => list.push(condition),
                Err(why) => tell(format!("{}: `{line}`: {why}", file.display())),
            }
        }
        Breaks { file, list }
    }

    /// Writes the file; without breakpoints there is none.
    pub fn keep(&self) -> Result<(), String> {
        let done = if self.list.is_empty() {
            match std::fs::remove_file(&self.file) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
                other => other,
            }
        } else {
            let lines = self.list.iter().map(|it| format!("{}\n", it.text));
            whole::write(&self.file, &lines.collect::<String>())
        };
        done.map_err(|error| format!("breakpoints are not kept: {}: {error}", self.file.display()))
    }
}
