//! Bounds, read from a file.

use std::collections::BTreeMap;

use super::{Bounds, BoundsError, WITH_BOUNDS};
use crate::history::RULES;

impl Bounds {
    /// Reads bounds, written in TOML: a table for each rule.
    ///
    /// # Errors
    /// The first thing that is not one of them, with its line.
    pub fn parse(text: &str) -> Result<Bounds, BoundsError> {
        let failed = |error: toml::de::Error| BoundsError(error.to_string().trim_end().to_owned());
        // First whether it is TOML at all, then whether each table is a rule's.
        let tables: BTreeMap<String, toml::Value> = toml::from_str(text).map_err(failed)?;
        let is_unknown = |name: &&String| !RULES.contains(&name.as_str());
        if let Some(name) = tables.keys().find(is_unknown) {
            return Err(BoundsError(format!(
                "[{name}] is no rule; bounds have {}",
                WITH_BOUNDS.join(", ")
            )));
        }
        toml::from_str(text).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::bounds::Length;

    fn refused(text: &str) -> String {
        Bounds::parse(text).expect_err(text).to_string()
    }

    #[test]
    fn an_empty_file_changes_nothing() {
        assert_eq!(Bounds::parse(""), Ok(Bounds::default()));
        assert!(Bounds::default().is_default());
    }

    #[test]
    fn what_is_set_is_set_and_all_else_stays() {
        let bounds = Bounds::parse(
            "[resend-storm]\nneedless = 3\n[head-of-line-wait]\nlongest = \"200ms\"\n",
        );
        let bounds = bounds.expect("bounds");
        assert_eq!(bounds.resend_storm.needless, 3);
        assert_eq!(bounds.head_of_line_wait.longest, Some(Length(200_000_000)));
        assert_eq!(bounds.duplicate_sequence.window, 64);
        assert!(!bounds.is_default());
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        assert!(refused("[resend-strom]\n").contains("[resend-strom] is no rule"));
        assert!(
            refused("[zombie-object]\nx = 1").contains("line 1"),
            "{}",
            refused("[zombie-object]\nx = 1")
        );
        assert!(refused("[resend-storm]\nneedles = 3").contains("needles"));
        assert!(refused("[rtt-step]\nhighest = \"200\"").contains("with a unit"));
        assert!(refused("[rtt-step").contains("line 1"));
    }
}
