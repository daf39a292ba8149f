//! Paths that somebody looks for: what one that is being typed can go on with, and the system's own dialog.

use std::path::{Path, PathBuf};

use netreel_inspector::{PathKind, Picks};

/// How many paths are told.
const PATHS_MAX: usize = 200;

/// What a path that is being typed can go on with, in the order of names: folders, and files that it may
/// be. Names that begin with a dot are left out unless that is typed.
pub fn matching(wanted: PathKind, typed: &str) -> Vec<String> {
    let (above, begin) = match typed.rfind('/') {
        Some(slash) => typed.split_at(slash + 1),
        None => ("", typed),
    };
    let folder = match above.strip_prefix("~/") {
        Some(rest) => match std::env::home_dir() {
            Some(home) => home.join(rest),
            None => return Vec::new(),
        },
        None if above.is_empty() => PathBuf::from("."),
        None => PathBuf::from(above),
    };
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found: Vec<String> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let is_hidden = name.starts_with('.') && !begin.starts_with('.');
            let is_folder = entry.path().is_dir();
            let fits = name.starts_with(begin) && !is_hidden;
            let slash = if is_folder { "/" } else { "" };
            (fits && (is_folder || may_be(wanted, &name))).then(|| format!("{above}{name}{slash}"))
        })
        .collect();
    found.sort_unstable();
    found.truncate(PATHS_MAX);
    found
}

fn may_be(wanted: PathKind, name: &str) -> bool {
    let ending = Path::new(name).extension().and_then(|it| it.to_str());
    ending.is_some_and(|ending| wanted.endings().contains(&ending))
}

/// What somebody chooses with the system's own dialog; `None` where nothing.
pub fn chosen(wanted: PathKind, picks: Picks) -> Option<PathBuf> {
    let mut dialog = rfd::FileDialog::new();
    if !wanted.endings().is_empty() && picks != Picks::Folder {
        let name = match wanted {
            PathKind::Recording => "Recordings",
            PathKind::Wire => "Wires",
            PathKind::Picture | PathKind::Cut => "Pictures",
        };
        dialog = dialog.add_filter(name, wanted.endings());
    }
    match picks {
        Picks::File => dialog.pick_file(),
        Picks::Folder => dialog.pick_folder(),
        Picks::NewFile => dialog.save_file(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_goes_on_with_what_is_there_and_may_be_meant() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in [
            "race.reel",
            "race.pcap",
            "race.txt",
            ".raced.reel",
            "a.wire",
        ] {
            std::fs::write(folder.path().join(name), "").expect("a file");
        }
        std::fs::create_dir(folder.path().join("races")).expect("a folder");
        let at = format!("{}/", folder.path().display());
        let check = |wanted, typed: &str, expected: &[&str]| {
            let expected: Vec<String> = expected.iter().map(|it| format!("{at}{it}")).collect();
            assert_eq!(
                matching(wanted, &format!("{at}{typed}")),
                expected,
                "{typed}"
            );
        };
        check(
            PathKind::Recording,
            "ra",
            &["race.pcap", "race.reel", "races/"],
        );
        check(PathKind::Recording, ".", &[".raced.reel"]);
        check(PathKind::Wire, "", &["a.wire", "races/"]);
        check(PathKind::Cut, "r", &["races/"]);
        check(PathKind::Recording, "nothing", &[]);
        assert_eq!(matching(PathKind::Wire, "/no such folder/a"), [""; 0]);
    }
}
