//! A part of what is shown, as a session of its own.

use std::fs::File;
use std::path::Path;

use netreel_capture::FileAppend;
use netreel_inspector::PartOf;
use netreel_protocol::export::Cut;
use netreel_protocol::session::{PacketId, Session};

use crate::{text, whole};

/// Writes the reels of a part of a session, and says what was written.
///
/// # Errors
/// A sentence: the folder is not empty, or it cannot be written.
pub(super) fn write(part: &PartOf) -> Result<String, String> {
    let folder = part.folder.as_path();
    make(folder)?;
    let session = &part.of.0;
    let is_in = |packet: PacketId| {
        let taken = part.packets.as_ref();
        let is_taken = taken.is_none_or(|all| all.binary_search(&packet).is_ok());
        is_taken
            && session
                .packet(packet)
                .is_some_and(|it| it.is_within(&part.time))
    };
    let said = said(part);
    let cut = Cut {
        packets: &is_in,
        time: part.time.clone(),
        said: &said,
    };
    let reels = session.session_reels();
    let mut names: Vec<String> = Vec::new();
    for reel in &reels {
        let name = free(&reel.name, &names);
        let path = folder.join(format!("{name}.reel"));
        let failed = |why: String| format!("{}: {why}", path.display());
        let file = File::create_new(&path).map_err(|error| failed(error.to_string()))?;
        let written = cut.write(reel, FileAppend::new(file));
        written.map_err(|error| failed(error.to_string()))?;
        names.push(name);
    }
    let packets = packets(session, &is_in);
    let noun = if reels.len() == 1 { "reel" } else { "reels" };
    Ok(format!(
        "{}: {packets} of {} packets in {} {noun}",
        folder.display(),
        session.packet_count(),
        reels.len()
    ))
}

fn packets(session: &Session, is_in: &dyn Fn(PacketId) -> bool) -> usize {
    let all = (0..session.packet_count()).map(|number| PacketId(number as u32));
    all.filter(|&packet| is_in(packet)).count()
}

/// What stands in a note of each reel.
fn said(part: &PartOf) -> String {
    let (from, to) = (text::seconds(part.time.start), text::seconds(part.time.end));
    let filter = match part.packets {
        Some(_) => format!(" that the filter `{}` takes", part.filter),
        None => String::new(),
    };
    format!("cut by netreel: the packets{filter}, from {from} to {to} s; not to be replayed")
}

/// Makes the folder, which must hold nothing that could be taken for a part of the session.
fn make(folder: &Path) -> Result<(), String> {
    let shown = folder.display();
    match whole::make_empty(folder) {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!(
            "{shown}: the folder is not empty; name one that is, or that is not there yet"
        )),
        Err(error) => Err(format!("{shown}: {error}")),
    }
}

/// A name of a reel's file that no other one has: of whatever the node is called.
fn free(name: &str, taken: &[String]) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_. ".contains(letter);
    let plain: String = name
        .chars()
        .map(|letter| if is_plain(letter) { letter } else { '_' })
        .take(100)
        .collect();
    let plain = match plain.trim_matches(['.', ' ']) {
        "" => "node".to_owned(),
        plain => plain.to_owned(),
    };
    let mut names = std::iter::once(plain.clone());
    let mut numbered = (2..).map(|number| format!("{plain}-{number}"));
    let is_free = |name: &String| !taken.contains(name);
    names
        .find(is_free)
        .or_else(|| numbered.find(is_free))
        .unwrap_or(plain)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use netreel_inspector::{Command, Model, Shown};

    use super::*;
    use crate::arguments::Source;
    use crate::open;

    fn story(path: PathBuf) -> open::Story {
        open::story(&Source::alone(&path)).expect("a story")
    }

    fn sample() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/sessions/host")
    }

    /// What a filter takes of the sample, cut.
    fn part(filter: &str, folder: PathBuf) -> (Model, PartOf) {
        let session = story(sample()).session;
        let mut model = Model::open(session, &[]);
        model.apply(Command::SetFilter(filter.to_owned()));
        model.finish();
        let packets: Arc<[PacketId]> = model.packets_by_time().collect();
        let part = PartOf {
            of: Shown(model.shared_session()),
            packets: Some(packets),
            time: model.whole(),
            filter: filter.to_owned(),
            folder,
        };
        (model, part)
    }

    #[test]
    fn a_cut_is_a_session_of_the_packets_that_were_taken_with_all_that_became_of_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().join("cut");
        let (model, part) = part("object == 42", folder.clone());
        let said = write(&part).expect("a cut");
        let taken = part.packets.as_ref().expect("packets").clone();
        assert!(said.contains(&format!("{} of ", taken.len())), "{said}");
        let cut = story(folder).session;
        assert_eq!(cut.packet_count(), taken.len());
        let names = |session: &Session| {
            let names = session.nodes.iter().map(|node| node.name.clone());
            names.collect::<Vec<_>>()
        };
        assert_eq!(names(&cut), names(model.session()));
        for (packet, &was) in cut.packets().zip(taken.iter()) {
            let before = model.packet(was).expect("a packet");
            let known = |it: &netreel_protocol::session::Packet| {
                let link = (it.from, it.to, it.length, it.fate);
                let took = it.sent.zip(it.received);
                (
                    link,
                    took.map(|(sent, received)| received.time.0 - sent.time.0),
                )
            };
            assert_eq!(known(&packet), known(&before), "{was:?}");
        }
        let notes = cut.nodes.iter().any(|node| node.recorded);
        assert!(notes);
    }

    #[test]
    fn a_cut_of_some_time_has_the_packets_under_way_in_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let (model, mut part) = part("", folder.path().join("cut"));
        part.packets = None;
        let span = model.span();
        let middle = (span.start.0 + span.end.0) / 2;
        part.time = span.start..netreel_protocol::session::SessionTime(middle);
        write(&part).expect("a cut");
        let cut = story(part.folder.clone()).session;
        let packets = model.session().packets();
        let expected = packets.filter(|it| it.is_within(&part.time)).count();
        assert!(expected > 0 && expected < model.session().packet_count());
        assert_eq!(cut.packet_count(), expected);
    }

    #[test]
    fn nothing_is_written_over() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("mine"), "my own").expect("a file");
        let (_, part) = part("", folder.path().to_owned());
        let why = write(&part).expect_err("it is not empty");
        assert!(why.contains("not empty"), "{why}");
        assert_eq!(
            std::fs::read_dir(folder.path())
                .expect("it is there")
                .count(),
            1
        );
    }

    #[test]
    fn two_nodes_of_one_name_have_two_files() {
        let mut taken = vec![free("[::1]:7000", &[])];
        assert_eq!(taken, ["___1__7000"]);
        taken.push(free("_::1]:7000", &taken));
        assert_eq!(taken[1], "___1__7000-2");
        assert_eq!(free("..", &[]), "node");
    }
}
