//! `netreel export`: a session for Wireshark, as rows, or as a part of a dataset.

#[cfg(feature = "parquet")]
mod dataset;
#[cfg(feature = "parquet")]
pub use dataset::{Rows, add, add_all};

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use netreel_protocol::export::{self, Naming, PcapngOptions};
use netreel_protocol::session::PacketId;

use crate::arguments::{Addresses, Export, ExportFormat};
use crate::open::{self, Story};
use crate::outcome::{Answer, Failure, Result, fail};
use crate::packets::json;
use crate::text;

pub fn run(arguments: &Export, out: &mut dyn Write) -> Result<Answer> {
    if arguments.format == ExportFormat::Parquet {
        can_write_datasets()?;
        #[cfg(feature = "parquet")]
        return dataset::run(arguments, out);
    }
    if arguments.each {
        return fail("--each is for --format parquet alone: the other formats hold one session");
    }
    let binary = arguments.format == ExportFormat::Pcapng;
    if binary && arguments.out.is_none() && std::io::stdout().is_terminal() {
        return fail(
            "a pcapng file is not for the terminal: name a file with --out FILE, or pipe it on, for \
             example into `wireshark -k -i -`",
        );
    }
    let story = open::story(&arguments.source)?;
    let Some(path) = arguments.out.as_deref() else {
        // The command's own output takes out what a terminal would obey; a capture is full of it.
        let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
        write(arguments, &story, &mut out)?;
        out.flush()?;
        return Ok(Answer::Clean);
    };
    spare(path, &arguments.source.paths)?;
    let failed = |error: std::io::Error| {
        Failure::new(format!(
            "--out {}: cannot write it: {error}",
            path.display()
        ))
    };
    let mut file = BufWriter::with_capacity(1 << 16, File::create(path).map_err(failed)?);
    let written = write(arguments, &story, &mut file).and_then(|frames| {
        file.flush()?;
        Ok(frames)
    });
    let what = match written {
        Ok(what) => what,
        Err(Failure::Output(error)) => {
            // Half a file would be taken for a whole one.
            if path.is_file() {
                let _ = std::fs::remove_file(path);
            }
            return Err(failed(error));
        }
        Err(other) => return Err(other),
    };
    writeln!(out, "{what} in {}", path.display())?;
    story.answered(out)
}

/// Whether this program can write a dataset.
///
/// # Errors
/// It cannot, and why.
pub fn can_write_datasets() -> Result {
    if cfg!(feature = "parquet") {
        return Ok(());
    }
    fail(
        "this netreel was built without Parquet: build it with `--features parquet`, or install it \
         as README.md says",
    )
}

/// What of a session becomes rows.
#[cfg(not(feature = "parquet"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// All of it.
    All,
    /// What it came to.
    Sums,
}

/// Adds the session of a match to a dataset: a program that cannot says so.
#[cfg(not(feature = "parquet"))]
pub fn add(_: (&Story, &str), _: &Path, _: (Rows, &netreel_scenario::Match)) -> Result {
    can_write_datasets()
}

/// Adds a dataset to another one: a program that cannot says so.
#[cfg(not(feature = "parquet"))]
pub fn add_all(_: &Path, _: &Path) -> Result<u64> {
    can_write_datasets().map(|()| 0)
}

/// Refuses to write over what is read.
fn spare(path: &Path, read: &[PathBuf]) -> Result {
    let Ok(target) = path.canonicalize() else {
        return Ok(());
    };
    let reel = path.extension().is_some_and(|it| it == "reel");
    let same = |read: &PathBuf| read.canonicalize().is_ok_and(|read| read == target);
    if reel || read.iter().any(same) {
        return fail(format!(
            "--out {}: this is a recording; name another file",
            path.display()
        ));
    }
    Ok(())
}

/// Writes the story, and says what it wrote.
fn write(arguments: &Export, story: &Story, out: &mut dyn Write) -> Result<String> {
    let query = open::query(arguments.filter.as_deref(), &story.session)?;
    let chosen = story.packets(&query);
    if arguments.format == ExportFormat::Pcapng {
        let options = options(arguments)?;
        let (session, history) = (&story.session, story.history());
        let mut keep = |id: PacketId| chosen.binary_search(&id).is_ok();
        let summary = export::pcapng(session, history, options, &mut keep, out)?;
        text::warn(&summary.warnings);
        return Ok(format!(
            "{}, {} with comments,",
            text::counted(summary.frames, "frame"),
            summary.commented
        ));
    }
    let csv = arguments.format == ExportFormat::Csv;
    if csv {
        write!(out, "{}\r\n", export::csv_columns())?;
    }
    let mut count = 0;
    for id in chosen {
        let (session, history) = (&story.session, story.history());
        if csv && let Some(row) = export::csv_row(session, history, id) {
            write!(out, "{row}\r\n")?;
        } else if !csv && let Some(row) = export::packet(session, history, id) {
            json(&row, out)?;
        } else {
            continue;
        }
        count += 1;
    }
    Ok(text::counted(count, "packet"))
}

fn options(arguments: &Export) -> Result<PcapngOptions> {
    Ok(PcapngOptions {
        frames: arguments.frames.into(),
        comments: arguments.comments.into(),
        naming: match arguments.addresses {
            Addresses::Recorded => Naming::Recorded,
            Addresses::Node => Naming::ByNode,
        },
        late_ns: open::time(&arguments.late)?.0,
        extra: arguments.extra,
    })
}
