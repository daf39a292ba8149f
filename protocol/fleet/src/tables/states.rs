//! What nodes believed of the properties of objects.

use netreel_protocol::export;
use netreel_protocol::history::state::{Held, Known, Scalar, States};
use netreel_protocol::session::NodeId;

use super::moment;
use crate::column::{Cell, Column, cells, real, text, unsigned, utc, whole};
use crate::rows::Rows;
use crate::{FleetError, Recording};

pub(super) const COLUMNS: &[Column] = &[
    unsigned("object", "its number"),
    text("object_type", "what the wire calls its type").or_null(),
    text("property", "the name of its fields"),
    text("unit", "as the wire spells it"),
    text("node", "who held it"),
    utc("utc", "from when on"),
    whole("from_ns", "the same on the session's clock"),
    whole(
        "to_ns",
        "until when; the last stretch ends where the node's reel ends",
    ),
    text(
        "known",
        "`value`; `unknown`: nobody can say; `nothing`: the object no longer lives there, or no message has said the property since it came to life",
    ),
    text(
        "value",
        "the value as JSON, a list where it has several parts",
    )
    .or_null(),
    real("number", "the same where it is one number").or_null(),
    whole("packet", "the packet that told it").or_null(),
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
                    rows.row(cells![
                        object,
                        &object_type,
                        &property.name,
                        &property.unit,
                        &each.name,
                        moment(recording, held.since.0),
                        held.since.0,
                        to.0,
                        word(&held.value),
                        &value,
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
