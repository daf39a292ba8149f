//! How the window was laid out when it was closed: a small file in the user's own folder.

use std::fs;
use std::path::PathBuf;

use netreel_inspector::Settings;

use crate::bookmarks::own_folder;
use crate::whole;

/// A longer file is none of ours.
const BYTES_MAX: u64 = 1 << 16;

/// `netreel/window.json` below `XDG_CONFIG_HOME`, else below `.config` at home.
fn file() -> Option<PathBuf> {
    Some(own_folder("XDG_CONFIG_HOME", ".config")?.join("window.json"))
}

/// What was kept; the usual where nothing was. What cannot be read is said and left alone.
pub fn kept() -> Settings {
    let Some(file) = file().filter(|file| file.is_file()) else {
        return Settings::default();
    };
    let text = whole::read(&file, BYTES_MAX).map_err(|error| error.to_string());
    match text.and_then(|text| Settings::from_json(&text)) {
        Ok(settings) => settings,
        Err(why) => {
            let path = file.display();
            anstream::eprintln!(
                "netreel: {path}: {why}; the window opens as it does at first, and writes it anew"
            );
            Settings::default()
        }
    }
}

/// Keeps it.
///
/// # Errors
/// A sentence: the file cannot be written.
pub fn keep(settings: &Settings) -> Result<(), String> {
    let Some(file) = file() else { return Ok(()) };
    let folder = file.parent().unwrap_or(&file);
    let written =
        fs::create_dir_all(folder).and_then(|()| whole::write(&file, &settings.to_json()));
    written.map_err(|error| {
        let path = file.display();
        format!("{path}: {error}; how the window is laid out is not kept")
    })
}
