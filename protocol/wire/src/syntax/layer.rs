//! Layers: what stands between the bytes of a packet and those of a stream inside it.

use super::ast::{Huffman, Ident, Layer, LuaItem, Through};
use super::lexer::TokenKind;
use super::parser::{Failed, Parser};

impl<'a> Parser<'a, '_> {
    /// `layer NAME(PARAMETER: TYPE, ...) { SETTING = VALUE; ... }`
    pub(super) fn layer(&mut self) -> Result<Layer<'a>, Failed> {
        self.advance();
        let name = self.new_name("the layer's name")?;
        let mut parameters = Vec::new();
        if self.take_mark("(") {
            while !self.at_mark(")") {
                let name = self.new_name("a parameter, or `)`")?;
                self.expect_mark(":", "between the parameter's name and its type")?;
                parameters.push((name, self.any_name("`int` or `bytes`")?));
                if !self.take_mark(",") {
                    break;
                }
            }
            self.expect_mark(")", "after the last parameter")?;
        }
        let block = self.settings(name)?;
        Ok(Layer { block, parameters })
    }

    /// `huffman NAME { codes = ["0110", ...]; eof = 256; }`
    pub(super) fn huffman(&mut self) -> Result<Huffman<'a>, Failed> {
        self.advance();
        let name = self.new_name("the table's name")?;
        self.expect_mark("{", "to begin the settings")?;
        let (mut codes, mut eof) = (Vec::new(), None);
        while !self.at_mark("}") {
            let setting = self.any_name("`codes`, `eof` or `}`")?;
            self.expect_mark("=", "after the setting's name")?;
            match setting.text {
                "codes" => {
                    self.expect_mark("[", "to begin the codes")?;
                    while !self.at_mark("]") {
                        codes.push(self.quoted("a code, such as `\"0110\"`, or `]`")?);
                        if !self.take_mark(",") {
                            break;
                        }
                    }
                    self.expect_mark("]", "or `,` after the code")?;
                }
                "eof" => eof = Some(self.expression()?),
                other => {
                    let message = format!("there is no setting `{other}` here");
                    self.report(setting.span, message)
                        .label("expected `codes` or `eof`");
                    return Err(Failed);
                }
            }
            self.expect_mark(";", "after the setting")?;
        }
        self.advance();
        Ok(Huffman { name, codes, eof })
    }

    /// A text without its quotes, with the place of both.
    fn quoted(&mut self, expected: &str) -> Result<Ident<'a>, Failed> {
        if self.peek() != TokenKind::Text {
            return Err(self.unexpected(expected));
        }
        let span = self.here();
        self.advance();
        let quoted = span.text(self.text);
        let text = quoted.strip_prefix('"').unwrap_or(quoted);
        let text = text.strip_suffix('"').unwrap_or(text);
        Ok(Ident { text, span })
    }

    /// `lua """ ... """`
    pub(super) fn lua(&mut self) -> Result<LuaItem<'a>, Failed> {
        self.advance();
        let span = self.here();
        let quoted = span.text(self.text);
        let inner = quoted.strip_prefix("\"\"\"");
        let inner = inner.and_then(|inner| inner.strip_suffix("\"\"\""));
        let (TokenKind::Text, Some(text)) = (self.peek(), inner) else {
            return Err(self.unexpected("Lua between `\"\"\"` and `\"\"\"`"));
        };
        self.advance();
        Ok(LuaItem { text, span })
    }

    /// `through NAME(ARGUMENT, ...)`
    pub(super) fn through(&mut self) -> Result<Through<'a>, Failed> {
        let start = self.here();
        self.advance();
        let name = self.new_name("a layer after `through`")?;
        let mut arguments = Vec::new();
        if self.take_mark("(") {
            self.expression_parts = 0;
            arguments = self.arguments(")")?;
        }
        let span = start.to(self.previous());
        Ok(Through {
            name,
            arguments,
            span,
        })
    }
}
