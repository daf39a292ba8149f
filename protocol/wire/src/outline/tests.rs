//! The names in `test` blocks: values say fields and members as the structs declare them.

use super::declare::{Builder, Space};
use super::symbols::{SymbolId, SymbolKind};
use crate::report::Span;
use crate::syntax::ast::{ExprKind, Ident, Pattern, PatternKind, Test};

impl<'a> Builder<'a> {
    pub(super) fn test(&mut self, test: &'a Test<'a>) {
        let one = |name: &str| {
            let mut settings = test.settings.iter();
            let found = settings.find(|setting| setting.name.text == name)?;
            Some(&found.value)
        };
        let mut named = |name: &str, space: Space| {
            let value = one(name)?;
            let name = match value.kind {
                PatternKind::Name(text) => Ident {
                    text,
                    span: last_of(value.span, text),
                },
                _ => return None,
            };
            let id = self.named(space, name.text, name.span)?;
            self.use_of(name.span, id);
            Some(id)
        };
        let protocol = named("wire", Space::Protocol);
        let root = named("root", Space::Item);
        for setting in &test.settings {
            for value in setting.values() {
                match setting.name.text {
                    "value" | "part" => {
                        let root = root.or_else(|| self.root_of(protocol, value, test.span));
                        if let Some(root) = root {
                            self.value_of(value, &[root]);
                        }
                    }
                    "state" => self.kept(value),
                    _ => {}
                }
            }
        }
    }

    /// The root of the protocol that is named; else the first that has all the fields of a value.
    fn root_of(
        &self,
        protocol: Option<SymbolId>,
        value: &Pattern<'a>,
        test: Span,
    ) -> Option<SymbolId> {
        let wanted = protocol.and_then(|id| self.symbol(id));
        let wanted = wanted.map(|symbol| symbol.name.clone());
        let file = self.file_of(test);
        let blocks = self.tree.wires.iter().filter(|block| {
            let is_wanted = wanted.as_deref().is_none_or(|name| name == block.name.text);
            is_wanted && self.sees(file, self.file_of(block.name.span))
        });
        let roots = blocks.filter_map(|block| {
            let mut settings = block.settings.iter();
            let root = settings.find(|setting| setting.name.text == "root")?;
            match &root.value.kind {
                ExprKind::Path(path) => {
                    let name = path.first()?;
                    self.named(Space::Item, name.text, name.span)
                }
                _ => None,
            }
        });
        let roots: Vec<SymbolId> = roots.collect();
        let depths = roots.iter().map(|&root| (self.fits(value, root), root));
        // Of equals the first.
        let best = depths.rev().max_by_key(|(fits, _)| *fits);
        best.map(|(_, root)| root)
    }

    /// How many of the fields of a value, and of those in them, a struct declares.
    fn fits(&self, value: &Pattern<'a>, structure: SymbolId) -> usize {
        let PatternKind::Fields(fields) = &value.kind else {
            return 0;
        };
        let of_field = |(name, value): &(Ident<'a>, Pattern<'a>)| {
            let Some(field) = self.child(structure, name.text) else {
                return 0;
            };
            let types = self.symbol(field).map_or(&[][..], |field| &field.types);
            let inner = types.iter().map(|&inner| self.fits(value, inner)).max();
            1 + inner.unwrap_or(0)
        };
        fields.iter().map(of_field).sum()
    }

    /// A value of one of these types.
    fn value_of(&mut self, value: &Pattern<'a>, types: &[SymbolId]) {
        match &value.kind {
            PatternKind::Fields(fields) => {
                // Fields of one name in several arms may be of several structs.
                let fits = types.iter().map(|&of| (self.fits(value, of), of));
                let best = fits.rev().max_by_key(|(fits, _)| *fits);
                let Some((_, structure)) = best else {
                    return;
                };
                for (name, value) in fields {
                    let Some(field) = self.child(structure, name.text) else {
                        continue;
                    };
                    self.use_of(name.span, field);
                    let types = self.symbol(field).map(|field| field.types.clone());
                    self.value_of(value, &types.unwrap_or_default());
                }
            }
            PatternKind::Elements(elements) => {
                for element in elements {
                    self.value_of(element, types);
                }
            }
            PatternKind::Name(name) => {
                let member = types.iter().find_map(|&of| self.child(of, name));
                if let Some(member) = member {
                    self.use_of(last_of(value.span, name), member);
                }
                // `Kind.move` names the enum as well.
                let spelled = value.span.text(&self.files.text);
                if let Some((first, _)) = spelled.split_once('.') {
                    let first = first.trim_end();
                    let start = value.span.start;
                    let span = Span {
                        start,
                        end: start + first.len() as u32,
                    };
                    let found = self.named(Space::Item, first, span);
                    let is_type = |id: &SymbolId| {
                        let symbol = self.symbol(*id);
                        let kinds = [SymbolKind::Enum, SymbolKind::Flags];
                        symbol.is_some_and(|symbol| kinds.contains(&symbol.kind))
                    };
                    if let Some(found) = found.filter(is_type) {
                        self.use_of(span, found);
                    }
                }
            }
            PatternKind::Integer(_)
            | PatternKind::Float(_)
            | PatternKind::Bool(_)
            | PatternKind::Text(_)
            | PatternKind::Bytes(_) => {}
        }
    }

    /// What a connection keeps before the packet.
    fn kept(&mut self, value: &Pattern<'a>) {
        let PatternKind::Fields(fields) = &value.kind else {
            return;
        };
        for (name, value) in fields {
            if let Some(id) = self.named(Space::Kept, name.text, name.span) {
                self.use_of(name.span, id);
                let types = self.symbol(id).map(|field| field.types.clone());
                self.value_of(value, &types.unwrap_or_default());
            }
        }
    }
}

/// Where the last name of a path stands.
fn last_of(span: Span, name: &str) -> Span {
    Span {
        start: span.end.saturating_sub(name.len() as u32),
        end: span.end,
    }
}
