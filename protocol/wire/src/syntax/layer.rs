//! Layers: what stands between the bytes of a packet and those of a stream inside it.

use super::ast::{Huffman, Ident, Layer, Through};
use super::lexer::TokenKind;
use super::parser::{Failed, Parsed, Parser};
use super::text::unquoted;

impl<'a> Parser<'a, '_> {
    /// `layer NAME(PARAMETER: TYPE, ...) { SETTING = VALUE; ... }`
    pub(super) fn layer(&mut self) -> Parsed<Layer<'a>> {
        let name = self.name_behind("the layer's name")?;
        let type_name = |parser: &mut Self| parser.any_name("`int` or `bytes`");
        let parameters = self.parameters("a parameter, or `)`", type_name)?;
        let block = self.settings(name)?;
        Ok(Layer { block, parameters })
    }

    /// `huffman NAME { codes = ["0110", ...]; eof = 256; }`
    pub(super) fn huffman(&mut self) -> Parsed<Huffman<'a>> {
        let name = self.name_behind("the table's name")?;
        let (mut codes, mut eof) = (Vec::new(), None);
        self.in_braces("to begin the settings", |parser| {
            let setting = parser.any_name("`codes`, `eof` or `}`")?;
            parser.expect_mark("=", "after the setting's name")?;
            match setting.text {
                "codes" => {
                    parser.expect_mark("[", "to begin the codes")?;
                    codes.extend(parser.list("]", "or `,` after the code", |parser| {
                        parser.quoted("a code, such as `\"0110\"`, or `]`")
                    })?);
                }
                "eof" => eof = Some(parser.expression()?),
                other => {
                    let message = format!("there is no setting `{other}` here");
                    parser
                        .report(setting.span, message)
                        .label("expected `codes` or `eof`");
                    return Err(Failed);
                }
            }
            parser.expect_mark(";", "after the setting")
        })?;
        Ok(Huffman { name, codes, eof })
    }

    /// A text without its quotes, with the place of both.
    pub(super) fn quoted(&mut self, expected: &str) -> Parsed<Ident<'a>> {
        if self.peek() != TokenKind::Text {
            return Err(self.unexpected(expected));
        }
        let span = self.here();
        self.advance();
        let text = unquoted(span.text(self.text));
        Ok(Ident { text, span })
    }

    /// `lua """ ... """`
    pub(super) fn lua(&mut self) -> Parsed<Ident<'a>> {
        self.advance();
        let span = self.here();
        let quoted = span.text(self.text);
        let inner = quoted.strip_prefix("\"\"\"");
        let inner = inner.and_then(|inner| inner.strip_suffix("\"\"\""));
        let (TokenKind::Text, Some(text)) = (self.peek(), inner) else {
            return Err(self.unexpected("Lua between `\"\"\"` and `\"\"\"`"));
        };
        self.advance();
        Ok(Ident { text, span })
    }

    /// `through NAME(ARGUMENT, ...)`
    pub(super) fn through(&mut self) -> Parsed<Through<'a>> {
        let start = self.here();
        let name = self.name_behind("a layer after `through`")?;
        let arguments = self.own_arguments()?.unwrap_or_default();
        let span = start.to(self.previous());
        Ok(Through {
            name,
            arguments,
            span,
        })
    }
}
