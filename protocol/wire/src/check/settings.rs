//! `wire` and `rules` blocks: settings with closed sets of values.

use std::collections::BTreeMap;

use super::Checker;
use super::model::{BitOrder, ByteOrder, Order, StructId};
use crate::facts::{CreateRule, Rules, StaleRule, UnknownDestroy, UnknownMigrate, UpdateFrom};
use crate::syntax::Span;
use crate::syntax::ast::{Block, ExprKind, Setting};

const BIT_ORDERS: [(&str, BitOrder); 2] = [("lsb", BitOrder::Lsb), ("msb", BitOrder::Msb)];
const BYTE_ORDERS: [(&str, ByteOrder); 2] =
    [("little", ByteOrder::Little), ("big", ByteOrder::Big)];
const WIRE_SETTINGS: [&str; 4] = ["version", "byte_order", "bit_order", "root"];
const RULES_SETTINGS: [&str; 6] = [
    "unknown_migrate",
    "unknown_update",
    "unknown_destroy",
    "create",
    "stale",
    "update_from",
];

impl<'a> Checker<'a, '_> {
    /// The root struct, the protocol's name and the order of bits and bytes.
    pub(super) fn check_wire(&mut self) -> (Option<StructId>, &'a str, Order) {
        let file = self.file;
        let mut order = Order::default();
        let Some(block) = file.wires.first() else {
            self.report(Span::default(), "the file has no `wire` block")
                .help(
                    "begin with `wire NAME { version = 1; byte_order = little; bit_order = lsb; \
                 root = STRUCT; }`",
                );
            return (None, "", order);
        };
        for second in file.wires.iter().skip(1) {
            self.report(second.name.span, "a file has one `wire` block")
                .label("expected nothing after the first")
                .related(block.name.span, "the first");
        }
        let mut root = None;
        self.check_settings(block, &WIRE_SETTINGS);
        for setting in &block.settings {
            match setting.name.text {
                "version" => {
                    let version = self.constant_integer(&setting.value, "the version");
                    if version.is_some_and(|version| !(0..=i128::from(u32::MAX)).contains(&version))
                    {
                        self.report(setting.value.span, "the version is out of range")
                            .label("expected 0 to 4294967295");
                    }
                }
                "byte_order" => {
                    order.bytes = self.choice(setting, &BYTE_ORDERS).unwrap_or_default();
                }
                "bit_order" => {
                    order.bits = self.choice(setting, &BIT_ORDERS).unwrap_or_default();
                }
                "root" => root = Some(self.root(setting)),
                _ => {}
            }
        }
        for missing in ["byte_order", "bit_order", "root"] {
            if !block
                .settings
                .iter()
                .any(|setting| setting.name.text == missing)
            {
                self.report(
                    block.name.span,
                    format!("the `wire` block has no `{missing}`"),
                )
                .label(format!("expected the setting `{missing}`"));
            }
        }
        (root.flatten(), block.name.text, order)
    }

    /// Fills in the rules blocks.
    pub(super) fn check_rules(&mut self) {
        for block in &self.file.rules {
            self.check_settings(block, &RULES_SETTINGS);
            let mut rules = Rules {
                name: block.name.text.to_owned(),
                unknown_migrate: UnknownMigrate::Drop,
                unknown_destroy: UnknownDestroy::Drop,
                create: CreateRule::Always,
                stale: StaleRule::Never,
                update_from: UpdateFrom::Anyone,
            };
            for missing in RULES_SETTINGS {
                if !block
                    .settings
                    .iter()
                    .any(|setting| setting.name.text == missing)
                {
                    let message = format!("the rules `{}` do not say `{missing}`", block.name.text);
                    self.report(block.name.span, message)
                        .label(format!("expected the setting `{missing}`"));
                }
            }
            for setting in &block.settings {
                match setting.name.text {
                    "unknown_migrate" => {
                        let choices = [
                            ("drop", UnknownMigrate::Drop),
                            ("create", UnknownMigrate::Create),
                        ];
                        self.set(&mut rules.unknown_migrate, setting, &choices);
                    }
                    "unknown_update" => {
                        self.set(&mut (), setting, &[("drop", ())]);
                    }
                    "unknown_destroy" => {
                        let choices = [
                            ("drop", UnknownDestroy::Drop),
                            ("tombstone", UnknownDestroy::Tombstone),
                        ];
                        self.set(&mut rules.unknown_destroy, setting, &choices);
                    }
                    "create" => {
                        let choices =
                            [("always", CreateRule::Always), ("newer", CreateRule::Newer)];
                        self.set(&mut rules.create, setting, &choices);
                    }
                    "stale" => {
                        let choices =
                            [("never", StaleRule::Never), ("counter", StaleRule::Counter)];
                        self.set(&mut rules.stale, setting, &choices);
                    }
                    "update_from" => {
                        let choices =
                            [("anyone", UpdateFrom::Anyone), ("owner", UpdateFrom::Owner)];
                        self.set(&mut rules.update_from, setting, &choices);
                    }
                    _ => {}
                }
            }
            self.rules.push(rules);
        }
    }

    fn root(&mut self, setting: &Setting<'a>) -> Option<StructId> {
        let names: Vec<&str> = self.struct_names.keys().copied().collect();
        let ExprKind::Path(path) = &setting.value.kind else {
            self.report(setting.value.span, "the root is a struct")
                .label("expected a struct");
            return None;
        };
        let [name] = path.as_slice() else {
            self.report(setting.value.span, "the root is a struct")
                .label("expected a struct");
            return None;
        };
        if let Some(&id) = self.struct_names.get(name.text) {
            return Some(id);
        }
        let message = format!("there is no struct `{}`", name.text);
        self.report_choice(name.span, message, name.text, names);
        None
    }

    /// Unknown settings and settings given twice.
    fn check_settings(&mut self, block: &Block<'a>, known: &[&'static str]) {
        let mut taken = BTreeMap::new();
        for setting in &block.settings {
            if !known.contains(&setting.name.text) {
                let message = format!("there is no setting `{}` here", setting.name.text);
                let known = known.iter().copied();
                self.report_choice(setting.name.span, message, setting.name.text, known);
            } else if let Some(first) = taken.insert(setting.name.text, setting.name.span) {
                self.report(
                    setting.name.span,
                    format!("`{}` is set twice", setting.name.text),
                )
                .label("expected it once")
                .related(first, "the first");
            }
        }
    }

    fn set<T: Copy>(&mut self, target: &mut T, setting: &Setting<'a>, choices: &[(&str, T)]) {
        if let Some(chosen) = self.choice(setting, choices) {
            *target = chosen;
        }
    }

    fn choice<T: Copy>(&mut self, setting: &Setting<'a>, choices: &[(&str, T)]) -> Option<T> {
        let spelled = setting.value.span.text(self.text);
        if let Some((_, chosen)) = choices.iter().find(|(name, _)| *name == spelled) {
            return Some(*chosen);
        }
        let message = format!("`{}` cannot be `{spelled}`", setting.name.text);
        let names = choices.iter().map(|(name, _)| *name);
        self.report_choice(setting.value.span, message, spelled, names);
        None
    }
}
