//! `netreel why`: back along what led to something.

use std::io::Write;

use netreel_protocol::export::{self, WhyOf};
use netreel_protocol::history::History;
use netreel_protocol::session::{NodeId, PacketId, Session, SessionTime};
use netreel_protocol::why::{Certainty, Fact, StepId, Why};

use crate::outcome::{Answer, Failure, Result, fail};
use crate::packets::json;
use crate::rules::Tested;
use crate::{arguments, open, text};

/// How many columns a line has.
const COLUMNS: usize = 100;

/// A cause is written this much further right than what it led to.
const INDENT: usize = 2;

/// What is further right than this is not moved any more.
const INDENT_MAX: usize = 24;

pub fn run(arguments: &arguments::Why, out: &mut dyn Write) -> Result<Answer> {
    let rules = Tested::named(arguments.rules.as_deref())?;
    let story = open::story(&arguments.read.source)?;
    let answer = open::answer(&story.unread);
    let (session, mut history) = story.into_parts();
    if let Some(rules) = &rules {
        rules.add(&session, &mut history)?;
    }
    let (session, history) = (session.as_ref(), &history);
    let (of, why) = asked(arguments, session, history)?;
    if arguments.read.json {
        json(&export::why(session, history, of, &why), out)?;
    } else {
        head(session, history, &of, out)?;
        Printed {
            session,
            history,
            why: &why,
        }
        .all(out)?;
    }
    out.flush()?;
    Ok(answer)
}

/// What was asked, and what led to it.
fn asked(arguments: &arguments::Why, session: &Session, history: &History) -> Result<(WhyOf, Why)> {
    let of = &arguments.of;
    if let Some(packet) = of.packet {
        let found = Why::of_packet(session, history, PacketId(packet));
        let why = found.ok_or_else(|| no_packet(session, packet))?;
        return Ok((WhyOf::Packet { packet }, why));
    }
    if let Some(finding) = of.finding {
        let place = usize::try_from(finding)
            .unwrap_or(usize::MAX)
            .checked_sub(1);
        let found = place.and_then(|place| Why::of_finding(session, history, place));
        let why = found.ok_or_else(|| no_finding(history, finding))?;
        return Ok((WhyOf::Finding { finding }, why));
    }
    let object = of.object.unwrap_or_default();
    if !history.objects.contains_key(&object) {
        return fail(format!(
            "no node heard of object {object}; `netreel objects` lists those that one did"
        ));
    }
    let name = arguments.node.clone().unwrap_or_default();
    let node = node(session, &name)?;
    let at = open::moment(session, arguments.at.as_deref())?.unwrap_or(session.span.end);
    let why = Why::of_object(session, history, object, node, at);
    let at_ns = at.0;
    Ok((
        WhyOf::Object {
            object,
            node: name,
            at_ns,
        },
        why,
    ))
}

/// Why there is no packet of this number.
pub fn no_packet(session: &Session, number: u32) -> Failure {
    let there = text::counted(session.packet_count(), "packet");
    Failure::new(format!(
        "there is no packet {number}: the session has {there}, numbered from 0; \
         `netreel packets` lists them"
    ))
}

fn no_finding(history: &History, number: u32) -> Failure {
    let there = text::counted(history.findings.len(), "finding");
    Failure::new(if history.findings.is_empty() {
        format!("there is no finding {number}: `netreel check` found nothing")
    } else {
        format!(
            "there is no finding {number}: the session has {there}, numbered from 1; \
             `netreel check` lists them"
        )
    })
}

fn node(session: &Session, name: &str) -> Result<NodeId> {
    let place = session.nodes.iter().position(|node| node.name == name);
    let place = place.and_then(|place| u16::try_from(place).ok());
    place.map(NodeId).ok_or_else(|| {
        let names = text::joined(session.nodes.iter().map(|node| node.name.as_str()), ", ");
        Failure::new(format!("there is no node `{name}`; the nodes are {names}"))
    })
}

/// Says what is explained.
fn head(session: &Session, history: &History, of: &WhyOf, out: &mut dyn Write) -> Result {
    match of {
        WhyOf::Packet { packet } => {
            let known = session.packet(PacketId(*packet)).unwrap_or_default();
            writeln!(
                out,
                "packet {packet}  {}",
                text::link(session, known.from, known.to)
            )?;
        }
        WhyOf::Finding { finding } => {
            let place = (*finding as usize).saturating_sub(1);
            if let Some(found) = history.findings.get(place) {
                writeln!(
                    out,
                    "finding {finding}  {}  {}  at {} s  {}",
                    found.level.name(),
                    found.rule,
                    text::seconds(found.time),
                    text::node(session, found.node)
                )?;
            }
        }
        WhyOf::Object {
            object,
            node,
            at_ns,
        } => {
            let at = text::seconds(SessionTime(*at_ns));
            writeln!(out, "object {object}  at {at} s  {node}")?;
        }
    }
    Ok(())
}

/// Steps as they are printed: what led to one stands below it, further right.
struct Printed<'a> {
    session: &'a Session,
    history: &'a History,
    why: &'a Why,
}

impl Printed<'_> {
    fn all(&self, out: &mut dyn Write) -> Result {
        for (id, depth, again) in self.why.in_order() {
            match again {
                // The answers themselves are told once.
                true if depth == 0 => {}
                true => self.again(id, depth, out)?,
                false => self.one(id, depth, out)?,
            }
        }
        if self.why.cut {
            writeln!(
                out,
                "there is more that led to this; ask for one of its packets"
            )?;
        }
        Ok(())
    }

    fn one(&self, id: StepId, depth: usize, out: &mut dyn Write) -> Result {
        let Some(step) = self.why.step(id) else {
            return Ok(());
        };
        let sentence = step.fact.sentence(self.session, self.history);
        let mark = match step.certainty {
            Certainty::Certain | Certainty::Unknown => String::new(),
            Certainty::Doubtful => " [doubtful]".to_owned(),
            Certainty::WouldHave => " [not what happened]".to_owned(),
        };
        line(id, depth, &format!("{sentence}{mark}"), out)
    }

    fn again(&self, id: StepId, depth: usize, out: &mut dyn Write) -> Result {
        // What nothing led to is not worth looking back for.
        let fact = self.why.step(id).map(|step| &step.fact);
        if matches!(fact, Some(Fact::Nothing { .. } | Fact::Rule { .. })) {
            return Ok(());
        }
        let indent = (depth * INDENT).min(INDENT_MAX);
        writeln!(out, "{:>4}  {:indent$}see {}", "", "", id.0 + 1)?;
        Ok(())
    }
}

/// Prints a sentence below the column of its number.
fn line(id: StepId, depth: usize, sentence: &str, out: &mut dyn Write) -> Result {
    let indent = (depth * INDENT).min(INDENT_MAX);
    let width = COLUMNS.saturating_sub(indent + 6).max(40);
    let mut number = format!("{:>4}", id.0 + 1);
    let mut row = String::new();
    for word in sentence.split(' ') {
        if !row.is_empty() && row.chars().count() + 1 + word.chars().count() > width {
            writeln!(out, "{number}  {:indent$}{row}", "")?;
            number = " ".repeat(4);
            row = "  ".to_owned();
        } else if !row.is_empty() {
            row.push(' ');
        }
        row.push_str(word);
    }
    writeln!(out, "{number}  {:indent$}{row}", "")?;
    Ok(())
}
