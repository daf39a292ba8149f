//! What can be written at a place.

use std::path::Path;

use lsp_types::{CompletionItem, CompletionItemKind as Kind, Documentation};
use netreel_wire::{
    CreateRule, HelpKind, Lexeme, LexemeKind, OlderUpdate, StaleRule, SymbolId, SymbolKind,
    UnknownDestroy, UnknownMigrate, UnknownUpdate, UpdateFrom, help, help_of, lexemes,
};

use crate::hover::shown;
use crate::project::Project;

/// How many files of a folder are proposed, and how deep they may lie.
const FILES_MAX: usize = 200;
const FOLDERS_DEEP: usize = 4;

/// Where the place is: in which item, how deep in its brackets, behind what.
struct Context<'t> {
    text: &'t str,
    /// The pieces before the word that is being written.
    before: Vec<Lexeme>,
    /// The word that begins the item, and the item's name.
    item: Option<&'t str>,
    /// Open brackets, of the item on.
    depth: usize,
    /// The word that began the statement.
    statement: Option<&'t str>,
    /// Where it begins.
    start: usize,
    file: usize,
    offset: usize,
}

pub fn complete(
    project: &Project,
    file: usize,
    offset: usize,
    folder: Option<&Path>,
) -> Vec<CompletionItem> {
    let text = project.text(file);
    let pieces = lexemes(text);
    let inside = pieces
        .iter()
        .find(|piece| piece.range.start < offset && offset <= piece.range.end);
    if let Some(inside) = inside {
        let is_open = offset < inside.range.end || inside.kind == LexemeKind::LineComment;
        if inside.is_comment() && is_open {
            return Vec::new();
        }
        if matches!(inside.kind, LexemeKind::Text | LexemeKind::Bytes) {
            let at = pieces.partition_point(|piece| piece.range.start < inside.range.start);
            let before = at.checked_sub(1).and_then(|at| pieces.get(at));
            let is_import = before.is_some_and(|before| before.text(text) == "import");
            return if is_import { files(folder) } else { Vec::new() };
        }
    }
    let is_written = |piece: &Lexeme| {
        let is_word = matches!(piece.kind, LexemeKind::Word | LexemeKind::Number);
        piece.range.start >= offset || (is_word && piece.range.end >= offset)
    };
    let mut before: Vec<Lexeme> = pieces.into_iter().filter(|it| !it.is_comment()).collect();
    let count = before.iter().position(is_written).unwrap_or(before.len());
    before.truncate(count);
    Context::new(text, before, file, offset).proposals(project)
}

impl<'t> Context<'t> {
    fn new(text: &'t str, before: Vec<Lexeme>, file: usize, offset: usize) -> Context<'t> {
        let items: Vec<&str> = help()
            .filter(|help| help.kind == HelpKind::Item)
            .map(|help| help.word)
            .collect();
        let (mut item, mut depth, mut statement) = (None, 0usize, None);
        let (mut begins, mut start) = (true, offset);
        for piece in &before {
            let spelled = text.get(piece.range.clone()).unwrap_or_default();
            let line = text.get(..piece.range.start).unwrap_or_default();
            let starts_line = line.is_empty() || line.ends_with('\n');
            let is_item = piece.kind == LexemeKind::Word && items.contains(&spelled);
            if is_item && (starts_line || (depth == 0 && begins)) {
                (item, depth) = (Some(spelled), 0);
            }
            if begins {
                statement = Some(spelled);
                start = piece.range.start;
            }
            begins = false;
            if piece.kind != LexemeKind::Mark {
                continue;
            }
            match spelled {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth = depth.saturating_sub(1),
                _ => {}
            }
            begins = matches!(spelled, "{" | "}" | ";" | "=>");
            if depth == 0 && matches!(spelled, "}" | ";") {
                item = None;
            }
        }
        Context {
            text,
            before,
            item,
            depth,
            statement: statement.filter(|_| !begins),
            start,
            file,
            offset,
        }
    }

    /// A piece before the place, counted backwards from 0.
    fn back(&self, steps: usize) -> &'t str {
        let at = self.before.len().checked_sub(steps + 1);
        let piece = at.and_then(|at| self.before.get(at));
        let range = piece.map(|piece| piece.range.clone());
        range
            .and_then(|range| self.text.get(range))
            .unwrap_or_default()
    }

    fn proposals(&self, project: &Project) -> Vec<CompletionItem> {
        let last = self.back(0);
        match last {
            "@" => return self.annotations(),
            "." => return self.parts(project),
            "..=" | ".." => return self.values(project),
            _ => {}
        }
        let Some(item) = self.item.filter(|item| !matches!(*item, "import" | "lua")) else {
            return match self.item {
                Some(_) => Vec::new(),
                None => words(HelpKind::Item, Kind::KEYWORD).collect(),
            };
        };
        let begins = self.statement.is_none();
        match (item, self.depth) {
            ("struct" | "layer", _) if last == ":" && self.is_parameter() => self.parameter_types(),
            ("enum" | "flags", 0) if last == ":" => self.types(project, false),
            ("struct" | "enum" | "flags", 0) => Vec::new(),
            ("struct", _) if last == ":" => self.types(project, true),
            ("struct", _) if begins => words(HelpKind::Statement, Kind::KEYWORD)
                .filter(|word| STATEMENTS.contains(&word.label.as_str()))
                .collect(),
            ("struct", _) => match last {
                "through" => named(project, self.file, &[SymbolKind::Layer]),
                "(" | "," if self.is_type_argument() => {
                    [self.types(project, false), self.values(project)].concat()
                }
                "derived" => words(HelpKind::Derived, Kind::FUNCTION)
                    .chain(self.values(project))
                    .collect(),
                ";" | "}" => Vec::new(),
                _ => {
                    let goes_on = ["size", "through", "derived", "until", "end", "from", "else"];
                    let more = words(HelpKind::Statement, Kind::KEYWORD);
                    let more = more.filter(|word| goes_on.contains(&word.label.as_str()));
                    self.values(project).into_iter().chain(more).collect()
                }
            },
            ("state", 1) if last == ":" => {
                let kept = ["parts", "stream"].map(|word| plain(word, Kind::CLASS));
                self.types(project, false).into_iter().chain(kept).collect()
            }
            ("state", _) if begins => words(HelpKind::Statement, Kind::KEYWORD)
                .filter(|word| word.label == "each")
                .collect(),
            ("wire" | "rules" | "layer" | "test", 1) if begins => {
                words(settings_of(item), Kind::PROPERTY).collect()
            }
            ("wire" | "rules" | "layer" | "test" | "huffman", 1..) => {
                self.setting_values(project, item)
            }
            ("const" | "enum" | "flags" | "state", _) => constants(project, self.file),
            _ => Vec::new(),
        }
    }

    /// Whether the place is among the parameters of a struct or a layer, before its block.
    fn is_parameter(&self) -> bool {
        let mut blocks = self.before.iter().rev();
        let opens = blocks.find(|piece| matches!(piece.text(self.text), "{" | "("));
        self.depth == 1 && opens.is_some_and(|piece| piece.text(self.text) == "(")
    }

    fn parameter_types(&self) -> Vec<CompletionItem> {
        let words = match self.item {
            Some("layer") => ["int", "bytes"],
            _ => ["int", "bool"],
        };
        words.map(|word| plain(word, Kind::CLASS)).to_vec()
    }

    /// Whether the bracket around the place belongs to a type that takes types.
    fn is_type_argument(&self) -> bool {
        let takers = [
            "vec2",
            "vec3",
            "vec4",
            "delta",
            "compressed",
            "string",
            "peek",
        ];
        let mut pieces = self.before.iter().rev().map(|piece| piece.text(self.text));
        pieces.find(|piece| *piece == "(").is_some()
            && pieces.next().is_some_and(|word| takers.contains(&word))
    }

    fn annotations(&self) -> Vec<CompletionItem> {
        let kind = match (self.item, self.depth) {
            (Some("enum" | "flags"), _) => HelpKind::OnMember,
            (Some("struct"), 0) => HelpKind::OnStruct,
            _ => HelpKind::OnField,
        };
        words(kind, Kind::EVENT).collect()
    }

    fn types(&self, project: &Project, structs: bool) -> Vec<CompletionItem> {
        let integers = [
            "u1", "u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64",
        ];
        let mut kinds = vec![SymbolKind::Enum, SymbolKind::Flags, SymbolKind::Alias];
        if structs {
            kinds.push(SymbolKind::Struct);
        }
        words(HelpKind::Type, Kind::CLASS)
            .chain(integers.map(|word| plain(word, Kind::CLASS)))
            .chain(named(project, self.file, &kinds))
            .collect()
    }

    /// What an expression of a struct can name.
    fn values(&self, project: &Project) -> Vec<CompletionItem> {
        let mut all = Vec::new();
        let outline = &project.outline;
        if let Some(owner) = outline.item_around(self.file, self.offset) {
            for (id, symbol) in outline.children(owner) {
                let is_parameter = symbol.kind == SymbolKind::Parameter;
                let mut places = symbol.places.iter();
                let is_before = places.any(|place| place.range.start < self.start);
                if is_parameter || is_before || self.statement_has("derived") {
                    all.push(of_symbol(project, id));
                }
            }
        }
        all.extend(constants(project, self.file));
        all.extend(words(HelpKind::Function, Kind::FUNCTION));
        all.extend(["true", "false", "state"].map(|word| plain(word, Kind::KEYWORD)));
        if self.statement_has("until") {
            all.push(plain("item", Kind::KEYWORD));
        }
        all
    }

    fn statement_has(&self, word: &str) -> bool {
        let pieces = self.before.iter().rev().map(|piece| piece.text(self.text));
        let mut own = pieces.take_while(|piece| !matches!(*piece, ";" | "{" | "}"));
        own.any(|piece| piece == word)
    }

    /// The members of an enum, the fields of a struct, what a connection keeps.
    fn parts(&self, project: &Project) -> Vec<CompletionItem> {
        let outline = &project.outline;
        let mut path = Vec::new();
        let mut steps = 0;
        while self.back(steps) == "." {
            path.push(self.back(steps + 1));
            steps += 2;
        }
        path.reverse();
        let Some((first, rest)) = path.split_first() else {
            return Vec::new();
        };
        let around = outline.item_around(self.file, self.offset);
        let own = around.and_then(|owner| outline.child(owner, first));
        if *first == "state" && own.is_none() {
            let mut all: Vec<CompletionItem> = outline
                .symbols()
                .filter(|(_, symbol)| {
                    let mut places = symbol.places.iter();
                    symbol.kind == SymbolKind::StateField
                        && places.any(|place| outline.sees(self.file, place.file))
                })
                .map(|(id, _)| of_symbol(project, id))
                .collect();
            if rest.is_empty() {
                all.push(plain("other", Kind::KEYWORD));
            }
            return all;
        }
        let item = || {
            let is_value = [SymbolKind::Enum, SymbolKind::Flags];
            let mut items = outline.items(self.file);
            let found = items.find(|(_, it)| it.name == *first && is_value.contains(&it.kind));
            found.map(|(id, _)| id)
        };
        // The field whose elements `item` is stands before the brackets around the place.
        let repeated = || {
            let field = self.statement?;
            around.and_then(|owner| outline.child(owner, field))
        };
        let mut at = match *first {
            "item" if own.is_none() => repeated(),
            _ => own.or_else(item),
        };
        for name in rest {
            at = at.and_then(|at| part(project, at, name));
        }
        let Some(at) = at else { return Vec::new() };
        let types = outline.symbol(at).map(|symbol| symbol.types.clone());
        let mut owners = types.unwrap_or_default();
        owners.insert(0, at);
        // An enum has members; a value that is an enum has none, unless it is of flags.
        let parts = owners.into_iter().flat_map(|owner| outline.children(owner));
        parts
            .filter(|(_, symbol)| symbol.kind != SymbolKind::Parameter)
            .map(|(id, _)| of_symbol(project, id))
            .collect()
    }

    fn setting_values(&self, project: &Project, item: &str) -> Vec<CompletionItem> {
        let setting = self.statement.unwrap_or_default();
        match (item, setting) {
            (_, "byte_order") => return ["little", "big"].map(value).to_vec(),
            (_, "bit_order") => return ["lsb", "msb"].map(value).to_vec(),
            ("rules", "unknown_migrate") => return spelled(UnknownMigrate::ALL),
            ("rules", "unknown_update") => return spelled(UnknownUpdate::ALL),
            ("rules", "unknown_destroy") => return spelled(UnknownDestroy::ALL),
            ("rules", "create") => return spelled(CreateRule::ALL),
            ("rules", "stale") => return spelled(StaleRule::ALL),
            ("rules", "update_from") => return spelled(UpdateFrom::ALL),
            ("rules", "older_update") => return spelled(OlderUpdate::ALL),
            _ => {}
        }
        let kinds: &[SymbolKind] = match (item, setting) {
            (_, "root" | "joined") => &[SymbolKind::Struct],
            ("wire", "state") => &[SymbolKind::State],
            ("test", "wire") => &[SymbolKind::Protocol],
            ("test", "value" | "part" | "state") => return fields_of_values(project),
            ("layer", "coding") => &[SymbolKind::Huffman],
            ("layer", "transform") => {
                let mut all: Vec<CompletionItem> =
                    words(HelpKind::Transform, Kind::FUNCTION).collect();
                all.extend(named(project, self.file, &[SymbolKind::Huffman]));
                all.extend(self.values(project));
                return all;
            }
            ("wire", "when") => return self.values(project),
            _ => return constants(project, self.file),
        };
        named(project, self.file, kinds)
    }
}

/// The words that begin a statement.
const STATEMENTS: [&str; 12] = [
    "if",
    "switch",
    "let",
    "label",
    "align",
    "byte_order",
    "at",
    "size",
    "set",
    "unset",
    "join",
    "follow",
];

fn value(word: &str) -> CompletionItem {
    plain(word, Kind::VALUE)
}

/// What a setting with a closed set of values can be.
fn spelled<T>(all: &[(&str, T)]) -> Vec<CompletionItem> {
    all.iter().map(|(word, _)| value(word)).collect()
}

fn settings_of(item: &str) -> HelpKind {
    match item {
        "rules" => HelpKind::OfRules,
        "layer" => HelpKind::OfLayer,
        "test" => HelpKind::OfTest,
        _ => HelpKind::OfWire,
    }
}

fn part(project: &Project, of: SymbolId, name: &str) -> Option<SymbolId> {
    let outline = &project.outline;
    outline.child(of, name).or_else(|| {
        let types = &outline.symbol(of)?.types;
        types.iter().find_map(|&of| outline.child(of, name))
    })
}

fn words(of: HelpKind, kind: Kind) -> impl Iterator<Item = CompletionItem> {
    let words = help().filter(move |help| help.kind == of);
    words.map(move |help| proposal(help.word, kind, help.shape, help.text))
}

/// Something that can be written: how it is written or what it is, and a sentence; both may be empty.
fn proposal(label: &str, kind: Kind, detail: &str, said: &str) -> CompletionItem {
    let shown = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    CompletionItem {
        label: label.to_owned(),
        kind: Some(kind),
        detail: shown(detail),
        documentation: shown(said).map(Documentation::String),
        ..CompletionItem::default()
    }
}

fn plain(word: &str, kind: Kind) -> CompletionItem {
    let kinds = [HelpKind::Type, HelpKind::Statement];
    let (detail, said) = help_of(word, &kinds).unwrap_or_default();
    proposal(word, kind, &detail, &said)
}

fn named(project: &Project, file: usize, kinds: &[SymbolKind]) -> Vec<CompletionItem> {
    let items = project
        .outline
        .items(file)
        .filter(|(_, symbol)| kinds.contains(&symbol.kind));
    items.map(|(id, _)| of_symbol(project, id)).collect()
}

fn constants(project: &Project, file: usize) -> Vec<CompletionItem> {
    let kinds = [SymbolKind::Constant, SymbolKind::Enum, SymbolKind::Flags];
    named(project, file, &kinds)
}

/// The names that values in tests are made of.
fn fields_of_values(project: &Project) -> Vec<CompletionItem> {
    let kinds = [SymbolKind::Field, SymbolKind::Computed, SymbolKind::Member];
    let mut all: Vec<CompletionItem> = project
        .outline
        .symbols()
        .filter(|(_, symbol)| kinds.contains(&symbol.kind))
        .map(|(id, _)| of_symbol(project, id))
        .collect();
    all.sort_by(|left, right| left.label.cmp(&right.label));
    all.dedup_by(|left, right| left.label == right.label);
    all
}

fn of_symbol(project: &Project, id: SymbolId) -> CompletionItem {
    let outline = &project.outline;
    let Some(symbol) = outline.symbol(id) else {
        return plain("", Kind::VALUE);
    };
    let (noun, _, kind) = shown(symbol.kind);
    let place = symbol.places.first();
    let declared = place.map_or(noun.to_owned(), |place| outline.declaration(place));
    let comment = place.map(|place| outline.comment(place));
    proposal(&symbol.name, kind, &declared, &comment.unwrap_or_default())
}

/// The wire files below a folder, as an import names them.
fn files(folder: Option<&Path>) -> Vec<CompletionItem> {
    let mut found = Vec::new();
    let Some(folder) = folder else { return found };
    let mut open = vec![(folder.to_owned(), String::new(), 0)];
    while let Some((folder, path, depth)) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .take(10 * FILES_MAX)
            .collect();
        names.sort();
        for name in names {
            let below = folder.join(&name);
            if name.starts_with('.') || found.len() >= FILES_MAX {
                continue;
            }
            if below.is_dir() {
                if depth < FOLDERS_DEEP && open.len() < FILES_MAX {
                    open.push((below, format!("{path}{name}/"), depth + 1));
                }
            } else if name.ends_with(".wire") {
                found.push(proposal(&format!("{path}{name}"), Kind::FILE, "", ""));
            }
        }
    }
    found.sort_by(|left, right| left.label.cmp(&right.label));
    found
}
