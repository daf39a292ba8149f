//! Everything that a wire's text gives a name to.

use std::collections::{BTreeMap, BTreeSet};

use super::symbols::{FilePlace, ImportPlace, Outline, Symbol, SymbolId, SymbolKind};
use crate::check::Resolved;
use crate::files::Files;
use crate::report::Span;
use crate::syntax::ast::{CItem, Field, File, Ident, TypeRef, fields};
use crate::syntax::lexer::tokens;

/// Names of different spaces can be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Space {
    /// Constants, enums and structs.
    Item,
    Protocol,
    /// The fields of all `state` blocks.
    Kept,
}

/// An outline that is being made.
pub(super) struct Builder<'a> {
    pub files: &'a Files,
    pub tree: &'a File<'a>,
    /// For each file those that it imports.
    imported: Vec<BTreeSet<usize>>,
    pub symbols: Vec<Symbol>,
    pub uses: Vec<(FilePlace, SymbolId)>,
    names: BTreeMap<(Space, &'a str), Vec<(usize, SymbolId)>>,
    children: BTreeMap<(SymbolId, &'a str), SymbolId>,
    /// The symbols of the structs, in the order of the tree; `None`: it stands for a vector.
    pub structs: Vec<Option<SymbolId>>,
}

pub(super) fn outline(files: &Files, tree: &File<'_>) -> Outline {
    let mut builder = Builder {
        files,
        tree,
        imported: files.imports(&tree.imports, &mut Vec::new()),
        symbols: Vec::new(),
        uses: Vec::new(),
        names: BTreeMap::new(),
        children: BTreeMap::new(),
        structs: Vec::new(),
    };
    builder.declare();
    for test in &tree.tests {
        builder.test(test);
    }
    let imports = tree
        .imports
        .iter()
        .map(|import| ImportPlace {
            place: place(files, import.span),
            file: files.imported(import),
        })
        .collect();
    let Builder {
        imported,
        symbols,
        uses,
        children,
        ..
    } = builder;
    let mut by_owner: BTreeMap<SymbolId, BTreeMap<String, SymbolId>> = BTreeMap::new();
    for ((owner, name), id) in children {
        let of_owner = by_owner.entry(owner).or_default();
        of_owner.insert(name.to_owned(), id);
    }
    Outline {
        files: Vec::new(),
        imported,
        imports,
        symbols,
        children: by_owner,
        uses,
    }
}

fn place(files: &Files, span: Span) -> FilePlace {
    let (file, range) = files.place(&span.range());
    FilePlace { file, range }
}

impl Outline {
    /// Takes in what the checker takes names for, and the sizes and values that it knows.
    pub(super) fn note(&mut self, files: &Files, resolved: Resolved) {
        let mut declared = BTreeMap::new();
        for (id, symbol) in self.symbols() {
            declared.extend(symbol.places.iter().map(|place| (place.clone(), id)));
        }
        for (name, bits) in resolved.bits {
            let place = place(files, name);
            let id = declared.get(&place);
            if let Some(symbol) = id.and_then(|id| self.symbols.get_mut(id.0 as usize)) {
                // Fields of one name in several arms may differ.
                let is_first = symbol.places.first() == Some(&place);
                symbol.bits = bits.filter(|_| is_first || symbol.bits == bits);
            }
        }
        for (name, value) in resolved.values {
            let id = declared.get(&place(files, name));
            if let Some(symbol) = id.and_then(|id| self.symbols.get_mut(id.0 as usize)) {
                symbol.value = Some(value);
            }
        }
        let mut found = Vec::new();
        for (name, at) in resolved.uses {
            let spelled = name.text(&files.text);
            if spelled.contains('(') {
                // `vec3(quantized(LOW, HIGH, 8))` stands for one name, and constants stand in it.
                for token in tokens(&files.text, name.range(), &mut Vec::new()) {
                    let (place, text) = (place(files, token.span), token.span.text(&files.text));
                    let mut items = self.items(place.file);
                    let item = items.find(|(_, it)| it.name == text).map(|(id, _)| id);
                    found.extend(item.map(|id| (place, id)));
                }
            } else if let Some(&id) = declared.get(&place(files, at)) {
                let is_spelled_so = self.symbol(id).is_some_and(|it| it.name == spelled);
                found.extend(is_spelled_so.then(|| (place(files, name), id)));
            }
        }
        self.uses.append(&mut found);
        self.uses.sort();
        self.uses.dedup();
    }
}

impl<'a> Builder<'a> {
    pub(super) fn file_of(&self, span: Span) -> usize {
        self.files.at(span.start as usize)
    }

    /// Whether what a file declares can be used in another.
    pub(super) fn sees(&self, from: usize, file: usize) -> bool {
        from == file || self.imported[from].contains(&file)
    }

    pub(super) fn use_of(&mut self, span: Span, id: SymbolId) {
        self.uses.push((place(self.files, span), id));
    }

    /// What a name stands for at a place.
    pub(super) fn named(&self, space: Space, name: &str, at: Span) -> Option<SymbolId> {
        let from = self.file_of(at);
        let declared = self.names.get(&(space, name))?;
        let own = declared.iter().find(|(file, _)| *file == from);
        let found = own.or_else(|| declared.iter().find(|(file, _)| self.sees(from, *file)));
        found.map(|&(_, id)| id)
    }

    pub(super) fn child(&self, owner: SymbolId, name: &str) -> Option<SymbolId> {
        self.children.get(&(owner, name)).copied()
    }

    pub(super) fn symbol(&self, id: SymbolId) -> Option<&Symbol> {
        self.symbols.get(id.0 as usize)
    }

    fn add(&mut self, kind: SymbolKind, name: Ident<'a>, owner: Option<SymbolId>) -> SymbolId {
        let id = SymbolId(self.symbols.len() as u32);
        self.symbols.push(Symbol {
            kind,
            name: name.text.to_owned(),
            owner,
            places: vec![place(self.files, name.span)],
            extents: Vec::new(),
            types: Vec::new(),
            bits: None,
            value: None,
        });
        id
    }

    fn add_item(&mut self, space: Space, kind: SymbolKind, name: Ident<'a>) -> SymbolId {
        let id = self.add(kind, name, None);
        let file = self.file_of(name.span);
        let declared = self.names.entry((space, name.text)).or_default();
        declared.push((file, id));
        id
    }

    /// A child; of a name that is there already, one more place.
    fn add_child(&mut self, kind: SymbolKind, name: Ident<'a>, owner: SymbolId) -> SymbolId {
        if let Some(&id) = self.children.get(&(owner, name.text)) {
            let place = place(self.files, name.span);
            if let Some(symbol) = self.symbols.get_mut(id.0 as usize) {
                symbol.places.push(place);
            }
            return id;
        }
        let id = self.add(kind, name, Some(owner));
        self.children.insert((owner, name.text), id);
        id
    }

    fn declare(&mut self) {
        let tree = self.tree;
        for item in &tree.wires {
            self.add_item(Space::Protocol, SymbolKind::Protocol, item.name);
        }
        for item in &tree.rules {
            self.add(SymbolKind::Rules, item.name, None);
        }
        for item in &tree.constants {
            self.add_item(Space::Item, SymbolKind::Constant, item.name);
        }
        for item in &tree.enums {
            let kind = if item.is_flags {
                SymbolKind::Flags
            } else {
                SymbolKind::Enum
            };
            let id = self.add_item(Space::Item, kind, item.name);
            for member in &item.members {
                self.add_child(SymbolKind::Member, member.name, id);
            }
        }
        for item in &tree.aliases {
            self.add_item(Space::Item, SymbolKind::Alias, item.name);
        }
        for item in &tree.c_items {
            let name = match item {
                CItem::Struct(item) => (!item.is_nameless).then_some(item.name),
                CItem::Typedef(item) => Some(item.name),
            };
            if let Some(name) = name {
                self.add_item(Space::Item, SymbolKind::Alias, name);
            }
        }
        self.declare_structs();
        for item in &tree.states {
            let id = self.add(SymbolKind::State, item.name, None);
            for field in &item.fields {
                let child = self.add_child(SymbolKind::StateField, field.name, id);
                let file = self.file_of(field.name.span);
                let kept = self.names.entry((Space::Kept, field.name.text));
                kept.or_default().push((file, child));
                self.type_of(child, &field.field_type);
            }
        }
        for item in &tree.layers {
            let id = self.add(SymbolKind::Layer, item.block.name, None);
            for parameter in &item.parameters {
                self.add_child(SymbolKind::Parameter, parameter.name, id);
            }
        }
        for item in &tree.huffmans {
            self.add(SymbolKind::Huffman, item.name, None);
        }
        for item in &tree.tests {
            let (text, span) = (item.name, item.span);
            self.add(SymbolKind::Test, Ident { text, span }, None);
        }
    }

    fn declare_structs(&mut self) {
        let tree = self.tree;
        for item in &tree.structs {
            let id = if item.is_vector {
                None
            } else {
                Some(self.add_item(Space::Item, SymbolKind::Struct, item.name))
            };
            self.structs.push(id);
        }
        let structs = self.structs.clone();
        for (item, id) in tree.structs.iter().zip(structs) {
            let Some(id) = id else { continue };
            for parameter in &item.parameters {
                let child = self.add_child(SymbolKind::Parameter, parameter.name, id);
                let name = parameter.type_name;
                if let Some(found) = self.named(Space::Item, name.text, name.span) {
                    self.symbols[child.0 as usize].types.push(found);
                }
            }
            for field in fields(&item.body) {
                self.declare_field(field, id);
            }
        }
    }

    fn declare_field(&mut self, field: &'a Field<'a>, owner: SymbolId) {
        let kind = match field.computed {
            Some(_) => SymbolKind::Computed,
            None => SymbolKind::Field,
        };
        let id = self.add_child(kind, field.name, owner);
        self.type_of(id, &field.field_type);
    }

    fn type_of(&mut self, id: SymbolId, declared: &TypeRef<'a>) {
        let name = declared.name;
        if let Some(found) = self.named(Space::Item, name.text, name.span) {
            let types = &mut self.symbols[id.0 as usize].types;
            if !types.contains(&found) {
                types.push(found);
            }
        }
    }
}
