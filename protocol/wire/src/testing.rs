//! Runs the `test` blocks of a wire: bytes to fields, and fields to bytes.

use serde_json::Value as Json;

use crate::check::model::{Model, Protocol, Test};
use crate::context::Context;
use crate::facts::ProtocolId;
use crate::files::Files;
use crate::json::{Leaf, bytes_of, bytes_of_rest, raw_of};
use crate::layout::ByteOrder;
use crate::lower::lower;
use crate::program::{Program, Shown};
use crate::run::{Entry, Source, Surroundings, Written, write};
use crate::state::ConnectionState;
use crate::suggest;
use crate::tree::{Name, Tree, TreeId, TreeNode};
use crate::values::text::before_zero;
use crate::wire::{Decoded, Wire, decode};

/// How one `test` block came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestResult {
    /// As the block says it.
    pub name: String,
    /// The file that it is in.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// What is not as expected; empty where the test passed.
    pub failures: Vec<TestFailure>,
}

/// One thing that a test expects and that is not so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestFailure {
    /// The field: `messages[0].object`; empty where it is about the whole packet.
    pub path: String,
    /// What is wrong, without a full stop.
    pub message: String,
}

impl TestFailure {
    fn of_packet(message: String) -> TestFailure {
        let path = String::new();
        TestFailure { path, message }
    }
}

impl TestResult {
    /// Whether all is as expected.
    pub fn passed(&self) -> bool {
        self.failures.is_empty()
    }
}

impl Wire {
    /// Runs the `test` blocks of all files, in the order of the text.
    pub fn run_tests(&self) -> Vec<TestResult> {
        // Programs do not know what tests need; the text does.
        let mut reports = Vec::new();
        let files = Files::of_text(self.file(), self.text(), &mut reports);
        let mut file = files.parse(&mut reports);
        let Some(model) = crate::check::check(&files, &mut file, &mut reports) else {
            return Vec::new();
        };
        let run = |test: &Test| TestResult {
            name: test.name.clone(),
            file: test.file.clone(),
            line: test.line,
            failures: self.run_test(test, &model),
        };
        model.tests.iter().map(run).collect()
    }

    fn run_test(&self, test: &Test, model: &Model) -> Vec<TestFailure> {
        let whole = |message: &str| vec![TestFailure::of_packet(message.to_owned())];
        let (source_port, destination_port) = test.ports.unwrap_or_default();
        let context = Context {
            source_port,
            destination_port,
            ..Context::default()
        };
        let mut before = self.new_state();
        if let Some(Json::Object(given)) = &test.state
            && let Err((path, message)) = before.give(&self.program(None).state, given)
        {
            return vec![TestFailure { path, message }];
        }
        let chosen = match (test.protocol, test.root) {
            (Some(protocol), _) => Some(usize::from(protocol)),
            (None, Some(_)) => test.own.first().map(|&first| usize::from(first)),
            (None, None) => {
                let is_own = |id: ProtocolId| test.own.contains(&id.0);
                let protocol = self.protocol_among(&context, &before, &test.bytes, &is_own);
                protocol.map(|id| usize::from(id.0))
            }
        };
        let Some(protocol) = chosen.and_then(|place| model.protocols.get(place)) else {
            return whole("no protocol of this file claims the packet");
        };
        let lowered;
        let program = match test.root {
            Some(root) => {
                let protocol = Protocol {
                    root,
                    joined: None,
                    ..protocol.clone()
                };
                match lower(model, &protocol) {
                    Ok(program) => lowered = program,
                    Err(_) => return whole("the struct is too large"),
                }
                &lowered
            }
            None => self.program_at(chosen.unwrap_or(0)),
        };
        let state = &mut before.clone();
        let around = Surroundings { context, state };
        let decoded = decode(program, Entry::Packet, around, &test.bytes);
        let mut failures = Vec::new();
        let count = decoded.diagnostics.len() as u32;
        if count != test.diagnostics {
            let expected = diagnostics(test.diagnostics);
            let message = format!("expected {expected}, found {count}");
            failures.push(TestFailure::of_packet(message));
            failures.extend(decoded.diagnostics.iter().map(|each| TestFailure {
                path: each.path.clone(),
                message: each.message.clone(),
            }));
        }
        let mut comparison = Comparison {
            tree: &decoded.tree,
            failures,
        };
        for (expected, whole) in [(&test.value, true), (&test.part, false)] {
            if let Some(expected) = expected {
                comparison.root(expected, whole);
            }
        }
        let mut failures = comparison.failures;
        if let Some(value) = test.value.as_ref().filter(|_| failures.is_empty()) {
            let around = (&context, &before);
            failures.extend(back(program, around, value, &decoded, &test.bytes));
        }
        failures
    }
}

/// `1 diagnostic`
fn diagnostics(count: u32) -> String {
    match count {
        0 => "no diagnostics".to_owned(),
        1 => "1 diagnostic".to_owned(),
        count => format!("{count} diagnostics"),
    }
}

/// Encodes the expected value: are these the bytes?
fn back(
    program: &Program,
    (context, state): (&Context, &ConnectionState),
    value: &Json,
    decoded: &Decoded,
    bytes: &[u8],
) -> Vec<TestFailure> {
    let write = |rest| {
        let root = Some(value);
        let source = Source {
            root,
            rest,
            context,
            entry: Entry::Packet,
        };
        write(program, source, &mut state.clone())
    };
    let rest = decoded.to_json();
    let rest = rest.get("rest").and_then(|rest| bytes_of_rest(rest).ok());
    // Where there is a rest, what the value does not say was not there; but constants may be left
    // out of a packet that has only more than it should.
    if let Some((_, bits)) = rest
        && bits.is_multiple_of(8)
        && let Written::Packet { bytes: found, .. } = write(None)
        && found == bytes[..bytes.len().saturating_sub(bits as usize / 8)]
    {
        return Vec::new();
    }
    match write(rest.as_ref()) {
        Written::Packet { bytes: found, .. } if found == bytes => Vec::new(),
        Written::Packet { bytes: found, .. } => {
            let different = found.iter().zip(bytes).take_while(|(a, b)| a == b).count();
            let message = format!(
                "the value encodes to other bytes, from byte {different} on: {}",
                hex(&found)
            );
            vec![TestFailure::of_packet(message)]
        }
        Written::Refused(problems) => problems
            .into_iter()
            .map(|(path, why)| TestFailure {
                path,
                message: format!("the value cannot be encoded: {why}"),
            })
            .collect(),
    }
}

fn hex(bytes: &[u8]) -> String {
    let pairs: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    pairs.join(" ")
}

struct Comparison<'t> {
    tree: &'t Tree,
    failures: Vec<TestFailure>,
}

impl<'t> Comparison<'t> {
    fn root(&mut self, expected: &Json, whole: bool) {
        let nodes = self.tree.roots().filter_map(|id| self.tree.get(id));
        match nodes.into_iter().find(|node| !node.is_rest()) {
            Some(root) => self.compare(root, expected, whole),
            None => {
                let message = "nothing was decoded".to_owned();
                self.failures.push(TestFailure::of_packet(message));
            }
        }
    }

    fn fail(&mut self, node: TreeNode<'t>, message: String) {
        let path = match node.parent() {
            Some(_) => self.tree.path(node.id()),
            None => String::new(),
        };
        self.failures.push(TestFailure { path, message });
    }

    fn children(&self, id: TreeId) -> impl Iterator<Item = TreeNode<'t>> + use<'t> {
        let tree = self.tree;
        tree.children(id).filter_map(|child| tree.get(child))
    }

    fn compare(&mut self, node: TreeNode<'t>, expected: &Json, whole: bool) {
        let shown = node.info().map_or(Shown::Bytes, |info| info.shown);
        match (shown, expected) {
            (Shown::Nothing, Json::Object(fields)) => {
                for (name, expected) in fields {
                    self.field(node, name, expected, whole);
                }
            }
            (Shown::Nothing, Json::Array(elements)) => self.elements(node, elements, whole),
            (Shown::Nothing, other) => self.fail(
                node,
                format!("expected {other}, found a struct or a repeat"),
            ),
            _ => self.leaf(node, shown, expected),
        }
    }

    fn field(&mut self, node: TreeNode<'t>, name: &str, expected: &Json, whole: bool) {
        let named =
            |child: &TreeNode<'t>| matches!(child.name(), Name::Field(found) if found == name);
        if let Some(child) = self.children(node.id()).find(named) {
            return self.compare(child, expected, whole);
        }
        let names = self.children(node.id());
        let names = names.filter_map(|child| match child.name() {
            Name::Field(name) => Some(name),
            Name::Index(_) => None,
        });
        let hint = suggest::hint(name, names);
        self.fail(node, format!("there is no field `{name}`{hint}"));
    }

    fn elements(&mut self, node: TreeNode<'t>, elements: &[Json], whole: bool) {
        let children: Vec<TreeNode<'t>> = self.children(node.id()).collect();
        let (expected, found) = (elements.len(), children.len());
        if expected > found || (whole && expected != found) {
            let least = if whole { "" } else { " or more" };
            self.fail(
                node,
                format!("expected {expected} elements{least}, found {found}"),
            );
        }
        for (child, expected) in children.into_iter().zip(elements) {
            self.compare(child, expected, whole);
        }
    }

    fn leaf(&mut self, node: TreeNode<'t>, shown: Shown, expected: &Json) {
        let leaf = match Leaf::of(expected) {
            Ok(leaf) => leaf,
            Err(why) => return self.fail(node, why),
        };
        let is_content = shown.is_content();
        let same = if is_content {
            let asked = match shown {
                Shown::Wide(_) => Shown::Wide(Some(ByteOrder::Little)),
                shown => shown,
            };
            bytes_of(leaf, asked).map(|bytes| match shown {
                Shown::Wide(_) => bytes == node.wide().to_le_bytes(),
                Shown::PaddedText(encoding) => {
                    before_zero(&bytes, encoding) == before_zero(&node.content(), encoding)
                }
                _ => bytes == node.content(),
            })
        } else {
            raw_of(leaf, shown, self.tree.dictionary()).map(|raw| raw == node.raw())
        };
        match same {
            Ok(true) => {}
            Ok(false) => {
                let expected = match leaf.raw {
                    Some(Json::String(bytes)) => format!("bytes {bytes}"),
                    _ => expected.to_string(),
                };
                self.fail(node, format!("expected {expected}, found {}", node.value()));
            }
            Err(why) => self.fail(node, format!("{why}; found {}", node.value())),
        }
    }
}
