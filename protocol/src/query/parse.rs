//! From words and signs to an expression. `!` binds before `&&`, `&&` before `||`.

use super::error::QueryError;
use super::expr::{
    Belief, BeliefValue, Comparison, Constant, Each, Expr, Field, Literal, Path, Takes, Word,
};
use super::token::{Token, What, tokens};
use crate::history::{Effect, Level};

/// Parentheses and `!` may nest so deep.
const DEPTH_MAX: usize = 64;
/// How many fields and words a filter may hold: it is walked recursively.
const TERMS_MAX: usize = 1000;

/// `at_a_node`: it may speak of what a node believes.
pub(super) fn parse(text: &str, at_a_node: bool) -> Result<Expr, QueryError> {
    let tokens = tokens(text)?;
    let mut parser = Parser {
        text,
        at_a_node,
        tokens,
        at: 0,
        depth: 0,
        terms: 0,
    };
    if parser.peek() == &What::End {
        return Ok(Expr::Truth(Some(true)));
    }
    let root = parser.any()?;
    match parser.peek() {
        What::End => Ok(root),
        _ => Err(parser.expected("`&&`, `||` or the end")),
    }
}

struct Parser<'t> {
    text: &'t str,
    at_a_node: bool,
    /// Ends with [`What::End`], which is never stepped over.
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    terms: usize,
}

impl Parser<'_> {
    fn any(&mut self) -> Result<Expr, QueryError> {
        let mut left = self.all()?;
        while self.eat("||") || self.eat_word("or") {
            left = Expr::Or(Box::new(left), Box::new(self.all()?));
        }
        Ok(left)
    }

    fn all(&mut self) -> Result<Expr, QueryError> {
        let mut left = self.one()?;
        while self.eat("&&") || self.eat_word("and") {
            left = Expr::And(Box::new(left), Box::new(self.one()?));
        }
        Ok(left)
    }

    fn one(&mut self) -> Result<Expr, QueryError> {
        if self.depth >= DEPTH_MAX {
            return self.fail(&format!(
                "at most {DEPTH_MAX} parentheses inside each other"
            ));
        }
        if self.eat("!") || self.eat_word("not") {
            self.depth += 1;
            let inner = self.one()?;
            self.depth -= 1;
            return Ok(Expr::Not(Box::new(inner)));
        }
        if self.eat("(") {
            self.depth += 1;
            let inner = self.any()?;
            self.depth -= 1;
            if !self.eat(")") {
                return self.fail("`)`, `&&` or `||`");
            }
            return Ok(inner);
        }
        self.term()
    }

    fn term(&mut self) -> Result<Expr, QueryError> {
        self.terms += 1;
        if self.terms > TERMS_MAX {
            return self.fail(&format!("at most {TERMS_MAX} fields and words"));
        }
        let What::Name(name) = self.peek().clone() else {
            return self.fail("a field or a word, as `from` or `lost`");
        };
        if let ("objects", Some(What::Sign("["))) = (name.as_str(), self.peek_second()) {
            return self.belief();
        }
        let field = Field::named(&name);
        let word = Word::ALL.into_iter().find(|word| word.name() == name);
        if let ("any" | "all", Some(What::Sign("("))) = (name.as_str(), self.peek_second()) {
            return self.each(&name);
        }
        if field.is_none() && word.is_none() && name.contains('.') {
            self.at += 1;
            return self.wire(&name, Each::Any);
        }
        if field.is_none() && word.is_none() {
            let mut error = self.expected(&format!("one of {}", all_names().join(", ")));
            error.meant = nearest(&name).map(str::to_owned);
            return Err(error);
        }
        self.at += 1;
        let comparison = self.comparison();
        match (field, word, comparison) {
            (Some(field), _, Some(comparison)) => {
                self.ordered(field, comparison)?;
                Ok(Expr::Compare(
                    field,
                    comparison,
                    self.literal(&name, field)?,
                ))
            }
            (_, Some(word), None) => Ok(Expr::Word(word)),
            (Some(field), None, None) => Ok(Expr::Present(field)),
            (None, _, Some(_)) => {
                self.at -= 1;
                self.fail(&format!("`&&`, `||` or the end: `{name}` stands alone"))
            }
            (None, None, None) => self.fail("a field"),
        }
    }

    fn each(&mut self, name: &str) -> Result<Expr, QueryError> {
        let each = match name {
            "all" => Each::All,
            _ => Each::Any,
        };
        self.at += 2;
        let What::Name(path) = self.peek().clone() else {
            return self.fail("a field of the wire, as `create.color`");
        };
        self.at += 1;
        if !self.eat(")") {
            return self.fail("`)` after the field");
        }
        self.wire(&path, each)
    }

    fn wire(&mut self, path: &str, each: Each) -> Result<Expr, QueryError> {
        let names: Vec<String> = path.split('.').map(str::to_owned).collect();
        if names.iter().any(String::is_empty) {
            self.at -= 1;
            return self.fail("names with one point between them, as `create.color`");
        }
        let path = Path { names, each };
        let Some(comparison) = self.comparison() else {
            return Ok(Expr::Wire(path, None));
        };
        let constant = self.constant()?;
        if comparison.is_of_order() && matches!(constant, Constant::Text(_)) {
            self.at -= 2;
            return self.fail("`==` or `!=`: texts have no order");
        }
        Ok(Expr::Wire(path, Some((comparison, constant))))
    }

    fn constant(&mut self) -> Result<Constant, QueryError> {
        let constant = match self.peek().clone() {
            What::Name(text) | What::Quoted(text) => Constant::Text(text),
            What::Number(text, unit) if unit.is_empty() => {
                Constant::number(&text).ok_or_else(|| self.expected("a number or a text"))?
            }
            What::Number(..) => {
                return self.fail("a number as it is on the wire, without a unit");
            }
            _ => return self.fail("a number or a text"),
        };
        self.at += 1;
        Ok(constant)
    }

    /// `objects[42]`, `objects[42].owner == X`, `objects[42].position[0] < 1.5`.
    fn belief(&mut self) -> Result<Expr, QueryError> {
        let first = self.column();
        if !self.at_a_node {
            return self.fail(
                "a field or a word: what a node believes is asked where it is replayed (docs/replay.md)",
            );
        }
        self.at += 2;
        let object = self.index("the number of an object")?;
        let asked = if self.eat(".") {
            let What::Name(name) = self.peek().clone() else {
                return self.fail("`owner`, `counter` or the name of a property");
            };
            self.at += 1;
            let part = if self.eat("[") {
                Some(self.index("the number of a part")?)
            } else {
                None
            };
            let signs = "a comparison: `==`, `!=`, `<`, `<=`, `>` or `>=`";
            let comparison = self.comparison().ok_or_else(|| self.expected(signs))?;
            let from = self.column();
            let constant = match self.peek().clone() {
                // A node's name, or bytes in hexadecimal.
                What::Number(text, unit) if !unit.is_empty() => {
                    self.at += 1;
                    let text = text + &unit;
                    Constant::number(&text).unwrap_or(Constant::Text(text))
                }
                What::Quoted(text) => {
                    self.at += 1;
                    Constant::number(&text).unwrap_or(Constant::Text(text))
                }
                _ => self.constant()?,
            };
            let last = self.tokens.get(self.at - 1).map(|token| &token.what);
            let typed = match last {
                Some(What::Quoted(text)) => text.clone(),
                _ => self.typed(from).to_owned(),
            };
            Some(BeliefValue {
                name,
                part: part.map(|part| usize::try_from(part).unwrap_or(usize::MAX)),
                comparison,
                typed,
                constant,
            })
        } else {
            None
        };
        let text = self.typed(first);
        Ok(Expr::Belief(Belief {
            object,
            asked,
            text,
        }))
    }

    /// A whole number and the bracket behind it.
    fn index(&mut self, what: &str) -> Result<u64, QueryError> {
        let number = match self.peek() {
            What::Number(text, unit) if unit.is_empty() => text.parse().ok(),
            _ => None,
        };
        let number = number.ok_or_else(|| self.expected(what))?;
        self.at += 1;
        if self.eat("]") {
            Ok(number)
        } else {
            self.fail("`]`")
        }
    }

    /// What was typed from a column up to here.
    fn typed(&self, from: usize) -> String {
        let typed: String = self
            .text
            .chars()
            .skip(from - 1)
            .take(self.column() - from)
            .collect();
        typed.trim_end().to_owned()
    }

    /// Where the next word or sign stands.
    fn column(&self) -> usize {
        self.tokens.get(self.at).map_or(1, |token| token.column)
    }

    fn comparison(&mut self) -> Option<Comparison> {
        let comparison = match self.peek() {
            What::Sign("==" | "=" | ":") => Comparison::Equal,
            What::Sign("!=") => Comparison::NotEqual,
            What::Sign("<") => Comparison::Less,
            What::Sign("<=") => Comparison::LessOrEqual,
            What::Sign(">") => Comparison::Greater,
            What::Sign(">=") => Comparison::GreaterOrEqual,
            _ => return None,
        };
        self.at += 1;
        Some(comparison)
    }

    /// Names are equal or not; only numbers, times and levels have an order.
    fn ordered(&mut self, field: Field, comparison: Comparison) -> Result<(), QueryError> {
        if !comparison.is_of_order()
            || matches!(field.takes(), Takes::Number | Takes::Time | Takes::Level)
        {
            return Ok(());
        }
        self.at -= 1;
        self.fail("`==` or `!=`: names have no order")
    }

    fn literal(&mut self, name: &str, field: Field) -> Result<Literal, QueryError> {
        let takes = field.takes();
        let literal = match (takes, self.peek().clone()) {
            (Takes::Name, What::Name(text) | What::Quoted(text)) => {
                self.check_name(field, &text)?;
                Literal::Name(text)
            }
            (Takes::Name, What::Number(text, unit))
                if matches!(field, Field::Of(_) | Field::Node) =>
            {
                Literal::Name(format!("{text}{unit}"))
            }
            (Takes::NumberOrName, What::Name(text) | What::Quoted(text)) => Literal::Name(text),
            (Takes::Number | Takes::NumberOrName, What::Number(text, unit)) if unit.is_empty() => {
                match text.parse() {
                    Ok(number) => Literal::Number(number),
                    Err(_) => return self.fail("a whole number from 0 to 2^64 - 1"),
                }
            }
            (Takes::Time, What::Number(text, unit))
                if unit.is_empty() && text.parse() != Ok(0.0) =>
            {
                return self.fail(&format!("a time with its unit, as `{text}s` or `{text}ms`"));
            }
            (Takes::Time, What::Number(text, unit)) => match nanos(&text, &unit) {
                Some(nanos) => Literal::Nanos(nanos),
                None => return self.fail("a time, as `1.2s`, `100ms`, `50us` or `80ns`"),
            },
            (Takes::Link, What::Name(from) | What::Quoted(from)) => {
                self.at += 1;
                if !self.eat("->") {
                    return self.fail("`->` and the receiving node, as in `A->X`");
                }
                match self.peek().clone() {
                    What::Name(to) | What::Quoted(to) => Literal::Link(from, to),
                    _ => return self.fail("the receiving node's name"),
                }
            }
            (Takes::Level, What::Name(text) | What::Quoted(text)) => {
                match Level::ALL.into_iter().find(|level| level.name() == text) {
                    Some(level) => Literal::Level(level),
                    None => return self.fail("one of error, warning, info"),
                }
            }
            (Takes::Level, _) => return self.fail("one of error, warning, info"),
            (Takes::Name, _) => return self.fail(&format!("a name for `{name}`")),
            (Takes::Link, _) => return self.fail("a link, as `A->X`"),
            (Takes::Number, _) => return self.fail(&format!("a number for `{name}`")),
            (Takes::NumberOrName, _) => {
                return self.fail(&format!("a number or a node's name for `{name}`"));
            }
            (Takes::Time, _) => return self.fail("a time, as `1.2s` or `100ms`"),
        };
        self.at += 1;
        Ok(literal)
    }

    fn check_name(&mut self, field: Field, text: &str) -> Result<(), QueryError> {
        let known: &[&str] = match field {
            Field::Channel => &["reliable", "unreliable"],
            Field::Effect => &Effect::ALL.map(Effect::name),
            _ => return Ok(()),
        };
        if known.contains(&text) {
            return Ok(());
        }
        self.fail(&format!("one of {}", known.join(", ")))
    }

    fn peek(&self) -> &What {
        self.tokens
            .get(self.at)
            .map_or(&What::End, |token| &token.what)
    }

    fn peek_second(&self) -> Option<&What> {
        self.tokens.get(self.at + 1).map(|token| &token.what)
    }

    fn eat(&mut self, sign: &'static str) -> bool {
        let found = self.peek() == &What::Sign(sign);
        self.at += usize::from(found);
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), What::Name(name) if name == word);
        self.at += usize::from(found);
        found
    }

    fn fail<T>(&self, expected: &str) -> Result<T, QueryError> {
        Err(self.expected(expected))
    }

    fn expected(&self, expected: &str) -> QueryError {
        let token = self.tokens.get(self.at).or(self.tokens.last());
        QueryError {
            column: token.map_or(1, |token| token.column),
            expected: expected.to_owned(),
            found: token.map_or_else(|| "the end".to_owned(), |token| token.what.shown()),
            meant: None,
        }
    }
}

/// Nanoseconds.
fn nanos(digits: &str, unit: &str) -> Option<i64> {
    let factor = match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" | "" => 1e9,
        "m" | "min" => 60e9,
        _ => return None,
    };
    let value: f64 = digits.parse().ok()?;
    let nanos = (value * factor).round();
    (nanos.is_finite() && nanos < i64::MAX as f64).then_some(nanos as i64)
}

/// The known name that a mistyped one is closest to, where one is close.
fn nearest(typed: &str) -> Option<&'static str> {
    nearest_of(typed, all_names().into_iter())
}

pub(super) fn nearest_of<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let length = typed.chars().count();
    let near = names
        .map(|name| (distance(typed, name), name))
        .filter(|&(distance, name)| distance <= 2 && distance < name.len().min(length));
    near.min().map(|(_, name)| name)
}

/// How many characters must be put in, taken out, changed or swapped with the next to make one
/// text of the other (optimal string alignment). Anything long is far.
fn distance(one: &str, other: &str) -> usize {
    const LONG: usize = 32;
    let (one, other): (Vec<char>, Vec<char>) = (
        one.chars().take(LONG).collect(),
        other.chars().take(LONG).collect(),
    );
    let mut earlier: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=other.len()).collect();
    for (row, &mine) in one.iter().enumerate() {
        let mut line = vec![row + 1];
        for (column, &theirs) in other.iter().enumerate() {
            let mut least = (above[column] + usize::from(mine != theirs))
                .min(above[column + 1] + 1)
                .min(line[column] + 1);
            let swapped =
                row > 0 && column > 0 && one[row - 1] == theirs && mine == other[column - 1];
            if swapped {
                least = least.min(earlier[column - 1] + 1);
            }
            line.push(least);
        }
        earlier = std::mem::replace(&mut above, line);
    }
    above.last().copied().unwrap_or(0)
}

pub(super) fn all_names() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = Field::all().map(|(name, _)| name).collect();
    names.extend(Word::ALL.map(Word::name));
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        match parse(text, true) {
            Ok(expr) => assert_eq!(shown(&expr), expected, "{text}"),
            Err(error) => assert_eq!(error.to_string(), expected, "{text}"),
        }
    }

    fn shown(expr: &Expr) -> String {
        match expr {
            Expr::Truth(truth) => format!("{truth:?}"),
            Expr::Belief(Belief { object, asked, .. }) => match asked {
                None => format!("objects {object}"),
                Some(asked) => format!(
                    "objects {object} {} {:?} {:?} {:?}",
                    asked.name, asked.part, asked.comparison, asked.constant
                ),
            },
            Expr::Not(inner) => format!("!{}", shown(inner)),
            Expr::And(left, right) => format!("({} && {})", shown(left), shown(right)),
            Expr::Or(left, right) => format!("({} || {})", shown(left), shown(right)),
            Expr::Word(word) => format!("{word:?}"),
            Expr::Present(field) => format!("{}?", named(*field)),
            Expr::Compare(field, comparison, literal) => {
                format!("{} {comparison:?} {literal:?}", named(*field))
            }
            Expr::Wire(path, compared) => {
                let compared = compared.as_ref();
                let compared = compared.map(|(sign, constant)| format!(" {sign:?} {constant:?}"));
                let path = (path.each, path.names.join("."));
                format!("{:?} {}{}", path.0, path.1, compared.unwrap_or_default())
            }
        }
    }

    fn named(field: Field) -> String {
        match field {
            Field::Of(field) => format!("{field:?}"),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn nothing_lets_everything_pass() {
        check("  ", "Some(true)");
    }

    #[test]
    fn and_binds_before_or() {
        check("lost || acked && resent", "(Lost || (Acked && Resent))");
    }

    #[test]
    fn parentheses_bind_first_and_not_binds_before_and() {
        check("!(lost || acked) && resent", "(!(Lost || Acked) && Resent)");
    }

    #[test]
    fn a_link_is_two_names_and_an_arrow() {
        check("link == A->X", "Link Equal Link(\"A\", \"X\")");
    }

    #[test]
    fn times_have_units() {
        check("time > 1.2s", "Time Greater Nanos(1200000000)");
        check("late >= 100ms", "Late GreaterOrEqual Nanos(100000000)");
        check("late > 0", "Late Greater Nanos(0)");
    }

    #[test]
    fn a_time_without_a_unit_is_told_how_to_write_one() {
        check(
            "time < 2",
            "column 8: expected a time with its unit, as `2s` or `2ms`, found `2`",
        );
    }

    #[test]
    fn names_with_points_are_fields_of_the_wire() {
        check("create.color == 200", "Any create.color Equal Whole(200)");
        check(
            "all(position.x) < -1.5 && !rpc.name",
            "(All position.x Less Decimal(-1.5) && !Any rpc.name)",
        );
        check("any(color) != red", "Any color NotEqual Text(\"red\")");
    }

    #[test]
    fn a_field_of_the_wire_that_is_not_whole_is_told() {
        check(
            "create..color == 1",
            "column 1: expected names with one point between them, as `create.color`, found \
             `create..color`",
        );
        check(
            "any(color == 1)",
            "column 11: expected `)` after the field, found `==`",
        );
        check(
            "rpc.name < \"a\"",
            "column 10: expected `==` or `!=`: texts have no order, found `<`",
        );
        check(
            "create.weight > 5kg",
            "column 17: expected a number as it is on the wire, without a unit, found `5kg`",
        );
    }

    #[test]
    fn what_a_node_believes_is_asked_of_objects() {
        check("!objects[42] && lost", "(!objects 42 && Lost)");
        check(
            "objects[1].owner == X || objects[1].position[2] <= -1.5",
            "(objects 1 owner None Equal Text(\"X\") || objects 1 position Some(2) LessOrEqual Decimal(-1.5))",
        );
        check("objects[42", "column 11: expected `]`, found the end");
        check(
            "objects[box]",
            "column 9: expected the number of an object, found `box`",
        );
        check(
            "objects[42] owner",
            "column 13: expected `&&`, `||` or the end, found `owner`",
        );
        let signs = "expected a comparison: `==`, `!=`, `<`, `<=`, `>` or `>=`, found";
        check("objects[42].owner", &format!("column 18: {signs} the end"));
        check("objects[42].owner ! 2", &format!("column 19: {signs} `!`"));
        check(
            "objects[42].owner ==",
            "column 21: expected a number or a text, found the end",
        );
        check(
            "objects[42].position[x] == 1",
            "column 22: expected the number of a part, found `x`",
        );
        let why = parse("objects[42]", false).unwrap_err().to_string();
        assert!(why.contains("is asked where it is replayed"), "{why}");
    }

    #[test]
    fn an_address_is_a_name() {
        check(
            "from == 127.0.0.1:5000",
            "From Equal Name(\"127.0.0.1:5000\")",
        );
        check("from == \"[::1]:5000\"", "From Equal Name(\"[::1]:5000\")");
    }

    #[test]
    fn received_is_a_word_alone_and_a_time_in_a_comparison() {
        check(
            "received && received > 1s",
            "(Received && Received Greater Nanos(1000000000))",
        );
    }

    #[test]
    fn a_rule_may_hold_dashes() {
        check(
            "rule == zombie-object",
            "Rule Equal Name(\"zombie-object\")",
        );
    }

    #[test]
    fn a_missing_value_is_named_with_its_column() {
        check(
            "object ==",
            "column 10: expected a number for `object`, found the end",
        );
    }

    #[test]
    fn an_unknown_unit_is_named() {
        check(
            "late > 5s && late > 5parsec",
            "column 21: expected a time, as `1.2s`, `100ms`, `50us` or `80ns`, found `5parsec`",
        );
    }

    #[test]
    fn names_have_no_order() {
        check(
            "from < A",
            "column 6: expected `==` or `!=`: names have no order, found `<`",
        );
    }

    #[test]
    fn two_terms_need_a_sign_between_them() {
        check(
            "lost acked",
            "column 6: expected `&&`, `||` or the end, found `acked`",
        );
    }

    #[test]
    fn an_open_parenthesis_wants_its_end() {
        check(
            "(lost",
            "column 6: expected `)`, `&&` or `||`, found the end",
        );
    }

    #[test]
    fn an_open_quote_wants_its_end() {
        check(
            "from == \"A",
            "column 11: expected \" that closes the text of column 9, found the end",
        );
    }

    #[test]
    fn a_foreign_character_is_named() {
        check(
            "lost && #",
            "column 9: expected a field, a value or a sign, found `#`",
        );
    }

    #[test]
    fn a_channel_is_one_of_two() {
        check(
            "channel == fast",
            "column 12: expected one of reliable, unreliable, found `fast`",
        );
    }

    #[test]
    fn levels_have_an_order_and_are_three() {
        check("level >= warning", "Level GreaterOrEqual Level(Warning)");
        check(
            "level == bad",
            "column 10: expected one of error, warning, info, found `bad`",
        );
    }

    #[test]
    fn a_mistyped_name_is_told_what_it_may_have_meant() {
        let meant = |text: &str| parse(text, false).unwrap_err().meant;
        assert_eq!(meant("form == A").as_deref(), Some("from"));
        assert_eq!(meant("lost && objct").as_deref(), Some("object"));
        assert_eq!(meant("unrelaible").as_deref(), Some("unreliable"));
        assert_eq!(meant("zzzzz"), None);
        let said = parse("lost && objct", false).unwrap_err().to_string();
        let first = "column 9: `objct`: did you mean `object`? It can be one of ack, ";
        assert!(said.starts_with(first), "{said}");
    }

    #[test]
    fn a_word_cannot_be_compared() {
        check(
            "lost == 1",
            "column 6: expected `&&`, `||` or the end: `lost` stands alone, found `==`",
        );
    }

    #[test]
    fn a_filter_of_a_hundred_thousand_terms_is_too_long() {
        let error = parse(&"lost && ".repeat(100_000), false).unwrap_err();
        assert_eq!(error.expected, "at most 1000 fields and words");
    }

    #[test]
    fn a_thousand_parentheses_are_too_many() {
        let error = parse(&"(".repeat(1000), false).unwrap_err();
        assert_eq!(error.expected, "at most 64 parentheses inside each other");
    }
}
