//! `netreel objects`: what every node believed of every replicated object.

use std::io::Write;

use netreel_protocol::export;
use netreel_protocol::history::{
    Belief, History, Migration, MigrationStep, MigrationWhat, Object, Span,
};
use netreel_protocol::query::Query;
use netreel_protocol::session::{NodeId, Session, SessionTime};

use crate::arguments::Objects;
use crate::outcome::{Answer, Result};
use crate::packets::json;
use crate::{open, text};

pub fn run(arguments: &Objects, out: &mut dyn Write) -> Result<Answer> {
    let story = open::story(&arguments.filtered.read.source)?;
    let answer = open::answer(&story.unread);
    let (session, mut history) = story.into_parts();
    let query = open::query(arguments.filtered.filter.as_deref(), &session)?;
    let at = open::moment(&session, arguments.at.as_deref())?;
    if !session.nodes.iter().any(|node| node.recorded) {
        anstream::eprintln!(
            "netreel: no node was recorded: what they believed of objects is unknown"
        );
    }
    let mut objects = std::mem::take(&mut history.objects);
    objects.retain(|_, object| fits(&query, &session, &history, object));
    history.objects = objects;
    let is_json = arguments.filtered.read.json;
    if history.objects.is_empty() {
        let none = match arguments.filtered.filter {
            Some(_) => "no object fits the filter",
            None => "no objects: no message of one, or no wire that says so",
        };
        // Who reads JSON reads an empty list.
        if is_json {
            anstream::eprintln!("netreel: {none}")
        } else {
            writeln!(out, "{none}")?
        }
    }
    if arguments.migrations {
        if is_json {
            json(&export::migrations(&session, &history), out)?;
            return Ok(answer);
        }
        for &object in history.objects.keys() {
            for migration in history.migrations(&session, object) {
                self::migration(&session, &migration, out)?;
            }
        }
        return Ok(answer);
    }
    if is_json {
        json(&export::objects(&session, &history, at), out)?;
        return Ok(answer);
    }
    let widths = Widths::new(&session);
    for (id, object) in &history.objects {
        writeln!(out, "object {id}")?;
        match at {
            Some(at) => moment((&session, &history), *id, at, &widths, out)?,
            None => {
                for (node, spans) in &object.lanes {
                    lane(&session, (*node, spans), &widths, out)?;
                }
            }
        }
    }
    Ok(answer)
}

/// A migration, a line a step.
fn migration(session: &Session, migration: &Migration, out: &mut dyn Write) -> Result {
    let counter = migration.counter.map(|it| format!(" at counter {it}"));
    let ends = migration.steps.first().zip(migration.steps.last());
    let took_ns = ends.map_or(0, |(first, last)| last.at.0.saturating_sub(first.at.0));
    writeln!(
        out,
        "object {} to {}{}, in {}",
        migration.object,
        session.peer_name(migration.to),
        counter.unwrap_or_default(),
        text::duration(took_ns)
    )?;
    let Widths { node: names, time } = Widths::new(session);
    for step in &migration.steps {
        writeln!(
            out,
            "  {:>time$} s  {:<names$}  {} (packet {})",
            text::seconds(step.at),
            text::node(session, step.node),
            what(session, step),
            step.packet.0
        )?;
    }
    Ok(())
}

/// What happened at a node on the way of a migration.
fn what(session: &Session, step: &MigrationStep) -> String {
    let other = step.other.map_or("", |node| text::node(session, node));
    match step.what {
        MigrationWhat::Asked(message) => {
            let kind = session.kind(message);
            let kind = kind.map_or("a message", |kind| kind.name.as_str());
            format!("got `{kind}` about it from {other}, which may have asked for it")
        }
        MigrationWhat::Ordered => "ordered it".to_owned(),
        MigrationWhat::OrderCame => format!("got the order from {other}"),
        MigrationWhat::Announced => "announced it".to_owned(),
        MigrationWhat::Told(effect) => {
            format!("was told by {other}: {}", effect.name())
        }
        MigrationWhat::Acked => format!("learnt that the packet reached {other}"),
        MigrationWhat::NotDelivered => format!("was never told what {other} sent"),
        MigrationWhat::Updated => "sent its first UPDATE as owner".to_owned(),
        MigrationWhat::UpdateTaken => format!("took the first UPDATE, from {other}"),
    }
}

/// How wide columns are.
struct Widths {
    node: usize,
    time: usize,
}

impl Widths {
    fn new(session: &Session) -> Widths {
        let nodes = (0..).map(NodeId).take(session.nodes.len());
        let names = nodes.map(|node| text::node(session, node).chars().count());
        let ends = [session.span.start, session.span.end];
        let times = ends.map(|end| text::seconds(end).len());
        Widths {
            node: names.max().unwrap_or(0),
            time: times.into_iter().max().unwrap_or(0),
        }
    }
}

/// Whether one of the messages about an object fits.
pub fn fits(query: &Query, session: &Session, history: &History, object: &Object) -> bool {
    let deliveries = object.deliveries.iter();
    let mut messages = deliveries.filter_map(|place| history.deliveries.get(*place as usize));
    messages.any(|delivery| query.message(session, history, delivery.message))
}

/// What each recorded node believed of an object at one time.
fn moment(
    (session, history): (&Session, &History),
    object: u64,
    at: SessionTime,
    widths: &Widths,
    out: &mut dyn Write,
) -> Result {
    for (place, node) in session
        .nodes
        .iter()
        .enumerate()
        .filter(|(_, node)| node.recorded)
    {
        let believed = believed(session, history, object, NodeId(place as u16), at);
        let width = widths.node;
        writeln!(out, "  {:<width$}  {believed}", node.name)?;
    }
    Ok(())
}

/// What one recorded node believed of an object at one time.
pub fn believed(
    session: &Session,
    history: &History,
    object: u64,
    node: NodeId,
    at: SessionTime,
) -> String {
    let span = history.belief_at(object, node, at);
    let known = session.node(node);
    match span {
        _ if !known.is_some_and(|it| (it.span.start..=it.span.end).contains(&at)) => {
            "not recorded then".to_owned()
        }
        None => "does not know it".to_owned(),
        Some(span) => {
            let since = text::seconds(span.time.start);
            format!(
                "{}{} since {since} s{}",
                belief(session, span.belief),
                counter(span),
                said(span)
            )
        }
    }
}

fn lane(
    session: &Session,
    (node, spans): (NodeId, &[Span]),
    widths: &Widths,
    out: &mut dyn Write,
) -> Result {
    let Widths { node: names, time } = *widths;
    for span in spans {
        writeln!(
            out,
            "  {:<names$}  {:>time$} to {:>time$} s  {}{}{}",
            text::node(session, node),
            text::seconds(span.time.start),
            text::seconds(span.time.end),
            belief(session, span.belief),
            counter(span),
            said(span),
        )?;
    }
    Ok(())
}

fn counter(span: &Span) -> String {
    span.counter
        .map(|counter| format!(", counter {counter}"))
        .unwrap_or_default()
}

/// Whose word it is, where it is not what the rules of the wire make of messages.
fn said(span: &Span) -> &'static str {
    match span.said {
        Some(_) => ", as the game said",
        None => "",
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use netreel_protocol::session::Node;

    #[test]
    fn columns_are_as_wide_as_the_longest_name() {
        let nodes = ["A", "10.0.0.31:49152"].map(|name| Node {
            name: name.to_owned(),
            ..Node::default()
        });
        let span = SessionTime(0)..SessionTime(12_000_000_000);
        let session = Session::without_packets(nodes.into(), span);
        let span = Span {
            time: SessionTime(0)..SessionTime(1_500_000_000),
            belief: Belief::Destroyed,
            counter: None,
            because: 0,
            said: None,
        };
        let widths = Widths::new(&session);
        let mut out = Vec::new();
        for node in [NodeId(0), NodeId(1)] {
            lane(
                &session,
                (node, std::slice::from_ref(&span)),
                &widths,
                &mut out,
            )
            .unwrap();
        }
        let expected = "  A                 0.000000 to  1.500000 s  destroyed\n  \
             10.0.0.31:49152   0.000000 to  1.500000 s  destroyed\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
