//! `netreel state`: what every node believed of the values of objects, and where nodes differ.

use std::collections::BTreeSet;
use std::io::Write;

use netreel_protocol::export::{
    self, State, StateDiff, StateExistence, StateObject, StateProperty, StateQuestion, StateRest,
    StateValue,
};
use netreel_protocol::history::Object;
use netreel_protocol::history::state::States;
use netreel_protocol::session::{NodeId, Session, SessionTime};

use crate::objects::fits;
use crate::outcome::{Answer, Result, fail};
use crate::packets::json;
use crate::text::{self, Align, Table, moment};
use crate::{arguments, open};

pub fn run(arguments: &arguments::State, out: &mut dyn Write) -> Result<Answer> {
    let story = open::story(&arguments.filtered.read.source)?;
    let ended = open::answer(&story.unread);
    let (session, history) = story.into_parts();
    let query = open::query(arguments.filtered.filter.as_deref(), &session)?;
    has_properties(&session)?;
    if !session.nodes.iter().any(|node| node.recorded) {
        return fail(
            "no node was recorded: what they believed of objects is unknown; of a capture make reels of \
             its nodes with `netreel import --node NAME=ADDRESS`",
        );
    }
    let end = session.span.end;
    let at = open::moment(&session, arguments.at.as_deref())?;
    let node = arguments
        .node
        .as_deref()
        .map(|name| named(&session, "--node", name))
        .transpose()?;
    let pair = arguments.diff.as_deref();
    let pair = pair.map(|pair| two(&session, pair)).transpose()?;
    let is_fit = |object: &Object| fits(&query, &session, &history, object);
    let wanted = |object: u64| {
        arguments.object.is_none_or(|it| it == object)
            && (arguments.filtered.filter.is_none()
                || history.objects.get(&object).is_some_and(is_fit))
    };
    let states = States::build(&session, &history);
    let known = states.objects();
    let is_known = |it: &u64| history.objects.contains_key(it) || known.contains_key(it);
    if let Some(object) = arguments.object.filter(|it| !is_known(it)) {
        return fail(format!(
            "--object {object}: no message is about that object; `netreel objects` lists those that \
             there are"
        ));
    }
    let question = StateQuestion {
        at: at.unwrap_or(end),
        node,
        wanted: &wanted,
    };
    let is_json = arguments.filtered.read.json;
    if let Some(pair) = pair {
        let answer = export::state_diff(&session, &history, &states, pair, &question);
        if is_json {
            json(&answer, out)?
        } else {
            print_diff(&answer, at, out)?
        }
        return Ok(ended);
    }
    let answer = export::state(&session, &history, &states, &question);
    if is_json {
        json(&answer, out)?;
        return Ok(ended);
    }
    print_state(&answer, (at, question.at), node.is_some(), out)?;
    Ok(ended)
}

/// Prints what was believed `then`: at the moment that was asked for, or at the end. `is_one`: by one node
/// alone.
fn print_state(
    answer: &State,
    (at, then): (Option<SessionTime>, SessionTime),
    is_one: bool,
    out: &mut dyn Write,
) -> Result {
    let when = text::seconds(then);
    match at {
        Some(_) => writeln!(out, "at {when} s")?,
        None => writeln!(out, "at {when} s, the end")?,
    }
    if answer.objects.is_empty() {
        writeln!(out, "no object lives then, of those that were asked about")?;
    }
    for object in &answer.objects {
        writeln!(out)?;
        print_object(object, (is_one, then), out)?;
    }
    writeln!(out)?;
    print_whose(&answer.objects, out)?;
    if !is_one && answer.compared > 0 {
        let compared = text::counted(answer.compared, "value");
        match answer.differ {
            0 => writeln!(out, "at {when} s: {compared} as their owners have them")?,
            differ => writeln!(
                out,
                "at {when} s: {differ} of {compared} differ from what their owners have"
            )?,
        }
    }
    print_existence(&format!("at {when} s"), &answer.existence, out)?;
    print_rest(&answer.rest, out)
}

/// More objects are counted, not listed.
const EXISTENCE_MAX: usize = 8;

/// Says which objects exist at nodes, or do not, against the word of their owners.
fn print_existence(when: &str, existence: &[StateExistence], out: &mut dyn Write) -> Result {
    for differs in existence.iter().take(EXISTENCE_MAX) {
        writeln!(out, "{when}: {}", differs.words)?;
    }
    let more = existence.len().saturating_sub(EXISTENCE_MAX);
    if more > 0 {
        writeln!(out, "{when}: so with {more} more")?;
    }
    Ok(())
}

/// How many of the values are the games' own words, where some are.
fn print_whose(objects: &[StateObject], out: &mut dyn Write) -> Result {
    let properties = objects.iter().flat_map(|object| &object.properties);
    let values = properties.flat_map(|property| &property.nodes);
    let (said, ruled): (Vec<_>, Vec<_>) = values.partition(|value| value.said.is_some());
    if !said.is_empty() {
        let said = text::counted(said.len(), "value");
        let ruled = ruled.len();
        writeln!(
            out,
            "{said} as the games said, {ruled} by the rules of the wire"
        )?;
    }
    Ok(())
}

/// Without properties there is nothing to say.
fn has_properties(session: &Session) -> Result {
    let Some(wire) = &session.wire else {
        return fail("without a wire nobody knows what packets say; name one with --wire FILE");
    };
    if wire.properties().is_empty() {
        return fail(format!(
            "the wire {} declares no properties of objects: put `@property` on the fields that say \
             what objects are like (docs/wire-language.md), and name the wire with --wire FILE",
            wire.names()
        ));
    }
    Ok(())
}

fn named(session: &Session, option: &str, name: &str) -> Result<NodeId> {
    let nodes = || (0u16..).map(NodeId).zip(&session.nodes);
    let mut found = nodes().filter(|(_, node)| node.name == name);
    match (found.next(), found.next()) {
        (Some((id, node)), None) if node.recorded => Ok(id),
        (Some(_), None) => fail(format!(
            "{option} {name}: that node was not recorded, so nobody knows what it believed"
        )),
        (Some(_), Some(_)) => fail(format!("{option} {name}: several nodes are called so")),
        (None, _) => {
            let names = text::joined(
                nodes()
                    .filter(|(_, node)| node.recorded)
                    .map(|(_, node)| node.name.as_str()),
                ", ",
            );
            fail(format!(
                "{option} {name}: there is no such node; recorded are {names}"
            ))
        }
    }
}

fn two(session: &Session, pair: &str) -> Result<(NodeId, NodeId)> {
    let Some((one, other)) = pair.split_once(',') else {
        return fail(format!(
            "--diff {pair}: two nodes are compared; write `--diff A,B`"
        ));
    };
    let find = |name: &str| named(session, "--diff", name.trim());
    let (one, other) = (find(one)?, find(other)?);
    if one == other {
        return fail(format!("--diff {pair}: a node does not differ from itself"));
    }
    Ok((one, other))
}

/// What people call an object.
fn title(object: u64, object_type: Option<&String>) -> String {
    match object_type {
        Some(kind) => format!("object {object} ({kind})"),
        None => format!("object {object}"),
    }
}

fn print_object(
    object: &StateObject,
    (of_one, at): (bool, SessionTime),
    out: &mut dyn Write,
) -> Result {
    let title = title(object.object, object.object_type.as_ref());
    let owner = match &object.owners[..] {
        [] => {
            writeln!(out, "{title}, without an owner")?;
            None
        }
        [owner] => {
            writeln!(out, "{title}, owned by {owner}")?;
            Some(owner)
        }
        several => {
            let names = several.join(" and ");
            writeln!(out, "{title}, which {names} each believe to own")?;
            None
        }
    };
    let mut table = Table::new([Align::Left; 3]);
    for property in &object.properties {
        for (place, (value, nodes)) in together(property, owner).iter().enumerate() {
            let name = match place {
                0 => property.property.clone(),
                _ => String::new(),
            };
            let about = match (of_one, &value.differs) {
                (true, differs) => {
                    let since = text::seconds(SessionTime(value.since_ns));
                    let packet = value.packet.map(|it| format!(", packet {it}"));
                    let said = value.said.map(|_| ", as the game said".to_owned());
                    let packet = packet.or(said);
                    let differs = differs.as_ref().map(|it| differs_words(it, at));
                    format!(
                        "since {since} s{}{}",
                        packet.unwrap_or_default(),
                        differs.map_or(String::new(), |it| format!("; {it}")),
                    )
                }
                (false, Some(differs)) => {
                    format!("{}: {}", nodes.join(" "), differs_words(differs, at))
                }
                (false, None) => nodes.join(" "),
            };
            table.row([format!("  {name}"), value.words.clone(), about]);
        }
    }
    table.print(out)?;
    if !object.without.is_empty() {
        writeln!(out, "  it does not live at {}", object.without.join(", "))?;
    }
    Ok(())
}

fn differs_words(differs: &export::StateDiffers, at: SessionTime) -> String {
    let since = SessionTime(differs.since_ns);
    format!(
        "{} since {} s, for {}",
        differs.words,
        text::seconds(since),
        text::duration(at.0.saturating_sub(since.0))
    )
}

/// The values of a property with the nodes that believe in them: the owner's first, then those that do
/// not differ from it, then each of the others by itself.
fn together<'a>(
    property: &'a StateProperty,
    owner: Option<&String>,
) -> Vec<(&'a StateValue, Vec<&'a str>)> {
    let mut values: Vec<&StateValue> = property.nodes.iter().collect();
    values.sort_by_key(|it| (it.differs.is_some(), Some(&it.node) != owner));
    let mut found: Vec<(&StateValue, Vec<&str>)> = Vec::new();
    for value in values {
        let same = found.iter_mut().find(|(first, _)| {
            let is_plain = value.differs.is_none() && first.differs.is_none();
            is_plain
                && (owner.is_some() && value.known == first.known || value.words == first.words)
        });
        match same {
            Some((_, nodes)) => nodes.push(&value.node),
            None => found.push((value, vec![&value.node])),
        }
    }
    found
}

fn print_rest(rest: &StateRest, out: &mut dyn Write) -> Result {
    let when = "when all is delivered";
    print_existence(when, &rest.existence, out)?;
    let agreed = text::counted(rest.agreed, "value");
    match rest.verdict {
        "agree" => write!(out, "{when}, all nodes agree ({agreed})")?,
        "differ" if rest.differ == 0 => write!(
            out,
            "{when}, {} exist at some nodes alone; of the others, all nodes agree ({agreed})",
            text::counted(objects_of(&rest.existence), "object"),
        )?,
        "differ" => write!(
            out,
            "{when}, {} of {} differ from what the objects' owners have",
            rest.differ,
            text::counted(rest.agreed + rest.differ, "value"),
        )?,
        _ => write!(
            out,
            "whether nodes agree when all is delivered cannot be told"
        )?,
    }
    if rest.open > 0 {
        let objects = text::counted(rest.open, "object");
        let why = rest.why_open.as_deref().unwrap_or_default();
        write!(out, "; of {objects} it is not known: {why}")?;
    }
    writeln!(out)?;
    Ok(())
}

fn objects_of(existence: &[StateExistence]) -> u64 {
    let objects = existence.iter().map(|it| it.object);
    objects.collect::<BTreeSet<u64>>().len() as u64
}

fn print_diff(diff: &StateDiff, at: Option<SessionTime>, out: &mut dyn Write) -> Result {
    let [one, other] = &diff.nodes;
    let when = text::seconds(SessionTime(diff.at_ns));
    let now: Vec<_> = diff.values.iter().filter(|it| it.now).collect();
    let end = if at.is_none() { ", the end" } else { "" };
    writeln!(
        out,
        "{one} and {other} at {when} s{end}: {} of {} that both have differ",
        now.len(),
        text::counted(diff.compared, "value"),
    )?;
    if !now.is_empty() {
        let mut table = Table::new([Align::Left; 5]);
        table.row(["object", "property", one, other, ""]);
        for it in now {
            let [mine, theirs] = it.words.clone().map(Option::unwrap_or_default);
            let apart = it.apart.clone().unwrap_or_default();
            let name = title(it.object, it.object_type.as_ref());
            table.row([name, it.property.clone(), mine, theirs, apart]);
        }
        table.print(out)?;
    }
    print_lives_at_one(diff, out)?;
    let Some(first) = &diff.first else {
        let values = if diff.lives_at_one.is_empty() {
            "they never differed before"
        } else {
            "no value of theirs ever differed before"
        };
        writeln!(out, "{values}")?;
        return Ok(());
    };
    writeln!(
        out,
        "\nthey first parted at {} s: {} of object {}",
        text::seconds(SessionTime(first.time_ns)),
        first.property,
        first.object
    )?;
    print_times(diff, out)
}

/// The objects that live at one of the two nodes alone.
fn print_lives_at_one(diff: &StateDiff, out: &mut dyn Write) -> Result {
    for lives in diff.lives_at_one.iter().take(EXISTENCE_MAX) {
        let name = title(lives.object, lives.object_type.as_ref());
        let why = if lives.destroyed {
            "took it for destroyed"
        } else {
            "was never told of it"
        };
        writeln!(
            out,
            "{name} lives at {}, and {} {why}",
            lives.at, lives.not_at
        )?;
    }
    let more = diff.lives_at_one.len().saturating_sub(EXISTENCE_MAX);
    if more > 0 {
        writeln!(
            out,
            "{} more live at one of the two alone",
            text::counted(more, "object")
        )?;
    }
    Ok(())
}

/// How often and how long each value differed.
fn print_times(diff: &StateDiff, out: &mut dyn Write) -> Result {
    use Align::{Left, Right};
    let mut table = Table::new([Left, Left, Right, Right, Right, Right, Left]);
    table.row([
        "object", "property", "differed", "in all", "longest", "from", "at most",
    ]);
    for it in &diff.values {
        table.row([
            title(it.object, it.object_type.as_ref()),
            it.property.clone(),
            text::counted(it.times, "time"),
            text::duration(it.total_ns),
            text::duration(it.longest_ns),
            moment(SessionTime(it.longest_from_ns)),
            it.farthest_words.clone(),
        ]);
    }
    table.print(out)
}
