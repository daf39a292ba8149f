//! The words that both sides of a connection speak, as JSON.

use serde::{Deserialize, Serialize};

/// What somebody says to a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Said {
    /// Who it is: needed before all else where the console has a token.
    Token {
        /// The token.
        token: String,
        /// Comes back with the answer.
        #[serde(default)]
        id: u64,
    },
    /// A command, as a line: `pick up 41`.
    Command {
        /// The command and its arguments.
        command: String,
        /// Comes back with the answer.
        #[serde(default)]
        id: u64,
    },
    /// A script in the language that the engine has.
    Script {
        /// Its text.
        script: String,
        /// Comes back with the answer.
        #[serde(default)]
        id: u64,
    },
    /// What could stand at the end of a line.
    Complete {
        /// The line so far.
        line: String,
        /// Comes back with the answer.
        #[serde(default)]
        id: u64,
    },
}

impl Said {
    /// The number that comes back with the answer.
    pub fn id(&self) -> u64 {
        match self {
            Said::Token { id, .. }
            | Said::Command { id, .. }
            | Said::Script { id, .. }
            | Said::Complete { id, .. } => *id,
        }
    }
}

/// What a node answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The number of what is answered; 0 where that had none.
    #[serde(default)]
    pub id: u64,
    /// Whether it was done.
    pub ok: bool,
    /// What came of it, or why it was not done.
    #[serde(default)]
    pub text: String,
}

impl Answer {
    /// What came of it; else why it was not done.
    pub(crate) fn said(self) -> Result<String, String> {
        if self.ok {
            Ok(self.text)
        } else {
            Err(self.text)
        }
    }
}

/// The token in the first line of a file, where one was named.
///
/// # Errors
/// A sentence: the file cannot be read, or the line is empty. The token is in none.
pub fn read_token(file: Option<&std::path::Path>) -> Result<Option<String>, String> {
    let Some(file) = file else { return Ok(None) };
    let told = |why: String| format!("the file of the token, {}: {why}", file.display());
    let text = std::fs::read_to_string(file).map_err(|error| told(error.to_string()))?;
    match text.lines().next().unwrap_or_default().trim() {
        "" => Err(told("its first line is empty".to_owned())),
        token => Ok(Some(token.to_owned())),
    }
}
