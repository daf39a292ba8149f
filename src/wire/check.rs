//! `netreel wire check`: what is wrong with wire files; with `--watch`, whenever one changes.

use std::io::Write;
use std::ops::Range;
use std::time::Duration;

use netreel_wire::{CompileError, Report, Wire};
use serde_json::{Value, json};

use super::source::Source;
use crate::arguments::WireCheck;
use crate::outcome::{Answer, Failure, Result};
use crate::packets::json as print_json;
use crate::text;

pub fn run(arguments: &WireCheck, out: &mut dyn Write) -> Result<Answer> {
    let sources = read(arguments);
    print(&sources, arguments.json, out)?;
    // What cannot be read is no answer.
    for source in &sources {
        if let Err(why) = &source.wire {
            return Err(Failure::at(&source.path, why));
        }
    }
    let is_clean = |source: &Source| matches!(source.wire, Ok(Ok(_)));
    Ok(Answer::clean_if(sources.iter().all(is_clean)))
}

fn read(arguments: &WireCheck) -> Vec<Source> {
    let files = arguments.files.iter();
    files.map(|path| Source::read(path)).collect()
}

/// Prints what is to be said of wires that could be read.
pub fn print(sources: &[Source], as_json: bool, out: &mut dyn Write) -> Result {
    let read = sources.iter().filter_map(|source| {
        let shown = source.path.display().to_string();
        Some((shown, source.wire.as_ref().ok()?))
    });
    if as_json {
        let files: Vec<Value> = read.map(|(file, wire)| file_json(&file, wire)).collect();
        return print_json(&json!({ "files": files }), out);
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
    let tests = text::counted(wire.tests(), "test");
    format!("ok, {protocols}, {tests}")
}

fn file_json(file: &str, wire: &Result<Wire, CompileError>) -> Value {
    let protocols = wire.iter().flat_map(Wire::protocols);
    let protocols = protocols.map(|(name, version)| json!({ "name": name, "version": version }));
    let reports = wire.as_ref().err().map_or(&[][..], CompileError::reports);
    json!({
        "file": file,
        "ok": wire.is_ok(),
        "protocols": protocols.collect::<Vec<_>>(),
        "tests": wire.as_ref().map_or(0, Wire::tests),
        "reports": reports.iter().map(report_json).collect::<Vec<_>>(),
    })
}

fn report_json(report: &Report) -> Value {
    let span = |span: &Range<usize>| [span.start, span.end];
    let related = report.related.as_ref().map(
        |related| json!({ "file": related.file, "span": span(&related.span), "why": related.why }),
    );
    json!({
        "file": report.file,
        "line": report.line,
        "column": report.column,
        "span": span(&report.span),
        "message": report.message,
        "label": report.label,
        "related": related,
        "help": report.help,
    })
}

/// How often files are looked at. Short enough to seem at once to somebody who saves a file.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// An editor empties a file before it fills it: what changed a moment ago may change again.
const SETTLES_AFTER: Duration = Duration::from_millis(50);

/// Goes on until somebody ends the process or nobody reads the output any more.
pub fn watch(arguments: &WireCheck, out: &mut dyn Write) -> Result<Answer> {
    let have_changed = |sources: &[Source]| sources.iter().any(Source::has_changed);
    let mut sources = read(arguments);
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
            sources = read(arguments);
            std::thread::sleep(SETTLES_AFTER);
        }
        if !arguments.json {
            writeln!(out, "\n--- changed ---\n")?;
        }
    }
}
