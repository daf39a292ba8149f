//! The filter: an expression of the query language and the packets that it takes.
//!
//! A thread of its own looks at the packets of a session that is not short, slice by slice. What it
//! has found so far is shown meanwhile.

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;

use netreel_protocol::history::History;
use netreel_protocol::query::Query;
use netreel_protocol::session::{PacketId, Session};

use crate::crowd::{Crowd, Drawn};
use crate::links::Links;
use crate::taken::Taken;

/// A session of up to so many packets is filtered at once.
const AT_ONCE: usize = 4096;

/// So many packets are looked at together.
const SLICE: usize = 1 << 14;

/// At most so many slices are taken in for a frame, and wait to be taken in.
const SLICES_MAX: usize = 2;

/// The filter in force and the text that is being typed.
#[derive(Debug, Default)]
pub struct Filter {
    /// As it was typed.
    pub text: String,
    /// What is wrong with the text. Where it cannot be read, the last good expression stays in
    /// force.
    pub error: Option<String>,
    found: Option<Found>,
    /// What is in force once the history is known.
    waiting: Option<Query>,
}

/// What an expression has taken.
#[derive(Debug)]
struct Found {
    taken: Taken,
    /// Those packets, a row each.
    crowd: Crowd,
    /// How many packets there are to look at.
    total: usize,
    /// What is still to come.
    rest: Option<Receiver<Slice>>,
}

/// Some packets that follow each other.
#[derive(Debug)]
struct Slice {
    packets: Range<usize>,
    /// Those of them that the filter takes.
    taken: Vec<(PacketId, Drawn)>,
}

/// Looks at packets.
struct Search {
    query: Query,
    session: Arc<Session>,
    history: Arc<History>,
    links: Arc<Links>,
}

impl Filter {
    /// Whether it leaves packets out.
    pub fn is_narrow(&self) -> bool {
        self.found.is_some()
    }

    /// Whether it speaks of the history, and that is not known yet: until then it takes no packet.
    pub fn waits(&self) -> bool {
        self.waiting.is_some()
    }

    /// How many packets it has looked at, while there are more to look at. Until then it takes none
    /// of those.
    pub fn looked_at(&self) -> Option<usize> {
        let found = self.found.as_ref()?;
        found.rest.as_ref()?;
        Some(found.taken.looked())
    }

    /// The packets that it takes, ready to be drawn; `None` where it takes all.
    pub(crate) fn crowd(&self) -> Option<&Crowd> {
        self.found.as_ref().map(|found| &found.crowd)
    }

    /// Which packets it takes; `None` where it takes all.
    pub(crate) fn taken(&self) -> Option<&Taken> {
        self.found.as_ref().map(|found| &found.taken)
    }

    /// Takes a new text. `history` is `None` where it is not known yet.
    pub(crate) fn set(
        &mut self,
        text: String,
        session: &Arc<Session>,
        history: Option<&Arc<History>>,
        links: &Arc<Links>,
    ) {
        self.text = text;
        self.error = None;
        if self.text.trim().is_empty() {
            self.found = None;
            self.waiting = None;
            return;
        }
        match Query::parse(&self.text) {
            Ok(query) => {
                // A name that nothing has is a slip more often than a question.
                let unknown = query.unknown_names(session);
                self.error = (!unknown.is_empty()).then(|| unknown.join("; "));
                let waits = history.is_none() && query.needs_history();
                let history = history.cloned().unwrap_or_default();
                self.waiting = waits.then(|| query.clone());
                let search = Search::new(query, session, history, links);
                self.found = Some(match waits {
                    true => search.nothing(),
                    false => search.begin(),
                });
            }
            Err(error) => self.error = Some(error.to_string()),
        }
    }

    /// Takes in that the history is known.
    pub(crate) fn resume(
        &mut self,
        session: &Arc<Session>,
        history: &Arc<History>,
        links: &Arc<Links>,
    ) {
        if let Some(query) = self.waiting.take() {
            let search = Search::new(query, session, history.clone(), links);
            self.found = Some(search.begin());
        }
    }

    /// Takes in what was found since, as much as a frame has time for. Returns whether there is
    /// more to come.
    pub(crate) fn advance(&mut self, session: &Session) -> bool {
        for _ in 0..SLICES_MAX {
            let next = self.rest().map(Receiver::try_recv);
            match next {
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

    fn rest(&self) -> Option<&Receiver<Slice>> {
        self.found.as_ref()?.rest.as_ref()
    }

    fn take(&mut self, session: &Session, slice: Slice) {
        if let Some(found) = &mut self.found {
            found.take(session, slice);
        }
    }

    /// Whoever looked at the packets ended before the last of them.
    fn break_off(&mut self, session: &Session) {
        if let Some(found) = &mut self.found {
            found.rest = None;
            found.crowd.finish(session);
            let looked = found.taken.looked();
            self.error = Some(format!("the filter failed at packet {looked}"));
        }
    }

    /// How many bytes of memory what it takes has.
    pub(crate) fn memory(&self) -> usize {
        let found = self.found.iter();
        let memory = found.map(|found| found.taken.memory() + found.crowd.memory());
        memory.sum()
    }
}

impl Found {
    fn take(&mut self, session: &Session, slice: Slice) {
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
    fn new(
        query: Query,
        session: &Arc<Session>,
        history: Arc<History>,
        links: &Arc<Links>,
    ) -> Search {
        Search {
            query,
            session: session.clone(),
            history,
            links: links.clone(),
        }
    }

    /// No packets so far.
    fn nothing(&self) -> Found {
        Found {
            taken: Taken::default(),
            crowd: Crowd::new(self.session.nodes.len()),
            total: self.session.packet_count(),
            rest: None,
        }
    }

    /// Looks at a few packets at once, at many on a thread of their own.
    fn begin(self) -> Found {
        let mut found = self.nothing();
        let total = found.total;
        if total <= AT_ONCE {
            found.take(&self.session, self.slice(0..total));
            return found;
        }
        let (to, rest) = sync_channel(SLICES_MAX);
        found.rest = Some(rest);
        // Where there can be no thread, nobody sends anything, and that is told as a failure.
        let builder = thread::Builder::new().name("filter".to_owned());
        drop(builder.spawn(move || self.run(&to)));
        found
    }

    /// Looks at all packets, as long as somebody wants to know.
    fn run(&self, to: &SyncSender<Slice>) {
        let total = self.session.packet_count();
        for start in (0..total).step_by(SLICE) {
            let slice = self.slice(start..(start + SLICE).min(total));
            if to.send(slice).is_err() {
                return;
            }
        }
    }

    fn slice(&self, packets: Range<usize>) -> Slice {
        let within = (packets.start, packets.len());
        let taken = self.query.packets(&self.session, &|| &self.history, within);
        let drawn = taken.into_iter().filter_map(|id| {
            let packet = self.session.packet(id)?;
            Some((id, Drawn::new(&packet, self.links.stretch(&packet))))
        });
        let taken = drawn.collect();
        Slice { packets, taken }
    }
}
