//! The server without its pipes: messages in, messages out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use lsp_server::{ErrorCode, Message, Notification, Request, Response};
use lsp_types::{
    Diagnostic, DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    TextDocumentPositionParams,
};
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use crate::answers;
use crate::capture::{Capture, OpenCapture};
use crate::positions::{Lines, path_of};
use crate::project::{Document, Documents, Grade, Project, Remark};
use crate::rename;

/// Opens a capture; its argument is a path.
pub const OPEN_CAPTURE: &str = "netreel.openCapture";

/// Closes it.
pub const CLOSE_CAPTURE: &str = "netreel.closeCapture";

/// How the conversation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Before,
    Running,
    ShutDown,
    /// Whether the client shut the server down first.
    Ended(bool),
}

/// A language server for `.wire` files.
///
/// Messages of the client go to [`Server::take`]; when no more wait, [`Server::settle`] says what is
/// wrong with the documents now. Both give the messages for the client.
pub struct Server<'o> {
    documents: Documents,
    projects: BTreeMap<String, Project>,
    opener: &'o mut dyn OpenCapture,
    capture: Option<Capture>,
    /// What relative paths start from.
    root: Option<PathBuf>,
    published: BTreeMap<String, Vec<Diagnostic>>,
    stage: Stage,
    has_changed: bool,
}

/// Why a request has no answer.
type Refused = (ErrorCode, String);

impl<'o> Server<'o> {
    /// A server that nobody has spoken to.
    pub fn new(opener: &'o mut dyn OpenCapture) -> Server<'o> {
        Server {
            documents: Documents::new(),
            projects: BTreeMap::new(),
            opener,
            capture: None,
            root: None,
            published: BTreeMap::new(),
            stage: Stage::Before,
            has_changed: false,
        }
    }

    /// Opens a capture: hovers tell its values, diagnostics which packets fit.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn open_capture(&mut self, path: &Path) -> Result<&Capture, String> {
        let path = match &self.root {
            Some(root) if path.is_relative() => root.join(path),
            _ => path.to_owned(),
        };
        let capture = self.opener.open(&path)?;
        self.forget_all();
        Ok(self.capture.insert(capture))
    }

    /// `Some` once the client has ended the conversation: whether it shut the server down before.
    pub fn ended(&self) -> Option<bool> {
        match self.stage {
            Stage::Ended(in_order) => Some(in_order),
            _ => None,
        }
    }

    /// Takes a message.
    pub fn take(&mut self, message: Message) -> Vec<Message> {
        match message {
            Message::Request(request) => {
                let Request { id, method, params } = request;
                let mut more = Vec::new();
                let answer = match self.answer(&method, params, &mut more) {
                    Ok(result) => Response::new_ok(id, result),
                    Err((code, why)) => Response::new_err(id, code as i32, why),
                };
                let mut messages = vec![answer.into()];
                messages.append(&mut more);
                messages
            }
            Message::Notification(Notification { method, params }) => {
                self.note(&method, params);
                Vec::new()
            }
            // The server asks the client nothing.
            Message::Response(_) => Vec::new(),
        }
    }

    /// Says what is wrong with the documents, where that has changed.
    pub fn settle(&mut self) -> Vec<Message> {
        if !std::mem::take(&mut self.has_changed) || self.stage != Stage::Running {
            return Vec::new();
        }
        let open: Vec<String> = self.documents.keys().cloned().collect();
        for uri in &open {
            self.prepare(uri);
        }
        let mut found: BTreeMap<String, Vec<Diagnostic>> = BTreeMap::new();
        for uri in self.published.keys().chain(&open) {
            found.insert(uri.clone(), Vec::new());
        }
        for (uri, project) in &self.projects {
            let is_imported = self.is_imported(uri);
            for remark in &project.remarks {
                let Some(name) = project.uris.get(remark.file) else {
                    continue;
                };
                if is_imported && is_of_part(project, remark) {
                    continue;
                }
                let diagnostic = diagnostic(project, remark);
                let of_file = found.entry(name.clone()).or_default();
                if !of_file.contains(&diagnostic) {
                    of_file.push(diagnostic);
                }
            }
        }
        let mut messages = Vec::new();
        for (uri, mut diagnostics) in found {
            diagnostics.sort_by_key(|it| (it.range.start, it.range.end, it.message.clone()));
            let known = self.published.get(&uri);
            let is_new = known.is_none() && (!diagnostics.is_empty() || open.contains(&uri));
            if is_new || known.is_some_and(|known| *known != diagnostics) {
                let params = json!({ "uri": uri, "diagnostics": diagnostics });
                let method = "textDocument/publishDiagnostics".to_owned();
                messages.push(Notification::new(method, params).into());
            }
            if diagnostics.is_empty() && !open.contains(&uri) {
                self.published.remove(&uri)
            } else {
                self.published.insert(uri, diagnostics)
            };
        }
        messages
    }

    /// Whether another open document imports this one.
    fn is_imported(&self, uri: &str) -> bool {
        let mut projects = self.projects.iter();
        projects.any(|(other, project)| other != uri && project.file(uri).is_some())
    }

    fn note(&mut self, method: &str, params: Json) {
        match method {
            "exit" => self.stage = Stage::Ended(self.stage == Stage::ShutDown),
            _ if self.stage != Stage::Running => {}
            "textDocument/didOpen" => {
                if let Some(params) = read::<DidOpenTextDocumentParams>(params) {
                    let uri = params.text_document.uri.as_str().to_owned();
                    let path = path_of(&uri);
                    let text = params.text_document.text;
                    self.forget(&uri);
                    self.documents.insert(uri, Document { path, text });
                }
            }
            "textDocument/didChange" => {
                if let Some(params) = read::<DidChangeTextDocumentParams>(params) {
                    self.change(params);
                }
            }
            "textDocument/didClose" => {
                if let Some(params) = read::<DidCloseTextDocumentParams>(params) {
                    let uri = params.text_document.uri.as_str();
                    self.forget(uri);
                    self.documents.remove(uri);
                    self.projects.remove(uri);
                }
            }
            // Files that are not open may be others now.
            "textDocument/didSave" | "workspace/didChangeWatchedFiles" => self.forget_all(),
            _ => {}
        }
    }

    fn change(&mut self, params: DidChangeTextDocumentParams) {
        let uri = params.text_document.uri.as_str().to_owned();
        let Some(document) = self.documents.get_mut(&uri) else {
            return;
        };
        for change in params.content_changes {
            let Some(range) = change.range else {
                document.text = change.text;
                continue;
            };
            let lines = Lines::new(&document.text);
            let (start, end) = (lines.offset(range.start), lines.offset(range.end));
            let (start, end) = (start.min(end), start.max(end));
            document.text.replace_range(start..end, &change.text);
        }
        self.forget(&uri);
    }

    /// Forgets what was worked out with this document.
    fn forget(&mut self, uri: &str) {
        self.projects
            .retain(|known, project| known != uri && !project.depends_on(uri));
        self.has_changed = true;
    }

    fn forget_all(&mut self) {
        self.projects.clear();
        self.has_changed = true;
    }

    fn prepare(&mut self, uri: &str) {
        if !self.projects.contains_key(uri)
            && let Some(project) = Project::new(uri, &self.documents, self.capture.as_ref())
        {
            self.projects.insert(uri.to_owned(), project);
        }
    }

    fn answer(
        &mut self,
        method: &str,
        params: Json,
        more: &mut Vec<Message>,
    ) -> Result<Json, Refused> {
        match (self.stage, method) {
            (Stage::Before, "initialize") => Ok(self.initialize(&params, more)),
            (Stage::Before, _) => refused(
                ErrorCode::ServerNotInitialized,
                "the first request is `initialize`",
            ),
            (Stage::Running, "initialize") => {
                refused(ErrorCode::InvalidRequest, "the server runs already")
            }
            (Stage::Running, "shutdown") => {
                self.stage = Stage::ShutDown;
                Ok(Json::Null)
            }
            (Stage::Running, "workspace/executeCommand") => self.execute(&params),
            (Stage::Running, _) => self.of_document(method, params),
            (Stage::ShutDown | Stage::Ended(_), _) => {
                refused(ErrorCode::InvalidRequest, "the server was shut down")
            }
        }
    }

    fn initialize(&mut self, params: &Json, more: &mut Vec<Message>) -> Json {
        self.stage = Stage::Running;
        let root = params.get("rootUri").and_then(Json::as_str);
        self.root = root.and_then(path_of);
        let capture = params
            .pointer("/initializationOptions/capture")
            .and_then(Json::as_str)
            .filter(|path| !path.is_empty());
        if let Some(path) = capture
            && let Err(why) = self.open_capture(Path::new(path))
        {
            let message = format!("netreel: {path}: {why}");
            let params = json!({ "type": 1, "message": message });
            more.push(Notification::new("window/showMessage".to_owned(), params).into());
        }
        json!({
            "capabilities": {
                "positionEncoding": "utf-16",
                "textDocumentSync": { "openClose": true, "change": 2, "save": {} },
                "hoverProvider": true,
                "completionProvider": { "triggerCharacters": ["@", ".", "\"", "/"] },
                "definitionProvider": true,
                "referencesProvider": true,
                "documentSymbolProvider": true,
                "documentFormattingProvider": true,
                "renameProvider": { "prepareProvider": true },
                "executeCommandProvider": { "commands": [OPEN_CAPTURE, CLOSE_CAPTURE] },
            },
            "serverInfo": { "name": "netreel", "version": env!("CARGO_PKG_VERSION") },
        })
    }

    fn execute(&mut self, params: &Json) -> Result<Json, Refused> {
        let command = params.get("command").and_then(Json::as_str);
        match command {
            Some(OPEN_CAPTURE) => {
                let path = params
                    .get("arguments")
                    .and_then(|arguments| arguments.get(0));
                let Some(path) = path.and_then(Json::as_str) else {
                    let why = format!("`{OPEN_CAPTURE}` takes one argument: the path of a capture");
                    return refused(ErrorCode::InvalidParams, &why);
                };
                let path = path_of(path).unwrap_or_else(|| PathBuf::from(path));
                let failed = |why: String| {
                    let why = format!("{}: {why}", path.display());
                    (ErrorCode::RequestFailed, why)
                };
                let capture = self.open_capture(&path).map_err(failed)?;
                Ok(json!({
                    "name": capture.name,
                    "packets": capture.packets.len(),
                    "has_more": capture.has_more,
                }))
            }
            Some(CLOSE_CAPTURE) => {
                self.capture = None;
                self.forget_all();
                Ok(Json::Null)
            }
            _ => refused(ErrorCode::InvalidParams, "there is no such command"),
        }
    }

    fn of_document(&mut self, method: &str, params: Json) -> Result<Json, Refused> {
        let known = [
            "textDocument/hover",
            "textDocument/completion",
            "textDocument/definition",
            "textDocument/references",
            "textDocument/documentSymbol",
            "textDocument/formatting",
            "textDocument/prepareRename",
            "textDocument/rename",
        ];
        if !known.contains(&method) {
            let why = format!("the server does not know `{method}`");
            return refused(ErrorCode::MethodNotFound, &why);
        }
        let uri = params.pointer("/textDocument/uri").and_then(Json::as_str);
        let Some(uri) = uri.map(str::to_owned) else {
            return refused(ErrorCode::InvalidParams, "the request names no document");
        };
        let open: Vec<String> = self.documents.keys().cloned().collect();
        match method {
            // These ask all documents that may use a name.
            "textDocument/references" | "textDocument/rename" => {
                open.iter().for_each(|uri| self.prepare(uri));
            }
            _ => self.prepare(&uri),
        }
        let Some(project) = self.projects.get(&uri) else {
            return Ok(Json::Null);
        };
        match method {
            "textDocument/documentSymbol" => return Ok(answers::symbols(project)),
            "textDocument/formatting" => return answers::formatting(project).map_err(failed),
            _ => {}
        }
        let Some(at) = read::<TextDocumentPositionParams>(params.clone()) else {
            return refused(ErrorCode::InvalidParams, "the request names no position");
        };
        let offset = Lines::new(project.text(0)).offset(at.position);
        match method {
            "textDocument/hover" => Ok(answers::hover(project, self.capture.as_ref(), offset)),
            "textDocument/completion" => {
                let document = self.documents.get(&uri);
                let path = document.and_then(|document| document.path.as_deref());
                let folder = path.and_then(Path::parent);
                Ok(answers::completion(project, offset, folder))
            }
            "textDocument/definition" => Ok(answers::definition(project, offset)),
            "textDocument/references" => {
                let declared = params
                    .pointer("/context/includeDeclaration")
                    .and_then(Json::as_bool)
                    .unwrap_or(true);
                Ok(self.references(project, offset, declared))
            }
            "textDocument/prepareRename" => {
                answers::prepare_rename(project, offset).map_err(failed)
            }
            _ => {
                let name = params.get("newName").and_then(Json::as_str);
                self.rename(&uri, project, offset, name.unwrap_or_default())
                    .map_err(failed)
            }
        }
    }

    fn references(&self, project: &Project, offset: usize, declared: bool) -> Json {
        let Some((id, _)) = project.outline.at(0, offset) else {
            return Json::Null;
        };
        let mut found: BTreeSet<(String, usize, usize)> = BTreeSet::new();
        let mut locations = Vec::new();
        for other in self.projects.values() {
            let Some(id) = rename::same(project, id, other) else {
                continue;
            };
            for place in rename::places(other, id, declared) {
                let Some(uri) = other.uris.get(place.file) else {
                    continue;
                };
                if found.insert((uri.clone(), place.range.start, place.range.end)) {
                    locations.extend(answers::location(other, &place));
                }
            }
        }
        Json::Array(locations)
    }

    fn rename(
        &self,
        uri: &str,
        project: &Project,
        offset: usize,
        name: &str,
    ) -> Result<Json, String> {
        let Some((id, _)) = project.outline.at(0, offset) else {
            return Err("there is no name here that can be changed".to_owned());
        };
        rename::check_name(project, id, name)?;
        let mut edits = rename::Edits::new();
        let mut texts: BTreeMap<&str, &str> = BTreeMap::new();
        let mut users = Vec::new();
        for (uri, other) in &self.projects {
            let Some(id) = rename::same(project, id, other) else {
                continue;
            };
            rename::check_name(other, id, name)?;
            users.push((uri, other));
            for place in rename::places(other, id, true) {
                let Some(of) = other.uris.get(place.file) else {
                    continue;
                };
                texts.insert(of, other.text(place.file));
                let of_file = edits.entry(of.clone()).or_default();
                let edit = (place.range, name.to_owned());
                if !of_file.contains(&edit) {
                    of_file.push(edit);
                }
            }
        }
        if users.is_empty() {
            users.push((
                self.documents
                    .get_key_value(uri)
                    .map_or(&project.uris[0], |it| it.0),
                project,
            ));
        }
        for (uri, other) in users {
            rename::still_means_the_same(uri, other, &edits, &self.documents)?;
        }
        let changes = edits.into_iter().map(|(uri, edits)| {
            let lines = Lines::new(texts.get(uri.as_str()).copied().unwrap_or_default());
            let edits: Vec<Json> = edits
                .into_iter()
                .map(|(range, new)| json!({ "range": lines.range(range), "newText": new }))
                .collect();
            (uri.clone(), Json::Array(edits))
        });
        Ok(json!({ "changes": Json::Object(changes.collect()) }))
    }
}

fn refused(code: ErrorCode, why: &str) -> Result<Json, Refused> {
    Err((code, why.to_owned()))
}

fn failed(why: String) -> Refused {
    (ErrorCode::RequestFailed, why)
}

fn read<T: DeserializeOwned>(params: Json) -> Option<T> {
    serde_json::from_value(params).ok()
}

/// Whether a remark is about a file as a wire of its own, and not about what it says.
fn is_of_part(project: &Project, remark: &Remark) -> bool {
    let mut symbols = project.outline.symbols();
    let has_protocol = symbols.any(|(_, symbol)| {
        let mut places = symbol.places.iter();
        let is_protocol = symbol.kind == netreel_wire::SymbolKind::Protocol;
        is_protocol && places.any(|place| place.file == 0)
    });
    remark.grade == Grade::Unused || !has_protocol
}

fn diagnostic(project: &Project, remark: &Remark) -> Diagnostic {
    let severity = match remark.grade {
        Grade::Mistake => 1,
        Grade::Warning => 2,
        Grade::Information => 3,
        Grade::Unused => 4,
    };
    let range = project.range(remark.file, remark.range.clone());
    let mut whole = json!({
        "range": range,
        "severity": severity,
        "source": "netreel",
        "message": remark.message,
    });
    if remark.grade == Grade::Unused {
        whole["tags"] = json!([1]);
    }
    if let Some((file, range, why)) = &remark.related
        && let Some(uri) = project.uris.get(*file)
    {
        let range = project.range(*file, range.clone());
        let location = json!({ "uri": uri, "range": range });
        whole["relatedInformation"] = json!([{ "location": location, "message": why }]);
    }
    read(whole).unwrap_or_else(|| Diagnostic {
        range,
        message: remark.message.clone(),
        ..Diagnostic::default()
    })
}
