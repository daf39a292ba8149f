//! Huffman tables: their codes, and who uses them.

use std::sync::Arc;

use super::Checker;
use crate::layers::{CODE_BITS_MAX, CodeConflict, HuffmanTable, SYMBOLS_MAX};
use crate::syntax::ast::{Expr, Huffman, Ident};

impl<'a> Checker<'a, '_> {
    pub(super) fn table(&mut self, declared: &Huffman<'a>) -> Option<Arc<HuffmanTable>> {
        let name = declared.name;
        if declared.codes.len() > SYMBOLS_MAX || declared.codes.len() < 2 {
            return self.refuse(
                name.span,
                format!("the table has {} codes", declared.codes.len()),
                format!("expected 2 to {SYMBOLS_MAX}: one for each byte, and one for the end"),
            );
        }
        let mut codes = Vec::new();
        for code in &declared.codes {
            let bits: Option<Vec<bool>> = code
                .text
                .chars()
                .map(|bit| match bit {
                    '0' => Some(false),
                    '1' => Some(true),
                    _ => None,
                })
                .collect();
            match bits {
                Some(bits) if bits.len() <= CODE_BITS_MAX => codes.push(bits),
                _ => {
                    return self.refuse(code.span, "this is no code", format!(
                        "expected at most {CODE_BITS_MAX} times `0` or `1`; `\"\"` for a symbol \
                         without a code"
                    ));
                }
            }
        }
        let eof = match &declared.eof {
            None => None,
            Some(expr) => {
                let value = self.constant_integer(expr, "the symbol that ends a text")?;
                let symbol = u16::try_from(value).ok();
                let has_code = |symbol: &u16| {
                    let code = codes.get(usize::from(*symbol));
                    code.is_some_and(|code| !code.is_empty())
                };
                let symbol = symbol.filter(has_code);
                if symbol.is_none() {
                    self.report(expr.span, "this symbol has no code")
                        .label(format!("expected 0 to {}", codes.len() - 1));
                }
                Some(symbol?)
            }
        };
        match HuffmanTable::new(&codes, eof) {
            Ok(table) => Some(Arc::new(table)),
            Err(CodeConflict { first, second }) => {
                let (one, other) = (declared.codes[first], declared.codes[second]);
                self.report(
                    other.span,
                    format!("the codes of {first} and {second} begin alike to the end of one"),
                )
                .label("expected a code that no other begins with")
                .related(one.span, "the other one");
                None
            }
        }
    }

    pub(super) fn table_argument(
        &mut self,
        whole: &Expr<'a>,
        arguments: &[Expr<'a>],
    ) -> Option<Arc<HuffmanTable>> {
        let [argument] = arguments else {
            return self.refuse(
                whole.span,
                "a Huffman code takes a table",
                "expected `huffman(TABLE)`",
            );
        };
        let name = Ident::spelled(argument.span, self.text);
        let there = "there is no Huffman table";
        let place = self.named(|checker| &checker.huffman_names, name, there)?;
        self.huffmans.get(place).cloned().flatten()
    }
}
