//! Enums and flags: members and their values.

use super::Checker;
use super::model::{Enum, Member, Type};
use crate::syntax::ast;

impl<'a> Checker<'a, '_> {
    pub(super) fn check_enum(&mut self, declared: &ast::Enum<'a>) -> Enum {
        let base_type = self.plain_type(&declared.base);
        let base_type = base_type.unwrap_or(Type::Broken);
        let (a, one) = if declared.is_flags {
            ("flags", "one flag")
        } else {
            ("an enum", "one member")
        };
        let limit = self.highest(declared, &base_type, a);
        let mut members: Vec<Member> = Vec::new();
        let mut taken = std::collections::BTreeMap::new();
        let mut values = std::collections::BTreeMap::new();
        let mut next: Option<u64> = Some(u64::from(declared.is_flags));
        // Members that count on from a mistake have no value to show.
        let mut is_known = true;
        for member in &declared.members {
            self.claim(&mut taken, member.name);
            let value = match &member.value {
                None => next,
                Some(expr) => {
                    let value = self.constant_integer(expr, "the value of a member");
                    value.and_then(|value| u64::try_from(value).ok())
                }
            };
            let span = member
                .value
                .as_ref()
                .map_or(member.name.span, |expr| expr.span);
            let held = value.filter(|&value| value <= limit);
            is_known = held.is_some() && (is_known || member.value.is_some());
            if let (Some(resolved), Some(value), true) = (&mut self.uses, held, is_known) {
                let value = (member.name.span, i128::from(value));
                resolved.values.push(value);
            }
            match held {
                Some(value) => {
                    if declared.is_flags && !value.is_power_of_two() {
                        self.report(span, format!("{value:#x} is not a single bit"))
                            .label("expected 0x01, 0x02, 0x04, ...");
                    }
                    if let Some(&first) = values.get(&value) {
                        self.report(span, format!("the value {value} is taken"))
                            .label("expected another value")
                            .related(first, "by this member");
                    }
                    values.entry(value).or_insert(member.name.span);
                }
                None => {
                    let base = declared.base.span.text(self.text);
                    let whose = if declared.is_flags {
                        "the flags'"
                    } else {
                        "the enum's"
                    };
                    self.report(span, format!("the value does not fit {whose} type"))
                        .label(format!("`{base}` holds 0 to {limit}"));
                }
            }
            let value = value.unwrap_or(0);
            next = if declared.is_flags {
                value.checked_mul(2)
            } else {
                value.checked_add(1)
            };
            members.push(Member {
                name: member.name.text.into(),
                value,
                rules: None,
            });
        }
        if members.is_empty() {
            let message = format!("{a} has at least {one}").replace("flags has", "flags have");
            self.report(declared.name.span, message);
        }
        if members.len() > usize::from(u16::MAX) {
            self.report(declared.name.span, "an enum has at most 65535 members");
        }
        Enum {
            base: base_type,
            members,
            first_kind: None,
        }
    }

    /// The highest value that the type of an enum or of flags holds.
    fn highest(&mut self, declared: &ast::Enum<'a>, base_type: &Type, what: &str) -> u64 {
        let span = declared.base.span;
        match *base_type {
            Type::Range { .. } if declared.is_flags => {
                self.report(span, "flags are held by an unsigned integer")
                    .label("expected a type such as `u8` or `leb128`");
                u64::MAX
            }
            Type::Broken => u64::MAX,
            _ if base_type.is_unsigned() => {
                let highest = base_type.limits().map(|(_, high)| high as u64);
                highest.unwrap_or(u64::MAX)
            }
            _ => {
                self.report(span, format!("{what} is held by an unsigned integer"))
                    .label("expected a type such as `u8` or `leb128`");
                u64::MAX
            }
        }
    }
}
