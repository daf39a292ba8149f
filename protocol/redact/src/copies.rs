//! The copies of a session: what they are called, how they are written, and that nobody gets one that
//! is not what it has to be.

use std::collections::BTreeSet;
use std::sync::Arc;

use netreel_protocol::session::ReelInput;
use netreel_reel::{Append, ReadAt, Reel};
use netreel_wire::{Keys, Wire};
use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::check::{Broken, Checker};
use crate::fields::Field;
use crate::report::ReelReport;
use crate::rules::{RedactError, Redaction};
use crate::scan::scan;
use crate::story::Story;
use crate::survey::Survey;

/// How many bytes of a file are looked through at once.
const PIECE_BYTES: usize = 8 << 20;

/// Where copies are written, and read as anybody reads them.
pub trait Folder {
    /// Why a file cannot be written or read.
    type Error;
    /// A file that is written.
    type New: Append;
    /// A file that is read.
    type File: ReadAt;

    /// What a later file of the recording `NAME.reel` is called.
    fn part(&self, name: &str, number: u32) -> String;

    /// Makes a file.
    fn create(&mut self, name: &str) -> Result<Self::New, Self::Error>;

    /// Opens a file for reading.
    fn open(&self, name: &str) -> Result<Self::File, Self::Error>;

    /// Reads a recording, with all its files.
    fn reel(&self, name: &str) -> Result<Reel, Self::Error>;
}

/// A reel that is copied.
pub struct Source {
    /// What people call it.
    pub name: String,
    /// What its file is called, without `.reel`.
    pub stem: String,
    /// The reel.
    pub reel: Arc<Reel>,
}

/// Which fields are blanked, and how packets are read.
pub struct Blank {
    /// As somebody wrote them.
    pub fields: Vec<String>,
    /// Instead of the wire inside the reels.
    pub wire: Option<Arc<Wire>>,
    /// Keys of encrypted layers.
    pub keys: Keys,
}

/// The copy of a reel.
#[derive(Serialize)]
pub struct Copy {
    /// What people call it: `NAME.reel`, also where the first file of the recording is not there.
    #[serde(rename = "file")]
    pub name: String,
    /// As many as the reel has.
    pub files: Vec<String>,
    /// What was removed.
    #[serde(flatten)]
    pub report: ReelReport,
}

/// Why there are no copies.
#[derive(Debug, thiserror::Error)]
pub enum CopyError<E> {
    /// The redaction cannot be done.
    #[error(transparent)]
    Redact(#[from] RedactError),
    /// A file cannot be written or read.
    #[error("{0}")]
    Folder(E),
    /// A file cannot be written, or not be looked through.
    #[error("{file}: {why}")]
    File {
        /// Which.
        file: String,
        /// Why.
        why: String,
    },
    /// A copy is not what it has to be, and must be removed with the others.
    #[error("{why}")]
    Broken {
        /// Which, or one of its files; `None`: all of them together.
        file: Option<String>,
        /// What is wrong.
        why: String,
    },
}

/// The copies of a session's reels. They may be passed on once [`Copies::write`] found them right.
pub struct Copies {
    survey: Survey,
    sources: Vec<Source>,
    blank: Option<Blank>,
    copies: Vec<Copy>,
}

impl Copies {
    /// Looks at all reels, and says what becomes of them. Nothing is written yet.
    ///
    /// # Errors
    /// The redaction cannot be done.
    pub fn new(
        rules: Redaction,
        sources: Vec<Source>,
        blank: Option<Blank>,
        folder: &impl Folder,
    ) -> Result<Copies, RedactError> {
        let reels: Vec<Arc<Reel>> = sources.iter().map(|each| each.reel.clone()).collect();
        let by_node = rules.nodes;
        let mut survey = Survey::new(rules, &reels)?;
        if let Some(blank) = &blank {
            let inputs = sources.iter().map(|source| ReelInput {
                name: source.name.clone(),
                reel: source.reel.clone(),
            });
            let story = story(inputs.collect(), blank)?;
            let fields = blank
                .fields
                .iter()
                .map(|text| Field::parse(text, story.wire()));
            survey.blank(&story, &reels, fields.collect::<Result<_, _>>()?);
        }
        let copies = named(&sources, &survey, by_node, folder);
        Ok(Copies {
            survey,
            sources,
            blank,
            copies,
        })
    }

    /// Writes all copies, then reads each beside what it was made from, and every byte of them.
    ///
    /// # Errors
    /// A file cannot be written or read, or a copy is not what it has to be. Whatever was written must
    /// then be removed.
    pub fn write<F: Folder>(&self, folder: &mut F) -> Result<(), CopyError<F::Error>> {
        for (place, (source, copy)) in self.sources.iter().zip(&self.copies).enumerate() {
            for (opened, file) in source.reel.parts().iter().zip(&copy.files) {
                let out = folder.create(file).map_err(CopyError::Folder)?;
                let reel = (&*source.reel, &copy.report);
                let written = self.survey.copy(place, reel, opened, out);
                written.map_err(|why| in_file(file, why))?;
            }
        }
        self.check(folder)
    }

    fn check<F: Folder>(&self, folder: &F) -> Result<(), CopyError<F::Error>> {
        let broken = |file: Option<&String>, why: String| CopyError::Broken {
            file: file.cloned(),
            why,
        };
        let mut checker = Checker::new(&self.survey);
        let mut inputs = Vec::new();
        for (place, (source, copy)) in self.sources.iter().zip(&self.copies).enumerate() {
            let reel = Arc::new(folder.reel(&copy.name).map_err(CopyError::Folder)?);
            let found = checker.compare(place, (&source.reel, &reel), &copy.report);
            if let Some(Broken { event, why }) = found.first() {
                let event = event.map_or(String::new(), |event| format!("event {event}: "));
                let more = match found.len() {
                    1 => String::new(),
                    more => format!(" (and {} more)", more - 1),
                };
                return Err(broken(Some(&copy.name), format!("{event}{why}{more}")));
            }
            for file in &copy.files {
                let bytes = folder.open(file).map_err(CopyError::Folder)?;
                let found =
                    scan(&self.survey, &bytes, PIECE_BYTES).map_err(|why| in_file(file, why))?;
                // What somebody asked to keep may hold anything.
                if let Some((at, what)) = found.filter(|_| !copy.report.keeps_any()) {
                    let why = format!("one of the {what} still stands at byte {at}");
                    return Err(broken(Some(file), why));
                }
            }
            let name = copy.name.clone();
            inputs.push(ReelInput { name, reel });
        }
        if let Some(blank) = self.blank.as_ref().filter(|_| !self.keeps_any()) {
            // As a session, where messages that came in fragments are put together.
            let story = story(inputs, blank)?;
            if let Some(Broken { why, .. }) = checker.joined(&story) {
                return Err(broken(None, why));
            }
        }
        Ok(())
    }

    /// The copies, in the order of the reels.
    pub fn copies(&self) -> &[Copy] {
        &self.copies
    }

    /// What all reels name, and which fields were blanked.
    pub fn survey(&self) -> &Survey {
        &self.survey
    }

    /// Whether a packet was kept though something that was removed may stand in it.
    pub fn keeps_any(&self) -> bool {
        self.copies.iter().any(|copy| copy.report.keeps_any())
    }

    /// What was removed, as `docs/json.md` has it. Of copies that were written.
    pub fn told(&self) -> Json {
        json!({
            "reels": self.copies,
            "addresses": self.survey.addresses(),
            "blanked": self.survey.fields(),
            "checked": true,
        })
    }
}

fn in_file<E>(file: &str, why: impl ToString) -> CopyError<E> {
    CopyError::File {
        file: file.to_owned(),
        why: why.to_string(),
    }
}

fn story(inputs: Vec<ReelInput>, blank: &Blank) -> Result<Story, RedactError> {
    Story::read(inputs, blank.wire.clone(), blank.keys.clone())
}

/// The copies: called as the reels were, or by their nodes where those have numbers.
fn named(sources: &[Source], survey: &Survey, by_node: bool, folder: &impl Folder) -> Vec<Copy> {
    let mut taken = BTreeSet::new();
    let mut copies = Vec::new();
    for (place, Source { stem, reel, .. }) in sources.iter().enumerate() {
        let stem = if by_node {
            survey.node(&reel.header().node).to_owned()
        } else {
            survey.text(stem)
        };
        let names = (2..).map(|more| format!("{stem}-{more}.reel"));
        let mut names = std::iter::once(format!("{stem}.reel")).chain(names);
        let name = names
            .find(|name| taken.insert(name.clone()))
            .unwrap_or_default();
        copies.push(Copy {
            files: vec![name.clone()],
            name,
            report: survey.report(place, reel),
        });
    }
    for (Source { reel, .. }, copy) in sources.iter().zip(&mut copies) {
        let parts = reel.parts();
        if parts.len() > 1 {
            let mut next = 0;
            let file = |number: u32| {
                // A name that another reel has is passed over, as a recorder does.
                let names =
                    (next.max(number)..).map(|number| (number, folder.part(&copy.name, number)));
                let mut free =
                    names.filter(|(number, name)| *number == 0 || taken.insert(name.clone()));
                let (number, name) = free.next().unwrap_or_default();
                next = number + 1;
                name
            };
            copy.files = parts
                .iter()
                .map(|opened| opened.part.number)
                .map(file)
                .collect();
        }
    }
    copies
}
