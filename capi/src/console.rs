//! A console in an engine in C: what a `netreel_console` names.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::mem::ManuallyDrop;
use std::net::SocketAddr;

use netreel_console::{Asked, Commands, Console, Kind, ListenError, Request, Value};

use crate::error::{Failure, failure};
use crate::memory::{items, read_sized, text};
use crate::record::forked;
use crate::types::{
    ARGUMENT_INTEGER, ARGUMENT_NUMBER, ARGUMENT_ONE_OF, ARGUMENT_REST, ARGUMENT_TEXT, CCommand,
    CConsoleOptions, CParameter, CRequest, CValue, E_ARGUMENT, E_IO, E_LIMIT, OK, REQUEST_COMMAND,
    REQUEST_SCRIPT,
};

/// How many requests may have been taken and not answered.
const UNANSWERED_MAX: usize = 1024;

/// What a `netreel_console` names.
pub(crate) struct Answering {
    /// Not dropped in a forked child: its thread is not there to be waited for.
    console: ManuallyDrop<Console>,
    process: u32,
    /// The places of the commands in the caller's list.
    places: BTreeMap<String, u32>,
    taken: BTreeMap<u64, Taken>,
    next: u64,
}

/// A request that the engine has, and what it looks at.
struct Taken {
    request: Request,
    line: CString,
    values: Vec<CValue>,
    /// What the values point into.
    _texts: Vec<CString>,
}

// SAFETY: the values point into the texts beside them, which nobody changes.
unsafe impl Send for Taken {}

impl Drop for Answering {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            // Refused while the console's thread can still say so.
            self.taken.clear();
            // SAFETY: it is not used any more.
            unsafe { ManuallyDrop::drop(&mut self.console) };
        } else {
            // A refusal would be the parent's to send.
            std::mem::forget(std::mem::take(&mut self.taken));
        }
    }
}

impl Answering {
    /// # Safety
    /// `options` is null, or as `netreel.h` says.
    pub(crate) unsafe fn listen(options: *const CConsoleOptions) -> Result<Answering, Failure> {
        // SAFETY: promised by the caller, as for all reads below.
        let (address, token, (commands, places)) = unsafe {
            let given = read_sized(options)?;
            let token = Some(text(given.token)).filter(|it| !it.is_empty());
            (address(&text(given.address))?, token, commands(&given)?)
        };
        let console = Console::listen(address, token, commands).map_err(|error| {
            let code = match error {
                ListenError::Open(_) => E_ARGUMENT,
                ListenError::Address { .. } => E_IO,
            };
            failure(code, error.to_string())
        })?;
        Ok(Answering {
            console: ManuallyDrop::new(console),
            process: std::process::id(),
            places,
            taken: BTreeMap::new(),
            next: 1,
        })
    }

    /// The next request; one of kind 0 where there is none.
    pub(crate) fn take(&mut self) -> Result<CRequest, Failure> {
        if self.process != std::process::id() {
            return Err(forked());
        }
        if self.taken.len() >= UNANSWERED_MAX {
            let why = format!("{UNANSWERED_MAX} requests wait for console_answer: answer each");
            return Err(failure(E_LIMIT, why));
        }
        let Some(request) = self.console.take() else {
            return Ok(CRequest::default());
        };
        let id = self.next;
        self.next += 1;
        let taken = self.taken.entry(id).or_insert(Taken::of(request));
        Ok(taken.seen(id, &self.places))
    }

    /// Where it listens.
    pub(crate) fn local(&self) -> SocketAddr {
        self.console.local()
    }

    pub(crate) fn answer(&mut self, id: u64, is_done: bool, text: &[u8]) -> Result<i32, Failure> {
        if self.process != std::process::id() {
            return Err(forked());
        }
        let Some(taken) = self.taken.remove(&id) else {
            let why = format!("no request {id} waits for an answer: each is answered once");
            return Err(failure(E_ARGUMENT, why));
        };
        let text = String::from_utf8_lossy(text);
        if is_done {
            taken.request.done(text)
        } else {
            taken.request.refuse(text)
        }
        Ok(OK)
    }
}

impl Taken {
    fn of(request: Request) -> Taken {
        let (line, arguments) = match &request.asked {
            Asked::Command { call, line } => (line, call.arguments.as_slice()),
            Asked::Script(text) => (text, [].as_slice()),
        };
        let line = ended(line);
        let mut texts = Vec::new();
        let values = arguments
            .iter()
            .map(|value| seen(value, &mut texts))
            .collect();
        Taken {
            line,
            values,
            _texts: texts,
            request,
        }
    }

    fn seen(&self, id: u64, places: &BTreeMap<String, u32>) -> CRequest {
        let (kind, command) = match &self.request.asked {
            Asked::Command { call, .. } => {
                let place = places.get(&call.name).copied();
                (REQUEST_COMMAND, place.unwrap_or_default())
            }
            Asked::Script(_) => (REQUEST_SCRIPT, 0),
        };
        CRequest {
            size: 0,
            kind,
            id,
            command,
            arguments_count: self.values.len() as u32,
            arguments: or_null(&self.values),
            line: self.line.as_ptr(),
            line_length: self.line.as_bytes().len() as u64,
            binary: or_null(&self.request.binary).cast(),
            binary_length: self.request.binary.len() as u64,
        }
    }
}

/// Where the items are; null where there are none.
fn or_null<T>(items: &[T]) -> *const T {
    match items {
        [] => std::ptr::null(),
        items => items.as_ptr(),
    }
}

/// A text as C has it. Whoever says a zero byte says nothing that a name or a path could be.
fn ended(text: &str) -> CString {
    let mut bytes = text.as_bytes().to_owned();
    bytes.retain(|byte| *byte != 0);
    CString::new(bytes).unwrap_or_default()
}

fn seen(value: &Value, texts: &mut Vec<CString>) -> CValue {
    let mut seen = CValue {
        kind: ARGUMENT_TEXT,
        text: c"".as_ptr(),
        ..CValue::default()
    };
    match value {
        Value::Integer(integer) => {
            (seen.kind, seen.integer) = (ARGUMENT_INTEGER, *integer);
            seen.number = *integer as f64;
        }
        Value::Number(number) => (seen.kind, seen.number) = (ARGUMENT_NUMBER, *number),
        Value::Text(text) => {
            let text = ended(text);
            (seen.text, seen.text_length) = (text.as_ptr(), text.as_bytes().len() as u64);
            // Its bytes stay where they are.
            texts.push(text);
        }
    }
    seen
}

fn address(text: &str) -> Result<SocketAddr, Failure> {
    match text {
        "" => Ok(SocketAddr::from(([127, 0, 0, 1], 0))),
        text => text.parse().map_err(|_| {
            let why = format!(
                "netreel_console_options.address: {text:?} is no address and port: write \
                 127.0.0.1:7100, or 127.0.0.1:0 for a port that is free"
            );
            failure(E_ARGUMENT, why)
        }),
    }
}

/// The commands, and their places in the list.
///
/// # Safety
/// `given` is as `netreel.h` says.
unsafe fn commands(given: &CConsoleOptions) -> Result<(Commands, BTreeMap<String, u32>), Failure> {
    let (mut commands, mut places) = (Commands::new(), BTreeMap::new());
    // SAFETY: promised by the caller, as for all reads below.
    let given = unsafe { items(given.commands, given.commands_count, "commands")? };
    for (place, command) in given.iter().enumerate() {
        // SAFETY: as above.
        let (name, about) = unsafe { (text(command.name), text(command.about)) };
        let wrong = |why: &str| failure(E_ARGUMENT, format!("command {place} ({name:?}): {why}"));
        if name.is_empty() || name.split_whitespace().collect::<Vec<_>>().join(" ") != name {
            return Err(wrong(
                "a name is a word, or several with one blank between them",
            ));
        }
        if name == "help" {
            return Err(wrong("the console answers this one itself"));
        }
        if command.reserved != 0 {
            return Err(wrong("set reserved to 0"));
        }
        if places.insert(name.clone(), place as u32).is_some() {
            return Err(wrong("there are two of this name"));
        }
        // SAFETY: as above.
        let parameters = unsafe { parameters(command) }.map_err(|why| wrong(&why))?;
        let needed = parameters.iter().position(|(_, _, optional)| *optional);
        let (needed, optional) = parameters.split_at(needed.unwrap_or(parameters.len()));
        if optional.iter().any(|(_, _, optional)| !optional) {
            return Err(wrong("behind a parameter that may be left out, all may be"));
        }
        let [needed, optional] = [needed, optional].map(|all| {
            let all = all
                .iter()
                .map(|(name, kind, _)| (name.as_str(), kind.clone()));
            all.collect::<Vec<_>>()
        });
        commands = commands.with(&name, (&needed, &optional), &about);
    }
    Ok((commands, places))
}

/// Names, kinds, and whether they may be left out.
///
/// # Safety
/// As for [`commands`].
unsafe fn parameters(command: &CCommand) -> Result<Vec<(String, Kind, bool)>, String> {
    // SAFETY: promised by the caller, as for all reads below.
    let given = unsafe { items(command.parameters, command.parameters_count, "parameters") };
    let given: &[CParameter] = given.map_err(|failure| failure.text)?;
    let mut read = Vec::new();
    for (place, parameter) in given.iter().enumerate() {
        // SAFETY: as above.
        let (name, words) = unsafe { (text(parameter.name), text(parameter.words)) };
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err(format!(
                "parameter {place}: {name:?} is no name: one has no blanks"
            ));
        }
        let kind = match parameter.kind {
            ARGUMENT_INTEGER => Kind::Integer,
            ARGUMENT_NUMBER => Kind::Number,
            ARGUMENT_TEXT => Kind::Text,
            ARGUMENT_REST if place + 1 < given.len() => {
                return Err(format!(
                    "parameter {name}: behind NETREEL_ARGUMENT_REST comes none"
                ));
            }
            ARGUMENT_REST => Kind::Rest,
            ARGUMENT_ONE_OF if words.trim().is_empty() => {
                return Err(format!("parameter {name}: words is to say which it may be"));
            }
            ARGUMENT_ONE_OF => Kind::OneOf(words.split_whitespace().map(str::to_owned).collect()),
            other => return Err(format!("parameter {name}: there is no kind {other}")),
        };
        if parameter.optional > 1 {
            return Err(format!("parameter {name}: optional is 0 or 1"));
        }
        read.push((name, kind, parameter.optional == 1));
    }
    Ok(read)
}
