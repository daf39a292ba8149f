//! From paths on the command line to a story. The index of a session is kept beside its reels: who opens
//! them again need not read them again.

use std::fs;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::UNIX_EPOCH;

use netreel_capture::{IndexFile, OpenedSession, is_recorded, reel_files};
use netreel_protocol::history::History;
use netreel_protocol::history::bounds::Bounds;
use netreel_protocol::query::{Query, QueryError};
use netreel_protocol::session::{
    IndexKey, PacketId, ReelInput, Session, SessionBuilder, SessionError, SessionTime,
};
use netreel_reel::{CutWhy, Ending, Reel};
use netreel_system::Cancel;
use netreel_wire::{CompileError, Keys, Wire};

use crate::arguments::Source;
use crate::outcome::{Answer, Failure, Result, fail};
use crate::progress::Progress;
use crate::text;

/// A session and what followed from its packets.
pub struct Story {
    pub session: Arc<Session>,
    history: OnceLock<History>,
    index: Option<Index>,
    /// Nobody hears of it any more once the index that was taken is kept.
    #[cfg(feature = "gui")]
    kept: Option<std::sync::mpsc::Receiver<()>>,
    /// Whether somebody waits for this one alone, and is told what is being done.
    tells: bool,
    /// Reels that could not be opened, a sentence each: whatever is said of the session is said
    /// without them.
    pub unread: Vec<String>,
    /// The reels that were opened.
    #[cfg_attr(not(feature = "parquet"), allow(dead_code))]
    pub files: Vec<String>,
}

impl Story {
    /// What followed from the packets. It is worked out when it is first asked for: many questions
    /// need nothing of it.
    pub fn history(&self) -> &History {
        self.history.get_or_init(|| {
            let _progress = self
                .tells
                .then(|| Progress::new("working out what followed from the packets"));
            History::build(&self.session)
        })
    }

    /// Whether asking for the history takes no time worth speaking of.
    pub fn answers_at_once(&self) -> bool {
        let session = &self.session;
        self.history.get().is_some() || session.is_small() || session.has_history()
    }

    /// Says on the error output what is missing.
    fn warn(&self) {
        text::warn(self.session.warnings());
    }

    /// The session, and what followed from its packets. The index is kept.
    pub fn into_parts(mut self) -> (Arc<Session>, History) {
        self.history();
        self.keep_index();
        let history = self
            .history
            .into_inner()
            .unwrap_or_else(|| History::build(&self.session));
        (self.session, history)
    }

    /// Has the index kept by whoever works out the history of this session himself; it is called with
    /// that, and before it is there.
    #[cfg(feature = "gui")]
    pub fn take_index(&mut self) -> impl FnMut(Option<&History>) + Send + 'static {
        let (session, mut index) = (Arc::clone(&self.session), self.index.take());
        let (done, kept) = std::sync::mpsc::channel::<()>();
        self.kept = Some(kept);
        let mut done = Some(done);
        move |history| {
            if let Some(index) = &mut index {
                index.keep(&session, history);
            }
            done = done.take().filter(|_| history.is_none());
        }
    }

    /// Waits until whoever [took the index](Story::take_index), and has the history, has kept it.
    #[cfg(feature = "gui")]
    pub fn wait_for_index(&mut self) {
        if let Some(kept) = self.kept.take() {
            // Nothing is sent: the other side is dropped.
            let _ = kept.recv();
        }
    }

    /// The same session for whoever works on it beside this one; what followed from its packets is
    /// worked out again where it is asked for.
    #[cfg(feature = "gui")]
    pub fn beside(&self) -> Story {
        Story {
            session: Arc::clone(&self.session),
            history: OnceLock::new(),
            index: None,
            kept: None,
            tells: false,
            unread: self.unread.clone(),
            files: self.files.clone(),
        }
    }

    /// The packets that fit.
    pub fn packets(&self, query: &Query) -> Vec<PacketId> {
        let all = (0, self.session.packet_count());
        query.packets(&self.session, &|| self.history(), all)
    }

    /// The answer of a command that has printed what it had to say: the index is kept.
    pub fn answered(mut self, out: &mut dyn Write) -> Result<Answer> {
        out.flush()?;
        self.keep_index();
        Ok(answer(&self.unread))
    }

    /// Keeps what was found out about the reels for who opens them again.
    pub fn keep_index(&mut self) {
        if let Some(index) = &mut self.index {
            index.keep(&self.session, self.history.get());
        }
    }
}

/// The answer of a command that has said all that it was asked: unknown, where of what was named something
/// could not be read.
pub fn answer(unread: &[String]) -> Answer {
    if unread.is_empty() {
        Answer::Clean
    } else {
        Answer::Unknown
    }
}

/// The reels of a command line.
pub struct Reels {
    pub inputs: Vec<ReelInput>,
    /// See [`Story::unread`].
    pub unread: Vec<String>,
    /// What of packet captures could not be read, a sentence each.
    pub left_out: Vec<String>,
}

/// A wire that is longer is not read: the language takes no more than a mebibyte.
const WIRE_BYTES_MAX: u64 = 1 << 20;

/// Opens what `source` names. What is missing is said on the error output.
pub fn story(source: &Source) -> Result<Story> {
    story_read(source, Session::builder(), |_, _| {})
}

/// The same, for who asks about all packets.
pub fn story_with_facts(source: &Source) -> Result<Story> {
    story_read(source, Session::builder().with_facts(), |_, _| {})
}

/// The same as long as somebody wants it: that is asked all the while.
pub fn story_while(source: &Source, cancel: &Cancel) -> Result<Story> {
    story_read(source, Session::builder().cancel(cancel), |_, _| {})
}

/// The same, built so. `begun` gets the reels before they are read, or their index, and how they will be.
pub fn story_read(
    source: &Source,
    how: SessionBuilder,
    begun: impl FnOnce(&[ReelInput], &SessionBuilder),
) -> Result<Story> {
    let wire = wire_given(&source.wire)?;
    let progress = Progress::new(format!("reading {}", text::paths(&source.paths)));
    let mut story = opened(source, &source.paths, (wire, how), begun)?;
    drop(progress);
    story.tells = true;
    story.warn();
    Ok(story)
}

/// The same of these paths and this wire instead, read as `how` says, and nothing is said of what is
/// missing.
pub fn in_silence(
    source: &Source,
    paths: &[impl AsRef<Path>],
    wire: Option<Arc<Wire>>,
    how: SessionBuilder,
) -> Result<Story> {
    opened(source, paths, (wire, how), |_, _| {})
}

fn opened(
    source: &Source,
    paths: &[impl AsRef<Path>],
    (wire, how): (Option<Arc<Wire>>, SessionBuilder),
    begun: impl FnOnce(&[ReelInput], &SessionBuilder),
) -> Result<Story> {
    let keys = keys(source.keys.as_deref(), paths)?;
    let bounds = bounds(source.bounds.as_deref(), paths)?;
    let reels = reels_while(paths, how.cancelled_by())?;
    // What was read with keys is not for whoever finds the index.
    let mut index = if source.no_index || keys != Keys::default() {
        None
    } else {
        Index::new(&reels.inputs, wire.as_deref())
    };
    let how = how.wire(wire.clone()).keys(keys);
    begun(&reels.inputs, &how);
    let mut story = put_together(reels, |inputs| {
        let kept = index.as_mut().and_then(|index| index.open(&inputs, wire));
        kept.map_or_else(|| how.build(inputs), Ok)
    })?;
    story.index = index;
    if let Some(session) = Arc::get_mut(&mut story.session) {
        session.bounds = bounds;
    }
    Ok(story)
}

/// How what `source` names is read: with its wire, its keys and its bounds.
pub fn how(source: &Source) -> Result<SessionBuilder> {
    let keys = keys(source.keys.as_deref(), &source.paths)?;
    let wire = wire_given(&source.wire)?;
    let bounds = bounds(source.bounds.as_deref(), &source.paths)?;
    Ok(Session::builder().wire(wire).keys(keys).bounds(bounds))
}

/// The key log that is named, or the one that lies beside what is read: `keys.log`.
pub fn keys(named: Option<&Path>, beside: &[impl AsRef<Path>]) -> Result<Keys> {
    let mut keys = Keys::default();
    for path in named_or_beside(named, beside, "keys.log") {
        let text = text_at(&path)?;
        keys.extend(Keys::parse(&text).map_err(|error| Failure::at(&path, error))?);
    }
    Ok(keys)
}

/// The bounds of rules in the file that is named, or in the one that lies beside what is read:
/// `bounds.toml`.
pub fn bounds(named: Option<&Path>, beside: &[impl AsRef<Path>]) -> Result<Bounds> {
    let mut all: Vec<(PathBuf, Bounds)> = Vec::new();
    for path in named_or_beside(named, beside, "bounds.toml") {
        let bounds = Bounds::parse(&text_at(&path)?).map_err(|error| Failure::at(&path, error))?;
        if let Some((first, other)) = all.first()
            && *other != bounds
        {
            return fail(format!(
                "{} and {} say different bounds: name one with --bounds FILE",
                first.display(),
                path.display()
            ));
        }
        all.push((path, bounds));
    }
    Ok(all.pop().map(|(_, bounds)| bounds).unwrap_or_default())
}

/// The file that is named, or those of that name that lie beside what is read.
fn named_or_beside(named: Option<&Path>, beside: &[impl AsRef<Path>], name: &str) -> Vec<PathBuf> {
    let found = beside
        .iter()
        .map(|path| folder_of(path.as_ref()).join(name));
    match named {
        Some(named) => vec![named.to_owned()],
        None => found.filter(|path| path.is_file()).collect(),
    }
}

/// Makes a story of reels. What is missing is said on the error output.
pub fn build(reels: Reels, wire: Option<Arc<Wire>>) -> Result<Story> {
    build_by(reels, |inputs| Session::builder().wire(wire).build(inputs))
}

/// Makes a story of reels, whose session `build` makes. What is missing is said on the error output.
pub fn build_by(
    reels: Reels,
    build: impl FnOnce(Vec<ReelInput>) -> Result<Session, SessionError>,
) -> Result<Story> {
    let story = put_together(reels, build)?;
    story.warn();
    Ok(story)
}

fn put_together(
    reels: Reels,
    build: impl FnOnce(Vec<ReelInput>) -> Result<Session, SessionError>,
) -> Result<Story> {
    let Reels {
        inputs,
        unread,
        left_out,
    } = reels;
    let rings = inputs.iter().filter_map(|input| {
        let problem = input.reel.recovery().rings?;
        // A reel whose index alone is damaged was closed in order; its ring file was not needed.
        if let Ending::Cut {
            why: CutWhy::BrokenIndex,
            ..
        } = input.reel.ending()
        {
            return None;
        }
        Some(format!("{}.ring: {problem}", input.name))
    });
    let rings = rings.collect::<Vec<_>>();
    let files = inputs.iter().map(|input| input.name.clone()).collect();
    let mut session = build(inputs)?;
    session.warn(rings);
    session.warn(left_out);
    session.warn(unread.iter().cloned());
    Ok(Story {
        session: Arc::new(session),
        history: OnceLock::new(),
        index: None,
        #[cfg(feature = "gui")]
        kept: None,
        tells: false,
        unread,
        files,
    })
}

/// Opens the reels that `paths` name; fails where not one can be opened.
pub fn reels(paths: &[impl AsRef<Path>]) -> Result<Reels> {
    reels_while(paths, &Cancel::default())
}

fn reels_while(paths: &[impl AsRef<Path>], cancel: &Cancel) -> Result<Reels> {
    for path in paths {
        netreel_capture::tidy(folder_of(path.as_ref()));
    }
    let opened = netreel_capture::open_session_while(paths, cancel)?;
    Ok(opened.into())
}

impl Reels {
    pub fn reels(&self) -> Vec<Arc<Reel>> {
        let inputs = self.inputs.iter();
        inputs.map(|input| Arc::clone(&input.reel)).collect()
    }
}

impl From<OpenedSession> for Reels {
    fn from(opened: OpenedSession) -> Reels {
        let told = opened.reels.iter().flat_map(|opened| {
            let name = opened.path.display();
            let sentences = opened.left_out.iter();
            sentences.map(move |sentence| format!("{name}: {sentence}"))
        });
        let left_out = told.collect();
        let inputs = opened.reels.into_iter().map(|opened| ReelInput {
            name: opened.path.display().to_string(),
            reel: opened.reel,
        });
        Reels {
            inputs: inputs.collect(),
            unread: opened.failed.iter().map(ToString::to_string).collect(),
            left_out,
        }
    }
}

/// A path if it is a folder, else the folder that it is in.
pub fn folder_of(path: &Path) -> &Path {
    if path.is_dir() {
        return path;
    }
    path.parent().unwrap_or(path)
}

/// The wire of `--wire`, where that was given.
pub fn wire_given(path: &Option<PathBuf>) -> Result<Option<Arc<Wire>>> {
    path.as_deref().map(wire).transpose()
}

/// Compiles a wire file and what it imports.
pub fn wire(path: &Path) -> Result<Arc<Wire>> {
    let text = wire_text(path).map_err(|why| {
        format!(
            "--wire {}: {why}; name a file in the language of docs/wire-language.md",
            path.display()
        )
    })?;
    let wire = compile(path, &text)?;
    Ok(Arc::new(wire))
}

/// Compiles the text of a wire file; what it imports is read from the folder of `path`.
pub fn compile(path: &Path, text: &str) -> Result<Wire, CompileError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut load = |imported: &str| {
        // The language lets no path out of the folder.
        wire_text(&folder.join(imported)).map_err(std::io::Error::other)
    };
    Wire::compile_with(&path.display().to_string(), text, &mut load)
}

/// The text of a file that is no longer than a wire may be.
pub fn text_at(path: &Path) -> Result<String> {
    wire_text(path).map_err(|why| Failure::at(path, why))
}

/// The text of a wire file, or why there is none.
pub fn wire_text(path: &Path) -> Result<String, String> {
    let found = fs::metadata(path).map_err(|error| error.to_string())?;
    if !found.is_file() {
        return Err("it is not a file".to_owned());
    }
    if found.len() > WIRE_BYTES_MAX {
        let bytes = found.len();
        return Err(format!(
            "it has {bytes} bytes, a wire has at most {WIRE_BYTES_MAX}"
        ));
    }
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("byte {at} is not UTF-8 text")
    })
}

/// The filter that was given, or one that everything fits. A name that the session does not have
/// is a mistake: what it asks for would never be found.
pub fn query(filter: Option<&str>, session: &Session) -> Result<Query> {
    query_beside(filter, session, &[])
}

/// The same where these rules were asked beside those that are built in, by their ids.
pub fn query_beside(filter: Option<&str>, session: &Session, own_rules: &[&str]) -> Result<Query> {
    let query = read(filter.unwrap_or_default(), Query::parse, session, own_rules);
    query.map_err(|why| Failure::new(format!("--filter: {why}")))
}

/// The condition that was given, at a node: it may speak of what the node believes.
pub fn query_at_a_node(text: &str, session: &Session) -> Result<Query, String> {
    read(text, Query::parse_at_a_node, session, &[])
}

fn read(
    text: &str,
    parse: fn(&str) -> Result<Query, QueryError>,
    session: &Session,
    own_rules: &[&str],
) -> Result<Query, String> {
    if let Some(sentence) = Query::asked(text, session, own_rules) {
        return Err(sentence);
    }
    let query = parse(text).map_err(|error| error.to_string())?;
    match query
        .unknown_names_beside(session, own_rules)
        .into_iter()
        .next()
    {
        Some(sentence) => Err(sentence),
        None => Ok(query),
    }
}

/// What `--at` says: a time that the session has.
pub fn moment(session: &Session, at: Option<&str>) -> Result<Option<SessionTime>> {
    let Some(at) = at else {
        return Ok(None);
    };
    let at = time(at)?;
    let Range { start, end } = session.span;
    if (start..=end).contains(&at) {
        return Ok(Some(at));
    }
    fail(format!(
        "--at {} s: the session lasts from {} to {} s",
        text::seconds(at),
        text::seconds(start),
        text::seconds(end)
    ))
}

/// A time of the session: `1.25s`, `300ms`, or seconds without a unit.
pub fn time(text: &str) -> Result<SessionTime> {
    let units = [
        ("ns", 1.0),
        ("us", 1e3),
        ("µs", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
        ("", 1e9),
    ];
    let parsed = units.iter().find_map(|(unit, nanos)| {
        let number = text.trim().strip_suffix(unit)?.trim().parse::<f64>().ok()?;
        number
            .is_finite()
            .then_some(SessionTime((number * nanos) as i64))
    });
    parsed.ok_or_else(|| {
        Failure::new(format!(
            "`{text}` is not a time of the session; write `1.25s` or `300ms`"
        ))
    })
}

/// Sessions of fewer packets open faster than anybody notices, and have none.
const PACKETS_MIN: u64 = 100_000;

/// Where the index of a session is, and what is in it so far.
pub struct Index {
    file: IndexFile,
    key: IndexKey,
    reels: Vec<Arc<Reel>>,
    /// How much of what can be found out it has.
    kept: u8,
}

impl Index {
    /// The index of these reels; `None` where there is to be none: of few packets, or while they are
    /// recorded.
    pub fn new(inputs: &[ReelInput], wire: Option<&Wire>) -> Option<Index> {
        let packets = inputs.iter().map(|each| each.reel.totals().packets());
        if packets.sum::<u64>() < PACKETS_MIN {
            return None;
        }
        // Another build may read the same bytes otherwise.
        let mut files = vec![std::env::current_exe().ok()?];
        for each in inputs {
            files.extend(reel_files(&each.name).ok()?);
        }
        let mut stamps = Vec::new();
        for file in files {
            if is_recorded(&file) {
                return None;
            }
            let changed = fs::metadata(&file).and_then(|it| it.modified()).ok()?;
            let since = changed.duration_since(UNIX_EPOCH).unwrap_or_default();
            stamps.extend_from_slice(&since.as_nanos().to_le_bytes());
        }
        // However the paths were spelt.
        let named = inputs.iter().map(|each| ReelInput {
            name: whole(&each.name),
            reel: Arc::clone(&each.reel),
        });
        let key = IndexKey::new(&named.collect::<Vec<_>>(), wire, &stamps).ok()?;
        let first = inputs.first()?;
        Some(Index {
            file: IndexFile::new(Path::new(&first.name), &key.family(), &key.file_name()),
            key,
            reels: inputs.iter().map(|each| each.reel.clone()).collect(),
            kept: 0,
        })
    }

    /// The session as the index has it. `None` where there is no index, or one that is of something
    /// else or damaged: the reels are read, and it is written anew.
    pub fn open(&mut self, inputs: &[ReelInput], wire: Option<Arc<Wire>>) -> Option<Session> {
        let bytes = self.file.map()?;
        let session = Session::from_index(&bytes, self.key, inputs, wire).ok()?;
        self.kept = known(&session, session.has_history());
        Some(session)
    }

    /// Writes the index, if the session knows more by now than is in it. Where it cannot be
    /// written that is said, and nothing else changes.
    pub fn keep(&mut self, session: &Session, history: Option<&History>) {
        let known = known(session, session.has_history() || history.is_some());
        if known <= self.kept {
            return;
        }
        self.kept = known;
        let write =
            |out: &mut dyn std::io::Write| session.write_index(self.key, &self.reels, history, out);
        if let Err(error) = self.file.write(write) {
            anstream::eprintln!(
                "netreel: the index of these reels could not be kept ({error}): they will be read \
                 again; --no-index says nothing of it"
            );
        }
    }
}

/// A path from the root on, where there is such a file.
fn whole(name: &str) -> String {
    let path = fs::canonicalize(name);
    path.map_or_else(|_| name.to_owned(), |path| path.display().to_string())
}

/// How much of what can be found out was found out.
fn known(session: &Session, has_history: bool) -> u8 {
    let [traffic, facts] = [session.has_traffic(), session.has_facts()].map(u8::from);
    1 + traffic + 2 * facts + 4 * u8::from(has_history)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, nanos: i64) {
        assert_eq!(time(text).ok(), Some(SessionTime(nanos)));
    }

    #[test]
    fn a_time_without_a_unit_is_in_seconds() {
        check("1.5", 1_500_000_000);
    }

    #[test]
    fn a_time_may_have_a_unit() {
        check("300ms", 300_000_000);
        check("20 us", 20_000);
        check("2s", 2_000_000_000);
    }

    #[test]
    fn a_time_that_is_none_says_how_to_write_one() {
        assert!(
            time("soon")
                .err()
                .unwrap()
                .to_string()
                .contains("write `1.25s`")
        );
    }
}
