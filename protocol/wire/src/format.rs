//! One way to write a wire: indentation, blanks between words, blank lines.
//!
//! Where lines end is the author's to say, and so is the column of a comment behind code and a gap
//! that aligns what follows a `;`. Nothing but blanks changes, so that the text means what it meant.

use crate::error::CompileError;
use crate::files::Files;
use crate::lexemes::{Lexeme, LexemeKind, lexemes};

/// How far each bracket indents.
const INDENT: usize = 4;

/// The text, formatted. Formatting the result again changes nothing.
///
/// # Errors
/// Mistakes in the text's form: what the parser does not understand is not moved.
pub fn format(name: &str, text: &str) -> Result<String, CompileError> {
    crate::wire::short_enough(name, text)?;
    let mut reports = Vec::new();
    let files = Files::of_text(name, text, &mut reports);
    files.parse(&mut reports);
    if !reports.is_empty() {
        return Err(CompileError::new(name, &files, reports));
    }
    let lexemes = lexemes(text);
    let mut writer = Writer::new(text);
    for lexeme in &lexemes {
        writer.add(lexeme);
    }
    Ok(writer.end())
}

/// An open bracket.
struct Open {
    mark: char,
    /// How far the line is indented that it stands in.
    indent: usize,
    /// After its end a value may begin: `if (...)`.
    of_if: bool,
    /// The column of what follows it in its line: in the text, and as it was written.
    follows: Option<(usize, usize)>,
}

#[derive(Default)]
struct Writer<'t> {
    text: &'t str,
    out: String,
    /// Where the line begins that is written.
    line: usize,
    /// How far it is indented.
    indent: usize,
    open: Vec<Open>,
    /// What was written last, comments included.
    last: Option<Lexeme>,
    /// The last that is no comment.
    before: Option<Lexeme>,
    /// The one before it.
    second: Option<Lexeme>,
    /// The word that began the statement, or the item, under way.
    statement: &'t str,
    /// Where the word `from` of a `join` or `follow` stood, in brackets: how many were open.
    from: Option<usize>,
    /// The last bracket that was closed was that of an `if`.
    closed_if: bool,
}

impl<'t> Writer<'t> {
    fn new(text: &'t str) -> Writer<'t> {
        Writer {
            text,
            out: String::with_capacity(text.len() + text.len() / 8),
            ..Writer::default()
        }
    }

    fn add(&mut self, lexeme: &Lexeme) {
        let text: &'t str = self.text;
        let spelled = text.get(lexeme.range.clone()).unwrap_or_default();
        let from = self.last.as_ref().map_or(0, |last| last.range.end);
        let gap = text.get(from..lexeme.range.start).unwrap_or_default();
        let lines = gap.matches('\n').count();
        if self.last.is_none() {
            // What stands before the first piece is blank.
        } else if lines > 0 {
            self.new_line(lexeme, spelled, lines > 1);
        } else {
            self.blanks(lexeme, spelled, gap);
        }
        let opened = self.last.as_ref() == self.before.as_ref() && lines == 0;
        if opened && (self.before_is("(") || self.before_is("[") || self.before_is("{")) {
            let columns = (self.column_in_text(lexeme), self.column());
            if let Some(open) = self.open.last_mut() {
                open.follows = Some(columns);
            }
        }
        self.out.push_str(spelled);
        if let Some(at) = spelled.rfind('\n') {
            self.line = self.out.len() - (spelled.len() - at - 1);
        }
        self.note(lexeme, spelled);
    }

    fn new_line(&mut self, lexeme: &Lexeme, spelled: &str, blank: bool) {
        self.out.push('\n');
        if blank {
            self.out.push('\n');
        }
        self.line = self.out.len();
        let inner = self.open.last().map_or(0, |open| open.indent + INDENT);
        let closes = matches!(spelled, "}" | ")" | "]") && lexeme.kind == LexemeKind::Mark;
        self.indent = if closes {
            self.open.last().map_or(0, |open| open.indent)
        } else if !lexeme.is_comment() && self.goes_on() {
            inner + INDENT
        } else {
            inner
        };
        // What the author put below the first thing in the bracket stays below it.
        let first = self.open.last().and_then(|open| open.follows);
        if let Some((was, is)) = first
            && self.column_in_text(lexeme) == was
        {
            self.indent = is;
        }
        self.out.extend(std::iter::repeat_n(' ', self.indent));
    }

    /// Whether the statement before the new line is not at its end.
    fn goes_on(&self) -> bool {
        if self.open.last().is_some_and(|open| open.mark != '{') {
            return false;
        }
        let Some(before) = &self.before else {
            return false;
        };
        let ends = self.ends(before) || before.text(self.text) == ",";
        // A list of settings goes on after its comma; a list in braces begins anew.
        let in_list = self.open.is_empty() || self.statement == "wire";
        !ends || (in_list && before.text(self.text) == ",")
    }

    /// Whether a piece ends a statement or an item, or begins the first of a block.
    fn ends(&self, piece: &Lexeme) -> bool {
        let spelled = piece.text(self.text);
        match piece.kind {
            LexemeKind::Mark => matches!(spelled, ";" | "{" | "}"),
            LexemeKind::Text => spelled.starts_with("\"\"\""),
            _ => false,
        }
    }

    /// What stands between two pieces of one line.
    fn blanks(&mut self, lexeme: &Lexeme, spelled: &str, gap: &str) {
        let is_after_comment = self.last.as_ref().is_some_and(Lexeme::is_comment);
        if lexeme.kind == LexemeKind::LineComment {
            self.fill_to_column_of(lexeme);
        } else if lexeme.is_comment() || is_after_comment {
            self.out.push_str(if gap.is_empty() { "" } else { " " });
        } else if self.before_is(";") && gap.len() > 1 {
            // It aligns what follows with other lines.
            self.out.extend(gap.chars().map(|_| ' '));
        } else if self.is_apart(lexeme, spelled, !gap.is_empty()) {
            self.out.push(' ');
        }
    }

    /// A comment behind code stays in its column, where the code leaves room.
    fn fill_to_column_of(&mut self, lexeme: &Lexeme) {
        let wanted = self.column_in_text(lexeme);
        let blanks = wanted.saturating_sub(self.column()).max(1);
        self.out.extend(std::iter::repeat_n(' ', blanks));
    }

    /// Where the next piece is written.
    fn column(&self) -> usize {
        let written = self.out.get(self.line..).unwrap_or_default();
        written.chars().count()
    }

    /// Where a piece stands in the author's line.
    fn column_in_text(&self, lexeme: &Lexeme) -> usize {
        let start = lexeme.range.start;
        let before = self.text.get(..start).unwrap_or_default();
        let line = before.rfind('\n').map_or(0, |at| at + 1);
        let mut column = 0;
        for character in before.get(line..).unwrap_or_default().chars() {
            column = match character {
                '\t' => (column / INDENT + 1) * INDENT,
                _ => column + 1,
            };
        }
        column
    }

    fn before_is(&self, mark: &str) -> bool {
        self.is_mark(self.before.as_ref(), mark)
    }

    fn is_mark(&self, piece: Option<&Lexeme>, mark: &str) -> bool {
        piece.is_some_and(|it| it.kind == LexemeKind::Mark && it.text(self.text) == mark)
    }

    /// Whether a blank stands before a piece.
    fn is_apart(&self, lexeme: &Lexeme, spelled: &str, was_apart: bool) -> bool {
        let Some(before) = &self.before else {
            return false;
        };
        let left = before.text(self.text);
        let is_mark = lexeme.kind == LexemeKind::Mark;
        let after_mark = before.kind == LexemeKind::Mark;
        match (after_mark, left) {
            (true, "(" | "[" | "." | "@" | "..=" | "..") => return false,
            (true, "{") => return !(is_mark && spelled == "}"),
            (true, "-" | "!") => return !(left == "!" || self.is_sign()),
            _ => {}
        }
        if !is_mark {
            return true;
        }
        match spelled {
            ";" | "," | ")" | "]" | "." | "..=" | ".." => false,
            ":" => matches!(self.statement, "enum" | "flags") && self.open.is_empty(),
            "(" => match before.kind {
                LexemeKind::Word => match left {
                    "if" | "switch" | "else" | "until" | "derived" => true,
                    "bytes" if self.second_is("[") => true,
                    "size" | "at" if self.begins_block() => was_apart,
                    _ => self.from == Some(self.open.len()),
                },
                LexemeKind::Mark => !matches!(left, ")" | "]") || self.from.is_some(),
                _ => true,
            },
            "[" => after_mark && !matches!(left, ")" | "]"),
            _ => true,
        }
    }

    /// Whether the `-` that was written last is a sign, and no operator between two values.
    fn is_sign(&self) -> bool {
        let Some(second) = &self.second else {
            return true;
        };
        let left = second.text(self.text);
        match second.kind {
            LexemeKind::Mark => match left {
                ")" => self.closed_if,
                "]" => false,
                _ => true,
            },
            LexemeKind::Word => matches!(left, "else" | "until" | "derived" | "bytes"),
            _ => false,
        }
    }

    fn second_is(&self, mark: &str) -> bool {
        self.is_mark(self.second.as_ref(), mark)
    }

    /// Whether the word that was written last begins a statement.
    fn begins_block(&self) -> bool {
        self.second_is(";") || self.second_is("{") || self.second_is("}")
    }

    /// Remembers what was written.
    fn note(&mut self, lexeme: &Lexeme, spelled: &'t str) {
        self.last = Some(lexeme.clone());
        if lexeme.is_comment() {
            return;
        }
        let begins = match &self.before {
            None => true,
            Some(before) => self.ends(before) || before.text(self.text) == "=>",
        };
        if begins {
            self.statement = spelled;
            self.from = None;
        }
        if lexeme.kind == LexemeKind::Mark {
            match spelled {
                "{" | "(" | "[" => self.open.push(Open {
                    mark: spelled.chars().next().unwrap_or('{'),
                    indent: self.indent,
                    of_if: self.before.as_ref().is_some_and(|before| {
                        before.kind == LexemeKind::Word && before.text(self.text) == "if"
                    }),
                    follows: None,
                }),
                "}" | ")" | "]" => {
                    let closed = self.open.pop();
                    self.closed_if = closed.is_some_and(|open| open.of_if);
                }
                _ => {}
            }
        } else if spelled == "from" && matches!(self.statement, "join" | "follow") {
            self.from = Some(self.open.len());
        }
        self.second = self.before.replace(lexeme.clone());
    }

    fn end(mut self) -> String {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        let returns = self.text.matches("\r\n").count();
        if returns > 0 && returns == self.text.matches('\n').count() {
            // An editor elsewhere ends its lines so.
            return self.out.replace("\r\n", "\n").replace('\n', "\r\n");
        }
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::format;
    use crate::lexemes::lexemes;

    fn check(text: &str, expected: &str) {
        let found = format("a.wire", text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(found, expected);
        let again = format("a.wire", &found).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(again, found, "formatted twice");
        let pieces = |text: &str| -> Vec<String> {
            let lexemes = lexemes(text);
            lexemes.iter().map(|it| it.text(text).to_owned()).collect()
        };
        assert_eq!(pieces(&found), pieces(text), "only blanks change");
    }

    #[test]
    fn words_and_marks_stand_as_everywhere() {
        check(
            "struct  A(x:int){a:u8=-5;b :u8[ a+-1 ] ;if(a==1){c:0..=3;}else{d:vec3( f32 );}}",
            "struct A(x: int) { a: u8 = -5; b: u8[a + -1]; if (a == 1) { c: 0..=3; } \
             else { d: vec3(f32); } }\n",
        );
        check("enum K:u8{a@ping,b}", "enum K : u8 { a @ping, b }\n");
        check(
            "const A=(1-2)*-3;const B=if(A<0)-A else A;",
            "const A = (1 - 2) * -3; const B = if (A < 0) -A else A;\n",
        );
        check(
            "struct A{x:u8 through L( 1,2 );set state.a[x]=!b;align( 8 )=0;}",
            "struct A { x: u8 through L(1, 2); set state.a[x] = !b; align(8) = 0; }\n",
        );
    }

    #[test]
    fn brackets_indent_once_a_line() {
        check(
            "struct A {\na: u8;\n  switch (a) {\n1 => { b: u8;\nc: u8; }\n}\n\n\n\n  }\n",
            "struct A {\n    a: u8;\n    switch (a) {\n        1 => { b: u8;\n            c: u8; }\n    \
             }\n\n}\n",
        );
        check(
            "struct A {\njoin whole: B(s) from state.pieces[s]\n(i, 1, d);\n}",
            "struct A {\n    join whole: B(s) from state.pieces[s]\n        (i, 1, d);\n}\n",
        );
    }

    #[test]
    fn comments_keep_their_column() {
        check(
            "// top\nstruct A {   // of A\n  a: u8;        // one\n  a_long_name: u8;// two\n// own\n}",
            "// top\nstruct A {   // of A\n    a: u8;      // one\n    a_long_name: u8; // two\n    \
             // own\n}\n",
        );
        check(
            "struct A { a: /* b */ u8; }",
            "struct A { a: /* b */ u8; }\n",
        );
    }

    #[test]
    fn lines_of_lua_and_bytes_stay() {
        check(
            "lua \"\"\"\n  function f( a )\n end\n\"\"\"\nconst A = x\"01\n      02\";",
            "lua \"\"\"\n  function f( a )\n end\n\"\"\"\nconst A = x\"01\n      02\";\n",
        );
    }

    #[test]
    fn lines_that_end_with_a_return_stay_so() {
        check(
            "struct A {\r\na: u8; // b\r\n}\r\n",
            "struct A {\r\n    a: u8; // b\r\n}\r\n",
        );
    }

    #[test]
    fn a_mistake_in_the_form_is_told() {
        let error = format("a.wire", "struct A { a u8; }").expect_err("no colon");
        assert_eq!(error.reports()[0].line, 1);
    }
}
