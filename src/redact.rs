//! `netreel redact`: a copy of a recording that may leave the house.

use std::fs;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use netreel_capture::{FileAppend, FileSource, part_path};
use netreel_redact::{
    Blank, Copies, Copy, CopyError, Folder, RedactError, Redaction, Source, key_of,
};
use netreel_reel::Reel;

use crate::arguments::{KeepBytes, Redact};
use crate::outcome::{Answer, Failure, Result, fail};
use crate::{open, text};

/// More packets of a reel are counted, not listed.
const LISTED_MAX: usize = 10;

pub fn run(arguments: &Redact, out: &mut dyn Write) -> Result<Answer> {
    let opened = netreel_capture::open_session(&[&arguments.path])?;
    if let Some(why) = opened.failed.first() {
        return fail(format!(
            "{why}; move it away to redact the others without it"
        ));
    }
    let rules = rules(arguments)?;
    let sources = opened.reels.into_iter().map(|opened| {
        let stem = opened.path.file_stem().unwrap_or_default();
        Source {
            name: opened.path.display().to_string(),
            stem: stem.to_string_lossy().into_owned(),
            reel: opened.reel,
        }
    });
    let blank = match arguments.blank.as_slice() {
        [] => None,
        fields => Some(Blank {
            fields: fields.to_vec(),
            wire: open::wire_given(&arguments.wire)?,
            keys: open::keys(arguments.keys.as_deref(), &[&arguments.path])?,
        }),
    };
    let mut folder = Out {
        path: &arguments.out,
        files: Vec::new(),
        is_new: false,
    };
    let copies = Copies::new(rules, sources.collect(), blank, &folder).map_err(refused)?;
    folder.make()?;
    let written = copies.write(&mut folder);
    written.map_err(|error| failure(&folder, error))?;
    folder.stays();
    if arguments.json {
        crate::packets::json(&copies.told(), out)?;
    } else {
        print(arguments, &copies, out)?;
    }
    Ok(Answer::Clean)
}

/// The folder of the copies, which are taken away again where they are not what they have to be.
struct Out<'p> {
    path: &'p Path,
    /// What was written.
    files: Vec<PathBuf>,
    /// It was made for them.
    is_new: bool,
}

impl Out<'_> {
    /// Makes a folder that is empty, so that nothing in it is older than the redaction.
    fn make(&mut self) -> Result {
        let failed = |error| Failure::at(self.path, error);
        let is_new = !self.path.exists();
        fs::create_dir_all(self.path).map_err(failed)?;
        self.is_new = is_new;
        match fs::read_dir(self.path).map_err(failed)?.next() {
            None => Ok(()),
            Some(_) => Err(Failure::at(self.path, "it is not empty; name a new folder")),
        }
    }

    fn stays(&mut self) {
        self.files.clear();
        self.is_new = false;
    }
}

impl Drop for Out<'_> {
    fn drop(&mut self) {
        // What cannot be removed is named by the error that is on its way.
        for path in &self.files {
            let _ = fs::remove_file(path);
        }
        if self.is_new {
            let _ = fs::remove_dir(self.path);
        }
    }
}

impl Folder for Out<'_> {
    type Error = Failure;
    type New = FileAppend;
    type File = FileSource;

    fn part(&self, name: &str, number: u32) -> String {
        part_path(Path::new(name), number).display().to_string()
    }

    fn create(&mut self, name: &str) -> Result<FileAppend> {
        let path = self.path.join(name);
        let file = File::create_new(&path).map_err(|error| Failure::at(&path, error))?;
        self.files.push(path);
        Ok(FileAppend::new(file))
    }

    fn open(&self, name: &str) -> Result<FileSource> {
        let path = self.path.join(name);
        let file = File::open(&path).map_err(|error| Failure::at(&path, error))?;
        Ok(FileSource::new(file))
    }

    fn reel(&self, name: &str) -> Result<Reel> {
        Ok(netreel_capture::open(self.path.join(name))?)
    }
}

fn refused(error: RedactError) -> Failure {
    match error {
        RedactError::NoSuchField(_) => Failure::new(format!("--blank: {error}")),
        RedactError::NoWire => Failure::new(format!("--blank: {error}; give one with --wire")),
        error => Failure::new(error),
    }
}

fn failure(folder: &Out<'_>, error: CopyError<Failure>) -> Failure {
    match error {
        CopyError::Folder(failure) => failure,
        CopyError::Redact(error) => refused(error),
        CopyError::File { file, why } => Failure::at(&folder.path.join(file), why),
        CopyError::Broken { file, why } => {
            let path = file.map_or(folder.path.to_owned(), |file| folder.path.join(file));
            Failure::new(format!(
                "the copy {} is not what it has to be, and was removed again with the others: {why}",
                path.display()
            ))
        }
    }
}

fn rules(arguments: &Redact) -> Result<Redaction> {
    let key = match &arguments.key {
        Some(key) => key_of(key),
        None => {
            let mut key = [0; 16];
            let failed = |error| Failure::new(format!("no random key: {error}; name one by --key"));
            netreel_system::random(&mut key).map_err(failed)?;
            key
        }
    };
    if !arguments.blank.is_empty() && arguments.payloads != KeepBytes::Keep {
        return fail(
            "--blank keeps packets and empties fields of them: it does not go with --payloads",
        );
    }
    Ok(Redaction {
        key,
        addresses: !arguments.keep_addresses,
        loopback: arguments.loopback,
        ports: arguments.ports,
        nodes: arguments.nodes,
        payloads: arguments.payloads.into(),
        doubtful: arguments.doubtful.into(),
        keep_names: arguments.keep_names,
        args: arguments.args.into(),
        files: arguments.files.into(),
        environment: arguments.environment.into(),
        typed: arguments.typed.into(),
        printed: arguments.printed.into(),
        lookups: arguments.lookups.into(),
        beliefs: arguments.beliefs.into(),
        notes: arguments.notes.into(),
        inputs: arguments.inputs.into(),
        snapshots: arguments.snapshots.into(),
        random: arguments.random.into(),
        start: arguments.start.into(),
        remove: arguments.remove.clone(),
    })
}

/// What was removed from one reel.
fn print_copy(copy: &Copy, folder: &Path, out: &mut dyn Write) -> Result {
    let Copy {
        name,
        files,
        report,
    } = copy;
    let files = match files.len() {
        1 => String::new(),
        count => format!(" in {count} files"),
    };
    writeln!(out, "{}{files}", folder.join(name).display())?;
    if report.removed.is_empty() {
        writeln!(out, "    nothing had to be removed")?;
    }
    for (what, count) in &report.removed {
        writeln!(out, "    {count:>8}  {}", what.words())?;
    }
    for held in report.held_back.iter().take(LISTED_MAX) {
        let left = if held.kept {
            "kept all the same"
        } else {
            "held back"
        };
        writeln!(out, "    event {} {left}: {}", held.event, held.why)?;
    }
    if let Some(more) = report.held_back.len().checked_sub(LISTED_MAX + 1) {
        writeln!(out, "    and {} more", more + 1)?;
    }
    Ok(())
}

fn print(arguments: &Redact, copies: &Copies, out: &mut dyn Write) -> Result {
    for copy in copies.copies() {
        print_copy(copy, &arguments.out, out)?;
    }
    for (field, count) in copies.survey().fields() {
        let none = match count {
            0 => ": no packet has it",
            _ => "",
        };
        writeln!(out, "blanked {count:>8}  {field}{none}")?;
    }
    let held = copies
        .copies()
        .iter()
        .flat_map(|copy| &copy.report.held_back);
    let held_back = held.filter(|held| !held.kept).count() as u64;
    let others = match held_back {
        0 => String::new(),
        count => format!(" but for {} held back", text::counted(count, "packet")),
    };
    let kept = match arguments.payloads {
        KeepBytes::Keep if !arguments.blank.is_empty() => {
            format!("of packets everything but these fields was kept{others}")
        }
        KeepBytes::Keep => format!("packets were kept with all that they say{others}"),
        KeepBytes::Lengths => "of packets the lengths were kept".to_owned(),
        KeepBytes::Drop => "packets were emptied".to_owned(),
    };
    writeln!(
        out,
        "{}, {} mapped; {kept}; times and sizes were kept",
        text::counted(copies.copies().len(), "reel"),
        match copies.survey().addresses() {
            1 => "1 address".to_owned(),
            count => format!("{count} addresses"),
        },
    )?;
    let folder = arguments.out.display();
    if copies.keeps_any() {
        writeln!(
            out,
            "checked: nothing else changed in {folder}; what was removed may still stand in the \
             packets that were kept all the same"
        )?;
    } else {
        writeln!(
            out,
            "checked: nothing else changed; in {folder} no address and no text that was removed \
             was found, searched for as text and in binary form"
        )?;
        if arguments.payloads == KeepBytes::Keep {
            writeln!(
                out,
                "bytes inside packets that nobody named were kept: name them with --blank or \
                 --remove, or use --payloads"
            )?;
        }
    }
    Ok(())
}
