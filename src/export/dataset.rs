//! `netreel export --format parquet`: sessions as parts of a dataset.

use std::collections::BTreeSet;
use std::fs;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use netreel_fleet::{FleetError, Name, Played, Recording, Table};
use netreel_protocol::session::Session;
use netreel_scenario::{Match, Outcome, match_in};

use crate::arguments::Export;
use crate::open::{self, Story};
use crate::outcome::{Answer, Failure, Result, fail};
use crate::{each, text};

/// What was written of one session.
struct Written {
    name: Name,
    packets: u64,
    findings: u64,
}

pub fn run(arguments: &Export, out: &mut dyn Write) -> Result<Answer> {
    let Some(folder) = &arguments.out else {
        return fail("a dataset is a folder: name it with --out DIR. Sessions that are in it stay");
    };
    if arguments.filter.is_some() {
        return fail("--filter: a dataset has whole sessions; choose in the query (docs/fleet.md)");
    }
    if arguments.each {
        return every(arguments, folder, out);
    }
    let story = open::story(&arguments.source)?;
    let played = match arguments.source.paths.as_slice() {
        [path] => match_in(path),
        _ => None,
    };
    let path = text::paths(&arguments.source.paths);
    let written = one((&story, &path), folder, (Rows::All, played.as_ref()))?;
    line(&path, &written, out)?;
    story.answered(out)
}

fn every(arguments: &Export, folder: &Path, out: &mut dyn Write) -> Result<Answer> {
    let source = &arguments.source;
    let folders = each::folders(&source.paths)?;
    let wire = open::wire_given(&source.wire)?;
    let (mut written, mut failed) = (0, 0);
    each::each(
        &folders,
        |session, processors| {
            let how = Session::builder().workers(processors);
            let story = open::in_silence(source, &[session], wire.clone(), how);
            let done = story.and_then(|story| {
                let path = session.display().to_string();
                let played = match_in(session);
                one((&story, &path), folder, (Rows::All, played.as_ref()))
            });
            match done {
                Ok(done) => Ok(Ok(done)),
                // One that cannot be read does not keep the others from the dataset.
                Err(Failure::Told(why)) => Ok(Err(why)),
                Err(other) => Err(other),
            }
        },
        |session, done| {
            match done {
                Ok(done) => {
                    written += 1;
                    line(&session.display().to_string(), &done, out)?;
                }
                Err(why) => {
                    failed += 1;
                    anstream::eprintln!("netreel: {}: {why}", session.display());
                }
            }
            Ok(out.flush()?)
        },
    )?;
    writeln!(
        out,
        "{} in {}{}",
        text::counted(written, "session"),
        folder.display(),
        match failed {
            0 => String::new(),
            failed => format!(", {failed} could not be read"),
        }
    )?;
    Ok(match failed {
        0 => Answer::Clean,
        _ => Answer::Unknown,
    })
}

fn line(path: &str, written: &Written, out: &mut dyn Write) -> Result {
    Ok(writeln!(
        out,
        "date={}/session={}  {}, {}  {path}",
        written.name.date,
        written.name.session,
        text::counted(written.packets, "packet"),
        text::counted(written.findings, "finding"),
    )?)
}

/// What of a session becomes rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// All of it.
    All,
    /// What it came to: of a session that is not kept.
    Sums,
}

/// Adds the session of a match that was read from a path to the dataset in a folder, in place of what was
/// there of it.
///
/// # Errors
/// It is still being recorded, or the folder cannot be written.
pub fn add((story, path): (&Story, &str), folder: &Path, (rows, played): (Rows, &Match)) -> Result {
    let written = one((story, path), folder, (rows, Some(played)));
    written.map(drop).map_err(of_a_run)
}

/// Adds all sessions of another dataset; how many these are.
///
/// # Errors
/// There is no dataset in the other folder, or one of both cannot be read or written.
pub fn add_all(other: &Path, folder: &Path) -> Result<u64> {
    let failed = |error: io::Error| {
        Failure::new(format!(
            "{}: there is no dataset: {error}; a job writes one there if `netreel run --emit` was given --dataset",
            other.display()
        ))
    };
    // Of what lies in a folder, that which is called so: the rest of its name, in the order of names.
    let called = |folder: &Path, begin: &str| {
        let names = fs::read_dir(folder)?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<io::Result<BTreeSet<String>>>()?;
        let names = names.iter().filter_map(|it| it.strip_prefix(begin));
        Ok(names.map(str::to_owned).collect::<Vec<_>>())
    };
    let sessions = other.join(Table::Sessions.name());
    let mut added = 0;
    for date in called(&sessions, "date=").map_err(failed)? {
        let day = sessions.join(format!("date={date}"));
        for session in called(&day, "session=").map_err(failed)? {
            let name = Name {
                date: date.clone(),
                session,
            };
            let mut files = Files::new(folder);
            for table in Table::ALL {
                let from = other.join(table.file(&name));
                let told = |error| Failure::at(&from, error);
                let mut from = File::open(&from).map_err(told)?;
                let copied = files.begin(table, &name).and_then(|mut to| {
                    io::copy(&mut from, &mut to)?;
                    to.flush()
                });
                copied.map_err(|error| of_a_run(files.failed(&error)))?;
            }
            files.finish().map_err(of_a_run)?;
            added += 1;
        }
    }
    Ok(added)
}

/// A run names its dataset by another option.
fn of_a_run(failure: Failure) -> Failure {
    match failure {
        Failure::Told(why) => Failure::new(why.replacen("--out ", "--dataset ", 1)),
        other => other,
    }
}

/// What a dataset says of a match: what became of it, where that is known, and why.
fn outcome(played: &Match) -> (Option<&'static str>, Option<String>) {
    match &played.outcome {
        Outcome::Failed(why) => (Some("failed"), Some(why.clone())),
        Outcome::Unexpected(what) => (Some("bad"), Some(what.join("\n"))),
        Outcome::Played => {
            let word = |is_bad| if is_bad { "bad" } else { "good" };
            (played.bad.map(word), None)
        }
    }
}

/// Writes one session: first files that no reader of the dataset looks at, which then take the places
/// of those that are there.
fn one(
    (story, path): (&Story, &str),
    folder: &Path,
    (rows, played): (Rows, Option<&Match>),
) -> Result<Written> {
    let mut files = story.files.iter();
    if let Some(file) = files.find(|file| netreel_capture::is_recorded(Path::new(file))) {
        return fail(format!(
            "{file}: this is still being recorded: export it when it has ended, or it would be in \
             the dataset half"
        ));
    }
    let outcome = played.map(|it| (it, outcome(it)));
    let recording = Recording {
        session: &story.session,
        history: story.history(),
        unread: &story.unread,
        path,
        played: outcome.as_ref().map(|(it, (outcome, why))| Played {
            number: it.number,
            seed: it.seed,
            outcome: *outcome,
            why: why.as_deref(),
        }),
    };
    let name = Name::of(&story.session);
    let mut files = Files::new(folder);
    let write = match rows {
        Rows::All => netreel_fleet::write,
        Rows::Sums => netreel_fleet::write_sums,
    };
    let written =
        write(&recording, &name, &mut |table| files.begin(table, &name)).map_err(|error| {
            match error {
                FleetError::Output(error) => files.failed(&error),
                other => files.failed(&other),
            }
        })?;
    files.finish()?;
    let rows = |table: Table| {
        let mut tables = written.iter();
        let found = tables.find(|(each, _)| *each == table);
        found.map_or(0, |&(_, rows)| rows)
    };
    Ok(Written {
        name,
        packets: rows(Table::Packets),
        findings: rows(Table::Findings),
    })
}

/// The files of a session under other names, until all are whole.
struct Files<'a> {
    folder: &'a Path,
    /// What is written, and where it belongs.
    begun: Vec<(Table, PathBuf, PathBuf)>,
}

impl<'a> Files<'a> {
    fn new(folder: &'a Path) -> Files<'a> {
        Files {
            folder,
            begun: Vec::new(),
        }
    }

    fn begin(&mut self, table: Table, name: &Name) -> io::Result<netreel_fleet::Output> {
        let place = self.folder.join(table.file(name));
        let inside = place.parent().unwrap_or(self.folder);
        fs::create_dir_all(inside)?;
        // DuckDB asks for names that end in .parquet; Spark leaves out those that begin with a dot.
        let new = inside.join(format!(".part-0.{}.new", std::process::id()));
        let file = File::create(&new)?;
        self.begun.push((table, new, place));
        Ok(Box::new(BufWriter::with_capacity(1 << 16, file)))
    }

    fn finish(&mut self) -> Result {
        self.begun.sort();
        for (_, new, place) in &self.begun {
            fs::rename(new, place).map_err(|error| self.failed(&error))?;
        }
        self.begun.clear();
        Ok(())
    }

    fn failed(&self, why: &dyn std::fmt::Display) -> Failure {
        let folder = self.folder.display();
        Failure::new(format!("--out {folder}: cannot write it: {why}"))
    }
}

impl Drop for Files<'_> {
    fn drop(&mut self) {
        for (_, new, _) in &self.begun {
            let _ = fs::remove_file(new);
        }
    }
}
