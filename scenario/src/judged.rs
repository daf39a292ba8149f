//! What a match came to, as whoever reads recordings says it.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// Something that a match did wrong or oddly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// The rule: `zombie-object`.
    pub rule: String,
    /// `error`, `warning` or `info`.
    pub level: String,
    /// At which node; empty for one of the whole session.
    pub node: String,
    /// The sentence.
    pub text: String,
}

/// What the recordings of a match say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// `clean`, `wrong` or `unknown`.
    pub verdict: String,
    /// The findings, in the order of the session.
    pub findings: Vec<Found>,
    /// How many packets were recorded.
    pub packets: u64,
    /// From the first event of any recording to the last, in ns.
    #[serde(default)]
    pub lasted_ns: u64,
    /// What nodes believed where the script expects something of it, in the order in which that was asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub believed: Vec<Believed>,
}

/// What a node believes of an object, to be told of a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedState {
    /// Which node.
    pub node: String,
    /// The protocol's number of the object.
    pub object: u64,
    /// The moment, on the monotonic clock of the runner's machine, in ns.
    pub at_ns: u64,
}

/// What a node believed of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Believed {
    /// Whether it exists; `None` where nobody can tell.
    pub exists: Option<bool>,
    /// The name of its owner; `None` where it has none that lives, or nobody can tell.
    pub owner: Option<String>,
}

/// Who says what the recordings in a folder come to, with what was asked, and why that cannot be told.
pub type Judge<'a> = &'a (dyn Fn(&Path, &[AskedState]) -> Result<Judged, String> + Sync);

/// What a script expects of the recordings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// A finding of this rule, at this node where one is named.
    Finding {
        /// Which rule.
        rule: String,
        /// At which node.
        node: Option<String>,
    },
    /// No finding of this level or above, or of this rule.
    NoFinding(String),
    /// What a node believed of an object.
    State {
        /// Which answer it is, among those of [`Judged::believed`].
        place: usize,
        /// Of what.
        asked: AskedState,
        /// Whether it exists.
        exists: bool,
        /// Who owns it, where that is said.
        owner: Option<String>,
    },
}

const LEVELS: [&str; 3] = ["info", "warning", "error"];

/// How grave a level is; `None` for a word that is none.
pub(crate) fn gravity(level: &str) -> Option<usize> {
    LEVELS.iter().position(|known| *known == level)
}

impl Expected {
    /// `finding zombie-object at X`.
    pub(crate) fn words(&self) -> String {
        match self {
            Expected::Finding {
                rule,
                node: Some(node),
            } => format!("finding {rule} at {node}"),
            Expected::Finding { rule, node: None } => format!("finding {rule}"),
            Expected::NoFinding(what) => format!("no finding {what}"),
            Expected::State {
                asked,
                exists,
                owner,
                ..
            } => format!(
                "{} to believe that {}",
                asked.node,
                belief_words(asked.object, (Some(*exists), owner.as_deref()))
            ),
        }
    }

    /// What is otherwise; `None` where it is as expected.
    pub(crate) fn missed(&self, judged: &Judged) -> Option<String> {
        let findings = &judged.findings;
        match self {
            Expected::Finding { rule, node } => {
                let is_it = |found: &Found| {
                    found.rule == *rule && node.as_ref().is_none_or(|node| found.node == *node)
                };
                let place = node
                    .as_ref()
                    .map_or(String::new(), |node| format!(" at {node}"));
                (!findings.iter().any(is_it)).then(|| format!("no finding {rule}{place}"))
            }
            Expected::NoFinding(what) => {
                let is_it = |found: &&Found| match gravity(what) {
                    Some(least) => gravity(&found.level).is_some_and(|level| level >= least),
                    None => found.rule == *what,
                };
                let found = findings.iter().find(is_it)?;
                let place = match found.node.as_str() {
                    "" => String::new(),
                    node => format!(" at {node}"),
                };
                Some(format!(
                    "{} {}{place}: {}",
                    found.level, found.rule, found.text
                ))
            }
            Expected::State {
                place,
                asked,
                exists,
                owner,
            } => {
                let believed = judged.believed.get(*place).cloned().unwrap_or_default();
                let is_owner = owner.is_none() || *owner == believed.owner;
                let is_so = believed.exists == Some(*exists) && is_owner;
                (!is_so).then(|| {
                    let believes = (believed.exists, believed.owner.as_deref());
                    format!(
                        "expected {}; what it believes: {}",
                        self.words(),
                        belief_words(asked.object, believes)
                    )
                })
            }
        }
    }
}

fn belief_words(object: u64, believed: (Option<bool>, Option<&str>)) -> String {
    match believed {
        (Some(true), Some(owner)) => format!("object {object} is owned by {owner}"),
        (Some(true), None) => format!("object {object} exists"),
        (Some(false), _) => format!("object {object} does not exist"),
        (None, _) => format!("of object {object} nobody can tell"),
    }
}
