//! Bookmarks between the window and their file.

use std::path::PathBuf;

use netreel_inspector::{Answer, Bookmark, Model, Spot};
use netreel_protocol::session::SessionTime;

use crate::bookmarks::{self, Bookmarks, Entry};

/// Shows a model the bookmarks of what it shows.
///
/// # Errors
/// A sentence: their file cannot be read.
pub fn show(paths: &[PathBuf], model: &mut Model) -> Result<(), String> {
    let (found, _) = bookmarks::read(paths)?;
    let all = found.bookmarks.into_iter().filter_map(|it| {
        let at = match (it.reel, it.event, it.from_ns, it.to_ns) {
            (Some(reel), Some(event), ..) => Spot::Packet { reel, event },
            (_, _, Some(from), Some(to)) => Spot::Time {
                from: SessionTime(from),
                to: SessionTime(to),
            },
            _ => return None,
        };
        Some(Bookmark { at, note: it.note })
    });
    model.set_bookmarks(all.collect());
    Ok(())
}

/// Shows another session its bookmarks, when it is opened; what cannot be read is one more answer. One
/// that grows has them.
pub fn with_answers(paths: &[PathBuf], answers: &mut Vec<Answer>) {
    let mut failed = None;
    for answer in answers.iter_mut() {
        let (Answer::Opened { model, .. }
        | Answer::Reread { model, .. }
        | Answer::Begun { model, .. }) = answer
        else {
            continue;
        };
        if let Err(why) = show(paths, model) {
            failed = Some(Answer::Failed(why));
        }
    }
    answers.extend(failed);
}

/// Keeps bookmarks beside what they are of.
///
/// # Errors
/// A sentence: they cannot be written.
pub fn keep(paths: &[PathBuf], all: &[Bookmark]) -> Result<(), String> {
    let entries = all.iter().map(|it| {
        let note = it.note.clone();
        match &it.at {
            Spot::Packet { reel, event } => Entry {
                reel: Some(reel.clone()),
                event: Some(*event),
                note,
                ..Entry::default()
            },
            Spot::Time { from, to } => Entry {
                from_ns: Some(from.0),
                to_ns: Some(to.0),
                note,
                ..Entry::default()
            },
        }
    });
    let kept = Bookmarks {
        bookmarks: entries.collect(),
    };
    bookmarks::keep(paths, &kept)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use netreel_inspector::Command;
    use netreel_protocol::session::PacketId;

    use super::*;
    use crate::inspect::drawn::model;
    use crate::{arguments::Source, open};

    #[test]
    fn what_the_window_keeps_it_shows_again_on_the_same_packet() {
        let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/sessions/host");
        let folder = tempfile::tempdir().expect("a folder");
        for reel in std::fs::read_dir(sample).expect("a sample") {
            let reel = reel.expect("a reel").path();
            let name = reel.file_name().expect("a name");
            std::fs::copy(&reel, folder.path().join(name)).expect("a copy");
        }
        let paths = vec![folder.path().to_owned()];
        let source = Source {
            paths: paths.clone(),
            keys: None,
            wire: None,
            bounds: None,
            no_index: true,
        };
        let fresh = || model(&mut open::story(&source).expect("a story"), "");
        let mut marked = fresh();
        marked.apply(Command::SelectPacket(PacketId(71)));
        let spot = marked.spot();
        marked.apply(Command::Bookmark(spot, "the one".to_owned()));
        marked.apply(Command::Bookmark(marked.visible_spot(), String::new()));
        keep(&paths, marked.bookmarks()).expect("kept");
        let mut again = fresh();
        show(&paths, &mut again).expect("shown");
        assert_eq!(again.bookmarks(), marked.bookmarks());
        let rows = again.bookmark_rows();
        assert!(rows.iter().any(|row| row.packet == Some(PacketId(71))));
    }
}
