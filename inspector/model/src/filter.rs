//! The filter: an expression of the query language and the packets that it takes.
//!
//! A thread of its own looks at the packets of a session that is not short, slice by slice. What it
//! has found so far is shown meanwhile.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;

use netreel_protocol::history::History;
use netreel_protocol::query::Query;
use netreel_protocol::session::{PacketId, Session};

use crate::crowd::{Crowd, Drawn};
use crate::judged::Findings;
use crate::links::Links;
use crate::taken::Taken;
use crate::{Command, Model, judged};

/// A session of up to this many packets is filtered at once.
const AT_ONCE: usize = 4096;

/// How many packets are looked at together.
const SLICE: usize = 1 << 14;

/// At most this many slices are taken in for a frame, and wait to be taken in.
const SLICES_MAX: usize = 2;

/// The filter in force and the text that is being typed.
#[derive(Debug, Default)]
pub struct Filter {
    /// As it was typed.
    pub text: String,
    /// What is wrong with the text. Where it cannot be read, what stands before its last `&&` or `||` that
    /// can is in force, and where there is no such part, what was in force before.
    pub error: Option<String>,
    /// Whether it ends amid a word that is being typed: that part takes and leaves out nothing yet.
    pub amid_a_word: bool,
    found: Option<Found>,
    /// The expression in force.
    query: Option<Query>,
    waits: bool,
    changed: u64,
}

/// What an expression has taken.
#[derive(Debug)]
struct Found {
    taken: Taken,
    /// Those packets, a row each.
    crowd: Crowd,
    /// How many packets there are to look at.
    total: usize,
    /// What they are about; `None` where the history is not known.
    objects: Option<BTreeSet<u64>>,
    findings: Option<Findings>,
    /// What is still to come.
    rest: Option<Receiver<Slice>>,
}

/// How far whoever types a filter has come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Typing {
    /// It is meant as it stands.
    Done,
    /// It goes on, behind a whole word.
    BehindAWord,
    /// It goes on, amid a word: what that is to be is not known yet, so that it counts as one that cannot
    /// be read.
    AmidAWord,
}

/// Some packets that follow each other.
#[derive(Debug)]
struct Slice {
    packets: Range<usize>,
    /// Those of them that the filter takes.
    taken: Vec<(PacketId, Drawn)>,
    /// What those are about.
    objects: BTreeSet<u64>,
    /// All findings that the filter takes, with the first slice.
    findings: Option<Findings>,
}

/// What a filter looks at.
pub struct Source {
    session: Arc<Session>,
    /// `None` where it is not known yet.
    history: Option<Arc<History>>,
    links: Arc<Links>,
}

/// Looks at packets.
struct Search {
    query: Query,
    of: Source,
}

impl Filter {
    /// Whether it leaves packets out.
    pub fn is_narrow(&self) -> bool {
        self.found.is_some()
    }

    /// Whether it speaks of the history, and that is not known yet: until then it takes no packet.
    pub fn waits(&self) -> bool {
        self.waits
    }

    /// How many packets it has looked at, while there are more to look at. Until then it takes none
    /// of those.
    pub fn looked_at(&self) -> Option<usize> {
        let found = self.found.as_ref()?;
        found.rest.as_ref()?;
        Some(found.taken.looked())
    }

    /// A number that is another one whenever it takes other packets.
    pub(crate) fn changed(&self) -> u64 {
        self.changed
    }

    /// The packets that it takes, ready to be drawn; `None` where it takes all.
    pub(crate) fn crowd(&self) -> Option<&Crowd> {
        self.found.as_ref().map(|found| &found.crowd)
    }

    /// Which packets it takes; `None` where it takes all.
    pub(crate) fn taken(&self) -> Option<&Taken> {
        self.found.as_ref().map(|found| &found.taken)
    }

    /// The objects that the packets are about which it has taken so far; `None` where all are shown.
    pub(crate) fn objects(&self) -> Option<&BTreeSet<u64>> {
        self.found.as_ref()?.objects.as_ref()
    }

    /// The findings that it takes; `None` where it takes all.
    pub(crate) fn findings(&self) -> Option<&Findings> {
        self.found.as_ref()?.findings.as_ref()
    }

    /// Takes a new text. Returns whether it takes other packets from now on, or looks for the same anew:
    /// while somebody types it does not, as long as what can be read of the text is in force already.
    pub(crate) fn set(&mut self, (text, typing): (String, Typing), of: Source) -> bool {
        let session = &of.session;
        self.text = text;
        self.amid_a_word = typing == Typing::AmidAWord;
        self.error = None;
        if self.text.trim().is_empty() {
            self.changed += 1;
            self.found = None;
            self.query = None;
            self.waits = false;
            return true;
        }
        let query = match Query::parse(&self.text) {
            Ok(query) if !self.amid_a_word => {
                // A name that nothing has is a slip more often than a question.
                let unknown = query.unknown_names(session);
                self.error = (!unknown.is_empty()).then(|| unknown.join("; "));
                Some(query)
            }
            Ok(_) => readable_head(&self.text),
            Err(error) => {
                let asked = Query::asked(&self.text, session, &[]);
                self.error = Some(asked.unwrap_or_else(|| error.to_string()));
                readable_head(&self.text)
            }
        };
        let Some(query) = query else { return false };
        if typing != Typing::Done && self.stands(&query) {
            return false;
        }
        self.changed += 1;
        self.waits = of.history.is_none() && query.needs_history();
        self.query = Some(query.clone());
        let search = Search { query, of };
        self.found = Some(if self.waits {
            search.nothing()
        } else {
            search.begin()
        });
        true
    }

    /// Whether an expression is in force, and all that it takes is known, is looked for or waits for the
    /// history.
    fn stands(&self, query: &Query) -> bool {
        let all = |found: &Found| found.rest.is_some() || found.taken.looked() >= found.total;
        self.query.as_ref() == Some(query) && (self.waits || self.found.as_ref().is_some_and(all))
    }

    /// Looks again at all packets, with the history that is known now.
    pub(crate) fn resume(&mut self, of: Source) {
        if let Some(query) = self.query.clone() {
            self.waits = false;
            self.changed += 1;
            self.found = Some(Search { query, of }.begin());
        }
    }

    /// Takes in what was found since, as much as a frame has time for. Returns whether there is
    /// more to come.
    pub(crate) fn advance(&mut self, session: &Session) -> bool {
        for _ in 0..SLICES_MAX {
            match self.rest().map(Receiver::try_recv) {
                Some(Ok(slice)) => self.take(session, slice),
                Some(Err(TryRecvError::Empty)) => return true,
                Some(Err(TryRecvError::Disconnected)) => self.break_off(session),
                None => return false,
            }
        }
        self.rest().is_some()
    }

    /// Waits until all packets were looked at.
    pub(crate) fn finish(&mut self, session: &Session) {
        while let Some(rest) = self.rest() {
            match rest.recv() {
                Ok(slice) => self.take(session, slice),
                Err(_) => self.break_off(session),
            }
        }
    }

    /// Whether there are packets that it has not looked at yet.
    pub(crate) fn is_looking(&self) -> bool {
        self.rest().is_some()
    }

    fn rest(&self) -> Option<&Receiver<Slice>> {
        self.found.as_ref()?.rest.as_ref()
    }

    fn take(&mut self, session: &Session, slice: Slice) {
        if let Some(found) = &mut self.found {
            self.changed += 1;
            found.take(session, slice);
        }
    }

    /// Whoever looked at the packets ended before the last of them.
    fn break_off(&mut self, session: &Session) {
        if let Some(found) = &mut self.found {
            found.rest = None;
            self.changed += 1;
            found.crowd.finish(session);
            let looked = found.taken.looked();
            self.error = Some(format!("the filter failed at packet {looked}"));
        }
    }

    /// How many bytes of memory what it takes has.
    pub(crate) fn memory(&self) -> usize {
        let found = self.found.iter();
        found
            .map(|found| found.taken.memory() + found.crowd.memory())
            .sum()
    }
}

/// The longest part that stands before an `&&` or `||` and can be read.
fn readable_head(text: &str) -> Option<Query> {
    let mut head = text;
    while let Some(end) = head.rfind("&&").max(head.rfind("||")) {
        head = &head[..end];
        if let Ok(query) = Query::parse(head) {
            return Some(query);
        }
    }
    None
}

/// How a filter is joined to the one in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// It alone.
    Alone,
    /// What both take.
    And,
    /// What one of them takes.
    Or,
    /// What the one in force takes and it does not.
    Not,
}

/// What stands between the `&&` that are in no brackets and no text; all in one where one `||` is.
fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut from, mut depth, mut quoted) = (Vec::new(), 0, 0usize, false);
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        let is_two = |two: &str| text.get(at..).is_some_and(|rest| rest.starts_with(two));
        match letter {
            _ if escaped => {
                escaped = false;
                continue;
            }
            '\\' => escaped = quoted,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '|' if depth == 0 && is_two("||") => return vec![text],
            '&' if depth == 0 && at >= from && is_two("&&") => {
                parts.push(text[from..at].trim());
                from = at + 2;
            }
            _ => {}
        }
    }
    parts.push(text[from..].trim());
    parts
}

impl Model {
    /// The filter in force joined with another, of which it takes no part twice; where none is in
    /// force, the other alone.
    pub fn joined(&self, how: Join, other: &str) -> String {
        let within = |text: &str| {
            if text.contains("||") || text.contains(" or ") {
                format!("({text})")
            } else {
                text.to_owned()
            }
        };
        let now = self.filter.text.trim();
        match how {
            Join::Not if now.is_empty() => format!("!({other})"),
            _ if now.is_empty() => other.to_owned(),
            Join::Alone => other.to_owned(),
            Join::And => {
                let known = parts(now);
                let mut new = parts(other);
                new.retain(|part| !known.contains(part));
                let new = new.join(" && ");
                if new.is_empty() {
                    now.to_owned()
                } else {
                    format!("{} && {}", within(now), within(&new))
                }
            }
            Join::Or => format!("{now} || {other}"),
            Join::Not => format!("{} && !({other})", within(now)),
        }
    }

    /// Filters by both the filter in force and another.
    pub fn narrowed(&self, other: &str) -> Command {
        Command::SetFilter(self.joined(Join::And, other))
    }

    /// The parts of the filter that all have to fit, where there are several: each with the filter
    /// without it.
    pub fn filter_parts(&self) -> Vec<(String, String)> {
        let parts = parts(self.filter.text.trim());
        let without = |place: usize| {
            let others: Vec<&str> = parts
                .iter()
                .enumerate()
                .filter(|(at, _)| *at != place)
                .map(|(_, part)| *part)
                .collect();
            others.join(" && ")
        };
        match parts.len() {
            0 | 1 => Vec::new(),
            _ => parts
                .iter()
                .enumerate()
                .map(|(place, part)| ((*part).to_owned(), without(place)))
                .collect(),
        }
    }

    /// What may stand at the end of a filter that is being typed, each with all of the text up to there.
    pub fn completions(&self, before: &str) -> Vec<(String, String)> {
        Query::completions(before, &self.session)
    }

    /// Takes a filter as it is while somebody types it.
    pub(crate) fn type_filter(&mut self, text: String) {
        let typing = if Query::ends_amid_a_word(&text, &self.session) {
            Typing::AmidAWord
        } else {
            Typing::BehindAWord
        };
        self.take_filter((text, typing));
    }

    pub(crate) fn set_filter(&mut self, text: String) {
        self.take_filter((text, Typing::Done));
    }

    /// What the filter looks at now.
    pub(crate) fn source(&self) -> Source {
        let history = &self.judged.history;
        Source {
            session: Arc::clone(&self.session),
            history: (!self.lacks_history()).then(|| Arc::clone(history)),
            links: Arc::clone(&self.index.links),
        }
    }

    fn take_filter(&mut self, text: (String, Typing)) {
        if self.filter.set(text, self.source()) {
            self.arrange_taken();
            self.arrange_objects();
            self.look_order();
        }
    }

    /// Takes in what the filter has found since the last frame. Returns whether it is still looking.
    pub(crate) fn advance_filter(&mut self) -> bool {
        let taken = |filter: &Filter| {
            (
                filter.objects().map(|objects| objects.len()),
                filter.findings().is_some(),
            )
        };
        let before = taken(&self.filter);
        let more = self.filter.advance(&self.session);
        let now = taken(&self.filter);
        if now.0 != before.0 {
            self.arrange_objects();
        }
        if now.1 != before.1 {
            self.arrange_taken();
        }
        more
    }

    /// Waits until the filter has looked at all packets.
    pub fn finish_filter(&mut self) {
        self.filter.finish(&self.session);
        self.arrange_taken();
        self.arrange_objects();
        self.look_order();
    }
}

impl Found {
    fn take(&mut self, session: &Session, slice: Slice) {
        if let Some(objects) = &mut self.objects {
            objects.extend(slice.objects);
        }
        if slice.findings.is_some() {
            self.findings = slice.findings;
        }
        let mut taken = slice.taken.iter().peekable();
        for packet in slice.packets.map(|place| PacketId(place as u32)) {
            let next = taken.next_if(|(next, _)| *next == packet);
            self.taken.push(next.is_some());
            if let Some((_, drawn)) = next {
                self.crowd.push(session, drawn);
            }
        }
        if self.taken.looked() >= self.total {
            self.crowd.finish(session);
            self.rest = None;
        }
    }
}

impl Search {
    /// No packets so far.
    fn nothing(&self) -> Found {
        Found {
            taken: Taken::default(),
            crowd: Crowd::new(self.of.session.nodes.len()),
            total: self.of.session.packet_count(),
            objects: self.of.history.is_some().then(BTreeSet::new),
            findings: None,
            rest: None,
        }
    }

    /// Looks at a few packets at once, at many on a thread of their own.
    fn begin(self) -> Found {
        let mut found = self.nothing();
        let total = found.total;
        if total <= AT_ONCE {
            let mut slice = self.slice(0..total);
            slice.findings = self.findings();
            found.take(&self.of.session, slice);
            return found;
        }
        let (to, rest) = sync_channel(SLICES_MAX);
        found.rest = Some(rest);
        // Where there can be no thread, nobody sends anything, and that is told as a failure.
        drop(
            thread::Builder::new()
                .name("filter".to_owned())
                .spawn(move || self.run(&to)),
        );
        found
    }

    /// Looks at all packets, as long as somebody wants to know.
    fn run(&self, to: &SyncSender<Slice>) {
        let total = self.of.session.packet_count();
        for start in (0..total).step_by(SLICE) {
            let mut slice = self.slice(start..(start + SLICE).min(total));
            if start == 0 {
                slice.findings = self.findings();
            }
            if to.send(slice).is_err() {
                return;
            }
        }
    }

    fn slice(&self, packets: Range<usize>) -> Slice {
        let Source {
            session,
            history,
            links,
        } = &self.of;
        let within = (packets.start, packets.len());
        let nothing = History::default();
        let known = history.as_deref().unwrap_or(&nothing);
        let taken = self.query.packets(session, &|| known, within);
        let objects = match history {
            Some(history) => self.objects(&taken, history),
            None => BTreeSet::new(),
        };
        let taken = taken
            .into_iter()
            .filter_map(|id| {
                let packet = session.packet(id)?;
                Some((id, Drawn::new(&packet, links.stretch(&packet))))
            })
            .collect();
        Slice {
            packets,
            taken,
            objects,
            findings: None,
        }
    }

    /// What the messages of packets are about, those that the filter takes.
    fn objects(&self, packets: &[PacketId], history: &History) -> BTreeSet<u64> {
        let session = &self.of.session;
        let mut objects = BTreeSet::new();
        for &packet in packets {
            for (message, facts) in session.messages_of(packet) {
                if let Some(object) = facts.object
                    && !objects.contains(&object)
                    && self.query.message(session, history, message)
                {
                    objects.insert(object);
                }
            }
        }
        objects
    }

    fn findings(&self) -> Option<Findings> {
        let history = self.of.history.as_deref()?;
        let passes = |place: &usize| {
            history
                .findings
                .get(*place)
                .is_some_and(|it| self.query.finding(&self.of.session, history, it))
        };
        Some(Findings::of(
            judged::order(history).into_iter().filter(passes),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn a_filter_has_parts_between_what_joins_them() {
        for (text, expected) in [
            ("", &[""][..]),
            ("lost", &["lost"]),
            ("lost && from == A", &["lost", "from == A"]),
            ("(a || b) && !(c && d)", &["(a || b)", "!(c && d)"]),
            ("a && b || c", &["a && b || c"]),
            (
                r#"text == "x && \" y" && lost"#,
                &[r#"text == "x && \" y""#, "lost"],
            ),
            ("a &&& b", &["a", "& b"]),
        ] {
            assert_eq!(parts(text), expected, "{text}");
        }
    }
}
