//! The commands that a node has: names, arguments with their types, and what can be completed.

use std::fmt::Write;

/// What an argument is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// A word, or a text in double quotes.
    Text,
    /// All that is left of the line. Only the last argument can be this.
    Rest,
    /// One of these words.
    OneOf(Vec<String>),
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of [`Kind::Integer`].
    Integer(i64),
    /// Of [`Kind::Number`]; finite.
    Number(f64),
    /// Of all other kinds.
    Text(String),
}

/// A command with its arguments, each of the kind that was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Which command.
    pub name: String,
    /// The arguments that were given: an optional one at the end may be missing.
    pub arguments: Vec<Value>,
}

/// An argument that a command takes: what it is called, and what it is.
pub type Parameter<'a> = (&'a str, Kind);

/// All commands of a node.
#[derive(Clone, Debug, Default)]
pub struct Commands {
    all: Vec<Command>,
}

#[derive(Clone, Debug)]
struct Command {
    /// One word or several.
    words: Vec<String>,
    parameters: Vec<(String, Kind)>,
    /// So many must be given.
    needed: usize,
    about: String,
}

impl Commands {
    /// None yet but `help`.
    pub fn new() -> Commands {
        Commands::default()
    }

    /// And this one: its name, of one word or several; the arguments that it needs and those that may
    /// be left out, in order; what it does, in a line.
    #[must_use]
    pub fn with(
        mut self,
        name: &str,
        (needed, optional): (&[Parameter<'_>], &[Parameter<'_>]),
        about: &str,
    ) -> Commands {
        let parameters = needed.iter().chain(optional);
        self.all.push(Command {
            words: name.split(' ').map(str::to_owned).collect(),
            parameters: parameters
                .map(|(name, kind)| ((*name).to_owned(), kind.clone()))
                .collect(),
            needed: needed.len(),
            about: about.to_owned(),
        });
        self
    }

    /// Reads a line; `None` where it is empty.
    ///
    /// # Errors
    /// A sentence that says what is wrong and what could stand there.
    pub fn read(&self, line: &str) -> Result<Option<Call>, String> {
        let words = split(line)?;
        if words.is_empty() {
            return Ok(None);
        }
        let found = self.all.iter().filter(|command| command.is_named(&words));
        let Some(command) = found.max_by_key(|command| command.words.len()) else {
            return Err(self.unknown(&words[0].text));
        };
        let given = &words[command.words.len()..];
        let name = command.words.join(" ");
        let mut arguments = Vec::new();
        for ((parameter, kind), word) in command.parameters.iter().zip(given) {
            let value = match kind {
                Kind::Rest => Ok(Value::Text(line[word.at..].trim_end().to_owned())),
                kind => kind.read(&word.text),
            };
            let value = value.map_err(|why| format!("{parameter}: {why}; {}", command.usage()))?;
            arguments.push(value);
            if *kind == Kind::Rest {
                return Ok(Some(Call { name, arguments }));
            }
        }
        if arguments.len() < command.needed {
            let (parameter, _) = &command.parameters[arguments.len()];
            return Err(format!("{parameter} is missing; {}", command.usage()));
        }
        if let Some(word) = given.get(arguments.len()) {
            return Err(format!("{:?} is too much; {}", word.text, command.usage()));
        }
        Ok(Some(Call { name, arguments }))
    }

    /// What could stand at the end of this line, whole words, in order.
    pub fn complete(&self, line: &str) -> Vec<String> {
        let Ok(words) = split(line) else {
            return Vec::new();
        };
        let mut words: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        let begun = if line.ends_with(' ') || line.is_empty() {
            ""
        } else {
            words.pop().unwrap_or_default()
        };
        let mut found: Vec<String> = Vec::new();
        for command in &self.all {
            let known = command.words.iter().map(String::as_str);
            let agree = known.zip(&words).take_while(|(a, b)| a == *b).count();
            if agree < words.len().min(command.words.len()) {
                continue;
            }
            let candidates = match command.words.get(words.len()) {
                Some(word) => vec![word.clone()],
                None => match command.parameters.get(words.len() - command.words.len()) {
                    Some((_, Kind::OneOf(words))) => words.clone(),
                    _ => Vec::new(),
                },
            };
            found.extend(candidates.into_iter().filter(|it| it.starts_with(begun)));
        }
        found.sort();
        found.dedup();
        found
    }

    /// A line a command: how it is written and what it does.
    pub fn help(&self) -> String {
        let usages: Vec<String> = self.all.iter().map(Command::form).collect();
        let width = usages.iter().map(String::len).max().unwrap_or(0);
        let mut help = String::new();
        for (usage, command) in usages.iter().zip(&self.all) {
            let _ = writeln!(help, "{usage:width$}  {}", command.about);
        }
        help.truncate(help.trim_end().len());
        help
    }

    fn unknown(&self, word: &str) -> String {
        let mut names: Vec<String> = self.all.iter().map(|it| it.words.join(" ")).collect();
        names.push("help".to_owned());
        format!(
            "there is no command {word:?}; there are {}",
            names.join(", ")
        )
    }
}

impl Command {
    fn is_named(&self, words: &[Word]) -> bool {
        let given = words.iter().map(|word| &word.text);
        self.words.len() <= words.len() && self.words.iter().zip(given).all(|(a, b)| a == b)
    }

    /// `pick up [BOX]`.
    fn form(&self) -> String {
        let mut form = self.words.join(" ");
        for (at, (name, kind)) in self.parameters.iter().enumerate() {
            let name = match kind {
                Kind::OneOf(words) => words.join("|"),
                Kind::Rest => format!("{name}..."),
                _ => name.clone(),
            };
            let _ = if at < self.needed {
                write!(form, " {name}")
            } else {
                write!(form, " [{name}]")
            };
        }
        form
    }

    fn usage(&self) -> String {
        format!("write `{}`", self.form())
    }
}

impl Kind {
    fn read(&self, text: &str) -> Result<Value, String> {
        match self {
            Kind::Integer => {
                let number = text.parse().map(Value::Integer);
                number.map_err(|_| format!("{text:?} is no whole number"))
            }
            Kind::Number => {
                let number = text
                    .parse::<f64>()
                    .ok()
                    .filter(|it| it.is_finite())
                    .map(Value::Number);
                number.ok_or_else(|| format!("{text:?} is no number"))
            }
            Kind::Text | Kind::Rest => Ok(Value::Text(text.to_owned())),
            Kind::OneOf(words) => {
                if words.iter().any(|word| word == text) {
                    Ok(Value::Text(text.to_owned()))
                } else {
                    Err(format!("{text:?} is none of {}", words.join(", ")))
                }
            }
        }
    }
}

struct Word {
    text: String,
    /// Where it begins in the line, in bytes.
    at: usize,
}

/// Takes a line apart at its blanks. What stands in double quotes is one word; `\"` in it is a quote.
fn split(line: &str) -> Result<Vec<Word>, String> {
    let mut words = Vec::new();
    let mut letters = line.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        if letter.is_whitespace() {
            continue;
        }
        let mut text = String::new();
        if letter == '"' {
            loop {
                match letters.next() {
                    Some((_, '"')) => break,
                    Some((_, '\\')) => text.extend(letters.next().map(|(_, letter)| letter)),
                    Some((_, letter)) => text.push(letter),
                    None => return Err("the quote is not closed".to_owned()),
                }
            }
        } else {
            text.push(letter);
            while let Some((_, letter)) = letters.next_if(|(_, it)| !it.is_whitespace()) {
                text.push(letter);
            }
        }
        words.push(Word { text, at });
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands() -> Commands {
        let boxes = [("BOX", Kind::Integer)];
        let modes = Kind::OneOf(vec!["host".to_owned(), "owner".to_owned()]);
        Commands::new()
            .with("spawn", (&[], &[]), "A new box")
            .with("pick up", (&[], &boxes), "Carry a box")
            .with("put down", (&[], &[]), "Let go of it")
            .with("choose", (&[("MODE", modes)], &[]), "In the menu")
            .with("say", (&[("WHAT", Kind::Rest)], &[]), "To everybody")
    }

    fn call(line: &str) -> Result<Option<Call>, String> {
        commands().read(line)
    }

    #[test]
    fn arguments_have_the_kinds_that_were_asked_for() {
        let picked = call("pick up 41").unwrap().unwrap();
        assert_eq!(picked.name, "pick up");
        assert_eq!(picked.arguments, [Value::Integer(41)]);
        assert!(call("pick up").unwrap().unwrap().arguments.is_empty());
        let said = call(r#"say  he said "hi"  there "#).unwrap().unwrap();
        let rest = Value::Text(r#"he said "hi"  there"#.to_owned());
        assert_eq!(said.arguments, [rest]);
        assert_eq!(call("  "), Ok(None));
    }

    #[test]
    fn a_mistake_is_told_with_what_could_stand_there() {
        let told = |line: &str| call(line).unwrap_err();
        assert_eq!(
            told("pick up it"),
            "BOX: \"it\" is no whole number; write `pick up [BOX]`"
        );
        assert_eq!(told("spawn 3"), "\"3\" is too much; write `spawn`");
        assert_eq!(told("choose"), "MODE is missing; write `choose host|owner`");
        assert_eq!(
            told("choose all"),
            "MODE: \"all\" is none of host, owner; write `choose host|owner`"
        );
        assert!(told("jump").starts_with("there is no command \"jump\"; there are spawn,"));
        assert_eq!(told("say \"a"), "the quote is not closed");
    }

    #[test]
    fn what_could_follow_is_completed() {
        let complete = |line: &str| commands().complete(line);
        assert_eq!(complete("p"), ["pick", "put"]);
        assert_eq!(complete("pick "), ["up"]);
        assert_eq!(complete("choose o"), ["owner"]);
        assert_eq!(complete("choose host "), [] as [&str; 0]);
        assert_eq!(complete("spawn x"), [] as [&str; 0]);
    }
}
