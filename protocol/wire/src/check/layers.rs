//! Layers and Lua: what stands between bytes and the stream inside them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Checker;
use super::declared::{ValueType, is_content};
use super::model::{Expression, Layer, LayerArgument, LayerKind, LayerUse, Type, Window};
use super::protocols::{BIT_ORDERS, BYTE_ORDERS};
use crate::layers::{Cipher, Script, Transform};
use crate::layout::BitOrder;
use crate::limits::{INFLATED_DEFAULT, INFLATED_MAX};
use crate::report::Span;
use crate::syntax::ast::{self, Expr, ExprKind, Field, Ident, Setting, Through};
use crate::words::{HelpKind, words_of};

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
    let whole = || Window::whole(layer.text.clone(), format!("{name}.rest"));
    let window = window.unwrap_or_else(whole);
    Window {
        layer: Some(layer),
        ..window
    }
}

impl<'a> Checker<'a, '_> {
    pub(super) fn declare_layers(&mut self) {
        let file = self.file;
        for (place, item) in file.layers.iter().enumerate() {
            let name = item.block.name;
            self.declare_as(|checker| &mut checker.layer_names, name, place as u16);
        }
        for (place, item) in file.huffmans.iter().enumerate() {
            self.declare_as(|checker| &mut checker.huffman_names, item.name, place);
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
            let line = self.files.line(item.span.start as usize);
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
        self.check_settings(block, HelpKind::OfLayer, &[]);
        let parameters = self.layer_parameters(declared);
        let named = |name: &str| block.setting(name);
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
            (None, None) => self.refuse(
                block.name.span,
                "the layer has no `transform`",
                "expected the setting `transform`, or `coding`",
            ),
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
        for (place, parameter) in declared.parameters.iter().enumerate() {
            let ast::Parameter { name, type_name } = parameter;
            self.claim(&mut taken, *name);
            let kinds = [("int", Of::Integer), ("bytes", Of::Bytes)];
            let of = self.one_of(*type_name, &kinds, "a layer takes no");
            let of = of.unwrap_or(Of::Either);
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
            let message = format!("there is no coding `{}`", name.text);
            return self.refuse(name.span, message, "expected `huffman(TABLE)`");
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
                let expected = format!("expected one such as `{expected}`");
                self.refuse(expr.span, "this is no name of a transform", expected)
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
        let cipher: &[(&str, Of)] = &[
            ("a key", Of::Bytes),
            ("a nonce", Of::Either),
            ("associated data", Of::Bytes),
        ];
        let xor_text: &[(&str, Of)] = &[
            ("a key", Of::Integer),
            ("a text", Of::Bytes),
            ("the first byte", Of::Integer),
        ];
        let (transform, wanted): (Transform, &[(&str, Of)]) = match name.text {
            "zlib" => (Transform::Zlib, &[]),
            "deflate" => (Transform::Deflate, &[]),
            "gzip" => (Transform::Gzip, &[]),
            "lz4" => (Transform::Lz4, &[("the number of bytes", Of::Integer)]),
            "lz4_frame" => (Transform::Lz4Frame, &[]),
            "zstd" => (Transform::Zstd, &[]),
            "adaptive_huffman" => (Transform::AdaptiveHuffman, &[]),
            "xor" => (Transform::Xor, &[("a key", Of::Either)]),
            "xor_text" => (Transform::XorText, xor_text),
            "chacha20_poly1305" => (Transform::Cipher(Cipher::ChaCha20Poly1305), cipher),
            "aes128_gcm" => (Transform::Cipher(Cipher::Aes128Gcm), cipher),
            "aes256_gcm" => (Transform::Cipher(Cipher::Aes256Gcm), cipher),
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
                // A key log is asked for arguments.
                let known = words_of(HelpKind::Transform).filter(|word| *word != "keylog");
                self.report_choice(name.span, message, other, known);
                return None;
            }
        };
        if arguments.len() != wanted.len() {
            let names: Vec<&str> = wanted.iter().map(|(what, _)| *what).collect();
            let expected = if names.is_empty() {
                format!("expected `{}`", name.text)
            } else {
                format!("expected {}", names.join(", "))
            };
            let found = arguments.len();
            let message = format!("`{}` does not take {found} arguments", name.text);
            return self.refuse(whole.span, message, expected);
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
            let expected = "expected `lua(\"DECODE\", \"ENCODE\", ...)`";
            return self.refuse(whole.span, "Lua takes two functions", expected);
        };
        let (script, decode) = self.lua_function(decode)?;
        let (other, encode) = self.lua_function(encode)?;
        if !Arc::ptr_eq(&script, &other) {
            self.report(whole.span, "both functions stand in one `lua` item");
            return None;
        }
        let transform = Transform::Lua {
            script,
            decode,
            encode,
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
            let message = "this is not the name of a function";
            return self.refuse(
                function.span,
                message,
                "expected a text, such as `\"decode\"`",
            );
        };
        let seen = self.seen_from(function.span);
        let mut scripts = self.scripts.iter();
        let script = scripts.find(|(file, script)| seen.has(*file) && script.has(name));
        let Some((_, script)) = script else {
            let message = format!("there is no Lua function `{name}`");
            let expected = "expected a global function of a `lua` item";
            return self.refuse(function.span, message, expected);
        };
        Some((script.clone(), name[..].into()))
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
                    let message = "a key log is asked by label and id";
                    let expected = "expected `keylog(\"LABEL\", ID)`";
                    return self.refuse(argument.span, message, expected);
                };
                let ExprKind::Text(label) = &label.kind else {
                    let expected = "expected a text, such as `\"CLIENT\"`";
                    return self.refuse(label.span, "this is not a label", expected);
                };
                let id = self.layer_argument(id, Of::Either, parameters)?;
                let keylog = LayerArgument::KeyLog {
                    label: label[..].into(),
                    id: Box::new(id),
                };
                (keylog, Of::Bytes)
            }
            _ => match self.typed(argument)? {
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
                    let expected = format!("expected {}", wanted.shown());
                    return self.refuse_value(
                        argument.span,
                        "no transform takes",
                        found,
                        &expected,
                    );
                }
            },
        };
        if wanted.takes(found) {
            return Some(checked);
        }
        let message = format!("this is {}", found.shown());
        let expected = format!("expected {}", wanted.shown());
        self.refuse(argument.span, message, expected)
    }

    /// `through NAME(ARGUMENT, ...)` of a field.
    pub(super) fn layer_use(
        &mut self,
        through: &Through<'a>,
        field: &Field<'a>,
        field_type: &Type,
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
        let layer = self.named(
            |checker| &checker.layer_names,
            through.name,
            "there is no layer",
        )?;
        let declared = &self.file.layers[usize::from(layer)];
        let (wanted, found) = (declared.parameters.len(), through.arguments.len());
        if wanted != found {
            let spelled: Vec<String> = declared
                .parameters
                .iter()
                .map(|it| format!("{}: {}", it.name.text, it.type_name.text))
                .collect();
            let label = format!("expected `{}({})`", through.name.text, spelled.join(", "));
            self.report(
                through.span,
                format!("the layer does not take {found} arguments"),
            )
            .label(label)
            .related(declared.block.name.span, "declared here");
            return None;
        }
        let mut arguments = Vec::new();
        for (argument, parameter) in through.arguments.iter().zip(&declared.parameters) {
            let (name, kind) = (parameter.name, parameter.type_name);
            let (value, found) = self.typed(argument)?;
            let (is_bytes, wanted) = match kind.text {
                "int" => (false, found == ValueType::Integer),
                _ => (true, is_content(found)),
            };
            if !wanted {
                let found = self.shown(found);
                let message = format!("`{}` is `{}`, this is {found}", name.text, kind.text);
                self.report(argument.span, message)
                    .label(if is_bytes {
                        "expected bytes or a text"
                    } else {
                        "expected an integer"
                    })
                    .related(name.span, "declared here");
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
fn line_span(item: &Ident<'_>, line: usize) -> Span {
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
