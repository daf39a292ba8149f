//! What RPCs are called, where the wire names them (`@rpc_name`).

use netreel_wire::{Decoded, MessageFacts, Place, RpcName, TreeId, TreeNode, Value};

use crate::session::{PacketId, Session};

/// An RPC: its name, and what its message says behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Rpc {
    /// Its name.
    pub name: String,
    /// The fields that stand behind the name in its struct, and in those: each with its path from there.
    pub arguments: Vec<(String, Value)>,
}

impl Rpc {
    /// The call in a few characters: `ready(slot 3)`. Name and arguments are what somebody sent: what
    /// is no plain text in them is escaped, and what is long is cut.
    pub fn short(&self) -> String {
        let mut arguments = String::new();
        for (path, value) in &self.arguments {
            if arguments.chars().count() > ARGUMENTS_MAX {
                break;
            }
            let name = path.rsplit('.').next().unwrap_or(path);
            let between = if arguments.is_empty() { "" } else { ", " };
            arguments += &format!("{between}{name} {}", plain(value));
        }
        let name = self.short_name();
        if arguments.is_empty() {
            name
        } else {
            format!("{name}({})", cut(&arguments, ARGUMENTS_MAX))
        }
    }

    /// The name alone, escaped and cut in the same way.
    pub fn short_name(&self) -> String {
        cut(&self.name, NAME_MAX)
    }
}

/// Of an RPC's name, this many characters are shown, and of its arguments.
const NAME_MAX: usize = 40;
const ARGUMENTS_MAX: usize = 40;

/// How many characters of a text, and a mark where there are more.
fn cut(text: &str, characters: usize) -> String {
    let mut shown: String = text.chars().take(characters).collect();
    let is_cut = shown.len() < text.len();
    shown = shown.escape_debug().to_string();
    if is_cut {
        shown.push('…');
    }
    shown
}

/// A value without what stands on the wire for it.
fn plain(value: &Value) -> String {
    match value {
        Value::Text(text) => text.chars().take(ARGUMENTS_MAX + 1).collect(),
        Value::Enum {
            name: Some(name), ..
        } => name.to_string(),
        Value::Quantized { value, .. } => {
            let digits = format!("{value:.4}");
            digits
                .trim_end_matches('0')
                .trim_end_matches('.')
                .to_owned()
        }
        // As short as what it was on the wire.
        Value::Float(value) if f64::from(*value as f32) == *value => (*value as f32).to_string(),
        Value::Delta {
            value: Some(value), ..
        } => value.to_string(),
        Value::Bytes(bytes) | Value::Hash(bytes) => {
            let first = bytes.iter().take(ARGUMENTS_MAX / 2 + 1);
            first.map(|byte| format!("{byte:02x}")).collect()
        }
        other => other.to_string(),
    }
}

impl Session {
    /// For each of a packet's messages, which are those of [`Session::look`] or
    /// [`Session::messages_of`], the RPC that it is, where the wire names it. Empty where no message has
    /// one. The packet is decoded where one has, else not.
    pub fn rpcs<'a>(
        &self,
        packet: PacketId,
        messages: impl Iterator<Item = &'a MessageFacts>,
    ) -> Vec<Option<Rpc>> {
        let names: Vec<Option<&RpcName>> = messages.map(|facts| facts.rpc_name.as_ref()).collect();
        if names.iter().all(Option::is_none) {
            return Vec::new();
        }
        let Some(decoded) = self.decoded(packet) else {
            return Vec::new();
        };
        let names = names.into_iter();
        names.map(|name| rpc_at(&decoded, name?)).collect()
    }
}

/// For each message of a decoded packet the RPC that it is, where the wire names it.
pub(crate) fn rpcs_in(decoded: &Decoded, messages: &[MessageFacts]) -> Vec<Option<Rpc>> {
    let messages = messages.iter();
    let rpcs = messages.map(|facts| rpc_at(decoded, facts.rpc_name.as_ref()?));
    rpcs.collect()
}

fn rpc_at(decoded: &Decoded, name: &RpcName) -> Option<Rpc> {
    Some(Rpc {
        name: name.text.to_string(),
        arguments: arguments_at(decoded, &name.place).unwrap_or_default(),
    })
}

/// The field that is an RPC's name. The place is that of the text, without the length before it.
fn field_at<'a>(decoded: &'a Decoded, place: &Place) -> Option<TreeNode<'a>> {
    decoded.tree.iter().find(|node| {
        let bits = node.bits();
        let is_around = bits.start <= place.bits.start && place.bits.end <= bits.end;
        node.stream() == place.stream && is_around && node.annotation() == Some("rpc_name")
    })
}

/// What stands behind an RPC's name in its struct.
fn arguments_at(decoded: &Decoded, place: &Place) -> Option<Vec<(String, Value)>> {
    let tree = &decoded.tree;
    let name = field_at(decoded, place)?.id();
    let around = tree.ancestors(name).next()?;
    let before = tree.path(around).len() + 1;
    let last = around.0 + tree.get(around)?.descendants();
    let within = (name.0 + 1..=last).filter_map(|id| tree.get(TreeId(id)));
    let values = within.filter(|node| node.value() != Value::None);
    let arguments = values.map(|node| {
        let path = tree.path(node.id());
        (path.get(before..).unwrap_or(&path).to_owned(), node.value())
    });
    Some(arguments.collect())
}

#[cfg(test)]
mod tests {
    use netreel_wire::{Context, PacketFacts, Wire};

    use super::*;

    const WIRE: &str = "wire w { byte_order = little; bit_order = lsb; root = P; }
        enum Kind : u8 { rpc = 0 @rpc, }
        struct P { messages: M[1]; }
        struct M @message { kind: Kind @message_kind; call: Call; behind: u8; }
        struct Call { before: u8; name: string(u8, utf8) @rpc_name; count: u8; arguments: A[count]; }
        struct A { x: u8; }";

    #[test]
    fn a_call_is_told_in_a_few_characters() {
        let check = |arguments: &[(&str, Value)], expected: &str| {
            let arguments = arguments.iter();
            let arguments = arguments.map(|(path, value)| ((*path).to_owned(), value.clone()));
            let rpc = Rpc {
                name: "ready".to_owned(),
                arguments: arguments.collect(),
            };
            assert_eq!(rpc.short(), expected);
        };
        check(&[], "ready");
        check(&[("slot", Value::Unsigned(3))], "ready(slot 3)");
        check(
            &[("at.x", Value::Float(1.5)), ("is_open", Value::Bool(true))],
            "ready(x 1.5, is_open true)",
        );
        check(
            &[("text", Value::Text("a\u{1b}[2Jb".to_owned()))],
            "ready(text a\\u{1b}[2Jb)",
        );
        let long = Value::Text("x".repeat(1000));
        let expected = format!("ready(text {}…)", "x".repeat(ARGUMENTS_MAX - 5));
        check(&[("text", long), ("more", Value::Unsigned(1))], &expected);
    }

    #[test]
    fn arguments_are_what_stands_behind_the_name_in_its_struct() {
        let wire = Wire::compile("w.wire", WIRE).unwrap_or_else(|error| panic!("{error}"));
        let payload = [0, 9, 2, b'h', b'i', 2, 7, 8, 5];
        let mut facts = PacketFacts::default();
        let context = Context::default();
        wire.facts_in(&context, &mut wire.new_state(), &payload, &mut facts);
        let name = facts.messages[0].rpc_name.clone().expect("a name");
        assert_eq!(&*name.text, "hi");
        let decoded = wire.decode_in(&context, &mut wire.new_state(), &payload);
        let found = arguments_at(&decoded, &name.place).expect("its struct");
        let found: Vec<(&str, String)> = found
            .iter()
            .map(|(path, value)| (path.as_str(), value.to_string()))
            .collect();
        let expected = [
            ("count", "2"),
            ("arguments[0].x", "7"),
            ("arguments[1].x", "8"),
        ];
        assert_eq!(
            found,
            expected.map(|(path, value)| (path, value.to_owned()))
        );
    }
}
