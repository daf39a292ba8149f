//! How the window is laid out and looks: what is kept between two times that it is opened.

use serde::{Deserialize, Serialize};

use crate::theme::Theme;

/// Shares of the window, from 0 to 1; `None`: as much as the contents take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// `dark`, `light` or `system`.
    pub theme: String,
    /// How high the table, the tree and the bytes are, of the window below its bars.
    pub details: f32,
    /// How high the objects are, of what is above those.
    pub objects: Option<f32>,
    /// How wide the table is, of the window.
    pub table: Option<f32>,
    /// How wide the tree is, of what the table leaves.
    pub tree: f32,
    /// How high the bytes are, of what they share with the findings.
    pub bytes: Option<f32>,
    /// How high the findings are in the view of findings.
    pub findings: f32,
    /// What was opened, the last first: at most [`RECENT_MAX`] paths.
    pub recent: Vec<String>,
}

/// So many paths are kept.
pub const RECENT_MAX: usize = 8;

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            theme: Theme::default().name().to_owned(),
            details: 0.37,
            objects: None,
            table: None,
            tree: 0.45,
            bytes: None,
            findings: 0.42,
            recent: Vec::new(),
        }
    }
}

impl Settings {
    /// Reads what [`Settings::to_json`] wrote.
    ///
    /// # Errors
    /// The text is no such JSON: where, and what was expected.
    pub fn from_json(text: &str) -> Result<Settings, String> {
        let settings: Settings = serde_json::from_str(text).map_err(|it| it.to_string())?;
        Ok(settings.sane())
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        let json = serde_json::to_string_pretty(self);
        json.unwrap_or_default()
    }

    /// Nobody can drag back what has no room left.
    fn sane(mut self) -> Settings {
        let sane = |share: f32| match share.is_finite() {
            true => share.clamp(0.05, 0.95),
            false => 0.4,
        };
        self.details = sane(self.details);
        self.tree = sane(self.tree);
        self.findings = sane(self.findings);
        self.objects = self.objects.map(sane);
        self.table = self.table.map(sane);
        self.bytes = self.bytes.map(sane);
        self.recent.truncate(RECENT_MAX);
        self
    }

    /// The theme; the usual one where there is none of that name.
    pub fn theme(&self) -> Theme {
        Theme::named(&self.theme).unwrap_or_default()
    }

    /// Puts a path before those that were opened earlier.
    pub fn opened(&mut self, path: &str) {
        self.recent.retain(|known| known != path);
        self.recent.insert(0, path.to_owned());
        self.recent.truncate(RECENT_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_what_was_there() {
        let mut settings = Settings {
            objects: Some(0.3),
            ..Settings::default()
        };
        settings.opened("race");
        settings.opened("other");
        settings.opened("race");
        let again = Settings::from_json(&settings.to_json());
        assert_eq!(again.as_ref(), Ok(&settings));
        assert_eq!(settings.recent, ["race", "other"]);
    }

    #[test]
    fn what_makes_no_sense_is_refused_or_put_right() {
        assert!(Settings::from_json("{").is_err());
        assert!(Settings::from_json("{\"colour\": 1}").is_err());
        let settings = Settings::from_json("{\"details\": 7.0, \"theme\": \"mauve\"}").unwrap();
        assert_eq!(settings.details, 0.95);
        assert_eq!(settings.theme(), Theme::Dark);
    }
}
