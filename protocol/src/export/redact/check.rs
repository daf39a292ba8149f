//! Whether a copy differs from what it was made from in what was removed, and in nothing else.
//!
//! It does not ask how the copy was made: it reads both and goes by the rules alone.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use netreel_reel::{CallId, CutWhy, Ending, Endpoint, Event, Header, Part, Record, Reel};
use netreel_wire::{TreeNode, Value};

use super::blank::{Blanked, differs, left, said};
use super::calls;
use super::events::is_closed;
use super::follow::Follow;
use super::forms::Form;
use super::fragments::left_joined;
use super::header::DROPPED;
use super::map::is_loopback;
use super::report::{ReelReport, Removed};
use super::secrets::Place;
use super::survey::Survey;
use super::walk::Events;
use super::{Bytes, Texts};
use crate::session::Session;

/// A copy that is not what it has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The event in the reel, if it is one.
    pub event: Option<u64>,
    /// What is wrong, without what stood there.
    pub why: String,
}

/// Enough is enough: more of them say nothing new.
const TOLD_MAX: usize = 20;

/// Compares the copies of a session, one after the other.
pub struct Checker<'s> {
    survey: &'s Survey,
    addresses: Pairs<IpAddr>,
    ports: Pairs<u16>,
}

/// What stands for what, and that no two things have one.
struct Pairs<T> {
    new: BTreeMap<T, T>,
    taken: BTreeMap<T, T>,
}

impl<T: Ord + Copy> Pairs<T> {
    fn new() -> Pairs<T> {
        Pairs {
            new: BTreeMap::new(),
            taken: BTreeMap::new(),
        }
    }

    /// Whether this is what stood for it before, and for nothing else.
    fn fits(&mut self, old: T, new: T) -> bool {
        *self.new.entry(old).or_insert(new) == new && *self.taken.entry(new).or_insert(old) == old
    }
}

impl<'s> Checker<'s> {
    /// Before the first copy.
    pub fn new(survey: &'s Survey) -> Checker<'s> {
        Checker {
            survey,
            addresses: Pairs::new(),
            ports: Pairs::new(),
        }
    }

    /// Compares the copy of a reel, by its place, with what it was made from. `report` is what the
    /// copy is said to lack.
    pub fn compare(
        &mut self,
        place: usize,
        (old, new): (&Reel, &Reel),
        report: &ReelReport,
    ) -> Vec<Broken> {
        let blanked = self.survey.blanked.get(place);
        let mut follow = (Follow::new(old), Follow::new(new));
        let mut found = Vec::new();
        let mut tell = |event: Option<u64>, why: String| {
            if found.len() < TOLD_MAX {
                found.push(Broken { event, why });
            }
        };
        if let Err(why) = self.headers(old.header(), new.header(), report) {
            tell(None, why);
        }
        // The index has them once more.
        for ((_, old), (_, new)) in old.endpoints().iter().zip(new.endpoints()) {
            if let Err(why) = self.endpoint(*old, *new) {
                tell(None, format!("in the index, {why}"));
            }
        }
        let held: BTreeSet<u64> = report.held_back.iter().map(|each| each.event).collect();
        if let Err(why) = self.parts(old, new) {
            tell(None, why);
        }
        let (mut olds, mut news) = (Events::new(old), Events::new(new));
        let mut is_whole = true;
        loop {
            match (olds.next(), news.next()) {
                (None, None) => break,
                (Some(old), Some(new)) => {
                    let (old, new) = (old.as_record(), new.as_record());
                    let event = Some(old.number.0);
                    let is_held = held.contains(&old.number.0);
                    let fields = self.fields((&old, &new), &mut follow, blanked, is_held);
                    let is_blanked = fields == Ok(true);
                    let events = self.events(&old, &new, (is_held, is_blanked));
                    if let Err(why) = fields.and(events) {
                        tell(event, why);
                    }
                    if !held.contains(&old.number.0)
                        && let Some(what) = self.left_in(&new.event)
                    {
                        tell(event, format!("one of the {what} still stands in it"));
                    }
                }
                (Some(old), None) => {
                    tell(Some(old.as_record().number.0), "it is missing".to_owned());
                    is_whole = false;
                    break;
                }
                (None, Some(new)) => {
                    tell(Some(new.as_record().number.0), "it is new".to_owned());
                    is_whole = false;
                    break;
                }
            }
        }
        // Otherwise what cannot be read is missing in the copy, where it is said in other words.
        if is_whole
            && !olds.damaged
            && old.unknown().is_empty()
            && let Err(why) = missing(old, new)
        {
            tell(None, why);
        }
        found
    }

    /// Looks into the messages that came in fragments, of a session that is made of the copies.
    pub fn joined(&self, session: &Session) -> Option<Broken> {
        let (wire, fields) = self.survey.fields.as_ref()?;
        let path = left_joined(session, wire, fields)?;
        Some(Broken {
            event: None,
            why: format!(
                "`{path}` of a message in fragments was to be blanked, and says something"
            ),
        })
    }

    /// Whether the files of the copy are the same parts of the recording.
    fn parts(&mut self, old: &Reel, new: &Reel) -> Result<(), String> {
        if old.parts().len() != new.parts().len() {
            return Err("parts of the recording are missing, or new".to_owned());
        }
        for (old, new) in old.parts().iter().zip(new.parts()) {
            let (old, new) = (&old.part, &new.part);
            let sockets = |part: &Part| part.sockets.iter().map(|(id, _)| *id).collect::<Vec<_>>();
            if (old.number, old.first, old.on) != (new.number, new.first, new.on)
                || sockets(old) != sockets(new)
            {
                return Err(format!("the start of part {} changed", old.number));
            }
            for ((_, local), (_, local_now)) in old.sockets.iter().zip(&new.sockets) {
                let told = |why| format!("in the start of part {}, {why}", old.number);
                self.endpoint(*local, *local_now).map_err(told)?;
            }
        }
        Ok(())
    }

    /// Whether fields of a packet were to be blanked, and were: nothing else of it differs.
    fn fields(
        &self,
        (old, new): (&Record<'_>, &Record<'_>),
        (before, after): &mut (Follow, Follow),
        blanked: Option<&Blanked>,
        is_held: bool,
    ) -> Result<bool, String> {
        let Some((wire, fields)) = &self.survey.fields else {
            return Ok(false);
        };
        let crossings = (
            before.crossing(old.number, &old.event),
            after.crossing(new.number, &new.event),
        );
        let (Some(was), Some(is)) = crossings else {
            return Ok(false);
        };
        let made = blanked.and_then(|blanked| blanked.packets.get(&old.number));
        let (context, connection) = before.connection(wire, &was);
        let was = wire.decode_in(&context, &mut connection.before, was.payload);
        // The same ports as before: the copy's may be others.
        let (mut context_now, connection) = after.connection(wire, &is);
        (context_now.source_port, context_now.destination_port) =
            (context.source_port, context.destination_port);
        let now = wire.decode_in(&context_now, &mut connection.after, is.payload);
        let asked = |node: TreeNode<'_>| fields.iter().any(|field| field.takes(&now.tree, node));
        if is_held {
            return Ok(false);
        }
        if let Some(path) = left(&now, &asked) {
            return Err(format!("`{path}` was to be blanked, and says something"));
        }
        // Of what is joined from several packets, those that were kept all the same may say it.
        let says = |node: &TreeNode<'_>| node.is_joined() && asked(*node) && said(*node).is_some();
        if self.survey.rules.doubtful != Bytes::Keep
            && let Some(node) = now.tree.iter().find(says)
        {
            let path = now.tree.path(node.id());
            return Err(format!(
                "`{path}` was to be blanked in all its parts, and says something"
            ));
        }
        let Some(made) = made else {
            return Ok(false);
        };
        let may = |node: TreeNode<'_>| {
            let asked_before = fields.iter().any(|field| field.takes(&was.tree, node));
            asked_before || matches!(node.value(), Value::Bytes(_))
        };
        match differs(&was, &now, &may, &made.worked_out) {
            None => Ok(true),
            Some(path) => Err(format!("`{path}` changed, and was not to be blanked")),
        }
    }

    fn left_in(&self, event: &Event<'_>) -> Option<&'static str> {
        let found = match event {
            Event::Sent { payload: bytes, .. }
            | Event::Received { payload: bytes, .. }
            | Event::Seen { payload: bytes, .. }
            | Event::Input { call: bytes }
            | Event::Snapshot { state: bytes }
            | Event::Note { text: bytes }
            | Event::Interface { name: bytes, .. }
            | Event::Triggered { text: bytes, .. } => self.survey.stands_in(bytes),
            Event::Called { call, details, .. } => self.survey.stands_in_call(*call, details),
            _ => None,
        };
        found.map(Removed::words)
    }

    fn headers(&self, old: &Header, new: &Header, report: &ReelReport) -> Result<(), String> {
        let rules = &self.survey.rules;
        let same = |what: &str, same: bool| match same {
            true => Ok(()),
            false => Err(format!("the {what} in the header changed")),
        };
        same("clock", {
            let (a, b) = (&old.clock, &new.clock);
            (a.monotonic, a.utc_ns) == (b.monotonic, b.utc_ns)
        })?;
        same("arguments", old.args.len() == new.args.len())?;
        for (old, new) in old.args.iter().zip(&new.args) {
            same(
                "arguments",
                text_fits((rules.args, Form::Argument), old, new, self.survey),
            )?;
        }
        let start = old.start == new.start || bytes_fit(Bytes::Lengths, &old.start, &new.start);
        let dropped = rules.start == Bytes::Drop && new.start.is_empty();
        same("start conditions", start || dropped)?;
        let random = rules.random != Bytes::Keep;
        let fits = |((_, old), (_, new)): (&(_, u64), &(_, u64))| old == new || random && *new == 0;
        same(
            "seeds",
            old.seeds.len() == new.seeds.len() && old.seeds.iter().zip(&new.seeds).all(fits),
        )?;
        same("hashes", old.hashes.len() == new.hashes.len())?;
        same("wires", old.wires.len() == new.wires.len())?;
        same(
            "word of what was removed",
            new.redacted == Some(report.told()),
        )?;
        let kept = [&new.node, &new.engine, &new.build, &new.clock.boot_id];
        let lists = new
            .args
            .iter()
            .chain(new.hashes.iter().flat_map(|(a, b)| [a, b]));
        let names = new.seeds.iter().map(|(name, _)| name);
        let names = names.chain(new.wires.iter().map(|wire| &wire.name));
        for text in kept.into_iter().chain(lists).chain(names) {
            let stands = self.survey.stands_in(text.as_bytes());
            if let Some(what) = stands {
                return Err(format!(
                    "one of the {} still stands in the header",
                    what.words()
                ));
            }
        }
        if new
            .wires
            .iter()
            .any(|wire| self.survey.stands_in_wire(&wire.text))
        {
            return Err("something that was to be removed still stands in a wire".to_owned());
        }
        Ok(())
    }

    fn events(
        &mut self,
        old: &Record<'_>,
        new: &Record<'_>,
        (held, blanked): (bool, bool),
    ) -> Result<(), String> {
        if (old.number, old.time, old.thread) != (new.number, new.time, new.thread) {
            return Err("its number, time or thread changed".to_owned());
        }
        let rules = &self.survey.rules;
        let (payloads, doubtful) = (rules.payloads, rules.doubtful);
        let (inputs, snapshots, notes) = (rules.inputs, rules.snapshots, rules.notes);
        let random = rules.random;
        let fits = |rule: Bytes, old: &[u8], new: &[u8]| {
            if blanked && rule == Bytes::Keep {
                return Ok(());
            }
            let rule = if held && rule == Bytes::Keep {
                doubtful
            } else {
                rule
            };
            match bytes_fit(rule, old, new) {
                true => Ok(()),
                false => Err("bytes of it changed that were to stay, or stayed".to_owned()),
            }
        };
        let unless = |changed: bool, why: &str| if changed { Ok(()) } else { Err(why.to_owned()) };
        let form = Form::of(&old.event);
        match (old.event, new.event) {
            (
                Event::SocketOpened { socket, local },
                Event::SocketOpened {
                    socket: socket_now,
                    local: local_now,
                },
            ) if socket == socket_now => self.endpoint(local, local_now),
            (
                Event::Sent {
                    socket,
                    to,
                    payload,
                },
                Event::Sent {
                    socket: socket_now,
                    to: to_now,
                    payload: payload_now,
                },
            ) if socket == socket_now => {
                self.endpoint(to, to_now)?;
                fits(payloads, payload, payload_now)
            }
            (
                Event::Received {
                    socket,
                    from,
                    payload,
                },
                Event::Received {
                    socket: socket_now,
                    from: from_now,
                    payload: payload_now,
                },
            ) if socket == socket_now => {
                self.endpoint(from, from_now)?;
                fits(payloads, payload, payload_now)
            }
            (
                Event::Seen { from, to, payload },
                Event::Seen {
                    from: from_now,
                    to: to_now,
                    payload: payload_now,
                },
            ) => {
                self.endpoint(from, from_now)?;
                self.endpoint(to, to_now)?;
                fits(payloads, payload, payload_now)
            }
            (
                Event::Relay {
                    socket,
                    listener,
                    client,
                },
                Event::Relay {
                    socket: socket_now,
                    listener: listener_now,
                    client: client_now,
                },
            ) if (socket, listener) == (socket_now, listener_now) => {
                self.endpoint(client, client_now)
            }
            (Event::Input { call }, Event::Input { call: call_now }) => {
                fits(inputs, call, call_now)
            }
            (Event::Snapshot { state }, Event::Snapshot { state: state_now }) => {
                fits(snapshots, state, state_now)
            }
            (Event::Note { text }, Event::Note { text: text_now }) => {
                let is_held = held && bytes_fit(doubtful, text, text_now);
                unless(
                    is_held || self.text((notes, form), text, text_now),
                    "its text changed elsewhere",
                )
            }
            (
                Event::Triggered { trigger, text },
                Event::Triggered {
                    trigger: trigger_now,
                    text: text_now,
                },
            ) if trigger == trigger_now => {
                let is_held = held && bytes_fit(doubtful, text, text_now);
                unless(
                    is_held || self.text((notes, form), text, text_now),
                    "its text changed elsewhere",
                )
            }
            (
                Event::Interface { link_type, name },
                Event::Interface {
                    link_type: link_type_now,
                    name: name_now,
                },
            ) if link_type == link_type_now => {
                let is_held = held && bytes_fit(doubtful, name, name_now);
                let is_right = name_now.is_empty() && name.is_empty()
                    || is_held
                    || self.text((notes, form), name, name_now);
                unless(is_right, "its name changed elsewhere")
            }
            (Event::Random { value }, Event::Random { value: value_now }) => {
                let right = if random == Bytes::Keep { value } else { 0 };
                unless(value_now == right, "its number is not what it has to be")
            }
            (
                Event::Called {
                    call,
                    result,
                    details,
                },
                Event::Called {
                    call: call_now,
                    result: result_now,
                    details: details_now,
                },
            ) if (call, result) == (call_now, result_now) => {
                self.called(call, details, details_now)
            }
            (old, new) if old == new => Ok(()),
            _ => Err("it is another event".to_owned()),
        }
    }

    fn called(&mut self, call: CallId, old: &[u8], new: &[u8]) -> Result<(), String> {
        let rules = &self.survey.rules;
        let endpoints = calls::endpoint(call, old).zip(calls::endpoint(call, new));
        if let Some((old, new)) = endpoints {
            return self.endpoint(old, new);
        }
        if old == new {
            return Ok(());
        }
        let behind = |bytes: &'_ [u8], head: usize| bytes.get(head..).unwrap_or_default().to_vec();
        let same_head = |head: usize| old.get(..head) == new.get(..head);
        let is_zero = |head: usize| {
            same_head(head) && bytes_fit(Bytes::Lengths, &behind(old, head), &behind(new, head))
        };
        let is_right = match call {
            CallId::RANDOM => {
                let (old, new) = (behind(old, 1), behind(new, 1));
                let fits = |rule| same_head(1) && bytes_fit(rule, &old, &new);
                // What stands in it is taken away, whatever the rule.
                fits(rules.random) || rules.random == Bytes::Keep && fits(Bytes::Lengths)
            }
            CallId::PEEK => same_head(2) && (is_zero(2) || new.len() == 2),
            CallId::SET_OPTION => is_zero(10) || is_zero(2),
            CallId::EXEC | CallId::SPAWN => {
                let (old, new) = (behind(old, 1), behind(new, 1));
                same_head(1) && self.text((Texts::Scrub, Form::Any), &old, &new) || is_zero(1)
            }
            _ => is_zero(2),
        };
        match is_right {
            true => Ok(()),
            false => Err("details of it changed that were to stay, or stayed".to_owned()),
        }
    }

    fn endpoint(&mut self, old: Endpoint, new: Endpoint) -> Result<(), String> {
        let rules = &self.survey.rules;
        let (from, to) = (old.ip(), new.ip());
        let stays = !rules.addresses || (is_loopback(from) && !rules.loopback);
        if stays && from != to {
            return Err("an address changed that was to stay".to_owned());
        }
        if self.survey.map.addresses.contains_key(&to) {
            return Err("an address that was to be removed stands in it".to_owned());
        }
        if !self.addresses.fits(from.to_canonical(), to.to_canonical()) {
            return Err("an address became another one than elsewhere".to_owned());
        }
        if !rules.ports && old.port() != new.port() {
            return Err("a port changed that was to stay".to_owned());
        }
        if !self.ports.fits(old.port(), new.port()) {
            return Err("a port became another one than elsewhere".to_owned());
        }
        Ok(())
    }

    fn text(&self, rule: (Texts, Form), old: &[u8], new: &[u8]) -> bool {
        match (std::str::from_utf8(old), std::str::from_utf8(new)) {
            (Ok(old), Ok(new)) => text_fits(rule, old, new, self.survey),
            _ => old == new || new == DROPPED.as_bytes(),
        }
    }
}

/// Whether the copy lacks what the reel lacks, and ends as it does.
fn missing(old: &Reel, new: &Reel) -> Result<(), String> {
    if old.missing_parts() != new.missing_parts() {
        return Err("other parts of the recording are missing".to_owned());
    }
    // What a ring file says of numbers behind the last event no reel can say.
    let end = new
        .blocks()
        .checked_sub(1)
        .and_then(|last| new.block(last).ok());
    let end = end.and_then(|block| block.records().last().map(|record| record.number));
    let gaps = |reel: &Reel| {
        let gaps = reel.gaps().iter().filter(|gap| Some(gap.first) < end);
        gaps.map(|gap| (gap.first, gap.count)).collect::<Vec<_>>()
    };
    if gaps(old) != gaps(new) {
        return Err("other events are missing".to_owned());
    }
    let ends = |reel: &Reel| match reel.ending() {
        Ending::Cut {
            why: CutWhy::NextPartMissing,
            ..
        } => "goes on",
        ending if is_closed(ending) => "closed",
        _ => "cut",
    };
    match (ends(old), ends(new)) {
        (old, new) if old == new => Ok(()),
        _ => Err("it ends in another way".to_owned()),
    }
}

fn bytes_fit(rule: Bytes, old: &[u8], new: &[u8]) -> bool {
    match rule {
        Bytes::Keep => old == new,
        Bytes::Lengths => old.len() == new.len() && new.iter().all(|&byte| byte == 0),
        Bytes::Drop => new.is_empty(),
    }
}

/// Whether a text differs only in words in which something was to be removed.
fn text_fits((rule, form): (Texts, Form), old: &str, new: &str, survey: &Survey) -> bool {
    if old == new && rule != Texts::Drop || new == DROPPED {
        return true;
    }
    if rule == Texts::Drop {
        return false;
    }
    let blank = |c: char| c.is_whitespace();
    let (olds, news): (Vec<_>, Vec<_>) = (old.split(blank).collect(), new.split(blank).collect());
    // Also in another spelling than the one that is searched for, `FD77::ABCD`.
    let word_at = |at: usize| old.get(..at).map_or(0, |old| old.matches(blank).count());
    let mapped = survey.map.mapped(old, form).into_iter();
    let mapped: Vec<_> = mapped
        .map(|(range, _)| word_at(range.start)..=word_at(range.end))
        .collect();
    let named = |(at, word): (usize, &str)| {
        let stands = survey
            .secrets
            .find(word.as_bytes(), Place::Content)
            .is_some();
        let is_port = || {
            survey
                .map
                .ports
                .keys()
                .any(|port| word.contains(&port.to_string()))
        };
        stands
            || mapped.iter().any(|words| words.contains(&at))
            || is_port()
            || survey
                .map
                .nodes
                .keys()
                .any(|node| word.contains(node.as_str()))
    };
    // A text that is removed may be several words.
    let removed = survey
        .rules
        .remove
        .iter()
        .any(|text| old.contains(text.as_str()));
    let mut words = olds.iter().zip(&news).enumerate();
    olds.len() == news.len()
        && words.all(|(at, (old, new))| old == new || named((at, old)) || removed)
}
