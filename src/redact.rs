//! `netreel redact`: a copy of a recording that may leave the house.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use netreel_capture::{FileAppend, OpenedReel, part_path};
use netreel_protocol::export::redact::{
    Broken, Bytes, Checker, Field, FileScan, Redaction, ReelReport, Survey, Texts, key_of,
};
use netreel_protocol::session::{ReelInput, Session};
use netreel_reel::{OpenedPart, Reel};
use serde_json::json;

use crate::arguments::{KeepBytes, KeepTexts, Redact};
use crate::open;
use crate::outcome::{Answer, Failure};
use crate::text;

/// So many bytes of a file are looked through at once.
const PIECE_BYTES: usize = 8 << 20;

/// More packets of a reel are counted, not listed.
const LISTED_MAX: usize = 10;

pub fn run(arguments: &Redact, out: &mut dyn Write) -> Result<Answer, Failure> {
    let opened = netreel_capture::open_session(&[&arguments.path]).map_err(Failure::new)?;
    if let Some(why) = opened.failed.first() {
        return Err(Failure::new(format!(
            "{why}; move it away to redact the others without it"
        )));
    }
    let rules = rules(arguments)?;
    let reels: Vec<Arc<Reel>> = opened.reels.iter().map(|each| each.reel.clone()).collect();
    let mut survey = Survey::new(rules, &reels).map_err(Failure::new)?;
    if !arguments.blank.is_empty() {
        blank(&mut survey, &opened.reels, &reels, arguments)?;
    }
    let survey = survey;
    let mut written = Written::default();
    let folder = new_folder(&arguments.out, &mut written)?;
    let copies = copies(&opened.reels, &survey, arguments.nodes, &folder);
    for (place, (each, copy)) in opened.reels.iter().zip(&copies).enumerate() {
        for (opened, path) in each.reel.parts().iter().zip(&copy.files) {
            let file = File::create_new(path).map_err(|error| told(path, error))?;
            written.files.push(path.clone());
            let out = FileAppend::new(file);
            let made = survey.copy(place, (&each.reel, &copy.report), opened, out);
            made.map_err(|error| told(path, error))?;
        }
    }
    check(&survey, &opened.reels, &copies)?;
    // What somebody asked to keep may hold anything.
    let mut held = copies.iter().flat_map(|copy| &copy.report.held_back);
    if !arguments.blank.is_empty() && !held.any(|held| held.kept) {
        check_joined(&survey, &copies, arguments)?;
    }
    written.stays();
    if arguments.json {
        crate::packets::json(&as_json(&survey, &copies), out)?;
    } else {
        print(arguments, &survey, &copies, out)?;
    }
    Ok(Answer::Clean)
}

/// Blanks fields, with the wire that is given or the one inside the reels.
fn blank(
    survey: &mut Survey,
    opened: &[OpenedReel],
    reels: &[Arc<Reel>],
    arguments: &Redact,
) -> Result<(), Failure> {
    let given = arguments.wire.as_deref().map(open::wire).transpose()?;
    let keys = open::keys(arguments.keys.as_deref(), &[&arguments.path])?;
    let inputs = opened.iter().map(|each| ReelInput {
        name: each.path.display().to_string(),
        reel: each.reel.clone(),
    });
    let session = Session::build_with_keys(inputs.collect(), given, keys).map_err(Failure::new)?;
    let Some(wire) = session.wire.clone() else {
        return Err(Failure::new(
            "--blank: the reels hold no wire that says what is in a packet; give one with --wire",
        ));
    };
    let fields = arguments.blank.iter();
    let fields = fields.map(|text| Field::parse(text, &wire));
    let fields: Result<Vec<Field>, _> = fields.collect();
    let fields = fields.map_err(|error| Failure::new(format!("--blank: {error}")))?;
    survey.blank((&session, &wire), reels, fields);
    Ok(())
}

/// The copies, which are taken away again where they are not what they have to be.
#[derive(Default)]
struct Written {
    files: Vec<PathBuf>,
    /// Their folder, where it was made for them.
    folder: Option<PathBuf>,
}

impl Written {
    fn stays(&mut self) {
        self.files.clear();
        self.folder = None;
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        // What cannot be removed is named by the error that is on its way.
        for path in &self.files {
            let _ = std::fs::remove_file(path);
        }
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

fn rules(arguments: &Redact) -> Result<Redaction, Failure> {
    let key = match &arguments.key {
        Some(key) => key_of(key),
        None => {
            let mut key = [0; 16];
            let source = Path::new("/dev/urandom");
            File::open(source)
                .and_then(|mut random| random.read_exact(&mut key))
                .map_err(|error| told(source, error))?;
            key
        }
    };
    if !arguments.blank.is_empty() && arguments.payloads != KeepBytes::Keep {
        return Err(Failure::new(
            "--blank keeps packets and empties fields of them: it does not go with --payloads",
        ));
    }
    let bytes = |keep: KeepBytes| match keep {
        KeepBytes::Keep => Bytes::Keep,
        KeepBytes::Lengths => Bytes::Lengths,
        KeepBytes::Drop => Bytes::Drop,
    };
    let texts = |keep: KeepTexts| match keep {
        KeepTexts::Keep => Texts::Keep,
        KeepTexts::Scrub => Texts::Scrub,
        KeepTexts::Drop => Texts::Drop,
    };
    Ok(Redaction {
        key,
        addresses: !arguments.keep_addresses,
        loopback: arguments.loopback,
        ports: arguments.ports,
        nodes: arguments.nodes,
        payloads: bytes(arguments.payloads),
        doubtful: bytes(arguments.doubtful),
        args: texts(arguments.args),
        notes: texts(arguments.notes),
        inputs: bytes(arguments.inputs),
        snapshots: bytes(arguments.snapshots),
        random: bytes(arguments.random),
        start: bytes(arguments.start),
        remove: arguments.remove.clone(),
    })
}

/// The copy of a reel.
struct Copy {
    /// What people call it: `NAME.reel`, also where the first file of the recording is not there.
    path: PathBuf,
    /// As many as the reel has.
    files: Vec<PathBuf>,
    report: ReelReport,
}

/// The copies: called as the reels were, or by their nodes where those have numbers.
fn copies(reels: &[OpenedReel], survey: &Survey, by_node: bool, folder: &Path) -> Vec<Copy> {
    let mut taken = BTreeSet::new();
    let mut copies = Vec::new();
    for (place, OpenedReel { path, reel, .. }) in reels.iter().enumerate() {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let stem = match by_node {
            true => survey.node(&reel.header().node).to_owned(),
            false => survey.text(&stem),
        };
        let mut path = folder.join(format!("{stem}.reel"));
        for more in 2.. {
            if taken.insert(path.clone()) {
                break;
            }
            path = folder.join(format!("{stem}-{more}.reel"));
        }
        let report = survey.report(place, reel);
        copies.push(Copy {
            files: vec![path.clone()],
            path,
            report,
        });
    }
    for (OpenedReel { reel, .. }, copy) in reels.iter().zip(&mut copies) {
        let parts = reel.parts();
        if parts.len() > 1 {
            let mut next = 0;
            let file = |opened: &OpenedPart| {
                let mut number = next.max(opened.part.number);
                let mut file = part_path(&copy.path, number);
                // A name that another reel has is passed over, as a recorder does.
                while number > 0 && !taken.insert(file.clone()) {
                    number += 1;
                    file = part_path(&copy.path, number);
                }
                next = number + 1;
                file
            };
            copy.files = parts.iter().map(file).collect();
        }
    }
    copies
}

/// A folder that is empty, so that nothing in it is older than the redaction.
fn new_folder(path: &Path, written: &mut Written) -> Result<PathBuf, Failure> {
    let is_there = path.exists();
    std::fs::create_dir_all(path).map_err(|error| told(path, error))?;
    if !is_there {
        written.folder = Some(path.to_owned());
    }
    let mut entries = std::fs::read_dir(path).map_err(|error| told(path, error))?;
    match entries.next() {
        None => Ok(path.to_owned()),
        Some(_) => Err(told(path, "it is not empty; name a new folder")),
    }
}

/// Reads all copies beside what they were made from, and every byte of them.
fn check(survey: &Survey, reels: &[OpenedReel], copies: &[Copy]) -> Result<(), Failure> {
    let mut checker = Checker::new(survey);
    for (place, (OpenedReel { reel, .. }, copy)) in reels.iter().zip(copies).enumerate() {
        let broken = checker.compare(place, (reel, &read(copy)?), &copy.report);
        if let Some(Broken { event, why }) = broken.first() {
            let event = event.map_or(String::new(), |event| format!("event {event}: "));
            let more = match broken.len() {
                1 => String::new(),
                more => format!(" (and {} more)", more - 1),
            };
            return Err(refused(&copy.path, format!("{event}{why}{more}")));
        }
        // What somebody asked to keep may hold anything.
        let kept = copy.report.held_back.iter().any(|held| held.kept);
        for path in &copy.files {
            if let Some((at, what)) = scan(survey, path)?.filter(|_| !kept) {
                return Err(refused(
                    path,
                    format!("one of the {what} still stands at byte {at}"),
                ));
            }
        }
    }
    Ok(())
}

/// Reads the copies as a session, where messages that came in fragments are put together.
fn check_joined(survey: &Survey, copies: &[Copy], arguments: &Redact) -> Result<(), Failure> {
    let given = arguments.wire.as_deref().map(open::wire).transpose()?;
    let keys = open::keys(arguments.keys.as_deref(), &[&arguments.path])?;
    let mut inputs = Vec::new();
    for copy in copies {
        inputs.push(ReelInput {
            name: copy.path.display().to_string(),
            reel: Arc::new(read(copy)?),
        });
    }
    let session = Session::build_with_keys(inputs, given, keys).map_err(Failure::new)?;
    match Checker::new(survey).joined(&session) {
        None => Ok(()),
        Some(Broken { why, .. }) => Err(refused(&arguments.out, why)),
    }
}

/// The copy as anybody reads it.
fn read(copy: &Copy) -> Result<Reel, Failure> {
    netreel_capture::open(&copy.path).map_err(Failure::new)
}

fn scan(survey: &Survey, path: &Path) -> Result<Option<(u64, &'static str)>, Failure> {
    let mut file = File::open(path).map_err(|error| told(path, error))?;
    let mut scan = FileScan::new(survey);
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let mut filled = 0;
        while let Some(rest) = piece.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match file.read(rest).map_err(|error| told(path, error))? {
                0 => break,
                read => filled += read,
            }
        }
        if filled == 0 {
            return Ok(scan.found());
        }
        scan.feed(piece.get(..filled).unwrap_or_default());
    }
}

fn refused(path: &Path, why: String) -> Failure {
    Failure::new(format!(
        "the copy {} is not what it has to be, and was removed again with the others: {why}",
        path.display()
    ))
}

fn told(path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::new(format!("{}: {why}", path.display()))
}

fn print(
    arguments: &Redact,
    survey: &Survey,
    copies: &[Copy],
    out: &mut dyn Write,
) -> Result<(), Failure> {
    for Copy {
        path,
        files,
        report,
    } in copies
    {
        let files = match files.len() {
            1 => String::new(),
            count => format!(" in {count} files"),
        };
        writeln!(out, "{}{files}", path.display())?;
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
    }
    for (field, count) in survey.fields() {
        let none = if count == 0 { ": no packet has it" } else { "" };
        writeln!(out, "blanked {count:>8}  {field}{none}")?;
    }
    let mut held = copies.iter().flat_map(|copy| &copy.report.held_back);
    let held_back = held.clone().filter(|held| !held.kept).count() as u64;
    let others = match held_back {
        0 => String::new(),
        count => format!(" but for {} held back", text::count(count, "packet")),
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
        text::count(copies.len() as u64, "reel"),
        addresses(survey.addresses()),
    )?;
    let folder = arguments.out.display();
    if held.any(|held| held.kept) {
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

fn addresses(count: usize) -> String {
    match count {
        1 => "1 address".to_owned(),
        count => format!("{count} addresses"),
    }
}

fn as_json(survey: &Survey, copies: &[Copy]) -> serde_json::Value {
    let name = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    };
    let reels = copies.iter().map(
        |Copy {
             path,
             files,
             report,
         }| {
            json!({
                "file": name(path),
                "files": files.iter().map(name).collect::<Vec<_>>(),
                "removed": report.removed,
                "held_back": report.held_back,
            })
        },
    );
    json!({
        "reels": reels.collect::<Vec<_>>(),
        "addresses": survey.addresses(),
        "blanked": survey.fields(),
        "checked": true,
    })
}
