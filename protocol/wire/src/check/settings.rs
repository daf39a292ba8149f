//! `rules` blocks, and settings with closed sets of values.

use std::collections::BTreeMap;

use super::Checker;
use crate::facts::{
    CreateRule, LateInput, OlderUpdate, Rules, StaleRule, UnknownDestroy, UnknownMigrate,
    UnknownUpdate, UpdateFrom,
};
use crate::syntax::ast::{Block, Setting};

pub(super) const RULES_SETTINGS: [&str; 7] = [
    "unknown_migrate",
    "unknown_update",
    "unknown_destroy",
    "create",
    "stale",
    "update_from",
    OLDER_UPDATE,
];

/// The one that a block need not say: without it, nothing is old where `stale = never`.
const OLDER_UPDATE: &str = "older_update";

/// A delay of inputs has fewer ticks.
const DELAY_MAX: u32 = 10_000;

/// Those that may be left out.
pub(super) const MORE_RULES_SETTINGS: [&str; 2] = ["late_input", "input_delay"];

impl<'a> Checker<'a, '_> {
    /// Fills in the rules blocks.
    pub(super) fn check_rules(&mut self) {
        for block in &self.file.rules {
            let known = [&RULES_SETTINGS[..], &MORE_RULES_SETTINGS].concat();
            self.check_settings(block, &known, &[]);
            let mut rules = Rules {
                name: block.name.text.to_owned(),
                unknown_migrate: UnknownMigrate::Drop,
                unknown_update: UnknownUpdate::Drop,
                unknown_destroy: UnknownDestroy::Drop,
                create: CreateRule::Always,
                stale: StaleRule::Never,
                update_from: UpdateFrom::Anyone,
                older_update: OlderUpdate::Take,
                late_input: None,
                input_delay: 0,
            };
            let mut older_update = None;
            let required = RULES_SETTINGS.into_iter();
            for missing in required.filter(|&setting| setting != OLDER_UPDATE) {
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
                self.rule(setting, &mut rules, &mut older_update);
            }
            rules.older_update = older_update.unwrap_or(match rules.stale {
                StaleRule::Never => OlderUpdate::Take,
                StaleRule::Counter => OlderUpdate::Drop,
            });
            self.rules.push(rules);
        }
    }

    /// Takes a setting of a rules block.
    fn rule(
        &mut self,
        setting: &Setting<'a>,
        rules: &mut Rules,
        older_update: &mut Option<OlderUpdate>,
    ) {
        match setting.name.text {
            "unknown_migrate" => {
                let choices = [
                    ("drop", UnknownMigrate::Drop),
                    ("create", UnknownMigrate::Create),
                    ("queue", UnknownMigrate::Queue),
                ];
                self.set(&mut rules.unknown_migrate, setting, &choices);
            }
            "unknown_update" => {
                let choices = [
                    ("drop", UnknownUpdate::Drop),
                    ("create", UnknownUpdate::Create),
                    ("queue", UnknownUpdate::Queue),
                ];
                self.set(&mut rules.unknown_update, setting, &choices);
            }
            "unknown_destroy" => {
                let choices = [
                    ("drop", UnknownDestroy::Drop),
                    ("tombstone", UnknownDestroy::Tombstone),
                    ("queue", UnknownDestroy::Queue),
                ];
                self.set(&mut rules.unknown_destroy, setting, &choices);
            }
            "create" => {
                let choices = [("always", CreateRule::Always), ("newer", CreateRule::Newer)];
                self.set(&mut rules.create, setting, &choices);
            }
            "stale" => {
                let choices = [("never", StaleRule::Never), ("counter", StaleRule::Counter)];
                self.set(&mut rules.stale, setting, &choices);
            }
            "update_from" => {
                let choices = [("anyone", UpdateFrom::Anyone), ("owner", UpdateFrom::Owner)];
                self.set(&mut rules.update_from, setting, &choices);
            }
            OLDER_UPDATE => {
                let choices = [("take", OlderUpdate::Take), ("drop", OlderUpdate::Drop)];
                *older_update = self.choice(setting, &choices);
            }
            "late_input" => {
                let choices = [
                    ("wait", LateInput::Wait),
                    ("rollback", LateInput::Rollback),
                    ("drop", LateInput::Drop),
                ];
                rules.late_input = self.choice(setting, &choices);
            }
            "input_delay" => {
                rules.input_delay = self.input_delay(setting).unwrap_or(0);
            }
            _ => {}
        }
    }

    fn input_delay(&mut self, setting: &Setting<'a>) -> Option<u32> {
        let ticks = self.constant_integer(&setting.value, "the delay of inputs")?;
        if let Some(ticks) = u32::try_from(ticks).ok().filter(|&ticks| ticks < DELAY_MAX) {
            return Some(ticks);
        }
        self.report(setting.value.span, "the delay of inputs is out of range")
            .label("expected a number of ticks below 10000");
        None
    }

    /// Unknown settings, settings given twice, and several values where there can be one; `lists`
    /// can have several.
    pub(super) fn check_settings(
        &mut self,
        block: &Block<'a>,
        known: &[&'static str],
        lists: &[&'static str],
    ) {
        let mut taken = BTreeMap::new();
        for setting in &block.settings {
            if let (false, Some(second)) =
                (lists.contains(&setting.name.text), setting.more.first())
            {
                let message = format!("`{}` has one value", setting.name.text);
                self.report(second.span, message)
                    .label("expected nothing after the first");
            }
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

    pub(super) fn choice<T: Copy>(
        &mut self,
        setting: &Setting<'a>,
        choices: &[(&str, T)],
    ) -> Option<T> {
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
