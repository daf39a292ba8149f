//! Two sessions held against each other: what `netreel diff` says of them, as rows that lead to what
//! they are about, and beside it where their links part by bytes.

use std::ops::Range;
use std::sync::Arc;

use netreel_protocol::diff::{ComparedSession, Diff, First};
use netreel_protocol::export::{self, DiffJson};
use netreel_protocol::history::{History, Level};
use netreel_protocol::session::{PacketId, Session, SessionTime};
use netreel_system::Cancel;

use crate::by_bytes::ByBytes;
use crate::command::Command;
use crate::swapped::{Swapped, swapped};
use crate::times::first_time;
use crate::{Model, text};

/// Two sessions, held against each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// What is added to a time of the other session to get one of this: the first messages that differ
    /// lie above each other, where both sessions have them, else the first packets whose bytes differ,
    /// or the begins where none do.
    pub offset_ns: i64,
    /// Where their links part by bytes.
    pub bytes: ByBytes,
    /// How they differ in a line.
    pub summary: String,
    /// How they differ: messages that came the other way round, where they part first, then findings,
    /// messages, beliefs, values.
    pub rows: Vec<Difference>,
}

/// A way in which they differ.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Difference {
    /// What it is of, in a word or two: `only here`, `believed`.
    pub mark: &'static str,
    /// For people. What `was` is of this session, what `is` of the other.
    pub words: String,
    /// Of a finding.
    pub level: Option<Level>,
    /// What shows it, here and in the other one.
    pub shown_by: [Option<Command>; 2],
    /// When that is, in this session's time.
    pub time: Option<SessionTime>,
}

/// A session with what followed from it.
pub type SessionTold = (Arc<Session>, Arc<History>);

impl Comparison {
    /// `None` where it is no longer wanted.
    pub(crate) fn new(
        one: &SessionTold,
        other: &SessionTold,
        cancel: &Cancel,
    ) -> Option<Comparison> {
        let bytes = ByBytes::new([&one.0, &other.0], cancel);
        let sides = [one, other].map(|(session, history)| ComparedSession { session, history });
        let mut offset_ns = bytes.offset_ns;
        let (summary, rows) = match Diff::while_wanted(sides, cancel) {
            Err(why) => (why.to_string(), Vec::new()),
            Ok(diff) => {
                let told = export::diff(sides, &diff);
                offset_ns = offset(sides, &diff).unwrap_or(offset_ns);
                let rows = Rows {
                    sides,
                    diff: &diff,
                    told: &told,
                    offset_ns,
                };
                let swapped = swapped(sides.map(|it| it.session), cancel);
                let mut all: Vec<_> = swapped
                    .iter()
                    .take(SWAPPED_MAX)
                    .map(|it| rows.swapped(it))
                    .collect();
                all.append(&mut rows.all());
                (summary(&told, swapped.len()), all)
            }
        };
        cancel.goes_on().then_some(Comparison {
            offset_ns,
            bytes,
            summary,
            rows,
        })
    }
}

/// How far apart the packets are with which they part first.
fn offset(sides: [ComparedSession<'_>; 2], diff: &Diff) -> Option<i64> {
    let packets = match diff.first()? {
        First::Changed(place) => diff.said.changed.get(place)?.packets,
        First::Differently(place) => diff.said.differently.get(place)?.packets,
        First::Only { .. } | First::Believed(_) => return None,
    };
    let time = |side: usize| Some(first_time(sides[side].session, packets[side])?.0);
    Some(time(0)?.saturating_sub(time(1)?))
}

/// So many messages that came the other way round have a row; the summary counts all.
const SWAPPED_MAX: usize = 100;

/// How many differences of which kind there are.
fn summary(told: &DiffJson, swapped: usize) -> String {
    if told.same && swapped == 0 {
        let messages = text::count(told.messages);
        return format!("none: {messages} messages, all beliefs, values and findings are the same");
    }
    let two = |both: [usize; 2], what: &str| match both {
        [0, 0] => None,
        [here, there] => Some(format!("{what} {here} only here, {there} only there")),
    };
    let one = |count: usize, what: &str| (count > 0).then(|| format!("{count} {what}"));
    let parts: Vec<String> = [
        one(swapped, "the other way round"),
        two(
            [
                told.findings_only.first.len(),
                told.findings_only.second.len(),
            ],
            "findings",
        ),
        one(told.levels.len(), "of another level"),
        two([told.only.first.len(), told.only.second.len()], "messages"),
        one(told.changed.len(), "with other fields"),
        one(told.differently.len(), "taken otherwise"),
        one(told.believed.len(), "beliefs"),
        one(told.valued.len(), "values"),
    ]
    .into_iter()
    .flatten()
    .collect();
    parts.join("   ")
}

/// What one of the two alone has.
const ONLY: [&str; 2] = ["only here", "only there"];

/// What rows are made of.
struct Rows<'a> {
    sides: [ComparedSession<'a>; 2],
    diff: &'a Diff,
    told: &'a DiffJson,
    offset_ns: i64,
}

impl Rows<'_> {
    fn all(&self) -> Vec<Difference> {
        let (diff, told) = (self.diff, self.told);
        let mut rows: Vec<Difference> = Vec::new();
        if let (Some(first), Some(words)) = (diff.first(), &told.first) {
            let mut row = match first {
                First::Only { side, place } => self.only(side, place),
                First::Changed(place) => self.changed(place, String::new()),
                First::Differently(place) => self.differently(place),
                First::Believed(place) => self.believed(place),
            };
            row.mark = "first";
            row.words = words.words.clone();
            rows.push(row);
        }
        rows.extend([0, 1].into_iter().flat_map(|side| self.findings(side)));
        rows.extend(self.levels());
        for side in [0, 1] {
            rows.extend((0..diff.said.only[side].len()).map(|place| self.only(side, place)));
        }
        rows.extend((0..diff.said.differently.len()).map(|place| self.differently(place)));
        rows.extend((0..diff.believed.len()).map(|place| self.believed(place)));
        rows.extend((0..diff.valued.len()).map(|place| self.valued(place)));
        for alike in told.changed_alike() {
            let Some(&place) = alike.places.first() else {
                continue;
            };
            let first = told
                .changed
                .get(place)
                .map_or_else(String::new, |it| it.fields_in_words());
            rows.push(self.changed(place, format!("{}, first: {first}", alike.words())));
        }
        rows.extend(self.other_nodes());
        rows
    }

    /// A time of one of the sessions as one of this.
    fn here(&self, side: usize, time: SessionTime) -> SessionTime {
        match side {
            0 => time,
            _ => SessionTime(time.0.saturating_add(self.offset_ns)),
        }
    }

    /// What packets show: it selects them, and is when the first of them is.
    fn of_packets(
        &self,
        mark: &'static str,
        at: [Option<PacketId>; 2],
        words: String,
    ) -> Difference {
        let time = (0..2).find_map(|side| {
            let first = first_time(self.sides[side].session, at[side]?)?;
            Some(self.here(side, first))
        });
        Difference {
            mark,
            words,
            shown_by: at.map(|packet| packet.map(Command::SelectPacket)),
            time,
            ..Difference::default()
        }
    }

    fn swapped(&self, it: &Swapped) -> Difference {
        let mut row = self.of_packets("swapped", it.packets.map(Some), it.words.clone());
        row.time = row.time.map(|_| self.here(0, it.at.time));
        row
    }

    fn findings(&self, side: usize) -> Vec<Difference> {
        self.diff.findings.only[side]
            .iter()
            .filter_map(|&place| {
                let finding = self.sides[side].history.findings.get(place)?;
                let mut shown_by = [None, None];
                shown_by[side] = Some(Command::SelectFinding(place));
                Some(Difference {
                    mark: ONLY[side],
                    words: finding.sentence.clone(),
                    level: Some(finding.level),
                    shown_by,
                    time: Some(self.here(side, finding.time)),
                })
            })
            .collect()
    }

    fn levels(&self) -> Vec<Difference> {
        let findings = &self.diff.findings;
        findings
            .levels
            .iter()
            .filter_map(|&(both, levels)| {
                let places = *findings.both.get(both)?;
                let finding = self.sides[0].history.findings.get(places[0])?;
                let [was, is] = levels.map(Level::name);
                Some(Difference {
                    mark: "level",
                    words: format!("{is}, was {was}: {}", finding.sentence),
                    level: Some(levels[0]),
                    shown_by: places.map(|place| Some(Command::SelectFinding(place))),
                    time: Some(finding.time),
                })
            })
            .collect()
    }

    fn only(&self, side: usize, place: usize) -> Difference {
        let mut at = [None, None];
        at[side] = self.diff.said.only[side].get(place).map(|it| it.packet);
        let told = [&self.told.only.first, &self.told.only.second][side].get(place);
        let words = told.map(|it| format!("{} → {}  {}", it.from, it.to, it.about.words));
        self.of_packets(ONLY[side], at, words.unwrap_or_default())
    }

    fn changed(&self, place: usize, words: String) -> Difference {
        let packets = self.diff.said.changed.get(place).map(|it| it.packets);
        self.of_packets("fields", both(packets), words)
    }

    fn differently(&self, place: usize) -> Difference {
        let packets = self.diff.said.differently.get(place).map(|it| it.packets);
        let words = self.told.differently.get(place).map(|it| it.words());
        self.of_packets("taken", both(packets), words.unwrap_or_default())
    }

    fn believed(&self, place: usize) -> Difference {
        let object = self.diff.believed.get(place).map(|it| it.object);
        let words = self.told.believed.get(place).map(|it| it.words());
        self.of_object("believed", object, words)
    }

    fn valued(&self, place: usize) -> Difference {
        let object = self.diff.valued.get(place).map(|it| it.object);
        let words = self.told.valued.get(place).map(|it| it.sentence());
        self.of_object("value", object, words)
    }

    /// What is about an object: it selects that in those that know it.
    fn of_object(
        &self,
        mark: &'static str,
        object: Option<u64>,
        words: Option<String>,
    ) -> Difference {
        Difference {
            mark,
            words: words.unwrap_or_default(),
            shown_by: self.sides.map(|side| {
                let known = object.filter(|object| side.history.objects.contains_key(object))?;
                Some(Command::SelectObject(Some(known)))
            }),
            ..Difference::default()
        }
    }

    fn other_nodes(&self) -> Vec<Difference> {
        let both = [&self.told.other_nodes.first, &self.told.other_nodes.second];
        both.into_iter()
            .zip(ONLY)
            .filter(|(names, _)| !names.is_empty())
            .map(|(names, mark)| Difference {
                mark,
                words: format!("nodes, of which nothing is compared: {}", names.join(", ")),
                ..Difference::default()
            })
            .collect()
    }
}

/// Packets that both sessions have.
fn both(packets: Option<[PacketId; 2]>) -> [Option<PacketId>; 2] {
    packets.map_or([None; 2], |packets| packets.map(Some))
}

impl Model {
    /// What work beside the window is about.
    pub(crate) fn session_and_history(&self) -> SessionTold {
        (Arc::clone(&self.session), Arc::clone(&self.judged.history))
    }

    /// This session held against another one; `None` until it is worked out, which this begins.
    pub fn compared(&self, other: &Model) -> Option<Arc<Comparison>> {
        if self.lacks_history() || other.lacks_history() {
            return None;
        }
        let (one, two) = (self.session_and_history(), other.session_and_history());
        let key = (self.grown, Arc::as_ptr(&other.session) as usize);
        let work = move |cancel: &Cancel| Comparison::new(&one, &two, cancel);
        let is_quick = self.is_quick() && other.is_quick();
        let compared = &self.beside.compared;
        let (compared, is_it) = compared.get(&key, is_quick, &self.coming.wake, work)?;
        is_it.then_some(compared)
    }

    /// Shows this stretch of time and this moment, of a session that is shown below another one: no
    /// step back leads here.
    pub fn follow(&mut self, visible: Range<SessionTime>, cursor: Option<SessionTime>) {
        self.visible = visible;
        self.cursor = cursor;
    }
}
