//! What nodes believed of the properties of objects.

use netreel_protocol::export;
use netreel_protocol::history::state::{Held, Known, Scalar, States};
use netreel_protocol::session::NodeId;

use super::moment;
use crate::column::{Cell, Column, Kind};
use crate::rows::Rows;
use crate::{FleetError, Recording};

pub(super) const COLUMNS: &[Column] = &[
    Column::of("object", Kind::Unsigned, "its number"),
    Column::of("object_type", Kind::Text, "what the wire calls its type").or_null(),
    Column::of("property", Kind::Text, "the name of its fields"),
    Column::of("unit", Kind::Text, "as the wire spells it"),
    Column::of("node", Kind::Text, "who held it"),
    Column::of("utc", Kind::Moment, "from when on"),
    Column::of("from_ns", Kind::Whole, "the same on the session's clock"),
    Column::of(
        "to_ns",
        Kind::Whole,
        "until when; the last stretch ends where the node's reel ends",
    ),
    Column::of(
        "known",
        Kind::Text,
        "`value`; `unknown`: nobody can say; `nothing`: the object no longer lives there, or no message has said the property since it came to life",
    ),
    Column::of(
        "value",
        Kind::Text,
        "the value as JSON, a list where it has several parts",
    )
    .or_null(),
    Column::of("number", Kind::Real, "the same where it is one number").or_null(),
    Column::of("packet", Kind::Whole, "the packet that told it").or_null(),
];

pub(super) fn write(recording: &Recording<'_>, rows: &mut Rows) -> Result<(), FleetError> {
    let Recording {
        session, history, ..
    } = *recording;
    let states = States::build(session, history);
    for (object, properties) in states.objects() {
        let known = history.objects.get(&object);
        let number = known.and_then(|it| it.object_type);
        let object_type = number.map(|number| states.type_name(number));
        for id in properties {
            let Some(property) = states.property(id) else {
                continue;
            };
            for (node, each) in (0u16..).map(NodeId).zip(&session.nodes) {
                let mut changes = states.changes(object, id, node).peekable();
                while let Some(held) = changes.next() {
                    let next = changes.peek().map(|next| next.since);
                    let to = next.unwrap_or(each.span.end.max(held.since));
                    let value = matches!(held.value, Known::Value(_))
                        .then(|| export::known_json(&held.value).to_string());
                    rows.row([
                        object.into(),
                        (&object_type).into(),
                        (&property.name).into(),
                        (&property.unit).into(),
                        (&each.name).into(),
                        moment(recording, held.since.0),
                        held.since.0.into(),
                        to.0.into(),
                        word(&held.value).into(),
                        (&value).into(),
                        number_of(&held.value),
                        packet(recording, &held),
                    ])?;
                }
            }
        }
    }
    Ok(())
}

fn word(known: &Known) -> &'static str {
    match known {
        Known::Value(_) => "value",
        Known::Unknown => "unknown",
        Known::Nothing => "nothing",
    }
}

fn number_of(known: &Known) -> Cell<'static> {
    match known {
        Known::Value(parts) => match parts[..] {
            [Scalar::Integer(number)] => Cell::Real(number as f64),
            [Scalar::Real(number)] => Cell::Real(number),
            _ => Cell::Null,
        },
        Known::Unknown | Known::Nothing => Cell::Null,
    }
}

fn packet(recording: &Recording<'_>, held: &Held) -> Cell<'static> {
    let carrier = held.because.and_then(|it| recording.session.carrier(it));
    carrier.map(|packet| packet.0).into()
}
