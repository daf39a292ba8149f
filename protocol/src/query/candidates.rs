//! What may stand at the end of a filter, for who asks with a `?` there.

use super::expr::{Field, Takes};
use super::parse::all_names;
use super::token::{What, tokens};
use crate::history::{Effect, Level, RULES};
use crate::packet_fields::PacketField;
use crate::session::Session;

/// The signs of a comparison that every field knows, and those of fields whose values have an order.
const EQUAL: [&str; 2] = ["==", "!="];
const ORDER: [&str; 4] = ["<", "<=", ">", ">="];

/// What binds two expressions.
const BETWEEN: [&str; 2] = ["&&", "||"];

/// What a filter that ends in a `?` asks for: what may stand there, where something stands before it
/// already what begins with that. `None` where it does not end so, or where what is before the `?`
/// cannot be read.
pub(super) fn candidates(text: &str, session: &Session, own_rules: &[&str]) -> Option<Vec<String>> {
    let before = text.trim_end().strip_suffix('?')?;
    begun(before, session, own_rules).map(|(_, all)| all)
}

/// What may stand behind a text, and how many of its last bytes begin that. `None` where the text cannot
/// be read.
pub(super) fn begun(
    before: &str,
    session: &Session,
    own_rules: &[&str],
) -> Option<(usize, Vec<String>)> {
    let mut words: Vec<What> = tokens(before).ok()?.into_iter().map(|it| it.what).collect();
    words.pop(); // the end
    let begun = match words.last() {
        Some(What::Name(name)) if before.ends_with(name.as_str()) => {
            let name = name.clone();
            words.pop();
            name
        }
        _ => String::new(),
    };
    let mut all = match words.as_slice() {
        [.., What::Sign("[")] => return None,
        [
            ..,
            What::Name(name),
            What::Sign("["),
            What::Number(..),
            What::Sign("]"),
        ] => {
            let mut all = texts(&BETWEEN);
            all.extend((name == OBJECTS).then(|| ".".to_owned()));
            all
        }
        [
            ..,
            What::Name(name),
            What::Sign("["),
            What::Number(..),
            What::Sign("]"),
            What::Sign("."),
        ] if name == OBJECTS => of_beliefs(session),
        [.., What::Sign("." | "]")] => return None,
        [.., What::Name(name), What::Sign(sign)] if is_comparison(sign) => {
            values(Field::named(name)?, session, own_rules)
        }
        [.., What::Name(_) | What::Quoted(_), What::Sign("->")] => names_of_nodes(session),
        [
            ..,
            What::Sign(sign),
            What::Name(_) | What::Quoted(_) | What::Number(..),
        ] if is_comparison(sign) || *sign == "->" => texts(&BETWEEN),
        [.., What::Name(name)] if !["not", "and", "or"].contains(&name.as_str()) => behind(name),
        [.., What::Sign(")") | What::Quoted(_) | What::Number(..)] => texts(&BETWEEN),
        _ => terms(&begun, session),
    };
    all.retain(|it| it.starts_with(&begun));
    all.sort();
    all.dedup();
    Some((begun.len(), all))
}

/// What is asked of beliefs: `objects[42].owner`.
const OBJECTS: &str = "objects";

/// What can be asked of a belief.
fn of_beliefs(session: &Session) -> Vec<String> {
    let properties = session.wire.iter().flat_map(|wire| wire.properties());
    let properties = properties.map(|property| property.name.clone());
    texts(&["owner", "counter"])
        .into_iter()
        .chain(properties)
        .collect()
}

fn is_comparison(sign: &str) -> bool {
    EQUAL.contains(&sign) || ORDER.contains(&sign) || ["=", ":"].contains(&sign)
}

fn texts(those: &[&str]) -> Vec<String> {
    those.iter().map(|&it| it.to_owned()).collect()
}

fn names_of_nodes(session: &Session) -> Vec<String> {
    session
        .nodes
        .iter()
        .map(|node| quoted(&node.name))
        .collect()
}

/// A name as it stands in a filter.
fn quoted(name: &str) -> String {
    let is_one = tokens(name).is_ok_and(|found| found.len() == 2);
    if is_one && !name.contains(char::is_whitespace) {
        name.to_owned()
    } else {
        format!("\"{name}\"")
    }
}

/// What a field can be compared with, where that can be listed.
fn values(field: Field, session: &Session, own_rules: &[&str]) -> Vec<String> {
    match field {
        Field::Of(PacketField::From | PacketField::To)
        | Field::Node
        | Field::Owner
        | Field::Origin => names_of_nodes(session),
        Field::Of(PacketField::Link) => {
            let links = session.links().iter();
            let name = |node| quoted(&session.name(node));
            links
                .map(|&(from, to)| format!("{}->{}", name(from), name(to)))
                .collect()
        }
        Field::Kind => {
            let kinds = session.kinds();
            kinds.iter().map(|kind| kind.name.clone()).collect()
        }
        Field::Rule => texts(&[&RULES[..], own_rules].concat()),
        Field::Effect => texts(&Effect::ALL.map(Effect::name)),
        Field::Channel => texts(&["reliable", "unreliable"]),
        Field::Level => texts(&Level::ALL.map(Level::name)),
        _ => match field.takes() {
            Takes::Time => texts(&["1s", "100ms", "50us", "80ns"]),
            _ => Vec::new(),
        },
    }
}

/// What may stand behind a field or a word.
fn behind(name: &str) -> Vec<String> {
    let signs = match Field::named(name).map(Field::takes) {
        Some(Takes::Number | Takes::Time | Takes::Level) => [&EQUAL[..], &ORDER].concat(),
        Some(_) => EQUAL.to_vec(),
        None if name.contains('.') => [&EQUAL[..], &ORDER].concat(),
        None => Vec::new(),
    };
    texts(&[&signs[..], &BETWEEN].concat())
}

/// A field, a word, or a path of the wire's fields that was begun.
fn terms(begun: &str, session: &Session) -> Vec<String> {
    let Some((before, _)) = begun.rsplit_once('.') else {
        return texts(&all_names());
    };
    let wire = session.wire.as_ref();
    let fields = wire.map(|wire| wire.field_names()).unwrap_or_default();
    let paths = fields.into_iter().map(|name| format!("{before}.{name}"));
    paths.collect()
}
