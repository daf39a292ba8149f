//! Where names are used.

use super::declare::{Builder, Space};
use super::symbols::SymbolId;
use crate::report::Span;
use crate::syntax::ast::{
    Annotation, Expr, ExprKind, Field, Ident, Setting, Statement, TypeRef, Until,
};
use crate::syntax::lexer::{TokenKind, tokens};

/// What an expression can read.
#[derive(Clone, Default)]
pub(super) struct Scope<'a> {
    /// The struct around it, or the layer.
    owner: Option<SymbolId>,
    /// Fields that were declared before it.
    visible: Vec<&'a str>,
    /// It may read what comes later.
    is_derived: bool,
    /// The repeated field whose element `item` is.
    item: Option<SymbolId>,
    /// In a struct, so that there is a connection's state.
    has_state: bool,
}

impl Scope<'_> {
    fn sees(&self, name: &str) -> bool {
        self.is_derived || self.visible.contains(&name)
    }
}

impl<'a> Builder<'a> {
    pub(super) fn use_of(&mut self, span: Span, id: SymbolId) {
        let place = self.place(span);
        self.uses.push((place, id));
    }

    /// Notes the use of a name of a space, if it is one.
    fn use_named(&mut self, space: Space, name: Ident<'a>) -> Option<SymbolId> {
        let id = self.named(space, name.text, name.span)?;
        self.use_of(name.span, id);
        Some(id)
    }

    pub(super) fn resolve(&mut self) {
        let tree = self.texts.tree;
        let nothing = Scope::default();
        for item in &tree.wires {
            for setting in &item.settings {
                self.setting(setting);
            }
        }
        for item in &tree.constants {
            self.expr(&item.value, &nothing);
        }
        for item in &tree.enums {
            self.type_ref(&item.base, &nothing);
            for member in &item.members {
                if let Some(value) = &member.value {
                    self.expr(value, &nothing);
                }
                self.annotations(&member.annotations);
            }
        }
        for item in &tree.aliases {
            self.type_ref(&item.stands_for, &nothing);
        }
        let structs = self.structs.clone();
        for (item, id) in tree.structs.iter().zip(structs) {
            let Some(id) = id else { continue };
            let mut scope = Scope {
                owner: Some(id),
                has_state: true,
                ..Scope::default()
            };
            for parameter in &item.parameters {
                self.use_named(Space::Item, parameter.type_name);
                scope.visible.push(parameter.name.text);
            }
            self.body(&item.body, &mut scope);
        }
        for item in &tree.states {
            for field in &item.fields {
                self.type_ref(&field.field_type, &nothing);
                for expr in field.capacities.iter().chain(&field.initial) {
                    self.expr(expr, &nothing);
                }
            }
        }
        for item in &tree.layers {
            let name = item.block.name;
            let scope = Scope {
                owner: self.named(Space::Layer, name.text, name.span),
                visible: item.parameters.iter().map(|(name, _)| name.text).collect(),
                ..Scope::default()
            };
            for setting in &item.block.settings {
                self.layer_setting(setting, &scope);
            }
        }
        for item in &tree.huffmans {
            if let Some(eof) = &item.eof {
                self.expr(eof, &nothing);
            }
        }
        for test in &tree.tests {
            self.test(test);
        }
    }

    fn setting(&mut self, setting: &'a Setting<'a>) {
        let scope = Scope {
            has_state: true,
            ..Scope::default()
        };
        let space = match setting.name.text {
            "root" | "joined" => Some(Space::Item),
            "state" => Some(Space::State),
            "byte_order" | "bit_order" => return,
            _ => None,
        };
        if let Some(space) = space {
            if let ExprKind::Path(path) = &setting.value.kind
                && let [name] = path.as_slice()
            {
                self.use_named(space, *name);
            }
            return;
        }
        for value in std::iter::once(&setting.value).chain(&setting.more) {
            self.expr(value, &scope);
        }
    }

    fn layer_setting(&mut self, setting: &'a Setting<'a>, scope: &Scope<'a>) {
        match (setting.name.text, &setting.value.kind) {
            ("transform" | "coding", ExprKind::Call(name, arguments)) => {
                for argument in arguments {
                    match &argument.kind {
                        ExprKind::Path(path) if name.text == "huffman" => {
                            if let [table] = path.as_slice() {
                                self.use_named(Space::Huffman, *table);
                            }
                        }
                        _ => self.expr(argument, scope),
                    }
                }
            }
            ("inflated_max", _) => self.expr(&setting.value, scope),
            _ => {}
        }
    }

    fn annotations(&mut self, annotations: &'a [Annotation<'a>]) {
        for annotation in annotations {
            for argument in &annotation.arguments {
                if let ("rules", ExprKind::Path(path)) = (annotation.name.text, &argument.kind)
                    && let [name] = path.as_slice()
                {
                    self.use_named(Space::Rules, *name);
                }
            }
        }
    }

    /// The statements of a block. Gives the names that it always declares.
    fn body(&mut self, body: &'a [Statement<'a>], scope: &mut Scope<'a>) -> Vec<&'a str> {
        let outer = scope.visible.len();
        for statement in body {
            match statement {
                Statement::Field(field) => self.field(field, scope),
                Statement::If(inner) => {
                    self.expr(&inner.condition, scope);
                    let then = self.body(&inner.then, scope);
                    let otherwise = self.body(&inner.otherwise, scope);
                    let both = then.into_iter().filter(|name| otherwise.contains(name));
                    scope.visible.extend(both);
                }
                Statement::Switch(inner) => {
                    self.expr(&inner.on, scope);
                    let mut always: Option<Vec<&'a str>> = None;
                    for arm in &inner.arms {
                        for pattern in &arm.patterns {
                            self.expr(pattern, &Scope::default());
                        }
                        let of_arm = self.body(&arm.body, scope);
                        always = Some(match always {
                            None => of_arm,
                            Some(mut before) => {
                                before.retain(|name| of_arm.contains(name));
                                before
                            }
                        });
                    }
                    scope.visible.extend(always.into_iter().flatten());
                }
                Statement::Align(inner) => {
                    self.expr(&inner.bits, &Scope::default());
                    if let Some(pad) = &inner.pad {
                        self.expr(pad, &Scope::default());
                    }
                }
                Statement::ByteOrder(inner) => {
                    if let Some((condition, _)) = &inner.choice {
                        self.expr(condition, scope);
                    }
                }
                Statement::Set(inner) => {
                    self.expr(&inner.target, scope);
                    if let Some(value) = &inner.value {
                        self.expr(value, scope);
                    }
                }
                Statement::Join(inner) => {
                    self.expr(&inner.from, scope);
                    for argument in &inner.arguments {
                        self.expr(argument, scope);
                    }
                    self.field(&inner.field, scope);
                }
                Statement::Follow(inner) => {
                    self.expr(&inner.from, scope);
                    for argument in &inner.arguments {
                        self.expr(argument, scope);
                    }
                    self.field(&inner.field, scope);
                }
                Statement::Size(inner) => {
                    self.expr(&inner.size.bytes, scope);
                    self.body(&inner.body, scope);
                }
            }
        }
        scope.visible.drain(outer..).collect()
    }

    fn field(&mut self, field: &'a Field<'a>, scope: &mut Scope<'a>) {
        let own = scope.owner;
        let own = own.and_then(|owner| self.child(owner, field.name.text));
        self.type_ref(&field.field_type, scope);
        match field.repeat.as_ref().map(|repeat| &repeat.until) {
            Some(Until::Count(expr) | Until::Bytes(expr)) => self.expr(expr, scope),
            Some(Until::Holds(expr)) => {
                let outer = std::mem::replace(&mut scope.item, own);
                self.expr(expr, scope);
                scope.item = outer;
            }
            Some(Until::End) | None => {}
        }
        if let Some(size) = &field.size {
            self.expr(&size.bytes, scope);
        }
        if let Some(through) = &field.through {
            self.use_named(Space::Layer, through.name);
            for argument in &through.arguments {
                self.expr(argument, scope);
            }
        }
        if let Some(constant) = &field.constant {
            self.expr(constant, &Scope::default());
        }
        if let Some(derived) = &field.derived {
            let scope = Scope {
                is_derived: true,
                ..scope.clone()
            };
            self.expr(derived, &scope);
        }
        if let Some(computed) = &field.computed {
            self.expr(computed, scope);
        }
        self.annotations(&field.annotations);
        scope.visible.push(field.name.text);
    }

    /// A type with its arguments.
    fn type_ref(&mut self, declared: &'a TypeRef<'a>, scope: &Scope<'a>) {
        let name = declared.name;
        if name.text.contains('(') {
            return self.vector(name.span);
        }
        let arguments = declared.arguments.as_deref().unwrap_or_default();
        // Words of the language stand among the arguments of these types.
        let values = match name.text {
            "string" | "bytes" | "smallest_three" => arguments.get(..1),
            "quantized" => arguments.get(..arguments.len().min(3)),
            "compressed" => None,
            _ => Some(arguments),
        };
        if !crate::check::is_built_in(name.text) {
            self.use_named(Space::Item, name);
        }
        for argument in values.unwrap_or_default() {
            let is_word = match &argument.kind {
                ExprKind::Path(path) => path.first().is_some_and(|word| {
                    let word = word.text;
                    let of_length = matches!(word, "zero" | "rest");
                    path.len() == 1 && (of_length || crate::check::is_built_in(word))
                }),
                _ => false,
            };
            if !is_word {
                self.expr(argument, scope);
            }
        }
    }

    /// The constants in `vec3(quantized(LOW, HIGH, 8))`, which stands for one name.
    fn vector(&mut self, span: Span) {
        let files = self.texts.files;
        for token in tokens(&files.text, span.range(), &mut Vec::new()) {
            if token.kind == TokenKind::Name {
                let (text, span) = (token.span.text(&files.text), token.span);
                self.use_named(Space::Item, Ident { text, span });
            }
        }
    }

    fn expr(&mut self, expr: &'a Expr<'a>, scope: &Scope<'a>) {
        match &expr.kind {
            ExprKind::Path(path) => self.path(path, scope),
            ExprKind::Index(path, keys, inside) => {
                let whole: Vec<Ident<'a>> = path.iter().chain(inside).copied().collect();
                self.path(&whole, scope);
                for key in keys {
                    self.expr(key, scope);
                }
            }
            ExprKind::Call(_, arguments) => {
                for argument in arguments {
                    self.expr(argument, scope);
                }
            }
            ExprKind::Unary(_, inner) => self.expr(inner, scope),
            ExprKind::Interval(left, right) | ExprKind::Binary(_, left, right) => {
                self.expr(left, scope);
                self.expr(right, scope);
            }
            ExprKind::Choice(condition, then, otherwise) => {
                for part in [condition, then, otherwise] {
                    self.expr(part, scope);
                }
            }
            ExprKind::Integer(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Text(_)
            | ExprKind::Bytes(_) => {}
        }
    }

    fn path(&mut self, path: &[Ident<'a>], scope: &Scope<'a>) {
        let [first, rest @ ..] = path else { return };
        if first.text == "state" && scope.has_state && !scope.visible.contains(&"state") {
            let mut names = rest.iter();
            let mut name = names.next();
            if name.is_some_and(|name| name.text == "other") {
                name = names.next();
            }
            let mut at = name.and_then(|name| self.use_named(Space::Kept, *name));
            for name in names {
                at = at.and_then(|at| self.part(at, name.text));
                if let Some(found) = at {
                    self.use_of(name.span, found);
                }
            }
            return;
        }
        let of_owner = scope.owner.filter(|_| scope.sees(first.text));
        let of_owner = of_owner.and_then(|owner| self.child(owner, first.text));
        let mut at = match (scope.item, of_owner) {
            (Some(item), _) if first.text == "item" => Some(item),
            (_, Some(field)) => {
                self.use_of(first.span, field);
                Some(field)
            }
            (_, None) => self.use_named(Space::Item, *first),
        };
        for name in rest {
            at = at.and_then(|at| self.part(at, name.text));
            if let Some(found) = at {
                self.use_of(name.span, found);
            }
        }
    }

    /// A field of a value, or a member of an enum.
    pub(super) fn part(&self, of: SymbolId, name: &str) -> Option<SymbolId> {
        if let Some(child) = self.child(of, name) {
            return Some(child);
        }
        let types = &self.symbol(of)?.types;
        types.iter().find_map(|&of| self.child(of, name))
    }
}
