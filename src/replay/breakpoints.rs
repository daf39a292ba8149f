//! The commands about breakpoints.

use std::io::Write;

use serde_json::json;

use super::breaks::Condition;
use super::commands::Trouble;
use super::sitting::Sitting;
use crate::packets::json as print_json;
use crate::text;

impl Sitting<'_> {
    pub(super) fn add_break(&mut self, text: &str, out: &mut dyn Write) -> Result<(), Trouble> {
        let condition = Condition::parse(text, self.story, self.reel).map_err(Trouble::Said)?;
        self.breaks.list.push(condition);
        self.breaks.keep().map_err(Trouble::Said)?;
        self.list_breaks(out)
    }

    pub(super) fn delete_break(&mut self, text: &str, out: &mut dyn Write) -> Result<(), Trouble> {
        if text.is_empty() {
            let why = "say which: `delete 1`; `breaks` lists them";
            return Err(Trouble::Said(why.to_owned()));
        }
        let count = self.breaks.list.len();
        let place = text.parse::<usize>().ok().and_then(|it| it.checked_sub(1));
        let Some(place) = place.filter(|&place| place < count) else {
            let there = text::counted(count as u64, "breakpoint");
            return Err(Trouble::Said(format!(
                "`{text}` is not one of the {there}; `breaks` lists them"
            )));
        };
        self.breaks.list.remove(place);
        self.breaks.keep().map_err(Trouble::Said)?;
        self.list_breaks(out)
    }

    pub(super) fn list_breaks(&self, out: &mut dyn Write) -> Result<(), Trouble> {
        let texts = self.breaks.list.iter().map(|it| it.text.as_str());
        if self.json {
            let texts: Vec<&str> = texts.collect();
            return Ok(print_json(&json!({ "breakpoints": texts }), out)?);
        }
        for (place, text) in texts.enumerate() {
            writeln!(out, "breakpoint {}  {text}", place + 1)?;
        }
        if self.breaks.list.is_empty() {
            writeln!(out, "no breakpoints")?;
        }
        Ok(())
    }
}
