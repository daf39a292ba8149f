//! `rules` blocks, and settings with closed sets of values.

use std::collections::BTreeMap;

use super::Checker;
use crate::facts::{
    CreateRule, LateInput, OlderUpdate, Rules, StaleRule, UnknownDestroy, UnknownMigrate,
    UnknownUpdate, UpdateFrom,
};
use crate::syntax::ast::{Block, Ident, Setting};
use crate::words::{HelpKind, words_of};

/// Those that a block of rules need not say. Without `older_update`, nothing is old where
/// `stale = never`.
const OPTIONAL: [&str; 3] = ["older_update", "late_input", "input_delay"];

/// A delay of inputs has fewer ticks.
const DELAY_MAX: u32 = 10_000;

impl<'a> Checker<'a, '_> {
    /// Fills in the rules blocks.
    pub(super) fn check_rules(&mut self) {
        for block in &self.file.rules {
            self.check_settings(block, HelpKind::OfRules, &[]);
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
            let required = words_of(HelpKind::OfRules).filter(|word| !OPTIONAL.contains(word));
            let lack = format!("the rules `{}` do not say", block.name.text);
            self.require(block, required, &lack);
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

    /// Reports settings that a block has to have; what it lacks ends a sentence.
    pub(super) fn require(
        &mut self,
        block: &Block<'a>,
        required: impl IntoIterator<Item = &'static str>,
        lack: &str,
    ) {
        for missing in required {
            if block.setting(missing).is_none() {
                self.report(block.name.span, format!("{lack} `{missing}`"))
                    .label(format!("expected the setting `{missing}`"));
            }
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
            "unknown_migrate" => self.set(&mut rules.unknown_migrate, setting, UnknownMigrate::ALL),
            "unknown_update" => self.set(&mut rules.unknown_update, setting, UnknownUpdate::ALL),
            "unknown_destroy" => self.set(&mut rules.unknown_destroy, setting, UnknownDestroy::ALL),
            "create" => self.set(&mut rules.create, setting, CreateRule::ALL),
            "stale" => self.set(&mut rules.stale, setting, StaleRule::ALL),
            "update_from" => self.set(&mut rules.update_from, setting, UpdateFrom::ALL),
            "older_update" => *older_update = self.choice(setting, OlderUpdate::ALL),
            "late_input" => rules.late_input = self.choice(setting, LateInput::ALL),
            "input_delay" => rules.input_delay = self.input_delay(setting).unwrap_or(0),
            _ => {}
        }
    }

    fn input_delay(&mut self, setting: &Setting<'a>) -> Option<u32> {
        let ticks = self.constant_integer(&setting.value, "the delay of inputs")?;
        if let Some(ticks) = u32::try_from(ticks).ok().filter(|&ticks| ticks < DELAY_MAX) {
            return Some(ticks);
        }
        let message = "the delay of inputs is out of range";
        let expected = "expected a number of ticks below 10000";
        self.refuse(setting.value.span, message, expected)
    }

    /// Unknown settings, settings given twice, and several values where there can be one; `lists`
    /// can have several.
    pub(super) fn check_settings(
        &mut self,
        block: &Block<'a>,
        known: HelpKind,
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
            if !words_of(known).any(|word| word == setting.name.text) {
                let message = format!("there is no setting `{}` here", setting.name.text);
                let (name, known) = (setting.name, words_of(known));
                self.report_choice(name.span, message, name.text, known);
            } else if let Some(first) = taken.insert(setting.name.text, setting.name.span) {
                self.report_again(
                    setting.name.span,
                    format!("`{}` is set twice", setting.name.text),
                    "expected it once",
                    first,
                );
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
        let cannot_be = format!("`{}` cannot be", setting.name.text);
        let word = Ident::spelled(setting.value.span, self.text);
        self.one_of(word, choices, &cannot_be)
    }

    /// What a word stands for; reports the words that there are where it is none of them. `there` and the
    /// word make a sentence.
    pub(super) fn one_of<T: Copy>(
        &mut self,
        word: Ident<'a>,
        choices: &[(&str, T)],
        there: &str,
    ) -> Option<T> {
        let Ident { text, span } = word;
        let found = choices.iter().find(|(name, _)| *name == text);
        if found.is_none() {
            let names = choices.iter().map(|(name, _)| *name);
            self.report_choice(span, format!("{there} `{text}`"), text, names);
        }
        found.map(|&(_, chosen)| chosen)
    }
}
