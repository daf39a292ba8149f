//! Expressions: precedence as in Rust, comparisons do not chain, sizes are bounded.

use super::ast::{Arithmetic, Binary, Compare, Expr, ExprKind, Ident, Unary};
use super::lexer::TokenKind;
use super::parser::{Failed, Parsed, Parser};
use crate::report::Span;
use crate::values::hexadecimal;

/// The most operands and operators that one expression may have.
const EXPRESSION_PARTS_MAX: usize = 256;

impl<'a> Parser<'a, '_> {
    /// One expression with nothing before it.
    pub(super) fn expression(&mut self) -> Parsed<Expr<'a>> {
        let outer = std::mem::take(&mut self.expression_parts);
        let result = self.binary(0);
        self.expression_parts = outer;
        result
    }

    /// One that is a part of another.
    fn inner(&mut self) -> Parsed<Expr<'a>> {
        self.nested(|parser| parser.binary(0))
    }

    /// `(EXPRESSION)`; what the parentheses hold ends sentences.
    pub(super) fn in_parentheses(&mut self, what: &str) -> Parsed<Expr<'a>> {
        self.expect_mark("(", &format!("before {what}"))?;
        let inside = self.expression()?;
        self.expect_mark(")", &format!("after {what}"))?;
        Ok(inside)
    }

    /// Expressions up to and including `)`.
    fn arguments(&mut self) -> Parsed<Vec<Expr<'a>>> {
        self.list(")", "after the last argument", |parser| parser.binary(0))
    }

    /// `(EXPRESSION, ...)` of something that is no expression, where it is there.
    pub(super) fn own_arguments(&mut self) -> Parsed<Option<Vec<Expr<'a>>>> {
        self.expression_parts = 0;
        self.behind("(", Self::arguments)
    }

    fn count_part(&mut self) -> Parsed<()> {
        self.expression_parts += 1;
        if self.expression_parts <= EXPRESSION_PARTS_MAX {
            return Ok(());
        }
        let limit = format!("an expression may have {EXPRESSION_PARTS_MAX} parts at most");
        self.report(self.here(), "this expression is too long")
            .label(limit);
        Err(Failed)
    }

    fn binary(&mut self, floor: u8) -> Parsed<Expr<'a>> {
        let mut left = self.unary()?;
        loop {
            let TokenKind::Mark(mark) = self.peek() else {
                return Ok(left);
            };
            let Some((operator, level)) = operator(mark) else {
                return Ok(left);
            };
            if level < floor {
                return Ok(left);
            }
            let is_comparison = matches!(operator, Binary::Compare(_));
            if is_comparison && left.is_open_comparison() {
                self.report(self.here(), "comparisons cannot be chained")
                    .label("expected `&&`, `||` or the end of the comparison")
                    .help("write `a < b && b < c`, or put parentheses around one of them");
                return Err(Failed);
            }
            self.count_part()?;
            self.advance();
            let right = self.binary(level + 1)?;
            let span = left.span.to(right.span);
            let kind = ExprKind::Binary(operator, Box::new(left), Box::new(right));
            left = Expr::new(kind, span);
        }
    }

    fn unary(&mut self) -> Parsed<Expr<'a>> {
        let start = self.here();
        let operator = match self.peek() {
            TokenKind::Mark("-") => Unary::Negate,
            TokenKind::Mark("!") => Unary::Not,
            _ => return self.operand(),
        };
        self.count_part()?;
        self.advance();
        let inner = self.nested(Self::unary)?;
        let span = start.to(inner.span);
        Ok(Expr::new(ExprKind::Unary(operator, Box::new(inner)), span))
    }

    fn operand(&mut self) -> Parsed<Expr<'a>> {
        self.count_part()?;
        let start = self.here();
        let kind = match self.peek() {
            TokenKind::Integer(value) => ExprKind::Integer(value),
            TokenKind::Float(value) => ExprKind::Float(value),
            TokenKind::Text => {
                let text = self.text_value()?;
                return Ok(Expr::new(ExprKind::Text(text), start));
            }
            TokenKind::Bytes => match literal_bytes(start.text(self.text)) {
                Some(bytes) => ExprKind::Bytes(bytes),
                None => {
                    self.report(start, "these are not bytes")
                        .label("expected pairs of hexadecimal digits: `x\"0a ff\"`");
                    ExprKind::Bytes(Vec::new())
                }
            },
            TokenKind::Name if self.at_word("if") => return self.choice(start),
            TokenKind::Name => return self.named_operand(),
            TokenKind::Mark("(") => return self.parenthesised(start),
            _ => return Err(self.unexpected("a value: a number, a field or a constant")),
        };
        self.advance();
        Ok(Expr::new(kind, start))
    }

    /// `if (CONDITION) VALUE else VALUE`
    fn choice(&mut self, start: Span) -> Parsed<Expr<'a>> {
        self.advance();
        self.expect_mark("(", "before the condition")?;
        let condition = self.inner()?;
        self.expect_mark(")", "after the condition")?;
        let then = self.inner()?;
        self.expect_word("else", "`else` and the other value")?;
        let otherwise = self.inner()?;
        let span = start.to(otherwise.span);
        let kind = ExprKind::Choice(condition.into(), then.into(), otherwise.into());
        Ok(Expr::new(kind, span))
    }

    fn parenthesised(&mut self, start: Span) -> Parsed<Expr<'a>> {
        self.advance();
        let mut inner = self.inner()?;
        let end = self.here();
        self.expect_mark(")", "to close the parenthesis")?;
        inner.span = start.to(end);
        inner.grouped = true;
        Ok(inner)
    }

    pub(super) fn named_operand(&mut self) -> Parsed<Expr<'a>> {
        let first = self.any_name("a value")?;
        if let word @ ("true" | "false") = first.text {
            return Ok(Expr::new(ExprKind::Bool(word == "true"), first.span));
        }
        if self.take_mark("(") {
            let arguments = self.nested(Self::arguments)?;
            let span = first.span.to(self.previous());
            return Ok(Expr::new(ExprKind::Call(first, arguments), span));
        }
        let mut path: Vec<Ident<'a>> = vec![first];
        while self.take_mark(".") {
            self.count_part()?;
            path.push(self.any_name("a field or a member after `.`")?);
        }
        let mut keys = Vec::new();
        while self.take_mark("[") {
            self.count_part()?;
            keys.push(self.inner()?);
            self.expect_mark("]", "after the key")?;
        }
        if keys.is_empty() {
            let span = first.span.to(self.previous());
            return Ok(Expr::new(ExprKind::Path(path), span));
        }
        let mut inside = Vec::new();
        while self.take_mark(".") {
            self.count_part()?;
            inside.push(self.any_name("a field after `.`")?);
        }
        let span = first.span.to(self.previous());
        Ok(Expr::new(ExprKind::Index(path, keys, inside), span))
    }
}

/// The bytes of `x"0a ff"`: pairs of digits, blanks between them.
pub(super) fn literal_bytes(literal: &str) -> Option<Vec<u8>> {
    let digits = literal.strip_prefix("x\"")?;
    let digits = digits.strip_suffix('"').unwrap_or(digits);
    let mut bytes = Vec::new();
    for group in digits.split_ascii_whitespace() {
        bytes.extend(hexadecimal::bytes(group.chars())?);
    }
    Some(bytes)
}

/// A binary operator and how tightly it binds.
fn operator(mark: &str) -> Option<(Binary, u8)> {
    use Arithmetic as A;
    use Compare as C;
    Some(match mark {
        "||" => (Binary::Or, 0),
        "&&" => (Binary::And, 1),
        "==" => (Binary::Compare(C::Equal), 2),
        "!=" => (Binary::Compare(C::NotEqual), 2),
        "<" => (Binary::Compare(C::Less), 2),
        "<=" => (Binary::Compare(C::LessOrEqual), 2),
        ">" => (Binary::Compare(C::Greater), 2),
        ">=" => (Binary::Compare(C::GreaterOrEqual), 2),
        "|" => (Binary::Arithmetic(A::BitOr), 3),
        "^" => (Binary::Arithmetic(A::BitXor), 4),
        "&" => (Binary::Arithmetic(A::BitAnd), 5),
        "<<" => (Binary::Arithmetic(A::ShiftLeft), 6),
        ">>" => (Binary::Arithmetic(A::ShiftRight), 6),
        "+" => (Binary::Arithmetic(A::Add), 7),
        "-" => (Binary::Arithmetic(A::Subtract), 7),
        "*" => (Binary::Arithmetic(A::Multiply), 8),
        "/" => (Binary::Arithmetic(A::Divide), 8),
        "%" => (Binary::Arithmetic(A::Remainder), 8),
        _ => return None,
    })
}
