//! `netreel wire check`: what is wrong with wire files; with `--watch`, whenever one changes.

use std::io::Write;
use std::time::Duration;

use netreel_wire::{CompileError, Report, Wire};
use serde::Serialize;

use super::source::Source;
use crate::arguments::WireCheck;
use crate::outcome::{Answer, Failure, Result};
use crate::packets::json;
use crate::text;

/// `netreel wire check --json`.
#[derive(Serialize)]
struct CheckJson {
    files: Vec<FileJson>,
}

#[derive(Serialize)]
struct FileJson {
    file: String,
    ok: bool,
    protocols: Vec<ProtocolJson>,
    tests: usize,
    reports: Vec<ReportJson>,
}

#[derive(Serialize)]
struct ProtocolJson {
    name: String,
    version: Option<u32>,
}

#[derive(Serialize)]
struct ReportJson {
    file: String,
    line: u32,
    column: u32,
    span: [usize; 2],
    message: String,
    label: String,
    related: Option<RelatedJson>,
    help: Option<String>,
}

#[derive(Serialize)]
struct RelatedJson {
    file: String,
    span: [usize; 2],
    why: String,
}

pub fn run(arguments: &WireCheck, out: &mut dyn Write) -> Result<Answer> {
    let sources: Vec<Source> = arguments
        .files
        .iter()
        .map(|path| Source::read(path))
        .collect();
    print(&sources, arguments.json, out)?;
    // What cannot be read is no answer.
    for source in sources.iter() {
        if let Err(why) = &source.wire {
            return Err(Failure::at(&source.path, why));
        }
    }
    let clean = sources
        .iter()
        .all(|source| matches!(source.wire, Ok(Ok(_))));
    Ok(Answer::clean_if(clean))
}

/// Prints what is to be said of wires that could be read.
pub fn print(sources: &[Source], as_json: bool, out: &mut dyn Write) -> Result {
    let read = sources.iter().filter_map(|source| {
        let shown = source.path.display().to_string();
        Some((shown, source.wire.as_ref().ok()?))
    });
    if as_json {
        let files = read.map(|(file, wire)| file_json(file, wire)).collect();
        return json(&CheckJson { files }, out);
    }
    for (file, wire) in read {
        match wire {
            Ok(wire) => writeln!(out, "{file}: {}", summary(wire))?,
            Err(error) => {
                writeln!(out, "{error}\n")?;
                let number = error.reports().len() as u64;
                writeln!(out, "{file}: {}", text::counted(number, "error"))?;
            }
        }
    }
    Ok(())
}

fn summary(wire: &Wire) -> String {
    let protocols = text::joined(
        wire.protocols().map(|(name, version)| match version {
            Some(version) => format!("{name} {version}"),
            None => name.to_owned(),
        }),
        ", ",
    );
    let tests = text::counted(wire.tests() as u64, "test");
    format!("ok, {protocols}, {tests}")
}

fn file_json(file: String, wire: &Result<Wire, CompileError>) -> FileJson {
    let protocols = wire.iter().flat_map(Wire::protocols);
    let protocols = protocols.map(|(name, version)| ProtocolJson {
        name: name.to_owned(),
        version,
    });
    let reports = wire.as_ref().err().map_or(&[][..], CompileError::reports);
    FileJson {
        file,
        ok: wire.is_ok(),
        protocols: protocols.collect(),
        tests: wire.as_ref().map_or(0, Wire::tests),
        reports: reports.iter().map(report_json).collect(),
    }
}

fn report_json(report: &Report) -> ReportJson {
    let related = report.related.as_ref().map(|related| RelatedJson {
        file: related.file.clone(),
        span: [related.span.start, related.span.end],
        why: related.why.clone(),
    });
    ReportJson {
        file: report.file.clone(),
        line: report.line,
        column: report.column,
        span: [report.span.start, report.span.end],
        message: report.message.clone(),
        label: report.label.clone(),
        related,
        help: report.help.clone(),
    }
}

/// How often files are looked at. Short enough to seem at once to somebody who saves a file.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// An editor empties a file before it fills it: what changed a moment ago may change again.
const SETTLES_AFTER: Duration = Duration::from_millis(50);

/// Goes on until somebody ends the process or nobody reads the output any more.
pub fn watch(arguments: &WireCheck, out: &mut dyn Write) -> Result<Answer> {
    let read = || -> Vec<Source> {
        let files = arguments.files.iter();
        files.map(|path| Source::read(path)).collect()
    };
    let have_changed = |sources: &[Source]| sources.iter().any(Source::has_changed);
    let mut sources = read();
    loop {
        print(&sources, arguments.json, out)?;
        out.flush()?;
        for source in &sources {
            if let Err(why) = &source.wire {
                anstream::eprintln!("netreel: {}: {why}", source.path.display());
            }
        }
        while !have_changed(&sources) {
            std::thread::sleep(LOOK_EVERY);
        }
        while have_changed(&sources) {
            sources = read();
            std::thread::sleep(SETTLES_AFTER);
        }
        if !arguments.json {
            writeln!(out, "\n--- changed ---\n")?;
        }
    }
}
