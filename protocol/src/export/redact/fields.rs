//! Which fields are blanked.

use netreel_wire::{Name, Tree, TreeNode, Wire};

use super::RedactError;

/// A field by the end of its path (`chat.text`, `*` stands for any name), or by its annotation
/// (`@rpc_name`). What is inside a field goes with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    text: String,
    wanted: Wanted,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Wanted {
    Annotation(String),
    /// The names, the last first.
    Path(Vec<String>),
}

impl Field {
    /// Reads what somebody wrote, and asks the wire whether there can be such a field.
    ///
    /// # Errors
    /// The wire has no field with that name or annotation.
    pub fn parse(text: &str, wire: &Wire) -> Result<Field, RedactError> {
        let unknown = || RedactError::NoSuchField(text.to_owned());
        let wanted = match text.strip_prefix('@') {
            Some(annotation) => {
                if !wire.has_field(None, Some(annotation)) {
                    return Err(unknown());
                }
                Wanted::Annotation(annotation.to_owned())
            }
            None => {
                let names = text.split('.').rev();
                // An index says nothing: all elements are meant.
                let names = names.map(|name| name.split('[').next().unwrap_or(name).to_owned());
                let names: Vec<String> = names.collect();
                let known = |name: &String| name == "*" || wire.has_field(Some(name), None);
                if !names.iter().all(known) || names.iter().all(|name| name == "*") {
                    return Err(unknown());
                }
                Wanted::Path(names)
            }
        };
        Ok(Field {
            text: text.to_owned(),
            wanted,
        })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a node is this field or inside it.
    pub(super) fn takes(&self, tree: &Tree, node: TreeNode<'_>) -> bool {
        let mut next = Some(node);
        while let Some(at) = next {
            let is = match &self.wanted {
                Wanted::Annotation(annotation) => at.annotation() == Some(annotation),
                Wanted::Path(names) => ends_with(tree, at, names),
            };
            if is {
                return true;
            }
            next = at.parent().and_then(|parent| tree.get(parent));
        }
        false
    }
}

/// Whether a path ends with these names, the last first. Elements of repeats have none.
fn ends_with(tree: &Tree, node: TreeNode<'_>, names: &[String]) -> bool {
    let mut next = Some(node);
    for wanted in names {
        let named = std::iter::successors(next, |at| tree.get(at.parent()?));
        let mut named = named.skip_while(|at| matches!(at.name(), Name::Index(_)));
        let Some(at) = named.next() else {
            return false;
        };
        let fits = match at.name() {
            Name::Field(name) => wanted == "*" || name == wanted,
            Name::Index(_) => false,
        };
        if !fits {
            return false;
        }
        next = at.parent().and_then(|parent| tree.get(parent));
    }
    true
}
