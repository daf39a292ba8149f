//! The items of a file: blocks of settings, imports, constants, enums and structs.

use super::ast::{
    Alias, Block, Constant, Enum, Expr, ExprKind, Ident, Member, Parameter, Setting, Struct,
};
use super::parser::{Parsed, Parser};

impl<'a> Parser<'a, '_> {
    pub(super) fn block(&mut self) -> Parsed<Block<'a>> {
        let name = self.name_behind("a name")?;
        self.settings(name)
    }

    /// The settings of a block, with their braces.
    pub(super) fn settings(&mut self, name: Ident<'a>) -> Parsed<Block<'a>> {
        let setting = |parser: &mut Self| parser.setting(Self::setting_value);
        let settings = self.in_braces("to begin the settings", setting)?;
        Ok(Block { name, settings })
    }

    /// `NAME = VALUE, VALUE;`
    pub(super) fn setting<V>(
        &mut self,
        mut value: impl FnMut(&mut Self) -> Parsed<V>,
    ) -> Parsed<Setting<'a, V>> {
        let name = self.any_name("a setting, or `}`")?;
        self.expect_mark("=", "after the setting's name")?;
        let first = value(self)?;
        let mut more = Vec::new();
        while self.take_mark(",") {
            more.push(value(self)?);
        }
        self.expect_mark(";", "after the setting")?;
        Ok(Setting {
            name,
            value: first,
            more,
        })
    }

    /// An expression, or `LOW..=HIGH`.
    fn setting_value(&mut self) -> Parsed<Expr<'a>> {
        let low = self.expression()?;
        if !self.take_mark("..=") {
            return Ok(low);
        }
        let high = self.expression()?;
        let span = low.span.to(high.span);
        let kind = ExprKind::Interval(Box::new(low), Box::new(high));
        Ok(Expr::new(kind, span))
    }

    pub(super) fn import(&mut self) -> Parsed<Ident<'a>> {
        self.advance();
        let path = self.quoted("the path of a file: `import \"other.wire\";`")?;
        self.expect_mark(";", "after the path")?;
        Ok(path)
    }

    pub(super) fn constant(&mut self) -> Parsed<Constant<'a>> {
        let name = self.name_behind("the constant's name")?;
        self.expect_mark("=", "after the constant's name")?;
        let value = self.expression()?;
        self.expect_mark(";", "after the constant")?;
        Ok(Constant { name, value })
    }

    /// `type NAME = TYPE;`
    pub(super) fn alias(&mut self) -> Parsed<Alias<'a>> {
        let name = self.name_behind("the type's name")?;
        self.expect_mark("=", "and the type that it stands for")?;
        let stands_for = self.type_ref()?;
        if self.at_mark("[") || self.at_word("size") || self.at_word("through") {
            let help = "a field says how often it is repeated, and what it goes through";
            return Err(self.unexpected_but("`;` after the type", help));
        }
        self.expect_mark(";", "after the type")?;
        Ok(Alias { name, stands_for })
    }

    pub(super) fn enumeration(&mut self, is_flags: bool) -> Parsed<Enum<'a>> {
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
    pub(super) fn members(&mut self) -> Parsed<Vec<Member<'a>>> {
        self.list("}", "or `,` after the member", |parser| {
            Ok(Member {
                name: parser.new_name("a member, or `}`")?,
                value: parser.behind("=", Self::expression)?,
                annotations: parser.annotations()?,
            })
        })
    }

    pub(super) fn structure(&mut self) -> Parsed<Struct<'a>> {
        let name = self.name_behind("the struct's name")?;
        let type_name = |parser: &mut Self| parser.new_name("`int`, `bool` or an enum");
        let parameters = self.parameters("a parameter", type_name)?;
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

    /// `(PARAMETER, ...)`, or nothing.
    pub(super) fn parameters(
        &mut self,
        expected: &str,
        type_name: impl Fn(&mut Self) -> Parsed<Ident<'a>>,
    ) -> Parsed<Vec<Parameter<'a>>> {
        let parameter = |parser: &mut Self| {
            let name = parser.new_name(expected)?;
            parser.expect_mark(":", "between the parameter's name and its type")?;
            let type_name = type_name(parser)?;
            Ok(Parameter { name, type_name })
        };
        let all = |parser: &mut Self| parser.list(")", "after the last parameter", parameter);
        Ok(self.behind("(", all)?.unwrap_or_default())
    }
}
