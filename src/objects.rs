//! `netreel objects`: what every node believed of every replicated object.

use std::io::Write;

use netreel_protocol::export;
use netreel_protocol::history::{Belief, History, Object, Span};
use netreel_protocol::query::Query;
use netreel_protocol::session::{NodeId, Session, SessionTime};

use crate::arguments::Objects;
use crate::open::{self, Story};
use crate::outcome::{Answer, Failure};
use crate::packets::json;
use crate::text;

pub fn run(arguments: &Objects, out: &mut dyn Write) -> Result<Answer, Failure> {
    let Story {
        session,
        mut history,
        ..
    } = open::story(&arguments.filtered.read.source)?;
    let query = open::query(arguments.filtered.filter.as_deref(), &session)?;
    let at = arguments.at.as_deref().map(open::time).transpose()?;
    if let Some(at) = at.filter(|at| !(session.span.start..=session.span.end).contains(at)) {
        return Err(Failure::new(format!(
            "--at {} s: the session lasts from {} to {} s",
            text::time(at),
            text::time(session.span.start),
            text::time(session.span.end)
        )));
    }
    if !session.nodes.iter().any(|node| node.recorded) {
        anstream::eprintln!(
            "netreel: no node was recorded: what they believed of objects is unknown"
        );
    }
    let mut objects = std::mem::take(&mut history.objects);
    objects.retain(|_, object| fits(&query, &session, &history, object));
    history.objects = objects;
    if arguments.filtered.read.json {
        json(&export::objects(&session, &history, at), out)?;
        return Ok(Answer::Clean);
    }
    for (id, object) in &history.objects {
        writeln!(out, "object {id}")?;
        match at {
            Some(at) => moment(&session, &history, *id, at, out)?,
            None => {
                for (node, spans) in &object.lanes {
                    lane(&session, *node, spans, out)?;
                }
            }
        }
    }
    Ok(Answer::Clean)
}

/// Whether one of the messages about an object fits.
fn fits(query: &Query, session: &Session, history: &History, object: &Object) -> bool {
    let deliveries = object.deliveries.iter();
    let mut messages = deliveries.filter_map(|place| history.deliveries.get(*place as usize));
    messages.any(|delivery| query.message(session, history, delivery.message))
}

/// What each recorded node believed of an object at one time.
fn moment(
    session: &Session,
    history: &History,
    object: u64,
    at: SessionTime,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    for (place, node) in session
        .nodes
        .iter()
        .enumerate()
        .filter(|(_, node)| node.recorded)
    {
        let span = history.belief_at(object, NodeId(place as u16), at);
        let believed = match span {
            _ if !(node.span.start..=node.span.end).contains(&at) => "not recorded then".to_owned(),
            None => "does not know it".to_owned(),
            Some(span) => {
                let since = text::time(span.time.start);
                format!(
                    "{}{} since {since} s",
                    belief(session, span.belief),
                    counter(span)
                )
            }
        };
        writeln!(out, "  {:<6} {believed}", node.name)?;
    }
    Ok(())
}

fn lane(
    session: &Session,
    node: NodeId,
    spans: &[Span],
    out: &mut dyn Write,
) -> Result<(), Failure> {
    for span in spans {
        writeln!(
            out,
            "  {:<6} {:>11} to {:>11} s  {}{}",
            text::node(session, node),
            text::time(span.time.start),
            text::time(span.time.end),
            belief(session, span.belief),
            counter(span),
        )?;
    }
    Ok(())
}

fn counter(span: &Span) -> String {
    span.counter
        .map(|counter| format!(", counter {counter}"))
        .unwrap_or_default()
}

fn belief(session: &Session, belief: Belief) -> String {
    match belief {
        Belief::Owned(peer) => format!("owned by {}", session.peer_name(peer)),
        Belief::Orphaned(peer) => {
            format!(
                "owned by {}, who will never end it",
                session.peer_name(peer)
            )
        }
        Belief::Destroyed => "destroyed".to_owned(),
        Belief::Unknown => "unknown".to_owned(),
    }
}
