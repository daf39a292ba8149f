//! Layers and Lua: what stands between bytes and the stream inside them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Checker;
use super::declared::{Scope, ValueType};
use super::model::{Expression, Layer, LayerArgument, LayerKind, LayerUse, Type, Window};
use super::protocols::{BIT_ORDERS, BYTE_ORDERS};
use crate::layers::{Script, Transform};
use crate::layout::BitOrder;
use crate::limits::{INFLATED_DEFAULT, INFLATED_MAX};
use crate::report::Span;
use crate::syntax::ast::{self, Expr, ExprKind, Field, Ident, Setting, Through};

const LAYER_SETTINGS: [&str; 5] = [
    "transform",
    "coding",
    "byte_order",
    "bit_order",
    "inflated_max",
];

pub(super) const TRANSFORMS: [&str; 14] = [
    "zlib",
    "deflate",
    "gzip",
    "lz4",
    "lz4_frame",
    "zstd",
    "xor",
    "xor_text",
    "huffman",
    "adaptive_huffman",
    "chacha20_poly1305",
    "aes128_gcm",
    "aes256_gcm",
    "lua",
];

/// What a parameter or an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Integer,
    Bytes,
    Either,
}

impl Of {
    fn takes(self, other: Of) -> bool {
        self == other || self == Of::Either || other == Of::Either
    }

    fn shown(self) -> &'static str {
        match self {
            Of::Integer => "an integer",
            Of::Bytes => "bytes or a text",
            Of::Either => "an integer, bytes or a text",
        }
    }
}

/// A layer's parameters by name.
type Parameters<'a> = BTreeMap<&'a str, (usize, Of, Span)>;

/// The window of a field that goes through a layer.
pub(super) fn layered(window: Option<Window>, layer: LayerUse, name: &str) -> Window {
    let whole = || Window {
        at: None,
        size: None,
        text: layer.text.clone(),
        rest_key: format!("{name}.rest").into(),
        layer: None,
    };
    let window = window.unwrap_or_else(whole);
    Window {
        layer: Some(layer),
        ..window
    }
}

impl<'a> Checker<'a, '_> {
    pub(super) fn declare_layers(&mut self) {
        let file = self.file;
        let mut taken = vec![BTreeMap::new(); self.files.len()];
        for (index, item) in file.layers.iter().enumerate() {
            let of = self.file_of(item.block.name.span);
            self.claim(&mut taken[of], item.block.name);
            self.layer_names
                .insert(item.block.name.text, of, index as u16);
        }
        let mut taken = vec![BTreeMap::new(); self.files.len()];
        for (index, item) in file.huffmans.iter().enumerate() {
            let of = self.file_of(item.name.span);
            self.claim(&mut taken[of], item.name);
            self.huffman_names.insert(item.name.text, of, index);
        }
        if file.layers.len() > usize::from(u16::MAX) {
            let span = file.layers[0].block.name.span;
            self.report(span, "there are too many layers");
        }
    }

    /// The layers; one with a mistake stands there all the same, so that places agree.
    pub(super) fn check_layers(&mut self) -> Vec<Layer> {
        let file = self.file;
        for item in &file.scripts {
            let of = self.file_of(item.span);
            let (_, text) = self.files.file(of);
            let before = (item.span.start as usize).saturating_sub(self.files.start(of));
            let before = text.get(..before).unwrap_or_default();
            let line = 1 + before.bytes().filter(|&byte| byte == b'\n').count();
            match Script::new(item.text, line) {
                Ok(script) => self.scripts.push((of, Arc::new(script))),
                Err(error) => {
                    let at = line_span(item, error.line.saturating_sub(line));
                    self.report(at, format!("this Lua does not run: {}", error.why))
                        .label("expected Lua 5.4");
                }
            }
        }
        for item in &file.huffmans {
            let table = self.table(item);
            self.huffmans.push(table);
        }
        let mut layers = Vec::new();
        for declared in &file.layers {
            if self.has_enough() {
                break;
            }
            let layer = self.layer(declared);
            layers.push(layer);
        }
        layers
    }

    fn layer(&mut self, declared: &ast::Layer<'a>) -> Layer {
        let block = &declared.block;
        self.check_settings(block, &LAYER_SETTINGS, &[]);
        let parameters = self.layer_parameters(declared);
        let named = |name: &str| block.settings.iter().find(|each| each.name.text == name);
        let bytes = named("byte_order").and_then(|setting| self.choice(setting, &BYTE_ORDERS));
        let bits = named("bit_order").and_then(|setting| self.choice(setting, &BIT_ORDERS));
        let inflated_max = match named("inflated_max") {
            Some(setting) => self.inflated_max(setting),
            None => INFLATED_DEFAULT,
        };
        let kind = match (named("transform"), named("coding")) {
            (Some(setting), None) => self.transform(setting, &parameters),
            (None, Some(setting)) => self.coding(setting),
            (Some(first), Some(second)) => {
                self.report(second.name.span, "a layer has a transform or a coding")
                    .label("expected one of the two")
                    .related(first.name.span, "the other one");
                None
            }
            (None, None) => {
                self.report(block.name.span, "the layer has no `transform`")
                    .label("expected the setting `transform`, or `coding`");
                None
            }
        };
        Layer {
            bits,
            bytes,
            inflated_max,
            // Nobody sees it: a mistake was reported.
            kind: kind.unwrap_or(LayerKind::Transform {
                transform: Transform::Zlib,
                arguments: Vec::new(),
            }),
        }
    }

    fn layer_parameters(&mut self, declared: &ast::Layer<'a>) -> Parameters<'a> {
        let mut taken = BTreeMap::new();
        let mut parameters = Parameters::new();
        for (place, (name, kind)) in declared.parameters.iter().enumerate() {
            self.claim(&mut taken, *name);
            let of = match kind.text {
                "int" => Of::Integer,
                "bytes" => Of::Bytes,
                other => {
                    let message = format!("a layer takes no `{other}`");
                    self.report_choice(kind.span, message, other, ["int", "bytes"]);
                    Of::Either
                }
            };
            parameters
                .entry(name.text)
                .or_insert((place, of, name.span));
        }
        parameters
    }

    fn inflated_max(&mut self, setting: &Setting<'a>) -> usize {
        let value = self.constant_integer(&setting.value, "a number of bytes");
        let Some(value) = value else {
            return INFLATED_DEFAULT;
        };
        match usize::try_from(value) {
            Ok(value) if (1..=INFLATED_MAX).contains(&value) => value,
            _ => {
                self.report(setting.value.span, "no layer may give so many bytes")
                    .label(format!("expected 1 to {INFLATED_MAX}"));
                INFLATED_DEFAULT
            }
        }
    }

    fn coding(&mut self, setting: &Setting<'a>) -> Option<LayerKind> {
        let (name, arguments) = self.called(&setting.value, "huffman(TABLE)")?;
        if name.text != "huffman" {
            self.report(name.span, format!("there is no coding `{}`", name.text))
                .label("expected `huffman(TABLE)`");
            return None;
        }
        Some(LayerKind::Coding(
            self.table_argument(&setting.value, arguments)?,
        ))
    }

    /// A name with its arguments, if it has some.
    fn called<'e>(
        &mut self,
        expr: &'e Expr<'a>,
        expected: &str,
    ) -> Option<(Ident<'a>, &'e [Expr<'a>])> {
        match &expr.kind {
            ExprKind::Path(path) if path.len() == 1 => Some((path[0], &[])),
            ExprKind::Call(name, arguments) => Some((*name, arguments)),
            _ => {
                self.report(expr.span, "this is no name of a transform")
                    .label(format!("expected one such as `{expected}`"));
                None
            }
        }
    }

    fn transform(
        &mut self,
        setting: &Setting<'a>,
        parameters: &Parameters<'a>,
    ) -> Option<LayerKind> {
        let whole = &setting.value;
        let (name, arguments) = self.called(whole, "xor(KEY)")?;
        let plain = |transform| Some((transform, &[][..]));
        let cipher = [
            ("a key", Of::Bytes),
            ("a nonce", Of::Either),
            ("associated data", Of::Bytes),
        ];
        let xor_text = [
            ("a key", Of::Integer),
            ("a text", Of::Bytes),
            ("the first byte", Of::Integer),
        ];
        let (transform, wanted): (Transform, &[(&str, Of)]) = match name.text {
            "zlib" => plain(Transform::Zlib),
            "deflate" => plain(Transform::Deflate),
            "gzip" => plain(Transform::Gzip),
            "lz4" => Some((Transform::Lz4, &[("the number of bytes", Of::Integer)][..])),
            "lz4_frame" => plain(Transform::Lz4Frame),
            "zstd" => plain(Transform::Zstd),
            "adaptive_huffman" => plain(Transform::AdaptiveHuffman),
            "xor" => Some((Transform::Xor, &[("a key", Of::Either)][..])),
            "xor_text" => Some((Transform::XorText, &xor_text[..])),
            "chacha20_poly1305" => Some((Transform::ChaCha20Poly1305, &cipher[..])),
            "aes128_gcm" => Some((Transform::Aes128Gcm, &cipher[..])),
            "aes256_gcm" => Some((Transform::Aes256Gcm, &cipher[..])),
            "huffman" => {
                let table = self.table_argument(whole, arguments)?;
                return Some(LayerKind::Transform {
                    transform: Transform::Huffman(table, BitOrder::Lsb),
                    arguments: Vec::new(),
                });
            }
            "lua" => return self.lua_transform(whole, arguments, parameters),
            other => {
                let message = format!("there is no transform `{other}`");
                self.report_choice(name.span, message, other, TRANSFORMS);
                None
            }
        }?;
        if arguments.len() != wanted.len() {
            let names: Vec<&str> = wanted.iter().map(|(what, _)| *what).collect();
            let expected = if names.is_empty() {
                format!("expected `{}`", name.text)
            } else {
                format!("expected {}", names.join(", "))
            };
            let found = arguments.len();
            self.report(
                whole.span,
                format!("`{}` does not take {found} arguments", name.text),
            )
            .label(expected);
            return None;
        }
        let mut checked = Vec::new();
        for (argument, &(_, of)) in arguments.iter().zip(wanted) {
            checked.push(self.layer_argument(argument, of, parameters)?);
        }
        Some(LayerKind::Transform {
            transform,
            arguments: checked,
        })
    }

    fn lua_transform(
        &mut self,
        whole: &Expr<'a>,
        arguments: &[Expr<'a>],
        parameters: &Parameters<'a>,
    ) -> Option<LayerKind> {
        let [decode, encode, more @ ..] = arguments else {
            self.report(whole.span, "Lua takes two functions")
                .label("expected `lua(\"DECODE\", \"ENCODE\", ...)`");
            return None;
        };
        let mut found = Vec::new();
        for function in [decode, encode] {
            found.push(self.lua_function(function)?);
        }
        let [(script, decode), (other, encode)] = &found[..] else {
            return None;
        };
        if !Arc::ptr_eq(script, other) {
            self.report(whole.span, "both functions stand in one `lua` item");
            return None;
        }
        let transform = Transform::Lua {
            script: script.clone(),
            decode: decode.clone(),
            encode: encode.clone(),
        };
        let mut checked = Vec::new();
        for argument in more {
            checked.push(self.layer_argument(argument, Of::Either, parameters)?);
        }
        Some(LayerKind::Transform {
            transform,
            arguments: checked,
        })
    }

    /// The function that a text names.
    pub(super) fn lua_function(&mut self, function: &Expr<'a>) -> Option<(Arc<Script>, Arc<str>)> {
        let ExprKind::Text(name) = &function.kind else {
            self.report(function.span, "this is not the name of a function")
                .label("expected a text, such as `\"decode\"`");
            return None;
        };
        let own = self.file_of(function.span);
        let imported = &self.imported[own];
        let mut scripts = self.scripts.iter();
        let script = scripts
            .find(|(file, script)| (*file == own || imported.contains(file)) && script.has(name))
            .map(|(_, script)| script.clone());
        if script.is_none() {
            self.report(function.span, format!("there is no Lua function `{name}`"))
                .label("expected a global function of a `lua` item");
        }
        Some((script?, name[..].into()))
    }

    /// An argument of a transform: a parameter of the layer, a constant, or a key of a key log.
    fn layer_argument(
        &mut self,
        argument: &Expr<'a>,
        wanted: Of,
        parameters: &Parameters<'a>,
    ) -> Option<LayerArgument> {
        let (checked, found) = match &argument.kind {
            ExprKind::Path(path) if path.len() == 1 && parameters.contains_key(path[0].text) => {
                let (place, of, declared) = parameters[path[0].text];
                self.stands_for(argument.span, declared);
                (LayerArgument::Parameter(place), of)
            }
            ExprKind::Path(path) if path.first().is_some_and(|name| name.text == "state") => {
                self.report(argument.span, "a layer reads no state by itself")
                    .label("expected a parameter")
                    .help("declare `layer NAME(key: int)` and write `through NAME(state.key)`");
                return None;
            }
            ExprKind::Call(name, arguments) if name.text == "keylog" => {
                let [label, id] = arguments.as_slice() else {
                    self.report(argument.span, "a key log is asked by label and id")
                        .label("expected `keylog(\"LABEL\", ID)`");
                    return None;
                };
                let ExprKind::Text(label) = &label.kind else {
                    self.report(label.span, "this is not a label")
                        .label("expected a text, such as `\"CLIENT\"`");
                    return None;
                };
                let id = self.layer_argument(id, Of::Either, parameters)?;
                let keylog = LayerArgument::KeyLog {
                    label: label[..].into(),
                    id: Box::new(id),
                };
                (keylog, Of::Bytes)
            }
            _ => match self.typed(argument, None)? {
                (Expression::Integer(value), ValueType::Integer) => {
                    (LayerArgument::Integer(value), Of::Integer)
                }
                (Expression::Text(text), _) => {
                    (LayerArgument::Bytes(text.as_bytes().into()), Of::Bytes)
                }
                (Expression::Bytes(bytes), _) => {
                    (LayerArgument::Bytes(bytes[..].into()), Of::Bytes)
                }
                (_, found) => {
                    let found = self.shown(found);
                    self.report(argument.span, format!("no transform takes {found}"))
                        .label(format!("expected {}", wanted.shown()));
                    return None;
                }
            },
        };
        if wanted.takes(found) {
            return Some(checked);
        }
        self.report(argument.span, format!("this is {}", found.shown()))
            .label(format!("expected {}", wanted.shown()));
        None
    }

    /// `through NAME(ARGUMENT, ...)` of a field.
    pub(super) fn layer_use(
        &mut self,
        through: &Through<'a>,
        field: &Field<'a>,
        field_type: &Type,
        scope: &Scope<'a>,
    ) -> Option<LayerUse> {
        let is_struct = matches!(field_type, Type::Struct(_) | Type::Broken);
        if !is_struct || field.repeat.is_some() {
            self.report(through.span, "only a struct goes through a layer")
                .label("expected the layer on a field that is one struct")
                .related(field.field_type.span, "this is not one")
                .help(
                    "declare a struct that holds this, and put the layer on a field of that type",
                );
            return None;
        }
        let name = through.name;
        let seen = self.seen_from(name.span);
        let Some(&layer) = self.layer_names.get(name.text, seen) else {
            let names: Vec<&str> = self.layer_names.seen(seen).collect();
            let message = format!("there is no layer `{}`", name.text);
            self.report_choice(name.span, message, name.text, names);
            return None;
        };
        let declared = &self.file.layers[usize::from(layer)];
        self.stands_for(name.span, declared.block.name.span);
        let (wanted, found) = (declared.parameters.len(), through.arguments.len());
        if wanted != found {
            let spelled: Vec<String> = declared
                .parameters
                .iter()
                .map(|(name, kind)| format!("{}: {}", name.text, kind.text))
                .collect();
            let label = format!("expected `{}({})`", name.text, spelled.join(", "));
            self.report(
                through.span,
                format!("the layer does not take {found} arguments"),
            )
            .label(label)
            .related(declared.block.name.span, "declared here");
            return None;
        }
        let mut arguments = Vec::new();
        for (argument, (parameter, kind)) in through.arguments.iter().zip(&declared.parameters) {
            let (value, found) = self.typed(argument, Some(scope))?;
            let (is_bytes, wanted) = match kind.text {
                "int" => (false, found == ValueType::Integer),
                _ => (true, matches!(found, ValueType::Text | ValueType::Bytes)),
            };
            if !wanted {
                let found = self.shown(found);
                let message = format!("`{}` is `{}`, this is {found}", parameter.text, kind.text);
                self.report(argument.span, message)
                    .label(if is_bytes {
                        "expected bytes or a text"
                    } else {
                        "expected an integer"
                    })
                    .related(parameter.span, "declared here");
                return None;
            }
            arguments.push((value, is_bytes));
        }
        let key = |what: &str| format!("{}.{what}", field.name.text).into();
        Some(LayerUse {
            layer,
            arguments,
            text: through.span.text(self.text).into(),
            packed_key: key("packed"),
            rest_key: key("inner.rest"),
        })
    }
}

/// A line of a script, the first being 0.
fn line_span(item: &ast::LuaItem<'_>, line: usize) -> Span {
    let quotes = 3;
    let before: usize = item
        .text
        .split_inclusive('\n')
        .take(line)
        .map(str::len)
        .sum();
    let length = item.text.get(before..).map_or(0, |rest| {
        rest.lines().next().unwrap_or_default().trim_end().len()
    });
    let start = item.span.start + quotes + before as u32;
    Span {
        start,
        end: start + length as u32,
    }
}
