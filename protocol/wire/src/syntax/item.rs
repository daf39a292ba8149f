//! The items of a file: blocks of settings, imports, constants, enums and structs.

use super::ast::{
    Alias, Block, Constant, Enum, Expr, ExprKind, Ident, Import, Member, Parameter, Setting, Struct,
};
use super::lexer::TokenKind;
use super::parser::{Failed, Parser};

impl<'a> Parser<'a, '_> {
    pub(super) fn block(&mut self) -> Result<Block<'a>, Failed> {
        self.advance();
        let name = self.new_name("a name")?;
        self.settings(name)
    }

    /// The settings of a block, with their braces.
    pub(super) fn settings(&mut self, name: Ident<'a>) -> Result<Block<'a>, Failed> {
        self.expect_mark("{", "to begin the settings")?;
        let mut settings = Vec::new();
        while !self.at_mark("}") {
            let name = self.any_name("a setting, or `}`")?;
            self.expect_mark("=", "after the setting's name")?;
            let value = self.setting_value()?;
            let mut more = Vec::new();
            while self.take_mark(",") {
                more.push(self.setting_value()?);
            }
            self.expect_mark(";", "after the setting")?;
            settings.push(Setting { name, value, more });
        }
        self.advance();
        Ok(Block { name, settings })
    }

    /// An expression, or `LOW..=HIGH`.
    fn setting_value(&mut self) -> Result<Expr<'a>, Failed> {
        let low = self.expression()?;
        if !self.take_mark("..=") {
            return Ok(low);
        }
        let high = self.expression()?;
        let span = low.span.to(high.span);
        let kind = ExprKind::Interval(Box::new(low), Box::new(high));
        Ok(Expr::new(kind, span))
    }

    pub(super) fn import(&mut self) -> Result<Import<'a>, Failed> {
        self.advance();
        let span = self.here();
        if self.peek() != TokenKind::Text {
            return Err(self.unexpected("the path of a file: `import \"other.wire\";`"));
        }
        self.advance();
        let quoted = span.text(self.text);
        let path = quoted.strip_prefix('"').unwrap_or(quoted);
        let path = path.strip_suffix('"').unwrap_or(path);
        self.expect_mark(";", "after the path")?;
        Ok(Import { path, span })
    }

    pub(super) fn constant(&mut self) -> Result<Constant<'a>, Failed> {
        self.advance();
        let name = self.new_name("the constant's name")?;
        self.expect_mark("=", "after the constant's name")?;
        let value = self.expression()?;
        self.expect_mark(";", "after the constant")?;
        Ok(Constant { name, value })
    }

    /// `type NAME = TYPE;`
    pub(super) fn alias(&mut self) -> Result<Alias<'a>, Failed> {
        self.advance();
        let name = self.new_name("the type's name")?;
        self.expect_mark("=", "and the type that it stands for")?;
        let stands_for = self.type_ref()?;
        if self.at_mark("[") || self.at_word("size") || self.at_word("through") {
            let failed = self.unexpected("`;` after the type");
            if let Some(report) = self.reports.last_mut() {
                report.help("a field says how often it is repeated, and what it goes through");
            }
            return Err(failed);
        }
        self.expect_mark(";", "after the type")?;
        Ok(Alias { name, stands_for })
    }

    pub(super) fn enumeration(&mut self, is_flags: bool) -> Result<Enum<'a>, Failed> {
        self.advance();
        let (name, holds) = if is_flags {
            ("the flags' name", "the flags")
        } else {
            ("the enum's name", "the enum")
        };
        let name = self.new_name(name)?;
        let holds = format!("and the integer type that holds {holds}, such as `u8`");
        self.expect_mark(":", &holds)?;
        let base = self.type_ref()?;
        self.expect_mark("{", "to begin the members")?;
        let members = self.members()?;
        Ok(Enum {
            name,
            is_flags,
            base,
            members,
        })
    }

    /// Up to and including `}`.
    pub(super) fn members(&mut self) -> Result<Vec<Member<'a>>, Failed> {
        let mut members = Vec::new();
        while !self.at_mark("}") {
            let name = self.new_name("a member, or `}`")?;
            let value = if self.take_mark("=") {
                Some(self.expression()?)
            } else {
                None
            };
            let annotations = self.annotations()?;
            members.push(Member {
                name,
                value,
                annotations,
            });
            if !self.take_mark(",") {
                break;
            }
        }
        self.expect_mark("}", "or `,` after the member")?;
        Ok(members)
    }

    pub(super) fn structure(&mut self) -> Result<Struct<'a>, Failed> {
        self.advance();
        let name = self.new_name("the struct's name")?;
        let parameters = if self.take_mark("(") {
            self.parameters()?
        } else {
            Vec::new()
        };
        let annotations = self.annotations()?;
        self.expect_mark("{", "to begin the fields")?;
        let body = self.body()?;
        Ok(Struct {
            name,
            parameters,
            is_vector: false,
            is_nameless: false,
            annotations,
            body,
        })
    }

    /// Up to and including `)`.
    fn parameters(&mut self) -> Result<Vec<Parameter<'a>>, Failed> {
        let mut parameters = Vec::new();
        while !self.at_mark(")") {
            let name = self.new_name("a parameter")?;
            self.expect_mark(":", "between the parameter's name and its type")?;
            let type_name = self.new_name("`int`, `bool` or an enum")?;
            parameters.push(Parameter { name, type_name });
            if !self.take_mark(",") {
                break;
            }
        }
        self.expect_mark(")", "after the last parameter")?;
        Ok(parameters)
    }
}
