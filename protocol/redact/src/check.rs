//! Whether a copy differs from what it was made from in what was removed, and in nothing else.
//!
//! It does not ask how the copy was made: it reads both and goes by the rules alone.

use std::collections::BTreeSet;
use std::net::IpAddr;

use netreel_reel::{CallId, Endpoint, Event, Header, Record, Redacted, Reel, Removed};
use netreel_wire::{TreeNode, Value};

use crate::alike::{Pairs, is_same_part, missing, text_fits};
use crate::blank::Made;
use crate::calls;
use crate::content::{Content, Parts, bare, texts};
use crate::events::Events;
use crate::fields::asked;
use crate::follow::Follow;
use crate::forms::Form;
use crate::fragments::left_in_wholes;
use crate::map::is_loopback;
use crate::report::ReelReport;
use crate::rewrite::{differs, left, said};
use crate::rules::{Bytes, Texts};
use crate::story::Story;
use crate::survey::Survey;

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

/// What is known of an event of a copy before its bytes are compared.
#[derive(Clone, Copy)]
struct Known {
    /// Its packet is held back.
    held: bool,
    /// Fields of its packet were to be blanked and were, and nothing else of it differs.
    blanked: bool,
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
        let mut found = Vec::new();
        let mut tell = |event: Option<u64>, result: Result<(), String>| {
            if let Err(why) = result
                && found.len() < TOLD_MAX
            {
                found.push(Broken { event, why });
            }
        };
        tell(None, self.headers(old.header(), new.header(), report));
        tell(None, self.parts(old, new));
        // The index has them once more.
        for ((_, old), (_, new)) in old.endpoints().iter().zip(new.endpoints()) {
            let told = |why| format!("in the index, {why}");
            tell(None, self.endpoint(*old, *new).map_err(told));
        }
        let held: BTreeSet<u64> = report.held_back.iter().map(|each| each.event).collect();
        let mut follow = Follow::new(old);
        let (mut olds, mut news) = (Events::all(old), Events::all(new));
        loop {
            let (old, new) = match (olds.next(), news.next()) {
                (Some(old), Some(new)) => (old, new),
                (None, None) => break,
                (old, new) => {
                    let why = if old.is_some() {
                        "it is missing"
                    } else {
                        "it is new"
                    };
                    let number = old.or(new).map(|one| one.as_record().number.0);
                    tell(number, Err(why.to_owned()));
                    return found;
                }
            };
            let (old, new) = (old.as_record(), new.as_record());
            let event = Some(old.number.0);
            let held = held.contains(&old.number.0);
            let fields = self.fields(place, (&old, &new), &mut follow, held);
            let blanked = fields == Ok(true);
            let known = Known { held, blanked };
            tell(event, fields.and_then(|_| self.event(&old, &new, known)));
            if !held {
                tell(event, self.left_in(new.event));
            }
        }
        // Otherwise what cannot be read is missing in the copy, where it is said in other words.
        if olds.damaged.is_none() && old.unknown().is_empty() {
            tell(None, missing(old, new));
        }
        found
    }

    /// Looks into the messages that came in fragments, of a story that the copies tell.
    pub fn joined(&self, story: &Story) -> Option<Broken> {
        let (_, fields) = self.survey.fields.as_ref()?;
        let path = left_in_wholes(story, fields)?;
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
            if !is_same_part(old, new) {
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
        place: usize,
        (old, new): (&Record<'_>, &Record<'_>),
        follow: &mut Follow,
        is_held: bool,
    ) -> Result<bool, String> {
        let Some((wire, fields)) = &self.survey.fields else {
            return Ok(false);
        };
        let Some(packet) = follow.packet(wire, &old.event) else {
            return Ok(false);
        };
        let mut event = new.event;
        let Content::Bytes(Removed::Payloads, payload) = Parts::of(&mut event).content else {
            return Ok(false);
        };
        // The copy is read with the ports of before, which a wire may tell its protocols by.
        let (context, connection) = (packet.context, packet.connection);
        let was = wire.decode_in(&context, &mut connection.before, packet.payload);
        let now = wire.decode_in(&context, &mut connection.after, payload);
        let made = self.survey.made.get(place);
        let written = match made.and_then(|made| made.get(&old.number)) {
            Some(Made::Written(written)) => Some(written),
            Some(Made::HeldBack(_)) | None => None,
        };
        let keeps = self.survey.rules.doubtful == Bytes::Keep;
        if is_held && !(keeps && written.is_some()) {
            return Ok(false);
        }
        if let Some(path) = left(&now, fields) {
            return Err(format!("`{path}` was to be blanked, and says something"));
        }
        // Of what is joined from several packets, those that were kept all the same may say it.
        let says = |node: &TreeNode<'_>| {
            let is_asked = asked(fields, *node).is_some();
            node.is_joined() && is_asked && said(*node).is_some()
        };
        if !keeps && let Some(node) = now.tree.iter().find(says) {
            let path = node.path();
            return Err(format!(
                "`{path}` was to be blanked in all its parts, and says something"
            ));
        }
        let Some(written) = written else {
            return Ok(false);
        };
        let may = |node: TreeNode<'_>| {
            let is_asked = asked(fields, node).is_some();
            is_asked || matches!(node.value(), Value::Bytes(_))
        };
        match differs(&was, &now, &may, &written.worked_out) {
            None => Ok(true),
            Some(path) => Err(format!("`{path}` changed, and was not to be blanked")),
        }
    }

    /// Whether nothing that was removed stands in an event of a copy.
    fn left_in(&self, mut event: Event<'_>) -> Result<(), String> {
        let found = match Parts::of(&mut event).content {
            Content::Bytes(_, bytes) | Content::Text(_, bytes) => self.survey.stands_in(bytes),
            Content::Details(call, details) => self.survey.stands_in_call(call, details),
            Content::Nothing | Content::Random(_) => None,
        };
        still_stands(found, "it")
    }

    fn headers(&self, old: &Header, new: &Header, report: &ReelReport) -> Result<(), String> {
        let (survey, rules) = (self.survey, &self.survey.rules);
        let arg = |(old, new): (&String, &String)| {
            let texts = (old.as_bytes(), new.as_bytes());
            text_fits((rules.args, Form::Argument), texts, survey)
        };
        let start = |rule: Bytes| rule.fits(&old.start, &new.start);
        let seed = |((_, old), (_, new)): (&(_, u64), &(_, u64))| {
            old == new || rules.random != Bytes::Keep && *new == 0
        };
        let (clock, clock_now) = (&old.clock, &new.clock);
        let same = [
            (
                "clock",
                (clock.monotonic, clock.utc_ns) == (clock_now.monotonic, clock_now.utc_ns),
            ),
            (
                "arguments",
                old.args.len() == new.args.len() && old.args.iter().zip(&new.args).all(arg),
            ),
            (
                "start conditions",
                [Bytes::Keep, Bytes::Lengths, rules.start]
                    .into_iter()
                    .any(start),
            ),
            (
                "seeds",
                old.seeds.len() == new.seeds.len() && old.seeds.iter().zip(&new.seeds).all(seed),
            ),
            ("hashes", old.hashes.len() == new.hashes.len()),
            ("wires", old.wires.len() == new.wires.len()),
            (
                "word of what was removed",
                new.redacted == Some(Redacted::new(&report.removed)),
            ),
        ];
        if let Some((what, _)) = same.iter().find(|(_, is_same)| !is_same) {
            return Err(format!("the {what} in the header changed"));
        }
        let others = [
            new.build.as_bytes(),
            new.clock.boot_id.as_bytes(),
            &new.start,
        ];
        let mut shown = new.clone();
        let shown = texts(&mut shown);
        let shown = shown.iter().map(|(text, ..)| text.as_bytes());
        let found = shown.chain(others).find_map(|text| survey.stands_in(text));
        still_stands(found, "the header")?;
        let in_wire = new.wires.iter().any(|it| survey.stands_in_wire(&it.text));
        if in_wire {
            Err("something that was to be removed still stands in a wire".to_owned())
        } else {
            Ok(())
        }
    }

    /// Whether an event is what it has to be.
    fn event(&mut self, old: &Record<'_>, new: &Record<'_>, known: Known) -> Result<(), String> {
        if (old.number, old.time, old.thread) != (new.number, new.time, new.thread) {
            return Err("its number, time or thread changed".to_owned());
        }
        if bare(old.event) != bare(new.event) {
            return Err("it is another event".to_owned());
        }
        let (mut old, mut new) = (old.event, new.event);
        let (mut was, mut is) = (Parts::of(&mut old), Parts::of(&mut new));
        for (old, new) in was.endpoints().zip(is.endpoints()) {
            self.endpoint(*old, *new)?;
        }
        let survey = self.survey;
        let rules = &survey.rules;
        let held = |old: &[u8], new: &[u8]| known.held && rules.doubtful.fits(old, new);
        match (was.content, is.content) {
            (Content::Bytes(what, old), Content::Bytes(_, new)) => {
                let rule = match rules.bytes(what) {
                    Bytes::Keep if known.blanked => None,
                    Bytes::Keep if known.held => Some(rules.doubtful),
                    rule => Some(rule),
                };
                unless(
                    rule.is_none_or(|rule| rule.fits(old, new)),
                    "bytes of it changed that were to stay, or stayed",
                )
            }
            (Content::Text(form, old), Content::Text(_, new)) => {
                let fits = text_fits((rules.notes, form), (old, new), survey);
                unless(fits || held(old, new), "its text changed elsewhere")
            }
            (Content::Random(old), Content::Random(new)) => {
                let right = if rules.random == Bytes::Keep { *old } else { 0 };
                unless(*new == right, "its number is not what it has to be")
            }
            (Content::Details(call, old), Content::Details(_, new)) => {
                self.details(call, (old, new))
            }
            _ => Ok(()),
        }
    }

    fn details(&mut self, call: CallId, (old, new): (&[u8], &[u8])) -> Result<(), String> {
        let endpoints = calls::endpoint(call, old).zip(calls::endpoint(call, new));
        if let Some((old, new)) = endpoints {
            return self.endpoint(old, new);
        }
        let survey = self.survey;
        let path = || {
            let (old, new) = (calls::path(call, old)?, calls::path(call, new)?);
            let texts = (old.as_bytes(), new.as_bytes());
            Some(text_fits((Texts::Scrub, Form::Any), texts, survey))
        };
        let file = || {
            let (old, new) = calls::files(call, (old, new))?;
            let texts = (old.as_bytes(), new.as_bytes());
            let is_scrubbed = survey.rules.files == Texts::Scrub;
            Some(is_scrubbed && text_fits((Texts::Scrub, Form::Any), texts, survey))
        };
        let is_text = || path() == Some(true) || file() == Some(true);
        unless(
            calls::fits(call, &survey.rules, old, new) || is_text(),
            "details of it changed that were to stay, or stayed",
        )
    }

    fn endpoint(&mut self, old: Endpoint, new: Endpoint) -> Result<(), String> {
        let survey = self.survey;
        let rules = &survey.rules;
        let (from, to) = (old.ip(), new.ip());
        let stays = !rules.addresses || (is_loopback(from) && !rules.loopback);
        unless(!stays || from == to, "an address changed that was to stay")?;
        unless(
            !survey.map.addresses.contains_key(&to),
            "an address that was to be removed stands in it",
        )?;
        unless(
            self.addresses.fits(from.to_canonical(), to.to_canonical()),
            "an address became another one than elsewhere",
        )?;
        unless(
            rules.ports || old.port() == new.port(),
            "a port changed that was to stay",
        )?;
        unless(
            self.ports.fits(old.port(), new.port()),
            "a port became another one than elsewhere",
        )
    }
}

fn unless(is_right: bool, why: &str) -> Result<(), String> {
    if is_right {
        Ok(())
    } else {
        Err(why.to_owned())
    }
}

fn still_stands(found: Option<Removed>, place: &str) -> Result<(), String> {
    match found {
        None => Ok(()),
        Some(what) => Err(format!(
            "one of the {} still stands in {place}",
            what.words()
        )),
    }
}
