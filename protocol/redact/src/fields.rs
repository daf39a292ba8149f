//! Which fields are blanked.

use netreel_wire::{Name, TreeNode, Wire};

use crate::rules::RedactError;

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
                let names: Vec<String> = names
                    .map(|name| name.split('[').next().unwrap_or(name).to_owned())
                    .collect();
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
    fn takes(&self, node: TreeNode<'_>) -> bool {
        node.around().any(|at| match &self.wanted {
            Wanted::Annotation(annotation) => at.annotation() == Some(annotation),
            Wanted::Path(names) => ends_with(at, names),
        })
    }
}

/// The field that a node is or is in.
pub(crate) fn asked<'f>(fields: &'f [Field], node: TreeNode<'_>) -> Option<&'f Field> {
    fields.iter().find(|field| field.takes(node))
}

/// Whether a path ends with these names, the last first. Elements of repeats have none.
fn ends_with(node: TreeNode<'_>, names: &[String]) -> bool {
    let mut path = node.around().filter_map(|at| match at.name() {
        Name::Field(name) => Some(name),
        Name::Index(_) => None,
    });
    names.iter().all(|wanted| {
        let name = path.next();
        name.is_some_and(|name| wanted == "*" || name == wanted)
    })
}
