//! A decoded packet to JSON.

use std::ops::Range;

use serde_json::{Map, Value as Json};

use super::blank::{blank_bytes, blank_raw, blank_text};
use super::{hex, leaf_of, raw_of_integer, wide};
use crate::layout::{ByteOrder, Order};
use crate::program::{FieldInfo, Rest, Shown};
use crate::tree::show;
use crate::tree::{Name, Tree, TreeId, TreeNode, Value};
use crate::values::uuid;

/// What a field is to say instead of what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instead {
    /// Nothing: texts are as many `x`, bytes as many zeros, numbers 0 in as many bits.
    Nothing,
    /// These bytes. Of a field that is not of bytes: nothing.
    Bytes(Vec<u8>),
    /// This number. Of a field that cannot say it: what it says.
    Number(u64),
}

/// Which fields say something else, or nothing any more.
type Blank<'b> = &'b dyn Fn(TreeNode<'_>) -> Option<Instead>;

/// The whole packet: `wire` where there are several to choose from, `packet`, and `rest` where the
/// wire does not explain all of it. Fields say what `blank` has for them instead.
pub(crate) fn packet(tree: &Tree, blank: Blank<'_>) -> Json {
    let mut whole = Map::new();
    for root in tree.roots().filter_map(|root| tree.get(root)) {
        if root.is_rest() {
            whole.insert("rest".to_owned(), rest_of(root));
        } else if whole.contains_key("packet") {
            // The zeros that fill up the last byte of a joined message.
        } else {
            if let Some(protocol) = &tree.dictionary().protocol {
                whole.insert("wire".to_owned(), Json::String(protocol.to_string()));
            }
            whole.insert("packet".to_owned(), field(tree, root, blank));
        }
    }
    if tree.is_cut && !whole.contains_key("rest") {
        whole.insert("rest".to_owned(), rest(0, &[]));
    }
    Json::Object(whole)
}

fn rest(bits: u32, bytes: &[u8]) -> Json {
    serde_json::json!({ "bits": bits, "bytes": hex(bytes) })
}

fn rest_of(node: TreeNode<'_>) -> Json {
    let bits = node.bits();
    rest(bits.end - bits.start, &node.content())
}

/// What is left in a window: its key, and whether it stands inside the field that it is about.
fn window_rest(node: TreeNode<'_>) -> Option<&Rest> {
    node.info()?.rest.as_ref()
}

fn field(tree: &Tree, node: TreeNode<'_>, blank: Blank<'_>) -> Json {
    let Some(info) = node.info() else {
        return hex(&node.content());
    };
    if node.can_be_blank()
        && let Some(instead) = blank(node)
    {
        return match instead {
            Instead::Bytes(bytes) if info.shown == Shown::Bytes => hex(&bytes),
            Instead::Number(number) => other_number(node, info.shown, number)
                .unwrap_or_else(|| field(tree, node, &|_| None)),
            _ => blank_field(node, info.shown),
        };
    }
    match info.shown {
        Shown::Nothing if is_repeat(tree, node, info) => Json::Array(
            children(tree, node.id())
                .map(|child| field(tree, child, blank))
                .collect(),
        ),
        Shown::Nothing => structure(tree, node.id(), blank),
        Shown::Text(encoding) | Shown::ZeroText(encoding) => {
            let bytes = node.content();
            let text = show::text(&bytes, encoding);
            let as_text = super::leaf::text_bytes(&text, encoding);
            let value = if as_text.as_deref() == Ok(&bytes[..]) {
                Json::String(text)
            } else {
                serde_json::json!({ "raw": hex(&bytes), "value": text })
            };
            let prefix = node.bits().start..node.raw() as u32;
            with_width(node, value, "prefix_bits", prefix, bytes.len() as u64)
        }
        Shown::PaddedText(encoding) => {
            let bytes = node.content();
            let text = show::padded_text(&bytes, encoding);
            let as_text = super::leaf::text_bytes(&text, encoding).unwrap_or_default();
            let rest = bytes.strip_prefix(as_text.as_slice());
            if rest.is_some_and(|rest| rest.iter().all(|&byte| byte == 0)) {
                Json::String(text)
            } else {
                serde_json::json!({ "raw": hex(&bytes), "value": text })
            }
        }
        Shown::Bytes | Shown::Hash => hex(&node.content()),
        Shown::Wide(_) => wide(node.wide()),
        Shown::Uuid => Json::String(uuid::to_text(&node.content())),
        shown => {
            let raw = node.raw();
            let mut json = leaf_of(raw, shown, tree.dictionary());
            if let Value::Delta { value, .. } = node.value() {
                let value = value.map_or(Json::Null, |value| Json::String(value.to_string()));
                json = serde_json::json!({ "change": json, "value": value });
            }
            let json = with_width(node, json, "bits", node.bits(), raw);
            if tree.is_kept(node.id()) {
                with_part(json, "override", Json::Bool(true))
            } else {
                json
            }
        }
    }
}

/// A number in place of the one that a field says, if it can say that.
fn other_number(node: TreeNode<'_>, shown: Shown, number: u64) -> Option<Json> {
    let raw = raw_of_integer(number.into(), shown).ok()?;
    let bits = node.bits();
    let bits = bits.end - bits.start;
    let is_fixed = node.info()?.varint.is_none();
    let fits = !is_fixed || bits >= 64 || raw >> bits == 0;
    fits.then(|| leaf_of(raw, shown, node.dictionary()))
}

/// A field of the same kind and length that says nothing.
fn blank_field(node: TreeNode<'_>, shown: Shown) -> Json {
    match shown {
        Shown::Text(encoding) | Shown::ZeroText(encoding) => {
            let length = node.content().len();
            let prefix = node.bits().start..node.raw() as u32;
            let value = blank_text(length, encoding);
            with_width(node, value, "prefix_bits", prefix, length as u64)
        }
        Shown::PaddedText(encoding) => {
            let text = show::padded_text(&node.content(), encoding);
            let length = super::leaf::text_bytes(&text, encoding).map_or(0, |text| text.len());
            blank_text(length, encoding)
        }
        Shown::Bytes | Shown::Hash => hex(&blank_bytes(node.content().len())),
        Shown::Wide(_) => wide(0),
        Shown::Uuid => Json::String(uuid::to_text(&blank_bytes(16))),
        shown => {
            let bits = node.bits();
            let raw = blank_raw(shown, bits.end - bits.start);
            let json = leaf_of(raw, shown, node.dictionary());
            let json = match node.value() {
                Value::Delta { .. } => serde_json::json!({ "change": json }),
                _ => json,
            };
            with_width(node, json, "bits", bits, raw)
        }
    }
}

/// Says the width of a varint where it is not the one that a writer would choose.
fn with_width(node: TreeNode<'_>, json: Json, key: &str, bits: Range<u32>, value: u64) -> Json {
    let Some(codec) = node.info().and_then(|info| info.varint) else {
        return json;
    };
    let width = node.asked_bits(codec, bits);
    let order = node.order();
    let is_fewest = |bytes| codec.fewest(value, Order { bytes, ..order }) == Some(width);
    // Where a packet says the order of its bytes, the tree does not know which one it was.
    let is_canonical = if node.dictionary().reorders {
        is_fewest(ByteOrder::Little) && is_fewest(ByteOrder::Big)
    } else {
        is_fewest(order.bytes)
    };
    if is_canonical {
        return json;
    }
    with_part(json, key, Json::from(width))
}

fn with_part(json: Json, key: &str, part: Json) -> Json {
    let mut parts = match json {
        Json::Object(parts) => parts,
        plain => Map::from_iter([("value".to_owned(), plain)]),
    };
    parts.insert(key.to_owned(), part);
    Json::Object(parts)
}

fn structure(tree: &Tree, id: TreeId, blank: Blank<'_>) -> Json {
    let mut fields = Map::new();
    for child in children(tree, id) {
        let Name::Field(name) = child.name() else {
            continue;
        };
        if let Some(rest) = window_rest(child) {
            if !rest.is_inside {
                fields.insert(rest.key.to_string(), rest_of(child));
            }
            continue;
        }
        for inner in children(tree, child.id()) {
            if let Some(rest) = window_rest(inner).filter(|rest| rest.is_inside) {
                fields.insert(rest.key.to_string(), rest_of(inner));
            }
        }
        let is_unresolved = || children(tree, child.id()).any(TreeNode::is_unresolved);
        if let Some(key) = child.info().and_then(|info| info.packed_key.as_ref())
            && !is_unresolved()
        {
            fields.insert(key.to_string(), hex(&child.packed()));
        }
        let Some(padding) = child.info().and_then(|info| info.padding.as_ref()) else {
            fields.insert(name.to_owned(), field(tree, child, blank));
            continue;
        };
        let width = child.bits().end - child.bits().start;
        let expected = padding.pad.unwrap_or(false);
        let expected = if expected {
            u64::MAX >> (64 - width)
        } else {
            0
        };
        // Where the packet is cut, what is not said was not there.
        if child.raw() != expected || tree.is_cut || tree.has_window_rest {
            fields.insert(padding.key.to_string(), Json::from(child.raw()));
        }
    }
    Json::Object(fields)
}

fn is_repeat(tree: &Tree, node: TreeNode<'_>, info: &FieldInfo) -> bool {
    let element = |child: TreeNode<'_>| matches!(child.name(), Name::Index(_));
    info.is_repeat || children(tree, node.id()).next().is_some_and(element)
}

fn children(tree: &Tree, id: TreeId) -> impl Iterator<Item = TreeNode<'_>> {
    tree.children(id).filter_map(|child| tree.get(child))
}
