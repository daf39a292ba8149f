//! Whether the program that is to be started again is the one that was recorded, and how it is
//! started.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use netreel_capture::preload::{Rerun, find_program};
use netreel_reel::{Header, Reel};
use netreel_replay::program::{Began, Tape, Variable};
use netreel_scenario::quoted;
use netreel_system::os_text;

use super::files::{held, standard};
use crate::outcome::{Result, fail};
use crate::text;

/// Refuses to play the reel of a program into a layer, with the command that starts it again.
pub fn refuse(reel: &Reel, paths: &[PathBuf]) -> Result {
    let header = reel.header();
    if header.engine != Header::UNMODIFIED {
        return Ok(());
    }
    let (node, again) = (&header.node, again(&header.node, paths));
    let command = recorded(header);
    fail(format!(
        "{node} is a program that was recorded as it is: {command}. This starts it again: {again}"
    ))
}

/// Refuses another program, other arguments or other libraries than those that were recorded. Without
/// a `command` it is the recorded one. `paths` are those of the recording.
pub fn check<'a>(
    reel: &Reel,
    began: Option<&'a Began>,
    command: &[OsString],
    paths: &[PathBuf],
) -> Result<&'a Began> {
    let header = reel.header();
    let refuse = |why: String| fail(format!("{}: {why}", header.node));
    if header.engine != Header::UNMODIFIED {
        return refuse(
            "it is not the reel of an unmodified program; leave out what stands behind `--`"
                .to_owned(),
        );
    }
    if began.is_some_and(|began| began.forked) {
        return refuse(
            "it is a forked child, which begins in the middle of its parent's work, so that it cannot \
             be started by itself; start the parent again, whose reel lies beside it (`netreel \
             info` lists all)"
                .to_owned(),
        );
    }
    if let Some(why) = lacks_begin(reel, began) {
        return refuse(why);
    }
    let Some(began) = began else {
        return refuse(
            "the reel does not say how the program was started: it was recorded by an older \
             netreel, or its beginning is damaged or missing (`netreel info` tells which). Record it \
             again"
                .to_owned(),
        );
    };
    let mut sums = Sums::new();
    if let Some(path) = was_changed(header, command, &mut sums) {
        return refuse(format!(
            "{path} was changed since it was recorded; a replay needs the program as it was"
        ));
    }
    if let Some(why) = is_another(header, began, command, &mut sums) {
        let again = again(&header.node, paths);
        return refuse(format!(
            "{why}. It was recorded as: {}. This starts it as it was: {again}",
            recorded(header)
        ));
    }
    for (_, sum, path) in &began.files {
        let path = PathBuf::from(os_text(path));
        if sums.of(&path) != Some(*sum) {
            return refuse(format!(
                "{} is another file than when it was recorded, or is gone",
                path.display()
            ));
        }
    }
    if let Some((fd, _)) = began.descriptors.iter().find(|(_, it)| it == "udp socket") {
        return refuse(format!(
            "it was started with a UDP socket (descriptor {fd}), which a replay cannot give to it"
        ));
    }
    let folder = PathBuf::from(os_text(&began.folder));
    if !folder.is_dir() {
        return refuse(format!(
            "the folder in which it was started, {}, is gone",
            folder.display()
        ));
    }
    Ok(began)
}

/// Why a recording cannot be started again whose begin is not there: a window of ring mode, as often as
/// not.
fn lacks_begin(reel: &Reel, began: Option<&Began>) -> Option<String> {
    let missing = reel
        .missing_parts()
        .first()
        .filter(|it| it.parts.start == 0)?;
    let folder = began.map(|began| String::from_utf8_lossy(&began.folder));
    let folder = folder.map_or(String::new(), |folder| format!(" in {folder}"));
    Some(format!(
        "its begin is not there: {missing}; --ring and --keep delete what is older than they keep. A \
         program is started again from its beginning, and nothing can bring it to where this begins. \
         A recording without --ring and --keep can be started again: \
         `netreel record --name {} --out FOLDER -- {}`{folder}",
        quoted(&reel.header().node),
        recorded(reel.header())
    ))
}

/// The program that was recorded, where it is asked for and is another file by now.
fn was_changed<'a>(header: &'a Header, command: &[OsString], sums: &mut Sums) -> Option<&'a str> {
    let (path, sum) = header.hashes.first()?;
    let program = find_program(Path::new(command.first()?))?;
    let now = sums.of(&program).map(|now| format!("crc32 {now:08x}"))?;
    let is_there = program.canonicalize().ok()? == Path::new(path);
    (is_there && now != *sum).then_some(path)
}

/// Why what is asked for is not what was recorded, nor what `record` was asked to start and became it.
fn is_another(
    header: &Header,
    began: &Began,
    command: &[OsString],
    sums: &mut Sums,
) -> Option<String> {
    let Some((path, sum)) = header.hashes.first() else {
        return Some("the reel does not say which program it was".to_owned());
    };
    let (name, arguments) = command.split_first()?;
    let shown = name.to_string_lossy();
    let now = find_program(Path::new(name)).and_then(|program| sums.of(&program));
    let Some(now) = now else {
        return Some(format!("no program {shown} can be found and run"));
    };
    let is_program = format!("crc32 {now:08x}") == *sum;
    let given = arguments.iter().map(|word| word.to_string_lossy());
    let recorded = header.args.iter().skip(1).map(String::as_str);
    let are_the_same = given.eq(recorded);
    if is_program && are_the_same {
        return None;
    }
    if let Some(launched) = &began.launched {
        let words = launched.words.iter().skip(1).map(Vec::as_slice);
        let are_the_same = arguments
            .iter()
            .map(|word| word.as_encoded_bytes())
            .eq(words);
        if launched.sum == now && are_the_same {
            return None;
        }
        let is_called_so =
            launched.words.first().map(Vec::as_slice) == Some(name.as_encoded_bytes());
        if is_called_so && are_the_same {
            return Some(format!(
                "{shown}, which started {path}, is another file than when it was recorded"
            ));
        }
        if launched.sum == now {
            return Some("it was recorded with other arguments".to_owned());
        }
    }
    Some(if is_program {
        "it was recorded with other arguments".to_owned()
    } else {
        format!("{shown} is another program than the one that was recorded, {path}")
    })
}

/// The recorded command line.
pub fn recorded(header: &Header) -> String {
    text::joined(header.args.iter().map(|word| quoted(word)), " ")
}

/// The command that starts a node's program again as it was recorded, to be copied.
pub fn again(node: &str, paths: &[PathBuf]) -> String {
    let paths = text::joined(
        paths.iter().map(|path| quoted(&path.to_string_lossy())),
        " ",
    );
    format!("netreel replay {paths} --node {} --", quoted(node))
}

/// How it is started again, and what is doubtful of that, a sentence each.
pub fn rerun(reel: &Reel, began: &Began, tape: &Tape) -> Result<(Rerun, Vec<String>)> {
    let header = reel.header();
    let folder = PathBuf::from(os_text(&began.folder));
    let file = header
        .hashes
        .first()
        .map(|(path, _)| PathBuf::from(path))
        .unwrap_or_default();
    let started = folder.join(os_text(&began.program));
    let same = started.canonicalize().ok() == file.canonicalize().ok();
    let program = if same {
        began.program.clone()
    } else {
        file.as_os_str().as_encoded_bytes().to_vec()
    };
    let mut doubts = Vec::new();
    let variables: Vec<Vec<u8>> = began
        .variables
        .iter()
        .map(|variable| match variable {
            Variable::Plain(text) => text.clone(),
            Variable::Secret { name, sum, length } => {
                let now = std::env::var_os(os_text(name));
                let now = now
                    .filter(|now| netreel_capture::preload::sum_of(now.as_encoded_bytes()) == *sum);
                let value = now.map_or_else(
                    || {
                        doubts.push(format!(
                            "the environment's variable {} has another value than when it was \
                         recorded; reels do not hold it",
                            String::from_utf8_lossy(name)
                        ));
                        vec![b'x'; (*length).min(1 << 16) as usize]
                    },
                    |now| now.into_encoded_bytes(),
                );
                [name.as_slice(), b"=", &value].concat()
            }
        })
        .collect();
    let (standard, others) = standard(began);
    doubts.extend(others);
    let (descriptors, others) = held(began);
    doubts.extend(others);
    text::warn(&doubts);
    let rerun = Rerun {
        program,
        arguments: header
            .args
            .iter()
            .map(|word| word.clone().into_bytes())
            .collect(),
        variables,
        folder,
        standard,
        descriptors,
        random_addresses: began.random_addresses,
        one_thread: began.one_thread,
        signals: began.signals,
        kept: tape.kept.clone(),
        tape: tape.bytes.clone(),
        patience: None,
    };
    Ok((rerun, doubts))
}

/// Whether the program or a library lies elsewhere in memory than it lay.
pub fn moved(began: &Began, maps: &str) -> Option<String> {
    if began.random_addresses {
        return Some(
            "it was recorded with random addresses: whatever depends on where something lies in \
             memory is another"
                .to_owned(),
        );
    }
    let moved = began.files.iter().find(|(address, _, path)| {
        let path = String::from_utf8_lossy(path);
        let line = maps.lines().find(|line| line.ends_with(path.as_ref()));
        let start = line.and_then(|line| u64::from_str_radix(line.split('-').next()?, 16).ok());
        start.is_some_and(|start| start != *address)
    });
    moved.map(|(_, _, path)| {
        format!(
            "{} lies elsewhere in memory than in the recording",
            String::from_utf8_lossy(path)
        )
    })
}

/// The CRC-32 of files, by what their paths lead to.
pub struct Sums {
    known: BTreeMap<PathBuf, Option<u32>>,
    read: fn(&Path) -> Option<u32>,
}

impl Sums {
    /// Reads files as they are now.
    pub fn new() -> Sums {
        Sums::by(netreel_capture::preload::sum_of_file)
    }

    fn by(read: fn(&Path) -> Option<u32>) -> Sums {
        let known = BTreeMap::new();
        Sums { known, read }
    }

    /// That of the file at this path; `None` where it cannot be read.
    pub fn of(&mut self, path: &Path) -> Option<u32> {
        let file = path.canonicalize().ok()?;
        let read = self.read;
        *self.known.entry(file).or_insert_with_key(|file| read(file))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        static READ: Cell<u32> = const { Cell::new(0) };
    }

    #[test]
    fn a_file_is_read_once_whatever_path_leads_to_it() {
        let mut sums = Sums::by(|file| {
            READ.with(|read| read.set(read.get() + 1));
            netreel_capture::preload::sum_of_file(file)
        });
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("program"), folder.path().join("link"));
        std::fs::write(&file, "abc").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        for path in [&file, &link, &file] {
            assert_eq!(sums.of(path), Some(0x3524_41c2));
        }
        assert_eq!(READ.with(Cell::get), 1);
        assert_eq!(sums.of(&folder.path().join("none")), None);
    }
}
