//! Programs to record, and what came of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use netreel_reel::{Event, EventKind, EventNumber, OwnedRecord, Record, Reel, ReelWriter};

use super::{Ran, netreel};

/// A folder for one test, with its programs.
pub struct Bench(tempfile::TempDir);

impl Bench {
    pub fn new() -> Bench {
        Bench(tempfile::tempdir().unwrap())
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn out(&self) -> PathBuf {
        self.at("out")
    }

    /// Compiles one of `tests/programs`; `None`, with a word, where this machine cannot.
    pub fn compile_with(&self, name: &str, compiler: &str, flags: &[&str]) -> Option<PathBuf> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
        let program = self.at(name);
        let compiled = Command::new(compiler)
            .args(["-O2", "-w", "-D_FORTIFY_SOURCE=2"])
            .arg("-o")
            .arg(&program)
            .arg(source.join(format!("{name}.c")))
            .args(flags)
            .output();
        match compiled {
            Ok(output) if output.status.success() => Some(program),
            Ok(output) => {
                let why = String::from_utf8_lossy(&output.stderr).into_owned();
                super::skipped(format_args!(
                    "{compiler} {flags:?} cannot compile {name}.c: {why}"
                ));
                None
            }
            Err(error) => {
                super::skipped(format_args!("{compiler}: {error}"));
                None
            }
        }
    }

    pub fn compile(&self, name: &str) -> PathBuf {
        self.compile_with(name, "cc", &["-lpthread"])
            .expect("the C compiler that Rust links with compiles this")
    }

    /// A program that was compiled, under another name.
    pub fn moved(&self, program: &Path, name: &str) -> PathBuf {
        let to = self.at(name);
        std::fs::rename(program, &to).unwrap();
        to
    }

    /// Runs `netreel record` with `flags` on `command`, so that it fails where something is
    /// missing.
    pub fn record(&self, flags: &[&str], command: &[&str]) -> Ran {
        let mut all = vec!["--fail-on-missing"];
        all.extend(flags);
        self.record_plainly(&all, command)
    }

    /// Runs `netreel record` with `flags` on `command`.
    pub fn record_plainly(&self, flags: &[&str], command: &[&str]) -> Ran {
        let out = self.out();
        let mut arguments = vec!["record", "--out", out.to_str().unwrap()];
        arguments.extend(flags);
        arguments.push("--");
        arguments.extend(command);
        netreel(&arguments)
    }

    /// Starts the program again that was recorded.
    pub fn again(&self, flags: &[&str], command: &[&str]) -> Ran {
        replay(&self.out(), flags, command)
    }

    /// The same, and all that it sends is as it was.
    #[track_caller]
    pub fn expect_exact(&self, command: &[&str]) {
        let sends = count(&self.reel(), EventKind::Sent);
        let ran = self.again(&[], command).expect(0);
        let told = format!("exact, {sends} of {sends} send");
        assert!(ran.out.contains(&told), "{}\n{}", ran.out, ran.err);
    }

    /// The reels, by name without the process id, in the order of their names.
    pub fn reels(&self) -> Vec<(String, Arc<Reel>)> {
        let session = netreel_capture::open_session(&[self.out()]).unwrap();
        let named = session.reels.into_iter().map(|opened| {
            let name = opened.reel.header().node.clone();
            let name = name.split('.').next().unwrap_or_default().to_owned();
            (name, opened.reel)
        });
        named.collect()
    }

    /// The file of the only reel.
    pub fn reel_file(&self) -> PathBuf {
        let mut files = std::fs::read_dir(self.out()).unwrap().flatten();
        let is_reel = |path: &PathBuf| path.extension() == Some("reel".as_ref());
        let found = files.find_map(|it| Some(it.path()).filter(is_reel));
        found.expect("a reel")
    }

    pub fn reel(&self) -> Arc<Reel> {
        let mut reels = self.reels();
        assert_eq!(reels.len(), 1, "one process, one reel");
        reels.remove(0).1
    }
}

/// Starts a program again that was recorded into these reels.
pub fn replay(reels: &Path, flags: &[&str], command: &[&str]) -> Ran {
    let mut arguments = vec!["replay", text(reels)];
    arguments.extend(flags);
    arguments.push("--");
    arguments.extend(command);
    netreel(&arguments)
}

/// Writes a reel of these records, with another one's header.
pub fn write(path: &Path, like: &Reel, records: &[OwnedRecord]) {
    let mut writer = ReelWriter::create(Vec::new(), like.header()).unwrap();
    for record in records {
        writer.push(&record.as_record()).unwrap();
    }
    std::fs::write(path, writer.finish().unwrap()).unwrap();
}

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

pub fn records(reel: &Reel) -> Vec<OwnedRecord> {
    let mut records = Vec::new();
    let walk = reel.for_each(|record| records.push(OwnedRecord::copy_of(record)));
    assert!(walk.damaged.is_empty());
    records
}

pub fn count(reel: &Reel, kind: EventKind) -> u64 {
    reel.counts().get(&kind).copied().unwrap_or(0)
}

pub fn calls(reel: &Reel) -> BTreeMap<&'static str, u64> {
    let mut calls = BTreeMap::new();
    reel.for_each(|record| {
        if let Event::Called { call, .. } = record.event {
            *calls.entry(call.name()).or_default() += 1;
        }
    });
    calls
}

pub fn sent(reel: &Reel) -> Vec<Vec<u8>> {
    let mut payloads = Vec::new();
    reel.for_each(|record| {
        if let Event::Sent { payload, .. } = record.event {
            payloads.push(payload.to_vec());
        }
    });
    payloads
}

pub fn received(reel: &Reel) -> Vec<Vec<u8>> {
    let mut payloads = Vec::new();
    reel.for_each(|record| {
        if let Event::Received { payload, .. } = record.event {
            payloads.push(payload.to_vec());
        }
    });
    payloads
}

/// The record with another event.
pub fn with_event(record: &Record<'_>, event: Event<'_>) -> OwnedRecord {
    OwnedRecord::copy_of(&Record { event, ..*record })
}

/// The record with another number.
pub fn renumbered(record: &Record<'_>, number: EventNumber) -> OwnedRecord {
    OwnedRecord::copy_of(&Record { number, ..*record })
}

/// A number that follows from another one.
pub fn drawn(seed: u64) -> u64 {
    let mut value = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

pub fn notes(reel: &Reel) -> String {
    let mut notes = String::new();
    reel.for_each(|record| {
        if let Event::Note { text } = record.event {
            notes.push_str(&String::from_utf8_lossy(text));
            notes.push('\n');
        }
    });
    notes
}
